/* SPDX-License-Identifier: Apache-2.0 */
/* swiglu.c - the gradient of a gated unit whose gate and up come out of one matrix product.
 *
 * Models keep the two in one tensor: as halves of a row (packed), or in turns (interleaved, as
 * gpt-oss has them; alpha, limit and bias here are gpt-oss's). Both are strided views, for the
 * inputs and for the gradients: nothing is split or joined. The two give the same bits. */
#include <math.h>
#include <stdio.h>

#include <vjp/vjp.h>

enum {
    TOKENS = 4,
    WIDTH = 37,
    BOTH = 2 * WIDTH
};

static const double ALPHA = 1.702, LIMIT = 7, BIAS = 1;

/* Where gate and up of one unit are in a row of BOTH numbers: `step` is the distance between units
 * and `up` that from gate to up. */
typedef struct layout {
    const char *name;
    int64_t step, up;
} layout;

static const layout packed = { "packed", 1, WIDTH }, interleaved = { "interleaved", 2, 1 };

/* diff gets the gradients of both, laid out as they are. */
static int gradients(layout at, const float *both, const float *diff_dst, float *diff)
{
    const int64_t shape[] = { TOKENS, WIDTH }, strides[] = { BOTH, at.step };
    vjp_tensor dense, view;
    vjp_tensor_contiguous(VJP_F32, 2, shape, &dense);
    vjp_tensor_strided(VJP_F32, 2, shape, strides, &view);

    const vjp_tensor *tensors[] = { &view, &view, &dense, &view, &view };
    const void *inputs[] = { both, both + at.up, diff_dst }; /* gate, up, diff_dst */
    void *outputs[] = { diff, diff + at.up };                /* diff_gate, diff_up */
    const vjp_attr attrs[] = { vjp_attr_f64("alpha", ALPHA), vjp_attr_f64("limit", LIMIT),
                               vjp_attr_f64("bias", BIAS) };
    char reason[VJP_REASON_SIZE];
    if (vjp_compute(NULL, "swiglu_backward", attrs, 3, tensors, 5, inputs, outputs, reason,
                    sizeof reason)) {
        fprintf(stderr, "%s: %s\n", at.name, reason);
        return 0;
    }
    return 1;
}

/* What a plain loop would make of the gate. */
static double diff_gate(double gate, double up, double diff_dst)
{
    double g = fmin(gate, LIMIT), u = fmax(fmin(up, LIMIT), -LIMIT) + BIAS;
    double s = 1 / (1 + exp(-ALPHA * g));
    return gate < LIMIT ? diff_dst * u * s * (1 + ALPHA * g * (1 - s)) : 0;
}

int main(void)
{
    static float halves[TOKENS * BOTH], turns[TOKENS * BOTH], diff_dst[TOKENS * WIDTH];
    static float diff_halves[TOKENS * BOTH], diff_turns[TOKENS * BOTH];
    for (int i = 0; i < TOKENS * WIDTH; i++) {
        int row = i / WIDTH * BOTH, unit = i % WIDTH;
        float gate = (float)sin(i) * 8, up = (float)cos(3 * i) * 8; /* some beyond the limit */
        halves[row + unit] = turns[row + 2 * unit] = gate;
        halves[row + unit + WIDTH] = turns[row + 2 * unit + 1] = up;
        diff_dst[i] = (float)cos(i);
    }
    if (!gradients(packed, halves, diff_dst, diff_halves) ||
        !gradients(interleaved, turns, diff_dst, diff_turns))
        return 1;

    int same = 1;
    double worst = 0;
    for (int i = 0; i < TOKENS * WIDTH; i++) {
        int row = i / WIDTH * BOTH, unit = i % WIDTH;
        const float *half = diff_halves + row + unit, *turn = diff_turns + row + 2 * unit;
        same &= half[0] == turn[0] && half[WIDTH] == turn[1];
        double right = diff_gate(halves[row + unit], halves[row + unit + WIDTH], diff_dst[i]);
        worst = fmax(worst, fabs(half[0] - right));
    }
    printf("packed and interleaved: %s; gate's gradient is off by at most %.1g\n",
           same ? "the same" : "different", worst);
    return same && worst < 1e-5 ? 0 : 1;
}
