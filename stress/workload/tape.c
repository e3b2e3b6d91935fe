/* `tape`: activations that a step's tape retains until its gradients are there, or until nobody holds the tape. */
#include "maker.h"

/* Memory that each layer of a transformer retains, as Korthikanti et al. count it ("Reducing Activation Recomputation
   in Large Transformer Models", 2022): sbh (34 + 5 as/h) bytes, in 16 bits, a byte for each entry of a dropout mask.
   BERT-base's shapes by default: 12 layers, 768 wide, 12 heads, 30,522 words. A step walks forward, which lays one
   block after the other on the tape; then back, which takes them off in reverse order, with a gradient for each; the
   gradients of the weights live to the end of the step.
   keep=N: a tape is held longer, as TensorFlow's persistent GradientTape is, or PyTorch's graph with
   retain_graph=True while `loss` refers to it: its blocks are freed only when N newer ones are complete. */
enum { TAPE_POSITIONS = 514, TAPE_MATRICES = 4 };            /* 512 positions and 2 kinds of segment, beside words */

/* In order: bytes of s x b x h, or of a x s x s x b; whether it has a gradient, which masks have not; and a temporary
   of the step before it, in the same unit. */
typedef struct tape_entry { uint32_t narrow, scores, is_mask, scratch; } tape_entry;
static const tape_entry tape_layer[] = {
    { 2, 0, 0, 0 }, { 2, 0, 0, 0 },              /* the layer's input; the norm's output */
    { 2, 0, 0, 0 }, { 2, 0, 0, 0 }, { 2, 0, 0, 0 },          /* q, k, v */
    { 0, 2, 0, 2 }, { 0, 1, 1, 0 }, { 0, 2, 0, 0 },          /* softmax of the scores; its dropout */
    { 2, 0, 0, 0 }, { 1, 0, 1, 2 },              /* attention's output; the mask behind its projection */
    { 2, 0, 0, 0 }, { 2, 0, 0, 0 },              /* the second half's input; the norm's output */
    { 8, 0, 0, 0 }, { 8, 0, 0, 0 }, { 1, 0, 1, 2 }           /* GELU's input and output; the mask behind fc2 */
};
enum { TAPE_ENTRIES = sizeof tape_layer / sizeof tape_layer[0] };

typedef struct tape {
    maker     words;
    uint64_t  layers, hidden, heads, vocab, batch, steps, keep;
    family_range seq;
    uint64_t  narrow_bytes, scores_bytes;        /* of this step: s b h, and a s s b */
    uint64_t  logits_bytes;
    size_t    tape_count;                        /* blocks of a tape: entries a layer, head input, logits, loss */
    uint32_t *tapes;                             /* keep + 1 of them, in a ring by step */
    uint32_t *gradients;                         /* of weights: TAPE_MATRICES a layer */
} tape;

static const family_option tape_options[] = {
    OPTION(tape, layers, "layers", 1, 100000, 12),
    OPTION(tape, hidden, "hidden", 1, 1 << 20, 768),
    OPTION(tape, heads, "heads", 1, 1 << 20, 12),
    OPTION(tape, vocab, "vocab", 1, UINT32_MAX, 30522),
    OPTION(tape, batch, "batch", 1, UINT32_MAX, 8),
    OPTION_RANGE(tape, seq, "seq", 1, UINT32_MAX, 64, 512),
    OPTION(tape, steps, "steps", 0, 1000000, 8),
    OPTION(tape, keep, "keep", 0, 64, 1),
    OPTION(tape, words.random, "seed", 0, UINT64_MAX, 1),
};

static uint64_t tape_matrix_bytes(const tape *state, uint64_t matrix)    /* 12 h^2 + 13 h in all, in 16 bits */
{
    static const uint32_t squares[TAPE_MATRICES] = { 3, 1, 4, 4 }, rows[TAPE_MATRICES] = { 3, 1 + 4, 4, 1 };
    return 2 * (squares[matrix] * state->hidden * state->hidden + rows[matrix] * state->hidden);
}

static void tape_shapes(tape *state, uint64_t length)
{
    uint64_t tokens = MAKER_TIMES(state, length, state->batch);
    state->narrow_bytes = MAKER_TIMES(state, tokens, state->hidden);
    state->scores_bytes = MAKER_TIMES(state, tokens, length, state->heads);
    state->logits_bytes = MAKER_TIMES(state, 2, tokens, state->vocab);
}

static void tape_forward(tape *state, uint32_t *laid)
{
    uint32_t before = 0;                         /* the embedding's table, to begin with */
    MAKER_EACH(state, i, state->layers * TAPE_ENTRIES) {
        const tape_entry *entry = &tape_layer[i % TAPE_ENTRIES];
        uint64_t unit = entry->scores ? state->scores_bytes : state->narrow_bytes;
        uint64_t bytes = MAKER_TIMES(state, entry->narrow + entry->scores, unit);
        uint64_t scratch_bytes = MAKER_TIMES(state, entry->scratch, unit);
        uint32_t scratch = scratch_bytes ? maker_made(state, scratch_bytes, before) : before;
        laid[i] = maker_made(state, bytes, scratch);
        if (scratch_bytes) MAKER_FREE(state, scratch);
        before = laid[i];
    }
    uint32_t *head = laid + state->tape_count - 3;
    head[0] = maker_made(state, MAKER_TIMES(state, 2, state->narrow_bytes), before);
    head[1] = maker_made(state, state->logits_bytes, head[0]);
    head[2] = maker_made(state, 4, head[1]);
}

/* The tape is read from its end; where nobody holds it, each block goes as soon as its gradient is there. */
static void tape_backward(tape *state, const uint32_t *laid)
{
    uint32_t gradient = 0;
    size_t gradient_count = 0;
    for (size_t i = state->tape_count - 1; i-- > 0 && !maker_is_over(state); ) {
        size_t in_layer = i % TAPE_ENTRIES;
        int is_head = i >= state->tape_count - 3, is_last = i == state->tape_count - 2;
        if (is_head || !tape_layer[in_layer].is_mask) {
            uint32_t made = maker_made(state, maker_bytes(state, laid[i]), laid[i]);
            if (!is_last) MAKER_FREE(state, gradient);
            gradient = made;
        }
        for (uint32_t matrix = 0; matrix < TAPE_MATRICES && !is_head && in_layer == 0; matrix++) {
            state->gradients[gradient_count++] = maker_made(state, tape_matrix_bytes(state, matrix), laid[i]);
        }
        if (state->keep == 0) MAKER_FREE(state, laid[i]);
    }
    if (state->keep == 0) MAKER_FREE(state, laid[state->tape_count - 1]);
    MAKER_FREE(state, gradient);
    maker_free_all(state, state->gradients, gradient_count, 0);
}

static uint32_t *tape_of(const tape *state, uint64_t step)
{
    return state->tapes + step % (state->keep + 1) * state->tape_count;
}

static void tape_free(tape *state, uint64_t step)
{
    maker_free_all(state, tape_of(state, step), state->tape_count, 0);
}

static void tape_make(void *self)
{
    tape *state = self;
    uint64_t matrices = state->layers * TAPE_MATRICES;
    uint64_t rows = state->vocab + TAPE_POSITIONS + 2;       /* and a norm's scale and shift */
    state->tape_count = (size_t)state->layers * TAPE_ENTRIES + 3;
    state->tapes = maker_array(state, (state->keep + 1) * state->tape_count, sizeof *state->tapes);
    state->gradients = maker_array(state, matrices, sizeof *state->gradients);
    maker_new(state, MAKER_TIMES(state, 2 * rows, state->hidden));
    MAKER_EACH(state, i, matrices) maker_new(state, tape_matrix_bytes(state, i % TAPE_MATRICES));
    MAKER_STEPS(state, "step", step, state->steps) {
        tape_shapes(state, maker_draw_of(state, state->seq));
        tape_forward(state, tape_of(state, step));
        if (state->keep > 0 && step >= state->keep) tape_free(state, step - state->keep);
        tape_backward(state, tape_of(state, step));
    }
    uint64_t held = state->keep < state->steps ? state->keep : state->steps;
    MAKER_EACH(state, i, held) tape_free(state, state->steps - held + i);
    maker_free_run(state, 0, 1 + matrices);
}

/* The peak is more than is told where gradients of weights outweigh a tape: with few tokens. */
FAMILY(tape, "activations that tapes retain: laid down in order, taken up in reverse; a held tape outlives its step",
       "weights x 2 bytes + (keep + 1) tapes of layers x sbh (34 + 5 as/h) + 2 sb (h + vocab) + 4; keep=0: + 2 sb "
       "vocab", 4499422664);
