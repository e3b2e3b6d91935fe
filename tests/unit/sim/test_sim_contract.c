/* The contract of a CUDA device, asked of the simulated one by its own functions.
   It must not know what the cases say: tests/contract. */
#include "contract.h"

/* Each of these is wrong, and must be found to be. */
static void test_what_is_wrong_is_found(const face *asked)
{
    static const char *const wrong[] = {
        "get 2M -> InvalidValue", "get 1G", "get 1G -> InvalidValue", "a = get 2M; free a+1 -> InvalidValue",
        "get 2M ! anything", "a = get 2M; free a+1 -> InvalidValue ! another text", "held 1", "a = get 2M; is a a+1",
        "a = get 2M; differ a a", "frobnicate 1", "get nonsense", "get", "a = get 2M; holds a 3M",
        "a = get 2M; lacks a 1",
        "clock 1s", "took 1", "calls cudaMalloc 1", "calls cudaFrobnicate 1", "a = get 2M; fill a 1 7; has a 1 8",
        "a = get 2M; fill a 1 7; has a 1 7 0", "a = get 2M; empty", "s = stream; capturing s active",
        "mode local relaxed",
        "info m 1 2", "get 2M; device 1; calls cudaMalloc 1",
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        contract self;
        contract_open(&self, asked, "");
        contract_steps(&self, wrong[i]);
        CHECK_MSG(self.why[0], "found: %s", wrong[i]);
        contract_close(&self);
    }
}

int main(void)
{
    static const char *const files[] = { "memory", "virtual", "share", "streams", "captures", "pools" };
    static const face simulator = { "sim", 0, NULL, sim_driver, NULL, NULL, NULL, NULL, NULL, NULL };
    for (size_t i = 0; i < COUNT(files); i++) contract_file(&simulator, 1, files[i]);
    contract_prohibitions(&simulator);
    test_what_is_wrong_is_found(&simulator);
    return tap_done();
}
