/* SPDX-License-Identifier: Apache-2.0 */
/* support.h - what the tests of the infiniop interface share: tensors with data and guards.
 *
 * Values are read and written as double, element by element, with nothing of vjp: a test that
 * agrees with the library agrees with a second reading of the same bytes. */
#ifndef TESTS_INFINIOP_SUPPORT_H
#define TESTS_INFINIOP_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <infiniop.h>
#include <infinirt.h>

#define EXPECT(status, call) assert_int_equal((call), INFINI_STATUS_##status)
#define OK(call) EXPECT(SUCCESS, call)
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

#define MAX_RANK 5
#define GUARD 16 /* elements before and after the data, and every element that strides skip */

typedef struct tensor {
    infiniDtype_t dtype;
    size_t ndim, numel;
    size_t shape[MAX_RANK];
    ptrdiff_t strides[MAX_RANK];
    char *storage;
    size_t storage_size;
    ptrdiff_t first; /* the position of element (0, 0, ...), in elements */
} tensor;

extern const infiniDtype_t infini_dtypes[4];

/* strides NULL: dense. The data is some multiples of 1/16 in [-4, 4), exact in every dtype. */
tensor tensor_make(infiniDtype_t dtype, size_t ndim, const size_t *shape, const ptrdiff_t *strides,
                   unsigned seed);
void tensor_free(tensor *t);

/* The address of element (0, 0, ...): what infiniop calls the tensor's data. */
void *tensor_data(const tensor *t);

/* Element i in row-major order of the indices, whatever the strides. */
double tensor_get(const tensor *t, size_t i);
void tensor_set(tensor *t, size_t i, double value);

infiniopTensorDescriptor_t tensor_describe(const tensor *t);

/* Fail unless the storage of t is the same as `before`, except for the elements that t addresses.
 */
void assert_guards_intact(const tensor *t, const char *before);

infiniopHandle_t cpu_handle(void);

#endif
