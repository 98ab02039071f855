/* SPDX-License-Identifier: Apache-2.0 */
/* test_kinds.c - the tables of shapes reach every operator that the library enumerates, with
 * problems that it accepts. */
#include <string.h>

#include "busy.h"
#include "kinds.h"
#include "large.h"
#include "unit.h"

static void reaches_every_operator(shaped_list list)
{
    for (int32_t op = 0; op < vjp_op_count(); op++) {
        int turns = 0;
        for (int64_t i = 0; i < list.count; i++)
            turns += list.at[i].p.op == vjp_op_at(op);
        if (turns == 0)
            fail_msg("%s has no turn", vjp_op_at(op)->name);
    }
    for (int64_t i = 0; i < list.count; i++) {
        char reason[VJP_REASON_SIZE] = "";
        vjp_context *ctx = NULL;
        vjp_plan *plan = NULL;
        assert_status(VJP_OK, vjp_context_create(NULL, &ctx, NULL, 0), NULL);
        if (problem_create(&list.at[i].p, ctx, &plan, reason) != VJP_OK)
            fail_msg("%s: %s", list.at[i].name, reason);
        vjp_plan_destroy(plan);
        vjp_context_destroy(ctx);
    }
}

static void every_operator_is_among_the_large_and_busy_problems(void **state)
{
    (void)state;
    shaped_list large = large_problems(), busy = busy_problems();
    reaches_every_operator(large);
    reaches_every_operator(busy);
    shaped_free(&large);
    shaped_free(&busy);
}

/* More operators than rows, and more rows than operators: all of both are used. */
static void operators_and_rows_take_turns(void **state)
{
    (void)state;
    const shaped_row row = { "x", SHAPED_MAP, VJP_F32, VJP_F32, NAMED_PLAIN, 0, 1, { 7 }, NO_SLOPE };
    shaped_row rows[40];
    for (int64_t i = 0; i < COUNT_OF(rows); i++)
        rows[i] = row;
    shaped_list one = shaped_problems(rows, 1), many = shaped_problems(rows, COUNT_OF(rows));
    for (int64_t i = 1; i < one.count; i++)
        assert_ptr_not_equal(one.at[i].p.op, one.at[i - 1].p.op);
    assert_true(many.count >= COUNT_OF(rows) && many.count >= one.count);
    for (int64_t i = 0; i < many.count; i++)
        assert_ptr_equal(many.at[i].p.op, one.at[i % one.count].p.op);
    shaped_free(&one);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_is_among_the_large_and_busy_problems),
        cmocka_unit_test(operators_and_rows_take_turns),
        cmocka_unit_test(choices_are_those_of_the_enumeration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
