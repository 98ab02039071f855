/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.c - the command line against a command's table of options. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guess.h"
#include "tool.h"

static const option help_option = { "help", NULL, "show this; so does -h" };

int complain(const command *command, int status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "vjp %s: ", command->name);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    return status;
}

/* The row of an option whose name is the first `length` characters of text; NULL if none. */
static const option *find(const command *command, const char *text, size_t length)
{
    if (length == strlen(help_option.name) && !strncmp(text, help_option.name, length))
        return &help_option;
    for (const option *o = command->options; o && o->name; o++)
        if (strlen(o->name) == length && !strncmp(text, o->name, length))
            return o;
    return NULL;
}

void guess_options(guess *g, const command *command)
{
    for (const option *o = command->options; o && o->name; o++)
        guess_try(g, o->name);
    guess_try(g, help_option.name);
}

static int no_option(const command *command, const char *name)
{
    char words[GUESS_SIZE];
    guess g = { .word = name };
    guess_options(&g, command);
    complain(command, MISUSED, "there is no option --%s;%s see vjp %s --help", name,
             guess_words(&g, "--", words), command->name);
    return 0;
}

/* One "--name ..." at argv[at]; returns how many of argv it took, 0 if it is wrong. */
static int parse_option(const command *command, int argc, char **argv, int at, argument *made)
{
    char *text = argv[at] + 2, *equals = strchr(text, '=');
    const option *row = find(command, text, equals ? (size_t)(equals - text) : strlen(text));
    bool flag = row && !row->value;
    if (equals)
        *equals = 0;
    if (!row && !command->others)
        return no_option(command, text);
    if (flag && equals) {
        complain(command, MISUSED, "--%s takes no value", row->name);
        return 0;
    }
    if (!flag && !equals && at + 1 == argc) {
        complain(command, MISUSED, "--%s needs a value", text);
        return 0;
    }
    for (char *dash = text;
         !row && (dash = strchr(dash, '-'));) /* the library's have underscores */
        *dash = '_';
    *made = (argument){ row ? row->name : text, flag ? "" : equals ? equals + 1 : argv[at + 1] };
    return flag || equals ? 1 : 2;
}

bool parse(const command *command, int argc, char **argv, arguments *args)
{
    bool options = true;
    int operands = 0;
    *args = (arguments){ .command = command };
    for (int at = 0, taken; at < argc; at += taken) {
        taken = 1;
        if (args->count == MAX_ARGUMENTS)
            return complain(command, false, "more than %d arguments", MAX_ARGUMENTS);
        if (options && !strcmp(argv[at], "--")) {
            options = false;
            continue;
        }
        argument *made = &args->at[args->count++];
        if (options && !strcmp(argv[at], "-h")) {
            *made = (argument){ help_option.name, "" };
        } else if (options && !strncmp(argv[at], "--", 2)) {
            taken = parse_option(command, argc, argv, at, made);
            if (!taken)
                return false;
        } else if (options && argv[at][0] == '-' && argv[at][1]) {
            return complain(command, false, "options begin with two dashes: %s", argv[at]);
        } else if (!command->operands || operands++ > 0) {
            return complain(command, false, "unexpected argument: %s", argv[at]);
        } else {
            *made = (argument){ NULL, argv[at] };
        }
    }
    return true;
}

const char *option_given(const arguments *args, const char *name)
{
    for (int i = args->count - 1; i >= 0; i--)
        if (args->at[i].name && !strcmp(args->at[i].name, name))
            return args->at[i].value;
    return NULL;
}

const char *operand(const arguments *args, int index)
{
    for (int i = 0; i < args->count; i++)
        if (!args->at[i].name && index-- == 0)
            return args->at[i].value;
    return NULL;
}

bool option_number(const arguments *args, const char *name, int64_t low, int64_t high,
                   int64_t otherwise, int64_t *number)
{
    const char *text = option_given(args, name);
    char *end;
    *number = otherwise;
    if (!text)
        return true;
    errno = 0;
    *number = strtoll(text, &end, 10);
    if (end == text || *end || errno || *number < low || *number > high)
        return complain(args->command, false,
                        "--%s: \"%s\" is not a whole number from %" PRId64 " to %" PRId64, name,
                        text, low, high);
    return true;
}

const vjp_op_info *op_named(const char *name)
{
    const vjp_op_info *op = vjp_op_find(name);
    for (int32_t i = 0; i < vjp_op_count() && !op; i++)
        if (!strcmp(vjp_op_at(i)->title, name))
            op = vjp_op_at(i);
    return op;
}

const vjp_op_info *find_op(const command *command, const char *name)
{
    const vjp_op_info *op = op_named(name);
    if (op)
        return op;
    char words[GUESS_SIZE];
    guess g = { .word = name };
    for (int32_t i = 0; i < vjp_op_count(); i++)
        guess_try(&g, vjp_op_at(i)->name);
    complain(command, MISUSED, "there is no operator %s;%s `vjp ops` lists them", name,
             guess_words(&g, "", words));
    return NULL;
}

const char *version_text(char text[VERSION_SIZE])
{
    int version = (int)vjp_version();
    snprintf(text, VERSION_SIZE, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    return text;
}

void show_option(const option *o)
{
    char left[64];
    snprintf(left, sizeof(left), "--%s%s%s", o->name, o->value ? " " : "",
             o->value ? o->value : "");
    printf("  %-24s %s\n", left, o->help);
}

void show_options(const command *command)
{
    for (const option *o = command->options; o && o->name; o++)
        show_option(o);
    show_option(&help_option);
}

void show_help(const command *command)
{
    printf("usage: vjp %s%s%s [OPTION]...%s%s\n\n%s\n\n", command->name,
           command->operands ? " " : "", command->operands ? command->operands : "",
           command->others ? " " : "", command->others ? command->others : "", command->summary);
    show_options(command);
}

bool attribute_value(const vjp_attr_info *info, const char *text, vjp_attr *attr)
{
    char *end = NULL;
    bool yes = !strcmp(text, "1") || !strcmp(text, "true");
    *attr = (vjp_attr){ .name = info->name, .type = info->type };
    errno = 0;
    switch (info->type) {
    case VJP_ATTR_BOOL:
        attr->value.b = yes;
        return yes || !strcmp(text, "0") || !strcmp(text, "false");
    case VJP_ATTR_S64:
        attr->value.s64 = strtoll(text, &end, 10);
        return *text && !*end && !errno;
    case VJP_ATTR_F32:
        attr->value.f32 = strtof(text, &end);
        return *text && !*end && !(errno && isinf(attr->value.f32));
    case VJP_ATTR_F64:
        attr->value.f64 = strtod(text, &end);
        return *text && !*end && !(errno && isinf(attr->value.f64));
    case VJP_ATTR_STR:
        attr->value.str = text;
        return true;
    }
    return false;
}
