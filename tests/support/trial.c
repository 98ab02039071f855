/* SPDX-License-Identifier: Apache-2.0 */
/* trial.c - see trial.h. */
#include "trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dtypes.h"
#include "random.h"
#include "unit.h"
#include "values.h"

enum {
    GAP = 0x6b
};

static void complain(const trial *t, const char *about)
{
    char text[PROBLEM_TEXT];
    print_error("%s\n%s\n  values %" PRIu64 ", VJP_TEST_SEED=%" PRIu64 "\n", about,
                problem_describe(&t->p, text), t->number, random_seed());
    fail();
}

/* ---- memory ------------------------------------------------------------------------------- */

static int is_home(const trial *t, int32_t tensor)
{
    return t->p.home[tensor] == tensor && problem_has(&t->p, tensor);
}

static unsigned char *element_at(const trial *t, int32_t tensor, int64_t offset)
{
    return (unsigned char *)t->data[tensor] + offset * t->element_size[tensor];
}

static void place(trial *t, int32_t tensor)
{
    const vjp_tensor *description = &t->p.tensors[tensor];
    int64_t lowest, highest, count = tensor_count(description);
    size_t size = (size_t)t->element_size[tensor];
    tensor_extent(description, &lowest, &highest);
    t->memory[tensor] = arena_open(count > 0 ? (size_t)(highest - lowest + 1) * size : 0, t->edge);
    t->before[tensor] = unit_malloc(t->memory[tensor].size);
    if (tensor < t->p.op->ninputs)
        t->image[tensor] = unit_malloc(t->memory[tensor].size);
    t->data[tensor] = t->memory[tensor].bytes - lowest * (int64_t)size;
}

/* ---- values ------------------------------------------------------------------------------- */

static void read_dense(const trial *t, int32_t tensor, double *values)
{
    const vjp_tensor *description = &t->p.tensors[tensor];
    for (walk w = walk_tensor(description); w.more; walk_next(&w))
        *values++ = element_read(description->dtype, element_at(t, tensor, w.offset));
}

/* Inputs are written element by element, then read back: where two indices share an address,
 * or two tensors a home, the last value written counts for all. */
static void read_inputs(trial *t)
{
    for (int32_t i = 0; i < t->p.op->ninputs; i++)
        if (problem_has(&t->p, i))
            read_dense(t, i, t->inputs[i]);
}

static void write_dense(trial *t, int32_t input, const double *values, int64_t count)
{
    const vjp_tensor *description = &t->p.tensors[input];
    int64_t i = 0;
    for (walk w = walk_tensor(description); w.more; walk_next(&w), i++)
        element_write(description->dtype, element_at(t, input, w.offset), values[i % count]);
}

/* What the forward pass saved belongs to the other inputs as they are now. An address that several
 * of its elements share cannot hold all of them. */
static void write_saved(trial *t)
{
    values_save(&t->p, t->inputs);
    for (int32_t i = 0; i < t->p.op->ninputs; i++)
        if (problem_has(&t->p, i) && oracle_is_saved(&t->p, i))
            write_dense(t, i, t->inputs[i], tensor_count(&t->p.tensors[i]));
}

static void keep_inputs(trial *t)
{
    read_inputs(t);
    write_saved(t);
    for (int32_t i = 0; i < t->p.op->ninputs; i++)
        if (is_home(t, i))
            memcpy(t->image[i], t->memory[i].bytes, t->memory[i].size);
}

static void draw_values(trial *t)
{
    random_state random = random_start(random_seed(), t->number);
    int specials = random_chance(&random, 20) ? 1 : 0;
    for (int32_t i = 0; i < t->p.op->ninputs; i++) {
        const vjp_tensor *description = &t->p.tensors[i];
        if (!is_home(t, i))
            continue;
        memset(t->memory[i].bytes, GAP, t->memory[i].size);
        for (walk w = walk_tensor(description); w.more; walk_next(&w))
            element_write(description->dtype, element_at(t, i, w.offset),
                          value_draw_input(&random, &t->p, i, specials));
    }
}

void trial_set(trial *t, int32_t input, const double *values, int64_t count)
{
    write_dense(t, input, values, count);
    keep_inputs(t);
}

/* ---- life --------------------------------------------------------------------------------- */

void trial_open(trial *t, const problem *p, uint64_t number)
{
    memset(t, 0, sizeof *t);
    t->p = *p;
    t->number = number;
    t->edge = number % 2 == 0 ? ARENA_AT_END : ARENA_AT_START;
    for (int32_t i = 0; i < p->ntensors; i++) {
        if (!problem_has(p, i))
            continue;
        t->element_size[i] = (ptrdiff_t)vjp_dtype_size(p->tensors[i].dtype);
        if (is_home(t, i))
            place(t, i);
        else
            t->data[i] = t->data[p->home[i]];
        if (i < p->op->ninputs)
            t->inputs[i] = unit_malloc((size_t)tensor_count(&p->tensors[i]) * sizeof(double));
    }
    draw_values(t);
    keep_inputs(t);
}

void trial_close(trial *t)
{
    for (int32_t i = 0; i < t->p.ntensors; i++) {
        free(t->inputs[i]);
        free(t->image[i]);
        free(t->before[i]);
        if (is_home(t, i))
            arena_close(&t->memory[i]);
    }
}

void trial_prepare(trial *t, unsigned char poison)
{
    for (int32_t i = 0; i < t->p.ntensors; i++) {
        if (!is_home(t, i))
            continue;
        if (i < t->p.op->ninputs)
            memcpy(t->before[i], t->image[i], t->memory[i].size);
        else
            memset(t->before[i], poison, t->memory[i].size);
        memcpy(t->memory[i].bytes, t->before[i], t->memory[i].size);
    }
}

/* Take an output's elements as they are now for what they were before the run. */
static void forgive(trial *t, int32_t output)
{
    const vjp_tensor *description = &t->p.tensors[output];
    int32_t home = t->p.home[output];
    size_t size = (size_t)t->element_size[output];
    if (t->memory[home].size == (size_t)tensor_count(description) * size) { /* no gaps */
        memcpy(t->before[home], t->memory[home].bytes, t->memory[home].size);
        return;
    }
    for (walk w = walk_tensor(description); w.more; walk_next(&w)) {
        unsigned char *element = element_at(t, output, w.offset);
        memcpy(t->before[home] + (element - t->memory[home].bytes), element, size);
    }
}

void trial_settle(trial *t)
{
    for (int32_t i = t->p.op->ninputs; i < t->p.ntensors; i++)
        if (problem_has(&t->p, i))
            forgive(t, i);
    for (int32_t i = 0; i < t->p.ntensors; i++) {
        if (!is_home(t, i))
            continue;
        if (memcmp(t->before[i], t->memory[i].bytes, t->memory[i].size) != 0)
            complain(t, i < t->p.op->ninputs ? "an input, or a gap in it, was written"
                                             : "a gap between an output's elements was written");
        if (!arena_slack_intact(&t->memory[i]))
            complain(t, "memory beside a tensor was written");
    }
}

const void *const *trial_inputs(const trial *t)
{
    return (const void *const *)t->data;
}

void *const *trial_outputs(const trial *t)
{
    return t->data + t->p.op->ninputs;
}

vjp_status trial_run_plan(const trial *t, const vjp_plan *plan)
{
    size_t size = vjp_plan_workspace_size(plan);
    if (size == 0)
        return vjp_plan_run(plan, trial_inputs(t), trial_outputs(t), NULL, 0, NULL);
    arena workspace = arena_open(size, t->edge);
    memset(workspace.bytes, 0xff, size); /* NaNs: a sum that starts from stale memory shows it */
    arena_forget(&workspace);
    vjp_status status =
        vjp_plan_run(plan, trial_inputs(t), trial_outputs(t), workspace.bytes, size, NULL);
    if (!arena_slack_intact(&workspace))
        complain(t, "memory beside the workspace was written");
    arena_close(&workspace);
    return status;
}

void trial_run(trial *t, vjp_context *ctx, unsigned char poison)
{
    char reason[VJP_REASON_SIZE] = "";
    vjp_plan *plan = NULL;
    if (problem_create(&t->p, ctx, &plan, reason) != VJP_OK)
        complain(t, reason);
    trial_prepare(t, poison);
    vjp_status status = trial_run_plan(t, plan);
    vjp_plan_destroy(plan);
    if (status != VJP_OK)
        complain(t, vjp_status_string(status));
    trial_settle(t);
}

/* ---- results ------------------------------------------------------------------------------ */

typedef struct checker {
    const trial *t;
    double *outputs[PROBLEM_TENSORS];
} checker;

static void check_element(void *user, int32_t output, int64_t index, long double value,
                          bound within)
{
    const checker *c = user;
    int32_t tensor = c->t->p.op->ninputs + output;
    vjp_dtype dtype = c->t->p.tensors[tensor].dtype;
    double got = c->outputs[output][index];
    if (bound_holds(within, dtype, value, got))
        return;
    print_error("%s[%" PRId64 "] is %a = %.9g, should be %La = %.9Lg",
                vjp_op_tensor(c->t->p.op, tensor)->name, index, got, got, value, value);
    if (within.absolute < 0)
        print_error(" within %.4Lg ulp; off by %.4Lg\n", within.ulps,
                    fabsl(got - value) / dtype_ulp(dtype, value));
    else
        print_error(" within %.4Lg; off by %.4Lg\n", within.absolute, fabsl(got - value));
    complain(c->t, "a result is wrong");
}

void trial_check(const trial *t)
{
    checker c = { t, { NULL } };
    for (int32_t o = 0; o < t->p.op->noutputs; o++) {
        int32_t tensor = t->p.op->ninputs + o;
        if (!problem_has(&t->p, tensor))
            continue;
        c.outputs[o] = unit_malloc((size_t)tensor_count(&t->p.tensors[tensor]) * sizeof(double));
        read_dense(t, tensor, c.outputs[o]);
    }
    oracle_answer(&t->p, (const double *const *)t->inputs, check_element, &c);
    for (int32_t o = 0; o < t->p.op->noutputs; o++)
        free(c.outputs[o]);
}

trial_result trial_bits(const trial *t)
{
    trial_result result = { NULL, 0 };
    for (int32_t i = t->p.op->ninputs; i < t->p.ntensors; i++)
        result.count += problem_has(&t->p, i) ? tensor_count(&t->p.tensors[i]) : 0;
    uint64_t *bits = result.bits = unit_malloc((size_t)result.count * sizeof *bits);
    for (int32_t i = t->p.op->ninputs; i < t->p.ntensors; i++)
        for (walk w = walk_tensor(&t->p.tensors[i]); problem_has(&t->p, i) && w.more; walk_next(&w))
            *bits++ = element_bits(t->p.tensors[i].dtype, element_at(t, i, w.offset));
    return result;
}

void trial_check_same(const trial *t, trial_result wanted, const char *who)
{
    trial_result got = trial_bits(t);
    int64_t i = 0;
    while (i < got.count && got.bits[i] == wanted.bits[i])
        i++;
    if (i < got.count) {
        print_error("%s: output element %" PRId64 " (over all outputs) is 0x%" PRIx64
                    ", not 0x%" PRIx64 "\n",
                    who, i, got.bits[i], wanted.bits[i]);
        complain(t, "the same problem has two results");
    }
    free(got.bits);
}

double trial_get(const trial *t, int32_t tensor, int64_t index)
{
    walk w = walk_tensor(&t->p.tensors[tensor]);
    while (index-- > 0)
        walk_next(&w);
    return element_read(t->p.tensors[tensor].dtype, element_at(t, tensor, w.offset));
}
