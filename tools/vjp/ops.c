/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - vjp ops: the operators, or one of them in full, as the library describes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "ops_json.h"
#include "tool.h"

enum {
    WIDTH = 80,
    INDENT = 4,
    COLUMNS = 5
};

/* Text in lines of at most WIDTH, all but the first indented: the first begins at that column. */
static void put_wrapped(int indent, const char *text)
{
    for (int column = indent; *text;) {
        int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > WIDTH) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            putchar(' ');
            column++;
        }
        printf("%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

/* A table of text, its columns as wide as they need to be. */
typedef char row[COLUMNS][WORDS_SIZE];

static void set_cell(char cell[WORDS_SIZE], const char *text)
{
    snprintf(cell, WORDS_SIZE, "%s", text);
}

static void put_rows(row *rows, int32_t count)
{
    int widths[COLUMNS] = { 0 };
    for (int32_t i = 0; i < count; i++)
        for (int c = 0; c < COLUMNS; c++)
            if ((int)strlen(rows[i][c]) > widths[c])
                widths[c] = (int)strlen(rows[i][c]);
    for (int32_t i = 0; i < count; i++) {
        printf("%*s", INDENT, "");
        for (int c = 0; c + 1 < COLUMNS; c++)
            if (widths[c])
                printf("%-*s  ", widths[c], rows[i][c]);
        printf("%s\n", rows[i][COLUMNS - 1]);
    }
}

static void put_tensors(const vjp_op_info *op, row *rows)
{
    char words[WORDS_SIZE];
    int32_t count = op->ninputs + op->noutputs;
    for (int32_t i = 0; i < count; i++) {
        snprintf(rows[i][0], WORDS_SIZE, "%d", (int)i);
        snprintf(rows[i][1], WORDS_SIZE, "%s%s", i < op->ninputs ? "input" : "output",
                 vjp_op_tensor(op, i)->flags & VJP_TENSOR_OPTIONAL ? ", optional" : "");
        set_cell(rows[i][2], vjp_op_tensor(op, i)->name);
        set_cell(rows[i][3], dtype_words(vjp_op_tensor(op, i)));
        snprintf(rows[i][4], WORDS_SIZE, "shape: %s", shape_words(op, i, "", words));
    }
    printf("\nTensors, in the order of the library's arguments:\n\n");
    put_rows(rows, count);
    printf("\n%s\n", dtypes_sentence(op, "", words));
}

static void put_attributes(const vjp_op_info *op, row *rows)
{
    char words[WORDS_SIZE];
    printf("\nAttributes%s\n\n", op->nattrs ? ":" : ": none");
    for (int32_t i = 0; i < op->nattrs; i++) {
        const vjp_attr_info *attr = vjp_op_attr(op, i);
        set_cell(rows[i][0], attr->name);
        set_cell(rows[i][1], type_words(attr->type));
        set_cell(rows[i][2], values_words(attr, words));
        snprintf(rows[i][3], WORDS_SIZE, "%s%s", attr->required ? "" : "default ",
                 default_words(attr, words));
        set_cell(rows[i][4], attr->meaning);
    }
    put_rows(rows, op->nattrs);
}

static void put_bounds(const vjp_op_info *op, row *rows)
{
    printf("\nError bounds:\n\n");
    for (int32_t i = 0; i < op->nbounds; i++) {
        const vjp_bound_info *bound = vjp_op_bound(op, i);
        set_cell(rows[i][0], bound->output);
        bound_dtypes(bound, rows[i][1]);
        bound_choice(op, bound, rows[i][2]);
        set_cell(rows[i][3], "");
        set_cell(rows[i][4], bound->text);
    }
    put_rows(rows, op->nbounds);
}

static int show(const command *command, const vjp_op_info *op)
{
    size_t most = (size_t)(op->ninputs + op->noutputs + op->nattrs + op->nbounds);
    row *rows = calloc(most, sizeof(*rows));
    if (!rows)
        return complain(command, FAILED, "out of memory");
    printf("%s (%s)\n\n%*s", op->name, op->title, INDENT, "");
    put_wrapped(INDENT, op->formula);
    put_tensors(op, rows);
    put_attributes(op, rows);
    put_bounds(op, rows);
    free(rows);
    return DONE;
}

static int show_one(const arguments *args, const char *name)
{
    const vjp_op_info *op = find_op(args->command, name);
    if (!op)
        return MISUSED;
    if (!option_given(args, "json"))
        return show(args->command, op);
    ops_show_json(op);
    putchar('\n');
    return DONE;
}

static int list_json(void)
{
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        fputs(i ? ",\n " : "[", stdout);
        ops_show_json(vjp_op_at(i));
    }
    printf("]\n");
    return DONE;
}

static int list(void)
{
    int width = 0;
    for (int32_t i = 0; i < vjp_op_count(); i++)
        if ((int)strlen(vjp_op_at(i)->name) > width)
            width = (int)strlen(vjp_op_at(i)->name);
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        printf("%-*s", width + 2, vjp_op_at(i)->name);
        put_wrapped(width + 2, vjp_op_at(i)->formula);
    }
    return DONE;
}

static int run(const arguments *args)
{
    const char *name = operand(args, 0);
    if (name)
        return show_one(args, name);
    return option_given(args, "json") ? list_json() : list();
}

static const option options[] = {
    { "json", NULL, "as JSON: a list of objects, or one object" },
    { NULL, NULL, NULL },
};

const command command_ops = { "ops", "[NAME]", "the operators, or one of them in full",
                              options, NULL, run, NULL };
