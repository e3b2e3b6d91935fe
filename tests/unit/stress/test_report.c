/* What reports say of a CUDA device, in JSON and below the table, and where texts are cut.
   It must not run anything: rows are made up. What rows of runs become: tests/cli/cases/outputs.case. */
#include <stdlib.h>

#include "stress/report/table.h"
#include "stress/report/table_columns.h"
#include "stress/report/writers.h"
#include "stress/base/text.h"
#include "tap.h"

static char written[65536];

static const char *read_back(FILE *file)
{
    rewind(file);
    written[fread(written, 1, sizeof written - 1, file)] = '\0';
    fclose(file);
    return written;
}

static row make_row(const char *workload, const char *policy)
{
    row made;
    memset(&made, 0, sizeof made);
    row_text(&made, COLUMN_WORKLOAD, workload);
    row_text(&made, COLUMN_POLICY, policy);
    row_text(&made, COLUMN_DEVICE, "sim:80G");
    row_text(&made, COLUMN_STATUS, "ok");
    row_count(&made, COLUMN_DRIVER_VNS, 1000);
    row_count(&made, COLUMN_DRIVER_CALLS, 10);
    row_real(&made, COLUMN_FOOTPRINT, 1.25);
    row_count(&made, COLUMN_REQUESTED_PEAK, 1024);
    row_count(&made, COLUMN_RESERVED_PEAK, 1280);
    row_hex(&made, COLUMN_DIGEST, 0x1f);
    return made;
}

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

static const cuda_environment gpu = { 0, "A \"GPU\"", "GPU-01234567-89ab-cdef-0123-456789abcdef", UINT64_C(80) << 30,
                                      UINT64_C(512) << 20, 12080, 13000, "570.86.15", 2,
                                      "0000:19:00.0", 90, 132, 1 };

static void test_cuda_json(void)
{
    row rows[1] = { make_row("train", "raw") };
    row_list list = { .rows = rows, .count = 1 };
    cuda_environment bare = gpu;
    const output_material made = { .list = &list, .device = "cuda:0", .environment = &gpu };
    const output_material barely = { .list = &list, .device = "cuda:0", .environment = &bare };
    FILE *file = tmpfile();
    output_json.write(file, &made);
    read_back(file);
    CHECK(strstr(written, "\"device\":{\"kind\":\"cuda\",\"name\":\"cuda:0\"},\"environment\":{\"name\":"
                 "\"A \\\"GPU\\\"\",\"uuid\":\"GPU-01234567-89ab-cdef-0123-456789abcdef\","
                 "\"total_bytes\":85899345920,\"other_bytes\":536870912,\"driver\":\"570.86.15\","
                 "\"driver_cuda\":\"12.8\",\"runtime_cuda\":\"13.0\","
                 "\"other_processes\":2,\"free_bytes\":85362475008,\"pci\":\"0000:19:00.0\","
                 "\"compute_capability\":\"9.0\",\"multiprocessors\":132,\"ecc\":true},\"cases\":[") != NULL);
    bare.driver[0] = '\0';
    bare.process_count = -1;
    file = tmpfile();
    output_json.write(file, &barely);
    read_back(file);
    CHECK(strstr(written, "\"driver\":null,") && strstr(written, "\"other_processes\":null,"));
}

/* No virtual time: its columns are gone, and so is that of measured time where there is none. */
static void test_cuda_table(void)
{
    row rows[2] = { make_row("train", "raw"), make_row("train", "segments") };
    row_list list = { .rows = rows, .count = 2 };
    const table_style style = { 200, 0 };
    for (int index = 0; index < 2; index++) {
        rows[index].cells[COLUMN_DRIVER_VNS].kind = CELL_NONE;
        row_real(&rows[index], COLUMN_HOST_NS, index ? 500.0 : 100000.0);
    }
    FILE *file = tmpfile();
    table_write(file, &list, &gpu, &style);
    read_back(file);
    CHECK(strstr(written, "  host/op") && strstr(written, " 100 us\n") && strstr(written, " 500 ns*\n"));
    CHECK(!strstr(written, "warm-up time") && !strstr(written, "time/op") && !strstr(written, "simulated"));
    CHECK(strstr(written, "80.0 GiB, 512 MiB of it in use before the first op, driver 570.86.15") != NULL);
    CHECK(strstr(written, "CUDA 12.8, runtime 13.0, 2 other processes") != NULL);
    CHECK(strstr(written, "is at least so much") != NULL);
    file = tmpfile();
    rows[1].cells[COLUMN_HOST_NS].kind = rows[0].cells[COLUMN_HOST_NS].kind = CELL_NONE;
    table_write(file, &list, &gpu, &style);
    read_back(file);
    CHECK_MSG(!strstr(written, "host/op"), "untimed: no such column, and no word of it");
    CHECK(strstr(written, "is at least so much") != NULL);
}

/* What the schema says of a column, as the table has its unit, decimals and words. Status and reasons have words of
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
    test_cuda_json();
    test_cuda_table();
    return tap_done();
}
