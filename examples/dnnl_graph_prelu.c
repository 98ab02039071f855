/* SPDX-License-Identifier: Apache-2.0 */
/* dnnl_graph_prelu.c - the gradients of PReLU with the oneDNN Graph API, end to end.
 *
 * A channels-last image of 2 x 2 pixels with 3 channels, and one slope per channel. The program
 * describes the operation, asks whether it is supported, compiles it with the shapes of the outputs
 * left open, and executes it. It also builds and runs with oneDNN.
 */
#include <stdio.h>
#include <stdlib.h>

#include <oneapi/dnnl/dnnl_debug.h>
#include <oneapi/dnnl/dnnl_graph.h>

enum {
    SRC,
    SLOPE,
    DIFF_DST,
    DIFF_SRC,
    DIFF_SLOPE,
    NTENSORS
};

static void check(dnnl_status_t status, const char *what)
{
    if (status == dnnl_success)
        return;
    fprintf(stderr, "%s: %s\n", what, dnnl_status2str(status));
    exit(1);
}

static void describe(dnnl_graph_logical_tensor_t *lt)
{
    const dnnl_dims_t picture = { 1, 2, 2, 3 }, channels = { 3 };
    const dnnl_graph_tensor_property_t property = dnnl_graph_tensor_property_variable;
    check(dnnl_graph_logical_tensor_init_with_dims(&lt[SRC], SRC, dnnl_f32, 4, picture,
                                                   dnnl_graph_layout_type_strided, property),
          "src");
    check(dnnl_graph_logical_tensor_init_with_dims(&lt[SLOPE], SLOPE, dnnl_f32, 1, channels,
                                                   dnnl_graph_layout_type_strided, property),
          "slope");
    check(dnnl_graph_logical_tensor_init_with_dims(&lt[DIFF_DST], DIFF_DST, dnnl_f32, 4, picture,
                                                   dnnl_graph_layout_type_strided, property),
          "diff_dst");
    for (int i = DIFF_SRC; i < NTENSORS; i++)
        check(dnnl_graph_logical_tensor_init(&lt[i], (size_t)i, dnnl_f32, DNNL_GRAPH_UNKNOWN_NDIMS,
                                             dnnl_graph_layout_type_any, property),
              "outputs");
}

static dnnl_graph_partition_t make_partition(const dnnl_graph_logical_tensor_t *lt)
{
    dnnl_graph_op_t op;
    check(dnnl_graph_op_create(&op, 0, dnnl_graph_op_prelu_backward, "prelu"), "op");
    for (int i = SRC; i <= DIFF_DST; i++)
        check(dnnl_graph_op_add_input(op, &lt[i]), "add_input");
    for (int i = DIFF_SRC; i < NTENSORS; i++)
        check(dnnl_graph_op_add_output(op, &lt[i]), "add_output");
    check(dnnl_graph_op_set_attr_str(op, dnnl_graph_op_attr_data_format, "NXC", 3), "data_format");

    dnnl_graph_graph_t graph;
    dnnl_graph_partition_t partition;
    size_t count = 0;
    uint8_t supported = 0;
    check(dnnl_graph_graph_create(&graph, dnnl_cpu), "graph");
    check(dnnl_graph_add_op(graph, op), "add_op");
    check(dnnl_graph_graph_finalize(graph), "finalize");
    check(dnnl_graph_graph_filter(graph, dnnl_graph_partition_policy_fusion), "filter");
    check(dnnl_graph_graph_get_partition_num(graph, &count), "partition_num");
    check(dnnl_graph_graph_get_partitions(graph, count, &partition), "partitions");
    check(dnnl_graph_partition_is_supported(partition, &supported), "is_supported");
    check(supported ? dnnl_success : dnnl_unimplemented, "PReLUBackward");
    dnnl_graph_graph_destroy(graph);
    dnnl_graph_op_destroy(op);
    return partition;
}

int main(void)
{
    float src[12] = { 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6 };
    float slope[3] = { 0.5f, 0.25f, 0.125f };
    float diff_dst[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
    float diff_src[12], diff_slope[3];
    void *data[NTENSORS] = { src, slope, diff_dst, diff_src, diff_slope };

    dnnl_engine_t engine;
    dnnl_stream_t stream;
    check(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine");
    check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream");

    dnnl_graph_logical_tensor_t lt[NTENSORS];
    describe(lt);
    dnnl_graph_partition_t partition = make_partition(lt);
    dnnl_graph_compiled_partition_t compiled;
    const dnnl_graph_logical_tensor_t *inputs[] = { &lt[SRC], &lt[SLOPE], &lt[DIFF_DST] };
    const dnnl_graph_logical_tensor_t *outputs[] = { &lt[DIFF_SRC], &lt[DIFF_SLOPE] };
    check(dnnl_graph_compiled_partition_create(&compiled, partition), "compiled_partition");
    check(dnnl_graph_partition_compile(partition, compiled, 3, inputs, 2, outputs, engine),
          "compile");

    dnnl_graph_tensor_t tensors[NTENSORS];
    const_dnnl_graph_tensor_t arguments[NTENSORS];
    for (int i = 0; i < NTENSORS; i++) {
        check(dnnl_graph_compiled_partition_query_logical_tensor(compiled, (size_t)i, &lt[i]),
              "query");
        check(dnnl_graph_tensor_create(&tensors[i], &lt[i], engine, data[i]), "tensor");
        arguments[i] = tensors[i];
    }
    check(dnnl_graph_compiled_partition_execute(compiled, stream, 3, arguments, 2,
                                                arguments + DIFF_SRC),
          "execute");
    check(dnnl_stream_wait(stream), "wait");

    for (int i = 0; i < 12; i++)
        printf("%g%c", diff_src[i], i % 3 == 2 ? '\n' : ' ');
    printf("diff_slope: %g %g %g\n", diff_slope[0], diff_slope[1], diff_slope[2]);

    for (int i = 0; i < NTENSORS; i++)
        dnnl_graph_tensor_destroy(tensors[i]);
    dnnl_graph_compiled_partition_destroy(compiled);
    dnnl_graph_partition_destroy(partition);
    dnnl_stream_destroy(stream);
    dnnl_engine_destroy(engine);
    return 0;
}
