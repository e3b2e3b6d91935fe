/* The contract of a CUDA device, asked of the simulated one by its own functions; and proof that violations are
   found. It must not know the contents of the cases: tests/contract. */
#include "contract.h"

int main(void)
{
    static const char *const files[] = { "memory", "virtual", "share", "streams", "captures", "prohibitions", "pools",
                                         "wrong" };
    static const face simulator = { "sim", 0, NULL, sim_driver, NULL, NULL, NULL, NULL, NULL, NULL };
    for (size_t i = 0; i < COUNT(files); i++) run_contract(&simulator, files[i]);
    return tap_done();
}
