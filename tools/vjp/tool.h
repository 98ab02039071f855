/* SPDX-License-Identifier: Apache-2.0 */
/* tool.h - what the commands of the program `vjp` share.
 *
 * A command is a row in main.c and a file of its own. It gets its arguments parsed against its own
 * table of options; help and errors come from the same table. A command returns the exit status of
 * the program. */
#ifndef VJP_TOOL_H
#define VJP_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vjp/vjp.h>

enum {
    DONE = 0,
    FAILED = 1, /* the work was refused or did not succeed */
    MISUSED = 2 /* the command line is wrong */
};

enum {
    MAX_ARGUMENTS = 64
};

/* One option, "--name VALUE", or a flag "--name" if value is NULL. */
typedef struct option {
    const char *name;  /* without the dashes */
    const char *value; /* what the help calls the value */
    const char *help;
} option;

/* One option as given; name NULL: an operand. */
typedef struct argument {
    const char *name;
    const char *value;
} argument;

typedef struct command command;

typedef struct arguments {
    const command *command;
    int count;
    argument at[MAX_ARGUMENTS];
} arguments;

struct command {
    const char *name;
    const char *operands; /* "NAME" or "[NAME]"; NULL: takes none */
    const char *summary;
    const option *options; /* ends with a NULL name; NULL: takes none */
    const char *others;    /* how the help shows options that are not in the table, which the
                              command looks up itself; NULL: there are none */
    int (*run)(const arguments *args);
    int (*help)(const arguments *args); /* in place of show_help; may be NULL */
};

extern const command command_info, command_ops, command_run, command_check, command_bench;

/* ---- arguments.c -------------------------------------------------------------------------- */

/* parse - argv[0 ..] against the command's options; on error, prints it and returns false. An
 * option is "--name value" or "--name=value", "-h" is --help, "--" ends the options, and "-" is an
 * operand. In names of options that are not in the table a dash becomes an underscore. */
bool parse(const command *command, int argc, char **argv, arguments *args);

/* option_given - the option's value, its last one if it was repeated ("" for a flag); NULL if it
 * was not given. operand - operand `index`, or NULL. */
const char *option_given(const arguments *args, const char *name);
const char *operand(const arguments *args, int index);

/* option_number - a number in [low, high], or `otherwise` if the option was not given. Prints an
 * error and returns false if it is not such a number. */
bool option_number(const arguments *args, const char *name, int64_t low, int64_t high,
                   int64_t otherwise, int64_t *number);

/* op_named - the operator of that name or title; NULL if there is none. find_op - the same, and
 * says so. */
const vjp_op_info *op_named(const char *name);
const vjp_op_info *find_op(const command *command, const char *name);

/* version_text - the library's version, "0.2.0". */
enum {
    VERSION_SIZE = 16
};

const char *version_text(char text[VERSION_SIZE]);

/* attribute_value - a value of the attribute's type out of the text; false: it is none. A string
 * is not copied. */
bool attribute_value(const vjp_attr_info *info, const char *text, vjp_attr *attr);

/* show_help - the command's own help, on standard output; show_options - the list in it;
 * show_option - a line of that. */
void show_help(const command *command);
void show_options(const command *command);
void show_option(const option *o);

/* guess_options - the command's options as candidates for what was meant. */
struct guess;
void guess_options(struct guess *g, const command *command);

/* run_help - the help of `vjp run`; with an operator, its tensors and attributes too. */
int run_help(const arguments *args);

/* complain - "vjp COMMAND: ..." on standard error, and the status to return. */
int complain(const command *command, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
