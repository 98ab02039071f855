/* SPDX-License-Identifier: Apache-2.0 */
/* instance.h - the kernels of every operator for one CHOICE_VALUE and one WIDE_VALUE. Part of
 * loops.c, included four times. The flag behind the tensors' is that of a row sum. */
#define IN(name, variable, dtype, shape) IS_##dtype && WIDE_VALUE,
#define FULL(name, dtype, shape, ...) IS_##dtype && WIDE_VALUE,
#define SUM(name, dtype, shape, ...) IS_##dtype && WIDE_VALUE,
#define OP(name, title, text, accuracy, inputs, attributes, outputs)                              \
    static const shape KERNEL(name, outs) = {                                                     \
        name##_formula, OUTS, CHOICE_VALUE, name##_nin, name##_nfull, name##_nsums,               \
        name##_nin + name##_nfull + name##_nrowsums, false, { inputs outputs true }               \
    };                                                                                            \
    static const shape KERNEL(name, row_outs) = {                                                 \
        name##_formula, OUTS, CHOICE_VALUE, name##_nin, name##_nfull, name##_nsums,               \
        name##_nin + name##_nfull + name##_nrowsums, name##_nrowsums > 0, { inputs outputs true } \
    };                                                                                            \
    static const shape KERNEL(name, terms) = {                                                    \
        name##_formula, TERMS, CHOICE_VALUE, name##_nin, name##_nfull, name##_nrowsums,           \
        name##_nin, false, { inputs outputs true }                                                \
    };                                                                                            \
    static void KERNEL(name, map)(const vjpi_tile *tile) { map_body(&KERNEL(name, outs), tile); } \
    static void KERNEL(name, along)(const vjpi_tile *tile)                                        \
    {                                                                                             \
        along_body(name##_nrowsums > 0 ? &KERNEL(name, terms) : &KERNEL(name, outs), tile);       \
    }                                                                                             \
    static void KERNEL(name, across)(const vjpi_tile *tile)                                       \
    {                                                                                             \
        across_body(name##_nrowsums > 0 ? &KERNEL(name, terms) : &KERNEL(name, outs), tile);      \
    }                                                                                             \
    static void KERNEL(name, row)(const vjpi_tile *tile)                                          \
    {                                                                                             \
        row_body(&KERNEL(name, terms), &KERNEL(name, row_outs), tile);                            \
    }
#include "ops.def"
