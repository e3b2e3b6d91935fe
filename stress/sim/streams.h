/* Streams: queues of work, each with the virtual time when its work is done, and with the work that is known to come
   before its next command. Time and order are apart: that one thing ended before another began, says nothing about
   order.
   It must not know of calls, codes, handles or memory. */
#ifndef STRESS_SIM_STREAMS_H
#define STRESS_SIM_STREAMS_H

#include "judge.h"

typedef enum stream_kind { STREAM_CREATED, STREAM_LEGACY, STREAM_PER_THREAD } stream_kind;

struct capture;

/* A point in a stream: the work that comes before it, and the time when it is passed. Zeroed: the beginning. */
typedef struct stream_mark { vclock seen; uint64_t end_ns; } stream_mark;

typedef struct stream_queue {
    stream_kind kind;
    int      device;                             /* its ordinal */
    int      is_blocking;                        /* 1: waits for the legacy stream, which waits for it */
    int      priority;                           /* the runtime's: nothing comes of it */
    int      is_closed;                          /* destroyed; commands that it was given go on */
    uint64_t id;                                 /* never given again, from 1; legacy: STREAMS_LEGACY_ID + device */
    uint64_t thread;                             /* whose, if it is a thread's */
    uint32_t line;
    stream_mark done;                            /* before the next command; own line: the latest's position */
    struct capture *capture;                     /* engine.h; NULL: it is not capturing */
    stream_mark captured;                        /* while capturing: as done, of the captured work alone, in time from
                                                    the launch on */
} stream_queue;

#define STREAMS_LEGACY_ID ((uint64_t)1 << 32)

typedef struct streams {                         /* zeroed: none */
    stream_queue **list;                         /* closed ones until the host has outlived them */
    uint32_t  count, closed_count;
    size_t    capacity;
    uint32_t *idle_lines;
    uint32_t  idle_count, line_count;
    vclock    host;
    uint64_t  last_id;
} streams;

void     streams_destroy(streams *all);

void     mark_join(stream_mark *mark, const stream_mark *other);     /* comes after both */
void     mark_copy(stream_mark *mark, const stream_mark *other);
/* One command of the line further, which takes so long and begins at now_ns or later. */
void     mark_advance(stream_mark *mark, const streams *all, uint32_t line, uint64_t now_ns, uint64_t work_ns);

/* thread: of STREAM_PER_THREAD. */
stream_queue *streams_create(streams *all, stream_kind kind, int device, int is_blocking, uint64_t thread);
stream_queue *streams_find(const streams *all, stream_kind kind, int device, uint64_t thread);   /* or NULL */
/* self NULL: all of the device's, default ones too. */
void     streams_close(streams *all, const stream_queue *self, int device);

/* Issues the next command of the stream, which takes work_ns, by the legacy stream's rules: a blocking stream's
   command comes after the device's legacy stream's, that one's after all blocking streams' that are not closed. */
void     streams_issue(streams *all, stream_queue *self, uint64_t now_ns, uint64_t work_ns);
void     streams_follow(streams *all, stream_queue *self, uint64_t now_ns, const stream_mark *mark);

int      streams_is_outlived(const streams *all, const stream_queue *self);  /* 1: the host knows that all is done */
/* The host has seen the mark; or all commands that the device was given, those of closed streams included: the time
   when they end. */
void     streams_host_follow(streams *all, const stream_mark *mark);
uint64_t streams_host_outlive(streams *all, int device);

#endif
