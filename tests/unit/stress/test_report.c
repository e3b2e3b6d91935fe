/* The schema's lines of columns, the description of a CUDA device, and where texts are cut. It must not run anything.
   Reports of rows, on a CUDA device, too: tests/cli/cases/outputs.case. */
#include <stdlib.h>

#include "stress/report/table.h"
#include "stress/report/output.h"
#include "stress/base/text.h"
#include "tap.h"

static void test_cut(void)
{
    char text[32] = "abcdefgh", letters[32] = "ab\xc3\xa9\xe2\x82\xac" "defghijkl";
    char junk[32] = "\x80\x80\x80\x80\x80\x80\x80\x80";
    table_cut(text, 8);
    CHECK_STR(text, "abcdefgh");
    table_cut(text, 7);
    CHECK_STR(text, "abcde..");
    CHECK(utf8_fits(letters, 3) == 2 && utf8_fits(letters, 4) == 4 && utf8_fits(letters, 6) == 4);
    CHECK(utf8_fits(letters, 7) == 7 && utf8_fits(junk, 5) == 5 && utf8_fits(junk, 0) == 0);
    table_cut(letters, 8);
    CHECK_STR(letters, "ab\xc3\xa9..");
}

static void test_cuda(void)
{
    static const cuda_environment gpu = { 0, "A \"GPU\"", "GPU-0123", UINT64_C(80) << 30, UINT64_C(512) << 20, 12080,
                                          13010, "570.86.15", 2, "0000:19:00.0", 90, 132, 1 };
    char text[600] = "";
    FILE *file = tmpfile();
    if (!CHECK(file != NULL)) return;
    environment_json(file, &gpu);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    CHECK_STR(text, "{\"name\":\"A \\\"GPU\\\"\",\"uuid\":\"GPU-0123\",\"total_bytes\":85899345920,"
              "\"other_bytes\":536870912,\"driver\":\"570.86.15\",\"driver_cuda\":\"12.8\",\"runtime_cuda\":\"13.1\","
              "\"other_processes\":2,\"free_bytes\":85362475008,\"pci\":\"0000:19:00.0\","
              "\"compute_capability\":\"9.0\",\"multiprocessors\":132,\"ecc\":true}");
    CHECK_STR(cuda_environment_line(&gpu, text, sizeof text), "A \"GPU\", 80.0 GiB, 512 MiB of it in use before the "
              "first op, driver 570.86.15, up to CUDA 12.8, runtime 13.1, 2 other processes");
}

/* The schema's rule for a column, as the table has its unit, decimals and words. Status and reasons have words of
   their own there; some keys are numbers. */
static const char *schema_rule(row_column column, char *text, size_t size)
{
    const column_info *of = &row_table[column];
    const char *words = column_words(column), *kind = column_decimals(column) ? "number" : "count";
    int is_number = column == COLUMN_SEED || column == COLUMN_THREADS || column == COLUMN_HOLES
                 || column == COLUMN_REPEATS;
    size_t used = (size_t)snprintf(text, size, "{\"enum\": [");
    if (of->unit == UNIT_TEXT || (of->unit == UNIT_KEY && !is_number)) kind = "text";
    if (column == COLUMN_DIGEST) return "{\"type\": [\"string\", \"null\"], \"pattern\": \"^[0-9a-f]{16}$\"}";
    if (column == COLUMN_STATUS) return "{\"enum\": [\"ok\", \"oom\", \"verify_failed\", \"error\", \"skipped\"]}";
    if (column == COLUMN_STOP_REASON) return "{\"$ref\": \"#/definitions/stop\"}";
    for (; words && *words; words += strcspn(words, "|")) {
        words++;
        used += (size_t)snprintf(text + used, size - used, "\"%.*s\", ", (int)strcspn(words, "|"), words);
    }
    if (words) snprintf(text + used, size - used, "null]}");
    else snprintf(text, size, "{\"$ref\": \"#/definitions/%s\"}", kind);
    return text;
}

/* A line a column, but for those of a refusal, of which there is an object. Returns text. */
static const char *schema_lines(char *text, size_t size)
{
    char said[512];
    size_t used = 0;
    for (int at = 0; at < COLUMN_COUNT; at++) {
        if (at >= COLUMN_OOM_OP && at <= COLUMN_OOM_REASON) continue;
        used += (size_t)snprintf(text + used, size - used, "        \"%s\": %s,\n", row_table[at].name,
                                 schema_rule((row_column)at, said, sizeof said));
    }
    return text;
}

/* `make golden` writes these lines. */
static void test_schema(void)
{
    static const char path[] = "stress/report/schema.json", before[] = "\"status\"],\n      \"properties\": {\n";
    static char schema[65536], expected[65536];
    FILE *file = fopen(path, "r");
    if (!CHECK(file != NULL)) return;
    schema[fread(schema, 1, sizeof schema - 1, file)] = '\0';
    fclose(file);
    char *from = strstr(schema, before), *end = strstr(schema, "        \"oom\": {");
    if (!CHECK(from && end)) return;
    from += strlen(before);
    schema_lines(expected, sizeof expected);
    if (getenv("GPUARENA_GOLDEN") && (file = fopen(path, "w"))) {
        fprintf(file, "%.*s%s%s", (int)(from - schema), schema, expected, end);
        fclose(file);
        return;
    }
    *end = '\0';
    CHECK_MSG(!strcmp(from, expected), "the schema's lines of columns are what `make golden` writes:\n%s", expected);
}

int main(void)
{
    test_schema();
    test_cut();
    test_cuda();
    return tap_done();
}
