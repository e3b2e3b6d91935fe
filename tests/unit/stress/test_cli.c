/* Numbers, sizes, lists, names, the option table and parsing, without the program.
   It must not know what workloads or policies mean. */
#include "stress/base/cli.h"
#include "stress/base/nearest.h"
#include "tap.h"

static problem why;

static void forget(void)
{
    why.exit_code = 0;
    why.text[0] = '\0';
}

static void test_sizes(void)
{
    static const struct { const char *text; int result; uint64_t bytes; } cases[] = {
        { "0", 0, 0 }, { "17", 0, 17 }, { "64K", 0, 65536 }, { "3M", 0, 3145728 }, { "4G", 0, UINT64_C(4294967296) },
        { "1T", 0, UINT64_C(1099511627776) }, { "18446744073709551615", 0, UINT64_MAX },
        { "18446744073709551616", -1, 0 }, { "16777216T", -1, 0 }, { "16777215T", 0, UINT64_C(16777215) << 40 },
        { "", -1, 0 }, { "G", -1, 0 },
        { "4GB", 0, UINT64_C(4294967296) }, { "-1", -1, 0 }, { "+1", -1, 0 }, { " 1", -1, 0 },
        { "1 ", -1, 0 }, { "4g", 0, UINT64_C(4294967296) }, { "4GiB", 0, UINT64_C(4294967296) },
        { "4gib", 0, UINT64_C(4294967296) }, { "17B", 0, 17 }, { "17iB", -1, 0 }, { "4GBs", -1, 0 }, { "4BG", -1, 0 },
        { "1.5G", -1, 0 }, { "0x10", -1, 0 },
    };
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; index++) {
        uint64_t bytes = 0;
        int result = cli_read_size(cases[index].text, &bytes);
        CHECK_MSG(result == cases[index].result && bytes == cases[index].bytes, "size '%s'", cases[index].text);
    }
    uint64_t number = 5;
    CHECK_INT(cli_read_number("12K", &number), ==, -1);
    CHECK_U64(number, ==, 5);
}

static void test_lists(void)
{
    cli_value value = { 0, 0, NULL, NULL, 0 };
    cli holder;
    forget();
    CHECK_INT(cli_split_list("policy", "config", "raw,segments:growth=step,step=4M,config:limit=80%,x", &value, &why),
              ==, 0);
    CHECK_U64(value.item_count, ==, 4);
    if (value.item_count == 4) {
        CHECK_STR(value.items[0], "raw");
        CHECK_STR(value.items[1], "segments:growth=step,step=4M");
        CHECK_STR(value.items[2], "config:limit=80%");
        CHECK_STR(value.items[3], "x");
    }
    CHECK_INT(cli_split_list("policy", "config", "a:b=c:d,e=f:g", &value, &why), ==, 0);
    CHECK_MSG(value.item_count == 5, "a later list adds to the earlier; ':' after '=' is part of a value");
    static const char *const bad[] = { "", ",", "raw,", ",raw", "raw,,segments", "step=4M", "raw,step=4M" };
    for (size_t index = 0; index < sizeof bad / sizeof bad[0]; index++) {
        forget();
        CHECK_MSG(cli_split_list("policy", "config", bad[index], &value, &why) == -1 && why.exit_code == EXIT_USAGE,
                  "list '%s' is refused: %s", bad[index], why.text);
    }
    memset(&holder, 0, sizeof holder);
    holder.values[CLI_POLICY] = value;
    cli_free(&holder);
}

/* Items that a list comes to, joined by blanks. */
static void check_axes(const char *text, const char *expected)
{
    cli holder;
    char joined[1024] = "";
    forget();
    memset(&holder, 0, sizeof holder);
    cli_value *value = &holder.values[CLI_WORKLOAD];
    CHECK_INT(cli_split_list("workload", NULL, text, value, &why), ==, 0);
    for (size_t at = 0; at < value->item_count; at++) {
        size_t used = strlen(joined);
        snprintf(joined + used, sizeof joined - used, "%s%s", at ? " " : "", value->items[at]);
    }
    CHECK_STR(joined, expected);
    cli_free(&holder);
}

static void test_axes(void)
{
    cli holder;
    memset(&holder, 0, sizeof holder);
    check_axes("train:batch=1,2,4", "train:batch=1 train:batch=2 train:batch=4");
    check_axes("train:batch=1,2,seq=5-9,7,k=x,serve", "train:batch=1,seq=5-9,k=x train:batch=1,seq=7,k=x "
               "train:batch=2,seq=5-9,k=x train:batch=2,seq=7,k=x serve");
    check_axes("segments:step=0,64M,paged:limit=4G,80%", "segments:step=0 segments:step=64M paged:limit=4G "
               "paged:limit=80%");
    check_axes("a+b:n=5,6", "a+b:n=5 a+b:n=6");
    check_axes("a:n=5,6+b:m=7", "a:n=5 6+b:m=7");            /* two items, and the second has no name that there is */
    check_axes("replay:x,1.trace", "replay:x 1.trace");
    forget();
    CHECK_MSG(cli_split_list("workload", NULL, "a:b=1,2,3,4,5,6,7,8,9,0,c=1,2,3,4,5,6,7,8,9,0,d=1,2,3,4,5,6,7,8,9,0,"
                             "e=1,2,3,4,5,6,7,8,9,0,f=1,2", &holder.values[CLI_WORKLOAD], &why) == -1
              && why.exit_code == EXIT_USAGE, "no more than 10,000 items: %s", why.text);
    cli_free(&holder);
}

static void test_nearest(void)
{
    nearest search = nearest_to("segmnets");
    char hint[80];
    nearest_offer(&search, "raw");
    nearest_offer(&search, "segments");
    nearest_offer(&search, NULL);
    CHECK_STR(nearest_hint(&search, hint, sizeof hint), ", did you mean 'segments'?");
    search = nearest_to("zebra");
    nearest_offer(&search, "segments");
    CHECK_STR(nearest_hint(&search, hint, sizeof hint), "");
    search = nearest_to("a name of far more than forty characters, which none is near to");
    nearest_offer(&search, "raw");
    CHECK(search.name == NULL);
}

static void test_table(void)
{
    for (size_t index = 0; cli_option_at(index); index++) {
        const cli_option *option = cli_option_at(index);
        CHECK_MSG(option->name && option->summary && (option->kind == CLI_FLAG) == !option->argument
                  && (index || option->group), "row %zu of the option table is whole", index);
        for (size_t other = 0; other < index; other++) {
            const cli_option *before = cli_option_at(other);
            if (!strcmp(before->name, option->name) || (option->letter && before->letter == option->letter)) {
                CHECK_MSG(0, "--%s appears twice", option->name);
            }
        }
    }
    CHECK(cli_option_at(CLI_COUNT) == NULL);
}

static int parse(cli *asked, char *const *words)
{
    int count = 0;
    while (words[count]) count++;
    forget();
    return cli_parse(asked, count, words, &why);
}

static void test_parse(void)
{
    static char program[] = "stress", run[] = "run", short_w[] = "-wtrain", dash_p[] = "-p", raw[] = "raw";
    static char qv[] = "-qv";
    static char seed[] = "--seed=7", ops[] = "--ops", twelve[] = "12", stop[] = "--", odd[] = "--seed", zero[] = "0";
    char *const words[] = { program, run, short_w, dash_p, raw, qv, seed, ops, twelve, stop, odd, NULL };
    cli asked;
    CHECK_INT(parse(&asked, words), ==, 0);
    CHECK_STR(asked.command, "run");
    CHECK_STR(asked.topic, "--seed");
    CHECK_U64(asked.values[CLI_WORKLOAD].item_count, ==, 1);
    CHECK_U64(asked.values[CLI_SEED].number, ==, 7);
    CHECK_U64(asked.values[CLI_OPS].number, ==, 12);
    CHECK_INT(asked.values[CLI_QUIET].given + asked.values[CLI_VERBOSE].given, ==, 2);
    CHECK_STR(asked.values[CLI_VERIFY].text, "full");
    CHECK_INT(asked.values[CLI_VERIFY].given, ==, 0);
    CHECK_U64(asked.values[CLI_OP_NS].number, ==, 2000);
    cli_free(&asked);
    char *const ops_zero[] = { program, run, ops, zero, NULL };
    char *const ops_alone[] = { program, run, ops, NULL };
    CHECK_INT(parse(&asked, ops_zero), ==, -1);
    cli_free(&asked);
    CHECK_INT(parse(&asked, ops_alone), ==, -1);
    CHECK_INT(why.exit_code, ==, EXIT_USAGE);
    cli_free(&asked);
}

int main(void)
{
    test_sizes();
    test_lists();
    test_axes();
    test_nearest();
    test_table();
    test_parse();
    return tap_done();
}
