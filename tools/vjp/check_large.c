/* SPDX-License-Identifier: Apache-2.0 */
/* check_large.c - more than 2^31 elements; see check.h.
 *
 * Indices that do not fit in 32 bits must not wrap. The values are such that every sum is exact in
 * any order (small integers, most of them 0), so that all results are the same bits on any device.
 * Inputs are on the host once, and results are fetched and compared in pieces. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "check.h"
#include "dtypes.h"

enum {
    PIECE = 64 << 20, /* bytes that are fetched at once */
    POISON = 0x6d,
    VARIANTS = 3
};

#define LONG_DIM INT64_C(715827885) /* three times this is 2^31 + 7 */

typedef struct giant {
    probe t; /* for the problem and what went wrong */
    size_t size[PROBLEM_TENSORS];
    unsigned char *wanted[PROBLEM_TENSORS]; /* on the host: inputs, and the reference's outputs */
    unsigned char *got[PROBLEM_TENSORS];    /* on the device: all but the inputs of a CPU */
} giant;

/* Long rows, short rows, and the leading input transposed; attributes without a default are 1/4. */
static problem giant_problem(int32_t op, int variant)
{
    const int64_t shape[] = { variant == 1 ? LONG_DIM : 3, variant == 1 ? 3 : LONG_DIM };
    const int64_t param = variant == 1 ? 3 : 1;
    const vjp_dtype dtype = (op + variant) % 2 ? VJP_F16 : VJP_BF16;
    problem p = problem_start(vjp_op_at(op)->name);
    for (int32_t i = 0; i < p.op->nattrs; i++)
        if (vjp_op_attr(p.op, i)->required)
            problem_add_attr(&p, vjp_attr_f64(vjp_op_attr(p.op, i)->name, 0.25));
    problem_contiguous(&p, dtype, dtype, 2, shape, 1, &param);
    if (variant == 2)
        named_lay_out(&p, NAMED_SWAPPED);
    return p;
}

/* Nonzero every 8191st element: in all they add up to less than 2^24. Integers are 0, 1 or 2. */
static void fill(unsigned char *bytes, vjp_dtype dtype, int64_t count, int32_t tensor)
{
    size_t size = vjp_dtype_size(dtype);
    memset(bytes, 0, (size_t)count * size);
    for (int64_t i = 0; i < count; i += 8191)
        element_write(dtype, bytes + (size_t)i * size,
                      dtype_is_integer(dtype) ? (double)(i / 8191 % 3)
                                              : (double)((i / 8191 + tensor) % 5 - 2));
}

static bool giant_open(giant *g, const problem *p, checks *c)
{
    *g = (giant){ .t = { .p = *p } };
    for (int32_t i = 0; i < p->ntensors; i++) {
        const vjp_tensor *tensor = &p->tensors[i];
        bool shared = i < p->op->ninputs && !c->device.cuda;
        g->size[i] = (size_t)tensor_count(tensor) * vjp_dtype_size(tensor->dtype);
        g->wanted[i] = memory_allocate(&c->host, g->size[i]);
        g->got[i] = shared ? g->wanted[i] : memory_allocate(&c->device, g->size[i]);
        if (!g->wanted[i] || !g->got[i])
            return probe_fail(&g->t, "no memory for %zu bytes", g->size[i]);
        if (i < p->op->ninputs)
            fill(g->wanted[i], tensor->dtype, tensor_count(tensor), i);
        else
            memset(g->wanted[i], POISON, g->size[i]);
        if (!shared)
            memory_upload(&c->device, g->got[i], g->wanted[i], g->size[i]);
    }
    memory_wait(&c->device);
    return true;
}

static void giant_close(giant *g, checks *c)
{
    for (int32_t i = 0; i < g->t.p.ntensors; i++) {
        if (g->got[i] != g->wanted[i])
            memory_free(&c->device, g->got[i]);
        memory_free(&c->host, g->wanted[i]);
    }
}

static bool giant_run(giant *g, vjp_context *ctx, memory *where, unsigned char *const *data)
{
    char reason[VJP_REASON_SIZE] = "";
    vjp_plan *plan = NULL;
    if (problem_create(&g->t.p, ctx, &plan, reason) != VJP_OK)
        return probe_fail(&g->t, "no plan: %s", reason);
    size_t size = vjp_plan_workspace_size(plan);
    void *workspace = memory_allocate(where, size), *buffers[PROBLEM_TENSORS];
    for (int32_t i = 0; i < g->t.p.ntensors; i++)
        buffers[i] = data[i];
    vjp_status status = vjp_plan_run(plan, (const void *const *)buffers,
                                     buffers + g->t.p.op->ninputs, workspace, size, NULL);
    memory_wait(where);
    memory_free(where, workspace);
    vjp_plan_destroy(plan);
    if (where->error)
        return probe_fail(&g->t, "the device stopped: %s", where->error);
    return status == VJP_OK ||
           probe_fail(&g->t, "the run was refused: %s", vjp_status_string(status));
}

/* Whether the device's memory of a tensor is what the host's is. */
static bool same_bytes(giant *g, checks *c, int32_t tensor)
{
    unsigned char *piece = unit_malloc(PIECE);
    size_t size = g->size[tensor], element = vjp_dtype_size(g->t.p.tensors[tensor].dtype);
    bool same = true;
    for (size_t at = 0; at < size && same; at += PIECE) {
        size_t n = size - at < PIECE ? size - at : PIECE, i = 0;
        memory_download(&c->device, piece, g->got[tensor] + at, n);
        same = memcmp(piece, g->wanted[tensor] + at, n) == 0;
        while (!same && piece[i] == g->wanted[tensor][at + i])
            i++;
        if (!same)
            probe_fail(&g->t, "%s: element %zu of %zu differs",
                       vjp_op_tensor(g->t.p.op, tensor)->name, (at + i) / element, size / element);
    }
    free(piece);
    return same;
}

static bool giant_agrees(giant *g, checks *c)
{
    if (!giant_run(g, c->reference, &c->host, g->wanted) ||
        !giant_run(g, c->context, &c->device, g->got))
        return false;
    for (int32_t i = 0; i < g->t.p.ntensors; i++)
        if (!same_bytes(g, c, i))
            return false;
    return true;
}

/* Whether both sides have memory for the problem; says so if not. */
static bool fits(checks *c, const problem *p)
{
    size_t need = (size_t)1 << 30, outputs = 0;
    for (int32_t i = 0; i < p->ntensors; i++) {
        size_t size = (size_t)tensor_count(&p->tensors[i]) * vjp_dtype_size(p->tensors[i].dtype);
        need += size;
        outputs += i < p->op->ninputs ? 0 : size;
    }
    size_t host = c->device.cuda ? need : need + outputs;
    bool enough = memory_free_size(&c->host) > host &&
                  (!c->device.cuda || memory_free_size(&c->device) > need);
    if (!enough)
        printf("%s of 2^31 + 7 elements: not run, it needs %.0f GiB\n", p->op->name,
               (double)host / (1 << 30));
    return enough;
}

int64_t check_large(checks *c, bool dry)
{
    int64_t planned = 0;
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int variant = 0; variant < VARIANTS && !c->device.error; variant++) {
            problem p = giant_problem(op, variant);
            giant g;
            planned++;
            if (dry || !fits(c, &p))
                continue;
            bool passed = giant_open(&g, &p, c) && giant_agrees(&g, c);
            checks_count(c, &g.t, passed);
            giant_close(&g, c);
        }
    return planned;
}
