/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - the settings of the whole library: an accepted value is returned afterwards. */
#include <oneapi/dnnl/dnnl_debug.h>

#include "world.h"

static void set_capacities(bytes *b)
{
    int64_t number = bytes_number(b);
    dnnl_engine_kind_t kind = (dnnl_engine_kind_t)bytes_below(b, 4);
    int partitions = -1, constants = -1;
    size_t size = 0;
    if (dnnl_graph_set_compiled_partition_cache_capacity((int)number) == dnnl_success)
        expect(dnnl_graph_get_compiled_partition_cache_capacity(&partitions) == dnnl_success &&
                   partitions == (int)number,
               "a capacity for partitions");
    if (dnnl_graph_set_constant_tensor_cache((int)number) == dnnl_success)
        expect(dnnl_graph_get_constant_tensor_cache(&constants) == dnnl_success &&
                   constants == ((int)number != 0),
               "whether constants are kept");
    if (dnnl_graph_set_constant_tensor_cache_capacity(kind, (size_t)number) == dnnl_success)
        expect(dnnl_graph_get_constant_tensor_cache_capacity(kind, &size) == dnnl_success &&
                   size <= (size_t)number,
               "a capacity for constants");
}

void change_settings(world *w, bytes *b)
{
    int number = (int)bytes_number(b);
    dnnl_fpmath_mode_t mode;
    (void)w;
    dnnl_set_verbose(number);
    dnnl_graph_set_dump_mode((dnnl_graph_dump_mode_t)number);
    if (dnnl_set_default_fpmath_mode((dnnl_fpmath_mode_t)number) == dnnl_success)
        expect(dnnl_get_default_fpmath_mode(&mode) == dnnl_success && (int)mode == number,
               "the mode is another");
    dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_strict); /* the next input starts as this one */
    set_capacities(b);
    expect(dnnl_version() && dnnl_status2str((dnnl_status_t)number), "no version, or no name");
}
