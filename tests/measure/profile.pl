#!/usr/bin/perl
# A profile of the hit path: instructions of a pair at 1,000 live blocks, by function of gpuarena.h, inlined ones too.
# It must not judge: `make profile` prints it.
# Run: make profile (BUILD=folder of bench; without -g there are no lines to tell inlined functions by); needs valgrind
use strict;
use warnings;
use File::Temp qw(tempdir);

my $build = $ENV{BUILD} || 'build';
my $folder = tempdir(CLEANUP => 1);
my $pairs = 5000;                                # STAGE_COUNTED_PAIRS
my @backings = ('segments', 'paged');            # the first calls of pairs_counted

# Lines of the header -> the function that they are part of: its name stands before a brace alone on a line.
sub functions_by_line {
    my (@functions, $name, $inside);
    open my $file, '<', 'gpuarena.h' or die "gpuarena.h: $!";
    while (<$file>) {
        $name = $1 if !$inside && /^[A-Za-z].*?\b(\w+)\(/;
        $inside = $name if /^\{$/;
        $functions[$.] = $inside if $inside;
        $inside = undef if /^\}/;
    }
    return \@functions;
}

# Instructions by function of one call of pairs_counted; the cost of a call is counted where it is spent, not in its
# caller.
sub instructions {
    my ($path, $functions) = @_;
    my ($source, $function, $is_call, %spent) = ('', '');
    open my $file, '<', $path or die "$path: $!";
    while (<$file>) {
        if (/^(?:fl|fi|fe)=(.*)/) { $source = $1 }
        elsif (/^fn=(.*)/) { $function = $1 =~ s/(?:'\d+|@.*)$//r }
        elsif (/^calls=/) { $is_call = 1 }
        elsif (/^(\d+) (\d+)$/) {
            my ($line, $cost) = ($1, $2);
            my $own = $source =~ /gpuarena\.h$/ && $functions->[$line];
            $spent{$own || $function} += $cost if !$is_call;
            $is_call = 0;
        }
    }
    return \%spent;
}

my $status = system 'valgrind', '-q', '--tool=callgrind', '--collect-atstart=no', '--toggle-collect=pairs_counted',
    '--dump-after=pairs_counted', '--compress-strings=no', '--compress-pos=no', "--callgrind-out-file=$folder/out",
    "$build/bench", '--no-timing', '-q';
exit !print "profile: skipped, there is no valgrind\n" if $status == -1;
die "bench under callgrind: status $status\n" if $status;
my $functions = functions_by_line();
my @spent = map { instructions("$folder/out.$_", $functions) } 1 .. @backings;
my %all = map { ($_ => 1) } map { keys %$_ } @spent;
my @names = sort { ($spent[1]{$b} // 0) <=> ($spent[1]{$a} // 0) || ($spent[0]{$b} // 0) <=> ($spent[0]{$a} // 0) || $a cmp $b }
    keys %all;
printf "%-44s %9s %9s\n", 'instructions of a pair, 1,000 live', @backings;
for my $name (@names) {
    my @each = map { ($_->{$name} // 0) / $pairs } @spent;
    printf "%-44s %9.1f %9.1f\n", $name, @each if $each[0] >= 0.5 || $each[1] >= 0.5;
}
printf "%-44s %9.1f %9.1f\n", 'all', map { my $one = $_; my $sum = 0; $sum += $one->{$_} for keys %$one; $sum / $pairs } @spent;
