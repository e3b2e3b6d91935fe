/* `cnn`: the layers of ResNet-50, version 1.5, as torchvision has them.
   Must not know of batches and steps.
   Tested by tests/test_workload_cnn.c. */
#include "cnn.h"

/* He et al., "Deep Residual Learning for Image Recognition" (2015), table 1: stages of 3, 4, 6 and 3 blocks, each of
   1 x 1, 3 x 3 and 1 x 1 convolutions, the last four times as wide; the first block of a stage has a convolution in
   its shortcut. Version 1.5 halves the image in the 3 x 3 one. */
enum { CNN_STAGES = 4, CNN_WIDENING = 4 };

static uint32_t cnn_add(cnn_net *net, uint32_t at, uint32_t in, uint32_t out, uint32_t kernel, uint32_t stride)
{
    const cnn_unit made = { in, out, kernel, stride };
    net->units[at] = made;
    return at + 1;
}

void cnn_build(cnn_net *net)
{
    static const uint32_t depths[CNN_STAGES] = { 3, 4, 6, 3 };
    uint32_t in = 64, block = 0, unit = cnn_add(net, 0, 3, 64, 7, 2);
    for (uint32_t stage = 0; stage < CNN_STAGES; stage++) {
        uint32_t width = (uint32_t)64 << stage, out = width * CNN_WIDENING;
        for (uint32_t depth = 0; depth < depths[stage]; depth++, block++) {
            uint32_t stride = stage > 0 && depth == 0 ? 2 : 1;
            net->blocks[block].first = unit;
            net->blocks[block].has_shortcut = depth == 0;
            unit = cnn_add(net, unit, in, width, 1, 1);
            unit = cnn_add(net, unit, width, width, 3, stride);
            unit = cnn_add(net, unit, width, out, 1, 1);
            if (depth == 0) unit = cnn_add(net, unit, in, out, 1, stride);
            in = out;
        }
    }
}
