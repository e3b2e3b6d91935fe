/* The judge's findings: what was done that must not be, each with the operation that did it.
   It must not decide what is wrong: whoever sees the mistake reports it here. No host address may enter a text.
   Tested by tests/test_sim_judge.c. */
#ifndef STRESS_SIM_JUDGE_H
#define STRESS_SIM_JUDGE_H

#include "base.h"

enum { JUDGE_KEPT = 64, JUDGE_TEXT = 256 };

typedef struct judge {
    uint64_t op;                                 /* the one under way */
    int      op_begun;                           /* 0: the first has not begun */
    uint64_t count;                              /* of findings; the first JUDGE_KEPT have texts */
    uint64_t by_device[SIM_MAX_DEVICES];
    char     texts[JUDGE_KEPT][JUDGE_TEXT];
} judge;

void        judge_report(judge *book, int device, const char *format, ...) PROBLEM_FORMAT(3, 4);
const char *judge_text(const judge *book, uint64_t index);

#endif
