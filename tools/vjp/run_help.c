/* SPDX-License-Identifier: Apache-2.0 */
/* run_help.c - vjp run NAME --help: the options that one operator has. */
#include <stdio.h>

#include "describe.h"
#include "tool.h"

enum {
    HELP_SIZE = 3 * WORDS_SIZE
};

static void show_usage(const command *command, const vjp_op_info *op)
{
    printf("usage: vjp %s %s", command->name, op->name);
    for (int32_t i = 0; i < op->ninputs + op->noutputs; i++) {
        const vjp_tensor_info *tensor = vjp_op_tensor(op, i);
        printf(tensor->flags & VJP_TENSOR_OPTIONAL ? " [--%s FILE]" : " --%s FILE", tensor->name);
    }
    for (int32_t i = 0; i < op->nattrs; i++) {
        const vjp_attr_info *attr = vjp_op_attr(op, i);
        printf(attr->required ? " --%s %s" : " [--%s %s]", attr->name, type_words(attr->type));
    }
    printf(" [OPTION]...\n\n%s: %s\n\n", op->title, op->formula);
}

static void show_tensor(const vjp_op_info *op, int32_t index)
{
    char help[HELP_SIZE], words[WORDS_SIZE];
    const vjp_tensor_info *tensor = vjp_op_tensor(op, index);
    snprintf(help, sizeof(help), "%s%s of dtype %s; shape: %s",
             tensor->flags & VJP_TENSOR_OPTIONAL ? "optional " : "",
             index < op->ninputs ? "input" : "output", dtype_words(tensor),
             shape_words(op, index, "", words));
    show_option(&(option){ tensor->name, "FILE", help });
}

static void show_attribute(const vjp_attr_info *attr)
{
    char help[HELP_SIZE], values[WORDS_SIZE], otherwise[WORDS_SIZE];
    snprintf(help, sizeof(help), "%s (%s; %s%s)", attr->meaning, values_words(attr, values),
             attr->required ? "" : "default ", default_words(attr, otherwise));
    show_option(&(option){ attr->name, type_words(attr->type), help });
}

int run_help(const arguments *args)
{
    const char *name = operand(args, 0);
    const vjp_op_info *op = name ? find_op(args->command, name) : NULL;
    char words[WORDS_SIZE];
    if (!name)
        show_help(args->command);
    if (!op)
        return name ? MISUSED : DONE;
    show_usage(args->command, op);
    for (int32_t i = 0; i < op->ninputs + op->noutputs; i++)
        show_tensor(op, i);
    for (int32_t i = 0; i < op->nattrs; i++)
        show_attribute(vjp_op_attr(op, i));
    show_options(args->command);
    printf("\n%s\nA FILE of - is standard input or standard output.\n",
           dtypes_sentence(op, "", words));
    return DONE;
}
