/* Needs by policies: a word each, and below the table what was measured where one fails.
   It must not know how a verdict came about.
   Tested by tests/needs.t. */
#include <string.h>

#include "../base/program.h"
#include "table.h"
#include "table_columns.h"

enum { TABLE_NEEDS_POLICIES = 64, TABLE_NEEDS_LEAST = 10 };

typedef struct table_matrix {
    const row_list *list;
    const char     *policies[TABLE_NEEDS_POLICIES];      /* in the order of rows */
    size_t          policy_count;
    size_t          from, end;                   /* the policies that are shown together */
    size_t          name_width, width;           /* of the needs, of a policy's column */
    size_t          need_count;
} table_matrix;

static const char *table_text(const row *of, row_column column)
{
    return of->cells[column].kind == CELL_TEXT ? of->cells[column].text : "";
}

static const char *table_need_name(const row *of)
{
    const char *text = table_text(of, COLUMN_WORKLOAD), *colon = strchr(text, ':');
    return colon ? colon + 1 : text;
}

static int table_is_first(const row_list *list, size_t index)
{
    const char *mine = table_text(&list->rows[index], COLUMN_WORKLOAD);
    for (size_t before = 0; before < index; before++) {
        if (!strcmp(table_text(&list->rows[before], COLUMN_WORKLOAD), mine)) return 0;
    }
    return 1;
}

static void table_add_policy(table_matrix *made, const char *policy)
{
    for (size_t at = 0; at < made->policy_count; at++) {
        if (!strcmp(made->policies[at], policy)) return;
    }
    if (made->policy_count < TABLE_NEEDS_POLICIES) made->policies[made->policy_count++] = policy;
}

static void table_matrix_make(table_matrix *made, const row_list *list, size_t width)
{
    char name[1024];
    memset(made, 0, sizeof *made);
    made->list = list;
    made->name_width = strlen("need");
    made->width = strlen("pass");
    for (size_t index = 0; index < list->count; index++) {
        const row *each = &list->rows[index];
        size_t length = strlen(table_need_name(each));
        size_t policy = strlen(table_policy_name(table_text(each, COLUMN_POLICY), name, sizeof name));
        if (length > made->name_width) made->name_width = length;
        if (policy > made->width) made->width = policy;
        made->need_count += (size_t)table_is_first(list, index);
        table_add_policy(made, table_text(each, COLUMN_POLICY));
    }
    size_t room = width > made->name_width ? width - made->name_width : 0;
    size_t share = made->policy_count ? room / made->policy_count : 0;
    size_t least = share > TABLE_NEEDS_LEAST + 2 ? share - 2 : TABLE_NEEDS_LEAST;
    if (made->width > least) made->width = least;
    made->end = room / (made->width + 2) ? room / (made->width + 2) : 1;
}

/* Of repeats the worst. */
static const char *table_verdict(const table_matrix *of, const char *workload, const char *policy)
{
    const char *worst = "";
    for (size_t index = 0; index < of->list->count; index++) {
        const row *each = &of->list->rows[index];
        if (strcmp(table_text(each, COLUMN_WORKLOAD), workload)
            || strcmp(table_text(each, COLUMN_POLICY), policy)) continue;
        const char *verdict = table_text(each, COLUMN_VERDICT);
        if (!table_is_ok(each)) return "ERROR";
        if (!strcmp(verdict, "fail")) worst = "FAIL";
        else if (!*worst) worst = strcmp(verdict, "none") ? verdict : "-";
    }
    return worst;
}

static void table_need_line(FILE *out, const table_matrix *of, const row *shown, const table_style *style)
{
    fprintf(out, "%-*s", (int)of->name_width, shown ? table_need_name(shown) : "need");
    for (size_t at = of->from; at < of->end; at++) {
        char text[1024];
        const char *policy = of->policies[at];
        const char *said = shown ? table_verdict(of, table_text(shown, COLUMN_WORKLOAD), policy) : policy;
        if (shown) snprintf(text, sizeof text, "%s", said);
        else table_policy_name(said, text, sizeof text);
        table_cut(text, of->width);
        int is_red = style->color && shown && *text >= 'A' && *text <= 'Z';
        int last = at + 1 == of->end;
        fprintf(out, "  %s%-*s%s", is_red ? "\033[31m" : "", last ? 0 : (int)of->width, text,
                is_red ? "\033[0m" : "");
    }
    fputc('\n', out);
}

static void table_need_totals(FILE *out, const table_matrix *of)
{
    fprintf(out, "%-*s", (int)of->name_width, "failed");
    for (size_t at = of->from; at < of->end; at++) {
        size_t failed = 0;
        for (size_t index = 0; index < of->list->count; index++) {
            const row *each = &of->list->rows[index];
            if (!table_is_first(of->list, index)) continue;
            failed += !strcmp(table_verdict(of, table_text(each, COLUMN_WORKLOAD), of->policies[at]), "FAIL");
        }
        int last = at + 1 == of->end;
        fprintf(out, "  %-*zu", last ? 0 : (int)of->width, failed);
    }
    fputc('\n', out);
}

static void table_need_piece(FILE *out, const table_matrix *of, const table_style *style)
{
    const row_list *list = of->list;
    table_need_line(out, of, NULL, style);
    for (size_t index = 0; index < list->count; index++) {
        if (table_is_first(list, index)) table_need_line(out, of, &list->rows[index], style);
    }
    if (of->need_count > 1) table_need_totals(out, of);
}

void table_needs(FILE *out, const row_list *list, const table_style *style)
{
    table_matrix matrix;
    char text[1200], policy[1024];
    table_matrix_make(&matrix, list, style->width);
    const size_t together = matrix.end;
    for (; matrix.from < matrix.policy_count; matrix.from += together) {
        matrix.end = matrix.from + together < matrix.policy_count ? matrix.from + together : matrix.policy_count;
        table_need_piece(out, &matrix, style);
    }
    for (size_t index = 0; index < list->count; index++) {
        const row *each = &list->rows[index];
        int is_pass = table_is_ok(each) && strcmp(table_text(each, COLUMN_VERDICT), "fail");
        if (is_pass && matrix.need_count > 1) continue;
        snprintf(text, sizeof text, "%s/%.256s: %s", table_need_name(each),
                 table_policy_name(table_text(each, COLUMN_POLICY), policy, sizeof policy), each->note);
        table_fold(out, text, style->width);
    }
    snprintf(text, sizeof text, "-: not this policy's need. Simulated devices. %s list needs: what each is about.",
             program_name());
    table_fold(out, text, style->width);
}
