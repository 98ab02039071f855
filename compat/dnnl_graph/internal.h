/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h - what the files of this front-end share: the objects behind the API's handles.
 *
 * This is a translation, without a kernel of its own: it turns the Graph API's descriptions into
 * vjp's and calls vjp.h. Engines, operations and partitions are counted references, so that a
 * program may destroy its objects in any order. An operation does not change once it is in a
 * graph or a partition, and a compilation never changes, so they are read without locks.
 */
#ifndef DG_INTERNAL_H
#define DG_INTERNAL_H

#include <stdatomic.h>

#include "oneapi/dnnl/dnnl_debug.h"
#include "oneapi/dnnl/dnnl_graph.h"
#include "schema.h"
#include "vjp/vjp.h"

#define DG_ALIGNMENT 64
#define DG_UNKNOWN_SIZE ((size_t)-1)

typedef dnnl_graph_logical_tensor_t dg_lt;

/* ---- engine.c ----------------------------------------------------------------------------- */

struct dnnl_graph_allocator {
    dnnl_graph_host_allocate_f allocate;
    dnnl_graph_host_deallocate_f deallocate;
};

struct dnnl_engine {
    atomic_size_t references;
    dnnl_engine_kind_t kind;
    struct dnnl_graph_allocator allocator;
    vjp_context *ctx;
};

struct dnnl_stream {
    dnnl_engine_t engine;
};

dnnl_engine_t dg_engine_retain(dnnl_engine_t engine);
void dg_engine_release(dnnl_engine_t engine);

/* dg_engine_allocate - memory aligned to DG_ALIGNMENT, or NULL; dg_engine_deallocate takes NULL. */
void *dg_engine_allocate(dnnl_engine_t engine, size_t size);
void dg_engine_deallocate(dnnl_engine_t engine, void *memory);

/* dg_status_of - what a refusal of vjp is called here. */
dnnl_status_t dg_status_of(vjp_status status);

/* ---- logical_tensor.c --------------------------------------------------------------------- */

/* dg_lt_dense_strides - dense row-major strides, where a dim of 0 counts as 1. 0 if they do not
 * fit in 64 bits. */
int dg_lt_dense_strides(int ndims, const int64_t *dims, int64_t *strides);

int dg_lt_has_dims(const dg_lt *lt);
int dg_lt_has_strides(const dg_lt *lt);

/* dg_lt_has_negative_stride - other than an unknown one; ndims is at most 12. */
int dg_lt_has_negative_stride(const dg_lt *lt);

/* dg_lt_same_shape, dg_lt_same_strides - of two that have dims and strides; the stride of a dim
 * of 1 does not matter. */
int dg_lt_same_shape(const dg_lt *a, const dg_lt *b);
int dg_lt_same_strides(const dg_lt *a, const dg_lt *b);

int dg_lt_equal(const dg_lt *a, const dg_lt *b);

/* dg_lt_size - the bytes that a strided tensor needs; DG_UNKNOWN_SIZE if unknown. */
size_t dg_lt_size(const dg_lt *lt);

/* ---- tensor.c ----------------------------------------------------------------------------- */

struct dnnl_graph_tensor {
    dg_lt lt;
    dnnl_engine_t engine; /* NULL for a scalar */
    void *handle;
    int owned;
};

/* ---- op.c --------------------------------------------------------------------------------- */

/* One attribute as it was set. A list's values are not kept: no served operator takes one. */
typedef struct dg_attr {
    dnnl_graph_op_attr_t id;
    int is_list;
    vjp_attr value; /* the name is not set; a string is owned */
} dg_attr;

struct dnnl_graph_op {
    atomic_size_t references;
    size_t id;
    dnnl_graph_op_kind_t kind;
    size_t ninputs, noutputs, nattrs;
    dg_lt *inputs;
    dg_lt *outputs;
    dg_attr *attrs;
};

/* dg_op_copy - an operation of its own, of one reference; NULL if out of memory. */
dnnl_graph_op_t dg_op_copy(const_dnnl_graph_op_t op);
dnnl_graph_op_t dg_op_retain(dnnl_graph_op_t op);
void dg_op_release(dnnl_graph_op_t op);

const dg_attr *dg_op_attr(const_dnnl_graph_op_t op, dnnl_graph_op_attr_t id);

/* dg_op_fits - whether the operation satisfies its schema. */
int dg_op_fits(const_dnnl_graph_op_t op);

/* ---- ids.c -------------------------------------------------------------------------------- */

/* A set of ids: an open hash table of a power of two places; all zero is an empty one. 0 marks a
 * free place, so the id 0 is kept apart. */
typedef struct dg_ids {
    size_t nplaces;
    size_t *places;
    int has_zero;
} dg_ids;

/* dg_ids_reserve - make room for `count` ids in all; 0 if out of memory. dg_ids_add needs room. */
int dg_ids_reserve(dg_ids *ids, size_t count);
void dg_ids_add(dg_ids *ids, size_t id);
int dg_ids_has(const dg_ids *ids, size_t id);
void dg_ids_clear(dg_ids *ids);

/* ---- topology.c --------------------------------------------------------------------------- */

/* dg_topology_sort - put operations in an order in which each comes after those it depends on.
 * dnnl_invalid_graph if tensors of one id differ, or have two writers, or there is a cycle; the
 * order of `ops` is then as it was. */
dnnl_status_t dg_topology_sort(dnnl_graph_op_t *ops, size_t nops);

/* ---- partition.c -------------------------------------------------------------------------- */

/* A partition is one operation. core is NULL if it is not served; place[i] is vjp's index of the
 * operation's tensor i, inputs first, DG_NOWHERE if vjp does not have it. */
#define DG_NOWHERE (-1)

struct dnnl_graph_partition {
    atomic_size_t references;
    size_t id;
    dnnl_engine_kind_t kind;
    dnnl_graph_op_t op;
    const vjp_op_info *core;
    int32_t place[DG_MAX_TENSORS];
};

/* dg_partition_create - takes over the reference to op, also when it fails and returns NULL. */
dnnl_graph_partition_t dg_partition_create(dnnl_graph_op_t op, dnnl_engine_kind_t kind);
dnnl_graph_partition_t dg_partition_retain(dnnl_graph_partition_t partition);
void dg_partition_release(dnnl_graph_partition_t partition);

/* ---- compile.c, compiled.c ---------------------------------------------------------------- */

/* The outcome of a compilation. tensors: the descriptions given to compile, resolved, inputs
 * first. source[i]: which of them is vjp's tensor i; DG_NOT_GIVEN if none is. */
#define DG_NOT_GIVEN SIZE_MAX

typedef struct dg_compilation {
    dnnl_engine_t engine;
    vjp_plan *plan;
    size_t workspace_size;
    size_t npairs;
    dnnl_graph_inplace_pair_t pairs[DG_MAX_TENSORS];
    size_t source[DG_MAX_TENSORS];
    size_t ninputs, noutputs;
    dg_lt tensors[];
} dg_compilation;

struct dnnl_graph_compiled_partition {
    dnnl_graph_partition_t partition;
    dg_compilation *compilation; /* NULL until compiled */
};

void dg_compilation_destroy(dg_compilation *compilation);

#endif
