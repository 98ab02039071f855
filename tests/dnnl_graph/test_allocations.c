/* SPDX-License-Identifier: Apache-2.0 */
/* test_allocations.c - execute_v2 with a scratchpad allocates nothing at all.
 *
 * This program puts its own malloc family before the C library's, for every library it loads, and
 * counts the calls of the main thread. It is left out where a sanitizer has done so already, and
 * run with OMP_NUM_THREADS=1, because what OpenMP allocates for its threads is not ours.
 */
#include <stdlib.h>
#include <string.h>

#include "drop_in.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static _Thread_local long allocations;

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    allocations++;
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    allocations++;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    allocations++;
    *memory = __libc_memalign(alignment, size);
    return *memory ? 0 : 12; /* ENOMEM */
}

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
            allocations = 0;
            dnnl_status_t status =
                dnnl_graph_compiled_partition_execute_v2(m.compiled, m.stream, ninputs, arguments,
                                                         noutputs, arguments + ninputs, scratchpad);
            long counted = allocations;
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

static void the_count_counts(void **state)
{
    (void)state;
    operation o = elementwise(dnnl_graph_op_relu_backward, dense(0, dnnl_f32, 1, (int64_t[]){ 4 }));
    allocations = 0;
    assert_ok(compile_status(&o));
    assert_true(allocations > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(executing_with_a_scratchpad_allocates_nothing),
        cmocka_unit_test(the_count_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
