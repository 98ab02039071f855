/* SPDX-License-Identifier: Apache-2.0 */
/* test_threads.c - eight threads execute one compiled partition at once, each on its own tensors,
 * with and without a scratchpad, and all get the bits that one thread gets. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drop_in.h"
#include "sanitized.h"

enum {
    NTHREADS = 8,
    ROUNDS = 20,
    ROWS = 64 * 64,
    CHANNELS = 100
};

typedef struct worker {
    const machine *m;
    void *data[MAX_TENSORS];
    void *scratchpad; /* NULL: the library's */
    dnnl_status_t status;
    pthread_t thread;
} worker;

/* execute - as machine_run, but without assertions, which are for the main thread only. */
static dnnl_status_t execute(const worker *w)
{
    const machine *m = w->m;
    dnnl_graph_tensor_t made[MAX_TENSORS + 1] = { NULL };
    const_dnnl_graph_tensor_t arguments[MAX_TENSORS];
    logical_tensor lt;
    const size_t ninputs = m->o.ninputs, noutputs = m->o.noutputs;
    dnnl_status_t status = dnnl_success;
    for (size_t i = 0; i < ninputs + noutputs && !status; i++) {
        status = dnnl_graph_tensor_create(&made[i], &m->resolved[i], m->engine, w->data[i]);
        arguments[i] = made[i];
    }
    if (!status && w->scratchpad) {
        status = dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(m->compiled, &lt);
        if (!status)
            status = dnnl_graph_tensor_create(&made[MAX_TENSORS], &lt, m->engine, w->scratchpad);
    }
    if (!status)
        status = dnnl_graph_compiled_partition_execute_v2(
            m->compiled, m->stream, ninputs, arguments, noutputs, arguments + ninputs,
            made[MAX_TENSORS]);
    for (size_t i = 0; i <= MAX_TENSORS; i++)
        dnnl_graph_tensor_destroy(made[i]);
    return status;
}

static void *work(void *arg)
{
    worker *w = arg;
    for (int round = 0; round < ROUNDS && !w->status; round++)
        w->status = execute(w);
    return NULL;
}

static void worker_start(worker *w, const machine *m, int with_scratchpad)
{
    memset(w, 0, sizeof(*w));
    w->m = m;
    for (size_t i = 0; i < PRELU_TENSORS; i++) {
        size_t count = bytes_of(&m->resolved[i]) / sizeof(float);
        float *values = calloc(count, sizeof(float));
        assert_non_null(values);
        for (size_t k = 0; i < 3 && k < count; k++)
            values[k] = (float)((k * 2654435761u + i) % 1000) / 250 - 2;
        w->data[i] = values;
    }
    if (with_scratchpad)
        w->scratchpad = malloc(scratchpad_size(m) + 1);
}

static void worker_stop(worker *w)
{
    for (size_t i = 0; i < PRELU_TENSORS; i++)
        free(w->data[i]);
    free(w->scratchpad);
}

static void eight_threads_execute_one_compiled_partition(void **state)
{
    (void)state;
    operation o = prelu(dense(0, dnnl_f32, 2, (int64_t[]){ ROWS, CHANNELS }),
                        dense(0, dnnl_f32, 1, (int64_t[]){ CHANNELS }));
    machine m = machine_start(&o, NULL);
    worker workers[NTHREADS], alone;
    worker_start(&alone, &m, 1);
    assert_ok(execute(&alone));
    for (int i = 0; i < NTHREADS; i++) {
        worker_start(&workers[i], &m, i % 2);
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < NTHREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_ok(workers[i].status);
        for (size_t t = 3; t < PRELU_TENSORS; t++)
            assert_memory_equal(workers[i].data[t], alone.data[t], bytes_of(&m.resolved[t]));
        worker_stop(&workers[i]);
    }
    worker_stop(&alone);
    machine_stop(&m);
}

static void *compile_and_execute(void *arg)
{
    worker *w = arg;
    const machine *m = w->m;
    dnnl_graph_compiled_partition_t compiled = NULL;
    w->status = dnnl_graph_compiled_partition_create(&compiled, m->partition);
    if (!w->status)
        w->status = compile(m->partition, compiled, &m->o, m->engine);
    dnnl_graph_compiled_partition_destroy(compiled);
    if (!w->status)
        w->status = execute(w);
    return NULL;
}

static void run_on_a_small_stack(const operation *o)
{
    long least = sysconf(_SC_THREAD_STACK_MIN);
    machine m = machine_start(o, NULL);
    worker w = { .m = &m };
    pthread_attr_t attr;
    for (size_t i = 0; i < o->ninputs + o->noutputs; i++)
        w.data[i] = calloc(1, bytes_of(&m.resolved[i]));
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstacksize(&attr, least > 64 << 10 ? (size_t)least : 64 << 10),
                     0);
    assert_int_equal(pthread_create(&w.thread, &attr, compile_and_execute, &w), 0);
    assert_int_equal(pthread_join(w.thread, NULL), 0);
    assert_ok(w.status);
    pthread_attr_destroy(&attr);
    worker_stop(&w);
    machine_stop(&m);
}

static void a_stack_of_64_kib_is_enough(void **state)
{
    static const dnnl_data_type_t dtypes[] = { dnnl_f32, dnnl_f16, dnnl_bf16 };
    static const int64_t shapes[][2] = { { 7, 33 }, { ROWS, CHANNELS } };
    (void)state;
    if (UNIT_SANITIZED)
        skip();
    for (int kind = 0; kind < dnnl_graph_op_last_symbol; kind++)
        for (size_t i = 0; i < COUNT_OF(dtypes) * COUNT_OF(shapes); i++) {
            operation o;
            if (served_operation((dnnl_graph_op_kind_t)kind,
                                 dense(0, dtypes[i / 2], 2, shapes[i % 2]), &o))
                run_on_a_small_stack(&o);
        }
}

static void *compile_often(void *arg)
{
    worker *w = arg;
    const machine *m = w->m;
    const logical_tensor *t[MAX_TENSORS];
    for (size_t i = 0; i < PRELU_TENSORS; i++)
        t[i] = &m->o.tensors[i];
    for (int round = 0; round < ROUNDS && !w->status; round++) {
        dnnl_graph_compiled_partition_t compiled = NULL;
        w->status = dnnl_graph_compiled_partition_create(&compiled, m->partition);
        if (!w->status)
            w->status =
                dnnl_graph_partition_compile(m->partition, compiled, 3, t, 2, t + 3, m->engine);
        dnnl_graph_compiled_partition_destroy(compiled);
    }
    return NULL;
}

static void eight_threads_compile_one_partition(void **state)
{
    (void)state;
    operation o =
        prelu(dense(0, dnnl_f32, 2, (int64_t[]){ 4, 5 }), dense(0, dnnl_f32, 1, (int64_t[]){ 5 }));
    machine m = machine_start(&o, NULL);
    worker workers[NTHREADS];
    for (int i = 0; i < NTHREADS; i++) {
        worker_start(&workers[i], &m, 0);
        assert_int_equal(pthread_create(&workers[i].thread, NULL, compile_often, &workers[i]), 0);
    }
    for (int i = 0; i < NTHREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_ok(workers[i].status);
        worker_stop(&workers[i]);
    }
    machine_stop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_threads_execute_one_compiled_partition),
        cmocka_unit_test(eight_threads_compile_one_partition),
        cmocka_unit_test(a_stack_of_64_kib_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
