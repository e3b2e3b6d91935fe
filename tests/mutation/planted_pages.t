#!/usr/bin/perl
# Plants one mistake after the other with the handles of paged ranges in a copy of gpuarena.h, and demands that
# tests/property/test_space.c finds each, on small devices.
# It must not know the test. Run: prove tests/mutation/planted_pages.t (PLANTED=REGEX: only those; PLANTED_JOBS: at once, 2)
use strict;
use warnings;
require './tests/mutation/planted.pl';

my @planted = (
    ['a large handle goes back while its end is live',
     q@        if (range->parts[*high - 1 - back] > back + 1) *high -= back + 1;
@, q@@],
    ['a partly idle handle counts as idle',
     q@    gpuarena__handles_inside(range, &low, &high);
    return high - low;@, q@    return high - low;@],
    ['the pages of large idle handles are counted twice',
     q@    gpuarena__handles_inside(range, &low, &high);
    return high - low;@, q@    gpuarena__handles_inside(range, &low, &high);
    return low < high && range->parts[low] > 1 ? 2 * (high - low) : high - low;@],
    ['a mapped handle is recorded with one page',
     q@range->parts[page++] = (uint32_t)handle.page_count;@, q@range->parts[page++] = 1;@],
    ['the number of pages of a handle that goes back is forgotten',
     q@handle.page_count = range->parts[page];@, q@handle.page_count = 1;@],
    ['single pages move out of a large handle', q@at->is_large = count > 1;@, q@at->is_large = 0;@],
    ['a large handle is charged as one page', q@                gpuarena__account(arena, bytes, 0 - bytes);@,
     q@                gpuarena__account(arena, page, 0 - page);@],
    ['a large handle that the driver took back stays in the table',
     q@    *spare = paged->spare[--paged->spare_count];@,
     q@    if (count == 1) *spare = paged->spare[--paged->spare_count];@],
    ['a large handle that went back still counts as mapped',
     q@        paged->large_count -= paged->spare[first].page_count > 1;
@, q@@],
    ['a spare large handle counts as one page', q@        paged->spare_pages += bytes / paged->page_bytes;@,
     q@        paged->spare_pages += paged->spare_count - first;@],
    ['what large handles gave back is kept by a request that fails',
     q@    commit->before = gpuarena__above(commit->before, gone * arena->paged.page_bytes);
@, q@@],
    ['nothing is asked of large handles for less than a page',
     q@gpuarena__large_release(arena, gpuarena__whole(arena->stats.reserved_bytes - keep, page) / page,@,
     q@gpuarena__large_release(arena, (arena->stats.reserved_bytes - keep) / page,@],
    ['spare handles are counted before the large ones among them go back',
     q@    commit->first = arena->paged.spare_count;
    commit->spare = gpuarena__min(commit->need, commit->first - large_spares);@,
     q@    commit->spare = gpuarena__min(commit->need, commit->first - large_spares);@,
     q@    large_spares = gpuarena__spares_part(arena);
@, q@    commit->first = arena->paged.spare_count;
    large_spares = gpuarena__spares_part(arena);
@],
    ['a spare handle is destroyed while it may be mapped', q@while (count && !arena->paged.unmap_failed_count
          @, q@while (count@],
);

# Rare: with a later seed to begin with, for 2,060 seeds take a while.
my @rare = (
    ['large handles go back in vain where the device lacks more than the headroom',
     q@(all && found + room + all >= left + lack)@,
     q@(all && found + room + all >= left)@],
    ['a request that fails keeps what it created where an older spare handle went back',
     q@    (void)gpuarena__spares_part(arena);
    commit.before = arena->stats.reserved_bytes;@, q@    commit.before = arena->stats.reserved_bytes;
    (void)gpuarena__spares_part(arena);@],
);

planted(environment => 'GPUARENA_SPACE_SMALL=1 GPUARENA_SPACE_OPS=60000', mistakes => \@planted);
planted(environment => 'GPUARENA_SPACE_SMALL=1 GPUARENA_SPACE_SEED=2060 GPUARENA_SPACE_OPS=60000', mistakes => \@rare);
