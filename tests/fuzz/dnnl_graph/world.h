/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - the objects that a sequence of oneDNN Graph calls works on: a few slots of each kind.
 *
 * Each file here has the calls of some kinds of objects. A call takes its decisions from the bytes,
 * makes one or two calls of the library and checks what they promise. fuzz_dnnl_graph.c has the
 * table of them.
 */
#ifndef VJP_FUZZ_DNNL_GRAPH_WORLD_H
#define VJP_FUZZ_DNNL_GRAPH_WORLD_H

#include <oneapi/dnnl/dnnl_graph.h>

#include "bytes.h"

enum {
    FEW = 3,     /* slots of most kinds of objects */
    TENSORS = 8, /* and of tensors and their descriptions; also the ids */
    LISTED = 5   /* tensors in a list */
};

typedef dnnl_graph_logical_tensor_t lt;

/* A tensor and its memory, NULL where the description needs too much. */
typedef struct filled {
    dnnl_graph_tensor_t tensor;
    char *block;
} filled;

/* A compiled partition and the ids it was compiled for. */
typedef struct compiled {
    dnnl_graph_compiled_partition_t it;
    size_t ninputs, noutputs, ids[2 * LISTED];
} compiled;

typedef struct world {
    dnnl_engine_t engines[FEW];
    dnnl_stream_t streams[FEW];
    dnnl_graph_op_t ops[FEW];
    dnnl_graph_graph_t graphs[FEW];
    dnnl_graph_partition_t partitions[FEW];
    compiled compiled[FEW];
    lt descriptions[TENSORS];
    filled tensors[TENSORS];
} world;

/* SLOT - the slot that the bytes `b` choose. */
#define SLOT(array) (&(array)[bytes_below(b, (int32_t)(sizeof(array) / sizeof((array)[0])))])

/* expect_made - whether there is an object in `slot` must be as the status says. */
static inline void expect_made(dnnl_status_t status, const void *slot)
{
    void *made;
    memcpy(&made, slot, sizeof(made));
    expect((status == dnnl_success) == (made != NULL), "an object in spite of an error, or none");
}

/* engines.c. allocations_refused - how often an allocator of ours has had no memory. */
extern int allocations_refused;
void new_engine(world *w, bytes *b);
void new_stream(world *w, bytes *b);
void drop_engine(world *w, int32_t slot);
void drop_stream(world *w, int32_t slot);

/* descriptions.c. find_extent - the offsets of the lowest and highest element; 0 if they are not
 * known or too far apart. */
void new_description(world *w, bytes *b);
int find_extent(const lt *it, int64_t *low, int64_t *high);

/* tensors.c. fill - a tensor of that description, with zeroed memory if it can have any; empty_out
 * gives both back. */
void new_tensor(world *w, bytes *b);
void set_data(world *w, bytes *b);
void drop_tensor(world *w, int32_t slot);
filled fill(const lt *it, dnnl_engine_t engine);
void empty_out(filled *slot);

/* graphs.c */
void new_op(world *w, bytes *b);
void set_attr(world *w, bytes *b);
void new_graph(world *w, bytes *b);
void add_op(world *w, bytes *b);
void finish_graph(world *w, bytes *b);
void drop_op(world *w, int32_t slot);
void drop_graph(world *w, int32_t slot);

/* partitions.c */
void new_partition(world *w, bytes *b);
void take_partitions(world *w, bytes *b);
void ask_partition(world *w, bytes *b);
void drop_partition(world *w, int32_t slot);

/* compiled.c */
void new_compiled(world *w, bytes *b);
void compile(world *w, bytes *b);
void compute(world *w, bytes *b);
void execute(world *w, bytes *b);
void drop_compiled(world *w, int32_t slot);

/* settings.c */
void change_settings(world *w, bytes *b);

#endif
