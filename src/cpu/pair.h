/* SPDX-License-Identifier: Apache-2.0 */
/* pair.h - one pair of vectors of one operator: load, compute, store. Part of loops.c.
 *
 * A `signature` is what the compiler should know about an operator, a `use` what it should know
 * about a kernel. Everything here is inlined with constant ones, so unneeded code is removed. */

/* How the elements of a tensor are stored, by the words of ops.def. */
enum {
    STORED_SAME, /* the dtype of the set */
    STORED_WIDE, /* that or, if dtypes are mixed, the one that the tile names */
    STORED_ANY = STORED_WIDE,
    STORED_MASK,
    STORED_T, /* the compute type, */
    STORED_STAT = STORED_T, /* to which row operands were converted */
    STORED_INDEX = STORED_T,
    STORED_LABEL = STORED_T
};

typedef struct tensor_code {
    uint8_t role, storage;
} tensor_code;

/* One part of an operator over n elements of each of some rows of a tile, not inlined: lines.h. */
typedef void block_function(const vjpi_tile *tile, char *const *data, ptrdiff_t start,
                            ptrdiff_t rows, ptrdiff_t n, bool non_temporal, VV *sums);

/* blocks[]: block_number. */
typedef struct signature {
    block_function *const *blocks;
    const tensor_code *tensors;
    int choice, nin, nout, nsums, nvalues, nlets, npasses;
    bool heavy;   /* the formula is in blocks, which kernels call */
    bool is_long; /* HEAVY */
    bool plain;   /* rows are not masked and are whole */
    bool keeps, indexed, ends, mixed;
    uint16_t passes[VJPI_MAX_PASSES]; /* limits.h */
} signature;

/* Where the block of a part is: the passes, the ROWLETs that precede each, the PER_ROW outputs. */
INLINE int block_number(int part)
{
    return part == PER_ROWS ? 2 * VJPI_MAX_PASSES
           : part >= LETS   ? part - LETS + VJPI_MAX_PASSES
                            : part;
}

typedef struct use {
    const signature *op;
    formula *formula; /* NULL where only its blocks are called */
    int part;
    bool scalars; /* row inputs and row values are one number for the whole line */
    bool sums;    /* SUM outputs are wanted */
    bool heavy;   /* the formula is long: blocks are called, not inlined */
} use;

INLINE bool is_last(use u) { return u.part == u.op->npasses - 1; }
INLINE bool is_lets(use u) { return u.part >= LETS && u.part < PER_ROWS; }
INLINE int first_let(use u) { return u.op->nin + u.op->nout + u.op->nvalues; }
INLINE int kept_operand(use u) { return first_let(u) + u.op->nlets; }
INLINE int operand_count(use u) { return kept_operand(u) + u.op->keeps; }
INLINE bool is_pass(use u) { return u.part < u.op->npasses - 1; }
INLINE bool is_max(use u) { return is_pass(u) && VJPI_IS_MAX(u.op->passes[u.part]); }

/* Is one copy of the formula to serve both vectors of a pair? What maxima are taken of is short. */
INLINE bool by_halves(use u) { return u.op->is_long && !is_max(u); }

/* The number of terms per element: for the values that a pass reduces, or for the SUM outputs. */
INLINE int term_count(use u)
{
    if (is_pass(u))
        return VJPI_REDUCTIONS(u.op->passes[u.part]);
    return u.sums ? u.op->nsums : 0;
}

INLINE int role_of(use u, int i)
{
    if (i < u.op->nin + u.op->nout)
        return u.op->tensors[i].role;
    return i == kept_operand(u) ? VJPI_KEPT : VJPI_VALUE;
}

INLINE bool is_row_operand(use u, int i)
{
    int role = role_of(u, i);
    return role == VJPI_ROW_INPUT || role == VJPI_ROW_END || role == VJPI_VALUE ||
           role == VJPI_PER_ROW;
}

/* How many row values the passes before pass `end` have made, and how many ROWLETs precede them.
 * Written without loops, which would be copied into every kernel before they are unrolled. */
INLINE int values_before(use u, int end)
{
    _Static_assert(VJPI_MAX_PASSES == 4, "the last pass, and three before it");
    if (end >= u.op->npasses - 1)
        return u.op->nvalues;
    return (end > 0 ? VJPI_REDUCTIONS(u.op->passes[0]) : 0) +
           (end > 1 ? VJPI_REDUCTIONS(u.op->passes[1]) : 0);
}

INLINE int lets_before(use u, int end)
{
    if (end >= u.op->npasses)
        return u.op->nlets;
    return (end > 0 ? VJPI_LETS(u.op->passes[0]) : 0) + (end > 1 ? VJPI_LETS(u.op->passes[1]) : 0) +
           (end > 2 ? VJPI_LETS(u.op->passes[2]) : 0);
}

/* The pass that makes the value of KEEP. A part that is no pass is told apart by a constant, too:
 * gcc 13 warns of an index out of bounds otherwise. */
INLINE bool makes_kept(use u)
{
    return u.part < VJPI_MAX_PASSES && u.part < u.op->npasses &&
           VJPI_KEEPS(u.op->passes[u.part]);
}

/* Is operand i read by this part, or written by it? What is kept is if tile->facts says so. */
INLINE bool is_read(use u, int i)
{
    int value = i - u.op->nin - u.op->nout, let = i - first_let(u);
    int pass = is_lets(u) ? u.part - LETS : u.part;
    if (i == kept_operand(u))
        return u.part < u.op->npasses && !makes_kept(u);
    if (let >= 0)
        return let < lets_before(u, is_lets(u) ? pass : pass + 1);
    return i < u.op->nin || (value >= 0 && value < values_before(u, pass));
}

INLINE bool is_written(use u, int i)
{
    int let = i - first_let(u);
    if (i == kept_operand(u))
        return makes_kept(u);
    if (let >= 0)
        return is_lets(u) && let >= lets_before(u, u.part - LETS) &&
               let < lets_before(u, u.part - LETS + 1);
    return role_of(u, i) == (u.part == PER_ROWS ? VJPI_PER_ROW : VJPI_FULL) &&
           (u.part == PER_ROWS || is_last(u));
}

/* An input that calls of these kernels do not have: the formula does not use it. */
INLINE bool is_absent(use u, int i)
{
    return u.op->plain && i < u.op->nin &&
           (u.op->tensors[i].role == VJPI_ROW_END || u.op->tensors[i].storage == STORED_MASK);
}

INLINE int storage_of(use u, int i)
{
    if (is_row_operand(u, i) || role_of(u, i) == VJPI_KEPT)
        return STORED_T;
    int storage = u.op->tensors[i].storage;
    return storage == STORED_WIDE && !u.op->mixed ? STORED_SAME : storage;
}

INLINE ptrdiff_t size_of(use u, const vjpi_tile *tile, int i)
{
    int storage = storage_of(u, i);
    if (storage == STORED_WIDE)
        return tile->dtypes[i] == VJP_F16 || tile->dtypes[i] == VJP_BF16 ? 2 : sizeof(T);
    return storage == STORED_T ? (ptrdiff_t)sizeof(T) : storage == STORED_MASK ? 1 : SIZE;
}

/* ---- memory ------------------------------------------------------------------------------- */

/* The compute type in memory, in the order of the dtype's pairs. */
INLINE VV load_T(const void *p) { return to_own_order(LOAD_T(p)); }
INLINE VV load_some_T(const void *p, ptrdiff_t n) { return to_own_order(LOAD_SOME_T(p, n)); }
INLINE void store_T(void *p, VV v) { STORE_T(p, from_own_order(v)); }
INLINE void stream_T(void *p, VV v) { STREAM_T(p, from_own_order(v)); }
INLINE void store_some_T(void *p, VV v, ptrdiff_t n) { STORE_SOME_T(p, from_own_order(v), n); }

/* A pair of a dtype that the tile names: of the set's, of the compute type, or of 16 bits. */
INLINE VV load_mixed(int dtype, const char *p, ptrdiff_t some)
{
    if (dtype == OWN_DTYPE)
        return some ? LOAD_SOME(p, some) : LOAD(p);
#if !VJPI_COMPUTE_F64
    if (dtype == VJP_F16)
        return to_own_order(some ? load_some_f16(p, some) : load_f16(p));
    if (dtype == VJP_BF16)
        return to_own_order(in_order(some ? load_some_bf16(p, some) : load_bf16(p)));
#endif
    VV v = some ? load_some_T(p, some) : load_T(p);
#if !VJPI_COMPUTE_F64
    if (BY_PARITY)
        return (VV){ plain_nan(v.a), plain_nan(v.b) };
#endif
    return v;
}

INLINE void store_mixed(int dtype, char *p, VV v, ptrdiff_t some)
{
    if (dtype == OWN_DTYPE) {
        if (some)
            STORE_SOME(p, v, some);
        else
            STORE(p, v);
        return;
    }
#if !VJPI_COMPUTE_F64
    if (dtype == VJP_F16) {
        if (some)
            store_some_f16(p, from_own_order(v), some);
        else
            store_f16(p, from_own_order(v));
        return;
    }
    if (dtype == VJP_BF16) {
        VV plain = by_parity(from_own_order((VV){ plain_nan(v.a), plain_nan(v.b) }));
        if (some)
            store_some_bf16(p, plain, some);
        else
            store_bf16(p, plain);
        return;
    }
#endif
    if (some)
        store_some_T(p, v, some);
    else
        store_T(p, v);
}

/* A mask: 1 where a byte is not 0. */
INLINE VV load_mask(const char *p, ptrdiff_t some)
{
    T numbers[PAIR] = { 0 };
    if (some)
        for (ptrdiff_t i = 0; i < some; i++)
            numbers[i] = p[i] != 0;
    else
        for (ptrdiff_t i = 0; i < PAIR; i++) /* a constant number: vector instructions */
            numbers[i] = p[i] != 0;
    return load_T(numbers);
}

/* Does a repeated operand need a block of copies? Blocks of long formulas read one element of what
 * is not of the data's dtypes, and of what is kept nothing. */
INLINE bool needs_copies(use u, int i)
{
    if (!u.op->heavy || is_written(u, i))
        return role_of(u, i) != VJPI_KEPT;
    return storage_of(u, i) != STORED_T && storage_of(u, i) != STORED_MASK;
}

/* An operand that is repeated, in a loop that finds that out when it runs: copies have no order. */
INLINE VV load_copies(use u, const vjpi_tile *tile, int i, const char *p)
{
    T number;
    switch (storage_of(u, i)) {
    case STORED_WIDE:
        return load_mixed(tile->dtypes[i], p, 0);
    case STORED_MASK:
        return (VV){ k(*p != 0), k(*p != 0) };
    case STORED_T:
        memcpy(&number, p, sizeof(number));
        return (VV){ k(number), k(number) };
    }
    return LOAD(p);
}

INLINE VV load(use u, const vjpi_tile *tile, int i, const char *p, ptrdiff_t some)
{
    switch (storage_of(u, i)) {
    case STORED_WIDE:
        return load_mixed(tile->dtypes[i], p, some);
    case STORED_MASK:
        return load_mask(p, some);
    case STORED_T:
        return some ? load_some_T(p, some) : load_T(p);
    }
    if (some)
        return LOAD_SOME(p, some);
    return is_last(u) && SIZE == sizeof(T) ? LOAD_T_TO_STORE(p) : LOAD(p);
}

INLINE void store(use u, const vjpi_tile *tile, int i, char *p, VV v, ptrdiff_t some,
                  bool non_temporal)
{
    int storage = storage_of(u, i);
    if (storage == STORED_WIDE) /* decided at run time: kernels of long formulas always check */
        storage = tile->dtypes[i] == OWN_DTYPE ? STORED_SAME
                  : tile->dtypes[i] == VJP_F32 ? STORED_T : STORED_WIDE;
    if (storage == STORED_WIDE)
        store_mixed(tile->dtypes[i], p, v, some);
    else if (some && storage == STORED_T)
        store_some_T(p, v, some);
    else if (some)
        STORE_SOME(p, v, some);
    else if (non_temporal && storage == STORED_T)
        stream_T(p, v);
    else if (non_temporal)
        STREAM(p, v);
    else if (storage == STORED_T)
        store_T(p, v);
    else
        STORE(p, v);
}

INLINE V lane_numbers(void)
{
    static const T numbers[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    V v;
    memcpy(&v, numbers, sizeof(v));
    return v;
}

/* ---- one pair ----------------------------------------------------------------------------- */

/* The identity of a reduction, and how it combines values. A maximum ignores NaN. */
INLINE V identity(use u) { return k(is_max(u) ? (T)-INFINITY : (T)0); }

INLINE V combined(use u, V a, V b)
{
    if (is_max(u))
        return greater_of(b, a);
    return a + b;
}

INLINE VV combined_pair(use u, VV a, VV b)
{
    return (VV){ combined(u, a.a, b.a), combined(u, a.b, b.b) };
}

/* The first n elements of a pair; the others become the identity. */
INLINE VV keep_first(use u, VV v, ptrdiff_t n)
{
    ptrdiff_t in_a = BY_PARITY ? (n + 1) / 2 : n < LANES ? n : LANES;
    return (VV){ pick(first(in_a), v.a, identity(u)), pick(first(n - in_a), v.b, identity(u)) };
}

/* The positions along the axis of a pair whose first element has position `start`. */
INLINE VV positions(const vjpi_tile *tile, ptrdiff_t start)
{
    V at = k((T)(tile->index + start));
    if (!tile->axis_inner)
        return (VV){ at, at };
    V step = lane_numbers() * k(BY_PARITY ? 2 : 1);
    return (VV){ at + step, at + step + k(BY_PARITY ? 1 : LANES) };
}

/* v, with `instead` in elements past the end of their row, where rows run across the tile. */
INLINE VV before_end(use u, const vjpi_tile *tile, char *const *data, const ptrdiff_t *move,
                     ptrdiff_t at, ptrdiff_t start, ptrdiff_t some, VV v, V instead)
{
    if (!u.op->ends || u.op->plain || tile->end < 0 || tile->axis_inner || u.part >= u.op->npasses)
        return v;
    const char *p = data[tile->end] + at * move[tile->end];
    VV end = some ? load_some_T(p, some) : load_T(p), index = positions(tile, start);
    return (VV){ pick(gt(end.a, index.a), v.a, instead), pick(gt(end.b, index.b), v.b, instead) };
}

/* One pair of vectors at element `at` of the current block: load, compute, store the FULL outputs
 * and leave the terms in terms[]. move[]: bytes per element. scalars[]: the row operands that are
 * one number. `start`: the position along the tile's axis of the pair's first element. some > 0:
 * only that many elements. */
INLINE void pair(use u, const vjpi_tile *tile, char *const *data, const ptrdiff_t *move,
                 const T *scalars, const T *constants, ptrdiff_t at, ptrdiff_t start,
                 ptrdiff_t some, bool non_temporal, VV *terms)
{
    V in_a[VJPI_MAX_OPERANDS], in_b[VJPI_MAX_OPERANDS];
    V out_a[VJPI_MAX_TENSORS], out_b[VJPI_MAX_TENSORS];
    const uint32_t facts = u.op->plain ? tile->facts >> u.op->nin << u.op->nin : tile->facts;
    const int kept = kept_operand(u) - u.op->nout; /* its place in in_a and in_b */
    int nterms = 0, made = 0;
    EVERY
    for (int i = 0; i < operand_count(u); i++) {
        const int place = i < u.op->nin ? i : i - u.op->nout;
        if (!is_read(u, i) || (role_of(u, i) == VJPI_KEPT && !(tile->facts & VJPI_IS_KEPT)))
            continue;
        if (role_of(u, i) == VJPI_ROW_END || is_absent(u, i)) {
            in_a[place] = in_b[place] = k(0); /* the formula does not use it */
        } else if (u.scalars && is_row_operand(u, i)) {
            in_a[place] = in_b[place] = k(scalars[i]);
        } else {
            VV v = u.heavy && move[i] == 0 ? load_copies(u, tile, i, data[i])
                                           : load(u, tile, i, data[i] + at * move[i], some);
            in_a[place] = v.a;
            in_b[place] = v.b;
        }
    }
    VV index = { k(0), k(0) };
    if (u.op->indexed)
        index = positions(tile, start);
    if (by_halves(u)) {
        ONCE
        for (int half = 0; half < 2; half++) {
            V *in = half ? in_b : in_a;
            u.formula(u.part, u.op->choice, facts, in, in + u.op->nin,
                      half ? index.b : index.a, constants, in + kept, half ? out_b : out_a);
        }
    } else {
        u.formula(u.part, u.op->choice, facts, in_a, in_a + u.op->nin, index.a, constants,
                  NULL, out_a);
        u.formula(u.part, u.op->choice, facts, in_b, in_b + u.op->nin, index.b, constants,
                  NULL, out_b);
    }
    if (makes_kept(u) && tile->facts & VJPI_IS_KEPT)
        store(u, tile, kept_operand(u), data[kept_operand(u)] + at * move[kept_operand(u)],
              (VV){ in_a[kept], in_b[kept] }, some, false);
    if (is_pass(u)) {
        EVERY
        for (int i = 0; i < term_count(u); i++) {
            VV term = before_end(u, tile, data, move, at, start, some, (VV){ out_a[i], out_b[i] },
                                 identity(u));
            terms[i] = some ? keep_first(u, term, some) : term;
        }
        return;
    }
    EVERY
    for (int i = u.op->nin; i < kept_operand(u); i++) {
        if (is_written(u, i)) {
            VV v = before_end(u, tile, data, move, at, start, some,
                              (VV){ out_a[made], out_b[made] }, k(0));
            /* an unwanted output is one block of the cache, and stays there */
            store(u, tile, i, data[i] + at * move[i], v, some, non_temporal && move[i] != 0);
            made++;
        } else if (role_of(u, i) == VJPI_SUM && is_last(u)) {
            VV term = { out_a[made], out_b[made] };
            if (u.sums)
                terms[nterms++] = some ? keep_first(u, term, some) : term;
            made++;
        }
    }
}
