/* SPDX-License-Identifier: Apache-2.0 */
/* ids.c - a set of ids, so that a graph finds an operation it already has without a search through
 * all of them. At most half of the slots are used. */
#include <stdlib.h>

#include "internal.h"

/* place_of - the place of an id: where it is, or the free one where it belongs. */
static size_t place_of(const dg_ids *ids, size_t id)
{
    size_t mask = ids->nplaces - 1;
    size_t place = (size_t)(((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
    while (ids->places[place] && ids->places[place] != id)
        place = (place + 1) & mask;
    return place;
}

int dg_ids_reserve(dg_ids *ids, size_t count)
{
    if (count <= ids->nplaces / 2)
        return 1;
    dg_ids grown = { ids->nplaces ? 2 * ids->nplaces : 16, NULL, ids->has_zero };
    grown.places = calloc(grown.nplaces, sizeof(*grown.places));
    if (!grown.places)
        return 0;
    for (size_t i = 0; i < ids->nplaces; i++)
        if (ids->places[i])
            dg_ids_add(&grown, ids->places[i]);
    dg_ids_clear(ids);
    *ids = grown;
    return 1;
}

void dg_ids_add(dg_ids *ids, size_t id)
{
    if (id)
        ids->places[place_of(ids, id)] = id;
    else
        ids->has_zero = 1;
}

int dg_ids_has(const dg_ids *ids, size_t id)
{
    if (!id)
        return ids->has_zero;
    return ids->nplaces && ids->places[place_of(ids, id)] == id;
}

void dg_ids_clear(dg_ids *ids)
{
    free(ids->places);
    *ids = (dg_ids){ 0, NULL, 0 };
}
