#!/usr/bin/perl
# Runs the example programs, on the libcudart substitute or (built without the CUDA Toolkit) on the simulated device's
# own table, and looks at exit status, at the lines that a reader is promised, and at the ends of failures.
# It must not know how they are written.
# Run: make examples && prove tests/real/examples.t (BUILD=DIR: where they were built; GPUARENA_FAILURES: the codes
# with which calls fail, else "700 999")
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use JSON::PP qw(decode_json encode_json);
use POSIX ();
use Test::More;

chdir "$FindBin::Bin/../.." or die "$FindBin::Bin/../..: $!";
delete @ENV{qw(GPUARENA_SIM GPUARENA_CONF LD_PRELOAD LD_LIBRARY_PATH)};
my $build = $ENV{BUILD} // 'build';
my $examples = "$build/examples";
my $substitute = "$build/libcudart-sim.so";
my $has_cuda = defined $ENV{CUDA_FLAGS} ? $ENV{CUDA_FLAGS} !~ /GPUARENA_NO_CUDA/ : -e $substitute;
my $on_substitute = $has_cuda ? "LD_LIBRARY_PATH=$build/sim" : '';
my @failures = split ' ', $ENV{GPUARENA_FAILURES} // '700 999';
my $scratch = tempdir(CLEANUP => 1);
my %printed;                                     # by each, where nothing disturbs it

# The words of examples.promised on each example: words behind its name, patterns of its output, and patterns of
# further output where no call fails.
my (%about, %promised, %undisturbed);
open my $file, '<', 'tests/real/examples.promised' or die "examples.promised: $!";
my $name;
for (grep { !/^ *#/ } <$file>) {
    if (/^    (undisturbed )?(.*)/) { push @{ ($1 ? \%undisturbed : \%promised)->{$name} }, qr/$2/m }
    elsif (/^(\w+)(.*)/) { ($name, $about{$1}) = ($1, { map { /^(\w+)=?(.*)/ ? ($1 => $2 || 1) : () } split ' ', $2 }) }
    elsif (/\S/) { die "examples.promised: $_" }
}

# Runs an example with these VARIABLE=VALUE words: (status, stdout, stderr). One that runs for a minute is ended.
sub run_example {
    my ($name, @environment) = @_;
    my ($out, $err) = map { "$scratch/$_.$$" } qw(out err);
    my $child = fork // die "fork: $!";
    if (!$child) {
        %ENV = (%ENV, map { split /=/, $_, 2 } @environment);
        open STDOUT, '>', $out or die "$out: $!";
        open STDERR, '>', $err or die "$err: $!";
        alarm 60;
        exec "$examples/$name" or POSIX::_exit(127);
    }
    waitpid $child, 0;
    my $status = $?;
    return ($status, map { open my $file, '<', $_ or die "$_: $!"; local $/; scalar <$file> // '' } $out, $err);
}

# The example ends with 0, writes nothing to stderr, and prints the lines it promises. Returns the output, for
# comparisons.
sub keeps_its_promises {
    my ($name, $where, @environment) = @_;
    my ($status, $out, $err) = run_example($name, @environment);
    my @missing = grep { $out !~ $_ } @{ $promised{$name} }, @{ $undisturbed{$name} // [] };
    is($status, 0, "$name exits with 0 $where") or diag($out, $err);
    is($err, '', "$name leaves stderr empty $where");
    is_deeply(\@missing, [], "$name prints what it promises $where") or diag($out);
    unlike($out, qr/\b0x[0-9a-f]{5,}/i, "$name prints no address $where");
    return $out;
}

# The example ends with 1, and one sentence on stderr that says why.
sub fails_in_words {
    my ($name, $sim, $why) = @_;
    my ($status, $out, $err) = run_example($name, $on_substitute, "GPUARENA_SIM=$sim");
    is($status, 1 << 8, "$name with GPUARENA_SIM=$sim ends in 1") or diag($out, $err);
    like($err, $why, "$name with GPUARENA_SIM=$sim says why");
    is($err =~ tr/\n//, 1, "$name with GPUARENA_SIM=$sim: in one line") or diag($err);
}

sub dynamic_section { my ($name) = @_; return scalar `readelf -d '$examples/$name'` }

# The binary asks for the toolkit's libcudart by name and version, and for nothing of ours.
sub is_an_ordinary_client {
    my ($name, $soname) = @_;
    my $dynamic = dynamic_section($name);
    my $symbols = `nm -D '$examples/$name'`;
    like($symbols, qr/^ +U cudaMalloc\@\Q$soname\E$/m, "$name: cudaMalloc is undefined, of $soname");
    unlike($symbols, qr/^[0-9a-f]+ \w _*cuda/mi, "$name defines no symbol of CUDA's");
    unlike($symbols, qr/cudart_(?:attach|machine)/, "$name uses nothing that the substitute alone has");
    like($dynamic, qr/\(NEEDED\).*\[\Q$soname\E\]/, "$name needs $soname");
    unlike($dynamic, qr/\(NEEDED\).*\[(?:libcuda\.so|libcudart-sim)/, "$name: neither libcuda nor the substitute");
    unlike($dynamic, qr/\(RPATH\)/, "$name: LD_LIBRARY_PATH goes before the path that is built in");
}

# Where no GPU answers, the same binary by itself says so; where one does, it keeps its promises on it.
sub runs_by_itself {
    my ($name) = @_;
    my ($status, $out, $err) = run_example($name, 'ASAN_OPTIONS=protect_shadow_gap=0:detect_leaks=0');
    return keeps_its_promises($name, 'on a GPU', 'ASAN_OPTIONS=protect_shadow_gap=0:detect_leaks=0') if $status == 0;
    is($status, 1 << 8, "$name without a GPU ends in 1") or diag($out);
    like($err, qr/^.*\b(?:cudaErrorInsufficientDriver|cudaErrorNoDevice|cudaErrorStubLibrary|CUDA driver|no CUDA)/m,
         "$name without a GPU says why");
}

# For each call of CUDA's that fails, the program ends in 1 and in words, or the failure changed nothing. Returns the
# output of other ends.
sub bad_failures {
    my ($name, $calls, $code) = @_;
    my @bad;
    for my $nth (1 .. $calls) {
        my ($status, $out, $err) = run_example($name, $on_substitute, "GPUARENA_SIM=fail=any:$nth=$code");
        my $kept = $status == 0 && !grep { $out !~ $_ } @{ $promised{$name} };
        my $told = $status == 1 << 8 && $err =~ /\w\n\z/;
        push @bad, "any:$nth=$code: status $status, $out$err" unless $kept || $told;
    }
    return "@bad";
}

# Of all programs and codes, sticky (700) or not: by two processes, each of which takes every second one.
sub survive_every_failure {
    my ($calls, @programs) = @_;
    my @pairs = map { my $name = $_; map { [$name, $_] } @failures } @programs;
    my @parts;
    for my $first (0, 1) {
        my $process = open($parts[$first], '-|') // die "fork: $!";
        next if $process;
        for (my $at = $first; $at < @pairs; $at += 2) {
            my ($name, $code) = @{ $pairs[$at] };
            print encode_json([$name, $code, bad_failures($name, $calls, $code)]), "\n";
        }
        STDOUT->flush();
        POSIX::_exit(0);
    }
    my @answers = map { my $part = $_; map { decode_json($_) } <$part> } @parts;
    is(scalar @answers, scalar @pairs, 'every program has run with every failure');
    is($_->[2], '', "$_->[0]: each of its first $calls calls may fail with $_->[1]") for @answers;
}

sub check_on_cuda {
    my ($soname) = `readelf -d '$substitute'` =~ /\(SONAME\).*\[(libcudart\.so\.[\d.]+)\]/;
    like($soname, qr/^libcudart\.so\.\d/, 'the substitute has a libcudart\'s name');
    my @programs = grep { !$about{$_}{needs} || -e "$examples/$_" } sort keys %promised;
    is_an_ordinary_client($_, $soname) for @programs;

    # the two ways to a program that was not built for it; the second also under AddressSanitizer's eyes
    my $out = keeps_its_promises('01_quickstart', 'by LD_PRELOAD', 'ASAN_OPTIONS=verify_asan_link_order=0',
                                 "LD_PRELOAD=$substitute");
    is($out, (run_example('01_quickstart', $on_substitute))[1], '01_quickstart: the same by either way');

    my $two = keeps_its_promises('12_two_devices', 'on two devices', $on_substitute, 'GPUARENA_SIM=device=24G*2');
    like($two, qr/^device 1: live 512, reserved 512, limit 512 MiB; of 24576 MiB in all others hold 0$/m,
         '12_two_devices: each arena is on its own device');
    like($two, qr/^device 1 was made current, and device 1 is$/m, '12_two_devices: current is what the caller chose');
    unlike($two, qr/one device only/, '12_two_devices does not miss the second');

    like(scalar `env $on_substitute '$examples/16_two_processes' one`,
         qr/^importer: 40 MiB, as they were written\nexporter: the importer answers ok$/m,
         '16_two_processes imports what it exports, in one process');
    my $by_segment = (run_example('16_two_processes', $on_substitute, 'GPUARENA_SIM=vm=off'))[1];
    like($_, qr/^importer: 40 MiB, as they were written\nexporter: the importer answers ok$/m,
         '16_two_processes imports what another process exports') for $printed{'16_two_processes'}, $by_segment;

    fails_in_words($_, 'device=80G*0', qr/cudaErrorNoDevice|no CUDA-capable device/) for @programs;
    fails_in_words($_, 'fail=any:5=700', qr/illegal ?(?:memory access|address)/i) for @programs;
    for my $name (@programs) {                   # whichever kind of arena backs memory there
        my $call = $about{$name}{segments} ? 'cudaMalloc' : 'cuMemCreate';
        fails_in_words($name, "fail=$call:1=700", qr/illegal ?(?:memory access|address)/i);
    }
    fails_in_words('01_quickstart', 'device=1G', qr/\blimit\b.* above the device's 1073741824 bytes/);
    fails_in_words('01_quickstart', 'device=4G,context=3900M', qr/refused by the driver .* 205520896 bytes .* free/);
    fails_in_words('01_quickstart', 'device=4G,fail=cuMemCreate:1+',
                   qr/refused by the driver .* 4294967296 bytes .* free/);
    survive_every_failure(40, @programs);
    runs_by_itself($_) for @programs;
}

for my $name (sort keys %promised) {
    SKIP: {
        skip("$name: no CUDA Toolkit", 1) if $about{$name}{cuda} && !$has_cuda;
        skip("$name: no $about{$name}{needs}, or none wanted", 1) if $about{$name}{needs} && !-e "$examples/$name";
        my $where = $has_cuda ? 'on the substitute' : 'on the simulated device';
        my $out = keeps_its_promises($name, $where, $on_substitute);
        is((run_example($name, $on_substitute))[1], $out, "$name: the same output every time");
        $printed{$name} = $out;
    }
}

# Replay takes the file that the recorder writes, at a path that it was told.
sub is_replayed {
    my ($status, $out) = run_example('11_record', $on_substitute);
    system "$on_substitute '$examples/11_record' '$scratch/mine.trace'";
    is(`cat '$scratch/mine.trace'`, $out, '11_record writes the same into a file');
    my $csv = `'$build/stress' run -w 'replay:$scratch/mine.trace' -p segments --no-timing -q --out csv=-`;
    like($csv, qr/\nreplay:\S+,segments,[^,]+,1,24,ok,/, '11_record: replay takes what it has written');
}

# Prometheus text, read as its format says: each metric has one HELP and one TYPE, in front of all its samples.
sub read_exposition {
    my (%type, %value, @bad);
    my $family = '';
    for (@_) {
        if (/^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) \S.*$/) { $type{$1} and push @bad, "twice: $_"; $family = $1 }
        elsif (/^# TYPE (\S+) (counter|gauge)$/) { $1 eq $family or push @bad, $_; $type{$1} = $2 }
        elsif (/^(\S+?)\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*"(?:,(?!\})|(?=\})))*)\} (-?\d+)$/) {
            my ($name, $series, $number) = ($1, "$1\{$2}", $3);
            my $is_counter = ($type{$name} // '') eq 'counter' ? 1 : 0;
            push @bad, $_ if $name ne $family || !$type{$name} || exists $value{$series}
                || $is_counter != ($name =~ /_total$/ ? 1 : 0);
            $value{$series} = $number;
        } else { push @bad, $_ }
    }
    return (\@bad, \%type, \%value);
}

# Both outputs of the monitor can be read, and say the same.
sub is_monitored {
    my ($status, $out) = run_example('10_monitor', $on_substitute);
    my ($bad, $type, $value) = read_exposition(split /^/, $out);
    is("@$bad", '', '10_monitor: every line is of the exposition format');
    my $report = decode_json(scalar `env $on_substitute '$examples/10_monitor' json`);
    my $arena = 'arena="serve\\\\1"';
    my %expected = map {
        my $name = "gpuarena_$_" . (/_count$/ && $_ ne 'live_count' ? '_total' : '');
        ("$name\{$arena}" => $report->{stats}{$_})
    } keys %{ $report->{stats} };
    my %told = map { $_ => $value->{$_} } grep { exists $expected{$_} } keys %$value;
    is_deeply(\%told, \%expected, '10_monitor: JSON and Prometheus agree on every statistic');
    cmp_ok(scalar keys %expected, '>', 30, '.. of which there are many');
    is_deeply({ map { $_->{name} => $_->{live_bytes} } @{ $report->{tags} } },
              { '' => 3145728, weights => 536870912, 'cache "kv"' => 33554432 }, '10_monitor: tags in JSON, by name');
    my ($broken) = read_exposition("# HELP a b\n", "# TYPE a gauge\n", "a{x=\"\"\"} 1\n", "b{} 2\n");
    is(scalar @$broken, 2, '.. and the reader refuses what is none');
}

is_replayed();
is_monitored();
for my $source (glob 'examples/[0-9]*.c*') {
    my ($name) = $source =~ m{([^/]+)\.c[cu]?$};
    open my $file, '<', $source or die "$source: $!";
    my @lines = <$file>;
    ok($promised{$name}, "$name: is looked at here");
    cmp_ok(scalar @lines, '<=', 120, "$name fits on two pages");
    like($lines[0] . $lines[1], qr{\A/\* .*\n   Introduces }, "$name says what it shows and introduces");
}

check_on_cuda() if $has_cuda;
done_testing();
