/* SPDX-License-Identifier: Apache-2.0 */
/* vectors.h - the parts of the program that writes the conformance vectors.
 *
 * values.c chooses the elements of an elementwise operator, hard_rows.c rows of those that have
 * some, layouts.c the shapes and layouts of any;
 * answers.c finds the results, file.c collects cases and writes the file of an operator. */
#ifndef VJP_CONFORMANCE_VECTORS_H
#define VJP_CONFORMANCE_VECTORS_H

#include <stdio.h>

#include "bounds.h"
#include "cases.h"
#include "problem.h"
#include "safetensors.h"

/* ---- answers.c ---------------------------------------------------------------------------- */

/* An output in dense order: the exact result, rounded once, and the range that is allowed. */
typedef struct answer {
    double *expected, *low, *high;
    bound *within;
} answer;

/* answers_find - what the outputs are for these inputs, each in dense order. */
void answers_find(const problem *p, double *const *inputs, answer *answers);
void answers_free(const problem *p, answer *answers);

/* ---- file.c ------------------------------------------------------------------------------- */

/* The file of one operator while its cases are collected. */
typedef struct vector_file {
    safetensors s;
    FILE *list; /* of the cases, in JSON; its text becomes list_text */
    char *list_text;
    size_t list_size;
    int64_t ncases;
} vector_file;

void file_open(vector_file *f);

/* file_add - add a case: the problem, and the values of its inputs in dense order, which are freed.
 * It is named after the number of its set of attributes, its dtypes and `what`. */
void file_add(vector_file *f, const problem *p, int32_t number, const char *what, double **inputs);

/* file_write - write DIRECTORY/OPERATOR.safetensors and free all. */
void file_write(vector_file *f, const char *directory, const char *op);

/* ---- values.c, hard_rows.c, layouts.c ------------------------------------------------------- */

/* Cases of the operator with set `number` of its attributes, which `variant` has. */
void values_cases(vector_file *f, const problem *variant, int32_t number, case_dtypes dtypes);
void row_cases(vector_file *f, const problem *variant, int32_t number, case_dtypes dtypes);
void layout_cases(vector_file *f, const problem *variant, int32_t number, case_dtypes dtypes);

void drop_optional_inputs(problem *p);

#endif
