/* Fork: a child is refused on everything of its parent's, frees nothing of it, and may make arenas of its own; the
   parent notices nothing, whatever other threads were doing. */
#include "all_calls.h"
#include "arena_state.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORK_COUNT = 200 };

static fake_device device;

/* Runs `child` in a child process; its exit status, or -1 if it did not end by itself within 20 s. */
static int in_child(int (*child)(gpuarena *arena, void *block), gpuarena *arena, void *block)
{
    int status = 0;
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        alarm(20);
        status = child(arena, block);
        if (TAP_SANITIZED) _exit(status);        /* the parent's memory is no leak */
        exit(status);                            /* make coverage counts what ends by exit */
    }
    if (process < 0 || waitpid(process, &status, 0) != process || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

static int child_is_refused(gpuarena *arena, void *block)
{
    return all_calls_answer(arena, block, GPUARENA_FORKED);
}

static int child_makes_no_driver_call(gpuarena *arena, void *block)
{
    uint64_t calls = device.calls[SLOT_OBTAIN] + device.calls[SLOT_GIVE_BACK] + device.calls[SLOT_INFO];
    if (child_is_refused(arena, block)) return 1;
    return calls != device.calls[SLOT_OBTAIN] + device.calls[SLOT_GIVE_BACK] + device.calls[SLOT_INFO];
}

/* What has no result reads as nothing, the record says why, and the sentence names the arena. */
static int child_reads_nothing(gpuarena *arena, void *block)
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

/* An arena of the child's own; the parent's pointers are foreign to it. */
static int child_makes_its_own(gpuarena *arena, void *block)
{
    static fake_device other;
    gpuarena *own = NULL;
    void *ptr = NULL;
    (void)arena;
    fake_open(&other, GIB(1));
    other.slots.base += GIB(512);
    gpuarena_config config = fake_config(&other);
    if (gpuarena_create(&config, &own) || gpuarena_alloc(own, &ptr, MIB(3), NULL)) return 1;
    if (gpuarena_owner(ptr) != own || gpuarena_check(own, NULL, 0)) return 2;
    if (gpuarena_free(own, block, NULL) != GPUARENA_FOREIGN_POINTER) return 3;
    if (gpuarena_free(own, ptr, NULL)) return 4;
    return gpuarena_destroy(own) || other.slots.held_bytes ? 5 : 0;
}

/* A grandchild of the parent, by a child that has an arena too. */
static int child_forks_again(gpuarena *arena, void *block)
{
    static fake_device other;
    gpuarena *own = NULL;
    void *ptr = NULL;
    fake_open(&other, GIB(1));
    gpuarena_config config = fake_config(&other);
    if (gpuarena_create(&config, &own) || gpuarena_alloc(own, &ptr, 100, NULL)) return 1;
    if (in_child(child_is_refused, own, ptr) || in_child(child_is_refused, arena, block)) return 2;
    if (gpuarena_check(own, NULL, 0) || gpuarena_free(own, ptr, NULL)) return 3;
    return gpuarena_destroy(own) ? 4 : 0;
}

/* A tree: no new arena goes under one of the parent's, and the child has none of them. */
static int child_is_refused_by_tree(gpuarena *arena, void *block)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *made = NULL;
    config.parent = arena;
    config.environment = "";
    gpuarena_result result = gpuarena_create(&config, &made);
    if (result != GPUARENA_FORKED && result != GPUARENA_INVALID_CONFIG) return 1;
    return made || gpuarena_next(NULL) ? 2 : child_is_refused(arena, block);
}

static void test_tree(void)
{
    gpuarena *arenas[3];
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    for (int at = 0; at < 3; at++, config.parent = arenas[0]) arenas[at] = state_arena(&config);
    void *block = state_alloc(arenas[1], MIB(5));
    for (int at = 0; at < 3; at++) CHECK_INT(in_child(child_is_refused_by_tree, arenas[at], block), ==, 0);
    CHECK_STR(state_audit(arenas[1], NULL), "");
    CHECK_INT(gpuarena_free(arenas[1], block, NULL), ==, GPUARENA_OK);
    for (int at = 3; at-- > 0;) CHECK_INT(gpuarena_destroy(arenas[at]), ==, GPUARENA_OK);
}

static void test_child(void)
{
    gpuarena *arena = state_open(&device);
    void *block = state_alloc(arena, MIB(5));
    arena_state before, after;
    state_take(arena, &before);
    CHECK_INT(in_child(child_makes_no_driver_call, arena, block), ==, 0);
    CHECK_INT(in_child(child_reads_nothing, arena, block), ==, 0);
    CHECK_INT(in_child(child_makes_its_own, arena, block), ==, 0);
    CHECK_INT(in_child(child_forks_again, arena, block), ==, 0);
    state_take(arena, &after);
    CHECK(after.seen.digest == before.seen.digest && after.failure_serial == before.failure_serial);
    CHECK_STR(state_audit(arena, &device), "");
    CHECK_INT(gpuarena_free(arena, block, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_U64(device.slots.held_bytes + fake_wrong_count, ==, 0);
}

static gpuarena *busy_arena;
static int busy_end;

static void *keep_busy(void *unused)
{
    while (!__atomic_load_n(&busy_end, __ATOMIC_ACQUIRE)) {
        void *ptr = NULL;
        if (gpuarena_alloc(busy_arena, &ptr, MIB(40), NULL) == GPUARENA_OK) gpuarena_free(busy_arena, ptr, NULL);
        gpuarena_trim(busy_arena, 0, NULL);
    }
    return unused;
}

/* Locks that another thread holds at the fork must not stop the child: neither the arena's nor the registry's. */
static void test_busy_locks(void)
{
    pthread_t worker;
    int good = 0;
    busy_arena = state_open(&device);
    void *block = state_alloc(busy_arena, 100);
    CHECK_INT(pthread_create(&worker, NULL, keep_busy, NULL), ==, 0);
    for (int round = 0; round < FORK_COUNT; round++) good += in_child(child_is_refused, busy_arena, block) == 0;
    __atomic_store_n(&busy_end, 1, __ATOMIC_RELEASE);
    pthread_join(worker, NULL);
    CHECK_INT(good, ==, FORK_COUNT);
    CHECK_INT(gpuarena_free(busy_arena, block, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(busy_arena), ==, GPUARENA_OK);
}

/* A handler of the program's own, registered before any arena was made, with a lock under which arenas are called:
   held across forks as the header's own lock must not be. */
static pthread_mutex_t program_lock = PTHREAD_MUTEX_INITIALIZER;
static void program_before(void) { pthread_mutex_lock(&program_lock); }
static void program_after(void)  { pthread_mutex_unlock(&program_lock); }

static void *call_under_lock(void *unused)
{
    while (!__atomic_load_n(&busy_end, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&program_lock);
        for (int call = 0; call < 100; call++) (void)gpuarena_owner(&device);
        pthread_mutex_unlock(&program_lock);
    }
    return unused;
}

static int child_does_nothing(gpuarena *arena, void *block)
{
    (void)arena, (void)block;
    return 0;
}

static void test_handlers_of_others(void)
{
    pthread_t worker;
    int good = 0;
    gpuarena *arena = state_open(&device);
    busy_end = 0;
    CHECK_INT(pthread_create(&worker, NULL, call_under_lock, NULL), ==, 0);
    alarm(60);                                   /* a deadlock ends here */
    for (int round = 0; round < FORK_COUNT; round++) good += in_child(child_does_nothing, arena, NULL) == 0;
    alarm(0);
    __atomic_store_n(&busy_end, 1, __ATOMIC_RELEASE);
    pthread_join(worker, NULL);
    CHECK_INT(good, ==, FORK_COUNT);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

static int forked_status = -1;

/* Forks while the arena's lock is held by this very thread. */
static void fork_inside(gpuarena *arena, const gpuarena_action *action, void *user)
{
    if (action->kind == GPUARENA_ACTION_ALLOC) forked_status = in_child(child_is_refused, arena, user);
}

static void test_inside_callback(void)
{
    gpuarena *arena = state_open(&device);
    void *block = state_alloc(arena, 100), *ptr = NULL;
    gpuarena_observe(arena, fork_inside, block);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 100, NULL), ==, GPUARENA_OK);
    CHECK_INT(forked_status, ==, 0);
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

/* The child goes on inside the call, out of the callback: it makes no driver call, and gives nothing back. */
static uint64_t calls_at_fork;
static pid_t inside_process;

static void fork_and_return(gpuarena *arena, const gpuarena_action *action, void *user)
{
    (void)arena, (void)user;
    if (action->kind != GPUARENA_ACTION_RELEASE || inside_process) return;
    calls_at_fork = device.calls[SLOT_GIVE_BACK];
    fflush(stdout);
    inside_process = fork();
}

static void test_return_from_callback(void)
{
    int status = -1;
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_EXACT;
    gpuarena *arena = state_arena(&config);
    for (int block = 0; block < 4; block++) state_alloc(arena, MIB(2));
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    gpuarena_observe(arena, fork_and_return, NULL);
    gpuarena_result result = gpuarena_trim(arena, 0, NULL);
    if (inside_process == 0) _exit(device.calls[SLOT_GIVE_BACK] == calls_at_fork ? 0 : 1);
    CHECK_INT(result, ==, GPUARENA_OK);
    CHECK(waitpid(inside_process, &status, 0) == inside_process && WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ==, 0);
    CHECK_U64(device.calls[SLOT_GIVE_BACK], ==, 4);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

/* Forked while an arena is made: it is the parent's. */
static void fork_at_growth(gpuarena *arena, const gpuarena_action *action, void *user)
{
    (void)user;
    if (action->kind == GPUARENA_ACTION_GROW) forked_status = in_child(child_is_refused, arena, &device);
}

static void test_inside_creation(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.initial_bytes = MIB(4);
    config.observe = fork_at_growth;
    forked_status = -1;
    gpuarena *arena = state_arena(&config);
    CHECK_INT(forked_status, ==, 0);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

int main(void)
{
    pthread_atfork(program_before, program_after, program_after);
    test_child();
    test_tree();
    test_handlers_of_others();
    test_return_from_callback();
    test_inside_creation();
    test_busy_locks();
    test_inside_callback();
    return tap_done();
}
