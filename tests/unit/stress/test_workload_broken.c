/* Tests of `replay` on everything that can be broken: each input's message and line, files that cannot be read.
   Knows nothing of what is made of good input: test_workload_replay.c. */
#include <sys/stat.h>

#include "workload_text.h"

#define TRACE "gpuarena-trace 1\n"
#define RMM "Thread,Time,Action,Pointer,Size,Stream\n"
#define OLD_RMM "Time,Action,Pointer,Size,Stream\n"
#define IVAL "id,lower,upper,size\n"
#define TEXT(literal) literal, sizeof literal - 1

static const struct { const char *name, *bytes; size_t length; int line; const char *message; } broken[] = {
    { "empty file", TEXT(""), 1, "the file is empty, expected a trace" },
    { "only a newline", TEXT("\n"), 1, "\"\", expected \"gpuarena-trace 1\", \"Thread,Time,Action," },
    { "binary garbage", TEXT("\x7f" "ELF\x02\x01\0\0\n\n"), 1,
      "\"\\x7fELF\\x02\\x01\\x00\\x00\", expected \"gpuarena-trace 1\"" },
    { "another text", TEXT("hello\n"), 1, "\"hello\", expected \"gpuarena-trace 1\"" },
    { "another version", TEXT("gpuarena-trace 2\na 1 2 0\n"), 1,
      "\"gpuarena-trace 2\", expected \"gpuarena-trace 1\"" },
    { "two carriage returns", TEXT("gpuarena-trace 1\r\r\n"), 1,
      "\"gpuarena-trace 1\\x0d\", expected \"gpuarena-trace 1\"" },
    { "a carriage return within", TEXT(TRACE "a 1\r 2 0\n"), 2, "ID is \"1\\x0d\", expected a decimal number" },
    { "a line behind others with carriage returns", TEXT("\xef\xbb\xbfgpuarena-trace 1\r\n# c\r\nf 8\r\n"), 3,
      "\"8\" was never allocated, expected a live block" },
    { "a byte order mark alone", TEXT("\xef\xbb\xbf"), 1, "the file is empty, expected a trace" },
    { "two byte order marks", TEXT("\xef\xbb\xbf\xef\xbb\xbf" TRACE), 1, "expected \"gpuarena-trace 1\"" },
    { "header not ended", TEXT("gpuarena-trace 1"), 1, "\"gpuarena-trace 1\" is cut off, expected a newline" },
    { "last line not ended", TEXT(TRACE "a 1 2 0\nf 1"), 3, "\"f 1\" is cut off, expected a newline at its end" },
    { "last number cut short", TEXT(TRACE "a 1 1048576 0\na 2 104"), 3, "\"a 2 104\" is cut off, expected" },
    { "nothing missing but the newline", TEXT(TRACE "a 1 2 0\nf 1 0"), 3, "\"f 1 0\" is cut off, expected" },
    { "cut within its line's end", TEXT(TRACE "a 1 2 0\r"), 2, "\"a 1 2 0\\x0d\" is cut off, expected a newline" },
    { "comment not ended", TEXT(TRACE "# end"), 2, "\"# end\" is cut off, expected a newline" },
    { "empty line", TEXT(TRACE "\n"), 2, "\"\", expected a line that begins with a, f, s, k, w or #" },
    { "unknown operation", TEXT(TRACE "a 1 2 0\nx 1\n"), 3,
      "\"x 1\", expected a line that begins with a, f, s, k, w or #" },
    { "operation of two letters", TEXT(TRACE "aa 1 2 0\n"), 2, "\"aa 1 2 0\", expected a line that begins with" },
    { "indented", TEXT(TRACE " a 1 2 0\n"), 2, "\" a 1 2 0\", expected a line that begins with" },
    { "NUL bytes", TEXT(TRACE "a\0001 2 0\n"), 2, "\"a\\x001 2 0\", expected a line" },
    { "NUL in a number", TEXT(TRACE "a 1\000 2 0\n"), 2, "ID is \"1\\x00\", expected a decimal number below 2^64" },
    { "bare a", TEXT(TRACE "a\n"), 2, "the line ends before ID, expected `a ID BYTES STREAM [TAG]`" },
    { "a without bytes", TEXT(TRACE "a 1\n"), 2, "the line ends before BYTES, expected `a ID BYTES STREAM [TAG]`" },
    { "a without stream", TEXT(TRACE "a 1 2\n"), 2, "the line ends before STREAM, expected `a ID BYTES" },
    { "bad number", TEXT(TRACE "a 1 12x 0\n"), 2, "BYTES is \"12x\", expected a decimal number below 2^64 in `a ID" },
    { "two spaces", TEXT(TRACE "a 1  2 0\n"), 2, "BYTES is \"\", expected a decimal number" },
    { "space at the end", TEXT(TRACE "a 1 2 0 \n"), 2, "TAG is \"\", expected one word in `a ID" },
    { "tab", TEXT(TRACE "a 1\t2 0\n"), 2, "ID is \"1\\x092\", expected a decimal number" },
    { "negative", TEXT(TRACE "a 1 -2 0\n"), 2, "BYTES is \"-2\", expected a decimal number" },
    { "leading zero", TEXT(TRACE "a 01 2 0\n"), 2, "ID is \"01\", expected a decimal number" },
    { "2^64 bytes", TEXT(TRACE "a 1 18446744073709551616 0\n"), 2,
      "BYTES is \"18446744073709551616\", expected a decimal" },
    { "2^64 id", TEXT(TRACE "a 18446744073709551616 1 0\n"), 2,
      "ID is \"18446744073709551616\", expected a decimal" },
    { "sum of 2^64", TEXT(TRACE "a 1 18446744073709551615 0\na 2 1 0\n"), 3,
      "1 bytes beside 18446744073709551615 live" },
    { "two tags", TEXT(TRACE "a 1 2 0 one two\n"), 2,
      "\"two\" after the last field, expected `a ID BYTES STREAM [TAG]`" },
    { "tag with a control", TEXT(TRACE "a 1 2 0 \x1b[0m\n"), 2, "TAG is \"\\x1b[0m\", expected one word" },
    { "allocated twice", TEXT(TRACE "a 7 2 0\n# c\na 7 3 0\n"), 4, "\"7\" is live since line 2, expected its free" },
    { "unknown id", TEXT(TRACE "a 7 2 0\nf 8\n"), 3, "\"8\" was never allocated, expected a live block" },
    { "double free", TEXT(TRACE "a 7 2 0\nf 7\nf 7\n"), 4,
      "\"7\" is free already, since line 3, expected a live block" },
    { "free with a bad stream", TEXT(TRACE "a 7 2 0\nf 7 x\n"), 3, "STREAM is \"x\", expected a decimal number" },
    { "free with more", TEXT(TRACE "a 7 2 0\nf 7 0 0\n"), 3, "\"0\" after the last field, expected `f ID [STREAM]`" },
    { "step without label", TEXT(TRACE "s\n"), 2, "the line ends before LABEL, expected `s LABEL`" },
    { "step with two words", TEXT(TRACE "s one two\n"), 2, "\"two\" after the last field, expected `s LABEL`" },
    { "kernel without time", TEXT(TRACE "k 0\n"), 2,
      "the line ends before NANOSECONDS, expected `k STREAM NANOSECONDS" },
    { "kernel on nothing", TEXT(TRACE "k 0 5 3\n"), 2, "\"3\" was never allocated, expected a live block" },
    { "kernel on a freed block", TEXT(TRACE "a 3 1 0\nf 3\nk 0 5 3\n"), 4, "\"3\" is free already, since line 3" },
    { "kernel with a space at its end", TEXT(TRACE "k 0 5 \n"), 2, "ID is \"\", expected a decimal number" },
    { "wait for none", TEXT(TRACE "w 1\n"), 2, "the line ends before STREAM2, expected `w STREAM STREAM2`" },
    { "wait for two", TEXT(TRACE "w 1 2 3\n"), 2, "\"3\" after the last field, expected `w STREAM STREAM2`" },
    { "rmm: other columns", TEXT("Thread,Time,Action,Pointer,Size\n"), 1,
      "expected \"gpuarena-trace 1\", \"Thread,Time" },
    { "rmm: short row", TEXT(RMM "1,10:00:00.000001,allocate,0x10,16\n"), 2,
      "the line ends before its last column, expected" },
    { "rmm: long row", TEXT(OLD_RMM "t,allocate,0x10,16,0,9\n"), 2,
      "\"9\" after the last field, expected Time,Action" },
    { "rmm: short row", TEXT(RMM "1,t,allocate,0x10,16,0\n1,t,free,0x1\n"), 3,
      "the line ends before its last column" },
    { "rmm: cut row", TEXT(RMM "1,t,allocate,0x10,16,0\n1,t,free,0x1"), 3,
      "is cut off, expected a newline at its end" },
    { "rmm: header not ended", TEXT("Thread,Time,Action,Pointer,Size,Stream"), 1, "is cut off, expected a newline" },
    { "intervals: header not ended", TEXT("id,lower,upper,size"), 1, "is cut off, expected a newline at its end" },
    { "intervals: cut row", TEXT(IVAL "1,0,5,10"), 2, "\"1,0,5,10\" is cut off, expected a newline at its end" },
    { "rmm: action", TEXT(RMM "1,t,allocated,0x10,16,0\n"), 2, "Action is \"allocated\", expected allocate, free," },
    { "rmm: pointer", TEXT(RMM "1,t,allocate,10,16,0\n"), 2, "Pointer is \"10\", expected a 0x hexadecimal number" },
    { "rmm: pointer of 2^64", TEXT(RMM "1,t,free,0x10000000000000000,16,0\n"), 2,
      "Pointer is \"0x10000000000000000\"" },
    { "rmm: null with bytes", TEXT(RMM "1,t,allocate,(nil),16,0\n"), 2,
      "Pointer is \"(nil)\" for 16 bytes, expected an" },
    { "rmm: size", TEXT(RMM "1,t,allocate,0x10,1.5,0\n"), 2,
      "Size is \"1.5\", expected a decimal number below 2^64" },
    { "rmm: stream", TEXT(RMM "1,t,allocate,0x10,16,zero\n"), 2, "Stream is \"zero\", expected a decimal or 0x" },
    { "rmm: unknown", TEXT(RMM "1,t,free,0x10,16,0\n"), 2, "\"0x10\" was never allocated, expected a live block" },
    { "rmm: double free", TEXT(RMM "1,t,allocate,0x10,1,0\n1,t,free,0x10,1,0\n1,t,free,0x10,1,0\n"), 4,
      "\"0x10\" is free already, since line 3, expected a live block" },
    { "rmm: allocated twice", TEXT(RMM "1,t,allocate,0x10,1,0\n1,t,allocate,0x10,1,0\n"), 3,
      "\"0x10\" is live since line 2" },
    { "rmm: empty line", TEXT(RMM "\n"), 2, "the line ends before its last column" },
    { "intervals: order", TEXT(IVAL "1,0,5,8\n2,5,5,8\n"), 3, "lower is 5 and upper 5, expected lower < upper" },
    { "intervals: backwards", TEXT(IVAL "1,6,5,8\n"), 2, "lower is 6 and upper 5, expected lower < upper" },
    { "intervals: number", TEXT(IVAL "1,0,5.5,8\n"), 2,
      "upper is \"5.5\", expected a decimal number below 2^64 in id,lower," },
    { "intervals: id", TEXT(IVAL "b 1,0,5,8\n"), 2, "id is \"b 1\", expected a number or a word in id,lower," },
    { "intervals: no id", TEXT(IVAL ",0,5,8\n"), 2, "id is \"\", expected a number or a word" },
    { "intervals: 2^64", TEXT(IVAL "1,0,18446744073709551616,8\n"), 2, "upper is \"18446744073709551616\"" },
    { "intervals: short", TEXT(IVAL "1,0,5\n"), 2, "the line ends before size, expected id,lower,upper,size" },
    { "intervals: long", TEXT(IVAL "1,0,5,8,9\n"), 2, "\"9\" after the last field, expected id,lower,upper,size" },
    { "intervals: offset", TEXT("id,lower,upper,size,offset\n1,0,5,8\n"), 2, "the line ends before offset" },
    { "intervals: id twice", TEXT(IVAL "1,0,5,8\n2,0,9,8\n1,4,9,8\n"), 4,
      "\"1\" is live since line 2, expected its free" },
    { "intervals: sum", TEXT(IVAL "1,0,5,18446744073709551615\n2,1,5,1\n"), 3,
      "1 bytes beside 18446744073709551615 live" },
    { "intervals: empty line", TEXT(IVAL "1,0,5,8\n\n"), 3, "id is \"\", expected a number or a word" }
};

/* One line, which begins with the file and the line number, and says what was expected. */
static void check_refused(const char *name, const problem *why, int result, int line, const char *message)
{
    char place[64];
    snprintf(place, sizeof place, "%s:%d: ", trace_path, line);
    int is_right = result == -1 && why->exit_code == EXIT_USAGE && strncmp(why->text, place, strlen(place)) == 0 &&
                   strstr(why->text, message) && strstr(why->text, "expected") && !strchr(why->text, '\n');
    if (!CHECK_MSG(is_right, "refused on line %d: %s", line, name)) {
        printf("#   %s\n#   expected: %s\n", why->text, message);
    }
}

static void test_broken(void)
{
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        op_stream stream;
        problem why;
        int result = replay_bytes(broken[i].bytes, broken[i].length, &stream, &why);
        check_refused(broken[i].name, &why, result, broken[i].line, broken[i].message);
        CHECK_MSG(!stream.ops && !stream.ids && !stream.labels, "and nothing is left behind");
    }
}

static void test_long_line(size_t length, int is_accepted)
{
    op_stream stream;
    problem why;
    char *bytes = malloc(length + 32);
    if (!bytes) {
        give_up("no memory");
    }
    size_t start = (size_t)sprintf(bytes, TRACE "#");
    memset(bytes + start, 'c', length - 1);
    bytes[start + length - 1] = '\n';
    int result = replay_bytes(bytes, start + length, &stream, &why);
    if (is_accepted) {
        CHECK_MSG(result == 0, "a line of %zu bytes is read", length);
        op_stream_free(&stream);
    } else {
        check_refused("a line too long", &why, result, 2, "a line of 1048577 bytes, expected at most 1048576");
    }
    free(bytes);
}

static void check_file_refused(const char *path, const char *message)
{
    char spec[500];
    op_stream stream;
    problem why;
    snprintf(spec, sizeof spec, "replay:%s", path);
    int result = make_plain(spec, &stream, &why);
    if (!CHECK_MSG(result == -1 && why.exit_code == EXIT_USAGE && strcmp(why.text, message) == 0, "%.60s", message)) {
        printf("#   %s\n", why.text);
    }
}

/* A sparse file, one byte too long. */
static void test_huge_file(void)
{
    char message[120];
    write_trace("", 0);
    if (truncate(trace_path, (1 << 29) + 1)) {
        SKIP("a file of more than 512 MiB: the file system refuses it");
        return;
    }
    snprintf(message, sizeof message, "%s: more than 536870912 bytes, expected a shorter trace", trace_path);
    check_file_refused(trace_path, message);
}

static void test_files(void)
{
    char longest[400];
    check_file_refused("/", "/: Is a directory, expected a trace to read");
    check_file_refused("/nowhere/x.trace", "/nowhere/x.trace: No such file or directory, expected a trace to read");
    check_file_refused("/no\nwhere", "/no?where: No such file or directory, expected a trace to read");
    memset(longest, 'p', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    op_stream stream;
    problem why;
    char spec[500];
    snprintf(spec, sizeof spec, "replay:%s", longest);
    CHECK_INT(make_plain(spec, &stream, &why), ==, -1);
    CHECK_MSG(strncmp(why.text, "...ppp", 6) == 0 && strstr(why.text, ", expected a trace to read"),
              "of a long path the end is shown: %.20s", why.text);
    if (geteuid() == 0) {
        SKIP("a file that may not be read: root reads all files");
        return;
    }
    write_trace(TEXT(TRACE));
    chmod(trace_path, 0);
    char message[200];
    snprintf(message, sizeof message, "%s: Permission denied, expected a trace to read", trace_path);
    check_file_refused(trace_path, message);
    chmod(trace_path, 0600);
}

int main(void)
{
    test_broken();
    test_long_line(1048576, 1);
    test_long_line(1048577, 0);
    test_huge_file();
    test_files();
    return tap_done();
}
