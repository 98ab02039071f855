/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - one operator, one shape, run again and again on the calling thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dtypes.h"
#include "exhaustive.h"
#include "formats.h"
#include "kinds.h"

/* There is no test here that could fail instead. */
static void insist(vjp_status status, const char *reason)
{
    if (status == VJP_OK)
        return;
    fprintf(stderr, "exhaustive: %s: %s\n", vjp_status_string(status), reason);
    exit(2);
}

static void *allocate(size_t size)
{
    void *memory = calloc(size > 0 ? size : 1, 1);
    if (memory == NULL)
        insist(VJP_NO_MEMORY, "out of memory");
    return memory;
}

/* The layout of input t: which of rows and columns it moves along. */
static void lay_out(bench *b, const job *j, bench_shape shape, int32_t t, int64_t rows,
                    int64_t columns)
{
    vjp_tensor *tensor = &b->p.tensors[t];
    int is_slope = kind_is_param(b->p.op, t);
    int along_rows = shape == ALL_DENSE, along_columns = shape == ALL_DENSE;
    if (t == b->gradient) {
        along_rows |= shape == ROW_PER_GRADIENT;
        along_columns = 1;
    } else if (t == j->runs || j->runs == BOTH_RUN) {
        along_rows |= shape == ROW_PER_INPUT;
        along_columns |= shape == ROW_PER_GRADIENT;
    }
    if (is_slope) { /* a slope repeats by its shape */
        int64_t dims[2] = { along_rows ? rows : 1, along_columns ? columns : 1 };
        insist(vjp_tensor_contiguous(tensor->dtype, 2, dims, tensor), "slope");
        return;
    }
    tensor->strides[0] = along_rows ? (along_columns ? columns : 1) : 0;
    tensor->strides[1] = along_columns;
}

static void make_plan(bench *b)
{
    char reason[VJP_REASON_SIZE] = "";
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.num_threads = 1;
    insist(vjp_context_create(&options, &b->ctx, reason, sizeof reason), reason);
    insist(problem_create(&b->p, b->ctx, &b->plan, reason), reason);
    b->workspace = allocate(vjp_plan_workspace_size(b->plan));
}

void bench_open(bench *b, const job *j, bench_shape shape, int64_t rows, int64_t columns)
{
    memset(b, 0, sizeof *b);
    b->p = j->p;
    b->gradient = kind_gradient(b->p.op);
    problem_contiguous(&b->p, j->dtype, j->dtype, 2, (int64_t[]){ rows, columns }, 1,
                       (int64_t[]){ 1 });
    for (int32_t t = 0; t < b->p.op->ninputs; t++)
        lay_out(b, j, shape, t, rows, columns);
    for (int32_t t = b->p.op->ninputs; t < b->p.ntensors; t++)
        for (int32_t i = 0; i < b->p.op->ninputs; i++)
            if (kind_is_param(b->p.op, t) && kind_is_param(b->p.op, i))
                b->p.tensors[t] = b->p.tensors[i];
    for (int32_t t = 0; t < b->p.ntensors; t++) {
        b->data[t] = allocate((size_t)(rows * columns) * vjp_dtype_size(j->dtype));
        if (t < b->p.op->ninputs)
            element_write(j->dtype, b->data[t], j->fixed);
    }
    b->result = b->data[b->p.op->ninputs + j->output];
    make_plan(b);
}

void bench_run(bench *b)
{
    vjp_status status =
        vjp_plan_run(b->plan, (const void *const *)b->data, b->data + b->p.op->ninputs,
                     b->workspace, vjp_plan_workspace_size(b->plan), NULL);
    insist(status, "the plan does not run");
}

void bench_close(bench *b)
{
    vjp_plan_destroy(b->plan);
    vjp_context_destroy(b->ctx);
    free(b->workspace);
    for (int32_t t = 0; t < b->p.ntensors; t++)
        free(b->data[t]);
}

IN_LOOPS void write_16(const format *f, uint16_t *elements, int64_t n, const double *values)
{
    for (int64_t i = 0; i < n; i++)
        elements[i] = (uint16_t)format_bits(f, values[i]);
}

static void write_32(float *elements, int64_t n, const double *values)
{
    for (int64_t i = 0; i < n; i++)
        elements[i] = (float)values[i];
}

void bench_write(vjp_dtype dtype, void *elements, int64_t n, const double *values)
{
    switch (dtype) {
    case VJP_F64:
        memcpy(elements, values, (size_t)n * sizeof *values);
        break;
    case VJP_F32:
        write_32(elements, n, values);
        break;
    case VJP_F16:
        write_16(&f16, elements, n, values);
        break;
    default:
        write_16(&bf16, elements, n, values);
        break;
    }
}

IN_LOOPS void read_numbers(const format *f, int64_t first, int64_t n, double *values)
{
    for (int64_t i = 0; i < n; i++)
        values[i] = format_finite(f, (uint64_t)(first + i));
}

/* The finite values of the bits first .. first + n - 1. */
static void read_all(vjp_dtype dtype, int64_t first, int64_t n, double *values)
{
    switch (dtype) {
    case VJP_F32:
        read_numbers(&f32, first, n, values);
        break;
    case VJP_F16:
        read_numbers(&f16, first, n, values);
        break;
    default:
        read_numbers(&bf16, first, n, values);
        break;
    }
}

static void fill(double *values, int64_t n, double value)
{
    for (int64_t i = 0; i < n; i++)
        values[i] = value;
}

void bench_inputs(const job *j, int64_t first, int64_t n, double *x, double *w)
{
    double *others = j->runs == 0 ? w : x, fixed = j->fixed;
    if (j->runs == BOTH_RUN) /* of a block all have the same x */
        read_all(j->dtype, first >> 16, 1, &fixed);
    read_all(j->dtype, j->runs == BOTH_RUN ? first & 0xffff : first, n, j->runs == 0 ? x : w);
    fill(others, n, fixed);
}

void bench_others(const job *j, double value, double *x, double *w)
{
    *x = j->runs == 0 ? value : j->fixed;
    *w = j->runs == 0 ? j->fixed : value;
}

void bench_where(const job *j, const worst *w, char text[WHERE_TEXT])
{
    int32_t gradient = kind_gradient(j->p.op);
    int used = snprintf(text, WHERE_TEXT, "%s = %a", vjp_op_tensor(j->p.op, 0)->name, w->x);
    if (j->p.op->ninputs > 1 + (gradient >= 0))
        used += snprintf(text + used, (size_t)(WHERE_TEXT - used), ", %s = %a",
                         vjp_op_tensor(j->p.op, 1)->name, w->w);
    if (gradient >= 0)
        snprintf(text + used, (size_t)(WHERE_TEXT - used), ", %s = %a",
                 vjp_op_tensor(j->p.op, gradient)->name, w->g);
}
