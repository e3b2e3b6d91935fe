/* The text of faults: one pass over the parts, each told apart by its first word and the character after it.
   Must not know when a fault acts.
   Tested by tests/test_sim_faults.c. */
#include "faults.h"

#include <string.h>

enum { FAULTS_MOST_CODE = 9999 };

typedef struct faults_kind { const char *name, *runtime_name; int code; } faults_kind;     /* name: NULL for none */

static const faults_kind faults_kinds[SIM_CALL_KINDS + 1] = {
#define X(name, text, runtime_name, code, cost) { text, runtime_name, code },
    SIM_CALLS(X)
#undef X
    { "any", "any", SIM_UNKNOWN }
};

static const struct { const char *name; fault_type type; } faults_lies[] = {
    { "null", FAULT_NULL }, { "misaligned", FAULT_MISALIGNED }, { "overlap", FAULT_OVERLAP },
};

/* Takes what stands before the character off the front, and the character. 0: it is not there, nothing taken. */
static int faults_cut(slice *rest, char at, slice *front)
{
    const char *found = rest->length > 0 ? memchr(rest->bytes, at, rest->length) : NULL;
    return found ? slice_take(rest, at, front) : 0;
}

int faults_size(slice text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    unsigned shift = 0;
    const char *unit = text.length > 0 ? memchr(units, text.bytes[text.length - 1], sizeof units - 1) : NULL;
    if (unit) {
        shift = 10 * (unsigned)(unit - units + 1);
        text.length--;
    }
    if (!slice_decimal(text, bytes) || *bytes > UINT64_MAX >> shift) {
        return 0;
    }
    *bytes <<= shift;
    return 1;
}

static int faults_expected(slice part, const char *expected, problem *why)
{
    return problem_set(why, EXIT_USAGE, "faults: part %s: expected %s", slice_show(part).text, expected);
}

/* Cuts "=CODE" off the end, if it is there. */
static int faults_read_code(slice *rest, int *code)
{
    slice front;
    uint64_t number;
    if (!faults_cut(rest, '=', &front)) {
        return 1;
    }
    if (!slice_decimal(*rest, &number) || number == 0 || number > FAULTS_MOST_CODE) {
        return 0;
    }
    *code = (int)number;
    *rest = front;
    return 1;
}

static int faults_read_above(slice part, slice rest, fault *made, problem *why)
{
    made->type = FAULT_ABOVE;
    made->code = SIM_OUT_OF_MEMORY;
    if (!faults_read_code(&rest, &made->code) || !faults_size(rest, &made->bytes)) {
        return faults_expected(part, "obtain>SIZE[=CODE], such as obtain>64M, with a code from 1 to 9999", why);
    }
    return 0;
}

static int faults_read_rival(slice part, slice rest, int device_count, fault *made, problem *why)
{
    slice op, size;
    uint64_t device = 0;
    made->type = FAULT_RIVAL;
    int fits = faults_cut(&rest, '=', &op) && slice_decimal(op, &made->nth);
    if (fits && faults_cut(&rest, '/', &size)) {
        fits = slice_decimal(rest, &device) && device < (uint64_t)device_count;
        rest = size;
    }
    if (fits && slice_begins(rest, "-")) {
        made->gives_back = 1;
        rest.bytes++;
        rest.length--;
    }
    if (!fits || !faults_size(rest, &made->bytes)) {
        return faults_expected(part, "rival@OP=[-]SIZE[/DEVICE], such as rival@1000=4G, of a device that exists",
                               why);
    }
    made->device = (int)device;
    return 0;
}

static int faults_read_nth(slice part, slice rest, fault *made, problem *why)
{
    int is_call = made->type == FAULT_CALL, fits = 1;
    if (is_call) {
        made->code = faults_kinds[made->kind].code;
        fits = faults_read_code(&rest, &made->code);
        if (rest.length > 0 && rest.bytes[rest.length - 1] == '+') {
            made->lasting = 1;
            rest.length--;
        }
    }
    if (!fits || !slice_decimal(rest, &made->nth) || made->nth == 0) {
        return faults_expected(part, is_call ? "KIND:N[+][=CODE], such as obtain:3+=700, N from 1, CODE to 9999"
                                             : "the number of an obtain, from 1, after the colon", why);
    }
    return 0;
}

static int faults_read_part(slice part, int device_count, fault *made, problem *why)
{
    slice rest = part, name;
    if (slice_begins(rest, "obtain>") || slice_begins(rest, "cudaMalloc>")) {
        faults_cut(&rest, '>', &name);
        return faults_read_above(part, rest, made, why);
    }
    if (slice_begins(rest, "rival@")) {
        faults_cut(&rest, '@', &name);
        return faults_read_rival(part, rest, device_count, made, why);
    }
    if (faults_cut(&rest, ':', &name)) {
        for (int i = 0; i <= SIM_CALL_KINDS; i++) {
            const faults_kind *kind = &faults_kinds[i];
            if (slice_is(name, kind->runtime_name) || (kind->name && slice_is(name, kind->name))) {
                made->type = FAULT_CALL;
                made->kind = (sim_call)i;
                return faults_read_nth(part, rest, made, why);
            }
        }
        for (size_t i = 0; i < sizeof faults_lies / sizeof faults_lies[0]; i++) {
            if (slice_is(name, faults_lies[i].name)) {
                made->type = faults_lies[i].type;
                return faults_read_nth(part, rest, made, why);
            }
        }
    }
    return faults_expected(part, "obtain:N, give_back:N, info:N, any:N, obtain>SIZE, null:N, misaligned:N, overlap:N "
                                 "or rival@OP=SIZE; or the CUDA runtime's name of a call, such as cudaSetDevice:N",
                           why);
}

int faults_parse(const char *text, int device_count, faults *set, problem *why)
{
    slice rest = slice_of(text ? text : "");
    set->count = 0;
    while (rest.length > 0) {
        size_t length = 0;
        while (length < rest.length && rest.bytes[length] != ';' && rest.bytes[length] != ',') {
            length++;
        }
        slice part = { rest.bytes, length };
        if (set->count == FAULTS_MOST) {
            return faults_expected(part, "at most 64 parts", why);
        }
        fault read = { FAULT_CALL, SIM_CALL_OBTAIN, 0, 0, 0, 0, 0, 0, 0 };
        if (faults_read_part(part, device_count, &read, why)) {
            return -1;
        }
        set->parts[set->count++] = read;
        if (length + 1 == rest.length) {
            slice nothing = { rest.bytes + length, 0 };
            return faults_expected(nothing, "a part after the last separator", why);
        }
        size_t taken = length < rest.length ? length + 1 : length;
        rest.bytes += taken;
        rest.length -= taken;
    }
    return 0;
}
