/* SPDX-License-Identifier: Apache-2.0 */
/* test_objects.c - allocators, engines, streams, tensors and settings: what they do, and every
 * status they are documented to return. */
#include <stdlib.h>
#include <string.h>

#include "drop_in.h"

/* ---- a counting allocator ----------------------------------------------------------------- */

static int allocations, deallocations, refuse;
static size_t last_alignment;

static void *counting_allocate(size_t size, size_t alignment)
{
    void *memory = NULL;
    allocations++;
    last_alignment = alignment;
    return refuse || posix_memalign(&memory, alignment, size) ? NULL : memory;
}

static void counting_deallocate(void *memory)
{
    deallocations++;
    free(memory);
}

static dnnl_engine_t counting_engine(void)
{
    dnnl_engine_t engine;
    dnnl_graph_allocator_t allocator;
    assert_ok(dnnl_graph_allocator_create(&allocator, counting_allocate, counting_deallocate));
    assert_ok(dnnl_graph_make_engine_with_allocator(&engine, dnnl_cpu, 0, allocator));
    assert_ok(dnnl_graph_allocator_destroy(allocator));
    allocations = deallocations = refuse = 0;
    return engine;
}

/* ---- engines and streams ------------------------------------------------------------------ */

static void there_is_one_cpu_and_no_gpu(void **state)
{
    (void)state;
    dnnl_engine_t engine = NULL;
    dnnl_engine_kind_t kind = dnnl_any_engine;
    assert_int_equal(dnnl_engine_get_count(dnnl_cpu), 1);
    assert_int_equal(dnnl_engine_get_count(dnnl_gpu), 0);
    assert_int_equal(dnnl_engine_get_count(dnnl_any_engine), 0);
    assert_ok(dnnl_engine_create(&engine, dnnl_cpu, 0));
    assert_ok(dnnl_engine_get_kind(engine, &kind));
    assert_int_equal(kind, dnnl_cpu);
    assert_invalid(dnnl_engine_get_kind(engine, NULL));
    assert_invalid(dnnl_engine_get_kind(NULL, &kind));
    assert_ok(dnnl_engine_destroy(engine));
    assert_invalid(dnnl_engine_create(&engine, dnnl_cpu, 1));
    assert_invalid(dnnl_engine_create(&engine, dnnl_gpu, 0));
    assert_invalid(dnnl_engine_create(&engine, dnnl_any_engine, 0));
    assert_invalid(dnnl_engine_create(NULL, dnnl_cpu, 0));
    assert_invalid(dnnl_graph_make_engine_with_allocator(&engine, dnnl_cpu, 0, NULL));
    assert_ok(dnnl_engine_destroy(NULL));
}

static void an_engine_that_cannot_be_made_is_a_runtime_error(void **state)
{
    (void)state;
    dnnl_engine_t engine;
    setenv("VJP_ISA", "abacus", 1);
    assert_dnnl(dnnl_runtime_error, dnnl_engine_create(&engine, dnnl_cpu, 0));
    unsetenv("VJP_ISA");
    assert_null(engine);
}

static void a_stream_keeps_its_engine(void **state)
{
    (void)state;
    dnnl_engine_t engine, same = NULL;
    dnnl_stream_t stream;
    assert_ok(dnnl_engine_create(&engine, dnnl_cpu, 0));
    for (unsigned flags = 1; flags < 4; flags++) {
        assert_ok(dnnl_stream_create(&stream, engine, flags));
        assert_ok(dnnl_stream_destroy(stream));
    }
    assert_invalid(dnnl_stream_create(&stream, engine, 0));
    assert_null(stream);
    assert_dnnl(dnnl_unimplemented, dnnl_stream_create(&stream, engine, 4));
    assert_invalid(dnnl_stream_create(NULL, engine, 1));
    assert_invalid(dnnl_stream_create(&stream, NULL, 1));
    assert_ok(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    assert_ok(dnnl_engine_destroy(engine));
    assert_ok(dnnl_stream_get_engine(stream, &same));
    assert_ptr_equal(same, engine);
    assert_invalid(dnnl_stream_get_engine(NULL, &same));
    assert_invalid(dnnl_stream_get_engine(stream, NULL));
    assert_ok(dnnl_stream_wait(stream));
    assert_invalid(dnnl_stream_wait(NULL));
    assert_ok(dnnl_stream_destroy(stream));
    assert_ok(dnnl_stream_destroy(NULL));
}

static void an_allocator_needs_both_functions_or_is_the_default(void **state)
{
    (void)state;
    dnnl_graph_allocator_t allocator;
    dnnl_engine_t engine;
    dnnl_graph_tensor_t tensor;
    logical_tensor lt = dense(0, dnnl_f32, 1, (int64_t[]){ 4 });
    allocations = 0;
    assert_ok(dnnl_graph_allocator_create(&allocator, counting_allocate, NULL));
    assert_ok(dnnl_graph_make_engine_with_allocator(&engine, dnnl_cpu, 0, allocator));
    assert_ok(dnnl_graph_tensor_create(&tensor, &lt, engine, DNNL_MEMORY_ALLOCATE));
    assert_int_equal(allocations, 0);
    assert_ok(dnnl_graph_tensor_destroy(tensor));
    assert_ok(dnnl_engine_destroy(engine));
    assert_ok(dnnl_graph_allocator_destroy(allocator));
    assert_invalid(dnnl_graph_allocator_create(NULL, NULL, NULL));
    assert_invalid(dnnl_graph_allocator_destroy(NULL));
}

/* ---- tensors ------------------------------------------------------------------------------ */

static void a_tensor_holds_the_callers_memory(void **state)
{
    (void)state;
    float data[6], other[6];
    void *handle = NULL;
    dnnl_engine_t engine = counting_engine(), same = NULL;
    dnnl_graph_tensor_t tensor;
    logical_tensor lt = dense(5, dnnl_f32, 1, (int64_t[]){ 6 }), copy;
    assert_ok(dnnl_graph_tensor_create(&tensor, &lt, engine, data));
    assert_ok(dnnl_graph_tensor_get_data_handle(tensor, &handle));
    assert_ptr_equal(handle, data);
    assert_ok(dnnl_graph_tensor_set_data_handle(tensor, other));
    assert_ok(dnnl_graph_tensor_get_data_handle(tensor, &handle));
    assert_ptr_equal(handle, other);
    assert_ok(dnnl_graph_tensor_get_engine(tensor, &same));
    assert_ptr_equal(same, engine);
    assert_ok(dnnl_graph_tensor_get_logical_tensor(tensor, &copy));
    assert_true(are_equal(&lt, &copy));
    assert_invalid(dnnl_graph_tensor_get_data_handle(NULL, &handle));
    assert_invalid(dnnl_graph_tensor_get_data_handle(tensor, NULL));
    assert_invalid(dnnl_graph_tensor_set_data_handle(NULL, data));
    assert_invalid(dnnl_graph_tensor_set_data_handle(tensor, DNNL_MEMORY_ALLOCATE));
    assert_invalid(dnnl_graph_tensor_get_engine(NULL, &same));
    assert_invalid(dnnl_graph_tensor_get_engine(tensor, NULL));
    assert_invalid(dnnl_graph_tensor_get_logical_tensor(NULL, &copy));
    assert_invalid(dnnl_graph_tensor_get_logical_tensor(tensor, NULL));
    assert_ok(dnnl_graph_tensor_destroy(tensor));
    assert_ok(dnnl_graph_tensor_create(&tensor, &lt, engine, DNNL_MEMORY_NONE));
    assert_ok(dnnl_graph_tensor_destroy(tensor));
    assert_ok(dnnl_graph_tensor_destroy(NULL));
    assert_int_equal(allocations, 0);
    assert_ok(dnnl_engine_destroy(engine));
}

static void a_tensor_may_own_memory_of_the_engines_allocator(void **state)
{
    (void)state;
    float data[6];
    void *handle = NULL;
    dnnl_engine_t engine = counting_engine();
    dnnl_graph_tensor_t tensor, second;
    logical_tensor lt = dense(5, dnnl_f32, 1, (int64_t[]){ 6 });
    assert_ok(dnnl_graph_tensor_create(&tensor, &lt, engine, DNNL_MEMORY_ALLOCATE));
    assert_ok(dnnl_graph_tensor_create(&second, &lt, engine, DNNL_MEMORY_ALLOCATE));
    assert_int_equal(allocations, 2);
    assert_int_equal(last_alignment, 64);
    assert_ok(dnnl_graph_tensor_get_data_handle(tensor, &handle));
    assert_int_equal((uintptr_t)handle % 64, 0);
    memset(handle, 1, bytes_of(&lt));
    assert_ok(dnnl_graph_tensor_set_data_handle(tensor, handle));
    assert_int_equal(deallocations, 0);
    assert_ok(dnnl_graph_tensor_set_data_handle(tensor, data));
    assert_int_equal(deallocations, 1);
    assert_ok(dnnl_engine_destroy(engine)); /* the tensors keep its allocator */
    assert_ok(dnnl_graph_tensor_destroy(tensor));
    assert_int_equal(deallocations, 1);
    assert_ok(dnnl_graph_tensor_destroy(second));
    assert_int_equal(deallocations, 2);
}

static void tensors_that_cannot_be_allocated_are_refused(void **state)
{
    (void)state;
    dnnl_engine_t engine = counting_engine();
    dnnl_graph_tensor_t tensor = NULL;
    logical_tensor lt = dense(5, dnnl_f32, 1, (int64_t[]){ 6 });
    logical_tensor any = with_layout_any(lt), empty = dense(5, dnnl_f32, 1, (int64_t[]){ 0 });
    logical_tensor backwards = lt;
    backwards.layout.strides[0] = -1;
    assert_invalid(dnnl_graph_tensor_create(&tensor, &any, engine, DNNL_MEMORY_ALLOCATE));
    assert_invalid(dnnl_graph_tensor_create(&tensor, &backwards, engine, DNNL_MEMORY_ALLOCATE));
    refuse = 1;
    assert_dnnl(dnnl_out_of_memory,
                dnnl_graph_tensor_create(&tensor, &lt, engine, DNNL_MEMORY_ALLOCATE));
    assert_null(tensor);
    assert_ok(dnnl_graph_tensor_create(&tensor, &empty, engine, DNNL_MEMORY_ALLOCATE));
    assert_ok(dnnl_graph_tensor_destroy(tensor));
    assert_invalid(dnnl_graph_tensor_create(NULL, &lt, engine, NULL));
    assert_invalid(dnnl_graph_tensor_create(&tensor, NULL, engine, NULL));
    assert_invalid(dnnl_graph_tensor_create(&tensor, &lt, NULL, NULL));
    assert_ok(dnnl_engine_destroy(engine));
}

static void a_scalar_has_no_data_handle_and_no_engine(void **state)
{
    (void)state;
    float value = 2.5f;
    void *handle = &value;
    dnnl_engine_t engine = counting_engine(), none = engine;
    dnnl_graph_tensor_t tensor;
    logical_tensor lt, plain = dense(5, dnnl_f32, 0, NULL);
    assert_ok(dnnl_graph_logical_tensor_init(&lt, 1, dnnl_f32, 0, dnnl_graph_layout_type_strided,
                                             dnnl_graph_tensor_property_host_scalar));
    assert_ok(dnnl_graph_tensor_create_scalar(&tensor, &lt, &value));
    assert_ok(dnnl_graph_tensor_get_data_handle(tensor, &handle));
    assert_null(handle);
    assert_ok(dnnl_graph_tensor_get_engine(tensor, &none));
    assert_null(none);
    assert_invalid(dnnl_graph_tensor_set_data_handle(tensor, &value));
    assert_ok(dnnl_graph_tensor_destroy(tensor));
    assert_invalid(dnnl_graph_tensor_create(&tensor, &lt, engine, &value));
    assert_invalid(dnnl_graph_tensor_create_scalar(&tensor, &plain, &value));
    assert_invalid(dnnl_graph_tensor_create_scalar(&tensor, &lt, NULL));
    assert_invalid(dnnl_graph_tensor_create_scalar(&tensor, &lt, DNNL_MEMORY_ALLOCATE));
    assert_invalid(dnnl_graph_tensor_create_scalar(&tensor, NULL, &value));
    assert_invalid(dnnl_graph_tensor_create_scalar(NULL, &lt, &value));
    assert_ok(dnnl_engine_destroy(engine));
}

/* ---- settings ----------------------------------------------------------------------------- */

static void settings_are_checked_kept_and_reported(void **state)
{
    (void)state;
    int capacity = 0;
    dnnl_fpmath_mode_t mode = dnnl_fpmath_mode_any;
    assert_ok(dnnl_graph_get_compiled_partition_cache_capacity(&capacity));
    assert_int_equal(capacity, 1024);
    assert_ok(dnnl_graph_set_compiled_partition_cache_capacity(0));
    assert_ok(dnnl_graph_get_compiled_partition_cache_capacity(&capacity));
    assert_int_equal(capacity, 0);
    assert_invalid(dnnl_graph_set_compiled_partition_cache_capacity(-1));
    assert_invalid(dnnl_graph_get_compiled_partition_cache_capacity(NULL));
    for (int modes = 0; modes < 4; modes++)
        assert_ok(dnnl_graph_set_dump_mode((dnnl_graph_dump_mode_t)modes));
    assert_invalid(dnnl_graph_set_dump_mode((dnnl_graph_dump_mode_t)4));
    for (int level = 0; level < 3; level++)
        assert_ok(dnnl_set_verbose(level));
    assert_invalid(dnnl_set_verbose(3));
    assert_invalid(dnnl_set_verbose(-1));
    assert_ok(dnnl_get_default_fpmath_mode(&mode));
    assert_int_equal(mode, dnnl_fpmath_mode_strict);
    assert_ok(dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_tf32));
    assert_ok(dnnl_get_default_fpmath_mode(&mode));
    assert_int_equal(mode, dnnl_fpmath_mode_tf32);
    assert_ok(dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_strict));
    assert_invalid(dnnl_set_default_fpmath_mode((dnnl_fpmath_mode_t)5));
    assert_invalid(dnnl_get_default_fpmath_mode(NULL));
}

static void the_constant_cache_has_a_flag_and_capacities(void **state)
{
    (void)state;
    int flag = -1;
    size_t size = 1;
    assert_ok(dnnl_graph_get_constant_tensor_cache(&flag));
    assert_int_equal(flag, 0);
    assert_ok(dnnl_graph_set_constant_tensor_cache(3));
    assert_ok(dnnl_graph_get_constant_tensor_cache(&flag));
    assert_int_equal(flag, 1);
    assert_ok(dnnl_graph_set_constant_tensor_cache(0));
    assert_ok(dnnl_graph_get_constant_tensor_cache_capacity(dnnl_gpu, &size));
    assert_int_equal(size, 0);
    assert_ok(dnnl_graph_set_constant_tensor_cache_capacity(dnnl_cpu, 100));
    assert_ok(dnnl_graph_get_constant_tensor_cache_capacity(dnnl_cpu, &size));
    assert_int_equal(size, 100);
    assert_ok(dnnl_graph_set_constant_tensor_cache_capacity(dnnl_cpu, SIZE_MAX));
    assert_ok(dnnl_graph_get_constant_tensor_cache_capacity(dnnl_cpu, &size));
    assert_true(size == SIZE_MAX / (1 << 20));
    assert_invalid(dnnl_graph_set_constant_tensor_cache(-1));
    assert_invalid(dnnl_graph_get_constant_tensor_cache(NULL));
    assert_invalid(dnnl_graph_set_constant_tensor_cache_capacity(dnnl_any_engine, 1));
    assert_invalid(dnnl_graph_get_constant_tensor_cache_capacity(dnnl_any_engine, &size));
    assert_invalid(dnnl_graph_get_constant_tensor_cache_capacity(dnnl_cpu, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_one_cpu_and_no_gpu),
        cmocka_unit_test(an_engine_that_cannot_be_made_is_a_runtime_error),
        cmocka_unit_test(a_stream_keeps_its_engine),
        cmocka_unit_test(an_allocator_needs_both_functions_or_is_the_default),
        cmocka_unit_test(a_tensor_holds_the_callers_memory),
        cmocka_unit_test(a_tensor_may_own_memory_of_the_engines_allocator),
        cmocka_unit_test(tensors_that_cannot_be_allocated_are_refused),
        cmocka_unit_test(a_scalar_has_no_data_handle_and_no_engine),
        cmocka_unit_test(settings_are_checked_kept_and_reported),
        cmocka_unit_test(the_constant_cache_has_a_flag_and_capacities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
