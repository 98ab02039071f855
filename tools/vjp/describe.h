/* SPDX-License-Identifier: Apache-2.0 */
/* describe.h - what the library says of its operators, in words: for `vjp ops` and for the tables
 * of the docs. */
#ifndef VJP_DESCRIBE_H
#define VJP_DESCRIBE_H

#include <vjp/vjp.h>

enum {
    WORDS_SIZE = 256
};

/* "bool", "s64", "f32" or "string". */
const char *type_words(vjp_attr_type type);

/* An attribute's default, or "required"; what it may be, in words or as "NCX, NXC". */
const char *default_words(const vjp_attr_info *attr, char words[WORDS_SIZE]);
const char *values_words(const vjp_attr_info *attr, char words[WORDS_SIZE]);

/* The dtype of that name, the first `length` characters of a text; 0 if there is none. */
vjp_dtype dtype_named(const char *name, size_t length);

/* The dtype of a tensor, where D is that of the call; the sentence that says what D is. */
const char *dtype_words(const vjp_tensor_info *tensor);
const char *dtypes_sentence(const vjp_op_info *op, char words[WORDS_SIZE]);

/* The shape of tensor `index`, the names of other tensors between quotes. */
const char *shape_words(const vjp_op_info *op, int32_t index, const char *quote,
                        char words[WORDS_SIZE]);

#endif
