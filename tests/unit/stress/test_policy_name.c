/* Both names of a policy, and sizes in keys.
   It must not know policies.
   Run: build/tests/test_policy_name */
#include "stress/policy/policy_name.h"
#include "stress/base/slice.h"
#include "tap.h"

static void check_names(const char *shown, const char *name)
{
    char text[64], made[64];
    snprintf(text, sizeof text, "%s", shown);
    policy_name_shorten(text);
    CHECK_STR(text, name);
    CHECK_STR(policy_name_shown(name, made, sizeof made), shown);
}

static const char *sizes(const char *keys)
{
    static char made[64];
    return policy_name_sizes(keys, made, sizeof made);
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
    CHECK_STR(sizes("limit=4GiB,page=2mb"), "limit=4G,page=2m");
    CHECK_STR(sizes("limit=total-2GB,idle=5%,large=8M"), "limit=total-2G,idle=5%,large=8M");
    CHECK_STR(sizes("initial=4096B,limit=80%free"), "initial=4096,limit=80%free");
    CHECK_STR(sizes("backing=paged,x=4Gx,y=GB,"), "backing=paged,x=4Gx,y=GB,");
    CHECK_STR(sizes("0123456789012345678901234567890123456789012345678901234567890123456789"),
              "012345678901234567890123456789012345678901234567890123456789012");
    return tap_done();
}
