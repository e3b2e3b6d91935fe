/* `phases`: a transformer's evaluation, without gradients: a prompt, then one token a sequence at a time.
   Must not know of training, nor of the other phases.
   Tested by tests/test_workload_phases.c. */
#include "phases.h"

/* The pass reads all its weights, and multiplies them with every row: the slower of the two counts. */
static uint64_t phases_matrix_ns(phases *run, uint64_t elements)
{
    uint64_t read_ns = train_times(&run->model, 2, elements) / RATE_MEMORY_BYTES_PER_NS;
    uint64_t flops = train_times(&run->model, train_times(&run->model, 2, run->rows), elements);
    return flops / RATE_FLOPS_PER_NS > read_ns ? flops / RATE_FLOPS_PER_NS : read_ns;
}

static void phases_rows(phases *run, uint64_t rows)
{
    run->rows = rows;
    run->narrow_bytes = train_times(&run->model, train_times(&run->model, 2, rows), run->model.hidden);
    run->wide_bytes = train_times(&run->model, train_times(&run->model, 2, rows), run->model.ff);
}

/* Keys or values of this pass join the cached ones: in a new block, as concatenating does. The first ones are the
   cache. */
static void phases_cache(phases *run, uint32_t *cached, uint32_t fresh)
{
    train *model = &run->model;
    if (run->cached_rows == 0) {
        *cached = fresh;
        return;
    }
    uint64_t row_bytes = train_times(model, 2, model->hidden);
    uint64_t bytes = train_times(model, row_bytes, train_plus(model, run->cached_rows, run->rows));
    uint32_t longer = train_new(model, bytes);
    train_kernel(model, 0, train_times(model, 2, bytes) / RATE_MEMORY_BYTES_PER_NS);
    train_touch(model, *cached);
    train_touch(model, fresh);
    train_touch(model, longer);
    train_free(model, *cached);
    train_free(model, fresh);
    *cached = longer;
}

/* Takes the layer's input, which is freed; returns the input of its second half. */
static uint32_t phases_attention(phases *run, uint64_t layer, uint32_t source)
{
    train *model = &run->model;
    uint64_t narrow = run->narrow_bytes;
    uint32_t weights = model->weights + (uint32_t)layer * TRAIN_MATRICES, *cached = run->cache + layer * 2;
    uint32_t norm = train_new(model, narrow);
    uint32_t q = train_new(model, narrow), k = train_new(model, narrow), v = train_new(model, narrow);
    train_free(model, norm);
    uint32_t rotated_q = train_new(model, narrow), rotated_k = train_new(model, narrow);
    train_free(model, q);
    train_free(model, k);
    phases_cache(run, &cached[0], rotated_k);
    phases_cache(run, &cached[1], v);
    uint32_t attention = train_new(model, narrow), projected = train_new(model, narrow);
    uint32_t middle = train_new(model, narrow);
    const uint32_t touched[] = { source, cached[0], cached[1], rotated_q, attention, projected, middle };
    train_kernel(model, 0, phases_matrix_ns(run, train_times(model, 4, model->shapes[0])));
    train_touch_run(model, weights, 4);
    train_touch(model, model->norms + (uint32_t)layer * 2);
    train_touch_all(model, touched, sizeof touched / sizeof touched[0]);
    train_free(model, rotated_q);
    train_free(model, attention);
    train_free(model, projected);
    train_free(model, source);
    return middle;
}

/* Takes the middle, which is freed; returns the layer's output. */
static uint32_t phases_feed_forward(phases *run, uint64_t layer, uint32_t middle)
{
    train *model = &run->model;
    uint32_t weights = model->weights + (uint32_t)layer * TRAIN_MATRICES + 4;
    uint32_t norm = train_new(model, run->narrow_bytes);
    uint32_t gate = train_new(model, run->wide_bytes), up = train_new(model, run->wide_bytes);
    train_free(model, norm);
    uint32_t activation = train_new(model, run->wide_bytes);
    train_free(model, gate);
    uint32_t product = train_new(model, run->wide_bytes);
    train_free(model, activation);
    train_free(model, up);
    uint32_t down = train_new(model, run->narrow_bytes), output = train_new(model, run->narrow_bytes);
    const uint32_t touched[] = { middle, product, down, output };
    train_kernel(model, 0, phases_matrix_ns(run, train_times(model, 3, model->shapes[4])));
    train_touch_run(model, weights, 3);
    train_touch(model, model->norms + (uint32_t)layer * 2 + 1);
    train_touch_all(model, touched, sizeof touched / sizeof touched[0]);
    train_free(model, product);
    train_free(model, down);
    train_free(model, middle);
    return output;
}

/* All layers over the tokens of this pass; returns the last one's output. */
static uint32_t phases_layers(phases *run, uint32_t tokens)
{
    train *model = &run->model;
    uint32_t output = train_new(model, run->narrow_bytes);
    train_kernel(model, 0, run->narrow_bytes / RATE_MEMORY_BYTES_PER_NS);
    train_touch(model, tokens);
    train_touch(model, model->embedding);
    train_touch(model, output);
    for (uint64_t layer = 0; layer < model->layers && !train_is_over(model); layer++) {
        output = phases_feed_forward(run, layer, phases_attention(run, layer, output));
    }
    run->cached_rows = train_plus(model, run->cached_rows, run->rows);
    return output;
}

/* Takes the last layer's output, which is freed, by way of logits to what is made of them. */
static void phases_logits(phases *run, uint32_t output, uint32_t made)
{
    train *model = &run->model;
    uint64_t bytes = train_times(model, train_times(model, 2, run->rows), model->vocab);
    uint32_t logits = train_new(model, bytes);
    const uint32_t touched[] = { output, model->head, model->last_norm, logits, made };
    train_kernel(model, 0, phases_matrix_ns(run, train_times(model, model->vocab, model->hidden)));
    train_touch_all(model, touched, sizeof touched / sizeof touched[0]);
    train_free(model, logits);
    train_free(model, output);
}

/* One more token of every sequence goes through the layers, and joins the 64-bit ones that did before: in a new
   block. */
static uint32_t phases_generate(phases *run, uint32_t tokens)
{
    train *model = &run->model;
    uint32_t output = phases_layers(run, tokens);
    uint32_t longer = train_new(model, train_times(model, 8, run->cached_rows));
    phases_logits(run, output, longer);
    train_kernel(model, 0, 1);
    train_touch(model, tokens);
    train_touch(model, longer);
    train_free(model, tokens);
    return longer;
}

void phases_evaluate(phases *run)
{
    train *model = &run->model;
    train_draw(model);
    run->cached_rows = 0;
    phases_rows(run, model->tokens);
    uint32_t tokens = train_new(model, train_times(model, 8, run->rows));
    uint32_t likelihoods = train_new(model, train_times(model, 4, run->rows));
    train_kernel(model, 0, 1);
    train_touch(model, run->data);
    train_touch(model, tokens);
    train_free(model, run->data);
    phases_logits(run, phases_layers(run, tokens), likelihoods);
    phases_rows(run, model->batch);
    for (uint64_t token = 0; token < run->generate && !train_is_over(model); token++) {
        tokens = phases_generate(run, tokens);
    }
    train_free_all(model, run->cache, (size_t)model->layers * 2, 0);
    run->results[run->result_count++] = likelihoods;
    run->results[run->result_count++] = tokens;
}
