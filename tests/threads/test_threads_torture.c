/* Limits under torture: eight threads on one arena, whose limit falls and rises, at every value of every key. In each
   driver call the device holds no more than the limit; what is refused could not be served, as sums over a world at
   rest prove. GPUARENA_TORTURE_OPS=N a point. */
#include <sched.h>
#include "thread_world.h"
#include "space_fit.h"

enum { THREADS = 8, LIVE_EACH = 6, EXCHANGE = 16, DEVICE_MIB = 128 };

static uint64_t draw_state = 1;
static uint64_t draw(uint64_t bound) { return splitmix64_next(&draw_state) % bound; }
#include "space_text.h"

typedef struct tenancy { void *ptr; uint64_t bytes; uint32_t number; int stream; } tenancy;
typedef struct worker {
    pthread_t thread;
    uint64_t random, ops, alloc_count, refused_count, proven_count, still_count;
    uint32_t index, numbers;
    int count;
    tenancy blocks[LIVE_EACH];
} worker;

static thread_arena *const at = &thread_arenas[0];
static worker workers[THREADS];
static tenancy exchange[EXCHANGE];               /* under its lock */
static pthread_mutex_t exchange_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t world_lock = PTHREAD_RWLOCK_INITIALIZER; /* written: nobody is in a call */
static uint64_t help_count;                      /* begins and ends of what may make room */
static space_shadow shadow;                      /* of a world at rest */

static uint64_t pick(worker *self, uint64_t below) { return splitmix64_next(&self->random) % below; }
static void help(void) { __atomic_fetch_add(&help_count, 1, __ATOMIC_SEQ_CST); }

/* ---- a world at rest */

static void shadow_block_of(int slot, const tenancy *block)
{
    gpuarena_block found;
    memset(&shadow.blocks[slot], 0, sizeof shadow.blocks[slot]);
    if (!block->ptr) return;
    WANT(gpuarena_lookup(at->arena, block->ptr, &found) == GPUARENA_OK && found.ptr == block->ptr);
    shadow.blocks[slot].address = slot_address(block->ptr);
    shadow.blocks[slot].bytes = block->bytes;
    shadow.blocks[slot].held = found.bytes;
}

static void shadow_take(void)
{
    static const tenancy none;
    int slot = 0;
    for (int thread = 0; thread < THREADS; thread++)
        for (int block = 0; block < LIVE_EACH; block++)
            shadow_block_of(slot++, block < workers[thread].count ? &workers[thread].blocks[block] : &none);
    for (int block = 0; block < EXCHANGE; block++) shadow_block_of(slot++, &exchange[block]);
    shadow.slots = SHADOW_SLOTS;
    shadow.range_count = 0;
    shadow.device_bytes = MIB(DEVICE_MIB);
    shadow.limit = at->limit_bytes;
    for (uint32_t place = 0; place < SLOT_COUNT;) {
        uint32_t first = place, owner = at->device.places[place].owner;
        while (place < SLOT_COUNT && at->device.places[place].owner == owner) place++;
        if (owner && !at->device.places[first].is_addresses)
            (void)shadow_enter(&shadow, at->device.base + first * SLOT_BYTES, (place - first) * SLOT_BYTES);
    }
}

/* A call was refused. Nobody else is in a call: what proves that there is a way, proves it for the call, if nothing
   was freed since; and surely for the same call again, now. */
static void judge(worker *self, const gpuarena_request *request, uint64_t helped)
{
    gpuarena_config config;
    gpuarena_failure failure;
    const char *way;
    void *ptr = NULL;
    gpuarena_get_config(at->arena, &config);
    shadow_take();
    way = shadow_way(&shadow, &config, request, at->device.held_bytes);
    if (way) self->proven_count++;
    if (helped == __atomic_load_n(&help_count, __ATOMIC_SEQ_CST)) {
        self->still_count++;
        gpuarena_last_failure(NULL, &failure);
        if (way && failure.reason != GPUARENA_REASON_ADDRESSES)
            thread_blame("refused beside others, though there was a way");
    }
    if (gpuarena_alloc_ex(at->arena, &ptr, request) == GPUARENA_OK) {
        WANT(gpuarena_free(at->arena, ptr, request->stream) == GPUARENA_OK);
        return;
    }
    gpuarena_last_failure(NULL, &failure);
    if (way && failure.reason != GPUARENA_REASON_ADDRESSES) thread_blame("refused alone, though there was a way");
}

/* ---- the calls */

static void do_alloc(worker *self)
{
    tenancy made = { NULL, 0, 0, (int)pick(self, SLOT_STREAMS) };
    gpuarena_request request = GPUARENA_INIT;
    uint64_t helped = __atomic_load_n(&help_count, __ATOMIC_SEQ_CST);
    if (self->count == LIVE_EACH) return;
    request.bytes = made.bytes = 1 + pick(self, pick(self, 3) ? KIB(700) : MIB(7));
    request.stream = slot_stream(made.stream);
    if (!pick(self, 64)) request.flags = GPUARENA_ALLOC_DEDICATED;
    if (gpuarena_alloc_ex(at->arena, &made.ptr, &request) != GPUARENA_OK) {
        self->refused_count++;
        pthread_rwlock_unlock(&world_lock);
        pthread_rwlock_wrlock(&world_lock);
        judge(self, &request, helped);
        return;
    }
    self->alloc_count++;
    made.number = ++self->numbers * THREADS + self->index;
    thread_claim(at, made.ptr, made.bytes, made.number, made.stream);
    slot_work(&at->device, made.stream, pick(self, 4) ? 0 : pick(self, 100000));
    self->blocks[self->count++] = made;
}

static void free_block(const tenancy *block)
{
    if (!block->ptr) return;
    thread_disclaim(at, block->ptr, block->bytes, block->number, block->stream);
    help();
    WANT(gpuarena_free(at->arena, block->ptr, slot_stream(block->stream)) == GPUARENA_OK);
    help();
}

static void do_free(worker *self)
{
    if (!self->count) return;
    uint64_t which = pick(self, (uint64_t)self->count);
    tenancy block = self->blocks[which];
    self->blocks[which] = self->blocks[--self->count];
    free_block(&block);
}

/* Puts a block where any thread may find it, and frees what is there. */
static void do_hand_over(worker *self)
{
    tenancy mine = { NULL, 0, 0, 0 }, found;
    uint64_t place = pick(self, EXCHANGE);
    if (self->count) mine = self->blocks[--self->count];
    pthread_mutex_lock(&exchange_lock);
    found = exchange[place];
    exchange[place] = mine;
    pthread_mutex_unlock(&exchange_lock);
    free_block(&found);
}

static void do_rarely(worker *self)
{
    gpuarena_stats stats;
    help();
    switch (pick(self, 8)) {
    case 0: WANT(gpuarena_trim(at->arena, MIB(pick(self, 40)), NULL) == GPUARENA_OK); break;
    case 1: case 2: thread_set_limit(at, MIB(pick(self, 60))); break;
    case 3: case 4: thread_set_limit(at, MIB(40 + pick(self, 60)) + pick(self, MIB(2))); break;
    case 5: (void)gpuarena_reserve(at->arena, MIB(pick(self, 60))); break;
    default:
        gpuarena_get_stats(at->arena, &stats);
        WANT(stats.live_bytes + stats.pending_bytes + stats.cached_bytes == stats.reserved_bytes);
    }
    help();
}

static void *work(void *argument)
{
    worker *self = argument;
    for (uint64_t op = 0; op < self->ops; op++) {
        uint64_t what = pick(self, 64);
        pthread_rwlock_rdlock(&world_lock);
        if (what < 32) do_alloc(self);
        else if (what < 50) do_free(self);
        else if (what < 58) do_hand_over(self);
        else do_rarely(self);
        pthread_rwlock_unlock(&world_lock);
        if (what % 4 == 0) sched_yield();
    }
    return NULL;
}

/* ---- a point of the space, and all of them */

/* In each driver call others have their go. */
static gpuarena_status begin_beside(const gpuarena_driver *self, slot_call call, uint64_t claim_bytes)
{
    gpuarena_status status = thread_call_begin(self, call, claim_bytes);
    sched_yield();
    return status;
}

/* An arena whose text begins with the first `kept` keys; others are dropped until it is taken. 0: it never is. */
static int open_point(char text[DRAW_TEXT], int kept)
{
    gpuarena_failure failure;
    if (strstr(text, "page=4M") || strstr(text, "page=16M") || strstr(text, "debug=passthrough")
        || strstr(text, "debug=guard"))
        return 0;                                /* the device deals slots of 2 MiB alone */
    if (!draw_has(text, "page")) snprintf(text + strlen(text), DRAW_TEXT - strlen(text), ",page=2M");
    if (!draw_has(text, "debug")) snprintf(text + strlen(text), DRAW_TEXT - strlen(text), ",debug=off");
    draw_text(text);
    for (;;) {
        gpuarena_config config = thread_open(at, GPUARENA_BACKING_AUTO, 0);
        at->device.begin = begin_beside;
        at->ceiling_bytes = UINT64_MAX;          /* until the text's is known */
        WANT(gpuarena_config_parse(text, &config, NULL, 0) == GPUARENA_OK);
        if (gpuarena_create(&config, &at->arena) == GPUARENA_OK) break;
        gpuarena_last_failure(NULL, &failure);
        WANT(failure.result == (strncmp(failure.detail, "share: the driver", 17) ? GPUARENA_INVALID_CONFIG
                                                                                : GPUARENA_NOT_SUPPORTED));
        if (!draw_mend(text, kept, failure.detail)) return 0;
    }
    gpuarena_config config;
    gpuarena_get_config(at->arena, &config);
    at->limit_bytes = at->ceiling_bytes = config.limit_bytes;
    return 1;
}

static void run_point(worker *sum, uint64_t ops)
{
    char message[200];
    memset(workers, 0, sizeof workers);
    pthread_rwlock_wrlock(&world_lock);          /* no call before all threads run, or the first ends alone */
    for (int thread = 0; thread < THREADS; thread++) {
        workers[thread].index = (uint32_t)thread;
        workers[thread].random = draw(UINT64_MAX);
        workers[thread].ops = ops / THREADS;
        pthread_create(&workers[thread].thread, NULL, work, &workers[thread]);
    }
    pthread_rwlock_unlock(&world_lock);
    for (int thread = 0; thread < THREADS; thread++) pthread_join(workers[thread].thread, NULL);
    for (int thread = 0; thread < THREADS; thread++) {
        worker *self = &workers[thread];
        while (self->count) free_block(&self->blocks[--self->count]);
        sum->alloc_count += self->alloc_count;
        sum->refused_count += self->refused_count;
        sum->proven_count += self->proven_count;
        sum->still_count += self->still_count;
    }
    for (int block = 0; block < EXCHANGE; block++) free_block(&exchange[block]);
    memset(exchange, 0, sizeof exchange);
    if (gpuarena_check(at->arena, message, sizeof message)) thread_blame("check finds something");
}

static void close_point(void)
{
    WANT(gpuarena_destroy(at->arena) == GPUARENA_OK);
    at->arena = NULL;
    if (slot_left(&at->device)[0]) thread_blame(slot_left(&at->device));
    if (thread_host_bytes) thread_blame("host memory is left");
    pthread_mutex_destroy(&at->limit_lock);
}

/* Value number `which` of a key, behind what it needs. 0: it has no so many; else how many keys that are. */
static int point_text(const draw_key *key, int which, char text[DRAW_TEXT])
{
    const char *value = key->values, *end;
    int kept = 1;
    for (; which && value; which--) value = strchr(value, '|') ? strchr(value, '|') + 1 : NULL;
    if (!value) return 0;
    end = value + strcspn(value, "|");
    for (const char *letter = key->needs; *letter; letter++) kept += *letter == ',' || letter == key->needs;
    snprintf(text, DRAW_TEXT, "%s%s%s=%.*s", key->needs, key->needs[0] ? "," : "", key->name, (int)(end - value),
             value);
    return kept;
}

int main(void)
{
    uint64_t ops = tap_number("GPUARENA_TORTURE_OPS", TAP_SANITIZED ? 200 : 1600), points = 0, refused = 0;
    static worker sum;
    char text[DRAW_TEXT];
    for (size_t key = 0; key < DRAW_KEYS; key++)
        for (int which = 0, kept; !thread_trouble && (kept = point_text(&draw_keys[key], which, text)) > 0; which++) {
            if (open_point(text, kept)) {
                run_point(&sum, ops);
                points++;
            } else refused++;
            if (at->arena) close_point();
            if (thread_trouble) printf("# at %s\n", text);
        }
    CHECK_MSG(!thread_trouble, "%" PRIu64 " points, %" PRIu64 " allocations, %" PRIu64 " refusals: %s", points,
              sum.alloc_count, sum.refused_count, thread_trouble ? thread_trouble : "all judged well");
    CHECK_MSG(points > 80 && refused < 12, "%" PRIu64 " points are no arenas here", refused);
    CHECK_MSG(sum.refused_count > 1000 && sum.proven_count > 20 && sum.still_count > 100,
              "of the refusals %" PRIu64 " could be served a moment later, as sums prove; beside %" PRIu64
              " nothing was freed", sum.proven_count, sum.still_count);
    return tap_done();
}
