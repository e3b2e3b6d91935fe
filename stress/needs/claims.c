/* The claims: from five texts about TensorFlow's GPU memory (S0 to S4, by paragraph, Ex: example, R: references) and
   from what users ask in public issue trackers (U). It must not know how a scenario measures.
   Tested by tests/scenario/needs.t. */
#include "claims.h"

#include <stdio.h>
#include <string.h>

static const claim claims[] = {
    { "S0.1", "~", "why is memory not used? fragmentation, growth, eager execution", "sums", NULL },
    { "S0.1", "T", "the cause is the interplay of runtime, driver and model, not one switch", "report", NULL },
    { "S0.2", "T", "small allocations and frees scatter free space; out of memory with bytes free", "predict", NULL },
    { "S0.2", "T", "large data and complex models churn more", "bound", NULL },
    { "S0.3", "F", "growth is a switch; without it only a small portion is used", "first-touch", NULL },
    { "S0.3", "T", "out of memory despite substantial free memory: permission to expand", "reasons", NULL },
    { "S0.4", "~", "eager execution keeps intermediates longer; graph mode plans", "lifetimes", NULL },
    { "S0.Ex1", "T", "growth is set before first use, for all GPUs; later is an error", "late-change", NULL },
    { "S0.Ex1", "T", "physical and logical GPUs: how many, which", "devices", NULL },
    { "S0.Ex1", "T", "physical and logical GPUs: how many, which", "tenants", NULL },
    { "S0.Ex2", "~", "a monitor: nvidia-smi's memory.used beside the program's own figures", "report", NULL },
    { "S0.Ex3", "T", "tf.function on 1000 x 1000 float32: 4,000,000 B", "captured", NULL },
    { "S0.R", "T", "profilers, pooling, strategies of one's own", "events", NULL },
    { "S0.R", "T", "profilers, pooling, strategies of one's own", "tags", NULL },
    { "S1.1", "F", "growing gradually is the default, good for sharing and bad for speed", "overshoot", NULL },
    { "S1.1", "F", "growing gradually is the default, good for sharing and bad for speed", NULL,
      "driver_vns of stress run, and the README on what growth costs: a price in time is no verdict" },
    { "S1.1", "T", "a sole user, several GPUs and competing processes need different strategies", "manners", NULL },
    { "S1.2", "need", "force it to grab all", "marks", NULL },
    { "S1.3", "F", "memory_growth=True takes all", "first-touch", NULL },
    { "S1.3", "T", "other processes, or several instances, on one GPU", "headroom", NULL },
    { "S1.3", "T", "other processes, or several instances, on one GPU", "shares", NULL },
    { "S1.Ex1", "T", "a tiny Keras model: 1000 x 100 float64, 5 epochs", "tiny", NULL },
    { "S1.Ex2", "F", "a limit per GPU in MB, with a comment that says 75 %", "limit", NULL },
    { "S1.Ex2", "need", "a limit of more than exists, or too small for the problem", "wrong-values", NULL },
    { "S1.Ex2", "T", "a limit for each GPU, and only GPU 0 to be used", "devices", NULL },
    { "S1.Ex3", "T", "CUDA_VISIBLE_DEVICES, allow_growth, a fraction of 0.75", "environment", NULL },
    { "S1.C", "need", "static or dynamic allocation", "modes", NULL },
    { "S2.1", "T", "what is reported lags behind, or leaves out, what is used", "sums", NULL },
    { "S2.2", "T", "compiling graphs saves memory and complicates accounting", "captured", NULL },
    { "S2.2", "T", "pinned memory and asynchronous operations blur figures", "overlap", NULL },
    { "S2.2", "T", "pinned memory and asynchronous operations blur figures", "pinned", NULL },
    { "S2.3", "T", "idle or buffered bytes are not in `used`: caches, prefetch", "overlap", NULL },
    { "S2.3", "T", "idle or buffered bytes are not in `used`: caches, prefetch", "sums", NULL },
    { "S2.3", "~", "the system's tools see as used what TensorFlow has reserved", "other", NULL },
    { "S2.4", "T", "fragmentation is not seen in `free`, only when a request fails", "predict", NULL },
    { "S2.4", "T", "what the CUDA runtime needs is reported by nobody", "other", NULL },
    { "S2.Ex1", "F", "a 4 GiB tensor is deleted: memory drops within seconds", "trim", NULL },
    { "S2.Ex2", "F", "growth mitigates fragmentation", "walls", NULL },
    { "S2.Ex3", "T", "nvidia-smi bypasses the framework's accounting", "report", NULL },
    { "S2.R", "need", "virtual memory: how driver and system play together", "addresses", NULL },
    { "S3.1", "T", "with growth off nearly all is taken, to avoid fragmentation", "modes", NULL },
    { "S3.1", "T", "the cause is the interplay of runtime, driver and model, not one switch", "report", NULL },
    { "S3.3", "T", "growth comes in large steps, not for each tensor, and can overshoot", "overshoot", NULL },
    { "S3.3", "T", "growth is not limitless", "limit", NULL },
    { "S3.3", "T", "growth is not limitless", "threads", NULL },
    { "S3.4", "~", "kernels that are loaded look like memory that the program allocates", "other", NULL },
    { "S3.5", "T", "the steps of growth are opaque", "steps", NULL },
    { "S3.5", "T", "an embedding is small at first, and jumps at first use", "jump", NULL },
    { "S3.6", "T", "memory is held though no tensor uses it", "retention", NULL },
    { "S3.Ex1", "T", "the baseline: 100 x 100 float32 alone", "sizes", NULL },
    { "S3.Ex1", "T", "only the first GPU is to be seen", "devices", NULL },
    { "S3.Ex2", "T", "a gradient tape keeps activations and gradients", "scope", NULL },
    { "S3.Ex3", "T", "del does not lower what nvidia-smi shows; the memory is used again", "again", NULL },
    { "S3.end", "T", "profile first: the peak of a step", "peaks", NULL },
    { "S3.end", "T", "find the batch size", NULL,
      "stress batch (tests/cli/batch.t): the largest of a workload of your own, not of a scenario's" },
    { "S3.end", "T", "batch size; float16, int8; avoid copies: resize in place", "sizes", NULL },
    { "S3.end", "T", "batch size; float16, int8; avoid copies: resize in place", "resize", NULL },
    { "S4.1", "F", "nearly full memory comes from eager execution", "reasons", NULL },
    { "S4.2", "~", "eager execution keeps what a graph would plan away", "lifetimes", NULL },
    { "S4.2", "T", "garbage is collected late, and memory runs out meanwhile", "pressure", NULL },
    { "S4.2", "~", "collection is not synchronised with what the GPU has", "late-free", NULL },
    { "S4.2", "~", "collection is not synchronised with what the GPU has", "overlap", NULL },
    { "S4.3", "T", "parameters, activations, caches, float64 make the footprint", "sizes", NULL },
    { "S4.3", "T", "parameters, activations, caches, float64 make the footprint", "tags", NULL },
    { "S4.4", "T", "minimise intermediates, reuse memory", "bound", NULL },
    { "S4.Ex1", "T", "del tape, y, loss releases memory", "lifetimes", NULL },
    { "S4.Ex1", "T", "del tape, y, loss releases memory", "scope", NULL },
    { "S4.Ex1", "T", "del tape, y, loss releases memory", "leaks", NULL },
    { "S4.Ex2", "~", "tf.function reduces the peak", "lifetimes", NULL },
    { "S4.Ex3", "T", "batches: too large runs out, too small is slow", "batches", NULL },
    { "S4.Ex3", "T", "stream the data set, never hold all of it on the GPU", "ring", NULL },
    { "S4.Ex3", "T", "stream the data set, never hold all of it on the GPU", "pinned", NULL },
    { "S4.R", "T", "memory profilers: a map of what lies where", "report", NULL },
    { "S4.R", "T", "memory profilers: a map of what lies where", NULL,
      "--out map, svg and html of any run (tests/cli/pictures.t, tests/cli/html.t): pictures, which are not judged" },
    { "U1", "ask", "out of memory with 4.80 GB of an 8.85 GB limit in use: why?", "reasons", NULL },
    { "U2", "ask", "the model fits with memory taken beforehand, and not with growth", "modes", NULL },
    { "U3", "ask", "scratch requests inflate growth, where less would do", "scratch", NULL },
    { "U4", "ask", "growth takes all anyway", "overshoot", NULL },
    { "U5", "ask", "a limit together with growth", "limit", NULL },
    { "U6", "ask", "a limit of 512 MB, 1,869 MiB in nvidia-smi", "other", NULL },
    { "U7", "ask", "a fraction of 10 % is passed by context, cuDNN and cuBLAS", "other", NULL },
    { "U8", "ask", "where did my 1 to 2 GB go?", "other", NULL },
    { "U9", "ask", "nothing is released until the process ends", "trim", NULL },
    { "U10", "ask", "plugins and servers need memory released inside the process", "trim", NULL },
    { "U11", "ask", "a batch a third smaller after an upgrade", NULL,
      "stress compare, and gates (tests/cli/compare.t, tests/cli/gate.t): a scenario sees one version alone" },
    { "U11", "ask", "passes twice, and fails the third time", "repeat", NULL },
    { "U12", "ask", "no call tells the peak", "peaks", NULL },
    { "U13", "ask", "a limit on pinned memory is taken for one of the GPU", "pinned", NULL },
    { "U14", "ask", "listing devices, or start-up, grabs all", "grabbed", NULL },
    { "U15", "ask", "growing instead of taking all beforehand fragments", "walls", NULL },
    { "U16", "ask", "fractions of what is free race between processes", "shares", NULL },
    { "U17", "ask", "give memory back without exiting", "trim", NULL },
    { "U18", "ask", "memory should be defragmented", "walls", NULL },
    { "U19", "ask", "out of memory at a request of 6 MB", "reasons", NULL },
    { "U20", "ask", "a setting is ignored in one release", "environment", NULL },
    { "U21", "ask", "a fraction of 100 was given", "wrong-values", NULL },
    { "U22", "ask", "a cap that is not respected, or does not cover cuDNN", "limit", NULL },
    { "U23", "ask", "shrink while the session lives; a shrink that has no effect", "retention", NULL },
    { "U23", "ask", "shrink while the session lives; a shrink that has no effect", "trim", NULL },
    { "U24", "ask", "growth by exact sizes keeps rising with new shapes", "shapes", NULL },
    { "U25", "ask", "catch out of memory, and go on", "batches", NULL },
    { "U26", "ask", "cudaMallocAsync loses more than 20 GB: its pool fragments, too", "async", NULL },
};

const claim *claim_at(size_t index)
{
    return index < sizeof claims / sizeof claims[0] ? &claims[index] : NULL;
}

const char *claim_ids(const char *scenario, char *text, size_t size)
{
    size_t used = 0;
    const char *last = "";
    if (size) text[0] = '\0';
    for (size_t index = 0; claim_at(index); index++) {
        const claim *each = claim_at(index);
        if (!each->scenario || strcmp(each->scenario, scenario) || !strcmp(each->id, last) || used >= size) continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "", each->id);
        last = each->id;
    }
    return text;
}
