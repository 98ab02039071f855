/* SPDX-License-Identifier: Apache-2.0 */
/* test_language_model.c - the gradient of the whole model of examples/transformer.h, in f64,
 * against finite differences.
 *
 * For each tensor of weights and a random direction d, the derivative of the loss along d is the
 * gradient times d, and also (loss(weights + h * d) - loss(weights - h * d)) / 2h, up to h^2 and
 * rounding. */
#define TRANSFORMER_F64
#include "../examples/transformer.h"

#include "unit.h"

typedef struct problem {
    params p, direction;
    plans ops;
    shard *s;
} problem;

/* All weights are away from their initial values, which would hide a gain that is missing. One byte
 * is not to be predicted. */
static void draw_problem(vjp_context *ctx, problem *all)
{
    uint64_t rng = 3;
    init(&rng, &all->p);
    for (size_t i = 0; i < NPARAMS; i++) {
        ((real *)&all->p)[i] += between(&rng, -0.1, 0.1);
        ((real *)&all->direction)[i] = between(&rng, -1, 1);
    }
    plans_create(ctx, &all->ops);
    all->s = shard_create(&all->ops);
    for (int t = 0; t < CONTEXT; t++) {
        all->s->bytes[t] = (uint8_t)between(&rng, 0, BYTES);
        all->s->labels[t] = t == CONTEXT / 2 ? IGNORED : (int32_t)between(&rng, 0, BYTES);
    }
}

static double loss_of(problem *all)
{
    forward(all->s, &all->p);
    return losses(all->s, 1.0 / CONTEXT) / CONTEXT;
}

/* moved - the loss with `count` weights moved by h along the direction. */
static double moved(problem *all, size_t first, size_t count, double h)
{
    real *weights = (real *)&all->p + first, *direction = (real *)&all->direction + first;
    real *before = zeros(count, sizeof *before);
    memcpy(before, weights, count * sizeof *before);
    cblas_daxpy((int)count, h, direction, 1, weights, 1);
    double loss = loss_of(all);
    memcpy(weights, before, count * sizeof *before);
    free(before);
    return loss;
}

static void agrees(problem *all, const char *name, const void *weights, size_t size)
{
    size_t first = (size_t)((const real *)weights - (const real *)&all->p);
    size_t count = size / sizeof(real);
    const real *diff = (const real *)&all->s->diff + first;
    const real *direction = (const real *)&all->direction + first;
    double h = 1e-4 / sqrt((double)count);
    double measured = (moved(all, first, count, h) - moved(all, first, count, -h)) / (2 * h);
    double computed = cblas_ddot((int)count, diff, 1, direction, 1);
    double scale = cblas_dnrm2((int)count, diff, 1); /* what computed is expected to be like */
    if (!(scale > 0) || !(fabs(measured - computed) <= 1e-6 * scale))
        fail_msg("%s: %.12g by finite differences, %.12g by backward", name, measured, computed);
}

static void the_gradient_of_every_weight_is_that_of_finite_differences(void **state)
{
    (void)state;
    openblas_set_num_threads(1);
    vjp_context *ctx;
    assert_int_equal(vjp_context_create(NULL, &ctx, NULL, 0), VJP_OK);
    problem *all = zeros(1, sizeof *all);
    draw_problem(ctx, all);
    loss_of(all);
    backward(all->s, &all->p);

    params *p = &all->p;
    agrees(all, "bytes", p->byte, sizeof p->byte);
    agrees(all, "head", p->head, sizeof p->head);
    for (int n = 0; n < NORMS; n++)
        agrees(all, "gain", p->gain[n], sizeof p->gain[n]);
    for (int l = 0; l < LAYERS; l++) {
        agrees(all, "qkv", p->layers[l].qkv, sizeof p->layers[l].qkv);
        agrees(all, "mix", p->layers[l].mix, sizeof p->layers[l].mix);
        agrees(all, "expand", p->layers[l].expand, sizeof p->layers[l].expand);
        agrees(all, "reduce", p->layers[l].reduce, sizeof p->layers[l].reduce);
    }

    shard_destroy(all->s);
    plans_destroy(&all->ops);
    vjp_context_destroy(ctx);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gradient_of_every_weight_is_that_of_finite_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
