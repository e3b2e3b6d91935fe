/* Fuzz target: first line --device, rest --faults, of a simulated device that is opened and closed; all:
   GPUARENA_SIM.
   It must not run a workload.
   Run: make fuzz FUZZ=device; its corpus: build/tests/fuzz_device */
#include "stress/run/plan.h"
#include "stress/cudart/options.c"     /* part of the substitute alone, which needs the toolkit */
#include "fuzz.h"

static void fuzz_options(const char *text)
{
    options made;
    problem why = { 0, "" };
    if (strstr(text, "costs=")) return;
    int failed = options_read(text, &made, &why);
    if (failed) fuzz_expect(why.exit_code == EXIT_USAGE && why.text[0], "refused with a problem");
    else fuzz_expect(made.machine.capacity_bytes > 0 && made.machine.device_count <= SIM_MAX_DEVICES,
                     "a machine that can be");
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), name[128] = "sim:";
    fuzz_options(text);
    size_t line = strcspn(text, "\n");
    snprintf(name + 4, sizeof name - 4, "%.*s", (int)(line < 100 ? line : 100), text);
    char words[3][16] = { "stress", "run", "--device" }, flag[] = "--faults";
    char *argv[6] = { words[0], words[1], words[2], name, flag, text + line + (text[line] != '\0') };
    cli asked;
    plan made;
    problem why = { 0, "" };
    memset(&made, 0, sizeof made);
    if (!cli_parse(&asked, argv[5][0] ? 6 : 4, argv, &why) && !plan_device(&made, &asked, &why)) {
        fuzz_expect(!why.exit_code && made.settings.device.sim.capacity_bytes, "a device has memory");
    } else {
        fuzz_expect(why.exit_code && why.text[0], "refused with a problem");
    }
    cli_free(&asked);
    free(text);
}

FUZZ_TARGET(device)
