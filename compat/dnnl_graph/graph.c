/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - graphs: a collection of operations that is checked, put in order and partitioned.
 *
 * Every operation becomes a partition of its own, for any policy: there is nothing to fuse among
 * gradients of activations, and unsupported operations go back to the program one by one. As in
 * oneDNN, policies and floating-point modes without a name are accepted too.
 */
#include <stdlib.h>

#include "internal.h"

struct dnnl_graph_graph {
    dnnl_engine_kind_t kind;
    dnnl_fpmath_mode_t fpmath_mode;
    int apply_to_int;
    int finalized;
    size_t nops, npartitions;
    dnnl_graph_op_t *ops;
    dg_ids ids; /* of ops */
    dnnl_graph_partition_t *partitions;
};

static int is_engine_kind(dnnl_engine_kind_t kind)
{
    return kind == dnnl_any_engine || kind == dnnl_cpu || kind == dnnl_gpu;
}

dnnl_status_t dnnl_graph_graph_create_with_fpmath_mode(dnnl_graph_graph_t *graph,
                                                       dnnl_engine_kind_t engine_kind,
                                                       dnnl_fpmath_mode_t mode)
{
    if (!graph || !is_engine_kind(engine_kind))
        return dnnl_invalid_arguments;
    *graph = calloc(1, sizeof(**graph));
    if (!*graph)
        return dnnl_out_of_memory;
    (*graph)->kind = engine_kind;
    (*graph)->fpmath_mode = mode;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_graph_create(dnnl_graph_graph_t *graph, dnnl_engine_kind_t engine_kind)
{
    dnnl_fpmath_mode_t mode = dnnl_fpmath_mode_strict;
    dnnl_get_default_fpmath_mode(&mode);
    return dnnl_graph_graph_create_with_fpmath_mode(graph, engine_kind, mode);
}

static void clear_partitions(dnnl_graph_graph_t graph)
{
    for (size_t i = 0; i < graph->npartitions; i++)
        dg_partition_release(graph->partitions[i]);
    free(graph->partitions);
    graph->partitions = NULL;
    graph->npartitions = 0;
}

dnnl_status_t dnnl_graph_graph_destroy(dnnl_graph_graph_t graph)
{
    if (graph) {
        clear_partitions(graph);
        for (size_t i = 0; i < graph->nops; i++)
            dg_op_release(graph->ops[i]);
        free(graph->ops);
        dg_ids_clear(&graph->ids);
        free(graph);
    }
    return dnnl_success;
}

dnnl_status_t dnnl_graph_graph_set_fpmath_mode(dnnl_graph_graph_t graph, dnnl_fpmath_mode_t mode,
                                               int apply_to_int)
{
    if (!graph)
        return dnnl_invalid_arguments;
    if (graph->finalized)
        return dnnl_invalid_graph;
    graph->fpmath_mode = mode;
    graph->apply_to_int = apply_to_int;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_graph_get_fpmath_mode(dnnl_graph_graph_t graph, dnnl_fpmath_mode_t *mode,
                                               int *apply_to_int)
{
    if (!graph)
        return dnnl_invalid_arguments;
    if (graph->finalized)
        return dnnl_invalid_graph;
    if (mode)
        *mode = graph->fpmath_mode;
    if (apply_to_int)
        *apply_to_int = graph->apply_to_int;
    return dnnl_success;
}

/* ---- building ----------------------------------------------------------------------------- */

/* reserve - make room for one more operation, so that adding it cannot fail half-way. */
static int reserve(dnnl_graph_graph_t graph)
{
    if (!dg_ids_reserve(&graph->ids, graph->nops + 1))
        return 0;
    if (graph->nops & (graph->nops - 1)) /* room doubles at each power of two */
        return 1;
    size_t room = graph->nops ? 2 * graph->nops : 1;
    dnnl_graph_op_t *grown = realloc(graph->ops, room * sizeof(*grown));
    if (grown)
        graph->ops = grown;
    return grown != NULL;
}

dnnl_status_t dnnl_graph_add_op(dnnl_graph_graph_t graph, dnnl_graph_op_t op)
{
    if (!graph || !op)
        return dnnl_invalid_arguments;
    if (graph->finalized)
        return dnnl_invalid_graph;
    if (!dg_op_fits(op) || dg_ids_has(&graph->ids, op->id))
        return dnnl_invalid_graph_op;
    if (!reserve(graph))
        return dnnl_out_of_memory;
    dnnl_graph_op_t copy = dg_op_copy(op);
    if (!copy)
        return dnnl_out_of_memory;
    dg_ids_add(&graph->ids, op->id);
    graph->ops[graph->nops++] = copy;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_graph_finalize(dnnl_graph_graph_t graph)
{
    if (!graph)
        return dnnl_invalid_arguments;
    if (graph->finalized)
        return dnnl_success;
    dnnl_status_t status = dg_topology_sort(graph->ops, graph->nops);
    graph->finalized = status == dnnl_success;
    return status;
}

dnnl_status_t dnnl_graph_graph_is_finalized(dnnl_graph_graph_t graph, uint8_t *finalized)
{
    if (!graph || !finalized)
        return dnnl_invalid_arguments;
    *finalized = (uint8_t)graph->finalized;
    return dnnl_success;
}

/* ---- partitioning ------------------------------------------------------------------------- */

dnnl_status_t dnnl_graph_graph_filter(dnnl_graph_graph_t graph,
                                      dnnl_graph_partition_policy_t policy)
{
    (void)policy;
    if (!graph || !graph->finalized)
        return dnnl_invalid_graph;
    clear_partitions(graph);
    if (!graph->nops)
        return dnnl_success;
    graph->partitions = calloc(graph->nops, sizeof(*graph->partitions));
    if (!graph->partitions)
        return dnnl_out_of_memory;
    for (size_t i = 0; i < graph->nops; i++) {
        graph->partitions[i] = dg_partition_create(dg_op_retain(graph->ops[i]), graph->kind);
        if (!graph->partitions[i]) {
            clear_partitions(graph);
            return dnnl_out_of_memory;
        }
        graph->npartitions++;
    }
    return dnnl_success;
}

dnnl_status_t dnnl_graph_graph_get_partition_num(const_dnnl_graph_graph_t graph, size_t *num)
{
    if (!graph || !num)
        return dnnl_invalid_arguments;
    *num = graph->npartitions;
    return dnnl_success;
}

dnnl_status_t dnnl_graph_graph_get_partitions(dnnl_graph_graph_t graph, size_t num,
                                              dnnl_graph_partition_t *partitions)
{
    if (!graph || !partitions || !num)
        return dnnl_invalid_graph;
    if (num < graph->npartitions)
        return dnnl_invalid_arguments;
    for (size_t i = 0; i < graph->npartitions; i++)
        partitions[i] = dg_partition_retain(graph->partitions[i]);
    for (size_t i = graph->npartitions; i < num; i++)
        partitions[i] = NULL;
    return dnnl_success;
}
