# Plants mistakes in copies of gpuarena.h and runs a test on each: what planted*.t share.
# planted(mistakes => [[NAME, TEXT, INSTEAD, ..], ..], test => PATH, else tests/property/test_space.c, environment => 'NAME=VALUE',
#         arguments => 'WORD', seconds => of processor time, else 300, found => CODE)
# INSTEAD stands in the place of TEXT, which must be in the header exactly once. found gets what the test printed, behind
# `status N` or `does not end`, and returns by what it has found the mistake, or nothing; without it, a failed check or a
# crash is what it has found.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

# clang makes a mutant in less than half of gcc's time, and what it makes need not be quick.
our $cc = $ENV{CC} // ((grep { -x "$_/clang" } split /:/, $ENV{PATH}) ? 'clang' : 'cc');
our $flags = '-std=c99 -D_POSIX_C_SOURCE=200809L -DGPUARENA_NO_CUDA -w -iquote . -iquote tests/support -include tests/support/asserts.h';
our $library = ($ENV{BUILD} // 'build') . '/libstress.a';       # the simulated device, which make has built
our $scratch = tempdir(CLEANUP => 1);
our $call = 0;                                   # of planted; each has files of its own

sub slurp { my ($name) = @_; open my $file, '<', $name or die "$name: $!"; local $/; return scalar <$file> }

# A mutated copy in $path; '', or why not: what it replaces is not there exactly once.
sub mutate {
    my ($path, $header, $name, @pairs) = @_;
    while (my ($text, $instead) = splice @pairs, 0, 2) {
        my $count = () = $header =~ /\Q$text\E/g;
        return "is there $count times: $text" if $count != 1;
        $header =~ s/\Q$text\E/$instead/;
    }
    open my $file, '>', $path or die $!;
    print $file $header;
    close $file or die $!;
    return '';
}

# All sources that a test includes, but the header: copied once. A mutant's folder has links to these files.
sub copy_sources {
    return if -d "$scratch/sources";
    mkdir "$scratch/sources" or die $!;
    system("find stress tests -name '*.[ch]' | xargs cp --parents -t $scratch/sources") == 0 or die 'cp';
}

sub link_sources { my ($folder) = @_; system("cp -rl $scratch/sources $folder") == 0 or die 'cp' }

# Builds a test on the sources of a folder; 0, or what it says is in PROGRAM.err.
sub compile {
    my ($folder, $test, $program) = @_;
    return system "(cd $folder && $cc $flags -O0 -c $test -o $program.o) 2>$program.err"
                  . " && $cc $program.o $library -o $program -lpthread -lm 2>$program.err";
}

# Builds the test on a mutant and runs it; what it printed. A mutant that loops is ended after so many seconds of processor
# time, which do not depend on what else the machine does; one that sleeps, by an alarm.
sub build_and_run {
    my ($path, $test, $environment, $arguments, $seconds) = @_;
    my $folder = $path =~ s{/gpuarena\.h$}{}r;
    my $program = "$folder/program";
    return "does not compile\n" . slurp("$program.err")
        if compile($folder, "-DGPUARENA_STATIC $test", $program);
    my $out = `ulimit -t $seconds; GPUARENA_SPACE_SHRINK=0 $environment perl -e 'alarm 900; exec \@ARGV' $program $arguments 2>&1`;
    return ($out =~ /^Killed$/m ? 'does not end' : "status $?") . "\n$out";
}

# All mistakes, so many at once: each process leaves the result in a file.
sub run_all {
    my ($header, $asked, @numbers) = @_;
    my $jobs = $ENV{PLANTED_JOBS} // 2;
    my %running;
    while (@numbers || %running) {
        while (@numbers && keys %running < $jobs) {
            my $number = shift @numbers;
            my $process = fork // die "fork: $!";
            if ($process == 0) {
                my $path = "$scratch/planted$call.$number/gpuarena.h";
                link_sources("$scratch/planted$call.$number");
                my $text = mutate($path, $header, @{ $asked->{mistakes}[$number] })
                    || build_and_run($path, $asked->{test} // 'tests/property/test_space.c', $asked->{environment} // '',
                                     $asked->{arguments} // '', $asked->{seconds} // 300);
                open my $file, '>', "$scratch/result$call.$number" or die $!;
                print $file $text;
                close $file;
                require POSIX;
                POSIX::_exit(0);
            }
            $running{$process} = 1;
        }
        delete $running{ wait() };
    }
}

# The first check that failed, or that the test crashed (on an assert, too); undef: it found nothing.
sub finding {
    my ($result) = @_;
    my ($found) = $result =~ /^not ok \d+ - (.*)$/m;
    return $result =~ /^status 0$/m ? undef : $found // ($result =~ /^status (?!256$)\d+$/m ? 'it crashes' : undef);
}

sub planted {
    my (%asked) = @_;
    $call++;
    my $header = slurp('gpuarena.h');
    my $wanted = $ENV{PLANTED} // '.';
    my @numbers = grep { $asked{mistakes}[$_][0] =~ /$wanted/ } 0 .. $#{ $asked{mistakes} };
    copy_sources();
    BAIL_OUT("there is no $library: make builds it") unless -e $library;
    run_all($header, \%asked, @numbers);
    for my $number (@numbers) {
        my $result = slurp("$scratch/result$call.$number");
        my $found = ($asked{found} // \&finding)->($result);
        ok($found, $asked{mistakes}[$number][0]) ? note($found) : diag($result);
    }
}

END { done_testing() if $call && !$? }

1;
