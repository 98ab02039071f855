/* SPDX-License-Identifier: Apache-2.0 */
/* orders.h - every order in which objects can be created, used and destroyed.
 *
 * Each object is created once, while those that it needs exist, and destroyed once, at any time
 * after that. After every step all that exists is used. Meant for AddressSanitizer, which sees a
 * use of what was freed, a second free and a leak. */
#ifndef VJP_TESTS_ORDERS_H
#define VJP_TESTS_ORDERS_H

#include <stdint.h>

typedef struct lifetime {
    void (*create)(void);
    void (*destroy)(void);
    void (*use)(void);
    uint32_t needs;     /* bit i: object i must exist when this one is created */
    uint32_t used_with; /* the same for its use, besides the object itself */
} lifetime;

enum { ORDERS_MOST = 8 };

typedef struct orders {
    const lifetime *objects;
    int count, nsteps;
    int8_t steps[2 * ORDERS_MOST]; /* object i is created: i; destroyed: -1 - i */
    int64_t tried;
} orders;

static inline void orders_replay(orders *o)
{
    uint32_t alive = 0;
    o->tried++;
    for (int s = 0; s < o->nsteps; s++) {
        int step = o->steps[s], object = step < 0 ? -1 - step : step;
        if (step >= 0)
            o->objects[object].create();
        else
            o->objects[object].destroy();
        alive ^= 1u << object;
        for (int i = 0; i < o->count; i++) {
            uint32_t wanted = o->objects[i].used_with | 1u << i;
            if ((alive & wanted) == wanted)
                o->objects[i].use();
        }
    }
}

static inline void orders_extend(orders *o, uint32_t created, uint32_t destroyed)
{
    uint32_t alive = created & ~destroyed;
    if (o->nsteps == 2 * o->count) {
        orders_replay(o);
        return;
    }
    for (int i = 0; i < o->count; i++) {
        uint32_t bit = 1u << i;
        int step = created & bit ? -1 - i : i;
        if (destroyed & bit || (step >= 0 && (alive & o->objects[i].needs) != o->objects[i].needs))
            continue;
        o->steps[o->nsteps++] = (int8_t)step;
        orders_extend(o, created | bit, step < 0 ? destroyed | bit : destroyed);
        o->nsteps--;
    }
}

/* The number of orders tried. Orders in which an object can no longer be created are not among
 * them: what they do is the start of others. */
static inline int64_t orders_try_all(const lifetime *objects, int count)
{
    orders o = { .objects = objects, .count = count };
    orders_extend(&o, 0, 0);
    return o.tried;
}

#endif
