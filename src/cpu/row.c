/* SPDX-License-Identifier: Apache-2.0 */
/* row.c - a sum along an axis, then a map that needs it, while the data is still in the cache. */
#include "cpu/stage.h"

/* The axis is dense in memory: the kernel does whole rows. */
void vjpi_row_units(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                    char *room)
{
    const vjpi_nest *nest = &job->plan->nests[stage->nest];
    vjpi_tile tile = { .constants = job->plan->constants, .stream = job->stream };
    vjpi_walk walk;
    vjpi_walk_units(nest, job->data, begin, &walk);
    walk.index[nest->inner.axis] = 0; /* not cut: a step of its own */
    for (int64_t unit = begin; unit < end; unit++) {
        vjpi_tile_begin(nest, &walk, stage->operands, room, &tile);
        job->plan->kernels->row(&tile);
        vjpi_next_unit(nest, &walk);
    }
}

/* Some other dim is inner: the sums of a block of columns, then their outputs. */
void vjpi_column_units(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                       char *room)
{
    const vjpi_nest *nest = &job->plan->nests[stage->nest];
    vjpi_tile_operands inputs = { job->plan->ninputs, job->plan->ninputs, 0 };
    int32_t rowsum = stage->operands.n;
    vjpi_tile tile = { .constants = job->plan->constants };
    vjpi_walk unit_walk, walk;
    vjpi_walk_units(nest, job->data, begin, &unit_walk);
    for (int64_t unit = begin; unit < end; unit++) {
        tile.data[rowsum] =
            vjpi_sum_steps(job, nest, inputs, &unit_walk, 0, nest->nsteps, room);
        tile.row_step[rowsum] = 0;
        vjpi_walk_steps(nest, &unit_walk, 0, &walk);
        for (int64_t step = 0; step < nest->nsteps; step++) {
            tile.stream = job->stream;
            vjpi_tile_begin(nest, &walk, stage->operands, room, &tile);
            job->plan->kernels->map(&tile);
            vjpi_tile_end(nest, &walk, stage->operands, &tile);
            vjpi_next_step(nest, &walk);
        }
        vjpi_next_unit(nest, &unit_walk);
    }
}
