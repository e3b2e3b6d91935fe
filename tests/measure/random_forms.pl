#!/usr/bin/env perl
# Workloads with options drawn at random, so that nothing can have been chosen by them: the bytes that raw and paged
# reserve for each, on a device that is never full. Prints means, and the forms in which paged reserves more than 1.05
# of the peak.
#     perl tests/measure/random_forms.pl [SEED [COUNT]]
use strict;
use warnings;

my $seed  = $ARGV[0] // 1;
my $count = $ARGV[1] // 300;
my $build = $ENV{BUILD} // 'build';
srand $seed;

sub from   { my ($low, $high) = @_; return $low + int rand($high - $low + 1) }
sub one_of { return $_[rand @_] }
sub span   { my ($low, $high) = sort { $a <=> $b } from(@_), from(@_); return rand() < 0.3 ? $low : "$low-$high" }
sub sides  { my ($low, $high) = sort { $a <=> $b } from(@_), from(@_); return $high < $low + 64 ? $low : "$low-$high" }

my %form = (
    uniform => sub { sprintf 'n=%d,max=%d,cap=%d', from(500, 15000), one_of(1, 2, 4, 8, 16, 64, 256), from(500, 40000) },
    train   => sub {
        my $hidden = one_of(512, 768, 1024, 1536, 2048, 2560, 3072, 4096);
        sprintf 'layers=%d,hidden=%d,ff=%d,heads=%d,vocab=%d,batch=%d,seq=%s,steps=%d,recompute=%d,zero3=%d,lora=%d,streams=%d',
            from(4, 40), $hidden, 64 * int($hidden * one_of(2.67, 3.5, 4) / 64), $hidden / 64, one_of(32000, 50257, 128256),
            from(1, 8), span(128, 4096), from(3, 10), from(0, 1), one_of(1, 1, 2, 4, 8), one_of(0, 0, 8, 16), one_of(1, 1, 2) },
    larson  => sub { sprintf 'threads=%d,blocks=%d,rounds=%d,size=%s', from(1, 8), from(50, 1500), from(2, 10), span(1, 8000) },
    phases  => sub {
        my $hidden = one_of(512, 1024, 2048);
        sprintf 'layers=%d,hidden=%d,ff=%d,heads=%d,batch=%s,seq=%s,steps=%d,updates=%d,generate=%d,streams=%d', from(4, 24),
            $hidden, $hidden * 8 / 3, $hidden / 64, span(1, 12), span(128, 2048), from(2, 6), from(1, 4), from(0, 32),
            one_of(1, 2) },
    pareto  => sub { sprintf 'n=%d,places=%d,size=%d-%d', from(2000, 20000), from(256, 6000), from(1, 512), from(4096, 1048576) },
    cnn     => sub {
        sprintf 'batch=%s,image=%s,steps=%d,dtype=%s,streams=%d', span(4, 128), sides(96, 448), from(3, 8),
            one_of('fp32', 'fp16'), one_of(1, 2) },
    dataset => sub {
        sprintf 'items=%d,batch=%d,side=%s,prefetch=%d', from(5000, 60000), one_of(32, 64, 128, 256, 512), sides(64, 512),
            from(0, 6) },
    embedding => sub {
        sprintf 'dim=%d,rows=%d,batch=%s,slots=%d,gradient=%s', one_of(8, 16, 32, 64), from(100000, 30000000),
            span(64, 8192), from(0, 2), one_of('dense', 'sparse') },
    tape    => sub {
        sprintf 'layers=%d,hidden=%d,heads=%d,batch=%d,seq=%s,steps=%d,keep=%d', from(4, 32), one_of(512, 768, 1024),
            one_of(8, 12, 16), from(2, 16), span(32, 1024), from(3, 10), from(0, 4) },
    growing => sub {
        sprintf 'layers=%d,heads=%d,batch=%d,prompt=%s,tokens=%d,by=%d,steps=%d', from(8, 48), from(8, 40), from(1, 8),
            span(64, 4096), from(4, 64), one_of(1, 1, 8, 64), from(2, 6) },
    producer => sub {
        sprintf 'n=%d,images=%d,side=%s,depth=%d,consumers=%d', from(200, 3000), one_of(16, 64), sides(200, 1500), from(4, 64),
            from(0, 4) },
    serve   => sub {
        sprintf 'model=%s,lengths=%s,layout=%s,requests=%d,rate=%d,budget=%d,sharing=%d', one_of('llama3-8b', 'llama2-7b'),
            one_of(qw(conv code arxiv)), one_of(qw(blocks contiguous)), from(16, 96), from(2, 32), from(48, 128) * 1024,
            from(0, 90) });

my (%sum, @above);
for (1 .. $count) {
    my $name  = one_of(sort keys %form);
    my $which = "$name:" . $form{$name}->() . ',seed=' . from(2, 1000000);
    my ($head, @rows) = map { [split /,(?![a-z]+[0-9]*=)/] } split /\n/,
        qx($build/stress run -w $which -p raw,paged --device sim:640G --verify off --no-timing -q --out csv=-);
    die "$which: no rows\n" if @rows != 2;
    my ($raw, $paged) = map { my %row; @row{@$head} = @$_; \%row } @rows;
    next if $raw->{status} ne 'ok' || $paged->{status} ne 'ok' || $paged->{requested_peak_bytes} < 256 * 2**20;
    $sum{forms}++;
    $sum{footprint} += $paged->{footprint};
    $sum{share}     += $paged->{driver_vns} / $raw->{driver_vns};
    $sum{seconds}   += $paged->{driver_vns} / 1e9;
    $sum{moved}     += $paged->{remapped_pages};
    push @above, sprintf '%.4f  %s', $paged->{footprint}, $which if $paged->{footprint} > 1.0501;
}
printf "%d forms with a peak of 256 MiB and more: reserved %.4f of the peak, %d above 1.05; driver time %.1f s, %.3f of raw's; "
    . "%d pages moved\n", $sum{forms}, $sum{footprint} / $sum{forms}, scalar @above, $sum{seconds}, $sum{share} / $sum{forms},
    $sum{moved};
print "$_\n" for sort { $b cmp $a } @above;
