/* SPDX-License-Identifier: Apache-2.0 */
/* test_api.c - what the header promises besides results and refusals: version, names, the
 * enumeration of operators, descriptions of tensors. Contexts and plans: test_contexts.c.
 */
#include <stdlib.h>
#include <string.h>

#include "dtypes.h"
#include "unit.h"

/* ---- names -------------------------------------------------------------------------------- */

static void the_version_is_that_of_the_header(void **state)
{
    (void)state;
    assert_int_equal(vjp_version(),
                     VJP_VERSION_MAJOR * 10000 + VJP_VERSION_MINOR * 100 + VJP_VERSION_PATCH);
}

static void every_status_has_its_name(void **state)
{
    (void)state;
    static const char *const names[] = {
        "VJP_OK",
        "VJP_BAD_ARGUMENT",
        "VJP_BAD_OP",
        "VJP_BAD_ATTRIBUTE",
        "VJP_BAD_DTYPE",
        "VJP_BAD_SHAPE",
        "VJP_BAD_STRIDES",
        "VJP_BAD_ALIAS",
        "VJP_BAD_ALIGNMENT",
        "VJP_BAD_WORKSPACE",
        "VJP_TOO_LARGE",
        "VJP_NO_MEMORY",
        "VJP_NO_DEVICE",
        "VJP_DEVICE_ERROR",
    };
    for (int i = 0; i < COUNT_OF(names); i++)
        assert_string_equal(vjp_status_string((vjp_status)i), names[i]);
    assert_string_equal(vjp_status_string((vjp_status)COUNT_OF(names)), "VJP_UNKNOWN");
    assert_string_equal(vjp_status_string((vjp_status)-1), "VJP_UNKNOWN");
}

static void every_dtype_has_its_name_and_size(void **state)
{
    (void)state;
    assert_string_equal(vjp_dtype_name(VJP_F64), "f64");
    assert_string_equal(vjp_dtype_name(VJP_F32), "f32");
    assert_string_equal(vjp_dtype_name(VJP_F16), "f16");
    assert_string_equal(vjp_dtype_name(VJP_BF16), "bf16");
    assert_int_equal(vjp_dtype_size(VJP_F64), 8);
    assert_int_equal(vjp_dtype_size(VJP_F32), 4);
    assert_int_equal(vjp_dtype_size(VJP_F16), 2);
    assert_int_equal(vjp_dtype_size(VJP_BF16), 2);
    assert_string_equal(vjp_dtype_name(VJP_S32), "s32");
    assert_string_equal(vjp_dtype_name(VJP_S64), "s64");
    assert_string_equal(vjp_dtype_name(VJP_U8), "u8");
    assert_int_equal(vjp_dtype_size(VJP_S32), 4);
    assert_int_equal(vjp_dtype_size(VJP_S64), 8);
    assert_int_equal(vjp_dtype_size(VJP_U8), 1);
    assert_null(vjp_dtype_name((vjp_dtype)0));
    assert_null(vjp_dtype_name((vjp_dtype)99));
    assert_int_equal(vjp_dtype_size((vjp_dtype)-1), 0);
}

/* ---- the enumeration ---------------------------------------------------------------------- */

static void the_enumeration_is_consistent(void **state)
{
    (void)state;
    assert_null(vjp_op_at(-1));
    assert_null(vjp_op_at(vjp_op_count()));
    assert_null(vjp_op_find("no_such_operator"));
    assert_null(vjp_op_find(NULL));
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        const vjp_op_info *op = vjp_op_at(i);
        assert_ptr_equal(vjp_op_find(op->name), op); /* so names are unique, too */
        assert_true(op->struct_size >= sizeof *op);
        assert_true(strlen(op->title) > 0 && strlen(op->formula) > 0);
        assert_true(op->ninputs > 0 && op->noutputs > 0);
        assert_null(vjp_op_tensor(op, -1));
        assert_null(vjp_op_tensor(op, op->ninputs + op->noutputs));
        assert_null(vjp_op_attr(op, -1));
        assert_null(vjp_op_attr(op, op->nattrs));
        assert_null(vjp_op_bound(op, -1));
        assert_null(vjp_op_bound(op, op->nbounds));
    }
    assert_null(vjp_op_tensor(NULL, 0));
    assert_null(vjp_op_attr(NULL, 0));
    assert_null(vjp_op_bound(NULL, 0));
}

/* What an operator announces, in words: "name:rules" for tensors, where D is the data's shape, P a
 * parameter's, = the call's dtype, ~ that or f32, + a sum, ? optional; "name:type:role:default" for
 * attributes. */
typedef struct announcement {
    const char *op, *title, *inputs, *outputs, *attrs;
} announcement;

static const announcement announcements[] = {
    { "relu_backward", "ReLUBackward",
      "src:D= diff_dst:D=", "diff_src:D=", "use_dst:bool:hint:true" },
    { "sigmoid_backward", "SigmoidBackward",
      "src:D= diff_dst:D=", "diff_src:D=", "use_dst:bool:choice:false" },
    { "hard_sigmoid_backward", "HardSigmoidBackward", "src:D= diff_dst:D=", "diff_src:D=",
      "alpha:f64:constant:required beta:f64:constant:required" },
    { "prelu_backward", "PReLUBackward", "src:D= slope:P~ diff_dst:D=",
      "diff_src:D= diff_slope:P~+?", "data_format:str(NCX|NXC):format:NXC" },
    { "prelu", "PReLU", "src:D= slope:P~",
      "dst:D=", "data_format:str(NCX|NXC):format:NXC per_channel_broadcast:bool:channels:true" },
    { "clamp", "Clamp", "src:D=", "dst:D=", "min:f64:constant:required max:f64:constant:required" },
    { "clamp_backward", "ClampBackward", "src:D= diff_dst:D=", "diff_src:D=",
      "use_dst:bool:hint:false min:f64:constant:required max:f64:constant:required" },
    { "sqrt_backward", "SqrtBackward",
      "src:D= diff_dst:D=", "diff_src:D=", "use_dst:bool:choice:false" },
    { "softmax_backward", "SoftMaxBackward", "diff_dst:D= dst:D= mask:P~? length:P~?",
      "diff_src:D~", "axis:s64:axis:1 scale:f64:constant:some number causal:bool:causal:false" },
    { "layer_norm_backward", "LayerNormBackward", "src:D= gamma:P~? mean:P~? rstd:P~? diff_dst:D=",
      "diff_src:D=? diff_gamma:P~+? diff_beta:P~+?",
      "axis:s64:axes:not 1 epsilon:f64:constant:some number "
      "statistics:str(rstd|variance|deviation):flag:rstd" },
    { "cross_entropy_fused", "CrossEntropyFused", "src:D= label:P~ weight:P~? diff_loss:P~?",
      "loss:P~ diff_src:D=",
      "axis:s64:axis:1 ignore_index:s64:ignored:not 1 label_smoothing:f64:constant:some number "
      "z_loss:f64:constant:some number lenient:bool:lenient:false" },
};

static void describe_tensors(const vjp_op_info *op, int32_t from, int32_t to, char *text)
{
    *text = '\0';
    for (int32_t t = from; t < to; t++) {
        const vjp_tensor_info *tensor = vjp_op_tensor(op, t);
        assert_true(tensor->struct_size >= sizeof *tensor);
        strcat(strcat(text, t > from ? " " : ""), tensor->name);
        strcat(text, tensor->shape_rule == VJP_SHAPE_DATA ? ":D" : ":P");
        strcat(text, tensor->dtype_rule == VJP_DTYPE_SAME ? "=" : "~");
        strcat(text, tensor->flags & VJP_TENSOR_SUM ? "+" : "");
        strcat(text, tensor->flags & VJP_TENSOR_OPTIONAL ? "?" : "");
    }
}

static const char *default_in_words(const vjp_attr_info *attr)
{
    if (attr->required)
        return "required";
    switch (attr->type) {
    case VJP_ATTR_BOOL:
        return attr->default_value.value.b ? "true" : "false";
    case VJP_ATTR_S64:
        return attr->default_value.value.s64 == 1 ? "1" : "not 1";
    case VJP_ATTR_STR:
        return attr->default_value.value.str;
    default:
        return "some number";
    }
}

static void describe_attrs(const vjp_op_info *op, char *text)
{
    static const char *const types[] = { "none", "bool", "s64", "f32", "str", "f64" };
    static const char *const roles[] = { "none", "hint", "choice", "flag", "constant", "axis",
                                         "axes", "format", "causal", "ignored", "channels",
                                         "lenient" };
    *text = '\0';
    for (int32_t i = 0; i < op->nattrs; i++) {
        const vjp_attr_info *attr = vjp_op_attr(op, i);
        assert_true(attr->struct_size >= sizeof *attr);
        if (!attr->required)
            assert_string_equal(attr->default_value.name, attr->name);
        strcat(strcat(strcat(text, i > 0 ? " " : ""), attr->name), ":");
        strcat(text, types[attr->type]);
        if (attr->choices != NULL)
            strcat(strcat(strcat(text, "("), attr->choices), ")");
        strcat(strcat(text, ":"), roles[attr->role]);
        strcat(strcat(text, ":"), default_in_words(attr));
    }
}

static void the_operators_are_those_of_the_documents(void **state)
{
    (void)state;
    char text[512];
    for (int64_t i = 0; i < COUNT_OF(announcements); i++) {
        const vjp_op_info *op = vjp_op_find(announcements[i].op);
        assert_non_null(op);
        assert_string_equal(op->title, announcements[i].title);
        describe_tensors(op, 0, op->ninputs, text);
        assert_string_equal(text, announcements[i].inputs);
        describe_tensors(op, op->ninputs, op->ninputs + op->noutputs, text);
        assert_string_equal(text, announcements[i].outputs);
        describe_attrs(op, text);
        assert_string_equal(text, announcements[i].attrs);
    }
}

static void tensors_are_found_by_name(void **state)
{
    (void)state;
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        const vjp_op_info *op = vjp_op_at(i);
        for (int32_t t = 0; t < op->ninputs + op->noutputs; t++) /* so names are unique, too */
            assert_int_equal(vjp_op_tensor_index(op, vjp_op_tensor(op, t)->name), t);
        assert_int_equal(vjp_op_tensor_index(op, "no_such_tensor"), -1);
        assert_int_equal(vjp_op_tensor_index(op, ""), -1);
        assert_int_equal(vjp_op_tensor_index(op, NULL), -1);
    }
    assert_int_equal(vjp_op_tensor_index(NULL, "src"), -1);
}

/* Bounds of an output for data of this dtype and this value of the operator's choice. */
static int bounds_of(const vjp_op_info *op, const char *output, vjp_dtype dtype, int32_t choice)
{
    int n = 0;
    for (int32_t i = 0; i < op->nbounds; i++) {
        const vjp_bound_info *bound = vjp_op_bound(op, i);
        n += strcmp(bound->output, output) == 0 && bound->dtypes >> dtype & 1 &&
             (bound->choice < 0 || bound->choice == choice);
    }
    return n;
}

static int has_choice(const vjp_op_info *op)
{
    for (int32_t i = 0; i < op->nattrs; i++)
        if (vjp_op_attr(op, i)->role == VJP_ROLE_CHOICE)
            return 1;
    return 0;
}

/* Exactly one, for every output, dtype and choice. */
static void every_output_has_a_bound(void **state)
{
    (void)state;
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        const vjp_op_info *op = vjp_op_at(i);
        for (int32_t t = op->ninputs; t < op->ninputs + op->noutputs; t++)
            for (int64_t d = 0; d < COUNT_OF(all_dtypes); d++)
                for (int32_t choice = 0; choice <= has_choice(op); choice++) {
                    const char *output = vjp_op_tensor(op, t)->name;
                    int n = bounds_of(op, output, all_dtypes[d], choice);
                    if (n != 1)
                        fail_msg("%s, %s, %s, choice %d: %d bounds", op->name, output,
                                 vjp_dtype_name(all_dtypes[d]), (int)choice, n);
                }
    }
}

static void bounds_are_numbers_and_words(void **state)
{
    (void)state;
    for (int32_t i = 0; i < vjp_op_count(); i++)
        for (int32_t b = 0; b < vjp_op_at(i)->nbounds; b++) {
            const vjp_op_info *op = vjp_op_at(i);
            const vjp_bound_info *bound = vjp_op_bound(op, b);
            assert_true(bound->struct_size >= sizeof *bound);
            assert_true(vjp_op_tensor_index(op, bound->output) >= op->ninputs);
            assert_true(bound->dtypes != 0);
            assert_true(bound->choice >= -1 && bound->choice <= has_choice(op));
            assert_true(bound->ulp >= bound->unit_ulp && bound->unit_ulp >= 0);
            assert_int_equal(bound->c > 0, bound->magnitude != NULL);
            assert_true(bound->magnitude == NULL || bound->ulp == 0);
            assert_true(strlen(bound->text) > 0);
        }
}

/* ---- tensors ------------------------------------------------------------------------------ */

static void check_tensor(const vjp_tensor *tensor, vjp_dtype dtype, int32_t ndim,
                         const int64_t *shape, const int64_t *strides)
{
    assert_int_equal(tensor->struct_size, sizeof *tensor);
    assert_int_equal(tensor->dtype, dtype);
    assert_int_equal(tensor->ndim, ndim);
    for (int32_t d = 0; d < ndim; d++) {
        assert_int_equal(tensor->shape[d], shape[d]);
        assert_int_equal(tensor->strides[d], strides[d]);
    }
}

static void tensors_are_described_as_asked(void **state)
{
    (void)state;
    const int64_t shape[] = { 2, 3, 4 }, strides[] = { -1, 0, 77 };
    vjp_tensor tensor;
    assert_status(VJP_OK, vjp_tensor_contiguous(VJP_BF16, 3, shape, &tensor), NULL);
    check_tensor(&tensor, VJP_BF16, 3, shape, (int64_t[]){ 12, 4, 1 });
    assert_status(VJP_OK, vjp_tensor_strided(VJP_F64, 3, shape, strides, &tensor), NULL);
    check_tensor(&tensor, VJP_F64, 3, shape, strides);
    assert_status(VJP_OK, vjp_tensor_contiguous(VJP_F32, 0, NULL, &tensor), NULL);
    check_tensor(&tensor, VJP_F32, 0, NULL, NULL);
    assert_status(VJP_OK, vjp_tensor_contiguous(VJP_F32, 2, (int64_t[]){ 0, 5 }, &tensor), NULL);
    assert_int_equal(tensor.shape[0], 0);
}

/* Both ways to describe a tensor refuse, and leave what was there. */
static void description_refused(vjp_status status, vjp_dtype dtype, int32_t ndim,
                                const int64_t *shape)
{
    const int64_t strides[VJP_MAX_DIMS + 1] = { 1 };
    vjp_tensor tensor, before;
    memset(&tensor, 0x5a, sizeof tensor);
    before = tensor;
    assert_status(status, vjp_tensor_contiguous(dtype, ndim, shape, &tensor), NULL);
    assert_status(status, vjp_tensor_strided(dtype, ndim, shape, strides, &tensor), NULL);
    assert_memory_equal(&tensor, &before, sizeof tensor);
}

static void bad_descriptions_leave_the_tensor_alone(void **state)
{
    (void)state;
    const int64_t shape[VJP_MAX_DIMS + 1] = { 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    description_refused(VJP_BAD_DTYPE, (vjp_dtype)0, 2, shape);
    description_refused(VJP_BAD_DTYPE, (vjp_dtype)8, 2, shape);
    description_refused(VJP_BAD_SHAPE, VJP_F32, 13, shape);
    description_refused(VJP_BAD_SHAPE, VJP_F32, -1, shape);
    description_refused(VJP_BAD_SHAPE, VJP_F32, INT32_MIN, shape);
    description_refused(VJP_BAD_SHAPE, VJP_F32, 2, (int64_t[]){ 4, -1 });
    description_refused(VJP_TOO_LARGE, VJP_F32, 2, (int64_t[]){ 1LL << 32, 1LL << 31 });
    description_refused(VJP_BAD_ARGUMENT, VJP_F32, 2, NULL);
    vjp_tensor tensor;
    assert_status(VJP_BAD_ARGUMENT, vjp_tensor_contiguous(VJP_F32, 2, shape, NULL), NULL);
    assert_status(VJP_BAD_ARGUMENT, vjp_tensor_strided(VJP_F32, 2, shape, NULL, &tensor), NULL);
}

/* The strides of a dense tensor need not fit where it has no elements. */
static void an_empty_tensor_of_any_dims(void **state)
{
    (void)state;
    vjp_tensor tensor;
    const int64_t shape[] = { INT64_MAX, INT64_MAX, 0 };
    assert_status(VJP_OK, vjp_tensor_contiguous(VJP_F64, 3, shape, &tensor), NULL);
    assert_memory_equal(tensor.shape, shape, sizeof shape);
    assert_status(VJP_TOO_LARGE, vjp_tensor_contiguous(VJP_F64, 2, shape, &tensor), NULL);
}

static void broadcasting_repeats_missing_dims_and_ones(void **state)
{
    (void)state;
    const int64_t target[] = { 2, 5, 7 };
    vjp_tensor tensor, view;
    vjp_tensor_strided(VJP_F16, 2, (int64_t[]){ 5, 1 }, (int64_t[]){ -3, 9 }, &tensor);
    assert_status(VJP_OK, vjp_tensor_broadcast(&tensor, 3, target, &view), NULL);
    check_tensor(&view, VJP_F16, 3, target, (int64_t[]){ 0, -3, 0 });
    assert_status(VJP_OK, vjp_tensor_broadcast(&tensor, 3, target, &tensor), NULL);
    check_tensor(&tensor, VJP_F16, 3, target, (int64_t[]){ 0, -3, 0 });
    vjp_tensor_contiguous(VJP_F32, 0, NULL, &tensor);
    assert_status(VJP_OK, vjp_tensor_broadcast(&tensor, 3, target, &view), NULL);
    check_tensor(&view, VJP_F32, 3, target, (int64_t[]){ 0, 0, 0 });
}

static void broadcasting_refuses_what_does_not_fit(void **state)
{
    (void)state;
    const int64_t target[] = { 2, 5, 7 };
    vjp_tensor tensor, view;
    vjp_tensor_contiguous(VJP_F32, 2, (int64_t[]){ 5, 2 }, &tensor);
    assert_status(VJP_BAD_SHAPE, vjp_tensor_broadcast(&tensor, 3, target, &view), NULL);
    assert_status(VJP_BAD_SHAPE, vjp_tensor_broadcast(&tensor, 1, target, &view), NULL);
    assert_status(VJP_BAD_SHAPE, vjp_tensor_broadcast(&tensor, 13, target, &view), NULL);
    vjp_tensor_contiguous(VJP_F32, 2, (int64_t[]){ 5, 7 }, &tensor);
    assert_status(VJP_BAD_ARGUMENT, vjp_tensor_broadcast(NULL, 3, target, &view), NULL);
    assert_status(VJP_BAD_ARGUMENT, vjp_tensor_broadcast(&tensor, 3, NULL, &view), NULL);
    assert_status(VJP_BAD_ARGUMENT, vjp_tensor_broadcast(&tensor, 3, target, NULL), NULL);
    tensor.struct_size = sizeof tensor - 1;
    assert_status(VJP_BAD_ARGUMENT, vjp_tensor_broadcast(&tensor, 3, target, &view), NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_is_that_of_the_header),
        cmocka_unit_test(every_status_has_its_name),
        cmocka_unit_test(every_dtype_has_its_name_and_size),
        cmocka_unit_test(the_enumeration_is_consistent),
        cmocka_unit_test(the_operators_are_those_of_the_documents),
        cmocka_unit_test(tensors_are_found_by_name),
        cmocka_unit_test(every_output_has_a_bound),
        cmocka_unit_test(bounds_are_numbers_and_words),
        cmocka_unit_test(tensors_are_described_as_asked),
        cmocka_unit_test(bad_descriptions_leave_the_tensor_alone),
        cmocka_unit_test(an_empty_tensor_of_any_dims),
        cmocka_unit_test(broadcasting_repeats_missing_dims_and_ones),
        cmocka_unit_test(broadcasting_refuses_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
