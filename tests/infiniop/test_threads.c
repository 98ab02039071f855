/* SPDX-License-Identifier: Apache-2.0 */
/* test_threads.c - what InfiniCore promises of threads: a handle is shared, a descriptor does not
 * change and runs anywhere, the current device is the thread's own. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "operators.h"
#include "sanitized.h"
#include "support.h"

enum { THREADS = 8, ROUNDS = 50, ROWS = 33, COLUMNS = 257, COUNT_OF = ROWS * COLUMNS };

struct shared {
    infiniopHandle_t handle;
    infiniopPReluBackwardDescriptor_t desc;
    size_t workspace_size;
    float slope[COLUMNS];
};

struct result {
    float grad_input[COUNT_OF], grad_slope[COLUMNS];
};

/* cmocka's assertions belong to the main thread: the others count what went wrong. */
struct job {
    pthread_t thread;
    struct shared *shared;
    struct result *got;
    int seed, failures;
};

static void fill(float *data, int count, int seed)
{
    for (int i = 0; i < count; i++)
        data[i] = (float)((i * 37 + seed * 101) % 128 - 64) / 16;
}

static void *run_many(void *arg)
{
    struct job *job = arg;
    struct shared *shared = job->shared;
    float *input = malloc(COUNT_OF * sizeof(float)), *grad = malloc(COUNT_OF * sizeof(float));
    void *workspace = malloc(shared->workspace_size + 1);
    fill(input, COUNT_OF, job->seed);
    fill(grad, COUNT_OF, job->seed + 1);
    for (int i = 0; i < ROUNDS; i++) {
        memset(job->got, 0, sizeof(*job->got));
        job->failures += infiniopPReluBackward(shared->desc, workspace, shared->workspace_size,
                                               job->got->grad_input, job->got->grad_slope, input,
                                               shared->slope, grad,
                                               NULL) != INFINI_STATUS_SUCCESS;
    }
    free(input);
    free(grad);
    free(workspace);
    return NULL;
}

static infiniStatus_t create_prelu(infiniopHandle_t handle,
                                   infiniopPReluBackwardDescriptor_t *desc)
{
    static const size_t shape[] = { ROWS, COLUMNS }, slope[] = { COLUMNS };
    infiniopTensorDescriptor_t data = NULL, channels = NULL;
    infiniStatus_t status =
        infiniopCreateTensorDescriptor(&data, 2, shape, NULL, INFINI_DTYPE_F32);
    if (status == INFINI_STATUS_SUCCESS)
        status = infiniopCreateTensorDescriptor(&channels, 1, slope, NULL, INFINI_DTYPE_F32);
    if (status == INFINI_STATUS_SUCCESS)
        status = infiniopCreatePReluBackwardDescriptor(handle, desc, data, channels, data,
                                                       channels, data);
    infiniopDestroyTensorDescriptor(data);
    infiniopDestroyTensorDescriptor(channels);
    return status;
}

static void one_descriptor_runs_on_eight_threads(void **state)
{
    static struct result alone[THREADS], together[THREADS];
    struct shared shared = { .handle = cpu_handle() };
    struct job jobs[THREADS];
    (void)state;
    fill(shared.slope, COLUMNS, 3);
    OK(create_prelu(shared.handle, &shared.desc));
    OK(infiniopGetPReluBackwardWorkspaceSize(shared.desc, &shared.workspace_size));
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){ .shared = &shared, .got = &alone[i], .seed = i };
        run_many(&jobs[i]);
        jobs[i].got = &together[i];
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&jobs[i].thread, NULL, run_many, &jobs[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(jobs[i].thread, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(jobs[i].failures, 0);
        assert_memory_equal(&alone[i], &together[i], sizeof(alone[i]));
        assert_memory_not_equal(&alone[i], &alone[(i + 1) % THREADS], sizeof(alone[i]));
    }
    OK(infiniopDestroyPReluBackwardDescriptor(shared.desc));
    OK(infiniopDestroyHandle(shared.handle));
}

static void *create_many(void *arg)
{
    struct job *job = arg;
    for (int i = 0; i < ROUNDS; i++) {
        infiniopPReluBackwardDescriptor_t desc;
        job->failures += create_prelu(job->shared->handle, &desc) != INFINI_STATUS_SUCCESS;
        job->failures += infiniopDestroyPReluBackwardDescriptor(desc) != INFINI_STATUS_SUCCESS;
    }
    return NULL;
}

static void one_handle_makes_descriptors_on_eight_threads(void **state)
{
    struct shared shared = { .handle = cpu_handle() };
    struct job jobs[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){ .shared = &shared };
        assert_int_equal(pthread_create(&jobs[i].thread, NULL, create_many, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(jobs[i].thread, NULL), 0);
        assert_int_equal(jobs[i].failures, 0);
    }
    OK(infiniopDestroyHandle(shared.handle));
}

static void *expect_cpu(void *arg)
{
    struct job *job = arg;
    infiniDevice_t type = INFINI_DEVICE_ALI;
    int id = -1;
    infiniopHandle_t handle = NULL;
    job->failures += infinirtGetDevice(&type, &id) != INFINI_STATUS_SUCCESS;
    job->failures += type != INFINI_DEVICE_CPU || id != 0;
    job->failures += infiniopCreateHandle(&handle) != INFINI_STATUS_SUCCESS;
    infiniopDestroyHandle(handle);
    return NULL;
}

static void a_new_thread_starts_on_the_cpu(void **state)
{
    struct job job = { .failures = 0 };
    infiniDevice_t type;
    (void)state;
    EXPECT(DEVICE_TYPE_NOT_SUPPORTED, infinirtSetDevice(INFINI_DEVICE_ASCEND, 3));
    assert_int_equal(pthread_create(&job.thread, NULL, expect_cpu, &job), 0);
    assert_int_equal(pthread_join(job.thread, NULL), 0);
    assert_int_equal(job.failures, 0);
    OK(infinirtGetDevice(&type, NULL));
    assert_int_equal(type, INFINI_DEVICE_ASCEND);
    OK(infinirtSetDevice(INFINI_DEVICE_CPU, 0));
}

/* ---- a small stack ------------------------------------------------------------------------ */

/* Every operator in a dtype, with few elements, and with enough for OpenMP threads. */
static void *live_on_a_small_stack(void *arg)
{
    enum { ROOM = 5000 * 64 * 8 };
    static const size_t sizes[][2] = { { 7, 33 }, { 5000, 64 } };
    static const operator_values values = { 1, 0.25f, 0.5f };
    struct job *job = arg;
    infiniopHandle_t handle = NULL;
    void *memory = calloc(MOST_ARGUMENTS, ROOM), *workspace = malloc(1 << 20);
    job->failures += infiniopCreateHandle(&handle) != 0 || !memory || !workspace;
    for (int k = 0; k < 2 * noperators && job->failures == 0; k++) {
        const operator *op = &operators[k / 2];
        infiniopTensorDescriptor_t tensors[MOST_ARGUMENTS] = { NULL };
        void *data[MOST_ARGUMENTS];
        any_descriptor desc = NULL;
        for (int i = 0; i < op->ntensors; i++) {
            size_t shape[2], ndim = operator_shape(op, i, sizes[k % 2][0], sizes[k % 2][1], shape);
            job->failures += infiniopCreateTensorDescriptor(
                                 &tensors[i], ndim, shape, NULL,
                                 operator_dtype(op, i, infini_dtypes[job->seed])) != 0;
            data[i] = (char *)memory + (size_t)i * ROOM;
        }
        job->failures += operator_create(op, handle, &desc, tensors, &values) != 0;
        job->failures += operator_run(op, desc, workspace, 1 << 20, data) != 0;
        job->failures += op->destroy(desc) != 0;
        for (int i = 0; i < op->ntensors; i++)
            job->failures += infiniopDestroyTensorDescriptor(tensors[i]) != 0;
    }
    infiniopDestroyHandle(handle);
    free(workspace);
    free(memory);
    return NULL;
}

static void a_stack_of_64_kib_is_enough(void **state)
{
    long least = sysconf(_SC_THREAD_STACK_MIN);
    pthread_attr_t attr;
    (void)state;
    if (UNIT_SANITIZED)
        skip();
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstacksize(&attr, least > 64 << 10 ? (size_t)least : 64 << 10),
                     0);
    for (size_t d = 0; d < COUNT(infini_dtypes); d++) {
        struct job job = { .seed = (int)d };
        assert_int_equal(pthread_create(&job.thread, &attr, live_on_a_small_stack, &job), 0);
        assert_int_equal(pthread_join(job.thread, NULL), 0);
        assert_int_equal(job.failures, 0);
    }
    pthread_attr_destroy(&attr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_descriptor_runs_on_eight_threads),
        cmocka_unit_test(one_handle_makes_descriptors_on_eight_threads),
        cmocka_unit_test(a_new_thread_starts_on_the_cpu),
        cmocka_unit_test(a_stack_of_64_kib_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
