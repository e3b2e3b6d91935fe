/* The substitute for libcudart, beyond the CUDA runtime's own interface: which simulated machine serves the calls.
   It must not be needed by CUDA programs: without it calls are served by the machine that GPUARENA_SIM describes.

   GPUARENA_SIM = part {"," part}, read at the first call of the process. The parts are those of ../README.md, "CUDA
   programs without a GPU"; options.c reads them, call.c says in which lines a report is. With device=8G*0 every call
   answers cudaErrorNoDevice; parts of faults are separated by ";", and their operations are calls of the runtime.

   Which calls are served, and how:
   - Calls are counted from 1, all kinds of sim/base.h together, and findings say "op N" for the Nth.
   - Streams, events and captures are the simulated machine's (sim/engine.h). Work takes virtual
     time, which passes with calls and waits; its bytes move when it is issued, or its graph launched. Copies and
     fills are uses of device memory, by the request or reservation that it lies in: the judge sees to their order.
     Without work=NS streams are always idle, but for cudart_kernel's work.
   - Streams and events of a lost device answer its code, whichever device is current.
   - cudaStreamPerThread is a stream of each thread's own, and stream 0 of the names with _ptsz and _ptds is that one.
     A thread may be given the stream of one that has ended.
   - Graphs hold captured commands: copies, fills, cudart_kernel, launches of other graphs.
   - Memory holds real bytes; those that nobody has written read as 0xA5. Of host memory it takes 2 MiB for each 2 MiB
     that hold more than one value; when that runs out, a copy or fill is a finding and answers cudaErrorUnknown.
     Where there is no host memory for the machine's own books, the process ends at once, with status 4 and one line,
     without findings.
   - A copy or fill that the CUDA runtime leaves undefined is a finding and refused with cudaErrorInvalidValue: a side
     is not of its kind, of the device named or of one cudaMalloc, leaves its pinned memory, or overlaps the other.
     Other memory of the host is taken as it comes.
   - The library is libcudart, libcuda.so.1 and libnvidia-ml.so.1 in one. Driver functions are had by name
     (cudaGetDriverEntryPoint, cuGetProcAddress) or linked. Those of devices, memory, streams, events, captures and
     graphs are the runtime's calls of the same meaning and are counted as these; a device has one context, its
     primary one. cuGetExportTable, which libraries with a libcudart of their own ask first, is not there: these stay
     out.
   - Memory of cudaMalloc may be handed to cudaFreeAsync, which then acts as cudaFree.
   - Virtual memory is the driver's functions cuMemAddressReserve, cuMemCreate and so on, as memory.h has them, for
     device memory without compression. None makes a context. Addresses are those of the device
     that is current when they are reserved, and hold its memory alone. Copies, fills and cudart_kernel that may not
     use the memory mapped there lose their device.
   - Kernels cannot run: registration succeeds; launching, and questions about kernels, answer cudaErrorNotSupported,
     but for kernels=skip. Then results are the earlier contents of memory, and uses by kernels are not judged.
   - Memory of cudaIpc and cuMemExportToShareableHandle is shared with other processes: memory.h.
   - All documented functions of the runtime are there. Those that are not served answer NotSupported: refused.c lists
     them. Limits of the device and hints are taken, and change nothing.
   - A function that is not exported, of the driver or undocumented, is missing by name, when a program is linked or
     loaded, or at the call.
   - A child of fork gets cudaErrorInitializationError from every call if its parent had made one. The first call
     registers an exit handler; once that has run, every call answers cudaErrorCudartUnloading.
   - When the process ends by exit or by returning from main, the judge's findings are printed to stderr, and if there
     are any, its status is 3. Memory still held is no finding. */
#ifndef STRESS_CUDART_CUDART_H
#define STRESS_CUDART_CUDART_H

#include "../sim/sim.h"

/* From now on all calls, of all threads, are served by this machine, which the caller owns and whose findings are the
   caller's to read; NULL: by the one that GPUARENA_SIM describes. With a change, each thread's current device is 0
   again and its last error is none; streams, events and graphs work with the machine that made them alone. No other
   thread may be in a call that is served by the machine left, once that is destroyed. */
void cudart_attach(sim *machine);

/* The machine that serves calls: the attached one, else the one that GPUARENA_SIM describes, made now if need be.
   NULL: there is none (no devices, a child of fork, the process is ending). */
sim *cudart_machine(void);

/* The build of this library, as sim_build (sim/sim.h) has it: a machine of another one must not be attached. */
const char *cudart_build(void);

/* Instead of a kernel: work on the stream that takes so long and uses these ranges, `count` of them. A code. The call
   is not counted, made to fail or charged. */
int cudart_kernel(void *stream, uint64_t work_ns, const void *const *ptrs, const uint64_t *bytes, size_t count);

#endif
