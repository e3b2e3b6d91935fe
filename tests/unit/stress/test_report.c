/* Rows, CSV quoting, JSON of odd texts, the table's width and notes.
   It must not run anything: rows are made up. */
#include <stdlib.h>

#include "stress/result/csv.h"
#include "stress/report/json.h"
#include "stress/report/table.h"
#include "stress/report/table_columns.h"
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
    row_ratio(&made, COLUMN_FOOTPRINT, 1.25);
    row_count(&made, COLUMN_REQUESTED_PEAK, 1024);
    row_count(&made, COLUMN_RESERVED_PEAK, 1280);
    row_hex(&made, COLUMN_DIGEST, 0x1f);
    return made;
}

static void test_csv(void)
{
    row rows[2] = { make_row("replay:a \"b\"", "config:step=4M,growth=step"), make_row("x", "raw") };
    row_list list = { rows, 2, ROW_RUN, NULL, NULL };
    rows[1].is_baseline = 1;
    FILE *file = tmpfile();
    csv_write(file, &list);
    read_back(file);
    const char *second = strchr(written, '\n');
    CHECK(strncmp(written, "workload,policy,device,seed,ops,status,", 39) == 0);
    CHECK_STR(second ? second + 1 : "",
              "\"replay:a \"\"b\"\"\",\"config:step=4M,growth=step\",sim:80G,,,ok,,,,,,10,1000,,1024,,1280,1.2500,"
              ",,,,,,,,000000000000001f,,,,,,,,,,,,,,,,,,,\n");
}

static void test_json(void)
{
    row rows[1] = { make_row("replay:tab\there \xff\xc3\xa9", "a\\b\"c\n") };
    row_list list = { rows, 1, ROW_RUN, NULL, NULL };
    FILE *file = tmpfile();
    json_write(file, &list, "sim:80G", NULL, 1, NULL);
    read_back(file);
    CHECK(strstr(written, "\"policy\":\"a\\\\b\\\"c\\u000a\"") != NULL);
    CHECK(strstr(written, "\"workload\":\"replay:tab\\u0009here \\ufffd\xc3\xa9\"") != NULL);
    CHECK(strstr(written, "\"seed\":null") != NULL);
    CHECK(strstr(written, "\"driver_calls\":10,") != NULL);
    CHECK(strstr(written, "\"digest\":\"000000000000001f\"") != NULL);
    CHECK(strstr(written, "\"oom\":null,\"lat\":null") != NULL);
}

static size_t longest_line(const char *text)
{
    size_t longest = 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (length > longest) longest = length;
        text += length + (text[length] == '\n');
    }
    return longest;
}

static void test_table(void)
{
    static const char name[] = "replay:/a/path/that/is/long/medium_128_training_of_a_model_with_a_long_name.trace";
    row rows[3] = { make_row(name, "raw"), make_row(name, "config:growth=step,step=64M,limit=80%,alignment=512"),
                    make_row("train", "segments") };
    row_list list = { rows, 3, ROW_RUN, NULL, NULL };
    for (int index = 0; index < 3; index++) rows[index].cells[COLUMN_WORKLOAD].text = index < 2 ? name : "train";
    row_count(&rows[1], COLUMN_DRIVER_VNS, 250);
    for (int index = 0; index < 3; index++) row_tenths(&rows[index], COLUMN_HOST_NS, 100.0);
    snprintf(rows[2].note, sizeof rows[2].note, "%s",
             "a sentence that says why memory ran out, longer than any narrow line is");
    for (size_t width = 40; width <= 200; width += 20) {
        const table_style style = { width, 0 };
        FILE *file = tmpfile();
        table_write(file, &list, NULL, &style);
        read_back(file);
        CHECK_MSG(longest_line(written) <= width, "at %zu columns no line is longer (%zu)", width,
                  longest_line(written));
        CHECK_MSG(!strstr(written, " \n"), "at %zu columns no line ends in spaces", width);
    }
    CHECK_MSG(strstr(written, " 1.0 us") && strstr(written, " 250 ns*"), "times have units, and the best a star");
    CHECK_MSG(strstr(written, " +25.0 % "), "overhead, all alike: no star");
    CHECK(strstr(written, "train/segments: a sentence") != NULL);
    CHECK(strstr(written, "replay:medium_128") != NULL);
}

/* What the lines behind this text say, as one; "" without it. */
static const char *paragraph(const char *begin, char *text, size_t size)
{
    const char *from = strstr(written, begin);
    size_t used = 0;
    for (; from && used + 1 < size; from++) {
        if (*from == '\n' && from[1] != ' ') break;
        if (*from != '\n' && (*from != ' ' || (used && text[used - 1] != ' '))) text[used++] = *from;
    }
    text[used] = '\0';
    return text;
}

static const char *write_table(const row_list *list, size_t width)
{
    const table_style style = { width, 0 };
    FILE *file = tmpfile();
    table_write(file, list, NULL, &style);
    return read_back(file);
}

/* Of the headings of all columns those that the table's first line lacks: how many; SIZE_MAX where one of them is not
   told. A name may be cut: its heading, too. */
static size_t count_missing(const char *headings, const char *told)
{
    size_t missing = 0;
    for (const char *at = headings; *at; at += strspn(at, " ")) {
        char heading[40];
        const char *gap = strstr(at, "  "), *end = gap ? gap : at + strlen(at);
        snprintf(heading, sizeof heading, "%.*s", (int)(end - at), at);
        at = end;
        const char *found = strstr(written, heading);
        while (found && found[strlen(heading)] != '\n' && strncmp(found + strlen(heading), "  ", 2)) {
            found = strstr(found + 1, heading);
        }
        if (!strcmp(heading, "workload") || !strcmp(heading, "policy") || !strcmp(heading, "status")) continue;
        if (found && found < strchr(written, '\n')) continue;
        if (!strstr(told, heading)) return SIZE_MAX;
        missing++;
    }
    return missing;
}

static int is_whole_or_cut(const char *found, size_t length, const char *name)
{
    if (length == strlen(name)) return !strncmp(found, name, length);
    return length > 2 && !strncmp(found, name, length - 2) && !strncmp(found + length - 2, "..", 2);
}

/* Every column is there or said not to be; a name that is not whole ends in "..". */
static void test_narrow(row_kind kind)
{
    static const char workload[] = "train:layers=2,hidden=256,steps=1";
    char told[512], headings[512], begin[40];
    row rows[1] = { make_row(workload, "config:growth=step,step=64M") };
    const row_list list = { rows, 1, kind, NULL, NULL };
    memset(rows[0].note, 'x', 300);              /* a word that no line has room for */
    for (int column = COLUMN_SEED; column < COLUMN_COUNT; column++) {
        if (rows[0].cells[column].kind == CELL_NONE && column != COLUMN_ENDED && column != COLUMN_STOP_TEXT) {
            row_count(&rows[0], (row_column)column, 1234567);
        }
    }
    write_table(&list, 10000);
    CHECK_MSG(!strstr(written, "no room"), "kind %d: room for all", (int)kind);
    snprintf(headings, sizeof headings, "%.*s", (int)strcspn(written, "\n"), written);
    for (size_t width = 40; width <= 240; width += 5) {
        size_t names = 0;
        write_table(&list, width);
        snprintf(begin, sizeof begin, "no room in %zu columns for: ", width);
        paragraph(begin, told, sizeof told);
        for (const char *at = told; *at; at++) names += *at == ',';
        names += *told != '\0';
        CHECK_MSG(count_missing(headings, told) == names, "kind %d, %zu columns: what is left out is told: %s",
                  (int)kind, width, told);
        CHECK_MSG(longest_line(written) <= width, "kind %d, %zu columns: no line is longer (%zu)", (int)kind, width,
                  longest_line(written));
        const char *name = strchr(written, '\n') + 1;
        CHECK_MSG(is_whole_or_cut(name, strcspn(name, " "), workload),
                  "kind %d, %zu columns: whole, or cut aloud: %.34s", (int)kind, width, name);
    }
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
                                      UINT64_C(512) << 20, 12080, 13000, "570.86.15", 2, "1980 MHz",
                                      "0000:19:00.0", 90, 132, 1,
                                      "Enabled, Enabled, [N/A], Default", "0x0000000000000001" };

static void test_cuda_json(void)
{
    row rows[1] = { make_row("train", "raw") };
    row_list list = { rows, 1, ROW_RUN, NULL, NULL };
    cuda_environment bare = gpu;
    FILE *file = tmpfile();
    json_write(file, &list, "cuda:0", &gpu, 1, NULL);
    read_back(file);
    CHECK(strstr(written, "\"device\":{\"kind\":\"cuda\",\"name\":\"cuda:0\"},\"environment\":{\"name\":"
                 "\"A \\\"GPU\\\"\",\"uuid\":\"GPU-01234567-89ab-cdef-0123-456789abcdef\","
                 "\"total_bytes\":85899345920,\"other_bytes\":536870912,\"driver\":\"570.86.15\","
                 "\"driver_cuda\":\"12.8\",\"runtime_cuda\":\"13.0\","
                 "\"other_processes\":2,\"clocks\":\"1980 MHz\",\"free_bytes\":85362475008,\"pci\":\"0000:19:00.0\","
                 "\"compute_capability\":\"9.0\",\"multiprocessors\":132,\"ecc\":true,\"persistence\":\"Enabled\","
                 "\"ecc_mode\":\"Enabled\",\"mig_mode\":null,\"compute_mode\":\"Default\","
                 "\"throttle_reasons\":\"0x0000000000000001\"},\"cases\":[") != NULL);
    bare.driver[0] = '\0';
    bare.process_count = -1;
    bare.modes[0] = bare.throttle[0] = '\0';
    file = tmpfile();
    json_write(file, &list, "cuda:0", &bare, 1, NULL);
    read_back(file);
    CHECK(strstr(written, "\"driver\":null,") && strstr(written, "\"other_processes\":null,"));
    CHECK(strstr(written, "\"persistence\":null,\"ecc_mode\":null,\"mig_mode\":null,\"compute_mode\":null,"
                 "\"throttle_reasons\":null}") != NULL);
}

/* No virtual time: its columns are gone, and so is that of measured time where there is none. */
static void test_cuda_table(void)
{
    row rows[2] = { make_row("train", "raw"), make_row("train", "segments") };
    row_list list = { rows, 2, ROW_RUN, NULL, NULL };
    const table_style style = { 200, 0 };
    for (int index = 0; index < 2; index++) {
        rows[index].cells[COLUMN_DRIVER_VNS].kind = CELL_NONE;
        row_tenths(&rows[index], COLUMN_HOST_NS, index ? 500.0 : 100000.0);
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

int main(void)
{
    test_csv();
    test_json();
    test_table();
    test_narrow(ROW_RUN);
    test_narrow(ROW_CAPACITY);
    test_narrow(ROW_BATCH);
    test_cut();
    test_cuda_json();
    test_cuda_table();
    return tap_done();
}
