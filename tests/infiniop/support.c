/* SPDX-License-Identifier: Apache-2.0 */
/* support.c - tensors with data and guards, for the tests of the infiniop interface. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

const infiniDtype_t infini_dtypes[4] = { INFINI_DTYPE_F16, INFINI_DTYPE_F32, INFINI_DTYPE_F64,
                                         INFINI_DTYPE_BF16 };

static size_t element_size(infiniDtype_t dtype)
{
    switch (dtype) {
    case INFINI_DTYPE_F64:
    case INFINI_DTYPE_I64:
        return 8;
    case INFINI_DTYPE_F32:
    case INFINI_DTYPE_I32:
        return 4;
    default:
        return 2;
    }
}

/* ---- 16-bit floats ------------------------------------------------------------------------ */

static int fraction_bits(infiniDtype_t dtype)
{
    return dtype == INFINI_DTYPE_F16 ? 10 : 7;
}

static int exponent_bias(infiniDtype_t dtype)
{
    return dtype == INFINI_DTYPE_F16 ? 15 : 127;
}

static double decode(infiniDtype_t dtype, uint16_t bits)
{
    int n = fraction_bits(dtype), top = (bits & 0x7fff) >> n;
    int fraction = bits & ((1 << n) - 1), last = 2 * exponent_bias(dtype) + 1;
    double value = top == last ? (fraction ? NAN : INFINITY)
                   : top == 0  ? ldexp(fraction, 1 - exponent_bias(dtype) - n)
                               : ldexp(fraction + (1 << n), top - exponent_bias(dtype) - n);
    return bits & 0x8000 ? -value : value;
}

/* For zero and for normal numbers that the dtype has exactly. */
static uint16_t encode(infiniDtype_t dtype, double value)
{
    int n = fraction_bits(dtype), exponent;
    double fraction = frexp(fabs(value), &exponent);
    if (value == 0)
        return 0;
    unsigned top = (unsigned)(exponent - 1 + exponent_bias(dtype));
    unsigned low = (unsigned)(ldexp(fraction, n + 1)) - (1u << n);
    return (uint16_t)((value < 0 ? 0x8000u : 0) | top << n | low);
}

/* ---- tensors ------------------------------------------------------------------------------ */

static ptrdiff_t place(const tensor *t, size_t i)
{
    ptrdiff_t at = t->first;
    for (size_t d = t->ndim; d-- > 0; i /= t->shape[d])
        at += (ptrdiff_t)(i % t->shape[d]) * t->strides[d];
    return at;
}

tensor tensor_make(infiniDtype_t dtype, size_t ndim, const size_t *shape, const ptrdiff_t *strides,
                   unsigned seed)
{
    tensor t = { .dtype = dtype, .ndim = ndim, .numel = 1, .first = GUARD };
    ptrdiff_t reach = 0;
    for (size_t d = ndim; d-- > 0; t.numel *= shape[d]) {
        t.shape[d] = shape[d];
        t.strides[d] = strides ? strides[d] : (ptrdiff_t)t.numel;
        ptrdiff_t span = shape[d] > 0 ? ((ptrdiff_t)shape[d] - 1) * t.strides[d] : 0;
        t.first -= span < 0 ? span : 0;
        reach += span < 0 ? -span : span;
    }
    t.storage_size = ((size_t)reach + 1 + 2 * GUARD) * element_size(dtype);
    t.storage = malloc(t.storage_size);
    assert_non_null(t.storage);
    memset(t.storage, 0x5a, t.storage_size);
    for (size_t i = 0; i < t.numel; i++) {
        seed = seed * 1664525u + 1013904223u;
        tensor_set(&t, i, ((int)(seed >> 16 & 127) - 64) / 16.0);
    }
    return t;
}

void tensor_free(tensor *t)
{
    free(t->storage);
}

void *tensor_data(const tensor *t)
{
    return t->storage + t->first * (ptrdiff_t)element_size(t->dtype);
}

double tensor_get(const tensor *t, size_t i)
{
    const char *at = t->storage + place(t, i) * (ptrdiff_t)element_size(t->dtype);
    double wide;
    float single;
    uint16_t half;
    int32_t label;
    int64_t long_label;
    switch (t->dtype) {
    case INFINI_DTYPE_I32:
        return memcpy(&label, at, sizeof(label)), label;
    case INFINI_DTYPE_I64:
        return memcpy(&long_label, at, sizeof(long_label)), (double)long_label;
    case INFINI_DTYPE_F64:
        return memcpy(&wide, at, sizeof(wide)), wide;
    case INFINI_DTYPE_F32:
        return memcpy(&single, at, sizeof(single)), (double)single;
    default:
        return memcpy(&half, at, sizeof(half)), decode(t->dtype, half);
    }
}

void tensor_set(tensor *t, size_t i, double value)
{
    char *at = t->storage + place(t, i) * (ptrdiff_t)element_size(t->dtype);
    float single = (float)value;
    int32_t label = (int32_t)value;
    int64_t long_label = (int64_t)value;
    uint16_t half = encode(t->dtype, value);
    switch (t->dtype) {
    case INFINI_DTYPE_I32:
        memcpy(at, &label, sizeof(label));
        break;
    case INFINI_DTYPE_I64:
        memcpy(at, &long_label, sizeof(long_label));
        break;
    case INFINI_DTYPE_F64:
        memcpy(at, &value, sizeof(value));
        break;
    case INFINI_DTYPE_F32:
        memcpy(at, &single, sizeof(single));
        break;
    default:
        memcpy(at, &half, sizeof(half));
    }
}

infiniopTensorDescriptor_t tensor_describe(const tensor *t)
{
    infiniopTensorDescriptor_t desc;
    OK(infiniopCreateTensorDescriptor(&desc, t->ndim, t->shape, t->strides, t->dtype));
    return desc;
}

void assert_guards_intact(const tensor *t, const char *before)
{
    size_t size = element_size(t->dtype);
    char *now = malloc(t->storage_size);
    assert_non_null(now);
    memcpy(now, t->storage, t->storage_size);
    for (size_t i = 0; i < t->numel; i++) {
        size_t at = (size_t)place(t, i) * size;
        memcpy(now + at, before + at, size);
    }
    assert_memory_equal(now, before, t->storage_size);
    free(now);
}

infiniopHandle_t cpu_handle(void)
{
    infiniopHandle_t handle;
    OK(infinirtSetDevice(INFINI_DEVICE_CPU, 0));
    OK(infiniopCreateHandle(&handle));
    return handle;
}
