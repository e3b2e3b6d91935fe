/* When faults act: calls are counted here, and each is compared with every part. */
#include "faults.h"

#include <string.h>

#include "../base/splitmix64.h"

static int faults_concerns(const faults *set, const fault *part, sim_call kind, uint64_t bytes)
{
    switch (part->type) {
    case FAULT_CALL: {
        if (part->nth == 0 || (part->kind != kind && part->kind != SIM_CALL_KINDS)) return 0;
        uint64_t calls = set->calls[part->kind];
        return calls == part->nth || (part->lasting && calls > part->nth);
    }
    case FAULT_ABOVE:
        return kind == part->kind && bytes > part->bytes;
    case FAULT_NULL: case FAULT_MISALIGNED: case FAULT_OVERLAP:
        return kind == SIM_CALL_OBTAIN && set->calls[kind] == part->nth;
    case FAULT_RIVAL: case FAULT_STALL:
        break;
    }
    return 0;
}

uint64_t faults_stall_ns(const faults *set, sim_call kind)
{
    uint64_t stall_ns = 0;
    if (kind != SIM_CALL_VM_ACCESS && kind != SIM_CALL_VM_UNMAP) return 0;
    for (int i = 0; i < set->count; i++) {
        const fault *part = &set->parts[i];
        uint64_t state = (set->calls[kind] * SIM_CALL_KINDS + kind) * SPLITMIX64_STEP;
        uint64_t lot = splitmix64_next(&state) % 1000;
        if (part->type == FAULT_STALL && lot < part->nth) stall_ns += part->bytes;
    }
    return stall_ns;
}

void faults_count(faults *set, sim_call kind)
{
    set->calls[kind]++;
    set->calls[SIM_CALL_KINDS]++;
}

fault_answer faults_answer(faults *set, sim_call kind, uint64_t bytes)
{
    fault_answer answer = { SIM_SUCCESS, FAULT_CALL };
    for (int i = -1; i < set->count; i++) {
        fault *part = i < 0 ? &set->campaign : &set->parts[i];
        if (faults_concerns(set, part, kind, bytes)) {
            part->fired = 1;
            answer.code = part->code;
            answer.lie = part->type;
            if (part->type == FAULT_ABOVE) answer.lie = FAULT_CALL;
            break;
        }
    }
    return answer;
}

const fault *faults_next_rival(faults *set, uint64_t op)
{
    fault *next = NULL;
    for (int i = 0; i < set->count; i++) {
        fault *part = &set->parts[i];
        if (part->type == FAULT_RIVAL && !part->fired && part->nth <= op && (!next || part->nth < next->nth)) {
            next = part;
        }
    }
    if (next) next->fired = 1;
    return next;
}

/* ---- The text of faults: one pass over the parts, each told apart by its first word and the character after it */

enum { FAULTS_MOST_CODE = 9999, FAULTS_MOST_STALL_US = 1000000000 };

typedef struct faults_kind { const char *name, *cuda_name; int code; } faults_kind;     /* name: NULL for none */

static const faults_kind faults_kinds[SIM_CALL_KINDS + 1] = {
#define X(name, text, cuda_name, code, cost, trait) { text, #cuda_name, code },
    SIM_CALLS(X)
#undef X
    { "any", "any", SIM_UNKNOWN }
};

static const struct { const char *name; fault_type type; } faults_lies[] = {
    { "null", FAULT_NULL }, { "misaligned", FAULT_MISALIGNED }, { "overlap", FAULT_OVERLAP },
};

static int faults_expected(slice part, const char *expected, problem *why)
{
    return problem_set(why, EXIT_USAGE, "faults: part %s: expected %s", slice_show(part).text, expected);
}

/* Cuts "=CODE" off the end, if it is there. */
static int faults_read_code(slice *rest, int *code)
{
    slice front;
    uint64_t number;
    if (!slice_cut(rest, '=', &front)) return 1;
    if (!slice_decimal(*rest, &number) || number == 0 || number > FAULTS_MOST_CODE) return 0;
    *code = (int)number;
    *rest = front;
    return 1;
}

static int faults_read_above(slice part, slice rest, fault *made, problem *why)
{
    made->type = FAULT_ABOVE;
    made->code = SIM_OUT_OF_MEMORY;
    if (!faults_read_code(&rest, &made->code) || !slice_size(rest, &made->bytes)) {
        return faults_expected(part, "obtain>SIZE[=CODE], such as obtain>64M, with a code from 1 to 9999", why);
    }
    return 0;
}

static int faults_read_stall(slice part, slice rest, fault *made, problem *why)
{
    slice many = rest;
    uint64_t us = 2000;
    made->type = FAULT_STALL;
    int fits = !slice_cut(&rest, '=', &many) || slice_decimal(rest, &us);
    if (!fits || !slice_decimal(many, &made->nth) || made->nth > 1000 || us > FAULTS_MOST_STALL_US) {
        return faults_expected(part, "stall:N[=MICROSECONDS], such as stall:20=2000, with N from 0 to 1000", why);
    }
    made->bytes = us * 1000;
    return 0;
}

static int faults_is_named(const faults_kind *kind, slice name)
{
    return slice_is(name, kind->cuda_name) || (kind->name && slice_is(name, kind->name));
}

/* 1: the part is of the form KIND ">" ..., cut after the character, and the kind is one that has a size. */
static int faults_cut_above(slice *rest, sim_call *kind)
{
    static const sim_call sized[] = { SIM_CALL_OBTAIN, SIM_CALL_VM_RESERVE, SIM_CALL_VM_CREATE, SIM_CALL_VM_MAP,
                                      SIM_CALL_VM_ACCESS };
    slice name, after = *rest;
    if (!slice_cut(&after, '>', &name)) return 0;
    for (size_t i = 0; i < sizeof sized / sizeof sized[0]; i++) {
        if (faults_is_named(&faults_kinds[sized[i]], name)) {
            *kind = sized[i];
            *rest = after;
            return 1;
        }
    }
    return 0;
}

static int faults_read_rival(slice part, slice rest, int device_count, fault *made, problem *why)
{
    slice op, size;
    uint64_t device = 0;
    made->type = FAULT_RIVAL;
    int fits = slice_cut(&rest, '=', &op) && slice_decimal(op, &made->nth);
    if (fits && slice_cut(&rest, '/', &size)) {
        fits = slice_decimal(rest, &device) && device < (uint64_t)device_count;
        rest = size;
    }
    if (fits && slice_begins(rest, "-")) {
        made->gives_back = 1;
        rest.bytes++;
        rest.length--;
    }
    if (!fits || !slice_size(rest, &made->bytes)) {
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
    if (faults_cut_above(&rest, &made->kind)) return faults_read_above(part, rest, made, why);
    if (slice_begins(rest, "stall:")) {
        slice_cut(&rest, ':', &name);
        return faults_read_stall(part, rest, made, why);
    }
    if (slice_begins(rest, "rival@")) {
        slice_cut(&rest, '@', &name);
        return faults_read_rival(part, rest, device_count, made, why);
    }
    if (slice_cut(&rest, ':', &name)) {
        for (int i = 0; i <= SIM_CALL_KINDS; i++) {
            if (faults_is_named(&faults_kinds[i], name)) {
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
    return faults_expected(part, "obtain:N, give_back:N, info:N, any:N, obtain>SIZE, null:N, misaligned:N, "
                                 "overlap:N, stall:N or rival@OP=SIZE; or reserve:N, create:N and so on to unmap:N, "
                                 "or CUDA's name of any call, such as cudaSetDevice:N", why);
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
        if (set->count == FAULTS_MOST) return faults_expected(part, "at most 64 parts", why);
        fault read = { FAULT_CALL, SIM_CALL_OBTAIN, 0, 0, 0, 0, 0, 0, 0 };
        if (faults_read_part(part, device_count, &read, why)) return -1;
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
