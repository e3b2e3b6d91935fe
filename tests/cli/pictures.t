#!/usr/bin/perl
# Pictures and the files of their points: well-formed, and every number is one of the CSV's.
# It must not test the look of a picture: html.t shows it to a browser.
use strict;
use warnings;
require './tests/support/stress_run.pl';
require './tests/support/pictures.pl';
our ($folder, $stress, $traces);

# One run, all that it writes: { csv, series, latency => rows; svg, map => text }
sub pictures {
    my (@words) = @_;
    my @outs = map { ('--out', "$_=$folder/$_") } qw(csv series latency svg map);
    my $run = stress('run', @words, '-q', @outs);
    print "#   $_\n" for split /\n/, $run->{err};
    my %made = (code => $run->{code}, map { $_ => slurp("$folder/$_") } qw(csv series latency svg map));
    @{$made{rows}} = rows($made{csv});
    @{$made{points}} = rows($made{series});
    @{$made{times}} = rows($made{latency});
    return \%made;
}

# ---- numbers are the CSV's
sub numbers_agree {
    my ($made, $name, @figures) = @_;
    my ($seen, @wrong) = 0;
    for my $number (map { @{$_->{numbers}} } @figures) {
        my $cell = $made->{rows}[$number->{'data-row'}]{$number->{'data-column'}} // '(none)';
        $seen++;
        push @wrong, "$number->{'data-column'}: $number->{'data-value'} is $cell" if $cell ne unescape($number->{'data-value'});
    }
    ok($seen >= 2 && !@wrong, "$name: $seen numbers, each that of the CSV @wrong");
}

# Every point of a line is a row of the series, within the precision of a tenth of a unit.
sub lines_agree {
    my ($made, $name, @figures) = @_;
    my (%rows, %drawn, @wrong);
    my ($points, $most_op) = (0, 1);
    $most_op = $_->{op} > $most_op ? $_->{op} : $most_op for @{$made->{points}};
    my $slot = sub { int($_[0] * 500 / $most_op) };
    push @{$rows{$_->{row}}[$slot->($_->{op})]}, $_ for @{$made->{points}};
    for my $figure (@figures) {
        my (undef, $x_most) = split ' ', $figure->{axes}{'data-x'};
        my ($y_least, $y_most) = split ' ', $figure->{axes}{'data-y'};
        for my $line (grep { $_->{'data-series'} =~ /_bytes$/ } @{$figure->{lines}}) {
            my ($row, $field) = @{$line}{qw(data-row data-series)};
            for my $point (values_of($figure, $line)) {
                my $near = $slot->($point->[0]);
                my $found = grep { abs($_->{op} - $point->[0]) <= $x_most / 3500
                                   && abs($_->{$field} - $point->[1]) <= ($y_most - $y_least) / 1500 }
                            map { @{$rows{$row}[$_] // []} } ($near ? $near - 1 : 0) .. $near + 1;
                push @wrong, "row $row $field at @$point" if !$found;
                $points++;
                $drawn{$row}{$field} = $point->[1] if $point->[1] > ($drawn{$row}{$field} // 0);
            }
            my $peak = $made->{rows}[$row]{$field =~ s/_bytes/_peak_bytes/r};
            push @wrong, "row $row $field: highest $drawn{$row}{$field}, not $peak"
                if abs($drawn{$row}{$field} - $peak) > ($y_most - $y_least) / 1500;
        }
    }
    ok($points > 20 && !@wrong, "$name: $points points of lines, each of the series: @wrong[0 .. ($#wrong < 2 ? $#wrong : 2)]");
}

# The series has the peaks that the CSV has, exactly.
sub series_agree {
    my ($made, $name) = @_;
    my (%highest, @wrong);
    for my $point (@{$made->{points}}) {
        for my $field (qw(requested live reserved pending stranded)) {
            my $value = $point->{"${field}_bytes"};
            $highest{$point->{row}}{$field} = $value if $value > ($highest{$point->{row}}{$field} // -1);
        }
    }
    for my $row (0 .. $#{$made->{rows}}) {
        for my $field (qw(requested live reserved pending stranded)) {
            my $cell = $made->{rows}[$row]{"${field}_peak_bytes"};
            push @wrong, "row $row $field $highest{$row}{$field}, not $cell" if $cell ne '' && $cell ne $highest{$row}{$field};
        }
    }
    ok(@{$made->{points}} && !@wrong, "$name: peaks of the series are those of the CSV @wrong");
}

sub latency_agrees {
    my ($made, $name) = @_;
    my %column = ('alloc 500' => 'alloc_p50_ns', 'alloc 990' => 'alloc_p99_ns', 'free 500' => 'free_p50_ns');
    my @wrong = grep { my $column = $column{"$_->{call} $_->{per_mille}"};
                       $column && $made->{rows}[$_->{row}]{$column} ne $_->{ns} } @{$made->{times}};
    ok(@{$made->{times}} && !@wrong, "$name: percentiles are those of the CSV");
}

# The coloured area of a map equals live memory, on average; few ops, so that the series has them all.
sub map_agrees {
    my ($made, $name, $figure, $row) = @_;
    my ($cells, @points) = (cells_of($figure), grep { $_->{row} == $row } @{$made->{points}});
    my (undef, $ops) = split ' ', $figure->{axes}{'data-x'};
    my (undef, $bytes) = split ' ', $figure->{axes}{'data-y'};
    my ($live, $reserved, $used, $hole) = (0, 0, 0, $cells->{c8} // 0);
    $live += $_->{live_bytes}, $reserved += $_->{reserved_bytes} for @points;
    $used += $cells->{"c$_"} // 0 for 0 .. 7;
    my $all = $figure->{map}{'data-width'} * $figure->{map}{'data-height'};
    my ($shown, $expected) = ($used / $all, $live / $ops / $bytes);
    ok(abs($shown - $expected) < 0.04, sprintf "%s: %.3f of the map is live, %.3f was", $name, $shown, $expected);
    my ($left, $top, $right, $bottom) = split ' ', $figure->{axes}{'data-area'};
    my $sheet = $figure->{sheet}{width} * $figure->{sheet}{height} / ($right - $left) / ($bottom - $top);
    return sprintf '%.2f', $hole / $all - ($sheet - $reserved / $ops / $bytes);
}

my @few = ('-w', 'train:layers=4,hidden=512,steps=3,seq=128-512', '-p', 'raw,segments,paged,bfc,pytorch');
my $made = pictures(@few);
is($made->{code}, 0, 'a run writes its pictures');
my @figures = figures_of(well_formed($made->{svg}, 'svg'));
my @maps = figures_of(well_formed($made->{map}, 'map'));
is(join(' | ', map { $_->{title} =~ s/^train:[^ ]*?(?=[:\/ ])//r =~ s/.*?(?=: | \/ )//r } @figures),
   ': overhead | : latency | : fragmentation | : idle | '
   . join(' | ', map { " / $_: addresses |  / $_: memory" } qw(cudaMalloc segments paged bfc pytorch)), 'all figures of a workload, in order');
is(scalar(grep { $_->{marks} } @figures), scalar @figures, 'something is drawn in each');
is(scalar(grep { length $_->{description} > 30 } @figures), scalar @figures, 'each is told in words');
is(scalar(@maps), 5, '--out map: a map a policy, and nothing else');
numbers_agree($made, 'five policies', @figures);
lines_agree($made, 'five policies', @figures);
series_agree($made, 'five policies');
latency_agrees($made, 'five policies');
is(join(' ', grep { abs > 0.03 } map { map_agrees($made, $maps[$_]{title}, $maps[$_], $_) } 1 .. 4), '',
   'holes are what is not reserved');

# ---- not timed. That bytes are the same every time: formats.t
my $untimed = pictures(@few, '--no-timing');
is($untimed->{latency}, "row,workload,policy,call,per_mille,ns\n", 'no latency where nothing was timed');
ok($untimed->{svg} !~ /latency/, 'and no figure of it');

# ---- out of memory
my $out = pictures('-w', 'train:layers=4,hidden=512,steps=3,seq=128-512', '-p', 'segments,paged', '--limit', '700M', '--no-timing');
my @dead = figures_of(well_formed($out->{svg}, 'out of memory'));
is(join(' ', map { $_->{status} } @{$out->{rows}}), 'oom oom', 'a run out of memory');
numbers_agree($out, 'out of memory', @dead);
lines_agree($out, 'out of memory', @dead);
my %told = map { $_->{'data-column'} => 1 } map { @{$_->{numbers}} } @dead;
ok($told{oom_op} && $told{oom_requested_bytes} && $told{oom_free_bytes} && $told{oom_largest_bytes}, 'the refusal stands there in numbers');
ok($out->{svg} =~ /class="oom"/ && $out->{svg} =~ /class="want"/, 'and as a line, beside what was asked for');

# ---- missing rows and values
my $error = pictures('-w', 'uniform:n=50', '-p', 'raw,segments', '--no-timing', '--faults', 'obtain:3=999');
is(join(' ', map { $_->{status} } @{$error->{rows}}), 'error error', 'rows that failed');
well_formed($error->{svg}, 'rows that failed');
my $none = pictures('-w', 'replay:' . spew('none.trace', "gpuarena-trace 1\n"), '-p', 'raw,paged', '--no-timing');
is($none->{code}, 0, 'a workload without operations');
well_formed($none->{svg}, 'nothing at all');
my $one = pictures('-w', 'replay:' . spew('one.trace', "gpuarena-trace 1\na 1 1 0\n"), '-p', 'segments,paged', '--no-timing');
well_formed($one->{svg}, 'one byte');

# ---- names that would be markup
my $evil = spew(q{<a href="&x;">]]>'.trace}, "gpuarena-trace 1\ns <b>&\"'</b>\na 1 3000000 0 <i>&amp;\nf 1\n");
my $names = pictures('-w', "replay:$evil", '-p', 'raw,segments', '--no-timing');
my @hostile = figures_of(well_formed($names->{svg}, 'names of markup'));
ok((grep { index($_->{title}, q{<a href="&x;">]]>'.trace}) >= 0 } @hostile) >= 2, 'the name is shown as it is');
my $broken = pictures('-w', 'replay:' . spew("\xff\xc0\x01.trace", "gpuarena-trace 1\na 1 3000000 0\n"), '-p', 'raw', '--no-timing');
well_formed($broken->{svg}, 'a name that is no UTF-8');

# ---- sizes to the type's end, and many operations
my $huge = pictures('-w', 'replay:' . spew('huge.trace', "gpuarena-trace 1\na 1 18446744073709551615 0\nf 1\na 2 18446744073709551360 0\n"),
                    '-p', 'raw,segments,paged', '--no-timing', '--on-oom', 'skip');
numbers_agree($huge, 'huge', figures_of(well_formed($huge->{svg}, 'sizes at the end of their type')));
my $many = pictures('-w', 'uniform:n=60000', '-p', 'paged', '--no-timing');
my @many = figures_of(well_formed($many->{svg}, 'many operations'));
lines_agree($many, 'many operations', @many);
series_agree($many, 'many operations');
ok(length $many->{svg} < 400000, 'and few bytes: ' . length $many->{svg});
ok(@{$many->{points}} <= 8 * 1024, 'and few points: ' . @{$many->{points}});

# ---- memory of other kinds is seen, too
my $kinds = pictures('-w', 'train:layers=4,hidden=512,steps=2,seq=128-512', '-p', 'segments:backing=managed,segments:backing=pinned', '--no-timing');
my @kinds = figures_of(well_formed($kinds->{map}, 'managed and pinned'));
is(join(' ', grep { abs > 0.03 } map { map_agrees($kinds, $kinds[$_]{title}, $kinds[$_], $_) } 0, 1), '', 'their holes, too');

# ---- README's pictures are those that `make pictures` makes
for my $picture (['pangu_peak', '--ops', 9000], ['pangu_whole']) {
    my ($name, @more) = @$picture;
    my $kept = slurp("stress/report/pictures/$name.svg");
    well_formed($kept, $name);
    ok(length $kept < 64 * 1024, "$name: " . length($kept) . ' bytes');
    if (!-e "$traces/intervals/somas_pangu_2.6B.csv") {
        skip("no traces in $traces");
        next;
    }
    my $fresh = stress('run', '-w', "replay:$traces/intervals/somas_pangu_2.6B.csv", '-p', 'segments,paged', '--limit', 5806604763, @more,
                       '--no-timing', '-q', '--out', 'map=-');
    ok($fresh->{out} eq $kept, "$name is what `make pictures` makes");
}

# ---- other commands
for my $command (['capacity', '-w', 'uniform:n=300', '-p', 'raw,segments'], ['holes', '-p', 'segments', '--no-timing'],
                 ['batch', '-w', 'train:layers=2,hidden=256,steps=1,seq=128', '-p', 'raw,segments', '--device', 'sim:1G']) {
    my $run = stress(@$command, '-q', '--out', "svg=$folder/svg", '--out', "csv=$folder/csv");
    is($run->{code}, 0, "$command->[0] writes a picture");
    my %made;
    @{$made{rows}} = rows(slurp("$folder/csv"));
    my @shown = figures_of(well_formed(slurp("$folder/svg"), $command->[0]));
    numbers_agree(\%made, $command->[0], @shown) if $command->[0] ne 'holes';
}

done();
