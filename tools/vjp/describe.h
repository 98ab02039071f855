/* SPDX-License-Identifier: Apache-2.0 */
/* describe.h - what the library says of its operators, in words: for `vjp ops` and for the tables
 * of the docs. */
#ifndef VJP_DESCRIBE_H
#define VJP_DESCRIBE_H

#include <stdbool.h>

#include <vjp/vjp.h>

enum {
    WORDS_SIZE = 256
};

/* "bool", "s64", "f64" or "string". */
const char *type_words(vjp_attr_type type);

/* A number in the fewest digits that give it back. */
const char *number_words(double value, char words[WORDS_SIZE]);

/* An attribute's default, or "required"; what it may be, in words or as "NCX, NXC". */
const char *default_words(const vjp_attr_info *attr, char words[WORDS_SIZE]);
const char *values_words(const vjp_attr_info *attr, char words[WORDS_SIZE]);

/* The dtype of that name, the first `length` characters of a text; 0 if there is none. */
vjp_dtype dtype_named(const char *name, size_t length);

/* The dtype of a tensor, where D is that of the call; the sentence that says what D is. */
const char *dtype_words(const vjp_tensor_info *tensor);
const char *dtypes_sentence(const vjp_op_info *op, const char *quote, char words[WORDS_SIZE]);

/* Whether a tensor of rule SAME, WIDE or ANY may have that dtype beside the call's. */
bool dtype_fits(vjp_dtype_rule rule, vjp_dtype data, vjp_dtype dtype);

/* The tensor whose shape tensor `index` has; -1 if its rule says no more. */
int32_t shape_model(const vjp_op_info *op, int32_t index);

/* The shape of tensor `index`, the names of other tensors between quotes. */
const char *shape_words(const vjp_op_info *op, int32_t index, const char *quote,
                        char words[WORDS_SIZE]);

/* The dtypes that a bound is for, "f16, bf16"; the choice, "use_dst = true", "" if it is for
 * any. */
const char *bound_dtypes(const vjp_bound_info *bound, char words[WORDS_SIZE]);
const char *bound_choice(const vjp_op_info *op, const vjp_bound_info *bound,
                         char words[WORDS_SIZE]);

#endif
