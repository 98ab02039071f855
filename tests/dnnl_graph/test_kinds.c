/* SPDX-License-Identifier: Apache-2.0 */
/* test_kinds.c - every op kind: it can be created, added and partitioned, served or not, with the
 * numbers of inputs and outputs that oneDNN's page of the operation allows, and with no other. */
#include <string.h>

#include "drop_in.h"

enum {
    MOST = 8 /* inputs or outputs that are tried */
};

static void alpha(dnnl_graph_op_t op)
{
    set_f32(op, dnnl_graph_op_attr_alpha, 1);
}

static void beta(dnnl_graph_op_t op)
{
    set_f32(op, dnnl_graph_op_attr_beta, 1);
}

static void min_max(dnnl_graph_op_t op)
{
    set_f32(op, dnnl_graph_op_attr_min, 0);
    set_f32(op, dnnl_graph_op_attr_max, 1);
}

/* The numbers allowed, a digit each. set_attrs: what is required, of kinds whose attributes are
 * checked. */
typedef struct kind_row {
    dnnl_graph_op_kind_t kind;
    const char *inputs, *outputs;
    void (*set_attrs)(dnnl_graph_op_t op);
    int served;
} kind_row;

#define ROW(kind, ...) { dnnl_graph_op_##kind, __VA_ARGS__ }

static const kind_row kinds[] = {
    ROW(abs, "1", "1", NULL, 1),
    ROW(abs_backward, "2", "1", NULL, 1),
    ROW(add, "2", "1", NULL, 0),
    ROW(avg_pool, "1", "1", NULL, 0),
    ROW(avg_pool_backward, "12", "1", NULL, 0),
    ROW(batch_norm_backward, "45", "123", NULL, 0),
    ROW(batch_norm_forward_training, "345", "5", NULL, 0),
    ROW(batch_norm_inference, "5", "1", NULL, 0),
    ROW(bias_add, "2", "1", NULL, 0),
    ROW(bias_add_backward, "1", "1", NULL, 0),
    ROW(clamp, "1", "1", min_max, 1),
    ROW(clamp_backward, "2", "1", min_max, 1),
    ROW(concat, "12345678", "1", NULL, 0),
    ROW(convolution, "23", "1", NULL, 0),
    ROW(convolution_backward_data, "23", "1", NULL, 0),
    ROW(convolution_backward_weights, "23", "1", NULL, 0),
    ROW(conv_transpose, "23", "1", NULL, 0),
    ROW(conv_transpose_backward_data, "2", "1", NULL, 0),
    ROW(conv_transpose_backward_weights, "23", "1", NULL, 0),
    ROW(dequantize, "1", "1", NULL, 0),
    ROW(divide, "2", "1", NULL, 0),
    ROW(dynamic_dequantize, "23", "1", NULL, 0),
    ROW(dynamic_quantize, "23", "1", NULL, 0),
    ROW(elu, "1", "1", alpha, 1),
    ROW(elu_backward, "2", "1", alpha, 1),
    ROW(end, "1", "0", NULL, 0),
    ROW(exp, "1", "1", NULL, 1),
    ROW(gelu, "1", "1", NULL, 1),
    ROW(gelu_backward, "2", "1", NULL, 1),
    ROW(hard_swish, "1", "1", NULL, 1),
    ROW(hard_swish_backward, "2", "1", NULL, 1),
    ROW(interpolate, "12", "1", NULL, 0),
    ROW(interpolate_backward, "23", "1", NULL, 0),
    ROW(layer_norm, "13", "3", NULL, 1),
    ROW(layer_norm_backward, "456", "3", NULL, 1),
    ROW(leaky_relu, "1", "1", alpha, 1),
    ROW(log, "1", "1", NULL, 1),
    ROW(log_softmax, "1", "1", NULL, 1),
    ROW(log_softmax_backward, "2", "1", NULL, 1),
    ROW(matmul, "23", "1", NULL, 0),
    ROW(maximum, "2", "1", NULL, 0),
    ROW(max_pool, "1", "1", NULL, 0),
    ROW(max_pool_backward, "2", "1", NULL, 0),
    ROW(minimum, "2", "1", NULL, 0),
    ROW(mish, "1", "1", NULL, 1),
    ROW(mish_backward, "2", "1", NULL, 1),
    ROW(multiply, "2", "1", NULL, 0),
    ROW(prelu, "2", "1", NULL, 1),
    ROW(prelu_backward, "3", "2", NULL, 1),
    ROW(quantize, "1", "1", NULL, 0),
    ROW(reciprocal, "1", "1", NULL, 1),
    ROW(reduce_l1, "12", "1", NULL, 0),
    ROW(reduce_l2, "12", "1", NULL, 0),
    ROW(reduce_max, "12", "1", NULL, 0),
    ROW(reduce_mean, "12", "1", NULL, 0),
    ROW(reduce_min, "12", "1", NULL, 0),
    ROW(reduce_prod, "12", "1", NULL, 0),
    ROW(reduce_sum, "12", "1", NULL, 0),
    ROW(relu, "1", "1", NULL, 1),
    ROW(relu_backward, "2", "1", NULL, 1),
    ROW(reorder, "1", "1", NULL, 0),
    ROW(round, "1", "1", NULL, 1),
    ROW(sigmoid, "1", "1", NULL, 1),
    ROW(sigmoid_backward, "2", "1", NULL, 1),
    ROW(softmax, "1", "12", NULL, 1),
    ROW(softmax_backward, "2", "1", NULL, 1),
    ROW(softplus, "1", "1", NULL, 1),
    ROW(softplus_backward, "2", "1", NULL, 1),
    ROW(sqrt, "1", "1", NULL, 1),
    ROW(sqrt_backward, "2", "1", NULL, 1),
    ROW(square, "1", "1", NULL, 1),
    ROW(squared_difference, "2", "1", NULL, 0),
    ROW(static_reshape, "1", "1", NULL, 0),
    ROW(static_transpose, "1", "1", NULL, 0),
    ROW(subtract, "2", "1", NULL, 0),
    ROW(tanh, "1", "1", NULL, 1),
    ROW(tanh_backward, "2", "1", NULL, 1),
    ROW(type_cast, "1", "1", NULL, 0),
    ROW(wildcard, "012345678", "012345678", NULL, 0),
    ROW(hard_sigmoid, "1", "1", set_hard_sigmoid, 1),
    ROW(hard_sigmoid_backward, "2", "1", set_hard_sigmoid, 1),
    ROW(select, "3", "1", NULL, 0),
    ROW(pow, "1", "1", beta, 0),
    ROW(group_norm, "13", "13", NULL, 0),
    ROW(gen_index, "1", "1", NULL, 0),
    ROW(greater_equal, "2", "1", NULL, 0),
    ROW(rms_norm, "12", "1", NULL, 1),
    ROW(dropout, "4", "12", NULL, 0),
};

_Static_assert(COUNT_OF(kinds) == dnnl_graph_op_last_symbol, "every kind has a row");

/* make - an operation of that many tensors, ids 0 and up, inputs first. */
static dnnl_graph_op_t make(const kind_row *row, size_t ninputs, size_t noutputs)
{
    dnnl_graph_op_t op;
    assert_ok(dnnl_graph_op_create(&op, 11, row->kind, "test"));
    for (size_t i = 0; i < ninputs + noutputs; i++) {
        logical_tensor lt = dense(i, dnnl_f32, 1, (int64_t[]){ 4 });
        assert_ok(i < ninputs ? dnnl_graph_op_add_input(op, &lt)
                              : dnnl_graph_op_add_output(op, &lt));
    }
    if (row->set_attrs)
        row->set_attrs(op);
    return op;
}

static void every_kind_is_partitioned_and_ours_are_supported(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        const kind_row *row = &kinds[k];
        size_t wanted = (size_t)(row->inputs[0] - '0'), count = 0, id = 0, ninputs = 0;
        dnnl_graph_op_t op = make(row, wanted, (size_t)(row->outputs[0] - '0'));
        dnnl_graph_graph_t graph;
        dnnl_graph_partition_t partition;
        uint8_t supported = 2;
        assert_int_equal(row->kind, k);
        assert_ok(dnnl_graph_graph_create(&graph, dnnl_cpu));
        assert_ok(dnnl_graph_add_op(graph, op));
        assert_ok(dnnl_graph_op_destroy(op));
        assert_ok(dnnl_graph_graph_finalize(graph));
        assert_ok(dnnl_graph_graph_filter(graph, dnnl_graph_partition_policy_fusion));
        assert_ok(dnnl_graph_graph_get_partition_num(graph, &count));
        assert_int_equal(count, 1);
        assert_ok(dnnl_graph_graph_get_partitions(graph, 1, &partition));
        assert_ok(dnnl_graph_graph_destroy(graph));
        assert_ok(dnnl_graph_partition_get_op_num(partition, &count));
        assert_int_equal(count, 1);
        assert_ok(dnnl_graph_partition_get_ops(partition, 1, &id));
        assert_int_equal(id, 11);
        assert_ok(dnnl_graph_partition_get_input_ports_num(partition, &ninputs));
        assert_int_equal(ninputs, wanted);
        assert_ok(dnnl_graph_partition_is_supported(partition, &supported));
        assert_int_equal(supported, row->served);
        assert_ok(dnnl_graph_partition_destroy(partition));
    }
}

static int allows(const char *counts, size_t count)
{
    return strchr(counts, '0' + (int)count) != NULL;
}

static void check_counts(const kind_row *row, size_t ninputs, size_t noutputs)
{
    dnnl_graph_op_t op = make(row, ninputs, noutputs);
    dnnl_graph_graph_t graph;
    assert_ok(dnnl_graph_graph_create(&graph, dnnl_cpu));
    dnnl_status_t status = dnnl_graph_add_op(graph, op), wanted = dnnl_invalid_graph_op;
    if (allows(row->inputs, ninputs) && allows(row->outputs, noutputs))
        wanted = dnnl_success;
    if (status != wanted)
        fail_msg("kind %d, %zu inputs, %zu outputs: %s", (int)row->kind, ninputs, noutputs,
                 dnnl_status2str(status));
    assert_ok(dnnl_graph_graph_destroy(graph));
    assert_ok(dnnl_graph_op_destroy(op));
}

static void other_numbers_of_tensors_are_refused(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        for (size_t ninputs = 0; ninputs <= MOST; ninputs++)
            for (size_t noutputs = 0; noutputs <= MOST; noutputs++)
                check_counts(&kinds[k], ninputs, noutputs);
}

static void concat_takes_64_tensors_and_no_more(void **state)
{
    (void)state;
    const kind_row concat = ROW(concat, "", "", NULL, 0);
    dnnl_graph_partition_t partition;
    dnnl_graph_op_t most = make(&concat, 64, 1), more = make(&concat, 65, 1);
    assert_ok(dnnl_graph_partition_create_with_op(&partition, most, dnnl_cpu));
    assert_ok(dnnl_graph_partition_destroy(partition));
    assert_dnnl(dnnl_invalid_graph_op,
                dnnl_graph_partition_create_with_op(&partition, more, dnnl_cpu));
    assert_ok(dnnl_graph_op_destroy(most));
    assert_ok(dnnl_graph_op_destroy(more));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_partitioned_and_ours_are_supported),
        cmocka_unit_test(other_numbers_of_tensors_are_refused),
        cmocka_unit_test(concat_takes_64_tensors_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
