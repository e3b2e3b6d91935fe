/* For .ci/adversary: the fuzzer draws keys that the header no longer has; they are taken out of the text. */
#define GPUARENA_NO_CUDA
#include "gpuarena.h"
#include <stdio.h>
#include <string.h>

/* Where the key or preset stands that a message calls a former one; NULL: it does not. */
static char *former_item(char *text, const char *message)
{
    int is_former = strstr(message, ": gone;") || strstr(message, ": a rival in stress");
    size_t length = is_former ? strcspn(message, "=:") : 0;
    char *item = text;
    while (length && (strncmp(item, message, length) || !strchr("=,", item[length]))) {
        item += strcspn(item, ",");
        if (!*item++) return NULL;
    }
    return length ? item : NULL;
}

static gpuarena_result parse_without_former_keys(const char *text, gpuarena_config *config, char *message,
                                                 size_t size)
{
    char left[2000], said[400], *item;
    gpuarena_result result;
    snprintf(left, sizeof left, "%s", text);
    while ((result = gpuarena_config_parse(left, config, said, sizeof said))
           && (item = former_item(left, said)) != NULL) {
        char *behind = item + strcspn(item, ",");
        if (*behind) memmove(item, behind + 1, strlen(behind));
        else *(item > left ? item - 1 : item) = '\0';
    }
    if (message && size) snprintf(message, size, "%s", said);
    return result;
}
#define gpuarena_config_parse parse_without_former_keys
