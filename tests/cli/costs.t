#!/usr/bin/perl
# `stress costs` on simulated devices: the file it writes is the table that the device charges.
# It must not test the fit: test_costs does.
use strict;
use warnings;
require './tests/support/stress_run.pl';
our ($folder);

# Lines that are no comments, their own comments included.
sub entries {
    return join "\n", sort grep { /^[^#]/ } split /\n/, $_[0];
}

my $run = stress('costs');
is($run->{code}, 0, 'costs: exit 0') or print "#   $run->{err}\n";
is($run->{err}, '', 'and nothing on stderr');
is(stress('costs')->{out}, $run->{out}, 'the same bytes every time');
my @measured = (qw(malloc_slab malloc_block free_slab free_block info),
                map { "vm_$_" } qw(reserve release create destroy map access unmap));
my $defaults = stress('help', 'costs')->{out};
my ($wanted) = join "\n", map { my $name = $_; grep { /^$name / } split /\n/, $defaults } sort @measured;
is(entries($run->{out}), $wanted, 'what is measured is the default table, to the byte; the rest is left out');
ok($run->{out} =~ /^# malloc_block +17179869184 bytes: median \d+ ns of \d+, from \d+ to \d+$/m, 'rows are comments');
ok($run->{out} =~ /^# sim:80G: simulated, virtual nanoseconds\n/, 'the device is named');
ok($run->{out} =~ /^# worst of 14 sizes: 0\.0 % off/m, 'the fit says how good it is');
is(stress('run', '-w', 'uniform:n=2000', '-p', 'raw,segments', '-q', '--no-timing', '--out', 'csv=-', '--costs',
          spew('costs', $run->{out}))->{out},
   stress('run', '-w', 'uniform:n=2000', '-p', 'raw,segments', '-q', '--no-timing', '--out', 'csv=-')->{out},
   'a run with them is a run with the defaults');

my $other = "free_block 1234 5678\nfree_slab 99 0\ninfo 7 0\nmalloc_block 1000000000 3\nmalloc_slab 31 0\n"
          . "vm_access 9 8\nvm_create 7 0\nvm_destroy 6 5\nvm_map 4 0\nvm_release 3 0\nvm_reserve 2 0\nvm_unmap 1 0\n";
my $table = spew('other', $other);
is(stress('costs', '--costs', $table, '--out', "costs=$folder/measured")->{out}, '', '--out to a file: nothing on stdout');
is(entries(slurp("$folder/measured") =~ s/ +#.*//gr), $other =~ s/\n\z//r, 'another table comes back as it went in');
is(entries(stress('costs', '--costs', "$folder/measured", '--device', 'sim:24G')->{out}),
   entries(slurp("$folder/measured")), 'and again, on another device');

my $poor = stress('costs', '--faults', 'obtain>1K');
ok($poor->{code} eq 4 && $poor->{err} !~ /not measured/, 'no memory for blocks: refused as a whole');
my $slabless = stress('costs', '--faults', 'obtain:1');
is($slabless->{code}, 0, 'no memory for a slab: the rest is measured');
is($slabless->{err}, join('', map { "stress: $_ was not measured and is left out: no call was of that kind\n" } qw(malloc_slab free_slab)),
   'and what was not is said');
ok($slabless->{out} =~ /^# stopped at 1024 bytes: no memory$/m && $slabless->{out} !~ /^(?:malloc|free)_slab/m, 'in the file too');
is(stress('costs', '--faults', 'obtain:1', '-q')->{err}, '', '-q: without a word');

refused(2, qr/--workload means nothing to costs/, 'costs', '-w', 'train');
refused(2, qr/--verify means nothing to costs/, 'costs', '--verify', 'off');
refused(2, qr/unexpected argument 'all'/, 'costs', 'all');
refused(2, qr/--out: expected KIND=PATH with costs, found 'csv'/, 'costs', '--out', 'csv=-');
refused(2, qr/--out: expected KIND=PATH with csv, json, junit, md, html, svg, map, series, latency, perfetto, memviz or trace, found 'costs'/, qw(run -w train -p raw --out costs=-));
refused(2, qr/writes one file/, 'costs', '--out', 'costs=-', '--out', "costs=$folder/x");
refused(2, qr/is what --costs \S+other reads/, 'costs', '--costs', $table, '--out', "costs=$table");
refused(4, qr/cannot be written/, 'costs', '--out', "costs=$folder/no/such/folder");
refused(4, qr/too little free device memory, expected at least 8M/, 'costs', '--device', 'sim:4M');
refused(4, qr/cudaFree of 1024 bytes: cudaErrorUnknown \(999\)/, 'costs', '--faults', 'give_back:1');
refused(77, qr/--device cuda:99: /, 'costs', '--device', 'cuda:99', '--out', "costs=$folder/none");
ok(!-e "$folder/none", '.. and no empty file is left');
done();
