#!/usr/bin/perl
# Plants one mistake after the other with exports, imports and peers in a copy of gpuarena.h, and demands that
# tests/unit/arena/share.script, peers.script and test_config.c find each.
# It must not know the tests. Run: prove tests/mutation/planted_share.t (PLANTED=REGEX: only those; PLANTED_JOBS: at once, 2)
use strict;
use warnings;
require './tests/mutation/planted.pl';

my @exports = (
    ['hits free an exported block', q@        | GPUARENA__EXPORTED;@, q@;@],
    ['a free under the short lock frees an exported block',
     q@(GPUARENA__KEPT | GPUARENA__DEDICATED | GPUARENA__EXPORTED))@, q@(GPUARENA__KEPT | GPUARENA__DEDICATED))@],
    ['a free in the slow path frees an exported block',
     q@    if (gpuarena__keeps_exported(arena, index, error)) return 0;
    if (!gpuarena__scrub_free(@, q@    if (!gpuarena__scrub_free(@],
    ['an exported block is resized',
     q@    if (gpuarena__keeps_exported(arena, index, &error)) return gpuarena__fail(arena, &error, 0, stream);
    if (!gpuarena__resize_request(@, q@    if (!gpuarena__resize_request(@],
    ['the offset is that in the page, not in the handle', q@*base = gpuarena__handle_begin(arena, node->address);@,
     q@*base = node->address - node->address % arena->paged.page_bytes;@],
    ['the last handle is shared up to its first page',
     q@last - *base + gpuarena__handle_at(arena, last).page_count * arena->paged.page_bytes;@,
     q@last - *base + arena->paged.page_bytes;@],
    ['a descriptor is made for the middle of a handle',
     q@else if (gpuarena__handle_begin(arena, base) == base) {@, q@else {@],
    ['a guarded block is shared without its offset', q@    shared->offset_bytes = node->address - *base;
@, q@    shared->offset_bytes = range->guarded ? 0 : node->address - *base;
@],
    ['an export that the driver refused keeps the block',
     q@    if (!done && !before) gpuarena__node_at(arena, index)->size &= ~GPUARENA__EXPORTED;
@, q@@],
    ['pages are created as others are', q@config.share == GPUARENA_SHARE_PAGES ? GPUARENA_PAGE_SHARED : 0@,
     q@config.share == GPUARENA_SHARE_PAGES ? 0 : 0@],
    ['an import keeps the handles that it has mapped',
     q@    if (!GPUARENA__ASK(arena, error, vm, destroy, (&arena->driver, import->page, bytes))) return 0;
@, q@@],
    ['an import is mapped without access',
     q@    if (!GPUARENA__ASK(arena, error, vm, access, (&arena->driver, address, bytes, 1))) return 0;
@, q@@],
    ['an import that is not unmapped is forgotten', q@vm, unmap, (&arena->driver, base, import->mapped))) return 0;@,
     q@vm, unmap, (&arena->driver, base, import->mapped))) import->reserved = 0;@],
    ['an import whose addresses were not released is mapped still',
     q@        import->mapped = 0;
@, q@@],
    ['what is left of an import goes with the arena',
     q@while (released && arena->imports.count)@, q@while (0)@],
    ['an arena is destroyed with an open import', q@if (arena->imports.list[at].ptr)@, q@if (0)@],
    ['on a lost device imports do not end', q@        if (!arena->lost) result =@, q@        if (1) result =@],
);
my @peers = (
    ['peers have no access to pages', q@    arena->driver.peers |= arena->config.peers;
@, q@@],
    ['a sub-arena has its own peers alone', q@    if (config->backing != GPUARENA_BACKING_ASYNC) config->peers |= parent->config.peers;
@, q@@],
    ['an arena is its own peer', q@config->peers &= ~((uint64_t)1 << device);@, q@(void)device;@],
);
my @tables = (
    ['the parent\'s table with its peers is another', q@    given.peers |= parent->config.peers;@, q@    @],
);

planted(test => 'tests/unit/arena/test_scripts.c', arguments => 'share', mistakes => \@exports);
planted(test => 'tests/unit/arena/test_scripts.c', arguments => 'peers', mistakes => \@peers);
planted(test => 'tests/unit/arena/test_config.c', mistakes => \@tables);
