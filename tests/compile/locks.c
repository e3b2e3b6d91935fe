/* The implementation over a test's own locks, with CUDA where there is a toolkit. */
#define GPUARENA_STATIC
#define GPUARENA_TEST_LOCK "tests/schedule/schedule_lock.h"
#include "tests/schedule/schedule.h"
#include "gpuarena.h"

int main(void) { return gpuarena_next(NULL) != NULL; }
