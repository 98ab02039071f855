/* SPDX-License-Identifier: Apache-2.0 */
/* test_logical_tensors.c - descriptions of tensors: how they are made, measured and compared, and
 * what they refuse to be. */
#include "drop_in.h"

static const dnnl_graph_tensor_property_t variable = dnnl_graph_tensor_property_variable;
static const dnnl_graph_tensor_property_t scalar = dnnl_graph_tensor_property_host_scalar;
static const dnnl_graph_layout_type_t in_strides = dnnl_graph_layout_type_strided;
static const dnnl_graph_layout_type_t in_any = dnnl_graph_layout_type_any;

static void a_tensor_of_unknown_dims_says_so(void **state)
{
    (void)state;
    logical_tensor lt;
    assert_ok(dnnl_graph_logical_tensor_init(&lt, 7, dnnl_bf16, 3, in_strides, variable));
    assert_int_equal(lt.id, 7);
    assert_int_equal(lt.ndims, 3);
    assert_int_equal(lt.data_type, dnnl_bf16);
    assert_int_equal(lt.property, variable);
    assert_int_equal(lt.layout_type, in_strides);
    for (int i = 0; i < DNNL_MAX_NDIMS; i++) {
        assert_true(lt.dims[i] == UNKNOWN);
        assert_true(lt.layout.strides[i] == UNKNOWN);
    }
    assert_true(bytes_of(&lt) == SIZE_MAX);
    assert_ok(dnnl_graph_logical_tensor_init(&lt, 7, dnnl_f32, -1, in_any, variable));
    assert_int_equal(lt.ndims, DNNL_GRAPH_UNKNOWN_NDIMS);
    assert_true(bytes_of(&lt) == SIZE_MAX);
    assert_ok(dnnl_graph_logical_tensor_init(&lt, 7, dnnl_f32, 0, in_strides, variable));
    assert_true(lt.dims[0] == 0 && lt.layout.strides[0] == 0);
    assert_int_equal(bytes_of(&lt), 4);
}

static void strides_are_dense_if_every_dim_is_known(void **state)
{
    (void)state;
    logical_tensor lt = dense(1, dnnl_f32, 4, (int64_t[]){ 2, 3, 4, 5 });
    const int64_t wanted[] = { 60, 20, 5, 1 };
    assert_memory_equal(lt.layout.strides, wanted, sizeof(wanted));
    assert_int_equal(bytes_of(&lt), 480);
    lt = dense(1, dnnl_f32, 3, (int64_t[]){ 2, 0, 3 });
    const int64_t wanted_empty[] = { 3, 3, 1 };
    assert_memory_equal(lt.layout.strides, wanted_empty, sizeof(wanted_empty));
    assert_int_equal(bytes_of(&lt), 0);
    lt = dense(1, dnnl_f32, 2, (int64_t[]){ UNKNOWN, 3 });
    assert_true(lt.layout.strides[0] == UNKNOWN && lt.layout.strides[1] == UNKNOWN);
}

static void sizes_count_padding_and_never_less_than_the_span(void **state)
{
    (void)state;
    logical_tensor lt = strided(1, dnnl_f32, 2, (int64_t[]){ 3, 2 }, (int64_t[]){ 8, 1 });
    assert_int_equal(bytes_of(&lt), 3 * 8 * 4);
    lt = strided(1, dnnl_f16, 2, (int64_t[]){ 1, 2 }, (int64_t[]){ 99, 1 });
    assert_int_equal(bytes_of(&lt), 2 * 2);
    lt = strided(1, dnnl_u8, 2, (int64_t[]){ 3, 2 }, (int64_t[]){ 2, 3 });
    assert_int_equal(bytes_of(&lt), 8); /* 0 3 2 5 4 7 */
    lt = strided(1, dnnl_f64, 2, (int64_t[]){ INT64_MAX, 2 }, (int64_t[]){ INT64_MAX, 1 });
    assert_true(bytes_of(&lt) == SIZE_MAX);
    lt = with_layout_any(dense(1, dnnl_f32, 1, (int64_t[]){ 4 }));
    assert_true(bytes_of(&lt) == SIZE_MAX);
}

static void two_elements_of_4_bits_share_a_byte(void **state)
{
    (void)state;
    static const dnnl_data_type_t narrow[] = { dnnl_s4, dnnl_u4, dnnl_f4_e2m1, dnnl_f4_e3m0 };
    for (size_t i = 0; i < COUNT_OF(narrow); i++) {
        logical_tensor lt = dense(1, narrow[i], 2, (int64_t[]){ 4, 6 });
        assert_int_equal(bytes_of(&lt), 12);
        lt = dense(1, narrow[i], 2, (int64_t[]){ 3, 5 });
        assert_int_equal(bytes_of(&lt), 8);
        lt = dense(1, narrow[i], 0, NULL);
        assert_int_equal(bytes_of(&lt), 1);
        lt = dense(1, narrow[i], 1, (int64_t[]){ INT64_MAX });
        assert_true(bytes_of(&lt) == (size_t)1 << 62);
    }
}

static void negative_strides_are_refused(void **state)
{
    (void)state;
    const dnnl_dims_t dims = { 4, 1 }, backwards = { -1, 1 }, of_dim_1 = { 1, -1 };
    const dnnl_dims_t unknown = { UNKNOWN, 1 };
    logical_tensor lt, before;
    before = lt = dense(9, dnnl_f32, 2, dims);
    assert_invalid(dnnl_graph_logical_tensor_init_with_strides(&lt, 0, dnnl_f32, 2, dims, backwards,
                                                               variable));
    assert_invalid(dnnl_graph_logical_tensor_init_with_strides(&lt, 0, dnnl_f32, 2, dims, of_dim_1,
                                                               variable));
    assert_memory_equal(&lt, &before, sizeof(lt));
    lt.layout.strides[0] = -1; /* written directly */
    assert_true(bytes_of(&lt) == SIZE_MAX);
    assert_ok(dnnl_graph_logical_tensor_init_with_strides(&lt, 0, dnnl_f32, 2, dims, unknown,
                                                          variable));
}

static void logical_tensors_refuse_what_they_cannot_be(void **state)
{
    (void)state;
    logical_tensor lt;
    size_t size;
    const dnnl_dims_t dims = { 1, 2, 3 }, huge = { INT64_MAX, INT64_MAX, 3 };
    assert_invalid(dnnl_graph_logical_tensor_init(NULL, 0, dnnl_f32, 1, in_any, variable));
    assert_invalid(dnnl_graph_logical_tensor_init(&lt, 0, dnnl_f32, 13, in_any, variable));
    assert_invalid(dnnl_graph_logical_tensor_init(&lt, 0, dnnl_f32, 1, in_strides, scalar));
    assert_invalid(dnnl_graph_logical_tensor_init(&lt, 0, dnnl_f16, 0, in_strides, scalar));
    assert_invalid(
        dnnl_graph_logical_tensor_init_with_dims(&lt, 0, dnnl_f32, -1, dims, in_strides, variable));
    assert_invalid(
        dnnl_graph_logical_tensor_init_with_dims(&lt, 0, dnnl_f32, 13, dims, in_strides, variable));
    assert_invalid(
        dnnl_graph_logical_tensor_init_with_dims(&lt, 0, dnnl_f32, 3, NULL, in_strides, variable));
    assert_invalid(
        dnnl_graph_logical_tensor_init_with_dims(NULL, 0, dnnl_f32, 3, dims, in_strides, variable));
    assert_invalid(
        dnnl_graph_logical_tensor_init_with_dims(&lt, 0, dnnl_f32, 3, huge, in_strides, variable));
    assert_invalid(
        dnnl_graph_logical_tensor_init_with_strides(&lt, 0, dnnl_f32, 3, dims, NULL, variable));
    assert_invalid(
        dnnl_graph_logical_tensor_init_with_strides(&lt, 0, dnnl_f32, 3, NULL, dims, variable));
    assert_invalid(
        dnnl_graph_logical_tensor_init_with_strides(NULL, 0, dnnl_f32, 3, dims, dims, variable));
    assert_invalid(dnnl_graph_logical_tensor_get_mem_size(NULL, &size));
    lt = dense(0, dnnl_f32, 1, dims);
    assert_invalid(dnnl_graph_logical_tensor_get_mem_size(&lt, NULL));
}

static void equality_looks_at_every_field(void **state)
{
    (void)state;
    const logical_tensor lt = dense(3, dnnl_f32, 2, (int64_t[]){ 2, 3 });
    logical_tensor other = lt;
    uint8_t equal;
    assert_true(are_equal(&lt, &other));
    other = with_id(lt, 4);
    assert_false(are_equal(&lt, &other));
    other = dense(3, dnnl_bf16, 2, (int64_t[]){ 2, 3 });
    assert_false(are_equal(&lt, &other));
    other = dense(3, dnnl_f32, 3, (int64_t[]){ 2, 3, 1 });
    assert_false(are_equal(&lt, &other));
    other = dense(3, dnnl_f32, 2, (int64_t[]){ 4, 3 });
    assert_false(are_equal(&lt, &other));
    other = strided(3, dnnl_f32, 2, (int64_t[]){ 2, 3 }, (int64_t[]){ 1, 2 });
    assert_false(are_equal(&lt, &other));
    other = strided(3, dnnl_f32, 2, (int64_t[]){ 2, 3 }, (int64_t[]){ 3, 1 });
    assert_true(are_equal(&lt, &other));
    other.property = dnnl_graph_tensor_property_constant;
    assert_false(are_equal(&lt, &other));
    other = with_layout_any(lt);
    assert_false(are_equal(&lt, &other));
    assert_true(are_equal(&other, &other));
    assert_invalid(dnnl_graph_logical_tensor_is_equal(NULL, &lt, &equal));
    assert_invalid(dnnl_graph_logical_tensor_is_equal(&lt, NULL, &equal));
    assert_invalid(dnnl_graph_logical_tensor_is_equal(&lt, &lt, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_of_unknown_dims_says_so),
        cmocka_unit_test(strides_are_dense_if_every_dim_is_known),
        cmocka_unit_test(sizes_count_padding_and_never_less_than_the_span),
        cmocka_unit_test(two_elements_of_4_bits_share_a_byte),
        cmocka_unit_test(negative_strides_are_refused),
        cmocka_unit_test(logical_tensors_refuse_what_they_cannot_be),
        cmocka_unit_test(equality_looks_at_every_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
