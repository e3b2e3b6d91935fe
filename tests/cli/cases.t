#!/usr/bin/perl
# Command lines and their exact answers: every case of tests/cli/cases/*.case, by exit status, stdout and stderr. It
# must not know the effect of any command.
# Run: prove tests/cli/cases.t; `perl tests/cli/cases.t gates shards` runs the cases of these two files. `make golden`
# writes the program's present answers into the files: read the difference before you commit it.
#
# A case is a paragraph, and has a folder of its own, in which its commands run one after another:
#     # The case in one sentence.             its name; more such lines explain it
#     ? with_cuda                             a shell command: where it fails, the case is skipped
#     @ small.trace                           a file, whose lines follow
#     + gpuarena-trace 1
#     2 $ stress run -w replay:small.trace    exit status, where it is not 0, and a line for sh, in the words of cases.sh;
#     +     -p raw                            such a line goes on here
#     | a line of stdout
#     ! a line of stderr
# Bytes that cannot be printed stand as \x1b, a last line without its end is followed by `|\`, and the version is
# {version}.
use strict;
use warnings;
use Cwd qw(getcwd);
require './tests/support/stress_run.pl';
our ($folder, $stress, $traces);

my ($version) = slurp('gpuarena.h') =~ /^#define GPUARENA_VERSION_TEXT *"(.*)"/m;
my $here = getcwd();
my $absolute = sub { $_[0] =~ m{^/} ? $_[0] : "$here/$_[0]" };
mkdir "$folder/bin";
symlink $absolute->($stress), "$folder/bin/stress" or die "stress: $!";
# If python3 is a script that looks for the real one, as pyenv's is, the script takes longer than the cases' own work.
if ((my $python = qx(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)) =~ s/\n//) {
    chmod 0755, spew('bin/python3', qq(#!/bin/sh\nexec '$python' "\$@"\n)) or die "python3: $!";
}
%ENV = (%ENV, PATH => "$folder/bin:$ENV{PATH}", SOURCE => $here, BUILT => $absolute->($ENV{BUILD} || 'build'), TRACES => $absolute->($traces),
        ENV => "$here/tests/cli/cases.sh", LC_ALL => 'C', WITH_CUDA => built_with_cuda() ? 1 : 0);

# A file -> its cases: where each is, its name, its lines.
sub cases_of {
    my ($path) = @_;
    my ($line, @cases) = (1);
    for my $paragraph (split /(\n\n+)/, slurp($path)) {
        my @lines = split /\n/, $paragraph;
        push @cases, { path => $path, line => $line, lines => \@lines, name => $lines[0] =~ s/^# *//r } if grep { /^(?:\d+ )?\$ / } @lines;
        $line += $paragraph =~ tr/\n//;
    }
    return @cases;
}

# Bytes -> lines of a case that begin with this mark.
sub marked {
    my ($mark, $bytes) = @_;
    $bytes =~ s/\Q$version\E/{version}/g;
    $bytes =~ s/\Q$here\E/{source}/g;
    $bytes =~ s/([^\n\x20-\x7e])/sprintf '\\x%02x', ord $1/ge;
    my @lines = map { "$mark $_" =~ s/ +$//r } split /\n/, $bytes, -1;
    if (@lines) { length $bytes && $bytes !~ /\n\z/ ? push @lines, "$mark\\" : pop @lines }
    return @lines;
}

# sh's answer to one line: exit status, and lines as a case has them.
sub answer {
    my ($words) = @_;
    my $child = fork // die "fork: $!";
    if (!$child) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', '../out';
        open STDERR, '>', '../err';
        exec 'sh', '-c', ". $ENV{ENV}\n$words" or POSIX::_exit(126);
    }
    waitpid $child, 0;
    return ($? & 127 ? 128 + ($? & 127) : $? >> 8, marked('|', slurp('../out')), marked('!', slurp('../err')));
}

# The lines of a case with the program's present answers; nothing if a `?` command fails.
sub lines_now {
    my ($case) = @_;
    my (@now, @given);
    for my $line (@{$case->{lines}}) {
        if ($line =~ /^\+ ?(.*)/) { $given[-1][1] .= "\n$1" }
        elsif ($line =~ /^(?:\d+ )?(\$) (.*)|^(\@) (.*)|^(\?) (.*)/) { push @given, [$1 // $3 // $5, $2 // $4 // $6] }
    }
    mkdir 'case' or die "case: $!";
    chdir 'case' or die "case: $!";
    for my $step (@given) {
        my ($mark, $text) = @$step;
        my @lines = split /\n/, $text, -1;
        if ($mark eq '@') { write_here(shift @lines, join '', map { "$_\n" } @lines) }
        my ($status, @answers) = $mark eq '@' ? (0) : answer($text);
        return if $mark eq '?' && $status;
        my ($first, @others) = split /\n/, $text, -1;
        push @now, ($mark eq '$' && $status ? "$status " : '') . "$mark $first", (map { "+ $_" =~ s/ +$//r } @others), $mark eq '$' ? @answers : ();
    }
    return [(grep { /^#/ } @{$case->{lines}}), @now];
}

sub write_here {
    my ($name, $text) = @_;
    open my $file, '>', $name or die "$name: $!";
    print $file $text;
    close $file or die "$name: $!";
}

sub run_case {
    my ($case) = @_;
    mkdir my $own = "$folder/" . ($case->{path} =~ tr{/}{_}r) . "-$case->{line}" or die "a folder: $!";
    chdir $own or die "$own: $!";
    my $now = lines_now($case);
    chdir $here or die "$here: $!";
    system 'chmod', '-R', 'u+rwx', $own;
    return $now && join "\n", @$now;
}

my $asked = @ARGV ? join '|', map { quotemeta } @ARGV : '.';
my @cases = map { cases_of($_) } grep { m{/(?:$asked)[^/]*\.case$} } sort glob 'tests/cli/cases/*.case';
my @found = in_parallel(\@cases, \&run_case);
my %texts;
for my $at (0 .. $#cases) {
    my ($case, $expected) = ($cases[$at], join "\n", @{$cases[$at]{lines}});
    my $name = ($case->{path} =~ m{(\w+)\.case$})[0] . ": $case->{name}";
    if (!defined $found[$at]) { skip("$name: " . join ', ', grep { /^\? / } @{$case->{lines}}); next }
    if ($ENV{GPUARENA_GOLDEN}) {
        my $text = $texts{$case->{path}} //= slurp($case->{path});
        my $place = index $text, "$expected\n";
        substr $texts{$case->{path}}, $place, length $expected, $found[$at];
    } elsif (!ok($found[$at] eq $expected, $name)) {
        print "# $case->{path}, line $case->{line}\n", map { "# $_\n" } split /\n/,
            qx(cd '$folder' && diff -U3 @{[map { "'$_'" =~ s/^'\Q$folder\E\//'/r } spew('expected', "$expected\n"), spew('found', "$found[$at]\n")]} | tail -n +3);
    }
}
for my $path (grep { $texts{$_} ne slurp($_) } sort keys %texts) {
    write_here($path, $texts{$path});
    print "# $path is another\n";
}
done();
