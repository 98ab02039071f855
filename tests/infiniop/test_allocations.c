/* SPDX-License-Identifier: Apache-2.0 */
/* test_allocations.c - each allocation of infiniop and infinirt failing in turn: a status, no
 * object, nothing left behind, and the next try succeeds. */
#include <string.h>

#include "allocations.h"
#include "operators.h"
#include "support.h"

enum { ROWS = 7, CHANNELS = 33 };

static const operator_values values = { 1, 0.25f, 0.5f };

/* went_well - whether it did; if not it was for want of memory, which InfiniCore has no status of
 * its own for, and nothing was made. */
static bool went_well(infiniStatus_t status, const void *made)
{
    if (status == INFINI_STATUS_SUCCESS)
        return true;
    assert_int_equal(status, INFINI_STATUS_INTERNAL_ERROR);
    assert_null(made);
    return false;
}

static bool make_tensors(const operator *op, infiniopTensorDescriptor_t *tensors)
{
    for (int i = 0; i < op->ntensors; i++) {
        size_t shape[2], ndim = operator_shape(op, i, ROWS, CHANNELS, shape);
        infiniStatus_t status =
            infiniopCreateTensorDescriptor(&tensors[i], ndim, shape, NULL,
                                           operator_dtype(op, i, INFINI_DTYPE_F32));
        if (!went_well(status, tensors[i]))
            return false;
    }
    return true;
}

static bool run(const operator *op, any_descriptor desc)
{
    static float memory[MOST_ARGUMENTS][ROWS * CHANNELS];
    void *data[MOST_ARGUMENTS], *workspace = NULL;
    size_t size = 0;
    for (int i = 0; i < op->ntensors; i++)
        data[i] = memory[i];
    OK(op->get_workspace_size(desc, &size));
    if (!went_well(infinirtMalloc(&workspace, size + 1), NULL))
        return false;
    OK(operator_run(op, desc, workspace, size, data));
    OK(infinirtFree(workspace));
    return true;
}

static bool life_of_an_operator(void *arg)
{
    const operator *op = arg;
    static int untouched;
    infiniopHandle_t handle = (infiniopHandle_t)&untouched;
    infiniopTensorDescriptor_t tensors[MOST_ARGUMENTS] = { NULL };
    any_descriptor desc = NULL;
    infiniStatus_t status = infiniopCreateHandle(&handle);
    bool well = went_well(status, handle) && make_tensors(op, tensors);
    if (well) {
        desc = (any_descriptor)&untouched;
        status = operator_create(op, handle, &desc, tensors, &values);
        well = went_well(status, desc) && run(op, desc);
    }
    OK(op->destroy(desc));
    for (int i = 0; i < op->ntensors; i++)
        OK(infiniopDestroyTensorDescriptor(tensors[i]));
    OK(infiniopDestroyHandle(handle));
    return well;
}

static void every_operator_reports_every_failed_allocation(void **state)
{
    (void)state;
    for (int i = 0; i < noperators; i++) {
        int64_t calls = allocations_fail_each(operators[i].vjp_name, life_of_an_operator,
                                              (void *)&operators[i]);
        /* handle, its context, tensors, plan, descriptor and the test's own workspace */
        assert_true(calls >= operators[i].ntensors + 5 || !ALLOCATIONS_COUNTED);
    }
}

static bool life_of_the_runtime(void *arg)
{
    infiniStatus_t (*const mallocs[])(void **, size_t) = { infinirtMalloc, infinirtMallocHost };
    infinirtStream_t stream = NULL;
    infinirtEvent_t event = NULL;
    void *memory = NULL;
    (void)arg;
    if (!went_well(infinirtStreamCreate(&stream), stream))
        return false;
    infiniStatus_t status = infinirtEventCreate(&event);
    if (!went_well(status, event))
        return false;
    OK(infinirtEventRecord(event, stream));
    OK(infinirtEventDestroy(event));
    for (size_t i = 0; i < COUNT(mallocs); i++) {
        status = mallocs[i](&memory, 100);
        if (!went_well(status, memory))
            return false;
        OK((i == 0 ? infinirtFree : infinirtFreeHost)(memory));
    }
    status = infinirtMallocAsync(&memory, 100, stream);
    if (!went_well(status, memory))
        return false;
    OK(infinirtFreeAsync(memory, stream));
    OK(infinirtStreamDestroy(stream));
    return true;
}

static void the_runtime_reports_every_failed_allocation(void **state)
{
    (void)state;
    int64_t calls = allocations_fail_each("infinirt", life_of_the_runtime, NULL);
    assert_true(calls >= 4 || !ALLOCATIONS_COUNTED);
}

/* The C library reads a file without a buffer where it has none: not every failure shows. */
static void memory_is_measured_or_not_at_all(void **state)
{
    allocation_count count = { 1, 0 };
    (void)state;
    for (int64_t fail_at = 1; fail_at <= count.calls; fail_at++) {
        size_t free_bytes = 0, total_bytes = 0;
        allocations_begin(fail_at, FAULT_FOR_GOOD);
        infiniStatus_t status = infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, &free_bytes, &total_bytes);
        count = allocations_end();
        assert_int_equal(count.live, 0);
        assert_true(went_well(status, NULL) == (total_bytes > 0));
        assert_true(went_well(status, NULL) == (free_bytes > 0));
    }
    OK(infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, &(size_t){ 0 }, &(size_t){ 0 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_reports_every_failed_allocation),
        cmocka_unit_test(the_runtime_reports_every_failed_allocation),
        cmocka_unit_test(memory_is_measured_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
