/* SPDX-License-Identifier: Apache-2.0 */
/* operators.h - the operators of the infiniop interface as a table, from compat's ops.def, so that
 * tests can do the same with each of them. */
#ifndef TESTS_INFINIOP_OPERATORS_H
#define TESTS_INFINIOP_OPERATORS_H

#include <infiniop.h>

enum { MOST_ARGUMENTS = 6 };

/* The name of an argument that holds two tensors of vjp, side by side along its last dim. */
#define HALVES_NAME "two halves"

typedef struct InfiniopDescriptor *any_descriptor;

/* What Create takes after the tensors. */
typedef enum operator_needs {
    NEEDS_NOTHING,
    NEEDS_AXIS,
    NEEDS_LINE,
    NEEDS_EPSILON
} operator_needs;

/* beta is the epsilon, too. */
typedef struct operator_values {
    int axis;
    float alpha, beta;
} operator_values;

typedef struct operator {
    const char *vjp_name;
    const char *tensors[MOST_ARGUMENTS]; /* by vjp's names, outputs first */
    int ntensors;
    operator_needs needs;
    infiniStatus_t (*get_workspace_size)(any_descriptor desc, size_t *size);
    infiniStatus_t (*destroy)(any_descriptor desc);
    void (*create_function)(void), (*run_function)(void);
} operator;

extern const operator operators[];
extern const int noperators;

infiniStatus_t operator_create(const operator *op, infiniopHandle_t handle, any_descriptor *desc,
                               const infiniopTensorDescriptor_t *tensors,
                               const operator_values *values);
infiniStatus_t operator_run(const operator *op, any_descriptor desc, void *workspace,
                            size_t workspace_size, void *const *data);

/* operator_shape - the shape of tensor i where the data have the shape (rows, channels): a
 * parameter has one element for each channel, a label or statistic one for each row. Returns its
 * ndim. operator_is_param - whether it is a parameter. operator_dtype - its dtype where the data
 * have that one. */
size_t operator_shape(const operator *op, int i, size_t rows, size_t channels, size_t shape[2]);
int operator_is_param(const operator *op, int i);
infiniDtype_t operator_dtype(const operator *op, int i, infiniDtype_t dtype);

#endif
