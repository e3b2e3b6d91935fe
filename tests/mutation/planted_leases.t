#!/usr/bin/perl
# Plants one mistake after the other with what heaps count for themselves in a copy of gpuarena.h, and demands that
# tests/property/test_space.c finds each.
# It must not know the test. Run: prove tests/mutation/planted_leases.t (PLANTED=REGEX: only those; PLANTED_JOBS: at once, 2)
use strict;
use warnings;
require './tests/mutation/planted.pl';

my @planted = (
    ['a heap rises beyond its lease', q@stats->live_bytes + req.bytes <= stats->live_peak_bytes@, q@1@],
    ['a heap has no lease of requested bytes',
     q@&& stats->requested_bytes + req.requested <= stats->requested_peak_bytes@, q@@],
    ['each heap leases the whole slack of live bytes',
     q@(stats->live_peak_bytes - stats->live_bytes) / count@, q@(stats->live_peak_bytes - stats->live_bytes)@],
    ['each heap leases the whole slack of requested bytes',
     q@(stats->requested_peak_bytes - stats->requested_bytes) / count@,
     q@(stats->requested_peak_bytes - stats->requested_bytes)@],
    ['a lease of live bytes is kept after peaks were reset',
     q@heap->stats.live_peak_bytes = GPUARENA__HEAP_BASE + live;@,
     q@heap->stats.live_peak_bytes = gpuarena__max(heap->stats.live_peak_bytes, GPUARENA__HEAP_BASE + live);@],
    ['a lease of requested bytes is kept after peaks were reset',
     q@heap->stats.requested_peak_bytes = GPUARENA__HEAP_BASE + requested;@,
     q@heap->stats.requested_peak_bytes =
            gpuarena__max(heap->stats.requested_peak_bytes, GPUARENA__HEAP_BASE + requested);@],
    ['all heaps give the same serials',
     q@arena->serial + (at - 1) * (uint64_t)GPUARENA__SERIALS;@, q@arena->serial;@],
    ['a heap\'s serials are given again',
     q@    if (heap->serial > heap->serial_base) arena->serial = gpuarena__max(arena->serial, heap->serial);@, q@@],
    ['a heap serves while reserved memory exceeds the limit',
     q@ptr && bytes - 1 < arena->fast.max_bytes
                         && bytes@, q@ptr && bytes
                         && bytes@],
    ['what a heap frees is counted twice', q@    stats->free_count += own->free_count;@,
     q@    stats->live_bytes += own->free_count;
    stats->free_count += own->free_count;@],
    ['with all locks a block is searched for elsewhere than with the heap\'s',
     q@        index = gpuarena__heap_take(arena, heap, NULL, req);@, q@@],
    ['a heap joins what it does not own before its block',
     q@(!gpuarena__heap_may_join(node, prev) || gpuarena__heap_owns(arena, heap, at, prev->address))@, q@1@],
);

planted(mistakes => \@planted, environment => 'GPUARENA_SPACE_KIND=quiet GPUARENA_SPACE_OPS=180000');
