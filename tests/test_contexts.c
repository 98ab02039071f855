/* SPDX-License-Identifier: Apache-2.0 */
/* test_contexts.c - what the header promises of contexts, and of the life of a plan. */
#define _DEFAULT_SOURCE

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "contexts.h"
#include "trial.h"
#include "unit.h"

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
    assert_int_equal(vjp_compute(NULL, "relu_backward", NULL, 0, NULL, 0, NULL, NULL, reason,
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

/* The build makes kernels for each line of isas.def that fits the machine; a line that the tests do
 * not know would leave those kernels untested. */
static void every_instruction_set_of_the_build_is_tested(void **state)
{
    (void)state;
    char built[] = VJP_BUILT_ISAS, *rest = built;
    for (const char *isa = strsep(&rest, ","); isa != NULL; isa = strsep(&rest, ",")) {
        int tested = 0;
        for (int i = 0; i < ISAS; i++)
            tested |= strcmp(all_isas[i], isa) == 0;
        if (!tested)
            fail_msg("%s is built, but not among all_isas", isa);
    }
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
                      vjp_compute(contexts[i], "prelu_backward", p.attrs, p.nattrs, tensors,
                                  p.ntensors, trial_inputs(&t), trial_outputs(&t), reason,
                                  sizeof reason),
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
        cmocka_unit_test(contexts_refuse_bad_options),
        cmocka_unit_test(cuda_is_there_or_refused),
        cmocka_unit_test(a_cpu_reports_no_device_errors),
        cmocka_unit_test(an_unknown_isa_is_refused),
        cmocka_unit_test(every_instruction_set_of_the_build_is_tested),
        cmocka_unit_test(null_is_a_harmless_argument),
        cmocka_unit_test(a_plan_stands_on_its_own),
        cmocka_unit_test(compute_needs_no_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
