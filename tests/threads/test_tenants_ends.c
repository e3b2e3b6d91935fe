/* Ends of sub-arenas: a child process, which is refused on all of a tree; a lost device; the list of arenas; one
   that ends while another waits for its memory, or is made; growth in between. */
#include <sys/wait.h>
#include <unistd.h>
#include "tenant_bench.h"
#include "thread_world.h"

static int refused_in_child(gpuarena *arena, void *block)
{
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_device device;
    void *ptr = NULL;
    request.bytes = MIB(1);
    return gpuarena_alloc(arena, &ptr, MIB(8), NULL) == GPUARENA_FORKED && !ptr
        && gpuarena_can_alloc(arena, &request) == GPUARENA_FORKED
        && gpuarena_free(arena, block, NULL) == GPUARENA_FORKED
        && gpuarena_reserve(arena, MIB(32)) == GPUARENA_FORKED
        && gpuarena_trim(arena, 0, NULL) == GPUARENA_FORKED
        && gpuarena_set_limit(arena, MIB(2)) == GPUARENA_FORKED
        && gpuarena_get_device(arena, &device) == GPUARENA_FORKED
        && gpuarena_check(arena, NULL, 0) == GPUARENA_FORKED
        && gpuarena_destroy(arena) == GPUARENA_FORKED;
}

/* The number of what went wrong in a child process; 0: nothing. */
static int call_in_child(const family *self, void *block)
{
    gpuarena_config config = plain_config("third", self->whole, MIB(8));
    gpuarena_failure failure;
    gpuarena *third = NULL;
    if (!refused_in_child(self->first, block)) return 1;
    if (!refused_in_child(self->second, block)) return 2;
    if (!refused_in_child(self->whole, block)) return 3;
    config.oversubscribe = 1;
    if (gpuarena_create(&config, &third) == GPUARENA_OK || third) return 4;
    gpuarena_last_failure(NULL, &failure);
    if (failure.result != GPUARENA_FORKED && failure.result != GPUARENA_INVALID_CONFIG) return 5;
    return gpuarena_next(NULL) ? 6 : 0;
}

static void test_fork(void)
{
    family made = open_family(MIB(64), "");
    void *block = take(made.first, MIB(24));
    gpuarena_stats before, after;
    int status = -1;
    pid_t process;
    leave_idle(made.second, MIB(16));
    before = stats_of(made.whole);
    fflush(stdout);
    process = fork();
    if (process == 0) {
        alarm(20);
        _exit(call_in_child(&made, block));
    }
    CHECK(process > 0 && waitpid(process, &status, 0) == process);
    CHECK_INT(status, ==, 0);
    after = stats_of(made.whole);
    CHECK(!memcmp(&before, &after, sizeof before));
    drop(made.first, block);
    close_family(&made);
}

/* Sums stay what they were until the books are closed, in the order that the tree asks for. */
static void test_lost(void)
{
    sim_bench kept = bench;
    family made;
    void *block, *ptr = NULL;
    bench = bench_open_sized(GIB(1), NULL);
    made = open_family(MIB(64), "");
    block = take(made.first, MIB(16));
    leave_idle(made.first, MIB(16));
    sim_fail_call(bench.machine, SIM_CALL_KINDS, 1, 0, SIM_ILLEGAL_ADDRESS);
    CHECK_INT(gpuarena_alloc(made.second, &ptr, MIB(8), NULL), ==, GPUARENA_DEVICE_LOST);
    CHECK_U64(reserved(made.first), ==, MIB(32));
    CHECK_U64(stats_of(made.whole).children_bytes, ==, MIB(32));
    (void)refuse(made.whole, MIB(40), GPUARENA_REASON_OVER_LIMIT);   /* no driver call: not known here */
    CHECK_INT(gpuarena_alloc(made.whole, &ptr, MIB(24), NULL), ==, GPUARENA_DEVICE_LOST);
    check(made.whole), check(made.first), check(made.second);
    drop(made.first, block);
    CHECK_INT(gpuarena_destroy(made.whole), ==, GPUARENA_STILL_IN_USE);
    end(made.second);
    CHECK_INT(gpuarena_destroy(made.whole), ==, GPUARENA_STILL_IN_USE);
    end(made.first);
    CHECK_U64(stats_of(made.whole).children_bytes, ==, 0);
    check(made.whole);
    end(made.whole);
    bench_close(&bench);
    bench = kept;
}

static int is_listed(gpuarena *const *arenas, int count)
{
    gpuarena *at = gpuarena_next(NULL);
    for (int number = 0; number < count; number++, at = gpuarena_next(at))
        if (at != arenas[number]) return 0;
    return at == NULL;
}

static void test_next(void)
{
    gpuarena *arenas[5], *gone;
    CHECK(gpuarena_next(NULL) == NULL);
    arenas[0] = make("0", NULL, MIB(64));
    for (int at = 1; at < 5; at++) arenas[at] = make_of("child", arenas[at % 2 ? 0 : at - 1], MIB(64), "");
    CHECK(is_listed(arenas, 5));
    gone = arenas[2];
    end(gone);
    arenas[2] = arenas[3], arenas[3] = arenas[4];
    CHECK(is_listed(arenas, 4));
    arenas[4] = make_of("latest", arenas[1], MIB(64), "");
    CHECK(is_listed(arenas, 5));
    for (int at = 5; at-- > 0;) end(arenas[at]);
    CHECK(gpuarena_next(NULL) == NULL);
}

/* ---- an end while another waits for what goes with it */

static void *destroy_first(void *unused)
{
    WANT(gpuarena_destroy(thread_arenas[1].arena) == GPUARENA_OK);
    return unused;
}

static void *take_by_second(void *unused)
{
    void *ptr = NULL;
    WANT(gpuarena_alloc(thread_arenas[2].arena, &ptr, MIB(24), NULL) == GPUARENA_OK);
    WANT(gpuarena_free(thread_arenas[2].arena, ptr, NULL) == GPUARENA_OK);
    return unused;
}

static void end_while_waiting(const char *text)
{
    pthread_t threads[2];
    void *ptr = NULL;
    thread_tree_open(GIB(1));
    thread_yields = 1;
    for (int at = 0; at < 3; at++) WANT(thread_tree_make(at ? 0 : -1, MIB(32), text));
    WANT(gpuarena_alloc(thread_arenas[1].arena, &ptr, MIB(24), NULL) == GPUARENA_OK);
    WANT(gpuarena_free(thread_arenas[1].arena, ptr, NULL) == GPUARENA_OK);
    WANT(!pthread_create(&threads[0], NULL, take_by_second, NULL));
    WANT(!pthread_create(&threads[1], NULL, destroy_first, NULL));
    pthread_join(threads[0], NULL), pthread_join(threads[1], NULL);
    WANT(gpuarena_check(thread_arenas[0].arena, NULL, 0) == GPUARENA_OK);
    for (int at = 2; at >= 0; at -= 2) WANT(gpuarena_destroy(thread_arenas[at].arena) == GPUARENA_OK);
    thread_judge_left(&thread_arenas[0]);
}

static void test_end_while_waiting(const char *text)
{
    const char *trouble = NULL;
    for (int round = 0; round < 40 && !trouble; round++) {
        end_while_waiting(text);
        trouble = thread_trouble;
    }
    CHECK_MSG(!trouble, "%s: an end while another waits: %s", text, trouble ? trouble : "no trouble");
}

/* ---- what others do while the driver is asked */

static void *(*meanwhile)(void *unused);         /* in the next call of info; NULL: nothing */
static int meanwhile_code;                       /* what that call answers; 0: the figures */

static int info_meanwhile(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes,
                          uint64_t *total_bytes)
{
    void *(*others)(void *) = meanwhile;
    pthread_t thread;
    int code = bench.driver.memory.info(self, kind, free_bytes, total_bytes);
    if (!others) return code;
    meanwhile = NULL;
    WANT(!pthread_create(&thread, NULL, others, NULL));
    pthread_join(thread, NULL);
    return meanwhile_code ? meanwhile_code : code;
}

static gpuarena *to_end;
static void *ended;                              /* where it was */
static size_t ended_bytes;

static void *keep_alloc(size_t bytes, void *user) { return (void)user, malloc(bytes); }

/* What goes last is the arena itself: it is kept, to see that nobody writes there any more. */
static void keep_free(void *memory, size_t bytes, void *user)
{
    (void)user;
    free(ended);
    ended = memset(memory, 0x5A, bytes);
    ended_bytes = bytes;
}

static void *end_it(void *unused)
{
    WANT(gpuarena_destroy(to_end) == GPUARENA_OK);
    return unused;
}

static void test_end_while_made(void)
{
    gpuarena_driver table = bench.driver;
    gpuarena_config config = plain_config("whole", NULL, MIB(64));
    gpuarena *made = NULL;
    size_t at = 0;
    thread_trouble = NULL;
    table.memory.info = info_meanwhile;
    config.driver = &table;
    config.host_alloc = keep_alloc;
    config.host_free = keep_free;
    CHECK_INT(gpuarena_create(&config, &made), ==, GPUARENA_OK);
    to_end = made;
    meanwhile = end_it;
    meanwhile_code = SIM_UNKNOWN;
    config = plain_config("part", made, MIB(8));
    made = NULL;
    CHECK_INT(gpuarena_create(&config, &made), ==, GPUARENA_DRIVER_ERROR);
    CHECK(!made && !gpuarena_next(NULL) && !thread_trouble);
    while (at < ended_bytes && ((const unsigned char *)ended)[at] == 0x5A) at++;
    CHECK_U64(at, ==, ended_bytes);
    free(ended);
    ended = NULL;
    meanwhile_code = 0;
}

static gpuarena *to_grow;
static uint64_t to_grow_bytes;
static void *grown;

static void *grow_it(void *unused)
{
    WANT(gpuarena_alloc(to_grow, &grown, to_grow_bytes, NULL) == GPUARENA_OK);
    return unused;
}

/* Behind the look at the limits, and before the claim, a sibling gets what there was. */
static void test_growth_between(uint64_t sibling_bytes, gpuarena_result expected)
{
    gpuarena_driver table = bench.driver;
    gpuarena_config config = plain_config("whole", NULL, MIB(64));
    gpuarena *whole = NULL, *first;
    void *ptr = NULL;
    thread_trouble = NULL;
    table.memory.info = info_meanwhile;
    config.driver = &table;
    config.headroom_bytes = MIB(2);
    CHECK_INT(gpuarena_create(&config, &whole), ==, GPUARENA_OK);
    first = make_of("first", whole, MIB(64), "growth=auto");
    to_grow = make_of("second", whole, MIB(64), "");
    to_grow_bytes = sibling_bytes;
    leave_idle(first, MIB(20));
    meanwhile = grow_it;
    CHECK_INT(gpuarena_alloc(first, &ptr, MIB(40), NULL), ==, expected);
    CHECK(!meanwhile && grown && !thread_trouble);
    CHECK_U64(stats_of(whole).reserved_peak_bytes, <=, MIB(64));
    check(whole), check(first), check(to_grow);
    drop(to_grow, grown);
    if (ptr) drop(first, ptr);
    end(first), end(to_grow), end(whole);
}

static void test_backing(gpuarena_backing which)
{
    backing = which;
    bench = bench_open_sized(GIB(16), NULL);
    test_next();
    test_fork();
    test_lost();
    test_end_while_made();
    test_growth_between(MIB(40), GPUARENA_OUT_OF_MEMORY);
    test_growth_between(MIB(24), GPUARENA_OK);   /* there is less than was wished for, but enough */
    close_bench();
}

int main(void)
{
    test_backing(GPUARENA_BACKING_PAGED);
    test_backing(GPUARENA_BACKING_SEGMENTS);
    test_end_while_waiting("backing=paged");
    test_end_while_waiting("backing=segments,growth=exact");
    return tap_done();
}
