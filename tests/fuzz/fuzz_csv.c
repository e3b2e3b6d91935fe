/* Fuzz target: CSV as compare and --base read it, and what gates make of its cells.
   It must not know columns, but for a few that rules name.
   Run: make fuzz FUZZ=csv; its corpus: build/tests/fuzz_csv */
#include "stress/result/gate.h"
#include "stress/result/csv.h"
#include "fuzz.h"

/* The table judged by rules of every kind, with itself as base. */
static void fuzz_judge(const char *text, size_t size)
{
    static char texts[][40] = { "footprint > base*1.01", "*/raw: driver_vns <= raw/2", "status != ok", "ops == 7",
                                "host_ns_per_op > raw", "fragmentation > base+3pp", "oom_reason == base" };
    enum { FUZZ_RULES = sizeof texts / sizeof texts[0] };
    for (int at = 0; at < FUZZ_RULES; at++) {
        char *const one[1] = { texts[at] };
        problem why = { 0, "" };
        row_list found;
        gate gates;
        memset(&gates, 0, sizeof gates);
        gates.base_path = "base";
        gates.base = &gates.read;
        int failed = rule_file_all(&gates.rules, &gates.rule_count, one, 1, &why);
        fuzz_expect(!failed && !csv_parse(&gates.read, "base", text, size, &why)
                    && !csv_parse(&found, "found", text, size, &why), "what was read is read again");
        if (gate_judge(&gates, &found, "found", &why)) fuzz_expect(why.text[0], "refused with a problem");
        else fuzz_expect(gate_failed(&gates) + gate_undecided(&gates) <= gates.verdict_count, "verdicts are counted");
        gate_free(&gates);
        csv_free(&found);
    }
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    row_list table;
    problem why = { 0, "" };
    char *text = fuzz_text(data, size);
    if (csv_parse(&table, "input", text, size, &why)) {
        fuzz_expect(why.exit_code == EXIT_USAGE && why.text[0], "refused with a problem");
    } else {
        size_t bytes = 0;
        for (size_t line = 0; line < table.count; line++) {
            for (int at = 0; at < COLUMN_COUNT; at++) {
                char text_of[CELL_ROOM];
                bytes += strlen(cell_text(&table.rows[line].cells[at], text_of));
            }
        }
        fuzz_expect(bytes <= size, "cells are no longer than the file");
        fuzz_judge(text, size);
    }
    csv_free(&table);
    free(text);
}

FUZZ_TARGET(csv)
