/* SPDX-License-Identifier: Apache-2.0 */
/* drop_in.c - see drop_in.h. */
#include "drop_in.h"

#include <string.h>

void drop_in_assert(dnnl_status_t wanted, dnnl_status_t got, const char *file, int line)
{
    if (got == wanted)
        return;
    print_error("expected %s, got %s\n", dnnl_status2str(wanted), dnnl_status2str(got));
    _fail(file, line);
}

/* ---- descriptions ------------------------------------------------------------------------- */

/* dims_of - the API takes arrays of 12. */
static const int64_t *dims_of(int ndims, const int64_t *values, dnnl_dims_t dims)
{
    memset(dims, 0, sizeof(dnnl_dims_t));
    if (ndims > 0)
        memcpy(dims, values, (size_t)ndims * sizeof(*values));
    return dims;
}

logical_tensor dense(size_t id, dnnl_data_type_t dtype, int ndims, const int64_t *dims)
{
    logical_tensor lt;
    dnnl_dims_t all;
    assert_ok(dnnl_graph_logical_tensor_init_with_dims(
        &lt, id, dtype, ndims, dims_of(ndims, dims, all), dnnl_graph_layout_type_strided,
        dnnl_graph_tensor_property_variable));
    return lt;
}

logical_tensor strided(size_t id, dnnl_data_type_t dtype, int ndims, const int64_t *dims,
                       const int64_t *strides)
{
    logical_tensor lt;
    dnnl_dims_t all, steps;
    assert_ok(dnnl_graph_logical_tensor_init_with_strides(
        &lt, id, dtype, ndims, dims_of(ndims, dims, all), dims_of(ndims, strides, steps),
        dnnl_graph_tensor_property_variable));
    return lt;
}

logical_tensor open_tensor(size_t id, dnnl_data_type_t dtype)
{
    logical_tensor lt;
    assert_ok(dnnl_graph_logical_tensor_init(&lt, id, dtype, DNNL_GRAPH_UNKNOWN_NDIMS,
                                             dnnl_graph_layout_type_any,
                                             dnnl_graph_tensor_property_variable));
    return lt;
}

const int64_t block_dims[4] = { 2, 3, 4, 5 };

logical_tensor block(dnnl_data_type_t dtype)
{
    return dense(0, dtype, 4, block_dims);
}

logical_tensor with_layout_any(logical_tensor lt)
{
    lt.layout_type = dnnl_graph_layout_type_any;
    return lt;
}

logical_tensor with_id(logical_tensor lt, size_t id)
{
    lt.id = id;
    return lt;
}

size_t bytes_of(const logical_tensor *lt)
{
    size_t size = 0;
    assert_ok(dnnl_graph_logical_tensor_get_mem_size(lt, &size));
    return size;
}

int are_equal(const logical_tensor *a, const logical_tensor *b)
{
    uint8_t equal = 2;
    assert_ok(dnnl_graph_logical_tensor_is_equal(a, b, &equal));
    return equal;
}

/* ---- operations --------------------------------------------------------------------------- */

void set_f32(dnnl_graph_op_t op, dnnl_graph_op_attr_t attr, float value)
{
    assert_ok(dnnl_graph_op_set_attr_f32(op, attr, &value, 1));
}

void set_s64(dnnl_graph_op_t op, dnnl_graph_op_attr_t attr, int64_t value)
{
    assert_ok(dnnl_graph_op_set_attr_s64(op, attr, &value, 1));
}

void set_bool(dnnl_graph_op_t op, dnnl_graph_op_attr_t attr, int value)
{
    const uint8_t byte = (uint8_t)value;
    assert_ok(dnnl_graph_op_set_attr_bool(op, attr, &byte, 1));
}

void set_str(dnnl_graph_op_t op, dnnl_graph_op_attr_t attr, const char *value)
{
    assert_ok(dnnl_graph_op_set_attr_str(op, attr, value, strlen(value)));
}

void set_hard_sigmoid(dnnl_graph_op_t op)
{
    set_f32(op, dnnl_graph_op_attr_alpha, 0.25f);
    set_f32(op, dnnl_graph_op_attr_beta, 0.5f);
}

void set_alpha(dnnl_graph_op_t op)
{
    set_f32(op, dnnl_graph_op_attr_alpha, 0.25f);
}

void set_min_max(dnnl_graph_op_t op)
{
    set_f32(op, dnnl_graph_op_attr_min, -0.5f);
    set_f32(op, dnnl_graph_op_attr_max, 1);
}

/* What the kind requires. */
static void (*required_attrs(dnnl_graph_op_kind_t kind))(dnnl_graph_op_t op)
{
    switch (kind) {
    case dnnl_graph_op_hard_sigmoid:
    case dnnl_graph_op_hard_sigmoid_backward:
        return set_hard_sigmoid;
    case dnnl_graph_op_clamp:
    case dnnl_graph_op_clamp_backward:
        return set_min_max;
    case dnnl_graph_op_elu:
    case dnnl_graph_op_elu_backward:
    case dnnl_graph_op_leaky_relu:
        return set_alpha;
    default:
        return NULL;
    }
}

operation elementwise(dnnl_graph_op_kind_t kind, logical_tensor lt)
{
    operation o = { kind, 2, 1, { with_id(lt, 0), with_id(lt, 1), with_id(lt, 2) }, NULL };
    o.set_attrs = required_attrs(kind);
    return o;
}

operation forward(dnnl_graph_op_kind_t kind, logical_tensor lt)
{
    operation o = { kind, 1, 1, { with_id(lt, 0), with_id(lt, 1) }, NULL };
    o.set_attrs = required_attrs(kind);
    return o;
}

operation prelu(logical_tensor lt, logical_tensor slope)
{
    operation o = { dnnl_graph_op_prelu_backward,
                    3,
                    2,
                    { with_id(lt, 0), with_id(slope, 1), with_id(lt, 2), with_id(lt, 3),
                      with_id(slope, 4) },
                    NULL };
    return o;
}

static int is_served(const operation *o)
{
    dnnl_graph_partition_t partition = NULL;
    dnnl_graph_op_t op = make_op(o, 0);
    uint8_t supported = 0;
    if (dnnl_graph_partition_create_with_op(&partition, op, dnnl_cpu) == dnnl_success)
        assert_ok(dnnl_graph_partition_is_supported(partition, &supported));
    assert_ok(dnnl_graph_partition_destroy(partition));
    assert_ok(dnnl_graph_op_destroy(op));
    return supported;
}

int served_operation(dnnl_graph_op_kind_t kind, logical_tensor lt, operation *o)
{
    *o = prelu(lt, dense(0, lt.data_type, 1, &lt.dims[lt.ndims - 1]));
    o->kind = kind;
    if (is_served(o))
        return 1;
    *o = elementwise(kind, lt);
    if (is_served(o))
        return 1;
    *o = forward(kind, lt);
    return is_served(o);
}

dnnl_graph_op_t make_op(const operation *o, size_t id)
{
    dnnl_graph_op_t op;
    assert_ok(dnnl_graph_op_create(&op, id, o->kind, "test"));
    for (size_t i = 0; i < o->ninputs; i++)
        assert_ok(dnnl_graph_op_add_input(op, &o->tensors[i]));
    for (size_t i = 0; i < o->noutputs; i++)
        assert_ok(dnnl_graph_op_add_output(op, &o->tensors[o->ninputs + i]));
    if (o->set_attrs)
        o->set_attrs(op);
    return op;
}

dnnl_graph_partition_t make_partition(const operation *o)
{
    dnnl_graph_partition_t partition;
    dnnl_graph_op_t op = make_op(o, 0);
    assert_ok(dnnl_graph_partition_create_with_op(&partition, op, dnnl_cpu));
    assert_ok(dnnl_graph_op_destroy(op));
    return partition;
}

/* ---- running ------------------------------------------------------------------------------ */

dnnl_status_t compile(dnnl_graph_partition_t partition, dnnl_graph_compiled_partition_t compiled,
                      const operation *o, dnnl_engine_t engine)
{
    const logical_tensor *pointers[MAX_TENSORS];
    for (size_t i = 0; i < o->ninputs + o->noutputs; i++)
        pointers[i] = &o->tensors[i];
    return dnnl_graph_partition_compile(partition, compiled, o->ninputs, pointers, o->noutputs,
                                        pointers + o->ninputs, engine);
}

dnnl_status_t compile_status(const operation *o)
{
    dnnl_engine_t engine;
    dnnl_graph_compiled_partition_t compiled;
    dnnl_graph_partition_t partition = make_partition(o);
    assert_ok(dnnl_engine_create(&engine, dnnl_cpu, 0));
    assert_ok(dnnl_graph_compiled_partition_create(&compiled, partition));
    dnnl_status_t status = compile(partition, compiled, o, engine);
    dnnl_graph_compiled_partition_destroy(compiled);
    dnnl_graph_partition_destroy(partition);
    dnnl_engine_destroy(engine);
    return status;
}

machine machine_start(const operation *o, const_dnnl_graph_allocator_t allocator)
{
    machine m = { .o = *o };
    if (allocator)
        assert_ok(dnnl_graph_make_engine_with_allocator(&m.engine, dnnl_cpu, 0, allocator));
    else
        assert_ok(dnnl_engine_create(&m.engine, dnnl_cpu, 0));
    assert_ok(dnnl_stream_create(&m.stream, m.engine, dnnl_stream_default_flags));
    m.partition = make_partition(o);
    assert_ok(dnnl_graph_compiled_partition_create(&m.compiled, m.partition));
    assert_ok(compile(m.partition, m.compiled, o, m.engine));
    for (size_t i = 0; i < o->ninputs + o->noutputs; i++)
        assert_ok(dnnl_graph_compiled_partition_query_logical_tensor(m.compiled, o->tensors[i].id,
                                                                     &m.resolved[i]));
    return m;
}

void machine_stop(machine *m)
{
    assert_ok(dnnl_engine_destroy(m->engine)); /* first: the others keep what they need of it */
    assert_ok(dnnl_graph_partition_destroy(m->partition));
    assert_ok(dnnl_graph_compiled_partition_destroy(m->compiled));
    assert_ok(dnnl_stream_destroy(m->stream));
}

size_t scratchpad_size(const machine *m)
{
    logical_tensor lt;
    assert_ok(dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(m->compiled, &lt));
    return bytes_of(&lt);
}

dnnl_status_t machine_run_as(const machine *m, const logical_tensor *tensors, void *const *data,
                             void *scratchpad)
{
    dnnl_graph_tensor_t made[MAX_TENSORS + 1] = { NULL };
    const_dnnl_graph_tensor_t arguments[MAX_TENSORS];
    const size_t ntensors = m->o.ninputs + m->o.noutputs;
    for (size_t i = 0; i < ntensors; i++) {
        assert_ok(dnnl_graph_tensor_create(&made[i], &tensors[i], m->engine, data[i]));
        arguments[i] = made[i];
    }
    if (scratchpad) {
        logical_tensor lt;
        assert_ok(dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(m->compiled, &lt));
        assert_ok(dnnl_graph_tensor_create(&made[MAX_TENSORS], &lt, m->engine, scratchpad));
    }
    dnnl_status_t status = dnnl_graph_compiled_partition_execute_v2(
        m->compiled, m->stream, m->o.ninputs, arguments, m->o.noutputs, arguments + m->o.ninputs,
        made[MAX_TENSORS]);
    for (size_t i = 0; i <= MAX_TENSORS; i++)
        assert_ok(dnnl_graph_tensor_destroy(made[i]));
    return status;
}

dnnl_status_t machine_run(const machine *m, void *const *data, void *scratchpad)
{
    return machine_run_as(m, m->resolved, data, scratchpad);
}
