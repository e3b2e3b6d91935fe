/* Fuzz target: the file of --costs.
   It must not open a device.
   Run: make fuzz FUZZ=costs; its corpus: build/tests/fuzz_costs */
#include "stress/sim/costs.h"
#include "fuzz.h"

static void fuzz_one(const uint8_t *data, size_t size)
{
    sim_costs costs = *sim_costs_default(), again = *sim_costs_default();
    problem why = { 0, "" };
    if (sim_costs_read(fuzz_file(data, size), &costs, &why)) {
        fuzz_expect(why.text[0] && !memcmp(&costs, &again, sizeof costs),
                    "a refusal has a problem and changes nothing");
        return;
    }
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    fuzz_expect(out && !sim_costs_write(&costs, out) && !fclose(out), "host memory");
    fuzz_expect(!sim_costs_read(fuzz_file((const uint8_t *)text, length), &again, &why)
                && !memcmp(&costs, &again, sizeof costs), "what is written reads back to the same");
    free(text);
}

FUZZ_TARGET(costs)
