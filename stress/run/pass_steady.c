/* Labels compared up to the number at their end.
   It must not know what a step does.
   Tested by tests/test_pass_steady.c. */
#include "pass_steady.h"

#include <ctype.h>
#include <string.h>

static size_t steady_length(const char *label)
{
    size_t length = strlen(label);
    while (length && isdigit((unsigned char)label[length - 1])) length--;
    return length;
}

static int steady_is_alike(const char *one, const char *other)
{
    size_t length = steady_length(one);
    return length == steady_length(other) && !memcmp(one, other, length);
}

int pass_steady_label(pass_steady *self, const char *label)
{
    if (self->steps) {
        self->steps += self->repeated && steady_is_alike(self->repeated, label);
        return 0;
    }
    for (size_t at = 0; at < self->kind_count; at++) {
        if (!steady_is_alike(self->kinds[at], label)) continue;
        self->repeated = self->kinds[at];
        return ++self->steps == 1;
    }
    if (self->kind_count < PASS_STEADY_KINDS) self->kinds[self->kind_count++] = label;
    return 0;
}

int pass_steady_round(pass_steady *self)
{
    return !self->repeated && ++self->steps == 1;
}
