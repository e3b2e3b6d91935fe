#!/usr/bin/perl
# The TAG column of a recording reaches arenas: their refusals tell what is live by tag, and no figure changes.
# It must not know how tags are counted: test_tags.c does.
use strict;
use warnings;
use JSON::PP;
require './tests/support/stress_run.pl';

my $long = 'n' x 32;
my $tagged = "gpuarena-trace 1\na 1 33554432 0 weights\na 2 12582912 0 kv\na 3 1048576 0\na 4 1048576 0 $long\nf 2\n"
    . "a 5 4194304 0 kv\na 6 67108864 0 kv\n";
my $plain = $tagged =~ s/ (?:weights|kv|n+)$//gmr;

sub cases {
    my ($name, $text, @more) = @_;
    my $run = stress('run', '-w', 'replay:' . spew($name, $text),
                     '-p', 'segments,paged', '--limit', '64M',
                     '--no-timing', '-q', '--out', 'json=-', @more);
    is($run->{code}, 0, "$name runs") or print "#   $run->{err}\n";
    return decode_json($run->{out});
}
sub texts { return map { $_->{oom}{text} // '' } @{$_[0]{cases}} }

my @said = texts(cases('tagged.trace', $tagged));
is(scalar(@said), 2, 'two rows, each refused');
is($said[$_] =~ s/.*; (?=live by tag)//r, 'live by tag: weights 32.0 MiB, kv 4.0 MiB, untagged 2.0 MiB',
   "row $_: by tag; no name of a tag, no tag") for 0, 1;
my @silent = texts(cases('plain.trace', $plain));
is(join("\n", @silent), join("\n", map { s/; live by tag: .*//r } @said), 'without tags the sentences are the same else');
done();
