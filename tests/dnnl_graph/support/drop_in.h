/* SPDX-License-Identifier: Apache-2.0 */
/* drop_in.h - short forms of Graph API calls, for tests of the drop-in.
 *
 * Every helper fails the test if the call it makes fails; what is being tested is called by its
 * own name. A test that fails leaks what it had open, which is accepted.
 */
#ifndef DROP_IN_H
#define DROP_IN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <oneapi/dnnl/dnnl_debug.h>
#include <oneapi/dnnl/dnnl_graph.h>

#include "elements.h"

#define MAX_TENSORS 9
#define PRELU_TENSORS 5 /* src, slope, diff_dst, diff_src, diff_slope */
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define UNKNOWN DNNL_GRAPH_UNKNOWN_DIM

/* assert_dnnl - fail with both names unless `got` is `wanted`. */
#define assert_dnnl(wanted, got) drop_in_assert((wanted), (got), __FILE__, __LINE__)
#define assert_ok(got) assert_dnnl(dnnl_success, got)
#define assert_invalid(got) assert_dnnl(dnnl_invalid_arguments, got)

void drop_in_assert(dnnl_status_t wanted, dnnl_status_t got, const char *file, int line);

/* ---- descriptions ------------------------------------------------------------------------- */

/* A dense row-major tensor; one with strides; one of unknown rank in layout any. */
logical_tensor dense(size_t id, dnnl_data_type_t dtype, int ndims, const int64_t *dims);
logical_tensor strided(size_t id, dnnl_data_type_t dtype, int ndims, const int64_t *dims,
                       const int64_t *strides);
logical_tensor open_tensor(size_t id, dnnl_data_type_t dtype);

/* block - a dense tensor of 2 x 3 x 4 x 5 elements, and those dims. */
extern const int64_t block_dims[4];
logical_tensor block(dnnl_data_type_t dtype);

/* with_layout_any - the same shape, layout left to the library. */
logical_tensor with_layout_any(logical_tensor lt);

size_t bytes_of(const logical_tensor *lt);
int are_equal(const logical_tensor *a, const logical_tensor *b);

/* ---- operations --------------------------------------------------------------------------- */

/* An operation, its tensors inputs first, and its attributes: all that it takes to run one. */
typedef struct operation {
    dnnl_graph_op_kind_t kind;
    size_t ninputs, noutputs;
    logical_tensor tensors[MAX_TENSORS];
    void (*set_attrs)(dnnl_graph_op_t op); /* NULL: the defaults */
} operation;

/* elementwise - input 0 (id 0), diff_dst (id 1) and diff_src (id 2), all like `lt`; for
 * SoftMaxBackward the inputs are diff_dst and dst. */
operation elementwise(dnnl_graph_op_kind_t kind, logical_tensor lt);

/* forward - src (id 0) and dst (id 1), likewise. */
operation forward(dnnl_graph_op_kind_t kind, logical_tensor lt);

/* prelu - src (0), slope (1), diff_dst (2), diff_src (3), diff_slope (4). */
operation prelu(logical_tensor lt, logical_tensor slope);

/* served_operation - one of that kind on tensors like `lt`, if it is served; a slope has the length
 * of the last dim. Returns whether it is. */
int served_operation(dnnl_graph_op_kind_t kind, logical_tensor lt, operation *o);

/* with_id - the same description under another id. */
logical_tensor with_id(logical_tensor lt, size_t id);

void set_f32(dnnl_graph_op_t op, dnnl_graph_op_attr_t attr, float value);
void set_s64(dnnl_graph_op_t op, dnnl_graph_op_attr_t attr, int64_t value);
void set_bool(dnnl_graph_op_t op, dnnl_graph_op_attr_t attr, int value);
void set_str(dnnl_graph_op_t op, dnnl_graph_op_attr_t attr, const char *value);

/* The attributes of HardSigmoidBackward, which has no defaults: 0.25 and 0.5. */
void set_hard_sigmoid(dnnl_graph_op_t op);
void set_alpha(dnnl_graph_op_t op);   /* 1/4 */
void set_min_max(dnnl_graph_op_t op); /* -1/2, 1 */

dnnl_graph_op_t make_op(const operation *o, size_t id);
dnnl_graph_partition_t make_partition(const operation *o);

/* ---- running ------------------------------------------------------------------------------ */

/* A compiled operation and where it runs. */
typedef struct machine {
    operation o;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_graph_partition_t partition;
    dnnl_graph_compiled_partition_t compiled;
    logical_tensor resolved[MAX_TENSORS];
} machine;

/* compile - what dnnl_graph_partition_compile says to the operation's tensors in order. */
dnnl_status_t compile(dnnl_graph_partition_t partition, dnnl_graph_compiled_partition_t compiled,
                      const operation *o, dnnl_engine_t engine);

/* compile_status - the same for a fresh partition on a fresh engine. */
dnnl_status_t compile_status(const operation *o);

/* machine_start - compile on a CPU engine, made with the allocator unless it is NULL. */
machine machine_start(const operation *o, const_dnnl_graph_allocator_t allocator);
void machine_stop(machine *m);

/* machine_run - execute on data of the resolved tensors, with the scratchpad, or NULL. */
dnnl_status_t machine_run(const machine *m, void *const *data, void *scratchpad);

/* machine_run_as - the same, but the tensors call themselves `tensors`. */
dnnl_status_t machine_run_as(const machine *m, const logical_tensor *tensors, void *const *data,
                             void *scratchpad);

size_t scratchpad_size(const machine *m);

#endif
