/* Property: under random points of placement, rounding, split rules and kinds of segments, each block is what the
   shadow model says, to the byte. It must not know the implementation: only the contracts in gpuarena.h.
   Run: make test (GPUARENA_PROPERTY_SEED, .._OPS); a failure prints the command that repeats its sequence alone. */
#include "arena_state.h"
#include "shape_model.h"

enum { SEQUENCE_OPS = 600, LOG_ENTRIES = 256, DEFAULT_OPS = 250000 };

typedef struct log_entry { uint64_t address, bytes; int obtained; } log_entry;

static fake_device device;
static shape model;
static gpuarena *arena;
static log_entry entries[LOG_ENTRIES];           /* what the driver gave and had back in this call */
static size_t entry_count;
static uint64_t limit, random_state, hits, misses, refusals, whole_blocks, released, resized, kinds[8];
static const char *trouble;
static char config_text[512];

static uint64_t random_next(void)
{
    uint64_t value = random_state += UINT64_C(0x9E3779B97F4A7C15);
    value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

static uint64_t random_below(uint64_t bound) { return random_next() % bound; }

static void blame(const char *text)
{
    if (!trouble) trouble = text;
}

/* ---- the driver, written down */

static void log_add(uint64_t address, uint64_t bytes, int obtained)
{
    log_entry entry = { address, bytes, obtained };
    if (entry_count == LOG_ENTRIES) blame("a call asked the driver too often");
    else entries[entry_count++] = entry;
}

static int logged_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                         gpuarena_stream stream)
{
    int code = fake_obtain(self, kind, ptr, bytes, stream);
    if (!code) log_add(fake_address(*ptr), bytes, 1);
    return code;
}

static int logged_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                            gpuarena_stream stream)
{
    int code = fake_give_back(self, kind, ptr, bytes, stream);
    if (!code) log_add(fake_address(ptr), bytes, 0);
    return code;
}

/* Segments of this call come and go in the model; those obtained for `want` (NULL: for none) are as they must be. */
static void log_apply(const shape_want *want)
{
    uint64_t most = model.rules.split_max_bytes, need = want ? shape_need(&model, want) : FAKE_GRANULE;
    for (size_t at = 0; at < entry_count; at++) {
        uint64_t bytes = entries[at].bytes;
        if (!entries[at].obtained) {
            if (!shape_give_back(&model, entries[at].address, bytes)) blame("a segment went back that is in use");
            released++;
            continue;
        }
        if (model.rules.placement == GPUARENA_PLACE_BUDDY && (bytes & (bytes - 1)) && !(want && want->own))
            blame("buddy: a segment is no power of two");
        if (most && need < most && bytes >= most) blame("split_max: a segment is as large");
        if (want && want->small && bytes > need && bytes > model.rules.small_step_bytes)
            blame("small: a segment is larger than its step");
        if (!shape_obtain(&model, entries[at].address, bytes, want && want->small)) blame("too many segments");
    }
    entry_count = 0;
}

/* ---- operations */

static uint64_t random_size(void)
{
    uint64_t edge;
    switch (random_below(10)) {
    case 0: edge = (uint64_t)256 << random_below(17); return edge + random_below(3) - 1;
    case 1: return model.rules.small_bytes + random_below(3);
    case 2:
        edge = model.rules.split_max_bytes ? model.rules.split_max_bytes : MIB(4);
        return edge + random_below(MIB(2)) - MIB(1);
    case 3: return MIB(2) * (1 + random_below(4)) + random_below(3) - 1;
    case 4: return 1 + random_below(MIB(9));
    case 5: case 6: return 1 + random_below(MIB(2));
    default: return 1 + random_below((uint64_t)256 << random_below(12));
    }
}

static void judge_refusal(const shape_want *want)
{
    uint64_t need = shape_need(&model, want), busy = shape_busy(&model);
    int unsure = want->alignment > model.unit && (want->own || model.rules.placement == GPUARENA_PLACE_BUDDY);
    gpuarena_failure failure;
    gpuarena_last_failure(arena, &failure);
    refusals++;
    if (!unsure && busy + need <= limit && busy + need <= device.total_bytes) blame("refused, though it could grow");
    if (failure.reason == GPUARENA_REASON_FRAGMENTED
        && (!failure.missing_bytes || failure.cached_bytes < want->bytes))
        blame("FRAGMENTED is not true");
}

static void judge_hit(const shape_want *want, uint64_t address)
{
    size_t at = shape_find(&model, address);
    hits++;
    if (at == model.count || shape_place(&model, at, want) != address) {
        blame("a block that is not for this request");
        return;
    }
    if (!shape_is_preferred(&model, want, at)) blame("another block comes first");
    if (shape_share(&model, want, model.blocks[at].bytes) > want->bytes) whole_blocks++;
    shape_take(&model, at, address, want);
}

static void judge_miss(const shape_want *want, uint64_t address)
{
    size_t at = shape_find(&model, address);
    misses++;
    if (at == model.count || model.blocks[at].requested
        || shape_up(model.blocks[at].address, want->alignment) != address) {
        blame("not at the front of what was obtained");
        return;
    }
    shape_take(&model, at, address, want);
}

static void do_alloc(void)
{
    gpuarena_request request = GPUARENA_INIT;
    do request.bytes = random_size(); while (!request.bytes);
    if (random_below(6) == 0) request.alignment_bytes = (uint64_t)256 << random_below(16);
    if (random_below(40) == 0 && request.alignment_bytes <= MIB(2)) request.flags = GPUARENA_ALLOC_OWN;
    shape_want want = shape_request(&model, request.bytes, request.alignment_bytes, request.flags != 0);
    int fits = device.held_bytes <= limit && shape_has_place(&model, &want), obtained = 0;
    void *ptr = &device;
    gpuarena_result can = random_below(4) ? GPUARENA_OK : gpuarena_can_alloc(arena, &request), result;
    if (request.alignment_bytes || request.flags) result = gpuarena_alloc_ex(arena, &ptr, &request);
    else result = gpuarena_alloc(arena, &ptr, request.bytes, NULL);
    if (fits && can != GPUARENA_OK) blame("can_alloc said no, though a free block fits");
    if (fits && entry_count) blame("a free block would do, and the driver was asked");
    if (fits && result != GPUARENA_OK) blame("refused, though a free block fits");
    for (size_t at = 0; at < entry_count; at++) obtained |= entries[at].obtained;
    log_apply(&want);
    if (result == GPUARENA_OK && obtained) judge_miss(&want, fake_address(ptr));
    else if (result == GPUARENA_OK) judge_hit(&want, fake_address(ptr));
    else if (result != GPUARENA_OUT_OF_MEMORY || ptr != &device) blame("another result, or the output written");
    else if (device.held_bytes <= limit) judge_refusal(&want);
}

/* A live block of the model. */
static size_t random_live(void)
{
    size_t at = random_below(model.count);
    while (!model.blocks[at].requested) at = (at + 1) % model.count;
    return at;
}

static void do_free(void)
{
    size_t at = random_live();
    if (gpuarena_free(arena, fake_pointer(model.blocks[at].address), NULL) != GPUARENA_OK) blame("free");
    shape_free(&model, at);
    log_apply(NULL);
}

static void do_resize(void)
{
    size_t at = random_live();
    uint64_t bytes = random_below(3) ? 1 + random_below(2 * model.blocks[at].bytes) : random_size() + 1;
    gpuarena_result result = gpuarena_resize(arena, fake_pointer(model.blocks[at].address), bytes, NULL);
    int done = shape_resize(&model, at, bytes);
    resized += (uint64_t)done;
    if ((result == GPUARENA_OK) != done)
        blame(done ? "a resize that could be done" : "a resize that could not be done");
}

static void do_rare(void)
{
    uint64_t bytes = MIB(2) * random_below(30);
    switch (random_below(4)) {
    case 0: (void)gpuarena_reserve(arena, bytes); break;
    case 1: (void)gpuarena_trim(arena, bytes, NULL); break;
    case 2:
        limit = MIB(8) + bytes;
        device.watch_bytes = limit;
        if (gpuarena_set_limit(arena, limit) != GPUARENA_OK) blame("set_limit");
        break;
    default:
        if (random_below(8)) return;
        if (gpuarena_reset(arena, NULL) != GPUARENA_OK) blame("reset");
        while (model.live_count) shape_free(&model, random_live());
    }
    log_apply(NULL);
}

/* ---- after each */

static gpuarena_result compare_block(const gpuarena_block *block, void *user)
{
    size_t *at = user;
    const shape_block *wanted = &model.blocks[*at];
    if (*at == model.count || fake_address(block->ptr) != wanted->address || block->bytes != wanted->bytes
        || block->requested_bytes != wanted->requested) {
        blame("the blocks are others");
        return GPUARENA_STOPPED;
    }
    ++*at;
    return GPUARENA_OK;
}

static void audit(int thorough)
{
    static char message[128];
    gpuarena_stats stats;
    size_t at = 0;
    if (gpuarena_walk(arena, compare_block, &at) == GPUARENA_OK && at != model.count) blame("blocks are missing");
    gpuarena_walk_stats(arena, &stats);
    if (stats.live_bytes != model.live || stats.requested_bytes != model.requested
        || stats.slack_bytes != model.live - model.requested || stats.live_count != model.live_count)
        blame("live, requested or slack");
    if (stats.reserved_bytes != device.held_bytes || stats.pending_bytes
        || stats.cached_bytes != device.held_bytes - model.live) blame("reserved, or the sums");
    if (device.wrong_count || device.passed_count) blame("an illegal call, or more than the limit was held");
    if (!thorough) return;
    if (!shape_is_largest(&model, stats.largest_free_bytes)) blame("largest_free_bytes");
    if (gpuarena_check(arena, message, sizeof message) != GPUARENA_OK) blame(message);
}

/* ---- sequences */

static void random_split(gpuarena_config *config)
{
    int fits = config->placement == GPUARENA_PLACE_BEST || config->placement == GPUARENA_PLACE_FIRST;
    config->split = (gpuarena_split)random_below(3);
    if (config->split != GPUARENA_SPLIT_ALWAYS && random_below(3))
        config->split_least_bytes = 1 + random_below((uint64_t)512 << random_below(15));
    if (fits && random_below(3) == 0) config->split_max_bytes = MIB(4) + MIB(2) * random_below(4);
    if (config->split_max_bytes && random_below(2)) config->split_over_bytes = 1 + random_below(MIB(4));
    if (fits && config->growth != GPUARENA_GROWTH_FIXED && random_below(2))
        config->small_bytes = 1 + random_below(MIB(1) << random_below(3));
    if (random_below(2)) config->round_divisions = 1u << random_below(5);
    for (int at = 1; at < 6; at++)
        if (random_below(8) == 0) config->round_by_size[at] = (uint8_t)(1 << random_below(6));
}

static gpuarena_config random_config(void)
{
    static const gpuarena_growth growths[] = { GPUARENA_GROWTH_FIXED, GPUARENA_GROWTH_EXACT, GPUARENA_GROWTH_STEP,
                                               GPUARENA_GROWTH_DOUBLE };
    gpuarena_config config = fake_config(&device);
    config.backing = GPUARENA_BACKING_SEGMENTS;
    config.growth = growths[random_below(4)];
    if (config.growth >= GPUARENA_GROWTH_STEP)
        config.step_bytes = random_below(2) ? 0 : MIB(2) * (1 + random_below(9));
    config.alignment = random_below(2) ? 0 : (uint64_t)256 << random_below(8);
    config.placement = (gpuarena_placement)random_below(5);
    if (config.placement == GPUARENA_PLACE_BINS) {
        config.bin_growth = random_below(2) ? 0 : 2u << random_below(4);
        config.bin_min_bytes = random_below(2) ? 0 : (uint64_t)32768 << random_below(4);
        if (random_below(2) && config.bin_growth && config.bin_min_bytes)
            config.bin_max_bytes = config.bin_min_bytes * config.bin_growth * config.bin_growth;
    } else if (config.placement != GPUARENA_PLACE_BUDDY) random_split(&config);
    config.limit_bytes = limit = MIB(8) + MIB(2) * random_below(40);
    return config;
}

static int open_sequence(void)
{
    fake_open(&device, MIB(128));
    device.table.memory.obtain = logged_obtain;
    device.table.memory.give_back = logged_give_back;
    device.scattered = random_below(2) != 0;
    entry_count = 0;
    memset(&model, 0, sizeof model - sizeof model.blocks - sizeof model.segments);
    gpuarena_config config = random_config();
    device.watch_bytes = limit;
    if (random_below(3) == 0) device.base_address += 256 * (config.alignment ? config.alignment / 256 : 1);
    device.next_address = device.base_address;
    gpuarena_config_text(&config, config_text, sizeof config_text);
    if (gpuarena_create(&config, &arena) != GPUARENA_OK) {
        blame("create");
        return 0;
    }
    gpuarena_get_config(arena, &model.rules);
    model.unit = model.rules.alignment;
    kinds[model.rules.placement]++;
    log_apply(NULL);
    return 1;
}

/* One sequence from its seed. Returns the number of the operation that failed, or `ops`. */
static uint64_t run_sequence(uint64_t seed, uint64_t ops)
{
    uint64_t op, most = 2;
    random_state = seed;
    trouble = NULL;
    if (!open_sequence()) return 0;
    most += random_below((uint64_t)1 << (1 + random_below(7)));
    for (op = 0; op < ops && !trouble; op++) {
        uint64_t choice = random_below(100);
        if (choice < 3) do_rare();
        else if (choice < 10 && model.live_count) do_resize();
        else if (model.live_count && random_below(2 * most) < model.live_count) do_free();
        else do_alloc();
        audit(op % 8 == 0);
    }
    if (trouble) return op - 1;
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
    printf("# seed %" PRIu64 ", %" PRIu64 " operations\n", seed, ops);
    for (; done < ops; sequence++) {
        uint64_t length = ops - done < SEQUENCE_OPS ? ops - done : SEQUENCE_OPS, at = run_sequence(seed + sequence,
                                                                                                   length);
        done += length;
        if (!trouble) continue;
        CHECK_MSG(0, "seed %" PRIu64 ", operation %" PRIu64 ": %s", seed + sequence, at, trouble);
        printf("# %s\n# repro: GPUARENA_PROPERTY_SEED=%" PRIu64 " GPUARENA_PROPERTY_OPS=%d "
               "build/tests/test_property_shape\n",
               config_text, seed + sequence, (int)SEQUENCE_OPS);
        return tap_done();
    }
    CHECK_MSG(1, "%" PRIu64 " operations in %" PRIu64 " sequences agree with the shadow model", done, sequence);
    CHECK_MSG(done < 100000 || (hits > 1000 && misses > 1000 && refusals > 100 && whole_blocks > 100 && released > 100
                                && resized > 100),
              "%" PRIu64 " hits, %" PRIu64 " of them whole, %" PRIu64 " misses, %" PRIu64 " refusals, %" PRIu64
              " segments given back, %" PRIu64 " resized", hits, whole_blocks, misses, refusals, released, resized);
    for (int placement = 0; placement < 5; placement++)
        CHECK_MSG(done < 100000 || kinds[placement] > 10, "placement %d: %" PRIu64 " sequences", placement,
                  kinds[placement]);
    return tap_done();
}
