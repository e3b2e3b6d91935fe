/* Programs that test_space found to fail, as it printed them, each with what was wrong. */
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

/* Both free blocks that would do have the only idle page inside, until one is quiet. */
static const space_op surrounded[] = {
    { SPACE_ALLOC, 33, 0, UINT64_C(2835200), UINT64_C(0), 0 },
    { SPACE_ALLOC, 37, 0, UINT64_C(18874368), UINT64_C(0), 0 },
    { SPACE_ALLOC, 20, 0, UINT64_C(3145728), UINT64_C(0), 0 },
    { SPACE_ALLOC, 5, 0, UINT64_C(873728), UINT64_C(0), 0 },
    { SPACE_ALLOC, 38, 0, UINT64_C(12153600), UINT64_C(0), 0 },
    { SPACE_ALLOC, 28, 0, UINT64_C(7340032), UINT64_C(0), 0 },
    { SPACE_ALLOC, 44, 0, UINT64_C(11534336), UINT64_C(0), 0 },
    { SPACE_ALLOC, 36, 0, UINT64_C(7604736), UINT64_C(2097152), 0 },
    { SPACE_ALLOC, 55, 0, UINT64_C(3011584), UINT64_C(0), 0 },
    { SPACE_ALLOC, 18, 3, UINT64_C(2097152), UINT64_C(0), 0 },
    { SPACE_ALLOC, 11, 0, UINT64_C(5799936), UINT64_C(0), 0 },
    { SPACE_ALLOC, 1, 0, UINT64_C(2809088), UINT64_C(0), 0 },
    { SPACE_ALLOC, 23, 0, UINT64_C(2097152), UINT64_C(0), 0 },
    { SPACE_LIMIT, 0, 0, UINT64_C(83886080), UINT64_C(0), 0 },
    { SPACE_FREE, 55, 0, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_FREE, 28, 0, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_FREE, 37, 0, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_FREE, 23, 0, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_ALLOC, 7, 0, UINT64_C(23068672), UINT64_C(0), 0 },
    { SPACE_FREE, 18, 5, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_ALLOC, 3, 3, UINT64_C(1812224), UINT64_C(0), 0 },
    { SPACE_ALLOC, 34, 3, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_FREE, 3, 5, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_WORK, 16, 3, UINT64_C(7424), UINT64_C(0), 0 },
    { SPACE_ALLOC, 17, 0, UINT64_C(4194304), UINT64_C(0), 0 }
};

/* An idle segment would do after a wait; given back instead, the headroom keeps a new one from being had. */
static const space_op crowded[] = {
    { SPACE_ALLOC, 2, 0, UINT64_C(9437184), UINT64_C(0), 0 },
    { SPACE_ALLOC, 5, 0, UINT64_C(7926528), UINT64_C(0), 0 },
    { SPACE_ALLOC, 9, 0, UINT64_C(14680064), UINT64_C(0), 0 },
    { SPACE_RIVAL, 0, 0, UINT64_C(465567744), UINT64_C(0), 0 },
    { SPACE_WORK, 6, 0, UINT64_C(35328), UINT64_C(0), 0 },
    { SPACE_ALLOC, 0, 0, UINT64_C(9437184), UINT64_C(0), 0 },
    { SPACE_FREE, 2, 0, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_ALLOC, 11, 4, UINT64_C(11534336), UINT64_C(0), 0 }
};

/* Idle pages, which would have served where they were, went back for release=pressure; the headroom kept new ones
   from being had. */
static const space_op pressed[] = {
    { SPACE_ALLOC, 3, 0, UINT64_C(20971520), UINT64_C(0), 0 },
    { SPACE_ALLOC, 0, 0, UINT64_C(33554432), UINT64_C(0), 0 },
    { SPACE_RIVAL, 0, 0, UINT64_C(433061888), UINT64_C(0), 0 },
    { SPACE_FREE, 0, 0, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_ALLOC, 5, 0, UINT64_C(10366720), UINT64_C(0), 0 },
    { SPACE_FREE, 3, 0, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_ALLOC, 0, 0, UINT64_C(42388480), UINT64_C(0), 0 }
};

/* No more than a block, in pinned memory: the shadow could not hold as many segments as that has. */
static const space_op pinned[] = {
    { SPACE_ALLOC, 2, 0, UINT64_C(1048576), UINT64_C(0), 0 }
};

/* release=pressure makes room below the limit, which gpuarena_can_alloc does not foresee, as it says. */
static const space_op unforeseen[] = {
    { SPACE_ALLOC, 18, 0, UINT64_C(31457280), UINT64_C(0), 0 },
    { SPACE_ALLOC, 25, 0, UINT64_C(11534336), UINT64_C(0), 0 },
    { SPACE_ALLOC, 53, 0, UINT64_C(9437184), UINT64_C(0), 0 },
    { SPACE_ALLOC, 4, 0, UINT64_C(10485760), UINT64_C(0), 0 },
    { SPACE_ALLOC, 9, 0, UINT64_C(8556544), UINT64_C(0), 0 },
    { SPACE_ALLOC, 46, 0, UINT64_C(6237440), UINT64_C(0), 0 },
    { SPACE_ALLOC, 34, 0, UINT64_C(11534336), UINT64_C(0), 0 },
    { SPACE_ALLOC, 61, 0, UINT64_C(9308160), UINT64_C(0), 0 },
    { SPACE_ALLOC, 21, 0, UINT64_C(53477376), UINT64_C(0), 0 },
    { SPACE_ALLOC, 54, 0, UINT64_C(11534336), UINT64_C(0), 0 },
    { SPACE_ALLOC, 63, 0, UINT64_C(15728640), UINT64_C(0), 0 },
    { SPACE_ALLOC, 43, 0, UINT64_C(2120704), UINT64_C(0), 0 },
    { SPACE_ALLOC, 15, 0, UINT64_C(9437184), UINT64_C(0), 0 },
    { SPACE_ALLOC, 30, 0, UINT64_C(9437184), UINT64_C(0), 0 },
    { SPACE_ALLOC, 56, 0, UINT64_C(10485760), UINT64_C(0), 0 },
    { SPACE_FREE, 30, 0, UINT64_C(1), UINT64_C(0), 0 },
    { SPACE_ALLOC, 31, 0, UINT64_C(13631488), UINT64_C(0), 0 }
};

int main(void)
{
    CHECK_STR(space_run(MIB(512), "step_max=2M,streams=same", aligned, COUNT(aligned), 1), "");
    CHECK_STR(space_run(MIB(512), "page=16M,limit=100M", reserved, COUNT(reserved), 1), "");
    CHECK_STR(space_run(MIB(512), "", surrounded, COUNT(surrounded), 1), "");
    CHECK_STR(space_run(MIB(512), "backing=segments,headroom=10M", crowded, COUNT(crowded), 1), "");
    CHECK_STR(space_run(MIB(512), "headroom=50M,release=pressure", pressed, COUNT(pressed), 1), "");
    CHECK_STR(space_run(MIB(512), "backing=pinned,growth=fixed,limit=9G", pinned, COUNT(pinned), 1), "");
    CHECK_STR(space_run(MIB(512), "idle=100%,limit=50%,release=pressure", unforeseen,
                        COUNT(unforeseen), 1), "");
    return tap_done();
}
