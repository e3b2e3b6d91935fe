/* A report as one HTML file that needs nothing else, no script among it: verdict, how to see it again, table,
   figures. It is well-formed XML, too. For light and dark, paper, phones, and readers that speak.
   Knows nothing of what figures show. */
#ifndef STRESS_REPORT_HTML_H
#define STRESS_REPORT_HTML_H

#include <stdio.h>

#include "../base/cli.h"
#include "../device/cuda_environment.h"
#include "../result/gate.h"
#include "../result/row.h"

typedef struct html_page {
    const row_list    *list;
    const char        *device;
    const cuda_environment *environment;         /* NULL: the device is simulated */
    const gate        *gates;                    /* NULL: the command has none */
    const cli         *asked;
    const char *const *argv;
} html_page;

enum { HTML_MOST_ROWS = 1000 };                  /* of the table; of figures see figure.h */

void html_write(FILE *out, const html_page *page);           /* write errors: ferror(out) */

/* ---- for the report's files */
extern const char html_style[];

#endif
