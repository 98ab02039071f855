/* SPDX-License-Identifier: Apache-2.0 */
/* exhaustive.h - the parts of the program that measures the error of every operator.
 *
 * A job is one operator with one set of attributes and one dtype, measured over a set of inputs.
 * It is cut into blocks, which the threads of work.c take one by one. Every thread keeps its own
 * worst result; the overall worst does not depend on scheduling.
 */
#ifndef VJP_EXHAUSTIVE_H
#define VJP_EXHAUSTIVE_H

#include "problem.h"
#include "variants.h"

/* ---- attributes that people know by a name (named.c) --------------------------------------- */

/* named_count - how many sets of numbers the operator has. named_problem - `p` with set `index`.
 * named_sets_numbers - whether `p` sets a number at all. */
int32_t named_count(const vjp_op_info *op);
problem named_problem(const problem *p, int32_t index);
int named_sets_numbers(const problem *p);

/* ---- jobs ---------------------------------------------------------------------------------- */

/* The worst result so far. Of equal errors the one of the lowest `index` counts. */
typedef struct worst {
    double error; /* in ULP; in sums, of the bound; INFINITY: not even close. -1: none yet */
    double x, w, g, got;
    int64_t index;
} worst;

static const worst NO_WORST = { -1, 0, 0, 0, 0, INT64_MAX };

void worst_join(worst *to, const worst *from);

/* Measured apart, since a bound may be tighter where the gradient is 1. */
enum {
    ANY_GRADIENT,
    GRADIENT_IS_1,
    WORSTS
};

enum {
    WHERE_TEXT = 128,
    BOTH_RUN = -1 /* every value of the first input with every value of the second */
};

typedef struct job job;

/* One way to measure: how many blocks a job has, and one block of it. `open` makes what a thread
 * needs for all of them, `close` frees it. */
typedef struct method {
    const char *inputs; /* in words, for the table */
    int64_t (*blocks)(const job *j);
    void *(*open)(const job *j);
    void (*block)(void *state, const job *j, int64_t index, worst w[WORSTS]);
    void (*close)(void *state);
    void (*where)(const job *j, const worst *w, char text[WHERE_TEXT]); /* the worst, in words */
} method;

struct job {
    char name[VARIANT_TEXT];
    problem p;
    vjp_dtype dtype;
    const method *method;
    int32_t output;       /* the one that is measured */
    int32_t runs;         /* the input that takes all values, or BOTH_RUN */
    double fixed;         /* the value of those that neither run nor are the gradient */
    double limit[WORSTS]; /* the stated bounds, in the unit of worst.error */
    double cost;          /* a guess at its CPU seconds, for the estimate of the time left */
};

extern const method pairs_method, inputs_method, both_method, chosen_method, sums_method;
extern const method forwards_method, forward_pairs_method, forward_points_method;

/* Something within a formula that is measured by itself (exp.c). */
typedef struct part {
    const char *name;
    const char *op; /* the operator whose formula it is in */
    vjp_dtype dtype;
    method method;
    int is_result; /* whether its errors have the operator's bound; else there is none */
} part;

enum {
    PARTS = 2
};
extern const part parts_f32[PARTS], parts_f64[PARTS];

/* work_all - every `step`th block of a job on `threads` threads, with a progress bar on standard
 * error. `done` and `total` are the costs of the jobs before it and of all. Returns the seconds of
 * CPU time that all blocks take, which do not depend on what else the machine does. */
double work_all(const job *j, int threads, int step, double done, double total, worst w[WORSTS]);

/* ---- running an operator over a block (bench.c) --------------------------------------------- */

/* An operator with buffers for one shape, created once and run for every block. Inputs that
 * neither run nor are the gradient hold one value. */
typedef struct bench {
    problem p;
    vjp_context *ctx;
    vjp_plan *plan;
    void *data[PROBLEM_TENSORS];
    void *workspace;
    void *result; /* data of the output that is measured */
    int32_t gradient;
} bench;

/* What the rows and columns of a block are. */
typedef enum bench_shape {
    ROW_PER_INPUT,    /* one input along each row, the same gradients in every row */
    ROW_PER_GRADIENT, /* the same inputs in every row, gradients as they come */
    ALL_DENSE         /* every input as it comes */
} bench_shape;

void bench_open(bench *b, const job *j, bench_shape shape, int64_t rows, int64_t columns);
void bench_run(bench *b);
void bench_close(bench *b);

/* bench_write - n finite numbers of the dtype as its elements. */
void bench_write(vjp_dtype dtype, void *elements, int64_t n, const double *values);

/* bench_inputs - x and w at n elements from `first` of all the values that the running input takes
 * or, where both run, at the pairs whose bits are the halves of `first` and the numbers after it,
 * which does not reach another x. Infinity and NaN are edges, which have tests of their own: 0 takes
 * their place. Up to 32 bits. */
void bench_inputs(const job *j, int64_t first, int64_t n, double *x, double *w);

/* bench_others - x and w at an element where the running input is `value`. */
void bench_others(const job *j, double value, double *x, double *w);

/* bench_where - the inputs of a result, for a method's `where`. */
void bench_where(const job *j, const worst *w, char text[WHERE_TEXT]);

/* ---- how wrong a result is (compare.c) ----------------------------------------------------- */

/* compare_block - the largest error in ULP of n stored results (16 or 32 bits) against exact
 * values, INFINITY where a sign is wrong. If `correctly` holds, also where a result is not the
 * exact value rounded to nearest even. */
double compare_block(vjp_dtype dtype, int correctly, int64_t n, const double *exact,
                     const void *got);

/* compare_f64 - the error in ULP of one result against an exact value that is a long double. */
double compare_f64(long double exact, double got);

/* compare_is_worse - whether an error by the quick comparison is so much worse than the worst by
 * MPFR that it is worth computing again: the two differ a little, and many inputs have equal
 * errors. */
int compare_is_worse(double error, const worst *w);

/* compare_mpfr_from - the error from which on a result is computed again with MPFR: near the bound
 * by more than the quick comparison's own error (f64: 2 % of the bound), or where that says that a
 * result is not correctly rounded. */
double compare_mpfr_from(const job *j, int which);

/* compare_keep - join one result to the worst of all and, if g is 1, of those. Its error is found
 * by MPFR. `limit` of 0.5 means correctly rounded. */
void compare_keep(const job *j, double x, double w, double g, double got, int64_t index,
                  worst worsts[WORSTS]);

#endif
