/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - what the schedulers (map.c, fold.c, row.c) ask of the loops (loops.c).
 *
 * A kernel works on a tile: rows x n elements in which every operand is, along n, either dense or
 * one repeated element. Operands are the operator's inputs, its FULL outputs, then the row sums
 * where it has any (in the compute type). */
#ifndef VJPI_KERNELS_H
#define VJPI_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/layout.h"

/* How many additions in a row one partial sum takes. The error bounds rest on it. */
#define VJPI_CHAIN 16

#define VJPI_PAGE 4096

typedef struct vjpi_tile {
    ptrdiff_t rows, n;
    char *data[VJPI_MAX_OPERANDS];
    ptrdiff_t row_step[VJPI_MAX_OPERANDS]; /* bytes */
    unsigned repeated;                     /* bit i: operand i is one element along n */
    bool stream;                           /* store past the caches */
    const float *constants;
    void *sums; /* of the compute type: one per row (along) or one per column (across) */
} vjpi_tile;

typedef void vjpi_kernel(const vjpi_tile *tile);

typedef struct vjpi_kernels {
    vjpi_kernel *map;    /* the FULL outputs; an operator with row sums finds them as an operand */
    vjpi_kernel *along;  /* sums[row] += the row's terms; a fold's FULL outputs as well */
    vjpi_kernel *across; /* sums[column] += the column's terms, top to bottom; likewise */
    vjpi_kernel *row;    /* each row: its sum, then its FULL outputs */
} vjpi_kernels;

/* One (ISA, dtype): kernels by formula, choice and whether the WIDE tensors are f32. */
typedef struct vjpi_kernel_set {
    size_t compute_size;
    vjpi_kernels kernels[VJPI_FORMULA_COUNT][2][2];
    void (*add)(void *sums, const void *more, ptrdiff_t n);
    /* Put n sums of columns in order, as the last step: `across` may keep them otherwise. Or NULL. */
    void (*order)(void *sums, ptrdiff_t n);
    /* Round n sums to the set's dtype; leave them in the compute type. `step` is in bytes. */
    void (*store)(const void *sums, ptrdiff_t n, char *to, ptrdiff_t step);
    void (*store_wide)(const void *sums, ptrdiff_t n, char *to, ptrdiff_t step);
} vjpi_kernel_set;

/* One instruction set: isa.c, compiled once for each line of isas.def. */
enum {
    VJPI_DTYPE_SLOTS = 1 /* the constants of vjp_dtype count from 1 */
#define DTYPE(name, suffix, size, compute) +1
#include "dtypes.def"
#undef DTYPE
};

typedef struct vjpi_isa {
    const char *name;
    const vjpi_kernel_set *sets[VJPI_DTYPE_SLOTS]; /* by vjp_dtype */
} vjpi_isa;

/* cpuid.c: the best instruction set of this machine, `cap` at most (NULL: no cap); NULL if no
 * instruction set of this build is named so. */
const vjpi_isa *vjpi_best_isa(const char *cap);

/* cpuid.c: bytes of the largest cache that a core reaches; a guess if the machine does not say. */
int64_t vjpi_cache_size(void);

#endif
