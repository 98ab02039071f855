/* SPDX-License-Identifier: Apache-2.0 */
/* test_stores.c - non-temporal stores, which a call uses where its tensors do not fit in the
 * caches.
 *
 * How large that is depends on the machine, so this test reaches into the library: it sets a
 * context's cache size to 0, so that every call uses non-temporal stores. The bits must be those of
 * ordinary stores, and nothing else in memory may change.
 */
#include <stdlib.h>

#include "cases.h"
#include "cpu/stage.h"
#include "isas.h"
#include "trial.h"
#include "unit.h"

enum {
    CASES = 1600,     /* in all, of one dtype, shared out among the operators */
    FEWEST_CASES = 16 /* of one operator and dtype */
};

typedef struct cell {
    const char *op, *isa;
} cell;

static void check_problem(const problem *p, uint64_t number, vjp_context *ctx)
{
    vjpi_cpu_context *cpu = (vjpi_cpu_context *)(void *)ctx->state;
    trial t;
    trial_open(&t, p, number);
    cpu->cache_size = INT64_MAX;
    trial_run(&t, ctx, 0xa5);
    trial_result wanted = trial_bits(&t);
    cpu->cache_size = 0;
    trial_run(&t, ctx, 0x5a);
    trial_check_same(&t, wanted, "stored past the caches");
    free(wanted.bits);
    trial_close(&t);
}

/* Small problems in any layout, and some that fill many blocks of a kernel. */
static void stores_past_the_caches_have_the_same_bits(void **state)
{
    const cell *c = *state;
    case_dtypes pairs[CASE_DTYPES];
    int32_t npairs = case_dtypes_of(c->op, pairs);
    int32_t share = CASES / vjp_op_count();
    uint64_t cases =
        (uint64_t)(share > FEWEST_CASES ? share : FEWEST_CASES) / (unit_quick() ? 2 : 1);
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.num_threads = 1;
    vjp_context *ctx = context_for_isa(c->isa, &options);
    if (ctx == NULL)
        skip();
    for (int32_t i = 0; i < npairs; i++)
        for (uint64_t n = 0; n < cases; n++) {
            problem p = case_draw_within(c->op, pairs[i].dtype, pairs[i].wide, n,
                                         n % 8 == 7 ? CASE_MEDIUM / 10 : CASE_SMALL);
            check_problem(&p, n, ctx);
        }
    vjp_context_destroy(ctx);
}

int main(void)
{
    size_t ncells = (size_t)vjp_op_count() * ISAS, n = 0;
    struct CMUnitTest *tests = unit_malloc(ncells * sizeof *tests);
    cell *cells = unit_malloc(ncells * sizeof *cells);
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int32_t isa = 0; isa < ISAS && unit_tries(vjp_op_at(op)); isa++, n++) {
            cells[n] = (cell){ vjp_op_at(op)->name, all_isas[isa] };
            tests[n] = unit_named(cells[n].op, cells[n].isa,
                                  stores_past_the_caches_have_the_same_bits, &cells[n]);
        }
    int failed = _cmocka_run_group_tests("stores", tests, n, NULL, NULL);
    free(tests);
    free(cells);
    return failed;
}
