/* SPDX-License-Identifier: Apache-2.0 */
/* test_compile.c - compiling: inference of shapes and layouts, the order of tensors, what is
 * refused and how, and what a compiled partition says of itself. */
#include <string.h>

#include "drop_in.h"

static const int64_t dims4[] = { 2, 3, 4, 5 };

static logical_tensor block(dnnl_data_type_t dtype)
{
    return dense(0, dtype, 4, dims4);
}

static operation relu(void)
{
    return elementwise(dnnl_graph_op_relu_backward, block(dnnl_f32));
}

/* compiles_to - compile and return the description of tensor `id`. */
static logical_tensor compiles_to(const operation *o, size_t id)
{
    machine m = machine_start(o, NULL);
    logical_tensor lt;
    assert_ok(dnnl_graph_compiled_partition_query_logical_tensor(m.compiled, id, &lt));
    machine_stop(&m);
    return lt;
}

/* ---- inference ---------------------------------------------------------------------------- */

static void an_output_of_unknown_rank_gets_the_shape_of_its_input(void **state)
{
    (void)state;
    const int64_t channels_last[] = { 60, 1, 15, 3 };
    operation o = relu();
    o.tensors[0] = strided(0, dnnl_f32, 4, dims4, channels_last);
    o.tensors[1] = strided(1, dnnl_f32, 4, dims4, channels_last);
    o.tensors[2] = open_tensor(2, dnnl_f32);
    logical_tensor lt = compiles_to(&o, 2), wanted = with_id(block(dnnl_f32), 2);
    assert_true(are_equal(&lt, &wanted)); /* dense row-major, not its input's strides */

    o = prelu(block(dnnl_f32), dense(0, dnnl_f32, 3, dims4 + 1));
    o.tensors[3] = open_tensor(3, dnnl_f32);
    o.tensors[4] = open_tensor(4, dnnl_f32);
    lt = compiles_to(&o, 4);
    wanted = dense(4, dnnl_f32, 3, dims4 + 1);
    assert_true(are_equal(&lt, &wanted));
    lt = compiles_to(&o, 3);
    wanted = with_id(block(dnnl_f32), 3);
    assert_true(are_equal(&lt, &wanted));
}

static void unknown_dims_are_filled_in(void **state)
{
    (void)state;
    operation o = relu();
    logical_tensor wanted = with_id(block(dnnl_f32), 2);
    o.tensors[2] = dense(2, dnnl_f32, 4, (int64_t[]){ UNKNOWN, 3, UNKNOWN, 5 });
    logical_tensor lt = compiles_to(&o, 2);
    assert_true(are_equal(&lt, &wanted));
    const int64_t steps[] = { 120, 40, 10, 2 };
    o.tensors[2] = strided(2, dnnl_f32, 4, (int64_t[]){ UNKNOWN, 3, UNKNOWN, 5 }, steps);
    lt = compiles_to(&o, 2);
    wanted = strided(2, dnnl_f32, 4, dims4, steps);
    assert_true(are_equal(&lt, &wanted));
}

static void layout_any_becomes_dense(void **state)
{
    (void)state;
    operation o = elementwise(dnnl_graph_op_softmax_backward, with_layout_any(block(dnnl_f16)));
    for (size_t id = 0; id < 3; id++) {
        logical_tensor lt = compiles_to(&o, id), wanted = with_id(block(dnnl_f16), id);
        assert_true(are_equal(&lt, &wanted));
    }
}

static void an_output_shape_that_conflicts_is_an_invalid_shape(void **state)
{
    (void)state;
    operation o = relu();
    o.tensors[2] = dense(2, dnnl_f32, 4, (int64_t[]){ 2, 3, 4, 6 });
    assert_dnnl(dnnl_invalid_shape, compile_status(&o));
    o.tensors[2] = dense(2, dnnl_f32, 4, (int64_t[]){ 2, UNKNOWN, 9, UNKNOWN });
    assert_dnnl(dnnl_invalid_shape, compile_status(&o));
    o.tensors[2] = dense(2, dnnl_f32, 3, dims4);
    assert_dnnl(dnnl_invalid_shape, compile_status(&o));
    o = prelu(block(dnnl_f32), dense(0, dnnl_f32, 1, (int64_t[]){ 5 }));
    o.tensors[4] = dense(4, dnnl_f32, 1, (int64_t[]){ 3 });
    assert_dnnl(dnnl_invalid_shape, compile_status(&o));
}

/* ---- the order of tensors ----------------------------------------------------------------- */

static void tensors_are_found_by_id_and_others_passed_over(void **state)
{
    (void)state;
    operation o = relu();
    dnnl_graph_partition_t partition = make_partition(&o);
    dnnl_graph_compiled_partition_t compiled;
    dnnl_engine_t engine;
    logical_tensor stranger = with_id(block(dnnl_s8), 99), lt;
    const logical_tensor *inputs[] = { &o.tensors[1], &stranger, &o.tensors[0] };
    const logical_tensor *outputs[] = { &stranger, &o.tensors[2] };
    assert_ok(dnnl_engine_create(&engine, dnnl_cpu, 0));
    assert_ok(dnnl_graph_compiled_partition_create(&compiled, partition));
    assert_ok(dnnl_graph_partition_compile(partition, compiled, 3, inputs, 2, outputs, engine));
    assert_ok(dnnl_graph_compiled_partition_query_logical_tensor(compiled, 0, &lt));
    assert_int_equal(lt.id, 0);

    assert_invalid(dnnl_graph_partition_compile(partition, compiled, 2, inputs, 2, outputs, engine));
    assert_invalid(dnnl_graph_partition_compile(partition, compiled, 3, inputs, 1, outputs, engine));
    assert_invalid(dnnl_graph_partition_compile(partition, compiled, 3, NULL, 2, outputs, engine));
    assert_invalid(dnnl_graph_partition_compile(partition, compiled, 3, inputs, 2, NULL, engine));
    assert_invalid(dnnl_graph_partition_compile(partition, compiled, 3, inputs, 2, outputs, NULL));
    assert_invalid(dnnl_graph_partition_compile(partition, NULL, 3, inputs, 2, outputs, engine));
    assert_invalid(dnnl_graph_partition_compile(NULL, compiled, 3, inputs, 2, outputs, engine));
    inputs[1] = NULL;
    assert_invalid(dnnl_graph_partition_compile(partition, compiled, 3, inputs, 2, outputs, engine));
    assert_ok(dnnl_graph_compiled_partition_destroy(compiled));
    assert_ok(dnnl_graph_partition_destroy(partition));
    assert_ok(dnnl_engine_destroy(engine));
}

/* ---- refusals ----------------------------------------------------------------------------- */

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
        assert_compile(dnnl_invalid_arguments, index, strided(0, dnnl_f32, 4, dims4, steps));
    }
}

static void an_output_that_repeats_an_element_is_refused(void **state)
{
    (void)state;
    const int64_t repeated[] = { 60, 20, 0, 1 }, folded[] = { 60, 20, 4, 1 };
    assert_compile(dnnl_success, 1, strided(0, dnnl_f32, 4, dims4, repeated));
    assert_compile(dnnl_invalid_arguments, 2, strided(0, dnnl_f32, 4, dims4, repeated));
    assert_compile(dnnl_invalid_arguments, 2, strided(0, dnnl_f32, 4, dims4, folded));
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
}

static void inputs_that_do_not_agree_are_an_invalid_shape(void **state)
{
    (void)state;
    static const dnnl_graph_op_kind_t kinds[] = {
        dnnl_graph_op_relu_backward, dnnl_graph_op_sigmoid_backward,
        dnnl_graph_op_hard_sigmoid_backward, dnnl_graph_op_softmax_backward,
    };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        operation o = elementwise(kinds[i], block(dnnl_f32));
        o.tensors[1] = dense(1, dnnl_f32, 4, (int64_t[]){ 2, 3, 4, 6 });
        assert_dnnl(dnnl_invalid_shape, compile_status(&o));
        o.tensors[1] = dense(1, dnnl_f32, 3, dims4);
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
    o = elementwise(dnnl_graph_op_softmax_backward, dense(0, dnnl_f32, 1, dims4));
    assert_invalid(compile_status(&o)); /* the default axis is 1 */
    o = elementwise(dnnl_graph_op_softmax_backward, dense(0, dnnl_f32, 0, NULL));
    assert_dnnl(dnnl_invalid_shape, compile_status(&o)); /* has no axis at all */
}

static void a_partition_that_is_not_supported_does_not_compile(void **state)
{
    (void)state;
    operation o = elementwise(dnnl_graph_op_tanh_backward, block(dnnl_f32));
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

/* ---- rank and emptiness ------------------------------------------------------------------- */

static void ranks_from_0_to_12_and_empty_tensors_compile(void **state)
{
    (void)state;
    int64_t dims[12] = { 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 3 };
    for (int ndims = 0; ndims <= 12; ndims++) {
        operation o = elementwise(dnnl_graph_op_relu_backward, dense(0, dnnl_f32, ndims, dims));
        assert_ok(compile_status(&o));
        o = prelu(dense(0, dnnl_f32, ndims, dims), dense(0, dnnl_f32, 1, (int64_t[]){ 1 }));
        if (ndims > 0)
            assert_ok(compile_status(&o));
    }
    operation o =
        elementwise(dnnl_graph_op_softmax_backward, dense(0, dnnl_f32, 2, (int64_t[]){ 0, 3 }));
    assert_ok(compile_status(&o));
}

/* ---- questions ---------------------------------------------------------------------------- */

static void a_compiled_partition_answers_only_what_it_knows(void **state)
{
    (void)state;
    operation o = relu();
    machine m = machine_start(&o, NULL);
    dnnl_graph_compiled_partition_t fresh;
    logical_tensor lt;
    size_t npairs = 0;
    const dnnl_graph_inplace_pair_t *pairs;
    assert_invalid(dnnl_graph_compiled_partition_query_logical_tensor(m.compiled, 7, &lt));
    assert_invalid(dnnl_graph_compiled_partition_query_logical_tensor(m.compiled, 0, NULL));
    assert_invalid(dnnl_graph_compiled_partition_query_logical_tensor(NULL, 0, &lt));
    assert_invalid(dnnl_graph_compiled_partition_get_inplace_ports(NULL, &npairs, &pairs));
    assert_invalid(dnnl_graph_compiled_partition_get_inplace_ports(m.compiled, NULL, &pairs));
    assert_invalid(dnnl_graph_compiled_partition_get_inplace_ports(m.compiled, &npairs, NULL));
    assert_invalid(dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(NULL, &lt));
    assert_invalid(dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(m.compiled, NULL));
    assert_ok(dnnl_graph_compiled_partition_create(&fresh, m.partition));
    assert_invalid(dnnl_graph_compiled_partition_query_logical_tensor(fresh, 0, &lt));
    assert_invalid(dnnl_graph_compiled_partition_get_inplace_ports(fresh, &npairs, &pairs));
    assert_invalid(dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(fresh, &lt));
    assert_ok(dnnl_graph_compiled_partition_destroy(fresh));
    machine_stop(&m);
}

static void the_scratchpad_is_bytes_in_one_dim(void **state)
{
    (void)state;
    operation o = relu();
    machine m = machine_start(&o, NULL);
    logical_tensor lt;
    assert_ok(dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(m.compiled, &lt));
    assert_true(lt.id == SIZE_MAX);
    assert_int_equal(lt.ndims, 1);
    assert_int_equal(lt.data_type, dnnl_u8);
    assert_int_equal(lt.layout_type, dnnl_graph_layout_type_strided);
    assert_int_equal(lt.property, dnnl_graph_tensor_property_variable);
    assert_int_equal(lt.layout.strides[0], 1);
    assert_int_equal(lt.dims[0], bytes_of(&lt));
    machine_stop(&m);
}

static void in_place_pairs_name_the_inputs_that_look_like_the_output(void **state)
{
    (void)state;
    const dnnl_graph_inplace_pair_t wanted[] = { { 0, 3 }, { 2, 3 }, { 1, 4 } };
    operation o = prelu(block(dnnl_f32), dense(0, dnnl_f32, 1, (int64_t[]){ 5 }));
    machine m = machine_start(&o, NULL);
    size_t npairs = 0;
    const dnnl_graph_inplace_pair_t *pairs = NULL;
    assert_ok(dnnl_graph_compiled_partition_get_inplace_ports(m.compiled, &npairs, &pairs));
    assert_int_equal(npairs, 3);
    assert_memory_equal(pairs, wanted, sizeof(wanted));
    machine_stop(&m);

    o = elementwise(dnnl_graph_op_softmax_backward, block(dnnl_bf16));
    o.tensors[2] = with_id(block(dnnl_f32), 2); /* of another size */
    m = machine_start(&o, NULL);
    assert_ok(dnnl_graph_compiled_partition_get_inplace_ports(m.compiled, &npairs, &pairs));
    assert_int_equal(npairs, 0);
    machine_stop(&m);
}

static void compiling_again_replaces_and_failing_does_not(void **state)
{
    (void)state;
    operation o = relu(), bad = o, small;
    machine m = machine_start(&o, NULL);
    logical_tensor lt;
    bad.tensors[1] = dense(1, dnnl_f32, 1, dims4);
    assert_dnnl(dnnl_invalid_shape, compile(m.partition, m.compiled, &bad, m.engine));
    assert_ok(dnnl_graph_compiled_partition_query_logical_tensor(m.compiled, 1, &lt));
    assert_int_equal(lt.ndims, 4);
    small = elementwise(dnnl_graph_op_relu_backward, dense(0, dnnl_f32, 2, dims4));
    assert_ok(compile(m.partition, m.compiled, &small, m.engine));
    assert_ok(dnnl_graph_compiled_partition_query_logical_tensor(m.compiled, 1, &lt));
    assert_int_equal(lt.ndims, 2);
    machine_stop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_of_unknown_rank_gets_the_shape_of_its_input),
        cmocka_unit_test(unknown_dims_are_filled_in),
        cmocka_unit_test(layout_any_becomes_dense),
        cmocka_unit_test(an_output_shape_that_conflicts_is_an_invalid_shape),
        cmocka_unit_test(tensors_are_found_by_id_and_others_passed_over),
        cmocka_unit_test(tensors_that_say_too_little_are_invalid_arguments),
        cmocka_unit_test(an_output_that_repeats_an_element_is_refused),
        cmocka_unit_test(dtypes_are_checked_again),
        cmocka_unit_test(inputs_that_do_not_agree_are_an_invalid_shape),
        cmocka_unit_test(a_slope_that_does_not_fit_is_an_invalid_shape),
        cmocka_unit_test(an_axis_out_of_range_is_an_invalid_argument),
        cmocka_unit_test(a_partition_that_is_not_supported_does_not_compile),
        cmocka_unit_test(a_compiled_partition_belongs_to_its_partition),
        cmocka_unit_test(ranks_from_0_to_12_and_empty_tensors_compile),
        cmocka_unit_test(a_compiled_partition_answers_only_what_it_knows),
        cmocka_unit_test(the_scratchpad_is_bytes_in_one_dim),
        cmocka_unit_test(in_place_pairs_name_the_inputs_that_look_like_the_output),
        cmocka_unit_test(compiling_again_replaces_and_failing_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
