/* SPDX-License-Identifier: Apache-2.0 */
/* dnnl_graph.h - the Graph API: describe operations, ask what is supported, compile, execute.
 *
 *     dnnl_graph_op_create, _add_input, _add_output, _set_attr_*    what is to be computed
 *     dnnl_graph_add_op, _graph_finalize, _graph_filter             checked, put in order
 *     dnnl_graph_graph_get_partitions, _partition_is_supported      what can be computed here
 *     dnnl_graph_partition_compile                                  shapes, layouts, a plan
 *     dnnl_graph_compiled_partition_execute                         once a step
 *
 * Functions return dnnl_success or say what was wrong; NULL where something is needed is
 * dnnl_invalid_arguments unless said otherwise. A function that fails writes no data. Every
 * destroy but the allocator's takes NULL. Objects may be destroyed in any order: what one needs of
 * another stays alive. One object may be read by many threads at once, and a compiled partition
 * may be executed by many at once.
 */
#ifndef ONEAPI_DNNL_DNNL_GRAPH_H
#define ONEAPI_DNNL_DNNL_GRAPH_H

#include "oneapi/dnnl/dnnl_common.h"
#include "oneapi/dnnl/dnnl_config.h"
#include "oneapi/dnnl/dnnl_graph_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- allocators and engines --------------------------------------------------------------- */

/* The memory of tensors and scratchpads. Either function NULL: the C library's allocator. */
DNNL_API dnnl_status_t dnnl_graph_allocator_create(dnnl_graph_allocator_t *allocator,
                                                   dnnl_graph_host_allocate_f host_malloc,
                                                   dnnl_graph_host_deallocate_f host_free);
DNNL_API dnnl_status_t dnnl_graph_allocator_destroy(dnnl_graph_allocator_t allocator);

/* As dnnl_engine_create. The engine keeps the two functions, not the allocator. */
DNNL_API dnnl_status_t dnnl_graph_make_engine_with_allocator(dnnl_engine_t *engine,
                                                             dnnl_engine_kind_t kind, size_t index,
                                                             const_dnnl_graph_allocator_t alloc);

/* ---- logical tensors ---------------------------------------------------------------------- */

/* A tensor whose dims are not known yet. ndims: at most DNNL_MAX_NDIMS; negative means unknown.
 * A host_scalar has ndims 0 and is s32, s64 or f32. */
DNNL_API dnnl_status_t dnnl_graph_logical_tensor_init(dnnl_graph_logical_tensor_t *logical_tensor,
                                                      size_t tid, dnnl_data_type_t dtype,
                                                      int32_t ndims, dnnl_graph_layout_type_t ltype,
                                                      dnnl_graph_tensor_property_t ptype);

/* A strided layout is dense row-major; its strides are unknown while a dim is. */
DNNL_API dnnl_status_t dnnl_graph_logical_tensor_init_with_dims(
    dnnl_graph_logical_tensor_t *logical_tensor, size_t tid, dnnl_data_type_t dtype, int32_t ndims,
    const dnnl_dims_t dims, dnnl_graph_layout_type_t ltype, dnnl_graph_tensor_property_t ptype);
DNNL_API dnnl_status_t dnnl_graph_logical_tensor_init_with_strides(
    dnnl_graph_logical_tensor_t *logical_tensor, size_t tid, dnnl_data_type_t dtype, int32_t ndims,
    const dnnl_dims_t dims, const dnnl_dims_t strides, dnnl_graph_tensor_property_t ptype);

/* The bytes to allocate; (size_t)-1 if the layout or a dim is not known. */
DNNL_API dnnl_status_t dnnl_graph_logical_tensor_get_mem_size(
    const dnnl_graph_logical_tensor_t *logical_tensor, size_t *size);

/* Whether the two describe the same tensor in the same layout. */
DNNL_API dnnl_status_t dnnl_graph_logical_tensor_is_equal(const dnnl_graph_logical_tensor_t *lt1,
                                                          const dnnl_graph_logical_tensor_t *lt2,
                                                          uint8_t *is_equal);

/* ---- tensors ------------------------------------------------------------------------------ */

/* handle: the caller's memory, DNNL_MEMORY_NONE, or DNNL_MEMORY_ALLOCATE for memory of the
 * engine's allocator, aligned to 64 bytes, which the tensor owns. */
DNNL_API dnnl_status_t dnnl_graph_tensor_create(dnnl_graph_tensor_t *tensor,
                                                const dnnl_graph_logical_tensor_t *logical_tensor,
                                                dnnl_engine_t engine, void *handle);

/* A host_scalar; the value at handle is copied. It has no engine. */
DNNL_API dnnl_status_t dnnl_graph_tensor_create_scalar(
    dnnl_graph_tensor_t *tensor, const dnnl_graph_logical_tensor_t *logical_tensor, void *handle);
DNNL_API dnnl_status_t dnnl_graph_tensor_destroy(dnnl_graph_tensor_t tensor);
DNNL_API dnnl_status_t dnnl_graph_tensor_get_data_handle(const_dnnl_graph_tensor_t tensor,
                                                         void **handle);

/* Memory that the tensor owned is freed. */
DNNL_API dnnl_status_t dnnl_graph_tensor_set_data_handle(dnnl_graph_tensor_t tensor, void *handle);
DNNL_API dnnl_status_t dnnl_graph_tensor_get_engine(const_dnnl_graph_tensor_t tensor,
                                                    dnnl_engine_t *engine);
DNNL_API dnnl_status_t dnnl_graph_tensor_get_logical_tensor(
    const_dnnl_graph_tensor_t tensor, dnnl_graph_logical_tensor_t *logical_tensor);

/* ---- operations --------------------------------------------------------------------------- */

DNNL_API dnnl_status_t dnnl_graph_op_create(dnnl_graph_op_t *op, size_t id,
                                            dnnl_graph_op_kind_t kind, const char *verbose_name);
DNNL_API dnnl_status_t dnnl_graph_op_destroy(dnnl_graph_op_t op);

/* Inputs and outputs are told apart by the order in which they are added. */
DNNL_API dnnl_status_t dnnl_graph_op_add_input(dnnl_graph_op_t op,
                                               const dnnl_graph_logical_tensor_t *input);
DNNL_API dnnl_status_t dnnl_graph_op_add_output(dnnl_graph_op_t op,
                                                const dnnl_graph_logical_tensor_t *output);

/* Set an attribute, or set it again. Whether the operation has it is checked when the operation
 * is added to a graph. value_len: 1 for a single value; for a string anything but 0, since the
 * string ends at its NUL. */
DNNL_API dnnl_status_t dnnl_graph_op_set_attr_f32(dnnl_graph_op_t op, dnnl_graph_op_attr_t name,
                                                  const float *value, size_t value_len);
DNNL_API dnnl_status_t dnnl_graph_op_set_attr_bool(dnnl_graph_op_t op, dnnl_graph_op_attr_t name,
                                                   const uint8_t *value, size_t value_len);
DNNL_API dnnl_status_t dnnl_graph_op_set_attr_s64(dnnl_graph_op_t op, dnnl_graph_op_attr_t name,
                                                  const int64_t *value, size_t value_len);
DNNL_API dnnl_status_t dnnl_graph_op_set_attr_str(dnnl_graph_op_t op, dnnl_graph_op_attr_t name,
                                                  const char *value, size_t value_len);
DNNL_API dnnl_status_t dnnl_graph_op_get_id(const_dnnl_graph_op_t op, size_t *id);
DNNL_API dnnl_status_t dnnl_graph_op_get_kind(const_dnnl_graph_op_t op, dnnl_graph_op_kind_t *kind);

/* ---- graphs ------------------------------------------------------------------------------- */

DNNL_API dnnl_status_t dnnl_graph_graph_create(dnnl_graph_graph_t *graph,
                                               dnnl_engine_kind_t engine_kind);
DNNL_API dnnl_status_t dnnl_graph_graph_create_with_fpmath_mode(dnnl_graph_graph_t *graph,
                                                                dnnl_engine_kind_t engine_kind,
                                                                dnnl_fpmath_mode_t mode);
DNNL_API dnnl_status_t dnnl_graph_graph_destroy(dnnl_graph_graph_t graph);
DNNL_API dnnl_status_t dnnl_graph_graph_set_fpmath_mode(dnnl_graph_graph_t graph,
                                                        dnnl_fpmath_mode_t mode, int apply_to_int);
DNNL_API dnnl_status_t dnnl_graph_graph_get_fpmath_mode(dnnl_graph_graph_t graph,
                                                        dnnl_fpmath_mode_t *mode,
                                                        int *apply_to_int);

/* Copies the operation. dnnl_invalid_graph if the graph is finalized; dnnl_invalid_graph_op if an
 * operation of that id was added before, or if the operation does not fit its schema: the counts
 * and data types of its tensors; attributes missing, unknown, of another type, or a string that is
 * not one of the choices. */
DNNL_API dnnl_status_t dnnl_graph_add_op(dnnl_graph_graph_t graph, dnnl_graph_op_t op);

/* dnnl_invalid_graph if tensors of one id differ, if two operations write one tensor, or if an
 * operation depends on itself. A second call does nothing. */
DNNL_API dnnl_status_t dnnl_graph_graph_finalize(dnnl_graph_graph_t graph);
DNNL_API dnnl_status_t dnnl_graph_graph_is_finalized(dnnl_graph_graph_t graph, uint8_t *finalized);

/* Make the partitions: one for each operation, whatever the policy, each after those it depends
 * on. dnnl_invalid_graph if the graph is NULL or not finalized. */
DNNL_API dnnl_status_t dnnl_graph_graph_filter(dnnl_graph_graph_t graph,
                                               dnnl_graph_partition_policy_t policy);

/* 0 before the graph is filtered. */
DNNL_API dnnl_status_t dnnl_graph_graph_get_partition_num(const_dnnl_graph_graph_t graph,
                                                          size_t *num);

/* num: as above, and not 0. dnnl_invalid_graph if it is 0 or the array NULL. The caller destroys
 * each partition. */
DNNL_API dnnl_status_t dnnl_graph_graph_get_partitions(dnnl_graph_graph_t graph, size_t num,
                                                       dnnl_graph_partition_t *partitions);

/* ---- partitions --------------------------------------------------------------------------- */

/* A partition without a graph. The operation is checked as by dnnl_graph_add_op. */
DNNL_API dnnl_status_t dnnl_graph_partition_create_with_op(dnnl_graph_partition_t *partition,
                                                           const_dnnl_graph_op_t op,
                                                           dnnl_engine_kind_t ekind);
DNNL_API dnnl_status_t dnnl_graph_partition_destroy(dnnl_graph_partition_t partition);
DNNL_API dnnl_status_t dnnl_graph_partition_get_op_num(const_dnnl_graph_partition_t partition,
                                                       size_t *num);
DNNL_API dnnl_status_t dnnl_graph_partition_get_ops(dnnl_graph_partition_t partition, size_t num,
                                                    size_t *ids);
DNNL_API dnnl_status_t dnnl_graph_partition_get_id(const_dnnl_graph_partition_t partition,
                                                   size_t *id);

/* The logical tensors of the operation, in its order. num: exactly as many as there are. */
DNNL_API dnnl_status_t
dnnl_graph_partition_get_input_ports_num(const_dnnl_graph_partition_t partition, size_t *num);
DNNL_API dnnl_status_t dnnl_graph_partition_get_input_ports(const_dnnl_graph_partition_t partition,
                                                            size_t num,
                                                            dnnl_graph_logical_tensor_t *inputs);
DNNL_API dnnl_status_t
dnnl_graph_partition_get_output_ports_num(const_dnnl_graph_partition_t partition, size_t *num);
DNNL_API dnnl_status_t dnnl_graph_partition_get_output_ports(const_dnnl_graph_partition_t partition,
                                                             size_t num,
                                                             dnnl_graph_logical_tensor_t *outputs);

/* 1 if the partition can be compiled, 0 if the program must compute it by other means. */
DNNL_API dnnl_status_t dnnl_graph_partition_is_supported(const_dnnl_graph_partition_t partition,
                                                         uint8_t *is_supported);
DNNL_API dnnl_status_t dnnl_graph_partition_get_engine_kind(const_dnnl_graph_partition_t partition,
                                                            dnnl_engine_kind_t *kind);

/* Prepare to execute on tensors of these descriptions, found by their ids in any order; those that
 * are not the partition's are passed over. Inputs have known dims. Outputs may have an unknown
 * rank, unknown dims or unknown strides, which are inferred. Layout any becomes dense row-major.
 *
 * dnnl_invalid_arguments: a tensor is missing or not described enough; the partition is not
 *     supported or is not the one the compiled partition was created with; the engine is of
 *     another kind; an attribute is out of range; an output repeats an element.
 * dnnl_invalid_shape: shapes do not fit together. dnnl_invalid_data_type: data types do not.
 * On failure the compiled partition stays as it was. */
DNNL_API dnnl_status_t dnnl_graph_partition_compile(
    dnnl_graph_partition_t partition, dnnl_graph_compiled_partition_t compiled_partition,
    size_t in_num, const dnnl_graph_logical_tensor_t **inputs, size_t out_num,
    const dnnl_graph_logical_tensor_t **outputs, dnnl_engine_t engine);

/* ---- compiled partitions ------------------------------------------------------------------ */

/* Makes the object that dnnl_graph_partition_compile fills. */
DNNL_API dnnl_status_t dnnl_graph_compiled_partition_create(
    dnnl_graph_compiled_partition_t *compiled_partition, dnnl_graph_partition_t partition);
DNNL_API dnnl_status_t
dnnl_graph_compiled_partition_destroy(dnnl_graph_compiled_partition_t compiled_partition);

/* Compute. Tensors are given in the order in which they were given to compile, with the same ids,
 * data types, shapes and strides (a tensor of layout any is taken to have the compiled one).
 * Anything else, memory that overlaps other than by an in-place pair, NULL memory and memory that
 * is not aligned to its elements are dnnl_invalid_arguments, and nothing is written.
 * Takes the scratchpad, if one is needed, from the engine's allocator for the time of the call. */
DNNL_API dnnl_status_t dnnl_graph_compiled_partition_execute(
    const_dnnl_graph_compiled_partition_t compiled_partition, dnnl_stream_t stream,
    size_t num_inputs, const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
    const_dnnl_graph_tensor_t *outputs);

/* The same with the caller's scratchpad, of at least the size asked for, used by this call alone.
 * Allocates nothing. NULL: as above. */
DNNL_API dnnl_status_t dnnl_graph_compiled_partition_execute_v2(
    const_dnnl_graph_compiled_partition_t compiled_partition, dnnl_stream_t stream,
    size_t num_inputs, const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
    const_dnnl_graph_tensor_t *outputs, const_dnnl_graph_tensor_t scratchpad);

/* What became of a tensor at compilation: its dims and strides. dnnl_invalid_arguments if the id
 * was not given to compile, or nothing was compiled. */
DNNL_API dnnl_status_t dnnl_graph_compiled_partition_query_logical_tensor(
    const_dnnl_graph_compiled_partition_t compiled_partition, size_t tid,
    dnnl_graph_logical_tensor_t *lt);

/* The pairs that may share memory; the array lives as long as the compiled partition. */
DNNL_API dnnl_status_t dnnl_graph_compiled_partition_get_inplace_ports(
    const_dnnl_graph_compiled_partition_t compiled_partition, size_t *num_inplace_pairs,
    const dnnl_graph_inplace_pair_t **inplace_pairs);

/* The scratchpad that one execution needs: u8, one dim, which may be 0. */
DNNL_API dnnl_status_t dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(
    const_dnnl_graph_compiled_partition_t compiled_partition, dnnl_graph_logical_tensor_t *lt);

/* ---- settings ----------------------------------------------------------------------------- */

/* Compiling is cheap and nothing is dumped, so there are no caches and no dumps here: these
 * settings are checked, kept and reported. Negative values, bits that are no dump mode and
 * engine kinds other than cpu and gpu are dnnl_invalid_arguments. Sizes are in MiB. */
DNNL_API dnnl_status_t dnnl_graph_get_compiled_partition_cache_capacity(int *capacity);
DNNL_API dnnl_status_t dnnl_graph_set_compiled_partition_cache_capacity(int capacity);
DNNL_API dnnl_status_t dnnl_graph_set_constant_tensor_cache(int flag);
DNNL_API dnnl_status_t dnnl_graph_get_constant_tensor_cache(int *flag);
DNNL_API dnnl_status_t dnnl_graph_set_constant_tensor_cache_capacity(dnnl_engine_kind_t eng_kind,
                                                                     size_t size);
DNNL_API dnnl_status_t dnnl_graph_get_constant_tensor_cache_capacity(dnnl_engine_kind_t eng_kind,
                                                                     size_t *size);
DNNL_API dnnl_status_t dnnl_graph_set_dump_mode(dnnl_graph_dump_mode_t modes);

#ifdef __cplusplus
}
#endif

#endif
