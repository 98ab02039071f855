/* SPDX-License-Identifier: Apache-2.0 */
/* test_contexts.c - what the header promises of contexts, and of the life of a plan. */
#define _DEFAULT_SOURCE

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"
#include "contexts.h"
#include "samples.h"
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
    bad.struct_size = SIZE_MAX;
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
    context_refused(&bad, VJP_BAD_ARGUMENT, "set both allocate and deallocate, or neither");
    bad = good;
    bad.device = (vjp_device)7;
    context_refused(&bad, VJP_NO_DEVICE, "no device 7");
    bad = good;
    bad.device_id = 1;
    context_refused(&bad, VJP_NO_DEVICE, "device_id must be 0 for the CPU, not 1");
    assert_status(VJP_BAD_ARGUMENT, vjp_context_create(&good, NULL, NULL, 0), NULL);
}

/* A caller of a later version: what this library does not know must be 0. The struct ends at a page
 * that cannot be read. */
static void contexts_of_a_larger_struct_size(void **state)
{
    (void)state;
    const vjp_context_options ours = VJP_CONTEXT_DEFAULTS;
    const size_t sizes[] = { sizeof ours + 1, sizeof ours + 8, 4096 };
    for (int64_t i = 0; i < COUNT_OF(sizes); i++) {
        arena newer = arena_open(sizes[i], ARENA_AT_END);
        const vjp_context_options *options = (const vjp_context_options *)(void *)newer.bytes;
        vjp_context *ctx = NULL;
        memset(newer.bytes, 0, sizes[i]);
        memcpy(newer.bytes, &ours, sizeof ours);
        memcpy(newer.bytes, &sizes[i], sizeof sizes[i]);
        assert_status(VJP_OK, vjp_context_create(options, &ctx, NULL, 0), NULL);
        vjp_context_destroy(ctx);
        newer.bytes[sizes[i] - 1] = 1;
        context_refused(options, VJP_BAD_ARGUMENT, "options: byte");
        arena_close(&newer);
    }
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

/* The environment, saved to be restored, and changed in between. */
static char *set_isa(const char *isa)
{
    const char *was = getenv("VJP_ISA");
    char *kept = was != NULL ? strdup(was) : NULL;
    setenv("VJP_ISA", isa, 1);
    return kept;
}

static void restore_isa(char *kept)
{
    if (kept != NULL)
        setenv("VJP_ISA", kept, 1);
    else
        unsetenv("VJP_ISA");
    free(kept);
}

/* Empty is as good as not set. */
static void an_unknown_isa_is_refused(void **state)
{
    (void)state;
    const char *const names[] = { "sse9", "AVX2", "avx512 ", " " };
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    char *kept = set_isa("");
    for (int64_t i = 0; i < COUNT_OF(names); i++) {
        options.isa = names[i];
        context_refused(&options, VJP_BAD_ARGUMENT, "options: isa");
        context_refused(&options, VJP_BAD_ARGUMENT, names[i]);
    }
    options.isa = "";
    vjp_context *ctx = NULL;
    assert_status(VJP_OK, vjp_context_create(&options, &ctx, NULL, 0), NULL);
    vjp_context_destroy(ctx);
    for (int64_t i = 0; i < COUNT_OF(names); i++) {
        setenv("VJP_ISA", names[i], 1);
        context_refused(NULL, VJP_BAD_ARGUMENT, "VJP_ISA");
        context_refused(NULL, VJP_BAD_ARGUMENT, names[i]);
    }
    char reason[VJP_REASON_SIZE] = "";
    assert_int_equal(
        vjp_compute(NULL, SAMPLE_MAP, NULL, 0, NULL, 0, NULL, NULL, reason, sizeof reason),
        VJP_BAD_ARGUMENT);
    assert_non_null(strstr(reason, "VJP_ISA"));
    setenv("VJP_ISA", "", 1);
    assert_context_made();
    restore_isa(kept);
}

/* Where isas.def has an instruction set: a build has only those of its architecture. */
static int isa_place(const char *name)
{
    int place = 0;
    while (strcmp(all_isas[place], name) != 0)
        place++;
    return place;
}

/* Whose kernels a context uses, with these caps. The caller's string is gone after the call. */
static int isa_used(const char *in_options, const char *in_environment)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    vjp_context *ctx = NULL;
    char *kept = set_isa(in_environment), *own = in_options != NULL ? strdup(in_options) : NULL;
    options.isa = own;
    vjp_status status = vjp_context_create(&options, &ctx, NULL, 0);
    restore_isa(kept);
    if (own != NULL)
        memset(own, 'x', strlen(own));
    free(own);
    assert_status(VJP_OK, status, in_options);
    int place = isa_place(vjp_context_isa(ctx));
    vjp_context_destroy(ctx);
    return place;
}

/* isas.def has the best last: options and environment lower it, neither raises it. */
static void options_and_environment_cap_the_isa(void **state)
{
    (void)state;
    char built[] = VJP_BUILT_ISAS, *rest = built;
    const char *isas[ISAS] = { NULL };
    int n = 0, best = isa_used(NULL, "");
    for (const char *isa = strsep(&rest, ","); isa != NULL; isa = strsep(&rest, ","))
        isas[n++] = isa;
    for (int i = 0; i < n; i++) {
        int alone = isa_used(isas[i], ""), own = isa_place(isas[i]);
        assert_int_equal(alone, own < best ? own : best);
        assert_int_equal(isa_used(NULL, isas[i]), alone);
        for (int j = 0; j < n; j++) {
            int lower = isa_place(isas[i < j ? i : j]);
            assert_int_equal(isa_used(isas[i], isas[j]), lower < best ? lower : best);
        }
    }
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

static problem fold_problem(char *format)
{
    problem p = problem_start(SAMPLE_FOLD);
    problem_add_attr(&p, vjp_attr_str("data_format", format));
    problem_contiguous(&p, VJP_F32, VJP_F32, 3, (int64_t[]){ 3, 40, 50 }, 1, (int64_t[]){ 40 });
    return p;
}

/* The context goes, the caller's descriptions are overwritten: the plan does not notice. */
static void a_plan_stands_on_its_own(void **state)
{
    (void)state;
    char format[] = "NCX", reason[VJP_REASON_SIZE] = "";
    problem p = fold_problem(format);
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
    problem p = fold_problem(format);
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
                      vjp_compute(contexts[i], SAMPLE_FOLD, p.attrs, p.nattrs, tensors, p.ntensors,
                                  trial_inputs(&t), trial_outputs(&t), reason, sizeof reason),
                      reason);
        assert_string_equal(reason, "");
        trial_settle(&t);
        trial_check(&t);
    }
    trial_close(&t);
    vjp_context_destroy(ctx);
}

/* ---- the context of vjp_compute(NULL, ...) ------------------------------------------------ */

enum {
    CALLERS = 8
};

typedef struct caller {
    pthread_barrier_t *start;
    float output[64];
    vjp_status status;
} caller;

static void *call_first(void *argument)
{
    caller *c = argument;
    float input[64];
    const void *inputs[] = { input, input };
    void *outputs[] = { c->output };
    vjp_tensor tensor;
    const vjp_tensor *tensors[] = { &tensor, &tensor, &tensor };
    for (int i = 0; i < 64; i++)
        input[i] = (float)(i - 32);
    vjp_tensor_contiguous(VJP_F32, 1, (const int64_t[]){ 64 }, &tensor);
    pthread_barrier_wait(c->start);
    c->status = vjp_compute(NULL, SAMPLE_MAP, NULL, 0, tensors, 3, inputs, outputs, NULL, 0);
    return NULL;
}

/* In children, none of which has the context yet: all their threads want it at once. */
static void many_threads_may_make_the_first_call(void **state)
{
    (void)state;
    for (int child = 0; child < 20; child++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid > 0) {
            int status = 0;
            assert_int_equal(waitpid(pid, &status, 0), pid);
            assert_int_equal(status, 0);
            continue;
        }
        pthread_barrier_t start;
        pthread_t threads[CALLERS];
        caller callers[CALLERS];
        int wrong = 0;
        pthread_barrier_init(&start, NULL, CALLERS);
        for (int i = 0; i < CALLERS; i++) {
            callers[i].start = &start;
            wrong += pthread_create(&threads[i], NULL, call_first, &callers[i]) != 0;
        }
        for (int i = 0; i < CALLERS; i++) {
            pthread_join(threads[i], NULL);
            wrong += callers[i].status != VJP_OK;
            for (int j = 0; j < 64; j++)
                wrong += callers[i].output[j] != (j > 32 ? (float)(j - 32) : 0);
        }
        _exit(wrong != 0);
    }
}

/* It lives as long as the process: what the environment says later does not matter. */
static void the_default_context_stays(void **state)
{
    (void)state;
    pthread_barrier_t start;
    caller c = { .start = &start };
    pthread_barrier_init(&start, NULL, 1);
    call_first(&c);
    assert_status(VJP_OK, c.status, NULL);
    char *kept = set_isa("sse9");
    call_first(&c);
    restore_isa(kept);
    assert_status(VJP_OK, c.status, NULL);
    pthread_barrier_destroy(&start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_refuse_bad_options),
        cmocka_unit_test(contexts_of_a_larger_struct_size),
        cmocka_unit_test(cuda_is_there_or_refused),
        cmocka_unit_test(a_cpu_reports_no_device_errors),
        cmocka_unit_test(an_unknown_isa_is_refused),
        cmocka_unit_test(options_and_environment_cap_the_isa),
        cmocka_unit_test(every_instruction_set_of_the_build_is_tested),
        cmocka_unit_test(many_threads_may_make_the_first_call), /* before the others make it */
        cmocka_unit_test(the_default_context_stays),
        cmocka_unit_test(null_is_a_harmless_argument),
        cmocka_unit_test(a_plan_stands_on_its_own),
        cmocka_unit_test(compute_needs_no_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
