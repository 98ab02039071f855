/* SPDX-License-Identifier: Apache-2.0 */
/* test_compile_refuse.c - what compiling refuses, and by which status. */
#include "drop_in.h"

static operation relu(void)
{
    return elementwise(dnnl_graph_op_relu_backward, block(dnnl_f32));
}

/* assert_compile - what compile says to a relu whose tensor `index` is described thus. */
static void assert_compile(dnnl_status_t wanted, size_t index, logical_tensor lt)
{
    operation good = relu(), o = good;
    dnnl_engine_t engine;
    dnnl_graph_compiled_partition_t compiled;
    dnnl_graph_partition_t partition = make_partition(&good);
    o.tensors[index] = with_id(lt, index);
    assert_ok(dnnl_engine_create(&engine, dnnl_cpu, 0));
    assert_ok(dnnl_graph_compiled_partition_create(&compiled, partition));
    assert_dnnl(wanted, compile(partition, compiled, &o, engine));
    assert_ok(dnnl_graph_compiled_partition_destroy(compiled));
    assert_ok(dnnl_graph_partition_destroy(partition));
    assert_ok(dnnl_engine_destroy(engine));
}

static void tensors_that_say_too_little_are_invalid_arguments(void **state)
{
    (void)state;
    const int64_t steps[] = { 60, 20, 5, UNKNOWN };
    for (size_t index = 0; index < 3; index++) {
        logical_tensor lt = block(dnnl_f32);
        lt.layout_type = dnnl_graph_layout_type_undef;
        assert_compile(dnnl_invalid_arguments, index, lt);
        lt.layout_type = dnnl_graph_layout_type_opaque;
        assert_compile(dnnl_invalid_arguments, index, lt);
        lt = block(dnnl_f32);
        lt.ndims = 13;
        assert_compile(dnnl_invalid_arguments, index, lt);
        assert_compile(dnnl_invalid_arguments, index, block(dnnl_data_type_undef));
    }
    for (size_t index = 0; index < 2; index++) {
        assert_compile(dnnl_invalid_arguments, index, open_tensor(0, dnnl_f32));
        assert_compile(dnnl_invalid_arguments, index,
                       dense(0, dnnl_f32, 4, (int64_t[]){ 2, UNKNOWN, 4, 5 }));
        assert_compile(dnnl_invalid_arguments, index,
                       dense(0, dnnl_f32, 4, (int64_t[]){ 2, -3, 4, 5 }));
        assert_compile(dnnl_invalid_arguments, index, strided(0, dnnl_f32, 4, block_dims, steps));
    }
}

static void negative_strides_are_invalid_arguments(void **state)
{
    (void)state;
    for (size_t index = 0; index < 3; index++) {
        logical_tensor lt = block(dnnl_f32);
        lt.layout.strides[3] = -1; /* set directly: init_with_strides refuses it */
        assert_compile(dnnl_invalid_arguments, index, lt);
    }
}

static void an_output_that_repeats_an_element_is_refused(void **state)
{
    (void)state;
    const int64_t repeated[] = { 60, 20, 0, 1 }, folded[] = { 60, 20, 4, 1 };
    assert_compile(dnnl_success, 1, strided(0, dnnl_f32, 4, block_dims, repeated));
    assert_compile(dnnl_invalid_arguments, 2, strided(0, dnnl_f32, 4, block_dims, repeated));
    assert_compile(dnnl_invalid_arguments, 2, strided(0, dnnl_f32, 4, block_dims, folded));
}

static void dtypes_are_checked_again(void **state)
{
    (void)state;
    operation good = relu();
    for (size_t index = 0; index < 3; index++) {
        assert_compile(dnnl_invalid_data_type, index, block(dnnl_f64));
        assert_compile(dnnl_invalid_data_type, index, block(dnnl_bf16));
        assert_compile(dnnl_invalid_data_type, index, block(dnnl_s32));
    }
    for (int dtype = dnnl_f16; dtype <= dnnl_f64; dtype++) {
        operation o = elementwise(dnnl_graph_op_relu_backward, block((dnnl_data_type_t)dtype));
        machine m = machine_start(&good, NULL); /* described in f32, compiled in another */
        assert_dnnl(dtype <= dnnl_f32 ? dnnl_success : dnnl_invalid_data_type,
                    compile(m.partition, m.compiled, &o, m.engine));
        machine_stop(&m);
    }
    /* vjp takes an f32 slope beside bf16 data, this API does not. */
    operation o = prelu(block(dnnl_bf16), dense(0, dnnl_bf16, 1, block_dims + 3));
    machine m = machine_start(&o, NULL);
    o.tensors[1].data_type = o.tensors[4].data_type = dnnl_f32;
    assert_dnnl(dnnl_invalid_data_type, compile(m.partition, m.compiled, &o, m.engine));
    machine_stop(&m);
}

static void inputs_that_do_not_agree_are_an_invalid_shape(void **state)
{
    (void)state;
    static const dnnl_graph_op_kind_t kinds[] = {
        dnnl_graph_op_relu_backward,
        dnnl_graph_op_sigmoid_backward,
        dnnl_graph_op_hard_sigmoid_backward,
        dnnl_graph_op_softmax_backward,
    };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        operation o = elementwise(kinds[i], block(dnnl_f32));
        o.tensors[1] = dense(1, dnnl_f32, 4, (int64_t[]){ 2, 3, 4, 6 });
        assert_dnnl(dnnl_invalid_shape, compile_status(&o));
        o.tensors[1] = dense(1, dnnl_f32, 3, block_dims);
        assert_dnnl(dnnl_invalid_shape, compile_status(&o));
    }
    operation o = prelu(block(dnnl_f32), dense(0, dnnl_f32, 1, (int64_t[]){ 5 }));
    o.tensors[2] = dense(2, dnnl_f32, 4, (int64_t[]){ 2, 3, 4, 1 });
    assert_dnnl(dnnl_invalid_shape, compile_status(&o));
}

static void set_ncx(dnnl_graph_op_t op)
{
    set_str(op, dnnl_graph_op_attr_data_format, "NCX");
}

static void a_slope_that_does_not_fit_is_an_invalid_shape(void **state)
{
    (void)state;
    static const struct {
        int ndims, ncx;
        int64_t dims[5];
        dnnl_status_t wanted;
    } slopes[] = {
        { 1, 0, { 5 }, dnnl_success },
        { 1, 0, { 3 }, dnnl_invalid_shape },
        { 1, 1, { 3 }, dnnl_success },
        { 1, 1, { 5 }, dnnl_invalid_shape },
        { 1, 0, { 1 }, dnnl_success },
        { 0, 0, { 0 }, dnnl_success },
        { 2, 0, { 4, 5 }, dnnl_success },
        { 2, 1, { 4, 1 }, dnnl_success },
        { 2, 0, { 3, 4 }, dnnl_invalid_shape },
        { 4, 0, { 2, 3, 4, 5 }, dnnl_success },
        { 5, 0, { 1, 2, 3, 4, 5 }, dnnl_invalid_shape },
    };
    for (size_t i = 0; i < COUNT_OF(slopes); i++) {
        operation o = prelu(block(dnnl_f32), dense(0, dnnl_f32, slopes[i].ndims, slopes[i].dims));
        o.set_attrs = slopes[i].ncx ? set_ncx : NULL;
        assert_dnnl(slopes[i].wanted, compile_status(&o));
    }
}

static int64_t axis;

static void set_axis(dnnl_graph_op_t op)
{
    set_s64(op, dnnl_graph_op_attr_axis, axis);
}

static void an_axis_out_of_range_is_an_invalid_argument(void **state)
{
    (void)state;
    operation o = elementwise(dnnl_graph_op_softmax_backward, block(dnnl_f32));
    o.set_attrs = set_axis;
    for (axis = -6; axis <= 5; axis++)
        assert_dnnl(axis >= -4 && axis < 4 ? dnnl_success : dnnl_invalid_arguments,
                    compile_status(&o));
    o = elementwise(dnnl_graph_op_softmax_backward, dense(0, dnnl_f32, 1, block_dims));
    assert_invalid(compile_status(&o)); /* the default axis is 1 */
    o = elementwise(dnnl_graph_op_softmax_backward, dense(0, dnnl_f32, 0, NULL));
    assert_dnnl(dnnl_invalid_shape, compile_status(&o)); /* has no axis at all */
}

static void min_above_max(dnnl_graph_op_t op)
{
    set_f32(op, dnnl_graph_op_attr_min, 1);
    set_f32(op, dnnl_graph_op_attr_max, 0.5f);
}

static void negative_alpha(dnnl_graph_op_t op)
{
    set_f32(op, dnnl_graph_op_attr_alpha, -0.5f);
}

static void negative_alpha_from_src(dnnl_graph_op_t op)
{
    negative_alpha(op);
    set_bool(op, dnnl_graph_op_attr_use_dst, 0);
}

static void zero_beta(dnnl_graph_op_t op)
{
    set_f32(op, dnnl_graph_op_attr_beta, 0);
}

static void numbers_that_an_operation_is_not_defined_for(void **state)
{
    (void)state;
    const struct {
        operation o;
        void (*set_attrs)(dnnl_graph_op_t op);
        dnnl_status_t status;
    } cases[] = {
        { forward(dnnl_graph_op_clamp, block(dnnl_f32)), min_above_max, dnnl_invalid_arguments },
        { elementwise(dnnl_graph_op_clamp_backward, block(dnnl_f32)), min_above_max,
          dnnl_invalid_arguments },
        { elementwise(dnnl_graph_op_elu_backward, block(dnnl_f32)), negative_alpha,
          dnnl_invalid_arguments },
        { elementwise(dnnl_graph_op_elu_backward, block(dnnl_f32)), negative_alpha_from_src,
          dnnl_success },
        { forward(dnnl_graph_op_softplus, block(dnnl_f32)), zero_beta, dnnl_invalid_arguments },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        operation o = cases[i].o;
        o.set_attrs = cases[i].set_attrs;
        assert_dnnl(cases[i].status, compile_status(&o));
    }
}

static void a_partition_that_is_not_supported_does_not_compile(void **state)
{
    (void)state;
    operation o = elementwise(dnnl_graph_op_multiply, block(dnnl_f32));
    assert_invalid(compile_status(&o));
    o = elementwise(dnnl_graph_op_wildcard, block(dnnl_f32));
    assert_invalid(compile_status(&o));
}

static void a_compiled_partition_belongs_to_its_partition(void **state)
{
    (void)state;
    operation o = relu();
    machine m = machine_start(&o, NULL);
    dnnl_graph_partition_t other = make_partition(&o);
    dnnl_graph_compiled_partition_t compiled;
    assert_invalid(compile(other, m.compiled, &o, m.engine));
    assert_invalid(dnnl_graph_compiled_partition_create(&compiled, NULL));
    assert_invalid(dnnl_graph_compiled_partition_create(NULL, other));
    assert_ok(dnnl_graph_compiled_partition_destroy(NULL));
    assert_ok(dnnl_graph_partition_destroy(other));
    machine_stop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_that_say_too_little_are_invalid_arguments),
        cmocka_unit_test(negative_strides_are_invalid_arguments),
        cmocka_unit_test(an_output_that_repeats_an_element_is_refused),
        cmocka_unit_test(dtypes_are_checked_again),
        cmocka_unit_test(inputs_that_do_not_agree_are_an_invalid_shape),
        cmocka_unit_test(a_slope_that_does_not_fit_is_an_invalid_shape),
        cmocka_unit_test(an_axis_out_of_range_is_an_invalid_argument),
        cmocka_unit_test(numbers_that_an_operation_is_not_defined_for),
        cmocka_unit_test(a_partition_that_is_not_supported_does_not_compile),
        cmocka_unit_test(a_compiled_partition_belongs_to_its_partition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
