/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - the interface between the schedulers (map.c, fold.c, row.c) and the loops (loops.c).
 *
 * A kernel works on a tile: rows x n elements in which every operand is, along n, either dense or
 * one repeated element. Operands are the operator's tensors in order, then the values that passes
 * leave for a row. Row inputs and row values are already arrays of the compute type. An omitted
 * tensor is a repeated element, and so is an unwanted output. */
#ifndef VJPI_KERNELS_H
#define VJPI_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/layout.h"

/* The most consecutive additions to one partial sum. The error bounds depend on it. */
#define VJPI_CHAIN 16

#define VJPI_PAGE 4096

typedef struct vjpi_tile vjpi_tile;
typedef void vjpi_kernel(const vjpi_tile *tile);

/* What a formula makes of each of the 65,536 values of a 16-bit input: the output, as it is stored;
 * or, with a second input, the number that it is multiplied by, in f32; NaN: use the formula. */
typedef struct vjpi_lookup {
    const void *entries;
    vjpi_kernel *formula;
} vjpi_lookup;

/* rows x n elements of each operand. The stages fill it in: what is the same in all tiles of a job
 * first (vjpi_first_tile), the rest for each tile. */
struct vjpi_tile {
    ptrdiff_t rows, n;
    char *data[VJPI_MAX_OPERANDS];
    ptrdiff_t row_step[VJPI_MAX_OPERANDS]; /* bytes */
    uint32_t repeated;       /* bit i: operand i is one element along n */
    uint32_t facts;          /* limits.h */
    uint32_t passes;         /* bit i: pass i is needed */
    bool non_temporal;       /* stores bypass the caches */
    ptrdiff_t ahead;         /* rows to the one that a long formula prefetches; 0: none */
    int32_t end;             /* the operand that says where rows end early; -1: none */
    bool axis_inner;         /* rows of the operator run along n */
    ptrdiff_t axis_row;      /* 1: they run across the tile's rows */
    int64_t index;           /* of the first element along them */
    const uint8_t *dtypes;   /* of the tensors, vjp_dtype: for kernels of mixed dtypes */
    const void *constants;   /* VJPI_MAX_CONSTANTS of the compute type */
    const vjpi_lookup *lookup; /* for the kernels that use one */
    void *sums; /* of the compute type: one per row (along) or one per column (across) */
};

/* By pass: what it reduces; for the last one the FULL and SUM outputs. NULL: not needed. */
typedef struct vjpi_kernels {
    vjpi_kernel *along[VJPI_MAX_PASSES];  /* sums[row] += the row's terms */
    vjpi_kernel *across[VJPI_MAX_PASSES]; /* sums[column] += the column's terms, top to bottom */
    vjpi_kernel *map;     /* the FULL outputs; row values are operands */
    vjpi_kernel *row;     /* each row: its values, then its FULL outputs */
    vjpi_kernel *lets[VJPI_MAX_PASSES]; /* the ROWLETs that precede a pass; each row is one of n */
    vjpi_kernel *per_row; /* the PER_ROW outputs; each row is one element of n */
} vjpi_kernels;

/* One (ISA, dtype): kernels by formula, choice, and whether dtypes are mixed; NULL where the formula
 * has no such variant. */
typedef struct vjpi_kernel_set {
    size_t compute_size;
    const vjpi_kernels *kernels[VJPI_FORMULA_COUNT][2][2];
    vjpi_kernels lookups[2]; /* maps by tables, for 16-bit dtypes; [1]: with a second input */
    /* Indexed by whether it is a maximum: initialize n sums; add further sums to them. */
    void (*clear[2])(void *sums, ptrdiff_t n);
    void (*combine[2])(void *sums, const void *more, ptrdiff_t n);
    /* Put n sums of columns in order, as the last step: `across` may reorder them. Or NULL. */
    void (*order)(void *sums, ptrdiff_t n);
    /* Numbers of the compute type from and to any dtype. `step` is in bytes. */
    void (*load)(vjp_dtype dtype, const char *from, ptrdiff_t step, ptrdiff_t n, void *to);
    void (*store)(vjp_dtype dtype, const void *from, ptrdiff_t n, char *to, ptrdiff_t step);
} vjpi_kernel_set;

/* One instruction set: isa.c, compiled once for each line of isas.def. */
enum {
    VJPI_DTYPE_SLOTS = 1 /* the constants of vjp_dtype count from 1 */
#define DTYPE(name, suffix, size, compute) +1
#define STORED(name, suffix, size, type) +1
#include "dtypes.def"
};

typedef struct vjpi_isa {
    const char *name;
    const vjpi_kernel_set *sets[VJPI_DTYPE_SLOTS]; /* by vjp_dtype */
} vjpi_isa;

/* cpuid.c: the best instruction set of this build that this machine has, up to `cap` (NULL: no
 * cap); NULL if there is none, or the build has none of that name. */
const vjpi_isa *vjpi_best_isa(const char *cap);

/* cpuid.c: the lower of two. */
const vjpi_isa *vjpi_lower_isa(const vjpi_isa *a, const vjpi_isa *b);

/* cpuid.c: bytes of the largest cache that a core can use; a guess if unknown. */
int64_t vjpi_cache_size(void);

#endif
