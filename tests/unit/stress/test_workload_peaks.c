/* Tests of the peaks that `stress list` tells: of every family, the very figure at its defaults.
   Knows families by name alone. */
#include "workload_text.h"

int main(void)
{
    const workload_family *family;
    for (size_t i = 0; (family = workload_family_at(i)) != NULL; i++) {
        op_stream stream;
        CHECK_MSG((family->peak != NULL) == (strcmp(family->name, "replay") != 0), "%s tells its peak", family->name);
        if (!family->peak) continue;
        make_surely(family->name, &stream);
        CHECK_MSG(stream.requested_peak_bytes == family->peak_bytes, "and of %s it is %" PRIu64, family->name,
                  stream.requested_peak_bytes);
        CHECK(family->peak[0] != '\0' && strlen(family->peak) < 118);
        op_stream_free(&stream);
    }
    return tap_done();
}
