/* cudaGetDriverEntryPoint and cuGetProcAddress, in the form that each toolkit has: functions of the driver, by name.
   Must not know what they do. What is not served is not found, which is no error: the runtime's own way. */
#include <string.h>

#include "driver.h"

/* The query result's values, which only toolkits from 12.0 on name. */
enum { ENTRY_FOUND = 0, ENTRY_NOT_FOUND = 1, ENTRY_TOO_OLD = 2 };

static int entry_find(const char *name, void **function, unsigned version, unsigned long long flags, int *result)
{
    const unsigned long long most = cudaEnablePerThreadDefaultStream;
    if (!name || name[0] == '\0' || !function || flags > most || version > CUDART_VERSION) {
        return SIM_INVALID_VALUE;
    }
    int known;
    const driver_row *row = driver_find(name, version, flags == cudaEnablePerThreadDefaultStream, &known);
    *result = row ? ENTRY_FOUND : known ? ENTRY_TOO_OLD : ENTRY_NOT_FOUND;
    *function = NULL;
    if (row) {                                   /* ISO C has no cast for this; POSIX promises equal bytes */
        memcpy(function, &row->function, sizeof *function);
    }
    return SIM_SUCCESS;
}

/* The driver's own way: what is not found is an error. Versions beyond its own find the newest. */
static int entry_look_up(const char *name, void **function, int version, cuuint64_t flags, int *result)
{
    unsigned asked = version > CUDART_VERSION ? CUDART_VERSION : (unsigned)version;
    int code = version < 0 ? SIM_INVALID_VALUE : entry_find(name, function, asked, flags, result);
    return code == SIM_SUCCESS && *result != ENTRY_FOUND ? CUDA_ERROR_NOT_FOUND : code;
}

#if CUDART_VERSION >= 12000
DRIVER_EXPORT cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags,
                               CUdriverProcAddressQueryResult *told)
{
    int result = ENTRY_NOT_FOUND, code = entry_look_up(name, function, version, flags, &result);
    if (told) *told = (CUdriverProcAddressQueryResult)result;
    return (CUresult)code;
}

static int entry_tell(const char *name, void **function, unsigned version, unsigned long long flags,
                      enum cudaDriverEntryPointQueryResult *told)
{
    int result = ENTRY_NOT_FOUND, code = entry_find(name, function, version, flags, &result);
    if (told && code == SIM_SUCCESS) *told = (enum cudaDriverEntryPointQueryResult)result;
    return code;
}

CUDART_FUNCTION(cudaGetDriverEntryPoint, (const char *name, void **function, unsigned long long flags,
                                          enum cudaDriverEntryPointQueryResult *told),
                call_begin_bare(&self, SIM_CALL_ENTRY_POINT),
                entry_tell(name, function, CUDART_VERSION, flags, told))
#else
DRIVER_EXPORT cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags)
{
    int result = ENTRY_NOT_FOUND;
    return (CUresult)entry_look_up(name, function, version, flags, &result);
}

/* Without a query result, a name that is not found is an error. */
CUDART_EXPORT cudaError_t cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags)
{
    call self;
    int result = ENTRY_NOT_FOUND;
    if (call_begin_bare(&self, SIM_CALL_ENTRY_POINT)) {
        self.code = entry_find(name, function, CUDART_VERSION, flags, &result);
        if (self.code == SIM_SUCCESS && result != ENTRY_FOUND) self.code = cudaErrorSymbolNotFound;
    }
    return call_end(&self);
}
#endif

#if CUDART_VERSION >= 12050
CUDART_FUNCTION(cudaGetDriverEntryPointByVersion, (const char *name, void **function, unsigned int version,
                                                   unsigned long long flags,
                                                   enum cudaDriverEntryPointQueryResult *told),
                call_begin_bare(&self, SIM_CALL_ENTRY_POINT_BY_VERSION),
                entry_tell(name, function, version, flags, told))
CUDART_ALSO(cudaGetDriverEntryPointByVersion, cudaGetDriverEntryPointByVersion_ptsz);
#endif

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"   /* from toolkit 13.0 on; programs still call it */
#endif
CUDART_ALSO(cudaGetDriverEntryPoint, cudaGetDriverEntryPoint_ptsz);
