# Reads pictures for tests/*.t: a strict reader of XML, and the numbers that a figure states. It must not know the
# expected contents of a picture.
# Used by, behind stress_run.pl: require './tests/support/pictures.pl'
use strict;
use warnings;

# Text -> the elements in order, each { name, attribute => value .., text, depth }; dies with the trouble.
sub xml_elements {
    my ($text) = @_;
    my (@open, @all);
    die "not UTF-8\n" if !utf8::decode(my $copy = $text);
    die "a character that XML cannot hold\n" if $copy =~ /[\x00-\x08\x0b\x0c\x0e-\x1f\x{fffe}\x{ffff}]/;
    pos($text) = 0;
    while (pos($text) < length $text) {
        if ($text =~ /\G<!DOCTYPE html>\s*/gc || $text =~ /\G<\?xml[^<>]*\?>\s*/gc) {
            next;
        } elsif ($text =~ /\G([^<]+)/gc) {
            my $found = $1;
            die 'a bare & or > near ' . substr($found, 0, 40) . "\n"
                if !($open[-1] && $open[-1]{name} eq 'style') && $found =~ />|&(?!(?:#\d+|#x[0-9A-Fa-f]+|amp|lt|gt|quot);)/;
            $open[-1]{text} .= $found if @open;
            die "text outside the document\n" if !@open && $found =~ /\S/;
        } elsif ($text =~ m{\G</([\w:-]+)>}gc) {
            my $element = pop @open;
            die "</$1> closes " . ($element ? $element->{tag} : 'nothing') . "\n" if !$element || $element->{tag} ne $1;
        } elsif ($text =~ m{\G<([\w:-]+)((?:\s+[\w:-]+="[^"<]*")*)\s*(/?)>}gc) {
            my ($name, $attributes, $closed) = ($1, $2, $3);
            my %element = (name => $name, tag => $name, text => '', depth => scalar @open, inside => $open[-1]);
            while ($attributes =~ /([\w:-]+)="([^"]*)"/g) {
                my ($key, $value) = ($1, $2);
                die "$name: $key stands twice\n" if exists $element{$key} && $key ne 'name';
                die "$name: a bare & in $key\n" if $value =~ /&(?!(?:#\d+|#x[0-9A-Fa-f]+|amp|lt|gt|quot);)/;
                $element{$key} = $value;
            }
            push @all, \%element;
            push @open, \%element if !$closed;
        } else {
            die 'no element near ' . substr($text, pos($text), 60) . "\n";
        }
    }
    die "$open[-1]{tag} is not closed\n" if @open;
    die "no document\n" if !@all;
    return @all;
}

sub unescape {
    my ($text) = @_;
    $text =~ s/&#x([0-9A-Fa-f]+);/chr hex $1/ge;
    $text =~ s/&#(\d+);/chr $1/ge;
    return $text;
}

# A page or a picture -> its elements; it asks for nothing, and nothing in it runs.
sub well_formed {
    my ($text, $name) = @_;
    my @all = eval { xml_elements($text) };
    ok(!$@, "$name: well-formed" . ($@ ? ": $@" : ''));
    my @addresses = grep { $_ ne 'http://www.w3.org/2000/svg' } $text =~ m{(?:https?:|data:)?//[^"'\s<>)]*|url\([^)]*\)}g;
    is("@addresses", '', "$name: no address but the namespace's");
    is(join(' ', grep { /^(?:script|img|iframe|object|embed|link|image|foreignObject|use|a|form)$/ } map { $_->{name} } @all), '',
       "$name: nothing that loads or runs");
    return @all;
}

# Elements -> the figures: { title, axes, lines => [..], marks => how many are drawn }
sub figures_of {
    my (@all) = @_;
    my @figures;
    for my $element (@all) {
        push @figures, { marks => 0, lines => [], numbers => [] }
            if $element->{name} eq 'svg' && ($element->{viewBox} // '') eq '0 0 420 280';
        my $figure = $figures[-1] or next;
        my $class = $element->{class} // '';
        $figure->{title} = unescape($element->{text}) if $element->{name} eq 'title';
        $figure->{description} = $element->{text} if $element->{name} eq 'desc';
        $figure->{axes} = $element if $class eq 'axes';
        $figure->{map} = $element if $class eq 'map';
        $figure->{sheet} = $element if $class eq 'c9';
        push @{$figure->{cells}}, $element if $class =~ /^c\d$/ && $element->{name} eq 'path';
        push @{$figure->{lines}}, $element if $class =~ /^line/ && defined $element->{'data-row'};
        push @{$figure->{numbers}}, $element if defined $element->{'data-column'};
        $figure->{marks}++ if $class =~ /^(?:line|bar|c\d)/ && ($element->{d} // 'M0 0h1') =~ /[hHL]/;
    }
    return @figures;
}

# A line's points in the figure -> [x, y] in the units of its axes.
sub values_of {
    my ($figure, $line) = @_;
    my ($left, $top, $right, $bottom) = split ' ', $figure->{axes}{'data-area'};
    my ($x_least, $x_most, $x_kind) = split ' ', $figure->{axes}{'data-x'};
    my ($y_least, $y_most, $y_kind) = split ' ', $figure->{axes}{'data-y'};
    my $place = sub {
        my ($share, $least, $most, $kind) = @_;
        return $kind eq 'log' ? $least * ($most / $least)**$share : $least + $share * ($most - $least);
    };
    return map {
        my ($x, $y) = split ' ';
        [$place->(($x - $left) / ($right - $left), $x_least, $x_most, $x_kind),
         $place->(($bottom - $y) / ($bottom - $top), $y_least, $y_most, $y_kind)]
    } grep { length } split /[ML]/, $line->{d};
}

# How many cells of each class a map shows.
sub cells_of {
    my ($figure) = @_;
    my %count;
    for my $path (@{$figure->{cells}}) {
        $count{$path->{class}} += $1 * $2 while $path->{d} =~ /h(\d+)v(\d+)h-\d+z/g;
    }
    return \%count;
}

1;
