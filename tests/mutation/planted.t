#!/usr/bin/perl
# Mistakes that a test must find: each of tests/mutation/*.planted is planted in a copy of gpuarena.h, on which the test that
# stands above it is built and run. A check that fails or a crash finds the mistake.
# It must not know the tests.
# Run: prove tests/mutation/planted.t; `prove tests/mutation/planted.t :: share heaps` plants those of these files
# (PLANTED=REGEX: only those with such a name).
#
# In a file stand, with lines between them that begin with # and explain:
#     $ GPUARENA_SPACE_KIND=busy tests/property/test_space.c WORDS    how all below are to be found: a source stands for its program
#     the mistake in a few words                                      its name
#     - while (count && is_quiet)                                     a text that the header has exactly once,
#     + while (count)                                                 and its replacement; without such a line, nothing
# More replacements follow below; a + alone is nothing, in front of one. A test has 300 seconds of processor time. Behind
# `, within 5 s` it has 5, and finds the mistake, too, if it takes longer. Behind `, shrunk to 12` it prints a program of
# at most 12 operations, which fails with the mistake and passes without.
use strict;
use warnings;
require './tests/support/stress_run.pl';
our $folder;

# clang makes a mutant in less than half of gcc's time, and mutants need not be quick.
my $cc = $ENV{CC} // ((grep { -x "$_/clang" } split /:/, $ENV{PATH}) ? 'clang' : 'cc');
my $flags = '-std=c99 -D_POSIX_C_SOURCE=200809L -DGPUARENA_NO_CUDA -w -iquote . -iquote tests/support -include tests/support/asserts.h';
my $library = ($ENV{BUILD} // 'build') . '/libstress.a';        # the simulated device, which make has built
my $header = slurp('gpuarena.h');
my $sources = "$folder/sources";                 # all that a test includes, but the header

sub mistakes_of {
    my ($path) = @_;
    my ($command, @mistakes);
    for (split /\n/, slurp($path)) {
        if (/^\$ (.*)/) { $command = $1 }
        elsif (/^([-+]) ?(.*)/) {
            my ($mark, $text, $changes) = ($1, $2, $mistakes[-1]{changes});
            push @$changes, { '-' => [], '+' => [] } if $mark eq '-' && (!@$changes || @{ $changes->[-1]{'+'} });
            push @{ $changes->[-1]{$mark} }, $text;
        } elsif (/^[^#]/) { push @mistakes, { name => $_, command => $command, changes => [] } }
    }
    return @mistakes;
}

# The header with a mistake; or nothing, and why not.
sub mutant {
    my ($mistake) = @_;
    my $text = $header;
    for my $change (@{ $mistake->{changes} }) {
        my ($from, $to) = map { join "\n", @{ $change->{$_} } } '-', '+';
        my $count = () = $text =~ /\Q$from\E/g;
        return (undef, "is there $count times: $from") if $count != 1;
        $text =~ s/\Q$from\E/$to/;
    }
    return $text;
}

# Builds a test in a folder and runs it: `status N`, or why there is none, and its output. One that loops is ended
# after so many seconds of processor time, which do not depend on the machine's other load; one that sleeps, by an
# alarm.
sub build_and_run {
    my ($where, $test, $seconds, $environment, $words) = @_;
    my $program = "$folder/program";
    return "does not compile\n" . slurp("$program.err")
        if system "(cd $where && $cc $flags -O0 -c $test -o $program.o) 2>$program.err"
                  . " && $cc $program.o $library -o $program -lpthread -lm 2>$program.err";
    my $out = `ulimit -t $seconds; $environment perl -e 'alarm 900; exec \@ARGV' $program $words 2>&1`;
    return ($out =~ /^Killed$/m ? 'does not end' : "status $?") . "\n$out";
}

# '' if the program that a test printed last is as it should be, on the mutant and on the header without it; else the
# reason.
sub is_shrunk {
    my ($said, $most) = @_;
    my ($program) = $said =~ m{^(/\* Shrunk from seed.*^\})$}ms or return 'no program is printed';
    my $operations = () = $program =~ /^ +\{ SPACE_/mg;
    my $path = spew('shrunk.c', "$program\n");
    my ($with, $without) = map { build_and_run($_, "-Itests $path", 300, '', '') } "$folder/sources", '.';
    return $operations >= 1 && $operations <= $most && $with =~ /^status 256$/m && $without =~ /^status 0$/m ? ''
        : "$operations operations; with the mistake: $with\nwithout: $without\n$program";
}

# { found => the check that found it, nothing if none did; said => all output }
sub judge {
    my ($mistake) = @_;
    my ($text, $why) = mutant($mistake);
    return { said => $why } if !defined $text;
    -d "$folder/sources" || system("cp -rl $sources $folder/") == 0 or die 'cp';
    spew('sources/gpuarena.h', $text);
    my ($environment, $test, $words, $seconds, $most) = $mistake->{command}
        =~ m{^((?:\w+=\S+ )*)(\S+\.c)((?: [\w.]+)*)(?:, within (\d+) s)?(?:, shrunk to (\d+))?$} or die "$mistake->{command}\n";
    $environment = 'GPUARENA_SPACE_SHRINK=0 ' . $environment if !$most;
    my $said = build_and_run("$folder/sources", "-DGPUARENA_STATIC $test", $seconds // 300, $environment, $words);
    my ($found) = $said =~ /^status 0$/m ? () : $said =~ /^(?:not ok \d+ -|# GPUARENA_SCHEDULE=\d+:) (.*)$/m;     # threads hang
    $found //= $said =~ /^status (?!0$|256$)\d+$/m ? 'it crashes' : $seconds && $said =~ /^does not end$/m ? 'it takes long' : undef;
    my $trouble = $found && $most ? is_shrunk($said, $most) : '';
    return { found => $trouble ? undef : $found, said => $trouble || $said };
}

die "there is no $library: make builds it\n" if !-e $library;
my $wanted = $ENV{PLANTED} // '.';
my @mistakes = grep { $_->{name} =~ /$wanted/ } map { mistakes_of("tests/mutation/$_.planted") }
    @ARGV ? @ARGV : map { m{([^/]+)\.planted$} } sort glob 'tests/mutation/*.planted';
die "there are no such mistakes\n" if !@mistakes;
mkdir $sources or die "$sources: $!";
system("find stress tests -name '*.[ch]' | xargs cp --parents -t $sources") == 0 or die 'cp';
my @answers = in_parallel(\@mistakes, \&judge);
for my $at (0 .. $#mistakes) {
    my ($found, $said) = @{ $answers[$at] // { said => 'no answer' } }{qw(found said)};
    ok($found, $mistakes[$at]{name});
    print map { "# $_\n" } $found // split /\n/, $said;
}
done();
