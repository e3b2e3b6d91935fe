/* Property: random operations and configurations against the shadow model (GPUARENA_PROPERTY_SEED, .._OPS).
   A failure prints the command that repeats its sequence alone. */
#include "stress/base/splitmix64.h"
#include "property_model.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEFAULT_OPS 200000u
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define DEFAULT_OPS 200000u
#endif
#endif
#ifndef DEFAULT_OPS
#define DEFAULT_OPS 1000000u
#endif

enum { SEQUENCE_OPS = 2000, CHECK_EVERY = 64, THOROUGH_ONE_IN = 20 };

enum {                                           /* features; each sequence has about half of them */
    WITH_ALIGNMENT = 1 << 0, WITH_MISUSE = 1 << 1, WITH_TRIM = 1 << 2, WITH_RESERVE = 1 << 3, WITH_LIMIT = 1 << 4,
    WITH_RESET = 1 << 5, WITH_FAULTS = 1 << 6, WITH_HOST_FAULTS = 1 << 7, WITH_TRY = 1 << 8, WITH_CAN = 1 << 9,
    WITH_RIVAL = 1 << 10, WITH_HUGE = 1 << 11, WITH_LARGEST = 1 << 12, WITH_HEADROOM = 1 << 13, WITH_SCATTER = 1 << 14
};

static fake_device device, other_device;
static model shadow;
static gpuarena *arena, *other;
static uint64_t random_state, features, fits_checked, refusals, reason_counts[GPUARENA_REASON_END];
static const char *trouble;                      /* the first thing that went wrong in a sequence */

static uint64_t random_next(void) { return splitmix64_next(&random_state); }

static uint64_t random_below(uint64_t bound) { return random_next() % bound; }
static int with(uint64_t feature) { return (features & feature) != 0; }

static void blame(const char *text)
{
    if (!trouble) trouble = text;
}

/* Sizes that find faults: edges of classes, of granules, of the limit, of the type; and plain ones. */
static uint64_t random_size(void)
{
    uint64_t edge, choice = random_below(with(WITH_HUGE) ? 16 : 14);
    switch (choice) {
    case 0:  return random_below(4);
    case 1:  return random_below(2) + (shadow.limit < GIB(4) ? shadow.limit : GIB(1)) - 1;
    case 2:  return MIB(2) * (1 + random_below(8)) + random_below(3) - 1;
    case 3: case 4: case 5:
        edge = (8 + random_below(8)) << random_below(19);
        return edge + random_below(3) - 1;
    case 6:  return random_below(MIB(24));
    case 7: case 8: return random_below(MIB(3));
    case 14: return UINT64_MAX - random_below(601);
    case 15: return (UINT64_C(1) << (20 + random_below(44))) + random_below(513) - 256;
    default: return 1 + random_below((uint64_t)256 << random_below(13));
    }
}

static gpuarena_request random_request(void)
{
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = random_size();
    request.tag = (uint32_t)random_next();
    request.stream = fake_stream((int)random_below(4));
    if (with(WITH_ALIGNMENT) && random_below(3) == 0) request.alignment_bytes = UINT64_C(1) << random_below(25);
    if (with(WITH_ALIGNMENT) && with(WITH_HUGE) && random_below(40) == 0)
        request.alignment_bytes = UINT64_C(1) << random_below(64);
    if (with(WITH_TRY) && random_below(4) == 0) request.flags = GPUARENA_ALLOC_TRY;
    return request;
}

/* An allocation failed for want of memory. Its reason must be true, and it must not be spurious. */
static void judge_refusal(const gpuarena_request *request, const rounded *made, uint64_t refused, int struck)
{
    gpuarena_failure failure;
    uint64_t busy = model_busy_bytes(&shadow, &device), cached = device.held_bytes - shadow.live;
    int drained = device.held_bytes <= shadow.limit, over = busy + made->need > shadow.limit;
    gpuarena_last_failure(arena, &failure);
    reason_counts[failure.reason]++;
    refusals++;
    if (failure.requested_bytes != request->bytes || failure.cached_bytes != cached
        || failure.limit_bytes != shadow.limit || failure.live_bytes != shadow.live
        || failure.reserved_bytes != device.held_bytes)
        blame("numbers of a refusal");
    if (made->too_large != (failure.reason == GPUARENA_REASON_TOO_LARGE) && made->need < UINT64_MAX / 4)
        blame("TOO_LARGE");
    if (made->too_large) return;
    if (!drained) {
        if (failure.reason != GPUARENA_REASON_OVER_LIMIT) blame("above a lowered limit: not OVER_LIMIT");
        return;
    }
    fits_checked++;
    if (model_fits(&shadow, &device, made->bytes, made->alignment)) blame("refused, though a free block fits");
    if (request->flags & GPUARENA_ALLOC_TRY) {
        if (failure.reason != GPUARENA_REASON_TRY_ONLY) blame("TRY: another reason");
        return;
    }
    if (!over && !struck && model_device_has(&shadow, &device, busy, made->need))
        blame("refused, though it could have grown");
    switch (failure.reason) {
    case GPUARENA_REASON_OVER_LIMIT:
        if (!over || cached >= made->bytes) blame("OVER_LIMIT is not true");
        if (failure.missing_bytes != busy + made->need - shadow.limit) blame("OVER_LIMIT: missing_bytes");
        break;
    case GPUARENA_REASON_FRAGMENTED:
        if (cached < made->bytes) blame("FRAGMENTED is not true");
        break;
    case GPUARENA_REASON_DRIVER_REFUSED:
        if (device.refused_count == refused || cached >= made->bytes) blame("DRIVER_REFUSED is not true");
        break;
    case GPUARENA_REASON_HEADROOM:
        if (!shadow.headroom || model_device_has(&shadow, &device, busy, made->need) || cached >= made->bytes)
            blame("HEADROOM is not true");
        break;
    case GPUARENA_REASON_TOO_LARGE:
        if (made->need != UINT64_MAX / 4) blame("TOO_LARGE is not true");
        break;
    default: blame("a reason out of place");
    }
}

/* Faults that this call will meet, in sequences that have them. */
static void arm_fault(void)
{
    static const gpuarena_status statuses[] = { GPUARENA_STATUS_NO_MEMORY, GPUARENA_STATUS_FAILED,
                                                GPUARENA_STATUS_CAPTURING };
    fake_heal(&device);
    if (with(WITH_FAULTS) && random_below(8) == 0)
        fake_fail(&device, FAKE_ON_OBTAIN, 1, 1 + random_below(3), statuses[random_below(3)]);
    else if (with(WITH_HOST_FAULTS) && random_below(8) == 0)
        fake_fail(&device, FAKE_ON_HOST, 1, FAKE_FOR_EVER, GPUARENA_STATUS_NO_MEMORY);
}

static void judge_alloc(const gpuarena_request *request, gpuarena_result result, void *ptr, gpuarena_result can,
                        uint64_t refused)
{
    rounded made = model_round(&shadow, request);
    int struck = device.fail_at != 0 && device.fail_fired != 0;
    /* an aligned request may be luckier than can_alloc assumes: the new segment may start right */
    int lucky = result == GPUARENA_OK && made.alignment > shadow.unit;
    if (can != GPUARENA_OK && !struck && result != can && !lucky) blame("can_alloc said no, alloc something else");
    if (result == GPUARENA_OK) {
        const fake_range *range = fake_range_of(&device, fake_address(ptr));
        if (fake_address(ptr) % made.alignment != 0) blame("an address is not aligned");
        if (!range || fake_address(ptr) + made.bytes > range->address + range->bytes)
            blame("a block is not in a segment");
        if (!model_add(&shadow, fake_address(ptr), made.bytes, request->bytes)) blame("two blocks overlap");
        return;
    }
    shadow.fail_count++;
    if (ptr != &device) blame("a failed alloc wrote its output");
    if (result == GPUARENA_OUT_OF_MEMORY) judge_refusal(request, &made, refused, struck);
    else if (!struck) blame("no fault, and an error");
    else if ((result == GPUARENA_HOST_MEMORY) != (device.fail_kinds == FAKE_ON_HOST))
        blame("HOST_MEMORY out of place");
}

static void do_alloc(void)
{
    gpuarena_request request = random_request();
    void *ptr = &device;
    gpuarena_result can = GPUARENA_OK;
    int asked = with(WITH_CAN) && random_below(4) == 0;
    if (asked) can = gpuarena_can_alloc(arena, &request);
    rounded made = model_round(&shadow, &request);
    int fits = asked && request.bytes && device.held_bytes <= shadow.limit && !made.too_large
        && model_fits(&shadow, &device, made.bytes, made.alignment);
    arm_fault();
    uint64_t refused = device.refused_count;
    gpuarena_result result = gpuarena_alloc_ex(arena, &ptr, &request);
    if (request.bytes == 0) {
        if (result != GPUARENA_OK || ptr != NULL || can != GPUARENA_OK) blame("0 bytes");
        return;
    }
    if (asked && can == GPUARENA_OK && result != GPUARENA_OK && device.fail_at == 0
        && device.largest_bytes == UINT64_MAX)
        blame("can_alloc said yes, nothing was in the way, and alloc failed");
    if (fits && can != GPUARENA_OK) blame("can_alloc said no, though a free block fits");
    judge_alloc(&request, result, ptr, can, refused);
}

static void do_free(uint64_t address, gpuarena_stream stream)
{
    size_t index;
    gpuarena_failure failure;
    gpuarena_result wanted = model_classify(&shadow, &device, &other_device, address, &index);
    gpuarena_result result = gpuarena_free(arena, fake_pointer(address), stream);
    if (result != wanted) blame("a free has another result");
    if (wanted == GPUARENA_OK) {
        model_remove(&shadow, index);
        return;
    }
    shadow.misuse_count++;
    gpuarena_last_failure(arena, &failure);
    if (failure.result != wanted) blame("misuse: the record");
    if (wanted == GPUARENA_INTERIOR_POINTER && fake_address(failure.block.ptr) != shadow.blocks[index].address)
        blame("misuse: the block of the record");
}

static void do_misuse(void)
{
    uint64_t address = 256 * random_below(1 << 20);
    uint64_t choice = random_below(4);
    if (choice == 0 && shadow.count) {
        const model_block *block = &shadow.blocks[random_below(shadow.count)];
        address = block->address + random_below(block->bytes);
    } else if (choice <= 2 && device.range_count) {
        const fake_range *range = &device.ranges[random_below(device.range_count)];
        address = range->address + random_below(range->bytes + FAKE_GRANULE) / 256 * 256;
    } else if (choice == 3) address = other_device.base_address + 256 * random_below(2 * FAKE_GRANULE / 256);
    if (address) do_free(address, NULL);
}

static void do_reserve(void)
{
    uint64_t bytes = random_below(4) ? random_below(shadow.limit < GIB(1) ? shadow.limit + MIB(4) : MIB(300))
        : random_size();
    uint64_t held = device.held_bytes;
    arm_fault();
    gpuarena_result result = gpuarena_reserve(arena, bytes);
    int struck = device.fail_at != 0 && device.fail_fired != 0;
    if (result == GPUARENA_OK) {
        if (device.held_bytes < bytes) blame("reserve: less than asked for");
        return;
    }
    gpuarena_failure failure;
    gpuarena_last_failure(arena, &failure);
    shadow.fail_count++;
    if (device.held_bytes != held) blame("a failed reserve changed what is held");
    if (struck) return;
    if (result != GPUARENA_OUT_OF_MEMORY) blame("reserve: an error without a fault");
    uint64_t target = UINT64_MAX;
    if (bytes <= UINT64_MAX - FAKE_GRANULE) target = (bytes + FAKE_GRANULE - 1) / FAKE_GRANULE * FAKE_GRANULE;
    if (target <= shadow.limit && target <= (UINT64_C(1) << 49)
        && target + device.rival_bytes + shadow.headroom <= device.total_bytes)
        blame("reserve: refused without a reason");
    if (failure.reason == GPUARENA_REASON_OVER_LIMIT && target <= shadow.limit)
        blame("reserve: OVER_LIMIT is not true");
}

static void do_trim(void)
{
    uint64_t keep = random_below(device.held_bytes + MIB(4)), released = UINT64_MAX, held = device.held_bytes;
    if (gpuarena_trim(arena, keep, &released) != GPUARENA_OK) blame("trim");
    if (held - device.held_bytes != released) blame("trim: released_bytes");
    if (device.held_bytes > keep && device.held_bytes != model_busy_bytes(&shadow, &device))
        blame("trim: kept too much");
    if (held <= keep && released) blame("trim: gave back without need");
}

static void do_limit(void)
{
    static const uint64_t special[] = { 0, 1, GPUARENA_NO_LIMIT, UINT64_MAX - 1, MIB(2) };
    shadow.limit = random_below(12) == 0 ? special[random_below(5)] : MIB(2) + random_below(MIB(250));
    device.watch_bytes = shadow.limit;
    if (gpuarena_set_limit(arena, shadow.limit) != GPUARENA_OK) blame("set_limit");
    if (device.held_bytes > shadow.limit && device.held_bytes != model_busy_bytes(&shadow, &device))
        blame("set_limit: idle memory above the limit");
}

static void do_rare(void)
{
    switch (random_below(6)) {
    case 0: if (with(WITH_TRIM)) do_trim(); break;
    case 1: if (with(WITH_RESERVE)) do_reserve(); break;
    case 2: if (with(WITH_LIMIT)) do_limit(); break;
    case 3:
        if (!with(WITH_RESET) || random_below(8)) break;
        if (gpuarena_reset(arena, NULL) != GPUARENA_OK) blame("reset");
        while (shadow.count) model_remove(&shadow, shadow.count - 1);
        break;
    case 4:
        if (with(WITH_RIVAL))
            device.rival_bytes = random_below(device.total_bytes - device.held_bytes + 1) & ~(FAKE_GRANULE - 1);
        break;
    default:
        if (with(WITH_LARGEST))
            device.largest_bytes = random_below(3) ? UINT64_MAX : FAKE_GRANULE * (1 + random_below(20));
    }
}

static void do_op(uint64_t target_count)
{
    uint64_t choice = random_below(100);
    fake_heal(&device);
    if (choice < 4) do_rare();
    else if (choice < 8 && with(WITH_MISUSE)) do_misuse();
    else if (shadow.count == MODEL_CAPACITY - 1 || random_below(2 * target_count) < shadow.count) {
        if (!shadow.count) return;
        uint64_t held = device.held_bytes;
        do_free(shadow.blocks[random_below(shadow.count)].address, fake_stream((int)random_below(4)));
        if (held <= shadow.limit ? device.held_bytes != held : device.held_bytes > shadow.limit
            && device.held_bytes != model_busy_bytes(&shadow, &device))
            blame("what is held after a free");
    } else do_alloc();
}

/* A random configuration; 0: no arena. */
static int open_sequence(void)
{
    static const gpuarena_growth growths[] = { GPUARENA_GROWTH_FIXED, GPUARENA_GROWTH_EXACT, GPUARENA_GROWTH_STEP,
                                               GPUARENA_GROWTH_DOUBLE, GPUARENA_GROWTH_AUTO };
    features = random_next();
    fake_open(&device, MIB(64) + MIB(2) * random_below(200));
    gpuarena_config config = fake_config(&device);
    config.growth = growths[random_below(5)];
    if (random_below(3)) config.limit_bytes = MIB(2) + random_below(device.total_bytes - MIB(2));
    if (config.growth == GPUARENA_GROWTH_STEP || config.growth == GPUARENA_GROWTH_DOUBLE)
        config.step_bytes = random_below(2) ? 0 : 1 + random_below(MIB(20));
    config.alignment = random_below(2) ? 0 : (uint64_t)256 << random_below(14);
    config.headroom_bytes = with(WITH_HEADROOM) ? random_below(MIB(30)) : 0;
    device.scattered = with(WITH_SCATTER);
    device.watch_bytes = config.limit_bytes ? config.limit_bytes : UINT64_MAX;
    memset(&shadow, 0, sizeof shadow);
    shadow.limit = device.watch_bytes;
    shadow.unit = config.alignment ? config.alignment : 256;
    shadow.headroom = config.headroom_bytes;
    if (gpuarena_create(&config, &arena) == GPUARENA_OK) return 1;
    blame("create");
    return 0;
}

/* One sequence from its seed. Returns the number of the operation that failed, or `ops`. */
static uint64_t run_sequence(uint64_t seed, uint64_t ops)
{
    random_state = seed;
    trouble = NULL;
    if (!open_sequence()) return 0;
    uint64_t op, target_count = 2 + random_below((uint64_t)1 << (1 + random_below(8))), thorough =
        random_below(THOROUGH_ONE_IN) == 0;
    for (op = 0; op < ops && !trouble; op++) {
        gpuarena_stats stats;
        do_op(target_count);
        gpuarena_walk_stats(arena, &stats);
        const char *differs = model_compare(&shadow, &device, &stats);
        if (differs[0]) blame(differs);
        if (trouble || !(thorough || op % CHECK_EVERY == 0)) continue;
        const char *audit = state_audit(arena, &device);
        if (audit[0]) blame(audit);
    }
    if (trouble) return op - 1;
    fake_heal(&device);
    if (gpuarena_reset(arena, NULL) != GPUARENA_OK || gpuarena_destroy(arena) != GPUARENA_OK || !fake_close(&device))
        blame("the end: something is left");
    return op;
}

static uint64_t environment_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

int main(void)
{
    uint64_t seed = environment_number("GPUARENA_PROPERTY_SEED", 1), done = 0;
    uint64_t ops = environment_number("GPUARENA_PROPERTY_OPS", DEFAULT_OPS), sequence = 0;
    fake_open(&other_device, MIB(64));
    gpuarena_config config = fake_config(&other_device);
    other = state_arena(&config);
    state_alloc(other, 1000);
    printf("# seed %" PRIu64 ", %" PRIu64 " operations\n", seed, ops);
    for (; done < ops; sequence++) {
        uint64_t length = ops - done < SEQUENCE_OPS ? ops - done : SEQUENCE_OPS, at = run_sequence(seed + sequence,
                                                                                                   length);
        done += length;
        if (!trouble) continue;
        CHECK_MSG(0, "seed %" PRIu64 ", operation %" PRIu64 ": %s", seed + sequence, at, trouble);
        printf("# repro: GPUARENA_PROPERTY_SEED=%" PRIu64 " GPUARENA_PROPERTY_OPS=%d build/tests/test_property\n",
               seed + sequence,
               (int)SEQUENCE_OPS);
        return tap_done();
    }
    CHECK_MSG(1, "%" PRIu64 " operations in %" PRIu64 " sequences agree with the shadow model", done, sequence);
    for (int reason = 0; reason < (int)GPUARENA_REASON_END; reason++)
        if (reason_counts[reason])
            printf("# %s: %" PRIu64 "\n", gpuarena_reason_name((gpuarena_reason)reason), reason_counts[reason]);
    CHECK_MSG(done < 100000 || (fits_checked > 100 && reason_counts[GPUARENA_REASON_FRAGMENTED]
                                && reason_counts[GPUARENA_REASON_OVER_LIMIT]
              && reason_counts[GPUARENA_REASON_DRIVER_REFUSED] && reason_counts[GPUARENA_REASON_TOO_LARGE]
              && reason_counts[GPUARENA_REASON_TRY_ONLY] && reason_counts[GPUARENA_REASON_HEADROOM]),
              "%" PRIu64 " refusals were judged, of every reason", refusals);
    state_end(other, &other_device, "the other arena");
    return tap_done();
}
