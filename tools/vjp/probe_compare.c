/* SPDX-License-Identifier: Apache-2.0 */
/* probe_compare.c - whether the results of a run are right; see probe.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base.h"
#include "dtypes.h"
#include "oracle.h"
#include "probe.h"

/* The first wrong element, and how many there are. */
typedef struct verdict {
    const probe *t;
    int64_t wrong, at; /* at: over all outputs */
    int32_t output;
    int64_t index; /* in dense order */
    bool summed;
    long double off, allowed;
} verdict;

static void fault(verdict *v, int32_t output, int64_t index, int64_t at)
{
    if (v->wrong++ > 0)
        return;
    v->output = output;
    v->index = index;
    v->at = at;
}

static int64_t first_of(const probe *t, int32_t output)
{
    int64_t at = 0;
    for (int32_t o = 0; o < output; o++)
        at += probe_output_count(t, t->p.op->ninputs + o);
    return at;
}

/* A result of a sum keeps its bound against the exact value and, one more rounding to 16 bits
 * aside, against the reference. */
static void judge(void *user, int32_t output, int64_t index, long double value, bound within)
{
    verdict *v = user;
    const probe *t = v->t;
    int64_t at = first_of(t, output) + index;
    vjp_dtype dtype = t->p.tensors[t->p.op->ninputs + output].dtype;
    uint64_t got = t->device.bits[at], wanted = t->reference.bits[at];
    if (got == wanted)
        return;
    double is = element_from_bits(dtype, got), should_be = element_from_bits(dtype, wanted);
    long double off = is > should_be ? (long double)is - should_be : (long double)should_be - is;
    long double allowed = within.absolute;
    if (dtype_is_16_bit(dtype))
        allowed += dtype_ulp(dtype, should_be);
    bool summed = within.absolute >= 0;
    if (summed && off <= allowed && bound_holds(within, dtype, value, is))
        return;
    if (v->wrong == 0) {
        v->summed = summed;
        v->off = off;
        v->allowed = within.absolute;
    }
    fault(v, output, index, at);
}

static void judge_by_bounds(const probe *t, verdict *v)
{
    double *inputs[PROBLEM_TENSORS] = { NULL };
    for (int32_t i = 0; i < t->p.op->ninputs; i++)
        inputs[i] = problem_has(&t->p, i) ? probe_read_dense(t, i) : NULL;
    oracle_answer(&t->p, (const double *const *)inputs, judge, v);
    for (int32_t i = 0; i < t->p.op->ninputs; i++)
        free(inputs[i]);
}

static void judge_by_bits(const probe *t, const uint64_t *wanted, verdict *v)
{
    int64_t at = 0;
    for (int32_t o = 0; o < t->p.op->noutputs; o++) {
        int64_t count = probe_output_count(t, t->p.op->ninputs + o);
        for (int64_t i = 0; i < count; i++, at++)
            if (t->device.bits[at] != wanted[at])
                fault(v, o, i, at);
    }
}

static void say_index(const vjp_tensor *tensor, int64_t index, char text[256])
{
    int64_t at[VJP_MAX_DIMS];
    size_t used = 0;
    for (int32_t d = tensor->ndim - 1; d >= 0; d--) {
        at[d] = index % tensor->shape[d];
        index /= tensor->shape[d];
    }
    text[0] = 0;
    for (int32_t d = 0; d < tensor->ndim; d++)
        used += (size_t)snprintf(text + used, 256 - used, "%s%" PRId64, d > 0 ? ", " : "", at[d]);
}

static bool announce(probe *t, const verdict *v, const uint64_t *wanted, const char *whose)
{
    char index[256], more[160] = "";
    int32_t tensor = t->p.op->ninputs + v->output;
    const vjp_tensor *description = &t->p.tensors[tensor];
    uint64_t is = t->device.bits[v->at], should_be = wanted[v->at];
    say_index(description, v->index, index);
    if (v->summed)
        snprintf(more, sizeof(more), "\n  a sum: off by %.4Lg, allowed %.4Lg", v->off, v->allowed);
    return probe_fail(t, "%s(%s) is %.9g (0x%" PRIx64 "), %s %.9g (0x%" PRIx64 "); %" PRId64
                      " of %" PRId64 " elements are wrong%s",
                      vjp_op_tensor(t->p.op, tensor)->name, index,
                      element_from_bits(description->dtype, is), is, whose,
                      element_from_bits(description->dtype, should_be), should_be, v->wrong,
                      t->count, more);
}

bool probe_compare(probe *t, bool sums_may_differ)
{
    verdict v = { .t = t };
    judge_by_bits(t, t->reference.bits, &v);
    if (v.wrong > 0 && sums_may_differ) {
        v = (verdict){ .t = t };
        judge_by_bounds(t, &v);
    }
    return v.wrong == 0 || announce(t, &v, t->reference.bits, "the reference's");
}

bool probe_repeats(probe *t, const uint64_t *earlier)
{
    verdict v = { .t = t };
    judge_by_bits(t, earlier, &v);
    return v.wrong == 0 || announce(t, &v, earlier, "in an earlier run");
}
