#!/usr/bin/perl
# Plants one mistake about plans after the other in a copy of gpuarena.h, and demands that tests/property/test_space.c
# finds each in steps that come again: by a finding of the simulated device's judge, by a property that it names, or it
# crashes. A script finds what is rare there.
# It must not know the test. Run: prove tests/mutation/planted_plans.t (PLANTED=REGEX: only those; PLANTED_JOBS: at once, 2)
use strict;
use warnings;
require './tests/mutation/planted.pl';

my @planted = (
    ['a planned address is given twice',
     q@node->size == (bytes | GPUARENA__EARMARKED)@, q@gpuarena__node_bytes(node) == bytes@],
    ['what is live where a plan looks is no obstacle',
     q@if (!at.index || !(gpuarena__is_earmarked(at.node) || gpuarena__is_free(at.node))@, q@if (!at.index@],
    ['a sequence that is shifted gets blocks of other sizes',
     q@if (one->units != units || one->record != record || one->served == plans->step) continue;@,
     q@if (one->record != record || one->served == plans->step) continue;@,
     q@node->size == (bytes | GPUARENA__EARMARKED)@, q@gpuarena__is_earmarked(node)@],
    ['the region moves for another kind, and its live blocks stay planned',
     q@if (at.node->size & GPUARENA__LIVE) at.node->size &= ~GPUARENA__PLANNED;@, q@@],
    ['a block that no plan had is set aside, freed with all locks',
     q@(node->size & GPUARENA__PLANNED) != 0);@, q@1);@],
    ['what several streams used is set aside',
     q@if (planned && (!node->record || node->record == record))@, q@if (planned)@],
    ['a plan takes what another stream freed',
     q@
            || (at.node->record && at.node->record != record)) return 0;@, q@) return 0;@],
    ['memory that a plan yields is quiet',
     q@at.node->ticket <= arena->streams.list[at.node->record].quiet) {
            arena->stats.pending_bytes@, q@1) {
            arena->stats.pending_bytes@],
    ['a forgotten stream\'s record is another\'s while memory is set aside for it',
     q@(void)gpuarena__plans_yield(arena, 1);   /* nobody else@, q@/* nobody else@,
     q@
    arena->streams.list[record].ref_count++;
    return region;@, q@
    return region;@,
     q@while (plans->region_count) arena->streams.list[plans->regions[--plans->region_count].record].ref_count--;@,
     q@plans->region_count = 0;@,
     q@audit->ref_count + arena->plans.region_count@, q@audit->ref_count@],
    ['a block is set aside when it is freed, after its plan has yielded',
     q@node->size |= arena->plans.region_count ? GPUARENA__PLANNED : 0;@, q@node->size |= GPUARENA__PLANNED;@],
    ['what is free beside a planned place is listed as a hole',
     q@at.index = gpuarena__block_carve(arena, at.index, low, high - low, gpuarena__free_insert);@,
     q@at.index = gpuarena__block_carve(arena, at.index, low, high - low, gpuarena__hole_list);@],
    ['a tag leaves its block where a plan has it',
     q@if (node->size & GPUARENA__TAGGED) gpuarena__tag_leave(arena, node);
    if (arena->plans.now)@, q@if (node->size & GPUARENA__TAGGED && !(node->size & GPUARENA__PLANNED)) gpuarena__tag_leave(arena, node);
    if (arena->plans.now)@],
    ['what is set aside for the first stream goes into its bins as a second one appears',
     q@if (!gpuarena__is_free(at.node) || at.node->record != 1) continue;@,
     q@if (gpuarena__node_live(at.node) || at.node->record != 1) continue;@],
    ['plans that wait are earmarked too late to be ended',
     q@    if (plan && plan->state == GPUARENA__PLAN_WAITS) gpuarena__plan_resume(arena, plan);
    if (plans->region_count && !gpuarena__has_plan(arena)) gpuarena__earmarks_end(arena);@,
     q@    if (plans->region_count && !gpuarena__has_plan(arena)) gpuarena__earmarks_end(arena);
    if (plan && plan->state == GPUARENA__PLAN_WAITS) gpuarena__plan_resume(arena, plan);@],
);

# What is rare in random programs: a script has it.
my @rare = (
    ['what another stream freed is set aside, and taken without a wait',
     q@if (planned && (!node->record || node->record == record))@, q@if (planned && node->record != GPUARENA__MULTI_STREAM)@,
     q@
                          && node->record == record)) {
        int begins@, q@)) {
        int begins@],
    ['a block that goes before the first allocation of the next step counts as freed in its own',
     q@now->seen.list[number].until = now->seen.count + 1 + arena@, q@now->seen.list[number].until = now->seen.count + arena@],
    ['what the last plan had stays earmarked as a new kind takes its place',
     q@    plan = kind ? gpuarena__plan_of(plans, kind) : NULL;     /* may take the place of the last plan */
    if (plan && plan->state == GPUARENA__PLAN_WAITS) gpuarena__plan_resume(arena, plan);
    if (plans->region_count && !gpuarena__has_plan(arena)) gpuarena__earmarks_end(arena);@,
     q@    if (plans->region_count && !gpuarena__has_plan(arena)) gpuarena__earmarks_end(arena);
    plan = kind ? gpuarena__plan_of(plans, kind) : NULL;
    if (plan && plan->state == GPUARENA__PLAN_WAITS) gpuarena__plan_resume(arena, plan);@],
    ['a plan that waits is packed while a stream is captured',
     q@if (arena->streams.captured) done = gpuarena__plan_earmark(arena, plan, 0, UINT64_MAX);@, q@if (0) done = 0;@],
    ['a plan that waits is packed at each step, however many pages move',
     q@else if (plan->moving < 2) done = gpuarena__plan_pack_again(arena, plan);@,
     q@else done = gpuarena__plan_pack_again(arena, plan);@],
    ['plans that wait end', q@else plan->state = GPUARENA__PLAN_WAITS;@, q@else gpuarena__plan_fail(plan);@],
    ['plans do not end for a block that grows', q@again = error->reason == GPUARENA_REASON_NEIGHBOUR@, q@again = 0@],
    ['plans of other arenas end for a prediction', q@if (yields) (void)gpuarena__plans_yield(arena, 1);@, q@(void)gpuarena__plans_yield(arena, 1);@],
    ['a plan that another has pushed away is recorded again at once',
     q@    if (done) plan->state = GPUARENA__PLAN_SERVES;
    else gpuarena__plan_fail(plan);@,
     q@    if (done) plan->state = GPUARENA__PLAN_SERVES;
    else gpuarena__plan_forget(plan);@],
    ['a plan that yields counts as packed', q@        plan->packed = 0;                        /* no region is its own now */
@, q@@],
    ['places of one stream are earmarked for another', q@gpuarena__earmark_begin(arena, place->record, place->address,@,
     q@gpuarena__earmark_begin(arena, 1, place->address,@],
    ['plans of other arenas end though none can help', q@for (most = !reclaim->predicts; most >= 0; most--)@,
     q@for (most = 0; most >= 0; most--)@],
    ['plans end for idle memory that the device lacks', q@    (void)gpuarena__release_more(arena, arena->stats.reserved_bytes - unmapped@,
     q@    (void)gpuarena__release_to(arena, arena->stats.reserved_bytes - unmapped@],
    ['plans end for a dedicated block', q@    if (req->flags & GPUARENA_ALLOC_DEDICATED        /* what@, q@    if (0        /* what@],
    ['a plan keeps what is idle above a lowered limit',
     q@    if (keep < reserved) (void)gpuarena__plans_yield(arena, 1);  /* what a plan has goes back, too */
@, q@@],
    ['plans end for a block that cannot grow', q@&& gpuarena__extent(arena, req, index, 1) >= node->address + req->bytes@, q@@],
);

planted(test => 'tests/unit/arena/test_scripts.c', arguments => 'paged.script', mistakes => \@rare);
# Those of packing itself.
my @packing = (
    ['what ends where a block begins is passed over, with what is behind it',
     q@        first += (first[half - 1].end <= offset) * half;@, q@        first += half;@],
    ['lists that agreed are not asked again where a block moves up',
     q@            offset = at->end;
            agree = 0;@, q@            offset = at->end;@],
    ['what is taken throughout a larger window is in no way', q@        if (left) lists[count++] = 2 * left + enters;@,
     q@        if (left && enters) lists[count++] = 2 * left + enters;@],
    ['what is taken in a part of a time is not entered around it',
     q@        if (right && right != left) lists[count++] = 2 * right + enters;@,
     q@        if (right && right != left) lists[count++] = 2 * right;@],
    ['a block of two steps is entered in one', q@return one->wrap ? count + gpuarena__pack_time(@,
     q@return one->wrap && !enters ? count + gpuarena__pack_time(@],
    ['packing goes on for ever', q@return pack->looks > gpuarena__max(most, GPUARENA__PACK_LOOKS_LEAST);@, q@return !most;@],
    ['a block that is there throughout the step is placed across gaps', q@for (list = 2; list < 4; list++) {@,
     q@for (list = 2; list < 3; list++) {@],
);

planted(test => 'tests/unit/arena/test_section_packing.c', mistakes => \@packing);
# Those that take captures beside.
my @crossed = (
    ['a plan that waits has a capture set whose record was its stream\'s',
     q@if (stream->home || stream->key) place@, q@if (stream->key) place@],
    ['a plan that waits is packed while a stream is captured, by whatever stream',
     q@if (arena->streams.captured) done = gpuarena__plan_earmark(arena, plan, 0, UINT64_MAX);@, q@if (0) done = 0;@],
);

planted(mistakes => \@crossed, environment => 'GPUARENA_SPACE_KIND=crossed GPUARENA_SPACE_OPS=700000');
planted(mistakes => \@planted, environment => 'GPUARENA_SPACE_KIND=steps GPUARENA_SPACE_OPS=700000');
