/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_arguments.c - the input is a command line: the byte that chooses the command, then words
 * that end with a NUL. Every command's options are parsed and queried; `vjp ops` and `vjp run`
 * are executed, the latter on a few small files.
 *
 * The program's messages are captured: a refusal must come with one. */
#define _GNU_SOURCE

#include <fcntl.h>

#include "bytes.h"
#include "npy.h"
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

/* ---- files --------------------------------------------------------------------------------- */

/* In a folder, in memory if possible: a to d can be read (d is not a tensor), x and y written. */
static const char readable[] = "abcd", writable[] = "xy";
static char folder[] = "/dev/shm/vjp-fuzz-XXXXXX", paths[UINT8_MAX + 1][sizeof(folder) + 2];

static void write_tensor(char name, vjp_dtype dtype, int32_t ndim, const int64_t *shape)
{
    static const char zeros[256];
    char header[NPY_HEADER_SIZE];
    vjp_tensor tensor;
    FILE *file = fopen(paths[(uint8_t)name], "wb");
    expect(file && vjp_tensor_contiguous(dtype, ndim, shape, &tensor) == VJP_OK, "no file");
    fwrite(header, 1, npy_header(&tensor, header), file);
    fwrite(zeros, 1, npy_data_size(&tensor), file);
    fclose(file);
}

static void remove_files(void)
{
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (paths[i][0])
            unlink(paths[i]);
    rmdir(folder);
}

static void make_files(void)
{
    char names[sizeof(readable) + sizeof(writable)];
    snprintf(names, sizeof(names), "%s%s", readable, writable);
    if (!mkdtemp(folder)) {
        strcpy(folder, "/tmp/vjp-fuzz-XXXXXX");
        expect(mkdtemp(folder), "no folder");
    }
    for (const char *name = names; *name; name++)
        snprintf(paths[(uint8_t)*name], sizeof(paths[0]), "%s/%c", folder, *name);
    write_tensor('a', VJP_F32, 2, (const int64_t[]){ 2, 3 });
    write_tensor('b', VJP_F32, 1, (const int64_t[]){ 3 });
    write_tensor('c', VJP_F16, 2, (const int64_t[]){ 2, 3 });
    FILE *text = fopen(paths['d'], "w");
    expect(text && fputs("no tensor", text) > 0 && !fclose(text), "no file");
    atexit(remove_files);
}

/* What a file of the command line is here: one of ours by its letter, else the empty one. */
static const char *file_for(const char *text, bool output)
{
    bool ours = text[0] && !text[1] && strchr(output ? writable : readable, text[0]);
    return !strcmp(text, "-") ? "-" : ours ? paths[(uint8_t)text[0]] : "/dev/null";
}

static void take_files_away(arguments *args, const vjp_op_info *op)
{
    for (int32_t t = 0; op && vjp_op_tensor(op, t); t++)
        for (int i = 0; i < args->count; i++)
            if (args->at[i].name && !strcmp(args->at[i].name, vjp_op_tensor(op, t)->name))
                args->at[i].value = file_for(args->at[i].value, t >= op->ninputs);
}

/* What vjp run was content with: inputs that are tensors, and outputs that now are. */
static void check_files(const arguments *args, const vjp_op_info *op)
{
    char reason[NPY_REASON_SIZE];
    for (int32_t t = 0; op && vjp_op_tensor(op, t); t++) {
        const char *file = option_given(args, vjp_op_tensor(op, t)->name);
        npy_input tensor;
        if (!file && vjp_op_tensor(op, t)->flags & VJP_TENSOR_OPTIONAL)
            continue;
        expect(file, "a tensor has no file");
        if (t >= op->ninputs && !strcmp(file, "-"))
            continue;
        expect(npy_open(file, &tensor, reason), reason);
        npy_close(&tensor);
        if (t >= op->ninputs)
            unlink(file);
    }
}

/* ---- commands ------------------------------------------------------------------------------ */

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

/* Carry the command out, with its standard output thrown away; returns whether it was refused. */
static bool carry_out(arguments *args)
{
    const char *name = operand(args, 0);
    const vjp_op_info *op = name ? op_named(name) : NULL;
    static int screen = -1, nowhere;
    if (screen < 0) {
        screen = dup(STDOUT_FILENO);
        nowhere = open("/dev/null", O_WRONLY);
        make_files();
    }
    if (args->command == &command_run)
        take_files_away(args, op);
    long said = ftell(stderr);
    fflush(stdout);
    dup2(nowhere, STDOUT_FILENO);
    int status = args->command->run(args);
    fflush(stdout);
    dup2(screen, STDOUT_FILENO);
    expect(status == DONE || ftell(stderr) > said, "the command was refused without a word");
    if (status == DONE && args->command == &command_run)
        check_files(args, op);
    return status != DONE;
}

/* Returns whether anything was refused. */
static bool use(const command *command, int count, char **words)
{
    arguments args;
    if (!parse(command, count, words, &args))
        return true;
    expect(args.command == command && args.count <= MAX_ARGUMENTS, "the arguments are wrong");
    bool refused = !ask(&args);
    if ((command == &command_run || command == &command_ops) && !option_given(&args, "help"))
        refused |= carry_out(&args);
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
