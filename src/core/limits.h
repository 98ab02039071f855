/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - how many of what an operator can have, and what its operands are to a kernel. Plain
 * enough for nvcc. */
#ifndef VJPI_LIMITS_H
#define VJPI_LIMITS_H

#define VJPI_MAX_TENSORS 8
#define VJPI_MAX_ATTRS 8
#define VJPI_MAX_PASSES 4 /* over a row; the last computes the outputs */
#define VJPI_MAX_SUMS 3   /* that one pass makes */
#define VJPI_MAX_VALUES 6 /* that all passes leave for a row */
#define VJPI_MAX_OPERANDS (VJPI_MAX_TENSORS + VJPI_MAX_VALUES + 1) /* tensors, row values, and where
                                                                   a row is among its neighbours */

/* The numbers that a formula asks for: its attributes, the length of the axis, and what rounding
 * the attributes to the compute type lost. */
#define VJPI_COUNT_SLOT VJPI_MAX_ATTRS
#define VJPI_LOW_SLOTS (VJPI_MAX_ATTRS + 1)
#define VJPI_MAX_CONSTANTS (2 * VJPI_MAX_ATTRS + 1)

/* What is true of a whole call. Bit i: tensor i is given; the bits from here on: attribute i is
 * set, is not 0 or is the second of two words. */
#define VJPI_ATTR_FACTS 16

/* How many values a pass leaves for a row and, by the bits above, whether they are maxima. */
#define VJPI_MAXIMUM 16
#define VJPI_REDUCTIONS(pass) ((pass) % VJPI_MAXIMUM)

/* What an operand is to a kernel. */
enum {
    VJPI_ELEMENTS, /* an input with the data's shape, or broadcast to it */
    VJPI_ROW_INPUT,
    VJPI_ROW_END,  /* a row input that says where the row ends */
    VJPI_FULL,
    VJPI_SUM,
    VJPI_PER_ROW,
    VJPI_VALUE     /* what a pass left for the row */
};

/* The words of ops.def as roles of inputs. */
#define VJPI_ROLE_DATA VJPI_ELEMENTS
#define VJPI_ROLE_PARAM VJPI_ELEMENTS
#define VJPI_ROLE_ROW VJPI_ROW_INPUT
#define VJPI_ROLE_END VJPI_ROW_END

#endif
