/* SPDX-License-Identifier: Apache-2.0 */
/* test_allocations.c - execute_v2 with a scratchpad allocates nothing at all, and each allocation
 * of a program's whole life failing in turn is reported, makes no object and leaks nothing.
 *
 * Run with OMP_NUM_THREADS=1, because what OpenMP allocates for its threads is not ours.
 */
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "drop_in.h"
#include "vjp/vjp.h"

/* ---- none --------------------------------------------------------------------------------- */

static void executing_with_a_scratchpad_allocates_nothing(void **state)
{
    (void)state;
    const logical_tensor shape = dense(0, dnnl_f32, 2, (int64_t[]){ 64 * 64, 100 });
    const operation operations[] = {
        elementwise(dnnl_graph_op_relu_backward, shape),
        elementwise(dnnl_graph_op_softmax_backward, shape),
        prelu(shape, dense(0, dnnl_f32, 1, (int64_t[]){ 100 })),
    };
    for (size_t k = 0; k < COUNT_OF(operations); k++) {
        machine m = machine_start(&operations[k], NULL);
        const size_t ninputs = m.o.ninputs, noutputs = m.o.noutputs;
        dnnl_graph_tensor_t tensors[MAX_TENSORS], scratchpad;
        const_dnnl_graph_tensor_t arguments[MAX_TENSORS];
        logical_tensor lt;
        for (size_t i = 0; i < ninputs + noutputs; i++) {
            void *data = NULL;
            assert_ok(dnnl_graph_tensor_create(&tensors[i], &m.resolved[i], m.engine,
                                               DNNL_MEMORY_ALLOCATE));
            assert_ok(dnnl_graph_tensor_get_data_handle(tensors[i], &data));
            memset(data, 0, bytes_of(&m.resolved[i]));
            arguments[i] = tensors[i];
        }
        assert_ok(dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(m.compiled, &lt));
        assert_ok(dnnl_graph_tensor_create(&scratchpad, &lt, m.engine, DNNL_MEMORY_ALLOCATE));
        for (int round = 0; round < 3; round++) {
            allocations_begin(0, FAULT_ONCE);
            dnnl_status_t status =
                dnnl_graph_compiled_partition_execute_v2(m.compiled, m.stream, ninputs, arguments,
                                                         noutputs, arguments + ninputs, scratchpad);
            int64_t counted = allocations_end().calls;
            assert_ok(status);
            if (round > 0) /* the first may be the one in which OpenMP starts its threads */
                assert_int_equal(counted, 0);
        }
        for (size_t i = 0; i < ninputs + noutputs; i++)
            assert_ok(dnnl_graph_tensor_destroy(tensors[i]));
        assert_ok(dnnl_graph_tensor_destroy(scratchpad));
        machine_stop(&m);
    }
}

/* ---- each failing ------------------------------------------------------------------------- */

/* went_well - whether it succeeded; if not, memory ran out, and there is no object. */
static bool went_well(dnnl_status_t status, const void *made)
{
    if (status == dnnl_success)
        return true;
    assert_dnnl(dnnl_out_of_memory, status);
    assert_null(made);
    return false;
}

/* What a program has open; destroyed whether it got that far or not. */
typedef struct program {
    const operation *o;
    dnnl_graph_allocator_t allocator;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_graph_op_t op, other;
    dnnl_graph_graph_t graph;
    dnnl_graph_partition_t partitions[2], single;
    dnnl_graph_compiled_partition_t compiled;
    dnnl_graph_tensor_t tensors[MAX_TENSORS], scalar;
} program;

static bool make_engine(program *p)
{
    dnnl_status_t status = dnnl_graph_allocator_create(&p->allocator, NULL, NULL);
    if (!went_well(status, p->allocator))
        return false;
    status = dnnl_graph_make_engine_with_allocator(&p->engine, dnnl_cpu, 0, p->allocator);
    if (!went_well(status, p->engine))
        return false;
    status = dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags);
    return went_well(status, p->stream);
}

static bool set_number(program *p, dnnl_graph_op_attr_t attr, float value)
{
    return went_well(dnnl_graph_op_set_attr_f32(p->op, attr, &value, 1), NULL);
}

/* Each type of attribute, on an operation that has one, and all that are required. */
static bool set_attrs(program *p)
{
    const int64_t axis = 1;
    const uint8_t no = 0;
    switch (p->o->kind) {
    case dnnl_graph_op_clamp:
    case dnnl_graph_op_clamp_backward:
        return set_number(p, dnnl_graph_op_attr_min, -1) &&
               set_number(p, dnnl_graph_op_attr_max, 1);
    case dnnl_graph_op_elu:
    case dnnl_graph_op_elu_backward:
    case dnnl_graph_op_leaky_relu:
        return set_number(p, dnnl_graph_op_attr_alpha, 0.25f);
    case dnnl_graph_op_hard_sigmoid:
    case dnnl_graph_op_hard_sigmoid_backward:
        return set_number(p, dnnl_graph_op_attr_alpha, 0.25f) &&
               set_number(p, dnnl_graph_op_attr_beta, 0.25f);
    case dnnl_graph_op_prelu:
    case dnnl_graph_op_prelu_backward: /* set twice: the first string goes */
        return went_well(dnnl_graph_op_set_attr_str(p->op, dnnl_graph_op_attr_data_format, "NCX",
                                                    3), NULL) &&
               went_well(dnnl_graph_op_set_attr_str(p->op, dnnl_graph_op_attr_data_format, "NXC",
                                                    3), NULL);
    case dnnl_graph_op_softmax:
    case dnnl_graph_op_softmax_backward:
        return went_well(dnnl_graph_op_set_attr_s64(p->op, dnnl_graph_op_attr_axis, &axis, 1),
                         NULL);
    case dnnl_graph_op_relu_backward:
    case dnnl_graph_op_sigmoid_backward:
    case dnnl_graph_op_sqrt_backward:
    case dnnl_graph_op_tanh_backward:
        return went_well(dnnl_graph_op_set_attr_bool(p->op, dnnl_graph_op_attr_use_dst, &no, 1),
                         NULL);
    default:
        return true;
    }
}

static bool describe_op(program *p)
{
    dnnl_status_t status = dnnl_graph_op_create(&p->op, 1, p->o->kind, "test");
    if (!went_well(status, p->op))
        return false;
    for (size_t i = 0; i < p->o->ninputs; i++)
        if (!went_well(dnnl_graph_op_add_input(p->op, &p->o->tensors[i]), NULL))
            return false;
    for (size_t i = 0; i < p->o->noutputs; i++)
        if (!went_well(dnnl_graph_op_add_output(p->op, &p->o->tensors[p->o->ninputs + i]), NULL))
            return false;
    return set_attrs(p);
}

/* An operation without tensors or attributes, which no schema forbids. */
static bool add_another(program *p)
{
    dnnl_status_t status = dnnl_graph_op_create(&p->other, 2, dnnl_graph_op_wildcard, "other");
    return went_well(status, p->other) &&
           went_well(dnnl_graph_add_op(p->graph, p->other), NULL);
}

static bool build_graph(program *p)
{
    dnnl_status_t status = dnnl_graph_graph_create(&p->graph, dnnl_cpu);
    if (!went_well(status, p->graph) || !went_well(dnnl_graph_add_op(p->graph, p->op), NULL) ||
        !add_another(p) || !went_well(dnnl_graph_graph_finalize(p->graph), NULL))
        return false;
    if (!went_well(dnnl_graph_graph_filter(p->graph, dnnl_graph_partition_policy_fusion), NULL)) {
        size_t left = 1;
        assert_ok(dnnl_graph_graph_get_partition_num(p->graph, &left));
        assert_int_equal(left, 0);
        return false;
    }
    assert_ok(dnnl_graph_graph_get_partitions(p->graph, 2, p->partitions));
    status = dnnl_graph_partition_create_with_op(&p->single, p->op, dnnl_cpu);
    return went_well(status, p->single);
}

/* A compiled partition whose compilation failed is as it was: it may be compiled again. */
static bool compile_partition(program *p)
{
    dnnl_status_t status = dnnl_graph_compiled_partition_create(&p->compiled, p->partitions[0]);
    if (!went_well(status, p->compiled))
        return false;
    if (went_well(compile(p->partitions[0], p->compiled, p->o, p->engine), NULL))
        return true;
    logical_tensor lt;
    assert_true(dnnl_graph_compiled_partition_query_logical_tensor(p->compiled, 0, &lt) !=
                dnnl_success);
    return false;
}

static bool execute(program *p)
{
    const size_t ninputs = p->o->ninputs, ntensors = ninputs + p->o->noutputs;
    const_dnnl_graph_tensor_t arguments[MAX_TENSORS];
    for (size_t i = 0; i < ntensors; i++) {
        dnnl_status_t status = dnnl_graph_tensor_create(&p->tensors[i], &p->o->tensors[i],
                                                        p->engine, DNNL_MEMORY_ALLOCATE);
        if (!went_well(status, p->tensors[i]))
            return false;
        arguments[i] = p->tensors[i];
    }
    return went_well(dnnl_graph_compiled_partition_execute(p->compiled, p->stream, ninputs,
                                                           arguments, p->o->noutputs,
                                                           arguments + ninputs), NULL);
}

static bool make_scalar(program *p)
{
    float value = 1;
    logical_tensor lt;
    assert_ok(dnnl_graph_logical_tensor_init(&lt, 1, dnnl_f32, 0, dnnl_graph_layout_type_strided,
                                             dnnl_graph_tensor_property_host_scalar));
    return went_well(dnnl_graph_tensor_create_scalar(&p->scalar, &lt, &value), p->scalar);
}

static bool life_of_a_program(void *arg)
{
    program p = { .o = arg };
    bool well = make_engine(&p) && describe_op(&p) && build_graph(&p) && compile_partition(&p) &&
                execute(&p) && make_scalar(&p);
    for (size_t i = 0; i < MAX_TENSORS; i++)
        assert_ok(dnnl_graph_tensor_destroy(p.tensors[i]));
    assert_ok(dnnl_graph_tensor_destroy(p.scalar));
    assert_ok(dnnl_graph_compiled_partition_destroy(p.compiled));
    assert_ok(dnnl_graph_partition_destroy(p.single));
    assert_ok(dnnl_graph_partition_destroy(p.partitions[0]));
    assert_ok(dnnl_graph_partition_destroy(p.partitions[1]));
    assert_ok(dnnl_graph_graph_destroy(p.graph));
    assert_ok(dnnl_graph_op_destroy(p.op));
    assert_ok(dnnl_graph_op_destroy(p.other));
    assert_ok(dnnl_stream_destroy(p.stream));
    assert_ok(dnnl_engine_destroy(p.engine));
    if (p.allocator)
        assert_ok(dnnl_graph_allocator_destroy(p.allocator));
    return well;
}

/* The kinds that the table has an operator of vjp's for; that each is served shows test_kinds.c. */
static int32_t kinds_with_an_operator(void)
{
    int32_t count = 0;
#define OP(kind, ...) count += vjp_op_find(#kind) != NULL;
#define NORM(kind, inputs, outputs, ...) count += (outputs) && vjp_op_find(#kind) != NULL;
#define JUST(n) ((n) == 1)
#define EITHER(...) 0 /* statistics that come together: test_norms.c */
#define COUNTED(...)
#define UNCHECKED(...)
#include "../../compat/dnnl_graph/ops.def"
    return count;
}

/* Small, and so large that sums need a scratchpad of the library's own. */
static void every_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    const int64_t shapes[][2] = { { 7, 33 }, { 64 * 64, 100 } };
    int32_t served = 0;
    (void)state;
    for (size_t s = 0; s < COUNT_OF(shapes); s++)
        for (int kind = 0; kind < dnnl_graph_op_last_symbol; kind++) {
            const logical_tensor data = dense(0, dnnl_f32, 2, shapes[s]);
            operation o;
            if (!served_operation((dnnl_graph_op_kind_t)kind, data, &o))
                continue;
            served++;
            int64_t calls = allocations_fail_each("a program", life_of_a_program, &o);
            assert_true(calls > 20 || !ALLOCATIONS_COUNTED);
        }
    assert_int_equal(served, COUNT_OF(shapes) * kinds_with_an_operator());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(executing_with_a_scratchpad_allocates_nothing),
        cmocka_unit_test(every_failed_allocation_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
