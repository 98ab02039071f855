/* SPDX-License-Identifier: Apache-2.0 */
/* test_known_faults.c - the faults of tests/test_known_faults.c, tested in the oneDNN Graph
 * front-end: with every served operation and tensor that they apply to. */
#include <stdlib.h>
#include <string.h>

#include "drop_in.h"

/* The sanitizers look these up by name; without them a malloc that fails ends the program. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

enum {
    ROWS = 4,
    COLUMNS = 6
};

static const int64_t plain_dims[] = { ROWS, COLUMNS };

/* each_served - call with every operation that is served, on dense f32 of (4, 6). */
static void each_served(void (*ask)(const operation *o, const void *arg), const void *arg)
{
    int served = 0;
    for (int kind = 0; kind < dnnl_graph_op_last_symbol; kind++) {
        operation o;
        if (!served_operation((dnnl_graph_op_kind_t)kind, dense(0, dnnl_f32, 2, plain_dims), &o))
            continue;
        assert_ok(compile_status(&o));
        ask(&o, arg);
        served++;
    }
    assert_true(served > 0);
}

/* refused - the operation cannot be compiled; nothing is left of the attempt. */
static void refused(const operation *o)
{
    dnnl_status_t status = compile_status(o);
    if (status != dnnl_invalid_shape && status != dnnl_invalid_arguments)
        fail_msg("kind %d: compiling gave %s", (int)o->kind, dnnl_status2str(status));
}

static int same_shape(const logical_tensor *a, const logical_tensor *b)
{
    return a->ndims == b->ndims &&
           memcmp(a->dims, b->dims, (size_t)a->ndims * sizeof(a->dims[0])) == 0;
}

/* The slope of PReLU and gamma may have any shape that is broadcast to src; no gradient must have
 * the same. */
static int is_slope_that_fits(const operation *o, size_t i, const logical_tensor *bent)
{
    int has_param = o->kind == dnnl_graph_op_prelu || o->kind == dnnl_graph_op_rms_norm;
    if (!has_param || i != 1 || bent->ndims > 2)
        return 0;
    for (int d = 0; d < bent->ndims; d++)
        if (bent->dims[d] != 1 && bent->dims[d] != plain_dims[2 - bent->ndims + d])
            return 0;
    return 1;
}

/* Tensor after tensor takes the shape of `arg`, but where it has it already. */
static void each_tensor_bent_is_refused(const operation *o, const void *arg)
{
    const logical_tensor *bent = arg;
    for (size_t i = 0; i < o->ninputs + o->noutputs; i++) {
        operation other = *o;
        if (same_shape(&o->tensors[i], bent) || is_slope_that_fits(o, i, bent))
            continue;
        other.tensors[i] = with_id(*bent, o->tensors[i].id);
        refused(&other);
    }
}

static void bent(int ndims, const int64_t *dims)
{
    const logical_tensor lt = dense(0, dnnl_f32, ndims, dims);
    each_served(each_tensor_bent_is_refused, &lt);
}

static void tensorflow_cve_2021_37674_gradients_of_another_shape(void **state)
{
    (void)state;
    bent(2, (int64_t[]){ ROWS + 1, COLUMNS });
    bent(2, (int64_t[]){ ROWS - 1, COLUMNS });
    bent(2, (int64_t[]){ ROWS, COLUMNS + 1 });
    bent(2, (int64_t[]){ ROWS, COLUMNS - 1 });
    bent(2, (int64_t[]){ COLUMNS, ROWS });
    bent(1, (int64_t[]){ ROWS * COLUMNS });
}

static void empty_is_accepted(const operation *o, const void *arg)
{
    const int64_t *dims = arg;
    operation empty;
    assert_true(served_operation(o->kind, dense(0, dnnl_f32, 2, dims), &empty));
    assert_ok(compile_status(&empty));
}

static void tensorflow_cve_2021_29580_empty_tensors(void **state)
{
    (void)state;
    bent(2, (int64_t[]){ 0, COLUMNS });
    bent(2, (int64_t[]){ ROWS, 0 });
    bent(1, (int64_t[]){ 0 });
    each_served(empty_is_accepted, (int64_t[]){ 0, COLUMNS });
    each_served(empty_is_accepted, (int64_t[]){ ROWS, 0 });
}

/* All tensors of these dims, the slope of the last, each at stride 1: a description in which only
 * the product of the dims is wrong. */
static void wrapping_product_is_refused(const operation *o, const void *arg)
{
    const int64_t *dims = arg, ones[] = { 1, 1 };
    operation other = *o;
    for (size_t i = 0; i < o->ninputs + o->noutputs; i++) {
        int ndims = o->tensors[i].ndims;
        other.tensors[i] =
            strided(o->tensors[i].id, dnnl_bf16, ndims, dims + 2 - ndims, ones);
    }
    refused(&other);
}

static void tensorflow_cve_2022_23575_products_of_dims_that_wrap(void **state)
{
    static const dnnl_dims_t wraps[] = {
        { INT64_C(1) << 32, INT64_C(1) << 31 },  /* to -2^63 */
        { INT64_C(1) << 32, INT64_C(1) << 32 },  /* to 0 */
        { INT64_C(0x5555555555555555), 3 },      /* to -1 */
        { INT64_MAX, INT64_MAX },                /* to 1 */
        { INT64_C(0x5555555555555556), 3 },      /* to 2 */
    };
    (void)state;
    for (size_t w = 0; w < COUNT_OF(wraps); w++) {
        logical_tensor lt;
        each_served(wrapping_product_is_refused, wraps[w]);
        assert_invalid(dnnl_graph_logical_tensor_init_with_dims(
            &lt, 0, dnnl_f32, 2, wraps[w], dnnl_graph_layout_type_strided,
            dnnl_graph_tensor_property_variable));
    }
}

static int64_t axis;

static void set_axis(dnnl_graph_op_t op)
{
    set_s64(op, dnnl_graph_op_attr_axis, axis);
}

static void tensorflow_cve_2022_21726_axes_out_of_bounds(void **state)
{
    static const int64_t axes[] = { 2, 3, -3, 12, 13, 255, 256, -256, INT32_MAX, INT32_MIN,
                                    INT64_C(1) << 32, (INT64_C(1) << 32) + 1,
                                    -(INT64_C(1) << 32) - 1, INT64_MAX, INT64_MIN };
    operation o = elementwise(dnnl_graph_op_softmax_backward, dense(0, dnnl_f32, 2, plain_dims));
    (void)state;
    o.set_attrs = set_axis;
    for (size_t i = 0; i < COUNT_OF(axes); i++) {
        axis = axes[i];
        refused(&o);
    }
}

static void tensorflow_cve_2022_41897_parameters_of_another_length(void **state)
{
    const logical_tensor data = dense(0, dnnl_f32, 2, plain_dims);
    (void)state;
    for (int64_t length = 0; length <= 3 * COLUMNS; length++) {
        const logical_tensor slope = dense(0, dnnl_f32, 1, &length);
        operation both = prelu(data, slope), one;
        if (length == COLUMNS)
            continue;
        if (length != 1)
            refused(&both);
        for (size_t i = 1; i < both.ninputs + both.noutputs; i += 3) { /* slope, diff_slope */
            one = prelu(data, dense(0, dnnl_f32, 1, (int64_t[]){ COLUMNS }));
            one.tensors[i] = with_id(slope, i);
            refused(&one);
        }
    }
}

static void negative_dims_are_refused(const operation *o, const void *arg)
{
    (void)arg;
    for (size_t i = 0; i < o->ninputs + o->noutputs; i++)
        for (int d = 0; d < o->tensors[i].ndims; d++) {
            operation other = *o;
            other.tensors[i].dims[d] = -COLUMNS;
            refused(&other);
            for (int k = 0; k < o->tensors[i].ndims; k++)
                other.tensors[i].dims[k] = INT64_MIN + 1 + k; /* INT64_MIN: unknown */
            refused(&other);
        }
}

static void tensorflow_cve_2023_25664_outputs_larger_than_the_gradient(void **state)
{
    (void)state;
    bent(2, (int64_t[]){ ROWS * 1000, COLUMNS });
    bent(2, (int64_t[]){ ROWS, COLUMNS * 1000 });
    each_served(negative_dims_are_refused, NULL);
}

/* What would broadcast is refused too, and tensors that are not those compiled for. */
static void
pytorch_issue_195547_a_tensor_smaller_than_the_one_that_bounds_the_loop(void **state)
{
    (void)state;
    bent(2, (int64_t[]){ 1, 1 });
    bent(2, (int64_t[]){ ROWS, 1 });
    bent(2, (int64_t[]){ 1, COLUMNS });
    bent(1, (int64_t[]){ 1 });
    bent(1, (int64_t[]){ ROWS });
    bent(3, (int64_t[]){ 1, ROWS, COLUMNS });
    bent(0, NULL);
}

static void smaller_tensors_are_not_executed(const operation *o, const void *arg)
{
    static float memory[MAX_TENSORS][ROWS * COLUMNS], untouched[MAX_TENSORS][ROWS * COLUMNS];
    machine m = machine_start(o, NULL);
    void *data[MAX_TENSORS], *scratchpad = malloc(scratchpad_size(&m) + 1);
    const size_t ntensors = o->ninputs + o->noutputs;
    (void)arg;
    memset(memory, 0, sizeof(memory)); /* of what the operation before wrote */
    for (size_t i = 0; i < ntensors; i++)
        data[i] = memory[i];
    for (size_t i = 0; i < ntensors; i++) {
        logical_tensor tensors[MAX_TENSORS];
        memcpy(tensors, m.resolved, sizeof(tensors));
        tensors[i] = dense(tensors[i].id, dnnl_f32, 2, (int64_t[]){ 1, COLUMNS });
        assert_invalid(machine_run_as(&m, tensors, data, scratchpad));
        assert_memory_equal(memory, untouched, sizeof(memory));
    }
    assert_ok(machine_run(&m, data, scratchpad));
    free(scratchpad);
    machine_stop(&m);
}

static void pytorch_issue_195547_a_tensor_smaller_than_the_one_compiled_for(void **state)
{
    (void)state;
    each_served(smaller_tensors_are_not_executed, NULL);
}

/* Operations on rows refuse so many elements. */
static int has_rows(dnnl_graph_op_kind_t kind)
{
    return kind == dnnl_graph_op_softmax || kind == dnnl_graph_op_softmax_backward ||
           kind == dnnl_graph_op_log_softmax || kind == dnnl_graph_op_log_softmax_backward ||
           kind == dnnl_graph_op_layer_norm || kind == dnnl_graph_op_layer_norm_backward ||
           kind == dnnl_graph_op_rms_norm;
}

/* 2^59 + 1 elements of f32 are 4 bytes if their bits are counted in 64 bits, and 2^62 + 1 are if
 * their bytes are. */
static void large_tensors_overlap(const operation *o, const void *arg)
{
    static char memory[512];
    operation large;
    void *data[MAX_TENSORS];
    (void)arg;
    assert_true(served_operation(
        o->kind, dense(0, dnnl_f32, 2, (int64_t[]){ 1, (INT64_C(1) << 59) + 1 }), &large));
    if (has_rows(o->kind)) {
        refused(&large);
        return;
    }
    machine m = machine_start(&large, NULL);
    void *scratchpad = malloc(scratchpad_size(&m) + 1);
    for (size_t i = 0; i < MAX_TENSORS; i++)
        data[i] = memory + 64 * i;
    assert_invalid(machine_run(&m, data, scratchpad));
    free(scratchpad);
    machine_stop(&m);
}

static void xnnpack_issue_10100_a_size_that_wraps_to_4_bytes(void **state)
{
    const logical_tensor in_bits = dense(0, dnnl_f32, 1, (int64_t[]){ (INT64_C(1) << 59) + 1 });
    const logical_tensor in_bytes = dense(0, dnnl_f32, 1, (int64_t[]){ (INT64_C(1) << 62) + 1 });
    operation o = elementwise(dnnl_graph_op_relu_backward, in_bytes);
    dnnl_engine_t engine;
    dnnl_graph_tensor_t tensor;
    (void)state;
    assert_ok(dnnl_engine_create(&engine, dnnl_cpu, 0));
    assert_true(bytes_of(&in_bits) == ((size_t)1 << 61) + 4);
    assert_true(bytes_of(&in_bytes) == SIZE_MAX);
    assert_true(dnnl_graph_tensor_create(&tensor, &in_bits, engine, DNNL_MEMORY_ALLOCATE) !=
                dnnl_success);
    assert_invalid(dnnl_graph_tensor_create(&tensor, &in_bytes, engine, DNNL_MEMORY_ALLOCATE));
    assert_ok(dnnl_engine_destroy(engine));
    refused(&o);
    each_served(large_tensors_overlap, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensorflow_cve_2021_37674_gradients_of_another_shape),
        cmocka_unit_test(tensorflow_cve_2021_29580_empty_tensors),
        cmocka_unit_test(tensorflow_cve_2022_23575_products_of_dims_that_wrap),
        cmocka_unit_test(tensorflow_cve_2022_21726_axes_out_of_bounds),
        cmocka_unit_test(tensorflow_cve_2022_41897_parameters_of_another_length),
        cmocka_unit_test(tensorflow_cve_2023_25664_outputs_larger_than_the_gradient),
        cmocka_unit_test(
            pytorch_issue_195547_a_tensor_smaller_than_the_one_that_bounds_the_loop),
        cmocka_unit_test(pytorch_issue_195547_a_tensor_smaller_than_the_one_compiled_for),
        cmocka_unit_test(xnnpack_issue_10100_a_size_that_wraps_to_4_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
