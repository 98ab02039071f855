/* SPDX-License-Identifier: Apache-2.0 */
/* row_arrays.c - per-row data: row inputs, the values that passes leave, PER_ROW outputs.
 *
 * Whatever their dtypes and strides, kernels see them as arrays of the compute type with one
 * element per row: in a task's buffer for some rows or, where a pass over the rows is a separate
 * stage, in the workspace for all of them. */
#include "cpu/stage.h"

static double get(const vjpi_cpu_plan *plan, const char *array, int64_t i)
{
    return plan->compute == VJP_F64 ? ((const double *)(const void *)array)[i]
                                    : (double)((const float *)(const void *)array)[i];
}

static void put(const vjpi_cpu_plan *plan, char *array, int64_t i, double number)
{
    if (plan->compute == VJP_F64)
        ((double *)(void *)array)[i] = number;
    else
        ((float *)(void *)array)[i] = (float)number;
}

/* Where rows end: within the axis and, in a causal call, at the diagonal. */
static void limit_ends(const vjpi_job *job, char *const *at, const int64_t *step, int64_t n,
                       char *array)
{
    const vjpi_cpu_plan *plan = job->plan;
    int32_t counter = plan->counter;
    for (int64_t i = 0; i < n; i++) {
        double end = get(plan, array, i), most = (double)plan->length;
        if (plan->causal) {
            int64_t row = at[counter] - job->origin + i * step[counter];
            most = (double)(row + 1 + plan->causal_shift);
            most = most < (double)plan->length ? most : (double)plan->length;
        }
        end = end < most ? end : most;
        put(plan, array, i, end > 0 ? end : 0);
    }
}

void vjpi_arrays_gather(const vjpi_job *job, char *const *at, const int64_t *step, int64_t n,
                        char *arrays, int64_t capacity)
{
    const vjpi_cpu_plan *plan = job->plan;
    for (int32_t i = 0; i < plan->op->info.ninputs; i++) {
        if (plan->array_of[i] == VJPI_NO_ARRAY)
            continue;
        char *array = vjpi_array(plan, i, arrays, capacity);
        if (vjpi_has(plan->facts, i))
            plan->set->load((vjp_dtype)plan->dtypes[i], at[i], step[i], n, array);
        for (int64_t j = 0; j < n && !vjpi_has(plan->facts, i); j++)
            put(plan, array, j, plan->op->stand_ins[i]);
        if (plan->op->roles[i] == VJPI_ROW_END)
            limit_ends(job, at, step, n, array);
    }
    for (int32_t v = 0; v < vjpi_row_values(plan); v++) /* what a skipped pass leaves */
        plan->set->clear[0](vjpi_array(plan, plan->ntensors + v, arrays, capacity), n);
}

void vjpi_arrays_attach(const vjpi_cpu_plan *plan, char *arrays, int64_t capacity,
                        int64_t row_step, vjpi_tile *tile)
{
    for (int32_t i = 0; i < plan->ntensors + vjpi_row_values(plan); i++) {
        if (plan->array_of[i] == VJPI_NO_ARRAY)
            continue;
        tile->data[i] = vjpi_array(plan, i, arrays, capacity);
        tile->row_step[i] = row_step;
        if (row_step != 0)
            tile->repeated |= 1u << i;
    }
}

/* A kernel over the arrays of n rows, which are the elements of a tile. */
static void over_arrays(const vjpi_job *job, vjpi_kernel *kernel, int64_t n, char *arrays,
                        int64_t capacity)
{
    const vjpi_cpu_plan *plan = job->plan;
    static const double nothing = 0; /* read instead of the elements, which do not matter here */
    vjpi_tile tile;
    vjpi_first_tile(job, &tile);
    tile.non_temporal = tile.axis_inner = false;
    tile.axis_row = tile.index = 0;
    tile.rows = 1;
    tile.n = n;
    for (int32_t i = 0; i < plan->ntensors; i++) {
        tile.data[i] = (char *)(uintptr_t)&nothing;
        tile.row_step[i] = 0;
        tile.repeated |= 1u << i;
    }
    for (int32_t i = 0; i < plan->ntensors; i++)
        if (plan->array_of[i] != VJPI_NO_ARRAY)
            tile.repeated &= ~(1u << i);
    vjpi_arrays_attach(plan, arrays, capacity, 0, &tile);
    kernel(&tile);
}

void vjpi_arrays_lets(const vjpi_job *job, int32_t pass, int64_t n, char *arrays, int64_t capacity)
{
    const vjpi_cpu_plan *plan = job->plan;
    if (VJPI_LETS(plan->op->passes[pass]) > 0)
        over_arrays(job, plan->kernels->lets[pass], n, arrays, capacity);
}

void vjpi_arrays_finish(const vjpi_job *job, char *const *at, const int64_t *step, int64_t n,
                        char *arrays, int64_t capacity)
{
    const vjpi_cpu_plan *plan = job->plan;
    over_arrays(job, plan->kernels->per_row, n, arrays, capacity);
    for (int32_t i = plan->op->info.ninputs; i < plan->ntensors; i++)
        if (plan->op->roles[i] == VJPI_PER_ROW && vjpi_has(plan->facts, i))
            plan->set->store((vjp_dtype)plan->dtypes[i], vjpi_array(plan, i, arrays, capacity), n,
                             at[i], step[i]);
}

/* ---- stages over all rows ----------------------------------------------------------------- */

/* Call `visit` for each run of rows of the units: at[] has the tensors, then the arrays. */
static void each_run(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                     void (*visit)(const vjpi_job *, char *const *, const int64_t *, int64_t,
                                   char *, int64_t))
{
    const vjpi_cpu_plan *plan = job->plan;
    const vjpi_nest *nest = &plan->nests[stage->nest];
    vjpi_walk walk;
    vjpi_walk_units(nest, job->rows, begin, &walk);
    for (int64_t unit = begin; unit < end; unit++) {
        char *at[VJPI_MAX_OPERANDS];
        for (int64_t row = 0; row < vjpi_edge_length(&nest->row, &walk); row++) {
            for (int32_t i = 0; i < nest->noperands; i++)
                at[i] = walk.at[i] + row * nest->row.step[i];
            visit(job, at, nest->inner.step, vjpi_edge_length(&nest->inner, &walk),
                  at[plan->ntensors], plan->rows);
        }
        vjpi_next_unit(nest, &walk);
    }
}

void vjpi_gather_rows(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                      char *room)
{
    (void)room;
    each_run(job, stage, begin, end, vjpi_arrays_gather);
}

/* A unit is a row: the arrays of all rows are dense. */
void vjpi_lets_rows(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                    char *room)
{
    const vjpi_cpu_plan *plan = job->plan;
    char *arrays = job->rows[plan->ntensors] + begin * (int64_t)plan->set->compute_size;
    (void)room;
    vjpi_arrays_lets(job, stage->fold.part, end - begin, arrays, plan->rows);
}

void vjpi_finish_rows(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                      char *room)
{
    (void)room;
    each_run(job, stage, begin, end, vjpi_arrays_finish);
}
