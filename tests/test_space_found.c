/* Programs that test_space found to fail, as it printed them, each with what was wrong.
   It must not know the implementation.
   Run: make test */
#include "space.h"

/* Idle segments that wait for a stream were given back for a new one, which did not start at the alignment: what had
   done, after a wait, was gone. */
static const space_op aligned[] = {
    { SPACE_ALLOC, 10, 0, UINT64_C(294912), UINT64_C(0), 0 },
    { SPACE_ALLOC, 7, 0, UINT64_C(2621440), UINT64_C(0), 0 },
    { SPACE_ALLOC, 11, 0, UINT64_C(1966080), UINT64_C(0), 0 },
    { SPACE_ALLOC, 1, 0, UINT64_C(11534336), UINT64_C(0), 0 },
    { SPACE_ALLOC, 2, 0, UINT64_C(1834752), UINT64_C(0), 0 },
    { SPACE_FREE, 10, 0, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_ALLOC, 0, 0, UINT64_C(11077120), UINT64_C(0), 0 },
    { SPACE_FREE, 11, 0, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_ALLOC, 11, 0, UINT64_C(14642688), UINT64_C(0), 0 },
    { SPACE_FREE, 0, 1, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_ALLOC, 10, 3, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_LIMIT, 0, 0, UINT64_C(51380224), UINT64_C(0), 0 },
    { SPACE_FREE, 11, 0, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_ALLOC, 11, 0, UINT64_C(2097152), UINT64_C(16777216), 0 }
};

/* The target of gpuarena_reserve was rounded up to whole pages, though a segment is no whole number of them. */
static const space_op reserved[] = {
    { SPACE_ALLOC, 62, 0, UINT64_C(5038848), UINT64_C(0), 2 },
    { SPACE_RESERVE, 0, 0, UINT64_C(84934656), UINT64_C(0), 0 }
};

int main(void)
{
    CHECK_STR(space_run(MIB(512), "step_max=2M,streams=same", aligned, COUNT(aligned), 1), "");
    CHECK_STR(space_run(MIB(512), "page=16M,limit=100M", reserved, COUNT(reserved), 1), "");
    return tap_done();
}
