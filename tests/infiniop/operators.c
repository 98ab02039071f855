/* SPDX-License-Identifier: Apache-2.0 */
/* operators.c - see operators.h. */
#include "operators.h"

#include <string.h>

typedef infiniopHandle_t handle;
typedef infiniopTensorDescriptor_t view;

typedef infiniStatus_t (*create_2)(handle, any_descriptor *, view, view);
typedef infiniStatus_t (*create_2_int)(handle, any_descriptor *, view, view, int);
typedef infiniStatus_t (*create_2_floats)(handle, any_descriptor *, view, view, float, float);
typedef infiniStatus_t (*create_3)(handle, any_descriptor *, view, view, view);
typedef infiniStatus_t (*create_3_int)(handle, any_descriptor *, view, view, view, int);
typedef infiniStatus_t (*create_3_float)(handle, any_descriptor *, view, view, view, float);
typedef infiniStatus_t (*create_3_floats)(handle, any_descriptor *, view, view, view, float, float);
typedef infiniStatus_t (*create_4)(handle, any_descriptor *, view, view, view, view);
typedef infiniStatus_t (*create_5)(handle, any_descriptor *, view, view, view, view, view);
typedef infiniStatus_t (*create_5_float)(handle, any_descriptor *, view, view, view, view, view,
                                         float);
typedef infiniStatus_t (*create_6_float)(handle, any_descriptor *, view, view, view, view, view,
                                         view, float);
typedef infiniStatus_t (*run_2)(any_descriptor, void *, size_t, void *, const void *, void *);
typedef infiniStatus_t (*run_3)(any_descriptor, void *, size_t, void *, const void *, const void *,
                                void *);
typedef infiniStatus_t (*run_4)(any_descriptor, void *, size_t, void *, const void *, const void *,
                                const void *, void *);
typedef infiniStatus_t (*run_5)(any_descriptor, void *, size_t, void *, void *, const void *,
                                const void *, const void *, void *);
typedef infiniStatus_t (*run_6)(any_descriptor, void *, size_t, void *, void *, void *,
                                const void *, const void *, const void *, void *);

infiniStatus_t operator_create(const operator *op, handle h, any_descriptor *desc, const view *v,
                               const operator_values *values)
{
    void (*f)(void) = op->create_function;
    if (op->ntensors == 6)
        return ((create_6_float)f)(h, desc, v[0], v[1], v[2], v[3], v[4], v[5], values->beta);
    if (op->ntensors == 5 && op->needs == NEEDS_EPSILON)
        return ((create_5_float)f)(h, desc, v[0], v[1], v[2], v[3], v[4], values->beta);
    if (op->ntensors == 5)
        return ((create_5)f)(h, desc, v[0], v[1], v[2], v[3], v[4]);
    if (op->ntensors == 4)
        return ((create_4)f)(h, desc, v[0], v[1], v[2], v[3]);
    if (op->ntensors == 2 && op->needs == NEEDS_AXIS)
        return ((create_2_int)f)(h, desc, v[0], v[1], values->axis);
    if (op->ntensors == 2 && op->needs == NEEDS_LINE)
        return ((create_2_floats)f)(h, desc, v[0], v[1], values->alpha, values->beta);
    if (op->ntensors == 2)
        return ((create_2)f)(h, desc, v[0], v[1]);
    if (op->needs == NEEDS_EPSILON)
        return ((create_3_float)f)(h, desc, v[0], v[1], v[2], values->beta);
    if (op->needs == NEEDS_AXIS)
        return ((create_3_int)f)(h, desc, v[0], v[1], v[2], values->axis);
    if (op->needs == NEEDS_LINE)
        return ((create_3_floats)f)(h, desc, v[0], v[1], v[2], values->alpha, values->beta);
    return ((create_3)f)(h, desc, v[0], v[1], v[2]);
}

infiniStatus_t operator_run(const operator *op, any_descriptor desc, void *workspace,
                            size_t workspace_size, void *const *data)
{
    void (*f)(void) = op->run_function;
    if (op->ntensors == 6)
        return ((run_6)f)(desc, workspace, workspace_size, data[0], data[1], data[2], data[3],
                          data[4], data[5], NULL);
    if (op->ntensors == 4)
        return ((run_4)f)(desc, workspace, workspace_size, data[0], data[1], data[2], data[3],
                          NULL);
    if (op->ntensors == 5)
        return ((run_5)f)(desc, workspace, workspace_size, data[0], data[1], data[2], data[3],
                          data[4], NULL);
    if (op->ntensors == 2)
        return ((run_2)f)(desc, workspace, workspace_size, data[0], data[1], NULL);
    return ((run_3)f)(desc, workspace, workspace_size, data[0], data[1], data[2], NULL);
}

static int is_one_of(const char *name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return 0;
}

int operator_is_param(const operator *op, int i)
{
    static const char *const params[] = { "slope", "diff_slope", "gamma", "beta" };
    return is_one_of(op->tensors[i], params, 4);
}

static int has_rows(const operator *op, int i)
{
    static const char *const rows[] = { "loss", "diff_loss", "label", "rstd" };
    return is_one_of(op->tensors[i], rows, 4);
}

infiniDtype_t operator_dtype(const operator *op, int i, infiniDtype_t dtype)
{
    return strcmp(op->tensors[i], "label") == 0 ? INFINI_DTYPE_I64 : dtype;
}

size_t operator_shape(const operator *op, int i, size_t rows, size_t channels, size_t shape[2])
{
    shape[0] = operator_is_param(op, i) ? channels : rows;
    shape[1] = strcmp(op->tensors[i], HALVES_NAME) == 0 ? 2 * channels : channels;
    return operator_is_param(op, i) || has_rows(op, i) ? 1 : 2;
}

/* The compiler stops at a Create or run function whose parameters are not listed here. */
#define NEEDS(f) \
    _Generic(&f, create_2: NEEDS_NOTHING, create_2_floats: NEEDS_LINE, create_3: NEEDS_NOTHING, \
             create_4: NEEDS_NOTHING, create_5: NEEDS_NOTHING, create_2_int: NEEDS_AXIS,        \
             create_3_int: NEEDS_AXIS, create_3_floats: NEEDS_LINE,                             \
             create_3_float: NEEDS_EPSILON, create_5_float: NEEDS_EPSILON,                      \
             create_6_float: NEEDS_EPSILON)
#define NAMES_1_1(a, b) #a, #b
#define NAMES_1_2(a, b, c) #a, #b, #c
#define NAMES_1_3(a, b, c, d) #a, #b, #c, #d
#define NAMES_2_3(a, b, c, d, e) #a, #b, #c, #d, #e
#define NAMES_3_3(a, b, c, d, e, f) #a, #b, #c, #d, #e, #f

const operator operators[] = {
#define OP(stem, vjp_op, arity, tensors, params, attrs) ROW(stem, vjp_op, NAMES_##arity tensors)
#define LAST_OPTIONAL OP
#define HALVES(stem, vjp_op, tensors, attrs) ROW(stem, vjp_op, "dst", HALVES_NAME)
#define ROW(stem, vjp_op, ...)                                    \
    { #vjp_op,                                                    \
      { __VA_ARGS__ },                                            \
      _Generic(&infiniop##stem, run_2: 2, run_3: 3, run_4: 4, run_5: 5, run_6: 6), \
      NEEDS(infiniopCreate##stem##Descriptor),                    \
      infiniopGet##stem##WorkspaceSize,                           \
      infiniopDestroy##stem##Descriptor,                          \
      (void (*)(void))infiniopCreate##stem##Descriptor,           \
      (void (*)(void))infiniop##stem },
#include "../../compat/infiniop/ops.def"
};

const int noperators = sizeof(operators) / sizeof(operators[0]);
