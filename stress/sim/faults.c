/* When faults act: calls are counted here, and each is compared with every part. */
#include "faults.h"

#include "../base/sets.h"

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
        const uint64_t apart = 99;                /* no matter how many kinds there are: the draws stay */
        uint64_t state = (set->calls[kind] * apart + kind) * SPLITMIX64_STEP;
        uint64_t lot = splitmix64_next(&state) % 1000;
        if (part->type == FAULT_STALL && lot < part->nth) stall_ns += part->bytes;
    }
    return stall_ns;
}

const fault *faults_call(faults *set, sim_call kind, uint64_t bytes, int is_lost)
{
    set->calls[kind]++;
    set->calls[SIM_CALL_KINDS]++;
    for (int i = -1; i < set->count && !is_lost; i++) {
        fault *part = i < 0 ? &set->campaign : &set->parts[i];
        if (!faults_concerns(set, part, kind, bytes)) continue;
        part->fired = 1;
        return part;
    }
    return NULL;
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

/* ---- The text of faults: each part is of the first form whose name and separator it begins with */

enum { FAULTS_MOST_CODE = 9999, FAULTS_MOST_STALL_US = 1000000000 };

static int faults_expected(slice part, const char *expected, problem *why)
{
    return problem_set(why, EXIT_USAGE, "faults: part %s: expected %s", slice_show(part).text, expected);
}

/* Reads the text behind the separator. 1; 0: the text is not as expected. */
typedef int faults_read(slice rest, fault *made);

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

static int faults_read_above(slice rest, fault *made)
{
    made->code = SIM_OUT_OF_MEMORY;
    return faults_read_code(&rest, &made->code) && slice_size(rest, &made->bytes);
}

static int faults_read_stall(slice rest, fault *made)
{
    slice many = rest;
    uint64_t us = 2000;
    int fits = !slice_cut(&rest, '=', &many) || slice_decimal(rest, &us);
    made->bytes = us * 1000;
    return fits && slice_decimal(many, &made->nth) && made->nth <= 1000 && us <= FAULTS_MOST_STALL_US;
}

static int faults_read_rival(slice rest, fault *made)
{
    slice op, size;
    uint64_t device = 0;
    if (!slice_cut(&rest, '=', &op) || !slice_decimal(op, &made->nth)) return 0;
    if (slice_cut(&rest, '/', &size)) {
        if (!slice_decimal(rest, &device) || device >= SIM_MAX_DEVICES) return 0;
        rest = size;
    }
    if (slice_begins(rest, "-")) {
        made->gives_back = 1;
        rest.bytes++;
        rest.length--;
    }
    made->device = (int)device;
    return slice_size(rest, &made->bytes);
}

static int faults_read_nth(slice rest, fault *made)
{
    return slice_decimal(rest, &made->nth) && made->nth > 0;
}

static int faults_read_call(slice rest, fault *made)
{
    made->code = sim_call_rows[made->kind].fault_code;
    if (!faults_read_code(&rest, &made->code)) return 0;
    if (rest.length > 0 && rest.bytes[rest.length - 1] == '+') {
        made->lasting = 1;
        rest.length--;
    }
    return faults_read_nth(rest, made);
}

#define FAULTS_NTH "the number of an obtain, from 1, after the colon"

static const struct { const char *name; char separator; fault_type type; faults_read *read; const char *expected; }
faults_forms[] = {                               /* name: NULL: that of a kind, which must have a size before a > */
    { NULL, '>', FAULT_ABOVE, faults_read_above,
      "obtain>SIZE[=CODE], such as obtain>64M, with a code from 1 to 9999" },
    { NULL, ':', FAULT_CALL, faults_read_call,
      "KIND:N[+][=CODE], such as obtain:3+=700, N from 1, CODE to 9999" },
    { "stall", ':', FAULT_STALL, faults_read_stall,
      "stall:N[=MICROSECONDS], such as stall:20=2000, with N from 0 to 1000" },
    { "rival", '@', FAULT_RIVAL, faults_read_rival,
      "rival@OP=[-]SIZE[/DEVICE], such as rival@1000=4G, of a device that exists" },
    { "null", ':', FAULT_NULL, faults_read_nth, FAULTS_NTH },
    { "misaligned", ':', FAULT_MISALIGNED, faults_read_nth, FAULTS_NTH },
    { "overlap", ':', FAULT_OVERLAP, faults_read_nth, FAULTS_NTH },
};

/* Finds the kind of this name, which calls with a size, if has_size. 1; 0: there is none. */
static int faults_find_kind(slice name, int has_size, sim_call *kind)
{
    for (int i = 0; i <= SIM_CALL_KINDS; i++) {
        int is_sized = i == SIM_CALL_OBTAIN || i == SIM_CALL_VM_RESERVE || i == SIM_CALL_VM_CREATE
                    || i == SIM_CALL_VM_MAP || i == SIM_CALL_VM_ACCESS;
        *kind = (sim_call)i;
        const char *text = sim_call_rows[i].fault_name;
        if ((is_sized || !has_size) && (slice_is(name, sim_call_rows[i].name) || (text && slice_is(name, text)))) {
            return 1;
        }
    }
    return 0;
}

static int faults_read_part(slice part, int device_count, fault *made, problem *why)
{
    for (size_t i = 0; i < sizeof faults_forms / sizeof faults_forms[0]; i++) {
        slice rest = part, name;
        const char *own = faults_forms[i].name;
        made->type = faults_forms[i].type;
        if (!slice_cut(&rest, faults_forms[i].separator, &name)
            || !(own ? slice_is(name, own) : faults_find_kind(name, made->type == FAULT_ABOVE, &made->kind))) {
            continue;
        }
        if (faults_forms[i].read(rest, made) && made->device < device_count) return 0;
        return faults_expected(part, faults_forms[i].expected, why);
    }
    return faults_expected(part, "obtain:N, give_back:N, info:N, any:N, obtain>SIZE, null:N, misaligned:N, "
                                 "overlap:N, stall:N or rival@OP=SIZE; or reserve:N, create:N and so on to unmap:N, "
                                 "or CUDA's name of any call, such as cudaSetDevice:N", why);
}

int faults_parse(const char *text, int device_count, faults *set, problem *why)
{
    set->count = 0;
    for (const char *at = text ? text : "", *end; *at; at = end + 1) {
        end = at + strcspn(at, ";,");
        const slice part = { at, (size_t)(end - at) };
        if (set->count == FAULTS_MOST) return faults_expected(part, "at most 64 parts", why);
        static const fault none = { .type = FAULT_CALL };
        set->parts[set->count] = none;
        if (faults_read_part(part, device_count, &set->parts[set->count++], why)) return -1;
        if (!*end) return 0;
        if (!end[1]) return faults_expected(slice_of(""), "a part after the last separator", why);
    }
    return 0;
}
