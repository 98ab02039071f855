/* SPDX-License-Identifier: Apache-2.0 */
/* test_rows.c - softmax, cross-entropy and norms against the oracle: in every dtype, with
 * statistics of either dtype, in place, with labels that are no class, and without a bias. */
#include <stdlib.h>
#include <string.h>

#include "expected.h"
#include "operators.h"

enum {
    ROWS = 6,
    CHANNELS = 9
};

static const operator_values values = { -1, 0, 0.125f };

#define AXIS { "axis", VJP_ATTR_S64, { .s64 = -1 } }
#define FLAG(name) { name, VJP_ATTR_BOOL, { .b = 1 } }
#define EPSILON { "epsilon", VJP_ATTR_F64, { .f64 = 0.125 } }

/* What an operator of the interface means: it is found by vjp's name and what Create takes. */
typedef struct meaning {
    const char *op;
    operator_needs needs;
    vjp_attr attrs[2]; /* up to the first without a name */
} meaning;

static const meaning meanings[] = {
    { "softmax", NEEDS_AXIS, { AXIS } },
    { "softmax", NEEDS_NOTHING, { AXIS, FLAG("causal") } },
    { "log_softmax", NEEDS_AXIS, { AXIS } },
    { "cross_entropy", NEEDS_NOTHING, { AXIS, FLAG("lenient") } },
    { "cross_entropy_backward", NEEDS_NOTHING, { AXIS, FLAG("lenient") } },
    { "rms_norm", NEEDS_EPSILON, { EPSILON } },
    { "add_rms_norm", NEEDS_EPSILON, { EPSILON } },
    { "layer_norm",
      NEEDS_EPSILON,
      { EPSILON, { "statistics", VJP_ATTR_STR, { .str = "deviation" } } } },
};

static const operator *operator_of(const meaning *m)
{
    for (int k = 0; k < noperators; k++)
        if (strcmp(operators[k].vjp_name, m->op) == 0 && operators[k].needs == m->needs)
            return &operators[k];
    fail_msg("no %s", m->op);
    return NULL;
}

/* One call: tensors in the order of the arguments, without those that are left out. */
typedef struct call {
    const operator *op;
    tensor made[MOST_ARGUMENTS];
    const tensor *used[MOST_ARGUMENTS];
} call;

/* Labels: classes, and two that are none. */
static void set_labels(tensor *label)
{
    for (size_t i = 0; i < label->numel; i++)
        tensor_set(label, i, i == 1 ? -1 : i == 2 ? CHANNELS : (double)(i * 5 % CHANNELS));
}

/* stats: the dtype of what has an element per row or channel. */
static void make_call(const operator *op, infiniDtype_t dtype, infiniDtype_t stats,
                      infiniDtype_t label, call *c)
{
    *c = (call){ .op = op };
    for (int i = 0; i < op->ntensors; i++) {
        size_t shape[2], ndim = operator_shape(op, i, ROWS, CHANNELS, shape);
        int is_label = strcmp(op->tensors[i], "label") == 0;
        infiniDtype_t own = is_label ? label : ndim == 1 ? stats : dtype;
        c->made[i] = tensor_make(own, ndim, shape, NULL, (unsigned)i);
        if (is_label)
            set_labels(&c->made[i]);
        c->used[i] = &c->made[i];
    }
}

static void run_call(infiniopHandle_t handle, const call *c)
{
    infiniopTensorDescriptor_t descs[MOST_ARGUMENTS] = { NULL };
    void *data[MOST_ARGUMENTS] = { NULL };
    any_descriptor desc;
    size_t size;
    for (int i = 0; i < c->op->ntensors; i++)
        if (c->used[i]) {
            descs[i] = tensor_describe(c->used[i]);
            data[i] = tensor_data(c->used[i]);
        }
    OK(operator_create(c->op, handle, &desc, descs, &values));
    OK(c->op->get_workspace_size(desc, &size));
    void *workspace = malloc(size + 1);
    OK(operator_run(c->op, desc, workspace, size, data));
    free(workspace);
    OK(c->op->destroy(desc));
    for (int i = 0; i < c->op->ntensors; i++)
        OK(infiniopDestroyTensorDescriptor(descs[i]));
}

/* Compare with the oracle, and free the tensors. */
static void check_call(infiniopHandle_t handle, const meaning *m, call *c)
{
    problem p = problem_start(m->op);
    const tensor *placed[PROBLEM_TENSORS] = { NULL };
    for (size_t i = 0; i < COUNT(m->attrs) && m->attrs[i].name; i++)
        problem_add_attr(&p, m->attrs[i]);
    for (int i = 0; i < c->op->ntensors; i++)
        placed[problem_tensor(&p, c->op->tensors[i])] = c->used[i];
    expected e = expected_of(&p, placed);
    run_call(handle, c);
    expected_check(&e, placed + p.op->ninputs);
    for (int i = 0; i < c->op->ntensors; i++)
        tensor_free(&c->made[i]);
}

/* The first output in the memory of the first input of its shape. */
static void put_in_place(call *c)
{
    for (int i = 1; i < c->op->ntensors; i++)
        if (strcmp(c->op->tensors[i], "src") == 0 || strcmp(c->op->tensors[i], "a") == 0) {
            if (c->made[i].ndim == c->made[0].ndim)
                c->used[0] = c->used[i];
            return;
        }
}

static void rows_are_right_in_every_dtype(void **state)
{
    infiniopHandle_t handle = cpu_handle();
    (void)state;
    for (size_t m = 0; m < COUNT(meanings); m++)
        for (size_t t = 0; t < COUNT(infini_dtypes); t++)
            for (int place = 0; place < 2; place++) {
                infiniDtype_t dtype = infini_dtypes[t];
                infiniDtype_t f32 = dtype == INFINI_DTYPE_F64 ? dtype : INFINI_DTYPE_F32;
                call c;
                make_call(operator_of(&meanings[m]), dtype, place ? dtype : f32,
                          place ? INFINI_DTYPE_I32 : INFINI_DTYPE_I64, &c);
                if (place)
                    put_in_place(&c);
                check_call(handle, &meanings[m], &c);
            }
    OK(infiniopDestroyHandle(handle));
}

static void a_label_that_is_no_class_gives_0(void **state)
{
    infiniopHandle_t handle = cpu_handle();
    const operator *op = operator_of(&meanings[3]), *backward = operator_of(&meanings[4]);
    call loss, gradient;
    (void)state;
    make_call(op, INFINI_DTYPE_F32, INFINI_DTYPE_F32, INFINI_DTYPE_I64, &loss);
    make_call(backward, INFINI_DTYPE_F32, INFINI_DTYPE_F32, INFINI_DTYPE_I64, &gradient);
    run_call(handle, &loss);
    run_call(handle, &gradient);
    for (size_t row = 1; row <= 2; row++) {
        assert_true(tensor_get(&loss.made[0], row) == 0);
        for (size_t i = 0; i < CHANNELS; i++)
            assert_true(tensor_get(&gradient.made[0], row * CHANNELS + i) == 0);
    }
    assert_true(tensor_get(&loss.made[0], 0) > 0);
    for (int i = 0; i < 4; i++)
        tensor_free(&gradient.made[i]);
    for (int i = 0; i < 3; i++)
        tensor_free(&loss.made[i]);
    OK(infiniopDestroyHandle(handle));
}

static void a_layer_norm_may_have_no_bias(void **state)
{
    infiniopHandle_t handle = cpu_handle();
    const meaning *m = &meanings[7];
    (void)state;
    for (size_t t = 0; t < COUNT(infini_dtypes); t++) {
        call c;
        make_call(operator_of(m), infini_dtypes[t], infini_dtypes[t], INFINI_DTYPE_I64, &c);
        c.used[5] = NULL;
        check_call(handle, m, &c);
    }
    OK(infiniopDestroyHandle(handle));
}

/* Only what may be missing may be NULL. */
static void other_tensors_must_be_there(void **state)
{
    infiniopHandle_t handle = cpu_handle();
    (void)state;
    for (size_t m = 0; m < COUNT(meanings); m++) {
        call c;
        make_call(operator_of(&meanings[m]), INFINI_DTYPE_F32, INFINI_DTYPE_F32, INFINI_DTYPE_I64,
                  &c);
        int is_layer_norm = c.op->ntensors == 6;
        for (int missing = 0; missing < c.op->ntensors - is_layer_norm; missing++) {
            infiniopTensorDescriptor_t descs[MOST_ARGUMENTS] = { NULL };
            any_descriptor desc;
            for (int i = 0; i < c.op->ntensors; i++)
                descs[i] = i == missing ? NULL : tensor_describe(&c.made[i]);
            EXPECT(BAD_PARAM, operator_create(c.op, handle, &desc, descs, &values));
            assert_null(desc);
            for (int i = 0; i < c.op->ntensors; i++)
                OK(infiniopDestroyTensorDescriptor(descs[i]));
        }
        for (int i = 0; i < c.op->ntensors; i++)
            tensor_free(&c.made[i]);
    }
    OK(infiniopDestroyHandle(handle));
}

static void numbers_and_labels_that_are_refused(void **state)
{
    infiniopHandle_t handle = cpu_handle();
    call norm, loss;
    infiniopTensorDescriptor_t descs[3];
    any_descriptor desc;
    (void)state;
    make_call(operator_of(&meanings[5]), INFINI_DTYPE_F32, INFINI_DTYPE_F32, INFINI_DTYPE_I64,
              &norm);
    make_call(operator_of(&meanings[3]), INFINI_DTYPE_F32, INFINI_DTYPE_F32, INFINI_DTYPE_F32,
              &loss);
    for (int i = 0; i < 3; i++)
        descs[i] = tensor_describe(&norm.made[i]);
    EXPECT(BAD_PARAM, infiniopCreateRMSNormDescriptor(handle, &desc, descs[0], descs[1], descs[2],
                                                      -1));
    for (int i = 0; i < 3; i++) {
        OK(infiniopDestroyTensorDescriptor(descs[i]));
        descs[i] = tensor_describe(&loss.made[i]);
    }
    EXPECT(BAD_TENSOR_DTYPE,
           infiniopCreateCrossEntropyDescriptor(handle, &desc, descs[0], descs[1], descs[2]));
    for (int i = 0; i < 3; i++) {
        OK(infiniopDestroyTensorDescriptor(descs[i]));
        tensor_free(&norm.made[i]);
        tensor_free(&loss.made[i]);
    }
    OK(infiniopDestroyHandle(handle));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_right_in_every_dtype),
        cmocka_unit_test(a_label_that_is_no_class_gives_0),
        cmocka_unit_test(a_layer_norm_may_have_no_bias),
        cmocka_unit_test(other_tensors_must_be_there),
        cmocka_unit_test(numbers_and_labels_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
