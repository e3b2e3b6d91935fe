/* For tests of gpuarena_check: one field is put wrong, which the check must name, and right again.
   It must not know any field. */
#ifndef TESTS_VIOLATE_H
#define TESTS_VIOLATE_H

#include "gpuarena.h"
#include "tap.h"

#include <string.h>

/* Puts a value into a field of 4 or 8 bytes, expects the complaint, and puts the old value back. */
static inline void violate(const gpuarena *arena, void *field, size_t size, uint64_t value, const char *complaint)
{
    unsigned char old[8];
    uint32_t narrow = (uint32_t)value;
    char message[200] = "";
    memcpy(old, field, size);
    memcpy(field, size == 4 ? (const void *)&narrow : (const void *)&value, size);
    gpuarena_result result = gpuarena_check(arena, message, sizeof message);
    memcpy(field, old, size);
    CHECK_MSG(result == GPUARENA_CORRUPT && strncmp(message, complaint, strlen(complaint)) == 0, "%s", complaint);
    if (strncmp(message, complaint, strlen(complaint))) printf("# said: %s\n", message);
    if (gpuarena_check(arena, message, sizeof message)) CHECK_MSG(0, "mended, but: %s", message);
}

#define VIOLATE(arena, field, value, complaint) violate(arena, &(field), sizeof(field), (uint64_t)(value), complaint)

#endif
