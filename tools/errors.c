/* SPDX-License-Identifier: Apache-2.0 */
/* errors.c - how far results are from the oracle's, whoever computed them.
 *
 *     errors NAME --TENSOR FILE... [--ATTRIBUTE VALUE]...
 *
 * The tensors of an elementwise or gated operator in .npy files, as for `vjp run`, except that the
 * output is read, and that there may be several gradients: inputs have one dim, a gradient has a
 * row for each, and the output one for each gradient and library. A library becomes a line of
 * standard output: the worst error in ULP and its index; how many results were compared, are NaN,
 * have the wrong sign, or are off by more than the lower half of the significand.
 *
 * Where the exact value is not finite nothing is compared. An infinity counts as the number after
 * the largest. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vjp/vjp.h>

#include "base.h"
#include "dtypes.h"
#include "npy.h"
#include "quick.h"
#include "tool.h"

static double element_of(const npy_input *file, int64_t place)
{
    vjp_dtype dtype = file->tensor.dtype;
    return element_read(dtype, (const char *)file->data + (size_t)place * vjp_dtype_size(dtype));
}

/* ---- results ------------------------------------------------------------------------------- */

typedef struct tally {
    long double worst;
    int64_t at, compared, nan, wrong_sign, lost;
} tally;

/* An output by gradient, library and index. */
typedef struct results {
    npy_input file;
    vjp_dtype dtype;
    int64_t gradients, libraries, n;
    long double most, after; /* the largest number, and the one after it */
    long double half;        /* the lower half of the significand, in ULP */
    tally *tallies;          /* one for each library */
} results;

static void count(const results *r, tally *t, int64_t index, long double exact, long double unit,
                  double got)
{
    long double place = isinf(got) ? copysignl(r->after, got) : got;
    long double error = isnan(got) ? INFINITY : fabsl(place - exact) / unit;
    if (t->compared++ == 0 || error > t->worst) {
        t->worst = error;
        t->at = index;
    }
    t->nan += isnan(got);
    t->wrong_sign += (got < 0 && exact > 0) || (got > 0 && exact < 0);
    t->lost += error > r->half;
}

static void compare(results *r, int64_t gradient, int64_t index, long double exact)
{
    if (!isfinite(exact))
        return;
    long double unit = dtype_ulp(r->dtype, fabsl(exact) > r->most ? r->most : exact);
    exact = fabsl(exact) > r->after ? copysignl(r->after, exact) : exact;
    int64_t first = gradient * r->libraries;
    for (int64_t i = 0; i < r->libraries; i++)
        count(r, &r->tallies[i], index, exact, unit,
              element_of(&r->file, (first + i) * r->n + index));
}

static void print_and_close(results *r)
{
    for (const tally *t = r->tallies; t < r->tallies + r->libraries; t++)
        printf("%.9Lg %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", t->worst,
               t->at, t->compared, t->nan, t->wrong_sign, t->lost);
    npy_close(&r->file);
    free(r->tallies);
}

/* ---- files --------------------------------------------------------------------------------- */

/* The file of a tensor, with that many dims; false if it is not given. */
static bool open_tensor(const arguments *args, const char *name, int32_t ndim, npy_input *file)
{
    char reason[NPY_REASON_SIZE];
    const char *path = option_given(args, name);
    if (path == NULL)
        return false;
    if (!npy_open(path, file, reason))
        broken("--%s: %s", name, reason);
    if (file->tensor.ndim != ndim)
        broken("--%s: has %d dims, not %d", name, file->tensor.ndim, ndim);
    return true;
}

typedef struct operands {
    npy_input x, w, gradients; /* w: the second variable; it may be one element for all */
} operands;

static operands open_operands(const arguments *args, const vjp_op_info *op)
{
    operands in = { .x = { .data = NULL } };
    for (int32_t t = 0; t < op->ninputs; t++) {
        const char *name = vjp_op_tensor(op, t)->name;
        int is_gradient = strncmp(name, "diff_", 5) == 0;
        if (!open_tensor(args, name, is_gradient ? 2 : 1,
                         is_gradient ? &in.gradients
                         : t == 0    ? &in.x
                                     : &in.w))
            broken("--%s FILE is missing", name);
    }
    return in;
}

/* The output that is given; *index counts from the first. */
static results open_results(const arguments *args, const vjp_op_info *op, int32_t *index)
{
    results r = { .libraries = 0 };
    for (*index = 0; *index < op->noutputs; ++*index)
        if (open_tensor(args, vjp_op_tensor(op, op->ninputs + *index)->name, 3, &r.file))
            break;
    if (*index == op->noutputs)
        broken("no output of %s is given", op->name);
    r.dtype = r.file.tensor.dtype;
    r.gradients = r.file.tensor.shape[0];
    r.libraries = r.file.tensor.shape[1];
    r.n = r.file.tensor.shape[2];
    r.most = dtype_max(r.dtype);
    r.after = r.most + dtype_ulp(r.dtype, r.most);
    r.half = ldexpl(1, (1 - ilogbl(dtype_ulp(r.dtype, 1))) / 2);
    r.tallies = calloc((size_t)r.libraries + 1, sizeof *r.tallies);
    if (r.tallies == NULL)
        broken("no memory");
    return r;
}

static void read_attributes(const arguments *args, problem *p)
{
    for (int32_t i = 0; i < p->op->nattrs; i++) {
        const vjp_attr_info *info = vjp_op_attr(p->op, i);
        const char *text = option_given(args, info->name);
        vjp_attr attr;
        if (text != NULL && !attribute_value(info, text, &attr))
            broken("--%s: \"%s\" is no value of it", info->name, text);
        if (text != NULL)
            problem_add_attr(p, attr);
    }
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* An input has an element for each result, w perhaps one for all; gradients have their rows. */
static void check_shapes(const operands *in, const results *r)
{
    const int64_t *gradients = in->gradients.tensor.shape, w = in->w.tensor.shape[0];
    if (in->x.tensor.shape[0] != r->n || (in->w.data != NULL && w != r->n && w != 1))
        broken("an input does not have %" PRId64 " elements", r->n);
    if (in->gradients.data != NULL && (gradients[0] != r->gradients || gradients[1] != r->n))
        broken("the gradient does not have %" PRId64 " rows of %" PRId64, r->gradients, r->n);
}

static void compare_all(const problem *p, int32_t output, const operands *in, results *r)
{
    int64_t step = in->w.data != NULL && in->w.tensor.shape[0] > 1;
    for (int64_t i = 0; i < r->n; i++) {
        double w = in->w.data != NULL ? element_of(&in->w, step * i) : 0;
        long double factor;
        quick_factor(p, output, element_of(&in->x, i), w, &factor);
        for (int64_t g = 0; g < r->gradients; g++)
            compare(r, g, i,
                    in->gradients.data == NULL ? factor
                                               : factor * element_of(&in->gradients, g * r->n + i));
    }
}

static int run(const arguments *args)
{
    if (operand(args, 0) == NULL)
        broken("which operator?");
    problem p = problem_start(operand(args, 0));
    int32_t output;
    results r = open_results(args, p.op, &output);
    operands in = open_operands(args, p.op);
    read_attributes(args, &p);
    p.tensors[0].dtype = r.dtype;
    check_shapes(&in, &r);
    compare_all(&p, output, &in, &r);
    npy_close(&in.x);
    npy_close(&in.w);
    npy_close(&in.gradients);
    print_and_close(&r);
    return DONE;
}

int main(int argc, char **argv)
{
    static const command errors = { "errors",
                                    "NAME",
                                    "how far results are from exact ones",
                                    NULL,
                                    "--TENSOR FILE... [--ATTRIBUTE VALUE]...",
                                    run,
                                    NULL };
    arguments args;
    return parse(&errors, argc - 1, argv + 1, &args) ? run(&args) : MISUSED;
}
