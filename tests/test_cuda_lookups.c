/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_lookups.c - the CUDA kernels that use a table of all 16-bit inputs, run on the CPU
 * (cuda/emulate.h): the CPU's bits for every input, of every operator that has such a kernel.
 */
#include <stdlib.h>
#include <string.h>

#include "core/lookup.h"
#include "dtypes.h"
#include "launches.h"
#include "plans.h"
#include "unit.h"

enum { N = VJPI_LOOKUP_COUNT + 13 }; /* and less than a vector */

typedef struct subject {
    drawn d;
    cuda_case c;
    _Alignas(16) uint16_t x[N];
    _Alignas(16) uint16_t dy[N];
    _Alignas(16) uint16_t cpu[N];
    _Alignas(16) uint16_t cuda[N];
    _Alignas(16) float table[VJPI_LOOKUP_COUNT];
} subject;

/* Dense tensors; the second value of the operator's choice. */
static void describe(subject *s, const vjp_op_info *op, vjp_dtype dtype, int chosen)
{
    int64_t n = N;
    s->d = (drawn){ .op = op, .dtype = dtype, .ntensors = op->ninputs + op->noutputs };
    for (int32_t i = 0; i < s->d.ntensors; i++) {
        vjp_tensor_contiguous(dtype, 1, &n, &s->d.tensors[i]);
        s->d.given[i] = &s->d.tensors[i];
    }
    for (int32_t i = 0; i < op->nattrs && chosen; i++) {
        const vjp_attr_info *info = vjp_op_attr(op, i);
        if (info->role == VJP_ROLE_CHOICE) {
            vjp_attr *attr = &s->d.attrs[s->d.nattrs++];
            *attr = info->default_value;
            if (info->type == VJP_ATTR_STR)
                attr->value.str = strchr(info->choices, '|') + 1;
            else
                attr->value.b = 1;
        }
    }
}

static void compute(const subject *s, vjp_dtype dtype, int64_t n, const void *x, const void *dy,
                    void *to)
{
    vjp_tensor t;
    const vjp_tensor *tensors[] = { &t, &t, &t };
    const void *inputs[] = { x, dy };
    void *outputs[] = { to };
    char reason[VJP_REASON_SIZE] = "";
    vjp_tensor_contiguous(dtype, 1, &n, &t);
    assert_status(VJP_OK,
                  vjp_compute(NULL, s->d.op->name, s->d.attrs, s->d.nattrs, tensors, s->d.ntensors,
                              inputs, outputs, reason, sizeof reason),
                  reason);
}

static void fill_table(subject *s)
{
    static float x[VJPI_LOOKUP_COUNT], ones[VJPI_LOOKUP_COUNT];
    if (s->d.op->ninputs == 1) {
        compute(s, s->d.dtype, VJPI_LOOKUP_COUNT, s->x, NULL, s->table);
        return;
    }
    for (int i = 0; i < VJPI_LOOKUP_COUNT; i++) {
        x[i] = (float)element_read(s->d.dtype, &s->x[i]);
        ones[i] = 1;
    }
    compute(s, VJP_F32, VJPI_LOOKUP_COUNT, x, ones, s->table);
    vjpi_keep_factors(s->table, VJPI_LOOKUP_COUNT);
}

static void run_emulated(subject *s)
{
    const vjpi_cuda_plan *plan = &s->c.plan;
    char *data[VJPI_MAX_TENSORS] = { (char *)s->x, (char *)s->dy, (char *)s->cuda };
    bool exact, vectors;
    vjpi_cuda_launch l;
    if (s->d.op->ninputs == 1)
        data[1] = (char *)s->cuda;
    vectors = vjpi_cuda_choose(plan, &plan->stages[0], data, &exact);
    vjpi_cuda_shape(plan, &plan->stages[0], vectors, exact, &l);
    assert_ptr_equal(l.kernel, plan->kernels->lookup);
    memcpy(l.loop.data, data, sizeof l.loop.data);
    emulate_launch(l.kernel, &l.loop, l.flat, l.lookup, l.blocks, l.x, l.y, l.shared);
}

static void check(subject *s, int gradients)
{
    for (int i = 0; i < N; i++) {
        s->x[i] = (uint16_t)i;
        s->dy[i] = (uint16_t)(i * 40503 + gradients * 7919);
    }
    fill_table(s);
    s->c.plan.lookup = s->table;
    compute(s, s->d.dtype, N, s->x, s->dy, s->cpu);
    memset(s->cuda, 0x5a, sizeof s->cuda);
    run_emulated(s);
    for (int i = 0; i < N; i++)
        cuda_require(&s->c,
                     element_bits(s->d.dtype, &s->cpu[i]) == element_bits(s->d.dtype, &s->cuda[i]),
                     "element", i);
}

static void tables_have_the_bits_of_the_cpu(void **state)
{
    static const vjp_dtype dtypes[] = { VJP_F16, VJP_BF16 };
    const vjpi_cuda_limits limits = { 1, 232448, 2 };
    subject *s = aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
    int checked = 0;
    (void)state;
    assert_non_null(s);
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int variant = 0; variant < 4; variant++) {
            describe(s, vjp_op_at(op), dtypes[variant % 2], variant / 2);
            if ((variant >= 2 && s->d.nattrs == 0) || !cuda_case_open(&s->c, &s->d, limits) ||
                !s->c.plan.kernels->lookup)
                continue;
            for (int gradients = 0; gradients < (unit_quick() ? 1 : 3); gradients++)
                check(s, gradients);
            checked++;
        }
    assert_true(checked >= 30);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(tables_have_the_bits_of_the_cpu) };
    return cmocka_run_group_tests_name("CUDA lookup tables", tests, NULL, NULL);
}
