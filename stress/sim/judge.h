/* Physical memory, granule by granule: facts about its bytes, at whichever addresses these are mapped; and the judge:
   who touched which bytes last, the touches that must come before the next one, and the findings, which are forbidden
   actions, each with its operation. It must not know streams, addresses or calls. */
#ifndef STRESS_SIM_JUDGE_H
#define STRESS_SIM_JUDGE_H

#include "base.h"

/* ---- Parts of a granule from one cut to the next. A change cuts at both of its ends, and joins equal neighbours */

typedef struct cuts_part { uint32_t from, mark; uint64_t value; } cuts_part;     /* up to the next part, or the end */

typedef struct cuts {                            /* zeroed: nothing has been said, which is of mark and value 0 */
    cuts_part *list;                             /* by from, the first's 0, neighbours differ */
    uint32_t   count;
    size_t     capacity;
} cuts;

/* How the user of parts treats their values. replace answers mark and value of a part from now on; `from` of the
   answer does not count. are_same tells whether two parts of one mark and different values are equal; NULL: they are
   not. copy: the part was cut off another, has that one's value, and gets its own. drop: the part's value is no
   longer used. NULL: that is nothing to do. */
typedef struct cuts_kind {
    cuts_part (*replace)(void *user, const cuts_part *part);
    int       (*are_same)(const cuts_part *one, const cuts_part *other);
    void      (*copy)(cuts_part *part);
    void      (*drop)(const cuts_part *part);
} cuts_kind;

/* Replaces bytes [from, to), part by part. O(log parts + parts in the range), and the parts behind move. clear: *self
   is zeroed. */
void cuts_change(cuts *self, uint32_t from, uint32_t to, const cuts_kind *kind, void *user);
void cuts_clear(cuts *self, const cuts_kind *kind);

/* ---- Granules */

enum { GRANULE_POISON = 0xA5 };                  /* bytes that nobody has written hold this */

/* Byte i holds GRANULE_POISON ^ even ^ (bytes ? bytes[i] : 0), so that memory of the host is touched only where bytes
   were written that are not all the same. */
typedef struct granule {                         /* zeroed: contents unknown, touched by nobody */
    cuts     patterns;                           /* values, of mark 1; of mark 0: nobody can say which */
    cuts     touched;                            /* values: histories of touches, see judge.c */
    unsigned char *bytes;                        /* 2 MiB; NULL: all bytes hold the same */
    unsigned char  even;                         /* 0, while bytes are shared */
    unsigned char  is_shared;                    /* 1: bytes lie in a file, which other processes may map, too */
} granule;

void granule_clear(granule *self);               /* zeroed, but for `touched` */

/* Bytes [from, to), from < to <= 2 MiB. fill: known 0 forgets them. matches: the first of the bytes that has not this
   pattern, or `to`. O(log parts), fill O(parts). */
void     granule_fill(granule *self, uint32_t from, uint32_t to, uint32_t known, uint64_t pattern);
uint32_t granule_matches(const granule *self, uint32_t from, uint32_t to, uint64_t pattern);

/* Real bytes of [from, to). write and set: the patterns of the range are forgotten; -1: no host memory, nothing done.
   A whole granule that gets one byte all over takes no host memory. is_even: all of the granule is known to hold one
   value. forget: patterns and bytes; a part of a granule may keep them when host memory is out. O(bytes), a whole
   granule that is set O(1). */
int  granule_write(granule *self, uint32_t from, uint32_t to, const unsigned char *source);
void granule_read(const granule *self, uint32_t from, uint32_t to, unsigned char *target);
int  granule_set(granule *self, uint32_t from, uint32_t to, unsigned char value);
int  granule_is_even(const granule *self, unsigned char *value);
void granule_forget(granule *self, uint32_t from, uint32_t to);

/* Its bytes are these 2 MiB from now on, a mapping of a file, and are unmapped when it has others. keep: the file
   gets what the granule holds; else the granule holds what is in the file. Patterns stay this process's own. */
void granule_share(granule *self, unsigned char *bytes, int keep);

/* ---- Findings */

enum { JUDGE_KEPT = 64, JUDGE_TEXT = 256 };

typedef struct judge {
    uint64_t op;                                 /* the one under way */
    int      op_begun;                           /* 0: the first has not begun */
    uint64_t count;                              /* of findings; the first JUDGE_KEPT have texts */
    uint64_t by_device[SIM_MAX_DEVICES];
    char     texts[JUDGE_KEPT][JUDGE_TEXT];
    uint8_t  are_of_order[JUDGE_KEPT];           /* 1: two uses that nothing orders */
} judge;

void judge_report(judge *book, int device, const char *format, ...) PROBLEM_FORMAT(3, 4);

/* ---- Vector clocks: for every line of work, the position up to which all is known to come before */

typedef struct vclock {                          /* zeroed: nothing is known */
    uint64_t *at;                                /* lines from count on: 0 */
    uint32_t  count;
} vclock;

void     vclock_reserve(vclock *clock, uint32_t count);      /* room for this many lines at least */
uint64_t vclock_get(const vclock *clock, uint32_t line);
void     vclock_join(vclock *clock, const vclock *other);
void     vclock_copy(vclock *clock, const vclock *other);
void     vclock_destroy(vclock *clock);                      /* zeroed afterwards */

/* ---- Touches: who touched which bytes of physical memory last, by parts of granules. The next owner's first touch
        must come after these */

typedef struct touch {
    uint64_t position, op, stream;
    uint32_t line;
    uint16_t is_launched;                        /* 1: by a graph */
    uint16_t is_own;                             /* 1: in this tenancy, as it is made; 0: in an earlier one */
    uint64_t place;                              /* through which addresses, of several that the bytes may have */
} touch;

typedef struct touch_by {
    touch         latest;
    uint64_t      owner;
    uint64_t      captured_op;                   /* by a graph: when it was captured */
    const vclock *seen;                          /* the touch comes after these positions */
    const vclock *host;                          /* the host has outlived these positions */
    int           is_end;                        /* 1: the tenancy ends. Whoever touches the bytes next comes after
                                                    the host, which has given them back. seen: the host's clock too;
                                                    of latest and owner nothing counts */
} touch_by;

typedef enum touch_verdict {
    TOUCH_UNORDERED,                             /* it does not come after another one */
    TOUCH_IN_ORDER,
    TOUCH_TAKEN                                  /* another owner, though in order, since a graph captured it */
} touch_verdict;

/* Adds a touch of bytes [from, to) of a granule, which is the latest from now on, in order or not. *other: the other
   touch, the first in memory, if there is one. O(log parts + parts in the range), and the parts behind move. */
touch_verdict touches_add(granule *touched, uint32_t from, uint32_t to, const touch_by *by, touch *other);

/* Looks alone: the first touch in memory through this place that the host has not outlived. 1: there is one. */
int  touches_pending(const granule *touched, uint64_t place, const vclock *host, touch *other);
void touches_forget(granule *touched);

#endif
