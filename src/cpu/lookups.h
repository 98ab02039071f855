/* SPDX-License-Identifier: Apache-2.0 */
/* lookups.h - maps of 16-bit data by a table of all values of the first input. Part of loops.c.
 *
 * One copy for all operators, and their bits: the table was filled by their formula, and where it
 * has no answer the formula is called. Entries are loaded one by one: on Zen 4 that is faster than
 * gathers. So many loads per element leave few cache lines in flight, hence the prefetching
 * (docs/notebook-cpu.md). */
#if VJPI_COMPUTE_F64
#define LOOKUP_KERNEL(kind) NULL
#else
#define LOOKUP_KERNEL(kind) SIZE == 2 ? NAME(lookup, kind, ) : NULL

/* The table's entries for a pair, in the order of the dtype's pairs. */
INLINE VV factors(const T *entries, const bits16 *x)
{
    if (BY_PARITY)
        return (VV){ look_up(entries, x, 2), look_up(entries, x + 1, 2) };
    return (VV){ look_up(entries, x, 1), look_up(entries, x + LANES, 1) };
}

/* n elements by the formula; the operands are dense here. */
RARE void by_formula(const vjpi_tile *tile, char *x, char *dy, char *dx, ptrdiff_t n)
{
    vjpi_tile few = *tile;
    few.rows = 1;
    few.n = n;
    few.repeated = 0;
    few.non_temporal = false;
    few.data[0] = x, few.data[1] = dy, few.data[2] = dx;
    tile->lookup->formula(&few);
}

INLINE void product_pair(const vjpi_tile *tile, char *x, char *dy, char *dx, ptrdiff_t some,
                         bool non_temporal)
{
    bits16 copy[PAIR];
    if (some) { /* entries past the end: any that is there */
        memset(copy, 0, sizeof(copy));
        memcpy(copy, x, (size_t)some * SIZE);
    }
    VV factor = factors(tile->lookup->entries, some ? copy : (const bits16 *)(void *)x);
    if (__builtin_expect(!all(both(eq(factor.a, factor.a), eq(factor.b, factor.b))), 0)) {
        by_formula(tile, x, dy, dx, some ? some : PAIR);
        return;
    }
    VV v = some ? LOAD_SOME(dy, some) : LOAD(dy);
    v = (VV){ v.a * factor.a, v.b * factor.b };
    if (some)
        STORE_SOME(dx, v, some);
    else if (non_temporal)
        STREAM(dx, v);
    else
        STORE(dx, v);
}

INLINE void product_line(const vjpi_tile *tile, const operands *o, ptrdiff_t n, bool non_temporal)
{
    ptrdiff_t at = 0;
    for (; at + PAIR <= n; at += PAIR) {
        char *x = o->data[0] + at * o->move[0], *dy = o->data[1] + at * o->move[1];
        fetch((uintptr_t)x + FETCH_AHEAD);
        fetch((uintptr_t)dy + FETCH_AHEAD);
        product_pair(tile, x, dy, o->data[2] + at * SIZE, 0, non_temporal);
    }
    if (at < n)
        product_pair(tile, o->data[0] + at * o->move[0], o->data[1] + at * o->move[1],
                     o->data[2] + at * SIZE, n - at, false);
}

INLINE eight eight_values(const uint16_t *entries, const char *src)
{
    const bits16 *x = (const bits16 *)(const void *)src;
    return (eight){ entries[x[0]], entries[x[1]], entries[x[2]], entries[x[3]],
                    entries[x[4]], entries[x[5]], entries[x[6]], entries[x[7]] };
}

INLINE void value_line(const vjpi_tile *tile, const operands *o, ptrdiff_t n, bool non_temporal)
{
    enum { LINE = CACHE_LINE / SIZE };
    const uint16_t *entries = tile->lookup->entries;
    const ptrdiff_t move = o->move[0];
    const char *x = o->data[0];
    char *y = o->data[1];
    ptrdiff_t at = 0;
    for (; at + LINE <= n; at += LINE) {
        fetch((uintptr_t)(x + at * move) + FETCH_AHEAD);
        EVERY
        for (int i = 0; i < LINE; i += 8) {
            eight found = eight_values(entries, x + (at + i) * move);
            if (non_temporal)
                stream_eight(y + (at + i) * SIZE, found);
            else
                memcpy(y + (at + i) * SIZE, &found, sizeof(found));
        }
    }
    for (; at < n; at++) {
        const bits16 *one = (const bits16 *)(const void *)(x + at * move);
        memcpy(y + at * SIZE, &entries[*one], SIZE);
    }
}

/* A block_function for either kind. */
INLINE void lookup_rows(const signature *op, const vjpi_tile *tile, char *const *data,
                        ptrdiff_t rows, ptrdiff_t n, bool non_temporal)
{
    const use u = { op, NULL, 0, false, false, true };
    operands o = block_operands(u, tile, data);
    for (; rows > 0; rows--) {
        if (op->nin == 1 && non_temporal)
            value_line(tile, &o, n, true);
        else if (op->nin == 1)
            value_line(tile, &o, n, false);
        else if (non_temporal)
            product_line(tile, &o, n, true);
        else
            product_line(tile, &o, n, false);
        if (rows > 1)
            next_row(u, tile, &o);
    }
}

static const tensor_code lookup_tensors[] = { { VJPI_ELEMENTS, STORED_SAME },
                                              { VJPI_ELEMENTS, STORED_SAME },
                                              { VJPI_FULL, STORED_SAME } };

#define LOOKUPS(kind, inputs)                                                                    \
    static const signature NAME(lookup, kind##_signature, );                                     \
    static __attribute__((noinline)) void NAME(lookup, kind##_block, )(                          \
        const vjpi_tile *tile, char *const *data, ptrdiff_t start, ptrdiff_t rows, ptrdiff_t n,  \
        bool non_temporal, VV *sums)                                                             \
    {                                                                                            \
        (void)start, (void)sums;                                                                 \
        lookup_rows(&NAME(lookup, kind##_signature, ), tile, data, rows, n, non_temporal);       \
    }                                                                                            \
    static block_function *const NAME(lookup, kind##_blocks, )[] = {                             \
        NAME(lookup, kind##_block, )                                                             \
    };                                                                                           \
    static const signature NAME(lookup, kind##_signature, ) = {                                  \
        .blocks = NAME(lookup, kind##_blocks, ), .tensors = lookup_tensors + 2 - (inputs),       \
        .nin = inputs, .nout = 1, .npasses = 1                                                   \
    };                                                                                           \
    static void NAME(lookup, kind, )(const vjpi_tile *tile)                                      \
    {                                                                                            \
        map_tile(&NAME(lookup, kind##_signature, ), 0, tile);                                    \
    }
LOOKUPS(values, 1)
LOOKUPS(products, 2)
#endif
