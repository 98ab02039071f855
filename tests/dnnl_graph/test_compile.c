/* SPDX-License-Identifier: Apache-2.0 */
/* test_compile.c - compiling: inference of shapes and layouts, the order of tensors, and what a
 * compiled partition says of itself. What is refused: test_compile_refuse.c. */
#include "drop_in.h"

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
    o.tensors[0] = strided(0, dnnl_f32, 4, block_dims, channels_last);
    o.tensors[1] = strided(1, dnnl_f32, 4, block_dims, channels_last);
    o.tensors[2] = open_tensor(2, dnnl_f32);
    logical_tensor lt = compiles_to(&o, 2), wanted = with_id(block(dnnl_f32), 2);
    assert_true(are_equal(&lt, &wanted)); /* dense row-major, not its input's strides */

    o = prelu(block(dnnl_f32), dense(0, dnnl_f32, 3, block_dims + 1));
    o.tensors[3] = open_tensor(3, dnnl_f32);
    o.tensors[4] = open_tensor(4, dnnl_f32);
    lt = compiles_to(&o, 4);
    wanted = dense(4, dnnl_f32, 3, block_dims + 1);
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
    wanted = strided(2, dnnl_f32, 4, block_dims, steps);
    assert_true(are_equal(&lt, &wanted));
    o.tensors[2].ndims = DNNL_GRAPH_UNKNOWN_NDIMS; /* strides of an unknown rank say nothing */
    lt = compiles_to(&o, 2);
    wanted = with_id(block(dnnl_f32), 2);
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
    o.tensors[2] = dense(2, dnnl_f32, 3, block_dims);
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

    assert_invalid(
        dnnl_graph_partition_compile(partition, compiled, 2, inputs, 2, outputs, engine));
    assert_invalid(
        dnnl_graph_partition_compile(partition, compiled, 3, inputs, 1, outputs, engine));
    assert_invalid(dnnl_graph_partition_compile(partition, compiled, 3, NULL, 2, outputs, engine));
    assert_invalid(dnnl_graph_partition_compile(partition, compiled, 3, inputs, 2, NULL, engine));
    assert_invalid(dnnl_graph_partition_compile(partition, compiled, 3, inputs, 2, outputs, NULL));
    assert_invalid(dnnl_graph_partition_compile(partition, NULL, 3, inputs, 2, outputs, engine));
    assert_invalid(dnnl_graph_partition_compile(NULL, compiled, 3, inputs, 2, outputs, engine));
    inputs[1] = NULL;
    assert_invalid(
        dnnl_graph_partition_compile(partition, compiled, 3, inputs, 2, outputs, engine));
    assert_ok(dnnl_graph_compiled_partition_destroy(compiled));
    assert_ok(dnnl_graph_partition_destroy(partition));
    assert_ok(dnnl_engine_destroy(engine));
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

/* pairs_of - how many in-place pairs there are; the first, if any, must be diff_dst -> diff_src of
 * SoftMaxBackward. */
static size_t pairs_of(const operation *o)
{
    machine m = machine_start(o, NULL);
    size_t npairs = 9;
    const dnnl_graph_inplace_pair_t *pairs = NULL;
    assert_ok(dnnl_graph_compiled_partition_get_inplace_ports(m.compiled, &npairs, &pairs));
    if (npairs) {
        assert_int_equal(pairs[0].input_id, 0);
        assert_int_equal(pairs[0].output_id, 2);
    }
    machine_stop(&m);
    return npairs;
}

static void only_softmax_reports_an_in_place_pair_as_in_onednn(void **state)
{
    (void)state;
    operation o = prelu(block(dnnl_f32), dense(0, dnnl_f32, 1, (int64_t[]){ 5 }));
    assert_int_equal(pairs_of(&o), 0);
    o = relu();
    assert_int_equal(pairs_of(&o), 0);
    o = elementwise(dnnl_graph_op_softmax_backward, block(dnnl_f32));
    assert_int_equal(pairs_of(&o), 1);
    o.tensors[1] = strided(1, dnnl_f32, 4, block_dims, (int64_t[]){ 60, 1, 15, 3 });
    assert_int_equal(pairs_of(&o), 0); /* laid out otherwise than diff_src */
    o.tensors[0] = with_id(o.tensors[1], 0);
    assert_int_equal(pairs_of(&o), 0);
    o.tensors[2] = with_id(o.tensors[1], 2);
    assert_int_equal(pairs_of(&o), 1);
    o = elementwise(dnnl_graph_op_softmax_backward, block(dnnl_bf16));
    o.tensors[2] = with_id(block(dnnl_f32), 2); /* of another size */
    assert_int_equal(pairs_of(&o), 0);
}

static void compiling_again_replaces_and_failing_does_not(void **state)
{
    (void)state;
    operation o = relu(), bad = o, small;
    machine m = machine_start(&o, NULL);
    logical_tensor lt;
    bad.tensors[1] = dense(1, dnnl_f32, 1, block_dims);
    assert_dnnl(dnnl_invalid_shape, compile(m.partition, m.compiled, &bad, m.engine));
    assert_ok(dnnl_graph_compiled_partition_query_logical_tensor(m.compiled, 1, &lt));
    assert_int_equal(lt.ndims, 4);
    small = elementwise(dnnl_graph_op_relu_backward, dense(0, dnnl_f32, 2, block_dims));
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
        cmocka_unit_test(ranks_from_0_to_12_and_empty_tensors_compile),
        cmocka_unit_test(a_compiled_partition_answers_only_what_it_knows),
        cmocka_unit_test(the_scratchpad_is_bytes_in_one_dim),
        cmocka_unit_test(only_softmax_reports_an_in_place_pair_as_in_onednn),
        cmocka_unit_test(compiling_again_replaces_and_failing_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
