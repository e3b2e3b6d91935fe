/* Fuzz target: configuration text, as programs and the environment give it.
   It must not open an arena.
   Run: make fuzz FUZZ=config; its corpus: build/tests/fuzz_config */
#include "gpuarena.h"
#include "fuzz.h"

static void fuzz_one(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), first[2048], second[2048], message[256];
    gpuarena_config config = GPUARENA_INIT, again = GPUARENA_INIT, untouched = GPUARENA_INIT;
    if (gpuarena_config_parse(text, &config, message, sizeof message)) {
        fuzz_expect(message[0] && strlen(message) < sizeof message, "a refusal has a message");
        fuzz_expect(!memcmp(&config, &untouched, sizeof config), "a refusal changes nothing");
    } else {
        fuzz_expect(gpuarena_config_text(&config, first, sizeof first) < sizeof first, "the text has an end");
        fuzz_expect(!gpuarena_config_parse(first, &again, message, sizeof message), "the text parses back");
        gpuarena_config_text(&again, second, sizeof second);
        fuzz_expect(!strcmp(first, second), "to the same");
    }
    free(text);
}

FUZZ_TARGET(config)
