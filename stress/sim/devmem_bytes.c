/* Real bytes of a device's memory: walks over the granules behind a range.
   Must not know who may touch what: callers have asked devmem_holds.
   Tested by tests/test_sim_bytes.c. */
#include "devmem.h"

int devmem_write(devmem *memory, uint64_t offset, uint64_t bytes, const void *source)
{
    const unsigned char *next = source;
    uint64_t end = offset + bytes;
    while (offset < end) {
        devmem_part part = devmem_first_part(memory, offset, end);
        if (granules_write(&memory->granules, part.granule, part.from, part.to, next)) {
            return -1;
        }
        next += part.to - part.from;
        offset += part.to - part.from;
    }
    return 0;
}

void devmem_read(const devmem *memory, uint64_t offset, uint64_t bytes, void *target)
{
    unsigned char *next = target;
    uint64_t end = offset + bytes;
    while (offset < end) {
        devmem_part part = devmem_first_part(memory, offset, end);
        granules_read(&memory->granules, part.granule, part.from, part.to, next);
        next += part.to - part.from;
        offset += part.to - part.from;
    }
}

int devmem_set(devmem *memory, uint64_t offset, uint64_t bytes, unsigned char value)
{
    uint64_t end = offset + bytes;
    while (offset < end) {
        devmem_part part = devmem_first_part(memory, offset, end);
        if (granules_set(&memory->granules, part.granule, part.from, part.to, value)) {
            return -1;
        }
        offset += part.to - part.from;
    }
    return 0;
}

int devmem_copy(devmem *to, uint64_t to_offset, const devmem *from, uint64_t from_offset, uint64_t bytes)
{
    unsigned char buffer[16384];
    uint64_t end = from_offset + bytes;
    while (from_offset < end) {
        devmem_part part = devmem_first_part(from, from_offset, end);
        uint64_t count = part.to - part.from;
        unsigned char value;
        int failed;
        if (granules_even(&from->granules, part.granule, &value)) {     /* nothing to look at, however much it is */
            failed = devmem_set(to, to_offset, count, value);
        } else {
            count = count < sizeof buffer ? count : sizeof buffer;
            devmem_read(from, from_offset, count, buffer);
            failed = devmem_write(to, to_offset, count, buffer);
        }
        if (failed) {
            return -1;
        }
        from_offset += count;
        to_offset += count;
    }
    return 0;
}
