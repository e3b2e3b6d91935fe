/* Mutation fuzzing of `replay`: small valid files of each format, bytes changed, are read and then sound, or refused
   with file and line. Deterministic; GPUARENA_TEST_OPS sets how many mutations there are. Best run under ASan. */
#include "stress/base/splitmix64.h"
#include "workload_text.h"

enum { FUZZ_MAX_BYTES = 512, FUZZ_DEFAULT_COUNT = 20000 };

static const struct { const char *name, *text; } seeds[] = {
    { "gpuarena-trace",
      "gpuarena-trace 1\n# c\ns setup\na 1 4096 0 w\na 2 18446744073709547519 3\nk 3 250 1 2\nw 0 3\nf 2\nf 1 3\n"
      "s step1\na 1 16 0\nk 0 1\n" },
    { "rmm",
      "Thread,Time,Action,Pointer,Size,Stream\n12,10:11:12.000001,allocate,0x7f00,1048576,0x0\n"
      "12,10:11:12.000002,allocate,(nil),0,0x1\n12,10:11:12.000003,allocate failure,(nil),4096,0x2\n"
      "12,10:11:12.000004,free,0x7f00,1048576,0\n12,10:11:12.000005,allocate,0x7f00,8,0x55d0\n" },
    { "old rmm",
      "Time,Action,Pointer,Size,Stream\r\nt,allocate,0x10,16,0\r\nt,allocate,0x20,32,1\r\n"
      "t,deallocate,0x10,16,0\r\n" },
    { "intervals", "id,lower,upper,size\n0,0,8,100\n1,2,5,200\n2,5,9,300\n0,8,10,18446744073709551615\n" },
    { "intervals with offsets", "id,lower,upper,size,offset\n7,0,8,100,0\n8,8,9,200,0\n" }
};
enum { FUZZ_SEED_COUNT = sizeof seeds / sizeof seeds[0] };

/* One to four changes: a byte set, taken out, doubled or put in, or the text cut short. */
static size_t mutate(char *text, size_t length, uint64_t *random)
{
    static const char likely[] = "0123456789 ,\n\r#afskwx(-\0\x7f\xff";
    for (uint64_t change = splitmix64_below(random, 4) + 1; change > 0 && length > 0; change--) {
        size_t at = (size_t)splitmix64_below(random, length);
        char byte = splitmix64_below(random, 4) ? likely[splitmix64_below(random, sizeof likely - 1)]
                                                : (char)(unsigned char)splitmix64_below(random, 256);
        switch (splitmix64_below(random, 8)) {
        case 0:
            length = at;
            break;
        case 1:
            memmove(text + at, text + at + 1, length - at - 1);
            length--;
            break;
        case 2: case 3:
            memmove(text + at + 1, text + at, length - at);
            length++;
            text[at] = splitmix64_below(random, 2) ? byte : text[at];
            break;
        default:
            text[at] = byte;
        }
    }
    return length;
}

/* Every operation names blocks that are live, and the figures are those of a walk. */
static int is_sound(const op_stream *stream)
{
    uint64_t live = 0, peak = 0, allocs = 0, frees = 0, *sizes = calloc(stream->block_count + 1, sizeof *sizes);
    char *is_live = calloc(stream->block_count + 1, 1);
    int sound = sizes && is_live;
    for (size_t i = 0; sound && i < stream->op_count; i++) {
        const op *at = &stream->ops[i];
        if (at->kind == OP_ALLOC) {
            sound = at->first == allocs && !is_live[at->first];
            sizes[at->first] = at->value;
            is_live[at->first] = 1;
            live += at->value;
            allocs++;
        } else if (at->kind == OP_FREE) {
            sound = at->first < allocs && is_live[at->first];
            is_live[at->first] = 0;
            live -= sizes[at->first];
            frees++;
        }
        for (uint32_t touch = 0; at->kind == OP_KERNEL && sound && touch < at->count; touch++) {
            sound = is_live[stream->touches[at->first + touch]];
        }
        peak = live > peak ? live : peak;
    }
    free(sizes);
    free(is_live);
    return sound && allocs == stream->alloc_count && frees == stream->free_count && allocs == stream->block_count &&
           peak == stream->requested_peak_bytes;
}

static int is_named(const problem *why)
{
    size_t length = strlen(trace_path);
    return why->exit_code == EXIT_USAGE && strncmp(why->text, trace_path, length) == 0 && why->text[length] == ':' &&
           why->text[length + 1] >= '1' && why->text[length + 1] <= '9' && strstr(why->text, "expected") &&
           !strchr(why->text, '\n');
}

static void fuzz(size_t index, uint64_t count)
{
    uint64_t random = index + 1, read_count = 0, refused_count = 0, wrong_count = 0;
    for (uint64_t i = 0; i < count; i++) {
        char text[FUZZ_MAX_BYTES];
        op_stream stream;
        problem why;
        size_t length = strlen(seeds[index].text);
        memcpy(text, seeds[index].text, length);
        length = i > 0 ? mutate(text, length, &random) : length;     /* the first one is the valid file itself */
        int is_read = replay_bytes(text, length, &stream, &why) == 0;
        int is_right = is_read ? is_sound(&stream) && (i % 16 > 0 || is_fixed_point(&stream))
                               : is_named(&why) && !stream.ops;
        if (!is_right && wrong_count++ < 5) {
            printf("# mutation %" PRIu64 " of %s: %s\n", i, seeds[index].name, is_read ? "not sound" : why.text);
        }
        *(is_read ? &read_count : &refused_count) += 1;
        op_stream_free(&stream);
    }
    CHECK_MSG(wrong_count == 0, "%s: %" PRIu64 " mutations, %" PRIu64 " read, %" PRIu64 " refused, all rightly",
              seeds[index].name, count, read_count, refused_count);
    CHECK_MSG(read_count > count / 100 && refused_count > count / 10, "and both happened often");
}

int main(void)
{
    const char *wanted = getenv("GPUARENA_TEST_OPS");
    uint64_t count = wanted ? strtoull(wanted, NULL, 10) : FUZZ_DEFAULT_COUNT;
    for (size_t i = 0; i < FUZZ_SEED_COUNT; i++) {
        fuzz(i, count / FUZZ_SEED_COUNT > 100 ? count / FUZZ_SEED_COUNT : 100);
    }
    return tap_done();
}
