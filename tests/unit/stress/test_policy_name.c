/* Both names of a policy.
   It must not know policies. */
#include "stress/policy/policy_name.h"
#include "tap.h"

static void check_names(const char *shown, const char *name)
{
    char text[64], made[64];
    snprintf(text, sizeof text, "%s", shown);
    policy_name_shorten(text);
    CHECK_STR(text, name);
    CHECK_STR(policy_name_shown(name, made, sizeof made), shown);
}

int main(void)
{
    char made[8];
    check_names("cudaMalloc", "raw");
    check_names("cudaMallocAsync", "async");
    check_names("best-fit:limit=1G", "best:limit=1G");
    check_names("first-fit", "first");
    check_names("paged", "paged");
    check_names("cudaMallocs", "cudaMallocs");
    check_names("rawer", "rawer");
    check_names("", "");
    CHECK_STR(policy_name_shown("async:a=b", made, sizeof made), "cudaMal");
    return tap_done();
}
