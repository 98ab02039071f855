/* SPDX-License-Identifier: Apache-2.0 */
/* test_optional.c - tensors that a call may leave out: what is not wanted is not computed, and the
 * other results do not change by a bit. Attributes of either real type give the same bits, too.
 */
#include <stdlib.h>
#include <string.h>

#include "busy.h"
#include "cases.h"
#include "contexts.h"
#include "kinds.h"
#include "trial.h"
#include "unit.h"
#include "variants.h"

enum {
    CASES = 60
};

/* How a tensor is left out: NULL in the list or, for the last ones, a shorter list. */
typedef enum left_out {
    AS_NULL,
    BEHIND_THE_LAST
} left_out;

static vjp_plan *plan_without(const problem *p, vjp_context *ctx, int32_t missing, left_out how)
{
    const vjp_tensor *tensors[PROBLEM_TENSORS];
    char reason[VJP_REASON_SIZE] = "";
    vjp_plan *plan = NULL;
    for (int32_t i = 0; i < p->ntensors; i++)
        tensors[i] = i == missing || !problem_has(p, i) ? NULL : &p->tensors[i];
    int32_t ntensors = how == AS_NULL ? p->ntensors : missing;
    vjp_status status = vjp_plan_create(ctx, p->op->name, p->attrs, p->nattrs, tensors, ntensors,
                                        &plan, reason, sizeof reason);
    assert_status(VJP_OK, status, reason);
    return plan;
}

static vjp_status run_without(trial *t, vjp_context *ctx, int32_t missing, left_out how)
{
    const problem *p = &t->p;
    vjp_plan *plan = plan_without(p, ctx, missing, how);
    void *data[PROBLEM_TENSORS];
    for (int32_t i = 0; i < p->ntensors; i++)
        data[i] = i == missing ? (void *)(uintptr_t)1 : t->data[i]; /* not read */
    void *workspace = unit_malloc(vjp_plan_workspace_size(plan));
    vjp_status status = vjp_plan_run(plan, (const void *const *)data, data + p->op->ninputs,
                                     workspace, vjp_plan_workspace_size(plan), NULL);
    free(workspace);
    vjp_plan_destroy(plan);
    return status;
}

static int outputs_with_elements(const vjp_op_info *op)
{
    int count = 0;
    for (int32_t i = op->ninputs; i < op->ninputs + op->noutputs; i++)
        count += vjp_op_tensor(op, i)->shape_rule == VJP_SHAPE_DATA;
    return count;
}

/* The bits of the other outputs are those of the run with all of them, except for rows whose
 * columns are added: without the columns' sums a row's may be in another order, and without the
 * first output, whose layout decides the order of the dims, so may the columns'. The same holds for
 * rows with several outputs per element, of which each has a part in what is dense. */
static void check_others(const trial *t, trial_result all, int32_t missing)
{
    if (kind_has_rows(t->p.op) &&
        (kind_has_sums(t->p.op) || outputs_with_elements(t->p.op) > 1)) {
        trial others = *t;
        others.p.absent |= 1u << missing;
        trial_check(&others);
        return;
    }
    trial_result got = trial_bits(t);
    int64_t at = 0;
    for (int32_t i = t->p.op->ninputs; i < t->p.ntensors; i++) {
        int64_t count = tensor_count(&t->p.tensors[i]);
        char text[PROBLEM_TEXT];
        if (i != missing && memcmp(got.bits + at, all.bits + at, (size_t)count * sizeof *got.bits))
            fail_msg("%s has other bits without %s:\n%s", vjp_op_tensor(t->p.op, i)->name,
                     vjp_op_tensor(t->p.op, missing)->name, problem_describe(&t->p, text));
        at += count;
    }
    free(got.bits);
}

/* Its memory is unchanged, unless another output is there too. */
static void check_untouched(const trial *t, int32_t missing)
{
    int32_t home = t->p.home[missing];
    for (int32_t i = t->p.op->ninputs; i < t->p.ntensors; i++)
        if (i != missing && t->p.home[i] == home)
            return;
    assert_memory_equal(t->memory[home].bytes, t->before[home], t->memory[home].size);
}

static void check_problem(const problem *p, uint64_t number, vjp_context *ctx, int32_t missing)
{
    trial t;
    trial_open(&t, p, number);
    trial_run(&t, ctx, 0xa5);
    trial_result all = trial_bits(&t);
    for (int how = AS_NULL; how <= BEHIND_THE_LAST; how++) {
        if (how == BEHIND_THE_LAST && missing != p->ntensors - 1)
            continue;
        trial_prepare(&t, 0x5a);
        assert_status(VJP_OK, run_without(&t, ctx, missing, (left_out)how), p->op->name);
        check_untouched(&t, missing);
        trial_settle(&t);
        check_others(&t, all, missing);
    }
    free(all.bits);
    trial_close(&t);
}

/* The next optional output of an operator from tensor `from` on; -1 if there is none. */
static int32_t optional_output(const vjp_op_info *op, int32_t from)
{
    for (int32_t t = from < op->ninputs ? op->ninputs : from; t < op->ninputs + op->noutputs; t++)
        if (vjp_op_tensor(op, t)->flags & VJP_TENSOR_OPTIONAL)
            return t;
    return -1;
}

/* In any layout, packed ones among them, and on every instruction set. */
static void outputs_not_wanted_in_any_layout(void **state)
{
    (void)state;
    uint64_t asked = 0, cases = unit_quick() ? CASES / 4 : CASES;
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        const vjp_op_info *op = vjp_op_at(i);
        case_dtypes pairs[CASE_DTYPES];
        int32_t npairs = case_dtypes_of(op->name, pairs);
        for (int32_t t = optional_output(op, 0); t >= 0 && unit_tries(op);
             t = optional_output(op, t + 1))
            for (uint64_t n = 0; n < cases * (uint64_t)npairs; n++) {
                case_dtypes dtypes = pairs[n % (uint64_t)npairs];
                problem p = case_draw(op->name, dtypes.dtype, dtypes.wide, n);
                if (p.absent >> op->ninputs) /* another output is not wanted */
                    continue;
                for (int isa = 0; isa < ISAS; isa++)
                    if (isa_contexts[isa] != NULL)
                        check_problem(&p, n, isa_contexts[isa], t);
                asked++;
            }
    }
    assert_true(asked > 0);
}

/* Large enough for several tasks: OpenMP's threads, and threads that take them in any order. */
static void outputs_not_wanted_on_many_threads(void **state)
{
    (void)state;
    pthread_team team = { .nthreads = 3, .order = TASKS_SHUFFLED };
    vjp_context_options own = VJP_CONTEXT_DEFAULTS, openmp = VJP_CONTEXT_DEFAULTS;
    shaped_list busy = busy_problems();
    int asked = 0;
    own.parallel_for = pthread_team_run;
    own.parallel_for_user = &team;
    openmp.num_threads = 4;
    const vjp_context_options *options[] = { &own, &openmp };
    for (int64_t o = 0; o < COUNT_OF(options); o++) {
        vjp_context *ctx = NULL;
        assert_status(VJP_OK, vjp_context_create(options[o], &ctx, NULL, 0), NULL);
        for (int64_t i = 0; i < busy.count; i++) {
            const problem *p = &busy.at[i].p;
            int32_t missing = optional_output(p->op, 0);
            if (missing >= 0)
                check_problem(p, (uint64_t)i, ctx, missing);
            asked += missing >= 0;
        }
        vjp_context_destroy(ctx);
    }
    assert_true(asked > 0);
    shaped_free(&busy);
}

/* Partial sums of an output that is left out would need a workspace. */
static void sums_not_wanted_are_not_computed(void **state)
{
    (void)state;
    const int64_t shape[] = { 5000, 64 };
    int asked = 0;
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        const vjp_op_info *op = vjp_op_at(i);
        int32_t missing = optional_output(op, 0);
        if (missing < 0 || op->noutputs != 2 || kind_has_rows(op) || !kind_has_sums(op))
            continue;
        problem p = variant_problem(op, 0);
        vjp_plan *with = NULL;
        problem_contiguous(&p, VJP_BF16, VJP_BF16, 2, shape, 1, &shape[1]);
        assert_status(VJP_OK, problem_create(&p, isa_contexts[0], &with, NULL), NULL);
        vjp_plan *without = plan_without(&p, isa_contexts[0], missing, AS_NULL);
        assert_true(vjp_plan_workspace_size(with) > 0);
        assert_int_equal(vjp_plan_workspace_size(without), 0);
        vjp_plan_destroy(with);
        vjp_plan_destroy(without);
        asked++;
    }
    assert_true(asked > 0);
}

/* ---- attributes --------------------------------------------------------------------------- */

static problem with_reals(problem p, vjp_attr_type type)
{
    for (int32_t i = 0; i < p.nattrs; i++) {
        vjp_attr *attr = &p.attrs[i];
        if (attr->type == VJP_ATTR_F32 || attr->type == VJP_ATTR_F64) {
            double value = problem_attr(&p, attr->name).value.f64;
            *attr = type == VJP_ATTR_F32 ? vjp_attr_f32(attr->name, (float)value)
                                         : vjp_attr_f64(attr->name, (float)value);
        }
    }
    return p;
}

static void an_f32_is_the_same_as_an_f64_of_its_value(void **state)
{
    (void)state;
    int asked = 0;
    for (int32_t i = 0; i < vjp_op_count(); i++)
        for (uint64_t n = 0; n < CASES && unit_tries(vjp_op_at(i)); n++) {
            vjp_dtype dtype = n % 2 == 0 ? VJP_F64 : VJP_F32;
            problem drawn = case_draw(vjp_op_at(i)->name, dtype, dtype, n);
            problem narrow = with_reals(drawn, VJP_ATTR_F32),
                    wide = with_reals(drawn, VJP_ATTR_F64);
            trial t;
            asked += memcmp(narrow.attrs, wide.attrs, sizeof narrow.attrs) != 0;
            trial_open(&t, &narrow, n);
            trial_run(&t, isa_contexts[0], 0xa5);
            trial_result wanted = trial_bits(&t);
            t.p = wide;
            trial_run(&t, isa_contexts[0], 0x5a);
            trial_check_same(&t, wanted, "an F64 attribute");
            free(wanted.bits);
            trial_close(&t);
        }
    assert_true(asked > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_not_wanted_in_any_layout),
        cmocka_unit_test(outputs_not_wanted_on_many_threads),
        cmocka_unit_test(sums_not_wanted_are_not_computed),
        cmocka_unit_test(an_f32_is_the_same_as_an_f64_of_its_value),
    };
    return cmocka_run_group_tests(tests, isa_contexts_open, isa_contexts_close);
}
