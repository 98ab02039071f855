/* SPDX-License-Identifier: Apache-2.0 */
/* language_model.c - a small transformer in plain C that learns to write like its training text.
 *
 *     language_model [--steps N] HELD_OUT TRAINING...     make demo-lm: with the docs of this repository
 *
 * A lesson in two files: first transformer.h, the model, whose every norm, softmax, gated unit and
 * loss is an operator of vjp, as is the gradient of each; matrix products are OpenBLAS's. Then this
 * one: the text, the optimizer (AdamW), training, evaluation, a sample. At the end it prints how
 * many bits a byte of the held-out file costs, beside what `xz -9` needs; the exit status is 1 if
 * xz needs fewer.
 *
 * Each step's batch is cut into shards, whatever the number of threads. A shard is computed by one
 * thread, and gradients are added shard by shard: any number of threads gives the same bits. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, isatty, popen */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "transformer.h"

enum {
    SHARDS = 4,
    SEQUENCES = 2, /* of a shard, one after the other */
    STEPS = 2000,  /* unless --steps says otherwise */
    RUN = 32,      /* equal bytes that make a line a quotation */
    SAMPLE = 600   /* bytes written at the end */
};

static const double RATE = 3e-3, BETA1 = 0.9, BETA2 = 0.98, DECAY = 0.1, CLIP = 1.0;
static const double TEMPERATURE = 0.7;

/* ---- the text ------------------------------------------------------------------------------- */

typedef struct text {
    uint8_t *data; /* each file starts after a zero byte, from which its first byte is predicted */
    size_t size;
} text;

static void append(text *to, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        stop(path, "cannot be read");
    long size = ftell(file);
    rewind(file);
    uint8_t *data = realloc(to->data, to->size + 1 + (size_t)size);
    if (!data || fread(data + to->size + 1, 1, (size_t)size, file) != (size_t)size)
        stop(path, "cannot be read");
    data[to->size] = 0;
    to->data = data;
    to->size += 1 + (size_t)size;
    fclose(file);
}

/* shares - whether RUN consecutive bytes of the line are found in the other text. */
static int shares(const uint8_t *line, size_t length, const text *other)
{
    for (size_t i = 0; i + RUN <= length; i++)
        for (const uint8_t *at = other->data, *end = at + other->size;
             (at = memchr(at, line[i], (size_t)(end - at))); at++)
            if (end - at >= RUN && !memcmp(at, line + i, RUN))
                return 1;
    return 0;
}

/* Docs quote each other. What the held-out file has in common with the training text is not trained
 * on: lines that share RUN bytes with it are dropped. Returns the number of bytes dropped. */
static size_t drop_quotations(text *training, const text *held_out)
{
    size_t kept = 0, size = training->size;
    for (size_t at = 0, next; at < size; at = next) {
        const uint8_t *line = training->data + at, *newline = memchr(line, '\n', size - at);
        next = newline ? (size_t)(newline - training->data) + 1 : size;
        if (shares(line, next - at, held_out))
            continue;
        memmove(training->data + kept, line, next - at);
        kept += next - at;
    }
    training->size = kept;
    return size - kept;
}

/* ---- the optimizer: AdamW ------------------------------------------------------------------- */

typedef struct model {
    params p, mean, square; /* values, Adam's two moments */
    shard *shards[SHARDS];
} model;

/* rate_at - a linear warm-up over a twentieth of the steps, then half a cosine down to 0. */
static double rate_at(int step, int steps)
{
    int warm_up = steps / 20 + 1;
    if (step < warm_up)
        return RATE * (step + 1) / warm_up;
    return RATE * (0.5 + 0.5 * cos(acos(-1.0) * (step - warm_up) / (steps - warm_up)));
}

/* update - with the sum of the shards' gradients, scaled down where its norm is above CLIP. Gains
 * come first in params, and do not decay. */
static void update(model *m, int step, double rate)
{
    real *values = (real *)&m->p, *mean = (real *)&m->mean, *square = (real *)&m->square;
    real *diff = (real *)&m->shards[0]->diff;
    for (int i = 1; i < SHARDS; i++)
        cblas(axpy)((int)NPARAMS, 1, (const real *)&m->shards[i]->diff, 1, diff, 1);
    double norm = (double)cblas(nrm2)((int)NPARAMS, diff, 1);
    const real scale = (real)(norm > CLIP ? CLIP / norm : 1), b1 = (real)BETA1, b2 = (real)BETA2;
    const real pace = (real)(rate / (1 - pow(BETA1, step + 1)));
    const real correct = (real)(1 / (1 - pow(BETA2, step + 1))), shrink = (real)(1 - rate * DECAY);
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (size_t i = 0; i < NPARAMS; i++) {
        real d = diff[i] * scale;
        mean[i] = b1 * mean[i] + (1 - b1) * d;
        square[i] = b2 * square[i] + (1 - b2) * d * d;
        real step_i = pace * mean[i] / ((real)sqrt((double)(square[i] * correct)) + (real)1e-8);
        values[i] = values[i] * (i < NORMS * WIDTH ? 1 : shrink) - step_i;
    }
}

/* ---- training ------------------------------------------------------------------------------- */

/* load - the sequence at `at`, and the bytes to predict from it. */
static void load(shard *s, const uint8_t *at)
{
    memcpy(s->bytes, at, CONTEXT);
    for (int t = 0; t < CONTEXT; t++)
        s->labels[t] = at[t + 1];
}

/* train_shard - the gradient of the shard's sequences. Returns their part of the mean loss. */
static double train_shard(shard *s, const params *p, const text *training, uint64_t seed)
{
    const double share = 1.0 / (SHARDS * SEQUENCES * CONTEXT);
    double loss = 0;
    memset(&s->diff, 0, sizeof s->diff);
    for (int i = 0; i < SEQUENCES; i++) {
        double last = (double)(training->size - CONTEXT);
        load(s, training->data + (size_t)between(&seed, 0, last));
        forward(s, p);
        loss += share * losses(s, share);
        backward(s, p);
    }
    return loss;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* report - on a terminal a line that is redrawn, elsewhere one line per tenth. */
static void report(int done, int steps, double loss, double elapsed)
{
    static const char full[] = "##############################";
    const int terminal = isatty(STDOUT_FILENO), width = (int)sizeof full - 1;
    if (!terminal && done * 10 / steps == (done - 1) * 10 / steps)
        return;
    double left = elapsed / done * (steps - done);
    double rate = done / elapsed * SHARDS * SEQUENCES * CONTEXT;
    printf("%s[%-*.*s] %3d %%  loss %.3f  %5.0f bytes/s  %d:%02d left%s", terminal ? "\r" : "",
           width, width * done / steps, full, 100 * done / steps, loss, rate, (int)left / 60,
           (int)left % 60, terminal && done < steps ? " " : "\n");
    fflush(stdout);
}

static void train(model *m, const text *training, int steps)
{
    uint64_t rng = 1;
    double started = seconds(), smooth = 0;
    for (int step = 0; step < steps; step++) {
        uint64_t seeds[SHARDS];
        double parts[SHARDS], loss = 0;
        for (int i = 0; i < SHARDS; i++)
            seeds[i] = (uint64_t)between(&rng, 0, 0x1p24) << 24;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic)
#endif
        for (int i = 0; i < SHARDS; i++)
            parts[i] = train_shard(m->shards[i], &m->p, training, seeds[i]);
        for (int i = 0; i < SHARDS; i++)
            loss += parts[i];
        smooth = step ? 0.95 * smooth + 0.05 * loss : loss;
        update(m, step, rate_at(step, steps));
        report(step + 1, steps, smooth, seconds() - started);
    }
}

/* ---- evaluation and a sample ---------------------------------------------------------------- */

/* bits_per_byte - every byte is predicted once, from three quarters of a context or all that comes
 * before it: the window moves by a quarter. */
static double bits_per_byte(shard *s, const params *p, const text *held_out)
{
    double nats = 0;
    size_t predicted = 0, count = held_out->size - 1;
    for (size_t at = 0; predicted < count; at += CONTEXT / 4) {
        for (size_t t = 0; t < CONTEXT; t++) {
            size_t i = at + t;
            s->bytes[t] = i < count ? held_out->data[i] : 0;
            s->labels[t] = i >= predicted && i < count ? held_out->data[i + 1] : IGNORED;
        }
        forward(s, p);
        nats += losses(s, 1);
        predicted = at + CONTEXT;
    }
    return nats / log(2.0) / (double)count;
}

/* xz_bits_per_byte - what `xz -9` needs. */
static double xz_bits_per_byte(const char *path, const text *held_out)
{
    setenv("HELD_OUT", path, 1); /* no quoting to get wrong */
    FILE *pipe = popen("xz -9 --stdout -- \"$HELD_OUT\" | wc -c", "r");
    double size = 0;
    if (!pipe || fscanf(pipe, "%lf", &size) != 1 || pclose(pipe) || size == 0)
        stop("xz -9", "cannot be run");
    return 8 * size / (double)(held_out->size - 1);
}

/* draw - a byte, by the model's probabilities: softmax of the logits. Unlikely bytes are made less
 * likely still. */
static int draw(uint64_t *rng, real *logits)
{
    const vjp_attr attrs[] = { vjp_attr_s64("axis", 0), vjp_attr_f64("scale", 1 / TEMPERATURE) };
    const vjp_tensor row = tensor(REAL, 1, BYTES, 1, 1), *tensors[] = { &row, NULL, NULL, &row };
    char reason[VJP_REASON_SIZE];
    if (vjp_compute(NULL, "softmax", attrs, 2, tensors, 4, (const void *[]){ logits, NULL, NULL },
                    (void *[]){ logits }, reason, sizeof reason))
        stop("softmax", reason);
    double left = between(rng, 0, 1);
    int byte = 0;
    while (byte < BYTES - 1 && (left -= (double)logits[byte]) >= 0)
        byte++;
    return byte;
}

/* write_sample - continue the prompt. */
static void write_sample(shard *s, const params *p, const char *prompt)
{
    uint64_t rng = 1;
    size_t length = strlen(prompt);
    memset(s->bytes, 0, sizeof s->bytes);
    memcpy(s->bytes, prompt, length);
    fputs(prompt, stdout);
    for (int i = 0; i < SAMPLE; i++) {
        forward(s, p); /* what follows the last byte is not attended to */
        int byte = draw(&rng, s->logits + (length - 1) * BYTES);
        putchar(byte == '\n' || (byte >= ' ' && byte <= '~') ? byte : '?'); /* spare the terminal */
        fflush(stdout);
        if (length == CONTEXT)
            memmove(s->bytes, s->bytes + 1, --length);
        s->bytes[length++] = (uint8_t)byte;
    }
    putchar('\n');
}

static model *model_create(const plans *ops)
{
    model *m = zeros(1, sizeof *m);
    uint64_t rng = 7;
    init(&rng, &m->p);
    for (int i = 0; i < SHARDS; i++)
        m->shards[i] = shard_create(ops);
    return m;
}

static void model_destroy(model *m)
{
    for (int i = 0; i < SHARDS; i++)
        shard_destroy(m->shards[i]);
    free(m);
}

/* learn - train, print the figures and a sample. Returns whether xz needs more bits. */
static int learn(model *m, int steps, const text *training, const text *held_out, const char *path)
{
    printf("%zu parameters, %d steps of %d bytes\n", NPARAMS, steps, SHARDS * SEQUENCES * CONTEXT);
    train(m, training, steps);
    double bits = bits_per_byte(m->shards[0], &m->p, held_out);
    double xz_bits = xz_bits_per_byte(path, held_out);
    printf("%s, held out: %.2f bits per byte; xz -9: %.2f\n\n", path, bits, xz_bits);
    write_sample(m->shards[0], &m->p, "The library ");
    return bits < xz_bits;
}

int main(int argc, char **argv)
{
    int first = argc > 2 && !strcmp(argv[1], "--steps") ? 3 : 1;
    int steps = first > 1 ? atoi(argv[2]) : STEPS;
    if (argc < first + 2 || steps < 1)
        stop("usage", "language_model [--steps N] HELD_OUT TRAINING...");
    const char *path = argv[first];
    text training = { 0 }, held_out = { 0 };
    append(&held_out, path);
    for (int i = first + 1; i < argc; i++)
        append(&training, argv[i]);
    size_t dropped = drop_quotations(&training, &held_out);
    if (training.size <= CONTEXT || held_out.size < 2)
        stop("language_model", "not enough text");
    printf("%zu bytes to learn from; %zu dropped, in lines that share %d bytes with %s\n",
           training.size, dropped, RUN, path);

    openblas_set_num_threads(1); /* shards are enough work for all threads */
    vjp_context *ctx;
    char reason[VJP_REASON_SIZE];
    if (vjp_context_create(NULL, &ctx, reason, sizeof reason))
        stop("no context", reason);
    plans ops = { 0 };
    plans_create(ctx, &ops);
    model *m = model_create(&ops);
    int better = learn(m, steps, &training, &held_out, path);

    model_destroy(m);
    plans_destroy(&ops);
    vjp_context_destroy(ctx);
    free(training.data);
    free(held_out.data);
    return better ? 0 : 1;
}
