/* A handle, and the file that a descriptor leads to, begin with a token: it names the exporter, its memory, and the
   exporter's file that has the contents. Another process finds that file under the exporter's number in /proc. A lock
   of the file, which ends with the process that has it, says that someone has opened the memory. The number of a
   descriptor may come again, and with it all the bytes of a handle: only the file itself tells which memory it is. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE                              /* memfd_create, F_ADD_SEALS */
#endif
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHARE_MAGIC = 0x67706173, SHARE_LEAST_FILE = 3 };     /* 0 to 2 are the program's, even while it has none */
#define SHARE_NAME "gpuarena-sim"                /* of all the files */
#define SHARE_CONTENTS SIM_GRANULE               /* where contents begin in a file: after the token */

typedef struct share_token {
    uint64_t magic, process, machine;            /* machine: its address */
    uint64_t device;
    uint64_t what, bytes;                        /* an address or a handle, and its size */
    uint64_t file, place;                        /* the exporter's descriptor, and where in it; 0: for itself alone */
} share_token;

typedef char share_token_fits[sizeof(share_token) <= GPUARENA_IPC_BYTES ? 1 : -1];

typedef struct share_open {                      /* an open request */
    treap_node  place;                           /* in the device's: by token.what, then the request's offset */
    uint64_t    count;
    share_token token;
} share_open;

static share_token share_describe(const sim_device *device, uint64_t what, uint64_t bytes)
{
    share_token made = { SHARE_MAGIC, (uint64_t)getpid(), (uint64_t)(uintptr_t)device->sim, (uint64_t)device->ordinal,
                         what, bytes, 0, 0 };
    return made;
}

static int share_is_own(const sim *machine, const share_token *token)
{
    return token->process == (uint64_t)getpid() && token->machine == (uint64_t)(uintptr_t)machine;
}

/* The device that has, or will have, the memory; NULL and the code. */
static sim_device *share_device(const sim_device *device, share_scope scope, const share_token *token, int *code)
{
    const sim *machine = device->sim;
    *code = SIM_INVALID_VALUE;
    if (token->magic != SHARE_MAGIC) {
        ENGINE_REPORT(device, "import of memory that was never exported");
        return NULL;
    }
    *code = SIM_NOT_SUPPORTED;
    if (!share_is_own(machine, token) && (scope == SHARE_OWN || token->file == 0)) return NULL;
    if (token->device >= (uint64_t)machine->device_count) return NULL;
    *code = SIM_SUCCESS;
    return &machine->devices[token->device];
}

/* ---- Files: a token, and contents */

/* Another descriptor of the file, which no standard stream has; 0, and errno: none is left. */
static int share_duplicate(int file)
{
    int other = fcntl(file, F_DUPFD_CLOEXEC, SHARE_LEAST_FILE);
    return other < 0 ? 0 : other;
}

/* Another descriptor by share_duplicate, in place of this one, which is closed if it is one. */
static int share_renumber(int file)
{
    int other = file < 0 ? 0 : share_duplicate(file), why = errno;
    if (file >= 0) close(file);
    errno = why;
    return other;
}

/* A file with room for so many bytes of contents; 0: none can be made. It ends with its last descriptor. Nobody makes
   it shorter: whoever maps it would die. */
static int share_file(uint64_t bytes)
{
    int file = share_renumber(memfd_create(SHARE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (file && ftruncate(file, (off_t)(SHARE_CONTENTS + bytes)) == 0) {
        (void)fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK);
        return file;
    }
    if (file) close(file);
    return 0;
}

static int share_write(int file, const share_token *token)
{
    return pwrite(file, token, sizeof *token, 0) == (ssize_t)sizeof *token;
}

/* Reads the token of a file. 1: it has one, and all the contents that this speaks of. */
static int share_read(int file, share_token *token)
{
    struct stat about;
    memset(token, 0, sizeof *token);
    return pread(file, token, sizeof *token, 0) == (ssize_t)sizeof *token && token->magic == SHARE_MAGIC
        && fstat(file, &about) == 0
        && (!token->file || (about.st_size >= (off_t)SHARE_CONTENTS
                             && (uint64_t)about.st_size - SHARE_CONTENTS >= token->bytes));
}

/* Moves the contents of a page to a file that has a token for them, unless they are in one. -1: no host memory, or no
   file. */
static int share_move(sim *machine, devmem_page *page, uint64_t what)
{
    sim_device *owner = &machine->devices[page->device];
    share_token whole = share_describe(owner, what, page->bytes);
    if (page->file) return 0;
    int file = share_file(page->bytes);
    whole.file = (uint64_t)file;
    whole.place = SHARE_CONTENTS;
    if (file && share_write(file, &whole) && devmem_share(page, file, SHARE_CONTENTS, 1) == 0) {
        page->file = file;
        return 0;
    }
    if (file) close(file);
    return -1;
}

/* ---- Requests */

/* Tells whether the address is the base of an obtained request, which is no pool's. */
static int share_find(const sim_device *device, uint64_t address, devmem_place *place)
{
    return engine_find(device, address, 1, place) && !place->range->pool;
}

static address_range *share_held(const devmem_place *place)
{
    return place->piece ? place->piece : place->range;
}

/* Tells whether the request stands for memory of another process. */
static int share_is_others(const sim_device *device, const devmem_place *place)
{
    const share_open *opened = share_held(place)->opened;
    return opened && !share_is_own(device->sim, &opened->token);
}

int share_get(const sim_device *device, share_scope scope, uint64_t address, unsigned char *handle)
{
    devmem_place place;
    if (!handle) return SIM_INVALID_VALUE;
    if (!share_find(device, address, &place)) {
        ENGINE_REPORT(device, "export of %s, which is no base that cudaMalloc gave",
                      engine_name(device, address).text);
        return SIM_INVALID_VALUE;
    }
    if (share_is_others(device, &place)) {
        ENGINE_REPORT(device, "export of %s, which is another process's", engine_name(device, address).text);
        return SIM_INVALID_VALUE;
    }
    share_token made = share_describe(device, address, place.bytes);
    if (scope == SHARE_OTHERS) {
        if (share_move(device->sim, place.page, engine_address(device, place.range->offset))) return SIM_UNKNOWN;
        made.file = (uint64_t)place.page->file;
        made.place = SHARE_CONTENTS + (place.offset - place.range->offset);
    }
    memset(handle, 0, GPUARENA_IPC_BYTES);
    memcpy(handle, &made, sizeof made);
    return SIM_SUCCESS;
}

/* Tells whether this is a block of this machine's own, whose file someone else has locked. */
static int share_is_locked(const sim *machine, const devmem_place *place)
{
    share_token whole;
    int file = place->piece ? 0 : place->page->file;
    if (!file || !share_read(file, &whole) || !share_is_own(machine, &whole)) return 0;
    if (flock(file, LOCK_EX | LOCK_NB)) return 1;
    (void)flock(file, LOCK_UN);
    return 0;
}

const char *share_holder(const sim_device *device, const devmem_place *place)
{
    if (share_is_others(device, place)) return "is another process's";
    return share_held(place)->opened || share_is_locked(device->sim, place) ? "another process has opened" : NULL;
}

static int share_find_own(const sim_device *owner, const share_token *token, devmem_place *place)
{
    if (share_find(owner, token->what, place) && place->bytes == token->bytes) return SIM_SUCCESS;
    ENGINE_REPORT(owner, "open of memory that was given back");
    return SIM_INVALID_VALUE;
}

/* Tells whether both files are there, and the same. */
static int share_are_same(int file, int other)
{
    struct stat one, two;
    return file && other && fstat(file, &one) == 0 && fstat(other, &two) == 0 && one.st_dev == two.st_dev
        && one.st_ino == two.st_ino;
}

/* The memory that is open by this token and in this file: in another file it is other memory. 0: none. */
static int share_find_token(const sim_device *device, const share_token *token, int file, devmem_place *place)
{
    const share_open *at = treap_from(&device->opened, token->what, 0, 0);
    for (; at && at->place.key == token->what; at = treap_from(&device->opened, token->what, at->place.tie + 1, 0)) {
        if (memcmp(&at->token, token, sizeof *token) == 0 && devmem_find(&device->memory, at->place.tie, place)
            && share_are_same(place->page->file, file)) {
            return 1;
        }
    }
    return 0;
}

/* Tells whether the path leads to a file that a machine made; else errno says why. Another file must not even be
   opened: that may wait, or have an effect. */
static int share_is_ours(const char *path)
{
    static const char name[] = "/memfd:" SHARE_NAME;
    char target[sizeof name];
    ssize_t length = readlink(path, target, sizeof target);
    if (length >= 0) errno = ENOENT;
    return length >= (ssize_t)sizeof name - 1 && memcmp(target, name, sizeof name - 1) == 0;
}

/* Tells whether the file has the memory of this token, which is part of `whole`. */
static int share_has(int file, const share_token *token, share_token *whole)
{
    return share_read(file, whole) && whole->process == token->process && whole->machine == token->machine
        && whole->file == token->file && whole->bytes > 0 && whole->bytes % SIM_GRANULE == 0
        && token->place >= SHARE_CONTENTS && token->what - whole->what == token->place - SHARE_CONTENTS
        && token->bytes > 0 && token->bytes <= whole->bytes
        && token->what - whole->what <= whole->bytes - token->bytes;
}

/* The exporter's file, locked, and its token, *whole; 0, and errno: ENOENT, if it has not this memory. */
static int share_find_file(const share_token *token, share_token *whole)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/fd/%" PRIu64, token->process, token->file);
    int file = share_is_ours(path) ? share_renumber(open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) : 0;
    if (!file) return 0;
    if (flock(file, LOCK_SH | LOCK_NB) == 0 && share_has(file, token, whole)) return file;
    devmem_close(file);
    errno = ENOENT;
    return 0;
}

/* The code for a file that is not found. It is the program's mistake only if the memory is gone. */
static int share_refuse(const sim_device *device, const share_token *token, int why)
{
    if (why == EACCES || why == EPERM) return SIM_NOT_SUPPORTED;
    if (why != ENOENT && why != ESRCH) return SIM_UNKNOWN;
    ENGINE_REPORT(device, "open of memory that process %" PRIu64 " does not have any more", token->process);
    return SIM_INVALID_VALUE;
}

/* Memory of this machine's own, in the file from now on, which is closed with it, or if there is none. */
static int share_stand_for(sim_device *device, uint64_t bytes, int file, devmem_place *place)
{
    devmem_work work;
    uint64_t offset = devmem_obtain(&device->memory, bytes, &work);
    if (!offset) {
        devmem_close(file);
        return SIM_OUT_OF_MEMORY;
    }
    (void)devmem_find(&device->memory, offset, place);
    place->page->file = file;
    if (devmem_share(place->page, file, SHARE_CONTENTS, 0) == 0) return SIM_SUCCESS;
    (void)devmem_give_back(&device->memory, place);
    return SIM_UNKNOWN;
}

/* Opened memory is that of the same token only while the exporter has it in the same file. */
static int share_find_other(sim_device *device, const share_token *token, devmem_place *place)
{
    share_token whole;
    int file = share_find_file(token, &whole);
    if (!file) return share_refuse(device, token, errno);
    if (!share_find_token(device, token, file, place)) return share_stand_for(device, whole.bytes, file, place);
    devmem_close(file);                          /* its page has one of its own */
    return SIM_SUCCESS;
}

/* The start of a request, as it was opened by the token. */
static uint64_t share_address(const sim_device *owner, const devmem_place *place, const share_token *token)
{
    uint64_t inside = share_is_own(owner->sim, token) ? 0 : token->place - SHARE_CONTENTS;
    return engine_address(owner, place->offset) + inside;
}

int share_open_memory(const sim_device *device, share_scope scope, const unsigned char *handle, void **ptr)
{
    share_token token;
    devmem_place place;
    int code;
    if (!handle || !ptr) return SIM_INVALID_VALUE;
    memcpy(&token, handle, sizeof token);
    sim_device *owner = share_device(device, scope, &token, &code);
    if (!owner) return code;
    code = share_is_own(device->sim, &token) ? share_find_own(owner, &token, &place)
                                             : share_find_other(owner, &token, &place);
    if (code != SIM_SUCCESS) return code;
    address_range *held = share_held(&place);
    if (!held->opened) {
        held->opened = program_need(1, sizeof *held->opened);
        held->opened->token = token;
        treap_add(&owner->opened, &held->opened->place, held->opened, token.what, place.offset, 0);
    }
    held->opened->count++;
    *ptr = (void *)(uintptr_t)share_address(owner, &place, &token);
    return SIM_SUCCESS;
}

/* Memory that stands for another process's goes with the last close. */
int share_close(sim_device *device, uint64_t address)
{
    devmem_place place;
    sim_device *owner = engine_owner(device->sim, address, NULL);
    share_open *opened = owner && engine_find(owner, address, 0, &place) ? share_held(&place)->opened : NULL;
    if (!opened || share_address(owner, &place, &opened->token) != address) {
        ENGINE_REPORT(device, "close of %s, which is not open", engine_name(device, address).text);
        return SIM_INVALID_VALUE;
    }
    if (--opened->count > 0) return SIM_SUCCESS;
    treap_remove(&owner->opened, &opened->place);
    if (share_is_others(owner, &place)) {
        access_end(owner, ACCESS_MEMORY, place.offset, place.bytes, "cudaIpcCloseMemHandle");
        (void)devmem_give_back(&owner->memory, &place);
    } else {
        free(opened);
        share_held(&place)->opened = NULL;
    }
    return SIM_SUCCESS;
}

/* ---- Pages */

/* The descriptor leads to the file with the page's contents; for this machine alone, to an empty one, another each
   time. */
int share_export(const sim_device *device, share_scope scope, uint64_t handle, int *fd)
{
    sim *machine = device->sim;
    int file = 0;
    devmem_page *page = fd ? vmem_exported(device, handle) : NULL;
    if (!page) return SIM_INVALID_VALUE;
    share_token made = share_describe(&machine->devices[page->device], handle, page->bytes);
    if (scope == SHARE_OWN) {
        file = share_file(0);
    } else if (share_move(machine, page, handle) == 0) {
        file = share_duplicate(page->file);
        made.file = (uint64_t)page->file;
        made.place = SHARE_CONTENTS;
    }
    if (file && share_write(file, &made)) {
        *fd = file;
        return SIM_SUCCESS;
    }
    if (file) close(file);
    return SIM_UNKNOWN;
}

int share_import(sim_device *device, share_scope scope, int fd, uint64_t *page)
{
    share_token token;
    int code;
    if (!page) return SIM_INVALID_VALUE;
    if (!share_read(fd, &token)) token.magic = 0;
    sim_device *owner = share_device(device, scope, &token, &code);
    if (!owner) return code;
    return share_is_own(device->sim, &token) ? vmem_import(owner, token.what, page)
                                             : vmem_import_file(owner, token.bytes, fd, SHARE_CONTENTS, page);
}
