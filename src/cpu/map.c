/* SPDX-License-Identifier: Apache-2.0 */
/* map.c - elementwise: every tile is independent. */
#include "cpu/stage.h"

void vjpi_map_units(const vjpi_job *job, const vjpi_stage *stage, int64_t begin, int64_t end,
                    char *room)
{
    const vjpi_nest *nest = &job->plan->nests[stage->nest];
    vjpi_tile tile;
    vjpi_walk walk;
    vjpi_first_tile(job, &tile);
    vjpi_walk_units(nest, job->data, begin, &walk);
    for (int64_t unit = begin, units; unit < end; unit += units) {
        tile.non_temporal = job->non_temporal;
        vjpi_tile_begin(nest, &walk, stage->operands, room, &tile);
        units = vjpi_join_units(nest, &walk, end - unit, &tile);
        job->plan->kernels->map(&tile);
        vjpi_tile_end(nest, &walk, stage->operands, &tile);
        if (unit + units < end) /* small work is done at once: overhead matters there */
            vjpi_next_units(nest, units, &walk);
    }
}
