/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - the numbers of vjp.h that a compiled program has in it: constants, sizes, places.
 *
 * Valid as C11 and as C++11, and checked by the compiler alone. The numbers are repeated here on
 * purpose: changing one breaks programs that are not recompiled, so it should take two edits. They
 * hold wherever pointers have 64 bits. docs/versioning.md has the rules.
 */
#include <vjp/vjp.h>

#include <assert.h>

#define VALUE(name, number) static_assert((int)(name) == (number), #name)
#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type)
#define PLACE(type, field, bytes) static_assert(offsetof(type, field) == (bytes), #type "." #field)

VALUE(VJP_OK, 0);
VALUE(VJP_BAD_ARGUMENT, 1);
VALUE(VJP_BAD_OP, 2);
VALUE(VJP_BAD_ATTRIBUTE, 3);
VALUE(VJP_BAD_DTYPE, 4);
VALUE(VJP_BAD_SHAPE, 5);
VALUE(VJP_BAD_STRIDES, 6);
VALUE(VJP_BAD_ALIAS, 7);
VALUE(VJP_BAD_ALIGNMENT, 8);
VALUE(VJP_BAD_WORKSPACE, 9);
VALUE(VJP_TOO_LARGE, 10);
VALUE(VJP_NO_MEMORY, 11);
VALUE(VJP_NO_DEVICE, 12);
VALUE(VJP_DEVICE_ERROR, 13);

VALUE(VJP_CPU, 0);
VALUE(VJP_CUDA, 1);

VALUE(VJP_F64, 1);
VALUE(VJP_F32, 2);
VALUE(VJP_F16, 3);
VALUE(VJP_BF16, 4);
VALUE(VJP_S32, 5);
VALUE(VJP_S64, 6);
VALUE(VJP_U8, 7);

VALUE(VJP_ATTR_BOOL, 1);
VALUE(VJP_ATTR_S64, 2);
VALUE(VJP_ATTR_F32, 3);
VALUE(VJP_ATTR_STR, 4);
VALUE(VJP_ATTR_F64, 5);

VALUE(VJP_DTYPE_SAME, 1);
VALUE(VJP_DTYPE_WIDE, 2);
VALUE(VJP_DTYPE_ANY, 3);
VALUE(VJP_DTYPE_STAT, 4);
VALUE(VJP_DTYPE_INDEX, 5);
VALUE(VJP_DTYPE_MASK, 6);

VALUE(VJP_SHAPE_DATA, 1);
VALUE(VJP_SHAPE_PARAM, 2);
VALUE(VJP_SHAPE_ROW, 3);

VALUE(VJP_TENSOR_OPTIONAL, 1);
VALUE(VJP_TENSOR_SUM, 2);
VALUE(VJP_TENSOR_LABEL, 4);
VALUE(VJP_TENSOR_END, 8);

VALUE(VJP_ROLE_HINT, 1);
VALUE(VJP_ROLE_CHOICE, 2);
VALUE(VJP_ROLE_FLAG, 3);
VALUE(VJP_ROLE_CONSTANT, 4);
VALUE(VJP_ROLE_AXIS, 5);
VALUE(VJP_ROLE_AXES, 6);
VALUE(VJP_ROLE_FORMAT, 7);
VALUE(VJP_ROLE_CAUSAL, 8);
VALUE(VJP_ROLE_IGNORED, 9);
VALUE(VJP_ROLE_CHANNELS, 10);
VALUE(VJP_ROLE_LENIENT, 11);

VALUE(VJP_MAX_DIMS, 12);
VALUE(VJP_REASON_SIZE, 256);

SIZE(vjp_status, 4);
SIZE(vjp_device, 4);
SIZE(vjp_dtype, 4);
SIZE(vjp_attr_type, 4);
SIZE(vjp_dtype_rule, 4);
SIZE(vjp_shape_rule, 4);
SIZE(vjp_tensor_flags, 4);
SIZE(vjp_attr_role, 4);

SIZE(vjp_context_options, 72);
PLACE(vjp_context_options, struct_size, 0);
PLACE(vjp_context_options, device, 8);
PLACE(vjp_context_options, device_id, 12);
PLACE(vjp_context_options, num_threads, 16);
PLACE(vjp_context_options, parallel_for, 24);
PLACE(vjp_context_options, parallel_for_user, 32);
PLACE(vjp_context_options, allocate, 40);
PLACE(vjp_context_options, deallocate, 48);
PLACE(vjp_context_options, allocator_user, 56);
PLACE(vjp_context_options, isa, 64);

SIZE(vjp_tensor, 208);
PLACE(vjp_tensor, struct_size, 0);
PLACE(vjp_tensor, dtype, 8);
PLACE(vjp_tensor, ndim, 12);
PLACE(vjp_tensor, shape, 16);
PLACE(vjp_tensor, strides, 112);

SIZE(vjp_attr, 24);
PLACE(vjp_attr, name, 0);
PLACE(vjp_attr, type, 8);
PLACE(vjp_attr, value, 16);
PLACE(vjp_attr, value.b, 16);
PLACE(vjp_attr, value.s64, 16);
PLACE(vjp_attr, value.f32, 16);
PLACE(vjp_attr, value.f64, 16);
PLACE(vjp_attr, value.str, 16);

SIZE(vjp_op_info, 48);
PLACE(vjp_op_info, struct_size, 0);
PLACE(vjp_op_info, name, 8);
PLACE(vjp_op_info, title, 16);
PLACE(vjp_op_info, formula, 24);
PLACE(vjp_op_info, ninputs, 32);
PLACE(vjp_op_info, noutputs, 36);
PLACE(vjp_op_info, nattrs, 40);
PLACE(vjp_op_info, nbounds, 44);

SIZE(vjp_tensor_info, 32);
PLACE(vjp_tensor_info, struct_size, 0);
PLACE(vjp_tensor_info, name, 8);
PLACE(vjp_tensor_info, dtype_rule, 16);
PLACE(vjp_tensor_info, shape_rule, 20);
PLACE(vjp_tensor_info, flags, 24);

SIZE(vjp_attr_info, 72);
PLACE(vjp_attr_info, struct_size, 0);
PLACE(vjp_attr_info, name, 8);
PLACE(vjp_attr_info, type, 16);
PLACE(vjp_attr_info, role, 20);
PLACE(vjp_attr_info, required, 24);
PLACE(vjp_attr_info, default_value, 32);
PLACE(vjp_attr_info, choices, 56);
PLACE(vjp_attr_info, meaning, 64);

SIZE(vjp_bound_info, 64);
PLACE(vjp_bound_info, struct_size, 0);
PLACE(vjp_bound_info, output, 8);
PLACE(vjp_bound_info, choice, 16);
PLACE(vjp_bound_info, dtypes, 20);
PLACE(vjp_bound_info, ulp, 24);
PLACE(vjp_bound_info, unit_ulp, 32);
PLACE(vjp_bound_info, c, 40);
PLACE(vjp_bound_info, magnitude, 48);
PLACE(vjp_bound_info, text, 56);
