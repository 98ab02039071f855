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
#include "named.h"
#include "trial.h"
#include "unit.h"

enum {
    MOST_CELLS = 64 * ISAS,
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

/* clang-format off */
static const named_problem large_problems[] = {
    { "relu over 96 MiB",
      "relu_backward", VJP_F32, VJP_F32, NAMED_PLAIN, USE_DST(1), 1, { 8 << 20 }, NO_SLOPE },
    { "relu over 72 MiB of bf16, not a multiple of anything",
      "relu_backward", VJP_BF16, VJP_BF16, NAMED_PLAIN, USE_DST(0),
      1, { (12 << 20) + 13 }, NO_SLOPE },
    { "relu in place over 32 MiB",
      "relu_backward", VJP_F64, VJP_F64, NAMED_IN_PLACE, USE_DST(0),
      1, { (2 << 20) + 1 }, NO_SLOPE },
    { "relu of images, gradient channels last",
      "relu_backward", VJP_F32, VJP_F32, NAMED_CHANNELS_LAST, USE_DST(0),
      4, { 8, 64, 56, 56 }, NO_SLOPE },
    { "sigmoid of images of bf16, gradient channels last",
      "sigmoid_backward", VJP_BF16, VJP_BF16, NAMED_CHANNELS_LAST, USE_DST(1),
      4, { 4, 65, 57, 31 }, NO_SLOPE },
    { "sigmoid over 12 MiB",
      "sigmoid_backward", VJP_F32, VJP_F32, NAMED_PLAIN, USE_DST(0),
      1, { (1 << 20) + 3 }, NO_SLOPE },
    { "sigmoid of f16 with one gradient for all",
      "sigmoid_backward", VJP_F16, VJP_F16, NAMED_BROADCAST, USE_DST(0),
      2, { 1031, 1009 }, NO_SLOPE },
    { "softmax of 64 long rows",
      "softmax_backward", VJP_F32, VJP_F32, NAMED_PLAIN, AXIS(1), 2, { 64, 40000 }, NO_SLOPE },
    { "softmax over the middle axis",
      "softmax_backward", VJP_F32, VJP_F32, NAMED_PLAIN, AXIS(1), 3, { 3, 700, 1000 }, NO_SLOPE },
    { "softmax over the first axis of f16",
      "softmax_backward", VJP_F16, VJP_F16, NAMED_PLAIN, AXIS(0), 2, { 1025, 777 }, NO_SLOPE },
    { "softmax of one row of a million",
      "softmax_backward", VJP_F32, VJP_F32, NAMED_PLAIN, AXIS(-1), 1, { 1 << 20 }, NO_SLOPE },
    { "softmax in place, rows of bf16",
      "softmax_backward", VJP_BF16, VJP_BF16, NAMED_IN_PLACE, AXIS(-1),
      2, { 300, 4099 }, NO_SLOPE },
    { "softmax of bf16 into f32",
      "softmax_backward", VJP_BF16, VJP_F32, NAMED_PLAIN, AXIS(1), 2, { 50, 30522 }, NO_SLOPE },
    { "softmax of f64, gradient channels last",
      "softmax_backward", VJP_F64, VJP_F64, NAMED_CHANNELS_LAST, AXIS(1),
      4, { 4, 80, 40, 41 }, NO_SLOPE },
    { "prelu of images, channels first",
      "prelu_backward", VJP_F32, VJP_F32, NAMED_PLAIN, FORMAT("NCX"),
      4, { 8, 64, 56, 56 }, 1, { 64 } },
    { "prelu of images, channels last",
      "prelu_backward", VJP_F32, VJP_F32, NAMED_PLAIN, FORMAT("NXC"),
      4, { 8, 56, 56, 64 }, 1, { 64 } },
    { "prelu of images, gradient channels last",
      "prelu_backward", VJP_F32, VJP_F32, NAMED_CHANNELS_LAST, FORMAT("NCX"),
      4, { 8, 64, 56, 56 }, 1, { 64 } },
    { "prelu of three channels",
      "prelu_backward", VJP_BF16, VJP_F32, NAMED_PLAIN, FORMAT("NXC"),
      2, { 1 << 18, 3 }, 1, { 3 } },
    { "prelu in place, one slope for all",
      "prelu_backward", VJP_F32, VJP_F32, NAMED_IN_PLACE, FORMAT("NXC"),
      2, { 1000, 2049 }, 1, { 1 } },
    { "prelu of four million slopes",
      "prelu_backward", VJP_F32, VJP_F32, NAMED_PLAIN, FORMAT("NXC"),
      3, { 2, 1 << 11, 1 << 11 }, 2, { 1 << 11, 1 << 11 } },
    { "prelu of TensorFlow's slope",
      "prelu_backward", VJP_F16, VJP_F16, NAMED_PLAIN, FORMAT("NXC"),
      4, { 17, 32, 32, 64 }, 3, { 32, 32, 64 } },
};
/* clang-format on */

static void a_large_problem_is_the_same_on_every_isa(void **state)
{
    problem p = named_problem_build(*state);
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
    static cell cells[MOST_CELLS];
    static struct CMUnitTest tests[MOST_CELLS + COUNT_OF(large_problems)];
    size_t n = 0;
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int isa = 0; isa < ISAS && n < MOST_CELLS; isa++, n++) {
            cells[n] = (cell){ vjp_op_at(op)->name, isa };
            tests[n] =
                unit_named(cells[n].op, all_isas[isa], random_problems_keep_the_bounds, &cells[n]);
        }
    for (int64_t i = 0; i < COUNT_OF(large_problems); i++)
        tests[n++] = unit_named("large", large_problems[i].name,
                                a_large_problem_is_the_same_on_every_isa, &large_problems[i]);
    return _cmocka_run_group_tests("grid", tests, n, isa_contexts_open, isa_contexts_close);
}
