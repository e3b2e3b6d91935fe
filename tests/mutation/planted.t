#!/usr/bin/perl
# Plants one defect of ordering after the other in a copy of gpuarena.h, and demands that tests/property/test_space.c finds
# each within 200,000 operations: by a finding of the simulated device's judge, by a property that it names, or by an
# assert.
# It must not know the test. Run: prove tests/mutation/planted.t (PLANTED=REGEX: only those; PLANTED_JOBS: at once, 2)
use strict;
use warnings;
require './tests/mutation/planted.pl';

my @planted = (
    ['a hit takes another stream\'s block without a wait',
     q@    return gpuarena__better(arena, index, gpuarena__record_search(arena, 0, bytes, req));@,
     q@for (uint32_t at = 1; record && !index && at < arena->streams.count; at++)
           if (!arena->streams.list[at].home) index = gpuarena__record_search(arena, at, bytes, req);
       return index ? index : gpuarena__record_search(arena, 0, bytes, req);@],
    ['neighbours of two streams merge',
     q@return GPUARENA__LIKELY(node->record == other->record)
        || (other->record != GPUARENA__MULTI_STREAM && !arena->streams.many);@,
     q@return node->record == other->record || (other->record != GPUARENA__MULTI_STREAM && (!arena->streams.many || (node->record && other->record
         && !arena->streams.list[node->record].home && !arena->streams.list[other->record].home)));@],
    ['a merge loses the later ticket',
     q@node->ticket = gpuarena__max(node->ticket, other->ticket);@,
     q@node->ticket = gpuarena__min(node->ticket, other->ticket);@],
    ['the rest of a split waits for nothing',
     q@gpuarena__bin_insert(arena, gpuarena__bins_of(arena, heap, rest), node->next, rest);@,
     q@rest->record = 0; gpuarena__bin_insert(arena, gpuarena__bins_of(arena, heap, rest), node->next, rest);@],
    ['a stream is forgotten without an event, as if all it had were done',
     q@if (own->ref_count) own->ticket++;@,
     q@own->quiet = own->recorded = own->ticket; (void)gpuarena__record_move(arena, record, UINT64_MAX, 0, 0);@],
    ['what live blocks are used for on a stream is not behind its last event',
     q@if (own->ref_count) own->ticket++;@, q@@],
    ['an event tells of a later free than it was recorded after',
     q@            stream->quiet = event->ticket;@, q@            stream->quiet = stream->ticket;@],
    ['an event that is not ready is taken for ready',
     q@if (status == GPUARENA_STATUS_NOT_READY || status == GPUARENA_STATUS_CAPTURING) break;@,
     q@if (status == GPUARENA_STATUS_CAPTURING) break;
       if (status == GPUARENA_STATUS_NOT_READY) stream->quiet = event->ticket;@],
    ['a query that failed is taken for ready',
     q@if (status == GPUARENA_STATUS_NOT_READY || status == GPUARENA_STATUS_CAPTURING) break;@,
     q@if (status == GPUARENA_STATUS_NOT_READY || status == GPUARENA_STATUS_CAPTURING) break;
       stream->quiet = event->ticket;@],
    ['a record that failed is taken for done',
     q@if (!at || !GPUARENA__ASK(arena, error, events, record, (&arena->driver, event, stream->handle))) {@,
     q@if (at) (void)GPUARENA__ASK(arena, error, events, record, (&arena->driver, event, stream->handle));
       if (!at) {@],
    ['a stream\'s blocks are stolen without a wait',
     q@uint32_t record = gpuarena__record_of(waits);@, q@uint32_t record = use_at ? waits->record : 0;@],
    ['a wait that failed is taken for done',
     q@if (!GPUARENA__ASK(arena, NULL, events, stream_wait, (&arena->driver, waits, event))) {
        arena->stats.event_error_count++;
        return 0;
    }@, q@(void)GPUARENA__ASK(arena, NULL, events, stream_wait, (&arena->driver, waits, event));@],
    ['the wait is for the oldest event', q@event = arena->events.list[stream->last_event].handle;@,
     q@event = arena->events.list[stream->first_event].handle;@],
    ['gpuarena_use is ignored',
     q@if (!record || !gpuarena__uses_add(arena, gpuarena__node_at(arena, index), record))@, q@if (!record)@],
    ['a free drops the uses on other streams', q@if (!ticket || ticket <= stream->quiet) {@, q@if (1) {@],
    ['uses on hold are let go as the stream they were freed on is done',
     q@if (held->ticket <= arena->streams.list[held->record].quiet) gpuarena__uses_drop(arena, use_at);@,
     q@if (!ticket || held->ticket <= arena->streams.list[held->record].quiet) gpuarena__uses_drop(arena, use_at);@],
    ['a free as OWN is one on no stream',
     q@at = own->under && own->state ? own->under : node->record;@, q@return 0;@],
    ['a closed record is another stream\'s while blocks wait for it',
     q@if (stream->use_count || stream->ref_count || stream->guest_count || gpuarena__has_blocks(arena, at))@,
     q@if (stream->use_count || stream->ref_count)@],
    ['a stolen block has no ticket of its own where it is now: a third stream does not wait for it',
     q@ticket = ++arena->streams.list[req->record].ticket;@, q@ticket = arena->streams.list[req->record].ticket;@],
    ['a thread\'s own stream is known by its handle alone', q@key = gpuarena__thread_number();@, q@key = 0;@,
     q@own ? gpuarena__thread_number() : 0@, q@0@],
    ['events are asked while a stream is captured',
     q@return arena->streams.many && !arena->streams.captured && arena->config.streams@,
     q@return arena->streams.many && arena->config.streams@,
     q@if (arena->caller_mode >= 0 || arena->lost || !arena->driver.capture.exchange_mode) return;@, q@return;@],
    ['the device is waited for while a stream is captured',
     q@if (!arena->streams.ordered || gpuarena__ask_capturing(arena, error)) return 0;@, q@if (!arena->streams.ordered) return 0;@],
    ['what only a wait for the device can tell of is quiet at once',
     q@ticket = ++arena->streams.list[record].ticket;@, q@ticket = 0;@],
    ['the pages of a capture set count as idle', q@return gpuarena__is_free(node) && !gpuarena__in_capture_set(arena, node);@,
     q@return gpuarena__is_free(node);@],
    ['memory is given back while a stream is captured',
     q@if (!list || gpuarena__is_lost(arena, refusal) || gpuarena__ask_capturing(arena, refusal)) return;@,
     q@if (!list || gpuarena__is_lost(arena, refusal)) return;@,
     q@if (arena->caller_mode >= 0 || arena->lost || !arena->driver.capture.exchange_mode) return;@, q@return;@],
    ['memory grows in the mode that the thread has',
     q@if (arena->caller_mode >= 0 || arena->lost || !arena->driver.capture.exchange_mode) return;@, q@return;@,
     q@if (arena->caller_mode >= 0 || !arena->driver.capture.exchange_mode || !arena->streams.captured) return 1;@,
     q@return 1;@],
    ['what a capture freed is the arena\'s',
     q@(void)gpuarena__record_move(arena, at, UINT64_MAX, home, 0);@,
     q@(void)gpuarena__record_move(arena, at, UINT64_MAX, 0, 0);@],
    ['what was freed on one captured stream is for all of its set',
     q@if (!index && home) index = gpuarena__record_search(arena, home, bytes, req);@,
     q@for (uint32_t at = 1; !index && home && at < arena->streams.count; at++)
           if (arena->streams.list[at].home == home)
               index = gpuarena__record_search(arena, at, bytes, req);@],
    ['what is freed outside a capture is for the set\'s next one at once',
     q@        if (ticket) gpuarena__uses_put(arena, node, record, ticket);
        else told = 0;
@, q@@],
    ['a released set\'s memory is quiet',
     q@uint64_t ticket = to ? ++list[to].ticket : 0;
    uint32_t at, index;@, q@uint64_t ticket = 0;
    uint32_t at, index;
    to = 0;@],
);

planted(mistakes => \@planted, environment => 'GPUARENA_SPACE_KIND=busy GPUARENA_SPACE_OPS=200000');
