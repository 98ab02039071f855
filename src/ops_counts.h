/* SPDX-License-Identifier: Apache-2.0 */
/* ops_counts.h - how many of each an operator of ops.def has, as constants: name_nin inputs,
 * name_nfull FULL, name_nsums SUM and name_nper_row PER_ROW outputs, name_nvalues values that
 * passes leave for a row, name_nlets ROWLETs, name_nkept KEEPs, name_npasses passes (the last makes
 * the outputs), name_nchoices attributes with a kernel for each answer, name_nderived DERIVED
 * numbers, name_nindex uses of the index, name_nends inputs that give the end of a row, name_nheavy
 * is not 0 if its formula is long, name_nlookups if a table may replace it. name_nmixed is not 0 if
 * kernels load or store a tensor whose dtype may differ from the data's, name_nany if it may be
 * narrower. name_has_plain: kernels of their own serve rows that are whole and not masked and, if
 * the formula is long, tensors of one dtype. */
#ifndef VJPI_OPS_COUNTS_H
#define VJPI_OPS_COUNTS_H

#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    enum { name##_nin = 0 inputs, name##_nchoices = 0 attributes, name##_nfull = 0 outputs };
#define IN(...) +1
#define OPT(...) +1
#define CHOICE(...) +1
#define MODE(...) +1
#define FULL(...) +1
#include "ops.def"
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    enum { name##_nderived = 0 attributes };
#define DERIVED(...) +1
#include "ops.def"
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    enum { name##_nsums = 0 outputs };
#define SUM(...) +1
#include "ops.def"
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    enum { name##_nper_row = 0 outputs };
#define PER_ROW(...) +1
#include "ops.def"
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    enum { name##_nvalues = 0 outputs };
#define ROWSUM(...) +1
#define ROWMAX(...) +1
#include "ops.def"
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    enum { name##_nlets = 0 outputs };
#define ROWLET(...) +1
#include "ops.def"
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    enum { name##_nkept = 0 outputs };
#define KEEP(...) +1
#include "ops.def"
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    enum { name##_npasses = 1 outputs };
#define THEN +1
#include "ops.def"
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    enum { name##_nindex = 0 outputs };
#define INDEX(...) +1
#include "ops.def"
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    enum { name##_nheavy = 0 outputs };
#define HEAVY +1
#include "ops.def"
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    enum { name##_nlookups = 0 outputs };
#define LOOKUP +1
#include "ops.def"

/* Inputs that give the end of a row. */
enum { IS_END_DATA = 0, IS_END_PARAM = 0, IS_END_ROW = 0, IS_END_END = 1 };
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    enum { name##_nends = 0 inputs };
#define IN(name, variable, dtype, shape) +IS_END_##shape
#define OPT(name, variable, dtype, shape, value) +IS_END_##shape
#include "ops.def"
#define OP(name, ...) \
    enum { name##_has_plain = name##_nends > 0 && name##_nchoices == 0 };
#include "ops.def"

/* A WIDE tensor counts 1, an ANY tensor NANY more; the others are of the data's dtype, converted
 * before a kernel sees them, or always u8. */
enum {
    NANY = 16,
    IS_MIXED_SAME = 0, IS_MIXED_WIDE = 1, IS_MIXED_ANY = 1 + NANY, IS_MIXED_STAT = 0,
    IS_MIXED_INDEX = 0, IS_MIXED_LABEL = 0, IS_MIXED_MASK = 0
};
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    enum { name##_nmixed = 0 inputs outputs, name##_nany = name##_nmixed / NANY };
#define IN(name, variable, dtype, shape) +IS_MIXED_##dtype
#define OPT(name, variable, dtype, shape, value) +IS_MIXED_##dtype
#define FULL(name, dtype, shape, ...) +IS_MIXED_##dtype
#include "ops.def"

#endif
