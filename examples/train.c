/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - a small network in plain C that learns to separate two spirals.
 *
 * Two dense layers with an activation, then a dense layer and SoftMax with cross-entropy. It is
 * trained once per hidden activation. The forward pass, the matrix products and the optimizer
 * (Adam) are written out here; the backward pass of every activation comes from vjp. Plans are
 * created once per training run and run at every step. The exit status is 1 if an activation stays
 * below 95 % on unseen points. */
#define _POSIX_C_SOURCE 200809L /* isatty */

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <vjp/vjp.h>

enum {
    INPUTS = 2, /* the network: 2 -> 32 -> 32 -> 2 */
    HIDDEN = 32,
    CLASSES = 2,
    POINTS = 2048, /* in each of the two sets: training and test */
    BATCH = 128,
    EPOCHS = 100
};

static const float TURNS = 1.5f, NOISE = 0.05f, RATE = 0.03f, GOAL = 95.0f;

/* ---- data ---------------------------------------------------------------------------------- */

typedef struct data {
    float point[POINTS][INPUTS];
    int label[POINTS];
} data;

/* between - a number in [low, high), from a 64-bit linear congruential generator. */
static float between(uint64_t *state, float low, float high)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * ((float)(*state >> 40) * 0x1p-24f);
}

/* Two arms, half a turn apart, from near the centre out to radius 3. The labels alternate. */
static void make_spirals(uint64_t *rng, data *set)
{
    const float pi = 3.14159265f;
    for (int i = 0; i < POINTS; i++) {
        int label = i % CLASSES;
        float along = between(rng, 0.05f, 1.0f);
        float angle = 2.0f * pi * TURNS * along + pi * (float)label;
        set->point[i][0] = 3.0f * (along * cosf(angle) + between(rng, -NOISE, NOISE));
        set->point[i][1] = 3.0f * (along * sinf(angle) + between(rng, -NOISE, NOISE));
        set->label[i] = label;
    }
}

/* ---- activations: the forward pass, and how to ask vjp for the backward pass --------------- */

typedef void forward_fn(const float *slope, const float *src, float *dst);

static void relu(const float *slope, const float *src, float *dst)
{
    (void)slope;
    for (int i = 0; i < BATCH * HIDDEN; i++)
        dst[i] = src[i] > 0.0f ? src[i] : 0.0f;
}

static void sigmoid(const float *slope, const float *src, float *dst)
{
    (void)slope;
    for (int i = 0; i < BATCH * HIDDEN; i++)
        dst[i] = 1.0f / (1.0f + expf(-src[i]));
}

static const float ALPHA = 0.2f, BETA = 0.5f;

static void hard_sigmoid(const float *slope, const float *src, float *dst)
{
    (void)slope;
    for (int i = 0; i < BATCH * HIDDEN; i++)
        dst[i] = fminf(1.0f, fmaxf(0.0f, ALPHA * src[i] + BETA));
}

static void prelu(const float *slope, const float *src, float *dst)
{
    for (int i = 0; i < BATCH; i++)
        for (int c = 0; c < HIDDEN; c++) {
            float x = src[i * HIDDEN + c];
            dst[i * HIDDEN + c] = x > 0.0f ? x : slope[c] * x;
        }
}

typedef struct activation {
    const char *title;
    const char *op;
    forward_fn *forward;
    int32_t nattrs;  /* hard_sigmoid_backward needs alpha and beta */
    int takes_dst;   /* relu_backward reads the forward pass's output by default */
    int takes_slope; /* prelu_backward has a slope, and a gradient for it */
} activation;

static const activation activations[] = {
    { "ReLU", "relu_backward", relu, .takes_dst = 1 },
    { "Sigmoid", "sigmoid_backward", sigmoid, .nattrs = 0 },
    { "HardSigmoid", "hard_sigmoid_backward", hard_sigmoid, .nattrs = 2 },
    { "PReLU", "prelu_backward", prelu, .takes_slope = 1 },
};

/* ---- the network --------------------------------------------------------------------------- */

/* Floats only, so that the optimizer can walk over them as one array. */
typedef struct params {
    float w1[INPUTS * HIDDEN], b1[HIDDEN], slope1[HIDDEN];
    float w2[HIDDEN * HIDDEN], b2[HIDDEN], slope2[HIDDEN];
    float w3[HIDDEN * CLASSES], b3[CLASSES];
} params;

static const int NPARAMS = sizeof(params) / sizeof(float);

/* A plan with the workspace its runs use. */
typedef struct gradient {
    vjp_plan *plan;
    void *workspace;
    size_t workspace_size;
} gradient;

typedef struct network {
    const activation *act;
    params p, diff, mean, square; /* values, gradients, Adam's two moments */
    int steps;
    float src1[BATCH * HIDDEN], dst1[BATCH * HIDDEN];
    float src2[BATCH * HIDDEN], dst2[BATCH * HIDDEN];
    float logits[BATCH * CLASSES], probs[BATCH * CLASSES];
    float diff1[BATCH * HIDDEN], diff2[BATCH * HIDDEN];
    float diff_probs[BATCH * CLASSES], diff_logits[BATCH * CLASSES];
    gradient act_backward, softmax_backward;
} network;

/* dst = src * w + b, with w stored as [nin][nout] so that the inner loop is contiguous. */
static void dense(int nin, int nout, const float *src, const float *w, const float *b, float *dst)
{
    for (int i = 0; i < BATCH; i++) {
        float *row = dst + i * nout;
        memcpy(row, b, (size_t)nout * sizeof *row);
        for (int k = 0; k < nin; k++)
            for (int o = 0; o < nout; o++)
                row[o] += src[i * nin + k] * w[k * nout + o];
    }
}

/* The gradients of dense. diff_src may be NULL: the data needs none. */
static void dense_backward(int nin, int nout, const float *src, const float *w,
                           const float *diff_dst, float *diff_w, float *diff_b, float *diff_src)
{
    memset(diff_w, 0, (size_t)(nin * nout) * sizeof *diff_w);
    memset(diff_b, 0, (size_t)nout * sizeof *diff_b);
    for (int i = 0; i < BATCH; i++) {
        const float *row = diff_dst + i * nout;
        for (int o = 0; o < nout; o++)
            diff_b[o] += row[o];
        for (int k = 0; k < nin; k++)
            for (int o = 0; o < nout; o++)
                diff_w[k * nout + o] += src[i * nin + k] * row[o];
    }
    if (!diff_src)
        return;
    float wt[HIDDEN * HIDDEN]; /* w transposed, again for the inner loop */
    for (int k = 0; k < nin; k++)
        for (int o = 0; o < nout; o++)
            wt[o * nin + k] = w[k * nout + o];
    memset(diff_src, 0, (size_t)(BATCH * nin) * sizeof *diff_src);
    for (int i = 0; i < BATCH; i++)
        for (int o = 0; o < nout; o++)
            for (int k = 0; k < nin; k++)
                diff_src[i * nin + k] += diff_dst[i * nout + o] * wt[o * nin + k];
}

static void softmax(const float *src, float *dst)
{
    for (int i = 0; i < BATCH; i++, src += CLASSES, dst += CLASSES) {
        float top = src[0], sum = 0.0f;
        for (int c = 1; c < CLASSES; c++)
            top = fmaxf(top, src[c]);
        for (int c = 0; c < CLASSES; c++)
            sum += dst[c] = expf(src[c] - top);
        for (int c = 0; c < CLASSES; c++)
            dst[c] /= sum;
    }
}

static void forward(network *net, const float *points)
{
    const params *p = &net->p;
    dense(INPUTS, HIDDEN, points, p->w1, p->b1, net->src1);
    net->act->forward(p->slope1, net->src1, net->dst1);
    dense(HIDDEN, HIDDEN, net->dst1, p->w2, p->b2, net->src2);
    net->act->forward(p->slope2, net->src2, net->dst2);
    dense(HIDDEN, CLASSES, net->dst2, p->w3, p->b3, net->logits);
    softmax(net->logits, net->probs);
}

/* ---- the backward pass, with vjp ----------------------------------------------------------- */

static int gradient_create(vjp_context *ctx, const char *op, const vjp_attr *attrs, int32_t nattrs,
                           const vjp_tensor *const *tensors, int32_t ntensors, gradient *g)
{
    char reason[VJP_REASON_SIZE];
    vjp_status status =
        vjp_plan_create(ctx, op, attrs, nattrs, tensors, ntensors, &g->plan, reason, sizeof reason);
    if (status != VJP_OK) {
        fprintf(stderr, "%s: %s: %s\n", op, vjp_status_string(status), reason);
        return 0;
    }
    g->workspace_size = vjp_plan_workspace_size(g->plan);
    g->workspace = malloc(g->workspace_size ? g->workspace_size : 1);
    return g->workspace != NULL;
}

/* Both hidden layers have the same shape, so one plan serves both. */
static int create_gradients(vjp_context *ctx, network *net)
{
    const activation *act = net->act;
    const int64_t hidden_shape[2] = { BATCH, HIDDEN }, output_shape[2] = { BATCH, CLASSES };
    vjp_tensor hidden, channels, output; /* constant shapes: describing them cannot fail */
    vjp_tensor_contiguous(VJP_F32, 2, hidden_shape, &hidden);
    vjp_tensor_contiguous(VJP_F32, 1, hidden_shape + 1, &channels);
    vjp_tensor_contiguous(VJP_F32, 2, output_shape, &output);

    const vjp_tensor *plain[3] = { &hidden, &hidden, &hidden };
    const vjp_tensor *sloped[5] = { &hidden, &channels, &hidden, &hidden, &channels };
    const vjp_tensor *probs[5] = { &output, &output, NULL, NULL,
                                   &output }; /* no mask, no lengths */
    const vjp_attr attrs[2] = { vjp_attr_f64("alpha", ALPHA), vjp_attr_f64("beta", BETA) };
    return gradient_create(ctx, act->op, attrs, act->nattrs, act->takes_slope ? sloped : plain,
                           act->takes_slope ? 5 : 3, &net->act_backward) &&
           gradient_create(ctx, "softmax_backward", NULL, 0, probs, 5, &net->softmax_backward);
}

static void gradient_destroy(gradient *g)
{
    vjp_plan_destroy(g->plan);
    free(g->workspace);
}

static int gradient_run(const gradient *g, const void *const *inputs, void *const *outputs)
{
    if (vjp_plan_run(g->plan, inputs, outputs, g->workspace, g->workspace_size, NULL) == VJP_OK)
        return 1;
    /* A run returns only a status; the check also gives the reason. */
    char reason[VJP_REASON_SIZE];
    vjp_status status = vjp_plan_check(g->plan, inputs, outputs, g->workspace, g->workspace_size,
                                       reason, sizeof reason);
    fprintf(stderr, "%s: %s\n", vjp_status_string(status), reason);
    return 0;
}

/* diff holds the gradient of dst when called and that of src after: in place. */
static int activation_backward(network *net, const float *src, const float *dst,
                               const float *slope, float *diff, float *diff_slope)
{
    const void *plain[2] = { net->act->takes_dst ? dst : src, diff };
    const void *sloped[3] = { src, slope, diff };
    void *outputs[2] = { diff, diff_slope }; /* the latter is not read without a slope */
    return gradient_run(&net->act_backward, net->act->takes_slope ? sloped : plain, outputs);
}

static int backward(network *net, const float *points, const int *labels)
{
    params *p = &net->p, *d = &net->diff;
    /* The loss is the mean of -log(probability of the label). */
    memset(net->diff_probs, 0, sizeof net->diff_probs);
    for (int i = 0; i < BATCH; i++) {
        int at = i * CLASSES + labels[i];
        net->diff_probs[at] = -1.0f / (BATCH * fmaxf(net->probs[at], FLT_MIN));
    }
    /* softmax_backward takes diff_dst first, and its axis is 1 by default. */
    const void *inputs[4] = { net->diff_probs, net->probs };
    void *outputs[1] = { net->diff_logits };
    if (!gradient_run(&net->softmax_backward, inputs, outputs))
        return 0;
    dense_backward(HIDDEN, CLASSES, net->dst2, p->w3, net->diff_logits, d->w3, d->b3, net->diff2);
    if (!activation_backward(net, net->src2, net->dst2, p->slope2, net->diff2, d->slope2))
        return 0;
    dense_backward(HIDDEN, HIDDEN, net->dst1, p->w2, net->diff2, d->w2, d->b2, net->diff1);
    if (!activation_backward(net, net->src1, net->dst1, p->slope1, net->diff1, d->slope1))
        return 0;
    dense_backward(INPUTS, HIDDEN, points, p->w1, net->diff1, d->w1, d->b1, NULL);
    return 1;
}

/* ---- training ------------------------------------------------------------------------------ */

/* Adam. For activations without a slope, the slopes do not change: their gradient stays 0. */
static void update(network *net, float rate)
{
    float *p = (float *)&net->p, *m = (float *)&net->mean, *s = (float *)&net->square;
    const float *d = (const float *)&net->diff;
    net->steps++;
    float fix_m = 1.0f - powf(0.9f, (float)net->steps);
    float fix_s = 1.0f - powf(0.999f, (float)net->steps);
    for (int i = 0; i < NPARAMS; i++) {
        m[i] = 0.9f * m[i] + 0.1f * d[i];
        s[i] = 0.999f * s[i] + 0.001f * d[i] * d[i];
        p[i] -= rate * (m[i] / fix_m) / (sqrtf(s[i] / fix_s) + 1e-8f);
    }
}

static void init(network *net, uint64_t *rng)
{
    float *p = (float *)&net->p;
    for (int i = 0; i < NPARAMS; i++)
        p[i] = between(rng, -1.0f, 1.0f);
    for (int c = 0; c < HIDDEN; c++)
        net->p.slope1[c] = net->p.slope2[c] = 0.25f;
}

static float accuracy(network *net, const data *set)
{
    int right = 0;
    for (int at = 0; at < POINTS; at += BATCH) {
        forward(net, set->point[at]);
        for (int i = 0; i < BATCH; i++) {
            int guess = net->probs[i * CLASSES + 1] > net->probs[i * CLASSES];
            right += guess == set->label[at + i];
        }
    }
    return 100.0f * (float)right / POINTS;
}

static void draw_bar(const char *title, int epoch)
{
    const char *full = "########################################";
    int done = 40 * epoch / EPOCHS;
    printf("\r%-12s [%-40.*s] %3d %%", title, done, full, 100 * epoch / EPOCHS);
    fflush(stdout);
}

/* Points are in random order along the arms, so batches are consecutive points. */
static int train(network *net, const data *set, int show_progress)
{
    for (int epoch = 1; epoch <= EPOCHS; epoch++) {
        float rate = RATE * (1.0f - (float)(epoch - 1) / EPOCHS);
        for (int at = 0; at < POINTS; at += BATCH) {
            forward(net, set->point[at]);
            if (!backward(net, set->point[at], set->label + at))
                return 0;
            update(net, rate);
        }
        if (show_progress)
            draw_bar(net->act->title, epoch);
    }
    if (show_progress)
        printf("\r%60s\r", "");
    return 1;
}

/* Train with one activation and print its result. Returns 1 if the target was reached. */
static int learn(vjp_context *ctx, const activation *act, const data *training, const data *test)
{
    network *net = calloc(1, sizeof *net);
    if (!net)
        return 0;
    uint64_t rng = 7;
    float score = 0.0f;
    net->act = act;
    init(net, &rng);
    if (create_gradients(ctx, net) && train(net, training, isatty(STDOUT_FILENO))) {
        score = accuracy(net, test);
        printf("%-12s %6.2f %% of %d unseen points\n", act->title, (double)score, POINTS);
    }
    gradient_destroy(&net->act_backward);
    gradient_destroy(&net->softmax_backward);
    free(net);
    return score >= GOAL;
}

int main(void)
{
    static data training, test;
    uint64_t rng = 1;
    make_spirals(&rng, &training);
    make_spirals(&rng, &test);

    vjp_context *ctx;
    char reason[VJP_REASON_SIZE];
    if (vjp_context_create(NULL, &ctx, reason, sizeof reason) != VJP_OK) {
        fprintf(stderr, "no context: %s\n", reason);
        return 1;
    }
    int count = sizeof activations / sizeof activations[0], reached = 0;
    for (int i = 0; i < count; i++)
        reached += learn(ctx, &activations[i], &training, &test);
    vjp_context_destroy(ctx);
    if (reached < count)
        fprintf(stderr, "%d of %d did not reach %.0f %%\n", count - reached, count, (double)GOAL);
    return reached == count ? 0 : 1;
}
