/* SPDX-License-Identifier: Apache-2.0 */
/* lookups.h - maps of 16-bit data by a table of all values of the first input. Part of loops.c.
 *
 * One copy for all operators, and their bits: the table was filled by their formula, and where it
 * has no answer the formula is called. Entries are loaded one by one: on Zen 4 that is faster than
 * gathers (docs/notebook-cpu.md). */
#if VJPI_COMPUTE_F64
#define LOOKUP_KERNEL(kind) NULL
#else
#define LOOKUP_KERNEL(kind) SIZE == 2 ? NAME(lookup, kind, ) : NULL

/* The table's entries for a pair, in the order of the dtype's pairs. */
INLINE VV factors(const T *entries, const uint16_t *x)
{
    T found[PAIR];
    EVERY
    for (int i = 0; i < LANES; i++) {
        found[i] = entries[x[BY_PARITY ? 2 * i : i]];
        found[i + LANES] = entries[x[BY_PARITY ? 2 * i + 1 : i + LANES]];
    }
    return LOAD_T(found);
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
    uint16_t bits[PAIR] = { 0 };
    memcpy(bits, x, (size_t)(some ? some : PAIR) * SIZE);
    VV factor = factors(tile->lookup->entries, bits);
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

INLINE void value_pair(const vjpi_tile *tile, const char *x, char *y, ptrdiff_t some,
                       bool non_temporal)
{
    const uint16_t *entries = tile->lookup->entries;
    uint16_t bits[PAIR] = { 0 }, found[PAIR];
    memcpy(bits, x, (size_t)(some ? some : PAIR) * SIZE);
    EVERY
    for (int i = 0; i < PAIR; i++)
        found[i] = entries[bits[i]];
    if (non_temporal && !some)
        STREAM(y, LOAD(found)); /* there and back: the same bits */
    else
        memcpy(y, found, (size_t)(some ? some : PAIR) * SIZE);
}

/* A block_function for either kind. */
INLINE void lookup_rows(const signature *op, const vjpi_tile *tile, char *const *data,
                        ptrdiff_t rows, ptrdiff_t n, bool non_temporal)
{
    const use u = { op, NULL, 0, false, false, true };
    operands o = block_operands(u, tile, data);
    for (; rows > 0; rows--) {
        for (ptrdiff_t at = 0; at < n; at += PAIR) {
            ptrdiff_t some = n - at < PAIR ? n - at : 0;
            char *first = o.data[0] + at * o.move[0];
            if (op->nin == 1)
                value_pair(tile, first, o.data[1] + at * SIZE, some, non_temporal);
            else
                product_pair(tile, first, o.data[1] + at * o.move[1], o.data[2] + at * SIZE, some,
                             non_temporal);
        }
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
        NAME(lookup, kind##_blocks, ), lookup_tensors + 2 - (inputs), 0, inputs, 1, 0, 1, false, \
        { 0 }                                                                                    \
    };                                                                                           \
    static void NAME(lookup, kind, )(const vjpi_tile *tile)                                      \
    {                                                                                            \
        map_tile(&NAME(lookup, kind##_signature, ), 0, false, tile);                             \
    }
LOOKUPS(values, 1)
LOOKUPS(products, 2)
#endif
