/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - how many tensors, attributes and passes an operator can have, and the roles of
 * operands in a kernel. nvcc compiles it too. */
#ifndef VJPI_LIMITS_H
#define VJPI_LIMITS_H

#define VJPI_MAX_TENSORS 8
#define VJPI_MAX_ATTRS 8
#define VJPI_MAX_DERIVED 4 /* numbers that plan creation makes of the attributes */
#define VJPI_MAX_PASSES 4 /* over a row; the last computes the outputs */
#define VJPI_MAX_SUMS 3   /* that one pass makes */
#define VJPI_MAX_VALUES 6 /* that all passes leave for a row */
#define VJPI_MAX_LETS 6   /* ROWLETs */

/* Tensors, row values, ROWLETs and what is kept or, in a loop, where a row is among its
 * neighbours. */
#define VJPI_MAX_OPERANDS (VJPI_MAX_TENSORS + VJPI_MAX_VALUES + VJPI_MAX_LETS + 1)

/* The constants that a formula uses: its attributes, the DERIVED numbers, the length of the axis,
 * and the errors of rounding all but the last to the compute type. */
#define VJPI_DERIVED_SLOTS VJPI_MAX_ATTRS
#define VJPI_COUNT_SLOT (VJPI_DERIVED_SLOTS + VJPI_MAX_DERIVED)
#define VJPI_LOW_SLOTS (VJPI_COUNT_SLOT + 1)
#define VJPI_MAX_CONSTANTS (VJPI_LOW_SLOTS + VJPI_COUNT_SLOT)

/* Flags of a whole call. Bit i: tensor i is present; from here on: attribute i is set, is a number
 * other than its default or is the second of two words. */
#define VJPI_ATTR_FACTS 16
#define VJPI_IS_KEPT (1u << 15) /* the value of KEEP is read from its buffer */
#define VJPI_HAS_LETS (1u << 14) /* on CUDA: ROWLETs were computed, once for the row */
#if VJPI_MAX_TENSORS > 14
#error "a tensor's flag is that of another fact"
#endif

/* What a pass makes, as one number: how many values it leaves for a row, whether they are maxima,
 * how many ROWLETs precede it, and whether it makes the value of KEEP. */
#define VJPI_MAXIMUM 16
#define VJPI_LET 64
#define VJPI_KEEP 1024
#define VJPI_REDUCTIONS(pass) ((pass) % VJPI_MAXIMUM)
#define VJPI_IS_MAX(pass) ((pass) % VJPI_LET >= VJPI_MAXIMUM)
#define VJPI_LETS(pass) ((pass) % VJPI_KEEP / VJPI_LET)
#define VJPI_KEEPS(pass) ((pass) / VJPI_KEEP)

/* The role of an operand in a kernel. */
enum {
    VJPI_ELEMENTS, /* an input with the data's shape, or broadcast to it */
    VJPI_ROW_INPUT,
    VJPI_ROW_END,  /* a row input that gives the end of the row */
    VJPI_FULL,
    VJPI_SUM,
    VJPI_PER_ROW,
    VJPI_VALUE,    /* what a pass left for the row, or a ROWLET */
    VJPI_KEPT      /* the value of KEEP */
};

/* The words of ops.def as roles of inputs. */
#define VJPI_ROLE_DATA VJPI_ELEMENTS
#define VJPI_ROLE_PARAM VJPI_ELEMENTS
#define VJPI_ROLE_ROW VJPI_ROW_INPUT
#define VJPI_ROLE_END VJPI_ROW_END

#endif
