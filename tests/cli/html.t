#!/usr/bin/perl
# The report: well-formed, whole, small, and shown well by a browser on a screen and on a phone, light and dark. It
# must not test the numbers of figures: pictures.t does.
# Run: prove tests/cli/html.t (STRESS=path of the program, GPUARENA_TRACES=folder of recorded traces, CHROMIUM=a
# browser; GPUARENA_SHOTS=folder keeps the pictures that the browser makes)
# Runs once: a browser shows every page.
use strict;
use warnings;
use JSON::PP;
require './tests/support/stress_run.pl';
require './tests/support/pictures.pl';
our ($folder, $stress, $traces);

sub report {
    my ($name, @words) = @_;
    my $run = stress(@words, '-q', '--out', "html=$folder/$name.html", '--out', "csv=$folder/$name.csv");
    print "#   $_\n" for split /\n/, $run->{err};
    my $text = slurp("$folder/$name.html");
    my @all = well_formed($text, $name);
    ok($text =~ /\A<!DOCTYPE html>\n<html lang="en">/, "$name: a page of HTML");
    is(join(' ', grep { /^on|^style$|^href$|^src$/ } map { keys %$_ } @all), '', "$name: no handlers, styles or links");
    my %ids;
    $ids{$_->{id}}++ for grep { defined $_->{id} } @all;
    is(join(' ', grep { $ids{$_} > 1 } sort keys %ids), '', "$name: every id once");
    my @unnamed = grep { $_->{name} eq 'svg' && (($_->{role} // '') ne 'img'
                         || grep { !$ids{$_} } split ' ', $_->{'aria-labelledby'} // 'none') } @all;
    is(scalar(@unnamed), 0, "$name: every figure has a title and a description");
    ok(length $text < 2_000_000, "$name: " . length($text) . ' bytes');
    my @rows = rows(slurp("$folder/$name.csv"));
    my @numbers = grep { defined $_->{'data-column'} } @all;
    my @wrong = map { "$_->{'data-column'}: $_->{'data-value'}" }
                grep { ($rows[$_->{'data-row'}]{$_->{'data-column'}} // '(none)') ne unescape($_->{'data-value'}) } @numbers;
    ok((@numbers >= 2 || $words[0] eq 'holes') && !@wrong,
       "$name: " . @numbers . " numbers, each that of the CSV @wrong[0 .. ($#wrong < 3 ? $#wrong : 3)]");
    return ($text, $run, @all);
}

# The table's cells but those of the first column, as `a|b|c` a row: of a report, and of the terminal's table.
sub cells_of_report {
    my @rows = shift =~ m{<tr[^>]*>((?:<td.*?</td>)+)</tr>}g;
    return map { join '|', map { unescape(s/<[^>]*>//gr) } m{<td[^>]*>(.*?)</td>}g } @rows;
}

sub cells_of_terminal {
    my (@words) = @_;
    local $ENV{COLUMNS} = 400;
    my ($table) = split /\n\n(?=\w+[^\n]*: )|\nmin limit: |\na pair: |\nsimulated device/, stress(@words)->{out};
    my (undef, @lines) = grep { length } split /\n/, $table;
    return map { my (undef, @cells) = split / {2,}/, tr/*/ /r; s/ $// for @cells; join '|', @cells } @lines;
}

# ---- the parts of a report
my $pangu = "$traces/intervals/somas_pangu_2.6B.csv";
my @three = ('-w', 'train:layers=8,hidden=1024,steps=4,seq=256-1024', '-w', 'phases:layers=4,hidden=512',
             -e $pangu ? ('-w', "replay:$pangu") : ());
my @five = ('-p', 'raw,segments,paged,bfc,pytorch');
my ($text, $run, @all) = report('whole', 'run', @three, @five, '--limit', '5700M', '--fail-if', 'oom_op >= 0');
skip("no traces in $traces") if !-e $pangu;
is($run->{code}, 1, 'a rule that fails');
ok($text =~ /<p class="verdict bad">\d+ of \d+ rows complete; \d+ runs? out of memory; \d+ of \d+ verdicts fails?, \d+ could not be given \(--strict: that fails\)\.</, 'the verdict, in words');
ok($text =~ m{<pre>\S+ run -w train:\S+ .*--out html=}, 'the command that made it');
ok($text =~ m{<pre>repro: \S+ run -w \S+ -p \S+ .*--limit 5700M}, 'a line for each row that did not complete');
ok($text =~ /would pass the limit|fit in no single free block/, 'and why, in a sentence');
my %shown;
$shown{$_->{title} =~ s/^.*?(?=: | \/ )//r =~ s/ \/ \S+:/ \/ :/r}++ for figures_of(@all);
is(join(' ', map { "$_=" . ($shown{$_} ? 'yes' : 'no') } ': overhead', ': latency', ' / : addresses', ' / : memory', ': fragmentation', ': idle'),
   ': overhead=yes : latency=yes  / : addresses=yes  / : memory=yes : fragmentation=yes : idle=yes', 'all kinds of figures');
my ($quiet) = report('timeless', 'run', '-w', 'uniform:n=500', '-p', 'raw,paged', '--no-timing');
ok($quiet =~ /<p class="verdict good">2 of 2 rows complete\.</, 'all is well');
is(join("\n", cells_of_report($quiet)), join("\n", cells_of_terminal('run', '-w', 'uniform:n=500', '-p', 'raw,paged', '--no-timing')),
   'the table is the terminal\'s');
ok($quiet =~ m{<th class="g" scope="rowgroup" colspan="\d+"><span>uniform:n=500</span></th>}, 'the workload stands above its rows');
my ($capacity) = report('capacity', 'capacity', '-w', 'uniform:n=300', '-p', 'raw,segments,paged');
is(join("\n", cells_of_report($capacity)), join("\n", cells_of_terminal('capacity', '-w', 'uniform:n=300', '-p', 'raw,segments,paged')),
   'that of capacity, too');
report('batch', 'batch', '-w', 'train:layers=2,hidden=256,steps=1,seq=128', '-p', 'raw,segments', '--device', 'sim:1G');
my ($holes, $fine, @cost) = report('holes', 'holes', '-p', 'segments,paged', '--quick');
ok($holes =~ m{<th scope="col">over the first</th>.*>target</th>.*>met</th>}, 'holes: whether the target is met, too');
is(join(' ', map { $_->{title} } figures_of(@cost)), 'time against free blocks', 'cost against free blocks');
my ($failing) = report('failed', 'run', '-w', 'uniform:n=50', '-p', 'segments', '--no-timing', '--faults', 'obtain:3=999');
ok($failing =~ /<p class="verdict bad">0 of 1 row complete; 1 fails\./, 'a row that failed');
my ($short) = report('short', 'run', '-w', 'uniform:n=500', '-p', 'raw,segments,paged', '--no-timing', '--limit', '8M', '--device', 'sim:1G');
ok($short =~ /<p class="verdict bad">\d of 3 rows completes?; \d runs? out of memory\./, 'rows that ran out of memory: the verdict is not green');
report('none', 'run', '-w', 'uniform:n=500', '-p', 'segments,paged', '--no-timing', '--limit', '8M');
my $evil = spew(q{<b>&"'.trace}, "gpuarena-trace 1\ns <i>\na 1 3000000 0 </svg>\nf 1\n");
my ($named) = report('names', 'run', '-w', "replay:$evil", '-p', 'raw,segments', '--no-timing', '--fail-if', q{ops < 0});
ok($named =~ m{<g class="block"><rect class="hit"[^<]*/>\n<text[^>]*>2\.86 MiB, &#60;/svg&#62;, &#60;i&#62;, op 0 to 1</text>}
   || $named =~ m{>2\.86 MiB, &lt;/svg&gt;, &lt;i&gt;, op 0 to 1</text>}, 'a block says its size, tag, step and lifetime');
my $many = join ',', map { "uniform:n=30,seed=$_" } 1 .. 120;
my ($large) = report('many', 'run', '-w', $many, '-p', 'raw,segments,paged,bfc,best,first,pytorch,rmm,cub,ort', '--no-timing');
ok($large =~ /rows more have no figures/ && $large =~ /rows more are in the CSV/, 'of many rows: the first, and a word');

# ---- a browser's eyes
my ($browser) = grep { defined && length && -x } $ENV{CHROMIUM}, map { ("$_/chromium", "$_/google-chrome") } split /:/, $ENV{PATH};
my $eyes = <<'SCRIPT';
<script>
window.seen = { errors: [] };
window.onerror = function (text) { seen.errors.push(String(text)); };
window.onload = function () {
  var page = document.documentElement, figures = document.querySelectorAll('figure svg');
  seen.wide = page.scrollWidth - page.clientWidth;
  seen.page = getComputedStyle(document.body).backgroundColor;
  seen.ink = getComputedStyle(document.body).color;
  seen.figures = figures.length;
  seen.unmarked = []; seen.covered = []; seen.outside = []; seen.small = 99; seen.apart = [];
  figures.forEach(function (figure, at) {
    var title = figure.querySelector('title').textContent;
    if (!/: memory$/.test(title) || page.clientWidth < 900) return;
    if (figure.getBoundingClientRect().top !== figures[at - 1].getBoundingClientRect().top) seen.apart.push(title);
  });
  var block = Array.from(document.querySelectorAll('.block')).find(function (block) {
    var box = block.querySelector('.hit').getBoundingClientRect();
    return box.width > 3 && box.height > 3;
  });
  if (block) {
    block.scrollIntoView();
    var box = block.querySelector('.hit').getBoundingClientRect();
    var found = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    seen.block = found && found.parentNode.className.baseVal;
    seen.hidden = getComputedStyle(block.querySelector('text')).display;
    window.scrollTo(0, 0);
  }
  figures.forEach(function (figure) {
    var title = figure.querySelector('title').textContent, frame = figure.getBoundingClientRect(), marks = 0;
    figure.querySelectorAll('path.line[data-row], .bar, .map path').forEach(function (mark) {
      var box = mark.getBoundingClientRect(), style = getComputedStyle(mark);
      var paint = mark.classList.contains('line') ? style.stroke : style.fill;
      if (box.width + box.height > 1 && paint !== 'none' && paint !== seen.page) marks++;
    });
    if (!marks) seen.unmarked.push(title);
    var texts = Array.from(figure.querySelectorAll('text')).filter(function (text) { return text.textContent.trim() && text.getClientRects().length; });
    var boxes = texts.map(function (text) { return text.getBoundingClientRect(); });
    boxes.forEach(function (box, at) {
      if (box.left < frame.left - 1 || box.right > frame.right + 1) seen.outside.push(title + ' | ' + texts[at].textContent);
      seen.small = Math.min(seen.small, box.height);
      boxes.forEach(function (other, index) {
        if (index >= at) return;
        var x = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        var y = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        if (x > 1 && y > box.height * 0.35) seen.covered.push(title + ' | ' + texts[at].textContent + ' | ' + texts[index].textContent);
      });
    });
  });
  var told = document.createElement('pre');
  told.id = 'told';
  told.textContent = JSON.stringify(seen);
  document.body.appendChild(told);
};
</script>
SCRIPT

sub look {
    my ($name, $width, $height, $scheme) = @_;
    my $shot = ($ENV{GPUARENA_SHOTS} // $folder) . "/$name-$width-$scheme.png";
    my $page = slurp("$folder/$name.html") =~ s{</head>}{$eyes</head>}r;
    spew("$name-eyes.html", $page);
    my @words = ('--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--enable-logging=stderr', '--v=0',
                 "--user-data-dir=$folder/browser", "--window-size=$width,$height", '--virtual-time-budget=3000',
                 '--disable-extensions', '--no-first-run', "--screenshot=$shot",
                 '--blink-settings=preferredColorScheme=' . ($scheme eq 'dark' ? 0 : 1), '--dump-dom', "file://$folder/$name-eyes.html");
    my $child = fork // die "fork: $!";
    if (!$child) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', "$folder/.dom";
        open STDERR, '>', "$folder/.log";
        alarm 60;
        exec $browser, @words or POSIX::_exit(126);
    }
    waitpid $child, 0;
    my @console = grep { /CONSOLE/ } split /\n/, slurp("$folder/.log");
    my ($told) = slurp("$folder/.dom") =~ m{<pre id="told">(.*?)</pre>}s;
    $told =~ s/&lt;/</g, $told =~ s/&gt;/>/g, $told =~ s/&amp;/&/g if defined $told;
    return (defined $told ? JSON::PP->new->utf8->decode($told) : undef, \@console, $shot);
}

sub looks_right {
    my ($name, $width, $height, $scheme) = @_;
    my ($seen, $console, $shot) = look($name, $width, $height, $scheme);
    my $what = "$name, $width wide, $scheme";
    if (!ok(defined $seen, "$what: the browser shows it")) {
        print "#   $_\n" for grep { length } (split /\n/, slurp("$folder/.log"))[0 .. 9];
        return;
    }
    is(join('; ', @$console, @{$seen->{errors}}), '', "$what: no error on its console");
    is(scalar(@{$seen->{unmarked}}), 0, "$what: something is seen in each of $seen->{figures} figures: @{$seen->{unmarked}}");
    is(join("\n", @{$seen->{covered}}), '', "$what: no text covers another");
    is(join("\n", @{$seen->{outside}}), '', "$what: no text beyond its figure");
    ok($seen->{wide} <= 0, "$what: the page does not scroll sideways ($seen->{wide})");
    is(join('; ', @{$seen->{apart}}), '', "$what: a row's figures stand side by side");
    is("$seen->{block} $seen->{hidden}", 'block none', "$what: a block can be pointed at, and is silent before") if defined $seen->{block};
    my ($page, $ink) = map { my @parts = /(\d+)/g; $parts[0] + $parts[1] + $parts[2] } @{$seen}{qw(page ink)};
    ok($scheme eq 'dark' ? $page < 150 && $ink > 600 : $page > 700 && $ink < 150, "$what: ink $seen->{ink} on $seen->{page}");
    ok($seen->{small} >= 9, "$what: the smallest text is $seen->{small} high");
    ok(-s $shot // 0, "$what: a picture of it");
}

if (!$browser) {
    skip('no chromium: nobody looks at the report');
} elsif ($stress =~ m{/asan/}) {
    skip('a browser looks at what the plain build writes: the same bytes');
} else {
    looks_right('whole', 1200, 2000, 'light');
    looks_right('whole', 390, 2000, 'dark');
    looks_right('timeless', 1280, 1200, 'light');
    looks_right('timeless', 1920, 1200, 'dark');
    looks_right('holes', 1200, 900, 'dark');
    looks_right('capacity', 390, 900, 'light');
    looks_right('none', 390, 900, 'dark');
}
done();
