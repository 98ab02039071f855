/* SPDX-License-Identifier: Apache-2.0 */
/* partitions.c - partitions, of a graph or of one operation. */
#include "world.h"

void drop_partition(world *w, int32_t slot)
{
    dnnl_graph_partition_destroy(w->partitions[slot]);
    w->partitions[slot] = NULL;
}

void take_partitions(world *w, bytes *b)
{
    dnnl_graph_graph_t graph = *SLOT(w->graphs);
    size_t count = 0;
    dnnl_graph_graph_get_partition_num(graph, &count);
    dnnl_graph_partition_t *all = calloc(count + 1, sizeof(*all));
    expect(all, "out of memory");
    dnnl_status_t status = dnnl_graph_graph_get_partitions(graph, count, all);
    expect((status == dnnl_success) == (count > 0), "partitions that were counted are not there");
    for (size_t i = 0; i < count; i++) {
        drop_partition(w, (int32_t)(i % FEW));
        w->partitions[i % FEW] = all[i];
    }
    free(all);
}

void new_partition(world *w, bytes *b)
{
    int32_t i = bytes_below(b, FEW);
    dnnl_graph_partition_t *slot = &w->partitions[i];
    drop_partition(w, i);
    expect_made(dnnl_graph_partition_create_with_op(slot, *SLOT(w->ops), dnnl_cpu), slot);
}

void ask_partition(world *w, bytes *b)
{
    dnnl_graph_partition_t partition = *SLOT(w->partitions);
    size_t n = 0;
    uint8_t supported;
    dnnl_engine_kind_t kind;
    lt *ports;
    dnnl_status_t wanted = partition ? dnnl_success : dnnl_invalid_arguments;
    expect(dnnl_graph_partition_is_supported(partition, &supported) == wanted, "supported?");
    expect(dnnl_graph_partition_get_input_ports_num(partition, &n) == wanted, "no inputs' count");
    ports = calloc(n + 1, sizeof(*ports));
    expect(ports, "out of memory");
    dnnl_graph_partition_get_input_ports(partition, n, ports);
    expect(dnnl_graph_partition_get_input_ports(partition, n + 1, ports) != dnnl_success,
           "more inputs than there are");
    free(ports);
    expect(dnnl_graph_partition_get_output_ports_num(partition, &n) == wanted, "no outputs' count");
    ports = calloc(n + 1, sizeof(*ports));
    expect(ports, "out of memory");
    expect(dnnl_graph_partition_get_output_ports(partition, n, ports) == wanted, "no outputs");
    free(ports);
    expect(dnnl_graph_partition_get_op_num(partition, &n) == wanted, "no count of operations");
    expect(dnnl_graph_partition_get_ops(partition, 1, &n) == wanted, "no operations");
    expect(dnnl_graph_partition_get_id(partition, &n) == wanted, "no id");
    expect(dnnl_graph_partition_get_engine_kind(partition, &kind) == wanted, "no engine's kind");
}
