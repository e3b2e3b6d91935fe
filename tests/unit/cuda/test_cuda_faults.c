/* A fault campaign over the CUDA driver table: every call of a scripted life fails in turn, once and for ever, with
   codes of every class, on segments and on pages. It must not know the implementation: only
   gpuarena.h's contracts. */
#include "cuda_machine.h"

#ifndef GPUARENA_NO_CUDA

enum { LIFE_STEPS = 14, MOST_CALLS = 400 };

typedef struct plan { sim_call kind; uint64_t nth; int lasting, code; gpuarena_backing backing; } plan;

typedef struct life {
    sim          *machine;
    gpuarena_backing backing;
    gpuarena     *arena;
    gpuarena_driver driver;
    void         *blocks[4];
    const char   *wrong;                         /* the first thing that went wrong, and at which step */
    int           step;
} life;

typedef struct kind_row { sim_call kind; const char *name; } kind_row;
static const kind_row kinds_of_segments[] = {
    { SIM_CALL_OBTAIN, "cudaMalloc" }, { SIM_CALL_GIVE_BACK, "cudaFree" }, { SIM_CALL_INFO, "cudaMemGetInfo" },
    { SIM_CALL_GET_DEVICE, "cudaGetDevice" }, { SIM_CALL_SET_DEVICE, "cudaSetDevice" },
    { SIM_CALL_GET_DEVICE_COUNT, "cudaGetDeviceCount" },
};
static const kind_row kinds_of_pages[] = {
    { SIM_CALL_VM_RESERVE, "cuMemAddressReserve" }, { SIM_CALL_VM_CREATE, "cuMemCreate" },
    { SIM_CALL_VM_DESTROY, "cuMemRelease" }, { SIM_CALL_VM_MAP, "cuMemMap" },
    { SIM_CALL_VM_ACCESS, "cuMemSetAccess" }, { SIM_CALL_VM_UNMAP, "cuMemUnmap" },
    { SIM_CALL_INFO, "cudaMemGetInfo" }, { SIM_CALL_GET_DEVICE, "cudaGetDevice" },
    { SIM_CALL_SET_DEVICE, "cudaSetDevice" },
};
static const struct { int code; gpuarena_result result; } codes[] = {
    { 1, GPUARENA_DRIVER_ERROR }, { 2, GPUARENA_OUT_OF_MEMORY }, { 3, GPUARENA_DRIVER_ERROR },
    { 4, GPUARENA_DRIVER_ERROR }, { 34, GPUARENA_NOT_SUPPORTED }, { 35, GPUARENA_NOT_SUPPORTED },
    { 36, GPUARENA_NOT_SUPPORTED }, { 46, GPUARENA_DRIVER_ERROR }, { 100, GPUARENA_NOT_SUPPORTED },
    { 214, GPUARENA_DEVICE_LOST }, { 220, GPUARENA_DEVICE_LOST }, { 226, GPUARENA_DEVICE_LOST },
    { 600, GPUARENA_DRIVER_ERROR }, { 700, GPUARENA_DEVICE_LOST }, { 702, GPUARENA_DEVICE_LOST },
    { 709, GPUARENA_DEVICE_LOST }, { 710, GPUARENA_DEVICE_LOST }, { 714, GPUARENA_DEVICE_LOST },
    { 715, GPUARENA_DEVICE_LOST }, { 716, GPUARENA_DEVICE_LOST }, { 717, GPUARENA_DEVICE_LOST },
    { 718, GPUARENA_DEVICE_LOST }, { 719, GPUARENA_DEVICE_LOST }, { 721, GPUARENA_DEVICE_LOST },
    { 801, GPUARENA_NOT_SUPPORTED }, { 810, GPUARENA_DEVICE_LOST }, { 900, GPUARENA_CAPTURE },
    { 901, GPUARENA_CAPTURE }, { 902, GPUARENA_CAPTURE }, { 903, GPUARENA_CAPTURE }, { 904, GPUARENA_CAPTURE },
    { 905, GPUARENA_CAPTURE }, { 906, GPUARENA_CAPTURE }, { 907, GPUARENA_CAPTURE }, { 908, GPUARENA_CAPTURE },
    { 911, GPUARENA_DEVICE_LOST }, { 999, GPUARENA_DRIVER_ERROR },
};

static gpuarena_result result_of(int code)
{
    for (size_t row = 0; row < COUNT(codes); row++)
        if (codes[row].code == code) return codes[row].result;
    return GPUARENA_OK;
}

static void blame(life *self, const char *what)
{
    if (!self->wrong) self->wrong = what;
}

static gpuarena_result life_create(life *self)
{
    gpuarena_config config = GPUARENA_INIT;
    config.environment = "";
    config.driver = &self->driver;
    config.backing = self->backing;
    config.limit_bytes = MIB(400);
    config.initial_bytes = MIB(4);
    config.headroom_bytes = MIB(8);
    return gpuarena_create(&config, &self->arena);
}

/* The script. Steps on an arena that was not made, and frees of blocks that were not, do nothing. */
static gpuarena_result life_step(life *self, int step)
{
    gpuarena_device figures;
    void **blocks = self->blocks;
    if (step > 1 && !self->arena) return GPUARENA_OK;
    switch (step) {
    case 0:  return gpuarena_driver_cuda(1, &self->driver);
    case 1:  return self->driver.memory.info ? life_create(self) : GPUARENA_OK;
    case 2:  return gpuarena_alloc(self->arena, &blocks[0], MIB(3), NULL);
    case 3:  return gpuarena_alloc(self->arena, &blocks[1], MIB(100), NULL);
    case 4:  return gpuarena_get_device(self->arena, &figures);
    case 5:  return gpuarena_reserve(self->arena, MIB(250));
    case 6:  return gpuarena_free(self->arena, blocks[1], NULL);
    case 7:  blocks[1] = NULL; return gpuarena_trim(self->arena, MIB(16), NULL);
    case 8:  return gpuarena_alloc(self->arena, &blocks[2], MIB(300), NULL);
    case 9:  return gpuarena_set_limit(self->arena, MIB(64));
    case 10: return gpuarena_free(self->arena, blocks[2], NULL);
    case 11: blocks[2] = NULL; return gpuarena_alloc(self->arena, &blocks[3], MIB(200), NULL);
    case 12: return gpuarena_reset(self->arena, NULL);
    default: return gpuarena_trim(self->arena, 0, NULL);
    }
}

/* What a step may answer: what it does without a fault; while the fault lasts, what the code means, or that the
   caller's device could not be put back; after it, that there is less to be had. */
static int is_allowed(const life *self, const plan *fault, gpuarena_result result, gpuarena_result without, int over)
{
    gpuarena_result wanted = result_of(fault->code);
    if (self->step == 0 && wanted == GPUARENA_CAPTURE) wanted = GPUARENA_DRIVER_ERROR;   /* nothing there
                                                                                            is captured */
    if (result == without) return 1;
    if (!sim_fail_fired(self->machine)) return 0;
    if (wanted == GPUARENA_DEVICE_LOST && result == wanted) return 1;
    if (over) return result == GPUARENA_OK || result == GPUARENA_OUT_OF_MEMORY;
    if (result == wanted) return 1;
    /* memory was refused to a call that asks for none */
    return result == GPUARENA_DRIVER_ERROR
        && (fault->kind == SIM_CALL_SET_DEVICE || wanted == GPUARENA_OUT_OF_MEMORY);
}

static void judge_record(life *self, const plan *fault, gpuarena_result result)
{
    gpuarena_failure failure;
    gpuarena_last_failure(NULL, &failure);
    int expected = failure.driver_code == fault->code
        || (failure.driver_code == -1 && fault->kind == SIM_CALL_SET_DEVICE && result == GPUARENA_DRIVER_ERROR);
    if (failure.result != result) blame(self, "the record is of another failure");
    if (result != GPUARENA_OUT_OF_MEMORY && !expected) blame(self, "the record has another code");
}

/* What must hold after every step, whatever failed: the result, the caller's device and error slot, the arena's
   books; these are not walked again where the fault has not struck yet, as they are those of the life without a
   fault. over: the fault struck in an earlier step, and does not last. */
static void judge_step(life *self, const plan *fault, gpuarena_result result, gpuarena_result without, int over)
{
    int device = -1, sticky = result_of(fault->code) == GPUARENA_DEVICE_LOST && sim_fail_fired(self->machine);
    int restorable = fault->kind != SIM_CALL_SET_DEVICE || over || !sim_fail_fired(self->machine);
    int walked = fault->kind != SIM_CALL_KINDS && !sim_fail_fired(self->machine);
    if (!is_allowed(self, fault, result, without, over)) blame(self, gpuarena_result_name(result));
    if (result != GPUARENA_OK) judge_record(self, fault, result);
    if (!sticky && cudaPeekAtLastError() != cudaSuccess) blame(self, "an error was left in the slot");
    if (!sticky && restorable && fault->kind != SIM_CALL_GET_DEVICE) {
        if (cudaGetDevice(&device) != cudaSuccess || device != 0) blame(self, "the caller's device was not put back");
    }
    if (self->arena && !walked && gpuarena_check(self->arena, NULL, 0)) blame(self, "the books are corrupt");
}

static void judge_held(life *self, const plan *fault)
{
    gpuarena_stats stats;
    int gone = fault->code == 4 && sim_fail_fired(self->machine);            /* the process ends, and memory
                                                                                with it */
    if (!self->arena || gone || result_of(fault->code) == GPUARENA_DEVICE_LOST) return;
    gpuarena_get_stats(self->arena, &stats);
    if (machine_held(self->machine, 1) != stats.reserved_bytes) blame(self, "held and reserved differ");
}

/* The fault is over: the arena must end, and nothing be held but what a failed cudaFree of creation left. */
static void judge_end(life *self, const plan *fault)
{
    int lost = result_of(fault->code) == GPUARENA_DEVICE_LOST && sim_fail_fired(self->machine);
    int unloaded = fault->code == 4 && sim_fail_fired(self->machine), made = self->arena != NULL;
    sim_fail_call(self->machine, SIM_CALL_KINDS, 0, 0, 0);
    cudaSetDevice(0);
    if (gpuarena_destroy(self->arena)) blame(self, "destroy after the fault");
    if (made && !lost && !unloaded && machine_held(self->machine, 1)) blame(self, "memory is left");
    if (machine_held(self->machine, 0)) blame(self, "memory of another device was taken");
    if (sim_finding(self->machine, 0)) blame(self, sim_finding(self->machine, 0));
}

/* One life under the fault; 1 if it struck. results: those without a fault; NULL: learn them. */
static int live(const plan *fault, const gpuarena_result *without, gpuarena_result *learned, char *wrong, size_t size)
{
    life self;
    memset(&self, 0, sizeof self);
    self.machine = machine_attach(NULL);
    self.backing = fault->backing;
    sim_fail_call(self.machine, fault->kind, fault->nth, fault->lasting, fault->code);
    for (int step = 0; step < LIFE_STEPS && !self.wrong; step++) {
        int over = sim_fail_fired(self.machine) && !fault->lasting, skipped = step > 1 && !self.arena;
        if (over) cudaSetDevice(0);              /* as the caller would, whose device could not be put back */
        self.step = step;
        gpuarena_result result = life_step(&self, step);
        if (learned) learned[step] = result;
        judge_step(&self, fault, result, without && !skipped ? without[step] : result, over);
        judge_held(&self, fault);
    }
    int struck = sim_fail_fired(self.machine);
    if (!self.wrong) judge_end(&self, fault);
    if (self.wrong) snprintf(wrong, size, "step %d: %s", self.step, self.wrong);
    cudart_close(self.machine);
    return struck;
}

/* An error, a lack of memory and a loss fail every call in turn; the first codes of the other classes, and the one by
   which a driver says that it unloads, every third; where the fault lasts, every 23rd is enough; and of codes whose
   class was tested, which must be classified and no more, every 97th. */
static uint64_t stride_of(size_t row, int lasting)
{
    for (size_t before = 0; before < row; before++)
        if (codes[before].result == codes[row].result && codes[row].code != 4) return 97;
    if (lasting) return 23;
    return codes[row].code <= 2 || codes[row].result == GPUARENA_DEVICE_LOST ? 1 : 3;
}

static void test_kind(const kind_row *row_of, gpuarena_backing backing, const gpuarena_result *without)
{
    char wrong[256] = "";
    for (int lasting = 0; lasting < 2; lasting++) {
        for (size_t row = 0; row < COUNT(codes); row++) {
            plan fault = { row_of->kind, 1, lasting, codes[row].code, backing };
            uint64_t lives = 0;
            /* what a driver that unloads leaves mapped is gone, unless it goes on working, as this one does */
            if (fault.kind == SIM_CALL_VM_UNMAP && fault.code == 4) continue;
            while (fault.nth < MOST_CALLS && live(&fault, without, NULL, wrong, sizeof wrong) && !wrong[0]) {
                fault.nth += stride_of(row, lasting);
                lives++;
            }
            CHECK_MSG(!wrong[0] && lives > 0, "%s fails with %d%s: %" PRIu64 " calls in turn%s%s", row_of->name,
                      codes[row].code, lasting ? " for ever" : "", lives, wrong[0] ? ": " : "", wrong);
            wrong[0] = 0;
        }
    }
}

static void test_backing(gpuarena_backing backing, const kind_row *rows, size_t count)
{
    const plan none = { SIM_CALL_KINDS, 0, 0, 0, backing };
    gpuarena_result without[LIFE_STEPS];
    char wrong[256] = "";
    live(&none, NULL, without, wrong, sizeof wrong);
    CHECK_STR(wrong, "");
    CHECK_INT(without[3], ==, GPUARENA_OK);
    CHECK_INT(without[8], ==, GPUARENA_OK);
    CHECK_INT(without[11], ==, GPUARENA_OUT_OF_MEMORY);
    for (size_t row = 0; row < count; row++) test_kind(&rows[row], backing, without);
}

static void run(void)
{
    test_backing(GPUARENA_BACKING_SEGMENTS, kinds_of_segments, COUNT(kinds_of_segments));
    test_backing(GPUARENA_BACKING_PAGED, kinds_of_pages, COUNT(kinds_of_pages));
}
#endif

CUDA_TEST_MAIN(run)
