/* SPDX-License-Identifier: Apache-2.0 */
/* test_lookups.c - elementwise operators on 16-bit data: a call that is large enough for a table of
 * all 65,536 inputs has the bits of small calls, which use the formula. Tables are made once per
 * context, by plans only, at most 32 of them, and a plan does without if there is no memory.
 */
#define _DEFAULT_SOURCE

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "dtypes.h"
#include "unit.h"

enum {
    ALL = 65536,  /* enough elements for a table */
    SMALL = 2048, /* not enough */
    MOST = 32     /* tables of a context */
};

#ifndef GRADIENTS /* how many gradients each input is tried with, of 65,536 */
#define GRADIENTS 61
#endif

/* ---- contexts whose allocations are counted ------------------------------------------------- */

typedef struct counter {
    atomic_int tables; /* blocks that are large enough to be one, not freed */
    atomic_int made;   /* the same, freed or not */
    atomic_int refuse; /* no memory for such blocks */
} counter;

typedef struct block {
    size_t size, unused; /* keeps the alignment of malloc */
} block;

static void *counted_allocate(void *user, size_t size)
{
    counter *c = user;
    int is_table = size >= ALL * sizeof(uint16_t);
    block *b = is_table && atomic_load(&c->refuse) ? NULL : malloc(size + sizeof *b);
    if (!b)
        return NULL;
    b->size = size;
    atomic_fetch_add(&c->tables, is_table);
    atomic_fetch_add(&c->made, is_table);
    return b + 1;
}

static void counted_deallocate(void *user, void *memory)
{
    counter *c = user;
    block *b = (block *)memory - 1;
    atomic_fetch_sub(&c->tables, b->size >= ALL * sizeof(uint16_t));
    free(b);
}

static vjp_context *counted_context(const char *isa, counter *c)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.num_threads = 1;
    options.allocate = counted_allocate;
    options.deallocate = counted_deallocate;
    options.allocator_user = c;
    return context_for_isa(isa, &options);
}

static vjp_context *default_context(counter *c)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    vjp_context *ctx = NULL;
    options.num_threads = 1;
    options.allocate = counted_allocate;
    options.deallocate = counted_deallocate;
    options.allocator_user = c;
    assert_status(VJP_OK, vjp_context_create(&options, &ctx, NULL, 0), NULL);
    return ctx;
}

/* ---- calls ---------------------------------------------------------------------------------- */

typedef struct call {
    const char *op;
    int nattrs;
    vjp_attr attrs[3];
    int by_table;
} call;

#define REAL_ATTR(name, number) { name, VJP_ATTR_F64, { .f64 = number } }
#define BOOL_ATTR(name, answer) { name, VJP_ATTR_BOOL, { .b = answer } }
#define WORD_ATTR(name, word) { name, VJP_ATTR_STR, { .str = word } }
#define ELU(a, s, i)                                                              \
    3,                                                                            \
    {                                                                             \
        REAL_ATTR("alpha", a), REAL_ATTR("scale", s), REAL_ATTR("input_scale", i) \
    }

/* clang-format off */
static const call calls[] = {
    { "log", 0, { { 0 } }, 1 }, { "sigmoid", 0, { { 0 } }, 1 },
    { "log_sigmoid", 0, { { 0 } }, 1 }, { "tanh", 0, { { 0 } }, 1 },
    { "tanh_shrink", 0, { { 0 } }, 1 }, { "softplus", 0, { { 0 } }, 1 },
    { "softplus", 1, { REAL_ATTR("beta", -20) }, 1 }, { "elu", 0, { { 0 } }, 1 },
    { "elu", ELU(1.6732632423543772, 1.0507009873554805, 1), 1 },
    { "silu", 0, { { 0 } }, 1 }, { "silu_backward", 0, { { 0 } }, 1 },
    { "silu", 1, { REAL_ATTR("alpha", 1.702) }, 1 },
    { "silu_backward", 1, { REAL_ATTR("alpha", 1.702) }, 1 },
    { "silu_backward", 1, { REAL_ATTR("alpha", -1e-3) }, 1 },
    { "silu_backward", 1, { REAL_ATTR("alpha", 1e20) }, 1 },
    { "gelu", 0, { { 0 } }, 1 }, { "gelu_backward", 0, { { 0 } }, 1 },
    { "gelu", 1, { WORD_ATTR("mode", "gelu_tanh") }, 1 },
    { "gelu_backward", 1, { WORD_ATTR("mode", "gelu_tanh") }, 1 },
    { "mish", 0, { { 0 } }, 1 }, { "mish_backward", 0, { { 0 } }, 1 },
    { "sigmoid_backward", 0, { { 0 } }, 0 }, { "tanh_backward", 1, { BOOL_ATTR("use_dst", 1) }, 0 },
    { "tanh_shrink_backward", 0, { { 0 } }, 0 }, { "relu_backward", 0, { { 0 } }, 0 },
};
/* clang-format on */

/* Every tensor dense with n elements. NULL if there is no memory for the plan. */
static vjp_plan *plan_for(vjp_context *ctx, const call *c, vjp_dtype dtype, int64_t n)
{
    const vjp_op_info *op = vjp_op_find(c->op);
    vjp_plan *plan = NULL;
    char reason[VJP_REASON_SIZE];
    assert_non_null(op);
    vjp_tensor t = { sizeof t, dtype, 1, { n }, { 1 } };
    const vjp_tensor *tensors[3] = { &t, &t, &t };
    assert_status(VJP_OK,
                  vjp_plan_create(ctx, c->op, c->attrs, c->nattrs, tensors,
                                  op->ninputs + op->noutputs, &plan, reason, sizeof reason),
                  reason);
    return plan;
}

static void run(const vjp_plan *plan, const uint16_t *x, const uint16_t *dy, uint16_t *dx)
{
    const void *inputs[] = { x, dy };
    void *outputs[] = { dx };
    assert_status(VJP_OK, vjp_plan_run(plan, inputs, outputs, NULL, 0, NULL), NULL);
}

/* ---- bits ----------------------------------------------------------------------------------- */

static uint16_t inputs_[ALL], gradients[ALL], large[ALL], small[ALL];

/* Gradients that go through all bit patterns and, next to each other, through few: a vector has
 * inputs with and without an entry. */
static uint16_t gradient_at(int round, int i)
{
    static const uint16_t special[] = { 0x0000, 0x8000, 0x0001, 0x8001, 0x7c00, 0xfc00, 0x7f80,
                                        0xff80, 0x7fff, 0x7c01, 0x3f80, 0x3c00, 0x0080, 0x7bff,
                                        0x7f7f, 0x0400 };
    int count = (int)(sizeof special / sizeof special[0]);
    if (GRADIENTS < ALL && round < count)
        return special[round];
    return (uint16_t)(round * (ALL / GRADIENTS) + (GRADIENTS < ALL ? i * 7919 : i));
}

static void compare_rounds(const call *c, const vjp_plan *table, const vjp_plan *formula,
                           int rounds, const char *isa, vjp_dtype dtype)
{
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < ALL; i++)
            gradients[i] = gradient_at(round, i);
        run(table, inputs_, gradients, large);
        for (int i = 0; i < ALL; i += SMALL)
            run(formula, inputs_ + i, gradients + i, small + i);
        if (memcmp(large, small, sizeof large) == 0)
            continue;
        for (int i = 0; i < ALL; i++)
            if (large[i] != small[i] &&
                element_bits(dtype, &large[i]) != element_bits(dtype, &small[i]))
                fail_msg(
                    "%s of %s on %s: src %04x, diff_dst %04x give %04x, the formula gives %04x",
                    c->op, vjp_dtype_name(dtype), isa, inputs_[i], gradients[i], large[i],
                    small[i]);
    }
}

static void compare(const call *c, const char *isa, vjp_dtype dtype)
{
    counter count = { 0 };
    vjp_context *ctx = counted_context(isa, &count);
    if (!ctx)
        return;
    int rounds = vjp_op_find(c->op)->ninputs < 2 ? 1 : unit_quick() ? 18 : GRADIENTS;
    vjp_plan *formula = plan_for(ctx, c, dtype, SMALL);
    assert_int_equal(atomic_load(&count.made), 0);
    vjp_plan *table = plan_for(ctx, c, dtype, ALL);
    assert_int_equal(atomic_load(&count.made), c->by_table);
    compare_rounds(c, table, formula, rounds, isa, dtype);
    assert_int_equal(atomic_load(&count.made), c->by_table); /* runs make none */
    vjp_plan_destroy(formula);
    vjp_plan_destroy(table);
    vjp_context_destroy(ctx);
    assert_int_equal(atomic_load(&count.tables), 0);
}

/* Every 16-bit input, with many gradients. */
static void tables_have_the_bits_of_formulas(void **state)
{
    (void)state;
    for (int i = 0; i < ALL; i++)
        inputs_[i] = (uint16_t)i;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (int isa = 0; isa < ISAS; isa++) {
            compare(&calls[i], all_isas[isa], VJP_F16);
            compare(&calls[i], all_isas[isa], VJP_BF16);
        }
}

/* Among ordinary inputs a single one without an entry, at every place of a vector; any length; any
 * alignment; in place. */
static void a_rare_input_may_be_anywhere(void **state)
{
    static const call c = { "gelu_backward", 0, { { 0 } }, 1 };
    enum { N = 16384 + 77 };
    counter count = { 0 };
    vjp_context *ctx = default_context(&count);
    (void)state;
    for (int dtype = VJP_F16; dtype <= VJP_BF16; dtype++) {
        vjp_plan *table = plan_for(ctx, &c, (vjp_dtype)dtype, N);
        vjp_plan *formula = plan_for(ctx, &c, (vjp_dtype)dtype, 1);
        for (int i = 0; i < N + 8; i++) {
            inputs_[i] = (uint16_t)(0x3c00 + i % 1000);
            gradients[i] = (uint16_t)(0x3c00 + i % 1777);
            if (i % 129 == 0 || i >= N - 1)
                inputs_[i] = 0xfbff;
        }
        for (int shift = 0; shift < 8; shift++) {
            for (int i = 0; i < N; i++)
                run(formula, inputs_ + shift + i, gradients + i, small + i);
            memcpy(large + shift, inputs_ + shift, N * sizeof large[0]);
            run(table, large + shift, gradients, large + shift);
            assert_memory_equal(large + shift, small, N * sizeof large[0]);
        }
        vjp_plan_destroy(table);
        vjp_plan_destroy(formula);
    }
    assert_int_equal(atomic_load(&count.made), 2);
    vjp_context_destroy(ctx);
}

/* diff_dst is one element for all, src is transposed. */
static void operands_may_be_strided(void **state)
{
    static const call c = { "silu_backward", 0, { { 0 } }, 1 };
    counter count = { 0 };
    vjp_context *ctx = default_context(&count);
    vjp_tensor plain = { sizeof plain, VJP_BF16, 2, { 256, 256 }, { 256, 1 } };
    vjp_tensor swapped = { sizeof plain, VJP_BF16, 2, { 256, 256 }, { 1, 256 } };
    vjp_tensor one = { sizeof plain, VJP_BF16, 2, { 256, 256 }, { 0, 0 } };
    const vjp_tensor *tensors[] = { &swapped, &one, &plain };
    vjp_plan *plan = NULL, *formula = plan_for(ctx, &c, VJP_BF16, SMALL);
    (void)state;
    assert_status(VJP_OK, vjp_plan_create(ctx, c.op, NULL, 0, tensors, 3, &plan, NULL, 0), NULL);
    for (int i = 0; i < ALL; i++) {
        inputs_[i] = (uint16_t)i;
        gradients[i] = 0x4055;
    }
    run(plan, inputs_, gradients, large);
    for (int i = 0; i < ALL; i += SMALL)
        run(formula, inputs_ + i, gradients, small + i);
    for (int i = 0; i < ALL; i++)
        assert_int_equal(large[i], small[i % 256 * 256 + i / 256]);
    assert_int_equal(atomic_load(&count.made), 1);
    vjp_plan_destroy(plan);
    vjp_plan_destroy(formula);
    vjp_context_destroy(ctx);
}

/* ---- how many ------------------------------------------------------------------------------- */

static call silu_with(double alpha)
{
    return (call){ "silu_backward", 1, { REAL_ATTR("alpha", alpha) }, 1 };
}

/* The plan gives what the formula does. */
static void check_plan(const vjp_plan *plan, vjp_context *ctx, const call *c)
{
    vjp_plan *formula = plan_for(ctx, c, VJP_F16, SMALL);
    for (int i = 0; i < ALL; i++) {
        inputs_[i] = (uint16_t)i;
        gradients[i] = 0x4123;
    }
    run(plan, inputs_, gradients, large);
    for (int i = 0; i < ALL; i += SMALL)
        run(formula, inputs_ + i, gradients + i, small + i);
    assert_memory_equal(large, small, sizeof large);
    vjp_plan_destroy(formula);
}

static void a_context_has_at_most_32(void **state)
{
    counter count = { 0 };
    vjp_context *ctx = default_context(&count);
    vjp_plan *plans[MOST + 3];
    (void)state;
    for (int i = 0; i < MOST + 3; i++) {
        call c = silu_with(1 + i);
        plans[i] = plan_for(ctx, &c, VJP_F16, ALL);
        assert_int_equal(atomic_load(&count.made), i < MOST ? i + 1 : MOST);
    }
    for (int i = 0; i < MOST + 3; i++) { /* again: they are found */
        call c = silu_with(1 + i);
        vjp_plan_destroy(plan_for(ctx, &c, VJP_F16, ALL));
        check_plan(plans[i], ctx, &c);
    }
    assert_int_equal(atomic_load(&count.made), MOST);
    for (int i = 0; i < MOST + 3; i++)
        vjp_plan_destroy(plans[i]);
    assert_int_equal(atomic_load(&count.tables), MOST); /* kept for the next plans */
    vjp_context_destroy(ctx);
    assert_int_equal(atomic_load(&count.tables), 0);
}

static void a_table_outlives_the_callers_handle(void **state)
{
    counter count = { 0 };
    vjp_context *ctx = default_context(&count);
    call c = silu_with(1);
    vjp_plan *plan = plan_for(ctx, &c, VJP_F16, ALL);
    (void)state;
    vjp_context_destroy(ctx);
    assert_int_equal(atomic_load(&count.tables), 1);
    run(plan, inputs_, gradients, large);
    vjp_plan_destroy(plan);
    assert_int_equal(atomic_load(&count.tables), 0);
}

static void without_memory_the_formula_is_used(void **state)
{
    counter count = { 0 };
    vjp_context *ctx = default_context(&count);
    call c = silu_with(1);
    (void)state;
    atomic_store(&count.refuse, 1);
    vjp_plan *plan = plan_for(ctx, &c, VJP_F16, ALL);
    check_plan(plan, ctx, &c);
    atomic_store(&count.refuse, 0);
    vjp_plan *later = plan_for(ctx, &c, VJP_F16, ALL);
    assert_int_equal(atomic_load(&count.made), 1);
    vjp_plan_destroy(plan);
    vjp_plan_destroy(later);
    vjp_context_destroy(ctx);
}

/* ---- threads -------------------------------------------------------------------------------- */

enum { THREADS = 8, KINDS = 5 };

typedef struct maker {
    pthread_t thread;
    vjp_context *ctx;
    pthread_barrier_t *start;
    vjp_plan *plans[KINDS];
} maker;

static void *make_plans(void *argument)
{
    maker *m = argument;
    pthread_barrier_wait(m->start);
    for (int i = 0; i < KINDS; i++) {
        call c = silu_with(1 + i);
        m->plans[i] = plan_for(m->ctx, &c, VJP_F16, ALL);
    }
    return NULL;
}

/* Threads that need the same tables at once end up with one of each. */
static void threads_share_tables(void **state)
{
    counter count = { 0 };
    vjp_context *ctx = default_context(&count);
    maker makers[THREADS];
    pthread_barrier_t start;
    (void)state;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        makers[i] = (maker){ .ctx = ctx, .start = &start };
        assert_int_equal(pthread_create(&makers[i].thread, NULL, make_plans, &makers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(makers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    assert_int_equal(atomic_load(&count.tables), KINDS);
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < KINDS; j++) {
            call c = silu_with(1 + j);
            check_plan(makers[i].plans[j], ctx, &c);
            vjp_plan_destroy(makers[i].plans[j]);
        }
    vjp_context_destroy(ctx);
    assert_int_equal(atomic_load(&count.tables), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_have_the_bits_of_formulas),
        cmocka_unit_test(a_rare_input_may_be_anywhere),
        cmocka_unit_test(operands_may_be_strided),
        cmocka_unit_test(a_context_has_at_most_32),
        cmocka_unit_test(a_table_outlives_the_callers_handle),
        cmocka_unit_test(without_memory_the_formula_is_used),
        cmocka_unit_test(threads_share_tables),
    };
    return cmocka_run_group_tests_name("lookup tables", tests, NULL, NULL);
}
