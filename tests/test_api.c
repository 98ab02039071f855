/* SPDX-License-Identifier: Apache-2.0 */
/* test_api.c - what the header promises beside results and refusals: version, names, the
 * enumeration of operators, descriptions of tensors, contexts and the life of a plan.
 */
#define _DEFAULT_SOURCE

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "contexts.h"
#include "dtypes.h"
#include "trial.h"
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
        assert_true(strlen(op->title) > 0 && strlen(op->formula) > 0 && strlen(op->accuracy) > 0);
        assert_true(op->ninputs > 0 && op->noutputs > 0);
        assert_null(vjp_op_tensor(op, -1));
        assert_null(vjp_op_tensor(op, op->ninputs + op->noutputs));
        assert_null(vjp_op_attr(op, -1));
        assert_null(vjp_op_attr(op, op->nattrs));
    }
    assert_null(vjp_op_tensor(NULL, 0));
    assert_null(vjp_op_attr(NULL, 0));
}

/* What an operator announces, in words: "name:rules" for tensors, where D is the data's shape, S
 * the slope's, = the call's dtype, ~ that or f32; "name:type:default" for attributes. */
typedef struct announcement {
    const char *op, *title, *inputs, *outputs, *attrs;
} announcement;

static const announcement announcements[] = {
    { "relu_backward", "ReLUBackward", "src:D= diff_dst:D=", "diff_src:D=", "use_dst:bool:true" },
    { "sigmoid_backward", "SigmoidBackward",
      "src:D= diff_dst:D=", "diff_src:D=", "use_dst:bool:false" },
    { "hard_sigmoid_backward", "HardSigmoidBackward",
      "src:D= diff_dst:D=", "diff_src:D=", "alpha:f32:required beta:f32:required" },
    { "prelu_backward", "PReLUBackward", "src:D= slope:S~ diff_dst:D=", "diff_src:D= diff_slope:S~",
      "data_format:str(NCX|NXC):NXC" },
    { "softmax_backward", "SoftMaxBackward", "diff_dst:D= dst:D=", "diff_src:D~", "axis:s64:1" },
};

static void describe_tensors(const vjp_op_info *op, int32_t from, int32_t to, char *text)
{
    *text = '\0';
    for (int32_t t = from; t < to; t++) {
        const vjp_tensor_info *tensor = vjp_op_tensor(op, t);
        assert_true(tensor->struct_size >= sizeof *tensor);
        strcat(strcat(text, t > from ? " " : ""), tensor->name);
        strcat(text, tensor->shape_rule == VJP_SHAPE_DATA ? ":D" : ":S");
        strcat(text, tensor->dtype_rule == VJP_DTYPE_SAME ? "=" : "~");
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
    static const char *const types[] = { "none", "bool", "s64", "f32", "str" };
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
    description_refused(VJP_BAD_DTYPE, (vjp_dtype)5, 2, shape);
    description_refused(VJP_BAD_SHAPE, VJP_F32, 13, shape);
    description_refused(VJP_BAD_SHAPE, VJP_F32, -1, shape);
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
}

/* ---- contexts ----------------------------------------------------------------------------- */

static void context_refused(const vjp_context_options *options, vjp_status status, const char *word)
{
    char reason[VJP_REASON_SIZE] = "";
    vjp_context *ctx = (vjp_context *)(intptr_t)-1;
    assert_status(status, vjp_context_create(options, &ctx, reason, sizeof reason), reason);
    assert_null(ctx);
    if (strstr(reason, word) == NULL)
        fail_msg("\"%s\" is not in the reason \"%s\"", word, reason);
}

static void contexts_refuse_bad_options(void **state)
{
    (void)state;
    vjp_context_options bad = VJP_CONTEXT_DEFAULTS, good = VJP_CONTEXT_DEFAULTS;
    bad.struct_size = sizeof bad - 1;
    context_refused(&bad, VJP_BAD_ARGUMENT, "struct_size");
    arena beyond = arena_open(sizeof(size_t), ARENA_AT_END); /* nothing behind the size is read */
    *(size_t *)beyond.bytes = sizeof(size_t);
    context_refused((const vjp_context_options *)(void *)beyond.bytes, VJP_BAD_ARGUMENT,
                    "struct_size is 8");
    arena_close(&beyond);
    bad = good;
    bad.num_threads = -1;
    context_refused(&bad, VJP_BAD_ARGUMENT, "num_threads");
    bad = good;
    bad.deallocate = (void (*)(void *, void *))(intptr_t)1;
    context_refused(&bad, VJP_BAD_ARGUMENT, "allocate");
    bad = good;
    bad.device = (vjp_device)7;
    context_refused(&bad, VJP_NO_DEVICE, "no device 7");
    bad = good;
    bad.device_id = 1;
    context_refused(&bad, VJP_NO_DEVICE, "1");
    assert_status(VJP_BAD_ARGUMENT, vjp_context_create(&good, NULL, NULL, 0), NULL);
}

/* Whether the machine has a GPU, a driver, or the build a module: all are answered. */
static void cuda_is_there_or_refused(void **state)
{
    (void)state;
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    vjp_context *ctx = NULL;
    options.device = VJP_CUDA;
    if (vjp_context_create(&options, &ctx, NULL, 0) == VJP_OK)
        assert_string_equal(vjp_context_error(ctx), "");
    else
        context_refused(&options, VJP_NO_DEVICE, "CUDA: ");
    vjp_context_destroy(ctx);
}

static void a_cpu_reports_no_device_errors(void **state)
{
    (void)state;
    vjp_context *ctx = context_for_isa("scalar", NULL);
    assert_string_equal(vjp_context_error(ctx), "");
    vjp_context_destroy(ctx);
}

static void assert_context_made(void)
{
    vjp_context *ctx = NULL;
    assert_status(VJP_OK, vjp_context_create(NULL, &ctx, NULL, 0), NULL);
    vjp_context_destroy(ctx);
}

/* Empty is as good as not set. */
static void an_unknown_isa_is_refused(void **state)
{
    (void)state;
    const char *const names[] = { "sse9", "AVX2", "avx512 ", " " };
    const char *was = getenv("VJP_ISA");
    char *kept = was != NULL ? strdup(was) : NULL;
    for (int64_t i = 0; i < COUNT_OF(names); i++) {
        setenv("VJP_ISA", names[i], 1);
        context_refused(NULL, VJP_BAD_ARGUMENT, "VJP_ISA");
        context_refused(NULL, VJP_BAD_ARGUMENT, names[i]);
    }
    char reason[VJP_REASON_SIZE] = "";
    assert_int_equal(vjp_compute(NULL, "relu_backward", NULL, 0, NULL, NULL, 0, reason,
                                 sizeof reason), VJP_BAD_ARGUMENT);
    assert_non_null(strstr(reason, "VJP_ISA"));
    setenv("VJP_ISA", "", 1);
    assert_context_made();
    if (kept != NULL)
        setenv("VJP_ISA", kept, 1);
    else
        unsetenv("VJP_ISA");
    free(kept);
}

static void null_is_a_harmless_argument(void **state)
{
    (void)state;
    vjp_context_destroy(NULL);
    vjp_plan_destroy(NULL);
    assert_null(vjp_context_isa(NULL));
    assert_null(vjp_context_error(NULL));
    assert_int_equal(vjp_plan_workspace_size(NULL), 0);
}

/* ---- plans -------------------------------------------------------------------------------- */

static problem prelu_problem(char *format)
{
    problem p = problem_start("prelu_backward");
    problem_add_attr(&p, vjp_attr_str("data_format", format));
    problem_contiguous(&p, VJP_F32, VJP_F32, 3, (int64_t[]){ 3, 40, 50 }, 1, (int64_t[]){ 40 });
    return p;
}

/* The context goes, the caller's descriptions are overwritten: the plan does not notice. */
static void a_plan_stands_on_its_own(void **state)
{
    (void)state;
    char format[] = "NCX", reason[VJP_REASON_SIZE] = "";
    problem p = prelu_problem(format);
    trial t;
    vjp_plan *plan = NULL;
    vjp_context *ctx = context_for_isa("scalar", NULL);
    trial_open(&t, &p, 0);
    assert_status(VJP_OK, problem_create(&p, ctx, &plan, reason), reason);
    vjp_context_destroy(ctx);
    strcpy(format, "???");
    memset(p.tensors, 0xff, sizeof p.tensors);
    memset(p.attrs, 0xff, sizeof p.attrs);
    t.p.attrs[0].value.str = "NCX";
    trial_prepare(&t, 0xa5);
    assert_status(VJP_OK, trial_run_plan(&t, plan), NULL);
    trial_settle(&t);
    trial_check(&t);
    vjp_plan_destroy(plan);
    trial_close(&t);
}

static void compute_needs_no_context(void **state)
{
    (void)state;
    char format[] = "NCX", reason[VJP_REASON_SIZE] = "?";
    problem p = prelu_problem(format);
    const vjp_tensor *tensors[PROBLEM_TENSORS];
    vjp_context *ctx = context_for_isa("scalar", NULL);
    vjp_context *const contexts[] = { NULL, ctx };
    trial t;
    trial_open(&t, &p, 0);
    for (int32_t i = 0; i < p.ntensors; i++)
        tensors[i] = &p.tensors[i];
    for (int64_t i = 0; i < COUNT_OF(contexts); i++) {
        trial_prepare(&t, 0xa5);
        assert_status(VJP_OK,
                      vjp_compute(contexts[i], "prelu_backward", p.attrs, p.nattrs, tensors, t.data,
                                  p.ntensors, reason, sizeof reason),
                      reason);
        assert_string_equal(reason, "");
        trial_settle(&t);
        trial_check(&t);
    }
    trial_close(&t);
    vjp_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_is_that_of_the_header),
        cmocka_unit_test(every_status_has_its_name),
        cmocka_unit_test(every_dtype_has_its_name_and_size),
        cmocka_unit_test(the_enumeration_is_consistent),
        cmocka_unit_test(the_operators_are_those_of_the_documents),
        cmocka_unit_test(tensors_are_described_as_asked),
        cmocka_unit_test(bad_descriptions_leave_the_tensor_alone),
        cmocka_unit_test(an_empty_tensor_of_any_dims),
        cmocka_unit_test(broadcasting_repeats_missing_dims_and_ones),
        cmocka_unit_test(broadcasting_refuses_what_does_not_fit),
        cmocka_unit_test(contexts_refuse_bad_options),
        cmocka_unit_test(cuda_is_there_or_refused),
        cmocka_unit_test(a_cpu_reports_no_device_errors),
        cmocka_unit_test(an_unknown_isa_is_refused),
        cmocka_unit_test(null_is_a_harmless_argument),
        cmocka_unit_test(a_plan_stands_on_its_own),
        cmocka_unit_test(compute_needs_no_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
