/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the program `vjp`: the library from the command line. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tool.h"

static const command *const commands[] = {
    &command_info, &command_ops, &command_run, &command_check, &command_bench,
};

enum {
    COMMANDS = sizeof(commands) / sizeof(commands[0])
};

static int help(FILE *to, int status)
{
    fprintf(to, "usage: vjp COMMAND [ARGUMENT]...\n\n");
    for (int i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(to, "\n`vjp COMMAND --help` says more about each; `vjp --version` names the version.\n");
    return status;
}

static int dispatch(int argc, char **argv)
{
    arguments args;
    const char *name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "--help") || !strcmp(name, "help"))
        return help(stdout, DONE);
    if (!strcmp(name, "--version")) {
        char version[VERSION_SIZE];
        printf("vjp %s\n", version_text(version));
        return DONE;
    }
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i]->name))
            continue;
        if (!parse(commands[i], argc - 2, argv + 2, &args))
            return MISUSED;
        if (option_given(&args, "help")) {
            show_help(commands[i]);
            return DONE;
        }
        return commands[i]->run(&args);
    }
    if (*name)
        fprintf(stderr, "vjp: there is no command %s\n", name);
    return help(stderr, MISUSED);
}

int main(int argc, char **argv)
{
    int status = dispatch(argc, argv);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "vjp: standard output: %s\n", strerror(errno));
        return status ? status : FAILED;
    }
    return status;
}
