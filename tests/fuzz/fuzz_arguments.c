/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_arguments.c - the input is a command line: the byte that chooses the command, then words
 * that end with a NUL. Every command's options are parsed and asked for; `vjp run` is carried as
 * far as it goes without files: each one named is /dev/null instead, which is no tensor.
 *
 * What the program says is caught: whoever is refused must be told something. */
#include "bytes.h"
#include "tool.h"

enum {
    WORDS = MAX_ARGUMENTS + 8,
    MOST_WORD = 80
};

static const command *const commands[] = {
    &command_info, &command_ops, &command_run, &command_check, &command_bench,
};

/* The words of the input, each an allocation of its own; returns how many. */
static int take_words(bytes *b, char **words)
{
    int count = 0;
    while (count < WORDS && b->left > 0) {
        size_t length = strnlen((const char *)b->at, b->left);
        words[count++] = bytes_copy(b, length < MOST_WORD ? length : MOST_WORD, NULL);
        if (b->left > 0 && *b->at == 0)
            bytes_u8(b);
    }
    return count;
}

static bool is_tensor(const char *name)
{
    for (int32_t o = 0; o < vjp_op_count(); o++)
        for (int32_t t = 0; vjp_op_tensor(vjp_op_at(o), t); t++)
            if (!strcmp(name, vjp_op_tensor(vjp_op_at(o), t)->name))
                return true;
    return false;
}

static void take_files_away(arguments *args)
{
    for (int i = 0; i < args->count; i++)
        if (args->at[i].name && is_tensor(args->at[i].name) && strcmp(args->at[i].value, "-"))
            args->at[i].value = "/dev/null";
}

/* Ask for all that the command could have been given. */
static bool ask(const arguments *args)
{
    int64_t number;
    bool good = true;
    for (const option *o = args->command->options; o && o->name; o++) {
        const char *text = option_given(args, o->name);
        expect(!text || o->value || !*text, "a flag has a value");
        bool asked = option_number(args, o->name, -3, 3, 1, &number);
        expect(!asked || (number >= -3 && number <= 3), "a number is out of its range");
        good &= asked;
    }
    for (int i = 0; i < args->count; i++)
        expect(args->at[i].value, "an argument has no value");
    expect(!operand(args, args->count), "there are more operands than arguments");
    return good;
}

/* Returns whether anything was refused. */
static bool use(const command *command, int count, char **words)
{
    arguments args;
    if (!parse(command, count, words, &args))
        return true;
    expect(args.command == command && args.count <= MAX_ARGUMENTS, "the arguments are wrong");
    bool refused = !ask(&args);
    if (command == &command_run && !option_given(&args, "help")) {
        take_files_away(&args);
        expect(command->run(&args) != DONE, "vjp run was content without a file");
        refused = true;
    }
    return refused;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes b = { data, size };
    char *words[WORDS + 1] = { NULL }, *said = NULL;
    size_t said_size = 0;
    const command *command = commands[bytes_below(&b, sizeof(commands) / sizeof(commands[0]))];
    int count = take_words(&b, words);
    static FILE *input;
    if (!input)
        input = freopen("/dev/null", "r", stdin);
    FILE *screen = stderr, *caught = open_memstream(&said, &said_size);
    expect(input && caught, "out of memory");
    stderr = caught;
    bool refused = use(command, count, words);
    fclose(caught);
    stderr = screen;
    expect(!refused || (said_size > 0 && said[said_size - 1] == '\n'), "refused without a word");
    expect(refused || said_size == 0, "complained, but not refused");
    free(said);
    for (int i = 0; i < count; i++)
        free(words[i]);
    return 0;
}
