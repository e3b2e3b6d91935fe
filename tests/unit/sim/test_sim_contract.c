/* The contract of a CUDA device, asked of the simulated one by its own functions.
   It must not know what the cases say: tests/contract. */
#include "contract.h"

int main(void)
{
    static const char *const files[] = { "memory", "virtual", "streams", "captures", "pools" };
    static const face simulator = { "sim", 0, NULL, sim_driver, NULL, NULL, NULL };
    for (size_t i = 0; i < COUNT(files); i++) contract_file(&simulator, 1, files[i]);
    contract_prohibitions(&simulator);
    return tap_done();
}
