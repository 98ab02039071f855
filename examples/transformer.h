/* SPDX-License-Identifier: Apache-2.0 */
/* transformer.h - a small transformer over bytes and its gradient, for language_model.c.
 *
 * RMSNorm, causal attention, RMSNorm, SwiGLU in each layer; cross-entropy at the end. Every norm,
 * softmax, gated unit and loss, and the gradient of each, is an operator of vjp; matrix products
 * are OpenBLAS's. From top to bottom: the weights, the operators, forward, backward. */
#ifndef TRANSFORMER_H
#define TRANSFORMER_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>
#include <vjp/vjp.h>

/* The model computes in f32. tests/test_language_model.c compiles it in f64, to check its
 * gradients. */
#ifdef TRANSFORMER_F64
typedef double real;
static const vjp_dtype REAL = VJP_F64;
#define cblas(name) cblas_d##name
#else
typedef float real;
static const vjp_dtype REAL = VJP_F32;
#define cblas(name) cblas_s##name
#endif

enum {
    BYTES = 256,   /* the vocabulary */
    CONTEXT = 128, /* the bytes of a sequence */
    WIDTH = 128,   /* of the residual stream */
    LAYERS = 4,
    HEADS = 4,
    HEAD = WIDTH / HEADS,
    HIDDEN = 352, /* of the gated unit */
    NORMS = 2 * LAYERS + 1,
    IGNORED = -100 /* the label of a byte that is not to be predicted: cross_entropy's default */
};

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void *zeros(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        stop("transformer", "out of memory");
    return memory;
}

/* between - a number in [low, high), from a 64-bit linear congruential generator. */
static double between(uint64_t *state, double low, double high)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * ((double)(*state >> 40) * 0x1p-24);
}

/* ---- the weights ---------------------------------------------------------------------------- */

/* Matrices are [inputs][outputs], so that a layer is values * weights. Only reals, so that the
 * optimizer can walk over them as one array. */
typedef struct layer {
    real qkv[WIDTH * 3 * WIDTH];     /* queries, keys and values of all heads, side by side */
    real mix[WIDTH * WIDTH];         /* the heads' outputs, back into the stream */
    real expand[WIDTH * 2 * HIDDEN]; /* gate and up, side by side */
    real reduce[HIDDEN * WIDTH];
} layer;

typedef struct params {
    real gain[NORMS][WIDTH];
    real byte[BYTES][WIDTH]; /* embeddings */
    layer layers[LAYERS];
    real head[WIDTH * BYTES];
} params;

static const size_t NPARAMS = sizeof(params) / sizeof(real);

static void fill(uint64_t *rng, double spread, size_t count, real *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (real)between(rng, -spread, spread);
}

/* Matrices keep the size of what passes through them; those that add to the stream start smaller,
 * by the number of additions. */
static void init(uint64_t *rng, params *p)
{
    double spread = sqrt(3.0 / WIDTH), add = sqrt(0.5 / LAYERS);
    for (int n = 0; n < NORMS; n++)
        for (int i = 0; i < WIDTH; i++)
            p->gain[n][i] = 1;
    fill(rng, 0.5, BYTES * WIDTH, p->byte[0]);
    for (int l = 0; l < LAYERS; l++) {
        layer *w = &p->layers[l];
        fill(rng, spread, WIDTH * 3 * WIDTH, w->qkv);
        fill(rng, spread * add, WIDTH * WIDTH, w->mix);
        fill(rng, spread, WIDTH * 2 * HIDDEN, w->expand);
        fill(rng, sqrt(3.0 / HIDDEN) * add, HIDDEN * WIDTH, w->reduce);
    }
    fill(rng, 0.1 * spread, WIDTH * BYTES, p->head);
}

/* ---- its operators -------------------------------------------------------------------------- */

/* A plan per operator and shape, created once. Shards run them at the same time, each with a
 * workspace of its own. */
enum {
    NORM,
    NORM_BACKWARD,
    SOFTMAX,
    SOFTMAX_BACKWARD,
    SWIGLU,
    SWIGLU_BACKWARD,
    LOSS,
    NPLANS
};

typedef struct plans {
    vjp_plan *plan[NPLANS];
    size_t workspace_size;
} plans;

/* Tensors are in the order of docs/operators/NAME.md; NULL: an optional one that is not given. */
static void prepare(vjp_context *ctx, plans *all, int which, const char *op, const vjp_attr *attrs,
                    int nattrs, const vjp_tensor *const *tensors, int ntensors)
{
    char reason[VJP_REASON_SIZE];
    if (vjp_plan_create(ctx, op, attrs, nattrs, tensors, ntensors, &all->plan[which], reason,
                        sizeof reason))
        stop(op, reason);
    size_t size = vjp_plan_workspace_size(all->plan[which]);
    all->workspace_size = size > all->workspace_size ? size : all->workspace_size;
}

static vjp_tensor tensor(vjp_dtype dtype, int ndim, int64_t dim0, int64_t dim1, int64_t stride0)
{
    vjp_tensor made; /* constant shapes: describing them cannot fail */
    vjp_tensor_strided(dtype, ndim, (const int64_t[]){ dim0, dim1 },
                       (const int64_t[]){ stride0, 1 }, &made);
    return made;
}

static void plans_create(vjp_context *ctx, plans *all)
{
    /* add_rms_norm adds what a layer has computed to the residual stream, then normalizes it. */
    const vjp_tensor stream = tensor(REAL, 2, CONTEXT, WIDTH, WIDTH);
    const vjp_tensor gain = tensor(REAL, 1, WIDTH, 1, 1), each = tensor(REAL, 1, CONTEXT, 1, 1);
    const vjp_tensor *norm[] = { &stream, &stream, &gain, &stream, &stream, &each };
    const vjp_tensor *unnorm[] = { &stream, &gain, &each, &stream, &stream, &stream, &gain };
    prepare(ctx, all, NORM, "add_rms_norm", NULL, 0, norm, 6);
    prepare(ctx, all, NORM_BACKWARD, "add_rms_norm_backward", NULL, 0, unnorm, 7);

    /* Causal: a position's row ends at that position, so that it attends to no later one. */
    vjp_tensor scores;
    vjp_tensor_contiguous(REAL, 3, (const int64_t[]){ HEADS, CONTEXT, CONTEXT }, &scores);
    const vjp_tensor *attend[] = { &scores, NULL, NULL, &scores };
    const vjp_tensor *unattend[] = { &scores, &scores, NULL, NULL, &scores };
    const vjp_attr causal[] = { vjp_attr_s64("axis", 2), vjp_attr_bool("causal", 1),
                                vjp_attr_f64("scale", 1 / sqrt(HEAD)) };
    prepare(ctx, all, SOFTMAX, "softmax", causal, 3, attend, 4);
    prepare(ctx, all, SOFTMAX_BACKWARD, "softmax_backward", causal, 3, unattend, 5);

    /* gate and up are the two halves of each row of one matrix. */
    const vjp_tensor half = tensor(REAL, 2, CONTEXT, HIDDEN, 2 * HIDDEN);
    const vjp_tensor hidden = tensor(REAL, 2, CONTEXT, HIDDEN, HIDDEN);
    const vjp_tensor *gate[] = { &half, &half, &hidden };
    const vjp_tensor *ungate[] = { &half, &half, &hidden, &half, &half };
    prepare(ctx, all, SWIGLU, "swiglu", NULL, 0, gate, 3);
    prepare(ctx, all, SWIGLU_BACKWARD, "swiglu_backward", NULL, 0, ungate, 5);

    /* The loss and its gradient in one call. diff_loss is one number, repeated: stride 0. */
    const vjp_tensor logits = tensor(REAL, 2, CONTEXT, BYTES, BYTES);
    const vjp_tensor label = tensor(VJP_S32, 1, CONTEXT, 1, 1);
    const vjp_tensor same = tensor(REAL, 1, CONTEXT, 1, 0);
    const vjp_tensor *loss[] = { &logits, &label, NULL, &same, &each, &logits };
    prepare(ctx, all, LOSS, "cross_entropy_fused", NULL, 0, loss, 6);
}

static void plans_destroy(plans *all)
{
    for (int i = 0; i < NPLANS; i++)
        vjp_plan_destroy(all->plan[i]);
}

/* ---- forward -------------------------------------------------------------------------------- */

/* A shard computes one sequence at a time. What forward computes stays here for backward. */
typedef struct shard {
    const plans *ops;
    void *workspace;
    uint8_t bytes[CONTEXT];
    int32_t labels[CONTEXT]; /* the byte that follows each */
    real embedded[CONTEXT * WIDTH];
    real added[CONTEXT * WIDTH]; /* what a layer adds to the stream */
    real stream[NORMS][CONTEXT * WIDTH], normal[NORMS][CONTEXT * WIDTH], rstd[NORMS][CONTEXT];
    struct {
        real qkv[CONTEXT * 3 * WIDTH];
        real attention[HEADS][CONTEXT * CONTEXT]; /* of each position to each */
        real heads[CONTEXT * WIDTH];
        real gates[CONTEXT * 2 * HIDDEN], hidden[CONTEXT * HIDDEN];
    } layers[LAYERS];
    real logits[CONTEXT * BYTES], loss[CONTEXT];

    real diff_stream[CONTEXT * WIDTH], diff_normal[CONTEXT * WIDTH], diff_gain[WIDTH];
    real diff_qkv[CONTEXT * 3 * WIDTH], diff_attention[HEADS][CONTEXT * CONTEXT];
    real diff_heads[CONTEXT * WIDTH];
    real diff_gates[CONTEXT * 2 * HIDDEN], diff_hidden[CONTEXT * HIDDEN];
    params diff;                                             /* summed over the shard's sequences */
    real cosine[CONTEXT][HEAD / 2], sine[CONTEXT][HEAD / 2]; /* for rotate */
} shard;

static shard *shard_create(const plans *ops)
{
    shard *s = zeros(1, sizeof *s);
    s->ops = ops;
    s->workspace = zeros(ops->workspace_size, 1);
    for (int t = 0; t < CONTEXT; t++)
        for (int i = 0; i < HEAD / 2; i++) {
            double angle = t * pow(10000.0, -2.0 * i / HEAD);
            s->cosine[t][i] = (real)cos(angle);
            s->sine[t][i] = (real)sin(angle);
        }
    return s;
}

static void shard_destroy(shard *s)
{
    free(s->workspace);
    free(s);
}

static void run(shard *s, int which, const void *const *inputs, void *const *outputs)
{
    size_t size = s->ops->workspace_size;
    const vjp_plan *plan = s->ops->plan[which];
    if (vjp_plan_run(plan, inputs, outputs, s->workspace, size, NULL) == VJP_OK)
        return;
    /* A run returns only a status; the check also gives the reason. */
    char reason[VJP_REASON_SIZE];
    vjp_status status =
        vjp_plan_check(plan, inputs, outputs, s->workspace, size, reason, sizeof reason);
    stop(vjp_status_string(status), reason);
}

/* multiply - c = a * b + keep * c, with a of m x k and b of k x n elements after transposing. The
 * strides of rows are those in memory. */
static void multiply(int m, int n, int k, CBLAS_TRANSPOSE ta, const real *a, int stride_a,
                     CBLAS_TRANSPOSE tb, const real *b, int stride_b, int keep, real *c,
                     int stride_c)
{
    cblas(gemm)(CblasRowMajor, ta, tb, m, n, k, 1, a, stride_a, b, stride_b, (real)keep, c,
                stride_c);
}

/* dense - dst = src * w, for every position. */
static void dense(int inputs, int outputs, const real *src, const real *w, real *dst)
{
    multiply(CONTEXT, outputs, inputs, CblasNoTrans, src, inputs, CblasNoTrans, w, outputs, 0, dst,
             outputs);
}

/* normalize - the stream gets what was added to it; then norm n. */
static void normalize(shard *s, const params *p, int n)
{
    const real *before = n ? s->stream[n - 1] : s->embedded;
    run(s, NORM, (const void *[]){ before, s->added, p->gain[n] },
        (void *[]){ s->normal[n], s->stream[n], s->rstd[n] });
}

/* rotate - turn each pair of elements of queries and keys by an angle in proportion to the
 * position, so that their products depend on the distance between positions. sign -1 turns back:
 * the gradient. */
static void rotate(const shard *s, real sign, real *qkv)
{
    for (int t = 0; t < CONTEXT; t++, qkv += 3 * WIDTH)
        for (int i = 0; i < WIDTH; i++) { /* the pairs of queries, then those of keys */
            real c = s->cosine[t][i % (HEAD / 2)], d = sign * s->sine[t][i % (HEAD / 2)];
            real x = qkv[2 * i], y = qkv[2 * i + 1];
            qkv[2 * i] = x * c - y * d;
            qkv[2 * i + 1] = x * d + y * c;
        }
}

/* attend - per head: heads = softmax(q * k^T / sqrt(HEAD)) * v. */
static void attend(shard *s, int l)
{
    real *qkv = s->layers[l].qkv;
    rotate(s, 1, qkv);
    for (int h = 0; h < HEADS; h++) {
        const real *q = qkv + h * HEAD, *k = q + WIDTH;
        multiply(CONTEXT, CONTEXT, HEAD, CblasNoTrans, q, 3 * WIDTH, CblasTrans, k, 3 * WIDTH, 0,
                 s->layers[l].attention[h], CONTEXT);
    }
    run(s, SOFTMAX, (const void *[]){ s->layers[l].attention, NULL, NULL },
        (void *[]){ s->layers[l].attention }); /* in place */
    for (int h = 0; h < HEADS; h++) {
        const real *v = qkv + h * HEAD + 2 * WIDTH;
        multiply(CONTEXT, HEAD, CONTEXT, CblasNoTrans, s->layers[l].attention[h], CONTEXT,
                 CblasNoTrans, v, 3 * WIDTH, 0, s->layers[l].heads + h * HEAD, WIDTH);
    }
}

/* forward - from bytes to logits. Norm 2l comes before layer l's attention, norm 2l + 1 before its
 * gated unit, and the last before the head. */
static void forward(shard *s, const params *p)
{
    for (int t = 0; t < CONTEXT; t++)
        memcpy(s->embedded + t * WIDTH, p->byte[s->bytes[t]], sizeof p->byte[0]);
    memset(s->added, 0, sizeof s->added); /* nothing yet */
    for (int l = 0; l < LAYERS; l++) {
        const layer *w = &p->layers[l];
        real *gates = s->layers[l].gates, *hidden = s->layers[l].hidden;
        normalize(s, p, 2 * l);
        dense(WIDTH, 3 * WIDTH, s->normal[2 * l], w->qkv, s->layers[l].qkv);
        attend(s, l);
        dense(WIDTH, WIDTH, s->layers[l].heads, w->mix, s->added);

        normalize(s, p, 2 * l + 1);
        dense(WIDTH, 2 * HIDDEN, s->normal[2 * l + 1], w->expand, gates);
        run(s, SWIGLU, (const void *[]){ gates, gates + HIDDEN }, (void *[]){ hidden });
        dense(HIDDEN, WIDTH, hidden, w->reduce, s->added);
    }
    normalize(s, p, NORMS - 1);
    dense(WIDTH, BYTES, s->normal[NORMS - 1], p->head, s->logits);
}

/* losses - of every position, in nats, and the gradient of share times their sum, in the logits'
 * place. Returns the sum. */
static double losses(shard *s, double share)
{
    const real diff_loss = (real)share;
    run(s, LOSS, (const void *[]){ s->logits, s->labels, NULL, &diff_loss },
        (void *[]){ s->loss, s->logits });
    double sum = 0;
    for (int t = 0; t < CONTEXT; t++)
        sum += (double)s->loss[t];
    return sum;
}

/* ---- backward ------------------------------------------------------------------------------- */

/* dense_backward - diff_w += src^T * diff_dst; diff_src = diff_dst * w^T. */
static void dense_backward(int inputs, int outputs, const real *src, const real *w,
                           const real *diff_dst, real *diff_w, real *diff_src)
{
    multiply(inputs, outputs, CONTEXT, CblasTrans, src, inputs, CblasNoTrans, diff_dst, outputs, 1,
             diff_w, outputs);
    multiply(CONTEXT, inputs, outputs, CblasNoTrans, diff_dst, outputs, CblasTrans, w, outputs, 0,
             diff_src, inputs);
}

/* The stream goes on behind the norm as well: its gradient there, diff_sum, is added, in place. It
 * is then the gradient both of the stream before and of what was added. */
static void normalize_backward(shard *s, const params *p, int n)
{
    run(s, NORM_BACKWARD,
        (const void *[]){ s->stream[n], p->gain[n], s->rstd[n], s->diff_normal, s->diff_stream },
        (void *[]){ s->diff_stream, s->diff_gain });
    cblas(axpy)(WIDTH, 1, s->diff_gain, 1, s->diff.gain[n], 1);
}

static void attend_backward(shard *s, int l)
{
    const real *qkv = s->layers[l].qkv;
    for (int h = 0; h < HEADS; h++) { /* of heads = attention * v */
        const real *diff_heads = s->diff_heads + h * HEAD, *v = qkv + h * HEAD + 2 * WIDTH;
        multiply(CONTEXT, CONTEXT, HEAD, CblasNoTrans, diff_heads, WIDTH, CblasTrans, v, 3 * WIDTH,
                 0, s->diff_attention[h], CONTEXT);
        multiply(CONTEXT, HEAD, CONTEXT, CblasTrans, s->layers[l].attention[h], CONTEXT,
                 CblasNoTrans, diff_heads, WIDTH, 0, s->diff_qkv + h * HEAD + 2 * WIDTH, 3 * WIDTH);
    }
    run(s, SOFTMAX_BACKWARD,
        (const void *[]){ s->diff_attention, s->layers[l].attention, NULL, NULL },
        (void *[]){ s->diff_attention }); /* in place: now that of q * k^T */
    for (int h = 0; h < HEADS; h++) {
        const real *q = qkv + h * HEAD, *k = q + WIDTH;
        real *diff_q = s->diff_qkv + h * HEAD, *diff_k = diff_q + WIDTH;
        multiply(CONTEXT, HEAD, CONTEXT, CblasNoTrans, s->diff_attention[h], CONTEXT, CblasNoTrans,
                 k, 3 * WIDTH, 0, diff_q, 3 * WIDTH);
        multiply(CONTEXT, HEAD, CONTEXT, CblasTrans, s->diff_attention[h], CONTEXT, CblasNoTrans, q,
                 3 * WIDTH, 0, diff_k, 3 * WIDTH);
    }
    rotate(s, -1, s->diff_qkv);
}

/* backward - forward in reverse: from the gradient of the logits to s->diff, which it adds to. */
static void backward(shard *s, const params *p)
{
    memset(s->diff_stream, 0, sizeof s->diff_stream);
    dense_backward(WIDTH, BYTES, s->normal[NORMS - 1], p->head, s->logits, s->diff.head,
                   s->diff_normal);
    normalize_backward(s, p, NORMS - 1);
    for (int l = LAYERS - 1; l >= 0; l--) {
        const layer *w = &p->layers[l];
        layer *diff = &s->diff.layers[l];
        const real *gates = s->layers[l].gates;
        dense_backward(HIDDEN, WIDTH, s->layers[l].hidden, w->reduce, s->diff_stream, diff->reduce,
                       s->diff_hidden);
        run(s, SWIGLU_BACKWARD, (const void *[]){ gates, gates + HIDDEN, s->diff_hidden },
            (void *[]){ s->diff_gates, s->diff_gates + HIDDEN });
        dense_backward(WIDTH, 2 * HIDDEN, s->normal[2 * l + 1], w->expand, s->diff_gates,
                       diff->expand, s->diff_normal);
        normalize_backward(s, p, 2 * l + 1);

        dense_backward(WIDTH, WIDTH, s->layers[l].heads, w->mix, s->diff_stream, diff->mix,
                       s->diff_heads);
        attend_backward(s, l);
        dense_backward(WIDTH, 3 * WIDTH, s->normal[2 * l], w->qkv, s->diff_qkv, diff->qkv,
                       s->diff_normal);
        normalize_backward(s, p, 2 * l);
    }
    for (int t = 0; t < CONTEXT; t++)
        cblas(axpy)(WIDTH, 1, s->diff_stream + t * WIDTH, 1, s->diff.byte[s->bytes[t]], 1);
}

#endif /* TRANSFORMER_H */
