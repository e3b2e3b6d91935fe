/* gpuarena.h 0.3.0: a GPU memory pool in one file
   Growth you choose, limits kept to the byte, and every byte accounted for.
   SPDX-License-Identifier: MIT OR Unlicense (both texts are at the end of this file)

   >>about ==============================================================================================

   Do this in one C or C++ file of your program, and include the header plainly everywhere else:

       #define GPUARENA_IMPLEMENTATION
       #include "gpuarena.h"

   Compile that file with the CUDA Toolkit's include folder, link with -lcudart -lpthread, and:

       gpuarena_config config = GPUARENA_INIT;       // zero means default, in every struct
       gpuarena *arena; void *weights = NULL;
       config.limit_bytes = (uint64_t)4 << 30;       // never more than 4 GiB, not for an instant
       if (gpuarena_create(&config, &arena)) return 1;
       if (gpuarena_alloc(arena, &weights, bytes, stream)) {    // cudaMallocAsync(&p, n, s) -> this
           gpuarena_failure why; char text[512];
           gpuarena_last_failure(arena, &why);
           gpuarena_failure_text(&why, text, sizeof text);      // what, why, what would have helped
           puts(text);
       }
       gpuarena_free(arena, weights, stream);        // NULL, after a failure, is no error
       gpuarena_destroy(arena);

   What it does NOT do
     - It never prints, aborts, exits or starts a thread, and never reads or writes device memory, except that
       config.scrub has the driver clear it.
     - It does not know what a kernel touches: memory used on another stream than the one it is freed on is
       named by gpuarena_use, and a graph's memory is allocated between gpuarena_capture_begin and _end.
     - It does not move live blocks. Free memory that lies in pieces between them is made one block by moving
       whole pages, where the device has virtual memory; elsewhere, and in parts of pages, it stays in pieces.
     - It does not limit other users of the device: the context, kernels, libraries and other processes.
     - It cannot tell a stale pointer from a fresh one once the address has been handed out again.

   >>toc ================================================================================================

     >>about    what this is, ten lines of use         >>runs     searches, and blocks side by side
     >>toc      this list                              >>pages    paged ranges: holes, addresses
     >>manual   words, sums, growth, errors            >>place    where a request is to lie
     >>config   macros that you may define             >>commit   which pages back it, or are released
     >>types    results, driver, configuration         >>plan     steps that come again
     >>api      every call, a contract each            >>release  how much is released, and when
     >>impl     includes and private macros            >>scrub    clearing blocks, in a stream's order
     >>bits     rounding, powers of two, text, spins   >>parse    configuration as text
     >>structs  shared structures, their invariants    >>registry which arenas there are, and fork
     >>host     host memory                            >>stats    largest free, derived figures
     >>lock     the locks, who is in a callback        >>failure  why, in numbers and in words
     >>nodes    the blocks' records, in chunks         >>dump     walk and report
     >>tags     names, and the live bytes of each      >>check    every invariant, by name
     >>tree     free blocks in order                   >>cuda     the driver table over CUDA
     >>bins     free blocks by size                    >>enter    in and out
     >>lookup   pointer to block                       >>family   sub-arenas reclaim from each other
     >>block    split, join, take, free                >>share    between processes and devices
     >>driver   how its entries are called             >>life     create, destroy
     >>limit    what may be reserved, here and above   >>slow     the stages of an allocation
     >>range    memory of the driver, and back         >>memory   alloc, free
     >>stream   order between streams; captures        >>resize   in place, or not at all
     >>growth   segments: how much, obtained, released >>public   every other call, thin
                                                       >>end      clean-up, changes, licences

   >>manual =============================================================================================

   WORDS. The *driver* is a table of functions through which an arena reaches one device. An *arena* is a
   memory pool with one configuration and one limit; several arenas may share a device. Sizes of device memory
   are bytes in uint64_t.
     - A *range* is a piece of the address space, obtained from the driver. A *segment* is a range that is
       backed by memory everywhere, and whose length is a whole number of 2 MiB granules. A *paged* range is
       backed page by page as blocks need it; a *page* has config.page_bytes. A paged arena has segments, too,
       but only for blocks that must be an allocation of their own (GPUARENA_ALLOC_DEDICATED, config.debug).
     - A *block* is a piece of a range. It is live, or free, or a *hole*: addresses without memory. A *run* is
       blocks side by side that could serve a request together.
     - The memory of pages comes from the driver in *handles* of one page or several.
     - Free memory is *pending* while a stream may still use it, and *quiet* once the GPU is done with it.
       Pending or quiet, a segment is *idle* if it has no live block, and a page if its handle lies inside one
       free block. Idle memory can be given back to the driver, and pages in handles of one page can be moved.
     - An allocation that a free block serves at once is a *hit*; any other is a *miss*.
     - The *live peak* is the most bytes that were live at a time: live_peak_bytes of gpuarena_stats.

   WHERE EVERY BYTE IS. When no call is in progress, these sums hold exactly in every gpuarena_stats:

       requested      bytes that callers asked for
       + slack        bytes that rounding up added
       = live
       + pending      freed, and kept for one stream or one capture set until the GPU is done with it
       + cached       free memory that any request may have, and pages that are mapped nowhere
       + children     reserved by sub-arenas
       = reserved     memory that the driver gave and the arena holds; addresses without memory cost nothing

     gpuarena_get_device adds: reserved + other = total - free of the device. `other` is signed, because the
     driver's own figures race with other processes.

   THE LIMIT. Memory is charged against the limit before the driver is called, so reserved memory never
   exceeds it, even briefly. If the driver refuses, the charge is undone. The limit may be lowered below
   reserved memory. Then idle memory goes back at once, allocations are refused, and freed memory goes back as
   it becomes idle, until reserved memory is within the limit.

   SUB-ARENAS. An arena with config.parent has blocks, ranges and a limit of its own and calls the driver
   itself. Its reserved memory counts as reserved in every arena above it, too. Growth is charged to all of
   them before the driver is called, or to none: no arena of the tree ever exceeds its limit.
     - When a sub-arena is created, the limits of all children of its parent must fit into the parent's limit;
       a child without a limit counts as the parent's whole limit. config.oversubscribe lifts this rule, and
       gpuarena_set_limit does not apply it.
     - Before a call fails for one of these limits, or because the driver refused, the other arenas of the
       tree release idle memory (stage 9 below), if together they have enough: quiet memory first, then memory
       that must be waited for. The call waits for calls in progress on those arenas, so it never fails
       because of a charge that is undone later. Siblings are not asked from inside a callback, nor if the
       arena has a stream in capture; and an arena with a stream in capture releases nothing.
     - A limit below the memory that the arena and its sub-arenas have reserved lets none of them grow.
     - A parent's config.headroom_bytes applies to its sub-arenas. A parent must outlive them: see
       gpuarena_destroy.

   PAGED RANGES. Paged backing is the default wherever the device has virtual memory, because idle pages can
   be moved to where memory is needed: free memory that lies scattered in whole pages still serves a large
   request. Addresses for twice the limit are taken at first need, and more when they run out. Addresses cost
   no memory, and do not count as reserved. A free block is backed throughout, so a hit never calls the
   driver.
     - If no free block fits, the arena picks a gap, holes and free blocks side by side, that lacks few pages.
       New pages are created for it while reserved memory exceeds the live peak by no more than the share
       config.idle_fraction of that peak, and the limit allows. Otherwise idle pages are moved there: those of
       the smallest free block that has enough, else those at the highest addresses. Only quiet pages move. If
       these are too few, the host waits for streams that freed others, event by event: at once if the limit
       would allow new pages, else in stage 7 below. But if stage 6 has a run that exceeds the request by at
       most 1/16, and config.wait_ms is 0, the request's stream waits instead, and no page moves. A page is
       mapped at its new place before it is unmapped at its old one.
     - An arena that has had one stream alone, and no request for every stream, may use a quarter of a share
       below 1 at once, and a page more for every two that have moved. So a program in which few pages need to
       move stays further below the share.
     - New memory comes in a few handles for each gap, of a power of two pages each, but the last one has the
       rest. So a request of a GiB is 33 driver calls. A handle has at most half of the request, 1/256 of
       the bytes that limit and device leave, and 16 MiB, or a tenth of reserved memory and the request
       together if that is more. For a request of 256 MiB or more it has at most 1/16 of the request, and 1/64
       of the bytes that they leave. A handle of several pages never moves. If it is idle and its pages are
       needed elsewhere, it goes back to the driver, and new ones take its place. If the driver fails or
       refuses then, the handles that went back stay there.
     - If more than eight new pages are needed, and the driver reports less free memory, they are first
       requested in one piece, which goes back at once if it is granted. So a request that the driver refuses
       has taken no memory that others may need.
     - Free memory in handles that are partly live is *stranded*: it can neither move nor go back, and is
       counted as stranded_bytes. New handles have one page each while more than a page and 1/256 of reserved
       memory is stranded, except for plans. Where 256 MiB or more are needed in one place they have so only
       while more is stranded than 1/512 of the bytes that limit and device leave, or than three quarters of
       the share config.idle_fraction of the peak.
     - If live and stranded memory, and the pages that a gap lacks, exceed the peak and the share together, no
       move of pages keeps reserved memory within these, and each strands more. So pages move then only as far
       as idle ones exceed a quarter of the share. This holds for requests of two pages and more, for gaps
       that lack at most half of the share, and while no plan has memory.
     - Requests of a page and more take the smallest free block that fits, so little is left between blocks.
       Requests of config.large_bytes and more take the lowest one, so large blocks lie at low addresses
       and idle pages gather at high ones. With one stream, such a request of whole pages that gets new ones
       begins at a page, unless the rest before it and stranded memory exceed together a page and 1/256 of
       reserved memory.
     - Pages of capture sets do not move, and no page moves while a stream is captured.
     - Memory that must be one allocation of the driver, for cudaIpc, is requested with
       GPUARENA_ALLOC_DEDICATED or by config.share=whole. So is a block that one registration for RDMA covers:
       network cards have access to pages where the device allows it, but a block may lie in several handles.

   OTHER MEMORY. config.backing selects other kinds of memory. They are held in segments, and everything that
   this manual says of segments applies. Arenas of different kinds on one device do not know of each other.
       pinned   page-locked host memory, for copies. Limits refer to the host: 100% is all its installed
                memory, and free memory is the memory it reports as unused. gpuarena_get_device reports both.
                Growth costs the driver a part of a millisecond for each MiB, so grow rarely. A segment that
                is not quiet is released after a wait for the device, because the driver does not wait.
       managed  memory that migrates to where it is used. A limit given as a share is a share of the device,
                but a limit may exceed the device. Managed memory takes no device memory before it is used,
                so headroom and release=pressure are refused.
       async    device memory from a pool of the driver (cudaMallocAsync). Blocks are cut from segments: a hit
                needs no driver call, and waits do not return memory to the system. A segment obtained in a
                stream's order is pending for that stream until an event completes; for gpuarena_reserve and
                at creation the host waits for the device instead. A segment that waits for nothing but the
                call's own stream is released after a wait for that stream alone. The limit covers the memory
                of the driver's pool, except bytes that the pool adds by rounding up (to 32 MiB, as far as is
                known). These are part of `other`; growth=fixed and a limit in whole 32 MiB leave none.
                An arena does not grow on a captured stream, because the memory would belong to the graph.

   GROWTH OF SEGMENTS. If no free block fits, the arena requests a segment from the driver. config.growth
   selects its size:
       double   a step that starts at config.step_bytes (2 MiB) and doubles up to step_max (256 MiB) until it
                covers the request. If it covered the request already, it doubles after the growth. When
                nothing is reserved any more, the step starts again.
       step     always config.step_bytes (64 MiB)
       exact    exactly the request
       fixed    at creation the whole limit, or all free device memory if there is no limit. Later growth,
                after the limit was raised or the driver had refused a part, is exact. Applies to paged arenas
                too
     A request above the step gets just its need. If the driver refuses, the part beyond the need is halved
     until the request is just the need.

   RELEASE. By default idle segments and pages are kept for the next request until gpuarena_trim, a lower
   limit or a miss takes them. config.release gives them back earlier:
       idle     after a free, when more than release_bytes is idle: down to the share release_keep of
                release_bytes
       age      after a free: memory idle for release_age allocations and frees. Segments are judged
                one by one; of pages, as many go back as were idle throughout a span of that length
       pressure before growth that would leave the device less than release_bytes free: as much as is missing
                (config.pressure is something else: a callback, see stage 9)
     With idle and age, a free takes the slow path and may call the driver. The release of a segment that is
     not quiet waits for the device. Pages, and under pressure segments too, are released only when events
     show that they are quiet.

   THE WAY OF ONE ALLOCATION. A request is rounded up to config.alignment. Free blocks are kept in bins by
   size, eight bins for each power of two. In the request's own bin up to eight blocks are compared, and the
   tightest that fits is taken, to a precision of 1/512 of the size. If none fits, the next larger occupied
   bin serves the request. This search is constant time however many blocks are free. (Blocks of a bin beyond
   135 are in a tree, which they enter and leave in O(log free blocks). In paged arenas requests of a page and
   more take the smallest free block that fits, and those of config.large_bytes and more the lowest, from
   such trees.) With several streams the memory that waits for the request's own stream is searched before
   quiet memory; but if the block found there would leave a rest shorter than the request, it is compared
   with the best quiet block. If no block is found, these stages are tried in order, and counted in the
   statistics. The table gpuarena__stages in the section slow names the function of each:
       1. look at every free block that may fit: aligned ones, the rest of the own bin, and runs of adjacent
          blocks that are quiet or the stream's own
       2. if a run would do but for other streams: record events behind the frees of all streams, make quiet
          the blocks whose events have completed, and look again
       3. grow within the limit; paged: by new pages, or by moving idle pages as PAGED RANGES says
       4. release idle segments that are quiet, if that makes room, and grow; paged: segments of dedicated
          blocks, if they could not go back with their block
       5. for up to config.wait_ms: repeat stage 2, and stages 1, 3 and 4 when events have completed or other
          threads have freed or released memory
       6. make the request's stream wait for other streams: for the run with the fewest bytes of theirs. No
          page moves for that. Paged: sometimes before stage 3, as PAGED RANGES says
       7. as stage 4 with idle segments that are not quiet, where the release waits for the device; paged: as
          stage 3 with pages that the host waits for, event by event. This comes after stage 8 if the
          alignment exceeds config.alignment, if there is a headroom, or if pages are to be made of segments
       8. wait for the device, if a run of free blocks, or pages, would do that the earlier stages must not
          or cannot take
       9. with sub-arenas or a parent: have the other arenas of the tree release idle memory, if that makes
          room, and start again; then call config.pressure, and start again if it says so
     Before stage 3 the pages that went back for a packed plan are created again, if the step under way is the
     plan's, the limit allows it, and config.idle_fraction is not negative. Otherwise plans end there, if
     growth would exceed the limit or the share config.idle_fraction, or if their memory might serve a request
     that otherwise takes a segment, and before stage 9 in any case; then the stages start again. If all
     stages fail, nothing has changed, except that idle memory may have been released, here and in other
     arenas of the tree, pages may have moved, pages that went back for a plan may be there again, plans may
     have ended, and the stream may wait for others. New memory that the driver or a capture keeps from going
     back stays as free memory.
     streams=events leaves out stage 6; streams=same also leaves out stages 2 and 5, and the waits for streams
     in stage 7.

   ERRORS. There are three kinds. The world refused (out of memory, driver error): the call returns a result
   and a reason. The caller broke a contract (double free, foreign pointer, bad argument): the call returns a
   result, in every build. This file has a defect: GPUARENA_ASSERT is called, if you define it. Every failed
   call is recorded: see gpuarena_last_failure, and gpuarena_failure_text for its sentence.

   STREAMS. Each call names the stream on which the memory is used; a free names the last stream that used it.
   That stream may have the memory again at once. For other streams the memory is pending until the arena
   knows that the GPU is done with it.
     - Each free has a number on its stream. An event is recorded only when another stream's miss needs one,
       or when pages are to move, and covers all frees so far. A hit records and queries nothing, except that
       the first call on a new stream queries the events of those named to gpuarena_forget; and, before the
       arena's table of streams grows, of threads' default streams.
     - Free blocks that wait for different streams are not joined.
     - A block used on further streams must be named to gpuarena_use before it is freed; a stream that will
       be destroyed, to gpuarena_forget first, since CUDA may give another stream the same cudaStream_t.
     - Streams of other devices must not be named, since CUDA records no event of the arena's device on them.
       If another device uses the memory, as peers do, first make a stream of the arena's device wait for that
       work (cudaStreamWaitEvent); then free the memory on this stream, or name it to gpuarena_use.
     - Each thread's per-thread default stream is a stream of its own. A free on it by that thread gets an
       event at once; a free for it by another thread gets one at the owner's next free. A thread names it
       to gpuarena_forget before the thread ends: a block freed for it later would wait for the whole device.
     - An event that fails is never taken for completed: another event or a wait for the device must decide.
       If the driver has no events, all streams count as one queue.

   GRAPH CAPTURE. Allocations on a stream between gpuarena_capture_begin and gpuarena_capture_end belong to a
   *capture set*: their memory serves nobody else until the set is released, even after it is freed.
     - A block freed during a capture serves the next allocations of its stream in that capture, and other
       streams of the set after all captures of the set have ended. A block freed later serves the set's next
       capture once its stream is done. Graphs that share a set must not run at the same time.
     - While a stream is captured, as far as the arena knows or the driver reports, no device is waited for
       and nothing is released. While it is captured into a set, no event is queried. Growth continues in
       relaxed mode, except for segments that might start where they do not serve the request, since those
       could not go back.
     - Named streams that were not forgotten are asked for their capture state before each wait for the
       device, and once before a call releases memory. So no capture may begin while another thread is in such
       a call; gpuarena_capture_begin waits until there is none. Call it before the capture begins.
     - Ordinary memory that a captured stream frees is ordered after the capture has ended; if a graph uses
       it, its owner must keep it as long as the graph.

   THREADS. Any thread may call anything on any arena at any time, but gpuarena_destroy must be the last call.
   An arena has three kinds of locks: a short lock, a slow-path mutex, and a lock for each heap.
     - Hits, plain frees, gpuarena_use, lookup, mark, observe, reset_peaks, get_stats, walk_stats, get_tag,
       get_config and last_failure hold the short lock alone.
     - All other calls hold the slow-path mutex, one at a time, and the short lock too, which they unlock
       around each driver call. So other threads' hits and frees go on while one thread's growth waits in the
       driver, and a miss waits for the growth or release of another thread.
     - Once a second thread has named a stream that is new to the arena, each such thread has a *heap*: 2 MiB
       pieces of the address space that small blocks of the streams which it named first lie in, with a lock
       of their own (threads beyond the 16th share heaps). A hit of at most 1 MiB, and the free of such a
       block on the stream of its allocation, hold the heap's lock alone, so threads that use their own
       streams do not wait for each other. The short lock includes the locks of all heaps. Beside the calls
       that were said to hold it, a new peak takes it, a hit that its heap has no block for, and a hit or free
       with a tag of gpuarena_tag, an observer, or a plan.
     - No memory is kept from other streams: before a request grows the arena or fails, it may have the quiet
       blocks of all heaps. Statistics, limits and peaks are exact. An arena whose streams are all named by
       one thread has no heaps.
     - Some frees take the slow path: those on a new or a captured stream or a thread's own default stream, of
       blocks with room or a segment of their own, above a lowered limit, and with scrub, release=idle or age.
       So does gpuarena_use on such streams.
     - A thread that waits for a lock lets others have the processor, and soon sleeps. Locks do not inherit
       priorities: a real-time thread may wait for one of a lower priority, while it sleeps.
     - With GPUARENA_NO_THREADS the caller must serialise all calls on all arenas.

   SCRUB. Free memory may hold the data written to it, and the next block exposes them. config.scrub clears
   whole blocks with zeros, by driver.clear:
       free     before a block becomes free: on the stream of the free, after the other streams that used the
                block. So memory that leaves the arena, for a request or for the driver, is clean
       alloc    before a block is handed out, on its stream, whatever was there before
       both     both
     - A resize clears the part that it frees or takes. Calls that clear take the slow path. Scrub does not
       combine with capture sets. On a lost device frees succeed, since nobody gets the memory any more.
     - If no single stream will do, the host waits for the device, clears on the default stream and waits
       again: for GPUARENA_ANY_STREAM, a forgotten stream, another thread's own stream, and a resize that
       takes memory for another stream than the block's.
     - A free whose clearing is refused, by the driver or because the stream is captured, is refused too, and
       so is a resize that shrinks. The block stays live, with undefined contents where it was to be cleared,
       and may be freed again; if its clearing may still be under way on the default stream, that second free
       waits for the device.
     - An allocation on a captured stream fails before anything changes, as far as driver.capture tells. An
       allocation whose clearing the driver refuses fails, and counts as an allocation and its free; memory
       that the arena grew by stays. A resize fails likewise, and ends the block's room.

   PLANS. Training and inference repeat a step: the same allocations and frees, in the same order. A program
   tells the arena where a repetition begins: gpuarena_step(arena, kind). A program that does not call it has
   no plans and pays nothing for them.
     - If two repetitions of a kind were alike, and pages had to be moved in the second or memory was
       released, a plan is made at the next call of gpuarena_step: an address for every block that is freed in
       its step or in the next one. Blocks that live longer stay where they are. A step that the plan serves
       throughout calls no driver.
     - In a paged arena a plan of the first repetition serves the second one, if pages had to be moved in the
       first or memory was released, no other plan has memory, and no repetitions of the kind have differed.
     - In a paged arena the plan is packed as it is made, if reserved memory exceeds the live peak by more
       than 1 %, and enough of it can go back: idle pages move for that, and new ones are created if these are
       too few. The packed plan, beside live memory, must fit into the live peak and the share
       config.idle_fraction of it, or into reserved memory. Then idle pages beyond the peak go back to the
       driver. The first step that needs more than its plan has creates as many again, if the limit allows
       it and config.idle_fraction is not negative.
     - Otherwise, as where memory has a hole for each 64 pages or fewer, the addresses are first those that
       the blocks had. Blocks that are live when the plan is made keep theirs before others do. For blocks
       without a place there, up to 1/64 of the peak is added for each stream. If more is needed, two
       repetitions more must be alike and move pages. Then the plan is packed, or, if it does not fit, the
       kind is recorded anew. A plan of such addresses is packed after two steps that it served throughout; if
       that may not be, it stays as it is.
     - The memory of a plan counts as pending or cached memory, but only the plan's blocks are put there.
     - A plan is only a hint. A request that differs from the recorded one, or whose memory is still in use or
       waits for another stream, is served in the ordinary way. A request that comes early or late, among the
       nearest three, is recognised, and among up to 32 if those before it were not; so a step with an
       allocation more or less finds back to its plan.
     - If more than an eighth of a step's allocations differ, the plan is dropped and the step is recorded
       anew, each time after a longer pause. Several kinds have plans over the same memory: the eight that
       were repeated last. Plans have memory for up to eight streams; others are served in the ordinary way.
     - Plans give up all their memory when a miss needs it (see THE WAY OF ONE ALLOCATION), or a block that
       grows in place. The plan of the step under way ends with the step; the others are packed again when a
       step of their kind begins, and end if pages had to move for that four times in a row. All plans end
       before memory goes back (gpuarena_trim, a lower limit, another arena of the tree), and when a stream is
       forgotten.
     - Only requests without alignment, room and flags on ordinary streams are planned. No plan is made with
       scrub or debug, and none is packed while a stream is captured.

   DEBUG. In a pool a use after free, an overrun or a use on a wrong stream hits memory that the driver holds
   for the pool, so that no tool sees it. With config.debug=passthrough, or GPUARENA_CONF=debug=passthrough
   for a program that is built already, each block is an allocation of the driver, of its size rounded up to
   config.alignment, and goes back to the driver when it is freed. Tools that watch the driver's allocations,
   as compute-sanitizer and the simulated device do, then see the operation that is wrong.
     - All else holds as ever. The limit bounds the bytes requested of the driver: its rounding comes on top.
       GPUARENA_ALLOC_TRY has no effect. Memory of config.initial_bytes or gpuarena_reserve serves no block,
       and goes back when its room is needed.
     - The driver must align memory of any size to config.alignment. CUDA promises 256 bytes. With a larger
       config.alignment an allocation fails with DRIVER_ERROR where it gets less.
     - Each block costs two driver calls, and its free waits for the device, as cudaFree may. That hides work
       on a wrong stream which began before the free. With backing=async the free waits for its own stream
       alone, and hides nothing.
     - Not seen are an overrun within the rounding, or within an alignment above config.alignment; a use
       behind the end of a block that a resize has shrunk; and a use of a block that was freed while a stream
       is captured. A block with room_bytes stays in its paged range; GPUARENA_ALLOC_DEDICATED is as ever.
   With debug=guard, which needs backing=paged, the GPU itself faults, and no tool is needed. A block has
   pages of the driver and addresses of its own. It ends where its pages end, and a page of addresses behind
   it is never mapped. After its free the addresses stay unmapped until 256 more such blocks are freed.
     - The above holds, but whole pages are reserved for a block, mostly 2 MiB: its bytes before the block
       count as cached. A block costs eight driver calls.
     - GPUARENA_ALLOC_DEDICATED gives such memory, too, which cudaIpc refuses.

   BETWEEN PROCESSES. A process exports a block, and others on the same machine import it. They share the
   driver's memory that the block lies in, with all that lies beside the block: a whole segment, by a
   handle of cudaIpc, or whole handles of pages, by a file descriptor each. Blocks of segments can always be
   exported; blocks of pages only with config.share=pages, because the driver must know when it creates them.

       exporter   gpuarena_export(arena, ptr, &shared);    send(&shared);
       importer   receive(&shared);    gpuarena_import(arena, &shared, &ptr);
       both       for (at = 0; at < shared.paged_bytes; at += bytes) {
       exporter       gpuarena_export_fd(arena, ptr, at, &fd, &bytes);    send_fd(fd, bytes);    close(fd);
       importer       receive_fd(&fd, &bytes);    gpuarena_import_fd(arena, ptr, fd, bytes);     close(fd);
       both       }

     - Descriptors travel over a UNIX socket (SCM_RIGHTS), one at a time, so that no process needs many.
     - The memory of an exported block neither moves nor goes back until gpuarena_export_end. To free the
       memory of cudaIpc before every importer has ended is undefined in CUDA. Pages would live on until the
       last importer unmaps them, and nobody would count them.
     - An import counts in no sum and no limit: the memory is the exporter's. gpuarena_owner does not know it.
     - Events or messages must order the work of both processes. The arena orders nothing between them.
     - cudaIpc opens no handle in the process that exported it. With debug=passthrough a segment may be a part
       of the memory that the driver shares. Pinned, managed and async memory is not exported.

   PEERS. config.peers, peers=1+3 in text, gives these devices access to an arena's memory, and that of its
   sub-arenas (not of backing=async). Pages are mapped for all of them, so that each mapping costs more. With
   every backing creation calls cudaDeviceEnablePeerAccess, which holds for all memory of cudaMalloc on the
   device, for the whole process, and is never undone; it creates a context on each peer. Imported pages are
   mapped for the peers, too.

   CALLBACKS. They run inside the call that triggers them, on its thread.
     - Calls on the same arena return REENTRANT from observer, visitor and writer, except mark, get_stats,
       walk_stats, get_config, last_failure and reset_peaks. Other arenas may be called, provided that their
       callbacks do not call this one.
     - Visitor and writer run with the slow-path mutex alone: other threads' hits and frees go on, and are
       neither visited nor written. Without host memory for a copy they run with the short lock, too.
     - The observer is told of each call before the next one changes anything. So it runs with the short lock,
       and must not wait for another thread that calls this arena. It may find its thread in relaxed capture
       mode.
     - Driver functions must not call an arena (see gpuarena_driver): most calls on the same one return
       REENTRANT. Nor must host memory functions, which run with the short lock held.
     - config.pressure runs without any lock: only this thread's allocations, resizes that grow,
       gpuarena_reserve and gpuarena_destroy on this arena return REENTRANT there. Any other call is
       allowed, and other threads' calls go on.

   CUDA. If config.driver is NULL, the arena uses the device that is current in the CUDA runtime;
   gpuarena_driver_cuda makes a table for another one. Around each driver call (of vm: reserve alone) the
   device is made current, and the caller's device again afterwards. That creates a context on the caller's
   device if it had none; so does the change of the thread's capture mode. (A thread that chose no device has
   device 0: make the arena's device current there.) Errors that these calls leave in the runtime's last-error
   slot are cleared. A caller's error that was there before stays, unless a call of ours fails on top of it:
   then the slot holds ours, so that the caller's next check still sees an error. For other drivers fill a
   gpuarena_driver of your own, as examples and tests do for a simulated device.

   FORK AND EXIT. In a child process every call on the parent's arenas returns FORKED, and nothing of the
   parent's is freed; arenas that the child creates are its own. (This covers fork alone: vfork and _Fork run
   no handlers.) CUDA does not work in a child of a process that has used it: gpuarena_driver_cuda returns
   FORKED there, or DRIVER_ERROR if the use was not this header's. At process exit, after the runtime has shut
   down, frees and gpuarena_destroy succeed, because the memory is gone with the context.

   COST. Hits and frees take constant time, amortised over the doubling of host tables; where a bin has more
   than 135 blocks, and in paged arenas for a page and more, O(log free blocks); a free also O(uses of the
   block), and more where memory may go back: see gpuarena_free. On a stream that is new, or whose record
   serves another stream by now, a call takes O(streams), and on an arena's second stream O(blocks). A
   miss looks at all free blocks, and so does a request that fails. Host memory: 64 bytes for each block,
   live or free, and each of its uses; 16 to 32 bytes for each live block; 5 bytes for each 2 MiB reserved,
   or 17 for each 2 MiB of paged addresses; with several streams, about 15 KiB for each, reused when nothing
   waits for an old one; once there are heaps, 15 KiB more for each stream, and about 17 KiB for each of at
   most 16 heaps; up to 96 bytes for each stream that was named and is not forgotten; up to 80 bytes for
   each allocation of the longest step, for each kind that gpuarena_step was told of and once more, and up
   to 1 KiB for each while a plan is made; and about 50 KiB for each arena. */

#ifndef GPUARENA_H
#define GPUARENA_H

/* >>config ==============================================================================================
   Define before the include, in the file that defines GPUARENA_IMPLEMENTATION; those marked * everywhere.

     GPUARENA_IMPLEMENTATION    this file compiles the implementation; one file of the program does
   * GPUARENA_STATIC            every function static, implementation included: a private copy here, with
                                a list of arenas of its own: gpuarena_owner and WRONG_ARENA know no others
   * GPUARENA_STREAM T          the stream handle's type; default: cudaStream_t, without a CUDA header
     GPUARENA_NO_CUDA           nothing of CUDA is included or called: config.driver must be given, and
                                gpuarena_driver_cuda answers NOT_SUPPORTED
     GPUARENA_NO_THREADS        no mutex, no thread-local storage: the caller serialises; fork is not seen
     GPUARENA_MALLOC(bytes)     host memory aligned as malloc's, or NULL; default malloc. With
     GPUARENA_FREE(memory)      this one; both or neither. config.host_alloc goes before both
     GPUARENA_ASSERT(condition) called on a defect of this file alone; default: nothing */

#include <stddef.h>
#include <stdint.h>

#define GPUARENA_VERSION_MAJOR 0
#define GPUARENA_VERSION_MINOR 3
#define GPUARENA_VERSION_PATCH 0
#define GPUARENA_VERSION_TEXT  "0.3.0"
#define GPUARENA_VERSION       (GPUARENA_VERSION_MAJOR * 10000 + GPUARENA_VERSION_MINOR * 100 \
                                + GPUARENA_VERSION_PATCH)

#if defined(__GNUC__) || defined(__clang__)
#define GPUARENA_UNUSED __attribute__((unused))
#else
#define GPUARENA_UNUSED
#endif
#ifdef GPUARENA_STATIC
#define GPUARENA_API static GPUARENA_UNUSED
#else
#define GPUARENA_API extern
#endif

/* Starts every struct of this header: gpuarena_config config = GPUARENA_INIT; */
#ifdef __cplusplus
#define GPUARENA_INIT {}
#else
#define GPUARENA_INIT {0}
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* >>types =============================================================================================== */

/* ---- streams. By default the type is CUDA's own pointer type, so swapped arguments do not compile. */
#ifndef GPUARENA_STREAM
struct CUstream_st;
#define GPUARENA_STREAM struct CUstream_st *
#endif
typedef GPUARENA_STREAM gpuarena_stream;                     /* NULL: the default stream */
#define GPUARENA_ANY_STREAM ((gpuarena_stream)(intptr_t)-1)  /* alloc: every stream; free: GPU is done */
#define GPUARENA_OWN_STREAM ((gpuarena_stream)(intptr_t)-2)  /* free: the stream of the allocation */

/* ---- results: 0 is success, everything else negative. X(NAME, value, text) */
#define GPUARENA_RESULTS(X) \
    X(OK, 0, "ok") /* done */ \
    X(INVALID_ARGUMENT, -1, "invalid_argument") /* NULL where it is not allowed, or a value out of range */ \
    X(INVALID_CONFIG, -2, "invalid_config") /* failure.detail names the key and what is allowed */ \
    X(OUT_OF_MEMORY, -3, "out_of_memory") /* no device memory; failure.reason says why */ \
    X(HOST_MEMORY, -4, "host_memory") /* no host memory for bookkeeping */ \
    X(DOUBLE_FREE, -5, "double_free") /* the address lies in free memory of this arena */ \
    X(FOREIGN_POINTER, -6, "foreign_pointer") /* the address lies in no arena of this process */ \
    X(INTERIOR_POINTER, -7, "interior_pointer") /* inside a live block, but not its base */ \
    X(WRONG_ARENA, -8, "wrong_arena") /* in another arena, which failure.detail names */ \
    X(STILL_IN_USE, -9, "still_in_use") /* destroy with live blocks or sub-arenas; an exported block */ \
    X(REENTRANT, -11, "reentrant") /* called from a callback of the same arena */ \
    X(CAPTURE, -12, "capture") /* not possible while a stream is captured into a graph */ \
    X(NOT_SUPPORTED, -13, "not_supported") /* this driver or this build cannot do it */ \
    X(STOPPED, -14, "stopped") /* visitors and writers return it to stop; the call returns it too */ \
    X(CORRUPT, -15, "corrupt") /* gpuarena_check found a violated invariant */ \
    X(DRIVER_ERROR, -16, "driver_error") /* the driver failed otherwise, or returned nonsense */ \
    X(DEVICE_LOST, -17, "device_lost") /* a sticky error: this device does not work any more */ \
    X(FORKED, -18, "forked") /* called in a child process on an arena of the parent process */
typedef enum gpuarena_result {
#define X(name, value, text) GPUARENA_##name = value,
    GPUARENA_RESULTS(X)
#undef X
    GPUARENA_RESULT_END = 1                      /* not a result: ends the list */
} gpuarena_result;

/* ---- why a result is OUT_OF_MEMORY (every other result: NONE, or HOST_MEMORY). X(NAME, text) */
#define GPUARENA_REASONS(X) \
    X(NONE, "none") /* the result alone tells */ \
    X(OVER_LIMIT, "over_limit") /* reserved memory would exceed the limit, whatever is released first */ \
    X(OVER_PARENT, "over_parent") /* as OVER_LIMIT, of the arena above that failure.detail names */ \
    X(HEADROOM, "headroom") /* less than config.headroom_bytes of the device would stay free */ \
    X(DRIVER_REFUSED, "driver_refused") /* the driver had no memory */ \
    X(FRAGMENTED, "fragmented") /* enough bytes are free, but in no single block; no growth */ \
    X(PENDING, "pending") /* free memory would do, but the GPU may still use it, and no wait succeeded */ \
    X(CAPTURE, "capture") /* a graph capture forbids the wait or the release that would have helped */ \
    X(NEIGHBOUR, "neighbour") /* resize: the memory behind the block is taken, or not available to it */ \
    X(ADDRESSES, "addresses") /* paged: the driver has no more addresses */ \
    X(HOST_MEMORY, "host_memory") /* with result HOST_MEMORY */ \
    X(TOO_LARGE, "too_large") /* size and alignment exceed 2^49 bytes: no arena could ever serve it */ \
    X(TRY_ONLY, "try_only") /* GPUARENA_ALLOC_TRY forbade the stages that might have helped */ \
    X(ALIGNMENT, "alignment") /* the driver's segments are not aligned as the block needs it */
typedef enum gpuarena_reason {
#define X(name, text) GPUARENA_REASON_##name,
    GPUARENA_REASONS(X)
#undef X
    GPUARENA_REASON_END                          /* number of reasons */
} gpuarena_reason;

/* ---- the driver table: how an arena reaches a device. Entries return the driver's own code; classify says
   what it means. Each group is set as a whole or not at all; `memory` is required. Creation checks this.
   Entries get the arena's own copy of the table, run one at a time per arena, with its slow-path mutex, and
   must not call an arena. now_ns, exchange_mode, classify, code_name and events.destroy run with the arena's
   lock held and must not wait for another thread. If several arenas share a table's `user`, several threads
   may use it at once. */
typedef enum gpuarena_status {                   /* the meaning of a driver's code */
    GPUARENA_STATUS_DONE,                        /* success */
    GPUARENA_STATUS_NO_MEMORY,                   /* refused; the device still works */
    GPUARENA_STATUS_NOT_READY,                   /* an event has not completed */
    GPUARENA_STATUS_CAPTURING,                   /* impossible during a capture: result CAPTURE */
    GPUARENA_STATUS_NOT_SUPPORTED,               /* result NOT_SUPPORTED */
    GPUARENA_STATUS_FAILED,                      /* anything else: result DRIVER_ERROR */
    GPUARENA_STATUS_LOST,                        /* sticky: DEVICE_LOST. After it the only driver calls are
                                                    code_name, now_ns, and exchange_mode, which restores
                                                    the thread's mode */
    GPUARENA_STATUS_UNLOADING                    /* the process ends: releases succeed, the rest fails */
} gpuarena_status;
typedef enum gpuarena_memory {                   /* kinds of memory, by config.backing. A table returns
                                                    NOT_SUPPORTED for a kind that it lacks */
    GPUARENA_MEMORY_DEVICE,                      /* as cudaMalloc */
    GPUARENA_MEMORY_PINNED,                      /* page-locked host memory, as cudaHostAlloc */
    GPUARENA_MEMORY_MANAGED,                     /* as cudaMallocManaged */
    GPUARENA_MEMORY_ASYNC                        /* stream-ordered device memory, as
                                                    cudaMallocFromPoolAsync */
} gpuarena_memory;
#define GPUARENA_PAGE_SHARED 1u                  /* a trait of vm.create */
#define GPUARENA_IPC_BYTES 64                    /* of a handle of cudaIpc */
typedef struct gpuarena_driver gpuarena_driver;
struct gpuarena_driver {
    void    *user;                               /* the table author's; never touched */
    int32_t  device;                             /* ordinal, for reports */
    uint32_t null_is_per_thread;                 /* 1: stream NULL is per_thread */
    gpuarena_stream per_thread;                  /* handle that means each thread's own stream; NULL: none */
    uint64_t page_bytes;                         /* granularity of vm; 0: there is no vm */
    uint64_t peers;                              /* bit i: device i may access paged memory. The arena adds
                                                    config.peers in its copy */
    gpuarena_status (*classify)(const gpuarena_driver *self, int code);    /* NULL: codes are statuses */
    const char     *(*code_name)(const gpuarena_driver *self, int code);   /* NULL: only numbers */
    uint64_t        (*now_ns)(const gpuarena_driver *self);                  /* NULL: no clock */
    struct {                                     /* required */
        /* free and total bytes, up to 4 EiB, as the device reports them; PINNED: the host's */
        int (*info)(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes,
                    uint64_t *total_bytes);
        /* bytes: a multiple of 2 MiB; with config.debug of config.alignment. *ptr: a multiple of
           config.alignment, overlapping nothing that is held; other memory is given back at once, and if that
           fails, too, it counts in no sum.
           ASYNC: usable after this stream's work so far; the stream is never captured */
        int (*obtain)(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                      gpuarena_stream stream);
        /* takes memory back as obtain gave it, after waiting for the device, unless the stream is
           GPUARENA_ANY_STREAM: then all work on it is done. (cudaFree itself may wait, and need not.) If it
           fails, the memory is still held. PINNED, if the table has events: the arena has waited. ASYNC: the
           work is done, or precedes this call on the stream; memory that its pool keeps is returned once an
           event behind this call has been waited for */
        int (*give_back)(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                         gpuarena_stream stream);
    } memory;
    struct {                                     /* virtual memory, in multiples of page_bytes, as cuMem* */
        /* reserves bytes of addresses without memory; alignment: a power of two, or 0 */
        int (*reserve)(const gpuarena_driver *self, void **address, uint64_t bytes, uint64_t alignment);
        int (*release)(const gpuarena_driver *self, void *address, uint64_t bytes);      /* as reserved */
        /* creates memory that is mapped nowhere. traits: 0, or GPUARENA_PAGE_SHARED for fd.from_page */
        int (*create)(const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits);
        int (*destroy)(const gpuarena_driver *self, uint64_t page, uint64_t bytes);      /* as created */
        /* maps all of it to reserved addresses where nothing is mapped; it may be mapped elsewhere too */
        int (*map)(const gpuarena_driver *self, void *address, uint64_t bytes, uint64_t page);
        /* for adjacent whole mappings. 0: no access; 1: the device and peers may read and write */
        int (*access)(const gpuarena_driver *self, void *address, uint64_t bytes, uint32_t mode);
        int (*unmap)(const gpuarena_driver *self, void *address, uint64_t bytes);        /* whole mappings */
    } vm;
    struct {                                     /* as the CUDA calls of these names. Without this group
                                                    all streams count as one queue */
        int (*create)(const gpuarena_driver *self, void **event);
        int (*destroy)(const gpuarena_driver *self, void *event);
        int (*record)(const gpuarena_driver *self, void *event, gpuarena_stream stream);
        int (*query)(const gpuarena_driver *self, void *event);
        int (*host_wait)(const gpuarena_driver *self, void *event);
        int (*stream_wait)(const gpuarena_driver *self, gpuarena_stream stream, void *event);
        int (*device_wait)(const gpuarena_driver *self);
    } events;
    struct {                                     /* graph capture: as cudaStreamIsCapturing and
                                                    cudaThreadExchangeStreamCaptureMode */
        int (*active)(const gpuarena_driver *self, gpuarena_stream stream, int *active);
        int (*exchange_mode)(const gpuarena_driver *self, int *mode);
    } capture;
    struct {                                     /* segments between processes, as cudaIpc*MemHandle */
        /* ptr: a whole segment, as obtain gave it */
        int (*get_handle)(const gpuarena_driver *self, void *ptr, unsigned char handle[GPUARENA_IPC_BYTES]);
        /* *ptr: where the segment begins in this process, the same if it is opened again */
        int (*open_handle)(const gpuarena_driver *self, const unsigned char handle[GPUARENA_IPC_BYTES],
                           void **ptr);
        int (*close_handle)(const gpuarena_driver *self, void *ptr);         /* as often as it was opened */
    } ipc;
    struct {                                     /* pages between processes; needs vm */
        /* makes a file descriptor of its own, which the caller closes. page: created with PAGE_SHARED */
        int (*from_page)(const gpuarena_driver *self, uint64_t page, int *fd);
        /* memory that another process created, to be mapped and destroyed as its own would be */
        int (*to_page)(const gpuarena_driver *self, int fd, uint64_t *page);
    } fd;
    /* writes zeros in the stream's order, as cudaMemsetAsync. NULL: config.scrub is not available */
    int (*clear)(const gpuarena_driver *self, void *ptr, uint64_t bytes, gpuarena_stream stream);
    /* gives a device access to memory of kind DEVICE, and says whether it could have access to pages.
       NOT_SUPPORTED: it cannot, or there is none. NULL: config.peers is not available */
    int (*peer)(const gpuarena_driver *self, int32_t device);
};

/* ---- requests, blocks */
typedef struct gpuarena gpuarena;
#define GPUARENA_ALLOC_TRY 1u                    /* request.flags: use memory that is free now, or fail */
#define GPUARENA_ALLOC_DEDICATED 2u              /* a segment of its own, in every backing, released when
                                                    the block is freed: for cudaIpc, RDMA. No room_bytes */
typedef struct gpuarena_request {
    uint64_t bytes;                              /* 0: succeeds with NULL */
    uint64_t alignment_bytes;                    /* a power of two; at least config.alignment is used */
    uint64_t room_bytes;                         /* addresses kept behind the block, into which
                                                    gpuarena_resize may grow: backing PAGED alone */
    gpuarena_stream stream;                      /* where the block will be used */
    uint32_t tag;                                /* of gpuarena_tag: the block is counted by it; or any
                                                    number below 2^31, which is kept with the block. 0: the
                                                    tag of gpuarena_tag_scope */
    uint32_t flags;                              /* GPUARENA_ALLOC_TRY, GPUARENA_ALLOC_DEDICATED, both or 0 */
} gpuarena_request;
typedef enum gpuarena_state {
    GPUARENA_STATE_NONE,                         /* no block: a cleared struct that was not filled */
    GPUARENA_STATE_LIVE, GPUARENA_STATE_PENDING, GPUARENA_STATE_FREE,
    GPUARENA_STATE_HOLE                          /* addresses without memory, of a paged range */
} gpuarena_state;
typedef struct gpuarena_block {
    uint64_t serial;                             /* of its allocation: rises on each stream, from 1, never
                                                    reused; free: 0 */
    void    *ptr;                                /* base */
    uint64_t requested_bytes;                    /* as asked for; free: 0 */
    uint64_t bytes;                              /* occupied: requested + slack */
    uint64_t resident_bytes;                     /* backed by memory: all; of a HOLE none */
    gpuarena_stream stream;                      /* of its allocation; free: the stream it waits for, or
                                                    GPUARENA_ANY_STREAM: quiet, or of a capture set */
    gpuarena_state state;
    uint32_t tag;                                /* the request's; free: 0 */
    gpuarena_memory memory;                      /* its kind */
} gpuarena_block;

/* ---- how another process finds an exported block: plain bytes, to be sent as they are */
typedef struct gpuarena_shared {
    uint64_t bytes;                              /* of the block, as requested */
    uint64_t offset_bytes;                       /* of the block in the memory that is shared */
    uint64_t paged_bytes;                        /* that memory, if it is pages: so many bytes of descriptors
                                                    follow. 0: it is a segment, which `handle` opens */
    unsigned char handle[GPUARENA_IPC_BYTES];
} gpuarena_shared;

/* ---- tags: names for purposes of memory. A process has at most GPUARENA_TAGS of them. */
#define GPUARENA_TAGS 1023u
#define GPUARENA_TAG_BYTES 32                    /* of a name, NUL included */
typedef struct gpuarena_tag_stats {              /* of an arena's blocks with one tag */
    uint64_t live_bytes, live_peak_bytes;        /* occupied, as gpuarena_stats.live_bytes */
    uint64_t live_count, alloc_count;
} gpuarena_tag_stats;
typedef struct gpuarena_live {                   /* a group of live blocks, in a failure */
    uint64_t count;                              /* 0: no group; none follows */
    uint64_t bytes;                              /* their sum. STILL_IN_USE: count x requested size */
    uint32_t tag;
} gpuarena_live;

/* ---- why a call failed. Figures are those at the end of the failed call, before any other call; if
   config.pressure let it fail, those that it was told. */
typedef struct gpuarena_failure {
    uint64_t serial;                             /* counts an arena's failures from 1; 0: there was none */
    gpuarena_result result;
    gpuarena_reason reason;
    int32_t  driver_code;                        /* the driver's code, if it failed; else 0 */
    uint64_t requested_bytes;                    /* of an allocation, an import, or a block that was to grow;
                                                    the target of a reserve; else 0 */
    uint64_t missing_bytes;                      /* OVER_LIMIT, OVER_PARENT: by how much the limit is too
                                                    low, after idle memory is released; 0: that would be
                                                    enough, but it failed. (Whether the driver aligns a
                                                    segment as a block needs it is not foreseen.)
                                                    HEADROOM, DRIVER_REFUSED: how much more device memory is
                                                    needed, after idle memory is moved or released.
                                                    FRAGMENTED: by how much the longest free block is too
                                                    short. Idle memory of other arenas of the tree, where
                                                    all of it is not enough, is not counted */
    uint64_t live_bytes, pending_bytes, cached_bytes, reserved_bytes, limit_bytes;
    uint64_t largest_free_bytes;                 /* OUT_OF_MEMORY: as in gpuarena_walk_stats; else 0 */
    uint64_t device_free_bytes;                  /* HEADROOM, DRIVER_REFUSED, and FRAGMENTED if one of them
                                                    forbade growth: from memory.info; else 0 */
    gpuarena_block block;                        /* the block that the call was about, or in which the wrong
                                                    pointer lies; STILL_IN_USE by live blocks: one of
                                                    them; ptr NULL: none */
    uint64_t live_count;                         /* live blocks */
    gpuarena_live most[4];                       /* OUT_OF_MEMORY, if anything is tagged: the tags with most
                                                    live bytes, 0 included. STILL_IN_USE by live blocks: the
                                                    pairs of size and tag with most live bytes */
    char     arena[32];                          /* the arena's name; "": it did not exist yet */
    char     detail[96];                         /* the key and its range; the other arena, or the one
                                                    above; the offset in the block; the driver's name of
                                                    its code. A longer text is cut, and ends with ".." */
    const char *driver_call;                     /* DRIVER_REFUSED and FRAGMENTED, if the driver refused
                                                    though it reports enough free memory, or refused an
                                                    import: the entry of its table that refused, as
                                                    "obtain" or "map"; else NULL */
} gpuarena_failure;

/* ---- actions: an observer is told after the fact, with the lock held. Pointers last for the call. */
typedef enum gpuarena_action_kind {
    GPUARENA_ACTION_ALLOC,                       /* block: as it is */
    GPUARENA_ACTION_FREE,                        /* block: as it was, state PENDING or FREE */
    GPUARENA_ACTION_FREE_DONE,                   /* block: pending memory that is quiet now, perhaps of
                                                    several frees. Memory that its own stream reused before
                                                    is not reported */
    GPUARENA_ACTION_USE,                         /* block: as it is; stream: the one that uses it */
    GPUARENA_ACTION_RESIZE,                      /* block: as it is now */
    GPUARENA_ACTION_GROW, GPUARENA_ACTION_RELEASE, /* block: the segment, whole and free. Paged:
                                                    bytes of the pages; ptr: one place that they back.
                                                    Pages that the driver refuses to destroy are told of
                                                    as released, and as grown when they are used again */
    GPUARENA_ACTION_REMAP,                       /* as GROW, for pages that were moved there */
    GPUARENA_ACTION_LIMIT,                       /* block.bytes: the new limit; state NONE */
    GPUARENA_ACTION_FAIL, GPUARENA_ACTION_MISUSE /* failure: the record */
} gpuarena_action_kind;
typedef struct gpuarena_action {
    uint64_t serial;                             /* counts an arena's observed actions from 1 */
    gpuarena_action_kind kind;
    gpuarena_result result;                      /* OK, or the failure's */
    gpuarena_block block;
    gpuarena_stream stream;                      /* of the call; for FREE_DONE of the block; or NULL */
    const gpuarena_failure *failure;             /* FAIL, MISUSE; else NULL */
} gpuarena_action;
typedef void            gpuarena_observe_fn(gpuarena *arena, const gpuarena_action *action, void *user);
/* Called when a request cannot be served: see CALLBACKS. Return 0 to let it fail, or nonzero to have it tried
   again. If the new attempt fails, this is called again only if meanwhile, in this arena or another of its
   tree, a block or a part of one was freed, a capture set was released, reserved memory fell or a limit
   changed. It may be called during a capture, and must not wait for the device then. */
typedef int             gpuarena_pressure_fn(gpuarena *arena, const gpuarena_failure *failure, void *user);
typedef gpuarena_result gpuarena_visit_fn(const gpuarena_block *block, void *user);
typedef gpuarena_result gpuarena_write_fn(const char *text, size_t bytes, void *user);  /* no final NUL */

/* ---- configuration. Zero means the default in every field. Copied at creation. Defaults are in brackets.
   Words in capitals are values, or headings of the manual: "see RELEASE". */
typedef enum gpuarena_backing {
    GPUARENA_BACKING_AUTO,                       /* PAGED if driver.vm and driver.events exist and
                                                    driver.page_bytes is a power of two of at most 1 GiB,
                                                    unless share WHOLE, step, step_max, growth STEP or
                                                    DOUBLE ask for SEGMENTS; then page, idle and large are
                                                    ignored */
    GPUARENA_BACKING_PAGED,                      /* addresses backed by pages that can move */
    GPUARENA_BACKING_SEGMENTS,                   /* segments of device memory, as cudaMalloc's; */
    GPUARENA_BACKING_PINNED,                     /*   of page-locked host memory; */
    GPUARENA_BACKING_MANAGED,                    /*   of managed memory; */
    GPUARENA_BACKING_ASYNC                       /*   of a stream-ordered pool of the driver. These three
                                                    take all keys of SEGMENTS except share */
} gpuarena_backing;
typedef enum gpuarena_share {                    /* whether other processes or devices import blocks */
    GPUARENA_SHARE_NONE,                         /* no: memory may consist of many handles */
    GPUARENA_SHARE_WHOLE,                        /* each segment is one allocation of the driver, for
                                                    cudaIpcGetMemHandle, GPUDirect RDMA, and libraries that
                                                    look up the range. In text also ipc, rdma */
    GPUARENA_SHARE_PAGES                         /* pages are created so that they can be exported */
} gpuarena_share;
typedef enum gpuarena_growth {                   /* see GROWTH. AUTO: segments: DOUBLE, paged: EXACT */
    GPUARENA_GROWTH_AUTO, GPUARENA_GROWTH_FIXED, GPUARENA_GROWTH_EXACT, GPUARENA_GROWTH_STEP,
    GPUARENA_GROWTH_DOUBLE
} gpuarena_growth;
typedef enum gpuarena_release {                  /* see RELEASE */
    GPUARENA_RELEASE_ON_DEMAND, GPUARENA_RELEASE_IDLE, GPUARENA_RELEASE_AGE, GPUARENA_RELEASE_PRESSURE
} gpuarena_release;
typedef enum gpuarena_scrub {                    /* see SCRUB. As bits, BOTH is FREE | ALLOC */
    GPUARENA_SCRUB_OFF, GPUARENA_SCRUB_FREE, GPUARENA_SCRUB_ALLOC, GPUARENA_SCRUB_BOTH
} gpuarena_scrub;
typedef enum gpuarena_planning {                 /* see PLANS. OFF: gpuarena_step does nothing */
    GPUARENA_PLAN_AUTO, GPUARENA_PLAN_OFF
} gpuarena_planning;
typedef enum gpuarena_debug {                    /* see DEBUG */
    GPUARENA_DEBUG_OFF, GPUARENA_DEBUG_PASSTHROUGH, GPUARENA_DEBUG_GUARD
} gpuarena_debug;
typedef enum gpuarena_streams {                  /* when a stream may reuse another's freed memory: */
    GPUARENA_STREAMS_AUTO,                       /* STEAL */
    GPUARENA_STREAMS_SAME,                       /* only after the host has waited for the device */
    GPUARENA_STREAMS_EVENTS,                     /* also once events show that the GPU is done with it */
    GPUARENA_STREAMS_STEAL                       /* also after the stream was made to wait for the other */
} gpuarena_streams;
typedef enum gpuarena_limit_base {
    GPUARENA_LIMIT_BYTES,                        /* limit_bytes; 0: no limit but the device's size */
    GPUARENA_LIMIT_OF_TOTAL,                     /* limit_fraction of the device's total, */
    GPUARENA_LIMIT_OF_FREE,                      /*   of the free memory at creation */
    GPUARENA_LIMIT_TOTAL_MINUS,                  /* total less limit_bytes, */
    GPUARENA_LIMIT_FREE_MINUS                    /*   free memory at creation less limit_bytes */
} gpuarena_limit_base;
#define GPUARENA_NO_LIMIT UINT64_MAX             /* limit_bytes of an arena without a limit */
typedef struct gpuarena_config {
    uint32_t zero_begin;                         /* zero_begin and zero_end must be 0: this detects an
                                                    uncleared struct */
    char name[32];                               /* printable ASCII, for failures and reports; "": "arena" */
    const gpuarena_driver *driver;               /* NULL: the parent's, or CUDA's current device. Copied;
                                                    the object at `user` must outlive the arena */
    gpuarena *parent;                            /* see SUB-ARENAS */
    uint32_t oversubscribe;                      /* 1: limits of siblings need not fit into the parent's */
    const char *environment;                     /* variable whose text sets the fields below that are zero,
                                                    and oversubscribe; NULL: "GPUARENA_CONF"; "": none */
    gpuarena_backing   backing;
    gpuarena_growth    growth;
    gpuarena_streams   streams;
    uint32_t wait_ms;                            /* the time of stage 5, by driver.now_ns (0) */
    gpuarena_planning plan;
    gpuarena_scrub scrub;                        /* needs driver.clear, unless OFF */
    gpuarena_debug debug;                        /* GUARD: with PAGED alone */
    gpuarena_share share;                        /* WHOLE: with SEGMENTS alone. PAGES: with PAGED alone, and
                                                    if the driver has the group fd */
    uint64_t peers;                              /* bit i: device i, see PEERS; the device's own bit is
                                                    ignored. With PAGED and SEGMENTS alone */
    uint64_t page_bytes;                         /* PAGED: a power of two from 2 MiB to 1 GiB, and a
                                                    multiple of driver.page_bytes (2 MiB) */
    double   idle_fraction;                      /* see PAGED RANGES (0: 0.05; negative: nothing; 1, the
                                                    most: pages never move) */
    uint64_t large_bytes;                        /* see PAGED RANGES (8 MiB) */
    uint64_t initial_bytes;                      /* reserved at creation, in whole granules. Not with FIXED */
    uint64_t step_bytes;                         /* growth DOUBLE (2 MiB) and STEP (64 MiB); rounded up to
                                                    whole granules, as step_max_bytes is */
    uint64_t step_max_bytes;                     /* growth DOUBLE (256 MiB, or step if larger); not below
                                                    step_bytes */
    uint64_t alignment;                          /* of block sizes and addresses: a power of two from 256
                                                    to 2 MiB (256) */
    gpuarena_limit_base limit_base;
    uint64_t limit_bytes;                        /* the resulting limit must be at least 2 MiB, if paged at
                                                    least a page, and fit the device; PINNED: the host;
                                                    MANAGED: may be larger */
    double   limit_fraction;                     /* above 0, at most 1 */
    uint64_t headroom_bytes;                     /* device memory that growth leaves free (0) */
    gpuarena_release release;                    /* not ON_DEMAND: not with growth FIXED */
    uint64_t release_bytes;                      /* IDLE (64 MiB; 1: nothing), PRESSURE (256 MiB) */
    double   release_keep;                       /* IDLE (0: 0.5; negative: nothing; at most 1) */
    uint32_t release_age;                        /* AGE (10,000) */
    void *(*host_alloc)(size_t bytes, void *user);       /* for bookkeeping, aligned as malloc's, or NULL; */
    void  (*host_free)(void *memory, size_t bytes, void *user);      /*   set both or neither */
    void *host_user;
    gpuarena_observe_fn *observe;                /* NULL: none, which costs a predicted branch */
    void *observe_user;
    gpuarena_pressure_fn *pressure;              /* NULL: none */
    void *pressure_user;
    uint32_t zero_end;
} gpuarena_config;

/* ---- statistics, all uint64_t. The manual has the sums, which are exact when no call is in progress.
   Figures are the arena's own; only children, reserved, its peak and excess include sub-arenas. A field that
   is added here appears in the struct and in JSON reports. If it is for people, gpuarena__text_head writes
   it; if heaps count it, gpuarena__lock adds it up. */
#define GPUARENA_STATS(X) \
    X(requested_bytes) /* asked for, of all live blocks */ \
    X(slack_bytes) /* live - requested */ \
    X(live_bytes) /* occupied by live blocks */ \
    X(pending_bytes) /* free, but a stream may still use it, or it belongs to a capture set */ \
    X(cached_bytes) /* free for any request */ \
    X(children_bytes) /* reserved by sub-arenas and theirs */ \
    X(reserved_bytes) /* held from the driver: live + pending + cached + children */ \
    X(limit_bytes) /* in force; GPUARENA_NO_LIMIT: none */ \
    X(excess_bytes) /* reserved above a lowered limit: released as it becomes idle */ \
    X(largest_free_bytes) /* 0 in gpuarena_get_stats. The longest run of free blocks; or, paged, all spare \
                             and whole free pages, if that is more. A request of this size needs no growth \
                             once all GPU work is done. Memory of capture sets is not counted. 0 \
                             with config.debug, too: there each block has memory of its own */ \
    X(stranded_bytes) /* paged: free bytes in handles that are partly live, which can neither move nor go \
                         back; and memory earmarked for plans */ \
    X(requested_peak_bytes) /* the highest since creation or gpuarena_reset_peaks. Each of */ \
    X(live_peak_bytes) /*   the three peaks is counted by itself, so their */ \
    X(reserved_peak_bytes) /*   moments may differ */ \
    X(live_count) /* live blocks */ \
    X(alloc_count) /* allocations of more than 0 bytes. This and the counts below: since creation */ \
    X(free_count) /* blocks freed; alloc_count - free_count = live_count */ \
    X(fail_count) /* calls that failed, but for misuse */ \
    X(misuse_count) /* INVALID_ARGUMENT, a wrong pointer, STILL_IN_USE, REENTRANT */ \
    X(look_count) /* stage 1: allocations served by the look at all free blocks */ \
    X(resolve_count) /* stage 2: allocations served after other streams' events completed */ \
    X(grow_count) /* segments obtained, and times that pages were created */ \
    X(backoff_count) /* times that the driver refused and was asked for less */ \
    X(release_count) /* segments, large handles and runs of pages released */ \
    X(driver_call_count) /* of driver.memory.obtain and give_back, of driver.vm, ipc and fd */ \
    X(driver_error_count) /* failed releases that the result of no call tells of, unless they were to make \
                             room for a request; and failed unmaps, whose addresses are lost until \
                             gpuarena_trim or _destroy */ \
    X(remapped_page_count) /* paged: pages moved to where they were needed */ \
    X(wait_count) /* stages 5, 7 (paged) and 8: allocations for which the host waited; waits of stage 3 are \
                     in gpu_wait_count alone */ \
    X(stream_wait_count) /* stage 6: allocations for which their stream was made to wait */ \
    X(reclaim_count) /* stage 9, and the same in resize, reserve and creation: times that other arenas of \
                        the tree released idle memory for this one */ \
    X(pressure_count) /* stage 9: calls of config.pressure */ \
    X(planned_count) /* allocations served where a plan had them */ \
    X(unplanned_count) /* requests in a step with a plan that it did not serve, failed ones included */ \
    X(plan_count) /* plans made of two repetitions, or packed anew */ \
    X(gpu_wait_count) /* times that a stream was made to wait (stage 6), or that the host waited, in any \
                         call, for an event or for the device. The release of a segment that is not quiet \
                         counts, since the driver waits then; waits of debug=guard do not */ \
    X(sync_wait_count) /* frees, and segments of async memory, that only a device wait makes quiet */ \
    X(event_error_count) /* events that could not be made, recorded, queried or waited for, and failed waits \
                            for the device, except those of debug=guard: none of these events counts as \
                            completed */ \
    X(host_bytes) /* host memory held for bookkeeping */
typedef struct gpuarena_stats {
#define X(field) uint64_t field;
    GPUARENA_STATS(X)
#undef X
} gpuarena_stats;
typedef struct gpuarena_device {
    uint64_t total_bytes, free_bytes;            /* of this kind of memory, as the driver reports them */
    int64_t  other_bytes;                        /* total - free - reserved: other processes and contexts.
                                                    MANAGED: total - free, since reserved memory may lie
                                                    elsewhere */
    uint64_t page_bytes;                         /* granule of reserved memory; of segments 2 MiB */
    int32_t  device;                             /* the driver table's ordinal */
    int32_t  paged;                              /* 1: the arena's backing is PAGED */
    gpuarena_memory memory;                      /* PINNED: total, free and other are the host's */
} gpuarena_device;
typedef enum gpuarena_format { GPUARENA_FORMAT_TEXT, GPUARENA_FORMAT_JSON } gpuarena_format;

/* -fshort-enums would change the layout of these structs for some callers, and is refused here. */
typedef char gpuarena_enums_are_32_bits[sizeof(gpuarena_growth) == 4 ? 1 : -1];

/* >>api =================================================================================================
   True of every call, unless its contract says otherwise:
     Results    OK, or one of those listed. INVALID_ARGUMENT also for an arena that is NULL (or destroyed: see
                gpuarena_destroy), for NULL where something is to be read, written or called, and for
                GPUARENA_OWN_STREAM, except in calls that free or resize. A call on an arena may also return
                REENTRANT (called from a callback of the arena: see CALLBACKS) and FORKED (the arena belongs
                to the parent process; the failure is recorded for the thread alone, and figures read as
                zero).
     Failure    changes nothing, except that pending memory may have become quiet, and writes no output. It is
                recorded: see gpuarena_last_failure.
     Cost       constant, amortised, without the time that driver and host memory functions take. A call that
                asks other arenas of the tree for idle memory also takes O(arenas x arenas).
     Threads    any thread, any time.
     Callbacks  the observer, if one is set.
     Driver     no call, unless the contract names one. capture.exchange_mode goes around calls, and a failure
                OUT_OF_MEMORY may call memory.info and capture.active. A call that names a stream for the
                first time may query the events of streams that were named to gpuarena_forget, and of threads'
                default streams. A function whose contract names a call may also return DRIVER_ERROR,
                CAPTURE, NOT_SUPPORTED, DEVICE_LOST and HOST_MEMORY, even if it makes none. */

/* ---- life */

/* Fills *driver with a table for a CUDA device; -1 is the current device. The table may be copied and needs
   no end. No context is created: the table's first use does that.
     Driver     cudaGetDeviceCount, cudaGetDevice, and cudaGetDriverEntryPoint[ByVersion], by which virtual
                memory functions are found. If that fails, the groups vm and fd are absent.
     Peers      `peers` is 0: see config.peers.
     Results    INVALID_ARGUMENT (no such device: failure.detail lists those there are), NOT_SUPPORTED (built
                with GPUARENA_NO_CUDA; or failure.driver_code is 35, cudaErrorInsufficientDriver: the driver
                is missing or too old; 100, cudaErrorNoDevice; 34, 36 or 801), DEVICE_LOST, FORKED,
                HOST_MEMORY, DRIVER_ERROR (any other code).
   If an entry of the table cannot make the caller's device current again, the table's device stays current.
   Memory that the entry obtained is then given back, and the call fails with driver_code -1 and DRIVER_ERROR;
   memory that it freed stays freed. */
GPUARENA_API gpuarena_result gpuarena_driver_cuda(int device, gpuarena_driver *driver);

/* Creates an arena. config NULL means all defaults. The environment variable is read.
     Driver     memory.info; peer for config.peers; obtain for config.initial_bytes or growth FIXED, of paged
                arenas the group vm; with backing ASYNC then capture.active and the group events; with a
                parent that lacks room for it, entries by which its other sub-arenas release idle memory.
     Results    INVALID_CONFIG (failure.detail names the environment variable, if it has a text, the key, and
                what is allowed), HOST_MEMORY, OUT_OF_MEMORY (the initial memory; for FIXED: not even
                one granule), NOT_SUPPORTED (the driver lacks entries for scrub, share or peers, or a device
                cannot be a peer), and FORKED if driver is NULL, as gpuarena_driver_cuda.
     Parent     with config.parent also INVALID_CONFIG: the parent is no living arena, its driver differs in
                any field, its memory is of another kind (ASYNC counts as the device's), or the limits do not
                fit (failure.detail has their sum and the parent's limit); and REENTRANT from a callback of
                the parent.
     Failure    leaves only memory that the driver refuses to take back: see gpuarena_last_failure(NULL).
     Cost       O(segments, or pages, of the initial memory); with a parent also O(arenas). */
GPUARENA_API gpuarena_result gpuarena_create(const gpuarena_config *config, gpuarena **arena);

/* Gives all memory back and destroys the arena. No call may run concurrently with it or follow it; one that
   does returns INVALID_ARGUMENT where the arena can see it. Streams need not exist any more: none is used.
   NULL is OK and does nothing.
     Results    STILL_IN_USE: the arena has live blocks (failure.block is one of them, live_bytes is their
                sum, failure.most groups them by size and tag, for which it needs host memory; gpuarena_walk
                finds them, gpuarena_reset frees them), or a capture set that was not released, or another
                thread's allocation that waits or is in config.pressure, or an import, or sub-arenas
                (failure.detail names one).
                DRIVER_ERROR, CAPTURE, NOT_SUPPORTED: a segment was not taken back. The arena lives on with
                the memory that is left.
                OK if the device is lost, or is lost on the way: nothing can be given back then.
     Cost       O(blocks x log blocks + segments x log segments + streams + arenas).
     Driver     the groups memory, vm, events, ipc; with backing ASYNC also capture.active, for stream
                NULL. */
GPUARENA_API gpuarena_result gpuarena_destroy(gpuarena *arena);

/* ---- memory */

/* Allocates memory for use on one stream, or on every stream (GPUARENA_ANY_STREAM: quiet memory alone).
   *ptr becomes device memory aligned to config.alignment. bytes 0 is OK and gives NULL.
     Results    OUT_OF_MEMORY (see failure.reason).
     Failure    changes no more than THE WAY OF ONE ALLOCATION says at its end.
     Cost       constant on a hit; O(log free blocks) where a bin has more than 135 blocks, and in paged
                arenas for a page and more. A miss goes through the stages of the manual: O(free blocks and
                their uses + segments + streams), for paged arenas also O(holes + idle pages), O(n x log n)
                for n idle blocks if pages move, and a driver call or two for each page; with several streams
                or at the limit also O(blocks + streams) for each wait.
     Driver     on a miss, entries of all groups. */
GPUARENA_API gpuarena_result gpuarena_alloc(gpuarena *arena, void **ptr, uint64_t bytes,
                                            gpuarena_stream stream);

/* Allocates like gpuarena_alloc, with alignment, tag, flags and room.
     GPUARENA_ALLOC_TRY        a miss that stage 1 does not serve, even after plans are given up, fails
                               without a driver call, except capture.active with config.scrub: reason
                               TRY_ONLY, or OVER_LIMIT above a lowered limit.
     GPUARENA_ALLOC_DEDICATED  the block gets a segment of its own from memory.obtain, in whole granules and
                               within the limit. The segment goes back when the block is freed, at the cost of
                               a cudaFree; if a capture or the driver forbids that, with a later release.
     room_bytes                the block gets whole pages, and this many addresses behind it are given to
                               nobody else until it is freed or shrunk. NOT_SUPPORTED unless the backing is
                               PAGED; reason ADDRESSES if the driver has none left.
     Results    also INVALID_ARGUMENT: an alignment that is no power of two, an unknown flag, room or an
                alignment above 2 MiB with GPUARENA_ALLOC_DEDICATED. */
GPUARENA_API gpuarena_result gpuarena_alloc_ex(gpuarena *arena, void **ptr, const gpuarena_request *request);

/* Predicts the result of gpuarena_alloc_ex now. Nothing changes, except that pending memory of other arenas
   of the tree may become quiet.
     OK         free blocks serve the request, provided that events that must be waited for do not fail and no
                stream is captured; or growth is within the limit, and the driver's free memory is enough with
                idle memory that can go back first. The driver must still grant it, and addresses for it.
                MANAGED memory needs no free memory.
     Otherwise  the result of an alloc_ex that had to grow by alignment - config.alignment bytes more, for the
                driver's worst start of a segment. Only misuse is recorded.
     Too strict alloc_ex may serve a request denied here in six cases: idle memory must be released first,
                above a lowered limit or by release PRESSURE; memory earmarked for a plan (see PLANS), also in
                other arenas of the tree, must be given up first; GPUARENA_ALLOC_DEDICATED with an alignment
                above config.alignment, since only the driver knows how a segment will be aligned; ASYNC
                memory that was given back while a stream still used it, which info counts as free after a
                wait; beside a capture, memory that a stream new to the arena would have to wait for; and,
                with config.debug, a block that fits into the bytes by which the driver has rounded up.
     Cost       O(blocks + segments). Driver: memory.info, capture.active; of other arenas of the tree also
                the group events. */
GPUARENA_API gpuarena_result gpuarena_can_alloc(gpuarena *arena, const gpuarena_request *request);

/* Frees the live block whose base is ptr. NULL is OK and does nothing.
     stream     the last stream that used the block, ordered behind all others except those that were named to
                gpuarena_use. GPUARENA_ANY_STREAM: the GPU is done with it on all streams.
                GPUARENA_OWN_STREAM: the stream it was allocated for; a block allocated for every stream then
                waits for the whole device.
     Results    INTERIOR_POINTER, DOUBLE_FREE (failure.block is the block around ptr, detail the offset in
                it), WRONG_ARENA (detail: its name), FOREIGN_POINTER, STILL_IN_USE (the block is exported;
                it stays live). With config.scrub alone CAPTURE, DRIVER_ERROR, NOT_SUPPORTED: see SCRUB. Frees
                succeed on a lost device, and without host memory: if a new stream then has no record, the
                block waits for the whole device.
     Driver     on a per-thread stream, and with config.scrub, capture.active and the group events; with scrub
                also clear. While reserved memory is above a lowered limit, by config.release, and for a block
                with a segment of its own, the calls that release idle memory. If one fails, the block is
                free nevertheless, driver_error_count rises, and a later call releases the segment.
     Cost       as of a hit, and O(uses of the block). Above a lowered limit, and with release IDLE and AGE,
                O(segments + free blocks), paged O(streams + free blocks x log free blocks). A refused free:
                O(arenas x log segments + blocks in 2 MiB + 2 MiB pages in the block). */
GPUARENA_API gpuarena_result gpuarena_free(gpuarena *arena, void *ptr, gpuarena_stream stream);

/* Declares that the live block around `inside` is used on this stream too (as PyTorch's record_stream). Once
   the block is freed, it is not reused before the stream has finished the work that it had then. Call this
   between allocation and free, as often as needed. The stream of the free needs no call, and a free with
   GPUARENA_ANY_STREAM says that all uses are over. Without driver events this does nothing.
     Results    INVALID_ARGUMENT (GPUARENA_ANY_STREAM), FOREIGN_POINTER, WRONG_ARENA, DOUBLE_FREE (the memory
                is free), HOST_MEMORY.
     Cost       O(log segments + blocks in 2 MiB + 2 MiB pages in the block + uses of the block). */
GPUARENA_API gpuarena_result gpuarena_use(gpuarena *arena, const void *inside, gpuarena_stream stream);

/* Call this before a stream is destroyed. An event is recorded behind the stream's work so far, and the
   handle is forgotten: it may name another stream later, and the driver is not asked about it any more.
   Blocks allocated for the stream may still be freed, on another stream or on GPUARENA_OWN_STREAM. A stream
   that the arena does not know is OK.
     Results    INVALID_ARGUMENT (GPUARENA_ANY_STREAM); CAPTURE for a stream captured into a set of this
                arena: nothing is forgotten. CAPTURE for another captured stream, HOST_MEMORY, DRIVER_ERROR,
                NOT_SUPPORTED, DEVICE_LOST: the stream is forgotten, and blocks freed on it wait for the whole
                device.
     Cost       O(streams). Driver: the group events, capture.active. */
GPUARENA_API gpuarena_result gpuarena_forget(gpuarena *arena, gpuarena_stream stream);

/* Resizes a live block in place, or fails. ptr and the remaining contents stay.
     Growing    takes memory behind the block: the room it was allocated with, holes, which are then backed,
                and free memory that is quiet or the block's own stream's. If `stream` is another stream than
                the block's, quiet memory alone is taken.
     Shrinking  frees the tail as gpuarena_free on `stream` would; if there is one, the block's room ends.
                Idle memory goes back with a later free.
     Units      config.alignment; pages for a block with room; a block with a segment of its own, by
                GPUARENA_ALLOC_DEDICATED or config.debug, keeps it whole.
     Results    OUT_OF_MEMORY (NEIGHBOUR, OVER_LIMIT, OVER_PARENT, HEADROOM, DRIVER_REFUSED, PENDING, CAPTURE,
                TOO_LARGE; failure.block is the block), INVALID_ARGUMENT (bytes 0, or ptr NULL), STILL_IN_USE
                (the block is exported); of the pointer as gpuarena_free; REENTRANT from config.pressure, to
                grow.
     Cost       O(blocks that it takes); where pages move, as gpuarena_alloc.
     Driver     as gpuarena_alloc; so are the changes that a failure to grow leaves. */
GPUARENA_API gpuarena_result gpuarena_resize(gpuarena *arena, void *ptr, uint64_t bytes,
                                             gpuarena_stream stream);

/* Grows until reserved memory, sub-arenas included, is at least `bytes`: by one segment, or by several if the
   driver has no piece that large; in paged arenas by pages at the lowest holes.
     Results    OUT_OF_MEMORY (OVER_LIMIT, OVER_PARENT, HEADROOM, DRIVER_REFUSED, ADDRESSES, TOO_LARGE).
     Failure    gives back what this call grew, after a wait for the device where it was joined with memory
                that streams freed. Memory that the driver or a capture keeps from going back stays as free
                memory, and driver_error_count rises, unless the device is lost.
     Cost       O(segments), paged O(holes x pages). Driver: the groups memory, vm, events, capture. */
GPUARENA_API gpuarena_result gpuarena_reserve(gpuarena *arena, uint64_t bytes);

/* Releases idle segments and pages until reserved memory is at most keep_bytes, or nothing is idle; both are
   OK. The arena's own idle memory goes first, then its sub-arenas'. Of segments the smallest that suffices
   goes first, else the largest; of pages the highest. Pages that are not quiet follow after a wait for the
   device. *released_bytes may be NULL, and is written with OK and with each result below.
     Results    DRIVER_ERROR, NOT_SUPPORTED: the driver refused a segment that had to go, and all others were
                released; or it refused a page, and the release ended there. HOST_MEMORY: releasing part of a
                free block takes some. CAPTURE, DEVICE_LOST: the release ended there. A refusal in a sub-arena
                is counted in that arena's statistics alone.
     Cost       O(n x log n) for n segments, free blocks and idle pages; and O(streams).
     Driver     the groups memory, vm, events, capture. */
GPUARENA_API gpuarena_result gpuarena_trim(gpuarena *arena, uint64_t keep_bytes, uint64_t *released_bytes);

/* Sets the limit to exactly `bytes`: see THE LIMIT. 0 means zero bytes; GPUARENA_NO_LIMIT means no limit. The
   checks of gpuarena_create are not made: a limit may exceed the device, and the limits of sub-arenas may
   exceed their parent's.
     Results    as gpuarena_trim, from the release of idle memory above the limit, which is in force
                nevertheless. stats.excess_bytes is the memory above it that remains.
     Cost       O(n x log n) for n segments, free blocks and idle pages; and O(streams).
     Driver     the groups memory, vm, events, capture. */
GPUARENA_API gpuarena_result gpuarena_set_limit(gpuarena *arena, uint64_t bytes);

/* Frees every live block, each as gpuarena_free on this stream would. Segments are kept.
     Results    STILL_IN_USE for exported blocks, with config.scrub CAPTURE, DRIVER_ERROR, NOT_SUPPORTED: the
                latest refusal; all other blocks are free.
     Cost       O(the most blocks that were ever live at once), and the frees themselves.
     Driver     as gpuarena_free. */
GPUARENA_API gpuarena_result gpuarena_reset(gpuarena *arena, gpuarena_stream stream);

/* Returns a mark between the allocations of all threads so far and those to come, for gpuarena_free_since.
   Marks may be nested and need no end. 0: the arena is none, or nothing was allocated yet. */
GPUARENA_API uint64_t gpuarena_mark(gpuarena *arena);

/* Frees every live block that any thread allocated after the mark and that has this tag, each as
   gpuarena_free on this stream would. The tag may be a number of the caller's; tag 0 means whatever tag.
   Blocks that other threads allocate or free meanwhile are left alone. mark 0 with tag 0 is gpuarena_reset.
     Results    INVALID_ARGUMENT: the mark is later than the latest allocation, so it is another arena's;
                nothing is freed. Otherwise as gpuarena_reset.
     Cost       O(the most blocks that were ever live at once), and the frees themselves.
     Driver     as gpuarena_free. */
GPUARENA_API gpuarena_result gpuarena_free_since(gpuarena *arena, uint64_t mark, uint32_t tag,
                                                 gpuarena_stream stream);

/* A repetition of a sequence of allocations and frees begins, and the one before it ends: a training step, an
   evaluation, a batch of one shape. `kind` tells sequences apart that differ, and is chosen by the caller; 0:
   the repetition before ends, and none begins. See PLANS in the manual.
     Results    OK. That no plan can be made, for lack of host memory or for the configuration, is no failure.
     Cost       O(allocations of a step) while a sequence is recorded; when a plan is made, or turns out not
                to fit, and when it is packed, at once or after it has given up its memory, about 3 ms for
                1,000 allocations of a training step; where blocks live at random up to 0.1 s, or 25 ms for
                1,000 if that is more, after which packing is given up; else constant.
     Driver     when a plan is made or packed, the groups vm and events, capture.active and memory.info: idle
                pages move, and those beyond the peak go back. */
GPUARENA_API gpuarena_result gpuarena_step(gpuarena *arena, uint32_t kind);

/* ---- graph capture: see the manual */

/* From now on allocations on this stream belong to a capture set: they take free blocks of the set or quiet
   memory, or grow. If *set is 0, a new set is made and its number written; otherwise the stream joins that
   set. Call this for every stream that takes part, before or after cudaStreamBeginCapture.
     Results    INVALID_ARGUMENT (*set is no set of this arena; stream is GPUARENA_ANY_STREAM or captured
                already), NOT_SUPPORTED (the driver has no events, or config.scrub is set), HOST_MEMORY.
     Cost       O(streams + free blocks). Driver: unless a stream is captured already, the group events and
                capture.active. */
GPUARENA_API gpuarena_result gpuarena_capture_begin(gpuarena *arena, gpuarena_stream stream, uint64_t *set);

/* Declares that the stream's capture has ended or was given up; cudaStreamEndCapture may come before or
   after. When the last stream of a set ends, all free memory of the set serves its next capture.
     Results    INVALID_ARGUMENT (the stream is not captured).
     Cost       O(streams + blocks of the set).
     Driver     on a per-thread stream capture.active and the group events; their failure is no failure of
                this call. */
GPUARENA_API gpuarena_result gpuarena_capture_end(gpuarena *arena, gpuarena_stream stream);

/* Declares that the set's graphs are gone, and that their last launches come before any work added to this
   stream from now on, or are done (GPUARENA_ANY_STREAM). Free memory of the set then counts as freed on that
   stream, and its live blocks become ordinary ones.
     Results    INVALID_ARGUMENT (the set is not of this arena), CAPTURE (a capture into the set is in
                progress), HOST_MEMORY.
     Cost       O(streams + blocks of the set + free blocks that wait for several streams).
     Driver     on a per-thread stream capture.active and the group events; their failure is no failure of
                this call. */
GPUARENA_API gpuarena_result gpuarena_capture_release(gpuarena *arena, uint64_t set, gpuarena_stream stream);

/* ---- between processes: see the manual */

/* Exports the live block whose base is ptr, and writes in *shared how others import it. From now on the block
   can be neither freed nor resized. It may be exported again, for another process.
     Results    NOT_SUPPORTED (failure.detail says why); of the pointer as gpuarena_free, INVALID_ARGUMENT
                for NULL.
     Driver     ipc.get_handle, for a block of a segment. */
GPUARENA_API gpuarena_result gpuarena_export(gpuarena *arena, void *ptr, gpuarena_shared *shared);

/* Makes a file descriptor for the handle of pages that begins at_bytes behind the start of the memory that a
   block shares, and writes its length. The caller closes the descriptor.
     Results    INVALID_ARGUMENT (the block is not exported, or no such handle begins there), and as
                gpuarena_export.
     Driver     fd.from_page. */
GPUARENA_API gpuarena_result gpuarena_export_fd(gpuarena *arena, void *ptr, uint64_t at_bytes, int *fd,
                                                uint64_t *bytes);

/* Ends all exports of a block: it may be freed again. Every importer must have ended its import.
     Results    INVALID_ARGUMENT (the block is not exported, or NULL); of the pointer as gpuarena_free. */
GPUARENA_API gpuarena_result gpuarena_export_end(gpuarena *arena, void *ptr);

/* Imports a block that another process exported on the same device, or on one that may be its peer. *ptr
   becomes its address here. With shared->paged_bytes its memory comes by gpuarena_import_fd; before that it
   must not be used.
     Results    INVALID_ARGUMENT (gpuarena_export did not write *shared), NOT_SUPPORTED (the driver lacks
                the group ipc, or vm and fd), OUT_OF_MEMORY (ADDRESSES, DRIVER_REFUSED).
     Driver     ipc.open_handle, or vm.reserve; and ipc.close_handle or vm.release to undo one of no use. */
GPUARENA_API gpuarena_result gpuarena_import(gpuarena *arena, const gpuarena_shared *shared, void **ptr);

/* Maps the next handle of an import's pages, of `bytes`, in the order in which gpuarena_export_fd gave them.
   The caller closes the descriptor.
     Results    INVALID_ARGUMENT (fd negative; ptr is no import that lacks pages; bytes are no multiple of the
                driver's page, or more than it lacks), OUT_OF_MEMORY (DRIVER_REFUSED).
     Failure    of vm.map, vm.access or vm.destroy: only gpuarena_import_end may follow. Otherwise the call
                may be made again.
     Cost       O(imports).
     Driver     fd.to_page, vm.map, vm.access, vm.destroy. */
GPUARENA_API gpuarena_result gpuarena_import_fd(gpuarena *arena, void *ptr, int fd, uint64_t bytes);

/* Ends an import. The GPU must be done with the memory. NULL is OK and does nothing.
     Results    INVALID_ARGUMENT (ptr is no import of this arena). DRIVER_ERROR, CAPTURE, NOT_SUPPORTED: the
                driver refused; the memory must not be used any more, and the call may be made again. OK if
                the device is lost.
     Cost       O(imports).
     Driver     ipc.close_handle; or vm.unmap, vm.destroy, vm.release. */
GPUARENA_API gpuarena_result gpuarena_import_end(gpuarena *arena, void *ptr);

/* ---- looking */

/* Returns the arena of this process in whose ranges the address lies, free memory included, or NULL. Takes no
   arena's lock: may be called from any callback, but not from driver and host memory functions.
   Cost O(arenas x log segments). */
GPUARENA_API gpuarena *gpuarena_owner(const void *inside);

/* Enumerates the arenas of this process, oldest first: NULL gives the first, an arena the next one. Returns
   NULL behind the last, and for a pointer to no arena. Takes no arena's lock; nothing keeps a thread from
   destroying the arena that is returned. Cost O(arenas). */
GPUARENA_API gpuarena *gpuarena_next(const gpuarena *arena);

/* Describes in *block the block, live or free, in which the address lies.
     Results    WRONG_ARENA (failure.detail: its name), FOREIGN_POINTER.
     Cost       that of a refused gpuarena_free. */
GPUARENA_API gpuarena_result gpuarena_lookup(const gpuarena *arena, const void *inside,
                                             gpuarena_block *block);

/* Visits all blocks, live, free and holes, in the order of their addresses, as they were when the walk began.
   A visitor that does not return OK ends the walk, and its result is returned without being recorded.
     Cost       O(blocks); and 64 bytes of host memory for each block, until the call ends. Without these,
                other threads' hits wait for the visitor. */
GPUARENA_API gpuarena_result gpuarena_walk(const gpuarena *arena, gpuarena_visit_fn *visit, void *user);

/* Writes the arena's state through `write`, in pieces. TEXT is for people. JSON is one object: schema
   "gpuarena-report/1"; version; name; config (its text); stats (every field of gpuarena_stats by name);
   segments, which are the ranges: address ("0x.."), bytes and blocks with offset, bytes, state (live,
   pending, free, hole) and, if live, requested, serial and tag. If tags were used, also tags: tag, name, and
   every field of gpuarena_tag_stats; the first, 0 and "", is for blocks without a tag. A writer that does not
   return OK ends the report, as in gpuarena_walk.
     Results    INVALID_ARGUMENT (no such format).
     Cost       that of gpuarena_walk. */
GPUARENA_API gpuarena_result gpuarena_report(const gpuarena *arena, gpuarena_format format,
                                             gpuarena_write_fn *write, void *user);

/* Verifies every invariant of the arena's data and repairs nothing.
     Results    CORRUPT: message (NULL with size 0 is allowed) and failure.detail name the first violated
                invariant and its place. Otherwise message is "".
     Cost       O(blocks + host tables). */
GPUARENA_API gpuarena_result gpuarena_check(const gpuarena *arena, char *message, size_t size);

/* Sets the observer, which is called with `user`. NULL: no observer. */
GPUARENA_API gpuarena_result gpuarena_observe(gpuarena *arena, gpuarena_observe_fn *observe, void *user);

/* Writes the statistics; all zero if arena is no arena. In a callback, the call in progress may be missing
   from the sums. Walks over no blocks: largest_free_bytes is 0. */
GPUARENA_API void gpuarena_get_stats(const gpuarena *arena, gpuarena_stats *stats);

/* Gives the figures of gpuarena_get_stats and largest_free_bytes. Cost: with one stream O(free blocks of the
   highest occupied bin); with several O(free blocks that are not quiet); with capture sets O(blocks). */
GPUARENA_API void gpuarena_walk_stats(const gpuarena *arena, gpuarena_stats *stats);

/* Compares the device's figures with the arena's. Driver: memory.info. */
GPUARENA_API gpuarena_result gpuarena_get_device(gpuarena *arena, gpuarena_device *device);

/* Writes the configuration in force: defaults are filled in, limit_base is BYTES, fields that do not apply
   are 0, driver points to the arena's copy, environment is "". All zero if arena is no arena. */
GPUARENA_API void gpuarena_get_config(const gpuarena *arena, gpuarena_config *config);

/* Sets the three peaks, and those of tags, to the current values. Cost O(tags). */
GPUARENA_API void gpuarena_reset_peaks(gpuarena *arena);

/* Writes the record of the latest failed call on this arena by any thread; or, if arena is NULL, of the
   latest failed call of this thread on any arena or none, creation included. serial 0: there was none. */
GPUARENA_API void gpuarena_last_failure(const gpuarena *arena, gpuarena_failure *failure);

/* ---- tags. A tag, gpuarena_tag("kv"), names the purpose of memory, in the whole process. gpuarena_get_tag,
   reports and the sentence of a memory failure tell how much is live by tag: "live by tag: weights 3.2 GiB,
   kv 1.1 GiB". An arena that none was used in pays nothing for them. */

/* Returns the tag of this name, and makes it if there is none. Tags are 2^31 or more, and last as long as the
   process. A name is 1 to 31 characters of printable ASCII. Returns 0, which is no tag, and records a failure
   for this thread: INVALID_ARGUMENT (the name), NOT_SUPPORTED (there are GPUARENA_TAGS already).
   Cost O(tags). */
GPUARENA_API uint32_t gpuarena_tag(const char *name);

/* Returns the tag's name, a static string; "" for 0 and for numbers that gpuarena_tag did not return. */
GPUARENA_API const char *gpuarena_tag_name(uint32_t tag);

/* From now on, this thread's allocations on all arenas whose request has no tag get this one; 0 ends that.
   The tag may be a number of the caller's. Returns the previous one, to be set again. Meanwhile this
   thread's hits and frees take a little longer. */
GPUARENA_API uint32_t gpuarena_tag_scope(uint32_t tag);

/* Writes the statistics of the arena's blocks with this tag. 0 stands for all blocks whose tag is not one of
   gpuarena_tag's: so 0 and all tags add up to live_bytes, live_count and alloc_count of gpuarena_stats.
     Results    INVALID_ARGUMENT (the tag is not one of gpuarena_tag's).
     Cost       constant; for 0 O(tags). */
GPUARENA_API gpuarena_result gpuarena_get_tag(const gpuarena *arena, uint32_t tag,
                                              gpuarena_tag_stats *stats);

/* ---- text. Functions with (text, size) write at most size bytes, NUL included, and return the length of the
   whole text, as snprintf does. Unless a contract says otherwise, they need no arena and record nothing. */

/* Writes one sentence behind the arena's name: what was asked, what stood in the way, what would have helped.
   failure NULL gives "". */
GPUARENA_API size_t gpuarena_failure_text(const gpuarena_failure *failure, char *text, size_t size);

/* Return static strings such as "out_of_memory" and "over_limit"; "unknown" for other numbers. */
GPUARENA_API const char *gpuarena_result_name(gpuarena_result result);
GPUARENA_API const char *gpuarena_reason_name(gpuarena_reason reason);

/* Lays text over config: key=value,key=value, each key at most once; "" changes nothing. Keys: backing growth
   share peers page idle large initial step step_max alignment limit headroom oversubscribe release release_at
   release_keep release_age streams wait_ms scrub plan debug. Sizes are decimal with binary units: 256,
   64K, 512M, 4G, 1T; 4GB and 4GiB are 4G. idle and release_keep are `0` (none) or a share, `5%`. limit is a
   size, `none`, `80%` (of the device), `80%free` (of the bytes free at creation), `total-2G` or `free-2G`.
   peers are numbers of devices, `1+3`.
   Whether the values agree with each other is for creation to check. INVALID_CONFIG
   (message, which may be NULL with size 0, names the key and what is allowed; config is unchanged; recorded
   for this thread). On success message is "". */
GPUARENA_API gpuarena_result gpuarena_config_parse(const char *text, gpuarena_config *config,
                                                   char *message, size_t size);

/* The canonical text of a configuration: its fields that are not zero, in the order above. It parses back
   to the same (a fraction: to 15 digits). config NULL: "". */
GPUARENA_API size_t gpuarena_config_text(const gpuarena_config *config, char *text, size_t size);

#ifdef __cplusplus
} /* extern "C" */
extern "C++" {   /* typed pointers: float *x; gpuarena_alloc(arena, &x, n * sizeof *x, stream) */
template <class T>
GPUARENA_API gpuarena_result gpuarena_alloc(gpuarena *arena, T **ptr, uint64_t bytes,
                                            gpuarena_stream stream)
{
    void *memory = NULL;
    gpuarena_result result = gpuarena_alloc(arena, ptr ? &memory : static_cast<void **>(NULL), bytes, stream);
    if (result == GPUARENA_OK) *ptr = static_cast<T *>(memory);
    return result;
}
template <class T>
GPUARENA_API gpuarena_result gpuarena_alloc_ex(gpuarena *arena, T **ptr, const gpuarena_request *request)
{
    void *memory = NULL;
    gpuarena_result result = gpuarena_alloc_ex(arena, ptr ? &memory : static_cast<void **>(NULL), request);
    if (result == GPUARENA_OK) *ptr = static_cast<T *>(memory);
    return result;
}
} /* extern "C++" */
#endif

#endif /* GPUARENA_H -- the interface ends here: you need not read on to use it. */

/* >>impl ============================================================================================ */
#if defined(GPUARENA_STATIC) && !defined(GPUARENA_IMPLEMENTATION)
#define GPUARENA_IMPLEMENTATION
#endif
#if defined(GPUARENA_IMPLEMENTATION) && !defined(GPUARENA_IMPLEMENTATION_DONE)
#define GPUARENA_IMPLEMENTATION_DONE

#if defined(GPUARENA_MALLOC) != defined(GPUARENA_FREE)
#error "gpuarena: define both GPUARENA_MALLOC and GPUARENA_FREE, or neither"
#endif

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef GPUARENA_NO_CUDA
#ifdef __has_include
#if !__has_include(<cuda_runtime_api.h>)
#error "gpuarena: no cuda_runtime_api.h: give the CUDA Toolkit's include folder, or define GPUARENA_NO_CUDA"
#endif
#endif
#include <cuda_runtime_api.h>
#if CUDART_VERSION < 11030
#error "gpuarena: needs CUDA Toolkit 11.3 or newer"
#endif
#include <cudaTypedefs.h>
#include <time.h>
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif
#endif
#ifndef GPUARENA_NO_THREADS
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#define GPUARENA__THREAD_LOCAL __thread
#define GPUARENA__LOAD(place, order)         __atomic_load_n((place), __ATOMIC_##order)
#define GPUARENA__STORE(place, value, order) __atomic_store_n((place), (value), __ATOMIC_##order)
#define GPUARENA__ADD(place, value)          ((void)__atomic_fetch_add((place), (value), __ATOMIC_ACQ_REL))
#else
#define GPUARENA__THREAD_LOCAL
#define GPUARENA__LOAD(place, order)         (*(place))
#define GPUARENA__STORE(place, value, order) ((void)(*(place) = (value)))
#define GPUARENA__ADD(place, value)          ((void)(*(place) += (value)))
#endif

#ifndef GPUARENA_MALLOC
#define GPUARENA_MALLOC(bytes) malloc(bytes)
#define GPUARENA_FREE(memory)  free(memory)
#define GPUARENA__OWN_MALLOC
#endif
#ifndef GPUARENA_ASSERT
#define GPUARENA_ASSERT(condition) ((void)0)
#define GPUARENA__OWN_ASSERT
#endif
#if !defined(__GNUC__)                           /* clang defines it, too */
#error "gpuarena: needs gcc or clang"
#endif
#define GPUARENA__LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define GPUARENA__UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define GPUARENA__INLINE static inline __attribute__((always_inline))
#define GPUARENA__NOINLINE static __attribute__((noinline))  /* its registers are no burden to who calls it */
#define GPUARENA__PRINTF(text, values) __attribute__((format(printf, text, values)))

#ifdef __cplusplus
extern "C" {
#endif

typedef char gpuarena__sizes_fit_pointers[sizeof(uint64_t) >= sizeof(void *) ? 1 : -1];

#define GPUARENA__GRANULE   ((uint64_t)2 << 20)  /* physical unit of every current NVIDIA GPU */
#define GPUARENA__UNIT      ((uint64_t)256)      /* cudaMalloc promises this alignment: the finest block */
#define GPUARENA__MAX_BYTES ((uint64_t)1 << 49)  /* largest request, and segment; bins cover it */
static const uint64_t GPUARENA__MAX_TOTAL = (uint64_t)1 << 62; /* no device has more: sums do not wrap */
static const uint32_t GPUARENA__MAGIC = 0x67706172u,           /* a living arena; */
                      GPUARENA__FORKED = 0x666f726bu,          /*   the parent process's, in a child */
                      GPUARENA__MULTI_STREAM = UINT32_MAX;     /* a node's record: in no bin, on a list */

/* >>bits ===============================================================================================
   Rounding and powers of two, each in one place. Nothing here can fail without saying so. */

static uint64_t gpuarena__min(uint64_t left, uint64_t right)         { return left < right ? left : right; }
static uint64_t gpuarena__max(uint64_t left, uint64_t right)         { return left > right ? left : right; }
static uint64_t gpuarena__above(uint64_t value, uint64_t base)  { return value > base ? value - base : 0; }
static int gpuarena__is_power_of_two(uint64_t size)                  { return size && !(size & (size - 1)); }
static uint64_t gpuarena__round_down(uint64_t value, uint64_t power) { return value & ~(power - 1); }
static uint64_t gpuarena__address(const void *ptr)                   { return (uint64_t)(uintptr_t)ptr; }
static void *gpuarena__pointer(uint64_t address)                     { return (void *)(uintptr_t)address; }

/* Rounds up a device size, or an address, that was checked: it is far below 2^64. */
static uint64_t gpuarena__whole(uint64_t value, uint64_t power)
{
    GPUARENA_ASSERT(value <= UINT64_MAX - (power - 1) && "a checked size does not overflow");
    return gpuarena__round_down(value + power - 1, power);
}

static uint32_t gpuarena__lowest_bit(uint64_t value)
{
    GPUARENA_ASSERT(value != 0 && "0 has no lowest bit");
    return (uint32_t)__builtin_ctzll(value);
}

static uint32_t gpuarena__highest_bit(uint64_t value)
{
    GPUARENA_ASSERT(value != 0 && "0 has no highest bit");
    return 63u ^ (uint32_t)__builtin_clzll(value);
}

/* Text of bounded size that counts the bytes it would have needed, as snprintf does. */
typedef struct gpuarena__text { char *text; size_t size, length; } gpuarena__text;

/* Adds to a text. Returns 0, so that a function that refuses something can return the call. */
GPUARENA__PRINTF(2, 3) static int gpuarena__put(gpuarena__text *out, const char *format, ...)
{
    int length;
    size_t room = out->length < out->size ? out->size - out->length : 0;
    va_list values;
    va_start(values, format);
    length = vsnprintf(room ? out->text + out->length : NULL, room, format, values);
    va_end(values);
    if (length > 0) out->length += (size_t)length;
    return 0;
}

static gpuarena__text gpuarena__text_begin(char *text, size_t size)
{
    gpuarena__text out;
    out.text = text; out.size = text ? size : 0; out.length = 0;
    if (out.size) text[0] = '\0';
    return out;
}

/* A piece of text, not ended by NUL. */
typedef struct gpuarena__piece { const char *begin, *end; } gpuarena__piece;

/* Takes text from the front of a piece, if it is there. */
static int gpuarena__piece_skip(gpuarena__piece *piece, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(piece->end - piece->begin) < length || memcmp(piece->begin, text, length) != 0) return 0;
    piece->begin += length;
    return 1;
}

/* 4294967296 -> 4G, 300 -> 300: the shortest text that is exact. */
static void gpuarena__put_size(gpuarena__text *out, uint64_t bytes)
{
    static const char units[] = "\0KMGT";
    uint32_t unit = 0;
    while (unit < 4 && bytes >= 1024 && bytes % 1024 == 0) { bytes /= 1024; unit++; }
    gpuarena__put(out, "%" PRIu64 "%.1s", bytes, units + unit);
}

/* "3.2 GiB", "512 B", with one decimal or two. Without floating point, whose text depends on the locale. */
static void gpuarena__put_about(gpuarena__text *out, uint64_t bytes, int decimals)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    uint32_t unit = gpuarena__highest_bit(bytes | 1) / 10;
    uint64_t rest = unit ? (bytes >> (10 * (unit - 1))) & 1023 : 0;
    gpuarena__put(out, "%" PRIu64, bytes >> (10 * unit));
    if (unit) gpuarena__put(out, ".%0*" PRIu64, decimals, rest * (decimals == 1 ? 10 : 100) / 1024);
    gpuarena__put(out, " %s", units[unit]);
}

/* "1610612736 bytes (1.50 GiB)" */
static void gpuarena__put_bytes(gpuarena__text *out, uint64_t bytes)
{
    gpuarena__put(out, "%" PRIu64 " bytes", bytes);
    if (bytes < 1024) return;
    gpuarena__put(out, " (");
    gpuarena__put_about(out, bytes, 2);
    gpuarena__put(out, ")");
}

/* ---- locks. A spin is locked for a hit, or for as long as it takes (LONG). A thread that finds it locked
   tries again, and lets others have the processor in between. In the end it sleeps: until the spin is
   unlocked, if that is locked LONG (it parks); else for a millisecond, since to wake threads at each unlock
   of a crowded spin would cost the hits more than they take. */
#ifdef GPUARENA_TEST_LOCK
#include GPUARENA_TEST_LOCK                      /* tests that run threads in an order of their own */
#elif !defined(GPUARENA_NO_THREADS)
typedef pthread_mutex_t gpuarena__mutex;
static int  gpuarena__mutex_make(pthread_mutex_t *mutex)   { return pthread_mutex_init(mutex, NULL) == 0; }
static void gpuarena__mutex_end(pthread_mutex_t *mutex)    { (void)pthread_mutex_destroy(mutex); }
static void gpuarena__mutex_lock(pthread_mutex_t *mutex)   { (void)pthread_mutex_lock(mutex); }
static void gpuarena__mutex_unlock(pthread_mutex_t *mutex) { (void)pthread_mutex_unlock(mutex); }
#define GPUARENA__MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
static pthread_mutex_t gpuarena__registry_lock = GPUARENA__MUTEX_INIT;

/* Lets other threads have the processor. A thread yields to none of a lower real-time priority, which may be
   waited for: from times = YIELDS on it sleeps for a millisecond. */
enum { GPUARENA__YIELDS = 64 };
static void gpuarena__pause(uint32_t times)
{
    if (times < GPUARENA__YIELDS) (void)sched_yield();
    else (void)poll(NULL, 0, 1);
}

/* The state of a spin: 0, or TAKEN by a hit, or TAKEN and LONG; with LONG also PARKED, if threads sleep until
   it is unlocked. */
enum { GPUARENA__TAKEN = 1, GPUARENA__LONG = 2, GPUARENA__PARKED = 4 };
typedef struct gpuarena__spin {
    uint32_t state;
    uint32_t wanted;                             /* 1: somebody is in spin_claim */
    char     padding[56];                        /* who waits reads no line that its holder writes */
    pthread_mutex_t parking;                     /* held from PARKED to the sleep */
    pthread_cond_t  unlocked;
} gpuarena__spin;
static int gpuarena__spin_make(gpuarena__spin *spin)
{
    spin->state = spin->wanted = 0;
    if (!gpuarena__mutex_make(&spin->parking)) return 0;
    if (pthread_cond_init(&spin->unlocked, NULL) == 0) return 1;
    gpuarena__mutex_end(&spin->parking);
    return 0;
}

/* Changes the state of a spin if it is `from`. */
static int gpuarena__spin_swap(gpuarena__spin *spin, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&spin->state, &from, to, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Waits for a spin and takes it as `kind`: TAKEN, or that and LONG. */
GPUARENA__NOINLINE void gpuarena__spin_wait(gpuarena__spin *spin, uint32_t kind)
{
    const uint32_t held = GPUARENA__TAKEN | GPUARENA__LONG, parked = held | GPUARENA__PARKED;
    uint32_t asked = 0, state;
    while ((state = __atomic_load_n(&spin->state, __ATOMIC_RELAXED)) != 0
           || !gpuarena__spin_swap(spin, 0, kind)) {
        if (++asked % 32) continue;
        if (!(state & GPUARENA__LONG) || asked / 32 < GPUARENA__YIELDS) gpuarena__pause(asked / 32);
        else {
            gpuarena__mutex_lock(&spin->parking);
            if (gpuarena__spin_swap(spin, held, parked) || gpuarena__spin_swap(spin, parked, parked))
                (void)pthread_cond_wait(&spin->unlocked, &spin->parking);
            gpuarena__mutex_unlock(&spin->parking);
        }
    }
}

/* Takes a spin for a hit unless it is taken: by one instruction of x86, which gcc finds if this is a function
   of its own. */
GPUARENA__INLINE int gpuarena__spin_try_hit(gpuarena__spin *spin)
{
    return !(__atomic_fetch_or(&spin->state, GPUARENA__TAKEN, __ATOMIC_ACQUIRE) & GPUARENA__TAKEN);
}

/* Locks a spin for a hit. */
GPUARENA__INLINE void gpuarena__spin_lock_hit(gpuarena__spin *spin)
{
    if (GPUARENA__UNLIKELY(!gpuarena__spin_try_hit(spin))) gpuarena__spin_wait(spin, GPUARENA__TAKEN);
}

GPUARENA__INLINE void gpuarena__spin_unlock_hit(gpuarena__spin *spin)
{
    __atomic_store_n(&spin->state, 0, __ATOMIC_RELEASE);
}

/* Locks a spin for as long as it takes. */
static void gpuarena__spin_lock(gpuarena__spin *spin)
{
    if (GPUARENA__UNLIKELY(!gpuarena__spin_swap(spin, 0, GPUARENA__TAKEN | GPUARENA__LONG)))
        gpuarena__spin_wait(spin, GPUARENA__TAKEN | GPUARENA__LONG);
}

/* Makes a spin that was locked for a hit LONG: spin_unlock must unlock it then. */
static void gpuarena__spin_stay(gpuarena__spin *spin)
{
    (void)__atomic_fetch_or(&spin->state, GPUARENA__LONG, __ATOMIC_RELAXED);
}

/* Unlocks a spin, however it was locked. */
static void gpuarena__spin_unlock(gpuarena__spin *spin)
{
    if (!(__atomic_exchange_n(&spin->state, 0, __ATOMIC_RELEASE) & GPUARENA__PARKED)) return;
    gpuarena__mutex_lock(&spin->parking);
    (void)pthread_cond_broadcast(&spin->unlocked);
    gpuarena__mutex_unlock(&spin->parking);
}

/* A thread that takes a spin again and again keeps its line, so that another processor hardly ever sees it
   free. So who calls spin_enter, for a hit, waits while somebody is in spin_claim, which locks a spin for as
   long as it takes. One thread at a time may be in spin_claim. Both wait for the length of a hit, and so ask
   without a rest, unless it takes longer: then who has the spin may have no processor. */
static void gpuarena__spin_relax(uint32_t asked)
{
    if (asked % 64 == 0) gpuarena__pause(asked / 64);
#if defined(__x86_64__) || defined(__i386__)
    else __builtin_ia32_pause();
#elif defined(__aarch64__)
    else __asm__ __volatile__("yield");
#endif
}

GPUARENA__NOINLINE void gpuarena__spin_give_way(const gpuarena__spin *spin)
{
    uint32_t asked = 0;
    while (__atomic_load_n(&spin->wanted, __ATOMIC_RELAXED)) gpuarena__spin_relax(++asked);
}

GPUARENA__INLINE void gpuarena__spin_enter(gpuarena__spin *spin)
{
    if (GPUARENA__UNLIKELY(__atomic_load_n(&spin->wanted, __ATOMIC_RELAXED))) gpuarena__spin_give_way(spin);
    gpuarena__spin_lock_hit(spin);
}

static void gpuarena__spin_claim(gpuarena__spin *spin)
{
    uint32_t asked = 0;
    __atomic_store_n(&spin->wanted, 1, __ATOMIC_RELAXED);
    while (!gpuarena__spin_swap(spin, 0, GPUARENA__TAKEN | GPUARENA__LONG)) gpuarena__spin_relax(++asked);
    __atomic_store_n(&spin->wanted, 0, __ATOMIC_RELAXED);
}

/* Waits for the holder, and destroys the spin. */
static void gpuarena__spin_end(gpuarena__spin *spin)
{
    gpuarena__spin_lock(spin);
    (void)pthread_cond_destroy(&spin->unlocked);
    gpuarena__mutex_end(&spin->parking);
}
#else
typedef char gpuarena__mutex, gpuarena__spin;
#define GPUARENA__MUTEX_INIT 0
static char gpuarena__registry_lock = GPUARENA__MUTEX_INIT;
static int  gpuarena__mutex_make(char *mutex) { *mutex = 0; return 1; }
static int  gpuarena__spin_make(char *spin)   { *spin = 0; return 1; }
static void gpuarena__pause(uint32_t times)   { (void)times; }
#define X(name) static void gpuarena__##name(char *lock) { (void)lock; }
X(mutex_end) X(mutex_lock) X(mutex_unlock) X(spin_end) X(spin_lock) X(spin_lock_hit) X(spin_enter)
X(spin_claim) X(spin_stay) X(spin_unlock) X(spin_unlock_hit)
#undef X
#endif

/* >>structs ============================================================================================
   The data that the following sections work on, each struct with its invariants. All of it is host memory.

   A node describes one block. The nodes of a range cover it without gaps, in address order, linked by prev
   and next. Free nodes that could be joined are never adjacent, nor are two holes. node.size is the block's
   bytes, a multiple of 256, plus state bits:

     LIVE        as.live; 0 < requested <= size. With:
       KEPT        the hole behind the block is its own room
       DEDICATED   the block has a segment to itself, which goes back when it is freed. If the driver refuses,
                   its blocks are ordinary free blocks
       TAGGED      the block is counted by its tag
       PLANNED     a plan had its memory, which is earmarked when it is freed
       CLEARING    the default stream may still be clearing it, for a free that was refused
       EXPORTED    other processes may use it: it is neither freed nor resized
     (none)      free, and backed throughout. It is found:
                   as.tree, in its record's tree by address, if it has ordered_bytes or more
                   as.slot = class * 64 + slot * 8, the position of its digest in bits, if it is in a slot
                   as.list and as.held, in the arena's list, if its record is MULTI_STREAM
       OVERFLOW    as.list, in the class's list; or, with SURPLUS too, as.tree, in its record's tree by size,
                   since that list is full, or the block has small_bytes or more, but less than ordered_bytes
     HOLE        addresses without memory, in whole pages; as.list, in the list of holes. With:
       KEPT        in no list: a live block's room, or pages that the driver failed to unmap
     CLAIMED     free, but in no bin while the driver is asked to take its memory
     EARMARKED   free, but in no bin: it is earmarked for a plan */
static const uint64_t GPUARENA__LIVE = 1, GPUARENA__OVERFLOW = 2, GPUARENA__HOLE = 4, GPUARENA__KEPT = 8,
                      GPUARENA__DEDICATED = 16, GPUARENA__CLAIMED = 32, GPUARENA__TAGGED = 64,
                      GPUARENA__EARMARKED = 16 + 32, /* of free blocks */
                      GPUARENA__SURPLUS = 128,   /* of free blocks */
                      GPUARENA__PLANNED = 32,    /* of live blocks */
                      GPUARENA__CLEARING = 128,  /* of live blocks */
                      GPUARENA__EXPORTED = 2,    /* of live blocks */
                      GPUARENA__STATE_BITS = 255;

/* A node in no range may also stand for a use: a block's use on a further stream than the one it is freed on.
   Then it has a record, a ticket, and `next`: the block's next use. While the block is live, the ticket is 0;
   when the block is freed, it becomes the stream's next. */
typedef struct gpuarena__node {                  /* 64 bytes, one cache line */
    uint64_t address, size;
    uint32_t prev, next;                         /* neighbours in the range; 0, which is live: none */
    union {
        struct {
            uint64_t requested;                  /* bytes that the caller asked for */
            uint64_t serial;                     /* of the allocation */
            uint32_t tag;                        /* the caller's */
        } live;
        uint32_t slot;                           /* in a slot of the bins */
        struct {
            uint32_t low, high;                  /* children */
            uint64_t longest;                    /* bytes of the longest block in this subtree */
        } tree;
        struct {
            uint32_t before, after;              /* 0: the end */
            uint32_t number;                     /* in a class's list: the class */
        } list;
        struct {                                 /* with `list`: waits for several streams, or the device */
            uint32_t beside[4];
            uint32_t home;                       /* the record where it belongs afterwards */
        } held;
        struct {                                 /* with `slot`, `tree` or `list`: collected by a walk */
            uint32_t beside[4];
            uint32_t link;
        } chain;
    } as;
    uint64_t ticket;                             /* of its latest free, on its record; 0: waits for none */
    uint32_t record;                             /* number of a stream record. Live: of its allocation; free:
                                                    of the one that it waits for */
    uint32_t use_at;                             /* its first use on a further stream; 0: none */
} gpuarena__node;

enum { GPUARENA__PAGE_LOG2 = 21 };               /* of addresses, for anchors and owners */
enum { GPUARENA__LINE = 64, GPUARENA__CHUNK_LOG2 = 9, GPUARENA__CHUNK = 1 << GPUARENA__CHUNK_LOG2 };
typedef struct gpuarena__chunk {                 /* aligned to a cache line */
    gpuarena__node nodes[GPUARENA__CHUNK];
    void *memory;                                /* the allocation that it lies in */
} gpuarena__chunk;
enum { GPUARENA__CHUNK_BYTES = sizeof(gpuarena__chunk) + GPUARENA__LINE };       /* of that allocation */

/* Unused nodes: a stack, linked by next. */
typedef struct gpuarena__pool { uint32_t first, count; } gpuarena__pool;

/* Invariant: chunk_count * CHUNK = 1 (sentinel) + nodes in ranges + uses + unused nodes, here and in heaps */
typedef struct gpuarena__nodes {
    uintptr_t *origins;                          /* for each chunk: where node 0 would lie if all nodes were
                                                    contiguous with this chunk. Nodes never move */
    uint32_t chunk_count, chunk_room;
    gpuarena__pool unused;
    uint32_t kept_count;                         /* of these, kept for the call in the slow path, and one for
                                                    each live block of capture sets: see reserved_uses */
} gpuarena__nodes;

/* Bins: the free blocks of one record. Sizes in units of 256 B form classes like floating point numbers with
   three bits after the leading one: 8 classes to a power of two. A class has 8 slots, and a list of at most
   LISTED blocks that do not fit in them. Further blocks of all classes are in the tree by size; so are all
   blocks from small_bytes up to ordered_bytes, of which a request gets the smallest that fits: the rest of a
   page is stranded. Blocks of ordered_bytes and more are in the tree by address. Invariants:
     nodes[c * 8 + s]   is a free node of class c, exactly if byte s of digests[c] is not 0
     digests[c]         byte s is 1 + the six bits of the size after those of the class; 0: the slot is empty
     overflow[c]        is 0 if no slot of the class is taken, so that a search sees the class; it is not 0 if
                        the tree has a block of the class below small_bytes
     listed[c]          is the length of the list overflow[c]
     taken              bit c % 64 of taken[c / 64] is set exactly if digests[c] is not 0 */
enum { GPUARENA__OCTAVES = 42, GPUARENA__CLASSES = GPUARENA__OCTAVES * 8,  /* sizes below 2^50 */
       GPUARENA__CLASS_WORDS = (GPUARENA__CLASSES + 63) / 64, GPUARENA__LISTED = 128 };
typedef struct gpuarena__bins {
    uint32_t root[2];                            /* of the trees: [0] by address, [1] by size */
    uint64_t taken[GPUARENA__CLASS_WORDS];
    uint64_t digests[GPUARENA__CLASSES];
    uint32_t nodes[GPUARENA__CLASSES * 8];
    uint32_t overflow[GPUARENA__CLASSES];
    uint8_t  listed[GPUARENA__CLASSES];
    struct gpuarena__bins *foreign;              /* of a stream's blocks outside its heap's pages; NULL: there
                                                    are no heaps */
} gpuarena__bins;

/* Live nodes by address: open addressing with 4-byte slots; the keys are in the nodes; 0 is empty. A live
   node lies at most `longest` slots behind its home slot, so a removal may leave an empty slot. Invariant:
   capacity >= 4 * live nodes. */
typedef struct gpuarena__lookup {
    uint32_t *table;
    uint32_t mask, shift;                        /* mask + 1 = 2^(64 - shift) slots */
    uint32_t longest;
    uint32_t most;                               /* with this many live nodes the table must grow */
} gpuarena__lookup;

/* The state of a segment with debug GUARD: memory that is mapped nowhere, or without access, or in use. */
typedef enum gpuarena__guarding {
    GPUARENA__UNGUARDED, GPUARENA__CREATED, GPUARENA__MAPPED, GPUARENA__GUARDED
} gpuarena__guarding;

/* A range. Its tables follow it in host memory. anchors[p] is the first node that starts in its p-th 2 MiB
   page of addresses, or 0: from there any address is reached over the blocks of one page. Ranges are linked
   in the order of their addresses, and in a treap, in which no child's height exceeds its parent's. */
typedef struct gpuarena__range {
    uint64_t address, bytes;
    struct gpuarena__range *low, *high;          /* children */
    struct gpuarena__range *before, *after;      /* neighbours; NULL: none */
    struct gpuarena__range *next;                /* the next range to release in this pass */
    uint32_t *anchors;
    uint8_t *owners;                             /* of a page in which a node starts: its nodes' heap */
    uint64_t *pages;                             /* at a handle's first page: the handle; NULL: a segment */
    uint32_t *parts;                             /* at a handle's first page: the number of its pages; at its
                                                    others: INSIDE + how many pages before lies the first.
                                                    Of pages in holes without meaning */
    uint32_t first;                              /* the node at `address`; joining keeps the lower node */
    uint32_t height;
    uint64_t refused;                            /* the release pass in which the driver refused it */
    uint64_t used;                               /* release AGE: the clock at the latest free in it */
    uint32_t fresh;                              /* obtained by the gpuarena_reserve in progress */
    gpuarena__guarding guarded;                  /* debug GUARD: how far the segment came */
    uint64_t handle;                             /* debug GUARD: its memory */
} gpuarena__range;
typedef struct gpuarena__ranges {                /* disjoint. Without paged ranges their bytes
                                                    are the reserved bytes */
    gpuarena__range *root, *first, *last;
    uint32_t made;                               /* so many ever */
} gpuarena__ranges;

/* Addresses that are reserved for nothing; a handle that is mapped nowhere; and the data that all paged
   ranges share. A handle is memory of one page or more that the driver created in one piece, maps in one
   piece, and takes back in one piece. Its pages are adjacent wherever it is mapped. A handle is large if it
   has several pages.
   Invariants:
     idle_count    the pages of the handles that lie inside single free blocks
     large_count   the number of mapped large handles */
typedef struct gpuarena__retired { uint64_t address, bytes; } gpuarena__retired;
typedef struct gpuarena__handle { uint64_t id, page_count; } gpuarena__handle;    /* id: the driver's */
static const uint32_t GPUARENA__INSIDE = (uint32_t)1 << 31;
typedef struct gpuarena__paged {
    uint64_t page_bytes;                         /* 0: the arena has segments alone */
    uint32_t page_log2;
    uint32_t segment_count;                      /* blocks' own segments among the ranges */
    uint64_t span_bytes;                         /* of addresses, that a range has */
    uint64_t idle_count;                         /* pages whose handle lies inside one free block */
    uint64_t large_count;
    uint64_t idle_low_count;                     /* release AGE: the fewest idle ones of this span so far; */
    uint64_t idle_due;                           /*   it ends at this clock */
    uint64_t peak_bytes;                         /* of live, as growth saw it since pages went back; */
    uint64_t past_peak_bytes;                    /*   and that of the statistics then */
    gpuarena__handle *spare;                     /* handles that are mapped nowhere; */
    uint32_t spare_count, spare_room;
    uint64_t spare_pages;                        /* their pages */
    uint32_t holes;                              /* their list */
    uint32_t unmap_failed_count;                 /* holes that the driver failed to unmap */
    uint64_t kept_begin, kept_end;               /* pages for the growth in progress: they are not released */
    gpuarena__retired *retired;                  /* debug GUARD: addresses of past segments: a ring of the */
    uint32_t retired_count, retired_room;        /*   youngest, and those that the driver refused; */
    uint32_t retired_oldest;                     /*   in the ring */
} gpuarena__paged;

/* Stream records: free blocks wait for them. A variable `record` is the number of one. An ordinary record
   belongs to a stream. Its frees are numbered by tickets, and events cover them up to one ticket:
   quiet <= recorded <= ticket. Record 0 belongs to no stream: its blocks wait for nothing. A capture set has
   a record, its home, for memory that no work of a capture in progress may touch, and one for each stream
   captured into it. Blocks that nothing waits for any more go home: to record 0, or to their capture set's
   home. The tickets of homes number the blocks that only a wait for the device makes quiet. Live blocks refer
   to the record of their allocation, which is therefore not reused. */
typedef enum gpuarena__stream_state {
    GPUARENA__OPEN,                              /* found by its handle */
    GPUARENA__COVERED,                           /* the stream is captured: its capture's record is found */
    GPUARENA__CLOSED                             /* not found: forgotten, or of a capture that has ended */
} gpuarena__stream_state;
typedef struct gpuarena__stream {                /* hits use 40 bytes in a row, so that records side by side
                                                    have no cache line of these in common */
    gpuarena_stream handle;
    uint64_t key;                                /* a thread's own stream: its thread. A capture set's
                                                    home: the set's number. Else 0 */
    uint64_t ticket;                             /* of the latest free */
    gpuarena__bins *bins;                        /* the arena's own while there is one stream */
    uint32_t ref_count;  /* live blocks and their uses, free blocks that wait for several streams, captures */
    uint32_t heap;                               /* whose hits its own are; 0: the arena's */
    uint32_t home;                               /* where its blocks go; a home's is itself */
    gpuarena__stream_state state;
    uint64_t recorded;                           /* the latest that an event was recorded after */
    uint64_t quiet;                              /* the GPU is done with all up to this one */
    uint64_t asked;                              /* the latest when the device was waited for last */
    uint64_t waited, waited_for, refused;        /* the pass in which a stream was made to wait, and for which
                                                    ticket; in which it was not */
    uint32_t first_event, last_event;            /* recorded and not seen to be done, oldest first; 0: none */
    uint32_t event_count;
    uint32_t use_count;                          /* uses of freed blocks that wait for it */
    uint32_t guest_count;                        /* requests for it that wait for other threads */
    uint32_t under;                              /* a captured stream's: the record of its ordinary work */
    uint32_t reserved_uses;                      /* a captured stream's: live blocks, each of which may need
                                                    a use when it is freed */
} gpuarena__stream;

/* A stream that was named to the arena and not forgotten. Open addressing by a hash of handle and key: an
   entry lies at its home slot or behind it, with no empty entry between; an empty entry is all zero.
   Invariants:
     record   is the stream's open record; 0: that serves another stream, because nothing waited for this one
     known    is at most half full. A thread's own stream has an entry while it has a record */
enum { GPUARENA__KNOWN = 16 };                   /* entries at creation */
typedef struct gpuarena__known {
    gpuarena_stream handle;
    uint64_t key;
    uint32_t record;
    uint32_t used;                               /* 0: it is empty */
} gpuarena__known;
typedef struct gpuarena__recent {                /* the plain stream seen last, and its record; 0: none */
    gpuarena_stream stream;
    uint32_t record;
} gpuarena__recent;
typedef struct gpuarena__streams {
    gpuarena__stream *list;
    uint32_t count, room;
    uint32_t many;                               /* 1: there are several records, each with bins of its own */
    uint32_t ordered;                            /* 0: the driver has no events; all streams are one queue */
    uint32_t captured;                           /* number of streams captured into sets */
    uint64_t set_serial;                         /* of the latest capture set */
    uint64_t pass;                               /* counts the passes of waiting */
    gpuarena_stream own, own_too;                /* handles of the per-thread stream; OWN_STREAM: none */
    gpuarena__recent recent;
    gpuarena__known *known;
    uint32_t known_count, known_room;            /* room: 2^(64 - shift) */
    uint32_t known_shift;
    uint32_t own_known;                          /* 1: a thread's own stream was named */
} gpuarena__streams;
typedef struct gpuarena__event {
    void    *handle;
    uint64_t ticket;                             /* it is recorded after this free */
    uint32_t next;                               /* of its stream, or of the unused */
} gpuarena__event;
typedef struct gpuarena__events {                /* entry 0 is none */
    gpuarena__event *list;
    uint32_t count, room, unused;
} gpuarena__events;

/* Live bytes by tag. The arena's stats.live_peak_bytes is not the peak of live bytes but how far they may
   rise without a new peak, of all blocks or of untagged ones: the lesser of the first, and the second with
   the live bytes of tagged blocks. */
typedef struct gpuarena__tags {
    gpuarena_tag_stats *list;                    /* by place; that of place 0 is not used */
    uint32_t room;                               /* 0: no tag was used here */
    uint64_t live_bytes;                         /* of all tags */
    uint64_t peak_bytes, untagged_peak_bytes;    /* of live: of all blocks, and of those without a tag */
} gpuarena__tags;

/* Heaps. Once two threads have named streams, each of them has a heap. Hits and frees on the streams that a
   thread named first hold its heap's lock alone. A heap owns the pages of addresses in which its nodes start;
   pages of the arena itself are changed with all locks alone. All locks: the arena's and those of all heaps.
   Invariants:
     owners     all nodes that start in one page belong to its owner. It changes with all locks, and only
                where no live node starts
     lookup     has the live nodes that start in the heap's pages, live_count in number
     unused     these nodes have record 0: see heap_may_join
     bins       have the quiet blocks that start there; those of a stream of this heap that do are in the
                stream's `bins`, and no heap but this one touches them
     stats      changes by hits and frees since all locks were held last: see lock. Live and
                requested bytes are counted from BASE; their peaks are how far they may rise without a new one
                of the arena: its leases, which sum to no more than the arena's bytes below its peaks
     serials    the SERIALS numbers behind serial_base are this heap's to give, until all locks are held */
static const uint64_t GPUARENA__HEAP_MOST = (uint64_t)1 << 20; /* a larger request has the best of all free
                                                                  blocks, with all locks */
static const uint64_t GPUARENA__HEAP_RUN = (uint64_t)16 << 20; /* of free addresses that a heap keeps, if
                                                                  another takes the rest */
enum { GPUARENA__HEAPS = 16,                                 /* threads beyond share them */
       GPUARENA__SERIALS = 1 << 16, GPUARENA__HINTS = 64,
       GPUARENA__HIT_NODES = 3, GPUARENA__REFILL = 64,       /* nodes that a hit may take, and has at once */
       GPUARENA__HEAP_TRIES = 4 };                           /* free blocks that a hit tries to cut */
static const uint64_t GPUARENA__HEAP_BASE = (uint64_t)1 << 62;
typedef struct gpuarena__heap {                  /* aligned to a cache line */
    gpuarena__spin lock;
    gpuarena__recent recent;                     /* of its streams */
    uint32_t number;                             /* from 1 */
    uint64_t thread;                             /* that named its streams first */
    gpuarena__pool unused;
    uint64_t serial, serial_base;
    uint64_t idle_count;                         /* by how much it has changed paged.idle_count */
    uint64_t live_seen;                          /* of stats.live_count, counted in the arena's */
    gpuarena__lookup lookup;
    gpuarena_stats stats;
    gpuarena__bins bins;
    void *memory;                                /* the allocation that it lies in */
} gpuarena__heap;
typedef struct gpuarena__heaps {
    uint64_t thread;                             /* that named the first stream; 0: there was none */
    uint32_t wanted;                             /* 1: another thread has named a stream */
    uint32_t count;
    gpuarena__heap *list[GPUARENA__HEAPS + 1];   /* [0] is not used */
    struct {                                     /* which heap a stream may have; read without a lock */
        gpuarena_stream stream;
        uint32_t heap;                           /* 0: the entry is empty */
    } hints[GPUARENA__HINTS];
} gpuarena__heaps;

/* Sums over an arena and all arenas below it; under the registry's lock. Invariants:
     reserved, growing   are the arena's own plus those of its sub-arenas
     reserved + growing  is raised at most up to the limit, and only if that holds for all arenas above */
typedef struct gpuarena__family {
    uint64_t number;                             /* of the arena, by age */
    uint64_t reserved, growing, peak;            /* peak: of reserved */
    uint64_t changes, own_changes;               /* counts changes that may have made room: falls of the sum,
                                                    and of limits, here and below; here alone */
    uint64_t falls, own_falls;                   /* changes without those that only undid an attempt */
    uint64_t kept;                               /* reserved by this arena alone, and certain to stay */
    uint32_t ending;                             /* 1: it is being destroyed, and can be no parent */
} gpuarena__family;

/* Which arena a thread is inside: see the section lock. */
typedef enum gpuarena__frame_kind {
    GPUARENA__FRAME_CALLBACK,                    /* the lock is held */
    GPUARENA__FRAME_DRIVER,                      /* the slow-path mutex is held */
    GPUARENA__FRAME_PRESSURE                     /* neither */
} gpuarena__frame_kind;
typedef struct gpuarena__frame {
    const gpuarena *arena;
    const struct gpuarena__frame *outer;
    gpuarena__frame_kind kind;
} gpuarena__frame;

/* A step's allocations, in order, each with its place in the plan. */
typedef struct gpuarena__planned {
    uint64_t address;                            /* where it is to lie; 0: where it can. While the step is
                                                    recorded: where it lies. While the plan is packed: 1 + the
                                                    offset in its region */
    uint32_t units;                              /* its size, in units; 0: none that a plan could serve */
    uint32_t record;                             /* the record of its stream */
    uint32_t until;                              /* how many allocations had come when it was freed, since the
                                                    step's begin; in the next step: count + 1 + those there;
                                                    0: it was not, or in a step of another kind */
    uint32_t first, below;                       /* of the blocks that begin at this address, and at the next
                                                    lower one: the entry whose `node` counts */
    uint32_t node;                               /* the latest block that began there; it may be gone */
    uint64_t served;                             /* the step in which it came last */
} gpuarena__planned;
typedef struct gpuarena__sequence {
    gpuarena__planned *list;
    uint32_t count, room;
    uint64_t serial;                             /* of the allocation before the first */
} gpuarena__sequence;
enum { GPUARENA__PLANS = 8, GPUARENA__PLAN_REGIONS = 8, GPUARENA__PLAN_MOST = 1 << 20,
       GPUARENA__PLAN_NEAR = 32,                 /* a request is looked for among so many, before and after */
       GPUARENA__PLAN_PIECES = 64,               /* memory is scattered with more than one hole for so many
                                                    pages */
       GPUARENA__PLAN_GAIN = 256,                /* pages move if one part in so many of the peak goes back */
       GPUARENA__PLAN_PROVEN = 2 };              /* so many more steps are alike before pages move for one */
typedef enum gpuarena__plan_state {
    GPUARENA__PLAN_RECORDS,                      /* steps of its kind are recorded */
    GPUARENA__PLAN_SERVES,                       /* `seen` has addresses, which are earmarked */
    GPUARENA__PLAN_WAITS,                        /* `seen` has them; the kind's next step earmarks them */
    GPUARENA__PLAN_ENDS                          /* until the step ends; nothing is earmarked any more */
} gpuarena__plan_state;
typedef struct gpuarena__plan {
    uint64_t step;                               /* in which it began last */
    uint32_t kind;                               /* as gpuarena_step was told; 0: unused */
    gpuarena__plan_state state;
    uint32_t clean;                              /* so many of the latest steps were served throughout; or,
                                                    recorded, were alike but could not be planned */
    uint32_t packed;                             /* 1: its blocks lie in regions */
    uint32_t trimmed;                            /* 1: it has been improved as far as it can be */
    uint32_t moving;                             /* the latest times that it went on after a wait, pages moved
                                                    for it: so many */
    uint32_t rest, failures;                     /* steps of its kind that are not watched; plans given up */
    gpuarena__sequence seen;                     /* the kind's latest recorded step */
} gpuarena__plan;
typedef enum gpuarena__making {
    GPUARENA__MAKES_BLOCK,
    GPUARENA__MAKES_REGION,                      /* idle pages are taken first */
    GPUARENA__MAKES_SPARE                        /* pages that were released for a plan are created again */
} gpuarena__making;
typedef struct gpuarena__region {                /* memory for the plans' blocks of one stream */
    uint64_t address, bytes;                     /* bytes 0: they lie elsewhere, so far */
    uint32_t record;
} gpuarena__region;

/* Invariants:
     now       NULL outside of steps, and in those that are neither recorded nor served
     regions   one of each stream for which memory is earmarked. Its record is not another's meanwhile: it
               counts as a reference */
typedef struct gpuarena__plans {
    gpuarena__plan *now;                         /* of the step under way */
    uint64_t step;                               /* counts the steps */
    uint64_t missed;                             /* allocations of this step that `now` did not have */
    uint32_t cursor;                             /* in now->seen: behind the latest allocation that it had */
    uint32_t astray, astray_at;                  /* the latest of those in a row, up to 4; the cursor then */
    uint32_t trial;                              /* 1: `now` serves after one step, and is recorded, too */
    uint32_t unit_log2;
    gpuarena__making making;                     /* the purpose of growth in progress */
    gpuarena__sequence fresh;                    /* the step under way, if it is recorded */
    uint64_t given_bytes;                        /* released for the plans, and not had back since */
    uint64_t moved_count;                        /* pages moved, and releases, before this step */
    uint32_t region_count;
    gpuarena__region regions[GPUARENA__PLAN_REGIONS];
    gpuarena__plan list[GPUARENA__PLANS];
} gpuarena__plans;

/* Memory of another process that is mapped here. */
typedef struct gpuarena__import {
    uint64_t ptr;                                /* the caller's pointer; 0: nobody has it, and the driver has
                                                    refused to take it back: gpuarena_destroy asks again */
    uint64_t base;                               /* of a segment, or of the reserved addresses; */
    uint64_t reserved;                           /*   of these so many bytes; 0: a segment */
    uint64_t mapped, lacks;                      /* bytes of pages, and those still to come */
    uint64_t page, page_bytes;                   /* a handle that was not given up yet; page_bytes 0: none */
} gpuarena__import;
typedef struct gpuarena__imports {
    gpuarena__import *list;
    uint32_t count, room;
} gpuarena__imports;

/* The values that the fast paths test. */
typedef struct gpuarena__fast {
    uint64_t hit_max_bytes;                      /* requests up to this size may be hits: MAX_BYTES, or 0 */
    uint64_t max_bytes;                          /* the same, but 0 in a step that is recorded or planned, and
                                                    if there is an observer */
    uint64_t slow_free_flags;                    /* a free of a block with none of these bits takes the fast
                                                    path; LIVE is among them while every free has more to
                                                    do */
    uint64_t slow_frees;                         /* 1: each free may release or clear something, and takes
                                                    the slow path */
} gpuarena__fast;

struct gpuarena {
    uint32_t magic;                              /* MAGIC while alive */
    uint32_t one_heap;                           /* MAGIC while alive and without heaps */
    uint32_t lost;                               /* 1 from the first sticky error on: no driver call */
    int32_t lost_code;                           /* that error */
    int32_t caller_mode;                         /* capture mode to restore when the call ends; -1: none */
    uint64_t release_pass;                       /* counts release passes, except those of frees */
    uint64_t unit;                               /* config.alignment */
    char     padding[64];                        /* separates data that is read without the lock from data
                                                    that its holder writes */
    gpuarena__spin lock;                         /* guards all that follows: see the section lock */
    gpuarena__frame asking;                      /* of the driver call in progress */
    gpuarena__mutex slow_mutex;                  /* of the call that may change more than a hit */
    gpuarena__mutex reclaim;                     /* a tree's root: of the call that reclaims from siblings */
    uint32_t entering;                           /* calls that wait for the slow-path mutex; atomic */
    uint32_t away_count;                         /* calls that have unlocked it for a wait and will return */
    gpuarena__nodes nodes;
    gpuarena__lookup lookup;
    gpuarena__ranges ranges;
    gpuarena__streams streams;
    gpuarena__heaps heaps;
    gpuarena__events events;
    uint32_t multi_stream;                       /* list of the free blocks that wait for several streams */
    uint64_t ordered_bytes;                      /* from this size on free blocks are in a tree by address, */
    uint64_t small_bytes;                        /*   and from this size on in a tree by size; smaller ones
                                                    contain no whole page */
    gpuarena__paged paged;
    gpuarena__fast fast;
    gpuarena_memory memory;                      /* the kind that its segments are of */
    uint64_t limit;                              /* written under the registry's lock, too */
    uint32_t has_family;                         /* 1: it has a parent, or has had a sub-arena */
    uint32_t over_limit;                         /* 1: a limit of the tree, here or above, was lowered below
                                                    the memory reserved there; until a free finds that it is
                                                    not any more */
    gpuarena__family family;
    uint64_t call_count;                         /* calls that held the slow-path mutex and have ended */
    uint64_t other_free_count;                   /* parts of blocks freed, capture sets released */
    uint64_t device_bytes;                       /* the device's size, when asked last */
    uint64_t reachable_bytes;                    /* reserved + the device's free bytes, when asked last */
    uint64_t growing;                            /* charged for growth in progress and unreturned_bytes */
    uint64_t unreturned_bytes;                   /* given back to the driver's pool, which may not have
                                                    returned them yet */
    uint64_t step;                               /* the next step of growth DOUBLE */
    uint64_t release_due;                        /* release AGE: nothing is old enough before this clock */
    uint64_t serial;                             /* of the latest allocation */
    uint64_t action_serial;
    gpuarena_stats stats;                        /* fields that gpuarena__stats_now derives are 0 */
    uint64_t host_bytes;
    gpuarena *registered;                        /* next arena of the process */
    gpuarena_failure last;
    gpuarena_driver driver;
    gpuarena_config config;                      /* in force */
    gpuarena__tags tags;
    gpuarena__plans plans;
    gpuarena__imports imports;
    gpuarena__bins bins;
};

/* The arena's tables that grow. X(table, room) */
#define GPUARENA__TABLES(X) \
    X(nodes.origins, nodes.chunk_room) X(streams.list, streams.room) X(streams.known, streams.known_room) \
    X(events.list, events.room) X(tags.list, tags.room) \
    X(paged.spare, paged.spare_room) X(paged.retired, paged.retired_room) \
    X(imports.list, imports.room)

/* A request that has passed its checks. */
enum { GPUARENA__ALLOC_EXACT = 4 };              /* in flags, with GPUARENA_ALLOC_DEDICATED: the segment need
                                                    not be whole granules, nor begin with the block */
typedef struct gpuarena__request {
    uint64_t requested, bytes, alignment;        /* bytes: rounded up; alignment >= unit */
    uint64_t room;                               /* addresses to keep behind it, in whole pages */
    uint32_t after_sync;                         /* 1: pending memory counts as free */
    gpuarena_stream stream;
    uint32_t tag, flags;
    uint32_t place;                              /* the tag's place; 0: not counted by tag */
    uint32_t record, home;                       /* their blocks serve it, and quiet ones; 0: none */
} gpuarena__request;

/* The error of the last stage that failed. */
typedef struct gpuarena__error {
    gpuarena_result result;
    gpuarena_reason reason;
    int32_t code, status;                        /* the driver's, and the gpuarena_status that it stands for;
                                                    another number counts as FAILED */
    const char *call;                            /* DRIVER_REFUSED: the entry that refused */
    const char *detail;                          /* what is wrong; NULL: the driver's name of the code */
    uint32_t block;                              /* the node that a misuse concerns; 0: none */
} gpuarena__error;

/* >>host ===============================================================================================
   Host memory for bookkeeping, counted by arena, and the one way in which tables grow, and that in which they
   are sorted. */

static void *gpuarena__host_alloc_raw(const gpuarena_config *config, size_t bytes)
{
    return config->host_alloc ? config->host_alloc(bytes, config->host_user) : GPUARENA_MALLOC(bytes);
}

static void gpuarena__host_free_raw(const gpuarena_config *config, void *memory, size_t bytes)
{
    if (config->host_free) config->host_free(memory, bytes, config->host_user);
    else GPUARENA_FREE(memory);
}

static void *gpuarena__host_alloc(gpuarena *arena, size_t bytes)
{
    void *memory = gpuarena__host_alloc_raw(&arena->config, bytes);
    if (memory) arena->host_bytes += bytes;
    return memory;
}

static void gpuarena__host_free(gpuarena *arena, void *memory, size_t bytes)
{
    if (!memory) return;
    arena->host_bytes -= bytes;
    gpuarena__host_free_raw(&arena->config, memory, bytes);
}

/* Grows a table for `more` elements behind the first `count`, by doubling. Returns the table, moved or not;
   if there is no host memory it is unchanged. */
static void *gpuarena__host_room(gpuarena *arena, void *table, size_t element_bytes, uint32_t count,
                                 uint64_t more, uint32_t *room)
{
    uint32_t larger = *room;
    void *copy;
    for (; larger - count < more; larger = larger ? larger * 2 : 8)
        if (larger > UINT32_MAX / 2) return table;
    copy = larger == *room ? NULL : gpuarena__host_alloc(arena, larger * element_bytes);
    if (!copy) return table;
    if (count) memcpy(copy, table, count * element_bytes);
    gpuarena__host_free(arena, table, *room * element_bytes);
    *room = larger;
    return copy;
}

/* Makes room in a table for `more` elements behind the first `count`. 0: no host memory. */
#define GPUARENA__RESERVE(arena, type, table, count, more, room) \
    ((table) = (type *)gpuarena__host_room((arena), (table), sizeof(type), (count), (more), &(room)), \
     (room) - (count) >= (more))

/* Sorts a list. is_before: an expression that tells whether `one` belongs before `other`. Shell sort. */
#define GPUARENA__SORT(type, list, count, is_before) \
    do { \
        size_t step, from, to; \
        for (step = (count) / 2; step; step = step == 2 ? 1 : step * 5 / 11) \
            for (from = step; from < (count); from++) { \
                const type one = (list)[from]; \
                for (to = from; to >= step; to -= step) { \
                    const type other = (list)[to - step]; \
                    if (!(is_before)) break; \
                    (list)[to] = other; \
                } \
                (list)[to] = one; \
            } \
    } while (0)

/* >>lock ===============================================================================================
   Each arena has three kinds of locks.
     The short lock     a spin lock, guards all data of the arena. A hit, a plain free and a look at figures
                        hold it alone. Without heaps, hits and frees lock it by spin_lock_hit, and unlock it
                        by spin_unlock_hit unless they have called the observer.
     A heap's lock      a spin lock, guards what the heap owns: see the structs. Its hits and frees hold it
                        alone. Whoever locks the short lock locks those of all heaps, too, in their order
                        (lock, unlock). Elsewhere in this file "the short lock" means all of these. Data that
                        a heap reads with its lock, but does not own, changes with all locks alone, save
                        `prev` and `record` of nodes beside its own: see heap_joins. A heap's lock is taken
                        with others by spin_claim, and alone, for a hit, by spin_enter.
     The slow-path mutex
                        is held by one call at a time that may do more: call the driver, grow, move pages,
                        release memory, make stream records, destroy. That call holds the short lock too, and
                        unlocks it around each driver call (GPUARENA__ASK), so that other threads' hits and
                        frees go on.
   After a driver call, free blocks, nodes, lookup slots, uses of live blocks and statistics may have changed,
   and tickets may have risen. Ranges, holes, stream records, events and the limit are unchanged. Memory that
   the driver is asked about is out of the bins meanwhile (CLAIMED). So a block is looked up after the last
   driver call that precedes its use, and a block that a stage finds is taken before the next one. Making a
   stream's record may call the driver, too, for the events of forgotten streams.

   Lock order: the reclaim mutex of the tree's root, the slow-path mutex, the short lock, the heaps' locks,
   the registry's lock. Nothing else is waited for under the short lock. Figures that the arenas of a tree
   share (family) are guarded by the registry's lock: a charge is made in all of them or in none. A call that
   wants idle memory of siblings unlocks its own arena first and then locks one of them at a time: no thread
   waits for a slow-path mutex while it holds another, and one call of a tree reclaims at a time. Callers that
   wait are counted as entering: an arena is not freed before they have left.

       enter .. leave   hold the short lock       ask_begin .. ask_end      hold the slow-path mutex alone
       begin .. end     hold both locks           unlock_all .. relock_all  hold neither, for a wait

   Each thread has a list of frames that tell which arenas it is inside, so that a call back into one of them
   is refused instead of deadlocking. */

static GPUARENA__THREAD_LOCAL const gpuarena__frame *gpuarena__frames;
static GPUARENA__THREAD_LOCAL gpuarena__frame gpuarena__tagging;         /* of no arena: a tag scope is set */
static GPUARENA__THREAD_LOCAL uint32_t gpuarena__scope;                  /* its tag */
static GPUARENA__THREAD_LOCAL gpuarena_failure gpuarena__thread_failure;

/* Tells whether this thread is inside the arena in this way. */
static int gpuarena__inside_of(const gpuarena *arena, gpuarena__frame_kind kind)
{
    const gpuarena__frame *frame;
    for (frame = gpuarena__frames; frame; frame = frame->outer)
        if (frame->arena == arena && frame->kind == kind) return 1;
    return 0;
}

static void gpuarena__call_begin(gpuarena__frame *frame, const gpuarena *arena, gpuarena__frame_kind kind)
{
    frame->arena = arena;
    frame->outer = gpuarena__frames;
    frame->kind = kind;
    gpuarena__frames = frame;
}

/* 1: this thread is inside no arena. Hits ask only if there are frames, so it is not inlined there. */
GPUARENA__NOINLINE int gpuarena__is_outside(void)
{
    return !gpuarena__frames || gpuarena__frames == &gpuarena__tagging;
}

/* While a tag scope is set and no arena was entered, the list of frames holds the scope's frame. So the fast
   path tests one pointer for both. */
static void gpuarena__scope_show(void)
{
    if (gpuarena__is_outside()) gpuarena__frames = gpuarena__scope ? &gpuarena__tagging : NULL;
}

static void gpuarena__call_end(const gpuarena__frame *frame)
{
    gpuarena__frames = frame->outer;
    gpuarena__scope_show();
}

static uint64_t gpuarena__thread_count;
static GPUARENA__THREAD_LOCAL uint64_t gpuarena__thread_number_;

/* The number of this thread, from 1; unlike an address it is never reused. */
static uint64_t gpuarena__thread_number(void)
{
    if (gpuarena__thread_number_) return gpuarena__thread_number_;
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    gpuarena__thread_number_ = ++gpuarena__thread_count;
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    return gpuarena__thread_number_;
}

/* Tells whether the arena's magic number is this one: MAGIC while the arena lives. May be read without its
   lock. */
GPUARENA__INLINE int gpuarena__has_magic(const gpuarena *arena, uint32_t magic)
{
    return GPUARENA__LOAD(&arena->magic, RELAXED) == magic;
}

/* Tells whether the arena lives and has no heaps. May be read without a lock. */
GPUARENA__INLINE int gpuarena__has_one_heap(const gpuarena *arena)
{
    return GPUARENA__LOAD(&arena->one_heap, RELAXED) == GPUARENA__MAGIC;
}

static void gpuarena__set_magic(gpuarena *arena, uint32_t magic)
{
    GPUARENA__STORE(&arena->magic, magic, RELAXED);
    GPUARENA__STORE(&arena->one_heap, arena->heaps.count ? 0 : magic, RELAXED);
}

/* Tells whether the step under way is recorded. */
GPUARENA__INLINE int gpuarena__is_recorded(const gpuarena *arena)
{
    const gpuarena__plans *plans = &arena->plans;
    return plans->now && (plans->now->state == GPUARENA__PLAN_RECORDS || plans->trial);
}

/* The values that the fast paths test, as they follow from the state now. Each summarises several
   conditions; update_fast_path is called when one of these changes. */
static gpuarena__fast gpuarena__fast_now(const gpuarena *arena)
{
    const gpuarena_config *config = &arena->config;
    uint64_t reserved = arena->stats.reserved_bytes;
    gpuarena__fast fast;
    fast.hit_max_bytes = config->scrub & GPUARENA_SCRUB_ALLOC || config->debug || arena->lost
            || reserved > arena->limit
        ? 0 : GPUARENA__MAX_BYTES;
    fast.max_bytes = arena->plans.now || config->observe ? 0 : fast.hit_max_bytes;
    fast.slow_frees = config->release == GPUARENA_RELEASE_IDLE || config->release == GPUARENA_RELEASE_AGE
        || config->scrub || arena->over_limit || reserved > arena->limit;
    fast.slow_free_flags = GPUARENA__PLANNED | GPUARENA__KEPT | GPUARENA__DEDICATED | GPUARENA__TAGGED
        | GPUARENA__EXPORTED;
    if (fast.slow_frees || config->observe || !arena->streams.ordered || gpuarena__is_recorded(arena))
        fast.slow_free_flags |= GPUARENA__LIVE;
    return fast;
}

static void gpuarena__update_fast_path(gpuarena *arena) { arena->fast = gpuarena__fast_now(arena); }

/* Counts calls that wait for the slow-path mutex, so that destroy can wait until each has seen that the arena
   is gone. */
static void gpuarena__count_entering(gpuarena *arena, int by)
{
    GPUARENA__ADD(&arena->entering, (uint32_t)by);
}

/* ---- all locks, and the figures that heaps keep for themselves between two calls that have them */

/* Locks all locks, and adds to the arena's figures the changes by hits and frees of heaps. */
static void gpuarena__lock(gpuarena *arena)
{
    gpuarena_stats *stats = &arena->stats;
    uint32_t at;
    gpuarena__spin_lock(&arena->lock);
    for (at = 1; at <= arena->heaps.count; at++) {
        gpuarena__heap *heap = arena->heaps.list[at];
        gpuarena_stats *own = &heap->stats;
        gpuarena__spin_claim(&heap->lock);
        GPUARENA_ASSERT(own->live_bytes <= own->live_peak_bytes
                        && own->requested_bytes <= own->requested_peak_bytes
                        && "a heap stays within its leases");
        stats->live_bytes += own->live_bytes - GPUARENA__HEAP_BASE;
        stats->requested_bytes += own->requested_bytes - GPUARENA__HEAP_BASE;
        stats->live_count += own->live_count - heap->live_seen;
        stats->free_count += own->free_count;
        stats->pending_bytes += own->pending_bytes;
        arena->paged.idle_count += heap->idle_count;
        if (heap->serial > heap->serial_base) arena->serial = gpuarena__max(arena->serial, heap->serial);
        heap->live_seen = own->live_count;
        own->free_count = own->pending_bytes = heap->idle_count = 0;
        own->live_bytes = own->requested_bytes = GPUARENA__HEAP_BASE;
    }
}

/* Unlocks all locks; each heap gets its leases. */
static void gpuarena__unlock(gpuarena *arena)
{
    const gpuarena_stats *stats = &arena->stats;
    uint32_t at, count = arena->heaps.count;
    uint64_t live = count ? (stats->live_peak_bytes - stats->live_bytes) / count : 0,
             requested = count ? (stats->requested_peak_bytes - stats->requested_bytes) / count : 0;
    for (at = 1; at <= count; at++) {
        gpuarena__heap *heap = arena->heaps.list[at];
        heap->stats.live_peak_bytes = GPUARENA__HEAP_BASE + live;
        heap->stats.requested_peak_bytes = GPUARENA__HEAP_BASE + requested;
        heap->serial = heap->serial_base = arena->serial + (at - 1) * (uint64_t)GPUARENA__SERIALS;
        gpuarena__spin_unlock(&heap->lock);
    }
    gpuarena__spin_unlock(&arena->lock);
}

/* Puts this thread's capture mode back, if a driver call changed it. */
static void gpuarena__unrelax(gpuarena *arena)
{
    int mode = arena->caller_mode;
    if (GPUARENA__LIKELY(mode < 0)) return;
    arena->caller_mode = -1;
    (void)arena->driver.capture.exchange_mode(&arena->driver, &mode);
}

/* Unlocks both locks for a wait, and relocks them. The arena is not destroyed meanwhile. */
static void gpuarena__unlock_all(gpuarena *arena)
{
    arena->away_count++;
    gpuarena__unrelax(arena);
    gpuarena__unlock(arena);
    gpuarena__mutex_unlock(&arena->slow_mutex);
}

static void gpuarena__relock_all(gpuarena *arena)
{
    gpuarena__mutex_lock(&arena->slow_mutex);
    gpuarena__lock(arena);
    GPUARENA_ASSERT(arena->away_count != 0 && "a call that comes back was away");
    arena->away_count--;
}

static void gpuarena__tell(gpuarena *arena, gpuarena_action_kind kind, const gpuarena_block *block,
                           gpuarena_stream stream, const gpuarena_failure *failure)
{
    gpuarena_action action = GPUARENA_INIT;
    gpuarena__frame frame;
    if (!arena->config.observe) return;
    action.serial = ++arena->action_serial;
    action.kind = kind;
    action.result = failure ? failure->result : GPUARENA_OK;
    if (block) action.block = *block;
    action.stream = block && stream == GPUARENA_OWN_STREAM ? block->stream : stream;
    action.failure = failure;
    gpuarena__call_begin(&frame, arena, GPUARENA__FRAME_CALLBACK);
    gpuarena__spin_stay(&arena->lock);
    arena->config.observe(arena, &action, arena->config.observe_user);
    gpuarena__call_end(&frame);
}

/* >>nodes ==============================================================================================
   The records of blocks, in chunks that never move, and walks over them. */

GPUARENA__INLINE gpuarena__node *gpuarena__node_at(const gpuarena *arena, uint32_t index)
{
    return (gpuarena__node *)(arena->nodes.origins[index >> GPUARENA__CHUNK_LOG2]
                              + (uintptr_t)index * sizeof(gpuarena__node));
}

static uint64_t gpuarena__node_bytes(const gpuarena__node *node)
{
    return node->size & ~GPUARENA__STATE_BITS;
}

static int gpuarena__node_live(const gpuarena__node *node)
{
    return (node->size & GPUARENA__LIVE) != 0;
}

/* The record where a node belongs once the GPU is done with it; of a live node its own. */
static uint32_t gpuarena__record_of(const gpuarena__node *node)
{
    return node->record == GPUARENA__MULTI_STREAM ? node->as.held.home : node->record;
}

/* 1: this node belongs to a capture set. */
static int gpuarena__in_capture_set(const gpuarena *arena, const gpuarena__node *node)
{
    return arena->streams.list[gpuarena__record_of(node)].home != 0;
}

/* 1: only a wait for the device makes this free block quiet. It has a ticket of its home, which no event
   covers. */
static int gpuarena__needs_sync(const gpuarena *arena, const gpuarena__node *node)
{
    uint32_t record = gpuarena__record_of(node);
    const gpuarena__stream *home = &arena->streams.list[record];
    return node->record == GPUARENA__MULTI_STREAM && home->home == record && node->ticket > home->quiet;
}

/* A free block that is earmarked for a plan. */
GPUARENA__INLINE int gpuarena__is_earmarked(const gpuarena__node *node)
{
    return (node->size & (GPUARENA__LIVE | GPUARENA__EARMARKED)) == GPUARENA__EARMARKED;
}

GPUARENA__INLINE int gpuarena__is_free(const gpuarena__node *node)
{
    return !(node->size & (GPUARENA__LIVE | GPUARENA__HOLE | GPUARENA__CLAIMED));
}

/* Makes one more chunk of nodes. 0: no host memory, or no more numbers for nodes. */
static int gpuarena__nodes_grow(gpuarena *arena)
{
    gpuarena__nodes *nodes = &arena->nodes;
    uint32_t base = nodes->chunk_count << GPUARENA__CHUNK_LOG2, index;
    gpuarena__chunk *made;
    void *memory;
    if (nodes->chunk_count >= UINT32_MAX >> GPUARENA__CHUNK_LOG2
        || !GPUARENA__RESERVE(arena, uintptr_t, nodes->origins, nodes->chunk_count, 1, nodes->chunk_room))
        return 0;
    memory = gpuarena__host_alloc(arena, GPUARENA__CHUNK_BYTES);
    if (!memory) return 0;
    made = (gpuarena__chunk *)(void *)((char *)memory + (0 - gpuarena__address(memory)) % GPUARENA__LINE);
    memset(made, 0, sizeof *made);
    made->memory = memory;
    nodes->origins[nodes->chunk_count++] = (uintptr_t)made - (uintptr_t)base * sizeof made->nodes[0];
    if (!base) made->nodes[0].size = GPUARENA__LIVE;    /* the sentinel is live, so no block merges with it */
    for (index = GPUARENA__CHUNK; index-- > (base ? 0u : 1u);) {
        made->nodes[index].next = nodes->unused.first;
        nodes->unused.first = base + index;
        nodes->unused.count++;
    }
    return 1;
}

/* Makes `count` nodes available beside the nodes that are kept. 0: no host memory. */
static int gpuarena__nodes_reserve(gpuarena *arena, uint32_t count)
{
    while (GPUARENA__UNLIKELY(arena->nodes.unused.count < count + arena->nodes.kept_count))
        if (!gpuarena__nodes_grow(arena)) return 0;
    return 1;
}

/* Reserves nodes, and keeps them across driver calls until the caller lowers kept_count. */
static int gpuarena__nodes_keep(gpuarena *arena, uint32_t count)
{
    if (!gpuarena__nodes_reserve(arena, count)) return 0;
    arena->nodes.kept_count += count;
    return 1;
}

/* The statistics that the holder of a heap's lock changes; heap NULL: of all locks. */
GPUARENA__INLINE gpuarena_stats *gpuarena__stats_of(gpuarena *arena, gpuarena__heap *heap)
{
    return heap ? &heap->stats : &arena->stats;
}

/* Takes the first node of the unused ones. */
GPUARENA__INLINE gpuarena__node *gpuarena__node_take(const gpuarena *arena, gpuarena__pool *unused)
{
    gpuarena__node *node = gpuarena__node_at(arena, unused->first);
    GPUARENA_ASSERT(unused->first != 0 && "nodes are reserved before anything is changed");
    unused->first = node->next;
    unused->count--;
    return node;
}

GPUARENA__INLINE void gpuarena__node_drop(gpuarena__pool *unused, uint32_t index, gpuarena__node *node)
{
    node->size = 0;
    node->next = unused->first;
    unused->first = index;
    unused->count++;
}

/* The bytes from a block's begin to the next aligned address. That may lie behind the block, and be 2^64. */
static uint64_t gpuarena__lead(const gpuarena__node *node, uint64_t alignment)
{
    return (0 - node->address) & (alignment - 1);
}

static int gpuarena__node_serves(const gpuarena__node *node, uint64_t bytes, uint64_t alignment)
{
    uint64_t lead = gpuarena__lead(node, alignment), size = gpuarena__node_bytes(node);
    return lead <= size && size - lead >= bytes;
}

/* ---- walks over blocks: for (at = gpuarena__blocks(arena); at.index; gpuarena__next(arena, &at)) */

typedef struct gpuarena__iterator {
    const gpuarena__range *range;                /* NULL: the walk ends with the range that it began in */
    gpuarena__node *node;
    uint32_t index;                              /* 0: the walk is over and `node` is the sentinel */
} gpuarena__iterator;

/* Begins a walk at the node with this index, to the end of its range. */
static gpuarena__iterator gpuarena__blocks_from(const gpuarena *arena, uint32_t index)
{
    gpuarena__iterator at = { NULL, gpuarena__node_at(arena, index), index };
    return at;
}

/* Begins a walk over all blocks of all ranges in the order of addresses. */
static gpuarena__iterator gpuarena__blocks(const gpuarena *arena)
{
    const gpuarena__range *range = arena->ranges.first;
    gpuarena__iterator at = gpuarena__blocks_from(arena, range ? range->first : 0);
    at.range = range;
    return at;
}

static void gpuarena__next(const gpuarena *arena, gpuarena__iterator *at)
{
    at->index = at->node->next;
    if (!at->index && at->range) {
        at->range = at->range->after;
        if (at->range) at->index = at->range->first;
    }
    at->node = gpuarena__node_at(arena, at->index);
}

/* >>tags ===============================================================================================
   Tags: names for purposes of memory, one list for the process; and an arena's live bytes by tag. */

static const uint32_t GPUARENA__TAG_BASE = (uint32_t)1 << 31;    /* a tag is this base plus its place */
static char gpuarena__tag_names[GPUARENA_TAGS][GPUARENA_TAG_BYTES];      /* by place - 1; never changed */
static uint32_t gpuarena__tag_count;            /* written under the registry's lock, read without */

/* The place of a tag in the list, from 1; 0: it is not a tag of the list but a number of the caller's. */
static uint32_t gpuarena__tag_place(uint32_t tag)
{
    uint32_t place = tag > GPUARENA__TAG_BASE ? tag - GPUARENA__TAG_BASE : 0;
    return place <= GPUARENA__LOAD(&gpuarena__tag_count, ACQUIRE) ? place : 0;
}

GPUARENA_API const char *gpuarena_tag_name(uint32_t tag)
{
    uint32_t place = gpuarena__tag_place(tag);
    return place ? gpuarena__tag_names[place - 1] : "";
}

/* Makes room to count blocks of the tag at this place. 0: no host memory. */
static int gpuarena__tags_reserve(gpuarena *arena, uint32_t place)
{
    gpuarena__tags *tags = &arena->tags;
    uint32_t had = tags->room;
    if (!place || place < had) return 1;
    if (!GPUARENA__RESERVE(arena, gpuarena_tag_stats, tags->list, had, place + 1 - had, tags->room)) return 0;
    memset(tags->list + had, 0, (tags->room - had) * sizeof *tags->list);
    return 1;
}

/* Sets how far the live bytes may rise before a peak must be recorded. */
static void gpuarena__peak_watch(gpuarena *arena)
{
    const gpuarena__tags *tags = &arena->tags;
    arena->stats.live_peak_bytes =
        gpuarena__min(tags->peak_bytes, tags->untagged_peak_bytes + tags->live_bytes);
}

/* Records a peak if the live bytes, those without a tag, or the requested bytes exceed theirs. */
GPUARENA__NOINLINE void gpuarena__peaks_note(gpuarena *arena)
{
    gpuarena_stats *stats = &arena->stats;
    gpuarena__tags *tags = &arena->tags;
    stats->requested_peak_bytes = gpuarena__max(stats->requested_peak_bytes, stats->requested_bytes);
    tags->peak_bytes = gpuarena__max(tags->peak_bytes, stats->live_bytes);
    tags->untagged_peak_bytes =
        gpuarena__max(tags->untagged_peak_bytes, stats->live_bytes - tags->live_bytes);
    gpuarena__peak_watch(arena);
}

/* Adds to the live bytes and blocks of a tag. Negative changes are two's complements. */
static void gpuarena__tag_add(gpuarena *arena, uint32_t place, uint64_t bytes, uint64_t count)
{
    gpuarena_tag_stats *one = &arena->tags.list[place];
    one->live_bytes += bytes;
    one->live_count += count;
    GPUARENA_ASSERT(one->live_bytes < GPUARENA__MAX_TOTAL && "a tag has the bytes that are freed of it");
    one->live_peak_bytes = gpuarena__max(one->live_peak_bytes, one->live_bytes);
    arena->tags.live_bytes += bytes;
    gpuarena__peak_watch(arena);
}

/* The place of a live block's tag; 0: it is counted without one. */
static uint32_t gpuarena__place_of(const gpuarena__node *node)
{
    return node->size & GPUARENA__TAGGED ? node->as.live.tag - GPUARENA__TAG_BASE : 0;
}

/* A new block is counted in this place. */
static void gpuarena__tag_enter(gpuarena *arena, uint32_t place, gpuarena__node *node)
{
    arena->tags.list[place].alloc_count++;
    gpuarena__tag_add(arena, place, gpuarena__node_bytes(node), 1);
    node->size |= GPUARENA__TAGGED;
}

/* The statistics of the blocks with the tag at this place; 0: of those without a tag. */
static gpuarena_tag_stats gpuarena__tag_stats(const gpuarena *arena, uint32_t place)
{
    const gpuarena__tags *tags = &arena->tags;
    gpuarena_tag_stats sum = GPUARENA_INIT;
    uint32_t at;
    if (place) return place < tags->room ? tags->list[place] : sum;
    sum.live_bytes = arena->stats.live_bytes - tags->live_bytes;
    sum.live_peak_bytes = tags->untagged_peak_bytes;
    sum.live_count = arena->stats.live_count;
    sum.alloc_count = arena->stats.live_count + arena->stats.free_count;
    for (at = 1; at < tags->room; at++) {
        sum.live_count -= tags->list[at].live_count;
        sum.alloc_count -= tags->list[at].alloc_count;
    }
    return sum;
}

/* >>tree ===============================================================================================
   A treap of free blocks, ordered by address; or, if they are SURPLUS, by size, then address.
   A block's height follows from its index alone, so equal sequences of calls make equal trees. Operations
   take expected O(log blocks), but tree_find may look at every block that is long enough. */

static int gpuarena__tree_before(const gpuarena__node *left, const gpuarena__node *right)
{
    if (left->size & GPUARENA__SURPLUS && left->size != right->size) return left->size < right->size;
    return left->address < right->address;
}

/* A bijection without patterns for strided indices: murmur3's finaliser. */
static uint32_t gpuarena__tree_height(uint32_t index)
{
    index = (index ^ index >> 16) * 0x85EBCA6Bu;
    index = (index ^ index >> 13) * 0xC2B2AE35u;
    return index ^ index >> 16;
}

static void gpuarena__tree_pull(const gpuarena *arena, uint32_t at)
{
    gpuarena__node *node = gpuarena__node_at(arena, at);
    /* where there is no child stands the sentinel, whose longest is 0 */
    uint64_t low = gpuarena__node_at(arena, node->as.tree.low)->as.tree.longest,
             high = gpuarena__node_at(arena, node->as.tree.high)->as.tree.longest;
    node->as.tree.longest = gpuarena__max(node->size, gpuarena__max(low, high));
}

/* Splits a tree into the blocks before `key` and those after it. */
static void gpuarena__tree_part(const gpuarena *arena, uint32_t at, const gpuarena__node *key,
                                uint32_t *before, uint32_t *after)
{
    gpuarena__node *node = gpuarena__node_at(arena, at);
    if (!at) *before = *after = 0;
    else if (gpuarena__tree_before(node, key)) {
        *before = at;
        gpuarena__tree_part(arena, node->as.tree.high, key, &node->as.tree.high, after);
    } else {
        *after = at;
        gpuarena__tree_part(arena, node->as.tree.low, key, before, &node->as.tree.low);
    }
    if (at) gpuarena__tree_pull(arena, at);
}

/* Joins two trees; every block of `before` must precede every block of `after`. */
static uint32_t gpuarena__tree_join(const gpuarena *arena, uint32_t before, uint32_t after)
{
    uint32_t top = gpuarena__tree_height(before) > gpuarena__tree_height(after) ? before : after;
    gpuarena__node *node = gpuarena__node_at(arena, top);
    if (!before || !after) return before ? before : after;
    if (top == before) node->as.tree.high = gpuarena__tree_join(arena, node->as.tree.high, after);
    else node->as.tree.low = gpuarena__tree_join(arena, before, node->as.tree.low);
    gpuarena__tree_pull(arena, top);
    return top;
}

static void gpuarena__tree_insert(const gpuarena *arena, uint32_t *root, uint32_t index)
{
    gpuarena__node *node = gpuarena__node_at(arena, index), *top = gpuarena__node_at(arena, *root);
    if (!*root) {                                /* the usual case */
        node->as.tree.low = node->as.tree.high = 0;
        node->as.tree.longest = node->size;
        *root = index;
        return;
    }
    if (gpuarena__tree_height(index) > gpuarena__tree_height(*root)) {
        gpuarena__tree_part(arena, *root, node, &node->as.tree.low, &node->as.tree.high);
        *root = index;
    } else
        gpuarena__tree_insert(arena, gpuarena__tree_before(node, top) ? &top->as.tree.low
                                                                             : &top->as.tree.high, index);
    gpuarena__tree_pull(arena, *root);
}

static void gpuarena__tree_remove(const gpuarena *arena, uint32_t *root, uint32_t index)
{
    const gpuarena__node *node = gpuarena__node_at(arena, index);
    gpuarena__node *top;
    if (*root == index) {                        /* the usual case: the only block */
        uint32_t rest = node->as.tree.low | node->as.tree.high;
        *root = rest ? gpuarena__tree_join(arena, node->as.tree.low, node->as.tree.high) : 0;
        return;
    }
    top = gpuarena__node_at(arena, *root);
    gpuarena__tree_remove(arena, gpuarena__tree_before(node, top) ? &top->as.tree.low
                                                                         : &top->as.tree.high, index);
    gpuarena__tree_pull(arena, *root);
}

/* The first block of the tree with at least `bytes`; 0: none. */
static uint32_t gpuarena__tree_first(const gpuarena *arena, uint32_t at, uint64_t bytes)
{
    const gpuarena__node *node = gpuarena__node_at(arena, at);
    if (node->as.tree.longest < bytes) return 0;     /* also in an empty tree, where it is 0 */
    for (;;) {
        const gpuarena__node *left = gpuarena__node_at(arena, node->as.tree.low);
        if (left->as.tree.longest >= bytes) at = node->as.tree.low;
        else if (node->size >= bytes) return at;
        else at = node->as.tree.high;
        node = gpuarena__node_at(arena, at);
    }
}

/* The first block of the tree that serves a request at its alignment; 0: none. */
static uint32_t gpuarena__tree_find(const gpuarena *arena, uint32_t at, const gpuarena__request *req)
{
    const gpuarena__node *node = gpuarena__node_at(arena, at);
    uint32_t found;
    if (!at || node->as.tree.longest < req->bytes) return 0;
    found = gpuarena__tree_find(arena, node->as.tree.low, req);
    if (found) return found;
    if (gpuarena__node_serves(node, req->bytes, req->alignment)) return at;
    return gpuarena__tree_find(arena, node->as.tree.high, req);
}

/* >>bins ===============================================================================================
   Free blocks by size. An insertion rounds the size down to its class and a search rounds up, so any block
   that a search finds in a larger class is large enough. In the request's own class the digests of all 8
   slots are compared at once. */

typedef struct gpuarena__bin {                   /* where a size belongs */
    uint32_t number;                             /* the class */
    uint32_t digest;                             /* of a block 1..64; of a request, rounded up, 1..65 */
} gpuarena__bin;

static const uint64_t GPUARENA__BYTES_OF_1 = 0x0101010101010101u, GPUARENA__BYTES_OF_80 = 0x8080808080808080u;

/* The bits below the leading one of a size, shifted to the top: three bits of the class, then six of the
   digest. The size is a multiple of 256. */
GPUARENA__INLINE uint64_t gpuarena__bits_below(uint64_t bytes)
{
    return bytes << (0 - gpuarena__highest_bit(bytes)) % 64;
}

GPUARENA__INLINE gpuarena__bin gpuarena__bin_of(uint64_t bytes)
{
    uint64_t below = gpuarena__bits_below(bytes);
    gpuarena__bin bin;
    bin.number = gpuarena__highest_bit(bytes) * 8 + (uint32_t)(below >> 61) - 64;
    bin.digest = 1 + ((uint32_t)(below >> 55) & 63);
    return bin;
}

/* The bin of a request: a block of the class with at least this digest is large enough. */
GPUARENA__INLINE gpuarena__bin gpuarena__bin_of_request(uint64_t bytes)
{
    gpuarena__bin bin = gpuarena__bin_of(bytes);
    bin.digest += gpuarena__bits_below(bytes) << 9 != 0;
    return bin;
}

/* A doubly linked list of blocks that are not live: insertion and removal. */
GPUARENA__INLINE void gpuarena__list_insert(const gpuarena *arena, uint32_t *head, uint32_t index,
                                            gpuarena__node *node)
{
    node->as.list.before = 0;
    node->as.list.after = *head;
    if (*head) gpuarena__node_at(arena, *head)->as.list.before = index;
    *head = index;
}

GPUARENA__INLINE void gpuarena__list_remove(const gpuarena *arena, uint32_t *head,
                                            const gpuarena__node *node)
{
    uint32_t before = node->as.list.before, after = node->as.list.after;
    if (before) gpuarena__node_at(arena, before)->as.list.after = after;
    else *head = after;
    if (after) gpuarena__node_at(arena, after)->as.list.before = before;
}

/* Inserts a free block into the tree by size. */
static void gpuarena__surplus_insert(const gpuarena *arena, gpuarena__bins *bins, uint32_t index,
                                     gpuarena__node *node)
{
    node->size |= GPUARENA__OVERFLOW | GPUARENA__SURPLUS;
    gpuarena__tree_insert(arena, &bins->root[1], index);
}

/* Moves the older half of a class's full list into the tree by size. The younger half stays, since blocks
   that live briefly are then found in the list. */
GPUARENA__NOINLINE void gpuarena__surplus_move(const gpuarena *arena, gpuarena__bins *bins, uint32_t number)
{
    const gpuarena__node *last = gpuarena__node_at(arena, bins->overflow[number]);
    uint32_t stays, index;
    for (stays = 1; stays < GPUARENA__LISTED / 2; stays++)
        last = gpuarena__node_at(arena, last->as.list.after);
    while ((index = last->as.list.after) != 0) {
        gpuarena__list_remove(arena, &bins->overflow[number], gpuarena__node_at(arena, index));
        gpuarena__surplus_insert(arena, bins, index, gpuarena__node_at(arena, index));
    }
    bins->listed[number] = GPUARENA__LISTED / 2;
}

GPUARENA__NOINLINE void gpuarena__surplus_remove(const gpuarena *arena, gpuarena__bins *bins, uint32_t index,
                                                 gpuarena__node *node)
{
    gpuarena__tree_remove(arena, &bins->root[1], index);
    node->size &= ~(GPUARENA__OVERFLOW | GPUARENA__SURPLUS);
}

/* Inserts a free block for which its class has no empty slot. */
GPUARENA__NOINLINE void gpuarena__overflow_insert(const gpuarena *arena, gpuarena__bins *bins,
                                                  uint32_t number, uint32_t index, gpuarena__node *node)
{
    node->size |= GPUARENA__OVERFLOW;
    node->as.list.number = number;
    gpuarena__list_insert(arena, &bins->overflow[number], index, node);
    if (GPUARENA__UNLIKELY(++bins->listed[number] >= GPUARENA__LISTED))
        gpuarena__surplus_move(arena, bins, number);
}

/* Moves the smallest block of a class from the tree by size, if it has one, into the class's empty list. */
GPUARENA__NOINLINE void gpuarena__surplus_list(const gpuarena *arena, gpuarena__bins *bins, uint32_t number)
{
    uint64_t least = (uint64_t)(8 + number % 8) << (number / 8 + 5);         /* of the class */
    uint32_t index = gpuarena__tree_first(arena, bins->root[1], least);
    gpuarena__node *node = gpuarena__node_at(arena, index);
    if (!index || gpuarena__bin_of(gpuarena__node_bytes(node)).number != number) return;
    gpuarena__surplus_remove(arena, bins, index, node);
    gpuarena__overflow_insert(arena, bins, number, index, node);
}

/* Removes a free block that is in no slot. */
GPUARENA__NOINLINE void gpuarena__overflow_remove(const gpuarena *arena, gpuarena__bins *bins, uint32_t index,
                                                  gpuarena__node *node)
{
    uint32_t number = node->as.list.number;
    if (GPUARENA__UNLIKELY(node->size & GPUARENA__SURPLUS)) {
        gpuarena__surplus_remove(arena, bins, index, node);
        return;
    }
    gpuarena__list_remove(arena, &bins->overflow[number], node);
    bins->listed[number]--;
    node->size &= ~GPUARENA__OVERFLOW;
    if (GPUARENA__UNLIKELY(!bins->overflow[number] && bins->root[1]))
        gpuarena__surplus_list(arena, bins, number);
}

GPUARENA__INLINE void gpuarena__bin_insert(const gpuarena *arena, gpuarena__bins *bins, uint32_t index,
                                           gpuarena__node *node)
{
    gpuarena__bin bin = gpuarena__bin_of(node->size);
    uint64_t digests = bins->digests[bin.number];
    /* The lowest set bit is the top bit of the lowest empty slot, because digests are at most 64. */
    uint64_t empty = (digests - GPUARENA__BYTES_OF_1) & GPUARENA__BYTES_OF_80;
    if (GPUARENA__LIKELY(empty)) {
        uint32_t shift = gpuarena__lowest_bit(empty) - 7, at = bin.number * 64 + shift;
        if (!digests) bins->taken[bin.number / 64] |= (uint64_t)1 << (bin.number % 64);
        bins->digests[bin.number] = digests | (uint64_t)bin.digest << shift;
        bins->nodes[at / 8] = index;
        node->as.slot = at;
    } else gpuarena__overflow_insert(arena, bins, bin.number, index, node);
}

/* Fills the empty slots of a class with up to 8 blocks of its list. */
GPUARENA__NOINLINE void gpuarena__class_refill(const gpuarena *arena, gpuarena__bins *bins, uint32_t number)
{
    uint64_t digests = 0;
    uint32_t shift, moved, *head = &bins->overflow[number];
    for (shift = 0; shift < 64 && (moved = *head) != 0; shift += 8) {
        gpuarena__node *node = gpuarena__node_at(arena, moved);
        gpuarena__list_remove(arena, head, node);
        node->size &= ~GPUARENA__OVERFLOW;
        node->as.slot = number * 64 + shift;
        digests |= (uint64_t)gpuarena__bin_of(node->size).digest << shift;
        bins->nodes[number * 8 + shift / 8] = moved;
    }
    bins->digests[number] = digests;
    bins->taken[number / 64] |= (uint64_t)1 << (number % 64);
    bins->listed[number] = (uint8_t)(bins->listed[number] - shift / 8);
    if (GPUARENA__UNLIKELY(!*head && bins->root[1])) gpuarena__surplus_list(arena, bins, number);
}

/* Removes a free block from the bins. If the last slot of its class becomes empty, blocks of the class's list
   move into the slots: positions read before are then stale. */
GPUARENA__INLINE void gpuarena__bin_remove(const gpuarena *arena, gpuarena__bins *bins, uint32_t index,
                                           gpuarena__node *node)
{
    uint32_t at = node->as.slot, number = at / 64;
    if (GPUARENA__UNLIKELY(node->size & GPUARENA__OVERFLOW)) {
        gpuarena__overflow_remove(arena, bins, index, node);
        return;
    }
    bins->digests[number] &= ~(uint64_t)255 << at % 64 | ~(uint64_t)255 >> (64 - at % 64) % 64;
    if (GPUARENA__LIKELY(bins->digests[number])) return;
    bins->taken[number / 64] &= ~((uint64_t)1 << (number % 64));
    if (bins->overflow[number]) gpuarena__class_refill(arena, bins, number);
}

/* The first class from `number` on that has a block; CLASSES: none. */
GPUARENA__INLINE uint32_t gpuarena__class_next(const gpuarena__bins *bins, uint32_t number)
{
    uint32_t word = number / 64;
    uint64_t taken = bins->taken[word] & (~(uint64_t)0 << (number % 64));
    while (!taken) {
        if (++word == GPUARENA__CLASS_WORDS) return GPUARENA__CLASSES;
        taken = bins->taken[word];
    }
    return word * 64 + gpuarena__lowest_bit(taken);
}

/* The slot of the tightest block of the request's own class; 8: no slot is certain to hold one that is large
   enough. */
GPUARENA__INLINE uint32_t gpuarena__slot_look(uint64_t digests, uint32_t digest)
{
    /* For each byte, 128 + block - request keeps the top bit if block >= request. Empty slots are 0, and a
       request's digest is not. */
    uint64_t fits =
        ((digests | GPUARENA__BYTES_OF_80) - digest * GPUARENA__BYTES_OF_1) & GPUARENA__BYTES_OF_80;
    uint32_t best = 8, best_digest = 255;
    for (; fits; fits &= fits - 1) {
        uint32_t slot = gpuarena__lowest_bit(fits) / 8;
        uint32_t candidate = (uint32_t)(digests >> (8 * slot)) & 255;
        if (GPUARENA__LIKELY(candidate == digest)) return slot;
        if (candidate < best_digest) {
            best_digest = candidate;
            best = slot;
        }
    }
    return best;
}

/* A free block of at least `bytes`, in constant time: the tightest in the slots of the request's own class,
   or one of the next occupied class. 0: none found, though a fitting block may lie in the own class's list,
   in the tree by size, or in a slot of the own class whose digest is one lower. */
GPUARENA__INLINE uint32_t gpuarena__bin_search(const gpuarena__bins *bins, uint64_t bytes)
{
    gpuarena__bin bin = gpuarena__bin_of_request(bytes);
    uint32_t slot = gpuarena__slot_look(bins->digests[bin.number], bin.digest), number;
    if (slot < 8) return bins->nodes[bin.number * 8 + slot];
    number = gpuarena__class_next(bins, bin.number + 1);
    if (number == GPUARENA__CLASSES) return 0;
    return bins->nodes[number * 8 + gpuarena__lowest_bit(bins->digests[number]) / 8];
}

/* A free block of at least `bytes` from these bins: constant time, except in the trees. */
GPUARENA__INLINE uint32_t gpuarena__bins_search(const gpuarena *arena, const gpuarena__bins *bins,
                                                uint64_t bytes)
{
    uint32_t index = 0;
    if (GPUARENA__LIKELY(bytes < arena->small_bytes)) index = gpuarena__bin_search(bins, bytes);
    if (GPUARENA__UNLIKELY(!index && bins->root[1]))
        index = gpuarena__tree_first(arena, bins->root[1], gpuarena__max(bytes, arena->small_bytes));
    if (GPUARENA__UNLIKELY(!index && bins->root[0]))
        index = gpuarena__tree_first(arena, bins->root[0], bytes);
    return index;
}

/* The better of two free blocks for a request; 0 stands for none. Of two in trees by address that is the
   lower one, else the smaller one, and of equals the lower one. */
static uint32_t gpuarena__better(const gpuarena *arena, uint32_t left, uint32_t right)
{
    const gpuarena__node *one = gpuarena__node_at(arena, left), *other = gpuarena__node_at(arena, right);
    uint64_t bytes = gpuarena__node_bytes(one), others = gpuarena__node_bytes(other);
    if (!left || !right) return left | right;
    if (bytes != others && gpuarena__min(bytes, others) < arena->ordered_bytes)
        return bytes < others ? left : right;
    return one->address < other->address ? left : right;
}

/* The smallest free block that serves a request at its alignment, the lowest address among equals. Searches
   the slots and lists of the request's class and of larger ones until a class has one; then the trees. */
static uint32_t gpuarena__bin_search_all(const gpuarena *arena, const gpuarena__bins *bins,
                                         const gpuarena__request *req)
{
    uint32_t number = gpuarena__bin_of(req->bytes).number, best = 0;
    for (; !best && (number = gpuarena__class_next(bins, number)) < GPUARENA__CLASSES; number++) {
        uint32_t slot = 0, listed = bins->overflow[number];
        while (slot < 8 || listed) {
            uint32_t candidate = slot < 8 ? bins->nodes[number * 8 + slot] : listed;
            const gpuarena__node *node = gpuarena__node_at(arena, candidate);
            int taken = slot >= 8 || (bins->digests[number] >> (8 * slot) & 255) != 0;
            if (slot < 8) slot++;
            else listed = node->as.list.after;
            if (taken && gpuarena__node_serves(node, req->bytes, req->alignment))
                best = gpuarena__better(arena, best, candidate);
        }
    }
    best = gpuarena__better(arena, best, gpuarena__tree_find(arena, bins->root[1], req));
    return best ? best : gpuarena__tree_find(arena, bins->root[0], req);
}

/* Insertion into the bins, or into their tree if the block is large; and removal. */
GPUARENA__INLINE void gpuarena__bins_insert(const gpuarena *arena, gpuarena__bins *bins, uint32_t index)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    if (GPUARENA__LIKELY(node->size < arena->small_bytes)) gpuarena__bin_insert(arena, bins, index, node);
    else if (node->size < arena->ordered_bytes) gpuarena__surplus_insert(arena, bins, index, node);
    else gpuarena__tree_insert(arena, &bins->root[0], index);
}

GPUARENA__INLINE void gpuarena__bins_remove(const gpuarena *arena, gpuarena__bins *bins, uint32_t index)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    if (GPUARENA__LIKELY(gpuarena__node_bytes(node) < arena->ordered_bytes))
        gpuarena__bin_remove(arena, bins, index, node);
    else gpuarena__tree_remove(arena, &bins->root[0], index);
}

/* The range that contains the address; NULL: none. Expected O(log ranges). */
static gpuarena__range *gpuarena__range_of(const gpuarena *arena, uint64_t address)
{
    gpuarena__range *at = arena->ranges.root;
    while (at && address - at->address >= at->bytes) at = address < at->address ? at->low : at->high;
    return at;
}

/* The page of addresses of a range in which an address lies, counted from its first. */
static size_t gpuarena__page_of(const gpuarena__range *range, uint64_t address)
{
    return (size_t)((address >> GPUARENA__PAGE_LOG2) - (range->address >> GPUARENA__PAGE_LOG2));
}

/* The heap that owns the nodes which start in the page of an address; 0: the arena. */
static uint32_t gpuarena__owner_of(const gpuarena *arena, uint64_t address)
{
    const gpuarena__range *range = arena->heaps.count ? gpuarena__range_of(arena, address) : NULL;
    return range ? range->owners[gpuarena__page_of(range, address)] : 0;
}

/* The bins of a free block in an arena with several streams, with all locks. */
GPUARENA__NOINLINE gpuarena__bins *gpuarena__bins_far(gpuarena *arena, const gpuarena__node *node)
{
    const gpuarena__stream *stream = &arena->streams.list[node->record];
    uint32_t owner;
    if (!arena->heaps.count) return stream->bins;
    owner = gpuarena__owner_of(arena, node->address);
    if (node->record) return owner == stream->heap ? stream->bins : stream->bins->foreign;
    return owner ? &arena->heaps.list[owner]->bins : &arena->bins;
}

/* The bins of a free block: the arena's own while there is one stream. */
GPUARENA__INLINE gpuarena__bins *gpuarena__bins_of(gpuarena *arena, gpuarena__heap *heap,
                                                   const gpuarena__node *node)
{
    if (heap) return node->record ? arena->streams.list[node->record].bins : &heap->bins;
    return GPUARENA__LIKELY(!arena->streams.many) ? &arena->bins : gpuarena__bins_far(arena, node);
}

/* The n-th bins, from 0, of blocks of a record; NULL: there are fewer. */
static gpuarena__bins *gpuarena__bins_nth(const gpuarena *arena, uint32_t record, uint32_t n)
{
    const gpuarena__stream *stream = &arena->streams.list[record];
    if (!n) return stream->bins;
    if (record) return n == 1 ? stream->bins->foreign : NULL;
    return n <= arena->heaps.count ? &arena->heaps.list[n]->bins : NULL;
}

/* How many pages before this one its handle begins. */
static uint32_t gpuarena__pages_back(const gpuarena__range *range, uint64_t at)
{
    uint32_t part = range->parts[at];
    return part & GPUARENA__INSIDE ? part - GPUARENA__INSIDE : 0;
}

/* Narrows the pages [*low, *high) of a range, which are backed, to those of handles that lie inside. Pages
   are counted from the range's first. */
static void gpuarena__handles_inside(const gpuarena__range *range, uint64_t *low, uint64_t *high)
{
    uint64_t back = *low < *high ? gpuarena__pages_back(range, *low) : 0;
    if (back) *low += range->parts[*low - back] - back;
    if (*low >= *high) *high = *low;
    else {
        back = gpuarena__pages_back(range, *high - 1);
        if (range->parts[*high - 1 - back] > back + 1) *high -= back + 1;
    }
}

/* The number of pages in [begin, end), which is backed, whose handles lie inside. */
static uint64_t gpuarena__pages_between(const gpuarena *arena, uint64_t begin, uint64_t end)
{
    const gpuarena__range *range;
    uint64_t high = end >> arena->paged.page_log2,
             low = (begin + arena->paged.page_bytes - 1) >> arena->paged.page_log2;
    if (low >= high || !arena->paged.page_bytes) return 0;
    if (!arena->paged.segment_count && !arena->paged.large_count) return high - low;
    range = gpuarena__range_of(arena, begin);
    if (!range->pages) return 0;
    low -= range->address >> arena->paged.page_log2;
    high -= range->address >> arena->paged.page_log2;
    gpuarena__handles_inside(range, &low, &high);
    return high - low;
}

/* The number of idle pages in a free block: those of handles that lie inside. */
static uint64_t gpuarena__whole_pages(const gpuarena *arena, const gpuarena__node *node)
{
    return gpuarena__pages_between(arena, node->address, node->address + gpuarena__node_bytes(node));
}

/* Inserts a free block into its record's bins, or into the list of blocks that wait for several streams. */
static void gpuarena__free_insert_in(gpuarena *arena, gpuarena__heap *heap, uint32_t index)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    if (node->size >= arena->small_bytes)
        *(heap ? &heap->idle_count : &arena->paged.idle_count) += gpuarena__whole_pages(arena, node);
    if (node->record != GPUARENA__MULTI_STREAM)
        gpuarena__bins_insert(arena, gpuarena__bins_of(arena, heap, node), index);
    else gpuarena__list_insert(arena, &arena->multi_stream, index, node);
}

static void gpuarena__free_insert(gpuarena *arena, uint32_t index)
{
    gpuarena__free_insert_in(arena, NULL, index);
}

/* Removes a free block from its record's bins, or from that list. */
static void gpuarena__free_remove_in(gpuarena *arena, gpuarena__heap *heap, uint32_t index)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    if (node->size >= arena->small_bytes)
        *(heap ? &heap->idle_count : &arena->paged.idle_count) -= gpuarena__whole_pages(arena, node);
    if (node->record != GPUARENA__MULTI_STREAM)
        gpuarena__bins_remove(arena, gpuarena__bins_of(arena, heap, node), index);
    else gpuarena__list_remove(arena, &arena->multi_stream, node);
}

static void gpuarena__free_remove(gpuarena *arena, uint32_t index)
{
    gpuarena__free_remove_in(arena, NULL, index);
}

/* Takes a free block out of its bin. A small block waits for at most one stream, and needs no call. */
GPUARENA__INLINE void gpuarena__free_pull(gpuarena *arena, gpuarena__heap *heap, uint32_t index,
                                          gpuarena__node *node)
{
    if (GPUARENA__LIKELY(node->size < arena->small_bytes))
        gpuarena__bin_remove(arena, gpuarena__bins_of(arena, heap, node), index, node);
    else gpuarena__free_remove_in(arena, heap, index);
}

/* >>lookup =============================================================================================
   From the address of a live block to its node: a hash table. */

static const uint32_t GPUARENA__TABLE = 256;      /* slots at creation */

static uint32_t gpuarena__home(const gpuarena__lookup *lookup, uint64_t address)
{
    return (uint32_t)(address * 0x9E3779B97F4A7C15u >> lookup->shift);
}

GPUARENA__NOINLINE void gpuarena__lookup_insert_far(gpuarena__lookup *lookup, uint32_t index, uint32_t slot)
{
    uint32_t distance = 0;
    while (lookup->table[slot]) {
        GPUARENA_ASSERT(distance <= lookup->mask && "at most a quarter of the slots are taken");
        slot = (slot + 1) & lookup->mask;
        distance++;
    }
    lookup->table[slot] = index;
    if (distance > lookup->longest) lookup->longest = distance;
}

GPUARENA__INLINE void gpuarena__lookup_insert(gpuarena__lookup *lookup, uint32_t index, uint64_t address)
{
    uint32_t home = gpuarena__home(lookup, address);
    if (GPUARENA__LIKELY(!lookup->table[home])) lookup->table[home] = index;
    else gpuarena__lookup_insert_far(lookup, index, home);
}

static size_t gpuarena__lookup_bytes(const gpuarena__lookup *lookup)
{
    return ((size_t)lookup->mask + 1) * sizeof *lookup->table;
}

static int gpuarena__lookup_grow(gpuarena *arena, gpuarena__lookup *lookup)
{
    gpuarena__lookup old = *lookup;
    uint32_t slot, old_capacity = old.table ? old.mask + 1 : 0,
             capacity = old.table ? old_capacity * 2 : GPUARENA__TABLE;
    size_t bytes = capacity * sizeof *lookup->table;
    lookup->mask = capacity - 1;
    lookup->shift = 63 - gpuarena__highest_bit(lookup->mask);
    lookup->most = capacity / 4 - 1;
    lookup->table = capacity ? (uint32_t *)gpuarena__host_alloc(arena, bytes) : NULL;
    if (!lookup->table) {
        *lookup = old;
        return 0;
    }
    memset(lookup->table, 0, bytes);
    lookup->longest = 0;
    for (slot = 0; slot < old_capacity; slot++)
        if (old.table[slot])
            gpuarena__lookup_insert(lookup, old.table[slot],
                                    gpuarena__node_at(arena, old.table[slot])->address);
    gpuarena__host_free(arena, old.table, gpuarena__lookup_bytes(&old));
    return 1;
}

/* The table of the live nodes that start in the page of an address. */
static gpuarena__lookup *gpuarena__lookup_at(gpuarena *arena, uint64_t address)
{
    uint32_t owner = gpuarena__owner_of(arena, address);
    return owner ? &arena->heaps.list[owner]->lookup : &arena->lookup;
}

/* The n-th table of live nodes, from 0; NULL: there are fewer. */
static const gpuarena__lookup *gpuarena__lookup_nth(const gpuarena *arena, uint32_t n)
{
    if (!n) return &arena->lookup;
    return n <= arena->heaps.count ? &arena->heaps.list[n]->lookup : NULL;
}

/* Reserves host memory for one more live node in every heap's table and in the arena's. 0: no host memory. */
GPUARENA__NOINLINE int gpuarena__lookups_reserve(gpuarena *arena)
{
    uint64_t count = arena->stats.live_count;
    uint32_t at;
    for (at = 1; at <= arena->heaps.count; at++) {
        gpuarena__heap *heap = arena->heaps.list[at];
        count -= heap->stats.live_count;
        if (heap->stats.live_count >= heap->lookup.most && !gpuarena__lookup_grow(arena, &heap->lookup))
            return 0;
    }
    return count < arena->lookup.most || gpuarena__lookup_grow(arena, &arena->lookup);
}

/* Reserves host memory for one more live node; the holder of the slow-path mutex may insert a second one.
   0: no host memory. */
static int gpuarena__lookup_reserve(gpuarena *arena)
{
    return GPUARENA__LIKELY(!arena->heaps.count && arena->stats.live_count < arena->lookup.most)
        || gpuarena__lookups_reserve(arena);
}

/* The live node with this base address, and its slot in the table; NULL: none. */
GPUARENA__INLINE gpuarena__node *gpuarena__lookup_node(const gpuarena *arena, const gpuarena__lookup *lookup,
                                                       uint64_t address, uint32_t **slot)
{
    uint32_t number = gpuarena__home(lookup, address), left = lookup->longest;
    for (;; number = (number + 1) & lookup->mask, left--) {
        *slot = &lookup->table[number];
        if (**slot) {
            gpuarena__node *node = gpuarena__node_at(arena, **slot);
            if (GPUARENA__LIKELY(node->address == address)) return node;
        }
        if (!left) return NULL;
    }
}

/* The slot of the live node with this base address in its table; NULL: none. */
static uint32_t *gpuarena__lookup_find(gpuarena *arena, uint64_t address)
{
    uint32_t *slot;
    return gpuarena__lookup_node(arena, gpuarena__lookup_at(arena, address), address, &slot) ? slot : NULL;
}

/* A live node is put into its table, or was removed from it: its heap's count follows. */
static void gpuarena__heap_live_add(gpuarena *arena, uint64_t address, uint64_t by)
{
    uint32_t owner = gpuarena__owner_of(arena, address);
    if (!owner) return;
    arena->heaps.list[owner]->stats.live_count += by;
    arena->heaps.list[owner]->live_seen += by;
}

/* Puts a live node into the table where it belongs, with all locks. */
GPUARENA__NOINLINE void gpuarena__lookup_put(gpuarena *arena, uint32_t index, uint64_t address)
{
    gpuarena__lookup_insert(gpuarena__lookup_at(arena, address), index, address);
    gpuarena__heap_live_add(arena, address, 1);
}

/* >>block ==============================================================================================
   Splitting, joining, taking and freeing blocks, and the work that a freed block waits for. The arena's lock
   is held, and the driver is not called. Only uses of further streams need host memory here, and may fail. */

static int gpuarena__same_page(uint64_t left, uint64_t right)
{
    return (left ^ right) >> GPUARENA__PAGE_LOG2 == 0;
}

/* Makes a node the first that starts in a page, which gets the owner of `from`'s page if none did so far. */
GPUARENA__NOINLINE void gpuarena__page_start(const gpuarena *arena, uint64_t from, uint64_t address,
                                             uint32_t index)
{
    const gpuarena__range *range = gpuarena__range_of(arena, address);
    size_t page = gpuarena__page_of(range, address);
    if (!range->anchors[page]) range->owners[page] = range->owners[gpuarena__page_of(range, from)];
    range->anchors[page] = index;
}

/* The node that contains the address, live or free; 0: none. The search goes back to the nearest page in
   which a node starts, then along its nodes. It ends, because the range's first node is the anchor of its
   first page. */
static uint32_t gpuarena__node_around(const gpuarena *arena, uint64_t address)
{
    const gpuarena__range *range = gpuarena__range_of(arena, address);
    uint32_t index;
    uint64_t page;
    if (!range) return 0;
    page = gpuarena__page_of(range, address);
    while (!range->anchors[page] || gpuarena__node_at(arena, range->anchors[page])->address > address) page--;
    index = range->anchors[page];
    for (;;) {
        uint32_t next = gpuarena__node_at(arena, index)->next;
        if (!next || gpuarena__node_at(arena, next)->address > address) return index;
        index = next;
    }
}

/* Writes `prev` of a node, which another heap may read at the same time: see heap_joins. */
GPUARENA__INLINE void gpuarena__set_prev(const gpuarena__heap *heap, gpuarena__node *node, uint32_t prev)
{
    if (heap) GPUARENA__STORE(&node->prev, prev, RELAXED);
    else node->prev = prev;
}

/* Writes `record` of a node, which another heap may read at the same time: see heap_may_join. */
GPUARENA__INLINE void gpuarena__set_record(const gpuarena__heap *heap, gpuarena__node *node, uint32_t record)
{
    if (heap) GPUARENA__STORE(&node->record, record, RELAXED);
    else node->record = record;
}

/* The unused nodes of the page's owner, with all locks; the arena's if the owner has none. If no node starts
   in the page of the address, it has the owner of `from`'s page. */
GPUARENA__NOINLINE gpuarena__pool *gpuarena__pool_far(gpuarena *arena, uint64_t from, uint64_t address)
{
    const gpuarena__range *range = gpuarena__range_of(arena, address);
    size_t page = gpuarena__page_of(range, address);
    uint32_t owner = range->owners[range->anchors[page] ? page : gpuarena__page_of(range, from)];
    gpuarena__pool *pool = owner ? &arena->heaps.list[owner]->unused : &arena->nodes.unused;
    return pool->count ? pool : &arena->nodes.unused;
}

/* The unused nodes for a cut or a join at this address, of a block at `from`. Blocks that start in a heap's
   pages have nodes from that heap's pool. Processors fetch cache lines in pairs, so if the nodes of two heaps
   lay side by side, each thread would take the other's lines away. */
GPUARENA__INLINE gpuarena__pool *gpuarena__pool_of(gpuarena *arena, gpuarena__heap *heap, uint64_t from,
                                                   uint64_t address)
{
    if (heap) return &heap->unused;
    if (GPUARENA__LIKELY(!arena->heaps.count)) return &arena->nodes.unused;
    return gpuarena__pool_far(arena, from, address);
}

/* Cuts a free node that is in no bin after `keep` bytes. Returns the new node behind the cut, node->next,
   which is free and in no bin. */
GPUARENA__INLINE gpuarena__node *gpuarena__block_cut(gpuarena *arena, gpuarena__heap *heap, uint32_t index,
                                                     gpuarena__node *node, uint64_t keep)
{
    gpuarena__pool *unused = gpuarena__pool_of(arena, heap, node->address, node->address + keep);
    uint32_t tail = unused->first, after = node->next;
    gpuarena__node *rest = gpuarena__node_take(arena, unused);
    rest->address = node->address + keep;
    rest->size = node->size - keep;
    GPUARENA_ASSERT(keep && keep < node->size && "a cut leaves two blocks");
    rest->prev = index;
    rest->next = after;
    node->size = keep;
    node->next = tail;
    if (GPUARENA__LIKELY(after)) gpuarena__set_prev(heap, gpuarena__node_at(arena, after), tail);
    gpuarena__set_record(heap, rest, node->record);
    rest->ticket = node->ticket;
    rest->use_at = 0;
    /* node is the nearest start below; if it lies in another page, rest is the first start in its page */
    if (!gpuarena__same_page(node->address, rest->address))
        gpuarena__page_start(arena, node->address, rest->address, tail);
    return rest;
}

static uint32_t gpuarena__block_split(gpuarena *arena, uint32_t index, uint64_t keep)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    (void)gpuarena__block_cut(arena, NULL, index, node, keep);
    return node->next;
}

/* Joins a node with the node behind it: two free nodes, two holes, or a live block and the free node that it
   grows into. Those that are not live are in no bin or list. The lower node stays. */
GPUARENA__INLINE void gpuarena__block_absorb(gpuarena *arena, gpuarena__heap *heap, uint32_t index,
                                             gpuarena__node *node, gpuarena__node *gone)
{
    uint32_t dropped = node->next, after = gone->next;
    if (!gpuarena__same_page(node->address, gone->address)) {
        const gpuarena__range *range = gpuarena__range_of(arena, gone->address);
        int next_starts =
            after && gpuarena__same_page(gpuarena__node_at(arena, after)->address, gone->address);
        range->anchors[gpuarena__page_of(range, gone->address)] = next_starts ? after : 0;
    }
    node->size += gone->size;
    node->next = after;
    if (GPUARENA__LIKELY(after)) gpuarena__set_prev(heap, gpuarena__node_at(arena, after), index);
    if (heap || GPUARENA__UNLIKELY(arena->heaps.count)) gpuarena__set_record(heap, gone, 0);
    gpuarena__node_drop(gpuarena__pool_of(arena, heap, gone->address, gone->address), dropped, gone);
}

static void gpuarena__block_absorb_next(gpuarena *arena, uint32_t index)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    gpuarena__block_absorb(arena, NULL, index, node, gpuarena__node_at(arena, node->next));
}

/* Cuts a free node behind `keep` bytes; both are in bins. Takes a reserved node. Returns the upper one. */
static uint32_t gpuarena__free_split(gpuarena *arena, uint32_t index, uint64_t keep)
{
    uint32_t rest;
    gpuarena__free_remove(arena, index);
    rest = gpuarena__block_split(arena, index, keep);
    gpuarena__free_insert(arena, index);
    gpuarena__free_insert(arena, rest);
    return rest;
}

/* Cuts a node that is in no list down to [begin, begin + bytes) and inserts the rest on both sides. Takes up
   to two reserved nodes. Returns the node of the part. */
static uint32_t gpuarena__block_carve(gpuarena *arena, uint32_t index, uint64_t begin, uint64_t bytes,
                                      void (*put)(gpuarena *arena, uint32_t index))
{
    uint64_t lead = begin - gpuarena__node_at(arena, index)->address;
    uint32_t front = index;
    if (lead) {
        index = gpuarena__block_split(arena, front, lead);
        put(arena, front);
    }
    if (bytes < gpuarena__node_at(arena, index)->size) put(arena, gpuarena__block_split(arena, index, bytes));
    return index;
}

/* Takes `bytes` at the beginning of a free node, or at its end, out of its bin. Returns the node that has
   them. The preconditions are those of block_slice. */
GPUARENA__NOINLINE uint32_t gpuarena__block_slice_any(gpuarena *arena, gpuarena__heap *heap, uint32_t index,
                                                      uint64_t bytes, int at_end)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    gpuarena__free_remove_in(arena, heap, index);
    if (node->size == bytes) return index;
    (void)gpuarena__block_cut(arena, heap, index, node, at_end ? node->size - bytes : bytes);
    gpuarena__free_insert_in(arena, heap, at_end ? index : node->next);
    return at_end ? node->next : index;
}

/* Takes `bytes` of a free node out of its bin. The node is long enough and waits for at most one stream;
   its rest stays in a bin. Takes one reserved node. */
GPUARENA__INLINE void gpuarena__block_slice(gpuarena *arena, gpuarena__heap *heap, uint32_t index,
                                            gpuarena__node *node, uint64_t bytes)
{
    gpuarena__node *rest;
    if (GPUARENA__UNLIKELY(node->size >= arena->small_bytes)) {
        (void)gpuarena__block_slice_any(arena, heap, index, bytes, 0);
        return;
    }
    gpuarena__bin_remove(arena, gpuarena__bins_of(arena, heap, node), index, node);
    if (node->size == bytes) return;
    rest = gpuarena__block_cut(arena, heap, index, node, bytes);
    gpuarena__bin_insert(arena, gpuarena__bins_of(arena, heap, rest), node->next, rest);
}

/* Ends the waits of a free node that is about to become a live block. It may have a ticket of another record:
   a stream that was forgotten and named again while the request waited has a new one. */
static void gpuarena__block_wake(gpuarena_stats *stats, gpuarena__node *node, const gpuarena__request *req)
{
    if (node->record) stats->pending_bytes -= req->bytes;
    if (node->record != req->record) node->ticket = 0;
    GPUARENA__STORE(&node->record, req->record, RELAXED);    /* another heap may look: see heap_joins */
}

/* Makes a live block of a node that is in no bin. The block is in no lookup table yet. */
GPUARENA__INLINE void gpuarena__block_use(gpuarena *arena, gpuarena__heap *heap, gpuarena__node *node,
                                          const gpuarena__request *req)
{
    gpuarena_stats *stats = gpuarena__stats_of(arena, heap);
    node->size = req->bytes | GPUARENA__LIVE;
    node->as.live.requested = req->requested;
    node->as.live.serial = ++*(heap ? &heap->serial : &arena->serial);
    node->as.live.tag = req->tag;
    if (GPUARENA__UNLIKELY(req->place)) gpuarena__tag_enter(arena, req->place, node);
    arena->streams.list[req->record].ref_count++;
    if (GPUARENA__UNLIKELY(req->home)) {
        arena->streams.list[req->record].reserved_uses++;
        arena->nodes.kept_count++;
    }
    stats->live_count++;
    stats->requested_bytes += req->requested;
    stats->live_bytes += req->bytes;
    if (GPUARENA__UNLIKELY(!heap && (stats->requested_bytes > stats->requested_peak_bytes
                                     || stats->live_bytes > stats->live_peak_bytes)))
        gpuarena__peaks_note(arena);
}

/* Tells whether a block that a heap frees may be joined with a neighbour. With the heap's lock, which need
   not be the neighbour's: if the neighbour has the same record, then no other heap changes it; if not, its
   record is all that is read, or that of a node which lay there a moment ago and was another heap's, too. Or
   a node is read that the other heap is about to put there, and whose record it may not have written yet. So
   unused nodes of heaps have record 0: the record that one had may be that of this heap's stream now. */
GPUARENA__INLINE int gpuarena__heap_may_join(const gpuarena__node *node, const gpuarena__node *other)
{
    return GPUARENA__LOAD(&other->record, RELAXED) == node->record && gpuarena__is_free(other);
}

/* Tells whether a free block that waits for at most one stream may be joined with a neighbour: both have the
   same record; or one is quiet and there is only one stream. */
GPUARENA__INLINE int gpuarena__may_take_in(const gpuarena *arena, const gpuarena__heap *heap,
                                           const gpuarena__node *node, const gpuarena__node *other)
{
    if (heap) return gpuarena__heap_may_join(node, other);
    if (!gpuarena__is_free(other)) return 0;
    return GPUARENA__LIKELY(node->record == other->record)
        || (other->record != GPUARENA__MULTI_STREAM && !arena->streams.many);
}

/* Gives the joined block of two the record that one of them waits for, and the later ticket. */
GPUARENA__INLINE void gpuarena__inherit(gpuarena *arena, gpuarena__node *node, const gpuarena__node *other)
{
    if (node->record != other->record) {         /* there is one stream */
        arena->stats.pending_bytes += node->record ? other->size : node->size;
        if (!node->record) node->record = other->record;
    }
    node->ticket = gpuarena__max(node->ticket, other->ticket);
}

/* Joins a free node, which is in no bin and waits for at most one stream, with its free neighbours where that
   is allowed, and inserts the result into its bin. Returns the joined node. */
GPUARENA__INLINE uint32_t gpuarena__block_merge_near(gpuarena *arena, gpuarena__heap *heap, uint32_t index,
                                                     gpuarena__node *node)
{
    gpuarena__node *prev = gpuarena__node_at(arena, GPUARENA__LOAD(&node->prev, RELAXED)),
                   *next = gpuarena__node_at(arena, node->next);
    if (gpuarena__may_take_in(arena, heap, node, next)) {
        GPUARENA_ASSERT((!heap || gpuarena__owner_of(arena, next->address) == heap->number)
                        && "a heap joins blocks that it owns");
        gpuarena__free_pull(arena, heap, node->next, next);
        gpuarena__inherit(arena, node, next);
        gpuarena__block_absorb(arena, heap, index, node, next);
    }
    if (gpuarena__may_take_in(arena, heap, node, prev)) {
        GPUARENA_ASSERT((!heap || gpuarena__owner_of(arena, prev->address) == heap->number)
                        && "a heap joins blocks that it owns");
        gpuarena__free_pull(arena, heap, node->prev, prev);  /* removing the next node may have moved it */
        gpuarena__inherit(arena, prev, node);
        index = node->prev;
        gpuarena__block_absorb(arena, heap, index, prev, node);
        node = prev;
    }
    if (GPUARENA__LIKELY(node->size < arena->small_bytes))
        gpuarena__bin_insert(arena, gpuarena__bins_of(arena, heap, node), index, node);
    else gpuarena__free_insert_in(arena, heap, index);
    return index;
}

static uint32_t gpuarena__block_join(gpuarena *arena, uint32_t index)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    if (node->record != GPUARENA__MULTI_STREAM) return gpuarena__block_merge_near(arena, NULL, index, node);
    gpuarena__free_insert(arena, index);
    return index;
}

/* The ticket for memory that is freed on a stream now, or used there and freed elsewhere. 0: nothing will
   tell when the GPU is done with it, because the stream is forgotten and no event was recorded on it. */
GPUARENA__INLINE uint64_t gpuarena__ticket(gpuarena__stream *stream)
{
    if (GPUARENA__LIKELY(stream->state != GPUARENA__CLOSED)) return ++stream->ticket;
    return stream->home || stream->recorded == stream->ticket ? stream->ticket : 0;
}

static void gpuarena__uses_drop(gpuarena *arena, uint32_t use_at)
{
    gpuarena__node *use = gpuarena__node_at(arena, use_at);
    gpuarena__stream *stream = &arena->streams.list[use->record];
    GPUARENA_ASSERT((use->ticket ? stream->use_count : stream->ref_count) != 0
                    && "a use is counted in its stream");
    if (use->ticket) stream->use_count--;
    else stream->ref_count--;
    gpuarena__node_drop(&arena->nodes.unused, use_at, use);
}

/* Adds a use to a live block (ticket 0), or to a node that is being freed. Takes a reserved node. */
static void gpuarena__uses_put(gpuarena *arena, gpuarena__node *node, uint32_t record, uint64_t ticket)
{
    uint32_t use_at = arena->nodes.unused.first;
    gpuarena__node *use = gpuarena__node_take(arena, &arena->nodes.unused);
    if (ticket) arena->streams.list[record].use_count++;
    else arena->streams.list[record].ref_count++;
    use->ticket = ticket;
    use->record = record;
    use->next = node->use_at;
    node->use_at = use_at;
}

static void gpuarena__uses_drop_all(gpuarena *arena, gpuarena__node *node)
{
    uint32_t use_at, next;
    for (use_at = node->use_at; use_at; use_at = next) {
        next = gpuarena__node_at(arena, use_at)->next;
        gpuarena__uses_drop(arena, use_at);
    }
    node->use_at = 0;
}

/* Makes a node that was just freed wait for its uses on several streams: it goes to the record with this
   ticket when they are over; or, with sync_wait, to the record's home after a wait for the device. */
static void gpuarena__uses_link(gpuarena *arena, gpuarena__node *node, uint32_t record, uint64_t ticket,
                                int sync_wait)
{
    if (sync_wait) {
        gpuarena__uses_drop_all(arena, node);
        record = arena->streams.list[record].home;
        ticket = ++arena->streams.list[record].ticket;
        arena->stats.sync_wait_count++;
    }
    node->record = GPUARENA__MULTI_STREAM;
    node->as.held.home = record;
    node->ticket = ticket;
    arena->streams.list[record].ref_count++;
}

/* Ends the waits of a node whose record is MULTI_STREAM. */
static void gpuarena__uses_unlink(gpuarena *arena, gpuarena__node *node)
{
    gpuarena__uses_drop_all(arena, node);
    GPUARENA_ASSERT(arena->streams.list[node->as.held.home].ref_count != 0 && "a held block is counted");
    arena->streams.list[node->as.held.home].ref_count--;
}

/* Drops the uses of a freed node whose streams are done, and those without a ticket. */
static void gpuarena__uses_prune(gpuarena *arena, gpuarena__node *node)
{
    uint32_t use_at = node->use_at, next;
    for (node->use_at = 0; use_at; use_at = next) {
        gpuarena__node *held = gpuarena__node_at(arena, use_at);
        next = held->next;
        if (held->ticket <= arena->streams.list[held->record].quiet) gpuarena__uses_drop(arena, use_at);
        else {
            held->next = node->use_at;
            node->use_at = use_at;
        }
    }
}

/* Gives the uses of a block that is freed their tickets, and drops those on the stream of the free. 0: one is
   on a stream that will not tell when it is done. */
static int gpuarena__uses_start(gpuarena *arena, gpuarena__node *node, uint32_t freed_on)
{
    uint32_t use_at;
    int told = 1;
    for (use_at = node->use_at; use_at; use_at = gpuarena__node_at(arena, use_at)->next) {
        gpuarena__node *held = gpuarena__node_at(arena, use_at);
        gpuarena__stream *stream = &arena->streams.list[held->record];
        uint64_t ticket = held->record == freed_on ? 0 : gpuarena__ticket(stream);
        told = told && (ticket || held->record == freed_on);
        if (ticket <= stream->quiet) continue;
        stream->ref_count--;
        stream->use_count++;
        held->ticket = ticket;
    }
    gpuarena__uses_prune(arena, node);
    return told;
}

/* The record of a stream's work with memory of a capture set, or (0) with ordinary memory. Work with memory
   outside of the set that the stream is captured into belongs to no graph. */
static uint32_t gpuarena__record_for(const gpuarena *arena, uint32_t record, uint32_t home)
{
    const gpuarena__stream *stream = &arena->streams.list[record];
    return stream->home && stream->home != home ? stream->under : record;
}

/* Records the work that a block waits for after a free that is not plain. freed_on 0: the GPU is done with
   it; MULTI_STREAM: only a wait for the device tells. */
static void gpuarena__order_slow(gpuarena *arena, gpuarena__node *node, uint32_t freed_on)
{
    gpuarena__stream *list = arena->streams.list, *from = &list[node->record];
    uint32_t home = from->home, record = freed_on;
    uint64_t ticket;
    int told;
    if (from->reserved_uses) {
        from->reserved_uses--;
        arena->nodes.kept_count--;
    }
    if (!freed_on || freed_on == GPUARENA__MULTI_STREAM) {
        gpuarena__uses_drop_all(arena, node);
        if (freed_on) gpuarena__uses_link(arena, node, node->record, 0, 1);
        else if (node->ticket <= from->quiet) {  /* later: a former owner may still use it */
            node->record = home;
            node->ticket = 0;
        }
        return;
    }
    record = gpuarena__record_for(arena, record, home);
    told = gpuarena__uses_start(arena, node, record);
    if (list[record].home != home) {             /* memory of a capture set, freed outside its captures */
        ticket = gpuarena__ticket(&list[record]);
        if (ticket) gpuarena__uses_put(arena, node, record, ticket);
        else told = 0;
        record = home;
    }
    ticket = record == home ? 0 : gpuarena__ticket(&list[record]);
    if (ticket && ticket <= list[record].quiet) { /* a forgotten stream that is done */
        record = home;
        ticket = 0;
    }
    if (!told || (record != home && !ticket)) gpuarena__uses_link(arena, node, record, 0, 1);
    else if (node->use_at) gpuarena__uses_link(arena, node, record, ticket, 0);
    else {
        node->record = record;
        node->ticket = ticket;
    }
}

/* Frees a live node, which is in no table any more. It waits for the stream of the free, usually; order_slow
   records other waits. plain 1: that stream is plain, and the node is not PLANNED. A node that is PLANNED is
   earmarked if it waits for its own stream at most. */
GPUARENA__INLINE void gpuarena__block_free(gpuarena *arena, gpuarena__heap *heap, uint32_t index,
                                           gpuarena__node *node, uint32_t freed_on, int plain)
{
    gpuarena_stats *stats = gpuarena__stats_of(arena, heap);
    uint32_t record = node->record;
    gpuarena__stream *from = &arena->streams.list[record], *on = from;
    int waits_for_one = 1, planned = !plain && node->size & GPUARENA__PLANNED;
    GPUARENA_ASSERT(gpuarena__node_live(node) && stats->live_count && "a block is freed once");
    node->size &= ~(GPUARENA__LIVE | GPUARENA__PLANNED);
    stats->live_count--;
    stats->free_count++;
    stats->requested_bytes -= node->as.live.requested;
    stats->live_bytes -= node->size;
    from->ref_count--;
    if (GPUARENA__LIKELY((plain || (freed_on && freed_on == arena->streams.recent.record))
                         && freed_on == record && !node->use_at))
        node->ticket = ++from->ticket;
    else {
        if (freed_on != record && freed_on != GPUARENA__MULTI_STREAM) on = &arena->streams.list[freed_on];
        if (GPUARENA__LIKELY(freed_on && freed_on != GPUARENA__MULTI_STREAM
                             && !(node->use_at | from->home | on->home | (on->state == GPUARENA__CLOSED)))) {
            node->record = freed_on;
            node->ticket = ++on->ticket;
        } else gpuarena__order_slow(arena, node, freed_on);
        waits_for_one = node->record != GPUARENA__MULTI_STREAM;
    }
    if (plain || node->record) stats->pending_bytes += node->size;
    if (planned && (!node->record || node->record == record)) node->size |= GPUARENA__EARMARKED;
    else if (GPUARENA__LIKELY(plain && waits_for_one))
        (void)gpuarena__block_merge_near(arena, heap, index, node);
    else (void)gpuarena__block_join(arena, index);
}

/* The stream of a live block's allocation, or the stream that a free block waits for; ANY_STREAM: none. */
static gpuarena_stream gpuarena__stream_of(const gpuarena *arena, const gpuarena__node *node)
{
    uint32_t record = gpuarena__record_of(node);
    return record ? arena->streams.list[record].handle : GPUARENA_ANY_STREAM;
}

/* The stream of a live block's allocation, if the driver may be asked about it now; else OWN_STREAM. */
static gpuarena_stream gpuarena__own_stream(const gpuarena *arena, const gpuarena__node *node)
{
    const gpuarena__stream *own = &arena->streams.list[node->record];
    return node->record && own->state == GPUARENA__OPEN
        && (!own->key || own->key == gpuarena__thread_number()) ? own->handle : GPUARENA_OWN_STREAM;
}

static gpuarena_block gpuarena__block_describe(const gpuarena *arena, uint32_t index)
{
    const gpuarena__node *node = gpuarena__node_at(arena, index);
    gpuarena_block block = GPUARENA_INIT;
    int live = gpuarena__node_live(node);
    block.ptr = gpuarena__pointer(node->address);
    block.bytes = gpuarena__node_bytes(node);
    block.resident_bytes = node->size & GPUARENA__HOLE ? 0 : block.bytes;
    block.stream = gpuarena__stream_of(arena, node);
    block.state = live                          ? GPUARENA_STATE_LIVE
                  : node->size & GPUARENA__HOLE ? GPUARENA_STATE_HOLE
                  : node->record                   ? GPUARENA_STATE_PENDING
                                                : GPUARENA_STATE_FREE;
    block.memory = arena->memory;
    if (!live) return block;
    block.serial = node->as.live.serial;
    block.requested_bytes = node->as.live.requested;
    block.tag = node->as.live.tag;
    return block;
}

/* Tells the observer of a block in its present state. */
static void gpuarena__tell_of(gpuarena *arena, gpuarena_action_kind kind, uint32_t index,
                              gpuarena_stream stream)
{
    gpuarena_block block;
    if (!arena->config.observe) return;
    block = gpuarena__block_describe(arena, index);
    gpuarena__tell(arena, kind, &block, stream, NULL);
}

/* >>driver =============================================================================================
   Calls of the driver's table, all made by GPUARENA__ASK, except those that run with the lock held:
   exchange_mode, events.destroy, classify, code_name, now_ns. */

static gpuarena__error gpuarena__no_error(void)
{
    gpuarena__error error = GPUARENA_INIT;
    return error;
}

/* Sets the error, unless its place is NULL because the caller does not ask. Returns 0, so that a failing
   function can return the call. */
static uint8_t gpuarena__set_error(gpuarena__error *error, gpuarena_result result)
{
    if (!error) return 0;
    error->result = result;
    error->reason = result == GPUARENA_HOST_MEMORY ? GPUARENA_REASON_HOST_MEMORY : GPUARENA_REASON_NONE;
    return 0;
}

/* Sets the error OUT_OF_MEMORY with a reason. Returns 0. */
static uint8_t gpuarena__set_reason(gpuarena__error *error, gpuarena_reason reason)
{
    gpuarena__set_error(error, GPUARENA_OUT_OF_MEMORY);
    if (error) error->reason = reason;
    return 0;
}

/* 1, and the sticky error in *error: the device is lost, and no driver call may be made. */
static int gpuarena__is_lost(const gpuarena *arena, gpuarena__error *error)
{
    if (GPUARENA__LIKELY(!arena->lost)) return 0;
    gpuarena__set_error(error, GPUARENA_DEVICE_LOST);
    if (error) error->code = arena->lost_code;
    return 1;
}

/* Properties of an entry. */
enum {
    GPUARENA__COUNTED = 1,                       /* counts in stats.driver_call_count */
    GPUARENA__OBTAINS = 2,                 /* obtains memory: NO_MEMORY means OUT_OF_MEMORY, DRIVER_REFUSED */
    GPUARENA__RELEASES = 4                       /* releases, waits, or tells whether that is allowed:
                                                    UNLOADING means success, as all is gone */
};
/* The entries of the table, by groups. X(group, entry, bits) */
#define GPUARENA__MEMORY_ENTRIES(X) \
    X(memory, info, 0) \
    X(memory, obtain, GPUARENA__COUNTED | GPUARENA__OBTAINS) \
    X(memory, give_back, GPUARENA__COUNTED | GPUARENA__RELEASES)
#define GPUARENA__VM_ENTRIES(X) \
    X(vm, reserve, GPUARENA__COUNTED | GPUARENA__OBTAINS) \
    X(vm, release, GPUARENA__COUNTED | GPUARENA__RELEASES) \
    X(vm, create, GPUARENA__COUNTED | GPUARENA__OBTAINS) \
    X(vm, destroy, GPUARENA__COUNTED | GPUARENA__RELEASES) \
    X(vm, map, GPUARENA__COUNTED | GPUARENA__OBTAINS) \
    X(vm, access, GPUARENA__COUNTED | GPUARENA__OBTAINS) \
    X(vm, unmap, GPUARENA__COUNTED | GPUARENA__RELEASES)
#define GPUARENA__EVENT_ENTRIES(X) \
    X(events, create, 0) \
    X(events, destroy, 0) \
    X(events, record, 0) \
    X(events, query, 0) \
    X(events, host_wait, 0) \
    X(events, stream_wait, 0) \
    X(events, device_wait, GPUARENA__RELEASES)
#define GPUARENA__CAPTURE_ENTRIES(X) \
    X(capture, active, GPUARENA__RELEASES) \
    X(capture, exchange_mode, 0)
#define GPUARENA__IPC_ENTRIES(X) \
    X(ipc, get_handle, GPUARENA__COUNTED) \
    X(ipc, open_handle, GPUARENA__COUNTED | GPUARENA__OBTAINS) \
    X(ipc, close_handle, GPUARENA__COUNTED | GPUARENA__RELEASES)
#define GPUARENA__FD_ENTRIES(X) \
    X(fd, from_page, GPUARENA__COUNTED) \
    X(fd, to_page, GPUARENA__COUNTED | GPUARENA__OBTAINS)
#define GPUARENA__ENTRIES(X) \
    GPUARENA__MEMORY_ENTRIES(X) GPUARENA__VM_ENTRIES(X) GPUARENA__EVENT_ENTRIES(X) \
    GPUARENA__CAPTURE_ENTRIES(X) GPUARENA__IPC_ENTRIES(X) GPUARENA__FD_ENTRIES(X)

#define X(group, entry, bits) GPUARENA__OF_##group##_##entry,
typedef enum gpuarena__entry { GPUARENA__ENTRIES(X) GPUARENA__OF_clear, GPUARENA__OF_peer } gpuarena__entry;
#undef X
#define X(group, entry, bits) { #entry, bits },
static const struct { const char *name; uint32_t bits; } gpuarena__entries[] = {
    GPUARENA__ENTRIES(X) { "clear", GPUARENA__RELEASES }, { "peer", 0 }
};
#undef X

/* Evaluates the code that an entry returned. 1: success. 0: *error says what it means; a sticky error marks
   the arena as lost. */
static int gpuarena__driver_done(gpuarena *arena, int code, gpuarena__entry entry, gpuarena__error *error)
{
    uint32_t bits = gpuarena__entries[entry].bits;
    int status = arena->driver.classify ? (int)arena->driver.classify(&arena->driver, code) : code;
    if (status == GPUARENA_STATUS_DONE) return 1;
    if (status == GPUARENA_STATUS_UNLOADING && bits & GPUARENA__RELEASES) return 1;
    if (error) error->code = code;
    if (error) error->status = status;
    if (status == GPUARENA_STATUS_NO_MEMORY && bits & GPUARENA__OBTAINS) {
        if (error) error->call = gpuarena__entries[entry].name;
        return gpuarena__set_reason(error, GPUARENA_REASON_DRIVER_REFUSED);
    }
    if (status == GPUARENA_STATUS_CAPTURING) return gpuarena__set_error(error, GPUARENA_CAPTURE);
    if (status == GPUARENA_STATUS_NOT_SUPPORTED) return gpuarena__set_error(error, GPUARENA_NOT_SUPPORTED);
    if (status != GPUARENA_STATUS_LOST) return gpuarena__set_error(error, GPUARENA_DRIVER_ERROR);
    arena->lost = 1;
    arena->lost_code = code;
    gpuarena__update_fast_path(arena);
    return gpuarena__set_error(error, GPUARENA_DEVICE_LOST);
}

/* Sets this thread's capture mode to relaxed (2: cudaStreamCaptureModeRelaxed) until gpuarena__unrelax, so
   that a capture elsewhere does not forbid its driver calls. The lock stays held: the mode belongs to the
   thread, and nothing is waited for. */
static void gpuarena__relax(gpuarena *arena)
{
    int mode = 2, code;
    if (arena->caller_mode >= 0 || arena->lost || !arena->driver.capture.exchange_mode) return;
    code = arena->driver.capture.exchange_mode(&arena->driver, &mode);
    if (gpuarena__driver_done(arena, code, GPUARENA__OF_capture_exchange_mode, NULL))
        arena->caller_mode = mode;
}

/* Relaxes the mode. 0 and an error: the device is lost, or a driver call would break a capture. */
static int gpuarena__try_relax(gpuarena *arena, gpuarena__error *error)
{
    gpuarena__relax(arena);
    if (gpuarena__is_lost(arena, error)) return 0;
    if (arena->caller_mode >= 0 || !arena->driver.capture.exchange_mode || !arena->streams.captured) return 1;
    return gpuarena__set_error(error, GPUARENA_CAPTURE);
}

/* 1: the driver may be called, and the lock is unlocked for it. */
static int gpuarena__ask_begin(gpuarena *arena)
{
    gpuarena__relax(arena);
    if (arena->lost) return 0;
    gpuarena__call_begin(&arena->asking, arena, GPUARENA__FRAME_DRIVER);
    gpuarena__unlock(arena);
    return 1;
}

/* Locks again after a call, and evaluates its code as driver_done. */
static int gpuarena__ask_end(gpuarena *arena, int code, gpuarena__entry entry, gpuarena__error *error)
{
    if (gpuarena__is_lost(arena, error)) return 0;           /* the call was not made */
    gpuarena__lock(arena);
    gpuarena__call_end(&arena->asking);
    if (gpuarena__entries[entry].bits & GPUARENA__COUNTED) arena->stats.driver_call_count++;
    return gpuarena__driver_done(arena, code, entry, error);
}

/* Calls an entry of the driver's table with the lock unlocked. 1: success. 0: *error says what the driver
   answered. No call is made once the device is lost. */
#define GPUARENA__ASK(arena, error, group, entry, arguments) \
    GPUARENA__ASK_CALL(arena, error, group##_##entry, (arena)->driver.group.entry arguments)
#define GPUARENA__ASK_CALL(arena, error, name, call) \
    gpuarena__ask_end((arena), gpuarena__ask_begin(arena) ? (call) : 0, GPUARENA__OF_##name, (error))

static void gpuarena__event_destroy(gpuarena *arena, void *event)
{
    if (!arena->lost)
        (void)gpuarena__driver_done(arena, arena->driver.events.destroy(&arena->driver, event),
                                    GPUARENA__OF_events_destroy, NULL);
}

/* ---- questions to the driver: its free memory, and which streams are captured */

/* Asks for the free bytes of the device; its size is kept. */
static int gpuarena__driver_info(gpuarena *arena, uint64_t *free_bytes, gpuarena__error *error)
{
    uint64_t total_bytes = 0;
    *free_bytes = 0;
    if (!GPUARENA__ASK(arena, error, memory, info,
                       (&arena->driver, arena->memory, free_bytes, &total_bytes))) return 0;
    *free_bytes = gpuarena__min(*free_bytes, GPUARENA__MAX_TOTAL);
    arena->device_bytes = gpuarena__min(total_bytes, GPUARENA__MAX_TOTAL);
    arena->reachable_bytes = *free_bytes + arena->stats.reserved_bytes;
    return 1;
}

/* Asks whether a stream is captured. 1 and an error: it is (CAPTURE), or the driver could not tell. */
static int gpuarena__ask_captured(gpuarena *arena, gpuarena_stream stream, gpuarena__error *error)
{
    gpuarena__error said = gpuarena__no_error();
    int active = 0;
    if (!arena->driver.capture.active) return 0;
    if (GPUARENA__ASK(arena, &said, capture, active, (&arena->driver, stream, &active)) && !active) return 0;
    if (active) gpuarena__set_error(&said, GPUARENA_CAPTURE);
    if (error) *error = said;
    return 1;
}

/* Asks the driver about every stream that the arena knows. 1, and CAPTURE as the error: one is captured. Then
   the device must not be waited for, and releasing memory waits for it. */
static int gpuarena__ask_capturing(gpuarena *arena, gpuarena__error *error)
{
    gpuarena__error said = gpuarena__no_error();
    uint32_t at;
    if (arena->streams.captured) gpuarena__set_error(&said, GPUARENA_CAPTURE);
    else if (arena->streams.own_known) (void)gpuarena__ask_captured(arena, arena->driver.per_thread, &said);
    for (at = 0; at < arena->streams.known_room && said.result != GPUARENA_CAPTURE; at++) {
        gpuarena__known known = arena->streams.known[at];
        if (known.used && !known.key) (void)gpuarena__ask_captured(arena, known.handle, &said);
    }
    if (said.result != GPUARENA_CAPTURE) return 0;
    if (error) *error = said;
    return 1;
}

/* Creates the memory of pages, which is mapped nowhere. */
static int gpuarena__ask_create(gpuarena *arena, uint64_t bytes, uint64_t *id, gpuarena__error *error)
{
    uint32_t traits = arena->config.share == GPUARENA_SHARE_PAGES ? GPUARENA_PAGE_SHARED : 0;
    return GPUARENA__ASK(arena, error, vm, create, (&arena->driver, id, bytes, traits));
}

static int gpuarena__is_one_stream(gpuarena_stream stream)
{
    return stream != GPUARENA_ANY_STREAM && stream != GPUARENA_OWN_STREAM;
}

/* The stream that is passed to the driver: the default stream for ANY_STREAM and OWN_STREAM. */
static gpuarena_stream gpuarena__real_stream(gpuarena_stream stream)
{
    return gpuarena__is_one_stream(stream) ? stream : NULL;
}

/* >>limit ==============================================================================================
   How much may be reserved, by an arena and by each arena above it. Memory is charged in all of them or in
   none before the driver is called (charge), and uncharged if the driver refuses (uncharge). A grant makes
   reserved bytes of charged ones (account), so their sum stays. */

/* The arena, of this one and those above, whose limit leaves the least, or is exceeded by most. *room: the
   bytes that it leaves; 0 if it is exceeded. Under the registry's lock. */
static const gpuarena *gpuarena__limit_narrowest(const gpuarena *arena, uint64_t *room)
{
    const gpuarena *at, *narrow = arena;
    int64_t least = INT64_MAX;
    for (at = arena; at; at = at->config.parent) {
        int64_t left = (int64_t)gpuarena__min(at->limit, INT64_MAX)
            - (int64_t)(at->family.reserved + at->family.growing);
        if (left >= least) continue;
        least = left;
        narrow = at;
    }
    *room = least > 0 ? (uint64_t)least : 0;
    return narrow;
}

/* The bytes that may still be charged. *narrow, unless NULL: why no more, OVER_LIMIT or OVER_PARENT. */
static uint64_t gpuarena__room(const gpuarena *arena, gpuarena_reason *narrow)
{
    const gpuarena *least;
    uint64_t room;
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    least = gpuarena__limit_narrowest(arena, &room);
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    if (narrow) *narrow = least == arena ? GPUARENA_REASON_OVER_LIMIT : GPUARENA_REASON_OVER_PARENT;
    return room;
}

/* Adds to the figures of an arena and of those above, as account. changes 1: that may have made room;
   falls 1: and is no end of an attempt to grow. Under the registry's lock. */
static void gpuarena__limit_count(gpuarena *arena, uint64_t reserved, uint64_t growing, uint32_t changes,
                                  uint32_t falls)
{
    gpuarena *at;
    for (at = arena; at; at = at->config.parent) {
        at->family.reserved += reserved;
        at->family.growing += growing;
        at->family.changes += changes;
        at->family.falls += falls;
    }
    arena->family.own_changes += changes;
    arena->family.own_falls += falls;
}

/* Adds to the bytes that the arena has reserved, and to those charged for growth in progress. Negative
   changes are two's complements. */
static void gpuarena__account(gpuarena *arena, uint64_t reserved, uint64_t growing)
{
    uint32_t falls;
    arena->stats.reserved_bytes += reserved;
    arena->growing += growing;
    GPUARENA_ASSERT(arena->stats.reserved_bytes < GPUARENA__MAX_TOTAL && arena->growing < GPUARENA__MAX_TOTAL
                    && "no more is given up than was reserved or charged");
    gpuarena__update_fast_path(arena);
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    falls = arena->stats.reserved_bytes < arena->family.kept;
    if (falls) arena->family.kept = arena->stats.reserved_bytes;
    gpuarena__limit_count(arena, reserved, growing, reserved + growing > INT64_MAX, falls);
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
}

/* Charges bytes here and above, before the driver is called. The caller has found room for them, and has held
   the slow-path mutex since: so no other call of this arena has charged any, or changed the limit. 0 and an
   error: other arenas of the tree have taken some of the room meanwhile, and nothing is charged. */
static int gpuarena__charge(gpuarena *arena, uint64_t bytes, gpuarena__error *error)
{
    const gpuarena *narrow;
    uint64_t room;
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    narrow = gpuarena__limit_narrowest(arena, &room);
    if (room >= bytes) gpuarena__limit_count(arena, 0, bytes, 0, 0);
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    if (room < bytes)
        return gpuarena__set_reason(error, narrow == arena ? GPUARENA_REASON_OVER_LIMIT
                                                           : GPUARENA_REASON_OVER_PARENT);
    arena->growing += bytes;
    return 1;
}

/* Undoes a charge after the driver refused, or for the part that it did not give. */
static void gpuarena__uncharge(gpuarena *arena, uint64_t bytes)
{
    gpuarena__account(arena, 0, 0 - bytes);
}

/* Records the peak of reserved bytes, once they are certain to stay. */
static void gpuarena__reserved_peak_note(gpuarena *arena)
{
    gpuarena *at;
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    arena->family.kept = arena->stats.reserved_bytes;
    for (at = arena; at; at = at->config.parent)
        at->family.peak = gpuarena__max(at->family.peak, at->family.reserved);
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
}

/* Bytes reserved by sub-arenas. */
static uint64_t gpuarena__children(const gpuarena *arena)
{
    uint64_t bytes;
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    bytes = arena->family.reserved - arena->stats.reserved_bytes;
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    return bytes;
}

/* The figures of an arena and all below it, beside its limit. */
typedef struct gpuarena__figures {
    uint64_t held;                               /* reserved, and charged for growth in progress */
    uint64_t limit;
    uint64_t changes;                            /* that may have made room, by others than who asks */
    uint64_t falls;                              /* the same without attempts to grow that were undone */
} gpuarena__figures;

static gpuarena__figures gpuarena__family_figures(const gpuarena *arena, const gpuarena *top)
{
    gpuarena__figures figures;
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    figures.held = top->family.reserved + top->family.growing;
    figures.limit = top->limit;
    figures.changes = top->family.changes - arena->family.own_changes;
    figures.falls = top->family.falls - arena->family.own_falls;
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    return figures;
}

/* By how many bytes an arena or one above exceeds its limit, growth in progress included. */
static uint64_t gpuarena__family_excess(const gpuarena *arena)
{
    uint64_t excess = 0;
    const gpuarena *at;
    for (at = arena; at; at = at->config.parent) {
        gpuarena__figures now = gpuarena__family_figures(arena, at);
        excess = gpuarena__max(excess, gpuarena__above(now.held, now.limit));
    }
    return excess;
}

/* >>range ==============================================================================================
   Ranges: memory and addresses from the driver and back, and how the arena holds them. Host memory is
   reserved before the driver is called. */

/* With debug GUARD a segment is one handle at addresses of its own, and a page of addresses behind it stays
   unmapped. The addresses of a segment that was given back are retired: they stay reserved until so many
   younger ones are retired too. */
enum { GPUARENA__RETIRED = 256 };
static int gpuarena__is_guarded(const gpuarena *arena) { return arena->config.debug == GPUARENA_DEBUG_GUARD; }

/* Gives retired addresses back from the end of the table until `least` are left. 0: the driver refused some,
   and all others are tried before these next time. */
static int gpuarena__unretire(gpuarena *arena, uint32_t least, gpuarena__error *error)
{
    gpuarena__retired *list = arena->paged.retired, last;
    uint32_t *count = &arena->paged.retired_count;
    for (; *count > least; --*count) {
        last = list[*count - 1];
        if (GPUARENA__ASK(arena, error, vm, release,
                          (&arena->driver, gpuarena__pointer(last.address), last.bytes))) continue;
        list[*count - 1] = list[least];
        list[least] = last;
        return 0;
    }
    return 1;
}

/* Retires addresses, for which the table has room: each segment reserved a place there. */
static void gpuarena__retire(gpuarena *arena, uint64_t address, uint64_t bytes)
{
    gpuarena__retired *list = arena->paged.retired, *at = &list[arena->paged.retired_count++];
    if (arena->paged.retired_count > GPUARENA__RETIRED) {
        *at = list[arena->paged.retired_oldest];
        at = &list[arena->paged.retired_oldest++];
        arena->paged.retired_oldest %= GPUARENA__RETIRED;
    }
    at->address = address;
    at->bytes = bytes;
    arena->stats.driver_error_count += !gpuarena__unretire(arena, GPUARENA__RETIRED, NULL);
}

/* Obtains a guarded segment. 1 with range->guarded GUARDED: it is complete. 1 with another value, and an
   error: it has addresses and memory, but no access, and can only be given back. 0 and an error: there is
   none. */
static int gpuarena__guard_obtain(gpuarena *arena, void **memory, gpuarena__range *range,
                                  gpuarena__error *error)
{
    uint64_t page = arena->driver.page_bytes, bytes = range->bytes;
    if (!GPUARENA__RESERVE(arena, gpuarena__retired, arena->paged.retired, arena->paged.retired_count,
                           arena->paged.segment_count + 1, arena->paged.retired_room))
        return gpuarena__set_error(error, GPUARENA_HOST_MEMORY);
    if (!GPUARENA__ASK(arena, error, vm, reserve,
                       (&arena->driver, memory, bytes + page, gpuarena__max(page, arena->unit)))) return 0;
    if (!gpuarena__ask_create(arena, bytes, &range->handle, error)) {
        gpuarena__retire(arena, gpuarena__address(*memory), bytes + page);
        return 0;
    }
    range->guarded = GPUARENA__CREATED;
    if (!GPUARENA__ASK(arena, error, vm, map, (&arena->driver, *memory, bytes, range->handle))) return 1;
    range->guarded = GPUARENA__MAPPED;
    if (GPUARENA__ASK(arena, error, vm, access, (&arena->driver, *memory, bytes, 1)))
        range->guarded = GPUARENA__GUARDED;
    return 1;
}

/* Requests a segment from the driver, or the addresses of a paged range. The bytes that are granted of a
   segment stay charged until it is entered. */
static int gpuarena__driver_obtain(gpuarena *arena, gpuarena__range *range, gpuarena_stream stream,
                                   gpuarena__error *error)
{
    void *memory = NULL;
    uint64_t bytes = range->bytes;
    int done;
    if (arena->memory == GPUARENA_MEMORY_ASYNC) {
        stream = gpuarena__real_stream(stream);
        if (gpuarena__ask_captured(arena, stream, error)) return 0;
    }
    if (!gpuarena__try_relax(arena, error)
        || (!range->pages && !gpuarena__charge(arena, bytes, error))) return 0;
    if (range->pages)
        done = GPUARENA__ASK(arena, error, vm, reserve,
                             (&arena->driver, &memory, bytes, arena->paged.page_bytes));
    else if (gpuarena__is_guarded(arena)) done = gpuarena__guard_obtain(arena, &memory, range, error);
    else done = GPUARENA__ASK(arena, error, memory, obtain,
                              (&arena->driver, arena->memory, &memory, bytes, stream));
    range->address = gpuarena__address(memory);
    if (done) return 1;
    if (!range->pages) gpuarena__uncharge(arena, bytes);
    else if (error->result == GPUARENA_OUT_OF_MEMORY) error->reason = GPUARENA_REASON_ADDRESSES;
    return 0;
}

/* Waits for the work of this stream so far. Then the driver's pool keeps none of the bytes that were given
   back, so the limit holds for the pool, too. They stay charged until then. */
static void gpuarena__wait_returned(gpuarena *arena, uint64_t bytes, gpuarena_stream stream)
{
    void *event = NULL;
    int done = 0;
    if (!arena->streams.ordered) return;
    if (GPUARENA__ASK(arena, NULL, events, create, (&arena->driver, &event))) {
        done = GPUARENA__ASK(arena, NULL, events, record, (&arena->driver, event, stream))
            && GPUARENA__ASK(arena, NULL, events, host_wait, (&arena->driver, event));
        gpuarena__event_destroy(arena, event);
    }
    if (done) arena->stats.gpu_wait_count++;
    if (done || arena->lost) return;
    arena->stats.event_error_count++;
    arena->unreturned_bytes += bytes;
    gpuarena__account(arena, 0, bytes);
}

/* Tells whether a segment is idle: it has no live block and no memory of a capture set. quiet 1: nothing in
   it is pending either, so that releasing it waits for nothing. */
static int gpuarena__segment_idle(const gpuarena *arena, const gpuarena__range *range, int quiet)
{
    gpuarena__iterator at;
    if (range->pages) return 0;
    for (at = gpuarena__blocks_from(arena, range->first); at.index; gpuarena__next(arena, &at))
        if (gpuarena__node_live(at.node) || (quiet && at.node->record) || gpuarena__is_earmarked(at.node)
            || gpuarena__in_capture_set(arena, at.node)) return 0;
    return 1;
}

/* Gives a segment back to the driver, or the addresses of a paged range. A guarded segment goes in steps,
   after a wait for the device as by cudaFree; after a failure a later call goes on. */
static int gpuarena__driver_give_back(gpuarena *arena, gpuarena__range *range, gpuarena_stream stream,
                                      gpuarena__error *error)
{
    void *memory = gpuarena__pointer(range->address);
    uint64_t bytes = range->bytes;
    if (range->pages) return GPUARENA__ASK(arena, error, vm, release, (&arena->driver, memory, bytes));
    if (!gpuarena__is_guarded(arena)) {
        if (arena->memory == GPUARENA_MEMORY_ASYNC) {
            stream = gpuarena__real_stream(stream);
            if (gpuarena__ask_captured(arena, stream, error)) return 0;
        } else {                                 /* without events nobody knows that work is done */
            int is_done = arena->streams.ordered && gpuarena__segment_idle(arena, range, 1);
            stream = is_done ? GPUARENA_ANY_STREAM : NULL;
        }
        if (!GPUARENA__ASK(arena, error, memory, give_back,
                           (&arena->driver, arena->memory, memory, bytes, stream))) return 0;
        if (arena->memory == GPUARENA_MEMORY_ASYNC) gpuarena__wait_returned(arena, bytes, stream);
        return 1;
    }
    if (range->guarded == GPUARENA__GUARDED
        && !GPUARENA__ASK(arena, error, events, device_wait, (&arena->driver))) return 0;
    if (range->guarded != GPUARENA__CREATED
        && !GPUARENA__ASK(arena, error, vm, unmap, (&arena->driver, memory, bytes))) return 0;
    range->guarded = GPUARENA__CREATED;
    if (!GPUARENA__ASK(arena, error, vm, destroy, (&arena->driver, range->handle, bytes))) return 0;
    gpuarena__retire(arena, range->address, bytes + arena->driver.page_bytes);
    return 1;
}

/* The pages of addresses that a range may touch: each has an anchor and an owner. */
static size_t gpuarena__address_pages(uint64_t bytes)
{
    return (size_t)(bytes >> GPUARENA__PAGE_LOG2) + 2;       /* both ends may lie inside a page */
}

/* The host memory of a range: itself, its anchors and owners, and the handles of a paged one. */
static size_t gpuarena__range_bytes(const gpuarena *arena, uint64_t bytes, int is_paged)
{
    size_t count = is_paged ? (size_t)(bytes / arena->paged.page_bytes) : 0;
    return sizeof(gpuarena__range) + gpuarena__address_pages(bytes) * (sizeof(uint32_t) + sizeof(uint8_t))
        + count * (sizeof(uint64_t) + sizeof(uint32_t));
}

/* Finds the range behind which a new one belongs; NULL: none. 0: the new one overlaps a range that is held,
   or must not be used. */
static int gpuarena__range_neighbour(const gpuarena *arena, const gpuarena__range *range,
                                     gpuarena__range **before)
{
    uint64_t address = range->address, bytes = range->bytes;
    gpuarena__range *at = arena->ranges.root, *after;
    *before = NULL;
    if (!address || address & (arena->unit - 1) || address > UINT64_MAX - bytes) return 0;
    while (at) {
        if (at->address < address) *before = at;
        at = at->address < address ? at->high : at->low;
    }
    after = *before ? (*before)->after : arena->ranges.first;
    return !(*before && (*before)->address + (*before)->bytes > address)
        && !(after && address + bytes > after->address);
}

/* Links a new range behind another one, or in front of all (NULL). Under the registry's lock. */
static void gpuarena__range_link(gpuarena__ranges *ranges, gpuarena__range *before, gpuarena__range *range)
{
    gpuarena__range **link = &ranges->root, **low = &range->low, **high = &range->high, *at;
    range->height = gpuarena__tree_height(++ranges->made);
    range->before = before;
    range->after = before ? before->after : ranges->first;
    *(before ? &before->after : &ranges->first) = range;
    *(range->after ? &range->after->before : &ranges->last) = range;
    while (*link && (*link)->height > range->height)
        link = range->address < (*link)->address ? &(*link)->low : &(*link)->high;
    at = *link;
    *link = range;
    while (at)                                   /* the subtree that stood there is split below it */
        if (at->address < range->address) {
            *low = at;
            low = &at->high;
            at = at->high;
        } else {
            *high = at;
            high = &at->low;
            at = at->low;
        }
    *low = *high = NULL;
}

/* Removes a range from the list and the tree. */
static void gpuarena__range_unlink(gpuarena__ranges *ranges, const gpuarena__range *range)
{
    gpuarena__range **link = &ranges->root, *low = range->low, *high = range->high;
    *(range->before ? &range->before->after : &ranges->first) = range->after;
    *(range->after ? &range->after->before : &ranges->last) = range->before;
    while (*link != range) link = range->address < (*link)->address ? &(*link)->low : &(*link)->high;
    while (low && high)                          /* its subtrees are joined where it stood */
        if (low->height > high->height) {
            *link = low;
            link = &low->high;
            low = low->high;
        } else {
            *link = high;
            link = &high->low;
            high = high->low;
        }
    *link = low ? low : high;
}

/* Adds an open hole, which is whole pages, to the list. Its first page belongs to the arena again. */
static void gpuarena__hole_list(gpuarena *arena, uint32_t index)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    const gpuarena__range *range = gpuarena__range_of(arena, node->address);
    gpuarena__list_insert(arena, &arena->paged.holes, index, node);
    range->owners[gpuarena__page_of(range, node->address)] = 0;
    node->size |= GPUARENA__HOLE;
}

static void gpuarena__hole_unlist(gpuarena *arena, uint32_t index)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    gpuarena__list_remove(arena, &arena->paged.holes, node);
    node->size &= ~GPUARENA__HOLE;
}

/* The number of allocations and frees so far, by which memory ages. (live_count is their difference.) */
static uint64_t gpuarena__clock(const gpuarena *arena)
{
    return arena->stats.live_count + 2 * arena->stats.free_count;
}

/* Enters a range that the driver gave behind another one. Its nodes are reserved. Returns its node: free, or
   a hole if the range is paged. */
static uint32_t gpuarena__range_enter(gpuarena *arena, gpuarena__range *before, gpuarena__range *range)
{
    uint64_t bytes = range->bytes;
    uint32_t index = arena->nodes.unused.first;
    gpuarena__node *node = gpuarena__node_take(arena, &arena->nodes.unused);
    memset(range->anchors, 0, gpuarena__address_pages(bytes) * (sizeof(uint32_t) + sizeof(uint8_t)));
    range->first = range->anchors[0] = index;
    range->used = gpuarena__clock(arena);
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    gpuarena__range_link(&arena->ranges, before, range);
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    memset(node, 0, sizeof *node);
    node->address = range->address;
    node->size = bytes;
    if (range->pages) {
        gpuarena__hole_list(arena, index);
        return index;
    }
    arena->paged.segment_count++;
    gpuarena__free_insert(arena, index);
    gpuarena__account(arena, bytes, 0 - bytes);
    gpuarena__reserved_peak_note(arena);
    arena->stats.grow_count++;
    return index;
}

/* Host memory for one more range: the range with its tables, and five nodes, which are kept: one for the
   range, three for blocks that are split off, one for a use of a capture set's block. NULL: no host
   memory. */
enum { GPUARENA__RANGE_NODES = 5 };
static gpuarena__range *gpuarena__range_reserve(gpuarena *arena, uint64_t bytes, int is_paged)
{
    size_t count = is_paged ? (size_t)(bytes / arena->paged.page_bytes) : 0;
    gpuarena__range *range;
    uint64_t *pages;
    if (!gpuarena__nodes_keep(arena, GPUARENA__RANGE_NODES)) return NULL;
    range = (gpuarena__range *)gpuarena__host_alloc(arena, gpuarena__range_bytes(arena, bytes, is_paged));
    if (!range) {
        arena->nodes.kept_count -= GPUARENA__RANGE_NODES;
        return NULL;
    }
    memset(range, 0, sizeof *range);             /* the tables are set when the driver has granted it */
    range->bytes = bytes;
    pages = (uint64_t *)(void *)(range + 1);
    range->parts = (uint32_t *)(void *)(pages + count);
    range->anchors = range->parts + count;
    range->owners = (uint8_t *)(range->anchors + gpuarena__address_pages(bytes));
    if (is_paged) range->pages = pages;
    return range;
}

/* Removes a range without live blocks from the arena's data. */
static void gpuarena__range_forget(gpuarena *arena, gpuarena__range *range)
{
    uint64_t gone = 0;
    while (range->first) {
        uint32_t index = range->first;
        gpuarena__node *node = gpuarena__node_at(arena, index);
        GPUARENA_ASSERT(!gpuarena__node_live(node) && "a range that goes has no live block");
        range->first = node->next;
        if (node->size & GPUARENA__KEPT) arena->paged.unmap_failed_count--;
        else if (node->size & GPUARENA__HOLE) gpuarena__hole_unlist(arena, index);
        else {
            gone += gpuarena__node_bytes(node);
            if (node->record) arena->stats.pending_bytes -= gpuarena__node_bytes(node);
            if (!(node->size & GPUARENA__CLAIMED)) gpuarena__free_remove(arena, index);
            if (node->record == GPUARENA__MULTI_STREAM) gpuarena__uses_unlink(arena, node);
        }
        gpuarena__node_drop(&arena->nodes.unused, index, node);
    }
    gpuarena__account(arena, 0 - gone, 0);
    arena->paged.segment_count -= !range->pages;
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    gpuarena__range_unlink(&arena->ranges, range);
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    gpuarena__host_free(arena, range, gpuarena__range_bytes(arena, range->bytes, range->pages != NULL));
    if (!arena->stats.reserved_bytes) arena->step = arena->config.step_bytes;
}

static uint64_t gpuarena__idle_segments(const gpuarena *arena, int quiet)
{
    const gpuarena__range *range;
    uint64_t idle = 0;
    for (range = arena->ranges.first; range; range = range->after)
        if (gpuarena__segment_idle(arena, range, quiet)) idle += range->bytes;
    return idle;
}

/* Sorts the first `count` ranges of a list, the longest first; a stable sort. *rest: those that follow. */
static gpuarena__range *gpuarena__ranges_sort(gpuarena__range *first, uint32_t count, gpuarena__range **rest)
{
    gpuarena__range *left, *right = NULL, *sorted = NULL, **link = &sorted;
    if (count < 2) {
        *rest = first->next;
        first->next = NULL;
        return first;
    }
    left = gpuarena__ranges_sort(first, count / 2, &right);
    right = gpuarena__ranges_sort(right, count - count / 2, rest);
    while (left && right) {
        gpuarena__range **longer = right->bytes > left->bytes ? &right : &left;
        *link = *longer;
        link = &(*longer)->next;
        *longer = *link;
    }
    *link = left ? left : right;
    return sorted;
}

/* >>stream =============================================================================================
   Which stream a free block waits for, and when that wait is over: see STREAMS in the manual. With a single
   stream, or without events, all free blocks share one set of bins. */

/* ---- the streams that are known */

/* Searches from `at` on for the entry of a stream; returns it, or the empty entry where it belongs. Ends,
   since half of the entries are empty. */
GPUARENA__NOINLINE gpuarena__known *gpuarena__known_beyond(const gpuarena__streams *streams, uint64_t at,
                                                           gpuarena_stream handle, uint64_t key)
{
    gpuarena__known *entry = &streams->known[at];
    while ((entry->handle != handle || entry->key != key) && entry->used)
        entry = &streams->known[++at & (streams->known_room - 1)];
    return entry;
}

/* The entry of a stream, or the empty one where it belongs. `key` tells apart streams that share a handle:
   the default streams of threads, by the thread's number. */
GPUARENA__INLINE gpuarena__known *gpuarena__known_at(const gpuarena__streams *streams, gpuarena_stream handle,
                                                     uint64_t key)
{
    uint64_t at = ((uint64_t)(uintptr_t)handle + key) * 0x9E3779B97F4A7C15u >> streams->known_shift;
    gpuarena__known *entry = &streams->known[at];
    return GPUARENA__LIKELY(entry->handle == handle && entry->key == key)
        ? entry : gpuarena__known_beyond(streams, at, handle, key);
}

/* Makes room for one more known stream. 0: no host memory, or no more numbers for entries. */
static int gpuarena__known_reserve(gpuarena *arena)
{
    gpuarena__streams *streams = &arena->streams;
    gpuarena__known *old = streams->known, *larger;
    uint32_t at, old_room = streams->known_room, room = old_room ? old_room * 2 : (uint32_t)GPUARENA__KNOWN;
    if (streams->known_count < old_room / 2) return 1;
    if (old_room > UINT32_MAX / 2) return 0;
    larger = (gpuarena__known *)gpuarena__host_alloc(arena, room * sizeof *old);
    if (!larger) return 0;
    memset(larger, 0, room * sizeof *old);
    streams->known = larger;
    streams->known_room = room;
    streams->known_shift = 64 - gpuarena__highest_bit(room);
    for (at = 0; at < old_room; at++)
        if (old[at].used) *gpuarena__known_at(streams, old[at].handle, old[at].key) = old[at];
    gpuarena__host_free(arena, old, old_room * sizeof *old);
    return 1;
}

/* Makes this record the stream's. If the stream was not known, room must have been reserved. */
static void gpuarena__known_set(gpuarena *arena, uint32_t record)
{
    const gpuarena__stream *stream = &arena->streams.list[record];
    gpuarena__known *entry = gpuarena__known_at(&arena->streams, stream->handle, stream->key);
    arena->streams.known_count += !entry->used;
    entry->handle = stream->handle;
    entry->key = stream->key;
    entry->record = record;
    entry->used = 1;
}

/* Removes a stream's entry. Entries behind it, up to the next empty one, move closer to their home slots. */
static void gpuarena__known_drop(gpuarena__streams *streams, gpuarena__known *entry)
{
    uint32_t at = (uint32_t)(entry - streams->known), mask = streams->known_room - 1;
    gpuarena__known moved;
    streams->known_count -= entry->used;
    memset(entry, 0, sizeof *entry);
    while (streams->known[at = (at + 1) & mask].used) {
        moved = streams->known[at];
        memset(&streams->known[at], 0, sizeof moved);
        *gpuarena__known_at(streams, moved.handle, moved.key) = moved;
    }
}

/* A handle that no stream has. */
static gpuarena_stream gpuarena__nobody(void)
{
    static char nobody;
    return (gpuarena_stream)(void *)&nobody;
}

/* Call this after a record was opened, closed or covered: remembered records of handles are stale then. */
static void gpuarena__streams_changed(gpuarena *arena)
{
    uint32_t at;
    arena->streams.recent.stream = gpuarena__nobody();
    arena->streams.recent.record = 0;
    for (at = 1; at <= arena->heaps.count; at++) arena->heaps.list[at]->recent.stream = gpuarena__nobody();
}

GPUARENA__INLINE gpuarena__known *gpuarena__known_of(const gpuarena *arena, gpuarena_stream stream)
{
    const gpuarena__streams *streams = &arena->streams;
    uint64_t key = 0;
    if (GPUARENA__UNLIKELY(stream == streams->own || stream == streams->own_too)) {
        stream = arena->driver.per_thread;
        key = gpuarena__thread_number();
    }
    return gpuarena__known_at(streams, stream, key);
}

/* The open record of a stream; 0: none. */
GPUARENA__INLINE uint32_t gpuarena__stream_find(const gpuarena *arena, gpuarena_stream stream)
{
    return gpuarena__known_of(arena, stream)->record;
}

static int gpuarena__stream_plain_find(gpuarena *arena, gpuarena__heap *heap, gpuarena_stream stream)
{
    gpuarena__recent *recent = heap ? &heap->recent : &arena->streams.recent;
    uint32_t at = gpuarena__known_at(&arena->streams, stream, 0)->record;    /* the default stream of a thread
                                                                                has a key */
    if (!at || arena->streams.list[at].home) return 0;
    if (heap && arena->streams.list[at].heap != heap->number) return 0;
    recent->stream = stream;
    recent->record = at;
    return 1;
}

/* Makes a stream the recent one, of a heap or (NULL) of the arena, if it is plain: it has a record, is not a
   thread's own and is not captured; and, for a heap, is one of its streams. 1: it is. */
GPUARENA__INLINE int gpuarena__find_plain(gpuarena *arena, gpuarena__heap *heap, gpuarena_stream stream)
{
    return GPUARENA__LIKELY((heap ? heap->recent.stream : arena->streams.recent.stream) == stream)
        || gpuarena__stream_plain_find(arena, heap, stream);
}

/* Makes bins unless there are some. 0: no host memory. */
static int gpuarena__bins_make(gpuarena *arena, gpuarena__bins **bins)
{
    if (*bins) return 1;
    *bins = (gpuarena__bins *)gpuarena__host_alloc(arena, sizeof **bins);
    if (*bins) memset(*bins, 0, sizeof **bins);
    return *bins != NULL;
}

/* ---- heaps */

/* Makes a heap for the streams of a thread, with its lock locked, if there may be more and there is host
   memory. Returns its number; 0: it was not made. */
static uint32_t gpuarena__heap_make(gpuarena *arena, uint64_t thread)
{
    gpuarena__heaps *heaps = &arena->heaps;
    gpuarena__heap *heap;
    void *memory = NULL;
    if (heaps->count + 1 <= GPUARENA__HEAPS)
        memory = gpuarena__host_alloc(arena, sizeof *heap + GPUARENA__LINE);
    if (!memory) return 0;
    heap = (gpuarena__heap *)(void *)((char *)memory + (0 - gpuarena__address(memory)) % GPUARENA__LINE);
    memset(heap, 0, sizeof *heap);
    heap->memory = memory;
    heap->number = heaps->count + 1;
    heap->thread = thread;
    heap->recent.stream = gpuarena__nobody();
    heap->stats.live_bytes = heap->stats.requested_bytes = GPUARENA__HEAP_BASE;
    heap->stats.live_peak_bytes = heap->stats.requested_peak_bytes = GPUARENA__HEAP_BASE;
    if (!gpuarena__lookup_grow(arena, &heap->lookup) || !gpuarena__spin_make(&heap->lock)) {
        gpuarena__host_free(arena, heap->lookup.table, gpuarena__lookup_bytes(&heap->lookup));
        gpuarena__host_free(arena, memory, sizeof *heap + GPUARENA__LINE);
        return 0;
    }
    gpuarena__spin_lock(&heap->lock);
    GPUARENA__STORE(&heaps->list[heap->number], heap, RELAXED);
    GPUARENA__STORE(&heaps->count, heap->number, RELEASE);   /* last: a child may be forked at any moment */
    gpuarena__set_magic(arena, arena->magic);
    return heap->number;
}

/* Gives a record that has no blocks yet the heap of this thread: the one it has, one whose streams are all
   forgotten, a new one, or, when there can be no more, another thread's. */
static void gpuarena__heap_give(gpuarena *arena, uint32_t record)
{
    uint64_t thread = gpuarena__thread_number();
    uint32_t number = arena->heaps.count, at, needed = 0;    /* a bit for each heap with streams */
    arena->streams.list[record].heap = 0;
    while (number && arena->heaps.list[number]->thread != thread) number--;
    if (!number) {
        for (at = 1; at < arena->streams.count; at++)
            if (arena->streams.list[at].state != GPUARENA__CLOSED)
                needed |= 1u << arena->streams.list[at].heap;
        number = arena->heaps.count;
        while (number && needed >> number & 1) number--;
        if (number) arena->heaps.list[number]->thread = thread;
        else number = gpuarena__heap_make(arena, thread);
    }
    arena->streams.list[record].heap = number ? number : 1 + (uint32_t)(thread % arena->heaps.count);
}

/* Makes the first heap. It owns all that there is, and all streams have it. If there is no host memory, the
   next stream tries again. */
static void gpuarena__heaps_begin(gpuarena *arena)
{
    const gpuarena__range *range;
    gpuarena__heap *first;
    gpuarena__lookup lookup = arena->lookup;
    uint32_t at, number;
    for (at = 1; at < arena->streams.count; at++)
        if (!gpuarena__bins_make(arena, &arena->streams.list[at].bins->foreign)) return;
    number = gpuarena__heap_make(arena, arena->heaps.thread);
    if (!number) return;
    first = arena->heaps.list[number];
    arena->lookup = first->lookup;
    first->lookup = lookup;
    first->bins = arena->bins;
    memset(&arena->bins, 0, sizeof arena->bins);
    first->live_seen = first->stats.live_count = arena->stats.live_count;
    for (range = arena->ranges.first; range; range = range->after)
        memset(range->owners, (int)number, gpuarena__address_pages(range->bytes));
    for (at = 1; at < arena->streams.count; at++) arena->streams.list[at].heap = number;
}

/* Gives a heap nodes for its hits, if it lacks them and there is host memory. */
static void gpuarena__heap_refill(gpuarena *arena, gpuarena__heap *heap)
{
    if (heap->unused.count >= GPUARENA__HIT_NODES
        || !gpuarena__nodes_reserve(arena, GPUARENA__REFILL + GPUARENA__HIT_NODES)) return;
    while (heap->unused.count < GPUARENA__REFILL) {
        uint32_t index = arena->nodes.unused.first;
        gpuarena__node *node = gpuarena__node_take(arena, &arena->nodes.unused);
        node->record = 0;                        /* see heap_may_join */
        gpuarena__node_drop(&heap->unused, index, node);
    }
}

/* The hint where a stream's heap may stand. */
GPUARENA__INLINE uint32_t gpuarena__hint_of(gpuarena_stream stream)
{
    return (uint32_t)((uint64_t)(uintptr_t)stream * 0x9E3779B97F4A7C15u >> 58);
}

/* Remembers the heap of a plain stream, in the first of four entries that is its own or empty, or in the
   fourth. */
static void gpuarena__hint_put(gpuarena *arena, gpuarena_stream stream, uint32_t heap)
{
    uint32_t home = gpuarena__hint_of(stream), at = home, tried = 0;
    while (arena->heaps.hints[at].heap && arena->heaps.hints[at].stream != stream && ++tried < 4)
        at = (home + tried) % GPUARENA__HINTS;
    GPUARENA__STORE(&arena->heaps.hints[at].stream, stream, RELAXED);
    GPUARENA__STORE(&arena->heaps.hints[at].heap, heap, RELEASE);
}

/* Empties the entries of a stream that is forgotten: otherwise streams that are gone would fill the table,
   and those in use would take each other's entries. A stream behind an empty entry is entered again at the
   next miss. */
static void gpuarena__hint_drop(gpuarena *arena, gpuarena_stream stream)
{
    uint32_t home = gpuarena__hint_of(stream), tried, at;
    for (tried = 0; tried < 4; tried++) {
        at = (home + tried) % GPUARENA__HINTS;
        if (arena->heaps.hints[at].stream == stream)
            GPUARENA__STORE(&arena->heaps.hints[at].heap, 0, RELEASE);
    }
}

/* The heap that a stream may have; NULL: none is known. Without a lock: find_plain tells if it is. */
GPUARENA__INLINE gpuarena__heap *gpuarena__hint(const gpuarena *arena, gpuarena_stream stream)
{
    uint32_t at = gpuarena__hint_of(stream), tried = 0, heap;
    for (; tried < 4; tried++, at = (at + 1) % GPUARENA__HINTS) {
        heap = GPUARENA__LOAD(&arena->heaps.hints[at].heap, ACQUIRE);
        if (!heap) return NULL;
        if (GPUARENA__LOAD(&arena->heaps.hints[at].stream, RELAXED) == stream)
            return GPUARENA__LOAD(&arena->heaps.list[heap], RELAXED);
    }
    return NULL;
}

/* Prepares for a second record: the first one gets bins of its own, and the blocks that wait for it move
   there. 0: no host memory. */
static int gpuarena__streams_part(gpuarena *arena)
{
    gpuarena__iterator at;
    gpuarena__bins *bins = NULL;
    if (arena->streams.many || arena->streams.count < 2 || !arena->streams.ordered) return 1;
    if (!gpuarena__bins_make(arena, &bins)) return 0;
    for (at = gpuarena__blocks(arena); at.index; gpuarena__next(arena, &at)) {
        if (!gpuarena__is_free(at.node) || at.node->record != 1) continue;
        gpuarena__bins_remove(arena, &arena->bins, at.index);
        gpuarena__bins_insert(arena, bins, at.index);
    }
    arena->streams.list[1].bins = bins;
    arena->streams.many = 1;
    return 1;
}

/* ---- events: from a pool, never destroyed before the arena */

/* An unused event; 0: none can be made now. */
static uint32_t gpuarena__event_take(gpuarena *arena, gpuarena__error *error)
{
    gpuarena__events *events = &arena->events;
    uint32_t at = events->unused;
    void *handle = NULL;
    if (at) {
        events->unused = events->list[at].next;
        return at;
    }
    if (!GPUARENA__RESERVE(arena, gpuarena__event, events->list, events->count, 1, events->room))
        return gpuarena__set_error(error, GPUARENA_HOST_MEMORY);
    if (!events->count) events->count = 1;       /* entry 0 is none */
    if (!GPUARENA__ASK(arena, error, events, create, (&arena->driver, &handle))) return 0;
    events->list[events->count].handle = handle;
    return events->count++;
}

static void gpuarena__event_drop(gpuarena *arena, uint32_t at)
{
    arena->events.list[at].next = arena->events.unused;
    arena->events.unused = at;
}

/* Returns the oldest event of a stream to the unused ones. */
static void gpuarena__event_pop(gpuarena *arena, gpuarena__stream *stream)
{
    uint32_t at = stream->first_event;
    stream->first_event = arena->events.list[at].next;
    if (!stream->first_event) stream->last_event = 0;
    stream->event_count--;
    gpuarena__event_drop(arena, at);
}

/* Records an event behind all frees of a stream so far, unless one is recorded. 0: that is not possible.
   error NULL, or the driver's answer, if it was called. */
static int gpuarena__stream_record(gpuarena *arena, uint32_t record, gpuarena__error *error)
{
    gpuarena__stream *stream = &arena->streams.list[record];
    uint32_t at = 0, again = stream->key && stream->event_count >= 4 ? stream->last_event : 0;
    uint64_t ticket = stream->ticket;            /* later frees may come after the event */
    void *event = NULL;
    if (stream->recorded == ticket) return 1;
    if (stream->state != GPUARENA__OPEN || stream->home || arena->lost) return 0;
    if (stream->key && stream->key != gpuarena__thread_number()) return 0;
    if (gpuarena__ask_captured(arena, stream->handle, error)) return 0;
    at = again ? again : gpuarena__event_take(arena, error);         /* frees ask for events: at most four */
    if (at) event = arena->events.list[at].handle;
    if (!at || !GPUARENA__ASK(arena, error, events, record, (&arena->driver, event, stream->handle))) {
        arena->stats.event_error_count++;
        if (at && !again) gpuarena__event_drop(arena, at);
        return 0;
    }
    arena->events.list[at].ticket = stream->recorded = ticket;
    if (again) return 1;
    arena->events.list[at].next = 0;
    if (stream->last_event) arena->events.list[stream->last_event].next = at;
    else stream->first_event = at;
    stream->last_event = at;
    stream->event_count++;
    return 1;
}

/* Tells whether free blocks wait for a record. With a single stream its bins have the quiet blocks, too, so
   that pending bytes tell. */
static int gpuarena__has_blocks(const gpuarena *arena, uint32_t record)
{
    const gpuarena__bins *bins;
    uint32_t n;
    if (!arena->streams.many) return arena->stats.pending_bytes != 0;
    for (n = 0; (bins = gpuarena__bins_nth(arena, record, n)) != NULL; n++)
        if (bins->root[0] || bins->root[1] || gpuarena__class_next(bins, 0) < GPUARENA__CLASSES) return 1;
    return 0;
}

/* A function that is called for each free block, in trees from the last one on; parts of a tree without a
   block of `least` bytes, which is not 0, are left out. */
typedef void gpuarena__show(const gpuarena *arena, uint32_t index, void *user);
static void gpuarena__tree_each(const gpuarena *arena, uint32_t at, uint64_t least, gpuarena__show *show,
                                void *user)
{
    const gpuarena__node *node = gpuarena__node_at(arena, at);
    for (; node->as.tree.longest >= least; node = gpuarena__node_at(arena, at)) {
        gpuarena__tree_each(arena, node->as.tree.high, least, show, user);
        show(arena, at, user);
        at = node->as.tree.low;
    }
}

/* Calls `show` for the free blocks of a record, leaving out most of those below `least` bytes. */
GPUARENA__INLINE void gpuarena__blocks_each(const gpuarena *arena, uint32_t record, uint64_t least,
                                            gpuarena__show *show, void *user)
{
    const gpuarena__bins *bins;
    uint32_t n, number, slot, index;
    for (n = 0; (bins = gpuarena__bins_nth(arena, record, n)) != NULL; n++) {
        gpuarena__tree_each(arena, bins->root[1], least, show, user);
        gpuarena__tree_each(arena, bins->root[0], least, show, user);
        number = gpuarena__bin_of(least).number;
        for (; (number = gpuarena__class_next(bins, number)) < GPUARENA__CLASSES; number++) {
            uint64_t taken = bins->digests[number];
            for (; taken; taken &= ~((uint64_t)255 << 8 * slot)) {
                slot = gpuarena__lowest_bit(taken) / 8;
                show(arena, bins->nodes[number * 8 + slot], user);
            }
            index = bins->overflow[number];
            for (; index; index = gpuarena__node_at(arena, index)->as.list.after) show(arena, index, user);
        }
    }
}

/* Puts a free block at the front of a chain if it meets the chain's conditions. */
typedef struct gpuarena__links { uint64_t least, ticket; uint32_t record, head; } gpuarena__links;
GPUARENA__INLINE void gpuarena__chain_block(const gpuarena *arena, uint32_t index, void *user)
{
    gpuarena__links *links = (gpuarena__links *)user;
    gpuarena__node *node = gpuarena__node_at(arena, index);
    if (node->record != links->record || node->ticket > links->ticket
        || gpuarena__node_bytes(node) < links->least)
        return;
    node->as.chain.link = links->head;
    links->head = index;
}

/* Collects the free blocks of a record, of at least `least` bytes and up to a ticket, by as.chain.link;
   the first, or 0. */
static uint32_t gpuarena__chain(const gpuarena *arena, uint32_t record, uint64_t least, uint64_t ticket)
{
    gpuarena__links links = { least, ticket, record, 0 };
    gpuarena__blocks_each(arena, record, least, gpuarena__chain_block, &links);
    return links.head;
}

/* Gives a free block another record and ticket, and joins it with neighbours. Tells the observer if its wait
   is over. Returns the joined block. */
static uint32_t gpuarena__block_move(gpuarena *arena, uint32_t index, uint32_t to, uint64_t ticket)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    gpuarena_block block = GPUARENA_INIT;
    int told = !to && arena->config.observe;
    if (told) block = gpuarena__block_describe(arena, index);
    gpuarena__free_remove(arena, index);
    if (node->record && !to) arena->stats.pending_bytes -= node->size;
    if (!node->record && to) arena->stats.pending_bytes += node->size;
    if (node->record == GPUARENA__MULTI_STREAM) gpuarena__uses_unlink(arena, node);
    node->record = to;
    node->ticket = ticket;
    index = gpuarena__block_join(arena, index);
    block.state = GPUARENA_STATE_FREE;
    if (told) gpuarena__tell(arena, GPUARENA_ACTION_FREE_DONE, &block, block.stream, NULL);
    return index;
}

/* Moves the free blocks of a record, up to a ticket, to another record, and joins them with neighbours there.
   1: at least one moved. */
static int gpuarena__record_move(gpuarena *arena, uint32_t record, uint64_t up_to, uint32_t to,
                                 uint64_t ticket)
{
    uint32_t head = gpuarena__chain(arena, record, GPUARENA__UNIT, up_to), index, next;
    for (index = head; index; index = next) {    /* a block that was joined meanwhile has moved already */
        next = gpuarena__node_at(arena, index)->as.chain.link;
        (void)gpuarena__block_move(arena, index, to, ticket);
    }
    return head != 0;
}

/* Polls the events of a stream. Blocks that completed ones cover become quiet. 1: some did. */
static int gpuarena__stream_poll(gpuarena *arena, uint32_t record)
{
    gpuarena__stream *stream = &arena->streams.list[record];
    uint64_t before = stream->quiet;
    while (stream->first_event && !arena->lost) {
        const gpuarena__event *event = &arena->events.list[stream->first_event];
        gpuarena__error said = gpuarena__no_error();
        if (GPUARENA__ASK(arena, &said, events, query, (&arena->driver, event->handle)))
            stream->quiet = event->ticket;
        else {                                   /* an error is no completion: another event must tell */
            if (said.status == GPUARENA_STATUS_NOT_READY || said.status == GPUARENA_STATUS_CAPTURING) break;
            arena->stats.event_error_count++;
            if (stream->first_event == stream->last_event && stream->state != GPUARENA__CLOSED)
                stream->recorded = stream->quiet;
        }
        gpuarena__event_pop(arena, stream);
    }
    return stream->quiet != before
        && (gpuarena__record_move(arena, record, stream->quiet, 0, 0) || stream->use_count);
}

/* Drops the uses of freed blocks whose streams are done. A block without uses moves to the record
   it was freed to. 1: at least one moved. */
static int gpuarena__uses_resolve(gpuarena *arena)
{
    uint32_t index, next, some = 0;
    for (index = arena->multi_stream; index; index = next) {
        gpuarena__node *node = gpuarena__node_at(arena, index);
        const gpuarena__stream *to = &arena->streams.list[node->as.held.home];
        uint64_t ticket = node->ticket > to->quiet ? node->ticket : 0;
        uint32_t record = ticket ? node->as.held.home : to->home;
        next = node->as.list.after;
        gpuarena__uses_prune(arena, node);
        if (node->use_at || (ticket && record == to->home)) continue;        /* or it waits for the device */
        (void)gpuarena__block_move(arena, index, record, ticket);
        some = 1;
    }
    return (int)some;
}

/* Makes blocks quiet that completed events cover, on all streams except `but`; records events for frees that
   no event covers yet. 1: some became quiet. */
static int gpuarena__resolve_events(gpuarena *arena, uint32_t but)
{
    int some = 0, again;
    uint32_t record;
    do {
        for (record = 1; record < arena->streams.count; record++) {
            const gpuarena__stream *stream = &arena->streams.list[record];
            if (!stream->use_count && (record == but || !gpuarena__has_blocks(arena, record))) continue;
            (void)gpuarena__stream_record(arena, record, NULL);
            some |= gpuarena__stream_poll(arena, record);
        }
        again = gpuarena__uses_resolve(arena);   /* may give blocks to a stream that had none */
        some |= again;
    } while (again);                             /* ends: each round drops uses */
    return some;
}

/* ---- records */

/* A record that nothing refers to; 0: there is none. The events of forgotten streams are queried; own 1: and
   those of threads' own streams, since a thread may have ended. */
static uint32_t gpuarena__stream_unused(gpuarena *arena, int own)
{
    gpuarena__streams *streams = &arena->streams;
    uint32_t at;
    for (at = 1; at < streams->count; at++) {
        gpuarena__stream *stream = &streams->list[at];
        if ((stream->state == GPUARENA__CLOSED || (own && stream->key)) && !stream->home
            && stream->first_event && !streams->captured) (void)gpuarena__stream_poll(arena, at);
        if (stream->use_count || stream->ref_count || stream->guest_count || gpuarena__has_blocks(arena, at))
            continue;
        if (stream->home && (stream->home == at || stream->state == GPUARENA__OPEN)) continue;
        while (stream->first_event) gpuarena__event_pop(arena, stream);
        if (stream->under) streams->list[stream->under].ref_count--;
        if (stream->home) streams->list[stream->home].ref_count--;
        stream->under = stream->home = 0;
        return at;
    }
    return 0;
}

/* A record for a new stream: one that nothing refers to, or a new one at the end of the list. 0: no host
   memory. */
static uint32_t gpuarena__stream_vacant(gpuarena *arena)
{
    gpuarena__streams *streams = &arena->streams;
    uint32_t at = gpuarena__stream_unused(arena, 0);
    if (!at && streams->own_known && streams->count == streams->room) at = gpuarena__stream_unused(arena, 1);
    if (at) return at;
    if (!GPUARENA__RESERVE(arena, gpuarena__stream, streams->list, streams->count, 1, streams->room))
        return 0;
    memset(&streams->list[streams->count], 0, sizeof *streams->list);
    streams->list[streams->count].state = GPUARENA__CLOSED;
    return streams->count;
}

/* Makes a record for a stream. 0: no host memory. */
static uint32_t gpuarena__stream_add(gpuarena *arena, gpuarena_stream handle, uint64_t key)
{
    gpuarena__streams *streams = &arena->streams;
    uint32_t at = gpuarena__stream_vacant(arena);
    gpuarena__stream *stream;
    gpuarena__bins *bins;
    if (!at || (at == streams->count && !gpuarena__streams_part(arena))) return 0;
    stream = &streams->list[at];
    bins = streams->many ? stream->bins : &arena->bins;
    if (!gpuarena__bins_make(arena, &bins)) return 0;
    if (arena->heaps.count && !gpuarena__bins_make(arena, &bins->foreign)) {
        gpuarena__host_free(arena, bins, sizeof *bins);      /* new: all older ones have foreign ones */
        return 0;
    }
    if (stream->state == GPUARENA__OPEN) {       /* its capture state is queried until it is forgotten */
        gpuarena__known *entry = gpuarena__known_at(streams, stream->handle, stream->key);
        entry->record = 0;
        if (stream->key) gpuarena__known_drop(streams, entry);
    }
    memset(stream, 0, sizeof *stream);
    gpuarena__streams_changed(arena);
    stream->bins = bins;
    stream->handle = handle;
    stream->key = key;
    if (at == streams->count) streams->count++;
    return at;
}

/* The record of a stream, which is made if there is none. 0: no host memory. */
static uint32_t gpuarena__stream_enter(gpuarena *arena, gpuarena_stream stream)
{
    int own = stream == arena->streams.own || stream == arena->streams.own_too;
    gpuarena__heaps *heaps = &arena->heaps;
    uint32_t at = gpuarena__stream_find(arena, stream);
    if (at) return at;
    if (!gpuarena__known_reserve(arena)) return 0;
    if (!heaps->thread) heaps->thread = gpuarena__thread_number();
    if (heaps->thread != gpuarena__thread_number()) heaps->wanted = 1;
    at = gpuarena__stream_add(arena, own ? arena->driver.per_thread : stream,
                              own ? gpuarena__thread_number() : 0);
    if (!at) return 0;
    gpuarena__known_set(arena, at);
    if (own) arena->streams.own_known = 1;
    if (heaps->wanted && !heaps->count && arena->streams.many) gpuarena__heaps_begin(arena);
    if (!own && heaps->count) gpuarena__heap_give(arena, at);
    return at;
}

/* ---- waits of the host */

/* Nobody else can record an event on a thread's own stream. */
static void gpuarena__record_own(gpuarena *arena, uint32_t record)
{
    if (arena->streams.list[record].key) (void)gpuarena__stream_record(arena, record, NULL);
}

/* Makes blocks quiet that completed events cover. Called before a gap or pages are chosen. */
static int gpuarena__resolve_all(gpuarena *arena)
{
    return !arena->streams.captured && arena->config.streams != GPUARENA_STREAMS_SAME
        && gpuarena__resolve_events(arena, 0);
}

/* The host waits for the oldest event of a stream that tells of free blocks. 1: more of them are quiet. */
static int gpuarena__host_wait_for(gpuarena *arena, uint32_t record)
{
    const gpuarena__stream *stream = &arena->streams.list[record];
    uint64_t before = stream->quiet;
    void *event;
    if (stream->home || stream->quiet == stream->ticket
        || (!stream->use_count && !gpuarena__has_blocks(arena, record))
        || gpuarena__ask_capturing(arena, NULL)) return 0;
    (void)gpuarena__stream_record(arena, record, NULL);
    if (!stream->first_event || arena->lost) return 0;
    event = arena->events.list[stream->first_event].handle;
    if (!GPUARENA__ASK(arena, NULL, events, host_wait, (&arena->driver, event))) {
        arena->stats.event_error_count++;
        return 0;
    }
    arena->stats.gpu_wait_count++;
    (void)gpuarena__stream_poll(arena, record);
    (void)gpuarena__uses_resolve(arena);
    return stream->quiet != before;
}

/* The host waits for all work of the device. Then everything is quiet that was freed before the wait, except
   the memory of capture sets. 0 and, if it was tried, an error: the host has not waited. */
static int gpuarena__wait_device(gpuarena *arena, gpuarena__error *error)
{
    uint32_t record;
    if (!arena->streams.ordered || gpuarena__ask_capturing(arena, error)) return 0;
    if (gpuarena__is_lost(arena, error)) return 0;           /* found so just now */
    for (record = 0; record < arena->streams.count; record++)
        arena->streams.list[record].asked = arena->streams.list[record].ticket;
    if (!GPUARENA__ASK(arena, error, events, device_wait, (&arena->driver))) {
        arena->stats.event_error_count++;
        return 0;
    }
    arena->stats.gpu_wait_count++;
    for (record = 0; record < arena->streams.count; record++) {
        gpuarena__stream *stream = &arena->streams.list[record];
        if (stream->home && stream->home != record) continue;
        while (stream->first_event) gpuarena__event_pop(arena, stream);
        stream->quiet = stream->recorded = stream->asked;
        if (stream->home != record) (void)gpuarena__record_move(arena, record, stream->quiet, 0, 0);
    }
    (void)gpuarena__uses_resolve(arena);
    return 1;
}

/* ---- capture sets */

/* The home record of the capture set with this number; 0: none, as for number 0. */
static uint32_t gpuarena__set_find(const gpuarena *arena, uint64_t number)
{
    uint32_t at = arena->streams.count - 1;
    while (at && (arena->streams.list[at].home != at || arena->streams.list[at].key != number)) at--;
    return at;
}

/* Tells whether a stream is captured into a set now. */
static int gpuarena__set_is_open(const gpuarena *arena, uint32_t home)
{
    uint32_t at = arena->streams.count - 1;
    while (at && (arena->streams.list[at].home != home || at == home
                  || arena->streams.list[at].state != GPUARENA__OPEN)) at--;
    return at != 0;
}

/* Makes allocations on a stream part of a capture. 0: no host memory; nothing has changed. */
static int gpuarena__capture_open(gpuarena *arena, gpuarena_stream stream, uint64_t *set)
{
    gpuarena__streams *streams = &arena->streams;
    uint32_t home = gpuarena__set_find(arena, *set), at;
    uint32_t under = gpuarena__stream_enter(arena, stream);
    int is_new = !home;
    if (!under) return 0;
    streams->list[under].ref_count++;            /* keeps the record from being reused meanwhile */
    if (is_new) {
        home = gpuarena__stream_add(arena, GPUARENA_ANY_STREAM, streams->set_serial + 1);
        if (home) streams->list[home].home = home;
        if (home) streams->list[home].state = GPUARENA__CLOSED;
    }
    at = home ? gpuarena__stream_add(arena, streams->list[under].handle, streams->list[under].key) : 0;
    if (!at) {
        streams->list[under].ref_count--;
        if (is_new && home) streams->list[home].home = 0;    /* vacant */
        return 0;
    }
    streams->list[at].home = home;
    streams->list[at].under = under;
    streams->list[home].ref_count++;
    streams->list[under].state = GPUARENA__COVERED;
    gpuarena__known_set(arena, at);
    streams->captured++;
    if (is_new) *set = ++streams->set_serial;
    return 1;
}

/* Ends the capture on this record's stream. After the last capture into its set, the set's free blocks wait
   for no captured stream any more. */
static void gpuarena__capture_close(gpuarena *arena, uint32_t at)
{
    gpuarena__stream *stream = &arena->streams.list[at];
    uint32_t home = stream->home;
    stream->state = GPUARENA__CLOSED;
    stream->ticket++;                            /* covers uses in this capture until all captures end */
    arena->streams.list[stream->under].state = GPUARENA__OPEN;
    gpuarena__known_set(arena, stream->under);
    arena->streams.captured--;
    if (gpuarena__set_is_open(arena, home)) return;
    for (at = 1; at < arena->streams.count; at++) {
        stream = &arena->streams.list[at];
        if (stream->home != home || at == home) continue;
        stream->quiet = stream->recorded = stream->ticket;
        (void)gpuarena__record_move(arena, at, UINT64_MAX, home, 0);
    }
    (void)gpuarena__uses_resolve(arena);
}

/* Releases a capture set after its graphs are gone: its free blocks count as freed on the stream of record
   `to` (0: they are quiet), and its live blocks become ordinary. No capture into the set is in progress. */
static void gpuarena__set_release(gpuarena *arena, uint32_t home, uint32_t to)
{
    gpuarena__stream *list = arena->streams.list;
    uint64_t ticket = to ? ++list[to].ticket : 0;
    uint32_t at, index;
    int synced;
    (void)gpuarena__record_move(arena, home, UINT64_MAX, to, ticket);
    for (index = arena->multi_stream; index; index = gpuarena__node_at(arena, index)->as.list.after) {
        gpuarena__node *node = gpuarena__node_at(arena, index);
        if (list[node->as.held.home].home != home) continue;
        synced = gpuarena__needs_sync(arena, node);          /* that makes other waits needless */
        list[node->as.held.home].ref_count--;
        gpuarena__uses_link(arena, node, synced ? 0 : to, synced ? ++list[0].ticket : ticket, 0);
    }
    for (at = 1; at < arena->streams.count; at++)
        if (list[at].home == home && at != home) {
            list[at].home = 0;
            list[home].ref_count--;
            arena->nodes.kept_count -= list[at].reserved_uses;
            list[at].reserved_uses = 0;
        }
    list[home].home = 0;                         /* vacant once no pending block returns to it */
}

/* >>growth =============================================================================================
   Segments: how much memory to request, growth by segments, and how they go back. */

/* Tells whether the arena must wait for work on an idle segment before its release, because the driver does
   not: always for PINNED memory, and for ASYNC memory that waits for another stream than this one. */
static int gpuarena__segment_waits(gpuarena *arena, const gpuarena__range *range, gpuarena_stream stream)
{
    gpuarena__iterator at;
    uint32_t record = 0;
    if (arena->memory == GPUARENA_MEMORY_ASYNC)
        record = gpuarena__stream_find(arena, gpuarena__real_stream(stream));
    else if (arena->memory != GPUARENA_MEMORY_PINNED) return 0;
    for (at = gpuarena__blocks_from(arena, range->first); at.index; gpuarena__next(arena, &at))
        if (!gpuarena__node_live(at.node) && at.node->record && at.node->record != record) return 1;
    return 0;
}

/* Takes the blocks of an idle segment out of their bins, so that no other thread gets them while the driver
   is asked. */
static void gpuarena__segment_claim(gpuarena *arena, const gpuarena__range *range)
{
    gpuarena__iterator at;
    for (at = gpuarena__blocks_from(arena, range->first); at.index; gpuarena__next(arena, &at)) {
        gpuarena__free_remove(arena, at.index);
        at.node->size |= GPUARENA__CLAIMED;
    }
}

static void gpuarena__segment_unclaim(gpuarena *arena, const gpuarena__range *range)
{
    gpuarena__iterator at;
    for (at = gpuarena__blocks_from(arena, range->first); at.index; gpuarena__next(arena, &at)) {
        at.node->size &= ~GPUARENA__CLAIMED;
        gpuarena__free_insert(arena, at.index);
    }
}

/* Waits for the work on one idle segment, where the driver does not, and gives the segment back. The caller
   knows that no stream is captured. 0: the segment is still held, since the wait or the driver failed, and
   *error says why, or since it is not idle any more. */
static int gpuarena__segment_give_back(gpuarena *arena, gpuarena__range *range, gpuarena_stream stream,
                                       gpuarena__error *error)
{
    int waits;
    gpuarena_block block;
    if (gpuarena__segment_waits(arena, range, stream)
        && (!gpuarena__wait_device(arena, error) || gpuarena__segment_waits(arena, range, stream)))
        return 0;                                /* another thread took some of it meanwhile */
    if (gpuarena__is_lost(arena, error) || !gpuarena__segment_idle(arena, range, 0)) return 0;
    block = gpuarena__block_describe(arena, range->first);
    block.bytes = block.resident_bytes = range->bytes;
    block.stream = GPUARENA_ANY_STREAM;
    block.state = GPUARENA_STATE_FREE;           /* memory that is given back was waited for */
    waits = !gpuarena__segment_idle(arena, range, 1);
    gpuarena__segment_claim(arena, range);
    if (!gpuarena__driver_give_back(arena, range, stream, error)) {
        gpuarena__segment_unclaim(arena, range);
        return 0;
    }
    gpuarena__range_forget(arena, range);
    if (waits && arena->memory != GPUARENA_MEMORY_ASYNC) arena->stats.gpu_wait_count++;
    arena->stats.release_count++;
    gpuarena__tell(arena, GPUARENA_ACTION_RELEASE, &block, stream, NULL);
    return 1;
}

/* Asks whether a stream is captured; if none is, waits for one idle segment and gives it back. 0 and an
   error: one is, or as segment_give_back. */
static int gpuarena__segment_release(gpuarena *arena, gpuarena__range *range, gpuarena_stream stream,
                                     gpuarena__error *error)
{
    int captured;
    gpuarena__segment_claim(arena, range);
    captured = gpuarena__ask_capturing(arena, error);
    gpuarena__segment_unclaim(arena, range);
    return !captured && gpuarena__segment_give_back(arena, range, stream, error);
}

/* Obtains one range of exactly `bytes`: a segment of whole granules for which the caller has found room
   within the limit, or addresses in whole pages. Returns its node, free and in a bin, or a hole; or 0 and an
   error, and nothing has changed. NULL, a misaligned range or one that overlaps another is a driver error,
   although the driver reported success. Such a range goes back, unless its base is that of a held one, which
   the call would then take away. */
static uint32_t gpuarena__range_obtain(gpuarena *arena, uint64_t bytes, int is_paged, gpuarena_stream stream,
                                       gpuarena__error *error)
{
    gpuarena__range *range = gpuarena__range_reserve(arena, bytes, is_paged), *before = NULL;
    uint32_t index;
    int granted, done;
    if (!range) return gpuarena__set_error(error, GPUARENA_HOST_MEMORY);
    granted = gpuarena__driver_obtain(arena, range, stream, error);
    done = granted && (!is_paged || range->address % arena->paged.page_bytes == 0)
        && gpuarena__range_neighbour(arena, range, &before);
    if (granted && !done) {
        const gpuarena__range *held = gpuarena__range_of(arena, range->address);
        if (range->address && (!held || held->address != range->address))
            (void)gpuarena__driver_give_back(arena, range, stream, error);
        if (!arena->lost) gpuarena__set_error(error, GPUARENA_DRIVER_ERROR);
        if (!is_paged) gpuarena__uncharge(arena, bytes);
    }
    arena->nodes.kept_count -= GPUARENA__RANGE_NODES;
    if (!done) {
        gpuarena__host_free(arena, range, gpuarena__range_bytes(arena, bytes, is_paged));
        return 0;
    }
    index = gpuarena__range_enter(arena, before, range);
    if (is_paged) return index;
    gpuarena__tell_of(arena, GPUARENA_ACTION_GROW, index, stream);
    if (!gpuarena__is_guarded(arena) || range->guarded == GPUARENA__GUARDED) return index;
    (void)gpuarena__segment_give_back(arena, range, stream, NULL);
    return 0;
}

/* Tells whether the block must begin its segment. */
static int gpuarena__begins_segment(const gpuarena__request *req)
{
    return (req->flags & (GPUARENA_ALLOC_DEDICATED | GPUARENA__ALLOC_EXACT)) == GPUARENA_ALLOC_DEDICATED;
}

/* The size of a segment that serves the request wherever the segment starts, since a range is aligned to the
   unit alone; or, tight 1, if it starts at the request's alignment. 0: larger than a segment may be. */
static uint64_t gpuarena__segment_bytes(const gpuarena *arena, const gpuarena__request *req, int tight)
{
    uint64_t lead = req->alignment - arena->unit, unit = GPUARENA__GRANULE;
    if (lead > GPUARENA__MAX_BYTES || req->bytes + lead > GPUARENA__MAX_BYTES) return 0;
    if (tight || gpuarena__begins_segment(req)) lead = 0;    /* a longer one is no better */
    if (gpuarena__is_guarded(arena)) unit = gpuarena__max(unit, arena->driver.page_bytes);
    else if (req->flags & GPUARENA__ALLOC_EXACT) unit = arena->unit;
    return gpuarena__whole(req->bytes + lead, unit);
}

/* If the driver's pool may still keep memory that was given back, waits for the device: then it does not. */
static void gpuarena__check_unreturned(gpuarena *arena)
{
    if (!arena->unreturned_bytes || !gpuarena__wait_device(arena, NULL)) return;
    gpuarena__uncharge(arena, arena->unreturned_bytes);
    arena->unreturned_bytes = 0;
}

/* *room: by how much the arena may grow within the limits and, if that covers `need`, the headroom. *narrow:
   which of them is the narrowest. 0 and an error: the driver did not report its free memory. */
static int gpuarena__room_now(gpuarena *arena, uint64_t need, uint64_t *room, gpuarena_reason *narrow,
                              gpuarena__error *error)
{
    uint64_t headroom = arena->config.headroom_bytes, free_bytes;
    gpuarena__check_unreturned(arena);
    *room = gpuarena__room(arena, narrow);
    if (!headroom || need > *room) return 1;
    if (!gpuarena__driver_info(arena, &free_bytes, error)) return 0;
    free_bytes = gpuarena__above(free_bytes, headroom);
    if (free_bytes >= *room) return 1;
    *room = free_bytes;
    *narrow = GPUARENA_REASON_HEADROOM;
    return 1;
}

/* Tells whether ASYNC memory must not be obtained now: on a stream of a capture set it would belong to the
   graph, though the capture itself may begin later; and memory for every stream needs a wait, which a capture
   forbids. 1, and CAPTURE as the error: it must not. */
static int gpuarena__is_orderless(gpuarena *arena, gpuarena_stream stream, gpuarena__error *error)
{
    if (arena->memory != GPUARENA_MEMORY_ASYNC || !arena->streams.ordered) return 0;
    if (stream == GPUARENA_ANY_STREAM) return gpuarena__ask_capturing(arena, error);
    if (!arena->streams.list[gpuarena__stream_find(arena, stream)].home) return 0;
    gpuarena__set_error(error, GPUARENA_CAPTURE);
    return 1;
}

/* Requests `wish` bytes from the driver, or less if limit, headroom or driver allow less, down to `need`; all
   in whole granules. Returns the new segment's free node, or 0 and an error. Memory obtained in a stream's
   order is pending for that stream, as if freed on it, until an event completes; if the arena does not know
   the stream, until the device was waited for. */
static uint32_t gpuarena__grow(gpuarena *arena, uint64_t need, uint64_t wish, gpuarena_stream stream,
                               gpuarena__error *error)
{
    uint64_t room;
    uint32_t index, record;
    gpuarena_reason narrow;
    if (!gpuarena__room_now(arena, need, &room, &narrow, error)
        || gpuarena__is_orderless(arena, stream, error)) return 0;
    if (need > room) return gpuarena__set_reason(error, narrow);
    room = gpuarena__round_down(gpuarena__min(room, GPUARENA__MAX_BYTES), GPUARENA__GRANULE);
    if (wish > room) wish = gpuarena__max(need, room - room % need);     /* whole requests: no rest */
    while ((index = gpuarena__range_obtain(arena, wish, 0, stream, error)) == 0) {
        if (error->reason != GPUARENA_REASON_DRIVER_REFUSED || wish == need) return 0;
        wish = need + gpuarena__round_down((wish - need) / 2, GPUARENA__GRANULE);    /* falls to the need */
        arena->stats.backoff_count++;
    }
    if (arena->memory != GPUARENA_MEMORY_ASYNC || !arena->streams.ordered) return index;
    record = stream == GPUARENA_ANY_STREAM ? 0 : gpuarena__stream_find(arena, stream);
    if (record) return gpuarena__block_move(arena, index, record, ++arena->streams.list[record].ticket);
    gpuarena__free_remove(arena, index);
    arena->stats.pending_bytes += gpuarena__node_at(arena, index)->size;
    gpuarena__uses_link(arena, gpuarena__node_at(arena, index), 0, 0, 1);
    gpuarena__free_insert(arena, index);
    return index;
}

/* >>runs ===============================================================================================
   Searches for free memory: in the bins, and as runs. A run is a sequence of adjacent free blocks, of
   several streams perhaps, that would serve a request as one block. */

/* The best free block of a record, of at least `bytes`: in the time of bins_search; or, if `req` is not NULL,
   among all that serve it. */
static uint32_t gpuarena__record_search(const gpuarena *arena, uint32_t record, uint64_t bytes,
                                        const gpuarena__request *req)
{
    const gpuarena__bins *bins;
    uint32_t n, best = 0;
    for (n = 0; (bins = gpuarena__bins_nth(arena, record, n)) != NULL; n++)
        best = gpuarena__better(arena, best, req ? gpuarena__bin_search_all(arena, bins, req)
                                                 : gpuarena__bins_search(arena, bins, bytes));
    return best;
}

/* The heap that may serve a request of a record; 0: none, as that is a capture's, or the request is large. */
static uint32_t gpuarena__heap_of(const gpuarena *arena, uint32_t record, uint64_t bytes)
{
    const gpuarena__stream *stream = &arena->streams.list[record];
    return stream->home || bytes > GPUARENA__HEAP_MOST ? 0 : stream->heap;
}

/* Tells whether a quiet block may serve a request better than `index`, the block that its stream has (0:
   none). It may if that block leaves a rest shorter than the request. A longer block of the stream's goes
   first: no other stream can have it yet, and the quiet memory is left to them. */
GPUARENA__INLINE int gpuarena__is_loose(const gpuarena *arena, uint32_t index, uint64_t bytes)
{
    uint64_t rest = gpuarena__node_bytes(gpuarena__node_at(arena, index)) - bytes;
    return !index || rest - 1 < bytes - 1;
}

/* The best free block of the records `record` or `home`, or a quiet one. A request that its stream's heap may
   serve gets one of that heap first: with a quiet block of another heap a page would change hands. */
static uint32_t gpuarena__records_search(const gpuarena *arena, uint32_t record, uint32_t home,
                                         uint64_t bytes, const gpuarena__request *req)
{
    uint32_t heap = gpuarena__heap_of(arena, record, bytes), index = 0;
    const gpuarena__bins *bins = heap ? &arena->heaps.list[heap]->bins : NULL;
    if (record) index = gpuarena__record_search(arena, record, bytes, req);
    if (!index && home) index = gpuarena__record_search(arena, home, bytes, req);
    if (!index && bins)
        index = req ? gpuarena__bin_search_all(arena, bins, req) : gpuarena__bins_search(arena, bins, bytes);
    if (index && (req || heap || !gpuarena__is_loose(arena, index, bytes))) return index;
    return gpuarena__better(arena, index, gpuarena__record_search(arena, 0, bytes, req));
}

/* A hit in an arena with several streams. */
GPUARENA__NOINLINE uint32_t gpuarena__hit_of_many(const gpuarena *arena, uint32_t record, uint32_t home,
                                                  uint64_t bytes)
{
    uint32_t index;
    if (arena->heaps.count) return gpuarena__records_search(arena, record, home, bytes, NULL);
    index = gpuarena__bins_search(arena, arena->streams.list[record].bins, bytes);
    if (!index && home) index = gpuarena__bins_search(arena, arena->streams.list[home].bins, bytes);
    if (!gpuarena__is_loose(arena, index, bytes)) return index;
    return gpuarena__better(arena, index, gpuarena__bins_search(arena, &arena->bins, bytes));
}

/* A hit: a free block of the records `record` or `home`, or a quiet one. */
GPUARENA__INLINE uint32_t gpuarena__hit(const gpuarena *arena, uint32_t record, uint32_t home, uint64_t bytes)
{
    if (GPUARENA__UNLIKELY(arena->streams.many)) return gpuarena__hit_of_many(arena, record, home, bytes);
    return gpuarena__bins_search(arena, &arena->bins, bytes);
}

/* A hit for a request. If its alignment exceeds the unit, the search is for a block that serves it wherever
   the block starts. */
static uint32_t gpuarena__hit_for(const gpuarena *arena, const gpuarena__request *req)
{
    uint64_t lead = req->alignment - arena->unit;
    if (lead > GPUARENA__MAX_BYTES - req->bytes) return 0;
    return gpuarena__hit(arena, req->record, req->home, req->bytes + lead);
}

/* Looks for a request at every free block that may serve it. */
static uint32_t gpuarena__search(const gpuarena *arena, const gpuarena__request *req)
{
    return gpuarena__records_search(arena, req->record, req->home, req->bytes, req);
}

/* When a request may take a block; if at all, the longest wait comes last. */
enum {
    GPUARENA__NOT_FREE,                          /* never */
    GPUARENA__AVAILABLE_NOW,                     /* it is quiet, or waits for the request's own stream */
    GPUARENA__AVAILABLE_AFTER_STREAMS,           /* once the request's stream waits for others */
    GPUARENA__AVAILABLE_AFTER_SYNC               /* once an event or a device wait has made it quiet */
};

static uint32_t gpuarena__availability(const gpuarena *arena, const gpuarena__request *req,
                                       const gpuarena__node *node)
{
    uint32_t record = gpuarena__record_of(node), use_at;
    if (!gpuarena__is_free(node)) return GPUARENA__NOT_FREE;
    if (!node->record || node->record == req->record || (req->home && node->record == req->home))
        return GPUARENA__AVAILABLE_NOW;
    /* memory of graphs, or a request of a graph. A block outside capture sets has no uses of theirs */
    if (req->home || gpuarena__in_capture_set(arena, node)) return GPUARENA__NOT_FREE;
    if (gpuarena__needs_sync(arena, node) || !req->record
        || arena->streams.list[record].refused == arena->streams.pass) return GPUARENA__AVAILABLE_AFTER_SYNC;
    for (use_at = node->use_at; use_at; use_at = gpuarena__node_at(arena, use_at)->next) {
        record = gpuarena__node_at(arena, use_at)->record;
        if (arena->streams.list[record].refused == arena->streams.pass) return GPUARENA__AVAILABLE_AFTER_SYNC;
    }
    return GPUARENA__AVAILABLE_AFTER_STREAMS;
}

/* A search for the best run: the one with the fewest bytes that must be waited for, then the smallest, then
   the one at the lowest address. */
typedef struct gpuarena__run_search {
    const gpuarena__request *req;
    uint32_t availability;                       /* the waits that a run may need */
    uint32_t first;                              /* the first node of the best run so far; 0: none */
    uint64_t foreign, bytes;                     /* of that run: to be waited for, and in all */
} gpuarena__run_search;

/* Tells whether a run may contain this node. */
static int gpuarena__run_has(const gpuarena *arena, const gpuarena__run_search *search, uint32_t index)
{
    uint32_t takes = gpuarena__availability(arena, search->req, gpuarena__node_at(arena, index));
    return takes != GPUARENA__NOT_FREE && takes <= search->availability;
}

/* Looks at the runs among the adjacent nodes around a free block, if it is the first among them that is not
   quiet, so that each is looked at once. Quiet blocks are never adjacent: at most one comes before it. */
static void gpuarena__run_around(const gpuarena *arena, uint32_t index, void *user)
{
    gpuarena__run_search *search = (gpuarena__run_search *)user;
    const gpuarena__request *req = search->req;
    uint32_t first = index, before = gpuarena__node_at(arena, index)->prev;
    uint64_t foreign = 0;
    gpuarena__iterator at;
    gpuarena__node span, rest;                   /* address and size of the run so far */
    if (search->first && search->availability == GPUARENA__AVAILABLE_AFTER_SYNC) return;
    if (gpuarena__run_has(arena, search, before)) {
        const gpuarena__node *quiet = gpuarena__node_at(arena, before);
        if (quiet->record || gpuarena__run_has(arena, search, quiet->prev)) return;
        first = before;
    }
    at = gpuarena__blocks_from(arena, first);
    span = *at.node;
    for (span.size = 0; gpuarena__run_has(arena, search, at.index); gpuarena__next(arena, &at)) {
        const gpuarena__node *node = at.node;
        span.size += gpuarena__node_bytes(node);
        if (gpuarena__availability(arena, req, node) > GPUARENA__AVAILABLE_NOW)
            foreign += gpuarena__node_bytes(node);
        for (;; span = rest) {                   /* drop blocks at the front that the request does not need */
            node = gpuarena__node_at(arena, first);
            rest = span;
            rest.address += gpuarena__node_bytes(node);
            rest.size -= gpuarena__node_bytes(node);
            if (!gpuarena__node_serves(&rest, req->bytes, req->alignment)) break;
            if (gpuarena__availability(arena, req, node) > GPUARENA__AVAILABLE_NOW)
                foreign -= gpuarena__node_bytes(node);
            first = node->next;
        }
        if (!gpuarena__node_serves(&span, req->bytes, req->alignment) || foreign > search->foreign
            || (foreign == search->foreign
                && (span.size > search->bytes
                    || (span.size == search->bytes
                        && span.address >= gpuarena__node_at(arena, search->first)->address)))) continue;
        search->first = first;
        search->foreign = foreign;
        search->bytes = span.size;
    }
}

/* The first node of the best run for a request; 0: there is none with this availability. A run is a quiet
   block, or contains a block that is not quiet: only those are visited, as few blocks wait at a time. With
   AVAILABLE_AFTER_SYNC callers ask only whether there is a run, so the first one that is found is as good. */
static uint32_t gpuarena__run_find(const gpuarena *arena, const gpuarena__request *req, uint32_t availability)
{
    gpuarena__run_search search = GPUARENA_INIT;
    uint32_t record, index;
    search.req = req;
    search.availability = availability;
    search.foreign = search.bytes = UINT64_MAX;
    if (!arena->streams.many)                    /* quiet blocks are in the same bins */
        gpuarena__blocks_each(arena, 0, GPUARENA__UNIT, gpuarena__run_around, &search);
    else if ((index = gpuarena__record_search(arena, 0, req->bytes, req)) != 0) return index;
    for (record = 1; arena->streams.many && record < arena->streams.count; record++)
        if (availability > GPUARENA__AVAILABLE_NOW || record == req->record || record == req->home)
            gpuarena__blocks_each(arena, record, GPUARENA__UNIT, gpuarena__run_around, &search);
    if (availability == GPUARENA__AVAILABLE_NOW) return search.first;
    for (index = arena->multi_stream; index; index = gpuarena__node_at(arena, index)->as.list.after)
        gpuarena__run_around(arena, index, &search);
    return search.first;
}

/* Makes a stream wait for all frees on another record's stream so far. 0: that failed in this pass. */
static int gpuarena__stream_wait_for(gpuarena *arena, gpuarena_stream waits, uint32_t record)
{
    gpuarena__stream *stream = &arena->streams.list[record];
    void *event;
    stream->refused = arena->streams.pass;
    if (!gpuarena__stream_record(arena, record, NULL) || !stream->last_event) return 0;
    event = arena->events.list[stream->last_event].handle;
    if (!GPUARENA__ASK(arena, NULL, events, stream_wait, (&arena->driver, waits, event))) {
        arena->stats.event_error_count++;
        return 0;
    }
    stream->refused = 0;
    stream->waited = arena->streams.pass;
    stream->waited_for = arena->events.list[stream->last_event].ticket;
    arena->stats.gpu_wait_count++;
    return 1;
}

/* The bytes of the run that begins at this node, as far as the request needs its blocks. */
static uint64_t gpuarena__run_bytes(const gpuarena *arena, const gpuarena__request *req, uint32_t first)
{
    gpuarena__iterator at = gpuarena__blocks_from(arena, first);
    gpuarena__node span = *at.node;
    for (span.size = 0; at.index && !gpuarena__node_serves(&span, req->bytes, req->alignment);
         gpuarena__next(arena, &at))
        span.size += gpuarena__node_bytes(at.node);
    return span.size;
}

/* A record that a free node waits for and that the request's stream does not wait for yet; 0: none. The node
   waits for its uses, if it has some, and for its record. */
static uint32_t gpuarena__still_waits(const gpuarena *arena, const gpuarena__request *req,
                                      const gpuarena__node *node)
{
    uint32_t use_at = node->use_at;
    for (;; use_at = gpuarena__node_at(arena, use_at)->next) {
        const gpuarena__node *waits = use_at ? gpuarena__node_at(arena, use_at) : node;
        uint32_t record = gpuarena__record_of(waits);
        uint64_t ticket = waits->ticket;
        const gpuarena__stream *stream = &arena->streams.list[record];
        if (record && record != req->record && ticket > stream->quiet
            && !(stream->waited == arena->streams.pass && ticket <= stream->waited_for)) return record;
        if (!use_at) return 0;
    }
}

/* A record that the run at this address still waits for; 0: none. MULTI_STREAM: there is no such run any
   more. */
static uint32_t gpuarena__run_waits(const gpuarena *arena, const gpuarena__request *req, uint64_t address)
{
    gpuarena__iterator at = gpuarena__blocks_from(arena, gpuarena__node_around(arena, address));
    gpuarena__node span = *at.node;
    for (span.size = 0; at.index; gpuarena__next(arena, &at)) {
        uint32_t takes = gpuarena__availability(arena, req, at.node), record;
        if (takes == GPUARENA__NOT_FREE || takes > GPUARENA__AVAILABLE_AFTER_STREAMS)
            return GPUARENA__MULTI_STREAM;
        record = takes == GPUARENA__AVAILABLE_NOW ? 0 : gpuarena__still_waits(arena, req, at.node);
        if (record) return record;
        span.size += gpuarena__node_bytes(at.node);
        if (gpuarena__node_serves(&span, req->bytes, req->alignment)) return 0;
    }
    return GPUARENA__MULTI_STREAM;
}

/* Joins the run that begins at this node into one block for the request. waits 1: its stream is made to wait
   where necessary. 0: that failed or may not be, or the run was taken meanwhile; nothing has moved. */
static uint32_t gpuarena__run_take(gpuarena *arena, const gpuarena__request *req, uint32_t first, int waits)
{
    gpuarena__node span = *gpuarena__node_at(arena, first);
    uint32_t index, record;
    uint64_t ticket = 0, end = span.address + gpuarena__lead(&span, req->alignment) + req->bytes;
    while ((record = gpuarena__run_waits(arena, req, span.address)) != 0)
        if (!waits || record == GPUARENA__MULTI_STREAM
            || !gpuarena__stream_wait_for(arena, req->stream, record)) return 0;
    if (!gpuarena__nodes_reserve(arena, 3)) return 0;        /* one for the split here, two for the block */
    index = gpuarena__node_around(arena, span.address);
    if (!arena->streams.many) return index;      /* a run without waits is one block already */
    for (;; index = gpuarena__node_at(arena, index)->next) {
        const gpuarena__node *node = gpuarena__node_at(arena, index);
        int foreign = gpuarena__availability(arena, req, node) > GPUARENA__AVAILABLE_NOW;
        if (foreign && !ticket) ticket = ++arena->streams.list[req->record].ticket;
        if (!node->record && req->record && node->address < end
            && end - node->address < gpuarena__node_bytes(node))
            (void)gpuarena__free_split(arena, index, end - node->address);   /* the quiet rest stays quiet */
        if (node->record != req->record)
            index = gpuarena__block_move(arena, index, req->record, foreign ? ticket : 0);
        if (gpuarena__node_serves(gpuarena__node_at(arena, index), req->bytes, req->alignment))
            return index;
    }
}

/* Tells whether only new memory serves a request: no free block does. */
static int gpuarena__needs_new(const gpuarena__request *req)
{
    return req->room || req->flags & GPUARENA_ALLOC_DEDICATED;
}

/* Stage 1 beyond a hit: the rest of the bins, and runs of the stream's own and quiet blocks. */
static uint32_t gpuarena__look(gpuarena *arena, const gpuarena__request *req)
{
    uint32_t index, first;
    if (gpuarena__needs_new(req)) return 0;
    index = gpuarena__search(arena, req);
    if (index || !arena->streams.many || !req->record) return index;
    first = gpuarena__run_find(arena, req, GPUARENA__AVAILABLE_NOW);
    return first ? gpuarena__run_take(arena, req, first, 0) : 0;
}

/* >>pages ==============================================================================================
   Paged ranges, as PAGED RANGES in the manual says: addresses, and pages that back them. A page that moves is
   mapped at its new place before it is unmapped at the old one, so a failure leaves everything as it was. */

enum { GPUARENA__PAGES_TRIED = 8 };              /* so many are created without asking the driver first */
/* A handle of several pages has at most this part of the bytes that limit and device leave. Of reserved
   memory this part and a page may be stranded. Tests set it, so that small devices have large handles. */
#ifndef GPUARENA__HANDLE_PART
#define GPUARENA__HANDLE_PART 256
#endif
/* A place of this size and more is large: its handles may have 4 in HANDLE_PART of the bytes that limit and
   device leave. The handles of any other place have at most HANDLE_SMALL, or one part in HANDLE_SHARE of
   reserved memory and the place if that is more, since a small block may strand all of one. */
static const uint64_t GPUARENA__HANDLE_KNEE = (uint64_t)256 << 20;
static const uint64_t GPUARENA__HANDLE_SMALL = (uint64_t)16 << 20;
enum { GPUARENA__HANDLE_SHARE = 10 };

/* The number of idle pages that is known without a walk over the blocks: spare ones, and those inside single
   free blocks. */
static uint64_t gpuarena__idle_known(const gpuarena *arena)
{
    return arena->paged.idle_count + arena->paged.spare_pages;
}

/* The free bytes in handles that are partly live, and in parts of pages: no move of pages can use them. */
static uint64_t gpuarena__stranded(const gpuarena *arena)
{
    return arena->stats.reserved_bytes - arena->stats.live_bytes
        - gpuarena__idle_known(arena) * arena->paged.page_bytes;
}

/* Tells whether stranded bytes and `more` exceed the bound for growth by large handles. */
static int gpuarena__strands_much(const gpuarena *arena, uint64_t more)
{
    return gpuarena__stranded(arena) + more
        > arena->paged.page_bytes + arena->stats.reserved_bytes / GPUARENA__HANDLE_PART;
}

/* Destroys a spare handle, counted from the last one; the last one takes its place. 0: the driver refused,
   and it is still there. */
static int gpuarena__handle_destroy(gpuarena *arena, uint32_t from_last, gpuarena__error *error)
{
    gpuarena__paged *paged = &arena->paged;
    gpuarena__handle *spare = &paged->spare[paged->spare_count - 1 - from_last];
    uint64_t count = spare->page_count, bytes = count * paged->page_bytes;
    if (!GPUARENA__ASK(arena, error, vm, destroy, (&arena->driver, spare->id, bytes))) return 0;
    *spare = paged->spare[--paged->spare_count];
    paged->spare_pages -= count;
    gpuarena__account(arena, 0 - bytes, 0);
    return 1;
}

/* Tells whether the device reported less free memory than `count` pages when it was last asked. Not asked for
   a few pages, which are soon created and given back. */
static int gpuarena__is_beyond(const gpuarena *arena, uint64_t count)
{
    return count > GPUARENA__PAGES_TRIED
        && gpuarena__above(arena->reachable_bytes,
                           arena->stats.reserved_bytes) / arena->paged.page_bytes < count;
}

/* Tells whether the device has less free memory than `count` pages, now that it is asked again. */
static int gpuarena__is_scarce(gpuarena *arena, uint64_t count)
{
    uint64_t free_bytes;
    return gpuarena__is_beyond(arena, count)
        && gpuarena__driver_info(arena, &free_bytes, NULL)
        && gpuarena__is_beyond(arena, count);
}

/* Tells whether the driver grants `count` charged pages although they are scarce: it is asked for them in one
   piece, since its figures alone refuse nothing. (If the driver fails to take the piece back, it is lost, and
   counted nowhere.) 0 and an error: it is not granted. */
static int gpuarena__ask_grant(gpuarena *arena, uint64_t count, gpuarena__error *error)
{
    uint64_t page = 0, bytes = count * arena->paged.page_bytes;
    gpuarena__error said = gpuarena__no_error();
    if (!gpuarena__ask_create(arena, bytes, &page, &said)) {
        if (said.reason == GPUARENA_REASON_DRIVER_REFUSED) *error = said;
        return said.reason != GPUARENA_REASON_DRIVER_REFUSED;
    }
    if (!GPUARENA__ASK(arena, &said, vm, destroy, (&arena->driver, page, bytes)))
        arena->stats.driver_error_count++;
    return 1;
}

static int gpuarena__unmap(gpuarena *arena, uint64_t address, uint64_t bytes, gpuarena__error *error)
{
    return GPUARENA__ASK(arena, error, vm, unmap, (&arena->driver, gpuarena__pointer(address), bytes));
}

static int gpuarena__spares_reserve(gpuarena *arena, uint64_t count)
{
    gpuarena__paged *paged = &arena->paged;
    return GPUARENA__RESERVE(arena, gpuarena__handle, paged->spare, paged->spare_count, count,
                             paged->spare_room);
}

/* The range and the number of the page at this address. */
static gpuarena__range *gpuarena__page_at(const gpuarena *arena, uint64_t address, uint64_t *page)
{
    gpuarena__range *range = gpuarena__range_of(arena, address);
    *page = (address - range->address) >> arena->paged.page_log2;
    return range;
}

/* The handle that begins at this address. */
static gpuarena__handle gpuarena__handle_at(const gpuarena *arena, uint64_t address)
{
    uint64_t page;
    const gpuarena__range *range = gpuarena__page_at(arena, address, &page);
    gpuarena__handle handle = { range->pages[page], range->parts[page] };
    return handle;
}

/* ---- holes */

/* Tells whether a node is an open hole: one in the list, where pages may be mapped. */
static int gpuarena__is_open(const gpuarena__node *node)
{
    return (node->size & (GPUARENA__HOLE | GPUARENA__KEPT)) == GPUARENA__HOLE;
}

/* Turns a node that is in no list into an open hole, joined with neighbouring holes. Returns the joined
   hole. */
static uint32_t gpuarena__hole_join(gpuarena *arena, uint32_t index)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    uint32_t prev = node->prev, next = node->next;
    if (gpuarena__is_open(gpuarena__node_at(arena, next))) {
        gpuarena__hole_unlist(arena, next);
        gpuarena__block_absorb_next(arena, index);
    }
    if (gpuarena__is_open(gpuarena__node_at(arena, prev))) {
        gpuarena__hole_unlist(arena, prev);
        gpuarena__block_absorb_next(arena, prev);
        index = prev;
    }
    gpuarena__hole_list(arena, index);
    return index;
}

/* Cuts a part out of an open hole: a node that is in no list and no hole any more. */
static uint32_t gpuarena__hole_cut(gpuarena *arena, uint64_t begin, uint64_t end)
{
    uint32_t index = gpuarena__node_around(arena, begin);
    gpuarena__hole_unlist(arena, index);
    return gpuarena__block_carve(arena, index, begin, end - begin, gpuarena__hole_list);
}

/* Claims whole pages of a quiet free block, so that the driver can be asked about them. The rest of the block
   below them keeps its node. Takes up to two nodes. Returns the pages' node, a chain of one; or 0 and
   an error: there is no host memory. */
static uint32_t gpuarena__block_claim(gpuarena *arena, uint32_t index, uint64_t begin, uint64_t bytes,
                                      gpuarena__error *error)
{
    if (gpuarena__node_bytes(gpuarena__node_at(arena, index)) > bytes && !gpuarena__nodes_reserve(arena, 2))
        return gpuarena__set_error(error, GPUARENA_HOST_MEMORY);
    gpuarena__free_remove(arena, index);
    index = gpuarena__block_carve(arena, index, begin, bytes, gpuarena__free_insert);
    gpuarena__node_at(arena, index)->size |= GPUARENA__CLAIMED;
    gpuarena__node_at(arena, index)->as.chain.link = 0;
    return index;
}

/* Returns a chain of claimed pages to the free blocks. */
static void gpuarena__unclaim(gpuarena *arena, uint32_t index)
{
    while (index) {
        gpuarena__node *node = gpuarena__node_at(arena, index);
        uint32_t next = node->as.chain.link;
        node->size &= ~GPUARENA__CLAIMED;
        (void)gpuarena__block_join(arena, index);
        index = next;
    }
}

/* Turns pages that are in no bin or list into a hole. unmap_failed: the driver still maps them, so the hole
   cannot be backed. */
static void gpuarena__hole_make(gpuarena *arena, uint32_t index, int unmap_failed)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    node->size &= ~GPUARENA__CLAIMED;
    if (!unmap_failed) (void)gpuarena__hole_join(arena, index);
    else {
        node->size |= GPUARENA__HOLE | GPUARENA__KEPT;
        arena->paged.unmap_failed_count++;
        arena->stats.driver_error_count++;
    }
}

/* Reserves part of the hole behind a live block as that block's room. */
static void gpuarena__room_keep(gpuarena *arena, uint32_t index, uint64_t bytes)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    uint64_t end = node->address + gpuarena__node_bytes(node);
    gpuarena__node *room = gpuarena__node_at(arena, gpuarena__hole_cut(arena, end, end + bytes));
    room->size |= GPUARENA__HOLE | GPUARENA__KEPT;
    node->size |= GPUARENA__KEPT;
}

/* Ends a block's room: its addresses become an open hole. */
static void gpuarena__room_end(gpuarena *arena, uint32_t index)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    if (!(node->size & GPUARENA__KEPT)) return;
    node->size &= ~GPUARENA__KEPT;
    gpuarena__node_at(arena, node->next)->size &= ~GPUARENA__STATE_BITS;
    (void)gpuarena__hole_join(arena, node->next);
}

/* Tries again to unmap the holes that the driver failed to unmap. */
static void gpuarena__retry_unmap(gpuarena *arena, gpuarena__error *error)
{
    gpuarena__iterator at = gpuarena__blocks(arena);
    for (; at.index && arena->paged.unmap_failed_count; gpuarena__next(arena, &at)) {
        const gpuarena__node *before = gpuarena__node_at(arena, at.node->prev);
        if (!(at.node->size & GPUARENA__HOLE) || !(at.node->size & GPUARENA__KEPT)
            || (before->size & GPUARENA__KEPT && gpuarena__node_live(before))
            || !gpuarena__unmap(arena, at.node->address, gpuarena__node_bytes(at.node), error)) continue;
        at.node->size &= ~GPUARENA__STATE_BITS;
        arena->paged.unmap_failed_count--;
        at.node = gpuarena__node_at(arena, gpuarena__hole_join(arena, at.index));
    }
}

/* ---- addresses */

/* Reserves another range of addresses: the usual size, or at least `need` if the driver has no more. */
static int gpuarena__span_reserve(gpuarena *arena, uint64_t need, gpuarena__error *error)
{
    uint64_t bytes = gpuarena__max(need, arena->paged.span_bytes), page = arena->paged.page_bytes;
    gpuarena__error said = gpuarena__no_error();
    if (!gpuarena__spares_reserve(arena, 1))     /* there always is room for one in an arena with pages */
        return gpuarena__set_error(error, GPUARENA_HOST_MEMORY);
    while (!gpuarena__range_obtain(arena, bytes, 1, NULL, &said)) {
        if (bytes == need || (said.reason != GPUARENA_REASON_ADDRESSES
                              && said.reason != GPUARENA_REASON_HOST_MEMORY)) {
            *error = said;
            return 0;
        }
        bytes = gpuarena__max(need, gpuarena__round_down(bytes / 2, page));
        said = gpuarena__no_error();
    }
    return 1;
}

/* Gives back ranges that consist of one hole. */
static int gpuarena__spans_release(gpuarena *arena, gpuarena__error *error)
{
    gpuarena__range *range, *before;
    for (range = arena->ranges.last; range; range = before) {
        const gpuarena__node *node = gpuarena__node_at(arena, range->first);
        before = range->before;
        if (!range->pages || !gpuarena__is_open(node) || node->next) continue;
        if (!gpuarena__driver_give_back(arena, range, NULL, error)) return 0;
        gpuarena__range_forget(arena, range);
    }
    return 1;
}

/* >>place ==============================================================================================
   Chooses where a request lies that no free block serves: in the gap that lacks the fewest pages. */

typedef struct gpuarena__place {
    uint64_t begin;                              /* of the block */
    uint64_t page_count;                         /* pages that the place lacks */
    uint64_t gap_bytes, alignment;
    uint32_t apart;                              /* 1: idle pages inside the gap count as missing, too */
} gpuarena__place;

static int gpuarena__is_usable(const gpuarena *arena, const gpuarena__request *req,
                               const gpuarena__node *node)
{
    uint32_t takes = GPUARENA__AVAILABLE_NOW;
    if (!gpuarena__is_open(node)) takes = gpuarena__availability(arena, req, node);
    return takes == GPUARENA__AVAILABLE_NOW || (req->after_sync && takes != GPUARENA__NOT_FREE);
}

/* The open holes in [begin, end), one after the other. Both bounds are rounded outwards to whole pages. */
typedef struct gpuarena__holes {
    uint64_t begin, end;                         /* the part of the current hole that lies there */
    uint64_t last;                               /* the end of the search */
    uint32_t index;                              /* the current hole's node, or one before the first hole */
} gpuarena__holes;

/* Begins before the first hole. */
static gpuarena__holes gpuarena__holes_in(const gpuarena *arena, uint64_t begin, uint64_t end)
{
    uint64_t page = arena->paged.page_bytes;
    gpuarena__holes holes = GPUARENA_INIT;
    if (!page) return holes;                     /* segments have no holes */
    holes.begin = holes.end = gpuarena__round_down(begin, page);
    holes.last = gpuarena__whole(end, page);
    holes.index = gpuarena__node_around(arena, begin);
    return holes;
}

/* Goes on to the next hole. 0: there is none. */
static int gpuarena__hole_next(const gpuarena *arena, gpuarena__holes *holes)
{
    gpuarena__iterator at = gpuarena__blocks_from(arena, holes->index);
    for (; at.index && holes->end < holes->last; gpuarena__next(arena, &at)) {
        uint64_t node_end = at.node->address + gpuarena__node_bytes(at.node);
        if (at.node->address >= holes->last) return 0;
        if (node_end <= holes->end || !gpuarena__is_open(at.node)) continue;
        holes->begin = gpuarena__max(holes->end, at.node->address);
        holes->end = gpuarena__min(holes->last, node_end);
        holes->index = at.index;
        return 1;
    }
    return 0;
}

/* The pages in the open holes in [begin, end). */
static uint64_t gpuarena__unmapped_pages(const gpuarena *arena, uint64_t begin, uint64_t end)
{
    gpuarena__holes hole = gpuarena__holes_in(arena, begin, end);
    uint64_t count = 0;
    while (gpuarena__hole_next(arena, &hole)) count += (hole.end - hole.begin) / arena->paged.page_bytes;
    return count;
}

/* Counts the bytes of open holes below an address. Asked for rising addresses, it visits each node once. */
typedef struct gpuarena__cursor { uint32_t index; uint64_t hole_bytes; } gpuarena__cursor;
static uint64_t gpuarena__holes_below(const gpuarena *arena, gpuarena__cursor *cursor, uint64_t address)
{
    const gpuarena__node *node = gpuarena__node_at(arena, cursor->index);
    for (; cursor->index && node->address + gpuarena__node_bytes(node) <= address;
         cursor->index = node->next, node = gpuarena__node_at(arena, cursor->index))
        if (gpuarena__is_open(node)) cursor->hole_bytes += gpuarena__node_bytes(node);
    return cursor->hole_bytes
        + (cursor->index && gpuarena__is_open(node) && address > node->address ? address - node->address : 0);
}

/* A gap, and a cursor for the begins and one for the ends of the places tried in it, which both rise. */
typedef struct gpuarena__gap {
    uint64_t begin, end, alignment;              /* alignment: of the places */
    gpuarena__cursor from[2], to[2];
} gpuarena__gap;

/* Tries a place: keeps it if the block fits there and it is better than the best so far. Fewest pages are
   best, then the smallest gap, then the lowest address. */
static void gpuarena__place_try(const gpuarena *arena, const gpuarena__request *req, uint64_t begin,
                                uint32_t kind, gpuarena__gap *gap, gpuarena__place *best)
{
    uint64_t page = arena->paged.page_bytes, size = gap->end - gap->begin, count, low, high;
    if (begin < gap->begin || begin > gap->end || gap->end - begin < req->bytes) return;
    low = gpuarena__round_down(begin, page);
    high = gpuarena__whole(begin + req->bytes, page);
    count = gpuarena__holes_below(arena, &gap->to[kind], high);
    count -= gpuarena__holes_below(arena, &gap->from[kind], low);
    if (best->apart)                             /* all pages of the place that no neighbour shares */
        count = gpuarena__above(gpuarena__min(high, gpuarena__round_down(gap->end, page)),
                                gpuarena__max(low, gpuarena__whole(gap->begin, page)));
    count /= page;
    if (count > best->page_count || (count == best->page_count
        && (size > best->gap_bytes || (size == best->gap_bytes && begin >= best->begin)))) return;
    best->begin = begin;
    best->page_count = count;
    best->gap_bytes = size;
    best->alignment = gap->alignment;
}

/* Tries the places of the gap that begins at this node: a block may begin or end with each node of the gap.
   O(nodes of the gap). Where there is one stream, a large block of whole pages begins at a page if the gap
   has room: otherwise it shares its first and its last page with its neighbours. The rest before it is
   stranded until small blocks fill it, so not if that and stranded memory exceed the bound together. If the
   gap begins inside a page that is partly live, that part counts twice: so measured, memory is lowest. */
static void gpuarena__gap_look(const gpuarena *arena, const gpuarena__request *req, uint32_t first,
                               gpuarena__place *best)
{
    gpuarena__gap gap = GPUARENA_INIT;
    gpuarena__iterator at = gpuarena__blocks_from(arena, first);
    uint64_t page = arena->paged.page_bytes, aligned = gpuarena__max(req->alignment, page),
             lead = gpuarena__lead(at.node, aligned);
    gap.from[0].index = gap.from[1].index = gap.to[0].index = gap.to[1].index = first;
    gap.begin = gap.end = at.node->address;
    for (; at.index && gpuarena__is_usable(arena, req, at.node); gpuarena__next(arena, &at))
        gap.end += gpuarena__node_bytes(at.node);
    gap.alignment = req->alignment;
    if (!arena->streams.many && req->bytes >= arena->ordered_bytes && req->bytes % page == 0
        && lead + req->bytes <= gap.end - gap.begin && !gpuarena__strands_much(arena, lead))
        gap.alignment = aligned;
    at = gpuarena__blocks_from(arena, first);
    for (; at.index && at.node->address < gap.end; gpuarena__next(arena, &at)) {
        uint64_t node_end = at.node->address + gpuarena__node_bytes(at.node);
        lead = gpuarena__lead(at.node, gap.alignment);
        gpuarena__place_try(arena, req, at.node->address + lead, 0, &gap, best);
        if (node_end >= req->bytes)
            gpuarena__place_try(arena, req, gpuarena__round_down(node_end - req->bytes, gap.alignment), 1,
                                &gap, best);
    }
}

/* The best place for a request: for a block with room, in the smallest hole that holds both. apart 1: for
   pages that must move, a place with few idle pages of its own, which could not move to it. 0: it fits
   into no gap, or pages do not move. O(free blocks + holes). */
static int gpuarena__place_find(const gpuarena *arena, const gpuarena__request *req, uint32_t apart,
                                gpuarena__place *best)
{
    uint32_t hole, first, prev;
    if (apart && (arena->config.idle_fraction >= 1 || req->room)) return 0;
    best->apart = apart;
    best->begin = 0;
    best->page_count = best->gap_bytes = UINT64_MAX;
    for (hole = arena->paged.holes; hole; hole = gpuarena__node_at(arena, hole)->as.list.after) {
        const gpuarena__node *node = gpuarena__node_at(arena, hole);
        uint64_t size = gpuarena__node_bytes(node), lead = gpuarena__lead(node, req->alignment);
        if (!req->room) {
            first = hole;
            prev = node->prev;
            while (gpuarena__is_usable(arena, req, gpuarena__node_at(arena, prev))
                   && !gpuarena__is_open(gpuarena__node_at(arena, prev))) {
                first = prev;
                prev = gpuarena__node_at(arena, first)->prev;
            }
            if (!gpuarena__is_open(gpuarena__node_at(arena, prev)))   /* else this hole's gap was looked at */
                gpuarena__gap_look(arena, req, first, best);
        } else if (lead <= size && size - lead >= req->bytes && size - lead - req->bytes >= req->room
                   && (size < best->gap_bytes || (size == best->gap_bytes && node->address < best->begin))) {
            best->begin = node->address + lead;
            best->page_count = req->bytes / arena->paged.page_bytes;
            best->gap_bytes = size;
            best->alignment = req->alignment;
        }
    }
    return best->page_count != UINT64_MAX;
}

/* >>commit =============================================================================================
   Pages for a place: spare pages, new pages, and idle pages that move there; and pages that are
   released. */

/* ---- which pages move */

/* The free blocks as they would be if all streams were done: the longest, and the number of idle pages
   outside [low, high), which consists of whole pages. Memory of capture sets is not counted. */
typedef struct gpuarena__seen { uint64_t longest, page_count, low, high; } gpuarena__seen;

/* The number of idle pages outside [low, high) in a free block, or in a run of them. */
static uint64_t gpuarena__pages_outside(const gpuarena *arena, const gpuarena__node *node,
                                        const gpuarena__seen *seen)
{
    uint64_t begin = node->address, end = begin + gpuarena__node_bytes(node);
    return gpuarena__pages_between(arena, begin, gpuarena__min(end, seen->low))
        + gpuarena__pages_between(arena, gpuarena__max(begin, seen->high), end);
}

/* Tells whether a run of free blocks that would be one but for streams may contain this node. */
static int gpuarena__may_join(const gpuarena *arena, const gpuarena__node *node)
{
    return gpuarena__is_free(node) && !gpuarena__in_capture_set(arena, node);
}

/* Counts the run of free blocks around this pending one, or leaves out the block if a capture set has it. The
   run is counted at its first block that is shown and ignored at its others. Blocks that are not shown are
   never adjacent. */
static void gpuarena__run_show(const gpuarena *arena, uint32_t index, void *user)
{
    gpuarena__seen *seen = (gpuarena__seen *)user;
    const gpuarena__node *node = gpuarena__node_at(arena, index), *before;
    gpuarena__node run = GPUARENA_INIT;          /* its address and size */
    if (!gpuarena__may_join(arena, node)) {
        seen->page_count -= gpuarena__pages_outside(arena, node, seen);
        return;
    }
    for (; gpuarena__may_join(arena, before = gpuarena__node_at(arena, node->prev)); node = before)
        if (arena->streams.many ? before->record : before->record == GPUARENA__MULTI_STREAM) return;
    run.address = node->address;
    for (; gpuarena__may_join(arena, node); node = gpuarena__node_at(arena, node->next)) {
        run.size += gpuarena__node_bytes(node);
        /* these pages are counted already; joined, the blocks have more, where they meet */
        seen->page_count -= gpuarena__pages_outside(arena, node, seen);
    }
    seen->page_count += gpuarena__pages_outside(arena, &run, seen);
    seen->longest = gpuarena__max(seen->longest, run.size);
}

/* Corrects *seen, which describes single blocks, by the runs that would be one block but for streams.
   O(pending blocks). With a single stream, only blocks that wait for several are not joined already. */
static void gpuarena__seams_show(const gpuarena *arena, gpuarena__seen *seen)
{
    uint32_t record, index;
    for (record = 1; arena->streams.many && record < arena->streams.count; record++)
        gpuarena__blocks_each(arena, record, GPUARENA__UNIT, gpuarena__run_show, seen);
    for (index = arena->multi_stream; index; index = gpuarena__node_at(arena, index)->as.list.after)
        gpuarena__run_show(arena, index, seen);
}

/* The number of idle pages outside the whole pages around [begin, end), whatever they wait for. 0 and 0: of
   all. */
static uint64_t gpuarena__idle_pages(const gpuarena *arena, uint64_t begin, uint64_t end)
{
    gpuarena__iterator at = gpuarena__blocks_from(arena, gpuarena__node_around(arena, begin));
    uint64_t page = arena->paged.page_bytes;
    gpuarena__seen seen = { 0, arena->paged.idle_count, gpuarena__round_down(begin, page),
                            gpuarena__whole(end, page) };
    for (; at.index && at.node->address < end; gpuarena__next(arena, &at))
        if (gpuarena__is_free(at.node))
            seen.page_count -= gpuarena__whole_pages(arena, at.node)
                - gpuarena__pages_outside(arena, at.node, &seen);
    gpuarena__seams_show(arena, &seen);
    return seen.page_count;
}

/* The number of quiet idle pages outside the whole pages around [begin, end). O(quiet idle blocks). */
static uint64_t gpuarena__quiet_pages(const gpuarena *arena, uint64_t begin, uint64_t end)
{
    uint64_t page = arena->paged.page_bytes;
    uint32_t index = gpuarena__chain(arena, 0, page, UINT64_MAX);
    gpuarena__seen seen = { 0, 0, gpuarena__round_down(begin, page), gpuarena__whole(end, page) };
    for (; index; index = gpuarena__node_at(arena, index)->as.chain.link)
        seen.page_count += gpuarena__pages_outside(arena, gpuarena__node_at(arena, index), &seen);
    return seen.page_count;
}

/* A walk over the idle handles of a chain of blocks, except those in the pages [begin, end). A step yields
   one large handle, or all handles of one page up to the next other one; of each block the highest first. */
typedef struct gpuarena__idle_walk {
    uint64_t begin, end, address, page_count;
    uint32_t is_large;
    uint32_t block, next;                        /* the block that has them, and the chain's next one */
    const gpuarena__range *range;                /* of this block; and its pages that are left */
    uint64_t low, high;
} gpuarena__idle_walk;

static gpuarena__idle_walk gpuarena__idle_begin(const gpuarena *arena, uint32_t chain, uint64_t begin,
                                                uint64_t end)
{
    gpuarena__idle_walk at = GPUARENA_INIT;
    at.begin = gpuarena__round_down(begin, arena->paged.page_bytes);
    at.end = gpuarena__whole(end, arena->paged.page_bytes);
    at.next = chain;
    return at;
}

/* 0: the walk is over. */
static int gpuarena__idle_next(const gpuarena *arena, gpuarena__idle_walk *at)
{
    uint64_t page = arena->paged.page_bytes;
    at->page_count = at->is_large = 0;
    for (;;) {
        const gpuarena__node *node;
        while (at->low < at->high && !at->is_large) {
            uint64_t first = at->high - 1 - gpuarena__pages_back(at->range, at->high - 1),
                     address = at->range->address + first * page, count = at->range->parts[first];
            int outside = address >= at->end || address + count * page <= at->begin;
            if (at->page_count && (count > 1 || !outside)) return 1;
            at->high = first;
            if (!outside) continue;
            at->address = address;
            at->page_count += count;
            at->is_large = count > 1;
        }
        if (at->page_count || !at->next) return at->page_count != 0;
        at->block = at->next;
        node = gpuarena__node_at(arena, at->block);
        at->next = node->as.chain.link;
        at->range = gpuarena__range_of(arena, node->address);
        if (!at->range->pages) continue;
        at->low = (gpuarena__whole(node->address, page) - at->range->address) / page;
        at->high = (node->address + gpuarena__node_bytes(node) - at->range->address) / page;
        gpuarena__handles_inside(at->range, &at->low, &at->high);
    }
}

/* Sorts the first `count` blocks of a chain, the highest first. *rest: those that follow. */
static uint32_t gpuarena__chain_sort(const gpuarena *arena, uint32_t first, uint32_t count, uint32_t *rest)
{
    uint32_t left, right, sorted, *link = &sorted;
    if (count < 2) {
        *rest = gpuarena__node_at(arena, first)->as.chain.link;
        gpuarena__node_at(arena, first)->as.chain.link = 0;
        return first;
    }
    left = gpuarena__chain_sort(arena, first, count / 2, &right);
    right = gpuarena__chain_sort(arena, right, count - count / 2, rest);
    while (left && right) {
        uint64_t address = gpuarena__node_at(arena, left)->address;
        uint32_t *higher = address > gpuarena__node_at(arena, right)->address ? &left : &right;
        *link = *higher;
        link = &gpuarena__node_at(arena, *higher)->as.chain.link;
        *higher = *link;
    }
    *link = left | right;
    return sorted;
}

/* The quiet free blocks of at least `least` bytes, the highest first, as a chain; 0: there is none, or no
   page is idle. */
static uint32_t gpuarena__chain_highest(const gpuarena *arena, uint64_t least)
{
    uint32_t chain = arena->paged.idle_count ? gpuarena__chain(arena, 0, least, UINT64_MAX) : 0,
             index, count = 0;
    for (index = chain; index; index = gpuarena__node_at(arena, index)->as.chain.link) count++;
    return chain ? gpuarena__chain_sort(arena, chain, count, &index) : 0;
}

/* Claims up to `count` quiet idle handles of one page outside [begin, end), the highest first, since large
   blocks lie at low addresses. For a move it takes the smallest run that has them all, if there is one,
   and of the last run its lowest pages: so few holes are left. Returns the number of their pages; *claimed:
   their chain. An error: no host memory to claim all. */
static uint64_t gpuarena__pages_claim(gpuarena *arena, uint64_t count, uint64_t begin, uint64_t end,
                                      int to_move, uint32_t *claimed, gpuarena__error *error)
{
    uint64_t page = arena->paged.page_bytes, found = 0, best = 0;
    uint32_t chain = count ? gpuarena__chain_highest(arena, page) : 0;
    gpuarena__idle_walk at;
    *claimed = 0;
    at = gpuarena__idle_begin(arena, chain, begin, end);
    while (to_move && gpuarena__idle_next(arena, &at))
        if (!at.is_large && at.page_count >= count && (!best || at.page_count < best)) best = at.page_count;
    at = gpuarena__idle_begin(arena, chain, begin, end);
    while (found < count && gpuarena__idle_next(arena, &at)) {
        uint64_t taken = gpuarena__min(at.page_count, count - found);
        if (at.is_large || (best && at.page_count != best)) continue;
        if (!to_move) at.address += (at.page_count - taken) * page;
        *claimed = gpuarena__block_claim(arena, at.block, at.address, taken * page, error);
        if (!*claimed) break;
        found += taken;
        claimed = &gpuarena__node_at(arena, *claimed)->as.chain.link;
    }
    return found;
}

/* Finds the quiet idle large handle outside [begin, end) that goes first: the smallest with at least `count`
   pages, else the largest; the highest among equals. Returns the pages of all that there are. O(idle
   pages). */
static uint64_t gpuarena__large_find(const gpuarena *arena, uint64_t count, uint64_t begin, uint64_t end,
                                     gpuarena__idle_walk *best)
{
    uint64_t page = arena->paged.page_bytes, all = 0;
    gpuarena__idle_walk at;
    best->page_count = 0;
    if (!arena->paged.large_count || !arena->paged.idle_count) return 0;
    at = gpuarena__idle_begin(arena, gpuarena__chain(arena, 0, 2 * page, UINT64_MAX), begin, end);
    while (gpuarena__idle_next(arena, &at)) {
        int is_better = at.page_count > best->page_count;
        if (!at.is_large) continue;
        all += at.page_count;
        if (at.page_count >= count) is_better = best->page_count < count || at.page_count < best->page_count;
        if (is_better || (at.page_count == best->page_count && at.address > best->address)) *best = at;
    }
    return all;
}

/* Claims up to `count` quiet idle handles of so many pages outside [begin, end), the highest first. Returns
   their chain. An error: no host memory to claim all. */
static uint32_t gpuarena__large_claim(gpuarena *arena, uint64_t pages, uint64_t count, uint64_t begin,
                                      uint64_t end, gpuarena__error *error)
{
    uint64_t page = arena->paged.page_bytes;
    uint32_t claimed = 0, *link = &claimed;
    gpuarena__idle_walk at;
    at = gpuarena__idle_begin(arena, gpuarena__chain_highest(arena, 2 * page), begin, end);
    for (; count && gpuarena__idle_next(arena, &at); count -= at.is_large && at.page_count == pages) {
        if (!at.is_large || at.page_count != pages) continue;
        *link = gpuarena__block_claim(arena, at.block, at.address, pages * page, error);
        if (!*link) break;
        link = &gpuarena__node_at(arena, *link)->as.chain.link;
    }
    return claimed;
}

/* The bytes that could be released or moved: idle segments, spare pages and whole free pages. quiet 1: only
   those that wait for nothing; 0: all, once their waits are over. */
static uint64_t gpuarena__idle_bytes(const gpuarena *arena, int quiet)
{
    uint64_t begin = arena->paged.kept_begin, end = arena->paged.kept_end, count;
    if (!arena->paged.page_bytes) return gpuarena__idle_segments(arena, quiet);
    count = quiet ? gpuarena__quiet_pages(arena, begin, end) : gpuarena__idle_pages(arena, begin, end);
    count += arena->paged.spare_pages;
    return gpuarena__idle_segments(arena, quiet) + count * arena->paged.page_bytes;
}

/* Tells the observer of pages, with one place that they back or backed. */
static void gpuarena__tell_pages(gpuarena *arena, gpuarena_action_kind kind, uint64_t address, uint64_t count,
                                 gpuarena_stream stream)
{
    gpuarena_block block = GPUARENA_INIT;
    block.ptr = gpuarena__pointer(address);
    block.stream = GPUARENA_ANY_STREAM;
    block.state = GPUARENA_STATE_FREE;
    block.bytes = block.resident_bytes = count * arena->paged.page_bytes;
    gpuarena__tell(arena, kind, &block, stream, NULL);
}

/* Releases claimed pages: runs of handles of one page, or one large handle. There is room for the handles. 0
   and an error. */
static int gpuarena__claimed_release(gpuarena *arena, uint32_t index, gpuarena__error *error)
{
    gpuarena__paged *paged = &arena->paged;
    int done = 1;
    while (index && done) {
        const gpuarena__node *node = gpuarena__node_at(arena, index);
        uint64_t begin = node->address, bytes = gpuarena__node_bytes(node), at;
        uint32_t next = node->as.chain.link, first = paged->spare_count;
        done = gpuarena__unmap(arena, begin, bytes, error);
        if (!done) break;
        for (at = 0; at < bytes; at += paged->spare[paged->spare_count++].page_count * paged->page_bytes)
            paged->spare[paged->spare_count] = gpuarena__handle_at(arena, begin + at);
        paged->spare_pages += bytes / paged->page_bytes;
        paged->large_count -= paged->spare[first].page_count > 1;
        gpuarena__hole_make(arena, index, 0);
        while (paged->spare_count > first && done) done = gpuarena__handle_destroy(arena, 0, error);
        arena->stats.release_count++;
        gpuarena__tell_pages(arena, GPUARENA_ACTION_RELEASE, begin, bytes / paged->page_bytes, NULL);
        index = next;
    }
    gpuarena__unclaim(arena, index);
    return done;
}

/* Releases quiet idle large handles outside [begin, end) until `count` pages or more have gone, in the order
   of large_find: as long as the largest do not suffice, it finds one after the other of the same size, which
   are claimed at once. Returns how many pages have gone. An error: the driver failed, or there is no host
   memory. */
static uint64_t gpuarena__large_release(gpuarena *arena, uint64_t count, uint64_t begin, uint64_t end,
                                        gpuarena__error *error)
{
    uint64_t page = arena->paged.page_bytes, before = arena->stats.reserved_bytes, gone = 0;
    gpuarena__idle_walk large;
    uint32_t claimed;
    int done = 1;
    if (gpuarena__ask_capturing(arena, error)) return 0;
    while (done && gone < count && gpuarena__large_find(arena, count - gone, begin, end, &large)) {
        uint64_t most = gpuarena__max(1, (count - gone) / large.page_count);
        gpuarena__error said = gpuarena__no_error();         /* the next round may claim the rest */
        if (!gpuarena__spares_reserve(arena, 1)) claimed = gpuarena__set_error(&said, GPUARENA_HOST_MEMORY);
        else claimed = gpuarena__large_claim(arena, large.page_count, most, begin, end, &said);
        done = claimed && gpuarena__claimed_release(arena, claimed, &said);
        gone = (before - arena->stats.reserved_bytes) / page;    /* some may have gone before one failed */
        if (!done) *error = said;
    }
    return gone;
}

/* ---- pages for a place */

/* How many of the pages that a place lacks come from where. New handles back its lowest holes, then come
   handles of one page: those that move, and spare ones. A step of a commit that fails without an error has it
   tried again: other threads or arenas were quicker, or large handles have gone back. */
typedef struct gpuarena__commit {
    uint64_t begin, end, need, spare, create, move;
    uint64_t before;                             /* reserved bytes at first, less those released since */
    uint32_t may_move;
    uint32_t is_last;                            /* 1: no large handle can go back any more */
    uint32_t claimed;                            /* a chain of the pages that move, at their old places */
    uint32_t first;                              /* the first new handle in the table */
} gpuarena__commit;

/* Makes blocks quiet that completed events cover. Returns how many pages, up to `count`, may then move to a
   place; none while a stream is captured. may_wait: if quiet pages are too few, the host waits for streams,
   event by event, as long as that makes some quiet. */
static uint64_t gpuarena__movable(gpuarena *arena, const gpuarena__commit *commit, uint64_t count,
                                  int may_wait)
{
    uint64_t begin = commit->begin, end = commit->end;
    uint32_t record = may_wait && arena->config.streams != GPUARENA_STREAMS_SAME ? 1 : UINT32_MAX;
    gpuarena__idle_walk large;
    if (gpuarena__ask_capturing(arena, NULL)) return 0;
    (void)gpuarena__resolve_all(arena);
    while (record < arena->streams.count && gpuarena__quiet_pages(arena, begin, end) < count)
        while (record < arena->streams.count && !gpuarena__host_wait_for(arena, record)) record++;
    return gpuarena__min(count, gpuarena__quiet_pages(arena, begin, end)
                                - gpuarena__large_find(arena, 1, begin, end, &large));
}

/* The peak of live bytes since pages were last released; reserved memory is measured against it. */
static uint64_t gpuarena__peak(gpuarena *arena)
{
    gpuarena__paged *paged = &arena->paged;
    uint64_t live_peak = arena->tags.peak_bytes,
             since = live_peak > paged->past_peak_bytes ? live_peak : arena->stats.live_bytes;
    return paged->peak_bytes = gpuarena__max(paged->peak_bytes, since);
}

/* The part of a peak of live memory that may be reserved above it: config.idle_fraction. */
static uint64_t gpuarena__idle_part(const gpuarena *arena, uint64_t peak)
{
    return arena->config.idle_fraction > 0 ? (uint64_t)((double)peak * arena->config.idle_fraction) : 0;
}

/* Tells whether new pages spare idle ones in a place that lacks so many bytes. If these and live and stranded
   bytes exceed the peak and its idle part together, no move keeps reserved memory within these, and each
   strands more.
   Measured in stress/CHOICES.md, Where stranded memory fills the idle share. */
static int gpuarena__spares_idle(const gpuarena *arena, uint64_t bytes, uint64_t lack, uint64_t peak)
{
    uint64_t idle = gpuarena__idle_part(arena, peak);
    return !arena->plans.region_count && bytes >= 2 * arena->paged.page_bytes && lack <= idle / 2
        && arena->stats.live_bytes + gpuarena__stranded(arena) + lack > peak + idle;
}

/* The number of pages that may be created before idle ones move, for a place of so many bytes, of which
   `lack` have no memory. An arena with one stream gets its idle part bit by bit; growth for a plan has none.
   If idle pages are spared, a quarter of the part may stay idle. */
static uint64_t gpuarena__commit_share(gpuarena *arena, uint64_t bytes, uint64_t lack)
{
    uint64_t share = gpuarena__max(gpuarena__peak(arena), arena->stats.live_bytes + bytes), least = 0,
             part = gpuarena__idle_part(arena, share), idle = part,
             moved = arena->stats.remapped_page_count * arena->paged.page_bytes;
    if (!arena->streams.many && arena->config.idle_fraction < 1)
        idle = gpuarena__min(idle, idle / 4 + moved / 2);
    if (arena->plans.making != GPUARENA__MAKES_REGION) {
        if (gpuarena__spares_idle(arena, bytes, lack, share))
            least = arena->stats.live_bytes + gpuarena__stranded(arena) + lack + part / 4;
        share = gpuarena__max(share + idle, least);
    }
    return gpuarena__above(share, arena->stats.reserved_bytes) / arena->paged.page_bytes;
}

/* Puts the large spare handles, which the driver failed to take back, to the front of the table, and tries to
   destroy them again, unless they may still be mapped. Returns their number. */
static uint32_t gpuarena__spares_part(gpuarena *arena)
{
    gpuarena__handle *list = arena->paged.spare, one;
    uint32_t at, count = 0;
    for (at = 0; at < arena->paged.spare_count; at++) {
        if (list[at].page_count == 1) continue;
        one = list[at];
        list[at] = list[count];
        list[count++] = one;
    }
    while (count && !arena->paged.unmap_failed_count
           && gpuarena__handle_destroy(arena, arena->paged.spare_count - count, NULL)) count--;
    return count;
}

/* Has the commit tried again after idle large handles of `count` pages have gone back, whose place new pages
   take. Returns 0; the error stays if none can go. */
static int gpuarena__commit_replace(gpuarena *arena, gpuarena__commit *commit, uint64_t count,
                                    gpuarena__error *error)
{
    gpuarena__error said = gpuarena__no_error();
    uint64_t gone;
    if (!commit->may_move || commit->is_last || arena->lost) return 0;
    gone = gpuarena__large_release(arena, count, commit->begin, commit->end, &said);
    commit->before = gpuarena__above(commit->before, gone * arena->paged.page_bytes);
    commit->is_last = !gone;
    if (gone) *error = gpuarena__no_error();
    else if (said.result == GPUARENA_HOST_MEMORY) *error = said;
    return 0;
}

/* Decides where the pages come from: spare pages first; then new pages while reserved memory stays within
   config.idle_fraction above the live peak, and limit and headroom allow; then quiet idle pages, or new ones
   if these are too few. */
static int gpuarena__commit_decide(gpuarena *arena, gpuarena__commit *commit, gpuarena__error *error)
{
    uint64_t page = arena->paged.page_bytes, room, left, found = 0, share;
    uint32_t large_spares;
    gpuarena__idle_walk large;
    gpuarena_reason narrow;
    if (!gpuarena__room_now(arena, page, &room, &narrow, error)) return 0;
    room /= page;
    large_spares = gpuarena__spares_part(arena);
    commit->first = arena->paged.spare_count;
    commit->spare = gpuarena__min(commit->need, commit->first - large_spares);
    left = commit->need - commit->spare;
    share = gpuarena__commit_share(arena, commit->end - commit->begin, left * page);
    commit->create = gpuarena__min(left, room);
    if (commit->may_move && left > share)
        commit->create = gpuarena__min(commit->create,
            left - gpuarena__min(gpuarena__idle_pages(arena, commit->begin, commit->end), left - share));
    commit->move = left - commit->create;
    if (commit->move && commit->may_move)
        found = gpuarena__movable(arena, commit, commit->move, left <= room);
    if (commit->may_move && !commit->is_last && found < commit->move) {
        uint64_t all, lack = 0, headroom = arena->config.headroom_bytes, free_bytes;
        if (headroom && gpuarena__driver_info(arena, &free_bytes, NULL))     /* the headroom comes first */
            lack = gpuarena__whole(gpuarena__above(headroom, free_bytes), page) / page;
        all = gpuarena__large_find(arena, 1, commit->begin, commit->end, &large);
        if (all && found + room + all >= left + lack)
            return gpuarena__commit_replace(arena, commit, commit->move - found + lack, error);
    }
    commit->create += gpuarena__min(commit->move - found, room - commit->create);
    commit->move = found;
    if (commit->create + commit->move == left) return 1;
    return gpuarena__set_reason(error, narrow);
}

/* Tells whether too much is stranded for a place of `bytes` to have large handles: more than half of one
   handle's part of `room`, the bytes that limit and device leave; or more than three quarters of the idle
   part of the peak, this place included. Deciding the commit noted the peak. Measured in stress/CHOICES.md,
   Sizes of handles. */
static int gpuarena__strands_too_much(const gpuarena *arena, uint64_t bytes, uint64_t room)
{
    uint64_t idle = gpuarena__idle_part(arena, gpuarena__max(arena->paged.peak_bytes,
                                                             arena->stats.live_bytes + bytes));
    return gpuarena__stranded(arena) > gpuarena__min(idle - idle / 4, room / (2 * GPUARENA__HANDLE_PART));
}

/* How many pages the next new handle has, if so many are left to create in a hole: up to half of the place,
   or a 16th of a large block. Large handles make growth cheap, but the free part of one that is partly live
   cannot move. So while much is stranded, only a large block has them. A plan's pages do not move anyway; and
   a step whose plan has ended needs much at once. */
static uint64_t gpuarena__handle_pages(const gpuarena *arena, const gpuarena__commit *commit, uint64_t left)
{
    uint64_t page = arena->paged.page_bytes, bytes = commit->end - commit->begin, count = 1, most, room;
    int is_large = bytes >= GPUARENA__HANDLE_KNEE, is_block = arena->plans.making == GPUARENA__MAKES_BLOCK;
    room = gpuarena__min(gpuarena__room(arena, NULL), /* of the limit, and of the device as far as known */
                         gpuarena__above(arena->reachable_bytes, arena->stats.reserved_bytes));
    if (is_block && !(arena->plans.now && arena->plans.now->state == GPUARENA__PLAN_ENDS)
        && gpuarena__strands_much(arena, 0)
        && (!is_large || gpuarena__strands_too_much(arena, bytes, room))) return 1;
    most = (arena->stats.reserved_bytes + bytes) / GPUARENA__HANDLE_SHARE;
    most = is_large && is_block ? bytes / 16
        : gpuarena__min(bytes / 2, gpuarena__max(most, GPUARENA__HANDLE_SMALL));
    most = gpuarena__min(most, room / GPUARENA__HANDLE_PART * (is_large ? 4 : 1));
    while (count * 2 * page <= most) count *= 2;             /* far below INSIDE */
    return gpuarena__min(count, left);
}

/* Creates the commit's new handles, for one hole of the place after the other. If the driver refuses a large
   one, smaller ones are tried. Their places in the table and their charge are reserved. Returns the number of
   pages created. */
static uint64_t gpuarena__handles_create(gpuarena *arena, const gpuarena__commit *commit,
                                         gpuarena__error *error)
{
    gpuarena__paged *paged = &arena->paged;
    uint64_t page = paged->page_bytes, made = 0, most = UINT64_MAX;
    gpuarena__holes hole = gpuarena__holes_in(arena, commit->begin, commit->end);
    while (gpuarena__hole_next(arena, &hole)) {
        uint64_t left = gpuarena__min((hole.end - hole.begin) / page, commit->create - made), bytes;
        while (left) {
            gpuarena__handle handle = GPUARENA_INIT;
            handle.page_count = gpuarena__min(gpuarena__handle_pages(arena, commit, left), most);
            bytes = handle.page_count * page;
            if (gpuarena__ask_create(arena, bytes, &handle.id, error)) {
                GPUARENA_ASSERT(paged->spare_count < paged->spare_room && "spare handles have room reserved");
                paged->spare[paged->spare_count++] = handle;
                paged->spare_pages += handle.page_count;
                gpuarena__account(arena, bytes, 0 - bytes);
                left -= handle.page_count;
                made += handle.page_count;
            } else if (error->reason == GPUARENA_REASON_DRIVER_REFUSED && handle.page_count > 1)
                most = handle.page_count / 2;
            else return made;
        }
    }
    return made;
}

/* Charges and creates the commit's new pages. If the driver refuses, more pages must move. 0 and an error:
   nothing is charged, and nothing has changed, except that large handles may have gone back. */
static int gpuarena__commit_create(gpuarena *arena, gpuarena__commit *commit, gpuarena__error *error)
{
    uint64_t page = arena->paged.page_bytes, made = 0, more = commit->create + commit->move, least, lack;
    int may = 1;
    if (!gpuarena__spares_reserve(arena, commit->create))
        return gpuarena__set_error(error, GPUARENA_HOST_MEMORY);
    if (!gpuarena__charge(arena, commit->create * page, NULL)) return 0;
    if (gpuarena__is_scarce(arena, commit->create)) {        /* pages that must be new though others move */
        least = more - (commit->may_move ? gpuarena__movable(arena, commit, more, 0) : 0);
        least = gpuarena__min(commit->create, least);
        may = !gpuarena__is_beyond(arena, least) || gpuarena__ask_grant(arena, least, error);
    }
    if (may) made = gpuarena__handles_create(arena, commit, error);
    lack = commit->create - made;
    if (!lack) return 1;
    gpuarena__uncharge(arena, lack * page);
    more = commit->move + lack;
    if (may && error->reason == GPUARENA_REASON_DRIVER_REFUSED && commit->may_move
        && gpuarena__movable(arena, commit, more, 0) == more && !arena->lost) {
        arena->stats.backoff_count++;
        commit->move = more;
        commit->create = made;
        return 1;
    }
    while (arena->paged.spare_count > commit->first && gpuarena__handle_destroy(arena, 0, NULL)) continue;
    if (error->reason == GPUARENA_REASON_DRIVER_REFUSED)
        return gpuarena__commit_replace(arena, commit, lack, error);
    return 0;
}

/* If holes of a region are less than this apart, access is set for all of them with one call, and again for
   the pages between them: another call takes as long as the access to about 1 GiB. */
static const uint64_t GPUARENA__ACCESS_NEAR = (uint64_t)1 << 30;

/* Maps the handles into the holes of the place and sets access run by run. 0 and an error: everything below
   *reached is mapped. */
static int gpuarena__commit_map(gpuarena *arena, const gpuarena__commit *commit, uint64_t *reached,
                                gpuarena__error *error)
{
    const gpuarena__paged *paged = &arena->paged;
    gpuarena__holes hole = gpuarena__holes_in(arena, commit->begin, commit->end);
    uint64_t bytes, page, moved = 0;             /* moved: bytes of the block `from` */
    uint64_t begin = 0, end = 0;                 /* mapped, without access so far */
    uint64_t near = arena->plans.making == GPUARENA__MAKES_REGION ? GPUARENA__ACCESS_NEAR : 0;
    uint32_t next = commit->first, last = next, from = commit->claimed, at;
    gpuarena__range *range;
    for (;;) {
        int more = gpuarena__hole_next(arena, &hole), apart = !more || !end || hole.begin - end >= near;
        if (apart && end && !GPUARENA__ASK(arena, error, vm, access,
                                           (&arena->driver, gpuarena__pointer(begin), end - begin, 1)))
            return 0;
        if (!more) return 1;
        if (apart) begin = hole.begin;           /* of the next run */
        end = hole.end;
        range = gpuarena__page_at(arena, hole.begin, &page);
        for (*reached = hole.begin; *reached < hole.end; *reached += bytes) {
            gpuarena__handle handle;
            if (next < paged->spare_count) handle = paged->spare[next++];
            else if (from) {
                const gpuarena__node *node = gpuarena__node_at(arena, from);
                handle = gpuarena__handle_at(arena, node->address + moved);
                moved += paged->page_bytes;
                if (moved == gpuarena__node_bytes(node)) {
                    from = node->as.chain.link;
                    moved = 0;
                }
            } else handle = paged->spare[--last];
            bytes = handle.page_count * paged->page_bytes;
            if (!GPUARENA__ASK(arena, error, vm, map,
                               (&arena->driver, gpuarena__pointer(*reached), bytes, handle.id))) return 0;
            range->pages[page] = handle.id;
            range->parts[page++] = (uint32_t)handle.page_count;
            for (at = 1; at < handle.page_count; at++) range->parts[page++] = GPUARENA__INSIDE + at;
        }
    }
}

/* After commit_map: unmaps moved pages from their old places and updates the arena's data. */
static void gpuarena__commit_enter(gpuarena *arena, const gpuarena__commit *commit)
{
    gpuarena__holes hole;
    uint32_t index, next;
    for (index = commit->claimed; index; index = next) {
        const gpuarena__node *node = gpuarena__node_at(arena, index);
        int unmapped = gpuarena__unmap(arena, node->address, gpuarena__node_bytes(node), NULL);
        next = node->as.chain.link;
        gpuarena__hole_make(arena, index, !unmapped && !arena->lost);
    }
    arena->paged.spare_pages -= commit->need - commit->move;
    while (arena->paged.spare_count > commit->first)
        arena->paged.large_count += arena->paged.spare[--arena->paged.spare_count].page_count > 1;
    arena->paged.spare_count -= (uint32_t)commit->spare;
    hole = gpuarena__holes_in(arena, commit->begin, commit->end);
    while (gpuarena__hole_next(arena, &hole))
        hole.index = gpuarena__block_join(arena, gpuarena__hole_cut(arena, hole.begin, hole.end));
    arena->stats.remapped_page_count += commit->move;
    arena->stats.grow_count += commit->create != 0;
}

/* Maps the commit's pages and unmaps the moved ones from their old places. 0 and an error: nothing has
   changed, except that new pages may be spare. NONE: too few pages may move by now, since other threads have
   taken some while new ones were created. */
static int gpuarena__commit_use(gpuarena *arena, gpuarena__commit *commit, gpuarena__error *error)
{
    gpuarena__holes hole = gpuarena__holes_in(arena, commit->begin, commit->end);
    uint64_t reached = commit->begin;
    uint32_t count = 5;                          /* a block with room may be cut out of the result */
    int done;
    *error = gpuarena__no_error();               /* the driver may have refused a large handle */
    while (gpuarena__hole_next(arena, &hole)) count += 2;    /* each hole may be cut twice */
    if (!gpuarena__nodes_keep(arena, count)) return gpuarena__set_error(error, GPUARENA_HOST_MEMORY);
    done = gpuarena__pages_claim(arena, commit->move, commit->begin, commit->end, 1, &commit->claimed, error)
            == commit->move
        && gpuarena__commit_map(arena, commit, &reached, error);
    if (done) gpuarena__commit_enter(arena, commit);
    else {
        gpuarena__unclaim(arena, commit->claimed);
        hole = gpuarena__holes_in(arena, commit->begin, reached);
        while (reached > commit->begin && gpuarena__hole_next(arena, &hole)) {
            if (gpuarena__unmap(arena, hole.begin, hole.end - hole.begin, NULL) || arena->lost) continue;
            hole.index = gpuarena__hole_cut(arena, hole.begin, hole.end);
            gpuarena__hole_make(arena, hole.index, 1);
        }
    }
    arena->nodes.kept_count -= count;
    return done;
}

/* Backs the holes in [begin, end), except those that the driver failed to unmap. 0 and an error: nothing has
   changed, except that idle large handles may have gone back. */
static int gpuarena__commit_run(gpuarena *arena, uint64_t begin, uint64_t end, int may_move,
                                gpuarena_stream stream, gpuarena__error *error)
{
    gpuarena__commit commit = GPUARENA_INIT;
    gpuarena__error said;
    int done;
    /* older spare handles go back first, so that a commit that fails does not keep new ones in their place */
    (void)gpuarena__spares_part(arena);
    commit.before = arena->stats.reserved_bytes;
    commit.begin = begin;
    commit.end = end;
    commit.may_move = may_move && arena->config.idle_fraction < 1;
    do {
        commit.need = gpuarena__unmapped_pages(arena, begin, end);
        said = gpuarena__no_error();
        done = gpuarena__try_relax(arena, &said) && gpuarena__commit_decide(arena, &commit, &said)
            && gpuarena__commit_create(arena, &commit, &said) && gpuarena__commit_use(arena, &commit, &said);
    } while (!done && said.result == GPUARENA_OK);
    if (!done) {
        *error = said;
        while (arena->stats.reserved_bytes > commit.before && arena->paged.spare_count
               && !arena->paged.unmap_failed_count && gpuarena__handle_destroy(arena, 0, NULL)) continue;
    }
    gpuarena__reserved_peak_note(arena);         /* a failed attempt leaves no peak */
    if (!done) return 0;
    if (commit.need > commit.move)               /* new pages, and spare ones: no observer counts those */
        gpuarena__tell_pages(arena, GPUARENA_ACTION_GROW, begin, commit.need - commit.move, stream);
    if (commit.move) gpuarena__tell_pages(arena, GPUARENA_ACTION_REMAP, begin, commit.move, stream);
    return 1;
}

/* Tells whether `bytes` more may be reserved, as far as limits, headroom and driver tell beforehand. 0 and an
   error: no. */
static int gpuarena__growth_granted(gpuarena *arena, uint64_t bytes, gpuarena__error *error)
{
    uint64_t page = arena->paged.page_bytes, count = page ? gpuarena__whole(bytes, page) / page : 0, room;
    gpuarena_reason narrow;
    int granted;
    if (!gpuarena__room_now(arena, 0, &room, &narrow, error)) return 0;
    if (room < bytes) return gpuarena__set_reason(error, narrow);
    if (!gpuarena__is_beyond(arena, count) || !gpuarena__try_relax(arena, NULL)
        || !gpuarena__is_scarce(arena, count) || !gpuarena__charge(arena, count * page, NULL)) return 1;
    granted = gpuarena__ask_grant(arena, count, error);
    gpuarena__uncharge(arena, count * page);
    return granted;
}

/* The best place for a request. If pages must move for it, completed events are resolved first, since more
   gaps may then lack fewer pages. If there is no place, but there may be enough pages, further addresses are
   reserved: *fresh is 1 then. 0 and an error. */
static int gpuarena__place_have(gpuarena *arena, const gpuarena__request *req, gpuarena__place *place,
                                int *fresh, gpuarena__error *error)
{
    uint64_t need = gpuarena__segment_bytes(arena, req, 0), page = arena->paged.page_bytes, made, lack;
    if (!need) return gpuarena__set_reason(error, GPUARENA_REASON_TOO_LARGE);
    if (gpuarena__place_find(arena, req, 0, place)) {
        lack = gpuarena__above(place->page_count, arena->paged.spare_pages);
        made = gpuarena__min(gpuarena__room(arena, NULL) / page,
                             gpuarena__commit_share(arena, req->bytes, lack * page));
        if (lack <= made || !gpuarena__resolve_all(arena)
            || gpuarena__place_find(arena, req, 0, place)) return 1;
    }
    lack = gpuarena__above(gpuarena__whole(req->bytes, page), gpuarena__idle_bytes(arena, 0));
    need = gpuarena__whole(need + req->room, page);
    if (!gpuarena__growth_granted(arena, lack, error)
        || !gpuarena__span_reserve(arena, need, error)) return 0;
    *fresh = 1;
    return gpuarena__place_find(arena, req, 0, place);
}

/* After no pages were found for a place that may contain idle pages. 1: another place needs fewer pages that
   are neither there nor can move to it. */
static int gpuarena__place_other(const gpuarena *arena, const gpuarena__request *req,
                                 const gpuarena__error *error, gpuarena__place *place)
{
    gpuarena__place other;
    if (error->result != GPUARENA_OUT_OF_MEMORY || place->apart
        || !gpuarena__place_find(arena, req, 1, &other)
        || other.page_count + gpuarena__idle_pages(arena, place->begin, place->begin + req->bytes)
            >= place->page_count + gpuarena__idle_pages(arena, 0, 0)) return 0;
    *place = other;
    return 1;
}

/* Backs the best place for a request. Returns a free node, in a bin, that serves it, or 0 and an error. The
   node begins at the place's alignment if the request fits there, and if there is host memory: four nodes,
   one for the cut and three that take_found asks for. */
static uint32_t gpuarena__pages_grow(gpuarena *arena, const gpuarena__request *req, gpuarena__error *error)
{
    gpuarena__place place;
    const gpuarena__node *node;
    uint32_t index;
    int fresh = 0, found = gpuarena__place_have(arena, req, &place, &fresh, error);
    while (found) {
        uint64_t lacked = place.apart ? 0 : place.page_count, pending = arena->stats.pending_bytes, lead;
        if (gpuarena__commit_run(arena, place.begin, place.begin + req->bytes, 1, req->stream, error)) {
            index = gpuarena__node_around(arena, place.begin);
            lead = place.begin - gpuarena__node_at(arena, index)->address;
            if (req->room)                       /* the hole that is its room lies behind the place */
                return lead ? gpuarena__free_split(arena, index, lead) : index;
            index = gpuarena__run_take(arena, req, index, 0);
            node = gpuarena__node_at(arena, index);
            lead = gpuarena__lead(node, place.alignment);
            if (index && lead && gpuarena__node_serves(node, req->bytes, place.alignment)
                && gpuarena__nodes_reserve(arena, 4)) return gpuarena__free_split(arena, index, lead);
            if (index) return index;
            /* another thread has taken the place's free part: another place is tried */
            found = gpuarena__place_have(arena, req, &place, &fresh, error);
        } else if (gpuarena__place_other(arena, req, error, &place)) continue;
        else                                /* memory that has become quiet meanwhile may lie beside a hole */
            found = error->result == GPUARENA_OUT_OF_MEMORY && gpuarena__place_find(arena, req, 0, &place)
                && (place.page_count < lacked || arena->stats.pending_bytes < pending);
    }
    if (fresh) (void)gpuarena__spans_release(arena, NULL);
    return 0;
}

/* ---- pages given back */

/* Releases quiet idle handles of one page until reserved memory is at most `keep`. If there is no host memory
   for the handles, it goes on in steps. 1: done, or none are left. */
static int gpuarena__small_release(gpuarena *arena, uint64_t keep, gpuarena__error *error)
{
    const gpuarena__paged *paged = &arena->paged;
    gpuarena__error said;
    uint64_t page = paged->page_bytes, before, count;
    uint32_t claimed;
    do {
        said = gpuarena__no_error();
        before = arena->stats.reserved_bytes;
        count = gpuarena__whole(gpuarena__above(before, keep), page) / page;
        if (!gpuarena__spares_reserve(arena, count)) count = paged->spare_room - paged->spare_count;
        (void)gpuarena__pages_claim(arena, count, paged->kept_begin, paged->kept_end, 0, &claimed, &said);
        if (!gpuarena__claimed_release(arena, claimed, error)) return 0;
    } while (arena->stats.reserved_bytes > keep && arena->stats.reserved_bytes < before);
    if (said.result == GPUARENA_OK || arena->stats.reserved_bytes <= keep) return 1;
    *error = said;
    return 0;
}

/* Releases spare and quiet idle pages until reserved memory is at most `keep`, and the ranges that have no
   memory then. 1: done, or none are left. */
static int gpuarena__pages_release(gpuarena *arena, uint64_t keep, gpuarena__error *error)
{
    gpuarena__error said = gpuarena__no_error();
    uint64_t page = arena->paged.page_bytes;
    int over, done;
    if (gpuarena__ask_capturing(arena, error) || gpuarena__is_lost(arena, error)) return 0;
    gpuarena__retry_unmap(arena, &said);
    done = !arena->paged.unmap_failed_count;   /* destroying a page that is still mapped would free nothing */
    while (done && arena->stats.reserved_bytes > keep && arena->paged.spare_count)
        done = gpuarena__handle_destroy(arena, 0, &said);
    over = arena->stats.reserved_bytes > keep;
    if (done && over) done = gpuarena__small_release(arena, keep, &said);
    if (done && arena->stats.reserved_bytes > keep) {
        (void)gpuarena__large_release(arena, gpuarena__whole(arena->stats.reserved_bytes - keep, page) / page,
                                      arena->paged.kept_begin, arena->paged.kept_end, &said);
        done = said.result == GPUARENA_OK;
    }
    if (!done) *error = said;
    if (over) {
        arena->paged.past_peak_bytes = arena->tags.peak_bytes;
        arena->paged.peak_bytes = arena->stats.live_bytes;
    }
    return done && gpuarena__spans_release(arena, error);
}

/* ---- pages for a request */

/* Tells whether a request is served by pages. */
static int gpuarena__is_paged(const gpuarena *arena, const gpuarena__request *req)
{
    return arena->paged.page_bytes && !(req->flags & GPUARENA_ALLOC_DEDICATED);
}

/* The idle memory that could be released, or moved into [begin, end), once all work is done. */
static uint64_t gpuarena__idle_outside(const gpuarena *arena, uint64_t begin, uint64_t end)
{
    uint64_t count = arena->config.idle_fraction < 1 ? gpuarena__idle_pages(arena, begin, end) : 0;
    return gpuarena__idle_segments(arena, 0) + (count + arena->paged.spare_pages) * arena->paged.page_bytes;
}

/* The bytes by which the arena must grow for a request once all work is done; 0: no growth could serve it.
   *idle: the idle memory that could be released or moved for it. */
static uint64_t gpuarena__need(const gpuarena *arena, const gpuarena__request *req, uint64_t *idle)
{
    uint64_t need = gpuarena__segment_bytes(arena, req, 0), page = arena->paged.page_bytes;
    gpuarena__request after_sync = *req;
    gpuarena__place place;
    uint64_t all = *idle = gpuarena__idle_bytes(arena, 0);
    if (!need || !gpuarena__is_paged(arena, req)) return need;
    after_sync.after_sync = 1;
    need = gpuarena__whole(req->bytes, page);                /* in new addresses; or: */
    if (gpuarena__place_find(arena, &after_sync, 0, &place)) {
        need = place.page_count * page;
        *idle = gpuarena__idle_outside(arena, place.begin, place.begin + req->bytes);
        if (need > *idle && gpuarena__place_find(arena, &after_sync, 1, &place)
            && place.page_count * page + *idle < need + all) {
            need = place.page_count * page;
            *idle = all;
        }
    } else *idle = gpuarena__idle_outside(arena, 0, 0);
    return need;
}

/* >>plan ===============================================================================================
   Steps that come again: see PLANS in the manual. A plan gives an address to each block that is freed before
   its own allocation comes again: where it lay before, so that the plan costs next to nothing, and leaves no
   trace if the steps change, or in a region for each stream, which is obtained once, and which holds all the
   blocks of its stream, packed.
   Free memory of planned places is in no bin: it is earmarked. It is not joined when it is freed, but when an
   allocation needs it. */

/* The recorded allocation near the next one that matches this one and has not come yet. NULL: none. A match
   far away is often another allocation of the same size, which comes later. So only three on each side are
   looked at, and twice as many with each miss in a row. */
GPUARENA__NOINLINE gpuarena__planned *gpuarena__plan_look(gpuarena__plans *plans, uint64_t units,
                                                          uint32_t record)
{
    const gpuarena__sequence *sequence = &plans->now->seen;
    uint32_t away, side, at, farthest;
    if (plans->astray_at != plans->cursor) plans->astray = 0;
    farthest = (uint32_t)gpuarena__min((uint64_t)3 << plans->astray, GPUARENA__PLAN_NEAR);
    for (away = 0; away < farthest; away++)
        for (side = 0; side < 2; side++) {
            gpuarena__planned *one;
            at = side ? plans->cursor - away : plans->cursor + away;
            if (at >= sequence->count) continue;
            one = &sequence->list[at];
            if (one->units != units || one->record != record || one->served == plans->step) continue;
            if (!side) plans->cursor = at + 1;
            return one;
        }
    plans->missed++;
    plans->astray += plans->astray < 4;
    plans->astray_at = plans->cursor;
    return NULL;
}

/* The recorded allocation that matches this one: the next of the sequence, or one near it. NULL: none. */
GPUARENA__INLINE gpuarena__planned *gpuarena__plan_next(gpuarena__plans *plans, uint64_t units,
                                                        uint32_t record)
{
    const gpuarena__sequence *sequence = &plans->now->seen;
    gpuarena__planned *one = &sequence->list[plans->cursor];
    if (GPUARENA__LIKELY(plans->cursor < sequence->count && one->units == units && one->record == record
                         && one->served != plans->step)) plans->cursor++;
    else one = gpuarena__plan_look(plans, units, record);
    if (GPUARENA__LIKELY(one)) one->served = plans->step;
    return one;
}

/* ---- memory that is earmarked */

/* Takes a free block out of its bin, or out of earmarked memory; in that case returns the EARMARKED bits. */
static uint64_t gpuarena__earmark_lift(gpuarena *arena, uint32_t index)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    uint64_t bits = gpuarena__is_earmarked(node) ? GPUARENA__EARMARKED : 0;
    if (bits) node->size &= ~GPUARENA__EARMARKED;
    else gpuarena__free_remove(arena, index);
    return bits;
}

/* The node that holds an address: a few tries from this one, which may be gone, or lie elsewhere. */
static uint32_t gpuarena__earmark_find(const gpuarena *arena, uint64_t address, uint32_t index)
{
    uint32_t tries;
    for (tries = 0; tries < 8; tries++) {
        const gpuarena__node *node = gpuarena__node_at(arena, index);
        if (!node->size || node->address > address) break;
        if (address - node->address < gpuarena__node_bytes(node)) return index;
        index = node->next;
    }
    return gpuarena__node_around(arena, address);
}

/* Makes one free block of [address, address + bytes), if all of it is free for this record. It is in no bin.
   near: the node that holds the address, or one to look from. Takes two nodes: reserved. 0: it is not. */
GPUARENA__NOINLINE uint32_t gpuarena__earmark_carve(gpuarena *arena, uint64_t address, uint64_t bytes,
                                                    uint32_t record, uint32_t near)
{
    uint32_t index = gpuarena__earmark_find(arena, address, near);
    uint64_t end = address + bytes, bits;
    gpuarena__node *node;
    gpuarena__iterator at;
    for (at = gpuarena__blocks_from(arena, index);; gpuarena__next(arena, &at)) {
        if (!at.index || !(gpuarena__is_earmarked(at.node) || gpuarena__is_free(at.node))
            || (at.node->record && at.node->record != record)) return 0;
        if (at.node->address + gpuarena__node_bytes(at.node) >= end) break;
    }
    bits = gpuarena__earmark_lift(arena, index);
    node = gpuarena__node_at(arena, index);
    if (node->address < address) {
        uint32_t front = index;
        index = gpuarena__block_split(arena, front, address - node->address);
        if (bits) node->size |= bits;
        else gpuarena__free_insert(arena, front);
        node = gpuarena__node_at(arena, index);
    }
    while (node->size < bytes) {
        gpuarena__node *next = gpuarena__node_at(arena, node->next);
        bits = gpuarena__earmark_lift(arena, node->next);
        gpuarena__inherit(arena, node, next);
        gpuarena__block_absorb(arena, NULL, index, node, next);
    }
    if (node->size > bytes) {
        uint32_t rest = gpuarena__block_split(arena, index, bytes);
        node->size |= GPUARENA__EARMARKED;       /* otherwise the rest could be joined with it */
        if (bits) gpuarena__node_at(arena, rest)->size |= bits;
        else (void)gpuarena__block_join(arena, rest);
        node->size &= ~GPUARENA__EARMARKED;
    }
    return index;
}

/* The memory that a plan has for an allocation: a free node that is in no bin. 0: there is none, or it is in
   use. Takes two reserved nodes. */
GPUARENA__INLINE uint32_t gpuarena__plan_take(gpuarena *arena, uint64_t bytes, uint32_t record)
{
    const gpuarena__plan *now = arena->plans.now;
    gpuarena__planned *one, *first;
    gpuarena__node *node;
    if (now->state == GPUARENA__PLAN_RECORDS) return 0;
    one = gpuarena__plan_next(&arena->plans, bytes >> arena->plans.unit_log2, record);
    if (!one || !one->address) {
        arena->stats.unplanned_count += !one;
        return 0;
    }
    first = &now->seen.list[one->first];
    node = gpuarena__node_at(arena, first->node);
    if (GPUARENA__UNLIKELY(node->address != one->address || node->size != (bytes | GPUARENA__EARMARKED)
                           || node->record != record)) {
        int begins = node->size && node->address == one->address;
        uint32_t near = begins ? first->node : now->seen.list[one->below].node,
                 index = gpuarena__earmark_carve(arena, one->address, bytes, record, near);
        if (!index) {
            arena->plans.missed++;
            arena->stats.unplanned_count++;
            return 0;
        }
        first->node = index;
        node = gpuarena__node_at(arena, index);
    }
    node->size = bytes;
    arena->stats.planned_count++;
    return first->node;
}

/* ---- recording */

/* Ends a plan that has not served, or two steps that differ: the kind is recorded again, after a longer pause
   each time. */
static void gpuarena__plan_fail(gpuarena__plan *plan)
{
    plan->failures = plan->failures < 10 ? plan->failures + 1 : 10;
    plan->rest = plan->failures > 1 ? (uint32_t)1 << plan->failures : 0;
    plan->state = GPUARENA__PLAN_RECORDS;
    plan->seen.count = plan->clean = plan->packed = plan->trimmed = plan->moving = 0;
}

/* Records an allocation of a recorded step. */
GPUARENA__NOINLINE void gpuarena__plan_note(gpuarena *arena, uint32_t index, uint64_t bytes, uint32_t record,
                                            int plain)
{
    gpuarena__plans *plans = &arena->plans;
    gpuarena__plan *now = plans->now;
    gpuarena__sequence *fresh = &plans->fresh;
    uint64_t number = gpuarena__node_at(arena, index)->as.live.serial - fresh->serial - 1,
             units = bytes >> plans->unit_log2;
    gpuarena__planned *one;
    if (number >= GPUARENA__PLAN_MOST || units > UINT32_MAX || (number >= fresh->room
        && !GPUARENA__RESERVE(arena, gpuarena__planned, fresh->list, fresh->count,
                              (uint32_t)number + 1 - fresh->count, fresh->room))) {
        if (plans->trial) plans->trial = 0;      /* the plan goes on, and is not recorded */
        else {
            gpuarena__plan_fail(now);
            plans->now = NULL;
        }
        gpuarena__update_fast_path(arena);
        return;
    }
    one = &fresh->list[number];
    if (number >= fresh->count) {                /* else another thread's later one was recorded before */
        memset(&fresh->list[fresh->count], 0, ((size_t)number + 1 - fresh->count) * sizeof *one);
        fresh->count = (uint32_t)number + 1;
    }
    if (!plain) return;
    one->units = (uint32_t)units;
    one->record = record;
    one->address = gpuarena__node_at(arena, index)->address;
    if (now->seen.count && !plans->trial) (void)gpuarena__plan_next(plans, units, record);
}

/* Records a free in a recorded step: of one of its blocks, or of a block of the step before. */
static void gpuarena__plan_freed(gpuarena *arena, const gpuarena__node *node)
{
    gpuarena__plan *now = arena->plans.now;
    gpuarena__sequence *fresh = &arena->plans.fresh;
    uint64_t number = node->as.live.serial - fresh->serial - 1;
    if (number < fresh->count) fresh->list[number].until = fresh->count;
    number = node->as.live.serial - now->seen.serial - 1;
    if (number < now->seen.count)
        now->seen.list[number].until = now->seen.count + 1 + arena->plans.cursor;
}

/* ---- packing. Time goes round: it is counted in allocations of a step. Blocks are placed one after the
   other, each at the lowest address at which no block lies that is there at the same time: the largest first,
   and of one size the longest-lived, or the earliest. Blocks tiny beside the peak lie above all others.

   A step is cut into windows: window 1 is all of it, and window w is cut into windows 2w and 2w + 1, down to
   single allocations. The parts of a time are the fewest windows that make it up. Each window has two lists
   of addresses: list 2w of those that are taken throughout it, and list 2w + 1 of those that are taken at
   some time in it. So an address is taken at some time of a block's life if it is taken at some time in one
   of the parts, or throughout a window around one. */

typedef struct gpuarena__taken { uint64_t offset, end; } gpuarena__taken;    /* addresses, in units */
typedef struct gpuarena__list { uint32_t start, count; } gpuarena__list;     /* in pack.taken */
typedef struct gpuarena__packed {
    uint32_t from, to, wrap;                     /* it is there in [from, to) and [0, wrap); from: its number
                                                    in its sequence */
    uint64_t offset, units;
} gpuarena__packed;
typedef struct gpuarena__pack {
    const gpuarena__sequence *sequence;
    gpuarena__packed *blocks;
    uint64_t *keys;                              /* to sort the blocks by, in descending order */
    uint32_t *order;
    uint32_t count, unit_log2;
    uint32_t windows;                            /* window `windows` is the first allocation alone: 2^n */
    gpuarena__list *lists;
    gpuarena__taken *taken;                      /* by list, and by offset; neighbours in a list are one */
    uint64_t looks;                              /* into lists, and at entries passed or moved there */
    uint64_t peak, top;                          /* in units; top: the blocks placed lie below */
    uint64_t end;                                /* there is no memory above it, in units */
} gpuarena__pack;

enum {
    GPUARENA__PACK_LISTS = 2 * 21 * (2 + 2 * 2), /* of a block at most: of two times, which have on each of 21
                                                    levels two parts, each with two lists, and two windows
                                                    around parts */
    GPUARENA__PACK_LOOKS = 512,                  /* packing ends after so many for each block, but not */
    GPUARENA__PACK_LOOKS_LEAST = 1 << 21         /*   before so many in all */
};

/* Writes down the lists of a window that is a part, as pack_time does. Addresses are entered in both. One of
   them is asked: an address taken throughout the window is also taken at some time in it. */
static uint32_t gpuarena__pack_part(uint32_t window, uint32_t enters, uint32_t *lists)
{
    lists[0] = 2 * window + 1;
    lists[1] = 2 * window;
    return 1 + enters;
}

/* Writes down lists of a time. enters 1: those in which addresses are entered that are taken throughout that
   time. enters 0: those that have, together, all addresses that are taken at some moment of it. Returns how
   many. */
static uint32_t gpuarena__pack_time(const gpuarena__pack *pack, uint32_t from, uint32_t to, uint32_t enters,
                                    uint32_t *lists)
{
    uint32_t low = pack->windows + from, high = pack->windows + to, left = 0, right = 0, count = 0;
    for (; low < high || left > 1 || right > 1; low /= 2, high /= 2) {
        left /= 2;                               /* the windows around the first part and the last one */
        right /= 2;
        if (left) lists[count++] = 2 * left + enters;
        if (right && right != left) lists[count++] = 2 * right + enters;
        if (low < high && low & 1) count += gpuarena__pack_part(left = low++, enters, lists + count);
        if (low < high && high & 1) count += gpuarena__pack_part(right = --high, enters, lists + count);
    }
    return count;
}

/* Writes down the lists of both times of a block, as pack_time does. */
static uint32_t gpuarena__pack_lists(const gpuarena__pack *pack, const gpuarena__packed *one, uint32_t enters,
                                     uint32_t *lists)
{
    uint32_t count = gpuarena__pack_time(pack, one->from, one->to, enters, lists);
    return one->wrap ? count + gpuarena__pack_time(pack, 0, one->wrap, enters, lists + count) : count;
}

/* The first of a list that ends above an offset; *end: the list's end. The search adds instead of branching,
   since a processor cannot foresee which way it goes. */
static gpuarena__taken *gpuarena__pack_above(const gpuarena__pack *pack, uint32_t list, uint64_t offset,
                                             const gpuarena__taken **end)
{
    gpuarena__taken *first = pack->taken + pack->lists[list].start;
    uint32_t count = pack->lists[list].count, half;
    *end = first + count;
    for (; count > 1; count -= half) {
        half = count / 2;
        first += (first[half - 1].end <= offset) * half;
    }
    return first + (count && first->end <= offset);
}

/* The lowest offset for a block, `offset` at least: all its lists agree on it. The largest windows are asked
   first. */
static uint64_t gpuarena__pack_find(gpuarena__pack *pack, const gpuarena__packed *one, uint64_t offset)
{
    uint32_t lists[GPUARENA__PACK_LISTS], count = gpuarena__pack_lists(pack, one, 0, lists), next = count,
             agree;
    for (agree = 0; agree < count; agree++) {
        const gpuarena__taken *last, *at = gpuarena__pack_above(pack, lists[--next], offset, &last);
        if (!next) next = count;
        for (; at < last && at->offset < offset + one->units; at++) {
            offset = at->end;
            agree = 0;
            pack->looks++;
        }
        pack->looks++;
    }
    return offset;
}

/* Tells whether packing has taken longer than a plan is worth. */
static int gpuarena__pack_is_long(const gpuarena__pack *pack)
{
    uint64_t most = (uint64_t)GPUARENA__PACK_LOOKS * pack->count;
    return pack->looks > gpuarena__max(most, GPUARENA__PACK_LOOKS_LEAST);
}

/* Takes everything out of the lists. */
static void gpuarena__pack_clear(gpuarena__pack *pack)
{
    uint32_t list;
    for (list = 0; list < 4 * pack->windows; list++) pack->lists[list].count = 0;
}

/* Sorts the blocks, and places none; early 1: the earliest first of those that are of one size; keeps 1:
   first of all those that cross into the next step, as they lie there now. */
static void gpuarena__pack_begin(gpuarena__pack *pack, int early, int keeps)
{
    uint32_t at;
    for (at = 0; at < pack->count; at++) {
        const gpuarena__packed *one = &pack->blocks[at];
        uint32_t rank = early ? (uint32_t)GPUARENA__PLAN_MOST - one->from : one->to - one->from + one->wrap;
        pack->keys[at] = (uint64_t)(keeps && one->wrap) << 63 | one->units << 24 | rank;
        pack->order[at] = at;
    }
    GPUARENA__SORT(uint32_t, pack->order, pack->count, pack->keys[one] > pack->keys[other]);
    gpuarena__pack_clear(pack);
    pack->top = pack->looks = 0;
}

/* Places a block: enters its addresses into its lists. */
static void gpuarena__pack_put(gpuarena__pack *pack, uint32_t block, uint64_t offset)
{
    gpuarena__packed *one = &pack->blocks[block];
    uint32_t lists[GPUARENA__PACK_LISTS], count = gpuarena__pack_lists(pack, one, 1, lists);
    one->offset = offset;
    pack->top = gpuarena__max(pack->top, offset + one->units);
    while (count) {
        uint32_t list = lists[--count];
        uint64_t from = offset, to = offset + one->units;
        const gpuarena__taken *last;
        gpuarena__taken *at = gpuarena__pack_above(pack, list, offset - (offset != 0), &last), *past = at;
        for (; past < last && past->offset <= to; past++) {
            from = gpuarena__min(from, past->offset);
            to = gpuarena__max(to, past->end);
        }
        memmove(at + 1, past, (size_t)(last - past) * sizeof *at);
        pack->looks += (uint64_t)(last - past) / 64;         /* so many are moved in the time of a look */
        at->offset = from;
        at->end = to;
        pack->lists[list].count += (uint32_t)(at + 1 - past);
    }
}

/* Places the first `count` blocks of the order. 0: that takes too long. */
static int gpuarena__pack_place(gpuarena__pack *pack, uint32_t count)
{
    uint64_t bottom = 0;
    uint32_t at;
    for (at = 0; at < count && !gpuarena__pack_is_long(pack); at++) {
        const gpuarena__packed *one = &pack->blocks[pack->order[at]];
        if (one->units <= pack->peak >> 16 && !bottom) {         /* tiny: from here on, above all others */
            bottom = pack->top;
            gpuarena__pack_clear(pack);
        }
        gpuarena__pack_put(pack, pack->order[at], gpuarena__pack_find(pack, one, bottom));
    }
    return at == count;
}

/* Tells whether a block can be planned: it is freed before its own allocation comes again. */
static int gpuarena__is_plannable(const gpuarena__sequence *sequence, uint32_t at, uint32_t record)
{
    const gpuarena__planned *one = &sequence->list[at];
    return one->units && one->record == record && one->until > at && one->until <= sequence->count + 1 + at;
}

/* The blocks of a sequence on one stream, and their peak: the most bytes present when a block comes. */
static void gpuarena__pack_fill(gpuarena__pack *pack, uint32_t record)
{
    const gpuarena__sequence *sequence = pack->sequence;
    uint64_t now = 0, *freed = pack->keys;       /* units freed before the allocation of each number */
    uint32_t at;
    memset(freed, 0, (sequence->count + 1) * sizeof *freed);
    for (at = 0; at < sequence->count; at++) {
        gpuarena__packed *one = &pack->blocks[pack->count];
        if (!gpuarena__is_plannable(sequence, at, record)) continue;
        one->from = at;
        one->units = sequence->list[at].units;
        one->offset = sequence->list[at].address >> pack->unit_log2;
        one->to = (uint32_t)gpuarena__min(sequence->list[at].until, sequence->count);
        one->wrap = (uint32_t)gpuarena__above(sequence->list[at].until, sequence->count + 1);
        freed[one->wrap ? one->wrap : one->to] += one->units;
        if (one->wrap) now += one->units;        /* it is there when the step begins */
        pack->count++;
    }
    for (at = 0; at < sequence->count; at++) {
        now -= freed[at];
        if (gpuarena__is_plannable(sequence, at, record)) now += sequence->list[at].units;
        pack->peak = gpuarena__max(pack->peak, now);
    }
}

/* Enters a gap in both lists of the whole step: addresses that no block gets, at any time. */
static void gpuarena__pack_gap(gpuarena__pack *pack, uint64_t end)
{
    uint32_t list;
    for (list = 2; list < 4; list++) {
        gpuarena__taken *gap = &pack->taken[pack->lists[list].start + pack->lists[list].count++];
        gap->offset = pack->end;
        gap->end = end;
    }
}

/* The gaps between the memory that a plan may have for a stream: blocks that are free for it, or were
   allocated in the step that ends, and come again. A gap has no length where a range ends and the next one
   begins, and behind the last range: no block lies on both sides. */
static void gpuarena__pack_gaps(const gpuarena *arena, gpuarena__pack *pack, const gpuarena__plan *plan,
                                uint32_t record)
{
    gpuarena__iterator at;
    for (at = gpuarena__blocks(arena); at.index; gpuarena__next(arena, &at)) {
        const gpuarena__node *node = at.node;
        uint64_t offset = node->address >> pack->unit_log2;
        int usable = (gpuarena__is_free(node) || gpuarena__is_earmarked(node))
            && (!node->record || node->record == record);
        if (gpuarena__node_live(node)) {
            uint64_t number = node->as.live.serial - plan->seen.serial - 1;
            usable = node->record == record && number < plan->seen.count
                && gpuarena__is_plannable(&plan->seen, (uint32_t)number, record);
        }
        if (!usable) continue;
        if (offset != pack->end || !node->prev) gpuarena__pack_gap(pack, offset);
        pack->end = offset + (gpuarena__node_bytes(node) >> pack->unit_log2);
    }
    gpuarena__pack_gap(pack, pack->end);
}

/* Places all blocks between the gaps: where they lay before, if they can stay there, and then the others. 0:
   that takes too long. */
static int gpuarena__pack_keep(gpuarena__pack *pack)
{
    uint32_t at, left = 0;
    for (at = 0; at < pack->count && !gpuarena__pack_is_long(pack); at++) {
        uint32_t block = pack->order[at];
        const gpuarena__packed *one = &pack->blocks[block];
        if (gpuarena__pack_find(pack, one, one->offset) == one->offset)
            gpuarena__pack_put(pack, block, one->offset);
        else pack->order[left++] = block;
    }
    pack->peak = 0;                              /* no block counts as tiny */
    if (at < pack->count || !gpuarena__pack_place(pack, left)) return 0;
    for (at = 0; at < pack->count; at++) pack->order[at] = at;
    return 1;
}

/* Enters the addresses into the sequence: `base` and the offset's bytes. Sorts the blocks by them. */
static void gpuarena__pack_enter(const gpuarena__pack *pack, uint64_t base)
{
    gpuarena__planned *list = pack->sequence->list;
    uint32_t at, first = 0, below = 0;
    for (at = 0; at < pack->count; at++) pack->keys[at] = ~pack->blocks[at].offset;
    GPUARENA__SORT(uint32_t, pack->order, pack->count, pack->keys[one] > pack->keys[other]);
    for (at = 0; at < pack->count; at++) {
        const gpuarena__packed *block = &pack->blocks[pack->order[at]];
        gpuarena__planned *one = &list[block->from];
        uint64_t address = base + (block->offset << pack->unit_log2);
        if (!at || list[first].address != address) {
            below = at ? first : block->from;
            first = block->from;
        }
        one->address = address;
        one->first = first;
        one->below = below;
    }
}

/* Places the blocks in a region, and again in another order if that may do better. 0: that takes too long. */
static int gpuarena__pack_twice(gpuarena__pack *pack)
{
    uint64_t top;
    if (!gpuarena__pack_place(pack, pack->count)) return 0;
    gpuarena__pack_enter(pack, 1);
    top = pack->top;
    if (top <= pack->peak + pack->peak / 256) return 1;
    gpuarena__pack_begin(pack, 1, 0);
    if (gpuarena__pack_place(pack, pack->count) && pack->top < top) gpuarena__pack_enter(pack, 1);
    else pack->top = top;
    return 1;
}

/* Allocates the lists: each has room for all blocks that may be entered, and those of the whole step for so
   many gaps, too. Returns the bytes. 0: no host memory. */
static size_t gpuarena__pack_reserve(gpuarena *arena, gpuarena__pack *pack, uint32_t gaps)
{
    uint32_t lists[GPUARENA__PACK_LISTS], at, list;
    size_t bytes, room = 0;
    gpuarena__pack_clear(pack);
    pack->lists[2].count = pack->lists[3].count = gaps;
    for (at = 0; at < pack->count; at++) {
        uint32_t count = gpuarena__pack_lists(pack, &pack->blocks[at], 1, lists);
        while (count) pack->lists[lists[--count]].count++;
    }
    for (list = 0; list < 4 * pack->windows; list++) {
        pack->lists[list].start = (uint32_t)room;
        room += pack->lists[list].count;
    }
    bytes = (room + 1) * sizeof *pack->taken;
    if (room >= UINT32_MAX / sizeof *pack->taken) return 0;          /* 4 GiB are more than a plan is worth */
    pack->taken = (gpuarena__taken *)gpuarena__host_alloc(arena, bytes);
    return pack->taken ? bytes : 0;
}

/* Packs the blocks of a plan on one stream; keeps 1: where they lay, as far as they can, and otherwise at
   offsets in a region. 0: no host memory, or that takes too long. */
static int gpuarena__pack_make(gpuarena *arena, gpuarena__pack *pack, const gpuarena__plan *plan,
                               uint32_t record, int keeps)
{
    uint32_t count = plan->seen.count;
    size_t bytes, list_bytes;
    int done = 0;
    pack->windows = 1;
    while (pack->windows < count) pack->windows *= 2;
    bytes = count * (sizeof *pack->blocks + sizeof *pack->order) + (count + 1) * sizeof *pack->keys
        + 4 * pack->windows * sizeof *pack->lists;
    pack->blocks = (gpuarena__packed *)gpuarena__host_alloc(arena, bytes);
    if (!pack->blocks) return 0;
    pack->keys = (uint64_t *)(void *)(pack->blocks + count);
    pack->lists = (gpuarena__list *)(void *)(pack->keys + count + 1);
    pack->order = (uint32_t *)(void *)(pack->lists + 4 * pack->windows);
    pack->sequence = &plan->seen;
    pack->unit_log2 = arena->plans.unit_log2;
    gpuarena__pack_fill(pack, record);
    list_bytes = gpuarena__pack_reserve(arena, pack, keeps ? arena->nodes.chunk_count * GPUARENA__CHUNK : 0);
    if (list_bytes) {
        gpuarena__pack_begin(pack, 0, keeps);
        if (!keeps) done = gpuarena__pack_twice(pack);
        else {
            gpuarena__pack_gaps(arena, pack, plan, record);
            done = gpuarena__pack_keep(pack);
            if (done) gpuarena__pack_enter(pack, 0);
        }
        gpuarena__host_free(arena, pack->taken, list_bytes);
    }
    gpuarena__host_free(arena, pack->blocks, bytes);
    return done;
}

/* ---- regions */

/* Makes the memory that is earmarked between two addresses ordinary free memory, and tells the observer of
   blocks that are quiet by now. */
static void gpuarena__earmark_end(gpuarena *arena, uint64_t begin, uint64_t end)
{
    gpuarena__iterator at = begin ? gpuarena__blocks_from(arena, gpuarena__node_around(arena, begin))
                                  : gpuarena__blocks(arena);
    for (; at.index && at.node->address < end; gpuarena__next(arena, &at)) {
        if (at.node->size & GPUARENA__LIVE) at.node->size &= ~GPUARENA__PLANNED;
        if (!gpuarena__is_earmarked(at.node)) continue;
        at.node->size &= ~GPUARENA__EARMARKED;
        if (at.node->record && at.node->ticket <= arena->streams.list[at.node->record].quiet) {
            gpuarena__free_insert(arena, at.index);
            at.index = gpuarena__block_move(arena, at.index, 0, 0);
        } else at.index = gpuarena__block_join(arena, at.index);
        at.node = gpuarena__node_at(arena, at.index);
    }
}

/* Earmarks the blocks that a record may have between two addresses: free ones at once, live ones as soon as
   they are freed. 0: no host memory. */
static int gpuarena__earmark_begin(gpuarena *arena, uint32_t record, uint64_t begin, uint64_t end)
{
    gpuarena__iterator at = gpuarena__blocks_from(arena, gpuarena__node_around(arena, begin));
    for (; at.index && at.node->address < end; gpuarena__next(arena, &at)) {
        uint64_t low = gpuarena__max(begin, at.node->address),
                 high = gpuarena__min(end, at.node->address + gpuarena__node_bytes(at.node));
        if (at.node->record && at.node->record != record) continue;
        if (gpuarena__node_live(at.node)) at.node->size |= GPUARENA__PLANNED;
        if (!gpuarena__is_free(at.node)) continue;
        if (!gpuarena__nodes_reserve(arena, 2)) return 0;
        gpuarena__free_remove(arena, at.index);
        at.index = gpuarena__block_carve(arena, at.index, low, high - low, gpuarena__free_insert);
        at.node = gpuarena__node_at(arena, at.index);
        at.node->size |= GPUARENA__EARMARKED;
    }
    return 1;
}

/* Obtains memory for a region. 0: there is none. */
static int gpuarena__region_obtain(gpuarena *arena, gpuarena__region *region, uint64_t bytes)
{
    gpuarena__error ignored = gpuarena__no_error();
    gpuarena__request req = GPUARENA_INIT;
    gpuarena__node *node;
    uint32_t index;
    req.requested = req.bytes = bytes;
    req.alignment = arena->unit;
    req.record = region->record;
    req.stream = arena->streams.list[region->record].handle;
    index = gpuarena__hit_for(arena, &req);
    if (!index) index = gpuarena__look(arena, &req);
    if (!index && arena->paged.page_bytes) {
        arena->plans.making = GPUARENA__MAKES_REGION;
        index = gpuarena__pages_grow(arena, &req, &ignored);
        arena->plans.making = GPUARENA__MAKES_BLOCK;
    }
    if (!index || !gpuarena__nodes_reserve(arena, 1)) return 0;
    (void)gpuarena__block_slice_any(arena, NULL, index, bytes, 0);
    node = gpuarena__node_at(arena, index);
    node->size |= GPUARENA__EARMARKED;
    region->address = node->address;
    region->bytes = bytes;
    return 1;
}

/* A stream's region, which may have no memory. NULL: there are too many. */
static gpuarena__region *gpuarena__region_of(gpuarena *arena, uint32_t record)
{
    gpuarena__plans *plans = &arena->plans;
    gpuarena__region *region = plans->regions, *end = plans->regions + plans->region_count;
    while (region < end && region->record != record) region++;
    if (region < end) return region;
    if (plans->region_count == GPUARENA__PLAN_REGIONS) return NULL;
    plans->region_count++;
    region->address = region->bytes = 0;
    region->record = record;
    arena->streams.list[record].ref_count++;
    return region;
}

/* Notes that a sequence's blocks of a stream, from an address on, lie at another one now. */
static void gpuarena__plan_shift(const gpuarena__sequence *seen, uint32_t record, uint64_t from, uint64_t to)
{
    uint32_t at;
    for (at = 0; at < seen->count; at++)
        if (seen->list[at].record == record && seen->list[at].address >= from)
            seen->list[at].address += to - from;
}

/* Makes all that is earmarked ordinary free memory. No plan has a region any more. */
static void gpuarena__earmarks_end(gpuarena *arena)
{
    gpuarena__plans *plans = &arena->plans;
    uint32_t at;
    gpuarena__earmark_end(arena, 0, UINT64_MAX);
    plans->given_bytes = 0;
    for (at = 0; at < GPUARENA__PLANS; at++) plans->list[at].packed = 0;
    while (plans->region_count) arena->streams.list[plans->regions[--plans->region_count].record].ref_count--;
}

/* Tells whether a plan has earmarked memory. */
static int gpuarena__has_plan(const gpuarena *arena)
{
    uint32_t at = 0;
    while (at < GPUARENA__PLANS && arena->plans.list[at].state != GPUARENA__PLAN_SERVES) at++;
    return at < GPUARENA__PLANS;
}

/* Creates the pages again that were released for the plan of the step under way, in a few large handles,
   since the step needs more than its plan has. 1: done. */
static int gpuarena__plans_regrow(gpuarena *arena, const gpuarena__request *req)
{
    gpuarena__plans *plans = &arena->plans;
    gpuarena__error ignored = gpuarena__no_error();
    gpuarena__request more = *req;
    uint32_t index;
    more.requested = more.bytes = gpuarena__whole(plans->given_bytes, arena->paged.page_bytes);
    more.alignment = arena->unit;
    more.room = 0;
    more.flags = 0;
    plans->given_bytes = 0;
    if (!more.bytes || more.bytes > gpuarena__room(arena, NULL) || arena->config.idle_fraction < 0) return 0;
    plans->making = GPUARENA__MAKES_SPARE;
    index = gpuarena__pages_grow(arena, &more, &ignored);
    plans->making = GPUARENA__MAKES_BLOCK;
    return index != 0;
}

/* Makes earmarked memory ordinary, because it is needed. The plan of the step under way ends with the step:
   blocks that it has yet to serve lie where they are planned, if that is free. Other plans wait until a step
   of their kind begins. ends 1: they end, for their memory goes. Returns 1 if something was earmarked. */
static int gpuarena__plans_yield(gpuarena *arena, int ends)
{
    gpuarena__plans *plans = &arena->plans;
    uint32_t at;
    for (at = 0; at < GPUARENA__PLANS; at++) {
        gpuarena__plan *plan = &plans->list[at];
        if (plan->state == GPUARENA__PLAN_RECORDS) continue;
        if (plan == plans->now) plan->state = GPUARENA__PLAN_ENDS;
        else if (ends) gpuarena__plan_fail(plan);
        else plan->state = GPUARENA__PLAN_WAITS;
    }
    if (!plans->region_count) return 0;
    gpuarena__earmarks_end(arena);
    return 1;
}

/* ---- steps */

/* Tells whether blocks on this stream are planned. */
static int gpuarena__is_planned_stream(const gpuarena *arena, uint32_t record)
{
    const gpuarena__stream *stream = &arena->streams.list[record];
    return stream->state == GPUARENA__OPEN && !stream->home && !stream->key;
}

/* Earmarks the places of a plan that begin below an address: those of a stream, or with record 0 of all. The
   plan gives up a place whose record has become a capture set's or a thread's own stream's: while a plan
   waits, records are used again. 0: no host memory, or too many streams. */
static int gpuarena__plan_earmark(gpuarena *arena, gpuarena__plan *plan, uint32_t record, uint64_t below)
{
    uint32_t at;
    for (at = 0; at < plan->seen.count; at++) {
        gpuarena__planned *place = &plan->seen.list[at];
        const gpuarena__stream *stream = &arena->streams.list[place->record];
        if (stream->home || stream->key) place->address = 0;
        if (!place->address || place->address >= below || (record && place->record != record)) continue;
        if (!gpuarena__region_of(arena, place->record)
            || !gpuarena__earmark_begin(arena, place->record, place->address,
                    place->address + ((uint64_t)place->units << arena->plans.unit_log2))) return 0;
    }
    return 1;
}

/* Earmarks where the packed blocks of a stream lie in memory, and obtains a region for those that found no
   place. It may take a 64th of the peak. 0: there is none. */
static int gpuarena__pack_earmark(gpuarena *arena, gpuarena__plan *plan, const gpuarena__pack *pack,
                                  uint32_t record)
{
    uint64_t granule = gpuarena__max(arena->paged.page_bytes, GPUARENA__GRANULE),
             last = pack->end << pack->unit_log2,
             more = gpuarena__whole(gpuarena__above(pack->top, pack->end) << pack->unit_log2, granule);
    gpuarena__region *region = gpuarena__region_of(arena, record);
    if (!region || (more && region->bytes) || more > gpuarena__peak(arena) / 64) return 0;
    if (!gpuarena__plan_earmark(arena, plan, record, last)) return 0;
    if (!more) return 1;
    if (!gpuarena__region_obtain(arena, region, more)) return 0;
    gpuarena__plan_shift(&plan->seen, record, last, region->address);
    return 1;
}

/* Plans the blocks of the step that ends where they lay in it, if that memory is still there. The others are
   packed between them. Pages moved in that step, so few or none move now. 0: there is no plan, and no memory
   is earmarked for any. */
static int gpuarena__plan_keep(gpuarena *arena, gpuarena__plan *plan)
{
    uint32_t record, at, count = 0;
    int done;
    for (at = 0; at < plan->seen.count; at++) {
        gpuarena__planned *place = &plan->seen.list[at];
        if (!gpuarena__is_plannable(&plan->seen, at, place->record)
            || !gpuarena__is_planned_stream(arena, place->record)) place->address = 0;
        count += place->address != 0;
    }
    done = count != 0;                           /* else no block can be planned */
    for (record = 1; done && record < arena->streams.count; record++) {
        gpuarena__pack pack = GPUARENA_INIT;
        if (!gpuarena__is_planned_stream(arena, record)) continue;
        done = gpuarena__pack_make(arena, &pack, plan, record, 1)
            && (!pack.count || gpuarena__pack_earmark(arena, plan, &pack, record));
    }
    if (!done) (void)gpuarena__plans_yield(arena, 0);        /* some may be earmarked */
    return done;
}

/* Packs the blocks of a sequence, for a region of each stream. Returns how many regions that takes, and which
   sizes they have. 0: there is no such plan, as the regions may not fit beside the live blocks. */
static uint32_t gpuarena__plan_pack(gpuarena *arena, gpuarena__plan *plan, gpuarena__region *wanted)
{
    uint64_t all = arena->stats.live_bytes, most;
    uint32_t count = 0, record, one;
    for (one = 0; one < plan->seen.count; one++) plan->seen.list[one].address = 0;
    for (record = 1; record < arena->streams.count && count < GPUARENA__PLAN_REGIONS; record++) {
        gpuarena__pack pack = GPUARENA_INIT;
        if (!gpuarena__is_planned_stream(arena, record)) continue;
        if (!gpuarena__pack_make(arena, &pack, plan, record, 0)) return 0;
        if (!pack.top) continue;                 /* nothing to pack */
        wanted[count].record = record;
        wanted[count].bytes = gpuarena__whole(pack.top << arena->plans.unit_log2,
                                              gpuarena__max(arena->paged.page_bytes, GPUARENA__GRANULE));
        all += wanted[count++].bytes;
    }
    if (!count) return 0;
    most = gpuarena__peak(arena);
    most += gpuarena__idle_part(arena, most);
    return all > gpuarena__max(most, arena->stats.reserved_bytes) ? 0 : count;
}

/* Obtains the regions of a packed plan: that needs the least memory, but pages move for it. If a stream's
   region is too small, plans that serve get the addresses of a new one. 0: there is no memory for one, and a
   region may be gone. */
static int gpuarena__plan_enter(gpuarena *arena, gpuarena__plan *plan, const gpuarena__region *wanted,
                                uint32_t count)
{
    const gpuarena__plan *list = arena->plans.list;
    uint32_t at, one;
    for (at = 0; at < count; at++) {
        uint32_t record = wanted[at].record;
        gpuarena__region *region = gpuarena__region_of(arena, record);
        uint64_t from = region && region->bytes ? region->address : 0;
        if (!region) return 0;
        if (region->bytes < wanted[at].bytes) {
            if (from) gpuarena__earmark_end(arena, from, from + region->bytes);
            region->bytes = 0;
            if (!gpuarena__region_obtain(arena, region, wanted[at].bytes)) return 0;
            for (one = 0; from && one < GPUARENA__PLANS; one++)
                if (list[one].packed) gpuarena__plan_shift(&list[one].seen, record, from, region->address);
        }
        gpuarena__plan_shift(&plan->seen, record, 1, region->address);
    }
    plan->packed = 1;
    arena->stats.plan_count++;
    return 1;
}

/* Tells whether a packed plan lets memory go back: idle memory exceeds the need of the regions by a part of
   the peak. Otherwise pages would move for nothing, since memory reserved above the peak lies beside live
   blocks. */
static int gpuarena__plan_gains(gpuarena *arena, const gpuarena__region *wanted, uint32_t count)
{
    const gpuarena__plans *plans = &arena->plans;
    uint64_t lack = 0;
    uint32_t at, one;
    for (at = 0; at < count; at++) {
        for (one = 0; one < plans->region_count && plans->regions[one].record != wanted[at].record; one++) {}
        lack += gpuarena__above(wanted[at].bytes, one < plans->region_count ? plans->regions[one].bytes : 0);
    }
    return !lack || !arena->paged.page_bytes
        || gpuarena__idle_bytes(arena, 0) >= lack + gpuarena__peak(arena) / GPUARENA__PLAN_GAIN;
}

/* Packs a plan, and obtains its regions. gains 1: only if memory can go back then. 0: it is not packed. If it
   keeps the addresses that it had, it is not to be improved again. */
static int gpuarena__plan_move(gpuarena *arena, gpuarena__plan *plan, int gains)
{
    gpuarena__region wanted[GPUARENA__PLAN_REGIONS];
    size_t bytes = plan->seen.count * sizeof *plan->seen.list;
    gpuarena__planned *before = (gpuarena__planned *)gpuarena__host_alloc(arena, bytes);
    uint32_t count;
    plan->trimmed = 0;
    if (!before) return 0;
    memcpy(before, plan->seen.list, bytes);
    count = gpuarena__plan_pack(arena, plan, wanted);
    if (gains && !gpuarena__plan_gains(arena, wanted, count)) count = 0;
    if (!count) memcpy(plan->seen.list, before, bytes);
    gpuarena__host_free(arena, before, bytes);
    plan->trimmed = !count;
    return count && gpuarena__plan_enter(arena, plan, wanted, count);
}

/* Earmarks memory for a plan that has addresses: packs it; or, if that is not to be or a stream is captured,
   its blocks lie where they lay. gains 1: it is packed only if memory can go back then. 0: neither can be
   had. */
static int gpuarena__plan_again(gpuarena *arena, gpuarena__plan *plan, int gains)
{
    if (!arena->streams.captured) {
        plan->clean = 0;
        if (gpuarena__plan_move(arena, plan, gains)) return 1;
        if (!plan->trimmed) return 0;            /* it has lost its addresses; or there is no host memory */
    }
    return gpuarena__plan_earmark(arena, plan, 0, UINT64_MAX);
}

/* Tells whether two recorded steps are the same: sizes, streams, and when blocks are freed in the step. */
static int gpuarena__is_same_step(const gpuarena__sequence *seen, const gpuarena__sequence *fresh)
{
    uint32_t at;
    if (!seen->count || seen->count != fresh->count) return 0;
    for (at = 0; at < seen->count; at++) {
        const gpuarena__planned *one = &seen->list[at], *other = &fresh->list[at];
        uint32_t until = one->until <= seen->count ? one->until : 0;
        if (one->units != other->units || one->record != other->record || until != other->until) return 0;
    }
    return 1;
}

/* Releases idle pages beyond the peak, after plans were packed. */
static void gpuarena__plans_trim(gpuarena *arena)
{
    gpuarena__error ignored = gpuarena__no_error();
    uint64_t peak = gpuarena__peak(arena), past = arena->paged.past_peak_bytes;
    if (!arena->paged.page_bytes || arena->stats.reserved_bytes <= peak) return;
    (void)gpuarena__resolve_all(arena);
    (void)gpuarena__pages_release(arena, peak, &ignored);
    arena->paged.peak_bytes = peak;              /* the release does not forget it */
    arena->paged.past_peak_bytes = past;
}

/* Tells whether reserved memory exceeds the peak so much that a plan is packed, and pages may move. */
static int gpuarena__may_pack(gpuarena *arena)
{
    uint64_t peak = gpuarena__peak(arena);
    return !arena->streams.captured && arena->stats.reserved_bytes > peak + peak / 100;
}

/* Tells whether paged memory lies in many pieces. Then packing takes so many driver calls that steps pay for
   it only if they do not change soon. */
static int gpuarena__is_scattered(const gpuarena *arena)
{
    uint64_t count = 0;
    uint32_t hole = arena->paged.holes;
    for (; hole; hole = gpuarena__node_at(arena, hole)->as.list.after) count++;
    return count * GPUARENA__PLAN_PIECES * arena->paged.page_bytes > arena->stats.reserved_bytes;
}

/* Makes a plan of a step that has come twice. If it is not packed at once, and blocks cannot stay where they
   lay, it is packed after the step has come twice more. 0: there is no plan. */
static int gpuarena__plan_make(gpuarena *arena, gpuarena__plan *plan)
{
    gpuarena__sequence *seen = &plan->seen, *fresh = &arena->plans.fresh;
    uint32_t at;
    int done = arena->paged.page_bytes && gpuarena__may_pack(arena) && !gpuarena__is_scattered(arena)
        && gpuarena__plan_move(arena, plan, 1);
    if (done) gpuarena__plans_trim(arena);
    else {
        (void)gpuarena__plans_yield(arena, 0);   /* some memory may be earmarked */
        for (at = 0; at < seen->count; at++) seen->list[at].address = fresh->list[at].address;
        seen->serial = fresh->serial;
        done = gpuarena__plan_keep(arena, plan);
        arena->stats.plan_count += done != 0;
    }
    if (!done)
        done = plan->clean >= GPUARENA__PLAN_PROVEN && !arena->streams.captured
            && gpuarena__plan_move(arena, plan, 0);
    if (!done) {
        (void)gpuarena__plans_yield(arena, 0);   /* some regions may have been obtained, or lost */
        return 0;
    }
    plan->state = GPUARENA__PLAN_SERVES;
    plan->clean = plan->trimmed = 0;
    return 1;
}

/* Plans the blocks of a single step in which pages moved, or memory was released, where they lay. That costs
   few driver calls or none, so little is lost if the next step differs. That step is recorded, too. Not if
   another plan has memory, or if steps have differed before. */
static void gpuarena__plan_try(gpuarena *arena, gpuarena__plan *plan)
{
    if (!arena->paged.page_bytes || arena->plans.region_count || plan->failures) return;
    arena->plans.trial = (uint32_t)gpuarena__plan_keep(arena, plan);
    if (arena->plans.trial) plan->state = GPUARENA__PLAN_SERVES;
}

/* A step has been recorded. A plan is made if it is the same as the one before, and pages moved or memory was
   released in it, or it was a trial. again 1: the step that begins is of its kind, too. */
static void gpuarena__plan_compare(gpuarena *arena, gpuarena__plan *plan, int again)
{
    gpuarena__plans *plans = &arena->plans;
    gpuarena__sequence seen = plan->seen;
    int alike = gpuarena__is_same_step(&seen, &plans->fresh), waits = 0, trial = plans->trial != 0,
        moved = plans->moved_count != arena->stats.remapped_page_count + arena->stats.release_count;
    plan->state = GPUARENA__PLAN_RECORDS;
    plans->trial = 0;
    if (trial) gpuarena__earmarks_end(arena);
    if (alike && !moved && !trial) plan->failures += 2;  /* no plan is needed: watched again later */
    else if (alike) {
        if (gpuarena__plan_make(arena, plan)) return;
        waits = plan->clean++ < GPUARENA__PLAN_PROVEN;
    }
    if (seen.count && !waits) gpuarena__plan_fail(plan);
    if (plan->rest || (alike && !waits)) return;
    plan->seen = plans->fresh;
    plans->fresh = seen;
    if (moved && !alike && again) gpuarena__plan_try(arena, plan);
}

/* The record of a kind. A new kind takes the record of the one whose step was longest ago. */
static gpuarena__plan *gpuarena__plan_of(gpuarena__plans *plans, uint32_t kind)
{
    gpuarena__plan *oldest = plans->list;
    uint32_t at;
    for (at = 0; at < GPUARENA__PLANS; at++) {
        gpuarena__plan *plan = &plans->list[at];
        if (plan->kind == kind) return plan;
        if (plan->step < oldest->step) oldest = plan;
    }
    gpuarena__plan_fail(oldest);
    oldest->kind = kind;
    oldest->rest = oldest->failures = 0;
    return oldest;
}

/* After a plan has served steps throughout: packs it and all others that serve, unless memory is within 1 %
   of the peak anyway, and releases idle pages beyond the peak. A plan that was packed is improved again after
   a few steps, since no block is left then that lay elsewhere. */
static void gpuarena__plan_improve(gpuarena *arena, gpuarena__plan *plan)
{
    gpuarena__plan *one = arena->plans.list, *end = one + GPUARENA__PLANS;
    plan->trimmed = 1;
    if (!plan->packed && gpuarena__may_pack(arena)) {
        gpuarena__earmarks_end(arena);
        for (; one < end; one++)
            if (one->state == GPUARENA__PLAN_SERVES && !gpuarena__plan_again(arena, one, 1))
                gpuarena__plan_fail(one);
    }
    if (plan->state == GPUARENA__PLAN_SERVES) gpuarena__plans_trim(arena);
}

/* Earmarks memory for a plan that waits: packs it, since pages may have moved meanwhile, or its blocks lie
   where they lay. The plan ends if neither can be had, or if pages moved for that often in a row: then the
   memory of other steps has no room beside it. */
static void gpuarena__plan_resume(gpuarena *arena, gpuarena__plan *plan)
{
    uint64_t moved = arena->stats.remapped_page_count;
    int done = (arena->streams.captured || plan->moving < GPUARENA__PLAN_PROVEN + 2)
        && gpuarena__plan_again(arena, plan, 0);
    plan->moving = moved != arena->stats.remapped_page_count ? plan->moving + 1 : 0;
    if (done) plan->state = GPUARENA__PLAN_SERVES;
    else gpuarena__plan_fail(plan);
}

/* The step in progress ends, and one of this kind begins (0: none). */
static void gpuarena__step(gpuarena *arena, uint32_t kind)
{
    gpuarena__plans *plans = &arena->plans;
    gpuarena__plan *now = plans->now, *plan;
    uint64_t reserved = arena->stats.reserved_bytes;
    int recorded = gpuarena__is_recorded(arena);
    if (arena->config.plan == GPUARENA_PLAN_OFF || arena->config.scrub || arena->config.debug || arena->lost)
        return;
    plans->unit_log2 = gpuarena__lowest_bit(arena->unit);
    if (now) {
        plans->now = NULL;
        gpuarena__update_fast_path(arena);
        if (recorded) gpuarena__plan_compare(arena, now, now->kind == kind);
        else if (now->state == GPUARENA__PLAN_ENDS || plans->missed > now->seen.count / 8)
            gpuarena__plan_fail(now);
        else now->clean = plans->missed ? 0 : now->clean + 1;
    }
    plan = kind ? gpuarena__plan_of(plans, kind) : NULL;     /* may take the place of the last plan */
    if (plan && plan->state == GPUARENA__PLAN_WAITS) gpuarena__plan_resume(arena, plan);
    else if (plan && plan->state == GPUARENA__PLAN_SERVES && !plan->trimmed
             && plan->clean >= GPUARENA__PLAN_PROVEN && !arena->streams.captured)
        gpuarena__plan_improve(arena, plan);     /* no page moves while a stream is captured */
    if (plans->region_count && !gpuarena__has_plan(arena)) gpuarena__earmarks_end(arena);
    if (!plan) return;
    plan->step = ++plans->step;
    if (plan->rest) {
        plan->rest--;
        return;
    }
    plans->given_bytes += gpuarena__above(reserved, arena->stats.reserved_bytes);
    plans->missed = plans->cursor = plans->astray = 0;
    plans->moved_count = arena->stats.remapped_page_count + arena->stats.release_count;
    plans->fresh.count = 0;
    plans->fresh.serial = arena->serial;
    plans->now = plan;
    gpuarena__update_fast_path(arena);
}

/* >>release ============================================================================================
   Releasing idle memory, by configuration or on request; and growing to a target or back. */

/* Releases idle segments until reserved memory is at most `keep`: the shortest that covers the excess, else
   the longest, so that little more goes than needed. A segment that the driver refuses stays and is not tried
   again in this pass. Streams are asked for captures once, before the first one goes. */
static void gpuarena__segments_release(gpuarena *arena, uint64_t keep, int quiet, gpuarena_stream stream,
                                       gpuarena__error *refusal)
{
    gpuarena__range *range, *list = NULL, **link;
    gpuarena__range *covering = NULL;            /* those that cover the excess, which only falls; the
                                                    shortest first */
    uint32_t count = 0;
    for (range = arena->ranges.last; range && arena->stats.reserved_bytes > keep; range = range->before) {
        if (range->refused == arena->release_pass || !gpuarena__segment_idle(arena, range, quiet)) continue;
        range->next = list;
        list = range;
        count++;
    }
    if (!list || gpuarena__ask_capturing(arena, refusal)) return;
    list = gpuarena__ranges_sort(list, count, &range);
    while ((list || covering) && arena->stats.reserved_bytes > keep && refusal->result != GPUARENA_CAPTURE) {
        while (list && list->bytes >= arena->stats.reserved_bytes - keep) {
            range = list;
            list = range->next;
            range->next = covering;
            covering = range;
        }
        link = covering ? &covering : &list;
        range = *link;
        *link = range->next;
        if (!gpuarena__segment_give_back(arena, range, stream, refusal))
            range->refused = arena->release_pass;
    }
}

/* Releases idle segments and pages until reserved memory is at most `keep`. quiet 1: only those that wait for
   nothing. 1: done, or none is left. 0 and an error: the driver refused. */
static int gpuarena__release_more(gpuarena *arena, uint64_t keep, int quiet, gpuarena_stream stream,
                                  gpuarena__error *error)
{
    gpuarena__error refusal = gpuarena__no_error();
    gpuarena__segments_release(arena, keep, quiet, stream, &refusal);
    if (arena->paged.page_bytes && arena->stats.reserved_bytes > keep && !arena->lost
        && refusal.result != GPUARENA_CAPTURE) {
        if (!quiet || arena->streams.many || arena->multi_stream || gpuarena__idle_known(arena)
            || gpuarena__idle_segments(arena, 0))
            (void)gpuarena__resolve_all(arena);  /* else no page could become quiet, and no segment */
        if (gpuarena__pages_release(arena, keep, &refusal) && !quiet && arena->stats.reserved_bytes > keep
            && gpuarena__idle_bytes(arena, 0) && gpuarena__wait_device(arena, &refusal))
            (void)gpuarena__pages_release(arena, keep, &refusal);
    }
    (void)gpuarena__is_lost(arena, &refusal);    /* or the loss has just been found */
    if (arena->stats.reserved_bytes <= keep || refusal.result == GPUARENA_OK) return 1;
    if (error) *error = refusal;
    return 0;
}

/* Releases idle segments and pages in a new pass: segments that the driver has refused to take are tried
   again. */
static int gpuarena__release_to(gpuarena *arena, uint64_t keep, int quiet, gpuarena_stream stream,
                                gpuarena__error *error)
{
    if (keep < arena->stats.reserved_bytes) (void)gpuarena__plans_yield(arena, 1);
    arena->release_pass++;
    return gpuarena__release_more(arena, keep, quiet, stream, error);
}

/* ---- automatic release: config.release */

/* Call this before memory becomes idle or grows: the number of idle pages now was not needed so far. */
static void gpuarena__note_idle_low(gpuarena *arena)
{
    arena->paged.idle_low_count = gpuarena__min(arena->paged.idle_low_count, gpuarena__idle_known(arena));
}

/* Release AGE: releases memory that was idle for release_age operations. A segment that the driver refuses
   counts as young again. */
static void gpuarena__release_aged(gpuarena *arena, gpuarena_stream stream, gpuarena__error *error)
{
    uint64_t now = gpuarena__clock(arena), due = now + arena->config.release_age;
    gpuarena__paged *paged = &arena->paged;
    gpuarena__range *range, *after;
    uint32_t asked = 0;
    for (range = arena->ranges.first; range; range = after) {
        uint64_t then = range->used + arena->config.release_age;
        after = range->after;
        if (!gpuarena__segment_idle(arena, range, 0)) continue;
        if (then > now) due = gpuarena__min(due, then);
        else if ((!asked++ && gpuarena__ask_capturing(arena, error)) || error->result == GPUARENA_CAPTURE
                || !gpuarena__segment_give_back(arena, range, stream, error)) range->used = now;
    }
    if (now < paged->idle_due) due = gpuarena__min(due, paged->idle_due);
    arena->release_due = due;
    if (!paged->page_bytes || now < paged->idle_due) return;
    paged->idle_due = now + arena->config.release_age;
    gpuarena__note_idle_low(arena);
    (void)gpuarena__release_more(arena, arena->stats.reserved_bytes
                                 - paged->idle_low_count * paged->page_bytes, 1, stream, error);
    paged->idle_low_count = gpuarena__idle_known(arena);
}

/* Release PRESSURE, before growth. Not if the headroom would then keep the arena from growing again for a
   need that its idle memory may serve. No sum wraps: release_bytes, headroom and free memory are at most
   MAX_TOTAL, and growth is at most a segment, or the addresses behind a block. */
static void gpuarena__release_pressed(gpuarena *arena, uint64_t need, uint64_t bytes, gpuarena_stream stream)
{
    uint64_t free_bytes, wanted = arena->config.release_bytes + bytes, unmapped;
    if (arena->config.release != GPUARENA_RELEASE_PRESSURE || !need || !gpuarena__idle_bytes(arena, 0)
        || !gpuarena__driver_info(arena, &free_bytes, NULL) || free_bytes >= wanted) return;
    (void)gpuarena__resolve_all(arena);
    unmapped = gpuarena__min(wanted - free_bytes, gpuarena__idle_bytes(arena, 1));
    if (free_bytes + unmapped < need + arena->config.headroom_bytes) return;
    arena->release_pass++;                       /* as release_to does, but plans go on: theirs is not idle */
    (void)gpuarena__release_more(arena, arena->stats.reserved_bytes - unmapped, 1, stream, NULL);
}

/* Backs the lowest holes until reserved memory is at least `target`. If that much is not available, it tries
   half as much at a time, down to one page. */
static int gpuarena__pages_reserve(gpuarena *arena, uint64_t target, gpuarena__error *error)
{
    uint64_t page = arena->paged.page_bytes, step = 64, count;
    while (arena->stats.reserved_bytes < target) {
        uint32_t hole = arena->paged.holes, lowest = hole;
        const gpuarena__node *node;
        for (; hole; hole = gpuarena__node_at(arena, hole)->as.list.after)
            if (gpuarena__node_at(arena, hole)->address < gpuarena__node_at(arena, lowest)->address)
                lowest = hole;
        if (!lowest) {
            if (!gpuarena__span_reserve(arena, page, error)) return 0;
            continue;
        }
        node = gpuarena__node_at(arena, lowest);
        count = gpuarena__whole(target - arena->stats.reserved_bytes, page) / page;
        count = gpuarena__min(gpuarena__min(count, step), gpuarena__node_bytes(node) / page);
        if (gpuarena__commit_run(arena, node->address, node->address + count * page, 0, NULL, error))
            continue;
        if (error->result != GPUARENA_OUT_OF_MEMORY || count == 1) return 0;
        step = count / 2;
        arena->stats.backoff_count += error->reason == GPUARENA_REASON_DRIVER_REFUSED;
    }
    return 1;
}

/* Grows until reserved memory is at least `target`, in as few pieces as the driver allows. 0 and an error:
   only in part; the segments obtained so far are marked fresh. */
static int gpuarena__grow_to(gpuarena *arena, uint64_t target, gpuarena__error *error)
{
    uint64_t before = arena->stats.reserved_bytes;
    gpuarena__range *range;
    uint32_t index;
    for (range = arena->ranges.first; range; range = range->after) range->fresh = 0;
    if (arena->paged.page_bytes) return gpuarena__pages_reserve(arena, target, error);
    while (arena->stats.reserved_bytes < target
           && (index = gpuarena__grow(arena, GPUARENA__GRANULE, target - arena->stats.reserved_bytes,
                                      NULL, error)) != 0)
        gpuarena__range_of(arena, gpuarena__node_at(arena, index)->address)->fresh = 1;
    if (arena->memory == GPUARENA_MEMORY_ASYNC && arena->stats.reserved_bytes > before)
        (void)gpuarena__wait_device(arena, NULL);
    return arena->stats.reserved_bytes >= target;
}

/* Undoes a failed grow_to of an arena that had `reserved` bytes before. New pages may have been joined with
   memory that a stream freed: then the device is waited for. A piece that the driver refuses stays as cached
   memory. */
static void gpuarena__grow_undo(gpuarena *arena, uint64_t reserved)
{
    gpuarena__error ignored = gpuarena__no_error();
    gpuarena__range *range, *before;
    uint32_t asked = 0;
    if (arena->paged.page_bytes && !arena->lost)
        arena->stats.driver_error_count += !gpuarena__release_to(arena, reserved, 0, NULL, &ignored);
    else for (range = arena->ranges.last; range && ignored.result != GPUARENA_CAPTURE; range = before) {
        before = range->before;
        if (range->fresh && !arena->lost
            && ((!asked++ && gpuarena__ask_capturing(arena, &ignored))
                || !gpuarena__segment_give_back(arena, range, NULL, &ignored)))
            arena->stats.driver_error_count += ignored.result != GPUARENA_OK;
    }
}

/* >>scrub ==============================================================================================
   Clearing of blocks, as SCRUB in the manual says. Everything here holds the slow-path mutex. */

/* Tells whether a clear may be enqueued on a stream. On a captured one it would become part of a graph, and
   repeat with each launch; on the default stream it would break a capture. 0 and an error. */
static int gpuarena__may_clear(gpuarena *arena, gpuarena_stream stream, gpuarena__error *error)
{
    return !gpuarena__ask_captured(arena, stream, error)
        && (stream || arena->driver.null_is_per_thread || !gpuarena__ask_capturing(arena, error));
}

/* Clears a live block on a stream, from an address to its end. 0 and an error. */
static int gpuarena__clear_on(gpuarena *arena, const gpuarena__node *node, uint64_t address,
                              gpuarena_stream stream, gpuarena__error *error)
{
    uint64_t bytes = node->address + gpuarena__node_bytes(node) - address;
    if (!gpuarena__may_clear(arena, stream, error)) return 0;
    return GPUARENA__ASK_CALL(arena, error, clear, arena->driver.clear(&arena->driver,
                                                                       gpuarena__pointer(address), bytes,
                                                                       stream));
}

/* Clears a live block from an address to its end on the default stream, between two waits for the device.
   CLEARING marks the block while the clear may be under way. */
static int gpuarena__clear_alone(gpuarena *arena, gpuarena__node *node, uint64_t address,
                                 gpuarena__error *error)
{
    int waits = (int)arena->streams.ordered;
    if (waits && !gpuarena__wait_device(arena, error)) return 0;
    if (!gpuarena__clear_on(arena, node, address, NULL, error)) return 0;
    node->size |= GPUARENA__CLEARING;
    if (waits && !gpuarena__wait_device(arena, error)) return 0;
    node->size &= ~GPUARENA__CLEARING;
    return 1;
}

/* Makes a stream wait for the other streams that use a live block. 0: it cannot. */
static int gpuarena__follow_uses(gpuarena *arena, const gpuarena__node *node, gpuarena_stream stream)
{
    uint32_t record = gpuarena__stream_find(arena, stream), use_at;
    arena->streams.pass++;
    for (use_at = node->use_at; use_at; use_at = gpuarena__node_at(arena, use_at)->next) {
        uint32_t used = gpuarena__node_at(arena, use_at)->record;
        if (used == record) continue;
        if (arena->streams.list[used].state == GPUARENA__CLOSED
            || gpuarena__ask_captured(arena, stream, NULL)) return 0;       /* a wait would break a capture */
        arena->streams.list[used].ticket++;      /* the work that the stream has so far */
        if (!gpuarena__stream_wait_for(arena, stream, used)) return 0;
    }
    return 1;
}

/* Finds the stream that can clear a block which is freed on `stream`. 0: no single stream can. */
static int gpuarena__scrub_stream(const gpuarena *arena, const gpuarena__node *node, gpuarena_stream stream,
                                  gpuarena_stream *on)
{
    *on = stream;
    if (gpuarena__is_one_stream(stream)) return 1;
    *on = NULL;
    if (!arena->streams.ordered) return 1;
    *on = gpuarena__own_stream(arena, node);
    return *on != GPUARENA_OWN_STREAM;
}

/* Clears a live block that is about to be freed, from an address to its end. *stream becomes the stream to
   free it on. 0 and an error: it must not be freed. */
static int gpuarena__scrub_free(gpuarena *arena, uint32_t index, uint64_t address, gpuarena_stream *stream,
                                gpuarena__error *error)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    gpuarena_stream on;
    int done = 0;
    /* a block of one stream was cleared there, perhaps a moment ago */
    if (*stream == GPUARENA_ANY_STREAM && arena->config.scrub & GPUARENA_SCRUB_ALLOC && arena->streams.ordered
        && node->record) *stream = GPUARENA_OWN_STREAM;
    if (!(arena->config.scrub & GPUARENA_SCRUB_FREE)) return 1;
    if (arena->lost) done = 1;                   /* nobody gets the memory any more */
    else if (!(node->size & GPUARENA__CLEARING) && gpuarena__scrub_stream(arena, node, *stream, &on)
             && gpuarena__follow_uses(arena, node, on)) {
        done = gpuarena__clear_on(arena, node, address, on, error);
        if (arena->streams.ordered && *stream == GPUARENA_ANY_STREAM) *stream = GPUARENA_OWN_STREAM;
    } else {
        done = gpuarena__clear_alone(arena, node, address, error);
        *stream = GPUARENA_ANY_STREAM;
    }
    if (arena->lost) node->size &= ~GPUARENA__CLEARING;      /* the block will be freed */
    return done || arena->lost;
}

/* Clears the end of a new block before it is handed out for use on a stream. 0 and an error. */
static int gpuarena__scrub_new(gpuarena *arena, uint32_t index, uint64_t address, gpuarena_stream stream,
                               gpuarena__error *error)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    uint64_t late = node->size & GPUARENA__CLEARING;
    gpuarena_stream on;
    if (!(arena->config.scrub & GPUARENA_SCRUB_ALLOC)) return 1;
    if (stream != GPUARENA_ANY_STREAM && gpuarena__scrub_stream(arena, node, stream, &on))
        return gpuarena__clear_on(arena, node, address, on, error);
    if (gpuarena__clear_alone(arena, node, address, error)) return 1;
    /* a new block for every stream waits for the device anyway */
    node->size = (node->size & ~GPUARENA__CLEARING) | late;
    return 0;
}

/* >>parse ==============================================================================================
   Configuration: text, defaults and checks. One table of keys serves reading, writing, checking and
   filling in. */

/* Names of the values of enums, from 0 on. */
static const char *const gpuarena__backings[] = { "auto", "paged", "segments", "pinned", "managed", "async",
                                                  NULL };
static const char *const gpuarena__growths[] = { "auto", "fixed", "exact", "step", "double", NULL };
static const char *const gpuarena__shares[] = { "none", "whole", "pages", NULL };
static const char *const gpuarena__releases[] = { "on_demand", "idle", "age", "pressure", NULL };
static const char *const gpuarena__reuses[] = { "auto", "same", "events", "steal", NULL };
static const char *const gpuarena__plannings[] = { "auto", "off", NULL };
static const char *const gpuarena__scrubs[] = { "off", "free", "alloc", "both", NULL };
static const char *const gpuarena__debugs[] = { "off", "passthrough", "guard", NULL };

typedef enum gpuarena__kind {                    /* the kind of a key's value. 64 bits wide: */
    GPUARENA__SIZE,                              /*   uint64_t */
    GPUARENA__DEVICES,                           /*   uint64_t: a bit for each */
    GPUARENA__LIMIT,                             /*   limit_bytes; with it limit_base and limit_fraction */
    GPUARENA__SHARE,                             /*   double; -1 stands for none */
    GPUARENA__NUMBER,                            /* 32 bits wide: uint32_t */
    GPUARENA__CHOICE                             /*   an enum */
} gpuarena__kind;

/* A number is 0, which is the default, or from `low` to `high`; where `low` is not 0, a power of two. */
typedef struct gpuarena__key {
    const char *name;
    gpuarena__kind kind;
    size_t offset;                               /* offset of its field, or of the first of several */
    const char *const *names;                    /* CHOICE */
    uint64_t low, high;                          /* all but CHOICE and SHARE */
} gpuarena__key;
#define GPUARENA__KEYS(X) \
    X(backing, CHOICE, backing, gpuarena__backings, 0, 0) \
    X(growth, CHOICE, growth, gpuarena__growths, 0, 0) \
    X(share, CHOICE, share, gpuarena__shares, 0, 0) \
    X(peers, DEVICES, peers, NULL, 0, UINT64_MAX) \
    X(page, SIZE, page_bytes, NULL, GPUARENA__GRANULE, (uint64_t)1 << 30) \
    X(idle, SHARE, idle_fraction, NULL, 0, 0) \
    X(large, SIZE, large_bytes, NULL, 0, GPUARENA__MAX_BYTES) \
    X(initial, SIZE, initial_bytes, NULL, 0, GPUARENA__MAX_BYTES) \
    X(step, SIZE, step_bytes, NULL, 0, GPUARENA__MAX_BYTES) \
    X(step_max, SIZE, step_max_bytes, NULL, 0, GPUARENA__MAX_BYTES) \
    X(alignment, SIZE, alignment, NULL, GPUARENA__UNIT, GPUARENA__GRANULE) \
    X(limit, LIMIT, limit_bytes, NULL, 0, UINT64_MAX) \
    X(headroom, SIZE, headroom_bytes, NULL, 0, UINT64_MAX) \
    X(oversubscribe, NUMBER, oversubscribe, NULL, 0, 1) \
    X(release, CHOICE, release, gpuarena__releases, 0, 0) \
    X(release_at, SIZE, release_bytes, NULL, 0, UINT64_MAX) \
    X(release_keep, SHARE, release_keep, NULL, 0, 0) \
    X(release_age, NUMBER, release_age, NULL, 0, UINT32_MAX) \
    X(streams, CHOICE, streams, gpuarena__reuses, 0, 0) \
    X(wait_ms, NUMBER, wait_ms, NULL, 0, UINT32_MAX) \
    X(scrub, CHOICE, scrub, gpuarena__scrubs, 0, 0) \
    X(plan, CHOICE, plan, gpuarena__plannings, 0, 0) \
    X(debug, CHOICE, debug, gpuarena__debugs, 0, 0)
#define X(name, kind, field, names, low, high) \
    { #name, GPUARENA__##kind, offsetof(gpuarena_config, field), names, low, high },
static const gpuarena__key gpuarena__keys[] = { GPUARENA__KEYS(X) };
#undef X
#define X(name, kind, field, names, low, high) GPUARENA__KEY_##name,
enum { GPUARENA__KEYS(X) GPUARENA__KEY_COUNT };
#undef X
typedef char gpuarena__keys_fit_a_mask[GPUARENA__KEY_COUNT <= 64 ? 1 : -1];

/* Rules: a key may be set, or may have these values, only with certain values of another key. Values of enums
   are bits. X(key, values, other key, its values) */
#define GPUARENA__IS(name) (1u << GPUARENA_##name)
#define GPUARENA__SET      (~1u)                 /* any value but 0 */
#define GPUARENA__STEPPED  (GPUARENA__IS(GROWTH_STEP) | GPUARENA__IS(GROWTH_DOUBLE))
#define GPUARENA__RULES(X) \
    X(growth, GPUARENA__STEPPED, backing, ~GPUARENA__IS(BACKING_PAGED)) \
    X(share, GPUARENA__IS(SHARE_WHOLE), backing, GPUARENA__IS(BACKING_SEGMENTS)) \
    X(share, GPUARENA__IS(SHARE_PAGES), backing, GPUARENA__IS(BACKING_PAGED)) \
    X(peers, GPUARENA__SET, backing, GPUARENA__IS(BACKING_PAGED) | GPUARENA__IS(BACKING_SEGMENTS)) \
    X(page, GPUARENA__SET, backing, GPUARENA__IS(BACKING_PAGED)) \
    X(idle, GPUARENA__SET, backing, GPUARENA__IS(BACKING_PAGED)) \
    X(large, GPUARENA__SET, backing, GPUARENA__IS(BACKING_PAGED)) \
    X(initial, GPUARENA__SET, growth, ~GPUARENA__IS(GROWTH_FIXED)) \
    X(step, GPUARENA__SET, growth, GPUARENA__STEPPED) \
    X(step_max, GPUARENA__SET, growth, GPUARENA__IS(GROWTH_DOUBLE)) \
    X(headroom, GPUARENA__SET, backing, ~GPUARENA__IS(BACKING_MANAGED)) \
    X(release, GPUARENA__IS(RELEASE_PRESSURE), backing, ~GPUARENA__IS(BACKING_MANAGED)) \
    X(release, GPUARENA__SET, growth, ~GPUARENA__IS(GROWTH_FIXED)) \
    X(release_at, GPUARENA__SET, release, GPUARENA__IS(RELEASE_IDLE) | GPUARENA__IS(RELEASE_PRESSURE)) \
    X(release_keep, GPUARENA__SET, release, GPUARENA__IS(RELEASE_IDLE)) \
    X(release_age, GPUARENA__SET, release, GPUARENA__IS(RELEASE_AGE)) \
    X(wait_ms, GPUARENA__SET, streams, ~GPUARENA__IS(STREAMS_SAME)) \
    X(debug, GPUARENA__IS(DEBUG_GUARD), backing, GPUARENA__IS(BACKING_PAGED))
typedef struct gpuarena__rule { uint32_t key, values, other, allowed; } gpuarena__rule;
#define X(key, values, other, allowed) { GPUARENA__KEY_##key, values, GPUARENA__KEY_##other, allowed },
static const gpuarena__rule gpuarena__rules[] = { GPUARENA__RULES(X) };
#undef X

/* Former keys and names of other allocators, with what to use instead. */
static const struct { const char *name, *advice; } gpuarena__former[] = {
#define X(name) { name, "a rival in stress, no configuration" },
    X("bfc") X("pytorch") X("pytorch-expandable") X("rmm") X("cub") X("ort")
#undef X
    { "growth=half", "gone; stress -p rmm is a model of it" },
    { "placement", "gone; stress -p best-fit, first-fit and cub are models of it" },
    { "bin_growth", "gone; stress -p cub is a model of it" },
    { "bin_min", "gone; stress -p cub is a model of it" },
    { "bin_max", "gone; stress -p cub is a model of it" },
    { "round_divisions", "gone; round requests before they are made, or set alignment" },
    { "split", "gone; the rest of a block is always cut off" },
    { "split_least", "gone; the rest of a block is always cut off" },
    { "split_max", "gone; stress -p pytorch is a model of it" },
    { "split_over", "gone; stress -p pytorch is a model of it" },
    { "small", "gone; an arena of its own for small requests keeps them apart" },
    { "small_step", "gone; an arena of its own for small requests keeps them apart" },
    { "cache", "gone; leave it out" },
    { "exact", "gone; allocate with GPUARENA_ALLOC_DEDICATED, or use growth=exact" },
    { "backoff", "gone; after a refusal the surplus over the need is halved" }
};
enum { GPUARENA__FORMER_COUNT = sizeof gpuarena__former / sizeof *gpuarena__former };

/* Fields are read and written as bytes: enums of different types share the code. */
static uint64_t gpuarena__field_get(const gpuarena_config *config, const gpuarena__key *key)
{
    const char *field = (const char *)config + key->offset;
    uint32_t narrow = 0;
    uint64_t wide = 0;
    if (key->kind <= GPUARENA__SHARE) memcpy(&wide, field, sizeof wide);
    else memcpy(&narrow, field, sizeof narrow);
    return wide + narrow;
}

static void gpuarena__field_set(gpuarena_config *config, const gpuarena__key *key, uint64_t value)
{
    char *field = (char *)config + key->offset;
    uint32_t narrow = (uint32_t)value;
    if (key->kind <= GPUARENA__SHARE) memcpy(field, &value, sizeof value);
    else memcpy(field, &narrow, sizeof narrow);
}

/* The name of an enum's value; NULL: there is no such value. */
static const char *gpuarena__choice_name(const gpuarena__key *key, uint64_t value)
{
    const char *const *name = key->names;
    while (*name && value--) name++;
    return *name;
}

static int gpuarena__piece_is(gpuarena__piece piece, const char *text)
{
    return gpuarena__piece_skip(&piece, text) && piece.begin == piece.end;
}

/* Reads decimal digits from the front of a piece. 0: there is none, or the number overflows. */
static int gpuarena__piece_digits(gpuarena__piece *piece, uint64_t *value)
{
    const char *begin = piece->begin;
    *value = 0;
    for (; piece->begin < piece->end && *piece->begin >= '0' && *piece->begin <= '9'; piece->begin++) {
        uint64_t digit = (uint64_t)(*piece->begin - '0');
        if (*value > (UINT64_MAX - digit) / 10) return 0;
        *value = *value * 10 + digit;
    }
    return piece->begin != begin;
}

/* Reads this letter, in either case, from the front of a piece. 0: another letter stands there. */
static int gpuarena__piece_letter(gpuarena__piece *piece, char capital)
{
    if (piece->begin == piece->end || (*piece->begin != capital && *piece->begin != capital - 'A' + 'a'))
        return 0;
    piece->begin++;
    return 1;
}

/* Reads a size. 4G, 4GB and 4GiB mean the same, in letters of either case. */
static int gpuarena__parse_size(gpuarena__piece piece, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    uint32_t shift, unit = 0;
    int is_binary;
    if (!gpuarena__piece_digits(&piece, bytes)) return 0;
    while (units[unit] && !gpuarena__piece_letter(&piece, units[unit])) unit++;
    shift = units[unit] ? 10 * (unit + 1) : 0;
    is_binary = shift && gpuarena__piece_letter(&piece, 'I');        /* then B must follow */
    if (!gpuarena__piece_letter(&piece, 'B') && is_binary) return 0;
    if (piece.begin != piece.end || *bytes > UINT64_MAX >> shift) return 0;
    *bytes <<= shift;
    return 1;
}

/* Reads a percentage such as 80 or 12.5, up to the % sign. The quotient of two exact doubles is the double
   nearest to the decimal. */
static int gpuarena__parse_share(gpuarena__piece *piece, double *fraction)
{
    uint64_t whole, part = 0;
    const char *decimals;
    double scale = 100;
    if (!gpuarena__piece_digits(piece, &whole) || whole > 100) return 0;
    if (gpuarena__piece_skip(piece, ".")) {
        decimals = piece->begin;
        if (!gpuarena__piece_digits(piece, &part) || piece->begin - decimals > 13) return 0;
        for (; decimals < piece->begin; decimals++) {
            whole *= 10;
            scale *= 10;
        }
    }
    if (!gpuarena__piece_skip(piece, "%") || whole + part == 0 || (double)(whole + part) > scale) return 0;
    *fraction = (double)(whole + part) / scale;
    return 1;
}

static int gpuarena__parse_limit(gpuarena__piece piece, gpuarena_config *config)
{
    gpuarena__piece rest = piece;
    double fraction = 0;
    uint64_t bytes = 0;
    gpuarena_limit_base base = GPUARENA_LIMIT_BYTES;
    if (gpuarena__piece_is(piece, "none")) bytes = GPUARENA_NO_LIMIT;
    else if (gpuarena__piece_skip(&rest, "total-") || gpuarena__piece_skip(&rest, "free-")) {
        base = *piece.begin == 't' ? GPUARENA_LIMIT_TOTAL_MINUS : GPUARENA_LIMIT_FREE_MINUS;
        if (!gpuarena__parse_size(rest, &bytes)) return 0;
    } else if (gpuarena__parse_share(&rest, &fraction)) {
        base = rest.begin == rest.end ? GPUARENA_LIMIT_OF_TOTAL : GPUARENA_LIMIT_OF_FREE;
        if (rest.begin != rest.end && !gpuarena__piece_is(rest, "free")) return 0;
    } else if (!gpuarena__parse_size(piece, &bytes) || !bytes || bytes == GPUARENA_NO_LIMIT) return 0;
    config->limit_base = base;
    config->limit_bytes = bytes;
    config->limit_fraction = fraction;
    return 1;
}

static int gpuarena__parse_value(const gpuarena__key *key, gpuarena__piece value, gpuarena_config *config)
{
    uint64_t number = 0, device;
    double share = -1;                           /* stands for none, since 0 is the default */
    const char *name;
    int sound;
    switch (key->kind) {
    case GPUARENA__LIMIT: return gpuarena__parse_limit(value, config);
    case GPUARENA__SHARE:
        sound = gpuarena__piece_is(value, "0") || gpuarena__piece_is(value, "0%")
            || (gpuarena__parse_share(&value, &share) && value.begin == value.end);
        memcpy(&number, &share, sizeof number);
        break;
    case GPUARENA__CHOICE:
        for (; (name = gpuarena__choice_name(key, number)) != NULL; number++)
            if (gpuarena__piece_is(value, name)) break;
        sound = name != NULL;
        if (sound || key->names != gpuarena__shares) break;
        sound = gpuarena__piece_is(value, "ipc") || gpuarena__piece_is(value, "rdma");
        number = GPUARENA_SHARE_WHOLE;           /* also named by its purpose */
        break;
    case GPUARENA__NUMBER:
        sound = gpuarena__piece_digits(&value, &number) && value.begin == value.end && number <= UINT32_MAX;
        break;
    case GPUARENA__DEVICES:                      /* such as 1+3 */
        do {
            sound = gpuarena__piece_digits(&value, &device) && device <= 63;
            if (sound) number |= (uint64_t)1 << device;
        } while (sound && gpuarena__piece_skip(&value, "+"));
        sound = sound && value.begin == value.end;
        break;
    default: sound = gpuarena__parse_size(value, &number); break;
    }
    if (sound) gpuarena__field_set(config, key, number);
    return sound;
}

/* Writes the names of the values of an enum whose bits are set. */
static void gpuarena__put_names(gpuarena__text *out, const gpuarena__key *key, uint32_t values)
{
    const char *before = "";
    uint32_t value;
    for (value = 0; key->names[value]; value++, values >>= 1) {
        if (!(values & 1)) continue;
        gpuarena__put(out, "%s%s", before, key->names[value]);
        before = ", ";
    }
}

static void gpuarena__put_expected(gpuarena__text *out, const gpuarena__key *key)
{
    gpuarena__put(out, ": expected ");
    switch (key->kind) {
    case GPUARENA__CHOICE: gpuarena__put_names(out, key, ~0u); return;
    case GPUARENA__LIMIT: gpuarena__put(out, "4G, none, 80%%, 80%%free, total-2G or free-2G"); return;
    case GPUARENA__SHARE: gpuarena__put(out, "0, 5%%, or another share up to 100%%"); return;
    case GPUARENA__NUMBER: gpuarena__put(out, "a number up to %" PRIu64, key->high); return;
    case GPUARENA__DEVICES: gpuarena__put(out, "numbers of devices up to 63, such as 1+3"); return;
    default: break;
    }
    gpuarena__put(out, key->low ? "a power of two from " : "a size, such as 64K or 4G");
    if (key->low) gpuarena__put_size(out, key->low);
    if (key->high == UINT64_MAX) return;
    gpuarena__put(out, key->low ? " to " : ", up to ");
    gpuarena__put_size(out, key->high);
}

/* Reads one key=value. 0: *out says what is wrong. */
static int gpuarena__parse_item(gpuarena__piece item, gpuarena_config *config, uint64_t *given,
                                gpuarena__text *out)
{
    gpuarena__piece name = item, value = item;
    const gpuarena__key *key = gpuarena__keys, *end = key + GPUARENA__KEY_COUNT;
    const char *shown = item.begin;
    uint32_t former = 0;
    uint64_t bit;
    int has_value;
    while (value.begin < item.end && *value.begin != '=') value.begin++;
    name.end = value.begin;
    has_value = gpuarena__piece_skip(&value, "=");
    while (key < end && !gpuarena__piece_is(name, key->name)) key++;
    bit = key < end ? (uint64_t)1 << (key - gpuarena__keys) : 0;
    if (bit & ~*given && gpuarena__parse_value(key, value, config)) {
        *given |= bit;
        return 1;
    }
    for (; shown < item.end && shown - item.begin < 24; shown++)   /* foreign text, cut and made printable */
        gpuarena__put(out, "%c", *shown >= ' ' && *shown <= '~' ? *shown : '?');
    if (shown < item.end) gpuarena__put(out, "..");
    while (former < GPUARENA__FORMER_COUNT && !gpuarena__piece_is(name, gpuarena__former[former].name)
           && !gpuarena__piece_is(item, gpuarena__former[former].name)) former++;
    if (former < GPUARENA__FORMER_COUNT) gpuarena__put(out, ": %s", gpuarena__former[former].advice);
    else if (key == end) {
        gpuarena__put(out, ": no such key, expected");
        for (key = gpuarena__keys; key < end; key++) gpuarena__put(out, " %s", key->name);
    } else if (!has_value) gpuarena__put(out, ": expected a value for %s", key->name);
    else if (*given & bit) gpuarena__put(out, ": %s is given twice", key->name);
    else gpuarena__put_expected(out, key);
    return 0;
}

static int gpuarena__parse(const char *text, gpuarena_config *config, gpuarena__text *out)
{
    gpuarena_config parsed = *config;
    gpuarena__piece item = { text, text };
    uint64_t given = 0;
    while (*text) {
        while (*item.end && *item.end != ',') item.end++;
        if (!gpuarena__parse_item(item, &parsed, &given, out)) return 0;
        if (!*item.end) break;
        item.begin = ++item.end;
    }
    *config = parsed;
    return 1;
}

/* Writes 0.8 as 80%, exact to 15 digits, in any locale; a share below the last digit as one of it. */
static void gpuarena__put_share(gpuarena__text *out, double fraction)
{
    const uint64_t one = (uint64_t)10000000 * 1000000;       /* 10^13: a percent, of 10^15 */
    uint64_t share = fraction > 0 && fraction <= 1 ? gpuarena__max((uint64_t)(fraction * 1e15 + 0.5), 1) : 0,
             part = share % one;
    uint32_t digits = 13;
    gpuarena__put(out, "%" PRIu64, share / one);
    for (; part && part % 10 == 0; part /= 10) digits--;
    if (part) gpuarena__put(out, ".%0*" PRIu64, (int)digits, part);
    gpuarena__put(out, "%%");
}

static void gpuarena__put_limit(gpuarena__text *out, const gpuarena_config *config)
{
    gpuarena_limit_base base = config->limit_base;
    if (base == GPUARENA_LIMIT_TOTAL_MINUS) gpuarena__put(out, "total-");
    if (base == GPUARENA_LIMIT_FREE_MINUS) gpuarena__put(out, "free-");
    if (base == GPUARENA_LIMIT_OF_TOTAL || base == GPUARENA_LIMIT_OF_FREE)
        gpuarena__put_share(out, config->limit_fraction);
    else if (base == GPUARENA_LIMIT_BYTES && config->limit_bytes == GPUARENA_NO_LIMIT)
        gpuarena__put(out, "none");
    else gpuarena__put_size(out, config->limit_bytes);
    if (base == GPUARENA_LIMIT_OF_FREE) gpuarena__put(out, "free");
}

static int gpuarena__key_is_zero(const gpuarena_config *config, const gpuarena__key *key)
{
    if (gpuarena__field_get(config, key) << (key->kind == GPUARENA__SHARE)) return 0;        /* no sign */
    return key->kind != GPUARENA__LIMIT
        || (config->limit_base == GPUARENA_LIMIT_BYTES && !(config->limit_fraction > 0)
            && !(config->limit_fraction < 0));
}

static void gpuarena__config_put(gpuarena__text *out, const gpuarena_config *config)
{
    const gpuarena__key *key = gpuarena__keys, *end = key + GPUARENA__KEY_COUNT;
    const char *comma = "", *name;
    double share;
    for (; key < end; key++) {
        uint64_t value = gpuarena__field_get(config, key);
        int device = 0;
        if (gpuarena__key_is_zero(config, key)) continue;
        gpuarena__put(out, "%s%s=", comma, key->name);
        comma = ",";
        switch (key->kind) {
        case GPUARENA__LIMIT: gpuarena__put_limit(out, config); break;
        case GPUARENA__SHARE:
            memcpy(&share, &value, sizeof share);
            if (share > 0) gpuarena__put_share(out, share);
            else gpuarena__put(out, "0");
            break;
        case GPUARENA__CHOICE:
            name = gpuarena__choice_name(key, value);
            gpuarena__put(out, "%s", name ? name : "unknown");
            break;
        case GPUARENA__NUMBER: gpuarena__put(out, "%" PRIu64, value); break;
        case GPUARENA__DEVICES:
            for (; value; value >>= 1, device++)
                if (value & 1) gpuarena__put(out, value > 1 ? "%d+" : "%d", device);
            break;
        default: gpuarena__put_size(out, value); break;
        }
    }
}

/* Fills fields that are zero from the environment variable's text. If there is one, *out names the variable
   first, whatever turns out to be wrong. 0: *out names the text that cannot be read. */
static int gpuarena__config_fill(gpuarena_config *config, gpuarena__text *out)
{
    const char *name = config->environment ? config->environment : "GPUARENA_CONF",
               *text = *name ? getenv(name) : NULL;
    const gpuarena__key *key = gpuarena__keys, *end = key + GPUARENA__KEY_COUNT;
    gpuarena_config found = GPUARENA_INIT;
    config->environment = "";
    if (!text || !*text) return 1;
    gpuarena__put(out, "%.24s: ", name);
    if (!gpuarena__parse(text, &found, out)) return 0;
    for (; key < end; key++) {
        if (!gpuarena__key_is_zero(config, key)) continue;
        gpuarena__field_set(config, key, gpuarena__field_get(&found, key));
        if (key->kind != GPUARENA__LIMIT) continue;
        config->limit_base = found.limit_base;
        config->limit_fraction = found.limit_fraction;
    }
    return 1;
}

/* Makes the checks that need no driver call. */
static int gpuarena__config_sound(const gpuarena_config *config, gpuarena__text *out)
{
    uint32_t at, all, set;
    if (config->zero_begin || config->zero_end)
        return gpuarena__put(out, "zero_begin, zero_end: not zero; start from gpuarena_config config = "
                                  "GPUARENA_INIT");
    if (!config->host_alloc != !config->host_free)
        return gpuarena__put(out, "host_alloc, host_free: set both or neither");
    for (at = 0; at < sizeof config->name && config->name[at]; at++)
        if (config->name[at] < ' ' || config->name[at] > '~')
            return gpuarena__put(out, "name: printable ASCII alone, as it stands in reports and messages");
    if (at == sizeof config->name)
        return gpuarena__put(out, "name: not ended by a NUL within 32 characters");
#define X(group, entry, bits) all++; set += config->driver->group.entry != NULL;
#define GPUARENA__GROUP(entries, is_wrong, why) \
    all = set = 0; \
    entries(X) \
    if (is_wrong) return gpuarena__put(out, why);
    GPUARENA__GROUP(GPUARENA__MEMORY_ENTRIES, set < all,
                    "driver.memory: info, obtain and give_back must all be set")
    GPUARENA__GROUP(GPUARENA__VM_ENTRIES, set % all, "driver.vm: set all of its functions, or none")
    GPUARENA__GROUP(GPUARENA__EVENT_ENTRIES, set % all, "driver.events: set all of its functions, or none")
    GPUARENA__GROUP(GPUARENA__CAPTURE_ENTRIES, set % all,
                    "driver.capture: set both of its functions, or none")
    GPUARENA__GROUP(GPUARENA__IPC_ENTRIES, set % all, "driver.ipc: set all of its functions, or none")
    GPUARENA__GROUP(GPUARENA__FD_ENTRIES, set % all, "driver.fd: set both of its functions, or none")
#undef GPUARENA__GROUP
#undef X
    return 1;
}

/* Turns the limit into bytes. */
static int gpuarena__default_limit(gpuarena_config *config, uint64_t free_bytes, uint64_t total_bytes,
                                   gpuarena__text *out)
{
    gpuarena_limit_base base = config->limit_base;
    int share = base == GPUARENA_LIMIT_OF_TOTAL || base == GPUARENA_LIMIT_OF_FREE;
    uint64_t whole =
        base == GPUARENA_LIMIT_OF_FREE || base == GPUARENA_LIMIT_FREE_MINUS ? free_bytes : total_bytes;
    uint64_t bytes = config->limit_bytes;
    double fraction = config->limit_fraction;
    if ((uint32_t)base > GPUARENA_LIMIT_FREE_MINUS) return gpuarena__put(out, "limit_base: no such value");
    if (share ? bytes != 0 : fraction > 0 || fraction < 0)
        return gpuarena__put(out, "limit: give bytes or a fraction, not both");
    if (share && !(fraction > 0 && fraction <= 1))
        return gpuarena__put(out, "limit: a fraction must be above 0 and at most 1 (100%%)");
    if (share)                                   /* a product below a uint64_t can be converted to one */
        bytes = (double)whole * fraction < (double)whole ? (uint64_t)((double)whole * fraction) : whole;
    else if (base != GPUARENA_LIMIT_BYTES) bytes = gpuarena__above(whole, bytes);
    else if (!bytes) bytes = GPUARENA_NO_LIMIT;
    if (bytes < gpuarena__max(config->page_bytes, GPUARENA__GRANULE))
        return gpuarena__put(out, "limit: %" PRIu64 " bytes are less than one %s%s", bytes,
                             config->page_bytes ? "page" : "segment of 2M",
                             base == GPUARENA_LIMIT_BYTES && bytes <= 100 ? "; a share is written 100%" : "");
    if (bytes != GPUARENA_NO_LIMIT && bytes > total_bytes && config->backing != GPUARENA_BACKING_MANAGED)
        return gpuarena__put(out, "limit: %" PRIu64 " is above the device's %" PRIu64 " bytes", bytes,
                             total_bytes);
    config->limit_base = GPUARENA_LIMIT_BYTES;
    config->limit_bytes = bytes;
    config->limit_fraction = 0;
    return 1;
}

/* Checks that the value of a key is in its range, whatever the other keys are. */
static int gpuarena__key_sound(const gpuarena_config *config, const gpuarena__key *key, gpuarena__text *out)
{
    uint64_t value = gpuarena__field_get(config, key);
    int sound = !value
        || (value <= key->high && (!key->low || (value >= key->low && gpuarena__is_power_of_two(value))));
    double share;
    if (key->kind == GPUARENA__CHOICE) sound = gpuarena__choice_name(key, value) != NULL;
    if (key->kind == GPUARENA__SHARE) {
        memcpy(&share, &value, sizeof share);
        sound = share <= 1;
    }
    if (sound) return 1;
    gpuarena__put(out, "%s", key->name);
    gpuarena__put_expected(out, key);
    return 0;
}

/* Checks a rule. */
static int gpuarena__rule_holds(const gpuarena_config *config, const gpuarena__rule *rule,
                                gpuarena__text *out)
{
    const gpuarena__key *key = &gpuarena__keys[rule->key], *other = &gpuarena__keys[rule->other];
    uint64_t value = gpuarena__field_get(config, key);
    uint32_t values = key->kind == GPUARENA__CHOICE ? 1u << value
                      : gpuarena__key_is_zero(config, key) ? 0 : GPUARENA__SET;
    if (!(rule->values & values) || rule->allowed >> gpuarena__field_get(config, other) & 1) return 1;
    gpuarena__put(out, "%s", key->name);
    if (key->kind == GPUARENA__CHOICE) gpuarena__put(out, "=%s", gpuarena__choice_name(key, value));
    gpuarena__put(out, ": only with %s=", other->name);
    gpuarena__put_names(out, other, rule->allowed);
    return 0;
}

/* Determines backing and growth. */
static int gpuarena__choose_backing(gpuarena_config *config, gpuarena__text *out)
{
    const gpuarena_driver *driver = config->driver;
    int stepped = config->growth >= GPUARENA_GROWTH_STEP || config->step_bytes || config->step_max_bytes,
        can_page = driver->vm.reserve && driver->page_bytes && driver->events.create,
        page_fits = gpuarena__is_power_of_two(driver->page_bytes)
            && driver->page_bytes <= gpuarena__keys[GPUARENA__KEY_page].high;
    if (config->backing == GPUARENA_BACKING_AUTO && can_page && page_fits && !stepped
        && config->share != GPUARENA_SHARE_WHOLE)
        config->backing = GPUARENA_BACKING_PAGED;
    if (config->backing == GPUARENA_BACKING_AUTO) {          /* keys of pages have no effect then */
        config->backing = GPUARENA_BACKING_SEGMENTS;
        config->page_bytes = config->large_bytes = 0;
        config->idle_fraction = 0;
    }
    if (config->backing == GPUARENA_BACKING_PAGED && !can_page)
        return gpuarena__put(out, "backing: paged needs a driver, and a device, with vm and events");
    if (config->growth == GPUARENA_GROWTH_AUTO)
        config->growth = config->backing == GPUARENA_BACKING_PAGED ? GPUARENA_GROWTH_EXACT
                                                                   : GPUARENA_GROWTH_DOUBLE;
    return 1;
}

/* Replaces defaults by the values in force, and makes sizes whole. A key that others leave without effect
   stays 0. */
static void gpuarena__set_defaults(gpuarena_config *config, uint64_t total_bytes)
{
    uint64_t granule = GPUARENA__GRANULE;
    if (!config->name[0]) memcpy(config->name, "arena", sizeof "arena");
    if (!config->parent) config->oversubscribe = 0;
    if (!config->alignment) config->alignment = GPUARENA__UNIT;
    if (!config->streams) config->streams = GPUARENA_STREAMS_STEAL;
    if (config->backing == GPUARENA_BACKING_PAGED) {
        if (!config->page_bytes) config->page_bytes = gpuarena__max(granule, config->driver->page_bytes);
        if (!config->large_bytes) config->large_bytes = (uint64_t)8 << 20;
        if (config->idle_fraction < 0) config->idle_fraction = -1;
        else if (!(config->idle_fraction > 0)) config->idle_fraction = 0.05;
    }
    config->initial_bytes = gpuarena__whole(config->initial_bytes, granule);
    config->step_bytes = gpuarena__whole(config->step_bytes, granule);
    config->step_max_bytes = gpuarena__whole(config->step_max_bytes, granule);
    if (config->growth == GPUARENA_GROWTH_STEP && !config->step_bytes)
        config->step_bytes = (uint64_t)64 << 20;
    if (config->growth == GPUARENA_GROWTH_DOUBLE) {
        if (!config->step_bytes) config->step_bytes = granule;
        if (!config->step_max_bytes)
            config->step_max_bytes = gpuarena__max((uint64_t)256 << 20, config->step_bytes);
    }
    if (config->release == GPUARENA_RELEASE_IDLE) {
        if (!config->release_bytes) config->release_bytes = (uint64_t)64 << 20;
        if (config->release_keep < 0) config->release_keep = -1;
        else if (!(config->release_keep > 0)) config->release_keep = 0.5;
    }
    if (config->release == GPUARENA_RELEASE_AGE && !config->release_age) config->release_age = 10000;
    if (config->release == GPUARENA_RELEASE_PRESSURE && !config->release_bytes)
        config->release_bytes = gpuarena__min((uint64_t)256 << 20, total_bytes);
}

/* Checks everything, and replaces defaults by the values in force. No rule of a single key can state that a
   figure is too large for another. */
static int gpuarena__config_defaults(gpuarena_config *config, uint64_t free_bytes, uint64_t total_bytes,
                                     gpuarena__text *out)
{
    uint32_t at;
    for (at = 0; at < GPUARENA__KEY_COUNT; at++)
        if (!gpuarena__key_sound(config, &gpuarena__keys[at], out)) return 0;
    if (!gpuarena__choose_backing(config, out)) return 0;
    for (at = 0; at < sizeof gpuarena__rules / sizeof *gpuarena__rules; at++)
        if (!gpuarena__rule_holds(config, &gpuarena__rules[at], out)) return 0;
    if (config->headroom_bytes > total_bytes)
        return gpuarena__put(out, "headroom: above the device's size");
    if (config->initial_bytes > total_bytes && config->backing != GPUARENA_BACKING_MANAGED)
        return gpuarena__put(out, "initial: above the device's size");
    if (config->release == GPUARENA_RELEASE_PRESSURE && config->release_bytes > total_bytes)
        return gpuarena__put(out, "release_at: above the device's size");
    if (config->step_max_bytes && config->step_max_bytes < config->step_bytes)
        return gpuarena__put(out, "step_max: below step");
    if (config->wait_ms && !config->driver->now_ns)
        return gpuarena__put(out, "wait_ms: the driver has no clock");
    gpuarena__set_defaults(config, total_bytes);
    if (!gpuarena__key_sound(config, &gpuarena__keys[GPUARENA__KEY_page], out))
        return 0;                                /* the default is the driver's, whatever that is */
    if (config->page_bytes && config->page_bytes % config->driver->page_bytes)
        return gpuarena__put(out, "page: expected a multiple of the driver's");
    if (!gpuarena__default_limit(config, free_bytes, total_bytes, out)) return 0;
    if (config->initial_bytes > config->limit_bytes)
        return gpuarena__put(out, "initial: above the limit");
    return 1;
}

/* >>registry ===========================================================================================
   The arenas of this process. A thread may take the registry's lock while it holds an arena's lock, never
   the reverse. Lists of ranges change under both, so finding an address's owner takes the registry's lock
   alone. */

static gpuarena *gpuarena__registry;             /* all arenas, the newest first */

/* A const arena, to be locked and recorded in: no arena is a constant object. */
static gpuarena *gpuarena__self(const gpuarena *arena)
{
    return (gpuarena *)gpuarena__pointer(gpuarena__address(arena));
}

/* Finds an arena by its pointer alone, without reading memory that may be gone. Under the registry's lock. */
static const gpuarena *gpuarena__in_registry(const gpuarena *arena)
{
    const gpuarena *found;
    for (found = gpuarena__registry; found && found != arena; found = found->registered) {}
    return found;
}

/* Checks that an arena, the first of its list, fits under its parent: the limits of all sub-arenas must fit
   into the parent's, and one without a limit counts as the parent's limit. 0: no, and *out says why. Under
   the registry's lock. */
static int gpuarena__parent_fits(const gpuarena *arena, gpuarena__text *out)
{
    const uint32_t device = 1u << GPUARENA_MEMORY_DEVICE | 1u << GPUARENA_MEMORY_ASYNC;
    const gpuarena *parent = gpuarena__in_registry(arena->config.parent), *at;
    uint64_t limit, sum = 0;
    if (!parent || parent->family.ending) return gpuarena__put(out, "parent: not a living arena");
    if (arena->memory != parent->memory && (1u << arena->memory | 1u << parent->memory) != device)
        return gpuarena__put(out, "backing: memory of another kind than the parent's counts elsewhere");
    for (at = arena; at; at = at->registered) {
        if (at->config.parent != parent) continue;
        limit = at->limit == GPUARENA_NO_LIMIT ? parent->limit : at->limit;
        sum = limit > UINT64_MAX - sum ? UINT64_MAX : sum + limit;
    }
    if (sum <= parent->limit || arena->config.oversubscribe) return 1;
    gpuarena__put(out, "limit: ");
    gpuarena__put_size(out, sum);
    gpuarena__put(out, " in all, of the parent's ");
    gpuarena__put_size(out, parent->limit);
    return gpuarena__put(out, "; lower it, or oversubscribe");
}

/* Adds an arena to the registry and to its parent's tree. 0: it does not fit, and *out says why; it has no
   family then. A single store links it, after everything that it makes reachable: a child forked at any
   moment finds a whole list. */
static int gpuarena__register(gpuarena *arena, gpuarena__text *out)
{
    static uint64_t count;
    int fits;
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    arena->registered = gpuarena__registry;
    fits = !arena->config.parent || gpuarena__parent_fits(arena, out);
    if (fits) {
        arena->has_family = arena->config.parent != NULL;
        arena->family.number = ++count;
        GPUARENA__STORE(&gpuarena__registry, arena, RELEASE);
    }
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    return fits;
}

/* Removes an arena from the registry; and from its data, and from the sums above, the memory that was not
   given back: all on a lost device, else segments whose release failed, and bytes that a pool of the driver
   has not returned. */
static void gpuarena__unregister(gpuarena *arena)
{
    gpuarena **link;
    while (arena->ranges.last) gpuarena__range_forget(arena, arena->ranges.last);
    gpuarena__account(arena, 0 - arena->stats.reserved_bytes, 0 - arena->growing);
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    for (link = &gpuarena__registry; *link != arena; link = &(*link)->registered) {}
    GPUARENA__STORE(link, arena->registered, RELEASE);
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
}

/* The arena in whose ranges the address lies, and its name. Arenas of a parent process do not count. */
static gpuarena *gpuarena__find_owner(uint64_t address, char name[32])
{
    gpuarena *found;
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    for (found = gpuarena__registry; found; found = found->registered)
        if (gpuarena__has_magic(found, GPUARENA__MAGIC) && gpuarena__range_of(found, address)) break;
    if (found) memcpy(name, found->config.name, sizeof found->config.name);
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    return found;
}

/* Fork. In a child process all arenas are the parent's. No call enters them, since their locks may be held by
   threads that the child does not have, and no driver is called for them. Nothing is locked before a fork,
   because other fork handlers may hold locks of their own under which arenas are called. So the child may
   find the registry's lock taken and makes it anew. The list is whole at every moment, because single
   pointers link and unlink. */
#ifndef GPUARENA_NO_CUDA
static int gpuarena__cuda_used;                  /* this process has used CUDA; under the registry's lock */
static int gpuarena__cuda_is_parents;            /* CUDA was used before this process was forked */
#endif
#ifndef GPUARENA_NO_THREADS
static pthread_once_t gpuarena__fork_once = PTHREAD_ONCE_INIT;
static int gpuarena__fork_watched;

static void gpuarena__fork_child(void)
{
    gpuarena *arena;
    uint32_t at;
    (void)gpuarena__mutex_make(&gpuarena__registry_lock);
    for (arena = gpuarena__registry; arena; arena = arena->registered) {
        gpuarena__set_magic(arena, GPUARENA__FORKED);
        arena->lost = 1;
        gpuarena__update_fast_path(arena);
        /* the call in which the process was forked can end */
        (void)gpuarena__spin_make(&arena->lock);
        for (at = 1; at <= arena->heaps.count; at++) (void)gpuarena__spin_make(&arena->heaps.list[at]->lock);
        (void)gpuarena__mutex_make(&arena->slow_mutex);
        (void)gpuarena__mutex_make(&arena->reclaim);
    }
#ifndef GPUARENA_NO_CUDA
    gpuarena__cuda_is_parents = gpuarena__cuda_used;
#endif
}

static void gpuarena__fork_register(void)
{
    gpuarena__fork_watched = pthread_atfork(NULL, NULL, gpuarena__fork_child) == 0;
}

/* Registers the fork handlers. 0: no host memory. */
static int gpuarena__watch_forks(void)
{
    (void)pthread_once(&gpuarena__fork_once, gpuarena__fork_register);
    return gpuarena__fork_watched;
}
#else
static int gpuarena__watch_forks(void) { return 1; }
#endif

/* >>stats ==============================================================================================
   Statistics that are derived when they are asked for. */

/* The largest request that the free blocks in these bins can serve. */
static uint64_t gpuarena__largest_binned(const gpuarena *arena, const gpuarena__bins *bins)
{
    uint64_t by_address = gpuarena__node_at(arena, bins->root[0])->as.tree.longest,  /* the sentinel's is 0 */
             by_size = gpuarena__node_at(arena, bins->root[1])->as.tree.longest & ~GPUARENA__STATE_BITS,
             largest = gpuarena__max(by_address, by_size);
    uint32_t word = GPUARENA__CLASS_WORDS, number, index, slot;
    while (word && !bins->taken[word - 1]) word--;
    if (!word--) return largest;
    number = word * 64 + gpuarena__highest_bit(bins->taken[word]);
    for (slot = 0; slot < 8; slot++)
        if (bins->digests[number] >> (8 * slot) & 255)
            largest = gpuarena__max(largest, gpuarena__node_at(arena, bins->nodes[number * 8 + slot])->size);
    for (index = bins->overflow[number]; index; index = gpuarena__node_at(arena, index)->as.list.after)
        largest = gpuarena__max(largest, gpuarena__node_bytes(gpuarena__node_at(arena, index)));
    return largest;
}

/* The largest free block that there would be once all work is done, or that whole pages could be moved
   into. */
static uint64_t gpuarena__largest_free(const gpuarena *arena)
{
    uint64_t count;
    const gpuarena__bins *bins;
    gpuarena__seen seen = { 0, arena->paged.idle_count, 0, 0 };
    uint32_t n;
    for (n = 0; (bins = gpuarena__bins_nth(arena, 0, n)) != NULL; n++)
        seen.longest = gpuarena__max(seen.longest, gpuarena__largest_binned(arena, bins));
    gpuarena__seams_show(arena, &seen);
    count = arena->config.idle_fraction < 1 ? seen.page_count : 0;       /* else pages do not move */
    count = (count + arena->paged.spare_pages) * arena->paged.page_bytes;
    return gpuarena__max(seen.longest, count);
}

/* The arena's statistics; largest_free_bytes only if a walk over the free blocks is wanted. */
static void gpuarena__stats_now(const gpuarena *arena, gpuarena_stats *stats, int walk)
{
    *stats = arena->stats;
    stats->alloc_count = stats->live_count + stats->free_count;
    stats->live_peak_bytes = arena->tags.peak_bytes;
    stats->slack_bytes = stats->live_bytes - stats->requested_bytes;
    stats->cached_bytes = stats->reserved_bytes - stats->live_bytes - stats->pending_bytes;
    stats->limit_bytes = arena->limit;
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    stats->children_bytes = arena->family.reserved - stats->reserved_bytes;
    stats->reserved_bytes = arena->family.reserved;
    stats->reserved_peak_bytes = gpuarena__max(arena->family.peak, arena->family.reserved);
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    stats->excess_bytes = gpuarena__above(stats->reserved_bytes, arena->limit);
    if (arena->paged.page_bytes) stats->stranded_bytes = gpuarena__stranded(arena);
    stats->host_bytes = arena->host_bytes;
    if (walk && !arena->config.debug)            /* else free memory serves no plain request */
        stats->largest_free_bytes = gpuarena__largest_free(arena);
}

/* >>failure ============================================================================================
   The report of a failed call, in figures and as a sentence. */

GPUARENA_API const char *gpuarena_result_name(gpuarena_result result)
{
    switch (result) {
#define X(name, value, text) case GPUARENA_##name: return text;
    GPUARENA_RESULTS(X)
#undef X
    default: return "unknown";
    }
}

GPUARENA_API const char *gpuarena_reason_name(gpuarena_reason reason)
{
    switch (reason) {
#define X(name, text) case GPUARENA_REASON_##name: return text;
    GPUARENA_REASONS(X)
#undef X
    default: return "unknown";
    }
}

/* Writes failure->detail. A text that is too long is cut, and ends with "..". */
GPUARENA__PRINTF(2, 3) static void gpuarena__detail(gpuarena_failure *failure, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (vsnprintf(failure->detail, sizeof failure->detail, format, values) >= (int)sizeof failure->detail)
        memcpy(failure->detail + sizeof failure->detail - 3, "..", 3);
    va_end(values);
}

/* Inserts a group of live blocks into a failure's list, which is sorted by bytes. */
static void gpuarena__most_put(gpuarena_live most[4], uint64_t count, uint64_t bytes, uint32_t tag)
{
    uint32_t at = 4;
    if (!count) return;
    while (at > 0 && (!most[at - 1].count || most[at - 1].bytes < bytes)) {
        at--;
        if (at < 3) most[at + 1] = most[at];
    }
    if (at == 4) return;
    most[at].count = count;
    most[at].bytes = bytes;
    most[at].tag = tag;
}

/* The arena's figures of this moment. */
static void gpuarena__failure_figures(const gpuarena *arena, gpuarena_failure *failure)
{
    gpuarena_stats now;
    gpuarena__stats_now(arena, &now, failure->result == GPUARENA_OUT_OF_MEMORY);
#define X(name) failure->name = now.name;
    X(live_bytes) X(live_count) X(pending_bytes) X(cached_bytes) X(reserved_bytes) X(limit_bytes)
    X(largest_free_bytes)
#undef X
}

/* Makes a failure of an error and the arena's figures; arena may be NULL. */
static gpuarena_failure gpuarena__failure_of(const gpuarena *arena, const gpuarena__error *error)
{
    gpuarena_failure failure = GPUARENA_INIT;
    const char *detail = error->detail;
    uint32_t place;
    failure.result = error->result;
    failure.reason = error->reason;
    failure.driver_code = error->code;
    if (failure.reason == GPUARENA_REASON_DRIVER_REFUSED) failure.driver_call = error->call;
    if (!detail && error->code && arena && arena->driver.code_name)
        detail = arena->driver.code_name(&arena->driver, error->code);
    if (detail) gpuarena__detail(&failure, "%s", detail);
    if (!arena) return failure;
    memcpy(failure.arena, arena->config.name, sizeof failure.arena);
    gpuarena__failure_figures(arena, &failure);
    if (error->block) failure.block = gpuarena__block_describe(arena, error->block);
    if (failure.result != GPUARENA_OUT_OF_MEMORY) return failure;
    for (place = 0; place < arena->tags.room && arena->tags.live_bytes; place++) {
        gpuarena_tag_stats stats = gpuarena__tag_stats(arena, place);
        gpuarena__most_put(failure.most, stats.live_count, stats.live_bytes,
                           place ? GPUARENA__TAG_BASE + place : 0);
    }
    return failure;
}

/* Records a failure for this thread and for the arena, which may be NULL, and tells the observer. Returns its
   result. */
static gpuarena_result gpuarena__fail_record(gpuarena *arena, gpuarena_failure *failure,
                                             gpuarena_stream stream)
{
    gpuarena_result result = failure->result;
    int misuse = result != GPUARENA_OUT_OF_MEMORY && result != GPUARENA_HOST_MEMORY
        && result != GPUARENA_DRIVER_ERROR && result != GPUARENA_DEVICE_LOST && result != GPUARENA_CAPTURE
        && result != GPUARENA_NOT_SUPPORTED && result != GPUARENA_CORRUPT;
    if (failure->result == GPUARENA_HOST_MEMORY) failure->reason = GPUARENA_REASON_HOST_MEMORY;
    failure->serial = 1;
    if (arena) {
        if (misuse) arena->stats.misuse_count++;
        else arena->stats.fail_count++;
        failure->serial = arena->stats.misuse_count + arena->stats.fail_count;
        arena->last = *failure;
    }
    gpuarena__thread_failure = *failure;
    if (arena && !gpuarena__inside_of(arena, GPUARENA__FRAME_CALLBACK))
        gpuarena__tell(arena, misuse ? GPUARENA_ACTION_MISUSE : GPUARENA_ACTION_FAIL, NULL, stream,
                       failure);
    return result;
}

/* After `need` more bytes were refused, by a limit or by the driver: sets missing_bytes. `idle` of the
   arena's bytes can be released or moved for them. */
static void gpuarena__failure_measure(gpuarena *arena, gpuarena_failure *failure, uint64_t need,
                                      uint64_t idle)
{
    uint64_t kept, room, lack, now;
    const gpuarena *narrow = arena;
    if (failure->reason == GPUARENA_REASON_OVER_LIMIT || failure->reason == GPUARENA_REASON_OVER_PARENT) {
        gpuarena__mutex_lock(&gpuarena__registry_lock);
        if (failure->reason == GPUARENA_REASON_OVER_PARENT) {    /* the one above that leaves the least */
            narrow = gpuarena__limit_narrowest(arena->config.parent, &room);
            gpuarena__detail(failure, "%s", narrow->config.name);
        }
        kept = narrow->family.reserved + narrow->family.growing - idle;
        failure->missing_bytes = gpuarena__above(kept + need, narrow->limit);
        gpuarena__mutex_unlock(&gpuarena__registry_lock);
    }
    if (failure->reason != GPUARENA_REASON_HEADROOM && failure->reason != GPUARENA_REASON_DRIVER_REFUSED)
        return;
    (void)gpuarena__driver_info(arena, &failure->device_free_bytes, NULL);
    now = gpuarena__ask_capturing(arena, NULL)
        ? arena->paged.spare_pages * arena->paged.page_bytes : gpuarena__idle_bytes(arena, 1);
    lack = gpuarena__above(need, gpuarena__min(idle, now));
    if (failure->reason == GPUARENA_REASON_HEADROOM) lack += arena->config.headroom_bytes;
    /* a driver may refuse memory that it reports as free: then all of it counts as missing */
    failure->missing_bytes = lack > failure->device_free_bytes ? lack - failure->device_free_bytes : lack;
    if (lack > failure->device_free_bytes) failure->driver_call = NULL;
}

/* Tells whether a limit refused bytes that it would have room for, if idle memory could move or go back. */
static int gpuarena__is_within_limits(const gpuarena_failure *failure)
{
    return (failure->reason == GPUARENA_REASON_OVER_LIMIT || failure->reason == GPUARENA_REASON_OVER_PARENT)
        && !failure->missing_bytes;
}

/* The failure of a call that wanted `need` more bytes of memory, perhaps none: see failure_measure. */
static gpuarena_failure gpuarena__failure_grow(gpuarena *arena, const gpuarena__error *error,
                                               uint64_t requested, uint64_t need, uint64_t idle)
{
    gpuarena_failure failure = gpuarena__failure_of(arena, error);
    failure.requested_bytes = requested;
    gpuarena__failure_measure(arena, &failure, need, idle);
    return failure;
}

/* The result of a call that ends with this error. Any but OK is recorded as a failure, as failure_grow
   describes it. */
static gpuarena_result gpuarena__outcome_measured(gpuarena *arena, const gpuarena__error *error,
                                                  uint64_t requested, uint64_t need, uint64_t idle,
                                                  gpuarena_stream stream)
{
    gpuarena_failure failure;
    if (error->result == GPUARENA_OK) return GPUARENA_OK;
    failure = gpuarena__failure_grow(arena, error, requested, need, idle);
    if (idle && gpuarena__is_within_limits(&failure)) {
        if (gpuarena__ask_capturing(arena, NULL))
            failure.reason = GPUARENA_REASON_CAPTURE;        /* idle memory stays where it is */
        else if (gpuarena__idle_bytes(arena, 0) > gpuarena__idle_bytes(arena, 1))
            failure.reason = GPUARENA_REASON_PENDING;        /* the host could not wait for it */
    }
    return gpuarena__fail_record(arena, &failure, stream);
}

static gpuarena_result gpuarena__outcome(gpuarena *arena, const gpuarena__error *error, uint64_t requested,
                                         gpuarena_stream stream)
{
    return gpuarena__outcome_measured(arena, error, requested, 0, 0, stream);
}

/* Refuses a call with a result and a detail (NULL: none). */
static gpuarena_result gpuarena__fail_with(gpuarena *arena, gpuarena_result result, const char *detail)
{
    gpuarena__error error = gpuarena__no_error();
    gpuarena__set_error(&error, result);
    error.detail = detail;
    return gpuarena__outcome(arena, &error, 0, NULL);
}

static gpuarena_result gpuarena__fail_argument(gpuarena *arena, const char *wrong)
{
    return gpuarena__fail_with(arena, GPUARENA_INVALID_ARGUMENT, wrong);
}

/* Refuses a pointer that is not the base of a live block, and tells where it lies. */
static gpuarena_result gpuarena__fail_pointer(gpuarena *arena, const void *ptr, gpuarena_stream stream)
{
    gpuarena__error error = gpuarena__no_error();
    uint64_t address = gpuarena__address(ptr);
    uint32_t around = gpuarena__node_around(arena, address);
    const gpuarena__node *node = gpuarena__node_at(arena, around);
    char name[32], where[64];
    gpuarena__text out = gpuarena__text_begin(where, sizeof where);
    error.result = gpuarena__node_live(node) ? GPUARENA_INTERIOR_POINTER : GPUARENA_DOUBLE_FREE;
    error.block = around;
    error.detail = where;
    if (around) gpuarena__put(&out, "offset %" PRIu64, address - node->address);
    else if (gpuarena__find_owner(address, name)) {
        error.result = GPUARENA_WRONG_ARENA;
        gpuarena__put(&out, "arena %s", name);
    } else error.result = GPUARENA_FOREIGN_POINTER;
    return gpuarena__outcome(arena, &error, 0, stream);
}

/* ---- leaks */

typedef struct gpuarena__leak { uint64_t bytes; uint32_t tag; } gpuarena__leak;      /* a live block */

static int gpuarena__leak_before(const gpuarena__leak *left, const gpuarena__leak *right)
{
    return left->bytes < right->bytes || (left->bytes == right->bytes && left->tag < right->tag);
}

/* Refuses to destroy an arena with live blocks, and groups them by size and tag if there is host memory. */
static gpuarena_result gpuarena__fail_leaks(gpuarena *arena)
{
    gpuarena__error error = gpuarena__no_error();
    gpuarena__iterator at;
    gpuarena_failure failure;
    size_t bytes = (size_t)arena->stats.live_count * sizeof(gpuarena__leak);
    gpuarena__leak *list = (gpuarena__leak *)gpuarena__host_alloc(arena, bytes);
    uint64_t count = 0, begin = 0, end;
    for (at = gpuarena__blocks(arena); at.index; gpuarena__next(arena, &at)) {
        if (!gpuarena__node_live(at.node)) continue;
        if (!error.block) error.block = at.index;
        if (!list) break;
        list[count].bytes = at.node->as.live.requested;
        list[count++].tag = at.node->as.live.tag;
    }
    error.result = GPUARENA_STILL_IN_USE;
    failure = gpuarena__failure_of(arena, &error);
    GPUARENA__SORT(gpuarena__leak, list, (size_t)count, gpuarena__leak_before(&one, &other));
    for (end = 1; end <= count; end++) {
        if (end < count && !gpuarena__leak_before(&list[begin], &list[end])) continue;
        gpuarena__most_put(failure.most, end - begin, (end - begin) * list[begin].bytes, list[begin].tag);
        begin = end;
    }
    gpuarena__host_free(arena, list, bytes);
    return gpuarena__fail_record(arena, &failure, NULL);
}

/* ---- why there is no memory */

/* Tells whether a request failed for this reason whatever is free. */
static int gpuarena__is_not_for_lack(gpuarena_reason reason)
{
    return reason == GPUARENA_REASON_TRY_ONLY || reason == GPUARENA_REASON_CAPTURE
        || reason == GPUARENA_REASON_ADDRESSES;
}

/* The bytes by which the arena could grow after it was refused for this reason, if so many are free on the
   device. */
static uint64_t gpuarena__room_after(const gpuarena *arena, gpuarena_reason reason, uint64_t device_free)
{
    uint64_t room = gpuarena__room(arena, NULL);
    if (reason != GPUARENA_REASON_DRIVER_REFUSED && reason != GPUARENA_REASON_HEADROOM) return room;
    return gpuarena__min(room, gpuarena__above(device_free, arena->config.headroom_bytes));
}

/* Tells whether idle memory, once it waits for nothing, and growth would serve a request that failed for this
   reason. */
static int gpuarena__would_fit(const gpuarena *arena, const gpuarena__request *req, gpuarena_reason reason,
                               const gpuarena_failure *failure)
{
    uint64_t device_free = failure->driver_call ? 0 : failure->device_free_bytes,
             room = gpuarena__room_after(arena, reason, device_free),
             idle, need = gpuarena__need(arena, req, &idle);
    if (gpuarena__is_paged(arena, req)) room = gpuarena__round_down(room, arena->paged.page_bytes);
    return need && need <= idle + room && !gpuarena__is_not_for_lack(reason);
}

/* Tells whether a run or pages would serve the failed request if it could wait for them. */
static int gpuarena__is_waiting(const gpuarena *arena, const gpuarena__request *req,
                                const gpuarena_failure *failure)
{
    gpuarena__request plain = *req;
    plain.home = 0;                              /* as if there were no capture */
    if (!gpuarena__needs_new(&plain)
        && gpuarena__run_find(arena, &plain, GPUARENA__AVAILABLE_AFTER_SYNC)) return 1;
    return gpuarena__is_paged(arena, req) && arena->config.idle_fraction < 1
        && gpuarena__would_fit(arena, req, failure->reason, failure);
}

/* The failure of an allocation for lack of memory: why, and how much is missing. */
static gpuarena_failure gpuarena__failure_memory(gpuarena *arena, const gpuarena__request *req,
                                                 const gpuarena__error *error)
{
    gpuarena_failure failure = gpuarena__failure_of(arena, error);
    uint64_t span = req->bytes + (req->alignment - arena->unit), over, idle, need;
    int is_enough;                               /* free memory alone */
    if (gpuarena__is_not_for_lack(failure.reason)) return failure;
    need = gpuarena__need(arena, req, &idle);
    gpuarena__failure_measure(arena, &failure, need, idle);
    over = gpuarena__above(arena->stats.reserved_bytes, arena->limit);
    if (over && failure.reason == GPUARENA_REASON_OVER_LIMIT) {      /* it must cover reserved memory */
        int free_serves = !gpuarena__needs_new(req)
            && (gpuarena__search(arena, req)     /* a wait can make more free, but not during a capture */
                || (!(req->flags & GPUARENA_ALLOC_TRY) && !gpuarena__ask_capturing(arena, NULL)
                    && gpuarena__run_find(arena, req, GPUARENA__AVAILABLE_AFTER_SYNC)));
        failure.missing_bytes = free_serves ? over : gpuarena__max(failure.missing_bytes, over);
    }
    is_enough = failure.cached_bytes + failure.pending_bytes >= req->bytes;
    if (over || !(is_enough || gpuarena__is_within_limits(&failure))) return failure;
    if (failure.reason == GPUARENA_REASON_DRIVER_REFUSED && !failure.missing_bytes && !failure.pending_bytes)
        return failure;                     /* the arena has enough pages, but the driver does not map them */
    if (gpuarena__is_waiting(arena, req, &failure)) {
        failure.reason = gpuarena__ask_capturing(arena, NULL) ? GPUARENA_REASON_CAPTURE
                                                             : GPUARENA_REASON_PENDING;
        failure.driver_call = NULL;
        failure.missing_bytes = failure.device_free_bytes = 0;
        gpuarena__failure_figures(arena, &failure);          /* other threads went on during driver calls */
    } else if (is_enough && !gpuarena__needs_new(req)) {
        failure.reason = GPUARENA_REASON_FRAGMENTED;
        if (failure.largest_free_bytes < span) span -= failure.largest_free_bytes;
        failure.missing_bytes = span;            /* all of it, if free blocks cannot serve this request */
    }
    return failure;
}

/* ---- sentences, with figures of the failure, such as $limit, and pieces that depend on it */

/* Says why the arena did not grow, for a failure by fragmentation. */
static const char *gpuarena__words_of_growth(const gpuarena_failure *failure)
{
    if (failure->driver_call)
        return "the driver refused more ($call: $code), though it reports $device_free free; trim";
    if (failure->driver_code) return "the driver refused more ($code); free device memory elsewhere";
    if (failure->detail[0]) return "the limit of the arena above, $detail, forbids growth; raise that";
    if (failure->device_free_bytes || failure->limit_bytes == GPUARENA_NO_LIMIT)
        return "the headroom forbids growth; lower it";
    return "the limit of $limit forbids growth; raise it";
}

static const char *gpuarena__words_of_reason(const gpuarena_failure *failure)
{
    switch (failure->reason) {
#define X(reason, words) case GPUARENA_REASON_##reason: return words;
    X(OVER_LIMIT, failure->missing_bytes
      ? "$requested would pass the limit of $limit; raise it by $missing, or free as much"
      : "$requested would pass the limit of $limit while idle memory stays reserved, which could not be "
        "released; gpuarena_trim says why")
    X(OVER_PARENT, failure->missing_bytes
      ? "$requested would pass the limit of the arena above, $detail, which its sub-arenas share; raise that "
        "by $missing, or free as much in any of them"
      : "$requested would pass the limit of the arena above, $detail, while idle memory stays reserved, "
        "which could not be released; gpuarena_trim says why")
    X(FRAGMENTED, "$requested fit in no single free block, though enough is free: the longest is "
                  "$largest_free, short by $missing; $growth, or allocate large blocks first")
    X(PENDING, "$requested are free, but the GPU may use them still: $pending wait for streams, and cannot "
               "be waited for; synchronise, or allow streams=steal")
    X(CAPTURE, "$requested are free or could be made so, but not while a stream is captured into a graph; "
               "allocate before the capture")
    X(HEADROOM, "$requested would leave less than the headroom to others: the device has $device_free free; "
                "$missing more, or a smaller headroom, would do")
    X(DRIVER_REFUSED, failure->driver_call
      ? "$requested were refused by the driver ($call: $code), though it reports $device_free free on the "
        "device: with $reserved reserved a limit other than memory is reached, or another process was "
        "faster; trim, or ask for larger pages or segments"
      : "$requested were refused by the driver ($code), which reports $device_free free on the device; "
        "another $missing of device memory would do")
    X(TOO_LARGE, "$requested are more than any arena can hold; check the size")
    X(NEIGHBOUR, "$requested do not fit in place: the memory behind the block is taken; allocate it with "
                 "room_bytes, or anew")
    X(ADDRESSES, "$requested have no addresses: the driver reserves no more ($code); free unused memory, "
                 "or set a limit")
    X(TRY_ONLY, "$requested are not free in one piece, and GPUARENA_ALLOC_TRY forbids growth; ask without it")
    X(ALIGNMENT, "$requested must begin a segment, and none that the driver gives starts at a multiple of "
                 "their alignment; set config.alignment to it, or ask for less")
#undef X
    default: return "$requested could not be had ($reason)";
    }
}

static const char *gpuarena__words_of(const gpuarena_failure *failure)
{
    const char *detail = failure->detail[0] ? "$detail" : NULL;
    switch (failure->result) {
#define X(result, words) case GPUARENA_##result: return words;
    X(OK, "nothing has failed")
    X(OUT_OF_MEMORY, gpuarena__words_of_reason(failure))
    X(HOST_MEMORY, "no host memory for the arena's bookkeeping; free some, and call again")
    X(DOUBLE_FREE, "the pointer's memory is free already$place")
    X(FOREIGN_POINTER, "the pointer is in no arena$place")
    X(INTERIOR_POINTER, "the pointer is inside a block, not its base; free the base$place")
    X(WRONG_ARENA, "the pointer is another arena's; free it there$place")
    X(STILL_IN_USE, detail ? detail
      : "$live are still live; free them, or call gpuarena_reset, before gpuarena_destroy")
    X(REENTRANT, "called from a callback of the same arena, which holds its lock; call after it returns")
    X(DEVICE_LOST, "the device is lost (driver $code); end the process and start again")
    X(DRIVER_ERROR, "the driver failed with $code, or gave nonsense")
    X(FORKED, detail ? detail
      : "the arena is that of the process from which this one was forked; make one here")
#undef X
    default: return detail ? "$result: $detail" : "$result";
    }
}

/* Writes "; live by tag: kv 3.2 GiB, untagged 1.0 MiB, others 2.0 MiB"; of leaks "; 4 blocks live: 2 of
   4.0 MiB tagged kv, 1 of 512 B untagged, 1 more". */
static void gpuarena__say_live(gpuarena__text *out, const gpuarena_failure *failure)
{
    int leaks = failure->result == GPUARENA_STILL_IN_USE;
    uint64_t rest = leaks ? failure->live_count : failure->live_bytes;
    uint32_t at;
    for (at = 0; at < 4 && failure->most[at].count; at++) {
        const gpuarena_live *one = &failure->most[at];
        const char *name = gpuarena_tag_name(one->tag);
        if (at) gpuarena__put(out, ", ");
        else if (!leaks) gpuarena__put(out, "; live by tag: ");
        else gpuarena__put(out, "; %" PRIu64 " block%s live: ", rest, rest > 1 ? "s" : "");
        if (leaks) gpuarena__put(out, "%" PRIu64 " of ", one->count);
        else gpuarena__put(out, "%s ", name[0] ? name : "untagged");
        gpuarena__put_about(out, leaks ? one->bytes / one->count : one->bytes, 1);
        if (leaks && name[0]) gpuarena__put(out, " tagged %s", name);
        else if (leaks && one->tag) gpuarena__put(out, " with tag %" PRIu32, one->tag);
        else if (leaks) gpuarena__put(out, " untagged");
        rest = gpuarena__above(rest, leaks ? one->count : one->bytes);
    }
    if (!at || !rest) return;
    if (leaks) {
        gpuarena__put(out, ", %" PRIu64 " more", rest);
        return;
    }
    gpuarena__put(out, ", others ");
    gpuarena__put_about(out, rest, 1);
}

static void gpuarena__say(gpuarena__text *out, const gpuarena_failure *failure, const char *words)
{
    const char *detail = failure->detail;
    gpuarena__piece rest = { words, words + strlen(words) };
    while (rest.begin < rest.end) {
        if (gpuarena__piece_skip(&rest, "$code"))
            gpuarena__put(out, "code %d%s%s", (int)failure->driver_code, detail[0] ? ", " : "", detail);
        else if (gpuarena__piece_skip(&rest, "$call")) gpuarena__put(out, "%s", failure->driver_call);
#define X(name) \
        else if (gpuarena__piece_skip(&rest, "$" #name)) gpuarena__put_bytes(out, failure->name##_bytes);
        X(requested) X(missing) X(live) X(pending) X(reserved) X(limit) X(largest_free) X(device_free)
#undef X
        else if (gpuarena__piece_skip(&rest, "$growth"))
            gpuarena__say(out, failure, gpuarena__words_of_growth(failure));
        else if (gpuarena__piece_skip(&rest, "$place")) {
            if (detail[0]) gpuarena__put(out, " (%s)", detail);
            if (!failure->block.ptr) continue;
            gpuarena__put(out, "; it lies in a %s block of ",
                          failure->block.state == GPUARENA_STATE_LIVE ? "live" : "free");
            gpuarena__put_bytes(out, failure->block.bytes);
        } else if (gpuarena__piece_skip(&rest, "$detail")) gpuarena__put(out, "%s", detail);
        else if (gpuarena__piece_skip(&rest, "$result"))
            gpuarena__put(out, "%s", gpuarena_result_name(failure->result));
        else if (gpuarena__piece_skip(&rest, "$reason"))
            gpuarena__put(out, "%s", gpuarena_reason_name(failure->reason));
        else gpuarena__put(out, "%c", *rest.begin++);
    }
}

/* >>dump ===============================================================================================
   Walks and reports. */

/* A copy that a walk or a report tells of, made with all locks. The caller's functions run with the slow-path
   mutex alone, so that hits and frees go on meanwhile. Without host memory there is no copy, and all locks
   stay held. */
typedef struct gpuarena__copy {
    gpuarena_block *blocks;                      /* in the order of their addresses; NULL: there is none */
    gpuarena_tag_stats *tags;                    /* behind the blocks, in the order of their places */
    size_t block_count, tag_count, bytes;
    gpuarena__frame frame;
} gpuarena__copy;

/* Copies blocks and tags, and unlocks the short lock. */
static void gpuarena__copy_begin(gpuarena *arena, gpuarena__copy *copy)
{
    gpuarena__iterator at;
    size_t count = 0, place;
    for (at = gpuarena__blocks(arena); at.index; gpuarena__next(arena, &at)) count++;
    copy->block_count = count;
    copy->tag_count = arena->tags.room;
    copy->bytes = (count + 1) * sizeof *copy->blocks + copy->tag_count * sizeof *copy->tags;    /* never 0 */
    copy->blocks = (gpuarena_block *)gpuarena__host_alloc(arena, copy->bytes);
    gpuarena__call_begin(&copy->frame, arena,
                         copy->blocks ? GPUARENA__FRAME_DRIVER : GPUARENA__FRAME_CALLBACK);
    if (!copy->blocks) return;
    copy->tags = (gpuarena_tag_stats *)(void *)(copy->blocks + count);
    for (at = gpuarena__blocks(arena), count = 0; at.index; gpuarena__next(arena, &at))
        copy->blocks[count++] = gpuarena__block_describe(arena, at.index);
    for (place = 0; place < copy->tag_count; place++)
        copy->tags[place] = gpuarena__tag_stats(arena, (uint32_t)place);
    gpuarena__unlock(arena);
}

static void gpuarena__copy_end(gpuarena *arena, gpuarena__copy *copy)
{
    if (copy->blocks) gpuarena__lock(arena);
    gpuarena__call_end(&copy->frame);
    if (copy->blocks) gpuarena__host_free(arena, copy->blocks, copy->bytes);
}

/* Calls the visitor for all blocks, until it stops. */
static gpuarena_result gpuarena__walk(const gpuarena *arena, const gpuarena__copy *copy,
                                      gpuarena_visit_fn *visit, void *user)
{
    gpuarena_result result = GPUARENA_OK;
    gpuarena__iterator at = GPUARENA_INIT;
    size_t count;
    if (!copy->blocks) at = gpuarena__blocks(arena);
    for (count = 0; count < copy->block_count && result == GPUARENA_OK; count++) {
        gpuarena_block block = copy->blocks ? copy->blocks[count] : gpuarena__block_describe(arena, at.index);
        if (!copy->blocks) gpuarena__next(arena, &at);
        result = visit(&block, user);
    }
    return result;
}

/* A report: a walk over tags and blocks, written as text or as JSON. Each piece of text is put into `out` and
   handed to the caller's writer, until that stops. */
typedef struct gpuarena__writer {
    const gpuarena *arena;
    int json;
    gpuarena_write_fn *write;
    void *user;
    gpuarena_result result;                      /* of the last call of write */
    uint64_t blocks, live, holes, longest_free;  /* figures of the range in which the walk is */
    gpuarena__text out;
    char piece[1280];                            /* longer than any piece */
} gpuarena__writer;

static gpuarena_result gpuarena__flush(gpuarena__writer *writer)
{
    gpuarena__text *out = &writer->out;
    GPUARENA_ASSERT(out->length < out->size && "a piece of a report fits");
    if (writer->result == GPUARENA_OK && out->length)
        writer->result = writer->write(out->text, (size_t)gpuarena__min(out->length, out->size - 1),
                                       writer->user);
    out->length = 0;
    return writer->result;
}

/* Writes a name as the inside of a JSON string. Names are printable ASCII, as creation checks. */
static void gpuarena__put_escaped(gpuarena__text *out, const char *name)
{
    for (; *name; name++) gpuarena__put(out, "%s%c", *name == '"' || *name == '\\' ? "\\" : "", *name);
}

static void gpuarena__put_figure(gpuarena__text *out, const char *label, uint64_t bytes)
{
    gpuarena__put(out, "  %-12s ", label);
    if (bytes == GPUARENA_NO_LIMIT) gpuarena__put(out, "none");
    else gpuarena__put_bytes(out, bytes);
    gpuarena__put(out, "\n");
}

static void gpuarena__text_head(gpuarena__writer *writer, const gpuarena_stats *stats)
{
    const gpuarena_config *config = &writer->arena->config;
    gpuarena__text *out = &writer->out;
    gpuarena__put(out, "arena %s (", config->name);
    gpuarena__config_put(out, config);
    gpuarena__put(out, ")\n");
    gpuarena__flush(writer);
    if (config->parent) gpuarena__put(out, "  %-12s %s\n", "under", config->parent->config.name);
#define X(label, name) gpuarena__put_figure(out, label, stats->name##_bytes);
    X("requested", requested) X("+ slack", slack) X("= live", live)
    X("+ pending", pending) X("+ cached", cached) X("+ children", children) X("= reserved", reserved)
    X("limit", limit) X("largest free", largest_free) X("peak", reserved_peak)
#undef X
    gpuarena__flush(writer);
    gpuarena__put(out, "  %" PRIu64 " live blocks, %" PRIu64 " allocations, %" PRIu64 " frees, %" PRIu64
                  " failures, %" PRIu64 " misuses, %" PRIu64 " driver calls\n", stats->live_count,
                  stats->alloc_count, stats->free_count, stats->fail_count, stats->misuse_count,
                  stats->driver_call_count);
    gpuarena__flush(writer);
}

static void gpuarena__json_head(gpuarena__writer *writer, const gpuarena_stats *stats)
{
    const gpuarena_config *config = &writer->arena->config;
    gpuarena__text *out = &writer->out;
    const char *comma = "";
    gpuarena__put(out, "{\"schema\":\"gpuarena-report/1\",\"version\":\"%s\",\"name\":\"",
                  GPUARENA_VERSION_TEXT);
    gpuarena__put_escaped(out, config->name);
    gpuarena__put(out, "\",\"config\":\"");
    gpuarena__config_put(out, config);
    gpuarena__put(out, "\",\n\"stats\":{");
#define X(field) \
    gpuarena__flush(writer); \
    gpuarena__put(out, "%s\"" #field "\":%" PRIu64, comma, stats->field); \
    comma = ",";
    GPUARENA_STATS(X)
#undef X
    gpuarena__put(out, "},");
    gpuarena__flush(writer);
}

/* Writes the tags that the arena has used, in the order of their places. Place 0 stands for untagged blocks;
   in JSON it is always there. */
static void gpuarena__report_tags(gpuarena__writer *writer, const gpuarena__copy *copy)
{
    gpuarena__text *out = &writer->out;
    uint32_t at;
    for (at = 0; at < copy->tag_count; at++, gpuarena__flush(writer)) {
        gpuarena_tag_stats one = copy->blocks ? copy->tags[at] : gpuarena__tag_stats(writer->arena, at);
        const char *name = at ? gpuarena__tag_names[at - 1] : "";
        if (!one.alloc_count && (at || !writer->json)) continue;
        if (!writer->json) {
            gpuarena__put(out, "  tag %s: %" PRIu64 " bytes live in %" PRIu64 " blocks, peak %" PRIu64 ", %"
                          PRIu64 " allocations\n", at ? name : "(none)", one.live_bytes, one.live_count,
                          one.live_peak_bytes, one.alloc_count);
            continue;
        }
        gpuarena__put(out, "%s\n{\"tag\":%" PRIu32 ",\"name\":\"", at ? "," : "\n\"tags\":[",
                      at ? GPUARENA__TAG_BASE + at : 0);
        gpuarena__put_escaped(out, name);
        gpuarena__put(out, "\",\"live_bytes\":%" PRIu64 ",\"live_peak_bytes\":%" PRIu64 ",\"live_count\":%"
                      PRIu64 ",\"alloc_count\":%" PRIu64 "}", one.live_bytes, one.live_peak_bytes,
                      one.live_count, one.alloc_count);
    }
    if (writer->json && at) gpuarena__put(out, "],");
}

/* The visitor of a report. JSON has each block; a text counts them, and has figures of each range. */
static gpuarena_result gpuarena__report_block(const gpuarena_block *block, void *user)
{
    static const char *const states[] = { "none", "live", "pending", "free", "hole" };
    gpuarena__writer *writer = (gpuarena__writer *)user;
    gpuarena__text *out = &writer->out;
    const gpuarena__range *range = gpuarena__range_of(writer->arena, gpuarena__address(block->ptr));
    uint64_t offset = gpuarena__address(block->ptr) - range->address;
    int is_last = offset + block->bytes == range->bytes;
    if (writer->json) {
        if (!offset)
            gpuarena__put(out, "%s{\"address\":\"0x%" PRIx64 "\",\"bytes\":%" PRIu64 ",\"blocks\":[",
                          range->before ? ",\n" : "", range->address, range->bytes);
        gpuarena__put(out, "%s\n{\"offset\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"state\":\"%s\"",
                      offset ? "," : "", offset, block->bytes, states[block->state]);
        if (block->state == GPUARENA_STATE_LIVE)
            gpuarena__put(out, ",\"requested\":%" PRIu64 ",\"serial\":%" PRIu64 ",\"tag\":%" PRIu32,
                          block->requested_bytes, block->serial, block->tag);
        gpuarena__put(out, is_last ? "}]}" : "}");
        return gpuarena__flush(writer);
    }
    if (!offset) writer->blocks = writer->live = writer->holes = writer->longest_free = 0;
    writer->blocks++;
    if (block->state == GPUARENA_STATE_LIVE) writer->live += block->bytes;
    else if (block->state == GPUARENA_STATE_HOLE) writer->holes += block->bytes;
    else writer->longest_free = gpuarena__max(writer->longest_free, block->bytes);
    if (!is_last) return writer->result;
    gpuarena__put(out, "  %s 0x%" PRIx64 " of %" PRIu64 " bytes: %" PRIu64 " blocks, %" PRIu64
                  " bytes live, longest free %" PRIu64, range->pages ? "range" : "segment", range->address,
                  range->bytes, writer->blocks, writer->live, writer->longest_free);
    if (range->pages) gpuarena__put(out, ", holes %" PRIu64, writer->holes);
    gpuarena__put(out, "\n");
    return gpuarena__flush(writer);
}

/* >>check ==============================================================================================
   Checks every invariant that the structs state, one structure at a time, and names the first violated
   one. */

/* A check in progress, and the counts of its walk over all blocks. */
typedef struct gpuarena__audit {
    const gpuarena *arena;
    gpuarena__text *out;                         /* receives the name of the violated invariant */
    uint64_t node_count;                         /* of all chunks: no list or tree is longer */
    uint64_t entry_count;                        /* of the tables of live blocks */
    uint64_t live_bytes, requested_bytes, reserved_bytes, pending_bytes, live_count, free_count;
    uint64_t multi_count, earmarked_count;       /* free blocks of MULTI_STREAM, and those earmarked */
    uint64_t binned_count;                       /* blocks in bins */
    uint64_t ref_count, use_count;               /* of stream records */
    uint64_t use_node_count;                     /* of live and of free blocks */
    uint32_t set_live_count;                     /* live blocks of capture sets */
    uint64_t hole_count, open_count;             /* all holes, and those in the list */
    uint64_t unmap_failed_count;                 /* holes that the driver failed to unmap */
    uint64_t idle_count, large_count;            /* idle pages, and large handles */
    uint64_t tagged_bytes, tagged_sum;           /* of blocks counted by tag: see tagged_worth */
    uint64_t handle_end;                         /* in the range walked: the end of its handles so far; */
    size_t   anchor_count;                       /*   the pages in which a block starts */
} gpuarena__audit;

/* A function check_x returns 1; or it names the violated invariant and returns 0, by one of these macros.
   NEVER: something is wrong. SAME: a value counted afresh differs from the one kept. LINK: an index in a link
   or a table is no node. */
#define GPUARENA__NEVER(violated, name, where) \
    if (violated) return gpuarena__put(audit->out, "%s (at %" PRIu64 ")", name, (uint64_t)(where))
#define GPUARENA__SAME(found, kept, name) GPUARENA__NEVER((found) != (kept), name, found)
#define GPUARENA__LINK(index, where) \
    GPUARENA__NEVER((index) >= audit->node_count, "a link leads to no block", where)

/* A weight for a tag's bytes and blocks, so that sums of weights tell tags apart. */
static uint64_t gpuarena__tagged_worth(uint32_t place, uint64_t bytes, uint64_t count)
{
    return (bytes + count) * (place * 0x9E3779B97F4A7C15u | 1);
}

/* Checks the n-th table of live nodes, and counts its entries. The walk over all blocks finds each live one
   there. */
static int gpuarena__check_lookup(gpuarena__audit *audit, uint32_t n)
{
    const gpuarena__lookup *lookup = gpuarena__lookup_nth(audit->arena, n);
    const gpuarena__heap *heap = audit->arena->heaps.list[n];
    uint64_t count = 0;
    uint32_t slot;
    for (slot = 0; slot <= lookup->mask; slot++) {
        GPUARENA__LINK(lookup->table[slot], slot);
        count += lookup->table[slot] != 0;
    }
    GPUARENA__NEVER(count * 4 > (uint64_t)lookup->mask + 1, "the table of live blocks is too full", count);
    GPUARENA__NEVER(n && count != heap->stats.live_count, "a heap's live blocks are miscounted", n);
    audit->entry_count += count;
    return 1;
}

/* Checks a block's uses on other streams, and counts its references to stream records. */
static int gpuarena__check_uses(gpuarena__audit *audit, uint32_t index)
{
    const gpuarena *arena = audit->arena;
    const gpuarena__node *node = gpuarena__node_at(arena, index);
    int live = gpuarena__node_live(node), multi = !live && node->record == GPUARENA__MULTI_STREAM;
    uint32_t record = multi ? node->as.held.home : node->record, use_at = node->use_at, count = 0;
    GPUARENA__NEVER(record >= arena->streams.count || node->ticket > arena->streams.list[record].ticket,
                    "a block is of no stream that there is", index);
    GPUARENA__NEVER(use_at && !live && !multi, "a free block in a bin waits for several streams", index);
    audit->ref_count += live || multi;
    audit->set_live_count += live && arena->streams.list[record].home;
    audit->multi_count += multi != 0;
    for (; use_at; use_at = gpuarena__node_at(arena, use_at)->next) {
        GPUARENA__NEVER(use_at >= audit->node_count || ++count > audit->node_count,
                        "a block's uses lead nowhere", index);
        GPUARENA__NEVER(gpuarena__node_at(arena, use_at)->record >= arena->streams.count
                        || (gpuarena__node_at(arena, use_at)->ticket == 0) != live, "a use is of no stream",
                        use_at);
        if (live) audit->ref_count++;
        else audit->use_count++;
        audit->use_node_count++;
    }
    return 1;
}

static int gpuarena__check_live(gpuarena__audit *audit, const gpuarena__node *node, uint32_t index)
{
    const gpuarena *arena = audit->arena;
    const uint32_t *found = gpuarena__lookup_find(gpuarena__self(arena), node->address);
    uint32_t place = gpuarena__place_of(node);
    uint64_t bytes = gpuarena__node_bytes(node);
    GPUARENA__NEVER(!found || *found != index, "a live block is not found by its address", index);
    GPUARENA__NEVER(!node->as.live.requested || node->as.live.requested > bytes,
                    "a live block is smaller than its request", index);
    GPUARENA__NEVER(!node->as.live.serial || node->as.live.serial > arena->serial,
                    "a live block's serial was never given", index);
    GPUARENA__NEVER(node->size & GPUARENA__TAGGED
                    && (!gpuarena__tag_place(node->as.live.tag) || place >= arena->tags.room),
                    "a live block has a tag that there is not", index);
    audit->live_count++;
    audit->live_bytes += bytes;
    audit->requested_bytes += node->as.live.requested;
    if (!place) return 1;
    audit->tagged_bytes += bytes;
    audit->tagged_sum += gpuarena__tagged_worth(place, bytes, 1);
    return 1;
}

/* Checks a free block that has memory. If it is earmarked, it waits for a stream at most that has a region.
   Lists and trees are checked with the bins. */
static int gpuarena__check_free(gpuarena__audit *audit, const gpuarena__node *node, uint32_t index)
{
    const gpuarena *arena = audit->arena;
    const gpuarena__region *region = arena->plans.regions, *end = region + arena->plans.region_count;
    uint64_t bytes = gpuarena__node_bytes(node);
    uint32_t at = node->as.slot;
    const gpuarena__bins *bins;
    audit->free_count++;
    if (node->record) audit->pending_bytes += bytes;
    if (gpuarena__is_earmarked(node)) {
        while (region < end && node->record && node->record != region->record) region++;
        GPUARENA__NEVER(region == end, "a block is earmarked for no stream", index);
        audit->earmarked_count++;
        return 1;
    }
    audit->idle_count += gpuarena__whole_pages(arena, node);
    if (node->record == GPUARENA__MULTI_STREAM || node->size & GPUARENA__OVERFLOW
        || node->size >= arena->ordered_bytes) return 1;
    bins = gpuarena__bins_of(gpuarena__self(arena), NULL, node);
    GPUARENA__NEVER(at / 64 != gpuarena__bin_of(bytes).number, "a free block is in the bin of another size",
                    index);
    GPUARENA__NEVER(at % 8 || bins->nodes[at / 8] != index, "a free block is not in its slot", index);
    GPUARENA__NEVER(!(bins->digests[at / 64] >> at % 64 & 255), "a digest and its slot disagree", index);
    return 1;
}

/* Checks a hole: the room of the live block before it, or an open hole without holes beside it. */
static int gpuarena__check_hole(gpuarena__audit *audit, const gpuarena__range *range,
                                const gpuarena__node *node, uint32_t index)
{
    const gpuarena__node *before = gpuarena__node_at(audit->arena, node->prev);
    uint64_t page = audit->arena->paged.page_bytes;
    int kept = (node->size & GPUARENA__KEPT) != 0,
        room = gpuarena__node_live(before) && before->size & GPUARENA__KEPT;
    GPUARENA__NEVER(!range->pages || gpuarena__node_bytes(node) % page, "a hole is not of whole pages",
                    index);
    GPUARENA__NEVER(node->record || node->ticket, "a hole waits for something", index);
    GPUARENA__NEVER(room && !kept, "a block's room is open to all", index);
    GPUARENA__NEVER(!kept && before->size & GPUARENA__HOLE && !(before->size & GPUARENA__KEPT),
                    "two holes are neighbours", index);
    audit->hole_count++;
    audit->open_count += !kept;
    audit->unmap_failed_count += kept && !room;
    return 1;
}

/* Checks that handles lie side by side between holes, up to the end of a block. */
static int gpuarena__check_handles(gpuarena__audit *audit, const gpuarena__range *range,
                                   const gpuarena__node *node, uint32_t index)
{
    uint64_t page = audit->arena->paged.page_bytes, end = node->address + gpuarena__node_bytes(node), at;
    uint32_t count, inside;
    if (node->size & GPUARENA__HOLE) {
        GPUARENA__NEVER(audit->handle_end != node->address, "a handle reaches into a hole", index);
        audit->handle_end = end;
    }
    while (audit->handle_end < end) {
        at = (audit->handle_end - range->address) / page;
        count = range->parts[at];
        GPUARENA__NEVER(!count || count > (range->address + range->bytes - audit->handle_end) / page,
                        "a handle has no pages, or too many", index);
        for (inside = 1; inside < count; inside++)
            GPUARENA__NEVER(range->parts[at + inside] != GPUARENA__INSIDE + inside,
                            "a large handle is in pieces", index);
        audit->large_count += count > 1;
        audit->handle_end += count * page;
    }
    return 1;
}

/* Checks one block: it follows `prev` and lies at `address`. */
static int gpuarena__check_node(gpuarena__audit *audit, const gpuarena__range *range, uint32_t index,
                                uint32_t prev, uint64_t address)
{
    const gpuarena *arena = audit->arena;
    const gpuarena__node *node = gpuarena__node_at(arena, index), *before = gpuarena__node_at(arena, prev);
    uint64_t bytes = gpuarena__node_bytes(node), bits = node->size & GPUARENA__STATE_BITS;
    size_t page = gpuarena__page_of(range, address);
    int starts_page = !prev || !gpuarena__same_page(before->address, address);
    if (!gpuarena__check_uses(audit, index)) return 0;
    GPUARENA__NEVER(node->address != address || node->prev != prev, "blocks do not tile a segment", index);
    GPUARENA__NEVER(!bytes || bytes % arena->unit || bytes > range->bytes - (address - range->address),
                    "a block has a size that cannot be", index);
    if (bits & GPUARENA__LIVE)
        bits &= ~(GPUARENA__TAGGED | GPUARENA__CLEARING | GPUARENA__PLANNED | GPUARENA__EXPORTED);
    if (bits & GPUARENA__OVERFLOW) bits &= ~GPUARENA__SURPLUS;
    GPUARENA__NEVER(bits && bits != GPUARENA__LIVE && bits != GPUARENA__OVERFLOW && bits != GPUARENA__HOLE
                    && bits != GPUARENA__EARMARKED
                    && bits != (GPUARENA__HOLE | GPUARENA__KEPT) && bits != (GPUARENA__LIVE | GPUARENA__KEPT)
                    && bits != (GPUARENA__LIVE | GPUARENA__DEDICATED), "a block has a state that cannot be",
                    index);
    GPUARENA__NEVER(bits == (GPUARENA__LIVE | GPUARENA__KEPT)
                    && !(node->next && gpuarena__node_at(arena, node->next)->size & GPUARENA__HOLE),
                    "a block has no room behind it", index);
    GPUARENA__NEVER(starts_page != (range->anchors[page] == index), "an anchor is wrong", index);
    GPUARENA__NEVER(range->owners[page] > arena->heaps.count, "a page belongs to no heap that there is",
                    index);
    GPUARENA__NEVER(prev && gpuarena__is_free(before) && before->record != GPUARENA__MULTI_STREAM
                    && gpuarena__may_take_in(arena, NULL, before, node), "two free blocks are neighbours",
                    index);
    audit->anchor_count += starts_page != 0;
    if (range->pages && !gpuarena__check_handles(audit, range, node, index)) return 0;
    if (node->size & GPUARENA__HOLE) return gpuarena__check_hole(audit, range, node, index);
    audit->reserved_bytes += bytes;
    return gpuarena__node_live(node) ? gpuarena__check_live(audit, node, index)
                                     : gpuarena__check_free(audit, node, index);
}

/* Checks a range, its blocks, and that pages in which no block starts have no anchor. */
static int gpuarena__check_range(gpuarena__audit *audit, uint32_t at, const gpuarena__range *range)
{
    const gpuarena *arena = audit->arena;
    uint64_t address = range->address, end = address + range->bytes,
             granule = arena->config.debug ? arena->unit : GPUARENA__GRANULE;
    uint32_t index = range->first, prev = 0;
    size_t page, pages = gpuarena__address_pages(range->bytes);
    GPUARENA__NEVER(range->bytes % (range->pages ? arena->paged.page_bytes : granule)
                    || address & (arena->unit - 1) || end < address,
                    "a segment has a size or base that cannot be", at);
    GPUARENA__NEVER(range->before && address < range->before->address + range->before->bytes,
                    "segments overlap or are out of order", at);
    GPUARENA__NEVER(gpuarena__range_of(arena, address) != range
                    || *(range->after ? &range->after->before : &arena->ranges.last) != range
                    || (range->low && range->low->height > range->height)
                    || (range->high && range->high->height > range->height),
                    "a segment is not found by its address", at);
    audit->handle_end = address;
    audit->anchor_count = 0;
    while (index) {
        GPUARENA__LINK(index, prev);
        GPUARENA__NEVER(address >= end, "blocks go past the end of their segment", at);
        if (!gpuarena__check_node(audit, range, index, prev, address)) return 0;
        address += gpuarena__node_bytes(gpuarena__node_at(arena, index));
        prev = index;
        index = gpuarena__node_at(arena, index)->next;
    }
    GPUARENA__NEVER(address != end, "blocks end before their segment does", at);
    for (page = 0; page < pages; page++) audit->anchor_count -= range->anchors[page] != 0;
    GPUARENA__NEVER(audit->anchor_count, "an anchor is left over", range->first);
    return 1;
}

/* Checks the slots and the list of a class. */
static int gpuarena__check_class(gpuarena__audit *audit, const gpuarena__bins *bins, uint32_t number)
{
    const gpuarena *arena = audit->arena;
    uint64_t digests = bins->digests[number];
    uint32_t slot, next, before = 0, listed = 0;
    const gpuarena__node *node;
    GPUARENA__NEVER(bins->overflow[number] && !digests, "a bin has a list and no slot taken", number);
    GPUARENA__NEVER((bins->taken[number / 64] >> number % 64 & 1) != (digests != 0), "a class's bit is wrong",
                    number);
    for (slot = 0; digests; slot++, digests >>= 8) {     /* most classes are empty */
        uint32_t digest = (uint32_t)digests & 255, index = bins->nodes[number * 8 + slot];
        if (!digest) continue;
        GPUARENA__LINK(index, number * 8 + slot);
        node = gpuarena__node_at(arena, index);
        GPUARENA__NEVER(gpuarena__node_live(node) || gpuarena__node_bytes(node) >= arena->small_bytes,
                        "a slot holds a wrong block", index);
        GPUARENA__NEVER(gpuarena__bin_of(gpuarena__node_bytes(node)).digest != digest, "a digest is wrong",
                        index);
        audit->binned_count++;
    }
    for (next = bins->overflow[number]; next; before = next, next = node->as.list.after) {
        GPUARENA__LINK(next, number);
        node = gpuarena__node_at(arena, next);
        GPUARENA__NEVER(gpuarena__node_live(node) || !(node->size & GPUARENA__OVERFLOW)
                        || gpuarena__node_bytes(node) >= arena->small_bytes
                        || gpuarena__bin_of(gpuarena__node_bytes(node)).number != number
                        || node->as.list.before != before || node->as.list.number != number,
                        "a bin's list is broken", next);
        audit->binned_count++;
        listed++;
    }
    GPUARENA__NEVER(listed != bins->listed[number], "a bin's list is miscounted", number);
    return 1;
}

/* Checks tree `number` of the bins from a link on: its blocks, their order, heights and longest blocks, to a
   depth of at most the number of blocks. */
static int gpuarena__check_tree(gpuarena__audit *audit, const gpuarena__bins *bins, uint32_t number,
                                uint32_t at, uint32_t above)
{
    const gpuarena *arena = audit->arena;
    const gpuarena__node *node, *child;
    uint64_t longest, bits;
    uint32_t side, below;
    GPUARENA__LINK(at, above);
    if (!at) return 1;
    node = gpuarena__node_at(arena, at);
    longest = node->size;
    bits = node->size & GPUARENA__STATE_BITS;
    GPUARENA__NEVER(++audit->binned_count > audit->node_count, "a tree has no end", at);
    GPUARENA__NEVER(number ? bits != (GPUARENA__OVERFLOW | GPUARENA__SURPLUS)
                             || node->size >= arena->ordered_bytes
                             || (node->size < arena->small_bytes
                                 && !bins->overflow[gpuarena__bin_of(gpuarena__node_bytes(node)).number])
                           : bits || node->size < arena->ordered_bytes,
                    "a tree holds a wrong block", at);
    for (side = 0; side < 2; side++) {
        below = side ? node->as.tree.high : node->as.tree.low;
        if (!gpuarena__check_tree(audit, bins, number, below, at)) return 0;
        if (!below) continue;
        child = gpuarena__node_at(arena, below);
        longest = gpuarena__max(longest, child->as.tree.longest);
        GPUARENA__NEVER(gpuarena__tree_height(below) > gpuarena__tree_height(at)
                        || gpuarena__tree_before(child, node) == (int)side,
                        "a tree is out of order", below);
    }
    GPUARENA__NEVER(longest != node->as.tree.longest, "a tree's longest block is another", at);
    return 1;
}

static int gpuarena__check_bins(gpuarena__audit *audit)
{
    const gpuarena *arena = audit->arena;
    uint64_t multi = 0;
    uint32_t record, n, at, index;
    for (record = 0; record < arena->streams.count; record++) {
        const gpuarena__bins *bins = arena->streams.list[record].bins;
        GPUARENA__NEVER(arena->streams.list[record].heap > arena->heaps.count,
                        "a stream has a heap that there is not", record);
        if (record && bins == &arena->bins) continue;        /* a single stream shares those of record 0 */
        for (n = 0; (bins = gpuarena__bins_nth(arena, record, n)) != NULL; n++) {
            for (at = 0; at < 2; at++)
                if (!gpuarena__check_tree(audit, bins, at, bins->root[at], 0)) return 0;
            for (at = 0; at < GPUARENA__CLASSES; at++)
                if (!gpuarena__check_class(audit, bins, at)) return 0;
        }
    }
    for (index = arena->multi_stream; index && multi <= audit->multi_count; multi++) {
        GPUARENA__LINK(index, 0);
        index = gpuarena__node_at(arena, index)->as.list.after;
    }
    GPUARENA__NEVER(audit->binned_count + multi + audit->earmarked_count != audit->free_count,
                    "free blocks and bins differ in number", audit->binned_count);
    GPUARENA__SAME(multi, audit->multi_count, "blocks that wait for several streams are miscounted");
    return 1;
}

static int gpuarena__check_plans(const gpuarena__audit *audit)
{
    const gpuarena *arena = audit->arena;
    const gpuarena__plans *plans = &arena->plans;
    uint32_t at;
    GPUARENA__NEVER(audit->earmarked_count && !gpuarena__has_plan(arena), "memory is earmarked for no plan",
                    audit->earmarked_count);
    for (at = 0; at < GPUARENA__PLANS; at++)
        GPUARENA__NEVER(plans->list[at].packed && plans->list[at].state != GPUARENA__PLAN_SERVES,
                        "a plan that does not serve has a region", at);
    for (at = 0; at < plans->region_count; at++)
        GPUARENA__NEVER(plans->regions[at].record >= arena->streams.count
                        || arena->streams.list[plans->regions[at].record].home,
                        "memory is earmarked for no ordinary stream", at);
    return 1;
}

static int gpuarena__check_streams(const gpuarena__audit *audit)
{
    const gpuarena *arena = audit->arena;
    uint64_t refs = audit->ref_count + arena->plans.region_count, uses = audit->use_count;
    uint32_t at, captured = 0, reserved_uses = 0;
    for (at = 0; at < arena->streams.count; at++) {
        const gpuarena__stream *stream = &arena->streams.list[at];
        GPUARENA__NEVER(stream->quiet > stream->recorded || stream->recorded > stream->ticket,
                        "a stream's tickets are out of order", at);
        GPUARENA__NEVER(stream->home >= arena->streams.count || stream->under >= arena->streams.count,
                        "a capture's record leads nowhere", at);
        captured += stream->home && stream->state == GPUARENA__OPEN;
        if (stream->home && stream->home != at) refs++;
        if (stream->under) refs++;
        reserved_uses += stream->reserved_uses;
        refs -= stream->ref_count;
        uses -= stream->use_count;
    }
    GPUARENA__NEVER(refs != 0, "uses of streams' records do not add up", refs);
    GPUARENA__NEVER(uses != 0, "uses that wait for streams do not add up", uses);
    GPUARENA__SAME(captured, arena->streams.captured, "captured streams are miscounted");
    GPUARENA__SAME(audit->set_live_count, reserved_uses, "live blocks of capture sets are miscounted");
    GPUARENA__NEVER(reserved_uses > arena->nodes.kept_count
                    || arena->nodes.kept_count > arena->nodes.unused.count,
                    "uses are not reserved for frees of captures", reserved_uses);
    return 1;
}

static int gpuarena__check_known(const gpuarena__audit *audit)
{
    const gpuarena__streams *streams = &audit->arena->streams;
    uint32_t at, used = 0, open = 0;
    for (at = 0; at < streams->known_room; at++) {
        const gpuarena__known *entry = &streams->known[at];
        const gpuarena__stream *stream = &streams->list[entry->record];
        if (!entry->used) continue;
        used++;
        open += entry->record != 0;
        GPUARENA__NEVER(gpuarena__known_at(streams, entry->handle, entry->key) != entry,
                        "a known stream is not found", at);
        GPUARENA__NEVER(entry->record >= streams->count
                        || (entry->record && (stream->state != GPUARENA__OPEN
                                              || stream->handle != entry->handle
                                              || stream->key != entry->key)),
                        "a known stream has another's record", at);
    }
    GPUARENA__NEVER(used != streams->known_count || used > streams->known_room / 2,
                    "known streams are miscounted", used);
    for (at = 1; at < streams->count; at++) open -= streams->list[at].state == GPUARENA__OPEN;
    GPUARENA__NEVER(open != 0, "a stream with an open record is not known", open);
    return 1;
}

static int gpuarena__check_tables(const gpuarena__audit *audit)
{
    const gpuarena *arena = audit->arena;
    uint64_t unused = 0, open = 0;
    uint32_t index, n;
    for (n = 0; n <= arena->heaps.count; n++) {
        const gpuarena__pool *pool = n ? &arena->heaps.list[n]->unused : &arena->nodes.unused;
        uint64_t count = 0;
        for (index = pool->first; index && count <= audit->node_count; count++) {
            GPUARENA__LINK(index, count);
            GPUARENA__NEVER(n && gpuarena__node_at(arena, index)->record,
                            "an unused node of a heap has a stream", index);
            index = gpuarena__node_at(arena, index)->next;
        }
        GPUARENA__SAME(count, pool->count, "unused nodes are miscounted");
        unused += count;
    }
    GPUARENA__SAME(audit->entry_count, audit->live_count, "the table of live blocks is incomplete");
    GPUARENA__NEVER(audit->node_count != 1 + unused + audit->use_node_count + audit->live_count
                    + audit->free_count + audit->hole_count, "nodes are lost", audit->node_count);
    for (index = arena->paged.holes; index && open <= audit->open_count; open++) {
        GPUARENA__LINK(index, open);
        GPUARENA__NEVER(!gpuarena__is_open(gpuarena__node_at(arena, index)),
                        "the holes' list holds another", index);
        index = gpuarena__node_at(arena, index)->as.list.after;
    }
    GPUARENA__SAME(open, audit->open_count, "holes are missing in their list");
    GPUARENA__SAME(audit->unmap_failed_count, arena->paged.unmap_failed_count,
                   "holes that failed to unmap are miscounted");
    GPUARENA__SAME(audit->large_count, arena->paged.large_count, "large handles are miscounted");
    GPUARENA__SAME(audit->idle_count, arena->paged.idle_count, "idle pages are miscounted");
    return 1;
}

/* Checks the sums of all blocks; and of sub-arenas, which may be in use, against those kept here. */
static int gpuarena__check_sums(const gpuarena__audit *audit)
{
    const gpuarena *arena = audit->arena, *at;
    const gpuarena_stats *stats = &arena->stats;
    uint64_t reserved = stats->reserved_bytes, growing = arena->growing;
    gpuarena__family family;
#define X(name) GPUARENA__SAME(audit->name##_bytes, stats->name##_bytes, #name " bytes do not add up");
    X(live) X(requested) X(reserved) X(pending)
#undef X
    GPUARENA__SAME(audit->live_count, stats->live_count, "live blocks are miscounted");
    GPUARENA__NEVER(stats->requested_peak_bytes < stats->requested_bytes
                    || stats->live_peak_bytes < stats->live_bytes
                    || (!arena->has_family && arena->family.peak < stats->reserved_bytes),
                    "a peak is below its current value", 0);
    GPUARENA__SAME(growing, arena->unreturned_bytes, "growth is claimed that is not under way");
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    for (at = gpuarena__registry; at; at = at->registered) {
        if (at->config.parent != arena) continue;
        reserved += at->family.reserved;
        growing += at->family.growing;
    }
    family = arena->family;
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    GPUARENA__SAME(reserved, family.reserved, "bytes reserved by sub-arenas do not add up");
    GPUARENA__SAME(growing, family.growing, "bytes charged by sub-arenas do not add up");
    return 1;
}

static int gpuarena__check_tags(const gpuarena__audit *audit)
{
    const gpuarena__tags *tags = &audit->arena->tags;
    uint64_t sum = audit->tagged_sum, watched = audit->arena->stats.live_peak_bytes;
    uint32_t at;
    for (at = 1; at < tags->room; at++) {
        const gpuarena_tag_stats *one = &tags->list[at];
        sum -= gpuarena__tagged_worth(at, one->live_bytes, one->live_count);
        GPUARENA__NEVER(one->live_peak_bytes < one->live_bytes || one->alloc_count < one->live_count,
                        "a tag's peak or count is too small", at);
    }
    GPUARENA__NEVER(sum || audit->tagged_bytes != tags->live_bytes, "tags do not add up",
                    audit->tagged_bytes);
    GPUARENA__SAME(watched, gpuarena__min(tags->peak_bytes, tags->untagged_peak_bytes + tags->live_bytes),
                   "untagged blocks' peak is not watched");
    return 1;
}

/* The bytes of all host memory of an arena, its struct left out. ends 1: frees it; no range may be held. */
static uint64_t gpuarena__host_memory(gpuarena *arena, int ends)
{
    const gpuarena__range *range;
    uint64_t sum = 0;
    uint32_t at;
#define GPUARENA__PIECE(memory, bytes) \
    sum += (bytes); \
    if (ends) gpuarena__host_free(arena, (memory), (bytes))
    for (at = 1; at <= arena->heaps.count; at++) {
        const gpuarena__heap *heap = arena->heaps.list[at];
        GPUARENA__PIECE(heap->lookup.table, gpuarena__lookup_bytes(&heap->lookup));
        GPUARENA__PIECE(heap->memory, sizeof *heap + GPUARENA__LINE);
    }
    for (at = 0; at < arena->nodes.chunk_count; at++) {
        const gpuarena__node *first = gpuarena__node_at(arena, at << GPUARENA__CHUNK_LOG2);
        GPUARENA__PIECE(((const gpuarena__chunk *)(const void *)first)->memory, GPUARENA__CHUNK_BYTES);
    }
    for (at = 1; at < arena->streams.count; at++) {
        gpuarena__bins *bins = arena->streams.list[at].bins;
        if (bins->foreign) { GPUARENA__PIECE(bins->foreign, sizeof *bins); }
        if (bins != &arena->bins) { GPUARENA__PIECE(bins, sizeof *bins); }
    }
    for (at = 0; at < GPUARENA__PLANS; at++) {
        const gpuarena__plan *plan = &arena->plans.list[at];
        GPUARENA__PIECE(plan->seen.list, plan->seen.room * sizeof *plan->seen.list);
    }
    GPUARENA__PIECE(arena->plans.fresh.list, arena->plans.fresh.room * sizeof *arena->plans.fresh.list);
    GPUARENA__PIECE(arena->lookup.table, gpuarena__lookup_bytes(&arena->lookup));
#define X(table, room) GPUARENA__PIECE(arena->table, arena->room * sizeof *arena->table);
    GPUARENA__TABLES(X)
#undef X
#undef GPUARENA__PIECE
    for (range = arena->ranges.first; range; range = range->after)
        sum += gpuarena__range_bytes(arena, range->bytes, range->pages != NULL);
    return sum;
}

/* Checks values derived from the configuration and the state, then every structure. */
static int gpuarena__check(const gpuarena *arena, gpuarena__text *out)
{
    gpuarena__audit audit_of = GPUARENA_INIT, *audit = &audit_of;
    gpuarena__fast fast = gpuarena__fast_now(arena);
    const gpuarena__range *range;
    uint64_t bytes;
    uint32_t at;
    audit->arena = arena;
    audit->out = out;
    audit->node_count = (uint64_t)arena->nodes.chunk_count << GPUARENA__CHUNK_LOG2;
    audit->reserved_bytes = arena->paged.spare_pages * arena->paged.page_bytes;
    GPUARENA__NEVER(gpuarena__node_at(arena, 0)->size != GPUARENA__LIVE
                    || gpuarena__node_at(arena, 0)->as.tree.longest, "the sentinel is free", 0);
    GPUARENA__SAME(arena->unit, arena->config.alignment, "the unit is not the alignment");
    GPUARENA__SAME(arena->limit, arena->config.limit_bytes, "the limit is not the configuration's");
    GPUARENA__NEVER(memcmp(&arena->fast, &fast, sizeof fast) != 0,
                    "the fast paths test values that are out of date", 0);
    GPUARENA__NEVER(arena->release_due > gpuarena__clock(arena) + arena->config.release_age,
                    "the next release is due too late", arena->release_due);
    for (at = 0; at <= arena->heaps.count; at++)         /* first, for the walk looks blocks up */
        if (!gpuarena__check_lookup(audit, at)) return 0;
    for (range = arena->ranges.first, at = 0; range; range = range->after)
        if (!gpuarena__check_range(audit, at++, range)) return 0;
    if (!gpuarena__check_bins(audit) || !gpuarena__check_plans(audit) || !gpuarena__check_streams(audit)
        || !gpuarena__check_known(audit) || !gpuarena__check_tables(audit) || !gpuarena__check_sums(audit)
        || !gpuarena__check_tags(audit)) return 0;
    bytes = sizeof *arena + gpuarena__host_memory(gpuarena__self(arena), 0);
    GPUARENA__SAME(bytes, arena->host_bytes, "host memory does not add up");
    return 1;
}

/* >>cuda ===============================================================================================
   The driver table over the CUDA runtime. An entry makes one call of the runtime, with the table's device
   made current around it, and leaves the last-error slot as it was. The group vm calls the driver. */

#ifdef GPUARENA_NO_CUDA
static gpuarena_result gpuarena__cuda_fill(int device, gpuarena_driver *driver, gpuarena_failure *failure)
{
    (void)device; (void)driver;
    gpuarena__detail(failure, "built with GPUARENA_NO_CUDA: a driver table must be given");
    return GPUARENA_NOT_SUPPORTED;
}
#else
typedef char gpuarena__cuda_is_64_bit[sizeof(size_t) >= sizeof(uint64_t) ? 1 : -1];

enum { GPUARENA__NOT_RESTORED = -1 };            /* a code of our own, classified FAILED */

typedef struct gpuarena__cuda_caller {
    int previous;                                /* the caller's device; -1: nothing to restore */
    int slot_clean;                              /* the last-error slot held no error of the caller */
} gpuarena__cuda_caller;

/* Makes the device current. Must be followed by cuda_end, whatever it returns. */
static int gpuarena__cuda_begin(const gpuarena_driver *self, gpuarena__cuda_caller *caller)
{
    int current = self->device, code;
    caller->previous = -1;
    caller->slot_clean = cudaPeekAtLastError() == cudaSuccess;
    code = (int)cudaGetDevice(&current);
    if (code || current == self->device) return code;
    caller->previous = current;
    return (int)cudaSetDevice(self->device);
}

/* Makes the caller's device current again, and clears our errors from the slot. Returns `code`, the call's,
   or else NOT_RESTORED: the fault is the caller's device, not the table's. */
static int gpuarena__cuda_end(const gpuarena__cuda_caller *caller, int code)
{
    int failed = caller->previous >= 0 && cudaSetDevice(caller->previous);
    if ((code || failed) && caller->slot_clean) (void)cudaGetLastError();
    return code ? code : failed ? GPUARENA__NOT_RESTORED : 0;
}

/* Makes one call with the device current; `code` becomes its result. */
#define GPUARENA__CUDA_CALL(call) \
    gpuarena__cuda_caller caller; \
    int code = gpuarena__cuda_begin(self, &caller); \
    if (!code) code = (int)(call); \
    code = gpuarena__cuda_end(&caller, code)

static int gpuarena__cuda_memory_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes,
                                      uint64_t *total_bytes)
{
    size_t device_free = 0, device_total = 0;
#if defined(_SC_PHYS_PAGES) && defined(_SC_AVPHYS_PAGES)
    if (kind == GPUARENA_MEMORY_PINNED) {        /* the host's installed and unused memory */
        long page = sysconf(_SC_PAGESIZE), all = sysconf(_SC_PHYS_PAGES);
        long idle = sysconf(_SC_AVPHYS_PAGES);
        if (page <= 0 || all <= 0 || idle < 0) return (int)cudaErrorNotSupported;
        *total_bytes = (uint64_t)all * (uint64_t)page;
        *free_bytes = (uint64_t)idle * (uint64_t)page;
        return 0;
    }
#endif
    if (kind == GPUARENA_MEMORY_PINNED || (uint32_t)kind > GPUARENA_MEMORY_ASYNC)
        return (int)cudaErrorNotSupported;
    GPUARENA__CUDA_CALL(cudaMemGetInfo(&device_free, &device_total));
    if (code) return code;
    *free_bytes = device_free;
    *total_bytes = device_total;
    return 0;
}

/* The pool of a device's ASYNC memory. It is ours, serves all arenas, and exists as long as it holds some.
   Its release threshold is the default 0: memory that is given back leaves it at the next wait. */
enum { GPUARENA__CUDA_POOLS = 64 };
static struct { cudaMemPool_t pool; uint64_t held; } gpuarena__cuda_pools[GPUARENA__CUDA_POOLS];
static gpuarena__mutex gpuarena__cuda_pools_lock = GPUARENA__MUTEX_INIT;

/* Memory has left a device's pool, or was not had from it. */
static void gpuarena__cuda_pool_leave(int device)
{
    int slot_clean = cudaPeekAtLastError() == cudaSuccess;
    gpuarena__mutex_lock(&gpuarena__cuda_pools_lock);
    if (!--gpuarena__cuda_pools[device].held && cudaMemPoolDestroy(gpuarena__cuda_pools[device].pool)
        && slot_clean) (void)cudaGetLastError();
    gpuarena__mutex_unlock(&gpuarena__cuda_pools_lock);
}

static int gpuarena__cuda_obtain_async(int device, void **memory, size_t bytes, cudaStream_t stream)
{
    cudaMemPool_t pool;
    struct cudaMemPoolProps props;
    int code = 0;
    if (device >= GPUARENA__CUDA_POOLS) return (int)cudaErrorNotSupported;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device;
    gpuarena__mutex_lock(&gpuarena__cuda_pools_lock);
    if (!gpuarena__cuda_pools[device].held)
        code = (int)cudaMemPoolCreate(&gpuarena__cuda_pools[device].pool, &props);
    if (!code) gpuarena__cuda_pools[device].held++;
    pool = gpuarena__cuda_pools[device].pool;
    gpuarena__mutex_unlock(&gpuarena__cuda_pools_lock);
    if (code) return code;
    code = (int)cudaMallocFromPoolAsync(memory, bytes, pool, stream);
    if (code) gpuarena__cuda_pool_leave(device);
    return code;
}

static int gpuarena__cuda_obtain_kind(const gpuarena_driver *self, gpuarena_memory kind, void **memory,
                                      uint64_t bytes, gpuarena_stream stream)
{
    switch (kind) {
    case GPUARENA_MEMORY_PINNED: return (int)cudaHostAlloc(memory, (size_t)bytes, cudaHostAllocPortable);
    case GPUARENA_MEMORY_MANAGED:
        return (int)cudaMallocManaged(memory, (size_t)bytes, cudaMemAttachGlobal);
    case GPUARENA_MEMORY_ASYNC:
        return gpuarena__cuda_obtain_async(self->device, memory, (size_t)bytes, (cudaStream_t)stream);
    case GPUARENA_MEMORY_DEVICE: return (int)cudaMalloc(memory, (size_t)bytes);
    default: return (int)cudaErrorNotSupported;
    }
}

static int gpuarena__cuda_give_back_kind(const gpuarena_driver *self, gpuarena_memory kind, void *memory,
                                         gpuarena_stream stream)
{
    int code;
    switch (kind) {
    case GPUARENA_MEMORY_PINNED: return (int)cudaFreeHost(memory);
    case GPUARENA_MEMORY_ASYNC:
        code = (int)cudaFreeAsync(memory, (cudaStream_t)stream);
        if (!code) gpuarena__cuda_pool_leave(self->device);
        return code;
    case GPUARENA_MEMORY_DEVICE: case GPUARENA_MEMORY_MANAGED:
        code = stream == GPUARENA_ANY_STREAM ? 0 : (int)cudaDeviceSynchronize();
        return code ? code : (int)cudaFree(memory);
    default: return (int)cudaErrorNotSupported;
    }
}

static int gpuarena__cuda_capture_active(const gpuarena_driver *self, gpuarena_stream stream, int *active)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    GPUARENA__CUDA_CALL(cudaStreamIsCapturing((cudaStream_t)stream, &status));
    if (!code) *active = status != cudaStreamCaptureStatusNone;
    return code;
}
static int gpuarena__cuda_capture_exchange_mode(const gpuarena_driver *self, int *mode)
{
    enum cudaStreamCaptureMode exchanged = (enum cudaStreamCaptureMode)*mode;
    int slot_clean = cudaPeekAtLastError() == cudaSuccess;
    int code = (int)cudaThreadExchangeStreamCaptureMode(&exchanged); /* of the thread, on all devices */
    (void)self;
    if (!code) *mode = (int)exchanged;
    else if (slot_clean) (void)cudaGetLastError();
    return code;
}

/* Virtual memory. The driver's functions are looked up through the runtime, so nothing links libcuda. Their
   codes have the runtime's numbers, but they do not write its last-error slot. None of them fails for lack of
   a context, and all except reserve name the device, by a handle, an address or a number. So they are called
   with whichever device is current. */
#define GPUARENA__CUDA_VM(X) \
    X(attribute, cuDeviceGetAttribute, 2000) \
    X(granularity, cuMemGetAllocationGranularity, 10020) \
    X(reserve, cuMemAddressReserve, 10020) \
    X(release, cuMemAddressFree, 10020) \
    X(create, cuMemCreate, 10020) \
    X(destroy, cuMemRelease, 10020) \
    X(map, cuMemMap, 10020) \
    X(access, cuMemSetAccess, 10020) \
    X(unmap, cuMemUnmap, 10020) \
    X(from_page, cuMemExportToShareableHandle, 10020) \
    X(to_page, cuMemImportFromShareableHandle, 10020)
typedef struct gpuarena__cuda_functions {
#define X(field, name, version) PFN_##name##_v##version field;
    GPUARENA__CUDA_VM(X)
#undef X
} gpuarena__cuda_functions;

static gpuarena__cuda_functions gpuarena__cuda_vm;   /* written once, before a table has the group vm or fd */

/* `function` points to a function pointer, because ISO C has no cast for it. 1: found. */
static int gpuarena__cuda_look_up(const char *name, void *function)
{
    void *found = NULL;
#if CUDART_VERSION >= 12050
    int code = (int)cudaGetDriverEntryPointByVersion(name, &found, 10020, cudaEnableDefault, NULL);
#elif CUDART_VERSION >= 12000
    int code = (int)cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, NULL);
#else
    int code = (int)cudaGetDriverEntryPoint(name, &found, cudaEnableDefault);
#endif
    memcpy(function, &found, sizeof found);
    return !code && found;
}

/* Tells whether a device has an attribute. */
static int gpuarena__cuda_has(int device, CUdevice_attribute attribute)
{
    int answer = 0;
    return !gpuarena__cuda_vm.attribute(&answer, attribute, device) && answer;
}

/* The properties of pages, by their traits. Where the device allows it, network cards have access to them
   (GPUDirect RDMA). */
static CUmemAllocationProp gpuarena__cuda_prop(int device, uint32_t traits)
{
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    if (traits & GPUARENA_PAGE_SHARED) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (gpuarena__cuda_has(device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED))
        prop.allocFlags.gpuDirectRDMACapable = 1;
    return prop;
}

/* The size whose multiples pages with these traits may have; 0: the driver does not tell. */
static uint64_t gpuarena__cuda_granularity(int device, uint32_t traits)
{
    CUmemAllocationProp prop = gpuarena__cuda_prop(device, traits);
    size_t bytes = 0;
    return gpuarena__cuda_vm.granularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ? 0 : bytes;
}

static int gpuarena__cuda_vm_create(const gpuarena_driver *self, uint64_t *page, uint64_t bytes,
                                    uint32_t traits)
{
    CUmemAllocationProp prop = gpuarena__cuda_prop(self->device, traits);
    CUmemGenericAllocationHandle made = 0;
    int code = (int)gpuarena__cuda_vm.create(&made, (size_t)bytes, &prop, 0);
    if (!code) *page = made;
    return code;
}
/* Entries that are one call: CALL of the runtime, with the device current; FREE as well, but the free or
   close succeeds even if the caller's device cannot be made current again; DIRECT of the driver.
   X(name, way, parameters, call) */
#define GPUARENA__CUDA_FREE(call) GPUARENA__CUDA_CALL(call); if (code == GPUARENA__NOT_RESTORED) code = 0
#define GPUARENA__CUDA_DIRECT(call) int code = (int)(call); (void)self
#define GPUARENA__CUDA_CALLS(X) \
    X(memory_give_back, FREE, (const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes, \
                               gpuarena_stream stream), \
      ((void)bytes, gpuarena__cuda_give_back_kind(self, kind, ptr, stream))) \
    X(events_destroy, CALL, (const gpuarena_driver *self, void *event), \
      cudaEventDestroy((cudaEvent_t)event)) \
    X(events_record, CALL, (const gpuarena_driver *self, void *event, gpuarena_stream stream), \
      cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream)) \
    X(events_query, CALL, (const gpuarena_driver *self, void *event), cudaEventQuery((cudaEvent_t)event)) \
    X(events_host_wait, CALL, (const gpuarena_driver *self, void *event), \
      cudaEventSynchronize((cudaEvent_t)event)) \
    X(events_stream_wait, CALL, (const gpuarena_driver *self, gpuarena_stream stream, void *event), \
      cudaStreamWaitEvent((cudaStream_t)stream, (cudaEvent_t)event, 0)) \
    X(events_device_wait, CALL, (const gpuarena_driver *self), cudaDeviceSynchronize()) \
    X(ipc_get_handle, CALL, \
      (const gpuarena_driver *self, void *ptr, unsigned char handle[GPUARENA_IPC_BYTES]), \
      cudaIpcGetMemHandle((cudaIpcMemHandle_t *)(void *)handle, ptr)) \
    X(ipc_close_handle, FREE, (const gpuarena_driver *self, void *ptr), cudaIpcCloseMemHandle(ptr)) \
    X(clear, CALL, (const gpuarena_driver *self, void *ptr, uint64_t bytes, gpuarena_stream stream), \
      cudaMemsetAsync(ptr, 0, (size_t)bytes, (cudaStream_t)stream)) \
    X(vm_release, DIRECT, (const gpuarena_driver *self, void *address, uint64_t bytes), \
      gpuarena__cuda_vm.release((CUdeviceptr)(uintptr_t)address, (size_t)bytes)) \
    X(vm_destroy, DIRECT, (const gpuarena_driver *self, uint64_t page, uint64_t bytes), \
      ((void)bytes, gpuarena__cuda_vm.destroy((CUmemGenericAllocationHandle)page))) \
    X(vm_map, DIRECT, (const gpuarena_driver *self, void *address, uint64_t bytes, uint64_t page), \
      gpuarena__cuda_vm.map((CUdeviceptr)(uintptr_t)address, (size_t)bytes, 0, \
                            (CUmemGenericAllocationHandle)page, 0)) \
    X(vm_unmap, DIRECT, (const gpuarena_driver *self, void *address, uint64_t bytes), \
      gpuarena__cuda_vm.unmap((CUdeviceptr)(uintptr_t)address, (size_t)bytes)) \
    X(fd_from_page, DIRECT, (const gpuarena_driver *self, uint64_t page, int *fd), \
      gpuarena__cuda_vm.from_page(fd, (CUmemGenericAllocationHandle)page, \
                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
#define X(name, way, parameters, call) \
    static int gpuarena__cuda_##name parameters { GPUARENA__CUDA_##way(call); return code; }
GPUARENA__CUDA_CALLS(X)
#undef X

/* ---- between processes and devices */

typedef char gpuarena__cuda_handle_fits[sizeof(cudaIpcMemHandle_t) == GPUARENA_IPC_BYTES ? 1 : -1];

/* Entries that make something, with the device current, and put it at *ptr. If the caller's device cannot be
   made current again, it is unmade. X(name, parameters, type, make, unmake) */
#define GPUARENA__CUDA_MAKES(X) \
    X(memory_obtain, (const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes, \
                      gpuarena_stream stream), void *, \
      gpuarena__cuda_obtain_kind(self, kind, &made, bytes, stream), \
      gpuarena__cuda_give_back_kind(self, kind, made, stream)) \
    X(events_create, (const gpuarena_driver *self, void **ptr), cudaEvent_t, \
      cudaEventCreateWithFlags(&made, cudaEventDisableTiming), cudaEventDestroy(made)) \
    X(ipc_open_handle, (const gpuarena_driver *self, const unsigned char handle[GPUARENA_IPC_BYTES], \
                        void **ptr), void *, \
      cudaIpcOpenMemHandle(&made, *(const cudaIpcMemHandle_t *)(const void *)handle, \
                           cudaIpcMemLazyEnablePeerAccess), cudaIpcCloseMemHandle(made)) \
    X(vm_reserve, (const gpuarena_driver *self, void **ptr, uint64_t bytes, uint64_t alignment), \
      CUdeviceptr, gpuarena__cuda_vm.reserve(&made, (size_t)bytes, (size_t)alignment, 0, 0), \
      gpuarena__cuda_vm.release(made, (size_t)bytes))
#define X(name, parameters, type, make, unmake) \
    static int gpuarena__cuda_##name parameters \
    { \
        type made = 0; \
        GPUARENA__CUDA_CALL(make); \
        if (!code) *ptr = (void *)(uintptr_t)made; \
        else if (code == GPUARENA__NOT_RESTORED && unmake && caller.slot_clean) (void)cudaGetLastError(); \
        return code; \
    }
GPUARENA__CUDA_MAKES(X)
#undef X

static int gpuarena__cuda_fd_to_page(const gpuarena_driver *self, int fd, uint64_t *page)
{
    CUmemGenericAllocationHandle made = 0;
    int code = (int)gpuarena__cuda_vm.to_page(&made, (void *)(uintptr_t)fd,
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    (void)self;
    if (!code) *page = made;
    return code;
}

/* Access is enabled from the peer's side, and the caller's device is made current again. That it was enabled
   before is no failure. */
static int gpuarena__cuda_peer(const gpuarena_driver *self, int32_t device)
{
    gpuarena__cuda_caller caller;
    int can = 0, code = gpuarena__cuda_begin(self, &caller);
    if (caller.previous < 0) caller.previous = self->device;
    if (!code) code = (int)cudaDeviceCanAccessPeer(&can, device, self->device);
    if (code == (int)cudaErrorInvalidDevice || (!code && !can)) code = (int)cudaErrorNotSupported;
    if (!code) code = (int)cudaSetDevice(device);
    if (!code) code = (int)cudaDeviceEnablePeerAccess(self->device, 0);
    if (code == (int)cudaErrorPeerAccessAlreadyEnabled) {
        if (caller.slot_clean) (void)cudaGetLastError();
        code = 0;
    }
    return gpuarena__cuda_end(&caller, code);
}

/* Sets access for the device and its peers in one call. */
static int gpuarena__cuda_vm_access(const gpuarena_driver *self, void *address, uint64_t bytes, uint32_t mode)
{
    CUmemAccessDesc grants[1 + 64];
    size_t count = 0;
    int device;
    for (device = -1; device < 64; device++) {
        if (device >= 0 && (device == self->device || !(self->peers >> device & 1))) continue;
        memset(&grants[count], 0, sizeof grants[count]);
        grants[count].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        grants[count].location.id = device < 0 ? self->device : device;
        grants[count++].flags = mode ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    }
    return (int)gpuarena__cuda_vm.access((CUdeviceptr)(uintptr_t)address, (size_t)bytes, grants, count);
}

/* Fills the groups vm and fd, or leaves those empty that the device or its driver lacks: the table works
   without them. All functions came with one release of the driver: if one is missing, both groups stay empty,
   and the next table looks again. */
static void gpuarena__cuda_fill_vm(gpuarena_driver *driver)
{
    gpuarena__cuda_functions found;
    uint64_t page_bytes = 0, shared_bytes = 0;
    int slot_clean = cudaPeekAtLastError() == cudaSuccess, missing = 0;
#define X(field, name, version) missing += !gpuarena__cuda_look_up(#name, &found.field);
    GPUARENA__CUDA_VM(X)
#undef X
    if (missing && slot_clean) (void)cudaGetLastError();
    if (missing) return;
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    if (!gpuarena__cuda_vm.unmap) gpuarena__cuda_vm = found;
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    if (gpuarena__cuda_has(driver->device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED))
        page_bytes = gpuarena__cuda_granularity(driver->device, 0);
    if (!page_bytes) return;
    driver->page_bytes = page_bytes;
#define X(group, entry, bits) driver->group.entry = gpuarena__cuda_##group##_##entry;
    GPUARENA__VM_ENTRIES(X)
    if (gpuarena__cuda_has(driver->device, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED))
        shared_bytes = gpuarena__cuda_granularity(driver->device, GPUARENA_PAGE_SHARED);
    if (shared_bytes && page_bytes % shared_bytes == 0) {
        GPUARENA__FD_ENTRIES(X)
    }
#undef X
}

/* Nanoseconds since an arbitrary start; whole seconds if the compiler was told to hide all that is not ISO
   C. */
static uint64_t gpuarena__cuda_now_ns(const gpuarena_driver *self)
{
    (void)self;
#ifdef CLOCK_MONOTONIC
    {
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    }
#else
    return (uint64_t)time(NULL) * 1000000000u;
#endif
}

/* Codes are numbers here, because older toolkits lack some names. Sticky errors are those after which,
   according to driver_types.h, the process must be ended, uncorrectable hardware errors, and the loss of the
   context. */
static gpuarena_status gpuarena__cuda_classify(const gpuarena_driver *self, int code)
{
    (void)self;
    switch (code) {
    case 0:   return GPUARENA_STATUS_DONE;
    case 2:   return GPUARENA_STATUS_NO_MEMORY;          /* cudaErrorMemoryAllocation */
    case 4:   return GPUARENA_STATUS_UNLOADING;          /* cudaErrorCudartUnloading */
    case 600: return GPUARENA_STATUS_NOT_READY;          /* cudaErrorNotReady */
    case 34:                                             /* cudaErrorStubLibrary */
    case 35:                                             /* cudaErrorInsufficientDriver */
    case 36:                                             /* cudaErrorCallRequiresNewerDriver */
    case 100:                                            /* cudaErrorNoDevice */
    case 801: return GPUARENA_STATUS_NOT_SUPPORTED;      /* cudaErrorNotSupported */
    case 214: case 220: case 226:                        /* ECC, NVLink, contained */
    case 700: case 702: case 709: case 710:              /* address, timeout, no context, assert */
    case 714: case 715: case 716: case 717: case 718: case 719: case 721:    /* faults in a kernel */
    case 810: case 911:                                  /* MPS client ended, external device */
        return GPUARENA_STATUS_LOST;
    default:  return code >= 900 && code <= 908 ? GPUARENA_STATUS_CAPTURING : GPUARENA_STATUS_FAILED;
    }
}

static const char *gpuarena__cuda_code_name(const gpuarena_driver *self, int code)
{
    (void)self;
    return code == GPUARENA__NOT_RESTORED ? "the caller's device could not be made current again"
                                          : cudaGetErrorName((cudaError_t)code);
}

/* Says in *failure why there is no device. Returns the result. */
static gpuarena_result gpuarena__cuda_absent(int code, gpuarena_failure *failure)
{
    gpuarena_status status = gpuarena__cuda_classify(NULL, code);
    failure->driver_code = code;
    gpuarena__detail(failure, "%s%s", cudaGetErrorName((cudaError_t)code),
                     code == 3     ? " (3): or a fork of a process that had used CUDA: exec first"
                     : code == 35  ? " (35): no CUDA driver, or one too old for this runtime"
                     : code == 100 ? " (100): the driver sees no CUDA device" : "");
    return status == GPUARENA_STATUS_NOT_SUPPORTED ? GPUARENA_NOT_SUPPORTED
           : status == GPUARENA_STATUS_LOST        ? GPUARENA_DEVICE_LOST
                                                   : GPUARENA_DRIVER_ERROR;
}

/* Fills *driver, without making a context; or returns the result and says in *failure why not. */
static gpuarena_result gpuarena__cuda_fill(int device, gpuarena_driver *driver, gpuarena_failure *failure)
{
    gpuarena_driver filled = GPUARENA_INIT;
    int found = device, count = 0, code, slot_clean;
    if (!gpuarena__watch_forks()) return GPUARENA_HOST_MEMORY;
    if (gpuarena__cuda_is_parents) {
        gpuarena__detail(failure, "CUDA was used before this process was forked; here it works after exec "
                                  "alone");
        return GPUARENA_FORKED;
    }
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    gpuarena__cuda_used = 1;                     /* before the first call, so that no fork is missed */
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    slot_clean = cudaPeekAtLastError() == cudaSuccess;
    code = (int)cudaGetDeviceCount(&count);
    if (!code && found < 0) code = (int)cudaGetDevice(&found);
    if (code && slot_clean) (void)cudaGetLastError();
    if (code) return gpuarena__cuda_absent(code, failure);
    if (device < -1 || found >= count) {
        gpuarena__detail(failure, "device: %d; there are 0 to %d, and -1 is the current one", device,
                         count - 1);
        return GPUARENA_INVALID_ARGUMENT;
    }
    filled.device = (int32_t)found;
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
    filled.null_is_per_thread = 1;
#endif
    filled.per_thread = (gpuarena_stream)cudaStreamPerThread;
    filled.classify = gpuarena__cuda_classify;
    filled.code_name = gpuarena__cuda_code_name;
    filled.now_ns = gpuarena__cuda_now_ns;
    filled.clear = gpuarena__cuda_clear;
    filled.peer = gpuarena__cuda_peer;
#define X(group, entry, bits) filled.group.entry = gpuarena__cuda_##group##_##entry;
    GPUARENA__MEMORY_ENTRIES(X) GPUARENA__EVENT_ENTRIES(X) GPUARENA__CAPTURE_ENTRIES(X)
    GPUARENA__IPC_ENTRIES(X)
#undef X
    gpuarena__cuda_fill_vm(&filled);
    *driver = filled;
    return GPUARENA_OK;
}
#endif

/* >>enter ==============================================================================================
   Entering and leaving an arena. Public functions check their arguments, lock, call one internal function
   and unlock. */

/* Why a call cannot enter an arena; OK: it can. A thread inside a driver function or a callback of the arena
   cannot. */
static gpuarena_result gpuarena__may_enter(gpuarena *arena)
{
    gpuarena_result result;
    if (GPUARENA__LIKELY(arena && gpuarena__has_magic(arena, GPUARENA__MAGIC) && !gpuarena__frames))
        return GPUARENA_OK;
    if (arena && gpuarena__has_magic(arena, GPUARENA__FORKED)) {
        gpuarena_failure failure = GPUARENA_INIT;
        failure.result = GPUARENA_FORKED;
        memcpy(failure.arena, arena->config.name, sizeof failure.arena);
        return gpuarena__fail_record(NULL, &failure, NULL);
    }
    if (!arena || !gpuarena__has_magic(arena, GPUARENA__MAGIC))
        return gpuarena__fail_argument(NULL, "arena: NULL, or not a living arena");
    if (gpuarena__inside_of(arena, GPUARENA__FRAME_CALLBACK))
        return gpuarena__fail_with(arena, GPUARENA_REENTRANT, NULL);
    if (!gpuarena__inside_of(arena, GPUARENA__FRAME_DRIVER)) return GPUARENA_OK;
    gpuarena__lock(arena);
    result = gpuarena__fail_with(arena, GPUARENA_REENTRANT, NULL);
    gpuarena__unlock(arena);
    return result;
}

/* ---- in and out */

static gpuarena_result gpuarena__leave(gpuarena *arena, gpuarena_result result)
{
    gpuarena__unlock(arena);
    return result;
}

static gpuarena_result gpuarena__end(gpuarena *arena, gpuarena_result result)
{
    arena->call_count++;
    gpuarena__unrelax(arena);
    gpuarena__unlock(arena);
    gpuarena__mutex_unlock(&arena->slow_mutex);
    return result;
}

/* Enters an arena for a call that does no more than a hit, unless an argument is wrong: `wrong` says which,
   NULL means none. Holds its lock if the result is OK, otherwise the failure is recorded. The arena may have
   been destroyed by the time the caller gets the lock: a misuse that is detected if the caller waited for
   it. */
static gpuarena_result gpuarena__enter(gpuarena *arena, const char *wrong)
{
    gpuarena_result result = gpuarena__may_enter(arena);
    if (result != GPUARENA_OK) return result;
    gpuarena__lock(arena);
    if (!gpuarena__has_magic(arena, GPUARENA__MAGIC)) result = gpuarena__may_enter(arena);
    else if (wrong) result = gpuarena__fail_argument(arena, wrong);
    return result == GPUARENA_OK ? result : gpuarena__leave(arena, result);
}

/* Locks both locks of an arena in which this call is counted as entering. 0: the arena was destroyed. */
static int gpuarena__begin_counted(gpuarena *arena)
{
    gpuarena__mutex_lock(&arena->slow_mutex);
    gpuarena__lock(arena);
    gpuarena__count_entering(arena, -1);
    return gpuarena__has_magic(arena, GPUARENA__MAGIC);
}

/* Enters an arena with both locks, for a call that may do more than a hit, unless an argument is wrong. */
static gpuarena_result gpuarena__begin(gpuarena *arena, const char *wrong)
{
    gpuarena_result result = gpuarena__may_enter(arena);
    if (result != GPUARENA_OK) return result;
    gpuarena__count_entering(arena, 1);
    if (!gpuarena__begin_counted(arena)) result = gpuarena__may_enter(arena);
    else if (wrong) result = gpuarena__fail_argument(arena, wrong);
    return result == GPUARENA_OK ? result : gpuarena__end(arena, result);
}

/* Counts this call as entering an arena that may have been destroyed; a counted arena is not freed. 0: it was
   destroyed. */
static int gpuarena__count_living(gpuarena *arena)
{
    int living;
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    living = gpuarena__in_registry(arena) != NULL;
    if (living) gpuarena__count_entering(arena, 1);
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    return living;
}

/* Enters an arena for a call that only reads and has no result. Inside a callback of the arena this thread
   holds the lock already, and reads without entering. NULL: no arena, and nothing to leave. */
static gpuarena *gpuarena__enter_to_read(const gpuarena *arena)
{
    gpuarena *self = gpuarena__self(arena);
    if (!arena || !gpuarena__has_magic(arena, GPUARENA__MAGIC)) return NULL;
    if (gpuarena__inside_of(arena, GPUARENA__FRAME_CALLBACK)) return self;
    gpuarena__lock(self);
    if (gpuarena__has_magic(arena, GPUARENA__MAGIC)) return self;
    gpuarena__unlock(self);
    return NULL;
}

static void gpuarena__leave_read(gpuarena *arena)
{
    if (arena && !gpuarena__inside_of(arena, GPUARENA__FRAME_CALLBACK)) gpuarena__unlock(arena);
}

/* >>family =============================================================================================
   Arenas of one tree. A call that needs siblings' idle memory unlocks its own arena (unlock_all), enters
   the others one by one, and waits for the slow-path mutex of each; so growth and releases in progress there
   are finished. No thread waits for a slow-path mutex while it holds another, or inside a callback. */

/* 1: this thread is in a callback or a driver function of some arena, which holds a lock. */
static int gpuarena__is_tied(void)
{
    const gpuarena__frame *frame;
    for (frame = gpuarena__frames; frame; frame = frame->outer)
        if (frame->arena && frame->kind != GPUARENA__FRAME_PRESSURE) return 1;
    return 0;
}

static int gpuarena__is_under(const gpuarena *arena, const gpuarena *top)
{
    while (arena && arena != top) arena = arena->config.parent;
    return arena != NULL;
}

/* Enters the next arena of the tree under `top` or `top` itself, in order of age: the newest one older than
   *number. Leaves out `arena`; with `apart`, everything under it, too. NULL: none is left. To be left by
   gpuarena__end. */
static gpuarena *gpuarena__family_enter(const gpuarena *arena, int apart, const gpuarena *top,
                                        uint64_t *number)
{
    gpuarena *found;
    for (;;) {
        gpuarena__mutex_lock(&gpuarena__registry_lock);
        for (found = gpuarena__registry; found; found = found->registered)
            if (found->family.number < *number && gpuarena__is_under(found, top)
                && (apart ? !gpuarena__is_under(found, arena) : found != arena)) break;
        if (found) {
            *number = found->family.number;
            gpuarena__count_entering(found, 1);
        }
        gpuarena__mutex_unlock(&gpuarena__registry_lock);
        if (!found || gpuarena__begin_counted(found)) return found;
        (void)gpuarena__end(found, GPUARENA_OK); /* it was destroyed meanwhile */
    }
}

/* The bytes that an entered arena could release. yields 1: its plans end, so that theirs are among these. */
static uint64_t gpuarena__family_idle(gpuarena *arena, int quiet, int yields)
{
    if (gpuarena__ask_capturing(arena, NULL) || arena->lost) return 0;
    gpuarena__check_unreturned(arena);
    if (yields) (void)gpuarena__plans_yield(arena, 1);
    (void)gpuarena__resolve_all(arena);
    return gpuarena__idle_bytes(arena, quiet);
}

static const gpuarena *gpuarena__family_root(const gpuarena *arena)
{
    while (arena->config.parent) arena = arena->config.parent;
    return arena;
}

/* A call tries so often again, if other threads or arenas have changed the state it saw, before it fails. */
enum { GPUARENA__RACES = 8 };

/* A call that may reclaim idle memory from other arenas of its tree. */
typedef struct gpuarena__reclaim {
    uint64_t seen;                               /* before growth was tried: changes by other arenas, .. */
    uint64_t frees, calls;                       /* .. and its own free_count and call_count */
    uint64_t refused;                            /* the other arenas could not provide this much */
    uint64_t own;                                /* bytes that the arena held when it began to reclaim */
    int races;                                   /* attempts that found too little while threads changed it */
    int alone;                                   /* 1: it holds the root's reclaim mutex, to its end */
    int apart;                                   /* 1: sub-arenas keep theirs, which counts as its own */
    int predicts;                                /* 1: it takes nothing at all, so no plan ends for it */
} gpuarena__reclaim;

/* Notes the figures that may change while growth is tried. */
static void gpuarena__reclaim_note(const gpuarena *arena, gpuarena__reclaim *reclaim)
{
    if (!arena->has_family) return;
    reclaim->seen = gpuarena__family_figures(arena, gpuarena__family_root(arena)).changes;
    reclaim->frees = arena->stats.free_count;
    reclaim->calls = arena->call_count;
}

/* Call this before growth is tried. */
static gpuarena__reclaim gpuarena__reclaim_begin(const gpuarena *arena, int apart)
{
    gpuarena__reclaim reclaim = GPUARENA_INIT;
    reclaim.apart = apart;
    reclaim.refused = UINT64_MAX;
    gpuarena__reclaim_note(arena, &reclaim);
    return reclaim;
}

static void gpuarena__reclaim_end(const gpuarena *arena, gpuarena__reclaim *reclaim)
{
    if (reclaim->alone) gpuarena__mutex_unlock(&gpuarena__self(gpuarena__family_root(arena))->reclaim);
    reclaim->alone = 0;
}

/* Sums of all arenas under `top` except `arena`. They are looked at one after the other: a block that is
   freed in one after the look, while memory of another is taken before it, seems to be live in both. */
typedef struct gpuarena__others {
    uint64_t idle;                               /* bytes that could be released */
    uint64_t stays;                              /* bytes reserved beside those */
    uint64_t frees;                              /* blocks freed since creation, whole or in part */
} gpuarena__others;

/* Sums up the arenas under `top` except `arena`. most 1: all that is not live counts as idle, of which no
   more can be, and no plan ends. Growth in progress in them is finished first. */
static gpuarena__others gpuarena__family_look(const gpuarena *arena, const gpuarena__reclaim *reclaim,
                                              const gpuarena *top, int most)
{
    gpuarena__others sum = GPUARENA_INIT;
    uint64_t number = UINT64_MAX, idle;
    gpuarena *at;
    while ((at = gpuarena__family_enter(arena, reclaim->apart, top, &number)) != NULL) {
        idle = most ? at->stats.reserved_bytes - at->stats.live_bytes
                    : gpuarena__family_idle(at, 0, !reclaim->predicts);
        sum.idle += idle;
        sum.stays += at->stats.reserved_bytes - idle;
        sum.frees += at->stats.free_count + at->other_free_count;
        (void)gpuarena__end(at, GPUARENA_OK);
    }
    return sum;
}

/* Tells whether every limit from `arena` up would allow `bytes` more if the others released all idle memory;
   or, if `device` is not 0, whether the whole tree would reserve at most so many bytes: those that it has
   reserved and those that are free on the device. */
static int gpuarena__reclaim_could_help(const gpuarena *arena, const gpuarena__reclaim *reclaim,
                                        uint64_t bytes, uint64_t device)
{
    const gpuarena *top;
    int most;
    for (most = !reclaim->predicts; most >= 0; most--)       /* plans end only if that may help */
        for (top = device ? gpuarena__family_root(arena) : arena; top; top = top->config.parent) {
            gpuarena__figures now = gpuarena__family_figures(arena, top);
            if (!device && now.held + bytes <= now.limit) continue;
            if (reclaim->own + gpuarena__family_look(arena, reclaim, top, most).stays + bytes
                > (device ? device : now.limit)) return 0;
        }
    return 1;
}

/* Releases idle memory of the arenas under `top` except `arena`, quiet memory first, until `least` bytes are
   released, and until at most `keep` is reserved or charged under top. Returns how much. */
static uint64_t gpuarena__reclaim_under(const gpuarena *arena, int apart, const gpuarena *top, uint64_t least,
                                        uint64_t keep)
{
    uint64_t released = 0, before, give, number;
    int quiet;
    gpuarena *at;
    for (quiet = 1; quiet >= 0; quiet--) {
        number = UINT64_MAX;
        while ((released < least || gpuarena__family_figures(arena, top).held > keep)
               && (at = gpuarena__family_enter(arena, apart, top, &number)) != NULL) {
            gpuarena__error refusal = gpuarena__no_error();
            give = gpuarena__max(gpuarena__above(least, released),
                                 gpuarena__above(gpuarena__family_figures(arena, top).held, keep));
            before = at->stats.reserved_bytes;
            give = gpuarena__min(gpuarena__family_idle(at, quiet, 1), give);
            if (give && !gpuarena__release_to(at, before - give, quiet, NULL, &refusal))
                at->stats.driver_error_count += refusal.result != GPUARENA_CAPTURE;
            released += before - at->stats.reserved_bytes;
            (void)gpuarena__end(at, GPUARENA_OK);
        }
    }
    return released;
}

/* After growth by `bytes` was refused, by a limit here or above or by the driver: reclaims idle memory of the
   tree's other arenas, with this arena unlocked, if together they have enough: until all limits from here up
   allow it, or as many bytes as the driver refused. 1: try again, because memory was released or something
   has changed meanwhile, in this arena, too: its idle memory may serve more, or have gone. So a call that
   fails has tried with all memory there is. Attempts end: each asks for less than the amount that was refused
   before, unless an arena has changed; and an amount is refused at the ninth attempt that found too little
   while arenas changed. */
static int gpuarena__reclaim_for(gpuarena *arena, uint64_t bytes, const gpuarena__error *error,
                                 gpuarena__reclaim *reclaim)
{
    const gpuarena *root = gpuarena__family_root(arena), *top;
    int could, changed, moved, limited = error->reason == GPUARENA_REASON_OVER_LIMIT
                  || error->reason == GPUARENA_REASON_OVER_PARENT,
               refused = error->reason == GPUARENA_REASON_DRIVER_REFUSED
                  || error->reason == GPUARENA_REASON_HEADROOM;
    uint64_t frees, own_changes, released = 0, device = 0, free_bytes;
    gpuarena__reclaim before;
    if (!arena->has_family || !(limited || (refused && bytes)) || bytes >= reclaim->refused || arena->lost
        || gpuarena__is_tied() || gpuarena__ask_capturing(arena, NULL)) return 0;
    if (refused) {                               /* the tree may have its memory and the free bytes */
        if (!gpuarena__driver_info(arena, &free_bytes, NULL)) return 0;
        device = gpuarena__family_figures(arena, root).held
            + gpuarena__above(free_bytes, arena->config.headroom_bytes);
    }
    reclaim->own = arena->stats.reserved_bytes + arena->growing;
    if (reclaim->apart) reclaim->own += gpuarena__children(arena);
    own_changes = arena->family.own_changes;
    gpuarena__unlock_all(arena);
    if (!reclaim->alone) gpuarena__mutex_lock(&gpuarena__self(root)->reclaim);
    reclaim->alone = 1;
    frees = gpuarena__family_look(arena, reclaim, root, 1).frees;
    could = gpuarena__reclaim_could_help(arena, reclaim, bytes, device);
    for (top = refused ? root : arena; could && top; top = top->config.parent) {
        gpuarena__figures then = gpuarena__family_figures(arena, top);
        uint64_t lack = gpuarena__above(then.held + bytes, then.limit);
        released += refused
            ? gpuarena__reclaim_under(arena, reclaim->apart, top, gpuarena__min(bytes, then.held), UINT64_MAX)
            : gpuarena__reclaim_under(arena, reclaim->apart, top, 0, gpuarena__above(then.held, lack));
    }
    moved = !released && gpuarena__family_look(arena, reclaim, root, 1).frees != frees;
    gpuarena__relock_all(arena);
    before = *reclaim;
    gpuarena__reclaim_note(arena, reclaim);
    changed = before.seen != reclaim->seen;
    moved |= before.frees != reclaim->frees || before.calls != reclaim->calls
        || own_changes != arena->family.own_changes;         /* by a call that has not ended */
    if (could && changed) arena->stats.reclaim_count++;
    else if (!(changed || moved) || ++reclaim->races > GPUARENA__RACES) reclaim->refused = bytes;
    return changed || moved;
}

/* Grows until reserved memory, sub-arenas included, is at least `target`, reclaiming from the tree's other
   arenas. 0 and an error. undo 1: after a failure new memory is released, and none is obtained if
   not all can be. */
static int gpuarena__family_grow_to(gpuarena *arena, uint64_t target, int undo, gpuarena__error *error)
{
    gpuarena__reclaim reclaim = gpuarena__reclaim_begin(arena, 1);
    int done = 0, again = 1;
    while (again && !gpuarena__is_lost(arena, error)) {
        uint64_t before = arena->stats.reserved_bytes,
                 own = gpuarena__above(target, gpuarena__children(arena)),
                 lack = gpuarena__above(own, before);
        *error = gpuarena__no_error();
        done = !lack;
        if (lack && (!undo || gpuarena__growth_granted(arena, lack, error))) {
            done = gpuarena__grow_to(arena, own, error);
            if (undo && !done) gpuarena__grow_undo(arena, before);
        }
        lack = gpuarena__above(own, arena->stats.reserved_bytes);
        again = !done && gpuarena__reclaim_for(arena, lack, error, &reclaim);
    }
    gpuarena__reclaim_end(arena, &reclaim);
    return done;
}

/* >>share ==============================================================================================
   Blocks between processes, and peers. An exported block has the bit EXPORTED, which sends its free to the
   slow path, where it is refused. An import is memory of another process, and none of the arena's: it is in
   no range and no sum. An import that the driver refuses to undo stays in the list. */

static int gpuarena__is_exported(const gpuarena *arena, uint32_t index)
{
    return (gpuarena__node_at(arena, index)->size & GPUARENA__EXPORTED) != 0;
}

/* 1, and an error: the block is exported, so it is neither freed nor resized. */
static int gpuarena__keeps_exported(const gpuarena *arena, uint32_t index, gpuarena__error *error)
{
    if (!gpuarena__is_exported(arena, index)) return 0;
    error->detail = "the block is exported; call gpuarena_export_end first";
    error->block = index;
    return !gpuarena__set_error(error, GPUARENA_STILL_IN_USE);
}

/* Where the handle of a paged range begins that backs this address. */
static uint64_t gpuarena__handle_begin(const gpuarena *arena, uint64_t address)
{
    uint64_t page;
    const gpuarena__range *range = gpuarena__page_at(arena, address, &page);
    page -= gpuarena__pages_back(range, page);
    return range->address + (page << arena->paged.page_log2);
}

/* Finds the memory that a live block shares: *base is where it begins. *shared: all but the handle. 0, and
   an error: it cannot be shared. */
static int gpuarena__shared_find(const gpuarena *arena, uint32_t index, uint64_t *base,
                                 gpuarena_shared *shared, gpuarena__error *error)
{
    const gpuarena__node *node = gpuarena__node_at(arena, index);
    const gpuarena__range *range = gpuarena__range_of(arena, node->address);
    int has_pages = range->pages || range->guarded;
    uint64_t last = node->address + gpuarena__node_bytes(node) - 1;
    error->block = index;
    *base = range->address;
    shared->bytes = node->as.live.requested;
    shared->paged_bytes = range->guarded ? range->bytes : 0;
    if (range->pages) {
        *base = gpuarena__handle_begin(arena, node->address);
        last = gpuarena__handle_begin(arena, last);
        shared->paged_bytes =
            last - *base + gpuarena__handle_at(arena, last).page_count * arena->paged.page_bytes;
    }
    shared->offset_bytes = node->address - *base;
    if (arena->memory != GPUARENA_MEMORY_DEVICE)
        error->detail = "pinned, managed and async memory cannot be exported";
    else if (has_pages && arena->config.share != GPUARENA_SHARE_PAGES)
        error->detail = "pages are exported with share=pages alone; or set GPUARENA_ALLOC_DEDICATED";
    else if (!has_pages && !arena->driver.ipc.get_handle)
        error->detail = "the driver has no group `ipc`";
    else return 1;
    return gpuarena__set_error(error, GPUARENA_NOT_SUPPORTED);
}

/* Enters an arena for a call about a live block. Returns the block; 0: *result says why not, and nothing is
   to be left. */
static uint32_t gpuarena__begin_shared(gpuarena *arena, void *ptr, const char *wrong, gpuarena_result *result)
{
    const uint32_t *slot;
    *result = gpuarena__begin(arena, ptr ? wrong : "ptr: NULL");
    if (*result != GPUARENA_OK) return 0;
    slot = gpuarena__lookup_find(arena, gpuarena__address(ptr));
    if (slot) return *slot;
    *result = gpuarena__end(arena, gpuarena__fail_pointer(arena, ptr, NULL));
    return 0;
}

GPUARENA_API gpuarena_result gpuarena_export(gpuarena *arena, void *ptr, gpuarena_shared *shared)
{
    gpuarena_shared found = GPUARENA_INIT;
    gpuarena__error error = gpuarena__no_error();
    gpuarena_result result;
    uint32_t index = gpuarena__begin_shared(arena, ptr, shared ? NULL : "shared: NULL", &result);
    uint64_t base, before;
    int done;
    if (!index) return result;
    done = !gpuarena__is_lost(arena, &error) && gpuarena__shared_find(arena, index, &base, &found, &error);
    before = gpuarena__node_at(arena, index)->size & GPUARENA__EXPORTED;
    if (done) gpuarena__node_at(arena, index)->size |= GPUARENA__EXPORTED;   /* no thread frees it now */
    if (done && !found.paged_bytes)
        done = GPUARENA__ASK(arena, &error, ipc, get_handle,
                             (&arena->driver, gpuarena__pointer(base), found.handle));
    if (!done && !before) gpuarena__node_at(arena, index)->size &= ~GPUARENA__EXPORTED;
    if (done) *shared = found;
    return gpuarena__end(arena, gpuarena__outcome(arena, &error, 0, NULL));
}

GPUARENA_API gpuarena_result gpuarena_export_fd(gpuarena *arena, void *ptr, uint64_t at_bytes, int *fd,
                                                uint64_t *bytes)
{
    gpuarena_shared found = GPUARENA_INIT;
    gpuarena__error error = gpuarena__no_error(), ignored = gpuarena__no_error();
    gpuarena_result result;
    uint32_t index = gpuarena__begin_shared(arena, ptr, fd && bytes ? NULL : "fd, bytes: NULL", &result);
    const gpuarena__range *range;
    uint64_t id = 0, length = 0, base = 0;
    int made = -1;
    if (!index) return result;
    if (gpuarena__is_exported(arena, index))
        (void)gpuarena__shared_find(arena, index, &base, &found, &ignored);
    if (at_bytes < found.paged_bytes) {
        range = gpuarena__range_of(arena, base);
        base += at_bytes;                        /* where the handle must begin */
        if (range->guarded) {
            id = range->handle;
            length = at_bytes ? 0 : range->bytes;
        } else if (gpuarena__handle_begin(arena, base) == base) {
            id = gpuarena__handle_at(arena, base).id;
            length = gpuarena__handle_at(arena, base).page_count * arena->paged.page_bytes;
        }
    }
    if (!length)
        return gpuarena__end(arena, gpuarena__fail_argument(arena, "ptr, at_bytes: no pages of an exported "
                                                                   "block begin there"));
    if (GPUARENA__ASK(arena, &error, fd, from_page, (&arena->driver, id, &made)) && made < 0)
        gpuarena__set_error(&error, GPUARENA_DRIVER_ERROR);
    if (error.result == GPUARENA_OK) {
        *fd = made;
        *bytes = length;
    }
    return gpuarena__end(arena, gpuarena__outcome(arena, &error, 0, NULL));
}

GPUARENA_API gpuarena_result gpuarena_export_end(gpuarena *arena, void *ptr)
{
    gpuarena_result result;
    uint32_t index = gpuarena__begin_shared(arena, ptr, NULL, &result);
    if (!index) return result;
    if (!gpuarena__is_exported(arena, index))
        result = gpuarena__fail_argument(arena, "ptr: the block is not exported");
    gpuarena__node_at(arena, index)->size &= ~GPUARENA__EXPORTED;
    return gpuarena__end(arena, result);
}

/* ---- imports. Only calls with the slow-path mutex use the list, so its entries stay where they are while
   the driver is asked. */

/* The caller's import with this pointer, of several the latest; NULL: there is none. */
static gpuarena__import *gpuarena__import_find(const gpuarena *arena, const void *ptr)
{
    uint32_t at = arena->imports.count;
    while (at-- > 0)
        if (ptr && arena->imports.list[at].ptr == gpuarena__address(ptr)) return &arena->imports.list[at];
    return NULL;
}

/* Gives back the memory of an import, and removes it from the list. 0 and an error: the driver refused, and a
   later call goes on from there. */
static int gpuarena__import_undo(gpuarena *arena, gpuarena__import *opened, gpuarena__error *error)
{
    void *base = gpuarena__pointer(opened->base);
    if (opened->page_bytes) {
        if (!GPUARENA__ASK(arena, error, vm, destroy, (&arena->driver, opened->page, opened->page_bytes)))
            return 0;
        opened->page_bytes = 0;
    }
    if (opened->mapped) {
        if (!GPUARENA__ASK(arena, error, vm, unmap, (&arena->driver, base, opened->mapped))) return 0;
        opened->mapped = 0;
    }
    if (!(opened->reserved
          ? GPUARENA__ASK(arena, error, vm, release, (&arena->driver, base, opened->reserved))
          : GPUARENA__ASK(arena, error, ipc, close_handle, (&arena->driver, base)))) return 0;
    *opened = arena->imports.list[--arena->imports.count];
    return 1;
}

/* Opens a segment or reserves addresses. 0 and an error: there is nothing. 1 with ptr 0: the driver's memory
   cannot be used. */
static int gpuarena__import_begin(gpuarena *arena, const gpuarena_shared *shared, gpuarena__import *opened,
                                  gpuarena__error *error)
{
    const gpuarena_driver *driver = &arena->driver;
    void *memory = NULL;
    opened->reserved = opened->lacks = shared->paged_bytes;
    if (opened->reserved ? !driver->page_bytes || !driver->vm.reserve || !driver->fd.to_page
                         : !driver->ipc.open_handle) {
        error->detail = opened->reserved ? "the driver lacks the group `vm` or `fd`"
                                         : "the driver has no group `ipc`";
        return gpuarena__set_error(error, GPUARENA_NOT_SUPPORTED);
    }
    if (!(opened->reserved
          ? GPUARENA__ASK(arena, error, vm, reserve, (driver, &memory, opened->reserved, driver->page_bytes))
          : GPUARENA__ASK(arena, error, ipc, open_handle, (driver, shared->handle, &memory)))) {
        if (opened->reserved && error->result == GPUARENA_OUT_OF_MEMORY)
            error->reason = GPUARENA_REASON_ADDRESSES;
        return 0;
    }
    opened->base = gpuarena__address(memory);
    opened->ptr = opened->base + shared->offset_bytes;
    if (!memory) return gpuarena__set_error(error, GPUARENA_DRIVER_ERROR);
    if (opened->reserved && opened->base % driver->page_bytes) opened->ptr = 0;      /* useless */
    return 1;
}

GPUARENA_API gpuarena_result gpuarena_import(gpuarena *arena, const gpuarena_shared *shared, void **ptr)
{
    gpuarena__imports *imports;
    gpuarena__import made = GPUARENA_INIT;
    gpuarena__error error = gpuarena__no_error();
    gpuarena_result result = gpuarena__begin(arena, !ptr ? "ptr: NULL" : !shared ? "shared: NULL" : NULL);
    if (result != GPUARENA_OK) return result;
    if (!shared->bytes || shared->bytes > GPUARENA__MAX_BYTES || shared->offset_bytes > GPUARENA__MAX_BYTES
        || shared->paged_bytes > GPUARENA__MAX_BYTES
        || shared->paged_bytes % gpuarena__max(arena->driver.page_bytes, 1)
        || (shared->paged_bytes && shared->offset_bytes + shared->bytes > shared->paged_bytes))
        return gpuarena__end(arena, gpuarena__fail_argument(arena, "shared: not written by gpuarena_export"));
    imports = &arena->imports;
    if (!GPUARENA__RESERVE(arena, gpuarena__import, imports->list, imports->count, 1, imports->room))
        gpuarena__set_error(&error, GPUARENA_HOST_MEMORY);
    else if (gpuarena__import_begin(arena, shared, &made, &error)) {
        imports->list[imports->count++] = made;
        if (made.ptr) *ptr = gpuarena__pointer(made.ptr);
        else {
            (void)gpuarena__import_undo(arena, &imports->list[imports->count - 1], NULL);
            gpuarena__set_error(&error, GPUARENA_DRIVER_ERROR);
        }
    }
    return gpuarena__end(arena, gpuarena__outcome(arena, &error, shared->bytes, NULL));
}

/* Maps a handle of another process behind an import's other handles, and gives the handle up: the mapping
   keeps its memory. 0 and an error. */
static int gpuarena__import_map(gpuarena *arena, gpuarena__import *opened, int fd, uint64_t bytes,
                                gpuarena__error *error)
{
    void *address = gpuarena__pointer(opened->base + opened->mapped);
    if (!GPUARENA__ASK(arena, error, fd, to_page, (&arena->driver, fd, &opened->page))) return 0;
    opened->page_bytes = bytes;
    if (!GPUARENA__ASK(arena, error, vm, map, (&arena->driver, address, bytes, opened->page))) return 0;
    opened->mapped += bytes;
    if (!GPUARENA__ASK(arena, error, vm, access, (&arena->driver, address, bytes, 1))) return 0;
    if (!GPUARENA__ASK(arena, error, vm, destroy, (&arena->driver, opened->page, bytes))) return 0;
    opened->page_bytes = 0;
    return 1;
}

GPUARENA_API gpuarena_result gpuarena_import_fd(gpuarena *arena, void *ptr, int fd, uint64_t bytes)
{
    gpuarena__error error = gpuarena__no_error();
    gpuarena__import *opened;
    gpuarena_result result = gpuarena__begin(arena, fd < 0 ? "fd: negative" : NULL);
    if (result != GPUARENA_OK) return result;
    opened = gpuarena__import_find(arena, ptr);
    if (!opened || !opened->lacks)
        return gpuarena__end(arena, gpuarena__fail_argument(arena, "ptr: no import that lacks pages"));
    if (!bytes || bytes % arena->driver.page_bytes || bytes > opened->lacks)
        return gpuarena__end(arena, gpuarena__fail_argument(arena, "bytes: not those of the next pages"));
    if (gpuarena__import_map(arena, opened, fd, bytes, &error)) opened->lacks -= bytes;
    else if (opened->page_bytes) opened->lacks = 0;          /* it can only be ended */
    return gpuarena__end(arena, gpuarena__outcome(arena, &error, bytes, NULL));
}

GPUARENA_API gpuarena_result gpuarena_import_end(gpuarena *arena, void *ptr)
{
    gpuarena__error error = gpuarena__no_error();
    gpuarena__import *opened;
    gpuarena_result result = gpuarena__begin(arena, NULL);
    if (result != GPUARENA_OK || !ptr) return result == GPUARENA_OK ? gpuarena__end(arena, result) : result;
    opened = gpuarena__import_find(arena, ptr);
    if (!opened)
        return gpuarena__end(arena, gpuarena__fail_argument(arena, "ptr: no import of this arena"));
    opened->lacks = 0;
    if (!gpuarena__import_undo(arena, opened, &error)) {
        if (!arena->lost) result = gpuarena__outcome(arena, &error, 0, NULL);
        else *opened = arena->imports.list[--arena->imports.count];
    }
    return gpuarena__end(arena, result);
}

/* Gives the peers access, at creation. The arena's copy of the table has them from then on, for pages. */
static gpuarena_failure gpuarena__peers_start(gpuarena *arena)
{
    gpuarena__error error = gpuarena__no_error();
    gpuarena_failure failure = GPUARENA_INIT;
    int32_t device;
    for (device = 0; device < 64; device++) {
        if (!(arena->config.peers >> device & 1)
            || GPUARENA__ASK_CALL(arena, &error, peer, arena->driver.peer(&arena->driver, device))) continue;
        failure = gpuarena__failure_of(arena, &error);
        if (failure.result == GPUARENA_NOT_SUPPORTED)
            gpuarena__detail(&failure, "peers: device %d cannot access this device's memory", (int)device);
        else if (failure.result == GPUARENA_DRIVER_ERROR)
            gpuarena__detail(&failure, "peers: device %d", (int)device);
        return failure;
    }
    arena->driver.peers |= arena->config.peers;
    return failure;
}

/* >>life ===============================================================================================
   gpuarena_create and _destroy. */

/* Frees all host memory of an arena that holds no range. */
static void gpuarena__free_host(gpuarena *arena)
{
    uint32_t at, times = 0;
    while (GPUARENA__LOAD(&arena->entering, ACQUIRE)) gpuarena__pause(times++);      /* callers look at it */
    gpuarena__mutex_lock(&arena->slow_mutex);
    gpuarena__mutex_unlock(&arena->slow_mutex);
    gpuarena__spin_end(&arena->lock);
    for (at = 1; at <= arena->heaps.count; at++) gpuarena__spin_end(&arena->heaps.list[at]->lock);
    while (arena->events.count > 1)
        gpuarena__event_destroy(arena, arena->events.list[--arena->events.count].handle);
    (void)gpuarena__host_memory(arena, 1);
    GPUARENA_ASSERT(arena->host_bytes == sizeof *arena && "every host allocation has been freed");
    gpuarena__mutex_end(&arena->reclaim);
    gpuarena__mutex_end(&arena->slow_mutex);
    gpuarena__host_free_raw(&arena->config, arena, sizeof *arena);
}

/* Gives all ranges back, unless the device is lost. 0 and an error: the driver kept one. */
static int gpuarena__release_all(gpuarena *arena, gpuarena__error *error)
{
    int released = gpuarena__release_to(arena, 0, 0, NULL, error)
        && gpuarena__pages_release(arena, 0, error)          /* addresses without memory */
        && !arena->ranges.first && gpuarena__unretire(arena, 0, error);
    while (released && arena->imports.count)     /* those that nobody has */
        released = gpuarena__import_undo(arena, arena->imports.list, error);
    if (!released && error->result == GPUARENA_OK) gpuarena__set_error(error, GPUARENA_DRIVER_ERROR);
    return released || arena->lost;
}

/* Makes an empty arena with its tables, and record 0, for blocks that wait for no stream. NULL: no host
   memory. The configuration is checked later. */
static gpuarena *gpuarena__assemble(const gpuarena_config *config)
{
    gpuarena *arena = (gpuarena *)gpuarena__host_alloc_raw(config, sizeof *arena);
    gpuarena__streams *streams;
    if (!arena) return NULL;
    memset(arena, 0, sizeof *arena);
    if (!gpuarena__spin_make(&arena->lock) || !gpuarena__mutex_make(&arena->slow_mutex)
        || !gpuarena__mutex_make(&arena->reclaim)) {
        gpuarena__host_free_raw(config, arena, sizeof *arena);
        return NULL;
    }
    arena->caller_mode = -1;
    arena->driver = *config->driver;
    arena->config = *config;
    arena->config.driver = &arena->driver;
    if (config->backing == GPUARENA_BACKING_PINNED) arena->memory = GPUARENA_MEMORY_PINNED;
    if (config->backing == GPUARENA_BACKING_MANAGED) arena->memory = GPUARENA_MEMORY_MANAGED;
    if (config->backing == GPUARENA_BACKING_ASYNC) arena->memory = GPUARENA_MEMORY_ASYNC;
    arena->host_bytes = sizeof *arena;
    arena->release_pass = 1;
    arena->ordered_bytes = arena->small_bytes = UINT64_MAX;
    streams = &arena->streams;
    streams->ordered = arena->driver.events.create != NULL;
    streams->own = arena->driver.per_thread ? arena->driver.per_thread : GPUARENA_OWN_STREAM;
    streams->own_too = arena->driver.null_is_per_thread ? NULL : GPUARENA_OWN_STREAM;
    streams->recent.stream = gpuarena__nobody();
    streams->pass = 1;
    if (!gpuarena__nodes_grow(arena) || !gpuarena__lookup_grow(arena, &arena->lookup)
        || !GPUARENA__RESERVE(arena, gpuarena__stream, streams->list, 0, 1, streams->room)
        || !gpuarena__known_reserve(arena)) {
        gpuarena__free_host(arena);
        return NULL;
    }
    memset(streams->list, 0, sizeof *streams->list);
    streams->list[0].bins = &arena->bins;
    streams->list[0].state = GPUARENA__CLOSED;
    streams->count = 1;
    return arena;
}

/* Tells whether all fields of two tables are equal; bytes between fields do not count. */
static int gpuarena__is_same_driver(const gpuarena_driver *one, const gpuarena_driver *other)
{
    int same = 1;
#define X(field) same = same && one->field == other->field;
#define GPUARENA__FIELD(group, entry, bits) X(group.entry)
    GPUARENA__ENTRIES(GPUARENA__FIELD)
    X(clear) X(peer) X(classify) X(code_name) X(now_ns)
    X(user) X(device) X(null_is_per_thread) X(per_thread) X(page_bytes) X(peers)
#undef GPUARENA__FIELD
#undef X
    return same;
}

/* Prepares an arena to be a parent. The child gets its driver unless it has one. *driver: where that is
   copied to; *headroom: the parent's. */
static gpuarena_result gpuarena__join_parent(gpuarena_config *config, gpuarena_driver *driver,
                                             uint64_t *headroom, gpuarena__text *why)
{
    gpuarena *parent = config->parent;
    gpuarena_driver given = *(config->driver ? config->driver : driver);
    int living = gpuarena__count_living(parent);
    gpuarena_result result = living ? gpuarena__enter(parent, NULL) : GPUARENA_INVALID_ARGUMENT;
    if (living && result != GPUARENA_OK) gpuarena__count_entering(parent, -1);
    if (result == GPUARENA_INVALID_ARGUMENT) {
        gpuarena__put(why, "parent: not a living arena");
        return GPUARENA_INVALID_CONFIG;
    }
    if (result != GPUARENA_OK) return result;
    *headroom = parent->config.headroom_bytes;
    *driver = parent->driver;
    parent->has_family = 1;
    given.peers |= parent->config.peers;         /* as the parent has it */
    if (config->driver && !gpuarena__is_same_driver(&given, driver)) {
        gpuarena__put(why, "driver: another than the parent's; leave it NULL");
        result = GPUARENA_INVALID_CONFIG;
    }
    config->driver = driver;
    if (config->backing != GPUARENA_BACKING_ASYNC) config->peers |= parent->config.peers;
    gpuarena__unlock(parent);
    gpuarena__count_entering(parent, -1);
    return result;
}

/* Checks everything that creation refuses before there is an arena. *table: where the default driver is
   copied to. */
static gpuarena_result gpuarena__create_checks(gpuarena_config *config, gpuarena_driver *table,
                                               gpuarena_failure *failure, gpuarena__text *why)
{
    gpuarena_result result;
    uint64_t headroom = 0;
    int32_t device;
    if (!gpuarena__watch_forks()) return GPUARENA_HOST_MEMORY;
    if (config->parent) {
        result = gpuarena__join_parent(config, table, &headroom, why);
        if (result != GPUARENA_OK) return result;
    }
    if (!config->driver) {
        result = gpuarena__cuda_fill(-1, table, failure);
        if (result != GPUARENA_OK) return result;
        config->driver = table;
    }
    if (!gpuarena__config_sound(config, why) || !gpuarena__config_fill(config, why))
        return GPUARENA_INVALID_CONFIG;
    config->headroom_bytes = gpuarena__max(config->headroom_bytes, headroom);
    device = config->driver->device;
    if (device >= 0 && device < 64) config->peers &= ~((uint64_t)1 << device);   /* its own memory */
    if (config->scrub && !config->driver->clear)
        gpuarena__put(why, "scrub: the driver has no entry `clear`");
    else if (config->share == GPUARENA_SHARE_PAGES && !config->driver->fd.from_page)
        gpuarena__put(why, "share: the driver has no group `fd`");
    else if (config->peers && !config->driver->peer)
        gpuarena__put(why, "peers: the driver has no entry `peer`");
    else return GPUARENA_OK;
    return GPUARENA_NOT_SUPPORTED;
}

/* Sets the limit. */
static void gpuarena__limit_to(gpuarena *arena, uint64_t bytes)
{
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    if (arena->family.number && bytes != arena->limit) gpuarena__limit_count(arena, 0, 0, 1, 1);
    arena->limit = arena->config.limit_bytes = bytes;
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    gpuarena__update_fast_path(arena);
}

/* The failure of a creation whose driver did not report the device's size. */
static gpuarena_failure gpuarena__fail_start(gpuarena *arena, gpuarena__error *error)
{
    int full = error->status == GPUARENA_STATUS_NO_MEMORY;
    gpuarena_failure failure;
    if (full)                                    /* not even CUDA's own context fits */
        gpuarena__set_reason(error, GPUARENA_REASON_DRIVER_REFUSED);
    failure = gpuarena__failure_of(arena, error);
    if (full) failure.requested_bytes = failure.missing_bytes = GPUARENA__GRANULE;
    if (failure.result == GPUARENA_NOT_SUPPORTED && arena->memory != GPUARENA_MEMORY_DEVICE)
        gpuarena__detail(&failure, "backing: this driver, or device, has no %s memory",
                         gpuarena__backings[arena->config.backing]);
    return failure;
}

/* Sets values that follow from the checked configuration. Addresses are reserved for twice the largest
   possible reservation; training runs need 1.3 times as many as memory. */
static void gpuarena__start_books(gpuarena *arena)
{
    const gpuarena_config *config = &arena->config;
    uint64_t page = config->page_bytes, span = gpuarena__min(config->limit_bytes, arena->device_bytes);
    if (page) {
        span = gpuarena__min(span, GPUARENA__MAX_BYTES / 2) * 2;
        arena->paged.span_bytes = gpuarena__max(page, gpuarena__round_down(span, page));
        arena->paged.page_bytes = page;
        arena->paged.page_log2 = gpuarena__lowest_bit(page);
        arena->ordered_bytes = gpuarena__round_down(config->large_bytes, GPUARENA__UNIT);
        arena->small_bytes = gpuarena__min(arena->ordered_bytes, page);
    }
    arena->unit = config->alignment;
    arena->step = config->step_bytes;
    arena->release_due = config->release_age;
    gpuarena__limit_to(arena, config->limit_bytes);
}

/* Completes the configuration by the device's size and reserves the initial memory: for growth FIXED all that
   the limit and the driver allow. Begins the call, which the caller ends. INVALID_CONFIG: *why says what is
   wrong. */
static gpuarena_failure gpuarena__start(gpuarena *arena, gpuarena__text *why)
{
    gpuarena__error error = gpuarena__no_error();
    gpuarena_failure failure = GPUARENA_INIT;
    uint64_t free_bytes, initial;
    int fixed, done;
    gpuarena__mutex_lock(&arena->slow_mutex);
    gpuarena__lock(arena);
    if (!gpuarena__driver_info(arena, &free_bytes, &error))
        return gpuarena__fail_start(arena, &error);
    failure.result = GPUARENA_INVALID_CONFIG;
    if (!gpuarena__config_defaults(&arena->config, free_bytes, arena->device_bytes, why)) return failure;
    gpuarena__start_books(arena);
    gpuarena__set_magic(arena, GPUARENA__MAGIC); /* from here on observers may call in, or fork */
    if (!gpuarena__register(arena, why)) return failure;
    failure = gpuarena__peers_start(arena);
    if (failure.result != GPUARENA_OK) return failure;
    initial = arena->config.initial_bytes;
    fixed = arena->config.growth == GPUARENA_GROWTH_FIXED;
    if (fixed) {
        initial = arena->limit != GPUARENA_NO_LIMIT
            ? arena->limit : gpuarena__above(free_bytes, arena->config.headroom_bytes);
        initial = gpuarena__round_down(initial, gpuarena__max(arena->paged.page_bytes, GPUARENA__GRANULE));
        initial = gpuarena__max(initial, GPUARENA__GRANULE);
    }
    done = gpuarena__family_grow_to(arena, initial, !fixed, &error);
    if (done || (fixed && error.result == GPUARENA_OUT_OF_MEMORY && arena->stats.reserved_bytes)) {
        arena->paged.idle_low_count = arena->paged.idle_count;
        return failure;
    }
    gpuarena__grow_undo(arena, 0);               /* before the failure is measured */
    initial = gpuarena__max(arena->config.initial_bytes, GPUARENA__GRANULE);
    return gpuarena__failure_grow(arena, &error, initial,
                                  gpuarena__above(initial, arena->stats.reserved_bytes), 0);
}

GPUARENA_API gpuarena_result gpuarena_driver_cuda(int device, gpuarena_driver *driver)
{
    gpuarena_failure failure = GPUARENA_INIT;
    if (!driver) return gpuarena__fail_argument(NULL, "driver: NULL");
    failure.result = gpuarena__cuda_fill(device, driver, &failure);
    if (failure.result == GPUARENA_OK) return GPUARENA_OK;
    return gpuarena__fail_record(NULL, &failure, NULL);
}

GPUARENA_API gpuarena_result gpuarena_create(const gpuarena_config *config, gpuarena **arena)
{
    gpuarena_config wanted = GPUARENA_INIT;
    gpuarena_driver table = GPUARENA_INIT;
    gpuarena_failure failure = GPUARENA_INIT;
    gpuarena__error ignored = gpuarena__no_error();
    gpuarena *made = NULL;
    gpuarena_result result;
    char complaint[1024];
    gpuarena__text why = gpuarena__text_begin(complaint, sizeof complaint);
    if (!arena) return gpuarena__fail_argument(NULL, "arena: where to put it must be given");
    if (config) wanted = *config;
    failure.result = gpuarena__create_checks(&wanted, &table, &failure, &why);
    if (failure.result == GPUARENA_OK) {
        made = gpuarena__assemble(&wanted);
        if (made) failure = gpuarena__start(made, &why);
        else failure.result = GPUARENA_HOST_MEMORY;
    }
    if (failure.result == GPUARENA_OK) {
        *arena = made;
        return gpuarena__end(made, GPUARENA_OK);
    }
    result = failure.result;                     /* not OK, visibly to a compiler that inlines this */
    if (why.length && (result == GPUARENA_INVALID_CONFIG || (!made && result != GPUARENA_HOST_MEMORY)))
        gpuarena__detail(&failure, "%s", complaint);
    if (made && made->family.number) {           /* it was registered, so its parent lives */
        (void)gpuarena__release_all(made, &ignored);
        gpuarena__unregister(made);              /* memory that the driver refuses to take back is lost */
    }
    if (made) {
        gpuarena__set_magic(made, 0);
        (void)gpuarena__end(made, result);
        gpuarena__free_host(made);
    }
    (void)gpuarena__fail_record(NULL, &failure, NULL);
    return result;
}

/* The reason why an arena cannot be destroyed; OK: it can, and can be no parent any more. */
static gpuarena_result gpuarena__destroy_checks(gpuarena *arena)
{
    const char *why = NULL;
    const gpuarena *child;
    char lives[96];
    gpuarena__text out = gpuarena__text_begin(lives, sizeof lives);
    uint32_t at;
    if (gpuarena__inside_of(arena, GPUARENA__FRAME_PRESSURE))
        return gpuarena__fail_with(arena, GPUARENA_REENTRANT, NULL);
    if (arena->stats.live_count) return gpuarena__fail_leaks(arena);
    if (arena->away_count) why = "a thread waits in an allocation, which must return before gpuarena_destroy";
    for (at = 0; at < arena->imports.count && !why; at++)
        if (arena->imports.list[at].ptr)
            why = "a block is imported; call gpuarena_import_end before gpuarena_destroy";
    for (at = 1; at < arena->streams.count && !why; at++)
        if (arena->streams.list[at].home)
            why = "a capture set is not released; call gpuarena_capture_release before gpuarena_destroy";
    if (why) return gpuarena__fail_with(arena, GPUARENA_STILL_IN_USE, why);
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    for (child = gpuarena__registry; child && child->config.parent != arena; child = child->registered) {}
    if (child) gpuarena__put(&out, "sub-arena %s lives; destroy it before its parent", child->config.name);
    else arena->family.ending = 1;
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    return child ? gpuarena__fail_with(arena, GPUARENA_STILL_IN_USE, lives) : GPUARENA_OK;
}

GPUARENA_API gpuarena_result gpuarena_destroy(gpuarena *arena)
{
    gpuarena__error error = gpuarena__no_error();
    gpuarena_result result;
    uint32_t record;
    if (!arena) return GPUARENA_OK;
    if (!gpuarena__count_living(arena)) return gpuarena__fail_argument(NULL, "arena: not a living arena");
    result = gpuarena__begin(arena, NULL);
    gpuarena__count_entering(arena, -1);
    if (result != GPUARENA_OK) return result;
    result = gpuarena__destroy_checks(arena);
    if (result != GPUARENA_OK) return gpuarena__end(arena, result);
    for (record = 1; record < arena->streams.count; record++)
        arena->streams.list[record].state = GPUARENA__CLOSED;    /* streams may be gone: no call on them */
    memset(arena->streams.known, 0, arena->streams.known_room * sizeof *arena->streams.known);
    arena->streams.known_count = arena->streams.own_known = 0;
    gpuarena__streams_changed(arena);
    if (!gpuarena__release_all(arena, &error)) {
        gpuarena__mutex_lock(&gpuarena__registry_lock);
        arena->family.ending = 0;                /* the arena lives on */
        gpuarena__mutex_unlock(&gpuarena__registry_lock);
        return gpuarena__end(arena, gpuarena__outcome(arena, &error, 0, NULL));
    }
    gpuarena__unregister(arena);
    gpuarena__set_magic(arena, 0);               /* callers that wait will see it */
    (void)gpuarena__end(arena, GPUARENA_OK);
    gpuarena__free_host(arena);
    return GPUARENA_OK;
}

/* >>slow ===============================================================================================
   The slow path of an allocation. Its stages are one table, in the manual's order: gpuarena__stages, at the
   end of the section. One loop runs them until one finds a free node that serves the request. A stage that
   has changed something for earlier ones has them run again. Stages hold the slow-path mutex and the short
   lock; each driver call unlocks the short one.
     A new stage has to be known elsewhere, too: by stage_poll, which repeats earlier ones; by can_grow and
   is_waiting, which foresee and explain the result; and, if pages can come from it, by commit_hard, which
   grows a block in place. */

/* The state of one call. */
typedef struct gpuarena__miss {
    gpuarena__error error;                       /* of the last stage that failed with one */
    gpuarena_failure *failure;                   /* of the call, if it fails */
    gpuarena__reclaim reclaim;                   /* from other arenas */
    uint64_t freed, room;                        /* stats.free_count and room when this round began */
    uint64_t pressure_frees, pressure_changes;   /* at the last call of config.pressure: blocks freed, and */
    uint64_t pressure_reserved, pressure_limit;  /*   changes of other arenas; bytes reserved, and limit */
    uint32_t retries;                            /* rounds made because of other threads' frees */
    uint32_t again;                              /* 1: run the stages again */
    uint32_t over;                               /* 1: no stage of this round can help any more */
} gpuarena__miss;

/* Checks a request. 1: *req is filled. 0 and an error: it is invalid. */
static int gpuarena__request_check(const gpuarena *arena, const gpuarena_request *request,
                                   gpuarena__request *req, gpuarena__error *error)
{
    uint64_t alignment = request->alignment_bytes, whole = arena->unit;
    uint32_t dedicated = request->flags & GPUARENA_ALLOC_DEDICATED;
    memset(req, 0, sizeof *req);
    if (request->flags & ~(GPUARENA_ALLOC_TRY | GPUARENA_ALLOC_DEDICATED))
        error->detail = "request.flags: GPUARENA_ALLOC_TRY, _DEDICATED, both or 0";
    else if (dedicated && request->room_bytes)
        error->detail = "request.room_bytes: not with GPUARENA_ALLOC_DEDICATED";
    else if (dedicated && alignment > GPUARENA__GRANULE)
        error->detail = "request.alignment_bytes: at most 2M with GPUARENA_ALLOC_DEDICATED";
    else if (request->stream == GPUARENA_OWN_STREAM)
        error->detail = "stream: GPUARENA_OWN_STREAM is for frees alone";
    else if (alignment & (alignment - 1)) error->detail = "request.alignment_bytes: a power of two, or 0";
    if (error->detail) return gpuarena__set_error(error, GPUARENA_INVALID_ARGUMENT);
    if (request->room_bytes && !arena->paged.page_bytes) {
        error->detail = "request.room_bytes: backing=paged alone keeps addresses";
        return gpuarena__set_error(error, GPUARENA_NOT_SUPPORTED);
    }
    req->requested = request->bytes;
    req->alignment = gpuarena__max(alignment, arena->unit);
    req->stream = request->stream;
    req->tag = request->tag ? request->tag : gpuarena__scope;
    req->place = gpuarena__tag_place(req->tag);
    req->flags = request->flags;
    if (request->bytes > GPUARENA__MAX_BYTES || request->room_bytes > GPUARENA__MAX_BYTES)
        return gpuarena__set_reason(error, GPUARENA_REASON_TOO_LARGE);
    if (dedicated) whole = GPUARENA__GRANULE;
    if (request->room_bytes) whole = arena->paged.page_bytes;
    req->bytes = gpuarena__whole(request->bytes, whole);
    req->room = gpuarena__whole(request->room_bytes, whole);
    /* with config.debug, a segment of just its size, not free blocks. GPUARENA_ALLOC_TRY would always fail */
    if (arena->config.debug && !gpuarena__needs_new(req))
        req->flags = GPUARENA_ALLOC_DEDICATED | GPUARENA__ALLOC_EXACT;
    return 1;
}

/* Determines the records whose blocks may serve the request beside quiet ones. Memory for every stream has
   none; but if there is only one stream so far, its pending blocks must be separated from the quiet ones. 0:
   no host memory. */
static int gpuarena__request_stream(gpuarena *arena, gpuarena__request *req)
{
    if (req->stream == GPUARENA_ANY_STREAM) return gpuarena__streams_part(arena);
    req->record = gpuarena__stream_enter(arena, req->stream);
    req->home = arena->streams.list[req->record].home;
    return req->record != 0 && (!req->home || gpuarena__nodes_reserve(arena, 4));    /* see take_found */
}

/* Tells whether free blocks serve a request now or after waits; `takes` says which waits. Works before the
   stream has a record: with a single stream its pending blocks count as quiet. */
static int gpuarena__could_serve(gpuarena *arena, const gpuarena__request *req, uint32_t takes)
{
    int told_apart = req->record || arena->streams.many || !arena->stats.pending_bytes;
    return !gpuarena__needs_new(req)
        && ((told_apart && gpuarena__search(arena, req)) || gpuarena__run_find(arena, req, takes));
}

/* ---- the stages: each returns a free node, in a bin, that serves the request, or 0 */

/* Begins a round. It is over, with an error, unless the limit holds, host memory is reserved, and the stream
   has a record. A GPUARENA_ALLOC_TRY request must not call the driver, and making its stream's record may; so
   for a new stream it goes on only if free memory serves it now. */
static uint32_t gpuarena__stage_begin(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss)
{
    gpuarena__error *error = &miss->error;
    int try_only = (req->flags & GPUARENA_ALLOC_TRY) != 0, released;
    *error = gpuarena__no_error();
    miss->freed = arena->stats.free_count;
    miss->room = gpuarena__room(arena, NULL);
    if (!miss->reclaim.alone) miss->reclaim = gpuarena__reclaim_begin(arena, 0);
    miss->over = 1;
    if (gpuarena__is_lost(arena, error)) return 0;
    if (arena->stats.reserved_bytes > arena->limit) {        /* the limit was lowered */
        if (!try_only && req->stream != GPUARENA_ANY_STREAM)
            (void)gpuarena__stream_enter(arena, req->stream);    /* it is asked for its capture, too */
        released = try_only || gpuarena__release_to(arena, arena->limit, 0, req->stream, error);
        if (arena->stats.reserved_bytes > arena->limit) {
            if (released) gpuarena__set_reason(error, GPUARENA_REASON_OVER_LIMIT);
            if (error->result == GPUARENA_CAPTURE && !error->code)
                gpuarena__set_reason(error, GPUARENA_REASON_CAPTURE);
            return 0;
        }
    }
    if (try_only && !gpuarena__stream_find(arena, req->stream)
        && !gpuarena__could_serve(arena, req, GPUARENA__AVAILABLE_NOW))
        return gpuarena__set_reason(error, GPUARENA_REASON_TRY_ONLY);
    if (!gpuarena__nodes_reserve(arena, 3) || !gpuarena__lookup_reserve(arena)
        || !gpuarena__tags_reserve(arena, req->place) || !gpuarena__request_stream(arena, req))
        return gpuarena__set_error(error, GPUARENA_HOST_MEMORY);
    miss->over = 0;
    return 0;
}

static uint32_t gpuarena__stage_look(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss)
{
    uint32_t index = gpuarena__hit_for(arena, req);
    (void)miss;
    if (index) return index;
    index = gpuarena__look(arena, req);
    arena->stats.look_count += index != 0;
    return index;
}

/* Tells whether events may be queried: not while a stream is captured. */
static int gpuarena__has_events(const gpuarena *arena)
{
    return arena->streams.many && !arena->streams.captured && arena->config.streams != GPUARENA_STREAMS_SAME;
}

/* Tells whether completed events may help: there is a run that waits for nothing else. */
static int gpuarena__may_resolve(const gpuarena *arena, const gpuarena__request *req)
{
    return gpuarena__has_events(arena) && gpuarena__run_find(arena, req, GPUARENA__AVAILABLE_AFTER_SYNC) != 0;
}

/* Makes blocks of other streams quiet by their completed events. */
static uint32_t gpuarena__stage_events(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss)
{
    uint32_t index;
    (void)miss;
    if (!gpuarena__may_resolve(arena, req) || !gpuarena__resolve_events(arena, req->record)) return 0;
    index = gpuarena__look(arena, req);
    arena->stats.resolve_count += index != 0;
    return index;
}

/* 1, and an error: a segment of `bytes` may start where it does not serve the request, and could not be
   released because a stream is captured. */
static int gpuarena__is_one_way(gpuarena *arena, const gpuarena__request *req, uint64_t bytes,
                                gpuarena__error *error)
{
    if (req->alignment == arena->unit || bytes >= req->bytes + (req->alignment - arena->unit)
        || !gpuarena__ask_capturing(arena, NULL)) return 0;
    gpuarena__set_reason(error, GPUARENA_REASON_CAPTURE);
    return 1;
}

/* Grows by a segment for a request. If there is no room for a segment that serves it wherever the segment
   starts, one of the request's size may happen to be aligned: drivers align far better than they must. If it
   is not, it is released again, and the error is that of the longer segment. */
static uint32_t gpuarena__grow_for(gpuarena *arena, const gpuarena__request *req, uint64_t need,
                                   uint64_t wish, gpuarena__error *error)
{
    uint64_t tight = gpuarena__segment_bytes(arena, req, 1);
    uint32_t index;
    gpuarena__error longer = *error;
    gpuarena__range *range;
    if (gpuarena__is_one_way(arena, req, need, error)) return 0;
    index = gpuarena__grow(arena, need, wish, req->stream, error);
    if (!index && error->result == GPUARENA_OUT_OF_MEMORY && tight < need
        && !gpuarena__is_one_way(arena, req, tight, error)) {
        longer = *error;
        index = gpuarena__grow(arena, tight, tight, req->stream, error);
    }
    if (!index) return 0;
    range = gpuarena__range_of(arena, gpuarena__node_at(arena, index)->address);
    if (gpuarena__node_at(arena, index)->record == GPUARENA__MULTI_STREAM
        && !gpuarena__wait_device(arena, error)) {           /* until then nobody else can use it */
        (void)gpuarena__segment_release(arena, range, req->stream, NULL);
        return 0;
    }
    if (gpuarena__node_serves(gpuarena__node_at(arena, index), req->bytes, req->alignment)) return index;
    *error = longer;
    if (gpuarena__begins_segment(req)) gpuarena__set_reason(error, GPUARENA_REASON_ALIGNMENT);
    (void)gpuarena__segment_release(arena, range, req->stream, error);
    return 0;
}

/* Tells whether the request's stream may be made to wait for other streams, unless it is captured. */
static int gpuarena__may_stream_wait(const gpuarena *arena, const gpuarena__request *req)
{
    return arena->streams.many && req->record && !req->home
        && arena->config.streams == GPUARENA_STREAMS_STEAL;
}

/* Makes the request's stream wait for the frees of other streams, if a run has at most `excess` bytes more
   than the request. */
static uint32_t gpuarena__run_wait(gpuarena *arena, const gpuarena__request *req, uint64_t excess)
{
    uint32_t index = 0, first;
    if (!gpuarena__may_stream_wait(arena, req) || gpuarena__ask_captured(arena, req->stream, NULL)) return 0;
    arena->streams.pass++;
    while (!index && !arena->lost
           && (first = gpuarena__run_find(arena, req, GPUARENA__AVAILABLE_AFTER_STREAMS)) != 0
           && gpuarena__run_bytes(arena, req, first) - req->bytes <= excess)
        index = gpuarena__run_take(arena, req, first, 1);    /* ends: a failed wait marks its stream */
    arena->stats.stream_wait_count += index != 0;
    return index;
}

/* Makes the request's stream wait for whichever run has the fewest bytes of other streams. */
static uint32_t gpuarena__stage_stream_wait(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss)
{
    (void)miss;
    return gpuarena__run_wait(arena, req, UINT64_MAX);
}

/* Tells whether the host would have to wait if this place got its pages: more must move than are quiet. No
   page moves with idle=100%, and new ones are made where no others are idle: see commit_decide. */
static int gpuarena__commit_waits(gpuarena *arena, const gpuarena__request *req,
                                  const gpuarena__place *place)
{
    uint64_t begin = place->begin, end = begin + req->bytes, move,
             left = gpuarena__above(place->page_count, arena->paged.spare_pages),
             share = gpuarena__min(gpuarena__room(arena, NULL) / arena->paged.page_bytes,
                                   gpuarena__commit_share(arena, req->bytes, left * arena->paged.page_bytes));
    if (arena->config.idle_fraction >= 1 || left <= share) return 0;
    move = gpuarena__min(left - share, gpuarena__idle_pages(arena, begin, end));
    return move > gpuarena__quiet_pages(arena, begin, end);
}

/* Has the request's stream wait before growth for which the host would have to. Not if config.wait_ms says
   that the host waits first. A run that is much longer than the request is left to longer ones. */
static uint32_t gpuarena__stage_wait_early(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss)
{
    gpuarena__place place;
    uint32_t first;
    (void)miss;
    if (!gpuarena__is_paged(arena, req) || !gpuarena__may_stream_wait(arena, req) || arena->config.wait_ms
        || !gpuarena__place_find(arena, req, 0, &place)
        || !gpuarena__commit_waits(arena, req, &place)) return 0;
    arena->streams.pass++;                       /* streams that refused earlier are tried again */
    first = gpuarena__run_find(arena, req, GPUARENA__AVAILABLE_AFTER_STREAMS);
    return first && gpuarena__run_bytes(arena, req, first) - req->bytes <= req->bytes / 16
        && !gpuarena__ask_capturing(arena, NULL) ? gpuarena__run_wait(arena, req, req->bytes / 16) : 0;
}

/* Grows by a segment or by pages, within the limit. A segment has at least a step, unless it is a block's
   own. Growth STEP and DOUBLE alone have a step, and DOUBLE a largest one; it keeps one that is granted. */
static uint32_t gpuarena__stage_grow(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss)
{
    uint64_t need = gpuarena__segment_bytes(arena, req, 0), wish = need;
    uint64_t step = arena->step, next = step, most = arena->config.step_max_bytes;
    gpuarena__paged *paged = &arena->paged;
    gpuarena__place place;
    uint32_t index;
    if (!need) return gpuarena__set_reason(&miss->error, GPUARENA_REASON_TOO_LARGE);
    if (!(req->flags & GPUARENA_ALLOC_DEDICATED)) {
        while (step < need && step < most) step = gpuarena__min(step * 2, most);
        if (most) next = step > arena->step ? step : gpuarena__min(step * 2, most);
        wish = gpuarena__max(need, step);
    }
    if (arena->config.release == GPUARENA_RELEASE_PRESSURE && gpuarena__is_paged(arena, req)
        && gpuarena__place_find(arena, req, 0, &place)) {    /* the pages that it has are not released */
        need = wish = place.page_count * paged->page_bytes;
        paged->kept_begin = place.begin;
        paged->kept_end = place.begin + req->bytes;
    }
    gpuarena__release_pressed(arena, need, wish, req->stream);
    paged->kept_begin = paged->kept_end = 0;
    if (gpuarena__is_paged(arena, req)) return gpuarena__pages_grow(arena, req, &miss->error);
    index = gpuarena__grow_for(arena, req, need, wish, &miss->error);
    if (index) arena->step = next;
    return index;
}

/* Releases just enough idle memory to make room, for pages all idle segments, and grows by just the
   need. If the limit is in the way, nothing is released unless it helps; if the driver is, only an attempt
   can tell. */
static uint32_t gpuarena__release_for(gpuarena *arena, const gpuarena__request *req, int quiet,
                                      gpuarena__error *error)
{
    uint64_t need = gpuarena__segment_bytes(arena, req, 0);
    uint32_t index;
    if (!need || error->result != GPUARENA_OUT_OF_MEMORY) return 0;
    index = gpuarena__look(arena, req);          /* memory that is quiet by now is used, not released */
    if (index) return index;
    if (gpuarena__is_paged(arena, req)) {        /* segments that remained after dedicated blocks */
        uint64_t idle = gpuarena__idle_segments(arena, quiet), all, lacks;
        if (!idle) return 0;
        lacks = gpuarena__need(arena, req, &all);
        if (gpuarena__above(lacks, all) > gpuarena__room(arena, NULL) || gpuarena__ask_capturing(arena, error)
            || !gpuarena__release_to(arena, arena->stats.reserved_bytes - idle, quiet, req->stream,
                                     error)) return 0;
        return gpuarena__pages_grow(arena, req, error);
    }
    for (;;) {
        uint64_t idle = gpuarena__idle_bytes(arena, quiet), room = gpuarena__room(arena, NULL), give;
        if (need > room && need - room > idle) need = gpuarena__segment_bytes(arena, req, 1);
        give = need > room ? need - room : gpuarena__min(idle, need);
        if (!idle || give > idle) return 0;      /* ends: idle memory falls in every round */
        if (gpuarena__ask_capturing(arena, error))
            return error->code ? 0 : gpuarena__set_reason(error, GPUARENA_REASON_CAPTURE);
        if (!gpuarena__release_to(arena, arena->stats.reserved_bytes - give, quiet, req->stream, error))
            return 0;
        index = gpuarena__grow_for(arena, req, need, need, error);
        if (index || error->result != GPUARENA_OUT_OF_MEMORY) return index;
    }
}

/* Releases quiet idle memory and grows. Completed events may make more segments quiet. */
static uint32_t gpuarena__stage_release(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss)
{
    if (gpuarena__has_events(arena) && miss->error.result == GPUARENA_OUT_OF_MEMORY
        && gpuarena__idle_bytes(arena, 0) > gpuarena__idle_bytes(arena, 1))
        (void)gpuarena__resolve_events(arena, 0);
    return gpuarena__release_for(arena, req, 1, &miss->error);
}

/* Waits up to config.wait_ms by the driver's clock for other streams' work and other threads' frees: resolves
   events, and unlocks the arena for a moment, again and again. Where something has changed since the latest
   attempt, it looks, grows and releases as those stages do. */
static uint32_t gpuarena__stage_poll(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss)
{
    uint64_t span = (uint64_t)arena->config.wait_ms * 1000000u, begin, now, before,
             freed = miss->freed, room = miss->room, calls = arena->call_count;
    uint32_t index = 0, still = 0;
    int changed;
    if (!span || (!arena->stats.live_count && !arena->has_family && !gpuarena__may_resolve(arena, req)))
        return 0;
    begin = now = arena->driver.now_ns(&arena->driver);
    while (!index && now - begin < span && still < 1000 && !arena->lost) {   /* ends if the clock stands */
        changed = gpuarena__may_resolve(arena, req) && gpuarena__resolve_events(arena, req->record);
        arena->streams.list[req->record].guest_count++;      /* keeps the record from being reused */
        gpuarena__unlock_all(arena);
        gpuarena__pause(0);
        gpuarena__relock_all(arena);
        arena->streams.list[req->record].guest_count--;
        req->home = arena->streams.list[req->record].home;
        if (arena->stats.free_count != miss->freed) changed |= gpuarena__resolve_all(arena);
        if (changed || freed != arena->stats.free_count || calls != arena->call_count
            || room < gpuarena__room(arena, NULL)) {
            freed = arena->stats.free_count;
            calls = arena->call_count;           /* such a call may have grown, or shrunk a block */
            room = gpuarena__room(arena, NULL);
            index = gpuarena__look(arena, req);
            if (!index) index = gpuarena__stage_grow(arena, req, miss);
            if (!index) index = gpuarena__stage_release(arena, req, miss);
        }
        before = now;
        now = arena->driver.now_ns(&arena->driver);
        still = now == before ? still + 1 : 0;
    }
    arena->stats.wait_count += index != 0;
    return index;
}

/* Tells whether free pages would serve the request, some of which are pending. */
static int gpuarena__may_move(const gpuarena *arena, const gpuarena__request *req,
                              const gpuarena__error *error)
{
    gpuarena__place place;
    uint64_t need, idle;
    if (!gpuarena__is_paged(arena, req) || error->result != GPUARENA_OUT_OF_MEMORY
        || !arena->stats.pending_bytes) return 0;
    need = gpuarena__need(arena, req, &idle);
    if ((arena->config.idle_fraction >= 1                    /* a wait makes no page quiet, .. */
         || gpuarena__idle_bytes(arena, 0) == gpuarena__idle_bytes(arena, 1))
        && gpuarena__place_find(arena, req, 0, &place)       /* .. no gap lacks fewer, .. */
        && place.page_count * arena->paged.page_bytes <= need
        /* .. or has more idle memory outside */
        && gpuarena__idle_outside(arena, place.begin, place.begin + req->bytes) >= idle) return 0;
    return need && need <= idle + gpuarena__round_down(gpuarena__room(arena, NULL), arena->paged.page_bytes);
}

/* Waits for the whole device. Only this makes blocks quiet that wait for a synchronisation, and serves
   requests for every stream. */
static uint32_t gpuarena__stage_device_wait(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss)
{
    uint32_t index;
    int moves = gpuarena__may_move(arena, req, &miss->error);
    if (req->home || req->flags & GPUARENA_ALLOC_DEDICATED
        || (!moves && !gpuarena__run_find(arena, req, GPUARENA__AVAILABLE_AFTER_SYNC))
        || !gpuarena__wait_device(arena, NULL)) return 0;
    index = gpuarena__look(arena, req);
    if (!index && miss->error.result == GPUARENA_OUT_OF_MEMORY && gpuarena__is_paged(arena, req))
        index = gpuarena__pages_grow(arena, req, &miss->error);   /* another thread may have the run */
    arena->stats.wait_count += index != 0;
    return index;
}

/* Releases idle memory that is pending, and grows. The release of segments waits for the whole device; pages
   wait for their streams, one after the other. */
static uint32_t gpuarena__stage_release_pending(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss)
{
    gpuarena__error *error = &miss->error;
    uint32_t record = 1, index = 0;
    int waited = 0, asks = arena->config.streams != GPUARENA_STREAMS_SAME;
    if (gpuarena__is_paged(arena, req) ? gpuarena__idle_segments(arena, 0) != 0
                                        : req->alignment > arena->unit || arena->config.headroom_bytes)
        index = gpuarena__stage_device_wait(arena, req, miss);   /* a segment may be misaligned, or refused */
    if (!index) index = gpuarena__release_for(arena, req, 0, error);
    if (index || !gpuarena__is_paged(arena, req) || error->result != GPUARENA_OUT_OF_MEMORY) return index;
    index = gpuarena__pages_grow(arena, req, error);      /* earlier stages may have made some quiet */
    while (!index && asks && error->result != GPUARENA_CAPTURE
           && (gpuarena__may_move(arena, req, error)
               || gpuarena__run_find(arena, req, GPUARENA__AVAILABLE_AFTER_SYNC))) {
        while (record < arena->streams.count && !gpuarena__host_wait_for(arena, record)) record++;
        if (record >= arena->streams.count) break;
        waited = 1;
        index = gpuarena__look(arena, req);
        if (!index) index = gpuarena__pages_grow(arena, req, error);
    }
    arena->stats.wait_count += index && waited;
    return index;
}

/* Has the other arenas of the tree release idle memory, if that makes room. */
static uint32_t gpuarena__stage_reclaim(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss)
{
    uint64_t idle, tight = gpuarena__segment_bytes(arena, req, 1), need = gpuarena__need(arena, req, &idle);
    miss->again = gpuarena__reclaim_for(arena, gpuarena__above(need, idle), &miss->error, &miss->reclaim)
        || (!gpuarena__is_paged(arena, req) && tight < need      /* a segment may start right: see grow_for */
            && gpuarena__reclaim_for(arena, gpuarena__above(tight, idle), &miss->error, &miss->reclaim));
    return 0;
}

/* Computes the failure that the call reports. The stages run again if the request may succeed now, because
   other threads have freed during driver calls, or given up growth: a block serves it, or nothing is missing
   once pages move or a new round has waited; or if the failure says that memory is pending, and none is any
   more. */
static uint32_t gpuarena__stage_explain(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss)
{
    int memory = miss->error.result == GPUARENA_OUT_OF_MEMORY
        && miss->error.reason != GPUARENA_REASON_TOO_LARGE;
    int pending, freed, has_room;                /* has_room: the limit that refused it has room now */
    uint64_t idle;
    gpuarena__reclaim_end(arena, &miss->reclaim);
    *miss->failure = memory ? gpuarena__failure_memory(arena, req, &miss->error)
                            : gpuarena__failure_of(arena, &miss->error);
    miss->failure->requested_bytes = req->requested;
    if (!memory) return 0;
    pending = miss->failure->reason == GPUARENA_REASON_PENDING;
    freed = miss->freed != arena->stats.free_count;
    /* no such room helps if a segment may start misaligned, or a capture keeps idle memory from moving */
    has_room = gpuarena__is_within_limits(miss->failure) && req->alignment <= arena->unit
        && (gpuarena__need(arena, req, &idle) <= gpuarena__room(arena, NULL) || !idle
            || !gpuarena__ask_capturing(arena, NULL));
    if (has_room || (freed && (pending || gpuarena__would_fit(arena, req, miss->error.reason, miss->failure)))
        || (pending && !arena->stats.pending_bytes)
        || ((pending || freed) && arena->stats.reserved_bytes <= arena->limit && gpuarena__look(arena, req)))
        miss->again = miss->retries++ < GPUARENA__RACES;
    return 0;
}

/* Calls config.pressure, without any lock. Later rounds call it again only if something has changed: frees
   here and in the tree's other arenas, whose reserved memory and limits count, too. Memory that a round
   obtains and gives back, because it does not serve the request, is no change, here or in other arenas. */
static uint32_t gpuarena__stage_pressure(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss)
{
    gpuarena_pressure_fn *pressure = arena->config.pressure;
    const gpuarena *root = gpuarena__family_root(arena);
    gpuarena__frame frame;
    uint64_t frees = arena->stats.free_count + arena->other_free_count, changes = 0;
    (void)req;
    if (!pressure || miss->error.result != GPUARENA_OUT_OF_MEMORY
        || miss->error.reason == GPUARENA_REASON_TOO_LARGE) return 0;
    if (arena->has_family && !gpuarena__is_tied()) {         /* with the locks open: other calls may go on */
        gpuarena__unlock_all(arena);
        frees += gpuarena__family_look(arena, &miss->reclaim, root, 1).frees;
        changes = gpuarena__family_figures(arena, root).falls;
        gpuarena__relock_all(arena);
    }
    if (frees == miss->pressure_frees && changes == miss->pressure_changes
        && arena->limit == miss->pressure_limit
        && arena->stats.reserved_bytes >= miss->pressure_reserved) return 0;
    miss->pressure_frees = frees;
    miss->pressure_changes = changes;
    miss->pressure_reserved = arena->stats.reserved_bytes;
    miss->pressure_limit = arena->limit;
    arena->stats.pressure_count++;
    gpuarena__unlock_all(arena);
    gpuarena__call_begin(&frame, arena, GPUARENA__FRAME_PRESSURE);
    miss->again = pressure(arena, miss->failure, arena->config.pressure_user) != 0;
    gpuarena__call_end(&frame);
    gpuarena__relock_all(arena);
    return 0;
}

/* Creates the pages again that were released for the plan of the step under way. If these were not enough,
   gives up memory that is earmarked for plans, if more would be reserved otherwise than the limit or
   config.idle_fraction allows, or if it may serve a request that otherwise takes a segment. */
static uint32_t gpuarena__stage_plans(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss)
{
    const gpuarena__plan *now = arena->plans.now;
    uint64_t page = arena->paged.page_bytes, room, count;
    if (!arena->plans.region_count) return 0;
    if (now && now->packed && gpuarena__is_paged(arena, req) && gpuarena__plans_regrow(arena, req)) {
        miss->again = 1;
        return 0;
    }
    room = gpuarena__room(arena, NULL);
    if (req->flags & GPUARENA_ALLOC_DEDICATED        /* earmarked memory cannot serve it, only make room */
        && gpuarena__segment_bytes(arena, req, 0) <= room) return 0;
    if (gpuarena__is_paged(arena, req) && (!now || now->state == GPUARENA__PLAN_RECORDS || now->packed)) {
        count = gpuarena__min(gpuarena__commit_share(arena, req->bytes, req->bytes), room / page);
        if ((count + gpuarena__idle_known(arena)) * page >= req->bytes) return 0;
    }
    miss->again = gpuarena__plans_yield(arena, 0) != 0;
    return 0;
}

/* Gives up all earmarked memory: no request fails while some is earmarked for plans. */
static uint32_t gpuarena__stage_yield(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss)
{
    (void)req;
    if (miss->error.reason == GPUARENA_REASON_TOO_LARGE) return 0;
    miss->again = gpuarena__plans_yield(arena, 0) != 0;
    return 0;
}

/* ---- the table, and the loop that runs it */

enum {
    GPUARENA__STAGE_TRY = 1,                     /* makes no driver call: also for GPUARENA_ALLOC_TRY */
    GPUARENA__STAGE_NEW = 2,                     /* may serve a request that only new memory serves */
    GPUARENA__STAGE_SYNC = 4,                    /* the host waits: of no use if a capture forbids that */
    GPUARENA__STAGE_ALWAYS = 8                   /* is run for any request, though the round may be over */
};
static const struct gpuarena__stage {
    uint32_t (*run)(gpuarena *arena, gpuarena__request *req, gpuarena__miss *miss);
    uint32_t flags;
} gpuarena__stages[] = {
    { gpuarena__stage_begin,           GPUARENA__STAGE_TRY | GPUARENA__STAGE_ALWAYS },
    { gpuarena__stage_look,            GPUARENA__STAGE_TRY },            /* 1 in the manual */
    { gpuarena__stage_events,          0 },                              /* 2 */
    { gpuarena__stage_plans,           GPUARENA__STAGE_NEW },            /* before 3 */
    { gpuarena__stage_wait_early,      0 },                              /* before 3 */
    { gpuarena__stage_grow,            GPUARENA__STAGE_NEW },            /* 3 */
    { gpuarena__stage_release,         GPUARENA__STAGE_NEW },            /* 4 */
    { gpuarena__stage_poll,            GPUARENA__STAGE_NEW },            /* 5 */
    { gpuarena__stage_stream_wait,     0 },                              /* 6 */
    { gpuarena__stage_release_pending, GPUARENA__STAGE_NEW | GPUARENA__STAGE_SYNC },     /* 7 */
    { gpuarena__stage_device_wait,     GPUARENA__STAGE_NEW | GPUARENA__STAGE_SYNC },     /* 8 */
    { gpuarena__stage_yield,           GPUARENA__STAGE_NEW | GPUARENA__STAGE_TRY },      /* before 9 */
    { gpuarena__stage_reclaim,         GPUARENA__STAGE_NEW },            /* 9 */
    { gpuarena__stage_explain,         GPUARENA__STAGE_TRY | GPUARENA__STAGE_ALWAYS },
    { gpuarena__stage_pressure,        GPUARENA__STAGE_ALWAYS }          /* 9 */
};

/* Tells whether a stage runs for a request, by its flags and the results of earlier stages. If
   GPUARENA_ALLOC_TRY or a lost device forbids it, that becomes the error. */
static int gpuarena__is_stage_for(const gpuarena *arena, const gpuarena__request *req, uint32_t flags,
                                  gpuarena__miss *miss)
{
    if (flags & GPUARENA__STAGE_ALWAYS)
        return flags & GPUARENA__STAGE_TRY || !(req->flags & GPUARENA_ALLOC_TRY);
    if (miss->over || gpuarena__is_lost(arena, &miss->error)) return 0;
    if (gpuarena__needs_new(req) && !(flags & GPUARENA__STAGE_NEW)) return 0;
    if (req->flags & GPUARENA_ALLOC_TRY && !(flags & GPUARENA__STAGE_TRY))
        return gpuarena__set_reason(&miss->error, GPUARENA_REASON_TRY_ONLY);
    return !(flags & GPUARENA__STAGE_SYNC && miss->error.result == GPUARENA_CAPTURE);
}

/* Gives a quiet free block in no bin a node from one pool, unless that is empty; its own goes to another
   pool. Returns the block's node. */
static uint32_t gpuarena__node_replace(gpuarena *arena, uint32_t index, gpuarena__pool *from,
                                       gpuarena__pool *to)
{
    gpuarena__node *node = gpuarena__node_at(arena, index), *other;
    gpuarena__range *range = gpuarena__range_of(arena, node->address);
    uint32_t made = from->first;
    if (!from->count) return index;
    other = gpuarena__node_take(arena, from);
    *other = *node;
    if (node->prev) gpuarena__node_at(arena, node->prev)->next = made;
    else range->first = made;
    if (node->next) gpuarena__node_at(arena, node->next)->prev = made;
    range->anchors[gpuarena__page_of(range, node->address)] = made;
    gpuarena__node_drop(to, index, node);
    return made;
}

/* Where pages change hands. For a request that its stream's heap may serve, a quiet block was found that
   another heap or the arena owns. The heap gets the block from there on where its request is to lie: at the
   block's first address if no other block starts in its page, else at a page in which none starts. Another
   heap keeps the addresses before it, if the block is long enough. Returns the node that serves the request.
   Takes one reserved node. */
static uint32_t gpuarena__heap_place(gpuarena *arena, uint32_t index, const gpuarena__request *req)
{
    const gpuarena__node *node = gpuarena__node_at(arena, index);
    uint32_t heap = gpuarena__heap_of(arena, req->record, req->bytes),
             owner = gpuarena__owner_of(arena, node->address);
    gpuarena__range *range = gpuarena__range_of(arena, node->address);
    uint64_t page = (uint64_t)1 << GPUARENA__PAGE_LOG2,
             at = node->address, end = at + gpuarena__node_bytes(node);
    int alone = range->anchors[gpuarena__page_of(range, at)] == index;
    if (node->record || !heap || owner == heap || req->alignment > arena->unit) return index;
    if (owner) at += gpuarena__min(GPUARENA__HEAP_RUN, (end - at) / 2);
    if (owner || !alone) at = gpuarena__whole(at, page);
    if (at >= end || end - at < page) {          /* paged arenas get pages one by one, so a heap takes all */
        at = gpuarena__whole(node->address, page);
        if (alone && arena->paged.page_bytes) at = node->address;
    }
    if (at >= end || end - at < req->bytes || (node->next && gpuarena__same_page(at, end))) return index;
    gpuarena__free_remove(arena, index);
    index = gpuarena__block_carve(arena, index, at, end - at, gpuarena__free_insert);
    range->owners[gpuarena__page_of(range, at)] = (uint8_t)heap;
    index = gpuarena__node_replace(arena, index, &arena->heaps.list[heap]->unused,
                                   owner ? &arena->heaps.list[owner]->unused : &arena->nodes.unused);
    gpuarena__free_insert(arena, index);
    return index;
}

/* Makes a live block of the node that a stage has found. 0 and an error: reserved host memory was used by
   other threads meanwhile. A guarded block begins at the last address where it fits. The part of its segment
   before it is free, and serves nobody, as all other requests have segments too. */
static uint32_t gpuarena__take_found(gpuarena *arena, uint32_t index, const gpuarena__request *req,
                                     gpuarena__error *error)
{
    gpuarena__node *node;
    uint64_t begin;
    if (!gpuarena__nodes_reserve(arena, req->home ? 4 : 3)     /* three for cuts, one for a use in a set */
        || !gpuarena__lookup_reserve(arena))
        return gpuarena__set_error(error, GPUARENA_HOST_MEMORY);
    if (arena->heaps.count && !gpuarena__needs_new(req)) index = gpuarena__heap_place(arena, index, req);
    node = gpuarena__node_at(arena, index);
    begin = gpuarena__whole(node->address, req->alignment);
    if (gpuarena__is_guarded(arena) && req->flags & GPUARENA__ALLOC_EXACT)
        begin = gpuarena__round_down(node->address + gpuarena__node_bytes(node) - req->bytes, req->alignment);
    gpuarena__free_remove(arena, index);
    index = gpuarena__block_carve(arena, index, begin, req->bytes, gpuarena__free_insert);
    node = gpuarena__node_at(arena, index);
    gpuarena__block_wake(&arena->stats, node, req);
    gpuarena__block_use(arena, NULL, node, req);
    gpuarena__lookup_put(arena, index, node->address);
    if (req->room) gpuarena__room_keep(arena, index, req->room);
    if (req->flags & GPUARENA_ALLOC_DEDICATED) node->size |= GPUARENA__DEDICATED;
    gpuarena__record_own(arena, req->record);    /* covers the rest of a block that was another stream's */
    return index;
}

/* Runs the stages. Returns the live node, or 0 with the failure set. Ends: each repetition needs a new
   change. */
static uint32_t gpuarena__run_stages(gpuarena *arena, gpuarena__request *req, gpuarena_failure *failure)
{
    gpuarena__miss miss = GPUARENA_INIT;
    uint32_t at = 0, index = 0;
    miss.failure = failure;
    miss.pressure_frees = UINT64_MAX;
    while (!index && at < sizeof gpuarena__stages / sizeof *gpuarena__stages) {
        const struct gpuarena__stage *stage = &gpuarena__stages[at++];
        if (!gpuarena__is_stage_for(arena, req, stage->flags, &miss)) continue;
        index = stage->run(arena, req, &miss);
        if (index) {
            index = gpuarena__take_found(arena, index, req, &miss.error);
            miss.over = !index;
        }
        if (miss.again) at = miss.again = 0;
    }
    gpuarena__reclaim_end(arena, &miss.reclaim);
    return index;
}

/* >>memory =============================================================================================
   gpuarena_alloc, _alloc_ex, _can_alloc and _free. A hit and a plain free take the fast path, under the lock
   alone. All others take the slow path, with the slow-path mutex.

       alloc_fast                   a hit without a tag; or alloc_other; where there are heaps, alloc_heap
       alloc_heap                   heap_alloc, with the heap's lock alone; or alloc_other
       alloc_other                  all else that the short lock alone allows; or alloc_slow_plain
       alloc_slow                   with both locks: alloc_request, which runs the stages
       free_fast                    a live block on a plain stream, with nothing else to do; or free_other
       free_heap                    heap_free, with the heap's lock alone; or free_other
       free_other                   all else that the short lock alone allows; or free_slow
       free_slow                    with both locks: free_scrubbed, free_slot and after_free. A pointer that
                                    is no live block always comes here: see fail_pointer */

/* The record of the stream that a live block was allocated for: once its capture has ended, that of the
   stream's ordinary work. */
GPUARENA__INLINE uint32_t gpuarena__own_record(const gpuarena *arena, const gpuarena__node *node)
{
    const gpuarena__stream *own = &arena->streams.list[node->record];
    return own->under && own->state ? own->under : node->record;
}

/* The record of the stream that a block is freed on; 0: the GPU is done with it, or all streams count as one
   queue; MULTI_STREAM: only a wait for the device tells, as it was allocated for every stream, or there is no
   host memory for a record. */
GPUARENA__INLINE uint32_t gpuarena__freed_on(gpuarena *arena, const gpuarena__node *node,
                                             gpuarena_stream stream)
{
    uint32_t at;
    if (GPUARENA__UNLIKELY(stream == GPUARENA_ANY_STREAM || !arena->streams.ordered)) return 0;
    if (GPUARENA__UNLIKELY(stream == GPUARENA_OWN_STREAM)) at = gpuarena__own_record(arena, node);
    else at = gpuarena__stream_find(arena, stream);
    return GPUARENA__LIKELY(at) ? at : GPUARENA__MULTI_STREAM;
}

/* Frees the live block at this slot of a table, and tells the observer; the driver gets nothing. */
static void gpuarena__live_free(gpuarena *arena, uint32_t *slot, uint32_t freed_on, gpuarena_stream stream)
{
    uint32_t index = *slot;
    gpuarena__node *node = gpuarena__node_at(arena, index);
    uint64_t pending = arena->stats.pending_bytes;
    gpuarena_block block;
    if (arena->config.observe) block = gpuarena__block_describe(arena, index);
    *slot = 0;
    if (arena->heaps.count) gpuarena__heap_live_add(arena, node->address, UINT64_MAX);
    if (node->size & GPUARENA__TAGGED) {
        gpuarena__tag_add(arena, gpuarena__place_of(node), 0 - gpuarena__node_bytes(node), UINT64_MAX);
        node->size &= ~GPUARENA__TAGGED;
    }
    if (gpuarena__is_recorded(arena)) gpuarena__plan_freed(arena, node);
    gpuarena__block_free(arena, NULL, index, node, freed_on, 0);
    if (!arena->config.observe) return;
    block.state = arena->stats.pending_bytes > pending ? GPUARENA_STATE_PENDING : GPUARENA_STATE_FREE;
    gpuarena__tell(arena, GPUARENA_ACTION_FREE, &block, stream, NULL);
}

/* Frees any block, on any stream; with the slow-path mutex. The segment of a dedicated block goes back now or
   with a later release. */
static void gpuarena__free_slot(gpuarena *arena, uint32_t *slot, gpuarena_stream stream)
{
    gpuarena__error error = gpuarena__no_error();
    gpuarena__node *node = gpuarena__node_at(arena, *slot);
    gpuarena__range *range = gpuarena__range_of(arena, node->address);
    uint32_t freed_on = gpuarena__freed_on(arena, node, stream);
    uint64_t dedicated = node->size & GPUARENA__DEDICATED;
    int released = 0;
    gpuarena__note_idle_low(arena);
    gpuarena__room_end(arena, *slot);
    node->size &= ~GPUARENA__DEDICATED;
    gpuarena__live_free(arena, slot, freed_on, stream);
    range->used = gpuarena__clock(arena);
    if (dedicated && !arena->lost && gpuarena__segment_idle(arena, range, 0))
        released = gpuarena__segment_release(arena, range, stream, &error);
    if (!released && freed_on != GPUARENA__MULTI_STREAM) gpuarena__record_own(arena, freed_on);
    arena->stats.driver_error_count += error.result != GPUARENA_CAPTURE && error.result != GPUARENA_OK;
}

/* Clears a live block, if that is configured, and frees it; with the slow-path mutex. 0 and an error: it is
   exported, or cannot be cleared, and stays live. */
static int gpuarena__free_scrubbed(gpuarena *arena, uint32_t index, gpuarena_stream stream,
                                   gpuarena__error *error)
{
    uint64_t address = gpuarena__node_at(arena, index)->address;
    gpuarena_stream cleared_on = stream;
    if (gpuarena__keeps_exported(arena, index, error)) return 0;
    if (!gpuarena__scrub_free(arena, index, address, &cleared_on, error)) {
        error->block = index;
        return 0;
    }
    gpuarena__free_slot(arena, gpuarena__lookup_find(arena, address), cleared_on);
    return 1;
}

static gpuarena_result gpuarena__alloc_request(gpuarena *arena, void **ptr, const gpuarena_request *request)
{
    gpuarena__error error = gpuarena__no_error();
    gpuarena_failure failure;
    gpuarena__request req;
    uint64_t address;
    uint32_t index;
    if ((request->bytes && gpuarena__is_lost(arena, &error))         /* 0 bytes need no device */
        || !gpuarena__request_check(arena, request, &req, &error))
        return gpuarena__outcome(arena, &error, request->bytes, request->stream);
    if (!req.bytes) {
        *ptr = NULL;
        return GPUARENA_OK;
    }
    if (arena->config.scrub & GPUARENA_SCRUB_ALLOC           /* a later failure could leave growth behind */
        && ((req.stream == GPUARENA_ANY_STREAM && gpuarena__ask_capturing(arena, &error))
            || !gpuarena__may_clear(arena, gpuarena__real_stream(req.stream), &error)))
        return gpuarena__outcome(arena, &error, req.requested, req.stream);
    index = gpuarena__run_stages(arena, &req, &failure);
    if (!index) return gpuarena__fail_record(arena, &failure, req.stream);
    if (gpuarena__is_recorded(arena))
        gpuarena__plan_note(arena, index, req.bytes, req.record,
                            req.alignment == arena->unit && !(req.room | req.flags));
    address = gpuarena__node_at(arena, index)->address;
    gpuarena__tell_of(arena, GPUARENA_ACTION_ALLOC, index, req.stream);
    if (gpuarena__scrub_new(arena, index, address, req.stream, &error)) *ptr = gpuarena__pointer(address);
    else gpuarena__free_slot(arena, gpuarena__lookup_find(arena, address), GPUARENA_OWN_STREAM);
    return gpuarena__outcome(arena, &error, req.requested, req.stream);
}

static gpuarena_result gpuarena__alloc_slow(gpuarena *arena, void **ptr, const gpuarena_request *request)
{
    gpuarena_result result = gpuarena__begin(arena, !ptr ? "ptr: NULL" : !request ? "request: NULL" : NULL);
    if (result != GPUARENA_OK) return result;
    return gpuarena__end(arena, gpuarena__inside_of(arena, GPUARENA__FRAME_PRESSURE)
                                ? gpuarena__fail_with(arena, GPUARENA_REENTRANT, NULL)
                                : gpuarena__alloc_request(arena, ptr, request));
}

/* The slow path of a request without alignment, room and flags. */
GPUARENA__NOINLINE gpuarena_result gpuarena__alloc_slow_plain(gpuarena *arena, void **ptr, uint64_t bytes,
                                                              gpuarena_stream stream, uint32_t tag)
{
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = bytes;
    request.stream = stream;
    request.tag = tag;
    return gpuarena__alloc_slow(arena, ptr, &request);
}

/* A request of the recent stream, without alignment, room and flags. */
GPUARENA__INLINE void gpuarena__hit_request(const gpuarena *arena, gpuarena__request *req, uint64_t bytes,
                                            uint32_t tag, uint32_t record)
{
    req->requested = bytes;
    req->bytes = ((bytes - 1) | (arena->unit - 1)) + 1;
    req->alignment = arena->unit;
    req->tag = tag;
    req->place = tag ? gpuarena__tag_place(tag) : 0;
    req->home = 0;
    req->record = record;
}

/* Makes a live block of a free node in no bin, for a request of the recent stream. */
GPUARENA__INLINE void gpuarena__hit_use(gpuarena *arena, gpuarena__heap *heap, void **ptr, uint32_t index,
                                        gpuarena__node *node, const gpuarena__request *req)
{
    gpuarena_stats *stats = gpuarena__stats_of(arena, heap);
    if (GPUARENA__LIKELY(node->record == req->record)) stats->pending_bytes -= req->bytes;
    else gpuarena__block_wake(stats, node, req);
    gpuarena__block_use(arena, heap, node, req);
    if (heap) gpuarena__lookup_insert(&heap->lookup, index, node->address);
    else if (GPUARENA__LIKELY(!arena->heaps.count))
        gpuarena__lookup_insert(&arena->lookup, index, node->address);
    else gpuarena__lookup_put(arena, index, node->address);
    *ptr = gpuarena__pointer(node->address);
}

/* Host memory for a hit. */
GPUARENA__INLINE int gpuarena__hit_reserve(gpuarena *arena, const gpuarena__request *req)
{
    return gpuarena__nodes_reserve(arena, 3) && gpuarena__lookup_reserve(arena)
        && (!req->place || gpuarena__tags_reserve(arena, req->place));
}

/* Tells whether the node that starts at `address` is the heap's; one that starts at `from` is. */
GPUARENA__INLINE int gpuarena__heap_owns(const gpuarena *arena, const gpuarena__heap *heap, uint64_t from,
                                         uint64_t address)
{
    return gpuarena__same_page(from, address) || gpuarena__owner_of(arena, address) == heap->number;
}

/* Tells whether a heap may cut a free block of its own after `keep` bytes. The rest must start in no page
   that has another owner. */
GPUARENA__INLINE int gpuarena__heap_cuts(const gpuarena *arena, const gpuarena__heap *heap,
                                         const gpuarena__node *node, uint64_t keep)
{
    uint64_t from = node->address, end = from + gpuarena__node_bytes(node);
    return !node->next || !gpuarena__same_page(from + keep, end)
        || gpuarena__heap_owns(arena, heap, from, end);
}

/* Takes a free block that the heap may cut, for a request of one of its streams, out of its bin; 0: it has
   none. The block that fits best may end in a page of another heap. If the rest would start in such a
   page, the request lies at the block's end; if it must not lie there either, larger blocks are tried. Does
   the same with all locks (locked NULL) as with the heap's: so where blocks lie does not depend on leases. */
GPUARENA__INLINE uint32_t gpuarena__heap_take(gpuarena *arena, const gpuarena__heap *heap,
                                              gpuarena__heap *locked, const gpuarena__request *req)
{
    uint64_t bytes = req->bytes, rest;
    gpuarena__node *node;
    uint32_t tries, index;
    int at_end;
    for (tries = 0; tries < GPUARENA__HEAP_TRIES; tries++) {
        index = gpuarena__bins_search(arena, arena->streams.list[req->record].bins, bytes);
        if (gpuarena__is_loose(arena, index, req->bytes))
            index = gpuarena__better(arena, index, gpuarena__bins_search(arena, &heap->bins, bytes));
        if (GPUARENA__UNLIKELY(!index)) return 0;
        node = gpuarena__node_at(arena, index);
        rest = gpuarena__node_bytes(node) - req->bytes;
        bytes = gpuarena__node_bytes(node) + arena->unit;
        at_end = rest && !gpuarena__heap_cuts(arena, heap, node, req->bytes);
        if (GPUARENA__UNLIKELY(at_end) && !gpuarena__heap_cuts(arena, heap, node, rest)) continue;
        if (GPUARENA__UNLIKELY(at_end)) return gpuarena__block_slice_any(arena, locked, index, req->bytes, 1);
        gpuarena__block_slice(arena, locked, index, node, req->bytes);
        return index;
    }
    return 0;
}

/* Takes a free block for a request of the recent stream, whose heap has not served it with its own lock, and
   makes the next ones likelier to be served so. Searches as stage_look does, as far as that needs the short
   lock alone. 0: there is none. */
GPUARENA__NOINLINE uint32_t gpuarena__hit_take(gpuarena *arena, const gpuarena__request *req)
{
    uint32_t number = gpuarena__heap_of(arena, req->record, req->bytes), index = 0;
    gpuarena__heap *heap = number ? arena->heaps.list[number] : NULL;
    if (heap) {
        gpuarena__hint_put(arena, arena->streams.recent.stream, number);
        gpuarena__heap_refill(arena, heap);
        index = gpuarena__heap_take(arena, heap, NULL, req);
    }
    if (index) return index;
    index = gpuarena__hit(arena, req->record, 0, req->bytes);
    if (!index) {
        index = gpuarena__search(arena, req);
        if (!index) return 0;
        arena->stats.look_count++;
    }
    if (heap && gpuarena__nodes_reserve(arena, GPUARENA__HIT_NODES))
        index = gpuarena__heap_place(arena, index, req);
    gpuarena__block_slice(arena, NULL, index, gpuarena__node_at(arena, index), req->bytes);
    return index;
}

/* A request in a step that is recorded or has a plan, or one that the fast path does not serve. All locks are
   held, and are unlocked. */
GPUARENA__NOINLINE gpuarena_result gpuarena__alloc_other(gpuarena *arena, void **ptr, uint64_t bytes,
                                                         gpuarena_stream stream, uint32_t tag)
{
    gpuarena__request req;
    gpuarena__node *node;
    uint32_t index = 0, planned = 0;
    if (GPUARENA__LIKELY(ptr && bytes - 1 < arena->fast.hit_max_bytes
                         && gpuarena__find_plain(arena, NULL, stream))) {
        gpuarena__hit_request(arena, &req, bytes, tag, arena->streams.recent.record);
        if (GPUARENA__LIKELY(gpuarena__hit_reserve(arena, &req))) {
            if (arena->plans.now) planned = gpuarena__plan_take(arena, req.bytes, req.record);
            index = GPUARENA__LIKELY(planned) ? planned : gpuarena__hit_take(arena, &req);
        }
    }
    if (GPUARENA__LIKELY(index)) {
        node = gpuarena__node_at(arena, index);
        gpuarena__hit_use(arena, NULL, ptr, index, node, &req);
        gpuarena__tell_of(arena, GPUARENA_ACTION_ALLOC, index, arena->streams.recent.stream);
        if (GPUARENA__LIKELY(planned)) node->size |= arena->plans.region_count ? GPUARENA__PLANNED : 0;
        if (gpuarena__is_recorded(arena))
            gpuarena__plan_note(arena, index, req.bytes, req.record, 1);
    }
    gpuarena__unlock(arena);
    return index ? GPUARENA_OK : gpuarena__alloc_slow_plain(arena, ptr, bytes, stream, tag);
}

/* ---- the fast paths of a heap. With its lock alone, they change nodes of its pages, and `prev` of the nodes
   behind them: whoever owns a node writes `prev` of the next one. */

/* A hit of a heap that has leases, and host memory, for it. 0: it needs all locks. */
GPUARENA__INLINE int gpuarena__heap_alloc(gpuarena *arena, gpuarena__heap *heap, void **ptr, uint64_t bytes,
                                          gpuarena_stream stream, uint32_t tag)
{
    const gpuarena_stats *stats = &heap->stats;
    gpuarena__request req;
    uint32_t index = 0;
    gpuarena__spin_enter(&heap->lock);
    if (GPUARENA__LIKELY(arena->magic == GPUARENA__MAGIC && ptr && bytes - 1 < arena->fast.max_bytes
                         && bytes <= GPUARENA__HEAP_MOST
                         && gpuarena__find_plain(arena, heap, stream))) {
        gpuarena__hit_request(arena, &req, bytes, tag, heap->recent.record);
        if (GPUARENA__LIKELY(!req.place && stats->live_bytes + req.bytes <= stats->live_peak_bytes
                             && stats->requested_bytes + req.requested <= stats->requested_peak_bytes
                             && heap->unused.count >= GPUARENA__HIT_NODES
                             && stats->live_count < heap->lookup.most
                             && heap->serial - heap->serial_base < GPUARENA__SERIALS))
            index = gpuarena__heap_take(arena, heap, heap, &req);
    }
    if (GPUARENA__LIKELY(index))
        gpuarena__hit_use(arena, heap, ptr, index, gpuarena__node_at(arena, index), &req);
    gpuarena__spin_unlock_hit(&heap->lock);
    return index != 0;
}

/* Tells whether a heap may join a block that it frees with its neighbours, as far as that is to be done. The
   heap that owns the node before may cut or join it now, and writes the block's `prev`. */
GPUARENA__INLINE int gpuarena__heap_joins(const gpuarena *arena, const gpuarena__heap *heap,
                                          const gpuarena__node *node)
{
    const gpuarena__node *prev = gpuarena__node_at(arena, GPUARENA__LOAD(&node->prev, RELAXED)),
                         *next = gpuarena__node_at(arena, node->next);
    uint64_t at = node->address, end = at + gpuarena__node_bytes(node);
    return (!gpuarena__heap_may_join(node, prev) || gpuarena__heap_owns(arena, heap, at, prev->address))
        && (!gpuarena__heap_may_join(node, next) || gpuarena__heap_owns(arena, heap, at, end));
}

/* A plain free of a block in a heap's pages, on the stream of its allocation. 0: it needs all locks. */
GPUARENA__INLINE int gpuarena__heap_free(gpuarena *arena, gpuarena__heap *heap, const void *ptr,
                                         gpuarena_stream stream)
{
    gpuarena__node *node;
    uint32_t *slot, index;
    int may;
    gpuarena__spin_enter(&heap->lock);
    node = gpuarena__lookup_node(arena, &heap->lookup, gpuarena__address(ptr), &slot);
    may = node && arena->magic == GPUARENA__MAGIC && !(node->size & arena->fast.slow_free_flags)
        && gpuarena__find_plain(arena, heap, stream) && node->record == heap->recent.record
        && !node->use_at && gpuarena__heap_joins(arena, heap, node);
    if (GPUARENA__LIKELY(may)) {
        index = *slot;
        *slot = 0;
        gpuarena__block_free(arena, heap, index, node, heap->recent.record, 1);
    }
    gpuarena__spin_unlock_hit(&heap->lock);
    return may;
}

/* A request that the hit path does not take: its stream's heap serves it if there are heaps, else it is
   served with all locks. */
GPUARENA__NOINLINE gpuarena_result gpuarena__alloc_heap(gpuarena *arena, void **ptr, uint64_t bytes,
                                                        gpuarena_stream stream, uint32_t tag)
{
    gpuarena__heap *heap = gpuarena__hint(arena, stream);
    gpuarena_result result;
    if (GPUARENA__LIKELY(heap && gpuarena__heap_alloc(arena, heap, ptr, bytes, stream, tag)))
        return GPUARENA_OK;
    result = gpuarena__enter(arena, NULL);
    return result == GPUARENA_OK ? gpuarena__alloc_other(arena, ptr, bytes, stream, tag) : result;
}

/* ---- the fast paths of an arena without heaps */

/* A hit on a plain stream, at the arena's own alignment, without anything to query, release or refuse. */
GPUARENA__NOINLINE gpuarena_result gpuarena__alloc_fast(gpuarena *arena, void **ptr, uint64_t bytes,
                                                        gpuarena_stream stream)
{
    gpuarena__request req;
    gpuarena__node *node;
    uint32_t index;
    gpuarena__spin_lock_hit(&arena->lock);
    if (GPUARENA__UNLIKELY(arena->one_heap != GPUARENA__MAGIC)) { /* heaps exist now, or it was destroyed */
        gpuarena__spin_unlock_hit(&arena->lock);
        return gpuarena__alloc_heap(arena, ptr, bytes, stream, 0);
    }
    if (GPUARENA__UNLIKELY(bytes - 1 >= arena->fast.max_bytes || !ptr
                           || !gpuarena__find_plain(arena, NULL, stream)))
        return gpuarena__alloc_other(arena, ptr, bytes, stream, 0);
    gpuarena__hit_request(arena, &req, bytes, 0, arena->streams.recent.record);
    index = GPUARENA__LIKELY(gpuarena__hit_reserve(arena, &req))
        ? gpuarena__hit(arena, req.record, 0, req.bytes) : 0;
    if (GPUARENA__UNLIKELY(!index))        /* `stream` is not needed any more: it is the recent one */
        return gpuarena__alloc_other(arena, ptr, bytes, arena->streams.recent.stream, 0);
    node = gpuarena__node_at(arena, index);
    gpuarena__block_slice(arena, NULL, index, node, req.bytes);
    gpuarena__hit_use(arena, NULL, ptr, index, node, &req);
    gpuarena__spin_unlock_hit(&arena->lock);
    return GPUARENA_OK;
}

/* A request without alignment, room and flags. tag 0: that of the thread's scope, if one is set. A call that
   cannot enter takes the slow path, which says why. */
GPUARENA__INLINE gpuarena_result gpuarena__alloc_plain(gpuarena *arena, void **ptr, uint64_t bytes,
                                                       gpuarena_stream stream, uint32_t tag)
{
    if (GPUARENA__LIKELY(arena && (!gpuarena__frames || gpuarena__is_outside()))) {
        if (GPUARENA__LIKELY(!gpuarena__frames && !tag && gpuarena__has_one_heap(arena)))
            return gpuarena__alloc_fast(arena, ptr, bytes, stream);
        if (gpuarena__has_magic(arena, GPUARENA__MAGIC))
            return gpuarena__alloc_heap(arena, ptr, bytes, stream, tag ? tag : gpuarena__scope);
    }
    return gpuarena__alloc_slow_plain(arena, ptr, bytes, stream, tag);
}

GPUARENA_API gpuarena_result gpuarena_alloc(gpuarena *arena, void **ptr, uint64_t bytes,
                                            gpuarena_stream stream)
{
    return gpuarena__alloc_plain(arena, ptr, bytes, stream, 0);
}

GPUARENA_API gpuarena_result gpuarena_alloc_ex(gpuarena *arena, void **ptr, const gpuarena_request *request)
{
    return !request || request->room_bytes | request->alignment_bytes | request->flags
        ? gpuarena__alloc_slow(arena, ptr, request)
        : gpuarena__alloc_plain(arena, ptr, request->bytes, request->stream, request->tag);
}

/* Tells whether growth could serve the request, as far as can be known without an attempt, with idle memory
   of other arenas of the tree. Inside a callback the others are not asked. captured 1: a stream is captured,
   and no idle memory moves or goes back. */
static gpuarena_result gpuarena__can_grow(gpuarena *arena, const gpuarena__request *req, int captured)
{
    gpuarena__error error = gpuarena__no_error();
    gpuarena__reclaim reclaim = GPUARENA_INIT;
    const gpuarena *root = gpuarena__family_root(arena);
    uint64_t idle, need = gpuarena__need(arena, req, &idle), more, kept, free_bytes;
    int could = 1;
    if (captured) idle = 0;
    more = gpuarena__above(need, idle);
    kept = arena->stats.reserved_bytes - idle;
    if (!need || req->flags & GPUARENA_ALLOC_TRY || kept > arena->limit) return GPUARENA_OUT_OF_MEMORY;
    if (req->alignment > arena->unit && gpuarena__begins_segment(req))
        return GPUARENA_OUT_OF_MEMORY;           /* the driver may align its segment to the unit alone */
    if (gpuarena__is_orderless(arena, req->stream, &error)) return error.result;
    if (need > arena->limit - kept) return GPUARENA_OUT_OF_MEMORY;
    if (gpuarena__is_paged(arena, req) && need <= idle) return GPUARENA_OK; /* by moving pages */
    if (arena->has_family && (captured || gpuarena__is_tied())) could = gpuarena__room(arena, NULL) >= more;
    else if (arena->has_family) {
        reclaim.own = arena->stats.reserved_bytes + arena->growing;
        reclaim.predicts = 1;
        gpuarena__unlock_all(arena);
        could = gpuarena__reclaim_could_help(arena, &reclaim, more, 0);
        if (could) idle += gpuarena__family_look(arena, &reclaim, root, 0).idle;
        gpuarena__relock_all(arena);
    }
    if (!could) return GPUARENA_OUT_OF_MEMORY;
    if (!gpuarena__driver_info(arena, &free_bytes, &error)) return error.result;
    if (arena->memory == GPUARENA_MEMORY_MANAGED) return GPUARENA_OK;        /* regardless of free memory */
    return free_bytes + idle >= need + arena->config.headroom_bytes ? GPUARENA_OK : GPUARENA_OUT_OF_MEMORY;
}

static gpuarena_result gpuarena__can_alloc(gpuarena *arena, const gpuarena_request *request)
{
    gpuarena__error error = gpuarena__no_error();
    gpuarena__request req;
    uint32_t takes = GPUARENA__AVAILABLE_AFTER_SYNC;
    int captured;
    if (arena->lost && request->bytes) return GPUARENA_DEVICE_LOST;
    if (!gpuarena__request_check(arena, request, &req, &error))
        return error.result == GPUARENA_INVALID_ARGUMENT
            ? gpuarena__outcome(arena, &error, request->bytes, request->stream) : error.result;
    if (!req.bytes) return GPUARENA_OK;
    if (req.stream != GPUARENA_ANY_STREAM) req.record = gpuarena__stream_find(arena, req.stream);
    req.home = arena->streams.list[req.record].home;
    captured = !(req.flags & GPUARENA_ALLOC_TRY) && gpuarena__ask_capturing(arena, &error);
    if (req.flags & GPUARENA_ALLOC_TRY || captured) takes = GPUARENA__AVAILABLE_NOW;
    if (captured && gpuarena__may_stream_wait(arena, &req)
        && !gpuarena__ask_captured(arena, req.stream, NULL)) {
        takes = GPUARENA__AVAILABLE_AFTER_STREAMS;
        arena->streams.pass++;                   /* where a wait has failed, an allocation tries it again */
    }
    if (arena->lost) return GPUARENA_DEVICE_LOST;            /* the query of a stream has found the loss */
    if (arena->stats.reserved_bytes <= arena->limit && gpuarena__could_serve(arena, &req, takes))
        return GPUARENA_OK;
    return gpuarena__can_grow(arena, &req, captured);
}

GPUARENA_API gpuarena_result gpuarena_can_alloc(gpuarena *arena, const gpuarena_request *request)
{
    gpuarena_result result = gpuarena__begin(arena, request ? NULL : "request: NULL");
    return result == GPUARENA_OK ? gpuarena__end(arena, gpuarena__can_alloc(arena, request)) : result;
}

/* After a free: releases memory while reserved memory exceeds a lowered limit, and as config.release says;
   with release IDLE, down to release_keep if more than release_bytes are idle. */
static void gpuarena__after_free(gpuarena *arena, gpuarena_stream stream)
{
    const gpuarena_config *config = &arena->config;
    gpuarena__error error = gpuarena__no_error();
    uint64_t reserved = arena->stats.reserved_bytes, keep = gpuarena__min(reserved, arena->limit), idle, most;
    if (!arena->fast.slow_frees || arena->lost) return;
    if (arena->over_limit) {                     /* its own limit, or one of an arena above */
        uint64_t excess = gpuarena__family_excess(arena);
        arena->over_limit = excess != 0;
        gpuarena__update_fast_path(arena);
        keep = gpuarena__min(keep, gpuarena__above(reserved, excess));
    }
    if (keep < reserved) (void)gpuarena__plans_yield(arena, 1);  /* the memory of plans goes back, too */
    if (config->release == GPUARENA_RELEASE_IDLE) {
        idle = gpuarena__idle_segments(arena, 0) + gpuarena__idle_known(arena) * arena->paged.page_bytes;
        most = config->release_bytes;
        if (idle > most && config->release_keep < 1)
            most = config->release_keep > 0 ? (uint64_t)((double)most * config->release_keep) : 0;
        keep = gpuarena__min(keep, reserved - gpuarena__above(idle, most));
    }
    if (gpuarena__release_more(arena, keep, arena->paged.page_bytes != 0, stream, &error)
        && config->release == GPUARENA_RELEASE_AGE && gpuarena__clock(arena) >= arena->release_due)
        gpuarena__release_aged(arena, stream, &error);
    arena->stats.driver_error_count += error.result != GPUARENA_CAPTURE && error.result != GPUARENA_OK;
}

/* Makes the record of the stream of a free, if it has none and there is host memory. Called before a block is
   looked up, because it may call the driver. */
static void gpuarena__prepare_free(gpuarena *arena, gpuarena_stream stream)
{
    if (gpuarena__is_one_stream(stream) && arena->streams.ordered)
        (void)gpuarena__stream_enter(arena, stream);
}

static gpuarena_result gpuarena__free_slow(gpuarena *arena, void *ptr, gpuarena_stream stream)
{
    gpuarena_result result = gpuarena__begin(arena, NULL);
    gpuarena__error error = gpuarena__no_error();
    uint32_t *slot;
    if (result != GPUARENA_OK || !ptr) return result == GPUARENA_OK ? gpuarena__end(arena, result) : result;
    gpuarena__prepare_free(arena, stream);
    slot = gpuarena__lookup_find(arena, gpuarena__address(ptr));
    if (!slot) return gpuarena__end(arena, gpuarena__fail_pointer(arena, ptr, stream));
    if (stream == GPUARENA_OWN_STREAM)           /* by its handle, a release waits for that stream alone */
        stream = gpuarena__own_stream(arena, gpuarena__node_at(arena, *slot));
    if (!gpuarena__free_scrubbed(arena, *slot, stream, &error))
        return gpuarena__end(arena, gpuarena__outcome(arena, &error, 0, stream));
    gpuarena__after_free(arena, stream);
    return gpuarena__end(arena, GPUARENA_OK);
}

/* A free that the fast path does not serve. The lock is held, and is unlocked. node, slot: as lookup_node
   has found them. If the free makes no record, records no event and releases nothing, it is done here.
   Otherwise it takes the slow path, which also classifies a wrong pointer. */
GPUARENA__NOINLINE gpuarena_result gpuarena__free_other(gpuarena *arena, void *ptr, gpuarena_stream stream,
                                                        const gpuarena__node *node, uint32_t *slot)
{
    uint32_t freed_on;
    int done = 0;
    if (node && !(node->size & (GPUARENA__KEPT | GPUARENA__DEDICATED | GPUARENA__EXPORTED))
        && !arena->fast.slow_frees
        && (gpuarena__find_plain(arena, NULL, stream) || !gpuarena__is_one_stream(stream))) {
        freed_on = gpuarena__freed_on(arena, node, stream);
        done = freed_on == GPUARENA__MULTI_STREAM || !arena->streams.list[freed_on].key;
        if (done) gpuarena__live_free(arena, slot, freed_on, stream);
    }
    gpuarena__unlock(arena);
    return done ? GPUARENA_OK : gpuarena__free_slow(arena, ptr, stream);
}

/* A free in an arena that has heaps. */
GPUARENA__NOINLINE gpuarena_result gpuarena__free_heap(gpuarena *arena, void *ptr, gpuarena_stream stream)
{
    gpuarena__heap *heap = gpuarena__hint(arena, stream);
    uint64_t address = gpuarena__address(ptr);
    gpuarena_result result;
    gpuarena__node *node;
    uint32_t *slot;
    if (GPUARENA__LIKELY(heap && gpuarena__heap_free(arena, heap, ptr, stream))) return GPUARENA_OK;
    result = gpuarena__enter(arena, NULL);
    if (result != GPUARENA_OK) return result;
    node = gpuarena__lookup_node(arena, gpuarena__lookup_at(arena, address), address, &slot);
    return gpuarena__free_other(arena, ptr, stream, node, slot);
}

/* The fast path of an arena without heaps: frees a live block without special bits, on a plain stream. */
GPUARENA__NOINLINE gpuarena_result gpuarena__free_fast(gpuarena *arena, void *ptr, gpuarena_stream stream)
{
    gpuarena__node *node;
    uint32_t *slot, index;
    gpuarena__spin_lock_hit(&arena->lock);
    if (GPUARENA__UNLIKELY(arena->one_heap != GPUARENA__MAGIC)) {
        gpuarena__spin_unlock_hit(&arena->lock);
        return gpuarena__free_heap(arena, ptr, stream);
    }
    node = gpuarena__lookup_node(arena, &arena->lookup, gpuarena__address(ptr), &slot);
    if (GPUARENA__UNLIKELY(!node || node->size & arena->fast.slow_free_flags
                           || !gpuarena__find_plain(arena, NULL, stream)))
        return gpuarena__free_other(arena, ptr, stream, node, slot);
    index = *slot;
    *slot = 0;
    gpuarena__block_free(arena, NULL, index, node, arena->streams.recent.record, 1);
    gpuarena__spin_unlock_hit(&arena->lock);
    return GPUARENA_OK;
}

GPUARENA_API gpuarena_result gpuarena_free(gpuarena *arena, void *ptr, gpuarena_stream stream)
{
    if (GPUARENA__LIKELY(arena && ptr && (!gpuarena__frames || gpuarena__is_outside()))) {
        if (GPUARENA__LIKELY(gpuarena__has_one_heap(arena))) return gpuarena__free_fast(arena, ptr, stream);
        if (gpuarena__has_magic(arena, GPUARENA__MAGIC)) return gpuarena__free_heap(arena, ptr, stream);
    }
    return gpuarena__free_slow(arena, ptr, stream);  /* which says why it cannot enter */
}

GPUARENA_API gpuarena_result gpuarena_step(gpuarena *arena, uint32_t kind)
{
    gpuarena_result result = gpuarena__begin(arena, NULL);
    if (result != GPUARENA_OK) return result;
    gpuarena__step(arena, kind);
    return gpuarena__end(arena, GPUARENA_OK);
}

/* >>resize =============================================================================================
   Resizing a block in place, or not at all. */

/* The nodes that the free of a tail takes: one, its uses, and one more for a capture's. */
static uint32_t gpuarena__tail_nodes(const gpuarena *arena, const gpuarena__node *node)
{
    uint32_t use_at, count = arena->streams.list[node->record].home ? 2 : 1;
    for (use_at = node->use_at; use_at; use_at = gpuarena__node_at(arena, use_at)->next) count++;
    return count;
}

/* Ends a live block's room and frees its tail, which is no block of its own in the statistics or the table:
   cuts the block in two with the same uses; freed_on MULTI_STREAM: without uses, since a wait for the device
   covers them. Host memory is reserved. */
static void gpuarena__tail_free(gpuarena *arena, uint32_t index, uint64_t keep, uint32_t freed_on)
{
    gpuarena__node *node = gpuarena__node_at(arena, index), *rest;
    gpuarena__stream *stream = &arena->streams.list[node->record];
    uint32_t use_at, place = gpuarena__place_of(node);
    uint64_t bits = node->size & (GPUARENA__LIVE | GPUARENA__CLEARING | GPUARENA__TAGGED);
    if (place) gpuarena__tag_add(arena, place, keep - gpuarena__node_bytes(node), 0);
    gpuarena__room_end(arena, index);
    node->size &= ~GPUARENA__STATE_BITS;
    rest = gpuarena__block_cut(arena, NULL, index, node, keep);
    node->size |= bits;
    rest->size |= GPUARENA__LIVE;
    rest->as.live.requested = 0;
    stream->ref_count++;
    if (stream->reserved_uses) {
        stream->reserved_uses++;
        arena->nodes.kept_count++;
    }
    use_at = freed_on == GPUARENA__MULTI_STREAM ? 0 : node->use_at;
    for (; use_at; use_at = gpuarena__node_at(arena, use_at)->next)
        gpuarena__uses_put(arena, rest, gpuarena__node_at(arena, use_at)->record, 0);
    arena->stats.live_count++;
    arena->stats.free_count--;
    arena->other_free_count++;
    gpuarena__block_free(arena, NULL, node->next, rest, freed_on, 0);
}

/* Frees the tail of a live block, cleared if that is configured. *freed_on: the record of the stream that it
   is freed on; MULTI_STREAM also if other threads have named further uses while it was cleared, and there is
   no host memory for them. 0 and an error: nothing is freed, but the tail may have been cleared. */
static int gpuarena__block_shrink(gpuarena *arena, uint32_t index, uint64_t keep, gpuarena_stream stream,
                                  uint32_t *freed_on, gpuarena__error *error)
{
    const gpuarena__node *node = gpuarena__node_at(arena, index);
    uint32_t count = gpuarena__tail_nodes(arena, node);
    int done;
    if (keep == gpuarena__node_bytes(node)) return 1;
    if (!gpuarena__nodes_keep(arena, count)) return gpuarena__set_error(error, GPUARENA_HOST_MEMORY);
    done = gpuarena__scrub_free(arena, index, node->address + keep, &stream, error);
    arena->nodes.kept_count -= count;
    if (!done) return 0;
    if (gpuarena__nodes_reserve(arena, gpuarena__tail_nodes(arena, node)))
        *freed_on = gpuarena__freed_on(arena, node, stream);
    else *freed_on = GPUARENA__MULTI_STREAM;
    gpuarena__tail_free(arena, index, keep, *freed_on);
    return 1;
}

/* Backs the holes in [begin, end) for a block that grows in place. After a failed attempt more pages are had
   for the next one, in the order of the stages: from plans; from quiet segments, which are released; from
   waits for streams, event by event; from one wait for the device. 0 and an error: no more can be had. */
static int gpuarena__commit_hard(gpuarena *arena, uint64_t begin, uint64_t end, gpuarena_stream stream,
                                 gpuarena__error *error)
{
    uint64_t need = gpuarena__unmapped_pages(arena, begin, end) * arena->paged.page_bytes;
    uint32_t record = arena->config.streams == GPUARENA_STREAMS_SAME ? UINT32_MAX : 1;
    int waited = 0;                              /* for the device */
    gpuarena__release_pressed(arena, need, need, stream);
    while (gpuarena__unmapped_pages(arena, begin, end)
           && !gpuarena__commit_run(arena, begin, end, 1, stream, error)) {
        uint64_t before = arena->stats.reserved_bytes, idle = gpuarena__idle_segments(arena, !waited);
        if (error->result != GPUARENA_OUT_OF_MEMORY) return 0;
        if (gpuarena__plans_yield(arena, 0)) continue;       /* the memory of plans may be quiet */
        (void)gpuarena__release_to(arena, before - idle, !waited, stream, NULL);
        if (arena->stats.reserved_bytes < before) continue;
        while (record < arena->streams.count && !gpuarena__host_wait_for(arena, record)) record++;
        if (record < arena->streams.count) continue;
        if (waited || !gpuarena__wait_device(arena, NULL)) return 0;
        waited = 1;
    }
    return 1;
}

/* Tells whether a live block may be extended to the request's bytes: over its room, and over free memory and
   holes that the request may use. yielded 1: also over memory earmarked for plans, if that is of its stream
   or quiet. */
static int gpuarena__may_extend(const gpuarena *arena, const gpuarena__request *req, uint32_t index,
                                int yielded)
{
    const gpuarena__node *node = gpuarena__node_at(arena, index), *next;
    uint64_t bytes = gpuarena__node_bytes(node);
    int room = (node->size & GPUARENA__KEPT) != 0;
    for (; bytes < req->bytes && node->next; node = next, room = 0) {
        next = gpuarena__node_at(arena, node->next);
        if (!room && !gpuarena__is_usable(arena, req, next)
            && !(yielded && gpuarena__is_earmarked(next)
                 && (next->record == req->record || next->ticket <= arena->streams.list[next->record].quiet)))
            return 0;
        bytes += gpuarena__node_bytes(next);
    }
    return bytes >= req->bytes;
}

/* Joins a live block with the free ones behind it, up to `end`. Takes one reserved node. */
static void gpuarena__block_extend(gpuarena *arena, uint32_t index, uint64_t end)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    uint64_t at = node->address + gpuarena__node_bytes(node);
    node->size &= ~GPUARENA__PLANNED;            /* it is longer than any plan knows */
    if (gpuarena__place_of(node)) gpuarena__tag_add(arena, gpuarena__place_of(node), end - at, 0);
    arena->stats.live_bytes += end - at;
    while (at < end) {
        uint32_t next = node->next;
        gpuarena__node *gone = gpuarena__node_at(arena, next);
        gpuarena__free_remove(arena, next);
        if (gone->size > end - at) gpuarena__free_insert(arena, gpuarena__block_split(arena, next, end - at));
        if (gone->record) arena->stats.pending_bytes -= gone->size;
        at += gone->size;
        if (gone->record == node->record) node->ticket = gpuarena__max(node->ticket, gone->ticket);
        gpuarena__block_absorb_next(arena, index);
    }
    gpuarena__peaks_note(arena);
}

/* Grows a live block in place to req->bytes. 0 and an error: it is unchanged. 0 without an error: another
   thread has freed it. */
static int gpuarena__block_grow(gpuarena *arena, uint32_t index, const gpuarena__request *req,
                                gpuarena__error *error)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    uint64_t begin = node->address + gpuarena__node_bytes(node), end = node->address + req->bytes,
             room = begin, serial = node->as.live.serial;
    const gpuarena__node *next;
    int done;
    if (node->size & GPUARENA__KEPT) room += gpuarena__node_bytes(gpuarena__node_at(arena, node->next));
    if (!gpuarena__may_extend(arena, req, index, 0))
        return gpuarena__set_reason(error, GPUARENA_REASON_NEIGHBOUR);
    if (!gpuarena__nodes_keep(arena, 4)) return gpuarena__set_error(error, GPUARENA_HOST_MEMORY);
    gpuarena__room_end(arena, index);
    arena->paged.kept_begin = begin;
    arena->paged.kept_end = end;
    done = gpuarena__commit_hard(arena, begin, end, req->stream, error);
    arena->paged.kept_begin = arena->paged.kept_end = 0;
    arena->nodes.kept_count -= 4;
    if (node->as.live.serial != serial || !gpuarena__node_live(node))    /* another thread has freed it */
        return gpuarena__set_error(error, GPUARENA_OK);
    /* part of it may have failed to unmap, or was taken by other threads */
    if (done && !gpuarena__may_extend(arena, req, index, 0))
        done = gpuarena__set_reason(error, GPUARENA_REASON_NEIGHBOUR);
    if (done) gpuarena__block_extend(arena, index, end);     /* commit_run has left nodes for it */
    next = gpuarena__node_at(arena, node->next);
    begin = node->address + gpuarena__node_bytes(node);
    if (room > begin && gpuarena__is_open(next))
        gpuarena__room_keep(arena, index, gpuarena__min(room - begin, gpuarena__node_bytes(next)));
    return done;
}

/* The request of a resize: memory of the block's own stream, or quiet memory alone. 0 and an error. */
static int gpuarena__resize_request(gpuarena *arena, const gpuarena__node *node, uint64_t bytes,
                                    gpuarena_stream stream, gpuarena__request *req, gpuarena__error *error)
{
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = bytes;
    request.stream = stream == GPUARENA_OWN_STREAM ? gpuarena__stream_of(arena, node) : stream;
    if (!gpuarena__request_check(arena, &request, req, error)) return 0;
    if (node->size & GPUARENA__KEPT)
        req->bytes = gpuarena__whole(req->bytes, arena->paged.page_bytes);
    if (node->size & GPUARENA__DEDICATED)        /* its segment is as large as first requested */
        req->bytes = gpuarena__max(req->bytes, gpuarena__node_bytes(node));
    if (stream == GPUARENA_OWN_STREAM)           /* it may be gone: it is not looked up */
        req->record = gpuarena__own_record(arena, node);
    else if (!gpuarena__request_stream(arena, req)) return gpuarena__set_error(error, GPUARENA_HOST_MEMORY);
    if (req->record != node->record) req->record = 0;
    req->home = arena->streams.list[req->record].home;
    if (!req->record && !gpuarena__streams_part(arena))  /* quiet blocks must be separate from pending ones */
        return gpuarena__set_error(error, GPUARENA_HOST_MEMORY);
    return 1;
}

/* The bytes of pages that a block lacks in order to grow. *idle: idle memory that could be released or moved
   there. */
static uint64_t gpuarena__resize_need(const gpuarena *arena, uint32_t index, uint64_t bytes, uint64_t *idle)
{
    const gpuarena__node *node = gpuarena__node_at(arena, index);
    uint64_t page = arena->paged.page_bytes, end = node->address + bytes,
             begin = node->address + gpuarena__node_bytes(node);
    *idle = 0;
    if (!page) return 0;
    *idle = gpuarena__idle_outside(arena, begin, end);
    if (node->size & GPUARENA__KEPT)             /* its room is not an open hole */
        return gpuarena__whole(end, page) - begin;
    return gpuarena__unmapped_pages(arena, begin, end) * page;
}

static gpuarena_result gpuarena__fail_resize(gpuarena *arena, uint32_t index,
                                             gpuarena__error *error, uint64_t bytes,
                                             gpuarena_stream stream)
{
    uint64_t need = 0, idle = 0;
    error->block = index;
    if (error->result == GPUARENA_OUT_OF_MEMORY && error->reason != GPUARENA_REASON_TOO_LARGE)
        need = gpuarena__resize_need(arena, index, bytes, &idle);
    return gpuarena__outcome_measured(arena, error, bytes, need, idle, stream);
}

/* Tells whether a block that could not grow may grow by now, because other threads have freed the memory that
   it lacked. serial: the block's, which may be gone. */
static int gpuarena__may_grow_now(gpuarena *arena, uint32_t index, uint64_t serial, uint64_t bytes,
                                  const gpuarena__error *error)
{
    const gpuarena__node *node = gpuarena__node_at(arena, index);
    uint64_t device_free = 0, need, idle;
    if (error->reason == GPUARENA_REASON_DRIVER_REFUSED || error->reason == GPUARENA_REASON_HEADROOM)
        (void)gpuarena__driver_info(arena, &device_free, NULL);
    if (node->as.live.serial != serial || !gpuarena__node_live(node)) return 0;
    need = gpuarena__resize_need(arena, index, bytes, &idle);
    return gpuarena__above(need, idle) <= gpuarena__room_after(arena, error->reason, device_free);
}

/* Grows a live block in place, ending plans and reclaiming from other arenas of the tree if necessary, again
   if other threads have freed memory that it lacks, and clears the new part as config.scrub says. 0 and an
   error; without an error another thread has freed, resized or exported the block. If the part cannot be
   cleared, the block shrinks again and loses its room; host memory for that is reserved except for a node,
   which is kept. The part was used by nobody, but it may still be cleared if the device was waited for. */
static int gpuarena__block_grow_clean(gpuarena *arena, uint32_t index, gpuarena__request *req,
                                      gpuarena_stream stream, gpuarena__error *error)
{
    gpuarena__node *node = gpuarena__node_at(arena, index);
    gpuarena__reclaim reclaim = gpuarena__reclaim_begin(arena, 0);
    uint64_t serial = node->as.live.serial, had = gpuarena__node_bytes(node), freed, lack, idle;
    uint32_t use_at, freed_on, retries = 0;
    gpuarena_stream on;
    int done = 0, again = 1;
    if (!gpuarena__nodes_keep(arena, 1)) return gpuarena__set_error(error, GPUARENA_HOST_MEMORY);
    while (!gpuarena__is_lost(arena, error) && again) {
        *error = gpuarena__no_error();
        freed = arena->stats.free_count;
        done = gpuarena__block_grow(arena, index, req, error);
        if (done || error->result != GPUARENA_OUT_OF_MEMORY) break;
        again = gpuarena__may_extend(arena, req, index, 1)
            && gpuarena__plans_yield(arena, 0);  /* plans may have the memory behind it */
        if (again) continue;
        lack = gpuarena__resize_need(arena, index, req->bytes, &idle);
        lack = gpuarena__above(lack, idle);
        again = gpuarena__reclaim_for(arena, lack, error, &reclaim);
        if (!again && freed != arena->stats.free_count)
            again = gpuarena__may_grow_now(arena, index, serial, req->bytes, error)
                && retries++ < GPUARENA__RACES;
        if (node->as.live.serial != serial || !gpuarena__node_live(node)
            || gpuarena__node_bytes(node) != had || gpuarena__is_exported(arena, index))
            again = gpuarena__set_error(error, GPUARENA_OK);
        req->home = arena->streams.list[req->record].home;
    }
    gpuarena__reclaim_end(arena, &reclaim);
    if (done && stream != GPUARENA_OWN_STREAM && gpuarena__stream_find(arena, stream) != node->record)
        stream = GPUARENA_ANY_STREAM;            /* see gpuarena__scrub_free */
    if (done && !gpuarena__scrub_new(arena, index, node->address + had, stream, error)) {
        done = 0;
        freed_on = gpuarena__freed_on(arena, node, GPUARENA_OWN_STREAM);
        if (arena->streams.ordered
            && (stream == GPUARENA_ANY_STREAM || !gpuarena__scrub_stream(arena, node, stream, &on)))
            freed_on = GPUARENA__MULTI_STREAM;
        use_at = node->use_at;
        node->use_at = 0;
        gpuarena__tail_free(arena, index, had, freed_on);
        node->use_at = use_at;
    }
    arena->nodes.kept_count--;
    return done;
}

static gpuarena_result gpuarena__resize(gpuarena *arena, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    gpuarena__error error;
    uint32_t *slot, index, freed_on = GPUARENA__MULTI_STREAM;
    gpuarena__node *node;
    gpuarena__request req;
    for (;;) {                                   /* again if growth finds that the block is another by now */
        error = gpuarena__no_error();
        if (gpuarena__lookup_find(arena, gpuarena__address(ptr))) gpuarena__prepare_free(arena, stream);
        slot = gpuarena__lookup_find(arena, gpuarena__address(ptr));  /* others may have freed it */
        if (!slot) return gpuarena__fail_pointer(arena, ptr, stream);
        index = *slot;
        node = gpuarena__node_at(arena, index);
        if (gpuarena__keeps_exported(arena, index, &error))
            return gpuarena__outcome(arena, &error, 0, stream);
        if (!gpuarena__resize_request(arena, node, bytes, stream, &req, &error))
            return gpuarena__fail_resize(arena, index, &error, bytes, stream);
        if (req.bytes <= gpuarena__node_bytes(node)) {
            gpuarena__note_idle_low(arena);
            if (gpuarena__block_shrink(arena, index, req.bytes, stream, &freed_on, &error)) break;
            return gpuarena__fail_resize(arena, index, &error, 0, stream);
        }
        if (gpuarena__inside_of(arena, GPUARENA__FRAME_PRESSURE))
            return gpuarena__fail_with(arena, GPUARENA_REENTRANT, NULL);
        if (gpuarena__block_grow_clean(arena, index, &req, stream, &error)) break;
        if (error.result != GPUARENA_OK)
            return gpuarena__fail_resize(arena, index, &error, bytes, stream);
    }
    arena->stats.requested_bytes += bytes - node->as.live.requested;
    node->as.live.requested = bytes;
    gpuarena__peaks_note(arena);
    gpuarena__tell_of(arena, GPUARENA_ACTION_RESIZE, index, stream);
    if (freed_on != GPUARENA__MULTI_STREAM)
        gpuarena__record_own(arena, freed_on);   /* last, because it calls the driver */
    return GPUARENA_OK;
}

GPUARENA_API gpuarena_result gpuarena_resize(gpuarena *arena, void *ptr, uint64_t bytes,
                                             gpuarena_stream stream)
{
    gpuarena_result result = gpuarena__begin(arena, !ptr     ? "ptr: NULL"
                                                    : !bytes ? "bytes: 0; free the block instead" : NULL);
    return result == GPUARENA_OK ? gpuarena__end(arena, gpuarena__resize(arena, ptr, bytes, stream)) : result;
}

/* >>public =============================================================================================
   All other public functions. */

/* ---- streams: further uses of a block, and their end */

/* The error of an argument that must be a single stream; NULL: none. */
static const char *gpuarena__wrong_stream(gpuarena_stream stream)
{
    return gpuarena__is_one_stream(stream) ? NULL : "stream: must be one stream";
}

static gpuarena_result gpuarena__use(gpuarena *arena, const void *inside, gpuarena_stream stream)
{
    gpuarena__node *node;
    uint32_t record = 0, use_at, index = gpuarena__node_around(arena, gpuarena__address(inside));
    if (index && gpuarena__node_live(gpuarena__node_at(arena, index)) && arena->streams.ordered) {
        record = gpuarena__stream_enter(arena, stream);      /* may call the driver: others free meanwhile */
        index = gpuarena__node_around(arena, gpuarena__address(inside));
    }
    node = gpuarena__node_at(arena, index);
    if (!index || !gpuarena__node_live(node)) return gpuarena__fail_pointer(arena, inside, stream);
    if (arena->streams.ordered) {
        if (record) record = gpuarena__record_for(arena, record, arena->streams.list[node->record].home);
        use_at = node->use_at;                   /* it may be known already */
        while (use_at && gpuarena__node_at(arena, use_at)->record != record)
            use_at = gpuarena__node_at(arena, use_at)->next;
        if (!record || (!use_at && !gpuarena__nodes_reserve(arena, 1)))
            return gpuarena__fail_with(arena, GPUARENA_HOST_MEMORY, NULL);
        if (!use_at) gpuarena__uses_put(arena, node, record, 0);
    }
    gpuarena__tell_of(arena, GPUARENA_ACTION_USE, index, stream);
    return GPUARENA_OK;
}

GPUARENA_API gpuarena_result gpuarena_use(gpuarena *arena, const void *inside, gpuarena_stream stream)
{
    gpuarena_result result = gpuarena__enter(arena, NULL);
    if (result != GPUARENA_OK) return result;
    if (gpuarena__find_plain(arena, NULL, stream))       /* no record needs to be made */
        return gpuarena__leave(arena, gpuarena__use(arena, inside, stream));
    gpuarena__unlock(arena);
    result = gpuarena__begin(arena, gpuarena__wrong_stream(stream));
    return result == GPUARENA_OK ? gpuarena__end(arena, gpuarena__use(arena, inside, stream)) : result;
}

GPUARENA_API gpuarena_result gpuarena_forget(gpuarena *arena, gpuarena_stream stream)
{
    gpuarena__error error = gpuarena__no_error();
    gpuarena_result result = gpuarena__begin(arena, gpuarena__wrong_stream(stream));
    gpuarena__stream *own;
    uint32_t record;
    if (result != GPUARENA_OK) return result;
    record = gpuarena__stream_find(arena, stream);
    own = &arena->streams.list[record];
    if (own->home)
        return gpuarena__end(arena, gpuarena__fail_with(arena, GPUARENA_CAPTURE, "stream: captured; call "
                                                        "gpuarena_capture_end first"));
    if (record) {
        (void)gpuarena__plans_yield(arena, 1);   /* nobody else is to have memory that is earmarked */
        if (own->ref_count) own->ticket++;       /* covers the uses of live blocks on it so far */
        if (arena->streams.ordered)
            while (gpuarena__stream_record(arena, record, &error) && own->recorded != own->ticket)
                continue;                        /* other threads free on it meanwhile */
        (void)gpuarena__is_lost(arena, &error);  /* lost before, or in one of these calls */
        own->state = GPUARENA__CLOSED;
    }
    gpuarena__known_drop(&arena->streams, gpuarena__known_of(arena, stream));
    gpuarena__hint_drop(arena, stream);
    if (record) gpuarena__streams_changed(arena);
    return gpuarena__end(arena, gpuarena__outcome(arena, &error, 0, stream));
}

/* ---- captures */

GPUARENA_API gpuarena_result gpuarena_capture_begin(gpuarena *arena, gpuarena_stream stream, uint64_t *set)
{
    gpuarena_result result = gpuarena__begin(arena, set ? gpuarena__wrong_stream(stream) : "set: NULL");
    if (result != GPUARENA_OK) return result;
    if (!arena->streams.ordered)
        result = gpuarena__fail_with(arena, GPUARENA_NOT_SUPPORTED, "the driver has no events");
    else if (arena->config.scrub)
        result = gpuarena__fail_with(arena, GPUARENA_NOT_SUPPORTED,
                                     "config.scrub: memory of graphs cannot be cleared in their order");
    else if (*set && !gpuarena__set_find(arena, *set))
        result = gpuarena__fail_argument(arena, "set: 0, or one that is not released");
    else if (arena->streams.list[gpuarena__stream_find(arena, stream)].home)
        result = gpuarena__fail_argument(arena, "stream: captured already");
    else {
        if (!arena->streams.captured && !arena->lost)
            (void)gpuarena__resolve_events(arena, 0);        /* the last chance for a long time */
        if (!gpuarena__capture_open(arena, stream, set))
            result = gpuarena__fail_with(arena, GPUARENA_HOST_MEMORY, NULL);
    }
    return gpuarena__end(arena, result);
}

GPUARENA_API gpuarena_result gpuarena_capture_end(gpuarena *arena, gpuarena_stream stream)
{
    gpuarena_result result = gpuarena__begin(arena, gpuarena__wrong_stream(stream));
    uint32_t at, under;
    if (result != GPUARENA_OK) return result;
    at = gpuarena__stream_find(arena, stream);
    under = arena->streams.list[at].under;
    if (!arena->streams.list[at].home)
        return gpuarena__end(arena, gpuarena__fail_argument(arena, "stream: not captured"));
    gpuarena__capture_close(arena, at);
    gpuarena__record_own(arena, under);
    return gpuarena__end(arena, GPUARENA_OK);
}

GPUARENA_API gpuarena_result gpuarena_capture_release(gpuarena *arena, uint64_t set, gpuarena_stream stream)
{
    gpuarena_result result = gpuarena__begin(arena, NULL);
    uint32_t home, to = 0;
    if (result != GPUARENA_OK) return result;
    home = gpuarena__set_find(arena, set);
    if (!home) result = gpuarena__fail_argument(arena, "set: not one of this arena");
    else if (stream == GPUARENA_OWN_STREAM)
        result = gpuarena__fail_argument(arena, "stream: one, or GPUARENA_ANY_STREAM");
    else if (gpuarena__set_is_open(arena, home))
        result = gpuarena__fail_with(arena, GPUARENA_CAPTURE, "set: a capture into it goes on");
    else if (stream != GPUARENA_ANY_STREAM && !(to = gpuarena__stream_enter(arena, stream)))
        result = gpuarena__fail_with(arena, GPUARENA_HOST_MEMORY, NULL);
    else {
        if (arena->streams.list[to].home) to = arena->streams.list[to].under;
        gpuarena__set_release(arena, home, to);
        arena->other_free_count++;
        gpuarena__record_own(arena, to);
    }
    return gpuarena__end(arena, result);
}

/* ---- reserved memory, and all blocks at once */

GPUARENA_API gpuarena_result gpuarena_reserve(gpuarena *arena, uint64_t bytes)
{
    gpuarena__error error = gpuarena__no_error();
    gpuarena_result result = gpuarena__begin(arena, NULL);
    gpuarena_failure failure;
    uint64_t target = bytes, before;
    uint32_t retries = 0;
    if (result != GPUARENA_OK) return result;
    if (gpuarena__inside_of(arena, GPUARENA__FRAME_PRESSURE))
        return gpuarena__end(arena, gpuarena__fail_with(arena, GPUARENA_REENTRANT, NULL));
    before = arena->stats.reserved_bytes + gpuarena__children(arena);
    gpuarena__note_idle_low(arena);
    if (gpuarena__is_lost(arena, &error) || bytes <= before)
        return gpuarena__end(arena, gpuarena__outcome(arena, &error, bytes, NULL));
    if (bytes <= GPUARENA__MAX_BYTES)
        target = before + gpuarena__whole(bytes - before, gpuarena__max(arena->paged.page_bytes,
                                                                        GPUARENA__GRANULE));
    do {                                         /* again if nothing is missing by now: others made room */
        error = gpuarena__no_error();
        if (target > GPUARENA__MAX_BYTES) gpuarena__set_reason(&error, GPUARENA_REASON_TOO_LARGE);
        else if (target > arena->limit) gpuarena__set_reason(&error, GPUARENA_REASON_OVER_LIMIT);
        else if (gpuarena__family_grow_to(arena, target, 1, &error)) return gpuarena__end(arena, GPUARENA_OK);
        before = arena->stats.reserved_bytes + gpuarena__children(arena);
        failure = gpuarena__failure_grow(arena, &error, bytes, gpuarena__above(target, before), 0);
    } while (gpuarena__is_within_limits(&failure) && retries++ < GPUARENA__RACES);
    return gpuarena__end(arena, gpuarena__fail_record(arena, &failure, NULL));
}

/* Releases down to `keep_bytes`, then lets sub-arenas do so. Returns the caller's result. */
static gpuarena_result gpuarena__trim(gpuarena *arena, uint64_t keep_bytes, uint64_t *released)
{
    gpuarena__error error = gpuarena__no_error(), refusal = gpuarena__no_error();
    gpuarena__reclaim none = GPUARENA_INIT;
    uint64_t before = arena->stats.reserved_bytes, children = gpuarena__children(arena);
    (void)gpuarena__release_to(arena, gpuarena__above(keep_bytes, children), 0, NULL, &error);
    *released = before - arena->stats.reserved_bytes;
    if (children && gpuarena__family_figures(arena, arena).held > keep_bytes && !gpuarena__is_tied()) {
        int captured = gpuarena__ask_capturing(arena, &refusal);     /* sub-arenas may not know of it */
        none.predicts = 1;
        gpuarena__unlock_all(arena);
        if (!captured) *released += gpuarena__reclaim_under(arena, 0, arena, 0, keep_bytes);
        else if (gpuarena__family_look(arena, &none, arena, 0).idle && error.result == GPUARENA_OK)
            error = refusal;
        gpuarena__relock_all(arena);
    }
    return gpuarena__outcome(arena, &error, 0, NULL);
}

GPUARENA_API gpuarena_result gpuarena_trim(gpuarena *arena, uint64_t keep_bytes, uint64_t *released_bytes)
{
    gpuarena_result result = gpuarena__begin(arena, NULL);
    gpuarena__error error = gpuarena__no_error();
    uint64_t released = 0;
    if (result != GPUARENA_OK) return result;
    result = gpuarena__is_lost(arena, &error) ? gpuarena__outcome(arena, &error, 0, NULL)
                                              : gpuarena__trim(arena, keep_bytes, &released);
    if (released_bytes) *released_bytes = released;
    return gpuarena__end(arena, result);
}

GPUARENA_API gpuarena_result gpuarena_set_limit(gpuarena *arena, uint64_t bytes)
{
    gpuarena_result result = gpuarena__begin(arena, NULL);
    gpuarena_block block = GPUARENA_INIT;
    gpuarena *under;
    uint64_t released, number = UINT64_MAX;
    if (result != GPUARENA_OK) return result;
    block.bytes = bytes;
    gpuarena__limit_to(arena, bytes);
    gpuarena__tell(arena, GPUARENA_ACTION_LIMIT, &block, NULL, NULL);
    if (arena->has_family && gpuarena__family_excess(arena)) {
        arena->over_limit = 1;                   /* frees here and below take the slow path and release */
        gpuarena__update_fast_path(arena);
        if (!gpuarena__is_tied()) {
            gpuarena__unlock_all(arena);
            while ((under = gpuarena__family_enter(arena, 0, arena, &number)) != NULL) {
                under->over_limit = 1;           /* growth in progress has ended: nothing grows after this */
                gpuarena__update_fast_path(under);
                (void)gpuarena__end(under, GPUARENA_OK);
            }
            gpuarena__relock_all(arena);
        }
    }
    return gpuarena__end(arena, gpuarena__trim(arena, bytes, &released));
}

GPUARENA_API gpuarena_result gpuarena_reset(gpuarena *arena, gpuarena_stream stream)
{
    return gpuarena_free_since(arena, 0, 0, stream);
}

GPUARENA_API uint64_t gpuarena_mark(gpuarena *arena)
{
    gpuarena *self = gpuarena__enter_to_read(arena);
    uint64_t mark = self ? self->serial : 0;
    gpuarena__leave_read(self);
    return mark;
}

GPUARENA_API gpuarena_result gpuarena_free_since(gpuarena *arena, uint64_t mark, uint32_t tag,
                                                 gpuarena_stream stream)
{
    gpuarena_result result = gpuarena__begin(arena, NULL);
    gpuarena__error error = gpuarena__no_error();
    const gpuarena__lookup *lookup;
    uint64_t last, refused = 0;
    uint32_t *found, slot, mask, n;
    if (result != GPUARENA_OK) return result;
    if (mark > arena->serial)
        return gpuarena__end(arena, gpuarena__fail_argument(arena, "mark: not one of this arena's"));
    gpuarena__prepare_free(arena, stream);
    last = arena->serial;                        /* later allocations of other threads are left alone */
    for (n = 0; (lookup = gpuarena__lookup_nth(arena, n)) != NULL; n++)
        for (slot = 0, mask = lookup->mask; slot <= lookup->mask; slot++) {
            uint32_t index = lookup->table[slot];
            const gpuarena__node *node = gpuarena__node_at(arena, index);
            if (index && node->as.live.serial > mark && node->as.live.serial <= last
                && (!tag || node->as.live.tag == tag)) {
                gpuarena__error one = gpuarena__no_error();
                uint64_t address = node->address;
                if (!gpuarena__free_scrubbed(arena, index, stream, &one)) {
                    refused = address;
                    error = one;
                }
            }
            if (mask == lookup->mask) continue;
            mask = lookup->mask;                 /* the table has grown meanwhile: start again */
            slot = UINT32_MAX;
        }
    gpuarena__after_free(arena, stream);
    if (!refused) return gpuarena__end(arena, GPUARENA_OK);
    found = gpuarena__lookup_find(arena, refused);           /* another thread may have freed it */
    error.block = found ? *found : 0;
    return gpuarena__end(arena, gpuarena__outcome(arena, &error, 0, stream));
}

/* ---- looking */

GPUARENA_API gpuarena *gpuarena_owner(const void *inside)
{
    char name[32];
    return gpuarena__find_owner(gpuarena__address(inside), name);
}

GPUARENA_API gpuarena *gpuarena_next(const gpuarena *arena)
{
    gpuarena *found, *next = NULL;
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    for (found = gpuarena__registry; found && found != arena; found = found->registered)
        if (gpuarena__has_magic(found, GPUARENA__MAGIC)) next = found;
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    return found || !arena ? next : NULL;
}

GPUARENA_API gpuarena_result gpuarena_lookup(const gpuarena *arena, const void *inside, gpuarena_block *block)
{
    gpuarena *self = gpuarena__self(arena);
    gpuarena_result result = gpuarena__enter(self, block ? NULL : "block: NULL");
    uint32_t index;
    if (result != GPUARENA_OK) return result;
    index = gpuarena__node_around(self, gpuarena__address(inside));
    if (index) *block = gpuarena__block_describe(self, index);
    else result = gpuarena__fail_pointer(self, inside, NULL);
    return gpuarena__leave(self, result);
}

GPUARENA_API gpuarena_result gpuarena_walk(const gpuarena *arena, gpuarena_visit_fn *visit, void *user)
{
    gpuarena *self = gpuarena__self(arena);
    gpuarena_result result = gpuarena__begin(self, visit ? NULL : "visit: NULL");
    gpuarena__copy copy;
    if (result != GPUARENA_OK) return result;
    gpuarena__copy_begin(self, &copy);
    result = gpuarena__walk(self, &copy, visit, user);
    gpuarena__copy_end(self, &copy);
    return gpuarena__end(self, result);
}

GPUARENA_API gpuarena_result gpuarena_report(const gpuarena *arena, gpuarena_format format,
                                             gpuarena_write_fn *write, void *user)
{
    gpuarena *self = gpuarena__self(arena);
    const char *wrong = (uint32_t)format > GPUARENA_FORMAT_JSON ? "format: no such value" : NULL;
    gpuarena_result result = gpuarena__begin(self, write ? wrong : "write: NULL");
    gpuarena__writer writer;
    gpuarena__copy copy;
    gpuarena_stats stats;
    if (result != GPUARENA_OK) return result;
    gpuarena__stats_now(self, &stats, 1);
    gpuarena__copy_begin(self, &copy);
    writer.arena = self;
    writer.json = format == GPUARENA_FORMAT_JSON;
    writer.write = write;
    writer.user = user;
    writer.result = GPUARENA_OK;
    writer.out = gpuarena__text_begin(writer.piece, sizeof writer.piece);
    (writer.json ? gpuarena__json_head : gpuarena__text_head)(&writer, &stats);
    gpuarena__report_tags(&writer, &copy);
    if (writer.json) gpuarena__put(&writer.out, "\n\"segments\":[");
    (void)gpuarena__walk(self, &copy, gpuarena__report_block, &writer);
    if (writer.json) gpuarena__put(&writer.out, "]}\n");
    result = gpuarena__flush(&writer);
    gpuarena__copy_end(self, &copy);
    return gpuarena__end(self, result);
}

GPUARENA_API gpuarena_result gpuarena_check(const gpuarena *arena, char *message, size_t size)
{
    gpuarena *self = gpuarena__self(arena);
    gpuarena_result result = gpuarena__begin(self, NULL);
    gpuarena_failure failure = GPUARENA_INIT;    /* without figures, which could not be trusted */
    char violated[128];
    gpuarena__text out = gpuarena__text_begin(violated, sizeof violated),
                   copy = gpuarena__text_begin(message, size);
    if (result != GPUARENA_OK) return result;
    if (!gpuarena__check(self, &out)) {
        failure.result = GPUARENA_CORRUPT;
        memcpy(failure.arena, self->config.name, sizeof failure.arena);
        gpuarena__detail(&failure, "%s", violated);
        result = gpuarena__fail_record(self, &failure, NULL);
    }
    gpuarena__put(&copy, "%s", violated);
    return gpuarena__end(self, result);
}

GPUARENA_API gpuarena_result gpuarena_observe(gpuarena *arena, gpuarena_observe_fn *observe, void *user)
{
    gpuarena_result result = gpuarena__enter(arena, NULL);
    if (result != GPUARENA_OK) return result;
    arena->config.observe = observe;
    arena->config.observe_user = user;
    gpuarena__update_fast_path(arena);
    return gpuarena__leave(arena, GPUARENA_OK);
}

GPUARENA_API gpuarena_result gpuarena_get_device(gpuarena *arena, gpuarena_device *device)
{
    gpuarena_result result = gpuarena__begin(arena, device ? NULL : "device: NULL");
    gpuarena__error error = gpuarena__no_error();
    uint64_t free_bytes;
    if (result != GPUARENA_OK) return result;
    if (!gpuarena__driver_info(arena, &free_bytes, &error))
        return gpuarena__end(arena, gpuarena__outcome(arena, &error, 0, NULL));
    device->total_bytes = arena->device_bytes;
    device->free_bytes = free_bytes;
    device->other_bytes = (int64_t)(arena->device_bytes - free_bytes);
    if (arena->memory != GPUARENA_MEMORY_MANAGED)
        device->other_bytes -= (int64_t)(arena->stats.reserved_bytes + gpuarena__children(arena));
    device->page_bytes = arena->paged.page_bytes ? arena->paged.page_bytes : GPUARENA__GRANULE;
    device->device = arena->driver.device;
    device->paged = arena->paged.page_bytes != 0;
    device->memory = arena->memory;
    return gpuarena__end(arena, GPUARENA_OK);
}

static void gpuarena__read_stats(const gpuarena *arena, gpuarena_stats *stats, int walk)
{
    gpuarena *self = gpuarena__enter_to_read(arena);
    if (stats && self) gpuarena__stats_now(self, stats, walk);
    else if (stats) memset(stats, 0, sizeof *stats);
    gpuarena__leave_read(self);
}

GPUARENA_API void gpuarena_get_stats(const gpuarena *arena, gpuarena_stats *stats)
{
    gpuarena__read_stats(arena, stats, 0);
}

GPUARENA_API void gpuarena_walk_stats(const gpuarena *arena, gpuarena_stats *stats)
{
    gpuarena__read_stats(arena, stats, 1);
}

GPUARENA_API void gpuarena_get_config(const gpuarena *arena, gpuarena_config *config)
{
    gpuarena *self = gpuarena__enter_to_read(arena);
    if (config) memset(config, 0, sizeof *config);
    if (config && self) *config = self->config;
    gpuarena__leave_read(self);
}

GPUARENA_API void gpuarena_last_failure(const gpuarena *arena, gpuarena_failure *failure)
{
    gpuarena *self = gpuarena__enter_to_read(arena);
    if (failure) memset(failure, 0, sizeof *failure);
    if (failure && self) *failure = self->last;
    if (failure && !arena) *failure = gpuarena__thread_failure;
    gpuarena__leave_read(self);
}

GPUARENA_API void gpuarena_reset_peaks(gpuarena *arena)
{
    gpuarena *self = gpuarena__enter_to_read(arena);
    gpuarena__tags *tags;
    uint32_t at;
    if (!self) return;
    (void)gpuarena__peak(self);                  /* the peak that growth uses is not reset */
    self->paged.past_peak_bytes = 0;
    tags = &self->tags;
    self->stats.requested_peak_bytes = tags->peak_bytes = tags->untagged_peak_bytes = 0;
    gpuarena__peaks_note(self);
    for (at = 1; at < tags->room; at++) tags->list[at].live_peak_bytes = tags->list[at].live_bytes;
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    self->family.peak = self->family.reserved;
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    gpuarena__leave_read(self);
}

/* ---- tags */

GPUARENA_API uint32_t gpuarena_tag(const char *name)
{
    uint32_t place = 1;
    size_t length = 0;
    (void)gpuarena__watch_forks();
    while (name && length < GPUARENA_TAG_BYTES && name[length] >= ' ' && name[length] <= '~') length++;
    if (!length || length == GPUARENA_TAG_BYTES || name[length]) {
        (void)gpuarena__fail_argument(NULL, "name: 1 to 31 characters of printable ASCII");
        return 0;
    }
    gpuarena__mutex_lock(&gpuarena__registry_lock);
    while (place <= gpuarena__tag_count && strcmp(gpuarena__tag_names[place - 1], name) != 0) place++;
    if (place > gpuarena__tag_count && place <= GPUARENA_TAGS) {
        memset(gpuarena__tag_names[place - 1], 0, GPUARENA_TAG_BYTES);
        memcpy(gpuarena__tag_names[place - 1], name, length);
        GPUARENA__STORE(&gpuarena__tag_count, place, RELEASE);
    }
    gpuarena__mutex_unlock(&gpuarena__registry_lock);
    if (place <= GPUARENA_TAGS) return GPUARENA__TAG_BASE + place;
    (void)gpuarena__fail_with(NULL, GPUARENA_NOT_SUPPORTED,
                              "name: the process has GPUARENA_TAGS tags already");
    return 0;
}

GPUARENA_API uint32_t gpuarena_tag_scope(uint32_t tag)
{
    uint32_t previous = gpuarena__scope;
    gpuarena__scope = tag;
    gpuarena__scope_show();
    return previous;
}

GPUARENA_API gpuarena_result gpuarena_get_tag(const gpuarena *arena, uint32_t tag, gpuarena_tag_stats *stats)
{
    gpuarena *self = gpuarena__self(arena);
    const char *wrong = tag && !gpuarena__tag_place(tag) ? "tag: 0, or one that gpuarena_tag gave" : NULL;
    gpuarena_result result = gpuarena__enter(self, stats ? wrong : "stats: NULL");
    if (result != GPUARENA_OK) return result;
    *stats = gpuarena__tag_stats(self, gpuarena__tag_place(tag));
    return gpuarena__leave(self, GPUARENA_OK);
}

/* ---- text */

GPUARENA_API size_t gpuarena_failure_text(const gpuarena_failure *failure, char *text, size_t size)
{
    gpuarena__text out = gpuarena__text_begin(text, size);
    if (!failure) return 0;
    if (failure->arena[0]) gpuarena__put(&out, "%.31s: ", failure->arena);
    gpuarena__say(&out, failure, gpuarena__words_of(failure));
    if (failure->result == GPUARENA_OUT_OF_MEMORY || failure->result == GPUARENA_STILL_IN_USE)
        gpuarena__say_live(&out, failure);
    return out.length;
}

GPUARENA_API gpuarena_result gpuarena_config_parse(const char *text, gpuarena_config *config, char *message,
                                                   size_t size)
{
    char complaint[1024];
    gpuarena__text out = gpuarena__text_begin(complaint, sizeof complaint),
                   copy = gpuarena__text_begin(message, size);
    if (!text || !config) return gpuarena__fail_argument(NULL, text ? "config: NULL" : "text: NULL");
    if (gpuarena__parse(text, config, &out)) return GPUARENA_OK;
    gpuarena__put(&copy, "%s", complaint);
    return gpuarena__fail_with(NULL, GPUARENA_INVALID_CONFIG, complaint);
}

GPUARENA_API size_t gpuarena_config_text(const gpuarena_config *config, char *text, size_t size)
{
    gpuarena__text out = gpuarena__text_begin(text, size);
    if (config) gpuarena__config_put(&out, config);
    return out.length;
}

/* >>end ============================================================================================= */

#ifdef __cplusplus
} /* extern "C" */
#endif

#ifdef GPUARENA__OWN_MALLOC
#undef GPUARENA_MALLOC
#undef GPUARENA_FREE
#undef GPUARENA__OWN_MALLOC
#endif
#ifdef GPUARENA__OWN_ASSERT
#undef GPUARENA_ASSERT
#undef GPUARENA__OWN_ASSERT
#endif
#undef GPUARENA__ADD
#undef GPUARENA__ASK
#undef GPUARENA__ASK_CALL
#undef GPUARENA__CAPTURE_ENTRIES
#undef GPUARENA__CUDA_CALL
#undef GPUARENA__CUDA_CALLS
#undef GPUARENA__CUDA_DIRECT
#undef GPUARENA__CUDA_FREE
#undef GPUARENA__CUDA_MAKES
#undef GPUARENA__CUDA_VM
#undef GPUARENA__ENTRIES
#undef GPUARENA__EVENT_ENTRIES
#undef GPUARENA__FD_ENTRIES
#undef GPUARENA__GRANULE
#undef GPUARENA__HANDLE_PART
#undef GPUARENA__INLINE
#undef GPUARENA__IPC_ENTRIES
#undef GPUARENA__IS
#undef GPUARENA__KEYS
#undef GPUARENA__NOINLINE
#undef GPUARENA__LIKELY
#undef GPUARENA__LINK
#undef GPUARENA__LOAD
#undef GPUARENA__MAX_BYTES
#undef GPUARENA__MEMORY_ENTRIES
#undef GPUARENA__MUTEX_INIT
#undef GPUARENA__NEVER
#undef GPUARENA__PRINTF
#undef GPUARENA__RESERVE
#undef GPUARENA__RULES
#undef GPUARENA__SAME
#undef GPUARENA__SET
#undef GPUARENA__SORT
#undef GPUARENA__STEPPED
#undef GPUARENA__STORE
#undef GPUARENA__TABLES
#undef GPUARENA__THREAD_LOCAL
#undef GPUARENA__UNIT
#undef GPUARENA__UNLIKELY
#undef GPUARENA__VM_ENTRIES
#endif /* GPUARENA_IMPLEMENTATION */

/* Versions. While the version is 0.x, a new minor number (0.1 to 0.2) may break source: names, arguments and
   defaults may change, and the list below says which. A new patch number never does: programs go on
   compiling, and mean the same but for mistakes that are mended. From 1.0 on only a new major number may
   break source.

   Changes
     0.3.0  Names: GPUARENA_ALLOC_OWN is GPUARENA_ALLOC_DEDICATED; the statistics settle_count, steal_count,
            relief_count and parked_count are resolve_count, stream_wait_count, reclaim_count and
            sync_wait_count.
            New: plans for steps that come again (gpuarena_step, config.plan); config.debug, passthrough and
            guard. Streams of several threads have heaps, each with a lock of its own. Sizes in configuration
            text may be written 4G, 4GB or 4GiB. Refused keys are explained in one form. Blocks between
            processes (gpuarena_export, gpuarena_import, share=pages); peers of a device (config.peers).
            Gone: the key cache and config.cache_bytes; CUDA Toolkits before 11.3.
            Changed: paged memory grows by handles of several sizes, of which those of one page move;
            driver.capture.exchange_mode is called around info and capture.active, too; memory.give_back is
            told by GPUARENA_ANY_STREAM that no work on the memory is left; pages over CUDA can be reached by
            network cards; STILL_IN_USE names the live block with the lowest address; a block's serial number
            rises on each stream, but numbers of several streams have gaps and are in no order; gpuarena_walk
            and gpuarena_report copy all blocks before the first call of the visitor or writer.
     0.2.0  New: gpuarena_walk_stats, which alone tells largest_free_bytes now; GPUARENA_REASON_ALIGNMENT;
            GPUARENA_STATE_NONE, which is 0. share=whole is one name for ipc and rdma, which are still read.
            Gone: presets of other allocators and the keys that only they needed (placement, bin_*,
            round_divisions, split*, small*, growth=half, exact, backoff): each says what to use instead;
            GPUARENA_BUSY, stream_id of the driver table, the trait bits of vm.create.
            Mended: requests refused though other arenas or threads had made room; memory given back while a
            stream is captured; driver calls after the device was lost; calls that took quadratic time.
     0.1.0  The pool over pages and segments: growth, limits, sub-arenas, caches, tags, scrub; CUDA,
            streams, graph captures, threads, fork; statistics, failures in words, observer, report, check.

   This software is available under two licences; choose whichever you prefer.
   --------------------------------------------------------------------------------------------------------
   MIT License

   Copyright (c) 2026 the gpuarena authors

   Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
   associated documentation files (the "Software"), to deal in the Software without restriction, including
   without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
   copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the
   following conditions:

   The above copyright notice and this permission notice shall be included in all copies or substantial
   portions of the Software.

   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
   LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO
   EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER
   IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR
   THE USE OR OTHER DEALINGS IN THE SOFTWARE.
   --------------------------------------------------------------------------------------------------------
   Public Domain (www.unlicense.org)

   This is free and unencumbered software released into the public domain.

   Anyone is free to copy, modify, publish, use, compile, sell, or distribute this software, either in source
   code form or as a compiled binary, for any purpose, commercial or non-commercial, and by any means.

   In jurisdictions that recognize copyright laws, the author or authors of this software dedicate any and
   all copyright interest in the software to the public domain. We make this dedication for the benefit of
   the public at large and to the detriment of our heirs and successors. We intend this dedication to be an
   overt act of relinquishment in perpetuity of all present and future rights to this software under
   copyright law.

   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
   LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO
   EVENT SHALL THE AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF
   CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER
   DEALINGS IN THE SOFTWARE. */
