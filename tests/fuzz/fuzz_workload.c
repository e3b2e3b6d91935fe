/* Fuzz target: one item of -w, and the first operations that it makes. Recordings are fuzz_trace's.
   It must not run them.
   Run: make fuzz FUZZ=workload; its corpus: build/tests/fuzz_workload */
#include "stress/workload/workload.h"
#include "fuzz.h"

static void fuzz_one(const uint8_t *data, size_t size)
{
    workload_options cut = { .ops_given = 1, .ops = 100 };
    char *text = fuzz_text(data, size);
    for (cut.threads = 0; cut.threads <= 3 && !strstr(text, "replay"); cut.threads += 3) {
        op_stream stream;
        problem why = { 0, "" };
        workload_key key;
        cut.threads_given = cut.threads != 0;
        if (mix_make(text, &cut, &stream, &why)) fuzz_expect(why.exit_code && why.text[0], "refused with a problem");
        else fuzz_expect(stream.alloc_count + stream.free_count <= cut.ops, "no more operations than asked for");
        op_stream_free(&stream);
        problem unvaried = { 0, "" };
        (void)workload_vary(text, NULL, &key, &unvaried);
    }
    free(text);
}

FUZZ_TARGET(workload)
