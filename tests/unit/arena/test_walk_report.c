/* Walk and report: order, early stop, text and JSON through a writer; Perl reads the JSON and compares its sums. */
#include "arena_state.h"

typedef struct sink { char text[1 << 20]; size_t length; int calls, stop_at; gpuarena_result answer; } sink;
typedef struct visits { int calls, stop_at; gpuarena_result answer; uint64_t end; int unordered; } visits;

static fake_device device;
static sink written;

static gpuarena_result write_text(const char *text, size_t bytes, void *user)
{
    sink *into = user;
    into->calls++;
    if (into->calls == into->stop_at) return into->answer;
    if (into->length + bytes >= sizeof into->text) return GPUARENA_STOPPED;
    memcpy(into->text + into->length, text, bytes);
    into->length += bytes;
    into->text[into->length] = '\0';
    return GPUARENA_OK;
}

static gpuarena_result visit(const gpuarena_block *block, void *user)
{
    visits *seen = user;
    seen->calls++;
    if (slot_address(block->ptr) < seen->end) seen->unordered = 1;
    seen->end = slot_address(block->ptr) + block->bytes;
    return seen->calls == seen->stop_at ? seen->answer : GPUARENA_OK;
}

/* 50 blocks of mixed sizes and tags, a third of them freed, over several segments. */
static gpuarena *open_used(const char *name)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    snprintf(config.name, sizeof config.name, "%s", name);
    config.limit_bytes = MIB(256);
    gpuarena *arena = NULL;
    gpuarena_result result = gpuarena_create(&config, &arena);
    if (result != GPUARENA_OK) {
        CHECK_MSG(result == GPUARENA_INVALID_CONFIG, "a name that is refused: %s", gpuarena_result_name(result));
        return NULL;
    }
    for (uint32_t block = 0; block < 50; block++) {
        gpuarena_request request = GPUARENA_INIT;
        void *ptr = NULL;
        request.bytes = 1 + block * 40000;
        request.tag = block;
        request.stream = slot_stream((int)block % 3);
        if (gpuarena_alloc_ex(arena, &ptr, &request) != GPUARENA_OK) CHECK_MSG(0, "alloc");
        if (block % 3 == 0 && gpuarena_free(arena, ptr, request.stream) != GPUARENA_OK) CHECK_MSG(0, "free");
    }
    return arena;
}

static void test_walk(void)
{
    gpuarena *arena = open_used("walked");
    gpuarena_failure before, after;
    visits all = { 0, 0, GPUARENA_OK, 0, 0 };
    CHECK_INT(gpuarena_walk(arena, visit, &all), ==, GPUARENA_OK);
    CHECK_MSG(all.calls > 50 - 17 && !all.unordered, "%d blocks, by address", all.calls);
    gpuarena_last_failure(arena, &before);
    static const gpuarena_result answers[] = { GPUARENA_STOPPED, GPUARENA_OUT_OF_MEMORY, GPUARENA_CORRUPT };
    for (int stop = 1; stop <= all.calls; stop += all.calls - 1)
        for (size_t index = 0; index < 3; index++) {
            visits some = { 0, stop, answers[index], 0, 0 };
            CHECK_INT(gpuarena_walk(arena, visit, &some), ==, answers[index]);
            CHECK_INT(some.calls, ==, stop);
        }
    gpuarena_last_failure(arena, &after);
    CHECK_MSG(before.serial == after.serial, "a visitor's answer is recorded nowhere");
    state_end(arena, &device, "walk");
    arena = state_open(&device);
    visits none = { 0, 0, GPUARENA_OK, 0, 0 };
    CHECK_INT(gpuarena_walk(arena, visit, &none), ==, GPUARENA_OK);
    CHECK_INT(none.calls, ==, 0);
    state_end(arena, &device, "walk of nothing");
}

static const char *report(gpuarena *arena, gpuarena_format format)
{
    memset(&written, 0, sizeof written);
    CHECK_INT(gpuarena_report(arena, format, write_text, &written), ==, GPUARENA_OK);
    return written.text;
}

static void test_stopped_writer(void)
{
    gpuarena *arena = open_used("stopped");
    gpuarena_failure before, after;
    gpuarena_last_failure(arena, &before);
    for (int format = 0; format < 2; format++) {
        report(arena, (gpuarena_format)format);
        int calls = written.calls, wrong = 0;
        CHECK_MSG(calls > 1, "in pieces: %d", calls);
        for (int stop = 1; stop <= calls; stop++) {
            memset(&written, 0, sizeof written);
            written.stop_at = stop;
            written.answer = stop % 2 ? GPUARENA_STOPPED : GPUARENA_DRIVER_ERROR;
            wrong += gpuarena_report(arena, (gpuarena_format)format, write_text, &written) != written.answer;
            wrong += written.calls != stop;
        }
        CHECK_MSG(wrong == 0, "format %d: a writer's answer stops it and comes back", format);
    }
    gpuarena_last_failure(arena, &after);
    CHECK_MSG(before.serial == after.serial, "a writer's answer is recorded nowhere");
    state_end(arena, &device, "stopped writer");
}

/* Blocks are copied before the first is visited; without host memory for that they are visited under the lock. */
static int refuse_host(size_t bytes) { return bytes > 0; }

static void test_no_host_memory(void)
{
    gpuarena *arena = open_used("copied");
    visits with = { 0, 0, GPUARENA_OK, 0, 0 }, without = { 0, 0, GPUARENA_OK, 0, 0 };
    char text[sizeof written.text];
    gpuarena_result walked;
    CHECK_INT(gpuarena_walk(arena, visit, &with), ==, GPUARENA_OK);
    memcpy(text, report(arena, GPUARENA_FORMAT_JSON), sizeof text);
    device.host.refuses = refuse_host;
    walked = gpuarena_walk(arena, visit, &without);
    const char *again = report(arena, GPUARENA_FORMAT_JSON);
    device.host.refuses = NULL;
    CHECK_INT(walked, ==, GPUARENA_OK);
    CHECK_MSG(with.calls > 0 && with.calls == without.calls, "as many are visited: %d", without.calls);
    CHECK_MSG(strcmp(text, again) == 0, "and the report is the same");
    state_end(arena, &device, "no host memory");
}

static void test_text(void)
{
    gpuarena *arena = open_used("readable");
    static char without[sizeof written.text];
    gpuarena_request request = GPUARENA_INIT;
    void *ptr;
    request.bytes = KIB(64);
    request.tag = gpuarena_tag("unused");
    request.tag = gpuarena_tag("named");
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OK);
    device.host.refuses = refuse_host;
    memcpy(without, report(arena, GPUARENA_FORMAT_TEXT), sizeof without);
    device.host.refuses = NULL;
    const char *text = report(arena, GPUARENA_FORMAT_TEXT);
    CHECK_MSG(strcmp(text, without) == 0, "text: the same without host memory");
    CHECK_MSG(strstr(text, "  tag named: 65536 bytes live in 1 blocks, peak 65536, 1 allocations\n")
              && strstr(text, "  tag (none): ") && !strstr(text, "tag unused"), "text: tags that were used");
    size_t length = strlen(text);
    int printable = length > 0;
    for (size_t index = 0; index < length; index++)
        printable &= text[index] == '\n' || (text[index] >= ' ' && text[index] <= '~');
    CHECK_MSG(length == written.length && printable && text[length - 1] == '\n',
              "text: printable lines, no NUL inside");
    CHECK_MSG(strstr(text, "readable") != NULL, "text: the arena's name");
    gpuarena_config config = GPUARENA_INIT;
    config.environment = "";
    config.parent = arena;
    config.oversubscribe = 1;
    gpuarena *under = state_arena(&config);
    text = report(under, GPUARENA_FORMAT_TEXT);
    CHECK_MSG(strstr(text, "under        readable\n") != NULL, "text: the arena above");
    CHECK_INT(gpuarena_destroy(under), ==, GPUARENA_OK);
    state_end(arena, &device, "text");
}

/* Tags stand where there are any; untagged blocks among them have zeros in the JSON, and no line in the text. */
static void test_tags(void)
{
    gpuarena_request request = GPUARENA_INIT;
    char line[200];
    void *ptr;
    gpuarena *arena = state_open(&device);
    state_alloc(arena, KIB(1));
    CHECK_MSG(!strstr(report(arena, GPUARENA_FORMAT_JSON), "\"tags\""), "JSON: no tags where none was used");
    state_end(arena, &device, "no tags");
    arena = state_open(&device);
    request.bytes = KIB(2);
    request.tag = gpuarena_tag("a \"b\" \\");
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OK);
    CHECK_MSG(!strstr(report(arena, GPUARENA_FORMAT_TEXT), "tag (none)"), "text: no line of untagged blocks");
    CHECK_MSG(strstr(report(arena, GPUARENA_FORMAT_JSON), "{\"tag\":0,\"name\":\"\",\"live_bytes\":0,") != NULL,
              "JSON: untagged blocks, none");
    state_alloc(arena, KIB(1));
    snprintf(line, sizeof line, "\"tags\":[\n{\"tag\":0,\"name\":\"\",\"live_bytes\":1024,\"live_peak_bytes\":1024,"
             "\"live_count\":1,\"alloc_count\":1},\n{\"tag\":%" PRIu32 ",\"name\":\"a \\\"b\\\" "
             "\\\\\",\"live_bytes\":2048,", request.tag);
    CHECK_MSG(strstr(report(arena, GPUARENA_FORMAT_JSON), line), "JSON: figures of each tag");
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_MSG(strstr(report(arena, GPUARENA_FORMAT_TEXT),
                     "\n  tag (none): 1024 bytes live in 1 blocks, peak 1024, 1 allocations\n"
                     "  tag a \"b\" \\: 0 bytes live in 0 blocks, peak 2048, 1 allocations\n"), "text: the same");
    state_end(arena, &device, "tags");
}

/* Each segment has a line with its own figures: a free one, then a live one. */
static void test_text_of_segments(void)
{
    void *blocks[2];
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_EXACT;
    gpuarena *arena = state_arena(&config);
    for (int block = 0; block < 2; block++)
        CHECK_INT(gpuarena_alloc(arena, &blocks[block], MIB(4), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, blocks[blocks[1] < blocks[0]], NULL), ==, GPUARENA_OK);
    const char *text = report(arena, GPUARENA_FORMAT_TEXT);
    const char *idle = strstr(text, ": 1 blocks, 0 bytes live, longest free 4194304\n");
    CHECK_MSG(idle && strstr(idle, ": 1 blocks, 4194304 bytes live, longest free 0\n"),
              "figures by segment: %s", text);
    CHECK_INT(gpuarena_free(arena, blocks[blocks[0] < blocks[1]], NULL), ==, GPUARENA_OK);
    state_end(arena, &device, "text of segments");
}

/* Any hash of the report that has a statistic's name must have its value; schema and name must be there; blocks tile
   their segments, and the live ones sum. */
static const char *const perl_program =
    "local $/; my $r = decode_json(<STDIN>); my %want = @ARGV; my %seen;"
    " sub look { my $v = shift; if (ref $v eq 'HASH') { for my $k (keys %$v) {"
    " if (exists $want{$k} && !ref $v->{$k} && !$seen{$k}++) {"
    " die \"$k: $v->{$k}, wanted $want{$k}\\n\" unless $v->{$k} eq $want{$k} } }"
    " look($_) for values %$v } elsif (ref $v eq 'ARRAY') { look($_) for @$v } }"
    " die \"schema\\n\" unless $r->{schema} eq 'gpuarena-report/1';"
    " look($r->{stats} || $r); $seen{$_} or die \"no $_\\n\" for keys %want;"
    " my ($count, $live) = (0, 0); for my $s (@{$r->{segments}}) { my $end = 0; for (@{$s->{blocks}}) {"
    " die \"tiling\\n\" unless $_->{offset} == $end; $end += $_->{bytes};"
    " if ($_->{state} eq 'live') { $count++; $live += $_->{bytes} } else { die \"state\\n\" unless $_->{state} eq "
    "'free' } } die \"end\\n\" unless $end == $s->{bytes} }"
    " die \"live\\n\" unless $count == $want{live_count} && $live == $want{live_bytes};";

static int perl_missing(void)
{
    return system("perl -MJSON::PP -e 1 >/dev/null 2>&1") != 0;
}

/* A name is refused at creation, or comes back from the JSON: it never breaks it. */
static void check_json(const char *name, int number)
{
    if (perl_missing()) {
        SKIP("perl with JSON::PP is not here: the JSON of name %d was not read", number);
        return;
    }
    static char command[4096];
    gpuarena_stats stats;
    gpuarena *arena = open_used(name);
    if (!arena) return;
    gpuarena_walk_stats(arena, &stats);
    report(arena, GPUARENA_FORMAT_JSON);
    int length = snprintf(command, sizeof command, "perl -MJSON::PP -e \"$GPUARENA_TEST_PROGRAM\"");
    length += snprintf(command + length, sizeof command - (size_t)length,
                       " requested_bytes %" PRIu64 " slack_bytes %" PRIu64 " live_bytes %" PRIu64
                       " cached_bytes %" PRIu64 " reserved_bytes %" PRIu64 " limit_bytes %" PRIu64
                       " largest_free_bytes %" PRIu64
                       " live_count %" PRIu64 " alloc_count %" PRIu64 " grow_count %" PRIu64, stats.requested_bytes,
                       stats.slack_bytes, stats.live_bytes, stats.cached_bytes, stats.reserved_bytes,
                       stats.limit_bytes, stats.largest_free_bytes, stats.live_count, stats.alloc_count,
                       stats.grow_count);
    (void)length;
    setenv("GPUARENA_TEST_PROGRAM", perl_program, 1);
    FILE *pipe = popen(command, "w");
    size_t put = pipe ? fwrite(written.text, 1, written.length, pipe) : 0;
    int status = pipe ? pclose(pipe) : -1;
    CHECK_MSG(put == written.length && status == 0, "JSON with name %d: parsed, sums agree", number);
    state_end(arena, &device, "JSON");
}

int main(void)
{
    test_walk();
    test_stopped_writer();
    test_no_host_memory();
    test_text();
    test_tags();
    test_text_of_segments();
    check_json("plain", 1);
    check_json("quote \" back\\slash / <&>", 2);
    check_json("\xc3\xbc and \xe2\x82\xac", 3);
    check_json("tab\t and \x01\x1f", 4);
    check_json("cut \xc3 short \xff", 5);
    return tap_done();
}
