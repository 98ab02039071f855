/* SPDX-License-Identifier: Apache-2.0 */
/* test_grid.c - every operator, dtype and instruction set over random shapes, layouts and
 * sharing, and over a few large tensors: the results keep the oracle's bounds, are the scalar
 * code's bits, and nothing else in memory changes.
 *
 * New operators and dtypes are included automatically: the grid is what the library enumerates.
 */
#include <stdlib.h>

#include "cases.h"
#include "contexts.h"
#include "large.h"
#include "trial.h"
#include "unit.h"

enum {
    CASES = 2400,     /* in all, of one dtype, shared out among the operators */
    FEWEST_CASES = 20, /* of one operator and dtype */
    POISON = 0xa5,
    OTHER_POISON = 0x5a
};

/* A problem's results keep the bounds, and are the same on every instruction set. Another poison
 * for each run shows elements that no run wrote. */
static void check_problem(const problem *p, uint64_t number)
{
    trial t;
    trial_result wanted = { NULL, 0 };
    trial_open(&t, p, number);
    for (int32_t isa = 0; isa < ISAS; isa++) {
        if (isa_contexts[isa] == NULL)
            continue;
        trial_run(&t, isa_contexts[isa], isa % 2 == 0 ? POISON : OTHER_POISON);
        if (wanted.bits != NULL) {
            trial_check_same(&t, wanted, all_isas[isa]);
            continue;
        }
        trial_check(&t);
        wanted = trial_bits(&t);
    }
    free(wanted.bits);
    trial_close(&t);
}

/* ---- random problems ---------------------------------------------------------------------- */

static void random_problems_keep_the_bounds(void **state)
{
    const char *op = *state;
    case_dtypes pairs[CASE_DTYPES];
    int32_t npairs = case_dtypes_of(op, pairs), cases = CASES / vjp_op_count();
    cases = cases > FEWEST_CASES ? cases : FEWEST_CASES;
    cases = unit_quick() ? cases / 5 : cases;
    for (int32_t n = 0; n < cases * npairs; n++) {
        case_dtypes pair = pairs[n % npairs];
        problem p = case_draw(op, pair.dtype, pair.wide, (uint64_t)n);
        check_problem(&p, (uint64_t)n);
    }
}

/* ---- large tensors ------------------------------------------------------------------------ */

static void a_large_problem_is_the_same_on_every_isa(void **state)
{
    const problem p = ((const shaped_problem *)*state)->p;
    if (unit_quick() && tensor_count(&p.tensors[0]) > 1 << 20)
        skip();
    check_problem(&p, 2);
}

int main(void)
{
    shaped_list large = large_problems();
    size_t nops = (size_t)vjp_op_count(), n = 0;
    struct CMUnitTest *tests = unit_malloc((nops + (size_t)large.count) * sizeof *tests);
    for (int32_t op = 0; op < vjp_op_count(); op++) {
        const char *name = vjp_op_at(op)->name;
        tests[n++] = unit_named(name, "random problems", random_problems_keep_the_bounds, name);
    }
    for (int64_t i = 0; i < large.count; i++)
        tests[n++] = unit_named("large", large.at[i].name,
                                a_large_problem_is_the_same_on_every_isa, &large.at[i]);
    int failed = _cmocka_run_group_tests("grid", tests, n, isa_contexts_open, isa_contexts_close);
    free(tests);
    shaped_free(&large);
    return failed;
}
