#!/usr/bin/perl
# Draws mutants by chance, each one small mistake, and asks tests to find them: of gpuarena.h, by the quick unit
# tests; or of the simulated device and libcudart's substitute, by theirs. It prints the share that is found, and
# every mutant that is not. It must not know the tests, nor the sources beyond C: mistakes that are planted by hand
# are in *.planted.
# Run: make mutants, or make mutants MUTANTS_OF='stress/sim stress/cudart' MUTANTS_BY='tests/unit/sim tests/unit/cuda'
# (MUTANTS=how many, 40; MUTANTS_SEED=1; MUTANTS_LINES=FROM-TO; MUTANTS_WITHOUT=REGEX: tests that are left out, to see
# whether others find their mutants)
use strict;
use warnings;
use Cwd qw(getcwd);
use File::Basename qw(basename);
use List::Util qw(min sum0);
use Time::HiRes qw(time);
require './tests/support/stress_run.pl';
our $folder;

my $count   = $ENV{MUTANTS} || 40;
my $seed    = $ENV{MUTANTS_SEED} || 1;
my $build   = $ENV{BUILD} || 'build';
my @of      = split ' ', $ENV{MUTANTS_OF} || 'gpuarena.h';           # the header, or folders that tests link with
my @folders = split ' ', $ENV{MUTANTS_BY} || 'tests/unit/arena';
my $header  = $of[0] eq 'gpuarena.h';
my $cc      = ($ENV{CC} || 'cc') . ' -std=c99 -D_POSIX_C_SOURCE=200809L -O0 -w';
$cc .= ' -include ' . getcwd() . '/tests/support/asserts.h' if $header;
my $seconds = 20;                                                    # of processor time; a mutant that takes more is found
my $scratch = $folder;
my $built   = $build =~ m{^/} ? $build : getcwd() . "/$build";
my $cudart  = -e "$built/sim/libcudart.so" ? "-L$built/sim -Wl,-rpath,$built/sim -lcudart" : '';
my $link    = "$built/libstress.a $cudart -lpthread -lm -ldl";
my @looks_inside;                                                    # tests that have a copy of the implementation
srand $seed;

# ---- mutants

# The text with comments, strings and preprocessor lines blanked, so that places are places of code.
sub code_of {
    my ($text) = @_;
    $text =~ s{(/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')}{$1 =~ s/[^\n]/ /gr}gse;
    $text =~ s{^([ \t]*\#(?:.*\\\n)*.*)$}{$1 =~ s/[^\n]/ /gr}gme;
    return $text;
}

# Kinds of mistakes: the pattern of a place, and the text that replaces its match.
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

# ---- libraries that tests are linked with: each mutant brings one

# The header of one folder as a library in another: the status of the compiler.
sub header_library {
    my ($from, $to) = @_;
    my $name = 'libmutant.so';
    return system("$cc -DGPUARENA_NO_CUDA -shared -fPIC -Wl,-soname,$name -DGPUARENA_IMPLEMENTATION -x c $from/gpuarena.h "
                  . "-o $to/$name 2>$to/err");
}

# The simulated device and the substitute, which has a copy of it, from these objects.
my $soname = $ENV{CUDA_SONAME} // '';                                # without the CUDA Toolkit there is no substitute
my $cuda   = $ENV{CUDA_FLAGS} // '-DGPUARENA_NO_CUDA';

sub device_libraries {
    my ($to, @objects) = @_;
    my @device = grep { !m{/stress_cudart_} } @objects;
    return system("cc -shared -Wl,-soname,libmutant.so @device -o $to/libmutant.so -lpthread -lm 2>$to/err")
        || ($soname && system("cc -shared -Wl,-soname,$soname -Wl,--version-script,$built/cudart.map -Wl,-z,now,-z,nodelete,-Bsymbolic "
                              . "@objects -o $to/$soname -lpthread -lm -ldl 2>$to/err"));
}

# An object of one source, whose text is in a file: a source includes its neighbours, so that it is compiled in its place.
sub object_of { my ($source) = @_; return ($source =~ s{/}{_}gr) =~ s/\.c$/.o/r }
sub compile {
    my ($source, $text, $to) = @_;
    my ($folder, $object) = ($source =~ s{/[^/]*$}{}r, object_of($source));
    return system("cd $folder && $cc $cuda -fPIC -x c -c - -o $to/$object <$text 2>$to/err");
}

my @sources = $header ? ('gpuarena.h') : map { sort glob "$_/*.c" } @of;
my @beside = $header ? () : grep { my $each = $_; !grep { $_ eq $each } @sources }
    (glob("stress/base/{program,text,sets}.c"), glob('stress/sim/*.c'), $soname ? glob('stress/cudart/*.c') : ());

# Makes the libraries that tests load, of the sources as they are, or with one that is mutated. Returns 0; or 1, if a
# source does not compile, or its object does not change.
sub libraries {
    my ($where, $mutated) = @_;
    if ($header) {
        return 1 if header_library($where, $where);
        return $where ne "$scratch/base" && system("cmp -s $scratch/base/libmutant.so $where/libmutant.so") == 0;
    }
    my @objects = map { object_of($_) } @sources, @beside;
    if (!$mutated) {
        for my $source (@sources, @beside) { return 1 if compile($source, getcwd() . "/$source", $where) }
        return device_libraries($where, map { "$where/$_" } @objects);
    }
    my $object = object_of($mutated);
    return 1 if compile($mutated, "$where/" . basename($mutated), $where)
        || system("cmp -s $scratch/base/$object $where/$object") == 0;
    return device_libraries($where, map { $_ eq $object ? "$where/$_" : "$scratch/base/$_" } @objects);
}

# ---- tests

# The quick tests are linked once with a library that each mutant brings; those that look inside the header are compiled
# each time. A test that takes long is asked late.
sub prepare {
    system("cp -r stress tests $scratch/ && mkdir $scratch/run $scratch/base && ln -s ../tests $scratch/run/tests") == 0
        or die 'cp';
    spew('base/gpuarena.h', slurp('gpuarena.h')) if $header;
    libraries("$scratch/base") == 0 or die 'what is to be mutated does not compile as it is: ', slurp("$scratch/base/err");
    my %seconds;
    for my $source (map { sort glob "$_/test_*.c" } @folders) {
        my $name = basename($source, '.c');
        next if $ENV{MUTANTS_WITHOUT} && $name =~ /$ENV{MUTANTS_WITHOUT}/;
        my $text = slurp($source);
        if ($header && $text =~ /define GPUARENA_STATIC|"space_draw\.h"/) {
            push @looks_inside, $source;
            next;
        }
        my $own = $header ? '' : "-L$scratch/base" . ($soname && " -l:$soname");
        system("cc $built/obj/" . ($source =~ s/\.c$/.o/r) . " -o $scratch/$name $scratch/base/libmutant.so $own $link") == 0
            or die "$name does not link: make mutants builds what is needed";
        my $begin = time;
        passes("$scratch/base", "$scratch/$name", "$scratch/out") or die "$name does not pass as it is: ", slurp("$scratch/out");
        $seconds{$name} = time - $begin;
    }
    return sort { $seconds{$a} <=> $seconds{$b} } keys %seconds;
}

sub passes {
    my ($library, $program, $output) = @_;
    my $longest = 10 * $seconds;                                     # for one that sleeps, on a machine that is busy
    return system("cd $scratch/run && ulimit -t $seconds && LD_LIBRARY_PATH=$library timeout $longest $program "
                  . ">$output 2>&1") == 0;
}

# The test that finds this mutant; '' if none does; undef if it does not compile, or to the same code as without.
sub found_by {
    my ($where, $mutated, @tests) = @_;
    return undef if libraries($where, $mutated);
    for my $test (@tests) { return $test if !passes($where, "$scratch/$test", "$where/out") }
    return '' if !@looks_inside;
    system("cp -r $scratch/stress $scratch/tests $where/") == 0 or die 'cp';
    for my $source (@looks_inside) {
        my $test = basename($source, '.c');
        my $extra = $test eq 'test_bounds' ? '-finstrument-functions' : '';
        system("cd $where && $cc -DGPUARENA_NO_CUDA $extra -iquote . -iquote tests/support $source -o $where/$test $link "
               . "2>$where/err") == 0 or return undef;
        return $test if !passes($where, "$where/$test", "$where/out");
    }
    return '';
}

# ---- the run

my %text = map { $_ => slurp($_) } @sources;
my @places = map { my $source = $_; map { [@$_, $source] } places($text{$source}) } @sources;
@places >= $count or die scalar(@places), " places only\n";
my @tests = prepare();
my @inside = $header ? found_by("$scratch/base", 'gpuarena.h') : ();
die "the header as it is does not pass: ", $inside[0] // 'it does not compile', "\n" if $header && ($inside[0] // '?') ne '';

sub describe {
    my ($place) = @_;
    my ($kind, $at, $length, $instead, $source) = @$place;
    my $text = $text{$source};
    my $line = 1 + (substr($text, 0, $at) =~ tr/\n//);
    my $begin = 1 + rindex $text, "\n", $at;
    my $was = substr($text, $begin, index($text, "\n", $at) - $begin) =~ s/^\s+//r;
    return sprintf '%s line %d, %s: `%s` -> `%s` in: %s', $source, $line, $kind, substr($text, $at, $length) =~ s/^\s+//r,
                   $instead =~ s/^\s+//r, $was;
}

# The test that found the mutant of a place, '' if none did; undef as above.
sub judge {
    my ($kind, $at, $length, $instead, $source) = @{ $_[0] };
    my $where = "$folder/mutant";                                    # of this process
    mkdir $where or die "$where: $!";
    my $mutant = $text{$source};
    substr($mutant, $at, $length) = $instead;
    spew('mutant/' . basename($source), $mutant);
    my $by = found_by($where, $source, @tests);
    system("rm -rf $where");
    return $by;
}

my ($void, @survivors, %by) = (0);
while (@places && (my $left = $count - @survivors - sum0(values %by)) > 0) {
    my @drawn = map { splice @places, int rand @places, 1 } 1 .. min($left, scalar @places);
    my @found = in_parallel(\@drawn, \&judge);
    for my $at (0 .. $#drawn) {
        if (!defined $found[$at])   { $void++ }
        elsif ($found[$at] ne '')   { $by{$found[$at]}++ }
        else                        { push @survivors, $drawn[$at]; print 'survives: ', describe($drawn[$at]), "\n" }
    }
}
my $found = sum0(values %by);
printf "seed %d: %d of %d mutants are found (%.0f %%); %d more did not compile, or to other code\n", $seed, $found, $found + @survivors,
       100 * $found / (($found + @survivors) || 1), $void;
print "found by: ", join(', ', map { "$_ $by{$_}" } sort { $by{$b} <=> $by{$a} || $a cmp $b } keys %by), "\n";
