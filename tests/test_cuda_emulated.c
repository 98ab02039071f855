/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_emulated.c - the CUDA kernels themselves, run on the CPU (cuda/emulate.h), against the
 * CPU's own: the same bits where there is no sum, nearly the same numbers where there is one.
 * Nothing but outputs is written. Needs no GPU.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dtypes.h"
#include "kinds.h"
#include "launches.h"
#include "plans.h"
#include "unit.h"

#define MARGIN 256 /* bytes around a tensor */

/* ---- memory ------------------------------------------------------------------------------- */

/* A tensor's memory, twice: for the CPU and for the emulated device. */
typedef struct memory {
    size_t size;
    char *bytes[2], *data[2]; /* what was allocated; the tensor's data pointers */
} memory;

static int64_t element_count(const vjp_tensor *t)
{
    int64_t count = 1;
    for (int32_t i = 0; i < t->ndim; i++)
        count *= t->shape[i];
    return count;
}

/* Where element e is, in elements from the data pointer. */
static int64_t offset_of(const vjp_tensor *t, int64_t e)
{
    int64_t offset = 0;
    for (int32_t i = t->ndim - 1; i >= 0; i--) {
        offset += e % t->shape[i] * t->strides[i];
        e /= t->shape[i];
    }
    return offset;
}

static char *element_at(const memory *m, int side, const vjp_tensor *t, int64_t e)
{
    return m->data[side] + offset_of(t, e) * (int64_t)vjp_dtype_size(t->dtype);
}

/* `shift` elements behind a place that any vector may begin at. */
static void memory_open(const vjp_tensor *t, int64_t shift, memory *m)
{
    int64_t low = 0, high = 0, count = element_count(t), size = (int64_t)vjp_dtype_size(t->dtype);
    for (int64_t e = 0; e < count; e++) {
        int64_t offset = offset_of(t, e);
        low = offset < low ? offset : low;
        high = offset > high ? offset : high;
    }
    m->size = (size_t)((high - low + 1 + shift) * size + 2 * MARGIN + 63) / 64 * 64;
    for (int side = 0; side < 2; side++) {
        m->bytes[side] = aligned_alloc(64, m->size);
        assert_non_null(m->bytes[side]);
        memset(m->bytes[side], 0x5a, m->size);
        m->data[side] = m->bytes[side] + MARGIN + (shift - low) * size;
    }
}

static void memory_close(memory *m)
{
    free(m->bytes[0]);
    free(m->bytes[1]);
}

/* ---- one call ----------------------------------------------------------------------------- */

typedef struct trial {
    drawn d;
    cuda_case c;
    memory memory[VJPI_MAX_TENSORS];
} trial;

static void fill(trial *t, random_state *random)
{
    int64_t shift = random_chance(random, 50) ? 0 : random_below(random, 9);
    int64_t alike = random_chance(random, 70);
    for (int32_t i = 0; i < t->d.ntensors; i++) {
        const vjp_tensor *tensor = t->d.given[i];
        memory *m = &t->memory[i];
        if (!tensor)
            continue;
        memory_open(tensor, alike ? shift : random_below(random, 9), m);
        for (int64_t e = 0; i < t->d.op->ninputs && e < element_count(tensor); e++) {
            double value = draw_value(&t->d, i, random);
            for (int side = 0; side < 2; side++)
                element_write(tensor->dtype, element_at(m, side, tensor, e), value);
        }
        if (t->d.home[i] >= 0) /* in place on the device alone */
            m->data[1] = t->memory[t->d.home[i]].data[1];
    }
}

static vjp_status run_on_cpu(trial *t)
{
    const void *inputs[VJPI_MAX_TENSORS];
    void *outputs[VJPI_MAX_TENSORS];
    const drawn *d = &t->d;
    for (int32_t i = 0; i < d->ntensors; i++)
        if (i < d->op->ninputs)
            inputs[i] = t->memory[i].data[0];
        else
            outputs[i - d->op->ninputs] = t->memory[i].data[0];
    return vjp_compute(NULL, d->op->name, d->attrs, d->nattrs, d->given, d->ntensors, inputs,
                       outputs, NULL, 0);
}

/* Which kernels have run, by dtype and by their place in vjpi_cuda_kernels. */
enum { KINDS = sizeof(vjpi_cuda_kernels) / sizeof(const void *) };
static bool has_run[VJP_BF16 + 1][KINDS];

static const void *kernel_at(const vjpi_cuda_kernels *kernels, int kind)
{
    const void *kernel;
    memcpy(&kernel, (const char *)kernels + (size_t)kind * sizeof kernel, sizeof kernel);
    return kernel;
}

static void launch(const cuda_case *c, const vjpi_cuda_launch *l)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (kernel_at(c->plan.kernels, kind) == l->kernel)
            has_run[c->call.dtype][kind] = true;
    emulate_launch(l->kernel, &l->loop, l->flat, l->lookup, l->blocks, l->x, l->y, l->shared);
}

static void run_stage(const cuda_case *c, const vjpi_cuda_stage *stage, char *const *data,
                      char *arrays)
{
    vjpi_cuda_launch l;
    bool exact, vectors = vjpi_cuda_choose(&c->plan, stage, data, &exact);
    vjpi_cuda_shape(&c->plan, stage, vectors, exact, &l);
    memcpy(l.loop.data, data, sizeof l.loop.data);
    l.loop.arrays = arrays;
    l.loop.partials = l.loop.nsegments > 1 ? arrays + c->plan.arrays_size : NULL;
    launch(c, &l);
    if (l.loop.nsegments > 1) {
        vjpi_cuda_shape_join(&c->plan, &l, &l);
        launch(c, &l);
    }
}

/* With a workspace that begins anywhere. */
static void run_emulated(trial *t)
{
    const vjpi_cuda_plan *plan = &t->c.plan;
    char *data[VJPI_MAX_TENSORS] = { NULL };
    size_t size = t->c.workspace_size + 2 * MARGIN;
    char *room = malloc(size), *workspace = room + MARGIN + 1;
    assert_non_null(room);
    memset(room, 0x5a, size);
    for (int32_t i = 0; i < plan->ntensors; i++)
        if (t->d.given[i])
            data[i] = t->memory[i].data[1] + plan->offset[i];
    char *arrays = workspace + -(uintptr_t)workspace % (uintptr_t)plan->compute_size;
    for (int32_t s = 0; s < plan->nstages; s++)
        run_stage(&t->c, &plan->stages[s], data, arrays);
    for (size_t i = 0; i < size; i++)
        if (&room[i] < workspace || &room[i] >= workspace + t->c.workspace_size)
            cuda_require(&t->c, room[i] == 0x5a, "outside of the workspace", (int64_t)i);
    free(room);
}

/* ---- results ------------------------------------------------------------------------------ */

/* Is the bound of output i relative to 1 plus its size? */
static bool is_bounded_near_0(const vjp_op_info *op, int32_t i)
{
    const char *name = vjp_op_tensor(op, i)->name;
    char near_0[64];
    snprintf(near_0, sizeof near_0, "(1 + |%s|)", name);
    for (int32_t b = 0; b < op->nbounds; b++) {
        const vjp_bound_info *bound = vjp_op_bound(op, b);
        if (strcmp(bound->output, name) == 0 && bound->magnitude)
            return strcmp(bound->magnitude, near_0) == 0;
    }
    return false;
}

/* How far two results may be apart, relative to themselves and to the largest of the tensor; to 1
 * where that is in the bound, and for PER_ROW outputs, which may be logarithms of numbers near it; to
 * the number of terms for sums, which may cancel. */
static double tolerance(const trial *t, vjp_dtype dtype)
{
    if (dtype == VJP_BF16 || dtype == VJP_F16)
        return dtype == VJP_BF16 ? 0x1p-7 : 0x1p-10;
    return t->d.dtype == VJP_F64 ? 1e-11 : 1e-4;
}

static void check_output(const trial *t, int32_t i)
{
    const vjp_tensor *tensor = t->d.given[i];
    const memory *m = &t->memory[i];
    bool exact = t->c.call.op->npasses == 1 && t->c.call.op->roles[i] == VJPI_FULL;
    double largest = t->c.call.op->roles[i] == VJPI_PER_ROW || is_bounded_near_0(t->d.op, i),
           tolerated = tolerance(t, tensor->dtype);
    int64_t count = element_count(tensor);
    if (t->c.call.op->roles[i] == VJPI_SUM && count > 0)
        largest = (double)t->c.call.elements / (double)count;
    for (int64_t e = 0; e < count; e++) {
        double value = fabs(element_read(tensor->dtype, element_at(m, 0, tensor, e)));
        largest = isfinite(value) && value > largest ? value : largest;
    }
    for (int64_t e = 0; e < count; e++) {
        char *cpu = element_at(m, 0, tensor, e), *cuda = element_at(m, 1, tensor, e);
        double a = element_read(tensor->dtype, cpu), b = element_read(tensor->dtype, cuda);
        bool same = element_bits(tensor->dtype, cpu) == element_bits(tensor->dtype, cuda);
        bool near = !exact && (a == b || fabs(a - b) <= tolerated * (fabs(a) + largest / 16));
        cuda_require(&t->c, same || near, vjp_op_tensor(t->d.op, i)->name, e);
    }
}

/* The bytes of an output that belong to no element are unchanged. */
static void check_around(const trial *t, int32_t i)
{
    const vjp_tensor *tensor = t->d.given[i];
    const memory *m = &t->memory[i];
    size_t size = vjp_dtype_size(tensor->dtype);
    if (t->d.home[i] >= 0)
        return;
    for (int64_t e = 0; e < element_count(tensor); e++)
        memset(element_at(m, 1, tensor, e), 0x5a, size);
    for (size_t byte = 0; byte < m->size; byte++)
        cuda_require(&t->c, m->bytes[1][byte] == 0x5a, "outside of an output", (int64_t)byte);
}

static void try_call(const vjp_op_info *op, vjp_dtype dtype, int32_t ndim, const int64_t *shape,
                     random_state *random)
{
    static const int64_t shared[] = { 101376, 232448 };
    trial *t = calloc(1, sizeof *t);
    assert_non_null(t);
    draw_call(op, dtype, ndim, shape, random, &t->d);
    vjpi_cuda_limits limits = { 1, shared[random_below(random, COUNT_OF(shared))], 1 };
    if (cuda_case_open(&t->c, &t->d, limits)) {
        fill(t, random);
        if (run_on_cpu(t) == VJP_OK) { /* not: labels of empty rows */
            run_emulated(t);
            for (int32_t i = op->ninputs; i < t->d.ntensors; i++)
                if (t->d.given[i])
                    check_output(t, i);
            for (int32_t i = op->ninputs; i < t->d.ntensors; i++)
                if (t->d.given[i])
                    check_around(t, i);
        }
        for (int32_t i = 0; i < t->d.ntensors; i++)
            memory_close(&t->memory[i]);
    }
    free(t);
}

/* ---- calls -------------------------------------------------------------------------------- */

static const vjp_dtype dtypes[] = { VJP_F32, VJP_F64, VJP_F16, VJP_BF16 };

static void try_shapes(const int64_t *sizes, int64_t nsizes, int32_t most_dims, int64_t elements,
                       uint64_t count_of_maps, uint64_t count_of_others)
{
    for (int32_t op = 0; op < vjp_op_count(); op++) {
        bool map = !kind_reduces(vjp_op_at(op)); /* maps differ in their formulas alone */
        uint64_t count = map ? count_of_maps : count_of_others,
                 first = map ? (uint64_t)op << 32 : 0;
        for (uint64_t number = 0; number < count; number++) {
            random_state random = random_start(random_seed(), first + number);
            int64_t shape[4] = { 1, 1, 1, 1 }, room = elements;
            int32_t ndim = (int32_t)random_between(&random, 1, most_dims);
            for (int32_t i = 0; i < ndim; i++) {
                int64_t n = sizes[random_below(&random, nsizes)];
                shape[i] = n <= room ? n : 1;
                room /= shape[i] > 0 ? shape[i] : 1;
            }
            try_call(vjp_op_at(op), dtypes[number % COUNT_OF(dtypes)], ndim, shape, &random);
        }
    }
}

static void small_calls_give_the_same_numbers(void **state)
{
    (void)state;
    const int64_t sizes[] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 32, 33, 40, 64, 65, 100,
                              129, 256, 300, 513, 1024, 2048, 2500, 4099 };
    try_shapes(sizes, COUNT_OF(sizes), 4, 5000, unit_quick() ? 24 : 100, unit_quick() ? 60 : 250);
}

/* Rows that no block holds, and sums in segments. */
static void long_rows_give_the_same_numbers(void **state)
{
    (void)state;
    const int64_t sizes[] = { 1, 2, 3, 8, 9, 16, 2049, 2500, 4096, 5000, 8193, 9000, 16384, 17001,
                              33000 };
    try_shapes(sizes, COUNT_OF(sizes), 2, 70000, unit_quick() ? 4 : 12, unit_quick() ? 8 : 40);
}

/* Sizes that are whole vectors of any dtype: without them, tiles of transposed vectors are rarely
 * drawn. */
static void maps_of_whole_vectors_give_the_same_numbers(void **state)
{
    (void)state;
    const int64_t shapes[][2] = { { 16, 40 }, { 48, 16 }, { 24, 72 } };
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (uint64_t number = 0; number < 48 && !kind_reduces(vjp_op_at(op)); number++) {
            random_state random = random_start(random_seed(), (uint64_t)(op + 1) << 40 | number);
            try_call(vjp_op_at(op), dtypes[number % COUNT_OF(dtypes)], 2,
                     shapes[random_below(&random, COUNT_OF(shapes))], &random);
        }
}

static void try_rows(int64_t rows, int64_t n, uint64_t count)
{
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (uint64_t number = 0; number < count && kind_reduces(vjp_op_at(op)); number++) {
            uint64_t stream = (uint64_t)n << 32 | (uint64_t)op << 16 | number;
            random_state random = random_start(random_seed(), stream);
            const int64_t shape[] = { rows, n };
            try_call(vjp_op_at(op), dtypes[number % COUNT_OF(dtypes)], 2, shape, &random);
        }
}

/* Rows that lanes of a warp share, a warp, a block; columns that no block holds. */
static void rows_of_every_size_give_the_same_numbers(void **state)
{
    (void)state;
    const int64_t sizes[] = { 4, 20, 48, 96, 200, 300, 500, 1000, 2000, 4000 };
    for (size_t size = 0; size < COUNT_OF(sizes); size++)
        try_rows(3, sizes[size], unit_quick() ? 8 : 40);
    try_rows(2056, 8, unit_quick() ? 0 : 40);
}

/* What the calls above ran: of each dtype, every kind of kernel that some operator has, except
 * those that take a cluster of blocks or a table (test_cuda_lookups.c). */
static void every_kind_of_kernel_was_run(void **state)
{
    const int of_clusters = (int)(offsetof(vjpi_cuda_kernels, longer[1]) / sizeof(const void *));
    const int of_tables = (int)(offsetof(vjpi_cuda_kernels, lookup) / sizeof(const void *));
    (void)state;
    if (unit_quick())
        skip();
#define DTYPE(name, suffix, ...)                                                              \
    for (int kind = 0; kind < KINDS; kind++) {                                                \
        bool exists = false;                                                                  \
        for (int32_t op = 0; op < vjp_op_count(); op++)                                       \
            exists |= kernel_at(&vjpi_cuda_kernel_set_##name.kernels[op][0][0], kind) != NULL; \
        if (exists && kind != of_clusters && kind != of_tables &&                             \
            !has_run[VJP_##suffix][kind])                                                     \
            fail_msg("%s: kernel %d of vjpi_cuda_kernels was not run", #name, kind);          \
    }
#include "dtypes.def"
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_calls_give_the_same_numbers),
        cmocka_unit_test(long_rows_give_the_same_numbers),
        cmocka_unit_test(maps_of_whole_vectors_give_the_same_numbers),
        cmocka_unit_test(rows_of_every_size_give_the_same_numbers),
        cmocka_unit_test(every_kind_of_kernel_was_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
