/* Measured costs: made-up rows, with noise, a driver that keeps memory given back to it, and comments of a file.
   Output of `stress costs`, of random tables, too: tests/cli/cases/search.case. */
#include <stdlib.h>

#include "stress/measure/costs.h"
#include "stress/device/device.h"
#include "stress/base/sets.h"
#include "tap.h"

#define MIB ((uint64_t)1 << 20)

static problem why;

/* Measured memory goes back, and the device's judge finds nothing. */
static void test_clean(void)
{
    device_config config;
    device_counters counters;
    costs_table table;
    memset(&config, 0, sizeof config);
    device *opened = device_open(&config, &why);
    if (!CHECK(opened != NULL)) return;
    CHECK_INT(costs_measure(device_driver(opened), &table, &why), ==, 0);
    device_count(opened, &counters);
    CHECK_U64(counters.held_bytes + sim_finding_count(device_simulated(opened)), ==, 0);
    device_close(opened, NULL);
}

static void written(const costs_table *table, const char *about, char *text, size_t size)
{
    FILE *out = tmpfile();
    text[0] = '\0';
    if (!CHECK(out != NULL)) return;
    costs_write(out, table, about);
    rewind(out);
    text[fread(text, 1, size - 1, out)] = '\0';
    fclose(out);
}

/* Comments are broken between words, and at the ends of lines; a word that is longer than a line wherever it must. */
static void test_comments(void)
{
    static const costs_table empty;
    static char text[16384], about[512], word[301];
    size_t filled = 0;
    int words = 0, odd = 0, number;
    for (int index = 0; index < 40; index++) {
        filled += (size_t)snprintf(about + filled, sizeof about - filled, "%sword%d", index ? " " : "", index);
    }
    written(&empty, about, text, sizeof text);
    for (char *found = strtok(text, " \n"); found; found = strtok(NULL, " \n")) {
        if (sscanf(found, "word%d", &number) == 1) odd += number != words++;
        else if (strcmp(found, "#")) break;
    }
    CHECK_INT(odd, ==, 0);
    CHECK_INT(words, ==, 40);
    memset(word, 'w', sizeof word - 1);
    snprintf(about, sizeof about, "first\nsecond %s", word);
    written(&empty, about, text, sizeof text);
    CHECK(!strncmp(text, "# first\n# second\n# www", 22));
    for (char *line = text; *line; line += strcspn(line, "\n") + 1) odd += strcspn(line, "\n") > 118;
    CHECK_INT(odd, ==, 0);
}

static void add_row(costs_table *table, sim_cost_kind kind, uint64_t mib, uint64_t median_ns)
{
    const costs_row row = { kind, mib * MIB, COSTS_REPEATS, median_ns, median_ns, median_ns };
    table->rows[table->count++] = row;
}

/* 100 us and 1 us a MiB, one size far off and noise on the others. */
static void test_noise(void)
{
    costs_table table;
    uint64_t random = 3;
    table.count = 0;
    for (uint64_t mib = 2; mib <= 16384; mib *= 2) {
        uint64_t median_ns = 100000 + 1000 * mib;
        if (mib == 256) median_ns *= 10;
        else median_ns += median_ns / 100 * (splitmix64_next(&random) % 5) - median_ns / 50;
        add_row(&table, SIM_COST_FREE_BLOCK, mib, median_ns);
    }
    costs_fit fit = costs_fit_kind(&table, SIM_COST_FREE_BLOCK);
    CHECK_U64(fit.row_count, ==, 14);
    CHECK_MSG(fit.cost.per_mib_ns >= 950 && fit.cost.per_mib_ns <= 1050, "per MiB %" PRIu64, fit.cost.per_mib_ns);
    CHECK_MSG(fit.cost.fixed_ns >= 90000 && fit.cost.fixed_ns <= 110000, "fixed %" PRIu64, fit.cost.fixed_ns);
    CHECK_MSG(fit.worst > 0.8 && fit.worst_bytes == 256 * MIB, "the odd size is the worst: %.2f", fit.worst);
    CHECK_U64(costs_fit_kind(&table, SIM_COST_INFO).row_count, ==, 0);
}

/* Many small sizes on a steep line, few large ones on a flat one: distances count, not how many there are. */
static void test_weights(void)
{
    costs_table table;
    table.count = 0;
    for (uint64_t mib = 2; mib <= 16384; mib *= 2) {
        uint64_t steep = mib < 2048 ? mib : 2048;
        add_row(&table, SIM_COST_MALLOC_BLOCK, mib, 100000 + 5000 * steep + 1000 * (mib - steep));
    }
    uint64_t per_mib_ns = costs_fit_kind(&table, SIM_COST_MALLOC_BLOCK).cost.per_mib_ns;
    CHECK_MSG(per_mib_ns >= 1000 && per_mib_ns < 2000, "per MiB %" PRIu64, per_mib_ns);
    table.count = 0;
    add_row(&table, SIM_COST_MALLOC_BLOCK, 2, 1000);
    add_row(&table, SIM_COST_MALLOC_BLOCK, 4, 1003);
    CHECK_MSG(costs_fit_kind(&table, SIM_COST_MALLOC_BLOCK).cost.per_mib_ns == 2, "1.5 ns a MiB is rounded");
    table.count = 0;
    for (uint64_t at = 0; at < 3; at++) add_row(&table, SIM_COST_MALLOC_BLOCK, (uint64_t)2 << at, 300 - 100 * at);
    const sim_cost falling = costs_fit_kind(&table, SIM_COST_MALLOC_BLOCK).cost;
    CHECK_MSG(falling.per_mib_ns == 0 && falling.fixed_ns == 200, "costs that fall have no negative part per MiB");
}

/* A driver that keeps memory given back to it: its frees free no block. */
static uint64_t hoarded_bytes;

static int hoard_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)self; (void)kind;
    *total_bytes = (uint64_t)1 << 40;
    *free_bytes = *total_bytes - hoarded_bytes;
    return 0;
}

static int hoard_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                        gpuarena_stream stream)
{
    (void)self; (void)kind; (void)stream;
    hoarded_bytes += bytes;
    *ptr = &hoarded_bytes;
    return 0;
}

static int hoard_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                           gpuarena_stream stream)
{
    (void)self; (void)kind; (void)ptr; (void)bytes; (void)stream;
    return 0;
}

static void test_hoarder(void)
{
    costs_table table;
    gpuarena_driver hoarder;
    memset(&hoarder, 0, sizeof hoarder);
    hoarder.memory.info = hoard_info;
    hoarder.memory.obtain = hoard_obtain;
    hoarder.memory.give_back = hoard_give_back;
    why.exit_code = 0;
    why.text[0] = '\0';
    CHECK_MSG(costs_measure(&hoarder, &table, &why) == -1 && why.exit_code == EXIT_HARNESS, "no free_block: %s",
              why.text);
    CHECK_U64(costs_fit_kind(&table, SIM_COST_FREE_BLOCK).row_count, ==, 0);
}

int main(void)
{
    test_clean();
    test_noise();
    test_weights();
    test_hoarder();
    test_comments();
    return tap_done();
}
