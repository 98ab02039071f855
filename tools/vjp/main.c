/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the program `vjp`: the library from the command line. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "guess.h"
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
    fprintf(to, "\n`vjp help COMMAND` says more about each; `vjp --version` names the version.\n");
    return status;
}

static const command *find_command(const char *name)
{
    guess g = { .word = name };
    char words[GUESS_SIZE];
    for (int i = 0; i < COMMANDS; i++) {
        if (!strcmp(name, commands[i]->name))
            return commands[i];
        guess_try(&g, commands[i]->name);
    }
    fprintf(stderr, "vjp: there is no command %s;%s `vjp help` lists them\n", name,
            guess_words(&g, "", words));
    return NULL;
}

static int show_help_of(const arguments *args)
{
    if (args->command->help)
        return args->command->help(args);
    show_help(args->command);
    return DONE;
}

static int dispatch(int argc, char **argv)
{
    arguments args;
    const char *name = argc > 1 ? argv[1] : "";
    bool helps = !strcmp(name, "--help") || !strcmp(name, "help") || !strcmp(name, "-h");
    if (!*name || (helps && argc == 2))
        return help(*name ? stdout : stderr, *name ? DONE : MISUSED);
    if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
        char version[VERSION_SIZE];
        printf("vjp %s\n", version_text(version));
        return DONE;
    }
    const command *command = find_command(argv[1 + helps]);
    if (!command)
        return MISUSED;
    if (!parse(command, argc - 2 - helps, argv + 2 + helps, &args))
        return MISUSED;
    return helps || option_given(&args, "help") ? show_help_of(&args) : command->run(&args);
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
