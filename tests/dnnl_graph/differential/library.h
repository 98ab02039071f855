/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - one of the two libraries that are compared: its functions by their names, without the
 * prefix dnnl_. Both have the same names, so neither is linked with; each is opened by its path. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include <oneapi/dnnl/dnnl_debug.h>
#include <oneapi/dnnl/dnnl_graph.h>

#define LIBRARY_FUNCTIONS(X)                         \
    X(engine_create)                                 \
    X(engine_destroy)                                \
    X(stream_create)                                 \
    X(stream_destroy)                                \
    X(set_default_fpmath_mode)                       \
    X(status2str)                                    \
    X(dt2str)                                        \
    X(engine_kind2str)                               \
    X(fpmath_mode2str)                               \
    X(runtime2str)                                   \
    X(graph_logical_tensor_init)                     \
    X(graph_logical_tensor_init_with_dims)           \
    X(graph_logical_tensor_init_with_strides)        \
    X(graph_logical_tensor_get_mem_size)             \
    X(graph_logical_tensor_is_equal)                 \
    X(graph_tensor_create)                           \
    X(graph_tensor_destroy)                          \
    X(graph_op_create)                               \
    X(graph_op_destroy)                              \
    X(graph_op_add_input)                            \
    X(graph_op_add_output)                           \
    X(graph_op_set_attr_f32)                         \
    X(graph_op_set_attr_bool)                        \
    X(graph_op_set_attr_s64)                         \
    X(graph_op_set_attr_str)                         \
    X(graph_graph_create)                            \
    X(graph_graph_create_with_fpmath_mode)           \
    X(graph_graph_destroy)                           \
    X(graph_add_op)                                  \
    X(graph_graph_finalize)                          \
    X(graph_graph_filter)                            \
    X(graph_graph_get_partition_num)                 \
    X(graph_graph_get_partitions)                    \
    X(graph_partition_destroy)                       \
    X(graph_partition_is_supported)                  \
    X(graph_partition_get_input_ports_num)           \
    X(graph_partition_get_output_ports_num)          \
    X(graph_partition_compile)                       \
    X(graph_compiled_partition_create)               \
    X(graph_compiled_partition_destroy)              \
    X(graph_compiled_partition_execute)              \
    X(graph_compiled_partition_query_logical_tensor) \
    X(graph_compiled_partition_get_inplace_ports)    \
    X(graph_set_compiled_partition_cache_capacity)

typedef struct library {
#define POINTER(name) __typeof__(&dnnl_##name) name;
    LIBRARY_FUNCTIONS(POINTER)
#undef POINTER
} library;

/* library_open - load a library; NULL with a message on stderr if that fails. It stays loaded. */
const library *library_open(const char *path);

/* guarded - call `call(argument)`; 1 if a C++ exception came out of it. oneDNN lets some
 * through. */
#ifdef __cplusplus
extern "C"
#endif
    int
    guarded(void (*call)(void *), void *argument);

#endif
