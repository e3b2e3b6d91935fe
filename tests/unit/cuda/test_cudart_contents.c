/* The libcudart substitute: bytes on devices survive, move, and are lost as they should; copies outside are found.
   Must not know how bytes are kept. */
#ifdef GPUARENA_NO_CUDA
#include <stdio.h>
int main(void) { return printf("1..0 # SKIP no CUDA Toolkit\n") < 0; }
#else
#include "test_cudart.h"

/* The same calls under the names that programs with a default stream a thread have them. */
extern __typeof__(cudaMemcpy) cudaMemcpy_ptds;
extern __typeof__(cudaMemcpyAsync) cudaMemcpyAsync_ptsz;
extern __typeof__(cudaMemcpy2D) cudaMemcpy2D_ptds;
extern __typeof__(cudaMemset) cudaMemset_ptds;
extern __typeof__(cudaMemsetAsync) cudaMemsetAsync_ptsz;
extern __typeof__(cudaMemset2D) cudaMemset2D_ptds;
extern __typeof__(cudaMemcpy2DAsync) cudaMemcpy2DAsync_ptsz;
extern __typeof__(cudaMemset2DAsync) cudaMemset2DAsync_ptsz;

static unsigned char host[3 << 20], back[3 << 20];

static void fill_host(unsigned seed)
{
    for (size_t i = 0; i < sizeof host; i++) host[i] = (unsigned char)(i * 7 + (i >> 11) + seed);
}

/* 1: all bytes of the device's range have the value. */
static int all(const char *ptr, size_t bytes, unsigned char value)
{
    memset(back, value ^ 0xFF, sizeof back);
    if (bytes > sizeof back || cudaMemcpy(back, ptr, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) return 0;
    for (size_t i = 0; i < bytes; i++) {
        if (back[i] != value) return 0;
    }
    return 1;
}

static void test_round_trips(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    char *block, *piece, *other;
    fill_host(1);
    CHECK_DONE(cudaMalloc((void **)&block, MIB(7)));
    CHECK_DONE(cudaMalloc((void **)&piece, 5000));
    CHECK_MSG(all(block + MIB(2) - 9, 100, 0xA5) && all(piece, 5000, 0xA5), "what nobody wrote is poison, not zero");
    CHECK_DONE(cudaMemcpy(block + MIB(2) - 3, host, MIB(3), cudaMemcpyHostToDevice));
    CHECK_DONE(cudaMemcpy(back, block + MIB(2) - 3, MIB(3), cudaMemcpyDeviceToHost));
    CHECK_MSG(memcmp(host, back, MIB(3)) == 0, "across borders of physical memory");
    CHECK(all(block, MIB(2) - 3, 0xA5) && all(block + MIB(5) - 3, 3, 0xA5));
    CHECK_DONE(cudaMemcpy(piece, block + MIB(2), 5000, cudaMemcpyDeviceToDevice));
    CHECK_DONE(cudaMemcpy(back, piece, 5000, cudaMemcpyDefault));
    CHECK_MSG(memcmp(host + 3, back, 5000) == 0, "between blocks of one device");
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaMalloc((void **)&other, MIB(6)));
    CHECK_DONE(cudaMemcpyPeer(other + 1, 1, block + MIB(2) - 3, 0, MIB(3)));
    CHECK_DONE(cudaMemcpyPeerAsync(other + MIB(4), 1, block + MIB(2) - 3, 0, 1000, NULL));
    CHECK_DONE(cudaMemcpyAsync(back, other + 1, MIB(3), cudaMemcpyDeviceToHost, NULL));
    CHECK_MSG(memcmp(host, back, MIB(3)) == 0, "between devices");
    CHECK_DONE(cudaMemcpy(back, other + MIB(4), 1000, cudaMemcpyDefault));
    CHECK(memcmp(host, back, 1000) == 0);
    CHECK_DONE(cudaMemcpy(back, host, 100000, cudaMemcpyHostToHost));
    CHECK_DONE(cudaMemcpy(back + 100000, host + 100000, 100000, cudaMemcpyDefault));
    CHECK(memcmp(host, back, 200000) == 0);
    CHECK_U64(sim_finding_count(machine), ==, 0);
    cudart_close(machine);
}

static void test_memset(void)
{
    sim *machine = cudart_open(1, GIB(200), NULL);
    char *block, *large;
    void *pinned;
    CHECK_DONE(cudaMalloc((void **)&block, MIB(6)));
    CHECK_DONE(cudaMemset(block, 0, MIB(6)));
    CHECK(all(block, MIB(3), 0) && all(block + MIB(3), MIB(3), 0));
    CHECK_DONE(cudaMemsetAsync(block + MIB(2) - 1, 0x107, MIB(2) + 2, NULL));
    CHECK_MSG(all(block + MIB(2) - 1, MIB(2) + 2, 7), "the value's low byte");
    CHECK(all(block, MIB(2) - 1, 0) && all(block + MIB(4) + 1, MIB(2) - 1, 0));
    CHECK_DONE(cudaMemset(block, 0xA5, 100));
    CHECK(all(block, 100, 0xA5) && all(block + 100, 1000, 0));
    CHECK_DONE(cudaMalloc((void **)&large, GIB(180)));
    CHECK_DONE(cudaMemset(large, 9, GIB(180)));
    CHECK_MSG(all(large + GIB(180) - MIB(1), MIB(1), 9), "as much as no host could hold");
    CHECK_DONE(cudaMemcpy(large, large + GIB(90), GIB(90), cudaMemcpyDeviceToDevice));
    CHECK_DONE(cudaMallocHost(&pinned, 1000));
    CHECK_DONE(cudaMemset(pinned, 5, 1000));
    CHECK(((char *)pinned)[0] == 5 && ((char *)pinned)[999] == 5);
    CHECK_DONE(cudaFreeHost(pinned));
    CHECK_U64(sim_finding_count(machine), ==, 0);
    cudart_close(machine);
}

static void test_freed_memory_forgets(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    char *block, *piece, *neighbour, *again;
    CHECK_DONE(cudaMalloc((void **)&block, MIB(2)));
    CHECK_DONE(cudaMalloc((void **)&piece, 1000));
    CHECK_DONE(cudaMalloc((void **)&neighbour, 1000));
    CHECK_DONE(cudaMemset(block, 1, MIB(2)));
    CHECK_DONE(cudaMemset(piece, 2, 1000));
    CHECK_DONE(cudaMemset(neighbour, 3, 1000));
    CHECK_DONE(cudaFree(block));
    CHECK_DONE(cudaFree(piece));
    CHECK_DONE(cudaMalloc((void **)&again, MIB(2)));
    CHECK(again == block && all(again, MIB(2), 0xA5));
    CHECK_DONE(cudaMalloc((void **)&again, 1000));
    CHECK(again == piece && all(again, 1000, 0xA5) && all(neighbour, 1000, 3));
    cudart_close(machine);
}

/* Rows of the device against rows kept here. */
static void test_two_dimensions(void)
{
    enum { WIDTH = 300, HEIGHT = 20 };
    sim *machine = cudart_open(1, GIB(1), NULL);
    char *block;
    size_t pitch, wrong = 0;
    fill_host(2);
    CHECK_DONE(cudaMallocPitch((void **)&block, &pitch, WIDTH, HEIGHT));
    CHECK_DONE(cudaMemset2D(block, pitch, 4, WIDTH, HEIGHT));
    CHECK(all(block, WIDTH, 4) && all(block + WIDTH, pitch - WIDTH, 0xA5) && all(block + pitch, WIDTH, 4));
    CHECK_DONE(cudaMemcpy2D(block, pitch, host, 400, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
    memset(back, 0, sizeof back);
    CHECK_DONE(cudaMemcpy2D(back, 1000, block, pitch, WIDTH, HEIGHT, cudaMemcpyDeviceToHost));
    for (size_t row = 0; row < HEIGHT; row++) {
        wrong += memcmp(back + row * 1000, host + row * 400, WIDTH) != 0 || back[row * 1000 + WIDTH] != 0;
    }
    CHECK_U64(wrong, ==, 0);
    CHECK_CODE(cudaMemset2D(block, WIDTH - 1, 4, WIDTH, HEIGHT), cudaErrorInvalidPitchValue);
    CHECK_CODE(cudaMemcpy2D(block, pitch, host, WIDTH - 1, WIDTH, HEIGHT, cudaMemcpyHostToDevice),
               cudaErrorInvalidPitchValue);
    CHECK_MSG(cudaMemset2D(block, WIDTH - 1, 4, WIDTH, 1) == cudaErrorInvalidPitchValue
              && cudaMemcpy2D(host, WIDTH, block, WIDTH - 1, WIDTH, 1, cudaMemcpyDeviceToHost)
              == cudaErrorInvalidPitchValue, "nor is a single row wider than its pitch");
    CHECK_CODE(cudaMemset2D(block, (size_t)INT32_MAX + 1, 4, 1, 2), cudaErrorInvalidPitchValue);
    CHECK_CODE(cudaMemcpy2D(block, 1, host, SIZE_MAX, 1, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    CHECK_CODE(cudaMemset2D(block, INT32_MAX, 4, 1, SIZE_MAX / 4), cudaErrorInvalidValue);
    CHECK_CODE(cudaMemcpy2D(block, 8, host, INT32_MAX, 1, SIZE_MAX / 4, cudaMemcpyHostToDevice),
               cudaErrorInvalidValue);
    CHECK_DONE(cudaMemset2D(block, pitch, 4, 0, HEIGHT));
    CHECK_DONE(cudaMemset2DAsync(block, pitch, 6, 5, 2, NULL));
    CHECK(all(block, 5, 6) && all(block + pitch, 5, 6));
    CHECK_DONE(cudaMemcpy2DAsync(block, pitch, host, 400, 5, 2, cudaMemcpyHostToDevice, NULL));
    CHECK_DONE(cudaMemcpy(back, block + pitch, 6, cudaMemcpyDefault));
    CHECK(memcmp(back, host + 400, 6) == 0);
    CHECK_DONE(cudaMemcpy2D(NULL, pitch, NULL, pitch, WIDTH, 0, cudaMemcpyHostToDevice));
    CHECK_U64(sim_finding_count(machine), ==, 0);
    CHECK_CODE(cudaMemset2D(block, pitch, 4, WIDTH, 2 * HEIGHT), cudaErrorInvalidValue);
    CHECK_U64(sim_finding_count(machine), ==, 1);
    cudart_close(machine);
}

/* Each is refused, is one finding that says this, and changes nothing. */
static void test_copies_outside(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    char *block, *next, *gone;
    CHECK_DONE(cudaMalloc((void **)&block, MIB(2)));
    CHECK_DONE(cudaMalloc((void **)&next, MIB(2)));
    CHECK_DONE(cudaMalloc((void **)&gone, MIB(2)));
    CHECK_DONE(cudaFree(gone));
    const struct { cudaError_t code; const char *says; } rows[] = {
        { cudaMemcpy(block + MIB(2) - 10, host, 11, cudaMemcpyHostToDevice), "cudaMemcpy to 11 bytes at +0x3ffff6" },
        { cudaMemcpy(back, block + MIB(1), MIB(2), cudaMemcpyDefault), "cudaMemcpy from 2097152 bytes at +0x300000" },
        { cudaMemset(gone, 0, 1), "cudaMemset of 1 bytes at +0x600000, which are not held by one cudaMalloc" },
        { cudaMemset(host, 0, 1), "cudaMemset of 1 bytes at an address that is neither a device's nor pinned" },
        { cudaMemcpy(host, back, 8, cudaMemcpyHostToDevice), "of kind 1 to an address of no device" },
        { cudaMemcpy(block, next, 8, cudaMemcpyHostToDevice), "of a device from one of a device" },
        { cudaMemcpy(block, gone, 8, cudaMemcpyDefault), "cudaMemcpy from 8 bytes at +0x600000" },
        { cudaMemcpyPeer(gone, 0, block, 0, 8), "cudaMemcpyPeer to 8 bytes at +0x600000" },
        { cudaMemcpyPeer(block, 1, next, 0, 8), "cudaMemcpyPeer with device 1 for +0x200000" },
        { cudaMemcpyPeerAsync(block, 0, next, 1, 8, NULL), "cudaMemcpyPeerAsync with device 1 for +0x400000" },
        { cudaMemcpyPeer(block, 0, host, 0, 8), "cudaMemcpyPeer with device 0 for an address of no device" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *says = sim_finding(machine, i) ? sim_finding(machine, i) : "nothing";
        int found = rows[i].code == cudaErrorInvalidValue && strstr(says, rows[i].says) != NULL;
        if (!CHECK_MSG(found, "found: %s", rows[i].says))
            printf("#   code %d, found: %s\n", (int)rows[i].code, says);
    }
    CHECK_U64(sim_finding_count(machine), ==, COUNT(rows));
    CHECK_CODE(cudaMemcpy(block, host, 8, (enum cudaMemcpyKind)5), cudaErrorInvalidMemcpyDirection);
    CHECK_CODE(cudaMemcpy(block, NULL, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    CHECK_CODE(cudaMemcpyPeer(block, 2, next, 0, 8), cudaErrorInvalidDevice);
    CHECK_DONE(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));
    CHECK_DONE(cudaMemcpyPeer(NULL, 1, host, 0, 0));
    CHECK_DONE(cudaMemset(NULL, 0, 0));
    CHECK_U64(sim_finding_count(machine), ==, COUNT(rows));
    CHECK(all(block, MIB(2), 0xA5) && all(next, MIB(2), 0xA5));
    cudart_close(machine);
}

/* Areas that share a byte are refused and found; those that only touch, or pass each other by, are not. */
static void test_overlaps(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    char *block, *other;
    CHECK_DONE(cudaMalloc((void **)&block, MIB(2)));
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaMalloc((void **)&other, MIB(2)));
    CHECK_DONE(cudaSetDevice(0));
    CHECK_DONE(cudaMemcpy(block + 100, block, 100, cudaMemcpyDeviceToDevice));
    CHECK_DONE(cudaMemcpy(block, block + 100, 100, cudaMemcpyDefault));
    CHECK_DONE(cudaMemcpyPeer(other, 1, block, 0, 100));
    CHECK_DONE(cudaMemcpy2D(block + 10, 20, block, 20, 10, 3, cudaMemcpyDeviceToDevice));
    CHECK_DONE(cudaMemcpy2D(block + 60, 20, block, 20, 20, 3, cudaMemcpyDeviceToDevice));
    CHECK_DONE(cudaMemcpy2D(block, 20, block + 50, 20, 10, 3, cudaMemcpyDeviceToDevice));
    CHECK_DONE(cudaMemcpy2D(block, 20, block + 55, 20, 10, 3, cudaMemcpyDeviceToDevice));
    CHECK_DONE(cudaMemcpy(host + 100, host, 100, cudaMemcpyHostToHost));
    CHECK_U64(sim_finding_count(machine), ==, 0);
    CHECK_CODE(cudaMemcpy(block + 99, block, 100, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    CHECK_CODE(cudaMemcpyAsync(block, block + 99, 100, cudaMemcpyDefault, NULL), cudaErrorInvalidValue);
    CHECK_CODE(cudaMemcpy(block, block, 1, cudaMemcpyDefault), cudaErrorInvalidValue);
    CHECK_CODE(cudaMemcpy(host, host + 99, 100, cudaMemcpyHostToHost), cudaErrorInvalidValue);
    CHECK_CODE(cudaMemcpy2D(block + 9, 20, block, 20, 10, 3, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    CHECK_CODE(cudaMemcpy2D(block + 51, 20, block, 20, 10, 4, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    CHECK_U64(sim_finding_count(machine), ==, 6);
    CHECK(strstr(sim_finding(machine, 5), "cudaMemcpy2D of 40 bytes between areas that overlap") != NULL);
    cudart_close(machine);
}

/* Pinned memory ends where it was asked to; what lies behind it is somebody else's. */
static void test_pinned_memory_ends(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    char *block, *pinned;
    CHECK_DONE(cudaMalloc((void **)&block, MIB(2)));
    CHECK_DONE(cudaMallocHost((void **)&pinned, 1000));
    CHECK_DONE(cudaMemset(pinned + 990, 1, 10));
    CHECK_DONE(cudaMemcpy(block, pinned, 1000, cudaMemcpyHostToDevice));
    CHECK_DONE(cudaMemcpy(pinned + 999, block, 1, cudaMemcpyDeviceToHost));
    CHECK_U64(sim_finding_count(machine), ==, 0);
    CHECK_CODE(cudaMemset(pinned + 990, 1, 11), cudaErrorInvalidValue);
    CHECK_CODE(cudaMemcpy(pinned, block, 1001, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    CHECK_CODE(cudaMemcpy(block, pinned + 999, 2, cudaMemcpyDefault), cudaErrorInvalidValue);
    CHECK_U64(sim_finding_count(machine), ==, 3);
    CHECK(strstr(sim_finding(machine, 0), "cudaMemset of 11 bytes of pinned memory that ends after 10") != NULL);
    CHECK_DONE(cudaFreeHost(pinned));
    cudart_close(machine);
}

/* Sixteen devices have the addresses in which a program itself lies: they are no device's. */
static void test_the_host_among_sixteen_devices(void)
{
    sim *machine = cudart_open(16, GIB(1), NULL);
    unsigned char here[16] = { 1 }, *heap = calloc(1, 16);
    char *block;
    void *const all_kinds[] = { here, heap, host, &machine };
    CHECK_DONE(cudaMalloc((void **)&block, MIB(2)));
    for (size_t i = 0; heap && i < 3; i++) {
        CHECK_DONE(cudaMemcpy(block, all_kinds[i], 16, cudaMemcpyHostToDevice));
        CHECK_DONE(cudaMemcpy(all_kinds[i], block, 16, cudaMemcpyDefault));
    }
    CHECK_U64(sim_finding_count(machine), ==, 0);
    for (size_t i = 0; i < COUNT(all_kinds); i++) {
        CHECK_CODE(cudaFree(all_kinds[i]), cudaErrorInvalidValue);
        CHECK_MSG(strstr(sim_finding(machine, i), "device 0: cudaFree of an address of no device") != NULL,
                  "no address of the host is told");
    }
    free(heap);
    cudart_close(machine);
}

static void test_names_for_a_stream_a_thread(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    char *block;
    fill_host(3);
    CHECK_DONE(cudaMalloc((void **)&block, MIB(2)));
    CHECK_DONE(cudaMemset_ptds(block, 1, 100));
    CHECK_DONE(cudaMemsetAsync_ptsz(block, 2, 50, cudaStreamPerThread));
    CHECK(all(block, 50, 2) && all(block + 50, 50, 1));
    CHECK_DONE(cudaMemset2D_ptds(block, 10, 3, 5, 2));
    CHECK(all(block, 5, 3) && all(block + 5, 5, 2) && all(block + 10, 5, 3));
    CHECK_DONE(cudaMemcpy_ptds(block, host, 1000, cudaMemcpyHostToDevice));
    CHECK_DONE(cudaMemcpyAsync_ptsz(back, block, 1000, cudaMemcpyDeviceToHost, cudaStreamPerThread));
    CHECK(memcmp(host, back, 1000) == 0);
    CHECK_DONE(cudaMemcpy2D_ptds(block, 10, host + 1, 10, 10, 10, cudaMemcpyHostToDevice));
    CHECK_DONE(cudaMemcpy(back, block, 100, cudaMemcpyDefault));
    CHECK(memcmp(host + 1, back, 100) == 0);
    CHECK_DONE(cudaMemset2DAsync_ptsz(block, 10, 4, 5, 2, cudaStreamPerThread));
    CHECK(all(block + 10, 5, 4));
    CHECK_DONE(cudaMemcpy2DAsync_ptsz(block, 10, host, 10, 10, 10, cudaMemcpyHostToDevice, cudaStreamPerThread));
    CHECK_DONE(cudaMemcpy(back, block, 100, cudaMemcpyDefault));
    CHECK(memcmp(host, back, 100) == 0);
    CHECK_U64(sim_finding_count(machine), ==, 0);
    cudart_close(machine);
}

int main(void)
{
    test_round_trips();
    test_memset();
    test_freed_memory_forgets();
    test_two_dimensions();
    test_copies_outside();
    test_overlaps();
    test_pinned_memory_ends();
    test_the_host_among_sixteen_devices();
    test_names_for_a_stream_a_thread();
    return tap_done();
}
#endif
