#!/usr/bin/perl
# --out perfetto and --out memviz, read by Python: counters are those of the series, blocks tile their
# segments; and the importer makes of a snapshot the operations that it was recorded from. It must not test the
# contents of rows.
# Runs once: Python reads large files.
use strict;
use warnings;
require './tests/support/stress_run.pl';
our $folder;

my $has_python = !system('python3 -c "import json, pickle" >/dev/null 2>&1');

sub checked {
    return scalar qx(python3 tests/support/formats_check.py @{[map { "'$_'" } @_]} 2>&1);
}

# The trace as a recording of it is: blocks by their order, streams by their first use, no work and no waits.
sub canonical {
    my ($trace) = @_;
    my (%ids, %homes, %streams, $text);
    my $number = sub { my $next = 1 + keys %streams; return $_[0] ? $streams{$_[0]} //= $next : 0 };
    for my $line (split /\n/, $trace) {
        my ($kind, @words) = split / /, $line;
        next if $kind eq 'k' || $kind eq 'w';
        if ($kind eq 'a') {
            $ids{$words[0]} = keys(%homes);
            $homes{$ids{$words[0]}} = $words[2] = $number->($words[2]);
            $words[0] = $ids{$words[0]};
        } elsif ($kind eq 'f') {
            @words = ($ids{$words[0]});          # a snapshot has the stream of the allocation alone
        }
        $text .= join(' ', $kind, @words) . "\n";
        $text .= "s recording\n" if $kind eq 'gpuarena-trace';
    }
    return $text;
}

sub run_timelines {
    my ($name, $code, @words) = @_;
    my @outs = map { ('--out', "$_=$folder/$_") } qw(perfetto memviz series csv trace);
    my $run = stress('run', '--no-timing', '-q', @outs, @words);
    is($run->{code}, $code, "$name: it runs") or print "#   $run->{err}\n";
    my @csv = rows(slurp("$folder/csv"));
    ok(JSON::PP->new->utf8->decode(slurp("$folder/perfetto"))->{traceEvents}, "$name: JSON that perl reads") if !$has_python;
    return @csv;
}

# rows of the CSV; Python's findings in both files
sub python_agrees {
    my ($name, @csv) = @_;
    if (!$has_python) { skip("$name: python3 is not installed"); return }
    my $events = checked('perfetto', "$folder/perfetto", "$folder/series");
    my @lines = split /\n/, $events;
    my @wrong = grep { $lines[$_] !~ /^row $_: [1-9]\d* samples, \d+ steps, \Q@{[$csv[$_]{status} eq 'oom' ? 1 : 0]}\E refusals$/ }
        0 .. $#csv;
    ok(@lines == @csv && !@wrong, "$name: events are the series, and refusals the CSV's") or print "#   $events\n";
    my $blocks = checked('memviz', "$folder/memviz");
    @lines = split /\n/, $blocks;
    @wrong = grep { $lines[$_] !~ /^row $_: \d+ events, \d+ live, \d+ bytes in segments, \Q@{[$csv[$_]{status} eq 'oom' ? 1 : 0]}\E oom$/ }
        0 .. $#csv;
    ok(@lines == @csv && !@wrong, "$name: the snapshot is consistent") or print "#   $blocks\n";
    return;
}

# Every row's history becomes the workload's operations again.
sub comes_back {
    my ($name, $rows, @words) = @_;
    if (!$has_python) { skip("$name: python3 is not installed"); return }
    my $expected = canonical(slurp("$folder/trace"));
    for my $row (0 .. $rows - 1) {
        my $found = qx(python3 stress/import/torch_snapshot.py -q --steps --device $row @words '$folder/memviz' 2>&1);
        ok($found eq $expected, "$name: row $row becomes its trace again");
    }
}

my @policies = ('-p', 'raw,segments,paged,bfc');
my $tagged = spew("a \"tagged\" <one>&.trace", join("\n", 'gpuarena-trace 1', "s \"first\"", "a 7 5000000 0 we\"ig\\hts",
    'a 9 100 3 <b>&', "s z\x{c3}\x{a9}ro", 'f 7', "a 7 900 2 bad\x{ff}byte", 'f 9', 's end') . "\n");
for my $case (['steps and streams', 'train:layers=2,hidden=256,batch=1,steps=2,streams=2,zero3=8'], ['another stream frees', 'producer:n=400'],
              ['more ops than buckets', 'uniform:n=3000'], ['odd names', "replay:$tagged"]) {
    my ($name, $workload) = @$case;
    my @csv = run_timelines($name, 0, '-w', $workload, @policies);
    python_agrees($name, @csv);
    comes_back($name, scalar @csv) unless $name eq 'odd names';
}
if ($has_python) {
    my $tags = qx(python3 stress/import/torch_snapshot.py -q --tags --steps --device 1 '$folder/memviz' 2>&1);
    is($tags, "gpuarena-trace 1\ns recording\ns \"first\"\na 0 5000000 0 we\"ig\\hts\na 1 100 1 <b>&\ns z_ro\nf 0\na 2 900 2 bad_byte\n" .
              "f 1\ns end\n", 'odd names: tags and steps come back, what is not ASCII as _');
}

my @oom = run_timelines('out of memory', 0, '-w', 'train:layers=2,hidden=256,batch=1,steps=2', '-p', 'segments,paged', '--limit', '400M');
is(join(' ', map { $_->{status} } @oom), 'oom oom', 'out of memory: it is');
python_agrees('out of memory', @oom);
my ($event) = grep { $_->{name} eq 'out of memory' } @{JSON::PP->new->utf8->decode(slurp("$folder/perfetto"))->{traceEvents}};
is("$event->{args}{op} $event->{args}{requested}", "$oom[0]{oom_op} $oom[0]{oom_requested_bytes}", 'out of memory: as in the CSV');
ok($event->{args}{why} =~ /limit/, '.. and why');
run_timelines('skipping', 0, '-w', 'train:layers=2,hidden=256,batch=1,steps=2', qw(-p segments --limit 400M --on-oom skip));
python_agrees('skipping', rows(slurp("$folder/csv")));

run_timelines('an early end', 4, '-w', 'train:steps=2', qw(-p raw --faults obtain:5=999));
python_agrees('an early end', rows(slurp("$folder/csv")));

my $widest = spew('widest.trace', join("\n", 'gpuarena-trace 1', 'a 1 3000000 9999999999999999999', 'a 2 100 18446744073709551615', 'f 2',
    'a 3 18446744073706551615 0') . "\n");         # with the first one 2^64 - 1 in all
my @widest = run_timelines('numbers of 64 bits', 0, '-w', "replay:$widest", '-p', 'raw,segments,paged');
python_agrees('numbers of 64 bits', @widest);

my @rounds = run_timelines('rounds', 0, '-w', 'train:layers=1,hidden=256,batch=1,steps=1', '-p', 'segments,paged', '--rounds', 3);
python_agrees('rounds', @rounds);
done();
