/* SPDX-License-Identifier: Apache-2.0 */
/* expected.c - see expected.h. */
#include "expected.h"

#include <stdlib.h>

static vjp_dtype dtype_of(const tensor *t)
{
    return t->dtype == INFINI_DTYPE_F64   ? VJP_F64
           : t->dtype == INFINI_DTYPE_F32 ? VJP_F32
           : t->dtype == INFINI_DTYPE_F16 ? VJP_F16
           : t->dtype == INFINI_DTYPE_I32 ? VJP_S32
           : t->dtype == INFINI_DTYPE_I64 ? VJP_S64
                                          : VJP_BF16;
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    assert_non_null(memory);
    return memory;
}

static void describe(expected *e, int32_t index, const tensor *t)
{
    int64_t shape[MAX_RANK];
    for (size_t d = 0; d < t->ndim; d++)
        shape[d] = (int64_t)t->shape[d];
    assert_int_equal(vjp_tensor_contiguous(dtype_of(t), (int32_t)t->ndim, shape,
                                           &e->p.tensors[index]),
                     VJP_OK);
}

static void keep(void *user, int32_t output, int64_t index, long double value, bound within)
{
    expected *e = user;
    e->outputs[output][index] = (struct element){ value, within };
}

expected expected_of(const problem *p, const tensor *const *tensors)
{
    expected e = { .p = *p };
    double *inputs[PROBLEM_TENSORS] = { NULL };
    int32_t ninputs = p->op->ninputs;
    for (int32_t i = 0; i < p->ntensors; i++) {
        if (tensors[i])
            describe(&e, i, tensors[i]);
        else
            problem_drop(&e.p, i);
    }
    for (int32_t i = 0; i < ninputs; i++) {
        if (!tensors[i])
            continue;
        inputs[i] = allocate(tensors[i]->numel, sizeof **inputs);
        for (size_t k = 0; k < tensors[i]->numel; k++)
            inputs[i][k] = tensor_get(tensors[i], k);
    }
    for (int32_t o = 0; o < p->op->noutputs; o++)
        if (tensors[ninputs + o])
            e.outputs[o] = allocate(tensors[ninputs + o]->numel, sizeof **e.outputs);
    oracle_answer(&e.p, (const double *const *)inputs, keep, &e);
    for (int32_t i = 0; i < ninputs; i++)
        free(inputs[i]);
    return e;
}

void expected_check(expected *e, const tensor *const *outputs)
{
    char text[PROBLEM_TEXT];
    for (int32_t o = 0; o < e->p.op->noutputs; o++) {
        for (size_t i = 0; outputs[o] && i < outputs[o]->numel; i++) {
            const struct element *want = &e->outputs[o][i];
            double got = tensor_get(outputs[o], i);
            if (!bound_holds(want->within, dtype_of(outputs[o]), want->value, got))
                fail_msg("output %d, element %zu is %a, expected %La\n%s", (int)o, i, got,
                         want->value, problem_describe(&e->p, text));
        }
        free(e->outputs[o]);
    }
}
