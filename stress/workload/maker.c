/* Words over the builder: checked arithmetic, draws, and operations that stop at the first failure. */
#include "maker.h"

int maker_end(void *of)
{
    maker *self = of;
    while (self->array_count > 0) free(self->arrays[--self->array_count]);
    return self->builder->failed ? -1 : 0;
}

int maker_is_over(const void *of)
{
    const maker *self = of;
    return stream_is_over(self->builder);
}

void *maker_array(void *of, uint64_t count, size_t item_bytes)
{
    maker *self = of;
    return self->arrays[self->array_count++] = program_need((size_t)count + 1, item_bytes);
}

static uint64_t maker_overflow(void *self)
{
    MAKER_REFUSE(self, "a size or duration passes 2^64 - 1, expected smaller shapes");
    return 0;
}

uint64_t maker_product(void *self, const uint64_t *factors, size_t count)
{
    uint64_t product = 1;
    for (size_t i = 0; i < count; i++) {
        int fits = factors[i] == 0 || product <= UINT64_MAX / factors[i];
        product = fits ? product * factors[i] : maker_overflow(self);
    }
    return product;
}

uint64_t maker_plus(void *self, uint64_t left, uint64_t right)
{
    return left <= UINT64_MAX - right ? left + right : maker_overflow(self);
}

uint64_t maker_draw(void *of, uint64_t low, uint64_t high)
{
    maker *self = of;
    uint64_t count = high - low + 1;
    return count == 0 ? splitmix64_next(&self->random) : low + splitmix64_below(&self->random, count);
}

uint64_t maker_draw_of(void *self, family_range range)
{
    return maker_draw(self, range.low, range.high);
}

int maker_draw_chance(void *self, uint64_t in)
{
    return maker_draw(self, 1, in) == 1;
}

uint64_t maker_draw_side(void *self, family_range sides)
{
    uint64_t first = (sides.low + MAKER_SIDE_STEP - 1) / MAKER_SIDE_STEP, last = sides.high / MAKER_SIDE_STEP;
    if (sides.low == sides.high) return sides.low;
    if (first <= last) return maker_draw(self, first, last) * MAKER_SIDE_STEP;
    MAKER_REFUSE(self, "no multiple of %d from %" PRIu64 " to %" PRIu64 ", expected N or a wider LO-HI",
                 (int)MAKER_SIDE_STEP, sides.low, sides.high);
    return sides.low;
}

enum { GAP_BITS = 24 };                          /* behind the point of logarithms */

/* log2 of number / 2^32, negated, 1 <= number < 2^32: each bit behind the point comes from a squaring of the rest. */
static uint64_t maker_log2(uint64_t number)
{
    uint64_t whole = 0, bits = 0;
    while (number < (uint64_t)1 << 31) {
        number <<= 1;
        whole++;
    }
    for (int bit = 0; bit < GAP_BITS; bit++) {   /* number / 2^31 is from 1 to below 2 */
        number = number * number >> 31;
        bits <<= 1;
        if (number >= (uint64_t)1 << 32) {
            number >>= 1;
            bits |= 1;
        }
    }
    return ((whole + 1) << GAP_BITS) - bits;
}

uint64_t maker_draw_gap(void *self, uint64_t mean_ns)
{
    const uint64_t ln2 = 0xb17217f7;             /* ln 2, in 2^-32 */
    uint64_t drawn = (maker_draw(self, 0, UINT64_MAX) >> 32) | 1;
    uint64_t log = maker_log2(drawn);            /* at most 32 << 24, so that the product fits */
    return mean_ns * (log * ln2 >> 32) >> GAP_BITS;
}

void maker_label(void *of, const char *label)
{
    maker *self = of;
    stream_step(self->builder, slice_of(label));
}

int maker_step(void *self, const char *name, uint64_t number)
{
    char label[48];
    snprintf(label, sizeof label, "%.20s%" PRIu64, name, number);
    maker_label(self, label);
    return 1;
}

uint32_t maker_new_on(void *of, uint64_t bytes, uint64_t on_stream)
{
    maker *self = of;
    const slice no_tag = { NULL, 0 };
    return stream_alloc(self->builder, maker_next(self), bytes, on_stream, no_tag);
}

uint32_t maker_new(void *self, uint64_t bytes)
{
    return maker_new_on(self, bytes, 0);
}

uint32_t maker_made(void *self, uint64_t bytes, uint32_t from)
{
    uint32_t made = maker_new(self, bytes);
    MAKER_MOVE(self, bytes, from, made);
    return made;
}

void maker_free_all(void *of, const uint32_t *blocks, size_t count, uint64_t on_stream)
{
    maker *self = of;
    for (size_t i = 0; i < count; i++) stream_free(self->builder, blocks[i], &on_stream);
}

void maker_free_run(void *self, uint32_t first, uint64_t count)
{
    MAKER_EACH(self, i, count) MAKER_FREE(self, first + (uint32_t)i);
}

uint32_t maker_next(const void *of)
{
    const maker *self = of;
    return (uint32_t)self->builder->stream->block_count;
}

uint64_t maker_bytes(const void *of, uint32_t block)
{
    const maker *self = of;
    return maker_is_over(self) ? 0 : self->builder->blocks[block].bytes;
}

void maker_kernel(void *of, uint64_t on_stream, uint64_t duration_ns)
{
    maker *self = of;
    stream_kernel(self->builder, on_stream, duration_ns > 0 ? duration_ns : 1);
}

void maker_touch_all(void *of, const uint32_t *blocks, size_t count)
{
    maker *self = of;
    for (size_t i = 0; i < count; i++) stream_touch(self->builder, blocks[i]);
}

void maker_touch_run(void *self, uint32_t first, uint64_t count)
{
    MAKER_EACH(self, i, count) MAKER_TOUCH(self, first + (uint32_t)i);
}

void maker_wait(void *of, uint64_t on_stream, uint64_t for_stream)
{
    maker *self = of;
    if (on_stream != for_stream) stream_wait(self->builder, on_stream, for_stream);
}
