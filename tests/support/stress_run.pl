# Runs the stress program for tests/*.t: output, errors and exit code of one call, and TAP. It must not know the
# effect of any command, but how `run` writes its rows.
# Used by: require './tests/support/stress_run.pl'
use strict;
use warnings;
use File::Temp qw(tempdir);
use JSON::PP;
use POSIX ();

# variables that change the program's output
delete @ENV{qw(COLUMNS NO_COLOR FORCE_COLOR CI GPUARENA_CONF GPUARENA_SIM GITHUB_STEP_SUMMARY), grep { /^(?:SLURM|OMPI|PMI|JOB)_/ } keys %ENV};

our $stress = $ENV{STRESS} || ($ENV{BUILD} || 'build') . '/stress';
our $folder = tempdir(CLEANUP => 1);
our $traces = $ENV{GPUARENA_TRACES} || '../shared/traces';
our ($count, $failed) = (0, 0);

# Tells whether this build is with CUDA: as make says, whatever an earlier build left in its folder. Without make the
# files decide.
sub built_with_cuda {
    return $ENV{CUDA_FLAGS} !~ /GPUARENA_NO_CUDA/ if defined $ENV{CUDA_FLAGS};
    return -e ($ENV{BUILD} || 'build') . '/libcudart-sim.so';
}

sub slurp {
    open my $file, '<', $_[0] or return '';
    local $/;
    return <$file> // '';
}

sub spew {
    my ($name, $text) = @_;
    open my $file, '>', "$folder/$name" or die "$folder/$name: $!";
    print $file $text;
    close $file or die "$folder/$name: $!";
    return "$folder/$name";
}

# Words of the command line -> { code, out, err }
sub stress { return stress_until(undef, undef, @_) }

# Runs the program as `stress` does; a moment after the first line on stderr that fits the pattern, the signal is
# sent.
sub stress_until {
    my ($pattern, $signal, @words) = @_;
    pipe my $read, my $write or die "pipe: $!";
    my $child = fork // die "fork: $!";
    if (!$child) {
        $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP);
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', "$folder/.out";
        open STDERR, '>&', $write;
        exec $stress, @words or exit 126;
    }
    close $write;
    my ($err, $sent) = ('', 0);
    while (my $line = <$read>) {
        $err .= $line;
        next if !$pattern || $line !~ $pattern || $sent++;
        select undef, undef, undef, 0.2;
        kill $signal, $child;
    }
    waitpid $child, 0;
    return { code => $? & 127 ? 'signal ' . ($? & 127) : $? >> 8, out => slurp("$folder/.out"), err => $err };
}

# A pattern that does not match is an empty list, and then the name comes alone.
sub ok {
    my ($passed, $name) = @_ > 1 ? @_ : (0, @_);
    $name =~ s/[\n#]/ /g;
    print $passed ? 'ok ' : 'not ok ', ++$count, " - $name\n";
    $failed++ if !$passed;
    return $passed;
}

sub is {
    my ($found, $expected, $name) = @_;
    $found //= '(undef)';
    return 1 if ok($found eq $expected, $name);
    print "#   found:    $_\n" for split /\n/, substr $found, 0, 2000;
    print "#   expected: $_\n" for split /\n/, substr $expected, 0, 2000;
    return 0;
}

sub skip {
    print 'ok ', ++$count, " # SKIP $_[0]\n";
}

# A line of CSV without line breaks in cells -> its cells.
sub cells {
    my ($line) = @_;
    my @cells;
    while ($line =~ /\G(?:"((?:[^"]|"")*)"|([^,]*))(,|\z)/g) {
        my ($cell, $end) = ($1 // $2, $3);
        $cell =~ s/""/"/g;
        push @cells, $cell;
        last if $end eq '';
    }
    return @cells;
}

# CSV text -> rows as hashes by column name
sub rows {
    my ($header, @lines) = split /\n/, $_[0];
    my @names = split /,/, $header // '';
    return map { my %row; @row{@names} = cells($_); \%row } grep { !/^# partial: / } @lines;
}

# Words of `stress run` -> the call, and its rows; its errors are shown.
sub csv {
    my $run = stress('run', @_, '-q', '--out', 'csv=-');
    print "#   $_\n" for split /\n/, $run->{err};
    return ($run, rows($run->{out}));
}

# The job's answer for every item, in order, by a few processes at once. Items are plain data, answers plain or undef.
sub in_parallel {
    my ($items, $job) = @_;
    my ($processors) = (qx{getconf _NPROCESSORS_ONLN 2>/dev/null} || 1) =~ /^(\d+)/;
    my $processes = !$processors || $processors < 1 ? 1 : $processors > 4 ? 4 : $processors;
    STDOUT->flush();
    my @children = map {
        my $number = $_;
        my $child = fork // die "fork: $!";
        if (!$child) {
            my $result = "$folder/answers.$number";
            mkdir($folder = "$folder/process.$number");
            my %answers = map { $_ => $job->($items->[$_]) } grep { $_ % $processes == $number } 0 .. $#$items;
            open my $file, '>', $result or POSIX::_exit(1);
            print $file JSON::PP->new->encode(\%answers);
            POSIX::_exit(close($file) ? 0 : 1);
        }
        $child;
    } 0 .. $processes - 1;
    waitpid $_, 0 for @children;
    my %all = map { %{JSON::PP->new->decode(slurp("$folder/answers.$_") || '{}')} } 0 .. $processes - 1;
    return map { $all{$_} } 0 .. $#$items;
}

sub done {
    print "1..$count\n";
    exit($failed ? 1 : 0);
}

1;
