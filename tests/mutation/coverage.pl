#!/usr/bin/perl
# Lists the lines of gpuarena.h that no test has run, and the branches that none has taken, from the files that gcc's
# --coverage has left: the library's copy of the implementation, and the copies of tests that look inside. It must not
# run anything: make coverage builds and runs the tests.
use strict;
use warnings;

my $build = $ENV{BUILD} // 'build/coverage';
my @counts = grep { -e } "$build/obj/stress/policy/arena.gcda", glob("$build/obj/tests/*/*.gcda $build/obj/tests/*/*/*.gcda");
die "no counts in $build: make coverage builds and runs what makes them\n" if !@counts;

my (%runs, %text, %taken);                                           # by line; of branches, by line and number
for my $counts (@counts) {
    my ($here, $line) = (0, 0);
    open my $gcov, '-|', "gcov -b -c -t '$counts' 2>/dev/null" or die "gcov: $!\n";
    while (<$gcov>) {
        $here = m{gpuarena\.h$} if /^ +-: +0:Source:/;
        next if !$here;
        if (/^ *([-#=]+|\d+)\*?: *(\d+):(.*)/) {
            ($line, my $count) = ($2, $1);
            next if $count eq '-';
            $text{$line} = $3;
            $runs{$line} += $count =~ /\d/ ? $count : 0;
        } elsif (/^branch +(\d+) (?:taken (\d+)|never executed)/) {
            $taken{$line}[$1] += $2 // 0;
        }
    }
}

my ($lines_run, $branches, $branches_taken) = (0, 0, 0);
for my $line (sort { $a <=> $b } keys %runs) {
    my @of = grep { defined } @{ $taken{$line} // [] };     # gcov numbers calls, too
    my $missed = grep { !$_ } @of;
    $lines_run += $runs{$line} > 0;
    $branches += @of;
    $branches_taken += @of - $missed;
    if (!$runs{$line}) { print "gpuarena.h:$line: not run: ", $text{$line} =~ s/^\s+//r, "\n" }
    elsif ($missed) { print "gpuarena.h:$line: $missed of ", scalar @of, ' branches: ', $text{$line} =~ s/^\s+//r, "\n" }
}
printf "lines %d of %d (%.1f %%), branches %d of %d (%.1f %%)\n", $lines_run, scalar keys %runs,
       100 * $lines_run / (keys %runs || 1), $branches_taken, $branches, 100 * $branches_taken / ($branches || 1);
