/* The contract of a CUDA device, asked of the simulated one by its own functions.
   It must not know what the cases say: tests/contract. */
#include "contract.h"

static void table(sim *machine, int device, gpuarena_driver *driver) { sim_driver(machine, device, driver); }

static int stream_create(const contract *self, int is_blocking, void **stream)
{
    gpuarena_stream made = NULL;
    int code = sim_stream_create(self->machine, self->device, is_blocking, &made);
    if (code == 0) *stream = (void *)made;
    return code;
}

static int stream_destroy(const contract *self, void *stream)
{
    return sim_stream_destroy(self->machine, self->device, stream);
}

static int stream_query(const contract *self, void *stream)
{
    return sim_stream_query(self->machine, self->device, stream);
}

static int stream_wait(const contract *self, void *stream)
{
    return sim_stream_wait(self->machine, self->device, stream);
}

static int work(const contract *self, void *stream, uint64_t work_ns)
{
    return sim_work(self->machine, self->device, stream, work_ns);
}

static int begin(const contract *self, void *stream, int mode)
{
    return sim_capture_begin(self->machine, self->device, stream, mode);
}

static int end(const contract *self, void *stream, void **made)
{
    return sim_capture_end(self->machine, self->device, stream, made);
}

static int launch(const contract *self, void *made, void *stream, uint64_t op)
{
    return sim_graph_launch(self->machine, self->device, made, stream, op);
}

static int graph_drop(const contract *self, void *made) { return sim_graph_destroy(self->machine, made); }

static int fill(const contract *self, void *ptr, uint64_t bytes, uint64_t pattern)
{
    sim_fill(self->machine, self->device, ptr, bytes, pattern);
    return 0;
}

static int has(const contract *self, void *ptr, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset)
{
    return sim_verify(self->machine, self->device, ptr, bytes, pattern, bad_offset);
}

static const face faces[] = {
    { "sim", 0, NULL, table, stream_create, stream_destroy, stream_query, stream_wait, work, begin, end, launch,
      graph_drop, fill, has, NULL, NULL },
};

int main(void)
{
    static const char *const files[] = { "memory", "virtual", "streams", "captures", "pools" };
    for (size_t i = 0; i < COUNT(files); i++) contract_file(faces, COUNT(faces), files[i]);
    for (size_t i = 0; i < COUNT(faces); i++) contract_prohibitions(&faces[i]);
    return tap_done();
}
