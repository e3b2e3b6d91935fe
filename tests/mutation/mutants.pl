#!/usr/bin/perl
# Draws mutants of gpuarena.h by chance, each one small mistake, and asks the quick unit tests to find them. It prints
# the share that is found, and every mutant that is not.
# It must not know the tests, nor the header beyond C: a mistake that is planted by hand is in planted.t.
# Run: make mutants (MUTANTS=how many, 40; MUTANTS_SEED=1; MUTANTS_LINES=FROM-TO; MUTANTS_JOBS=at once;
# MUTANTS_WITHOUT=REGEX: tests that are left out, to see whether others find what they find)
use strict;
use warnings;
use Cwd qw(getcwd);
use File::Basename qw(basename);
use File::Temp qw(tempdir);
use POSIX qw(:sys_wait_h _exit);

my $count   = $ENV{MUTANTS} || 40;
my $seed    = $ENV{MUTANTS_SEED} || 1;
my $jobs    = $ENV{MUTANTS_JOBS} || 2;
my $build   = $ENV{BUILD} || 'build';
my $folder  = 'tests/unit/arena';
my $cc      = ($ENV{CC} || 'cc') . ' -std=c99 -D_POSIX_C_SOURCE=200809L -O0 -w -DGPUARENA_NO_CUDA';
my $seconds = 20;                                                    # a mutant that runs longer loops: it is found
my $scratch = tempdir(CLEANUP => 1);
my $built   = $build =~ m{^/} ? $build : getcwd() . "/$build";
my $cudart  = -e "$built/sim/libcudart.so" ? "-L$built/sim -Wl,-rpath,$built/sim -lcudart" : '';
my $link    = "$built/libstress.a $cudart -lpthread -lm -ldl";
my @looks_inside;                                                    # tests that have a copy of the implementation
srand $seed;

sub slurp { my ($name) = @_; open my $file, '<', $name or die "$name: $!"; local $/; return scalar <$file> }

sub spew {
    my ($name, $text) = @_;
    open my $file, '>', $name or die "$name: $!";
    print $file $text;
    close $file or die "$name: $!";
}

# ---- mutants

# The text with comments, strings and preprocessor lines blanked, so that places are places of code.
sub code_of {
    my ($text) = @_;
    $text =~ s{(/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')}{$1 =~ s/[^\n]/ /gr}gse;
    $text =~ s{^([ \t]*\#(?:.*\\\n)*.*)$}{$1 =~ s/[^\n]/ /gr}gme;
    return $text;
}

# What may stand where: a pattern, and what its match becomes.
my %swapped = ('<' => '<=', '<=' => '<', '>' => '>=', '>=' => '>', '==' => '!=', '!=' => '==', '&&' => '||',
               '||' => '&&', '+' => '-', '-' => '+', '+=' => '-=', '-=' => '+=');
my $place = qr/(?:[a-z_]\w*(?:->|\.|\[[^\]\n]*\])?)+/;            # a variable, a member, or a function's name
my @kinds = (
    ['operator swapped',  qr/ (<=|>=|==|!=|&&|\|\||\+=|-=|[-<>+])(?= )/, sub { " $swapped{$_[0]}" }],
    ['off by one',        qr/(?<![\w.])(\d{1,3})(?=[\s;,)\]])/,          sub { $_[0] + 1 }],
    ['condition negated', qr/\b(?:if|while) (\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*\))/,
                          sub { "(!$_[0])" }],
    ['statement dropped', qr/^[ ]{4,}((?:\(void\))?$place(?: [-+|&]?= [^;\n]*|\([^;\n]*\)|\+\+|--);)$/m, sub { ';' }],
);

# All places of the implementation: [kind, at, length, instead].
sub places {
    my ($text) = @_;
    my $code = code_of($text);
    my $begin = index $text, "#if defined(GPUARENA_IMPLEMENTATION) &&";
    my ($from, $to) = split /-/, $ENV{MUTANTS_LINES} // '';
    my @places;
    for my $kind (@kinds) {
        my ($name, $pattern, $instead) = @$kind;
        pos($code) = $begin < 0 ? 0 : $begin;
        while ($code =~ /$pattern/g) {
            my ($at, $length) = $name eq 'operator swapped' ? ($-[0], $+[0] - $-[0]) : ($-[1], $+[1] - $-[1]);
            push @places, [$name, $at, $length, $instead->($1)];
        }
    }
    return @places if !$to;
    return grep { my $line = 1 + (substr($text, 0, $_->[1]) =~ tr/\n//); $line >= $from && $line <= $to } @places;
}

# ---- tests

# The header of one folder as a library in another: the status of the compiler.
sub library {
    my ($from, $to) = @_;
    my $name = 'libmutant.so';
    return system("$cc -shared -fPIC -Wl,-soname,$name -DGPUARENA_IMPLEMENTATION -x c $from/gpuarena.h -o $to/$name 2>$to/err");
}

# The quick tests are linked once with a library that each mutant brings; those that look inside are compiled each time.
sub prepare {
    system("cp -r stress tests $scratch/ && mkdir $scratch/run") == 0 or die 'cp';
    library('.', $scratch) == 0 or die 'the header as it is does not compile';
    my @tests;
    for my $source (sort glob "$folder/test_*.c") {
        my $name = basename($source, '.c');
        next if $ENV{MUTANTS_WITHOUT} && $name =~ /$ENV{MUTANTS_WITHOUT}/;
        my $text = slurp($source);
        if ($text =~ /define GPUARENA_STATIC|"(?:paged_pages|section)\.h"/) { push @looks_inside, $name; next }
        system("cc $built/obj/$folder/$name.o -o $scratch/$name $scratch/libmutant.so $link") == 0
            or die "$name does not link: make mutants builds what is needed";
        push @tests, $name;
    }
    return @tests;
}

sub passes {
    my ($library, $program, $output) = @_;
    return system("cd $scratch/run && LD_LIBRARY_PATH=$library timeout $seconds $program >$output 2>&1") == 0;
}

# The test that finds this header; '' if none does; undef if it does not compile, or to the same code as without.
sub found_by {
    my ($where, @tests) = @_;
    return undef if library($where, $where);
    return undef if $where ne "$scratch/base" && system("cmp -s $scratch/libmutant.so $where/libmutant.so") == 0;
    for my $test (@tests) { return $test if !passes($where, "$scratch/$test", "$where/out") }
    system("cp -r $scratch/stress $scratch/tests $where/") == 0 or die 'cp';
    for my $test (@looks_inside) {
        my $extra = $test eq 'test_bounds' ? '-finstrument-functions' : '';
        system("cd $where && $cc $extra -iquote . -iquote tests/support $folder/$test.c -o $where/$test $link "
               . "2>$where/err") == 0 or return undef;
        return $test if !passes($where, "$where/$test", "$where/out");
    }
    return '';
}

# ---- the run

my $header = slurp('gpuarena.h');
my @places = places($header);
@places >= $count or die scalar(@places), " places only\n";
my @tests = prepare();
mkdir "$scratch/base";
spew("$scratch/base/gpuarena.h", $header);
my $sound = found_by("$scratch/base", @tests);
die "the header as it is does not pass: ", $sound // 'it does not compile', "\n" if !defined $sound || $sound ne '';

sub describe {
    my ($place) = @_;
    my ($kind, $at, $length, $instead) = @$place;
    my $line = 1 + (substr($header, 0, $at) =~ tr/\n//);
    my $begin = 1 + rindex $header, "\n", $at;
    my $was = substr($header, $begin, index($header, "\n", $at) - $begin) =~ s/^\s+//r;
    return sprintf 'line %d, %s: `%s` -> `%s` in: %s', $line, $kind, substr($header, $at, $length) =~ s/^\s+//r,
                   $instead =~ s/^\s+//r, $was;
}

# One process a mutant; each leaves the name of the test that found it.
my ($drawn, $found, $void, %running, @survivors, %by) = (0, 0, 0);
while ($found + @survivors < $count || %running) {
    while (keys %running < $jobs && $found + @survivors + keys(%running) < $count && @places) {
        my $place = splice @places, int rand @places, 1;
        my $where = "$scratch/mutant" . ++$drawn;
        my $child = fork // die "fork: $!";
        if (!$child) {
            mkdir $where;
            my $mutant = $header;
            substr($mutant, $place->[1], $place->[2]) = $place->[3];
            spew("$where/gpuarena.h", $mutant);
            my $by = found_by($where, @tests);
            spew("$scratch/answer$drawn", $by // 'void');
            system("rm -rf $where");
            _exit(0);
        }
        $running{$child} = [$drawn, $place];
    }
    last if !%running;
    my ($number, $place) = @{ delete $running{ wait() } };
    my $by = slurp("$scratch/answer$number");
    if ($by eq 'void') { $void++ }
    elsif ($by ne '')  { $found++; $by{$by}++ }
    else               { push @survivors, $place; print 'survives: ', describe($place), "\n" }
}
printf "seed %d: %d of %d mutants are found (%.0f %%); %d more did not compile, or to other code\n", $seed, $found, $found + @survivors,
       100 * $found / (($found + @survivors) || 1), $void;
print "found by: ", join(', ', map { "$_ $by{$_}" } sort { $by{$b} <=> $by{$a} || $a cmp $b } keys %by), "\n";
