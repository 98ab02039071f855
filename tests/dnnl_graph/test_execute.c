/* SPDX-License-Identifier: Apache-2.0 */
/* test_execute.c - executing: which tensors are taken, which are refused before anything is
 * written, and where the scratchpad comes from. That the values are right: test_values.c. */
#include <stdlib.h>
#include <string.h>

#include "drop_in.h"

enum {
    N = 6
};

static operation relu(void)
{
    return elementwise(dnnl_graph_op_relu_backward, dense(0, dnnl_f32, 1, (int64_t[]){ N }));
}

/* ---- the tensors -------------------------------------------------------------------------- */

/* A relu on six elements, its tensors, and the expected output. */
typedef struct fixture {
    machine m;
    float data[3][N];
    dnnl_graph_tensor_t tensors[3];
    const_dnnl_graph_tensor_t inputs[2];
    const_dnnl_graph_tensor_t output;
} fixture;

static const float dst[N] = { -1, 0, 1, 2, -3, 4 }, diff_dst[N] = { 1, 2, 3, 4, 5, 6 };
static const float diff_src[N] = { 0, 0, 3, 4, 0, 6 };
static const float untouched[N] = { 9, 9, 9, 9, 9, 9 };

static void fixture_start(fixture *f)
{
    operation o = relu();
    f->m = machine_start(&o, NULL);
    memcpy(f->data[0], dst, sizeof(dst));
    memcpy(f->data[1], diff_dst, sizeof(diff_dst));
    memcpy(f->data[2], untouched, sizeof(untouched));
    for (size_t i = 0; i < 3; i++)
        assert_ok(
            dnnl_graph_tensor_create(&f->tensors[i], &f->m.resolved[i], f->m.engine, f->data[i]));
    f->inputs[0] = f->tensors[0];
    f->inputs[1] = f->tensors[1];
    f->output = f->tensors[2];
}

static void fixture_stop(fixture *f)
{
    for (size_t i = 0; i < 3; i++)
        assert_ok(dnnl_graph_tensor_destroy(f->tensors[i]));
    machine_stop(&f->m);
}

static dnnl_status_t execute(const fixture *f)
{
    const_dnnl_graph_tensor_t inputs[] = { f->inputs[0], f->inputs[1] }, output = f->output;
    return dnnl_graph_compiled_partition_execute(f->m.compiled, f->m.stream, 2, inputs, 1, &output);
}

static void both_ways_of_executing_compute(void **state)
{
    (void)state;
    fixture f;
    fixture_start(&f);
    assert_ok(execute(&f));
    assert_ok(dnnl_stream_wait(f.m.stream));
    assert_memory_equal(f.data[2], diff_src, sizeof(diff_src));
    memcpy(f.data[2], untouched, sizeof(untouched));
    assert_ok(dnnl_graph_compiled_partition_execute_v2(f.m.compiled, f.m.stream, 2, f.inputs, 1,
                                                       &f.output, NULL));
    assert_memory_equal(f.data[2], diff_src, sizeof(diff_src));
    fixture_stop(&f);
}

static void missing_arguments_are_refused(void **state)
{
    (void)state;
    fixture f;
    fixture_start(&f);
    const_dnnl_graph_compiled_partition_t compiled = f.m.compiled;
    dnnl_stream_t stream = f.m.stream;
    dnnl_graph_compiled_partition_t fresh;
    assert_ok(dnnl_graph_compiled_partition_create(&fresh, f.m.partition));
    assert_invalid(dnnl_graph_compiled_partition_execute(NULL, stream, 2, f.inputs, 1, &f.output));
    assert_invalid(
        dnnl_graph_compiled_partition_execute(compiled, NULL, 2, f.inputs, 1, &f.output));
    assert_invalid(dnnl_graph_compiled_partition_execute(compiled, stream, 2, NULL, 1, &f.output));
    assert_invalid(dnnl_graph_compiled_partition_execute(compiled, stream, 2, f.inputs, 1, NULL));
    assert_invalid(
        dnnl_graph_compiled_partition_execute(compiled, stream, 1, f.inputs, 1, &f.output));
    assert_invalid(
        dnnl_graph_compiled_partition_execute(compiled, stream, 2, f.inputs, 0, &f.output));
    assert_invalid(dnnl_graph_compiled_partition_execute(fresh, stream, 2, f.inputs, 1, &f.output));
    f.inputs[1] = NULL;
    assert_invalid(execute(&f));
    f.inputs[1] = f.tensors[1];
    f.output = NULL;
    assert_invalid(execute(&f));
    assert_ok(dnnl_graph_compiled_partition_destroy(fresh));
    assert_memory_equal(f.data[2], untouched, sizeof(untouched));
    fixture_stop(&f);
}

static void tensors_in_another_order_are_refused(void **state)
{
    (void)state;
    fixture f;
    fixture_start(&f);
    f.inputs[0] = f.tensors[1];
    f.inputs[1] = f.tensors[0];
    assert_invalid(execute(&f));
    assert_memory_equal(f.data[2], untouched, sizeof(untouched));
    fixture_stop(&f);
}

/* status_as - execute with tensor `index` described as lt. */
static dnnl_status_t status_as(size_t index, logical_tensor lt, const float *wanted)
{
    fixture f;
    fixture_start(&f);
    logical_tensor tensors[3];
    memcpy(tensors, f.m.resolved, sizeof(tensors));
    tensors[index] = lt;
    void *data[] = { f.data[0], f.data[1], f.data[2] };
    dnnl_status_t status = machine_run_as(&f.m, tensors, data, NULL);
    assert_memory_equal(f.data[2], wanted, sizeof(untouched));
    fixture_stop(&f);
    return status;
}

static void tensors_other_than_compiled_for_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const int64_t n[] = { N }, shorter[] = { N - 1 }, two[] = { 2, 3 }, step[] = { 2 };
        logical_tensor good = dense(i, dnnl_f32, 1, n);
        assert_ok(status_as(i, good, diff_src));
        assert_ok(status_as(i, with_layout_any(good), diff_src));
        assert_invalid(status_as(i, with_id(good, 8), untouched));
        assert_invalid(status_as(i, dense(i, dnnl_f32, 1, shorter), untouched));
        assert_invalid(status_as(i, dense(i, dnnl_f32, 2, two), untouched));
        assert_invalid(status_as(i, dense(i, dnnl_f16, 1, n), untouched));
        assert_invalid(status_as(i, strided(i, dnnl_f32, 1, n, step), untouched));
        assert_invalid(status_as(i, open_tensor(i, dnnl_f32), untouched));
        logical_tensor opaque = good;
        opaque.layout_type = dnnl_graph_layout_type_opaque;
        assert_invalid(status_as(i, opaque, untouched));
    }
}

static void the_stride_of_a_dim_of_1_does_not_matter(void **state)
{
    (void)state;
    const int64_t row[] = { 1, N }, steps[] = { 99, 1 };
    operation o = elementwise(dnnl_graph_op_relu_backward, dense(0, dnnl_f32, 2, row));
    o.tensors[1] = strided(1, dnnl_f32, 2, row, steps);
    machine m = machine_start(&o, NULL);
    float in[N], gradient[N], out[N];
    memcpy(in, dst, sizeof(in));
    memcpy(gradient, diff_dst, sizeof(gradient));
    void *data[] = { in, gradient, out };
    const logical_tensor as[] = { strided(0, dnnl_f32, 2, row, steps), o.tensors[1],
                                  strided(2, dnnl_f32, 2, row, steps) };
    assert_ok(machine_run_as(&m, as, data, NULL));
    assert_memory_equal(out, diff_src, sizeof(diff_src));
    machine_stop(&m);
}

static void memory_that_is_missing_misaligned_or_overlapping_is_refused(void **state)
{
    (void)state;
    fixture f;
    fixture_start(&f);
    float shared[2 * N];
    for (size_t i = 0; i < 3; i++) {
        void *data[] = { f.data[0], f.data[1], f.data[2] };
        data[i] = NULL;
        assert_invalid(machine_run(&f.m, data, NULL));
        data[i] = (char *)shared + 1;
        assert_invalid(machine_run(&f.m, data, NULL));
    }
    void *overlapping[] = { shared, f.data[1], shared + 1 };
    memset(shared, 0, sizeof(shared));
    assert_invalid(machine_run(&f.m, overlapping, NULL));
    for (size_t i = 0; i < 2 * N; i++)
        assert_true(shared[i] == 0);
    assert_memory_equal(f.data[2], untouched, sizeof(untouched));
    fixture_stop(&f);
}

/* ---- positions ---------------------------------------------------------------------------- */

static void tensors_go_in_the_order_given_to_compile(void **state)
{
    (void)state;
    fixture f;
    fixture_start(&f);
    logical_tensor stranger = with_id(dense(0, dnnl_f32, 1, (int64_t[]){ N }), 50);
    const logical_tensor *in[] = { &f.m.resolved[1], &stranger, &f.m.resolved[0] };
    const logical_tensor *out[] = { &stranger, &f.m.resolved[2] };
    dnnl_graph_tensor_t other;
    assert_ok(dnnl_graph_partition_compile(f.m.partition, f.m.compiled, 3, in, 2, out, f.m.engine));
    assert_ok(dnnl_graph_tensor_create(&other, &stranger, f.m.engine, NULL));
    const_dnnl_graph_tensor_t inputs[] = { f.tensors[1], other, f.tensors[0] };
    const_dnnl_graph_tensor_t outputs[] = { other, f.tensors[2] };
    assert_ok(
        dnnl_graph_compiled_partition_execute(f.m.compiled, f.m.stream, 3, inputs, 2, outputs));
    assert_memory_equal(f.data[2], diff_src, sizeof(diff_src));
    assert_ok(dnnl_graph_tensor_destroy(other));
    fixture_stop(&f);
}

static void one_tensor_may_be_both_inputs(void **state)
{
    (void)state;
    operation o = relu();
    o.tensors[1] = o.tensors[0];
    machine m = machine_start(&o, NULL);
    float in[N], out[N];
    memcpy(in, dst, sizeof(in));
    void *data[] = { in, in, out };
    assert_ok(machine_run(&m, data, NULL));
    for (int i = 0; i < N; i++)
        assert_true(out[i] == (in[i] > 0 ? in[i] : 0));
    machine_stop(&m);
}

static void empty_tensors_need_no_memory(void **state)
{
    (void)state;
    operation o =
        prelu(dense(0, dnnl_f32, 2, (int64_t[]){ 0, 3 }), dense(0, dnnl_f32, 1, (int64_t[]){ 3 }));
    machine m = machine_start(&o, NULL);
    float slope[3] = { 1, 2, 3 }, diff_slope[3] = { 9, 9, 9 };
    void *data[] = { NULL, slope, NULL, NULL, diff_slope };
    assert_ok(machine_run(&m, data, NULL));
    for (int i = 0; i < 3; i++)
        assert_true(diff_slope[i] == 0);
    machine_stop(&m);
}

/* ---- the scratchpad ----------------------------------------------------------------------- */

static int allocations, deallocations, refuse;

static void *counting_allocate(size_t size, size_t alignment)
{
    void *memory = NULL;
    allocations++;
    return refuse || posix_memalign(&memory, alignment, size) ? NULL : memory;
}

static void counting_deallocate(void *memory)
{
    deallocations++;
    free(memory);
}

enum {
    ROWS = 64 * 64,
    CHANNELS = 100
};

static void the_scratchpad_comes_from_the_caller_or_the_allocator(void **state)
{
    (void)state;
    dnnl_graph_allocator_t allocator;
    assert_ok(dnnl_graph_allocator_create(&allocator, counting_allocate, counting_deallocate));
    operation o = prelu(dense(0, dnnl_f32, 2, (int64_t[]){ ROWS, CHANNELS }),
                        dense(0, dnnl_f32, 1, (int64_t[]){ CHANNELS }));
    machine m = machine_start(&o, allocator);
    assert_true(scratchpad_size(&m) > 0); /* otherwise the shape is too small for this test */
    void *data[MAX_TENSORS];
    for (size_t i = 0; i < PRELU_TENSORS; i++)
        data[i] = calloc(1, bytes_of(&m.resolved[i]));
    void *scratchpad = malloc(scratchpad_size(&m));
    allocations = deallocations = 0;
    assert_ok(machine_run(&m, data, scratchpad));
    assert_int_equal(allocations, 0);
    assert_ok(machine_run(&m, data, NULL));
    assert_int_equal(allocations, 1);
    assert_int_equal(deallocations, 1);
    refuse = 1;
    assert_dnnl(dnnl_out_of_memory, machine_run(&m, data, NULL));
    assert_ok(machine_run(&m, data, scratchpad));
    refuse = 0;
    for (size_t i = 0; i < PRELU_TENSORS; i++)
        free(data[i]);
    free(scratchpad);
    machine_stop(&m);
    assert_ok(dnnl_graph_allocator_destroy(allocator));
}

/* status_with_scratchpad - execute with a scratchpad of that size at that address. */
static dnnl_status_t status_with_scratchpad(const machine *m, const_dnnl_graph_tensor_t *arguments,
                                            size_t size, void *memory)
{
    logical_tensor lt = dense(SIZE_MAX, dnnl_u8, 1, (int64_t[]){ (int64_t)size });
    dnnl_graph_tensor_t scratchpad;
    assert_ok(dnnl_graph_tensor_create(&scratchpad, &lt, m->engine, memory));
    dnnl_status_t status = dnnl_graph_compiled_partition_execute_v2(
        m->compiled, m->stream, 3, arguments, 2, arguments + 3, scratchpad);
    assert_ok(dnnl_graph_tensor_destroy(scratchpad));
    return status;
}

static void a_scratchpad_that_is_too_small_is_refused(void **state)
{
    (void)state;
    operation o = prelu(dense(0, dnnl_f32, 2, (int64_t[]){ ROWS, CHANNELS }),
                        dense(0, dnnl_f32, 1, (int64_t[]){ CHANNELS }));
    machine m = machine_start(&o, NULL);
    size_t size = scratchpad_size(&m);
    dnnl_graph_tensor_t tensors[MAX_TENSORS];
    const_dnnl_graph_tensor_t arguments[MAX_TENSORS];
    void *diff_slope, *scratchpad = malloc(size);
    for (size_t i = 0; i < PRELU_TENSORS; i++) {
        assert_ok(
            dnnl_graph_tensor_create(&tensors[i], &m.resolved[i], m.engine, DNNL_MEMORY_ALLOCATE));
        assert_ok(dnnl_graph_tensor_get_data_handle(tensors[i], &diff_slope));
        memset(diff_slope, 0x3f, bytes_of(&m.resolved[i]));
        arguments[i] = tensors[i];
    }
    assert_invalid(status_with_scratchpad(&m, arguments, size - 1, scratchpad));
    assert_invalid(status_with_scratchpad(&m, arguments, size, NULL));
    assert_int_equal(*(unsigned char *)diff_slope, 0x3f);
    assert_ok(status_with_scratchpad(&m, arguments, size, scratchpad));
    assert_int_equal(*(unsigned char *)diff_slope, 0);
    for (size_t i = 0; i < PRELU_TENSORS; i++)
        assert_ok(dnnl_graph_tensor_destroy(tensors[i]));
    free(scratchpad);
    machine_stop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_of_executing_compute),
        cmocka_unit_test(missing_arguments_are_refused),
        cmocka_unit_test(tensors_in_another_order_are_refused),
        cmocka_unit_test(tensors_other_than_compiled_for_are_refused),
        cmocka_unit_test(the_stride_of_a_dim_of_1_does_not_matter),
        cmocka_unit_test(memory_that_is_missing_misaligned_or_overlapping_is_refused),
        cmocka_unit_test(tensors_go_in_the_order_given_to_compile),
        cmocka_unit_test(one_tensor_may_be_both_inputs),
        cmocka_unit_test(empty_tensors_need_no_memory),
        cmocka_unit_test(the_scratchpad_comes_from_the_caller_or_the_allocator),
        cmocka_unit_test(a_scratchpad_that_is_too_small_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
