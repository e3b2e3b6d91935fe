/* Findings: counted all, the first ones kept as "op 17: device 0: ...".
   Must not decide what is wrong.
   Tested by tests/test_sim_judge.c. */
#include "judge.h"

#include <inttypes.h>
#include <stdarg.h>

void judge_report(judge *book, int device, const char *format, ...)
{
    uint64_t index = book->count++;
    if (device >= 0 && device < SIM_MAX_DEVICES) {
        book->by_device[device]++;
    }
    if (index >= JUDGE_KEPT) {
        return;
    }
    char when[32] = "before the first op", *text = book->texts[index];
    if (book->op_begun) {
        snprintf(when, sizeof when, "op %" PRIu64, book->op);
    }
    int length = snprintf(text, JUDGE_TEXT, "%s: device %d: ", when, device);
    va_list values;
    va_start(values, format);
    vsnprintf(text + length, JUDGE_TEXT - (size_t)length, format, values);
    va_end(values);
}

const char *judge_text(const judge *book, uint64_t index)
{
    return index < book->count && index < JUDGE_KEPT ? book->texts[index] : NULL;
}
