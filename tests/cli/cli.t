#!/usr/bin/perl
# What the command line says of itself is what there is: every name has a page, every option its line and its default, every
# command refuses the options that it has nothing of.
# What commands answer: cases/cli.case.
use strict;
use warnings;
no warnings 'qw';
require './tests/support/stress_run.pl';
our ($folder, $stress);

my $list = stress('list')->{out};
{
    my @things = grep { !/:/ } $list =~ /^  ([\w:-]+)/mg;
    for my $width (60, 100, 118) {
        local $ENV{COLUMNS} = $width;
        my $narrow = stress('list')->{out};
        is(join(' ', (scalar(grep { length > $width } split /\n/, $narrow)), $narrow =~ tr/\n//), '0 ' . ($list =~ tr/\n//), "COLUMNS=$width: one line a thing, none longer");
    }
    my @named = (@things, $list =~ /^  [\w-]+, (\w+) /mg, map({ s/\\|^--//gr } stress('help')->{out} =~ /^  (?:-\w, |    )(--[a-z-]+)/mg),
                 stress('help', 'outputs')->{out} =~ /^  ([a-z]+)  /mg, do { (stress('help', 'columns')->{out} =~ /^What they are:\n(.*)/ms)[0] =~ /^  (\w+) /mg });
    ok(@named > 130, scalar(@named) . ' things have names');
    is(join(' ', grep { my $page = stress('help', $_); $page->{code} || $page->{out} !~ /\S/ || $page->{out} =~ /\(null\)/ } grep { !/^all$/ } @named), '', 'help knows each');
}
my ($keys) = stress(qw(run -w train -p config:nokey=1))->{err} =~ /nokey=1: no such key, expected (.+)$/m;
is(join(' ', grep { /^(?:streams|wait_ms)$/ } split / /, $keys // ''), 'streams wait_ms', "the library tells its keys");
for my $text (stress('help', 'lists')->{out}, join '', map { stress('help', $_)->{out} } qw(config segments paged best first)) {
    my %listed = map { s/\s+/ /gr } $text =~ /^  ([\w-]+).*\n +keys: (.+(?:\n {19}.+)*)$/mg;
    is($listed{config}, $keys, 'config lists them all, in their order');
    my %not_of = (segments => 'backing|share|page|idle|large|oversubscribe',
                  paged => 'backing|share|growth|step|step_max|oversubscribe');
    for my $name (sort keys %not_of) {
        is($listed{$name}, join(' ', grep { !/^(?:$not_of{$name})$/ } split / /, $keys // ''), "$name all that are its");
    }
    is("$listed{'best-fit'} $listed{'first-fit'}", 'limit limit', 'plain ranges a limit');
}


# ---- an option that a command has nothing of is refused by its name, each of the table
{
    my $value = { NUMBER => 2, SIZE => '1G', SHARE => '3%', COUNT_OR_AUTO => 2, REPEAT => 'csv=x', LIST => 'raw', TEXT => 'x' };
    my @options = slurp('stress/base/cli.h') =~ /X\([A-Z_]+, (?:"[^"]*"|NULL), ("[a-z-]+", .*?), (?:NO|SHAPES)_/g;
    my %kinds = map { /^"([a-z-]+)", (?:'.'|0), (\w+), (?:"([^"]*)"|NULL)/ ? ($1 => [ $2, $3 ]) : () } @options;
    my @words = map { my ($kind, $choices) = @{$kinds{$_}};
        [ $_, $kind eq 'FLAG' ? () : $kind eq 'CHOICE' ? $choices =~ s/.*\|//r : $value->{$kind} ] }
        grep { !/^(?:help|version)$/ } sort keys %kinds;
    ok(@words > 30, 'the options were found: ' . @words);
    my %has = (list => '', help => '', version => '', costs => 'device faults costs context out quiet verbose',
               merge => 'out quiet fail-if base strict', compare => 'out quiet fail-if strict',
               shrink => 'workload policy device seed steps ops threads limit quick faults costs context op-ns rate verify out quiet progress',
               holes => 'policy device seed limit quick context no-timing instructions precision budget fail-if base strict out quiet color');
    for my $command (sort keys %has) {
        my @wrong = grep { my $run = stress($command, '--' . $_->[0], @{$_}[1 .. $#$_]);
                           $run->{code} ne 2 || $run->{err} !~ /^stress: --$_->[0] means nothing to $command\b/ }
            grep { my $name = $_->[0]; !grep { $_ eq $name } split / /, $has{$command} } @words;
        is(join(' ', map { $_->[0] } @wrong), '', "$command: all others");
    }
}

# ---- help has every option of the source's table, every default, and the costs that it prints are read
my $help = stress('help')->{out};
my @options = $help =~ /^  (?:-\w, |    )--([a-z-]+)/mg;
my @table = slurp('stress/base/cli.h') =~ /X\([A-Z_]+, (?:"[^"]*"|NULL), "([a-z-]+)"/g;
is("@options", "@table", 'help lists the options of the table, in order');
ok(@table >= 20, 'the table was found');
ok($help =~ /--$_->[0] .*\Q[$_->[1]]\E$/m, "help shows the default of --$_->[0]")
    for ['device', 'sim:80G'], ['seed', 1], ['op-ns', 2000], ['verify', 'full'], ['on-oom', 'stop'];
my $costs = spew('costs', stress('help', 'costs')->{out} =~ s/\A.*\n//r);
is(stress(qw(run -w uniform:n=200 -p raw -q --no-timing --costs), $costs)->{code}, 0, 'the costs that help prints are read back');
done();
