/* Fork: a child is refused on everything of its parent's, frees nothing of it, and may make arenas of its own; the
   parent notices nothing, whatever other threads were doing. */
#include <signal.h>
#include <sys/wait.h>

#include "scripted.h"

enum { FORK_COUNT = 200 };

static gpuarena *arena;                          /* of the parent, and a block there */
static void *block;

static void open_parent(const char *text)
{
    script(text);
    arena = arena_now();
    block = find_block("1")->ptr;
}

/* Runs `child` in a child process; its exit status, or -1 if it did not end by itself within 20 s. */
static int in_child(int (*child)(void))
{
    int status = 0;
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        alarm(20);
        status = child();
        if (TAP_SANITIZED) _exit(status);        /* the parent's memory is no leak */
        exit(status);                            /* make coverage counts code that ends by exit */
    }
    if (process < 0 || waitpid(process, &status, 0) != process || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

/* ---- children */

static int is_refused(void)
{
    uint64_t calls = device.calls[ENTRY_COUNT];
    return all_calls_answer(arena, block, GPUARENA_FORKED) || device.calls[ENTRY_COUNT] != calls;
}

/* In the child calls without a result return empty values, the record says why, and the sentence names the arena. */
static int reads_nothing(void)
{
    gpuarena_stats stats;
    gpuarena_config config;
    gpuarena_failure failure;
    char text[256];
    memset(&stats, 1, sizeof stats);
    gpuarena_get_stats(arena, &stats);
    gpuarena_get_config(arena, &config);
    gpuarena_reset_peaks(arena);
    if (stats.reserved_bytes || stats.live_count || config.alignment) return 1;
    if (gpuarena_owner(block)) return 2;
    gpuarena_free(arena, block, NULL);
    gpuarena_last_failure(NULL, &failure);
    if (failure.result != GPUARENA_FORKED || strcmp(failure.arena, "arena") != 0) return 3;
    gpuarena_failure_text(&failure, text, sizeof text);
    if (!strstr(text, "arena: ") || !strstr(text, "forked")) return 4;
    gpuarena_last_failure(arena, &failure);
    return failure.serial ? 5 : 0;
}

/* Forgets the parent's world, in the child alone, and does as the script says. */
static int does(const char *text)
{
    device.machine = NULL;                       /* the parent's, which is left as it is */
    clear_world();
    run_line(text, ';');
    return place.trouble[0] != '\0';
}

/* An arena of the child's own; the parent's pointers are foreign to it. The child forks a grandchild, to which both
   are foreign. */
static int makes_its_own(void)
{
    gpuarena *of_parent = arena;
    void *of_parent_block = block;
    if (does("device 1G plain shift 256; arena; a 1 3M; expect 1.owned = 1")) return 1;
    arena = arena_now();
    if (gpuarena_free(arena, of_parent_block, NULL) != GPUARENA_FOREIGN_POINTER) return 2;
    block = find_block("1")->ptr;
    if (in_child(is_refused)) return 3;
    arena = of_parent;
    block = of_parent_block;
    if (in_child(is_refused)) return 4;
    run_line("f 1", ';');
    end_world();
    return place.trouble[0] ? 5 : 0;
}

/* A tree: no new arena goes under one of the parent's, and the child has none of them. */
static int is_refused_by_tree(void)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *made = NULL;
    config.parent = arena;
    config.environment = "";
    gpuarena_result result = gpuarena_create(&config, &made);
    if (result != GPUARENA_FORKED && result != GPUARENA_INVALID_CONFIG) return 1;
    return made || gpuarena_next(NULL) ? 2 : is_refused();
}

static int does_nothing(void) { return 0; }

/* ---- parents; the scripts that they run next show that they notice nothing */

static void test_child(void)
{
    open_parent("device 1G plain; arena; a 1 5M");
    snapshot before = look_at(0);
    CHECK_INT(in_child(is_refused), ==, 0);
    CHECK_INT(in_child(reads_nothing), ==, 0);
    CHECK_INT(in_child(makes_its_own), ==, 0);
    snapshot after = look_at(0);
    CHECK(after.seen.digest == before.seen.digest && after.serial == before.serial);
    script("f 1");
    script_end();
}

static void test_tree(void)
{
    open_parent("device 1G plain; arena a0; arena a1 under a0; a 1 5M; arena a2 under a0");
    for (int at = 0; at < 3; at++) {
        arena = world.arenas[at].ptr;
        CHECK_INT(in_child(is_refused_by_tree), ==, 0);
    }
    script("f 1");
    script_end();
}

/* ---- beside another thread */

static int is_over;

/* A child is made again and again, while another thread works. */
static void fork_beside(void *(*work)(void *unused), int (*child)(void))
{
    pthread_t worker;
    int good = 0;
    is_over = 0;
    CHECK_INT(pthread_create(&worker, NULL, work, NULL), ==, 0);
    alarm(120);                                  /* a deadlock ends here */
    for (int round = 0; round < FORK_COUNT; round++) good += in_child(child) == 0;
    alarm(0);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    pthread_join(worker, NULL);
    CHECK_INT(good, ==, FORK_COUNT);
}

/* Locks that another thread holds at the fork must not stop the child: neither the arena's nor the registry's. */
static void *keep_busy(void *unused)
{
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        void *ptr = NULL;
        if (gpuarena_alloc(arena, &ptr, MIB(40), NULL) == GPUARENA_OK) gpuarena_free(arena, ptr, NULL);
        gpuarena_trim(arena, 0, NULL);
    }
    return unused;
}

/* A handler of the program's own, registered before any arena was made, with a lock under which arenas are called:
   held across forks as the header's own lock must not be. */
static pthread_mutex_t program_lock = PTHREAD_MUTEX_INITIALIZER;
static void program_before(void) { pthread_mutex_lock(&program_lock); }
static void program_after(void)  { pthread_mutex_unlock(&program_lock); }

static void *call_under_lock(void *unused)
{
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&program_lock);
        for (int round = 0; round < 100; round++) (void)gpuarena_owner(&device);
        pthread_mutex_unlock(&program_lock);
    }
    return unused;
}

/* ---- inside of a call */

static int forked_status = -1;
static gpuarena_action_kind forks_at;

/* Forks while the arena's lock is held by this very thread; at growth, during the creation of the arena, which is the
   parent's. */
static void fork_inside(gpuarena *told, const gpuarena_action *action, void *user)
{
    (void)user;
    arena = told;
    if (action->kind == forks_at) forked_status = in_child(is_refused);
}

static void test_inside(void)
{
    open_parent("device 1G plain; arena; a 1 100");
    forks_at = GPUARENA_ACTION_ALLOC;
    gpuarena_observe(arena, fork_inside, NULL);
    script("a 2 100");
    CHECK_INT(forked_status, ==, 0);
    script_end();
    script("device 1G plain");
    device_await_arena(-1);
    forked_status = -1;
    forks_at = GPUARENA_ACTION_GROW;
    gpuarena_config config = config_of("initial=4M", -1);
    config.observe = fork_inside;
    gpuarena *made = NULL;
    CHECK(!gpuarena_create(&config, &made) && forked_status == 0 && !gpuarena_destroy(made));
    script_end();
}

/* The child goes on inside the call, out of the callback: it makes no driver call, and gives nothing back. */
static uint64_t calls_at_fork;
static pid_t inside_process;

static void fork_and_return(gpuarena *told, const gpuarena_action *action, void *user)
{
    (void)told, (void)user;
    if (action->kind != GPUARENA_ACTION_RELEASE || inside_process) return;
    calls_at_fork = device.calls[ENTRY_give_back];
    fflush(stdout);
    inside_process = fork();
}

static void test_return_from_callback(void)
{
    int status = -1;
    open_parent("device 1G plain; arena growth=exact; a 1..4 2M; f 1..4");
    gpuarena_observe(arena, fork_and_return, NULL);
    gpuarena_result result = gpuarena_trim(arena, 0, NULL);
    if (inside_process == 0) _exit(device.calls[ENTRY_give_back] == calls_at_fork ? 0 : 1);
    CHECK_INT(result, ==, GPUARENA_OK);
    CHECK(waitpid(inside_process, &status, 0) == inside_process && WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ==, 0);
    script("expect calls.give_back = 4");
    script_end();
}

/* The child goes on out of config.pressure, and takes the locks of an arena with heaps again, though another thread
   of the parent holds them all. */
static int is_inside, is_forked;

static void *give_heaps(void *unused)
{
    return gpuarena_alloc(arena, &block, 100, stream_handle(stream_number("s2"))) ? &is_inside : unused;
}

static void *use_inside(void *unused)
{
    return gpuarena_use(arena, block, stream_handle(stream_number("s1"))) ? &is_inside : unused;
}

static void stay_inside(gpuarena *told, const gpuarena_action *action, void *user)
{
    (void)told, (void)user;
    if (action->kind != GPUARENA_ACTION_USE) return;
    __atomic_store_n(&is_inside, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&is_forked, __ATOMIC_ACQUIRE)) sched_yield();
}

static int fork_pressed(gpuarena *told, const gpuarena_failure *failure, void *user)
{
    pthread_t other;
    (void)told, (void)failure, (void)user;
    if (!CHECK(!pthread_create(&other, NULL, use_inside, NULL))) return 0;
    while (!__atomic_load_n(&is_inside, __ATOMIC_ACQUIRE)) sched_yield();
    fflush(stdout);
    inside_process = fork();
    if (inside_process == 0) {
        alarm(20);
        return 0;
    }
    __atomic_store_n(&is_forked, 1, __ATOMIC_RELEASE);
    pthread_join(other, NULL);
    return 0;
}

static void test_return_from_pressure(void)
{
    int status = -1;
    void *mine = NULL, *none = NULL;
    pthread_t other;
    script("device 1G");
    device_await_arena(-1);
    gpuarena_config config = config_of("limit=8M", -1);
    config.pressure = fork_pressed;
    config.observe = stay_inside;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &mine, 100, stream_handle(stream_number("s1"))), ==, GPUARENA_OK);
    CHECK(!pthread_create(&other, NULL, give_heaps, NULL) && !pthread_join(other, NULL));
    gpuarena_result result = gpuarena_alloc(arena, &none, MIB(8), stream_handle(stream_number("s1")));
    if (inside_process == 0) _exit(result == GPUARENA_OK);
    CHECK_INT(result, ==, GPUARENA_OUT_OF_MEMORY);
    CHECK(waitpid(inside_process, &status, 0) == inside_process && WIFEXITED(status) && !WEXITSTATUS(status));
    CHECK(!gpuarena_free(arena, mine, NULL) && !gpuarena_free(arena, block, NULL) && !gpuarena_destroy(arena));
    script_end();
}

int main(void)
{
    pthread_atfork(program_before, program_after, program_after);
    test_child();
    test_tree();
    open_parent("device 1G plain; arena; a 1 100");
    fork_beside(call_under_lock, does_nothing);
    fork_beside(keep_busy, is_refused);
    script_end();
    test_return_from_callback();
    test_return_from_pressure();
    test_inside();
    return tap_done();
}
