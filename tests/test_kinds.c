/* SPDX-License-Identifier: Apache-2.0 */
/* test_kinds.c - the tables of shapes reach every kind of operator that the library
 * enumerates, with problems that it accepts. */
#include <string.h>

#include "busy.h"
#include "kinds.h"
#include "large.h"
#include "samples.h"
#include "unit.h"

static void is_accepted(const shaped_problem *shaped)
{
    char reason[VJP_REASON_SIZE] = "";
    vjp_context *ctx = NULL;
    vjp_plan *plan = NULL;
    assert_status(VJP_OK, vjp_context_create(NULL, &ctx, NULL, 0), NULL);
    if (problem_create(&shaped->p, ctx, &plan, reason) != VJP_OK)
        fail_msg("%s: %s", shaped->name, reason);
    vjp_plan_destroy(plan);
    vjp_context_destroy(ctx);
}

/* Every kind of operator has problems in the list. */
static void reaches_every_kind(shaped_list list)
{
    int turns[SHAPED_KINDS] = { 0 };
    for (int64_t i = 0; i < list.count; i++) {
        turns[shaped_kind_of(list.at[i].p.op)]++;
        is_accepted(&list.at[i]);
    }
    for (int32_t op = 0; op < vjp_op_count(); op++)
        if (turns[shaped_kind_of(vjp_op_at(op))] == 0)
            fail_msg("%s and its kind have no turn", vjp_op_at(op)->name);
}

static void every_kind_is_among_the_large_and_busy_problems(void **state)
{
    (void)state;
    shaped_list large = large_problems(), busy = busy_problems();
    reaches_every_kind(large);
    reaches_every_kind(busy);
    shaped_free(&large);
    shaped_free(&busy);
}

/* With more rows than operators, all operators have turns; with fewer, as many as there are
 * rows. */
static void operators_and_rows_take_turns(void **state)
{
    (void)state;
    enum { MANY = 200 };
    const shaped_row row = {
        "x", SHAPED_MAP, VJP_F32, VJP_F32, NAMED_PLAIN, 0, 1, { 7 }, NO_SLOPE
    };
    shaped_row rows[MANY];
    for (int64_t i = 0; i < MANY; i++)
        rows[i] = row;
    int64_t maps = 0;
    for (int32_t op = 0; op < vjp_op_count(); op++)
        maps += shaped_kind_of(vjp_op_at(op)) == SHAPED_MAP;
    assert_in_range(maps, 4, MANY);
    shaped_list few = shaped_problems(rows, 3), many = shaped_problems(rows, MANY);
    assert_int_equal(few.count, 3);
    for (int64_t i = 1; i < few.count; i++)
        assert_ptr_not_equal(few.at[i].p.op, few.at[i - 1].p.op);
    assert_int_equal(many.count, MANY);
    for (int64_t i = 0; i < maps; i++)
        for (int64_t j = 0; j < i; j++)
            assert_ptr_not_equal(many.at[i].p.op, many.at[j].p.op);
    shaped_free(&few);
    shaped_free(&many);
}

static void choices_are_those_of_the_enumeration(void **state)
{
    (void)state;
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int32_t a = 0; a < vjp_op_at(op)->nattrs; a++) {
            const vjp_attr_info *attr = vjp_op_attr(vjp_op_at(op), a);
            char joined[VJP_REASON_SIZE] = "";
            for (int32_t i = 0; kind_choice(attr, i) != NULL; i++) {
                strcat(joined, i > 0 ? "|" : "");
                strcat(joined, kind_choice(attr, i));
            }
            assert_string_equal(joined, attr->choices != NULL ? attr->choices : "");
        }
}

/* It has these tensors and, first, these attributes: ? is optional, ! has no default. */
static void assert_sample(const char *name, shaped_kind kind, const char *tensors,
                          const char *attrs)
{
    const vjp_op_info *op = vjp_op_find(name);
    char has[VJP_REASON_SIZE] = "";
    assert_non_null(op);
    assert_int_equal(shaped_kind_of(op), kind);
    for (int32_t t = 0; t < op->ninputs + op->noutputs; t++) {
        strcat(has, vjp_op_tensor(op, t)->name);
        strcat(has, vjp_op_tensor(op, t)->flags & VJP_TENSOR_OPTIONAL ? "? " : " ");
    }
    assert_string_equal(has, tensors);
    has[0] = 0;
    for (int32_t a = 0; a < op->nattrs; a++) {
        strcat(has, vjp_op_attr(op, a)->name);
        strcat(has, vjp_op_attr(op, a)->required ? "! " : " ");
    }
    assert_memory_equal(has, attrs, strlen(attrs));
}

static void samples_are_of_their_kinds(void **state)
{
    (void)state;
    const char *map = "src diff_dst diff_src ";
    assert_sample(SAMPLE_MAP, SHAPED_MAP, map, "use_dst ");
    assert_sample(SAMPLE_NUMBERS, SHAPED_MAP, map, "alpha! beta! ");
    assert_sample(SAMPLE_SWITCH, SHAPED_MAP, map, "use_dst ");
    assert_sample(SAMPLE_FOLD, SHAPED_FOLD, "src slope diff_dst diff_src diff_slope? ",
                  "data_format ");
    assert_sample(SAMPLE_FORMAT, SHAPED_FOLD, "src slope dst ",
                  "data_format per_channel_broadcast ");
    assert_sample(SAMPLE_ROWS, SHAPED_ROW, "diff_dst dst mask? length? diff_src ", "axis ");
    assert_sample(SAMPLE_NAN, SHAPED_MAP, "src dst ", "");
    assert_sample(SAMPLE_STATS, SHAPED_ROW, "src mask? length? dst stats? ", "axis ");
    assert_sample(SAMPLE_KEPT, SHAPED_ROW, "src gamma? rstd? diff_dst diff_src? diff_gamma? ", "");
    assert_sample(SAMPLE_EXTRA, SHAPED_ROW, "src gamma? beta? dst mean? rstd? normalized? ", "");
    assert_true(kind_has_sums(vjp_op_find(SAMPLE_FOLD)));
    assert_string_equal(vjp_op_find(SAMPLE_MAP)->title, SAMPLE_MAP_TITLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_among_the_large_and_busy_problems),
        cmocka_unit_test(operators_and_rows_take_turns),
        cmocka_unit_test(choices_are_those_of_the_enumeration),
        cmocka_unit_test(samples_are_of_their_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
