/* SPDX-License-Identifier: Apache-2.0 */
/* test_graph.c - graphs: what add_op, finalize and filter refuse, the order of the partitions, and
 * what a partition says of itself. */
#include <stdlib.h>
#include <time.h>

#include "drop_in.h"

static logical_tensor vector(size_t id)
{
    return dense(id, dnnl_f32, 1, (int64_t[]){ 4 });
}

/* step - an operation that reads tensors a and b and writes c. */
static operation step(dnnl_graph_op_kind_t kind, size_t a, size_t b, size_t c)
{
    operation o = { kind, 2, 1, { vector(a), vector(b), vector(c) }, NULL };
    return o;
}

static dnnl_status_t add(dnnl_graph_graph_t graph, size_t id, operation o)
{
    dnnl_graph_op_t op = make_op(&o, id);
    dnnl_status_t status = dnnl_graph_add_op(graph, op);
    assert_ok(dnnl_graph_op_destroy(op));
    return status;
}

static dnnl_graph_graph_t new_graph(void)
{
    dnnl_graph_graph_t graph;
    assert_ok(dnnl_graph_graph_create(&graph, dnnl_cpu));
    return graph;
}

static dnnl_status_t finalize_and_destroy(dnnl_graph_graph_t graph)
{
    dnnl_status_t status = dnnl_graph_graph_finalize(graph);
    uint8_t finalized = 2;
    assert_ok(dnnl_graph_graph_is_finalized(graph, &finalized));
    assert_int_equal(finalized, status == dnnl_success);
    assert_ok(dnnl_graph_graph_destroy(graph));
    return status;
}

/* ---- order -------------------------------------------------------------------------------- */

static void partitions_come_in_topological_order(void **state)
{
    (void)state;
    dnnl_graph_graph_t graph = new_graph();
    /* 1 -> 2 -> 3 -> 4, and 5 reads 1 and 3; added back to front. MatMul (3) is not ours. */
    assert_ok(add(graph, 5, step(dnnl_graph_op_relu_backward, 10, 12, 14)));
    assert_ok(add(graph, 4, step(dnnl_graph_op_softmax_backward, 12, 1, 13)));
    assert_ok(add(graph, 3, step(dnnl_graph_op_matmul, 11, 1, 12)));
    assert_ok(add(graph, 2, step(dnnl_graph_op_sigmoid_backward, 2, 10, 11)));
    assert_ok(add(graph, 1, step(dnnl_graph_op_relu_backward, 3, 4, 10)));
    assert_ok(dnnl_graph_graph_finalize(graph));
    assert_ok(dnnl_graph_graph_filter(graph, dnnl_graph_partition_policy_debug));
    dnnl_graph_partition_t partitions[5];
    assert_ok(dnnl_graph_graph_get_partitions(graph, 5, partitions));
    assert_ok(dnnl_graph_graph_destroy(graph));

    size_t place[6] = { 0 };
    for (size_t i = 0; i < 5; i++) {
        size_t id = 0;
        uint8_t supported = 2;
        assert_ok(dnnl_graph_partition_get_ops(partitions[i], 1, &id));
        assert_in_range(id, 1, 5);
        place[id] = i;
        assert_ok(dnnl_graph_partition_is_supported(partitions[i], &supported));
        assert_int_equal(supported, id != 3);
        assert_ok(dnnl_graph_partition_destroy(partitions[i]));
    }
    assert_true(place[1] < place[2] && place[2] < place[3] && place[3] < place[4]);
    assert_true(place[3] < place[5]);
}

static void a_long_chain_is_put_in_order(void **state)
{
    (void)state;
    enum {
        LENGTH = 2000
    };
    dnnl_graph_graph_t graph = new_graph();
    for (size_t i = LENGTH; i-- > 0;) /* operation i reads what i - 1 wrote */
        assert_ok(add(graph, i, step(dnnl_graph_op_relu_backward, i + 1, i + 1, i + 2)));
    assert_ok(dnnl_graph_graph_finalize(graph));
    assert_ok(dnnl_graph_graph_filter(graph, dnnl_graph_partition_policy_fusion));
    dnnl_graph_partition_t *partitions = calloc(LENGTH, sizeof(*partitions));
    assert_ok(dnnl_graph_graph_get_partitions(graph, LENGTH, partitions));
    for (size_t i = 0; i < LENGTH; i++) {
        size_t id = 0;
        assert_ok(dnnl_graph_partition_get_ops(partitions[i], 1, &id));
        assert_int_equal(id, i);
        dnnl_graph_partition_destroy(partitions[i]);
    }
    free(partitions);
    assert_ok(dnnl_graph_graph_destroy(graph));
}

static void filtering_again_gives_the_partitions_anew(void **state)
{
    (void)state;
    dnnl_graph_graph_t graph = new_graph();
    dnnl_graph_partition_t first, second;
    size_t count = 9, first_id = 0, second_id = 0;
    assert_ok(add(graph, 1, step(dnnl_graph_op_relu_backward, 1, 2, 3)));
    assert_ok(dnnl_graph_graph_get_partition_num(graph, &count));
    assert_int_equal(count, 0);
    assert_ok(dnnl_graph_graph_finalize(graph));
    assert_ok(dnnl_graph_graph_finalize(graph));
    assert_ok(dnnl_graph_graph_filter(graph, dnnl_graph_partition_policy_fusion));
    assert_ok(dnnl_graph_graph_get_partitions(graph, 1, &first));
    assert_ok(dnnl_graph_graph_filter(graph, dnnl_graph_partition_policy_fusion));
    assert_ok(dnnl_graph_graph_get_partitions(graph, 1, &second));
    assert_ok(dnnl_graph_partition_get_id(first, &first_id));
    assert_ok(dnnl_graph_partition_get_id(second, &second_id));
    assert_true(first_id != second_id);
    assert_ok(dnnl_graph_graph_destroy(graph));
    assert_ok(dnnl_graph_partition_destroy(first));
    assert_ok(dnnl_graph_partition_destroy(second));
}

/* ---- refusals ----------------------------------------------------------------------------- */

static void an_operation_is_added_once_and_before_finalize(void **state)
{
    (void)state;
    dnnl_graph_graph_t graph = new_graph();
    operation o = step(dnnl_graph_op_relu_backward, 1, 2, 3);
    dnnl_graph_op_t op = make_op(&o, 1);
    assert_ok(dnnl_graph_add_op(graph, op));
    assert_dnnl(dnnl_invalid_graph_op, dnnl_graph_add_op(graph, op));
    assert_invalid(dnnl_graph_add_op(NULL, op));
    assert_invalid(dnnl_graph_add_op(graph, NULL));
    assert_ok(dnnl_graph_op_destroy(op));
    assert_ok(dnnl_graph_graph_finalize(graph));
    assert_dnnl(dnnl_invalid_graph, add(graph, 2, step(dnnl_graph_op_relu_backward, 4, 5, 6)));
    assert_ok(dnnl_graph_graph_destroy(graph));
}

static void a_cycle_is_an_invalid_graph(void **state)
{
    (void)state;
    dnnl_graph_graph_t graph = new_graph();
    assert_ok(add(graph, 1, step(dnnl_graph_op_relu_backward, 1, 7, 5)));
    assert_ok(add(graph, 2, step(dnnl_graph_op_relu_backward, 1, 5, 6)));
    assert_ok(add(graph, 3, step(dnnl_graph_op_relu_backward, 6, 2, 7)));
    assert_dnnl(dnnl_invalid_graph, finalize_and_destroy(graph));
    graph = new_graph();
    assert_ok(add(graph, 1, step(dnnl_graph_op_relu_backward, 1, 2, 2)));
    assert_dnnl(dnnl_invalid_graph, finalize_and_destroy(graph));
}

static void tensors_of_one_id_must_be_one_tensor(void **state)
{
    (void)state;
    dnnl_graph_graph_t graph = new_graph();
    operation o = step(dnnl_graph_op_relu_backward, 3, 4, 5);
    o.tensors[0] = dense(3, dnnl_f32, 1, (int64_t[]){ 5 });
    assert_ok(add(graph, 1, step(dnnl_graph_op_relu_backward, 1, 2, 3)));
    assert_ok(add(graph, 2, o));
    assert_dnnl(dnnl_invalid_graph, finalize_and_destroy(graph));
    graph = new_graph();
    assert_ok(add(graph, 1, step(dnnl_graph_op_relu_backward, 1, 2, 3)));
    assert_ok(add(graph, 2, step(dnnl_graph_op_relu_backward, 1, 2, 3)));
    assert_dnnl(dnnl_invalid_graph, finalize_and_destroy(graph));
    graph = new_graph();
    assert_ok(add(graph, 1, step(dnnl_graph_op_relu_backward, 1, 1, 3)));
    assert_ok(add(graph, 2, step(dnnl_graph_op_relu_backward, 1, 3, 4)));
    assert_ok(finalize_and_destroy(graph));
}

static void graphs_check_their_arguments(void **state)
{
    (void)state;
    dnnl_graph_graph_t graph, other;
    dnnl_graph_partition_t partitions[1];
    size_t count = 0;
    uint8_t flag;
    assert_invalid(dnnl_graph_graph_create(NULL, dnnl_cpu));
    assert_invalid(dnnl_graph_graph_create(&graph, (dnnl_engine_kind_t)3));
    graph = new_graph();
    assert_invalid(dnnl_graph_graph_finalize(NULL));
    assert_invalid(dnnl_graph_graph_is_finalized(NULL, &flag));
    assert_invalid(dnnl_graph_graph_is_finalized(graph, NULL));
    assert_dnnl(dnnl_invalid_graph,
                dnnl_graph_graph_filter(NULL, dnnl_graph_partition_policy_fusion));
    assert_dnnl(dnnl_invalid_graph,
                dnnl_graph_graph_filter(graph, dnnl_graph_partition_policy_fusion));
    assert_ok(add(graph, 1, step(dnnl_graph_op_relu_backward, 1, 2, 3)));
    assert_ok(dnnl_graph_graph_finalize(graph));
    for (int policy = -1; policy < 5; policy++)
        assert_ok(dnnl_graph_graph_filter(graph, (dnnl_graph_partition_policy_t)policy));
    assert_invalid(dnnl_graph_graph_get_partition_num(NULL, &count));
    assert_invalid(dnnl_graph_graph_get_partition_num(graph, NULL));
    assert_dnnl(dnnl_invalid_graph, dnnl_graph_graph_get_partitions(graph, 0, partitions));
    assert_dnnl(dnnl_invalid_graph, dnnl_graph_graph_get_partitions(graph, 1, NULL));
    assert_dnnl(dnnl_invalid_graph, dnnl_graph_graph_get_partitions(NULL, 1, partitions));
    assert_ok(dnnl_graph_graph_destroy(graph));
    assert_ok(dnnl_graph_graph_destroy(NULL));
    other = new_graph();
    assert_ok(dnnl_graph_graph_finalize(other));
    assert_ok(dnnl_graph_graph_filter(other, dnnl_graph_partition_policy_fusion));
    assert_ok(dnnl_graph_graph_get_partition_num(other, &count));
    assert_int_equal(count, 0);
    assert_ok(dnnl_graph_graph_destroy(other));
}

static void a_graph_keeps_its_fpmath_mode(void **state)
{
    (void)state;
    dnnl_graph_graph_t graph;
    dnnl_fpmath_mode_t mode;
    int to_int = 9;
    assert_ok(dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_f16));
    graph = new_graph();
    assert_ok(dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_strict));
    assert_ok(dnnl_graph_graph_get_fpmath_mode(graph, &mode, &to_int));
    assert_int_equal(mode, dnnl_fpmath_mode_f16);
    assert_int_equal(to_int, 0);
    assert_ok(dnnl_graph_graph_set_fpmath_mode(graph, dnnl_fpmath_mode_tf32, 1));
    assert_ok(dnnl_graph_graph_get_fpmath_mode(graph, &mode, &to_int));
    assert_int_equal(mode, dnnl_fpmath_mode_tf32);
    assert_int_equal(to_int, 1);
    assert_ok(dnnl_graph_graph_set_fpmath_mode(graph, (dnnl_fpmath_mode_t)5, 1));
    assert_ok(dnnl_graph_graph_get_fpmath_mode(graph, &mode, &to_int));
    assert_int_equal(mode, 5);
    assert_ok(dnnl_graph_graph_get_fpmath_mode(graph, NULL, &to_int));
    assert_ok(dnnl_graph_graph_get_fpmath_mode(graph, &mode, NULL));
    assert_invalid(dnnl_graph_graph_set_fpmath_mode(NULL, dnnl_fpmath_mode_any, 1));
    assert_invalid(dnnl_graph_graph_get_fpmath_mode(NULL, &mode, &to_int));
    assert_ok(dnnl_graph_graph_finalize(graph));
    assert_dnnl(dnnl_invalid_graph,
                dnnl_graph_graph_set_fpmath_mode(graph, dnnl_fpmath_mode_any, 1));
    assert_dnnl(dnnl_invalid_graph, dnnl_graph_graph_get_fpmath_mode(graph, &mode, &to_int));
    assert_ok(dnnl_graph_graph_destroy(graph));
    assert_ok(dnnl_graph_graph_create_with_fpmath_mode(&graph, dnnl_cpu, dnnl_fpmath_mode_bf16));
    assert_ok(dnnl_graph_graph_get_fpmath_mode(graph, &mode, &to_int));
    assert_int_equal(mode, dnnl_fpmath_mode_bf16);
    assert_ok(dnnl_graph_graph_destroy(graph));
    assert_ok(dnnl_graph_graph_create_with_fpmath_mode(&graph, dnnl_cpu, (dnnl_fpmath_mode_t)9));
    assert_ok(dnnl_graph_graph_destroy(graph));
}

static void get_partitions_takes_more_room_than_it_needs(void **state)
{
    (void)state;
    dnnl_graph_graph_t graph = new_graph();
    dnnl_graph_partition_t partitions[3];
    uint8_t supported = 0;
    assert_ok(add(graph, 1, step(dnnl_graph_op_relu_backward, 1, 2, 3)));
    assert_ok(add(graph, 2, step(dnnl_graph_op_relu_backward, 1, 3, 4)));
    assert_ok(dnnl_graph_graph_finalize(graph));
    assert_ok(dnnl_graph_graph_filter(graph, dnnl_graph_partition_policy_fusion));
    assert_invalid(dnnl_graph_graph_get_partitions(graph, 1, partitions));
    assert_ok(dnnl_graph_graph_get_partitions(graph, 3, partitions));
    assert_ok(dnnl_graph_partition_is_supported(partitions[1], &supported));
    assert_true(supported);
    assert_null(partitions[2]);
    for (size_t i = 0; i < 3; i++)
        assert_ok(dnnl_graph_partition_destroy(partitions[i]));
    assert_ok(dnnl_graph_graph_destroy(graph));
}

/* seconds_of_adding - the CPU time that operations of the ids [begin, end) take. */
static double seconds_of_adding(dnnl_graph_graph_t graph, size_t begin, size_t end)
{
    clock_t start = clock();
    for (size_t id = begin; id < end; id++)
        assert_ok(add(graph, id, step(dnnl_graph_op_relu_backward, 1, 2, 3 + id)));
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static void adding_takes_as_long_in_a_large_graph_as_in_a_small_one(void **state)
{
    (void)state;
    enum {
        BLOCK = 2000,
        LAST = 32000 - BLOCK
    };
    dnnl_graph_graph_t graph = new_graph();
    double first = seconds_of_adding(graph, 0, BLOCK);
    seconds_of_adding(graph, BLOCK, LAST);
    double last = seconds_of_adding(graph, LAST, LAST + BLOCK);
    if (last > 5 * first + 0.01)
        fail_msg("%d operations took %g s, after %d others %g s", BLOCK, first, LAST, last);
    for (size_t id = 0; id < LAST + BLOCK; id += 997)
        assert_dnnl(dnnl_invalid_graph_op,
                    add(graph, id, step(dnnl_graph_op_relu_backward, 1, 2, 3)));
    assert_ok(dnnl_graph_graph_destroy(graph));
}

/* ---- partitions --------------------------------------------------------------------------- */

static void a_partition_shows_its_ports(void **state)
{
    (void)state;
    operation o = prelu(vector(0), vector(0));
    dnnl_graph_partition_t p = make_partition(&o);
    logical_tensor ports[3];
    size_t num = 0, ids[2];
    dnnl_engine_kind_t kind = dnnl_gpu;
    uint8_t supported;
    assert_ok(dnnl_graph_partition_get_input_ports_num(p, &num));
    assert_int_equal(num, 3);
    assert_ok(dnnl_graph_partition_get_input_ports(p, 3, ports));
    for (size_t i = 0; i < 3; i++)
        assert_true(are_equal(&ports[i], &o.tensors[i]));
    assert_ok(dnnl_graph_partition_get_output_ports_num(p, &num));
    assert_int_equal(num, 2);
    assert_ok(dnnl_graph_partition_get_output_ports(p, 2, ports));
    assert_int_equal(ports[1].id, 4);
    assert_ok(dnnl_graph_partition_get_engine_kind(p, &kind));
    assert_int_equal(kind, dnnl_cpu);

    assert_invalid(dnnl_graph_partition_get_input_ports(p, 2, ports));
    assert_invalid(dnnl_graph_partition_get_input_ports(p, 3, NULL));
    assert_invalid(dnnl_graph_partition_get_input_ports(NULL, 3, ports));
    assert_invalid(dnnl_graph_partition_get_output_ports(p, 3, ports));
    assert_invalid(dnnl_graph_partition_get_output_ports(NULL, 2, ports));
    assert_invalid(dnnl_graph_partition_get_input_ports_num(NULL, &num));
    assert_invalid(dnnl_graph_partition_get_input_ports_num(p, NULL));
    assert_invalid(dnnl_graph_partition_get_output_ports_num(NULL, &num));
    assert_invalid(dnnl_graph_partition_get_output_ports_num(p, NULL));
    assert_invalid(dnnl_graph_partition_get_ops(p, 2, ids));
    assert_invalid(dnnl_graph_partition_get_ops(p, 1, NULL));
    assert_invalid(dnnl_graph_partition_get_ops(NULL, 1, ids));
    assert_invalid(dnnl_graph_partition_get_op_num(NULL, &num));
    assert_invalid(dnnl_graph_partition_get_op_num(p, NULL));
    assert_invalid(dnnl_graph_partition_get_id(NULL, &num));
    assert_invalid(dnnl_graph_partition_get_id(p, NULL));
    assert_invalid(dnnl_graph_partition_is_supported(NULL, &supported));
    assert_invalid(dnnl_graph_partition_is_supported(p, NULL));
    assert_invalid(dnnl_graph_partition_get_engine_kind(NULL, &kind));
    assert_invalid(dnnl_graph_partition_get_engine_kind(p, NULL));
    assert_ok(dnnl_graph_partition_destroy(p));
    assert_invalid(dnnl_graph_partition_create_with_op(NULL, NULL, dnnl_cpu));
    assert_invalid(dnnl_graph_partition_create_with_op(&p, NULL, dnnl_cpu));
    assert_null(p);
    assert_ok(dnnl_graph_partition_destroy(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partitions_come_in_topological_order),
        cmocka_unit_test(a_long_chain_is_put_in_order),
        cmocka_unit_test(filtering_again_gives_the_partitions_anew),
        cmocka_unit_test(an_operation_is_added_once_and_before_finalize),
        cmocka_unit_test(a_cycle_is_an_invalid_graph),
        cmocka_unit_test(tensors_of_one_id_must_be_one_tensor),
        cmocka_unit_test(graphs_check_their_arguments),
        cmocka_unit_test(a_graph_keeps_its_fpmath_mode),
        cmocka_unit_test(get_partitions_takes_more_room_than_it_needs),
        cmocka_unit_test(adding_takes_as_long_in_a_large_graph_as_in_a_small_one),
        cmocka_unit_test(a_partition_shows_its_ports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
