/* SPDX-License-Identifier: Apache-2.0 */
/* test_schema.c - operations against their schemas: what add_op and create_with_op refuse. That
 * every op kind has one: test_kinds.c. */
#include <stdlib.h>

#include "drop_in.h"

static void alpha(dnnl_graph_op_t op)
{
    set_f32(op, dnnl_graph_op_attr_alpha, 1);
}

static void beta(dnnl_graph_op_t op)
{
    set_f32(op, dnnl_graph_op_attr_beta, 1);
}

static logical_tensor vector(size_t id)
{
    return dense(id, dnnl_f32, 1, (int64_t[]){ 4 });
}

/* any_operation - one that fits its schema, of a gradient or of SoftMax. */
static operation any_operation(dnnl_graph_op_kind_t kind)
{
    if (kind == dnnl_graph_op_prelu_backward)
        return prelu(vector(0), vector(0));
    operation o = elementwise(kind, vector(0));
    if (kind == dnnl_graph_op_softmax)
        o.ninputs = 1;
    return o;
}

static void on_a_gpu_nothing_is_supported(void **state)
{
    (void)state;
    operation o = elementwise(dnnl_graph_op_relu_backward, vector(0));
    dnnl_graph_op_t op = make_op(&o, 1);
    dnnl_graph_partition_t partition;
    dnnl_engine_kind_t kind = dnnl_cpu;
    uint8_t supported = 1;
    assert_ok(dnnl_graph_partition_create_with_op(&partition, op, dnnl_gpu));
    assert_ok(dnnl_graph_partition_is_supported(partition, &supported));
    assert_int_equal(supported, 0);
    assert_ok(dnnl_graph_partition_get_engine_kind(partition, &kind));
    assert_int_equal(kind, dnnl_gpu);
    assert_ok(dnnl_graph_partition_destroy(partition));
    assert_ok(dnnl_graph_op_destroy(op));
}

/* ---- refusals ----------------------------------------------------------------------------- */

/* add_status - what add_op says; create_with_op must say the same. */
static dnnl_status_t add_status(const operation *o)
{
    dnnl_graph_op_t op = make_op(o, 1);
    dnnl_graph_graph_t graph;
    dnnl_graph_partition_t partition;
    assert_ok(dnnl_graph_graph_create(&graph, dnnl_cpu));
    dnnl_status_t status = dnnl_graph_add_op(graph, op);
    assert_dnnl(status, dnnl_graph_partition_create_with_op(&partition, op, dnnl_cpu));
    assert_true((status == dnnl_success) == (partition != NULL));
    dnnl_graph_partition_destroy(partition);
    dnnl_graph_graph_destroy(graph);
    dnnl_graph_op_destroy(op);
    return status;
}

static void assert_refused(operation o)
{
    assert_dnnl(dnnl_invalid_graph_op, add_status(&o));
}

static void assert_accepted(operation o)
{
    assert_ok(add_status(&o));
}

static void a_wrong_count_of_tensors_is_refused(void **state)
{
    (void)state;
    static const dnnl_graph_op_kind_t kinds[] = {
        dnnl_graph_op_relu_backward,         dnnl_graph_op_sigmoid_backward,
        dnnl_graph_op_hard_sigmoid_backward, dnnl_graph_op_softmax_backward,
        dnnl_graph_op_prelu_backward,
    };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        operation good = any_operation(kinds[i]), bad = good;
        assert_accepted(good);
        bad.noutputs--;
        assert_refused(bad);
        bad = good;
        bad.ninputs--; /* an input becomes an output */
        assert_refused(bad);
        bad.noutputs = good.noutputs - 1;
        assert_refused(bad);
        bad = good;
        bad.ninputs++;
        assert_refused(bad);
        bad = good;
        bad.ninputs = bad.noutputs = 0;
        assert_refused(bad);
    }
    operation softmax = any_operation(dnnl_graph_op_softmax);
    softmax.noutputs = 2; /* stats */
    assert_accepted(softmax);
    softmax.noutputs = 3;
    assert_refused(softmax);
}

static void dtypes_outside_the_schema_are_refused(void **state)
{
    (void)state;
    for (int dtype = 0; dtype <= dnnl_s64; dtype++) {
        logical_tensor lt = dense(0, (dnnl_data_type_t)dtype, 1, (int64_t[]){ 4 });
        operation o = elementwise(dnnl_graph_op_relu_backward, lt);
        if (dtype == dnnl_f32 || dtype == dnnl_bf16 || dtype == dnnl_f16)
            assert_accepted(o);
        else
            assert_refused(o);
    }
}

static void mixed_dtypes_are_refused_but_for_softmax_to_f32(void **state)
{
    (void)state;
    const dnnl_data_type_t narrow[] = { dnnl_bf16, dnnl_f16 };
    for (size_t i = 0; i < COUNT_OF(narrow); i++) {
        logical_tensor half = dense(0, narrow[i], 1, (int64_t[]){ 4 });
        operation o = elementwise(dnnl_graph_op_relu_backward, half);
        o.tensors[2] = vector(2);
        assert_refused(o);
        o = elementwise(dnnl_graph_op_relu_backward, half);
        o.tensors[1] = vector(1);
        assert_refused(o);
        o = elementwise(dnnl_graph_op_softmax_backward, half);
        o.tensors[2] = vector(2);
        assert_accepted(o);
        o.tensors[1] = vector(1);
        assert_refused(o);
        o = elementwise(dnnl_graph_op_softmax_backward, vector(0));
        o.tensors[2] = with_id(half, 2);
        assert_refused(o);
        o = elementwise(dnnl_graph_op_softmax_backward, half);
        o.tensors[2] = dense(2, narrow[1 - i], 1, (int64_t[]){ 4 });
        assert_refused(o);
        assert_refused(prelu(half, vector(0)));
        o = any_operation(dnnl_graph_op_softmax);
        o.tensors[0] = half;
        o.tensors[1] = vector(1);
        assert_accepted(o);
        o.tensors[0] = vector(0);
        o.tensors[1] = with_id(half, 1);
        assert_accepted(o);
    }
}

static void unknown_axis(dnnl_graph_op_t op)
{
    set_s64(op, dnnl_graph_op_attr_axis, 0);
}

static void broadcast_and_format(dnnl_graph_op_t op)
{
    set_bool(op, dnnl_graph_op_attr_per_channel_broadcast, 1);
}

static void wrong_type(dnnl_graph_op_t op)
{
    set_f32(op, dnnl_graph_op_attr_axis, 1);
}

static void wrong_type_of_flag(dnnl_graph_op_t op)
{
    set_s64(op, dnnl_graph_op_attr_use_dst, 1);
}

static void unknown_format(dnnl_graph_op_t op)
{
    set_str(op, dnnl_graph_op_attr_data_format, "NHWC");
}

static void both_formats(dnnl_graph_op_t op)
{
    set_str(op, dnnl_graph_op_attr_data_format, "NCX|NXC");
}

static void part_of_a_format(dnnl_graph_op_t op)
{
    set_str(op, dnnl_graph_op_attr_data_format, "NC");
}

static void format_then_right(dnnl_graph_op_t op)
{
    unknown_format(op);
    set_str(op, dnnl_graph_op_attr_data_format, "NCX");
}

static void attributes_outside_the_schema_are_refused(void **state)
{
    (void)state;
    static const struct {
        dnnl_graph_op_kind_t kind;
        void (*set_attrs)(dnnl_graph_op_t op);
    } refused[] = {
        { dnnl_graph_op_relu_backward, unknown_axis },
        { dnnl_graph_op_relu_backward, wrong_type_of_flag },
        { dnnl_graph_op_softmax_backward, wrong_type },
        { dnnl_graph_op_prelu_backward, broadcast_and_format },
        { dnnl_graph_op_prelu_backward, unknown_format },
        { dnnl_graph_op_prelu_backward, both_formats },
        { dnnl_graph_op_prelu_backward, part_of_a_format },
        { dnnl_graph_op_hard_sigmoid_backward, NULL },
        { dnnl_graph_op_hard_sigmoid_backward, alpha },
        { dnnl_graph_op_hard_sigmoid_backward, beta },
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        operation o = any_operation(refused[i].kind);
        o.set_attrs = refused[i].set_attrs;
        assert_refused(o);
    }
    operation o = any_operation(dnnl_graph_op_prelu_backward);
    o.set_attrs = format_then_right;
    assert_accepted(o);
}

static void set_with_length_0(dnnl_graph_op_t op)
{
    const float alpha = 0.25f, beta = 0.5f;
    assert_ok(dnnl_graph_op_set_attr_f32(op, dnnl_graph_op_attr_alpha, &alpha, 0));
    assert_ok(dnnl_graph_op_set_attr_f32(op, dnnl_graph_op_attr_beta, &beta, 0));
}

static void set_axis_with_length_0(dnnl_graph_op_t op)
{
    const int64_t axis = 7; /* out of range: compiling must see it */
    assert_ok(dnnl_graph_op_set_attr_s64(op, dnnl_graph_op_attr_axis, &axis, 0));
}

static void the_length_of_a_single_value_does_not_count(void **state)
{
    (void)state;
    operation o = any_operation(dnnl_graph_op_hard_sigmoid_backward);
    o.set_attrs = set_with_length_0;
    float src[] = { -9, 0, 1, 9 }, diff_dst[] = { 1, 2, 4, 8 }, diff_src[4];
    const float wanted[] = { 0, 0.5f, 1, 0 };
    machine m = machine_start(&o, NULL);
    assert_ok(machine_run(&m, (void *[]){ src, diff_dst, diff_src }, NULL));
    assert_memory_equal(diff_src, wanted, sizeof(wanted));
    machine_stop(&m);
    o = any_operation(dnnl_graph_op_softmax_backward);
    o.set_attrs = set_axis_with_length_0;
    assert_invalid(compile_status(&o));
}

static void describing_an_operation_checks_its_arguments(void **state)
{
    (void)state;
    const float f = 1;
    const int64_t s = 1;
    const uint8_t b = 1;
    size_t id = 0;
    dnnl_graph_op_kind_t kind = dnnl_graph_op_abs;
    dnnl_graph_op_t op;
    logical_tensor lt = vector(0);
    assert_invalid(dnnl_graph_op_create(NULL, 1, dnnl_graph_op_abs, "abs"));
    assert_invalid(dnnl_graph_op_create(&op, 1, dnnl_graph_op_abs, NULL));
    assert_invalid(dnnl_graph_op_create(&op, 1, dnnl_graph_op_last_symbol, "none"));
    assert_invalid(dnnl_graph_op_create(&op, 1, (dnnl_graph_op_kind_t)-1, "none"));
    assert_ok(dnnl_graph_op_create(&op, 77, dnnl_graph_op_concat, "concat"));
    assert_ok(dnnl_graph_op_get_id(op, &id));
    assert_int_equal(id, 77);
    assert_ok(dnnl_graph_op_get_kind(op, &kind));
    assert_int_equal(kind, dnnl_graph_op_concat);
    assert_invalid(dnnl_graph_op_get_id(NULL, &id));
    assert_invalid(dnnl_graph_op_get_id(op, NULL));
    assert_invalid(dnnl_graph_op_get_kind(NULL, &kind));
    assert_invalid(dnnl_graph_op_get_kind(op, NULL));
    assert_invalid(dnnl_graph_op_add_input(NULL, &lt));
    assert_invalid(dnnl_graph_op_add_input(op, NULL));
    assert_invalid(dnnl_graph_op_add_output(NULL, &lt));
    assert_invalid(dnnl_graph_op_add_output(op, NULL));
    assert_invalid(dnnl_graph_op_set_attr_f32(NULL, dnnl_graph_op_attr_alpha, &f, 1));
    assert_invalid(dnnl_graph_op_set_attr_f32(op, dnnl_graph_op_attr_alpha, NULL, 1));
    assert_ok(dnnl_graph_op_set_attr_f32(op, dnnl_graph_op_attr_scales, &f, 0));
    assert_invalid(dnnl_graph_op_set_attr_s64(NULL, dnnl_graph_op_attr_axis, &s, 1));
    assert_invalid(dnnl_graph_op_set_attr_s64(op, dnnl_graph_op_attr_axis, NULL, 1));
    assert_ok(dnnl_graph_op_set_attr_s64(op, dnnl_graph_op_attr_strides, &s, 1));
    assert_invalid(dnnl_graph_op_set_attr_bool(NULL, dnnl_graph_op_attr_use_dst, &b, 1));
    assert_invalid(dnnl_graph_op_set_attr_bool(op, dnnl_graph_op_attr_use_dst, NULL, 1));
    assert_invalid(dnnl_graph_op_set_attr_bool(op, dnnl_graph_op_attr_use_dst, &b, 2));
    assert_invalid(dnnl_graph_op_set_attr_str(NULL, dnnl_graph_op_attr_mode, "x", 1));
    assert_invalid(dnnl_graph_op_set_attr_str(op, dnnl_graph_op_attr_mode, NULL, 1));
    assert_invalid(dnnl_graph_op_set_attr_str(op, dnnl_graph_op_attr_mode, "x", 0));
    assert_ok(dnnl_graph_op_destroy(op));
    assert_ok(dnnl_graph_op_destroy(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_a_gpu_nothing_is_supported),
        cmocka_unit_test(a_wrong_count_of_tensors_is_refused),
        cmocka_unit_test(dtypes_outside_the_schema_are_refused),
        cmocka_unit_test(mixed_dtypes_are_refused_but_for_softmax_to_f32),
        cmocka_unit_test(attributes_outside_the_schema_are_refused),
        cmocka_unit_test(the_length_of_a_single_value_does_not_count),
        cmocka_unit_test(describing_an_operation_checks_its_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
