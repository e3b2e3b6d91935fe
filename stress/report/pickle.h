/* Python's pickles, protocol 2, as far as dictionaries, lists, texts and numbers go.
   Knows nothing of what is in them. Tested by tests/timelines.t. */
#ifndef STRESS_REPORT_PICKLE_H
#define STRESS_REPORT_PICKLE_H

#include <stdint.h>
#include <stdio.h>

enum { PICKLE_MOST_WORDS = 200, PICKLE_BATCH = 1000 };

typedef struct pickle {                          /* zeroed but for out */
    FILE       *out;
    const char *words[PICKLE_MOST_WORDS];        /* written before, and known to the reader by their place */
    unsigned    word_count;
} pickle;

typedef struct pickle_list { unsigned count; } pickle_list;      /* zeroed: of no items yet */

/* A value is one of these, or a dictionary or list begun and ended. Keys and values take turns in a dictionary. */
void pickle_begin(pickle *self);
void pickle_end(pickle *self);
void pickle_word(pickle *self, const char *word);        /* a constant of the program: written out once */
void pickle_text(pickle *self, const char *text);        /* what is no UTF-8 becomes U+FFFD */
void pickle_number(pickle *self, uint64_t number);       /* below 2^63 */
void pickle_truth(pickle *self, int is_true);
void pickle_dict_begin(pickle *self);
void pickle_dict_end(pickle *self);
/* pickle_item before each: readers take lists by batches. */
void pickle_list_begin(pickle *self);
void pickle_item(pickle *self, pickle_list *list);
void pickle_list_end(pickle *self);

#endif
