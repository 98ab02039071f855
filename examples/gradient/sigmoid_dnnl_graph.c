/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <oneapi/dnnl/dnnl_graph.h>

enum {
    SRC,
    DIFF_DST,
    DIFF_SRC,
    NTENSORS
};

int main(void)
{
    float src[3] = { -1, 0, 2 }, diff_dst[3] = { 10, 20, 30 }, diff_src[3];
    void *data[NTENSORS] = { src, diff_dst, diff_src };
    const uint8_t use_dst = 0; /* the first input is src */
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_graph_op_t op;
    dnnl_graph_partition_t partition;
    dnnl_graph_compiled_partition_t compiled;
    dnnl_graph_logical_tensor_t lt[NTENSORS];
    dnnl_graph_tensor_t tensors[NTENSORS];

    int failed = dnnl_engine_create(&engine, dnnl_cpu, 0) ||
                 dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) ||
                 dnnl_graph_op_create(&op, 0, dnnl_graph_op_sigmoid_backward, "sigmoid");
    for (size_t i = 0; i < NTENSORS && !failed; i++)
        failed = dnnl_graph_logical_tensor_init_with_dims(
                     &lt[i], i, dnnl_f32, 1, (const dnnl_dims_t){ 3 },
                     dnnl_graph_layout_type_strided, dnnl_graph_tensor_property_variable) ||
                 dnnl_graph_tensor_create(&tensors[i], &lt[i], engine, data[i]) ||
                 (i < DIFF_SRC ? dnnl_graph_op_add_input(op, &lt[i])
                               : dnnl_graph_op_add_output(op, &lt[i]));
    if (failed || dnnl_graph_op_set_attr_bool(op, dnnl_graph_op_attr_use_dst, &use_dst, 1) ||
        dnnl_graph_partition_create_with_op(&partition, op, dnnl_cpu) ||
        dnnl_graph_compiled_partition_create(&compiled, partition) ||
        dnnl_graph_partition_compile(
            partition, compiled, 2,
            (const dnnl_graph_logical_tensor_t *[]){ &lt[SRC], &lt[DIFF_DST] }, 1,
            (const dnnl_graph_logical_tensor_t *[]){ &lt[DIFF_SRC] }, engine) ||
        dnnl_graph_compiled_partition_execute(
            compiled, stream, 2, (const_dnnl_graph_tensor_t[]){ tensors[SRC], tensors[DIFF_DST] },
            1, (const_dnnl_graph_tensor_t[]){ tensors[DIFF_SRC] }) ||
        dnnl_stream_wait(stream))
        return 1;
    printf("%g %g %g\n", diff_src[0], diff_src[1], diff_src[2]);

    for (int i = 0; i < NTENSORS; i++)
        dnnl_graph_tensor_destroy(tensors[i]);
    dnnl_graph_compiled_partition_destroy(compiled);
    dnnl_graph_partition_destroy(partition);
    dnnl_graph_op_destroy(op);
    dnnl_stream_destroy(stream);
    dnnl_engine_destroy(engine);
    return 0;
}
