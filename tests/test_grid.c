/* SPDX-License-Identifier: Apache-2.0 */
/* test_grid.c - every operator, dtype and instruction set over random shapes, layouts and
 * sharing, and over a few large tensors: the results keep the oracle's bounds, are the scalar
 * code's bits, and nothing else in memory changes.
 *
 * New operators and dtypes join by themselves: the grid is what the library enumerates.
 */
#include <stdlib.h>

#include "cases.h"
#include "contexts.h"
#include "large.h"
#include "trial.h"
#include "unit.h"

enum {
    CASES = 160,
    POISON = 0xa5,
    OTHER_POISON = 0x5a
};

/* ---- random problems ---------------------------------------------------------------------- */

typedef struct cell {
    const char *op;
    int isa;
} cell;

/* Another poison for each run shows elements that no run wrote. */
static void check_problem(const problem *p, uint64_t number, int isa)
{
    trial t;
    trial_open(&t, p, number);
    trial_run(&t, isa_contexts[0], POISON);
    trial_result wanted = trial_bits(&t);
    trial_run(&t, isa_contexts[isa], OTHER_POISON);
    trial_check_same(&t, wanted, all_isas[isa]);
    trial_check(&t);
    free(wanted.bits);
    trial_close(&t);
}

static void random_problems_keep_the_bounds(void **state)
{
    const cell *c = *state;
    case_dtypes pairs[CASE_DTYPES];
    int32_t npairs = case_dtypes_of(c->op, pairs), cases = unit_quick() ? CASES / 10 : CASES;
    if (isa_contexts[c->isa] == NULL)
        skip();
    for (int32_t pair = 0; pair < npairs; pair++)
        for (int32_t n = 0; n < cases; n++) {
            problem p = case_draw(c->op, pairs[pair].dtype, pairs[pair].wide, (uint64_t)n);
            check_problem(&p, (uint64_t)n, c->isa);
        }
}

/* ---- large tensors ------------------------------------------------------------------------ */

static void a_large_problem_is_the_same_on_every_isa(void **state)
{
    const problem p = ((const shaped_problem *)*state)->p;
    trial t;
    if (unit_quick() && tensor_count(&p.tensors[0]) > 1 << 20)
        skip();
    trial_open(&t, &p, 2);
    trial_result wanted = { NULL, 0 };
    for (int32_t isa = 0; isa < ISAS; isa++) {
        if (isa_contexts[isa] == NULL)
            continue;
        trial_run(&t, isa_contexts[isa], isa == 0 ? POISON : OTHER_POISON);
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

int main(void)
{
    shaped_list large = large_problems();
    size_t ncells = (size_t)vjp_op_count() * ISAS, n = 0;
    cell *cells = unit_malloc(ncells * sizeof *cells);
    struct CMUnitTest *tests = unit_malloc((ncells + (size_t)large.count) * sizeof *tests);
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int isa = 0; isa < ISAS; isa++, n++) {
            cells[n] = (cell){ vjp_op_at(op)->name, isa };
            tests[n] =
                unit_named(cells[n].op, all_isas[isa], random_problems_keep_the_bounds, &cells[n]);
        }
    for (int64_t i = 0; i < large.count; i++)
        tests[n++] = unit_named("large", large.at[i].name,
                                a_large_problem_is_the_same_on_every_isa, &large.at[i]);
    int failed = _cmocka_run_group_tests("grid", tests, n, isa_contexts_open, isa_contexts_close);
    free(tests);
    free(cells);
    shaped_free(&large);
    return failed;
}
