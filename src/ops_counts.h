/* SPDX-License-Identifier: Apache-2.0 */
/* ops_counts.h - how many of each an operator of ops.def has, as constants: name_nin inputs,
 * name_nfull FULL and name_nsums SUM outputs, name_nrowsums sums along an axis, name_nchoices
 * CHOICE attributes, name_nwide tensors whose dtype rule is WIDE. */
#ifndef VJPI_OPS_COUNTS_H
#define VJPI_OPS_COUNTS_H

#define OP(name, title, formula, accuracy, inputs, attributes, outputs) \
    enum { name##_nin = 0 inputs, name##_nfull = 0 outputs };
#define IN(...) +1
#define FULL(...) +1
#include "ops.def"
#define OP(name, title, formula, accuracy, inputs, attributes, outputs) \
    enum { name##_nsums = 0 outputs, name##_nchoices = 0 attributes };
#define SUM(...) +1
#define CHOICE(...) +1
#include "ops.def"
#define OP(name, title, formula, accuracy, inputs, attributes, outputs) \
    enum { name##_nrowsums = 0 outputs };
#define ROWSUM(...) +1
#include "ops.def"

#define IS_SAME 0
#define IS_WIDE 1
#define OP(name, title, formula, accuracy, inputs, attributes, outputs) \
    enum { name##_nwide = 0 inputs outputs };
#define IN(name, variable, dtype, shape) +IS_##dtype
#define FULL(name, dtype, shape, ...) +IS_##dtype
#define SUM(name, dtype, shape, ...) +IS_##dtype
#include "ops.def"

#endif
