/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_dnnl_graph.c - the input is a sequence of oneDNN Graph calls on a few slots of objects.
 *
 * Calls come in any order, with NULL, with descriptions that say anything and with objects of
 * other graphs; what was destroyed is never used again, and data is where the description says.
 * What was compiled must execute on tensors of the compiled descriptions.
 */
#include "dnnl_graph/world.h"

enum {
    CALLS = 96,
    DROPS = 6 /* kinds of objects that a call destroys; streams go at the end */
};

static const struct kind {
    void (*drop)(world *w, int32_t slot);
    int32_t slots;
} kinds[] = {
    { drop_engine, FEW },   { drop_op, FEW },         { drop_graph, FEW },  { drop_partition, FEW },
    { drop_compiled, FEW }, { drop_tensor, TENSORS }, { drop_stream, FEW },
};

static void drop_one(world *w, bytes *b)
{
    const struct kind *kind = &kinds[bytes_below(b, DROPS)];
    kind->drop(w, bytes_below(b, kind->slots));
}

static void drop_all(world *w)
{
    for (const struct kind *kind = kinds; kind < kinds + sizeof(kinds) / sizeof(kinds[0]); kind++)
        for (int32_t slot = 0; slot < kind->slots; slot++)
            kind->drop(w, slot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const calls[])(world *, bytes *) = {
        new_engine,      new_stream,    new_description, new_tensor,   set_data, new_op,
        set_attr,        new_graph,     add_op,          finish_graph, compile,  compute,
        take_partitions, new_partition, ask_partition,   new_compiled, execute,  drop_one,
        change_settings,
    };
    bytes b = { data, size };
    world w = { 0 };
    for (int i = 0; i < CALLS && b.left > 0; i++)
        calls[bytes_below(&b, sizeof(calls) / sizeof(calls[0]))](&w, &b);
    drop_all(&w);
    return 0;
}
