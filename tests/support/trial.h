/* SPDX-License-Identifier: Apache-2.0 */
/* trial.h - a problem with memory and values, run any number of times and then checked.
 *
 * Every tensor is in guarded memory of its own (or of the tensor whose home it shares). Each
 * run starts from the same inputs and from poisoned outputs; after it, everything but the
 * outputs' own elements must be as it was: inputs, gaps between strided elements, slack.
 */
#ifndef VJP_TESTS_TRIAL_H
#define VJP_TESTS_TRIAL_H

#include "arena.h"
#include "oracle.h"

typedef struct trial {
    problem p;
    uint64_t number;               /* which values it has, for the failure message */
    arena memory[PROBLEM_TENSORS]; /* of the tensors that are their own home */
    arena_edge edge;
    ptrdiff_t element_size[PROBLEM_TENSORS];
    void *data[PROBLEM_TENSORS];            /* what the library is given */
    unsigned char *image[PROBLEM_TENSORS];  /* the memory of inputs as every run finds it */
    unsigned char *before[PROBLEM_TENSORS]; /* the memory as it was when the last run began */
    double *inputs[PROBLEM_TENSORS];        /* values in dense order */
} trial;

/* trial_open - memory for the problem and values drawn from its domains. `number` chooses the
 * values and the edge that the memory is flush with. */
void trial_open(trial *t, const problem *p, uint64_t number);
void trial_close(trial *t);

/* trial_set - fill an input with `count` values, repeated in dense order. */
void trial_set(trial *t, int32_t input, const double *values, int64_t count);

/* trial_prepare - inputs and poison in place. trial_settle - after a run: fail the test if
 * anything but the outputs was written. Between them the caller runs the library. */
void trial_prepare(trial *t, unsigned char poison);
void trial_settle(trial *t);

/* trial_inputs, trial_outputs - the addresses as a run takes them. */
const void *const *trial_inputs(const trial *t);
void *const *trial_outputs(const trial *t);

/* trial_run - prepare, create a plan, run it in a guarded workspace, settle. */
void trial_run(trial *t, vjp_context *ctx, unsigned char poison);

/* trial_run_plan - run a plan of this problem in a guarded workspace; neither prepares nor
 * settles. */
vjp_status trial_run_plan(const trial *t, const vjp_plan *plan);

/* trial_check - fail the test unless every output keeps the oracle's bounds. */
void trial_check(const trial *t);

/* trial_bits - all outputs in dense order, NaNs made the same; to be freed. */
typedef struct trial_result {
    uint64_t *bits;
    int64_t count;
} trial_result;

trial_result trial_bits(const trial *t);

/* trial_check_same - fail the test, naming who ran, unless the outputs have these bits. */
void trial_check_same(const trial *t, trial_result wanted, const char *who);

/* trial_get - element `index` of a tensor in dense order. */
double trial_get(const trial *t, int32_t tensor, int64_t index);

#endif
