#!/usr/bin/perl
# Histograms of shards: the repeats of a row lie in different shards, and are added up as one run would have; what is timed,
# and files whose histograms are not as --out json writes them.
# What shards are, and what is refused: cases/shard.case.
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
our ($folder, $stress);

my $odd = spew("odd \"name\"\nof two lines.trace", "gpuarena-trace 1\na 1 100 0\nf 1\n");
my @waits = ('-w', "uniform:n=300,uniform:n=20,replay:$odd", '-p', 'raw,segments', '--repeat', 3, '--rate', 1000000, '--no-timing', '-q');
stress('run', @waits, '--shard', "$_/4", '--out', "json=$folder/w$_.json") for 0 .. 3;
stress('merge', (map { "$folder/w$_.json" } 0 .. 3), '--out', "json=$folder/merged");
my $waits = JSON::PP->new->utf8->decode(slurp("$folder/merged"));
is(join(' ', map { "$_->{policy} $_->{repeats} $_->{rate}{waited}{n}" } @{$waits->{repeats}}),
   'raw 3 1800 segments 3 1800 raw 3 120 segments 3 120 raw 3 6 segments 3 6', 'three times as many samples as one row has');
for my $of (@{$waits->{repeats}}[0, 4]) {
    my %sum;
    for my $case (grep { $_->{workload} eq $of->{workload} && $_->{policy} eq $of->{policy} } @{$waits->{cases}}) { $sum{$_->[0]} += $_->[1] for @{$case->{rate}{waited}{bins}} }
    is(join(' ', map { "$_->[0]:$_->[1]" } @{$of->{rate}{waited}{bins}}), join(' ', map { "$_:$sum{$_}" } sort { $a <=> $b } keys %sum), 'bucket by bucket');
    is($of->{rate}{waited}{p99} // 'null', $of->{rate}{waited}{n} < 1000 ? 'null' : $of->{rate}{waited}{p99}, 'a percentile where there are enough of all');
}
stress('run', '-w', 'uniform:n=300', '-p', 'raw', '--repeat', 4, '-q', '--shard', "$_/2", '--out', "json=$folder/t$_.json") for 0, 1;
my $times = JSON::PP->new->utf8->decode(stress('merge', "$folder/t0.json", "$folder/t1.json")->{out});
is(join(' ', map { $times->{repeats}[0]{lat}{$_}{n} } qw(alloc hit miss free)), '1200 0 1200 1200', 'measured latencies, too');
is($times->{repeats}[0]{host_ns_per_op}{n}, 4, 'and the median of all');
my @hosts = map { JSON::PP->new->utf8->canonical->encode($_ // {}) } map { JSON::PP->new->utf8->decode(slurp("$folder/t$_.json") =~ s/\A#.*\n//r)->{host} } 0, 1;
ok($hosts[0] =~ /"cpus":/ && $hosts[0] =~ m{"0/2"} && $hosts[1] =~ m{"1/2"}, 'each says where it was measured, and how');
is(join(' ', map { JSON::PP->new->utf8->canonical->encode($_) } @{$times->{hosts}}), "@hosts", 'and what is merged has both, and no word of one host');
ok(!exists $times->{host} && !exists $waits->{hosts}, '.. nor of any without times');
my $older = spew('t1.json', slurp("$folder/t1.json") =~ s/^\],"host":.*/]}/mr);
my $mixed = JSON::PP->new->utf8->decode(stress('merge', "$folder/t0.json", $older)->{out});
is(join(' ', map { ref $_ || 'null' } @{$mixed->{hosts}}), 'HASH null', 'a shard that does not say: null');
my $second = slurp("$folder/t0.json") =~ s{shard 0/2}{shard 1/2}r;
refused(4, qr{cut\.json: ends before its time}, 'merge', "$folder/t0.json", spew('cut.json', $second =~ s/\],"host":(.{$_}).*\n\z/],"host":$1\n/r)) for 0, 1, 15, 60;
refused(4, qr{part\.json: shard 1/2 has 1 rows, expected 2: it must run again}, 'merge', "$folder/t0.json",
        spew('part.json', $second =~ s/\},"cases"/},"partial":{"text":"1 of 2 rows, then SIGINT"},"cases"/r =~ s/,\n\{[^\n]*\n\]/\n]/r));
my %broken = ('another n' => sub { s/"n":\d+/"n":7/ }, 'negative' => sub { s/"n":/"n":-/ }, 'another layout' => sub { s/\],\[\d+,/],[1000001,/ },
              'out of order' => sub { s/\],\[\d+,/],[0,/ }, 'another max' => sub { s/"max":\d+/"max":1/ }, 'another name' => sub { s/"waited":/"awaited":/ },
              'no end' => sub { s/\]\]\}/]]/ }, 'a comma too many' => sub { s/"vns",/"vns",,/ }, 'no ops' => sub { s/,"ops":/,"opps":/ },
              'too many' => sub { s/\],\[(\d+),\d+\]/],[$1,18446744073709551615]/ }, 'no histograms' => sub { s/"lat":null/"lat":{}/ },
              'no number' => sub { s/"host_ns_per_op":null/"host_ns_per_op":x/ });
for my $name (sort keys %broken) {
    local $_ = slurp("$folder/w0.json");
    my $whole = $_;
    $broken{$name}->();
    ok($_ ne $whole, "broken: $name");
    spew('broken.json', $_);
    refused(2, qr{broken\.json: row 1 of it has histograms that --out json does not write$}, 'merge', "$folder/broken.json", map { "$folder/w$_.json" } 1 .. 3);
}
done();
