/* SPDX-License-Identifier: Apache-2.0 */
/* test_lifetimes.c - an allocator, an engine, a stream, a partition, what it is compiled to and its
 * tensors in every order in which they can be created and destroyed (orders.h). */
#include "drop_in.h"
#include "orders.h"

static dnnl_graph_allocator_t allocator;
static dnnl_engine_t engine;
static dnnl_stream_t stream;
static dnnl_graph_partition_t partition;
static dnnl_graph_compiled_partition_t compiled;
static dnnl_graph_tensor_t tensors[3];
static operation relu;
static float src[120], diff_dst[120], diff_src[120];

static void use_nothing(void) {}

static void create_allocator(void)
{
    assert_ok(dnnl_graph_allocator_create(&allocator, NULL, NULL));
}

static void destroy_allocator(void) { assert_ok(dnnl_graph_allocator_destroy(allocator)); }

static void create_engine(void)
{
    assert_ok(dnnl_graph_make_engine_with_allocator(&engine, dnnl_cpu, 0, allocator));
}

static void destroy_engine(void) { assert_ok(dnnl_engine_destroy(engine)); }

static void use_engine(void)
{
    dnnl_engine_kind_t kind = dnnl_any_engine;
    assert_ok(dnnl_engine_get_kind(engine, &kind));
    assert_int_equal(kind, dnnl_cpu);
}

static void create_stream(void)
{
    assert_ok(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
}

static void destroy_stream(void) { assert_ok(dnnl_stream_destroy(stream)); }
static void use_stream(void) { assert_ok(dnnl_stream_wait(stream)); }

static void create_partition(void) { partition = make_partition(&relu); }
static void destroy_partition(void) { assert_ok(dnnl_graph_partition_destroy(partition)); }

static void use_partition(void)
{
    uint8_t supported = 0;
    assert_ok(dnnl_graph_partition_is_supported(partition, &supported));
    assert_int_equal(supported, 1);
}

static void create_compiled(void)
{
    assert_ok(dnnl_graph_compiled_partition_create(&compiled, partition));
    assert_ok(compile(partition, compiled, &relu, engine));
}

static void destroy_compiled(void)
{
    assert_ok(dnnl_graph_compiled_partition_destroy(compiled));
}

/* With a stream and tensors. */
static void use_compiled(void)
{
    const_dnnl_graph_tensor_t inputs[] = { tensors[0], tensors[1] }, outputs[] = { tensors[2] };
    diff_src[119] = 0;
    assert_ok(dnnl_graph_compiled_partition_execute(compiled, stream, 2, inputs, 1, outputs));
    assert_true(diff_src[119] == 7);
}

static void create_tensors(void)
{
    float *data[] = { src, diff_dst, diff_src };
    for (int i = 0; i < 3; i++)
        assert_ok(dnnl_graph_tensor_create(&tensors[i], &relu.tensors[i], engine, data[i]));
}

static void destroy_tensors(void)
{
    for (int i = 0; i < 3; i++)
        assert_ok(dnnl_graph_tensor_destroy(tensors[i]));
}

static void use_tensors(void)
{
    void *data = NULL;
    assert_ok(dnnl_graph_tensor_get_data_handle(tensors[0], &data));
    assert_ptr_equal(data, src);
}

enum { ALLOCATOR = 1, ENGINE = 2, STREAM = 4, PARTITION = 8, TENSORS = 32 };

static void objects_live_and_die_in_every_order(void **state)
{
    (void)state;
    const lifetime objects[] = {
        { create_allocator, destroy_allocator, use_nothing, 0, 0 },
        { create_engine, destroy_engine, use_engine, ALLOCATOR, 0 },
        { create_stream, destroy_stream, use_stream, ENGINE, 0 },
        { create_partition, destroy_partition, use_partition, 0, 0 },
        { create_compiled, destroy_compiled, use_compiled, ENGINE | PARTITION, STREAM | TENSORS },
        { create_tensors, destroy_tensors, use_tensors, ENGINE, 0 },
    };
    relu = elementwise(dnnl_graph_op_relu_backward, block(dnnl_f32));
    src[119] = 1, diff_dst[119] = 7;
    int64_t tried = orders_try_all(objects, (int)COUNT_OF(objects));
    print_message("%lld orders\n", (long long)tried);
    assert_true(tried > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(objects_live_and_die_in_every_order) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
