/* Recording: a program's calls of its arena, as a trace that `stress run -w replay:FILE` plays to other policies.
   Introduces gpuarena_observe, by recorder.h, which is for you to copy; gpuarena_alloc_ex with a tag.

     Run: make build/stress build/examples/11_record, then (without a GPU with LD_LIBRARY_PATH=build/sim before it)
   build/examples/11_record mine.trace && build/stress run -w replay:mine.trace -p raw,segments,paged */
#define GPUARENA_IMPLEMENTATION
#include "../gpuarena.h"
#include "example.h"
#include "recorder.h"

#define POOL(call) if (call) return example_failed()

/* Two steps of a program: weights stay, activations of changing size come and go, the last in first. */
static int work(recorder *trace, gpuarena *arena)
{
    enum { LAYERS = 4 };
    void *weights[LAYERS], *activations[LAYERS];
    gpuarena_request request = GPUARENA_INIT;
    uint64_t step, layer;
    request.tag = gpuarena_tag("weights");
    for (layer = 0; layer < LAYERS; layer++) {
        request.bytes = (layer + 1) * MIB;
        POOL(gpuarena_alloc_ex(arena, &weights[layer], &request));
    }
    for (step = 1; step <= 2; step++) {
        recorder_step(trace, "step");
        for (layer = 0; layer < LAYERS; layer++)
            POOL(gpuarena_alloc(arena, &activations[layer], step * 3 * MIB, NULL));
        for (layer = LAYERS; layer-- > 0;) POOL(gpuarena_free(arena, activations[layer], NULL));
    }
    for (layer = 0; layer < LAYERS; layer++) POOL(gpuarena_free(arena, weights[layer], NULL));
    return 0;
}

int main(int count, char **words)
{
    FILE *out = count > 1 ? fopen(words[1], "w") : stdout;
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena;
    static recorder trace;
    config.driver = example_driver();
    config.limit_bytes = 256 * MIB;
    if (!out) return perror(words[1]), 1;
    POOL(gpuarena_create(&config, &arena));
    POOL(recorder_begin(&trace, arena, out, 0));
    if (work(&trace, arena)) return 1;
    if (recorder_end(&trace, arena)) return perror("the trace"), 1;
    POOL(gpuarena_destroy(arena));
    return 0;
}
