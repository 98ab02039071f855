/* SPDX-License-Identifier: Apache-2.0 */
/* topology.c - which operation depends on which, and an order that respects it.
 *
 * Operations are connected by the ids of their tensors. All uses of all tensors are sorted by id,
 * the writer of a tensor before its readers; then operations are taken as soon as everything they
 * read has been written.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

typedef struct use {
    const dg_lt *tensor;
    size_t op;
    int reads;
} use;

typedef struct topology {
    size_t nuses;
    use *uses;
    size_t *unwritten; /* of each operation: inputs that some operation has yet to write */
    size_t *order;     /* indices of operations; also the queue of those that are ready */
    dnnl_graph_op_t *sorted;
} topology;

static int compare_uses(const void *left, const void *right)
{
    const use *a = left, *b = right;
    if (a->tensor->id != b->tensor->id)
        return a->tensor->id < b->tensor->id ? -1 : 1;
    if (a->reads != b->reads)
        return a->reads - b->reads;
    return (a->op > b->op) - (a->op < b->op);
}

static void collect_uses(dnnl_graph_op_t *ops, size_t nops, topology *t)
{
    for (size_t i = 0; i < nops; i++) {
        for (size_t j = 0; j < ops[i]->noutputs; j++)
            t->uses[t->nuses++] = (use){ &ops[i]->outputs[j], i, 0 };
        for (size_t j = 0; j < ops[i]->ninputs; j++)
            t->uses[t->nuses++] = (use){ &ops[i]->inputs[j], i, 1 };
    }
    qsort(t->uses, t->nuses, sizeof(*t->uses), compare_uses);
}

/* connect - count what each operation waits for. 0 if uses of one id do not agree. */
static int connect(topology *t)
{
    const use *first = t->uses;
    for (use *u = t->uses; u < t->uses + t->nuses; u++) {
        if (u->tensor->id != first->tensor->id)
            first = u;
        if (u == first)
            continue;
        if (!u->reads || !dg_lt_equal(u->tensor, first->tensor))
            return 0;
        t->unwritten[u->op] += !first->reads;
    }
    return 1;
}

/* first_use - the first of the uses of a tensor, which has one. */
static const use *first_use(const topology *t, size_t id)
{
    size_t low = 0, high = t->nuses;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->uses[middle].tensor->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return &t->uses[low];
}

/* walk - fill t->order, as far as there is no cycle. Returns how many there are. */
static size_t walk(dnnl_graph_op_t *ops, size_t nops, topology *t)
{
    size_t ready = 0;
    for (size_t i = 0; i < nops; i++)
        if (!t->unwritten[i])
            t->order[ready++] = i;
    for (size_t done = 0; done < ready; done++) {
        const_dnnl_graph_op_t op = ops[t->order[done]];
        for (size_t j = 0; j < op->noutputs; j++) {
            size_t id = op->outputs[j].id;
            for (const use *u = first_use(t, id) + 1; u < t->uses + t->nuses && u->tensor->id == id;
                 u++)
                if (--t->unwritten[u->op] == 0)
                    t->order[ready++] = u->op;
        }
    }
    return ready;
}

static dnnl_status_t sort_ops(dnnl_graph_op_t *ops, size_t nops, topology *t)
{
    if (!t->uses || !t->unwritten || !t->order || !t->sorted)
        return dnnl_out_of_memory;
    collect_uses(ops, nops, t);
    if (!connect(t) || walk(ops, nops, t) < nops)
        return dnnl_invalid_graph;
    for (size_t i = 0; i < nops; i++)
        t->sorted[i] = ops[t->order[i]];
    memcpy(ops, t->sorted, nops * sizeof(*ops));
    return dnnl_success;
}

dnnl_status_t dg_topology_sort(dnnl_graph_op_t *ops, size_t nops)
{
    if (!nops)
        return dnnl_success;
    size_t nuses = 1; /* so that nothing of size 0 is allocated */
    for (size_t i = 0; i < nops; i++)
        nuses += ops[i]->ninputs + ops[i]->noutputs;
    topology t = { 0, malloc(nuses * sizeof(use)), calloc(nops, sizeof(size_t)),
                   malloc(nops * sizeof(size_t)), malloc(nops * sizeof(*ops)) };
    dnnl_status_t status = sort_ops(ops, nops, &t);
    free(t.uses);
    free(t.unwritten);
    free(t.order);
    free(t.sorted);
    return status;
}
