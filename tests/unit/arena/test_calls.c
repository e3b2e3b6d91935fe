/* Calls that scripts do not make: on an invalid arena, with nowhere to write, of names, tags and arenas as a process
   has them, visits that end early, imports of shares that no export made. Their sentences: sentences.golden. */
#include <unistd.h>

#include "scripted.h"

static int is_zero(const void *memory, size_t bytes)
{
    const char *begin = memory;
    return !begin[0] && !memcmp(begin, begin + 1, bytes - 1);
}

static void *at_of(const char *block) { return find_block(block)->ptr; }

/* ---- no arena, nowhere to write */

static void test_nothing(void)
{
    char text[8];
    CHECK(!gpuarena_config_text(NULL, text, sizeof text) && !gpuarena_failure_text(NULL, text, sizeof text));
    CHECK_STR(gpuarena_result_name(GPUARENA_RESULT_END), "unknown");
    CHECK_STR(gpuarena_result_name((gpuarena_result)-19), "unknown");
    CHECK_STR(gpuarena_result_name((gpuarena_result)1000), "unknown");
    CHECK_STR(gpuarena_reason_name(GPUARENA_REASON_END), "unknown");
    CHECK_STR(gpuarena_reason_name((gpuarena_reason)1000), "unknown");
    script("device 1G plain; arena");
    alarm(60);                                   /* a deadlock ends here */
    gpuarena_get_stats(arena_now(), NULL);
    script("a 1 1000");
    gpuarena_get_config(arena_now(), NULL);
    script("a 2 1000");
    gpuarena_last_failure(arena_now(), NULL);
    script("a 3 1000");
    alarm(0);
    script_end();
}

/* Every call on an invalid arena: INVALID_ARGUMENT, on this thread's record; calls without a result do nothing. */
static void refuse_all(gpuarena *none)
{
    static char sentinel;
    gpuarena_failure failure;
    gpuarena_stats stats;
    gpuarena_config values;
    CHECK_INT(all_calls_answer(none, &sentinel, GPUARENA_INVALID_ARGUMENT), ==, 0);
    gpuarena_last_failure(NULL, &failure);
    CHECK(failure.serial && failure.result == GPUARENA_INVALID_ARGUMENT);
    memset(&stats, 0x5A, sizeof stats);
    memset(&values, 0x5A, sizeof values);
    gpuarena_get_stats(none, &stats);
    gpuarena_get_config(none, &values);
    gpuarena_reset_peaks(none);
    CHECK(is_zero(&stats, sizeof stats) && is_zero(&values, sizeof values) && !gpuarena_mark(none));
}

static void test_no_arena(void)
{
    refuse_all(NULL);
    script("device 1G plain; arena one; arena other; in one; a 1 100; f 1");
    CHECK(!gpuarena_next((gpuarena *)(void *)&device));
    device.host.keeps = 1;
    gpuarena *ended = arena_now();
    script("destroy one");
    refuse_all(ended);
    CHECK_INT(gpuarena_destroy((gpuarena *)(void *)&device), ==, GPUARENA_INVALID_ARGUMENT);
    script("in other; a 2 100; expect 2.owned = 1");
    script_end();
}

static void test_create(void)
{
    gpuarena *const untouched = (gpuarena *)(void *)&device;
    gpuarena_failure failure;
    gpuarena *made = untouched;
    CHECK_INT(gpuarena_create(NULL, NULL), ==, GPUARENA_INVALID_ARGUMENT);
    script("device 1G plain");
#ifdef GPUARENA_NO_CUDA                          /* with CUDA no driver is no mistake: test_cuda_table.c */
    gpuarena_config none = GPUARENA_INIT;
    none.environment = "";
    CHECK_INT(gpuarena_create(&none, &made), ==, GPUARENA_NOT_SUPPORTED);
    gpuarena_last_failure(NULL, &failure);
    CHECK_INT(failure.result, ==, GPUARENA_NOT_SUPPORTED);
    CHECK_INT(gpuarena_create(NULL, &made), ==, GPUARENA_NOT_SUPPORTED);
    CHECK_INT(gpuarena_driver_cuda(0, &device.table), ==, GPUARENA_NOT_SUPPORTED);
    CHECK(device.table.memory.obtain != NULL);
#endif
    gpuarena_config config = config_of("", -1);
    CHECK_INT(gpuarena_create(&config, NULL), ==, GPUARENA_INVALID_ARGUMENT);
    gpuarena_last_failure(NULL, &failure);
    CHECK(failure.result == GPUARENA_INVALID_ARGUMENT && made == untouched);
    script_end();
}

/* ---- the owner of an address */

static void test_owner(void)
{
    script("device 1G plain; arena one; arena other; a 2 1000; in one; a 1 1000");
    gpuarena *one = world.arenas[0].ptr, *other = world.arenas[1].ptr;
    char *mine = at_of("1"), *theirs = at_of("2");
    CHECK_MSG(gpuarena_owner(mine) == one && gpuarena_owner(mine + MIB(1)) == one
              && gpuarena_owner(mine + MIB(2) - 1) == one, "a live block, free memory, the last byte");
    CHECK_MSG(gpuarena_owner(theirs) == other, "the other arena's");
    CHECK_MSG(!gpuarena_owner(NULL) && !gpuarena_owner(&device), "NULL and host memory");
    CHECK_MSG(gpuarena_owner(mine + MIB(2)) != one && gpuarena_owner(mine - 1) != one, "one past, one before");
    script("f 1; trim; f 2; destroy other; refuse f 2 to one: FOREIGN_POINTER");
    CHECK_MSG(!gpuarena_owner(mine) && !gpuarena_owner(theirs), "what was given back, and of what has ended");
    script_end();
}

/* ---- visits that end early: the visitor's answer comes back, and is no failure of the arena */

typedef struct visits { int calls, stop_at; gpuarena_result answer; } visits;

static gpuarena_result visit(const gpuarena_block *block, void *user)
{
    visits *seen = user;
    return block->bytes && ++seen->calls == seen->stop_at ? seen->answer : GPUARENA_OK;
}

static void test_walk(void)
{
    static const gpuarena_result answers[] = { GPUARENA_STOPPED, GPUARENA_OUT_OF_MEMORY, GPUARENA_CORRUPT };
    gpuarena_failure failure;
    visits all = { 0, 0, GPUARENA_OK };
    script("device 1G plain; arena");
    CHECK(!gpuarena_walk(arena_now(), visit, &all) && !all.calls);
    script("a 1..20 40000*i; f 1..20/3");
    CHECK(!gpuarena_walk(arena_now(), visit, &all) && all.calls > 20);
    for (size_t at = 0; at < COUNT(answers) * 2; at++) {
        visits some = { 0, at % 2 ? all.calls : 1, answers[at / 2] };
        CHECK(gpuarena_walk(arena_now(), visit, &some) == some.answer && some.calls == some.stop_at);
    }
    visits under_lock = { 0, 0, GPUARENA_OK };
    script("fail every host");                   /* no copy can be made: the walk looks at the blocks themselves */
    CHECK(!gpuarena_walk(arena_now(), visit, &under_lock) && under_lock.calls == all.calls);
    gpuarena_last_failure(arena_now(), &failure);
    CHECK(!failure.serial);
    script("heal");
    script_end();
}

/* A visitor holds nothing that another thread's frees need. The visited blocks are those there when the walk
   began. */
static gpuarena_result visit_live(const gpuarena_block *block, void *user)
{
    if (find_block("1")->live) run_inside("elsewhere f 1..4", arena_now(), 1);
    *(int *)user += block->state == GPUARENA_STATE_LIVE;
    return GPUARENA_OK;
}

static void test_walk_beside(void)
{
    int live = 0;
    script("device 1G plain; arena; a 1..4 1M");
    alarm(60);                                   /* a deadlock ends here */
    CHECK(!gpuarena_walk(arena_now(), visit_live, &live) && live == 4);
    alarm(0);
    script("expect live_count = 0");
    script_end();
}

/* ---- imports */

/* An import of no export, an unimport of no import, and a descriptor of no valid size are refused, and change
   nothing. */
static void test_import_arguments(void)
{
    const uint64_t most = (uint64_t)1 << 49;     /* bytes of a block */
    const uint64_t wrong[][3] = {                /* bytes, offset, bytes of pages */
        { 0, 0, 0 }, { most + 1, 0, 0 }, { 1, most + 1, 0 }, { 1, 0, most * 2 }, { 1, 0, MIB(3) },
        { MIB(2), 1, MIB(2) } };
    const struct { int fd; uint64_t bytes; } handed[] = {
        { 0, 0 }, { 0, MIB(1) }, { 0, MIB(6) }, { -1, MIB(2) } };
    gpuarena_shared shared = GPUARENA_INIT;
    void *there = NULL;
    uint64_t at, bytes = 0;
    int fd = -1;
    script("device 1G; arena from share=pages; a 1 3M; arena to");
    gpuarena *from = world.arenas[0].ptr, *to = world.arenas[1].ptr;
    for (size_t row = 0; row < COUNT(wrong); row++) {
        shared.bytes = wrong[row][0];
        shared.offset_bytes = wrong[row][1];
        shared.paged_bytes = wrong[row][2];
        CHECK_MSG(gpuarena_import(to, &shared, &there) == GPUARENA_INVALID_ARGUMENT, "import, row %d", (int)row);
    }
    CHECK_INT(gpuarena_export(from, at_of("1"), NULL), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_export(from, at_of("1"), &shared), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_export_fd(from, at_of("1"), 0, NULL, &bytes), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_export_fd(from, at_of("1"), 0, &fd, NULL), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_import(to, NULL, &there), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_import(to, &shared, NULL), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_import(to, &shared, &there), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_import_fd(to, NULL, 0, MIB(2)), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_import_fd(to, &fd, 0, MIB(2)), ==, GPUARENA_INVALID_ARGUMENT);
    for (size_t row = 0; row < COUNT(handed); row++)
        CHECK_MSG(gpuarena_import_fd(to, there, handed[row].fd, handed[row].bytes) == GPUARENA_INVALID_ARGUMENT,
                  "descriptor, row %d", (int)row);
    script("fail next to_page");
    CHECK_INT(gpuarena_import_fd(to, there, 0, MIB(2)), ==, GPUARENA_DRIVER_ERROR);
    script("heal");
    for (at = 0; at < shared.paged_bytes; at += bytes) {
        if (!CHECK(!gpuarena_export_fd(from, at_of("1"), at, &fd, &bytes) && bytes)) break;
        CHECK_INT(gpuarena_import_fd(to, there, fd, bytes), ==, GPUARENA_OK);
        close(fd);
    }
    CHECK_INT(gpuarena_import_fd(to, there, 0, MIB(2)), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_import_end(to, &fd), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_import_end(to, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_import_end(to, there), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_import(to, &shared, &there), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_export_fd(from, at_of("1"), 0, &fd, &bytes), ==, GPUARENA_OK);
    script("fail next map");
    CHECK_INT(gpuarena_import_fd(to, there, fd, bytes), ==, GPUARENA_DRIVER_ERROR);
    script("heal");                              /* it can only be ended */
    CHECK_INT(gpuarena_import_fd(to, there, fd, bytes), ==, GPUARENA_INVALID_ARGUMENT);
    close(fd);
    script("fail next release");
    CHECK_INT(gpuarena_import_end(to, there), ==, GPUARENA_DRIVER_ERROR);
    script("heal");                              /* it can only be ended */
    CHECK_INT(gpuarena_import_fd(to, there, 0, MIB(2)), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_import_end(to, there), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_export_end(from, at_of("1")), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_export_end(from, &fd), ==, GPUARENA_FOREIGN_POINTER);
    script("lie reserve; fail every release");   /* an import that nobody has */
    CHECK_INT(gpuarena_import(to, &shared, &there), ==, GPUARENA_DRIVER_ERROR);
    CHECK_INT(gpuarena_import_fd(to, NULL, 0, MIB(2)), ==, GPUARENA_INVALID_ARGUMENT);
    script("heal");
    script_end();
}

static int no_descriptor(const gpuarena_driver *self, uint64_t page, int *fd)
{
    return (void)self, (void)page, (void)fd, 0;
}

static int no_segment(const gpuarena_driver *self, const unsigned char *handle, void **ptr)
{
    return (void)self, (void)handle, *ptr = NULL, 0;
}

/* Drivers that report success without the effect, or lack entries that an import needs; a device that is lost before
   pages come. */
static void test_import_driver(void)
{
    static const char *const lacking[] = { "without vm", "without fd", "", "without ipc" };
    gpuarena_shared shared = GPUARENA_INIT, segment = GPUARENA_INIT;
    void *there = NULL, *other = NULL;
    uint64_t bytes = 0;
    int fd = -1;
    char text[100];
    segment.bytes = 1;
    script("device 1G");
    device.table.fd.from_page = no_descriptor;
    device.table.ipc.open_handle = no_segment;
    script("arena share=pages; a 1 3M");
    gpuarena *arena = arena_now();
    CHECK_INT(gpuarena_import(arena, &segment, &there), ==, GPUARENA_DRIVER_ERROR);
    CHECK_INT(gpuarena_export(arena, at_of("1"), &shared), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_export_fd(arena, at_of("1"), 0, &fd, &bytes), ==, GPUARENA_DRIVER_ERROR);
    CHECK(fd == -1 && !bytes && !there);
    CHECK_INT(gpuarena_import(arena, &shared, &there), ==, GPUARENA_OK);
    script("fail next info 700; refuse figures: DEVICE_LOST");
    CHECK_INT(gpuarena_import_fd(arena, there, 0, MIB(2)), ==, GPUARENA_DEVICE_LOST);
    CHECK_INT(gpuarena_export_fd(arena, at_of("1"), 0, &fd, &bytes), ==, GPUARENA_DEVICE_LOST);
    CHECK_INT(gpuarena_import(arena, &shared, &other), ==, GPUARENA_DEVICE_LOST);
    CHECK_INT(gpuarena_import_end(arena, there), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_export_end(arena, at_of("1")), ==, GPUARENA_OK);
    script_end();
    for (int at = 0; at < 4; at++) {
        snprintf(text, sizeof text, "device 1G %s", lacking[at]);
        script(text);
        device.table.page_bytes = at == 2 ? 0 : MIB(2);      /* pages come to a device that has none */
        script("arena backing=segments");
        CHECK_INT(gpuarena_import(arena_now(), at < 3 ? &shared : &segment, &there), ==, GPUARENA_NOT_SUPPORTED);
        script_end();
    }
}

/* ---- tags */

static void test_names(void)
{
    static const char *const bad[] = { NULL, "", "a\nb", "a\x7f", "caf\xc3\xa9", "12345678901234567890123456789012" };
    uint32_t weights = gpuarena_tag("weights"), longest = gpuarena_tag("1234567890123456789012345678901");
    gpuarena_failure failure;
    CHECK_MSG(weights > INT32_MAX && gpuarena_tag("weights") == weights, "one name has one tag, 2^31 or more");
    CHECK_MSG(longest && longest != weights && gpuarena_tag(" \"\\") != longest,
              "names of 31 characters, and of any");
    CHECK_STR(gpuarena_tag_name(weights), "weights");
    CHECK_STR(gpuarena_tag_name(longest), "1234567890123456789012345678901");
    CHECK_MSG(!gpuarena_tag_name(0)[0] && !gpuarena_tag_name(7)[0] && !gpuarena_tag_name(UINT32_MAX)[0],
              "what is no tag has no name");
    for (size_t at = 0; at < COUNT(bad); at++) {
        CHECK_U64(gpuarena_tag(bad[at]), ==, 0);
        gpuarena_last_failure(NULL, &failure);
        CHECK_INT(failure.result, ==, GPUARENA_INVALID_ARGUMENT);
    }
}

/* Comes last: there is no way back from a full table of names. */
static void test_full(void)
{
    gpuarena_failure failure;
    char name[32], text[100];
    uint32_t made = 0, last = 0;
    for (uint32_t at = 0; at < GPUARENA_TAGS; at++) {
        snprintf(name, sizeof name, "name %" PRIu32, at);
        uint32_t tag = gpuarena_tag(name);
        if (tag) last = tag;
        made += tag != 0;
    }
    gpuarena_last_failure(NULL, &failure);
    CHECK_MSG(made > 1000 && made < GPUARENA_TAGS && failure.result == GPUARENA_NOT_SUPPORTED, "names until there "
              "are %u", GPUARENA_TAGS);
    CHECK_U64(gpuarena_tag("weights"), !=, 0);
    snprintf(text, sizeof text, "device 1G plain; arena; a 1 100 tag %" PRIu32 "; expect 1.tag = %" PRIu32, last,
             last);
    script(text);
    gpuarena_tag_stats stats;
    CHECK(!gpuarena_get_tag(arena_now(), last, &stats) && stats.live_bytes == 256);
    script_end();
}

int main(void)
{
    test_nothing();
    test_no_arena();
    test_create();
    test_owner();
    test_walk();
    test_walk_beside();
    test_import_arguments();
    test_import_driver();
    test_names();
    test_full();
    CHECK(gpuarena_next(NULL) == NULL);
    return tap_done();
}
