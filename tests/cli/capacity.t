#!/usr/bin/perl
# `stress capacity`: that its answer is what `run --limit` says of it and of the limit one step below.
# Its answers, and what it refuses: cases/search.case.
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
our ($folder, $stress, $traces);

my $step = 2 << 20;
sub capacity {
    my $run = stress('capacity', @_, '-q', '--out', 'csv=-');
    print "#   $_\n" for split /\n/, $run->{err};
    return ($run, rows($run->{out}));
}

# ---- the answer is what `run` says: it completes under the limit, and not with one step less
sub confirm {
    my ($row, @words) = @_;
    my $name = "$row->{workload} $row->{policy}";
    my @under = $row->{policy} =~ /^(?:raw|cub-library)$/ ? ('--device', 'sim:') : ('--limit', '');
    my @cases = map { run_row('-w', $row->{workload}, '-p', $row->{policy}, @words, $under[0], "$under[1]$_") }
        $row->{min_limit_bytes}, $row->{min_limit_bytes} - $step;
    is("$row->{status} $cases[0]{status} $cases[1]{status}", 'ok ok oom', "$name: completes, and not with 2 MiB less");
    is(join(' ', @$row{qw(requested_peak_bytes driver_calls remapped_pages gpu_waits)}),
       join(' ', @{$cases[0]}{qw(requested_peak_bytes driver_calls remapped_pages gpu_waits)}), 'with the numbers of that run');
    is("$row->{stop_op} $row->{stop_reason}", join(' ', @{$cases[1]}{qw(oom_op oom_reason)}), 'it ends where it says');
    is($row->{ratio}, sprintf('%.4f', $row->{min_limit_bytes} / $row->{requested_peak_bytes}), 'the ratio');
    ok($row->{min_limit_bytes} % $step == 0 && $row->{min_limit_bytes} >= $row->{requested_peak_bytes}, 'whole steps');
}
my @policies = split / /, 'paged best segments segments:growth=exact segments:growth=fixed raw';
my @words = ('--seed', 3, '--ops', 6000);
my (undef, @rows) = capacity('-w', 'train:steps=2,layers=6,uniform:n=3000,train:layers=3,steps=3,streams=2', '-p',
                             join(',', @policies), @words);
is(scalar @rows, 3 * @policies, 'a row for every workload and policy');
confirm($_, @words) for @rows;

# ---- nothing is timed, and --rate counts: the sooner the next op comes, the less have streams done
my @paced = qw(-w train:streams=2,layers=4 -p paged --device sim:40G);
my %waits;
for my $rate (1, 1000000000) {
    my (undef, $row) = capacity(@paced, '--rate', $rate);
    confirm($row, qw(--device sim:40G --rate), $rate);
    $waits{$rate} = $row->{gpu_waits};
}
ok($waits{1} == 0 && $waits{1000000000} > 0, "at the rate at which they come: $waits{1} waits, and $waits{1000000000}");

# ---- real traces
my $pangu = "$traces/intervals/somas_pangu_2.6B.csv";
if (-r $pangu) {
    my ($real, @of) = capacity('-w', "replay:$pangu", '-p', 'raw,segments,paged');
    confirm($_) for @of;
    is(join("\n", map { join(' ', @$_{qw(policy status), 'min limit / peak', 'ends at op', 'reason'}) =~ s/^cudaMalloc /raw /r } (readme_rows(qr/^workload .* min limit /))[0, 1]),
       join("\n", map { join ' ', @$_{qw(policy status ratio stop_op stop_reason)} } @of[0, 1]), "README's table");
    ok($of[2]{ratio} < $of[1]{ratio} && $of[2]{remapped_pages} > 0, 'paged needs less than segments, and moves pages');
} else {
    skip("no real traces in $traces: set GPUARENA_TRACES");
}
done();
