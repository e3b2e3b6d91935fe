/* Opcodes, eleven of them.
   It must not know what is written.
   Tested by tests/timelines.t. */
#include "pickle.h"

#include <stdlib.h>
#include <string.h>

#include "../base/text.h"

static void pickle_little_endian(pickle *self, uint64_t number, unsigned bytes)
{
    for (unsigned at = 0; at < bytes; at++) fputc((int)(number >> at * 8 & 0xFF), self->out);
}

void pickle_begin(pickle *self)
{
    fputs("\x80\x02", self->out);
}

void pickle_end(pickle *self)
{
    fputc('.', self->out);
}

/* 1: well-formed to its end. */
static int pickle_is_utf8(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    for (size_t length; *at; at += length) {
        length = utf8_length(at);
        if (!length) return 0;
    }
    return 1;
}

static void pickle_unicode(pickle *self, const char *text, size_t length)
{
    fputc('X', self->out);
    pickle_little_endian(self, length, 4);
    fwrite(text, 1, length, self->out);
}

/* Each byte that belongs to no sequence is replaced: three bytes for one. */
static void pickle_repaired(pickle *self, const char *text)
{
    size_t used = 0, length;
    char *whole = malloc(strlen(text) * 3 + 1);
    for (const char *at = text; whole && *at; at += length ? length : 1) {
        length = utf8_length((const unsigned char *)at);
        memcpy(whole + used, length ? at : "\xEF\xBF\xBD", length ? length : 3);
        used += length ? length : 3;
    }
    pickle_unicode(self, whole ? whole : "", used);
    free(whole);
}

void pickle_text(pickle *self, const char *text)
{
    if (pickle_is_utf8(text)) pickle_unicode(self, text, strlen(text));
    else pickle_repaired(self, text);
}

void pickle_word(pickle *self, const char *word)
{
    for (unsigned at = 0; at < self->word_count; at++) {
        if (strcmp(self->words[at], word)) continue;
        fputc('h', self->out);
        fputc((int)at, self->out);
        return;
    }
    pickle_unicode(self, word, strlen(word));
    if (self->word_count == PICKLE_MOST_WORDS) return;
    fputc('q', self->out);
    fputc((int)self->word_count, self->out);
    self->words[self->word_count++] = word;
}

void pickle_number(pickle *self, uint64_t number)
{
    if (number < 256) {
        fputc('K', self->out);
        fputc((int)number, self->out);
    } else {
        fputs("\x8a\x08", self->out);
        pickle_little_endian(self, number, 8);
    }
}

void pickle_truth(pickle *self, int is_true)
{
    fputc(is_true ? 0x88 : 0x89, self->out);
}

void pickle_dict_begin(pickle *self)
{
    fputs("}(", self->out);
}

void pickle_dict_end(pickle *self)
{
    fputc('u', self->out);
}

void pickle_list_begin(pickle *self)
{
    fputs("](", self->out);
}

void pickle_item(pickle *self, pickle_list *list)
{
    if (list->count > 0 && list->count % PICKLE_BATCH == 0) fputs("e(", self->out);
    list->count++;
}

void pickle_list_end(pickle *self)
{
    fputc('e', self->out);
}
