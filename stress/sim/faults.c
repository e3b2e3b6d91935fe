/* When faults act: calls are counted here, and each is compared with every part.
   Must not know of memory, nor how the parts were written.
   Tested by tests/test_sim_faults.c. */
#include "faults.h"

static int faults_concerns(const faults *set, const fault *part, sim_call kind, uint64_t bytes)
{
    switch (part->type) {
    case FAULT_CALL: {
        if (part->nth == 0 || (part->kind != kind && part->kind != SIM_CALL_KINDS)) {
            return 0;
        }
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

static uint64_t faults_scatter(uint64_t number)              /* splitmix64 */
{
    number = (number + 1) * 0x9E3779B97F4A7C15u;
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9u;
    number = (number ^ number >> 27) * 0x94D049BB133111EBu;
    return number ^ number >> 31;
}

uint64_t faults_stall_ns(const faults *set, sim_call kind)
{
    uint64_t stall_ns = 0;
    if (kind != SIM_CALL_VM_ACCESS && kind != SIM_CALL_VM_UNMAP) {
        return 0;
    }
    for (int i = 0; i < set->count; i++) {
        const fault *part = &set->parts[i];
        uint64_t lot = faults_scatter(set->calls[kind] * SIM_CALL_KINDS + kind) % 1000;
        if (part->type == FAULT_STALL && lot < part->nth) {
            stall_ns += part->bytes;
        }
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
            if (part->type == FAULT_ABOVE) {
                answer.lie = FAULT_CALL;
            }
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
    if (next) {
        next->fired = 1;
    }
    return next;
}
