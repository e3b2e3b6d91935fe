#!/usr/bin/perl
# Plants one mistake after the other with the heaps of streams in a copy of gpuarena.h, and demands that
# tests/property/test_space.c finds each.
# It must not know the test. Run: prove tests/mutation/planted_heaps.t (PLANTED=REGEX: only those; PLANTED_JOBS: at once, 2)
use strict;
use warnings;
require './tests/mutation/planted.pl';

my @planted = (
    ['a page changes hands with a live block in it',
     q@if (owner || !alone) at = gpuarena__whole(at, page);@, q@if (owner) at = gpuarena__whole(at, page);@,
     q@if (alone && arena->paged.page_bytes) at = node->address;@, q@at = node->address;@],
    ['a page changes hands with another\'s block behind the request',
     q@if (at >= end || end - at < req->bytes || (node->next && gpuarena__same_page(at, end))) return index;@,
     q@if (at >= end || end - at < req->bytes) return index;@],
    ['a heap\'s leases are counted twice',
     q@    stats->live_bytes += own->live_bytes - GPUARENA__HEAP_BASE;@,
     q@    stats->live_bytes += 2 * (own->live_bytes - GPUARENA__HEAP_BASE);@],
    ['what a heap\'s frees leave pending is forgotten', q@    stats->pending_bytes += own->pending_bytes;@, q@@],
    ['a heap\'s idle pages are forgotten', q@    arena->paged.idle_count += heap->idle_count;@, q@@],
    ['a heap\'s live blocks are not counted', q@    stats->live_count += own->live_count - heap->live_seen;@, q@@],
    ['a heap\'s serials are given again',
     q@    if (heap->serial > heap->serial_base) arena->serial = gpuarena__max(arena->serial, heap->serial);@, q@@],
    ['a block freed with all locks stays counted in its heap',
     q@    if (arena->heaps.count) gpuarena__heap_live_add(arena, node->address, UINT64_MAX);@, q@@],
    ['a free looks its block up in the arena\'s table',
     q@return owner ? &arena->heaps.list[owner]->lookup : &arena->lookup;@, q@return owner ? &arena->lookup : &arena->lookup;@],
    ['a block in a foreign page is put before its heap',
     q@return owner == stream->heap ? stream->bins : stream->bins->foreign;@, q@return stream->bins;@],
    ['a quiet block is put before the arena, whoever owns it',
     q@return owner ? &arena->heaps.list[owner]->bins : &arena->bins;@, q@return &arena->bins;@],
    ['a page that a cut begins belongs to nobody',
     q@    if (!range->anchors[page]) range->owners[page] = range->owners[gpuarena__page_of(range, from)];@, q@@],
    ['a page that a cut reaches changes hands',
     q@    if (!range->anchors[page]) range->owners@, q@    range->owners@],
    ['a heap cuts into a page that it does not own',
     q@        || gpuarena__heap_owns(arena, heap, from, end);@, q@        || 1;@],
    ['a heap cuts what is to lie at the end into a page that it does not own',
     q@if (!GPUARENA__LIKELY(!at_end) && !gpuarena__heap_cuts(arena, heap, node, rest)) continue;@, q@@],
    ['a heap takes the beginning of a block whose end it may take',
     q@    if (!GPUARENA__LIKELY(!at_end)) return gpuarena__block_slice_any(arena, locked, index, req->bytes, 1);
@, q@@],
    ['a heap joins blocks of two streams',
     q@    return GPUARENA__LOAD(&other->record, RELAXED) == node->record && gpuarena__is_free(other);@,
     q@    return other->record && other->record != GPUARENA__MULTI_STREAM && gpuarena__is_free(other);@],
    ['a heap frees a block on another stream than its own, and keeps no order',
     q@gpuarena__find_plain(arena, heap, stream) && node->record == heap->recent.record
        && !node->use_at@,
     q@!node->use_at@,
     q@gpuarena__block_free(arena, heap, index, node, heap->recent.record, 1, 0);@,
     q@gpuarena__block_free(arena, heap, index, node, node->record, 1, 0);@],
    ['a heap frees a block that further streams use as if it were its own alone',
     q@ && node->record == heap->recent.record
        && !node->use_at@, q@ && node->record == heap->recent.record@,
     q@                         && freed_on == record && !node->use_at))@,
     q@                         && freed_on == record))@],
    ['a heap believes a record that was forgotten',
     q@    for (at = 1; at <= arena->heaps.count; at++) arena->heaps.list[at]->recent.stream = gpuarena__nobody();@, q@@],
    ['the first heap gets the live blocks and not the pages',
     q@        memset(range->owners, (int)number, gpuarena__address_pages(range->bytes));@, q@        ;@],
    ['as heaps begin, no stream has the first one', q@    for (at = 1; at < arena->streams.count; at++) arena->streams.list[at].heap = number;@, q@@],
    ['free blocks of other heaps are not seen', q@    return n <= arena->heaps.count ? &arena->heaps.list[n]->bins : NULL;@,
     q@    return NULL;@],
);

# What is rare in random programs: a script has it.
my @rare = (
    ['a heap joins what it does not own behind its block',
     q@(!gpuarena__heap_may_join(node, next) || gpuarena__heap_owns(arena, heap, at, end))@, q@1@],
);

planted(test => 'tests/unit/arena/test_scripts.c', arguments => 'streams_owners', mistakes => \@rare);
planted(mistakes => \@planted, environment => 'GPUARENA_SPACE_KIND=busy GPUARENA_SPACE_OPS=400000');
