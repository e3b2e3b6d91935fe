/* The claims: from five texts about TensorFlow's GPU memory (S0 to S4, by paragraph, Ex: example, R: references) and
   from what users ask in public issue trackers (U). It must not know how a scenario measures.
   Tested by tests/needs.t. */
#include "claims.h"

#include <stdio.h>
#include <string.h>

static const claim claims[] = {
    { "S0.1", "~", "why is memory not used? fragmentation, growth, eager execution", "sums", NULL },
    { "S0.2", "T", "small allocations and frees scatter free space; out of memory with bytes free", "predict", NULL },
    { "S0.3", "F", "growth is a switch; without it only a small portion is used", "first-touch", NULL },
    { "S0.3", "T", "out of memory despite substantial free memory", "reasons", NULL },
    { "S0.4", "~", "eager execution keeps intermediates longer; a plan of lifetimes needs less", "bound", NULL },
    { "S1.1", "F", "growing gradually is the default, good for sharing and bad for speed", "overshoot", NULL },
    { "S1.3", "F", "memory_growth=True takes all", "first-touch", NULL },
    { "S1.Ex2", "F", "a limit per GPU in MB, with a comment that says 75 %", "limit", NULL },
    { "S2.1", "T", "what is reported lags behind, or leaves out, what is used", "sums", NULL },
    { "S2.3", "T", "idle or buffered bytes are not in `used`: caches, prefetch", "sums", NULL },
    { "S2.3", "~", "the system's tools see as used what TensorFlow has reserved", "other", NULL },
    { "S2.4", "T", "fragmentation is not seen in `free`, only when a request fails", "predict", NULL },
    { "S2.4", "T", "what the CUDA runtime needs is reported by nobody", "other", NULL },
    { "S2.Ex1", "F", "a 4 GiB tensor is deleted: memory drops within seconds", "trim", NULL },
    { "S3.3", "T", "growth comes in large steps, and can overshoot", "overshoot", NULL },
    { "S3.3", "T", "growth is not limitless", "limit", NULL },
    { "S3.4", "~", "kernels that are loaded look like memory that the program allocates", "other", NULL },
    { "S3.Ex3", "T", "del does not lower what nvidia-smi shows; the memory is used again", "again", NULL },
    { "S4.4", "T", "minimise intermediates, reuse memory", "bound", NULL },
    { "U1", "ask", "out of memory with 4.80 GB of an 8.85 GB limit in use: why?", "reasons", NULL },
    { "U4", "ask", "growth takes all anyway", "overshoot", NULL },
    { "U5", "ask", "a limit together with growth", "limit", NULL },
    { "U6", "ask", "a limit of 512 MB, 1,869 MiB in nvidia-smi", "other", NULL },
    { "U7", "ask", "a fraction of 10 % is passed by context, cuDNN and cuBLAS", "other", NULL },
    { "U8", "ask", "where did my 1 to 2 GB go?", "other", NULL },
    { "U9", "ask", "nothing is released until the process ends", "trim", NULL },
    { "U10", "ask", "plugins and servers need memory released inside the process", "trim", NULL },
    { "U17", "ask", "give memory back without exiting", "trim", NULL },
    { "U19", "ask", "out of memory at a request of 6 MB", "reasons", NULL },
    { "U22", "ask", "a cap that is not respected, or does not cover cuDNN", "limit", NULL },
    { "U23", "ask", "a shrink that has no effect, or blocks a run", "trim", NULL },
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
