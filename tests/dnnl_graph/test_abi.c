/* SPDX-License-Identifier: Apache-2.0 */
/* test_abi.c - the numbers and layouts that a program built on oneDNN's headers has compiled in.
 *
 * Almost all of it is checked by the compiler; the values are repeated here on purpose.
 */
#include <stddef.h>

#include "drop_in.h"

#define VALUE(name, number) _Static_assert((int)(name) == (number), #name);

VALUE(dnnl_success, 0)
VALUE(dnnl_out_of_memory, 1)
VALUE(dnnl_invalid_arguments, 2)
VALUE(dnnl_unimplemented, 3)
VALUE(dnnl_last_impl_reached, 4)
VALUE(dnnl_runtime_error, 5)
VALUE(dnnl_not_required, 6)
VALUE(dnnl_invalid_graph, 7)
VALUE(dnnl_invalid_graph_op, 8)
VALUE(dnnl_invalid_shape, 9)
VALUE(dnnl_invalid_data_type, 10)

VALUE(dnnl_data_type_undef, 0)
VALUE(dnnl_f16, 1)
VALUE(dnnl_bf16, 2)
VALUE(dnnl_f32, 3)
VALUE(dnnl_s32, 4)
VALUE(dnnl_s8, 5)
VALUE(dnnl_u8, 6)
VALUE(dnnl_f64, 7)
VALUE(dnnl_boolean, 8)
VALUE(dnnl_f8_e5m2, 9)
VALUE(dnnl_f8_e4m3, 10)
VALUE(dnnl_s4, 11)
VALUE(dnnl_u4, 12)
VALUE(dnnl_e8m0, 13)
VALUE(dnnl_f4_e2m1, 14)
VALUE(dnnl_f4_e3m0, 15)
VALUE(dnnl_s64, 16)
VALUE(dnnl_data_type_max, 0x7fff)

VALUE(dnnl_any_engine, 0)
VALUE(dnnl_cpu, 1)
VALUE(dnnl_gpu, 2)
VALUE(dnnl_stream_in_order, 1)
VALUE(dnnl_stream_out_of_order, 2)
VALUE(dnnl_stream_default_flags, 1)
VALUE(dnnl_stream_flags_max, 0x7fff)
VALUE(dnnl_fpmath_mode_strict, 0)
VALUE(dnnl_fpmath_mode_bf16, 1)
VALUE(dnnl_fpmath_mode_f16, 2)
VALUE(dnnl_fpmath_mode_any, 3)
VALUE(dnnl_fpmath_mode_tf32, 4)
VALUE(dnnl_accumulation_mode_strict, 0)
VALUE(dnnl_accumulation_mode_relaxed, 1)
VALUE(dnnl_accumulation_mode_any, 2)
VALUE(dnnl_accumulation_mode_s32, 3)
VALUE(dnnl_accumulation_mode_f32, 4)
VALUE(dnnl_accumulation_mode_f16, 5)

VALUE(dnnl_graph_layout_type_undef, 0)
VALUE(dnnl_graph_layout_type_any, 1)
VALUE(dnnl_graph_layout_type_strided, 2)
VALUE(dnnl_graph_layout_type_opaque, 3)
VALUE(dnnl_graph_tensor_property_undef, 0)
VALUE(dnnl_graph_tensor_property_variable, 1)
VALUE(dnnl_graph_tensor_property_constant, 2)
VALUE(dnnl_graph_tensor_property_host_scalar, 3)
VALUE(dnnl_graph_partition_policy_fusion, 1)
VALUE(dnnl_graph_partition_policy_debug, 2)
VALUE(dnnl_graph_dump_mode_none, 0)
VALUE(dnnl_graph_dump_mode_subgraph, 1)
VALUE(dnnl_graph_dump_mode_graph, 2)

VALUE(dnnl_graph_op_abs, 0)
VALUE(dnnl_graph_op_abs_backward, 1)
VALUE(dnnl_graph_op_add, 2)
VALUE(dnnl_graph_op_avg_pool, 3)
VALUE(dnnl_graph_op_avg_pool_backward, 4)
VALUE(dnnl_graph_op_batch_norm_backward, 5)
VALUE(dnnl_graph_op_batch_norm_forward_training, 6)
VALUE(dnnl_graph_op_batch_norm_inference, 7)
VALUE(dnnl_graph_op_bias_add, 8)
VALUE(dnnl_graph_op_bias_add_backward, 9)
VALUE(dnnl_graph_op_clamp, 10)
VALUE(dnnl_graph_op_clamp_backward, 11)
VALUE(dnnl_graph_op_concat, 12)
VALUE(dnnl_graph_op_convolution, 13)
VALUE(dnnl_graph_op_convolution_backward_data, 14)
VALUE(dnnl_graph_op_convolution_backward_weights, 15)
VALUE(dnnl_graph_op_conv_transpose, 16)
VALUE(dnnl_graph_op_conv_transpose_backward_data, 17)
VALUE(dnnl_graph_op_conv_transpose_backward_weights, 18)
VALUE(dnnl_graph_op_dequantize, 19)
VALUE(dnnl_graph_op_divide, 20)
VALUE(dnnl_graph_op_dynamic_dequantize, 21)
VALUE(dnnl_graph_op_dynamic_quantize, 22)
VALUE(dnnl_graph_op_elu, 23)
VALUE(dnnl_graph_op_elu_backward, 24)
VALUE(dnnl_graph_op_end, 25)
VALUE(dnnl_graph_op_exp, 26)
VALUE(dnnl_graph_op_gelu, 27)
VALUE(dnnl_graph_op_gelu_backward, 28)
VALUE(dnnl_graph_op_hard_swish, 29)
VALUE(dnnl_graph_op_hard_swish_backward, 30)
VALUE(dnnl_graph_op_interpolate, 31)
VALUE(dnnl_graph_op_interpolate_backward, 32)
VALUE(dnnl_graph_op_layer_norm, 33)
VALUE(dnnl_graph_op_layer_norm_backward, 34)
VALUE(dnnl_graph_op_leaky_relu, 35)
VALUE(dnnl_graph_op_log, 36)
VALUE(dnnl_graph_op_log_softmax, 37)
VALUE(dnnl_graph_op_log_softmax_backward, 38)
VALUE(dnnl_graph_op_matmul, 39)
VALUE(dnnl_graph_op_maximum, 40)
VALUE(dnnl_graph_op_max_pool, 41)
VALUE(dnnl_graph_op_max_pool_backward, 42)
VALUE(dnnl_graph_op_minimum, 43)
VALUE(dnnl_graph_op_mish, 44)
VALUE(dnnl_graph_op_mish_backward, 45)
VALUE(dnnl_graph_op_multiply, 46)
VALUE(dnnl_graph_op_prelu, 47)
VALUE(dnnl_graph_op_prelu_backward, 48)
VALUE(dnnl_graph_op_quantize, 49)
VALUE(dnnl_graph_op_reciprocal, 50)
VALUE(dnnl_graph_op_reduce_l1, 51)
VALUE(dnnl_graph_op_reduce_l2, 52)
VALUE(dnnl_graph_op_reduce_max, 53)
VALUE(dnnl_graph_op_reduce_mean, 54)
VALUE(dnnl_graph_op_reduce_min, 55)
VALUE(dnnl_graph_op_reduce_prod, 56)
VALUE(dnnl_graph_op_reduce_sum, 57)
VALUE(dnnl_graph_op_relu, 58)
VALUE(dnnl_graph_op_relu_backward, 59)
VALUE(dnnl_graph_op_reorder, 60)
VALUE(dnnl_graph_op_round, 61)
VALUE(dnnl_graph_op_sigmoid, 62)
VALUE(dnnl_graph_op_sigmoid_backward, 63)
VALUE(dnnl_graph_op_softmax, 64)
VALUE(dnnl_graph_op_softmax_backward, 65)
VALUE(dnnl_graph_op_softplus, 66)
VALUE(dnnl_graph_op_softplus_backward, 67)
VALUE(dnnl_graph_op_sqrt, 68)
VALUE(dnnl_graph_op_sqrt_backward, 69)
VALUE(dnnl_graph_op_square, 70)
VALUE(dnnl_graph_op_squared_difference, 71)
VALUE(dnnl_graph_op_static_reshape, 72)
VALUE(dnnl_graph_op_static_transpose, 73)
VALUE(dnnl_graph_op_subtract, 74)
VALUE(dnnl_graph_op_tanh, 75)
VALUE(dnnl_graph_op_tanh_backward, 76)
VALUE(dnnl_graph_op_type_cast, 77)
VALUE(dnnl_graph_op_wildcard, 78)
VALUE(dnnl_graph_op_hard_sigmoid, 79)
VALUE(dnnl_graph_op_hard_sigmoid_backward, 80)
VALUE(dnnl_graph_op_select, 81)
VALUE(dnnl_graph_op_pow, 82)
VALUE(dnnl_graph_op_group_norm, 83)
VALUE(dnnl_graph_op_gen_index, 84)
VALUE(dnnl_graph_op_greater_equal, 85)
VALUE(dnnl_graph_op_rms_norm, 86)
VALUE(dnnl_graph_op_dropout, 87)
VALUE(dnnl_graph_op_last_symbol, 88)

VALUE(dnnl_graph_op_attr_undef, 0)
VALUE(dnnl_graph_op_attr_alpha, 1)
VALUE(dnnl_graph_op_attr_beta, 2)
VALUE(dnnl_graph_op_attr_epsilon, 3)
VALUE(dnnl_graph_op_attr_max, 4)
VALUE(dnnl_graph_op_attr_min, 5)
VALUE(dnnl_graph_op_attr_momentum, 6)
VALUE(dnnl_graph_op_attr_scales, 0x20)
VALUE(dnnl_graph_op_attr_axis, 0x30)
VALUE(dnnl_graph_op_attr_begin_norm_axis, 0x31)
VALUE(dnnl_graph_op_attr_groups, 0x32)
VALUE(dnnl_graph_op_attr_axes, 0x40)
VALUE(dnnl_graph_op_attr_dilations, 0x41)
VALUE(dnnl_graph_op_attr_dst_shape, 0x42)
VALUE(dnnl_graph_op_attr_kernel, 0x43)
VALUE(dnnl_graph_op_attr_order, 0x44)
VALUE(dnnl_graph_op_attr_output_padding, 0x45)
VALUE(dnnl_graph_op_attr_pads_begin, 0x46)
VALUE(dnnl_graph_op_attr_pads_end, 0x47)
VALUE(dnnl_graph_op_attr_shape, 0x48)
VALUE(dnnl_graph_op_attr_sizes, 0x49)
VALUE(dnnl_graph_op_attr_src_shape, 0x4a)
VALUE(dnnl_graph_op_attr_strides, 0x4b)
VALUE(dnnl_graph_op_attr_weights_shape, 0x4c)
VALUE(dnnl_graph_op_attr_zps, 0x4d)
VALUE(dnnl_graph_op_attr_group_shape, 0x4e)
VALUE(dnnl_graph_op_attr_exclude_pad, 0x60)
VALUE(dnnl_graph_op_attr_keep_dims, 0x61)
VALUE(dnnl_graph_op_attr_keep_stats, 0x62)
VALUE(dnnl_graph_op_attr_per_channel_broadcast, 0x63)
VALUE(dnnl_graph_op_attr_special_zero, 0x64)
VALUE(dnnl_graph_op_attr_transpose_a, 0x65)
VALUE(dnnl_graph_op_attr_transpose_b, 0x66)
VALUE(dnnl_graph_op_attr_use_affine, 0x67)
VALUE(dnnl_graph_op_attr_use_dst, 0x68)
VALUE(dnnl_graph_op_attr_auto_broadcast, 0x80)
VALUE(dnnl_graph_op_attr_auto_pad, 0x81)
VALUE(dnnl_graph_op_attr_coordinate_transformation_mode, 0x82)
VALUE(dnnl_graph_op_attr_data_format, 0x83)
VALUE(dnnl_graph_op_attr_mode, 0x84)
VALUE(dnnl_graph_op_attr_qtype, 0x85)
VALUE(dnnl_graph_op_attr_rounding_type, 0x86)
VALUE(dnnl_graph_op_attr_weights_format, 0x87)
VALUE(dnnl_graph_op_attr_accumulation_mode, 0x88)
VALUE(dnnl_graph_op_attr_end, 0xFF)

VALUE(DNNL_MAX_NDIMS, 12)
VALUE(DNNL_GRAPH_UNKNOWN_NDIMS, -1)
VALUE(DNNL_RUNTIME_NONE, 0)
VALUE(DNNL_RUNTIME_SEQ, 1)
VALUE(DNNL_RUNTIME_OMP, 2)
VALUE(DNNL_RUNTIME_TBB, 4)
VALUE(DNNL_RUNTIME_THREADPOOL, 8)
VALUE(DNNL_RUNTIME_OCL, 256)
VALUE(DNNL_RUNTIME_SYCL, 512)
VALUE(DNNL_RUNTIME_DPCPP, 512)
VALUE(DNNL_RUNTIME_ZE, 1024)
VALUE(DNNL_VENDOR_NONE, 0)
VALUE(DNNL_VENDOR_INTEL, 1)
VALUE(DNNL_VENDOR_NVIDIA, 2)
VALUE(DNNL_VENDOR_AMD, 4)
VALUE(DNNL_VENDOR_GENERIC, 8)
VALUE(DNNL_CPU_THREADING_RUNTIME, DNNL_RUNTIME_OMP)
VALUE(DNNL_GPU_VENDOR, DNNL_VENDOR_NONE)

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
#define PLACE(type, field, bytes) _Static_assert(offsetof(type, field) == (bytes), #field);

SIZE(dnnl_status_t, 4)
SIZE(dnnl_data_type_t, 4)
SIZE(dnnl_engine_kind_t, 4)
SIZE(dnnl_stream_flags_t, 4)
SIZE(dnnl_fpmath_mode_t, 4)
SIZE(dnnl_accumulation_mode_t, 4)
SIZE(dnnl_graph_layout_type_t, 4)
SIZE(dnnl_graph_tensor_property_t, 4)
SIZE(dnnl_graph_partition_policy_t, 4)
SIZE(dnnl_graph_dump_mode_t, 4)
SIZE(dnnl_graph_op_kind_t, 4)
SIZE(dnnl_graph_op_attr_t, 4)
SIZE(dnnl_dim_t, 8)
SIZE(dnnl_dims_t, 96)

SIZE(dnnl_graph_logical_tensor_t, 224)
PLACE(dnnl_graph_logical_tensor_t, id, 0)
PLACE(dnnl_graph_logical_tensor_t, ndims, 8)
PLACE(dnnl_graph_logical_tensor_t, dims, 16)
PLACE(dnnl_graph_logical_tensor_t, data_type, 112)
PLACE(dnnl_graph_logical_tensor_t, property, 116)
PLACE(dnnl_graph_logical_tensor_t, layout_type, 120)
PLACE(dnnl_graph_logical_tensor_t, layout, 128)
PLACE(dnnl_graph_logical_tensor_t, layout.strides, 128)
PLACE(dnnl_graph_logical_tensor_t, layout.layout_id, 128)

SIZE(dnnl_graph_inplace_pair_t, 16)
PLACE(dnnl_graph_inplace_pair_t, input_id, 0)
PLACE(dnnl_graph_inplace_pair_t, output_id, 8)

SIZE(dnnl_version_t, 32)
PLACE(dnnl_version_t, hash, 16)
PLACE(dnnl_version_t, cpu_runtime, 24)
PLACE(dnnl_version_t, gpu_runtime, 28)

static void pointers_and_large_numbers_are_as_compiled_in(void **state)
{
    (void)state;
    assert_true(DNNL_GRAPH_UNKNOWN_DIM == INT64_MIN);
    assert_true(DNNL_MEMORY_NONE == NULL);
    assert_true((uintptr_t)DNNL_MEMORY_ALLOCATE == UINTPTR_MAX);
}

static void the_version_is_that_of_the_headers(void **state)
{
    (void)state;
    const dnnl_version_t *version = dnnl_version();
    assert_int_equal(version->major, 3);
    assert_int_equal(version->major, DNNL_VERSION_MAJOR);
    assert_int_equal(version->minor, DNNL_VERSION_MINOR);
    assert_int_equal(version->patch, DNNL_VERSION_PATCH);
    assert_string_equal(version->hash, "vjp");
    assert_int_equal(version->cpu_runtime, DNNL_CPU_RUNTIME);
    assert_int_equal(version->gpu_runtime, DNNL_RUNTIME_NONE);
}

static void every_status_has_its_name(void **state)
{
    (void)state;
    static const char *const names[] = {
        "success",           "out_of_memory", "invalid_arguments", "unimplemented",
        "last_impl_reached", "runtime_error", "not_required",      "invalid_graph",
        "invalid_graph_op",  "invalid_shape", "invalid_data_type",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_string_equal(dnnl_status2str((dnnl_status_t)i), names[i]);
    assert_string_equal(dnnl_status2str((dnnl_status_t)11), "unknown status");
    assert_string_equal(dnnl_status2str((dnnl_status_t)-1), "unknown status");
}

static void every_type_of_the_graph_api_has_its_name(void **state)
{
    (void)state;
    static const char *const dtypes[] = {
        "undef",   "f16",     "bf16",    "f32", "s32", "s8",   "u8",       "f64",      "boolean",
        "f8_e5m2", "f8_e4m3", "s4",      "u4",  "e8m0", "f4_e2m1", "f4_e3m0", "s64",
    };
    static const char *const kinds[] = { "any", "cpu", "gpu" };
    static const char *const modes[] = { "strict", "bf16", "f16", "any", "tf32" };
    static const char *const sums[] = { "strict", "relaxed", "any", "s32", "f32", "f16" };
    for (size_t i = 0; i < COUNT_OF(dtypes); i++)
        assert_string_equal(dnnl_dt2str((dnnl_data_type_t)i), dtypes[i]);
    assert_string_equal(dnnl_dt2str((dnnl_data_type_t)17), "unknown dt");
    assert_string_equal(dnnl_dt2str(dnnl_data_type_max), "data_type_max");
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        assert_string_equal(dnnl_engine_kind2str((dnnl_engine_kind_t)i), kinds[i]);
    assert_string_equal(dnnl_engine_kind2str((dnnl_engine_kind_t)3), "unknown engine_kind");
    for (size_t i = 0; i < COUNT_OF(modes); i++)
        assert_string_equal(dnnl_fpmath_mode2str((dnnl_fpmath_mode_t)i), modes[i]);
    assert_string_equal(dnnl_fpmath_mode2str((dnnl_fpmath_mode_t)5), "unknown fpmath_mode");
    for (size_t i = 0; i < COUNT_OF(sums); i++)
        assert_string_equal(dnnl_accumulation_mode2str((dnnl_accumulation_mode_t)i), sums[i]);
    assert_string_equal(dnnl_accumulation_mode2str((dnnl_accumulation_mode_t)-1),
                        "unknown accumulation_mode");
}

static void every_runtime_has_its_name(void **state)
{
    (void)state;
    assert_string_equal(dnnl_runtime2str(DNNL_RUNTIME_NONE), "none");
    assert_string_equal(dnnl_runtime2str(DNNL_RUNTIME_SEQ), "sequential");
    assert_string_equal(dnnl_runtime2str(DNNL_RUNTIME_OMP), "OpenMP");
    assert_string_equal(dnnl_runtime2str(DNNL_RUNTIME_TBB), "TBB");
    assert_string_equal(dnnl_runtime2str(DNNL_RUNTIME_THREADPOOL), "threadpool");
    assert_string_equal(dnnl_runtime2str(DNNL_RUNTIME_OCL), "OpenCL");
    assert_string_equal(dnnl_runtime2str(3), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_and_large_numbers_are_as_compiled_in),
        cmocka_unit_test(the_version_is_that_of_the_headers),
        cmocka_unit_test(every_status_has_its_name),
        cmocka_unit_test(every_type_of_the_graph_api_has_its_name),
        cmocka_unit_test(every_runtime_has_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
