#!/usr/bin/perl
# Runs the example programs and looks at their exit status and at the lines that a reader is promised.
# It must not know how they are written. Run: make && prove tests/examples.t (BUILD=DIR: where they were built)
use strict;
use warnings;
use FindBin;
use Test::More;

chdir "$FindBin::Bin/.." or die "$FindBin::Bin/..: $!";
my $examples = ($ENV{BUILD} // 'build') . '/examples';

my %promised = (
    '01_quickstart' => [
        qr/^1000 steps: 2000 allocations, [1-9] driver calls$/m,
        qr/^never more than (?:37[5-9]|3[89]\d|[4-9]\d\d) MiB of the device; 4096 MiB were allowed$/m,
        qr/^last result: ok$/m,
    ],
    '02_limits_and_growth' => [
        qr/^16384 blocks of 64 KiB fit into 1024 MiB$/m,
        qr/^of the limit, 0 bytes are not in use$/m,
        qr/^one more block -> out_of_memory\n    \S.*\blimit\b.*$/m,
        qr/^after reset +live +0, reserved 1024, limit 1024 MiB$/m,
        qr/^after trim +live +0, reserved +0, limit +600 MiB$/m,
        qr/^growth=double +\d+ +\d+ +\d+$/m,
        qr/^growth=step +16 +16 +1024$/m,
        qr/^growth=exact +96 +96 +960$/m,
        qr/^growth=fixed +1 +1 +2048$/m,
    ],
    '03_statistics_and_failure' => [
        qr/^  requested +1000000\n\+ slack +192\n\+ cached +\d+\n= reserved +2147483648 \(it sums\)$/m,
        qr/^48 MiB of 1 GiB free -> out_of_memory\n    \S.*\d/m,
        qr/^a second free -> double_free\n    \S/m,
        qr/^free of base \+ 100 -> interior_pointer\n    \S.*\b100\b/m,
    ],
);

# What an example prints; one that runs for a minute is ended, and has failed.
sub output_of { my ($name) = @_; return scalar `perl -e 'alarm 60; exec \@ARGV' '$examples/$name' 2>&1` }

for my $source (glob 'examples/[0-9]*.c') {
    my ($name) = $source =~ m{([^/]+)\.c$};
    my $output = output_of($name);
    my @missing = grep { $output !~ $_ } @{ $promised{$name} || [] };
    is($?, 0, "$name exits with 0") or diag($output);
    is_deeply(\@missing, [], "$name prints what it promises") or diag($output);
    ok($promised{$name}, "$name: is looked at here");
    open my $file, '<', $source or die "$source: $!";
    my @lines = <$file>;
    cmp_ok(scalar @lines, '<=', 90, "$name fits on a page");
    like($lines[0] . $lines[1], qr{\A/\* .*\n   Introduces }, "$name says what it shows and introduces");
}

# What is set below what is reserved is obeyed at once where memory is idle.
my ($reserved) = output_of('02_limits_and_growth') =~ /^after set_limit to 600 MiB .*reserved +(\d+)/m;
cmp_ok($reserved // 1e9, '<=', 600, 'the lowered limit is kept');
is(output_of($_), output_of($_), "$_: the same output every time") for sort keys %promised;
done_testing();
