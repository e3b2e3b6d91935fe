/* One process a question, its answer line by line; anything odd is "not known".
   It must not know what the answers are for.
   Tested by tests/cuda_stress.t. */
#include "nvidia_smi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void nvidia_smi_line(const char *line, void *user);

/* As `timeout` ends: it had to end the program, or to kill it. */
static int nvidia_smi_hung(int status)
{
    return WIFEXITED(status) && (WEXITSTATUS(status) == 124 || WEXITSTATUS(status) == 137);
}

/* UNKNOWN: no such program, it failed, or a line is longer than any answer or has no end. HANGS: it took more than 5
   seconds (on a GPU that hangs it has no end). */
static int nvidia_smi_ask(const char *uuid, const char *query, nvidia_smi_line *tell, void *user)
{
    char command[256], line[256];
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-";
    if (uuid[strspn(uuid, plain)]) return NVIDIA_SMI_UNKNOWN;
    snprintf(command, sizeof command,
             "timeout -k 1 5 nvidia-smi --id=%s --query-%s --format=csv,noheader 2>/dev/null", uuid, query);
    int odd = 0;
    FILE *answer = popen(command, "r");
    if (!answer) return NVIDIA_SMI_UNKNOWN;
    while (fgets(line, sizeof line, answer)) {
        size_t length = strlen(line);
        odd |= !length || line[length - 1] != '\n';
        line[strcspn(line, "\r\n")] = '\0';
        if (!odd) tell(line, user);
    }
    int status = pclose(answer);
    return nvidia_smi_hung(status) ? NVIDIA_SMI_HANGS : status || odd ? NVIDIA_SMI_UNKNOWN : 0;
}

typedef struct nvidia_smi_tally { int others, odd; } nvidia_smi_tally;

static void nvidia_smi_count(const char *line, void *user)
{
    nvidia_smi_tally *tally = user;
    char *end;
    long process = strtol(line, &end, 10);
    if (end == line || *end) tally->odd = 1;     /* "[Insufficient Permissions]" and the like */
    else tally->others += process != (long)getpid();
}

int nvidia_smi_processes(const char *uuid)
{
    nvidia_smi_tally tally = { 0, 0 };
    int failed = nvidia_smi_ask(uuid, "compute-apps=pid", nvidia_smi_count, &tally);
    return failed ? failed : tally.odd ? NVIDIA_SMI_UNKNOWN : tally.others;
}

typedef struct nvidia_smi_word { char *text; size_t size; } nvidia_smi_word;

static void nvidia_smi_keep(const char *line, void *user)
{
    const nvidia_smi_word *kept = user;
    snprintf(kept->text, kept->size, "%s", line);
}

/* An answer of one line, of these characters alone; else "". */
static void nvidia_smi_read(const char *uuid, const char *query, const char *plain, char *text, size_t size)
{
    nvidia_smi_word kept = { text, size };
    text[0] = '\0';
    if (nvidia_smi_ask(uuid, query, nvidia_smi_keep, &kept) || text[strspn(text, plain)]) text[0] = '\0';
}

void nvidia_smi_driver(const char *uuid, char *text, size_t size)
{
    nvidia_smi_read(uuid, "gpu=driver_version", "0123456789.", text, size);
}

void nvidia_smi_clocks(const char *uuid, char *text, size_t size)
{
    nvidia_smi_read(uuid, "gpu=clocks.sm,clocks.max.sm,clocks.mem", "0123456789 ,MHz", text, size);
}

void nvidia_smi_modes(const char *uuid, char *text, size_t size)
{
    nvidia_smi_read(uuid, "gpu=persistence_mode,ecc.mode.current,mig.mode.current,compute_mode",
                    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz ,_/[]", text, size);
}

void nvidia_smi_throttle(const char *uuid, char *text, size_t size)
{
    nvidia_smi_read(uuid, "gpu=clocks_throttle_reasons.active", "0123456789abcdefABCDEFx", text, size);
}
