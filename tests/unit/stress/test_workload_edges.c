/* Tests of options at their edges: each alone at its lowest and its highest, and all together, make a stream or are
   refused in words, and nothing else happens; and on several threads each family makes one, too.
   Knows families by name alone. (under ASan it tells more) */
#include "stress/workload/workload.h"
#include "workload_order.h"

enum { OPS = 400 };

static const workload_options cut = { .ops_given = 1, .ops = OPS };

/* 1 if it is made, with no block used or freed when it is not live, or refused with a text that names the family. */
static int is_sound(const char *name, const char *spec)
{
    op_stream stream;
    problem why = { 0, "" };
    if (workload_make(spec, &cut, &stream, &why)) {
        return why.exit_code == EXIT_USAGE && strstr(why.text, name) && strstr(why.text, "expected");
    }
    uint64_t ops = stream.alloc_count + stream.free_count;
    order_count count = order_check(&stream);
    op_stream_free(&stream);
    return ops <= OPS && count.dead == 0;
}

static size_t append(char *spec, size_t used, size_t room, const char *key, uint64_t value)
{
    int length = snprintf(spec + used, room - used, "%c%s=%" PRIu64, strchr(spec, ':') ? ',' : ':', key, value);
    if (length < 0 || used + (size_t)length >= room) give_up("a specification too long for the test");
    return used + (size_t)length;
}

static void check_edges(const workload_family *each)
{
    char keys[400], spec[100], all_low[400], all_high[400];
    size_t low = (size_t)snprintf(all_low, sizeof all_low, "%s", each->name);
    size_t high = (size_t)snprintf(all_high, sizeof all_high, "%s", each->name), tried = 0;
    snprintf(keys, sizeof keys, "%s", each->options);
    for (char *part = strtok(keys, ","); part; part = strtok(NULL, ",")) {
        workload_key found;
        problem why = { 0, "" };
        char *end = strchr(part, '=');
        if (end) *end = '\0';
        if (workload_vary(each->name, part, &found, &why)) continue;       /* words */
        const uint64_t edges[] = { found.lowest, found.highest };
        for (size_t at = 0; at < 2; at++, tried++) {
            snprintf(spec, sizeof spec, "%s:%s=%" PRIu64, each->name, part, edges[at]);
            if (!is_sound(each->name, spec)) CHECK_MSG(0, "%s is neither made nor refused well", spec);
        }
        low = append(all_low, low, sizeof all_low, part, found.lowest);
        high = append(all_high, high, sizeof all_high, part, found.highest);
    }
    CHECK_MSG(tried > 4, "%s: %zu edges", each->name, tried);
    CHECK_MSG(is_sound(each->name, all_low), "%s", all_low);
    CHECK_MSG(is_sound(each->name, all_high), "%s", all_high);
}

static void check_threads(const char *name)
{
    const workload_options three = { .ops_given = 1, .ops = OPS, .threads_given = 1, .threads = 3 };
    char joined[64];
    op_stream stream;
    problem why = { 0, "" };
    CHECK_MSG(mix_make(name, &three, &stream, &why) == 0 && op_stream_threads(&stream) == 3, "%s on 3 threads", name);
    CHECK_U64(stream.alloc_count + stream.free_count, ==, OPS);
    op_stream_free(&stream);
    snprintf(joined, sizeof joined, "%s+uniform:n=150+%s", name, name);
    int failed = mix_make(joined, &cut, &stream, &why);
    if (!CHECK_MSG(!failed, "%s is made", joined)) printf("#   %s\n", why.text);
    order_count count = order_check(&stream);
    CHECK_MSG(count.dead == 0 && count.before_use == 0, "and orders its own work");
    op_stream_free(&stream);
}

int main(void)
{
    const workload_family *each;
    for (size_t i = 0; (each = workload_family_at(i)) != NULL; i++) {
        if (!each->peak) continue;             /* a recording */
        check_edges(each);
        check_threads(each->name);
    }
    return tap_done();
}
