/* Tests of the peaks that `stress list` tells: of every family, the very figure at its defaults.
   Knows families by name alone. */
#include "workload_text.h"

int main(void)
{
    const workload_family *each;
    for (size_t i = 0; (each = workload_family_at(i)) != NULL; i++) {
        op_stream stream;
        CHECK_MSG((each->peak != NULL) == (strcmp(each->name, "replay") != 0), "%s tells its peak", each->name);
        if (!each->peak) continue;
        make_surely(each->name, &stream);
        CHECK_MSG(stream.requested_peak_bytes == each->peak_bytes, "and of %s it is %" PRIu64, each->name,
                  stream.requested_peak_bytes);
        CHECK(each->peak[0] != '\0' && strlen(each->peak) < 118);
        op_stream_free(&stream);
    }
    return tap_done();
}
