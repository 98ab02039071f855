/* SPDX-License-Identifier: Apache-2.0 */
/* test_words.c - messages of the program `vjp`: help, lists, and an error for every wrong command
 * line, which names the argument. */
#define _POSIX_C_SOURCE 200809L

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"
#include "support.h"

static void assert_prints(outcome got, const char *words)
{
    if (got.status != 0 || *got.err || !strstr(got.out, words))
        fail_msg("expected \"%s\", got status %d, \"%s\" and \"%s\"", words, got.status, got.out,
                 got.err);
}

static int prepare(void **state)
{
    (void)state;
    folder_clear();
    numpy_ramp("x.npy", 4, -1);
    numpy_ramp("g.npy", 4, 10);
    return 0;
}

/* ---- help and lists ------------------------------------------------------------------------ */

static void help_is_everywhere(void **state)
{
    static const char *const commands[] = { "info", "ops", "run", "check", "bench" };
    (void)state;
    outcome all = tool(ARGS("--help"));
    assert_prints(all, "usage: vjp COMMAND");
    for (int i = 0; i < COUNT_OF(commands); i++) {
        char usage[64];
        snprintf(usage, sizeof usage, "\n  %s ", commands[i]);
        assert_prints(all, usage);
    }
    for (int i = 0; i < COUNT_OF(commands); i++) {
        char usage[64];
        snprintf(usage, sizeof usage, "usage: vjp %s", commands[i]);
        assert_prints(tool(ARGS(commands[i], "--help")), usage);
    }
    assert_prints(tool(ARGS("run", "--help")), "--threads N");
    for (int i = 0; i < COUNT_OF(commands); i++) {
        char *same = strdup(tool(ARGS(commands[i], "--help")).out);
        assert_string_equal(tool(ARGS(commands[i], "-h")).out, same);
        assert_string_equal(tool(ARGS("help", commands[i])).out, same);
        assert_string_equal(tool(ARGS("--help", commands[i])).out, same);
        free(same);
    }
    assert_prints(tool(ARGS("-h")), "usage: vjp COMMAND");
    assert_prints(tool(ARGS("help")), "usage: vjp COMMAND");
}

/* By its name and by its title, before and after the option. */
static void run_helps_with_an_operator(void **state)
{
    const vjp_op_info *op = *state;
    char words[128];
    snprintf(words, sizeof words, "usage: vjp run %s --", op->name);
    assert_prints(tool(ARGS("help", "run", op->title)), words);
    assert_prints(tool(ARGS("run", "-h", op->name)), words);
    outcome got = tool(ARGS("run", op->name, "--help"));
    assert_prints(got, words);
    assert_prints(got, op->formula);
    for (int32_t i = 0; i < op->ninputs + op->noutputs; i++) {
        snprintf(words, sizeof words, "\n  --%s FILE ", vjp_op_tensor(op, i)->name);
        assert_prints(got, words);
    }
    for (int32_t i = 0; i < op->nattrs; i++) {
        snprintf(words, sizeof words, "\n  --%s ", vjp_op_attr(op, i)->name);
        assert_prints(got, words);
        assert_prints(got, vjp_op_attr(op, i)->meaning);
    }
    assert_prints(got, "\n  --threads N ");
}

static void the_version_is_the_library_s(void **state)
{
    char version[32];
    (void)state;
    snprintf(version, sizeof version, "vjp %d.%d.%d\n", VJP_VERSION_MAJOR, VJP_VERSION_MINOR,
             VJP_VERSION_PATCH);
    outcome got = tool(ARGS("--version"));
    assert_prints(got, version);
    assert_string_equal(got.out, version);
    assert_string_equal(tool(ARGS("-V")).out, version);
}

static void every_operator_is_listed(void **state)
{
    (void)state;
    outcome list = tool(ARGS("ops"));
    for (int32_t i = 0; i < vjp_op_count(); i++)
        assert_prints(list, vjp_op_at(i)->name);
}

/* Blanks and new lines made one blank each, as text is wrapped. */
static void unwrap(const char *text, char *flat, size_t size)
{
    size_t n = 0;
    for (; *text && n + 1 < size; text++)
        if (*text != '\n' && (*text != ' ' || (n > 0 && flat[n - 1] != ' ')))
            flat[n++] = *text;
        else if (n > 0 && flat[n - 1] != ' ')
            flat[n++] = ' ';
    flat[n] = 0;
}

static void an_operator_is_shown_in_full(void **state)
{
    const vjp_op_info *op = *state;
    static char flat[8192];
    outcome got = tool(ARGS("ops", op->title));
    assert_says(got, 0, NULL);
    unwrap(got.out, flat, sizeof flat);
    got.out = flat;
    assert_prints(got, op->title);
    assert_prints(got, op->formula);
    for (int32_t i = 0; i < op->nbounds; i++)
        assert_prints(got, vjp_op_bound(op, i)->text);
    const char *at = strstr(flat, "Tensors");
    for (int32_t i = 0; i < op->ninputs + op->noutputs; i++) { /* in order */
        char row[64];
        const vjp_tensor_info *tensor = vjp_op_tensor(op, i);
        snprintf(row, sizeof row, "%d %s%s %s ", (int)i, i < op->ninputs ? "input" : "output",
                 tensor->flags & VJP_TENSOR_OPTIONAL ? ", optional" : "", tensor->name);
        at = at ? strstr(at, row) : NULL;
        assert_non_null(at);
    }
    for (int32_t i = 0; i < op->nattrs; i++) {
        assert_prints(got, vjp_op_attr(op, i)->name);
        assert_prints(got, vjp_op_attr(op, i)->meaning);
    }
}

static void info_names_the_instruction_set(void **state)
{
    vjp_context *ctx = NULL;
    char words[64];
    (void)state;
    unsetenv("VJP_ISA");
    assert_int_equal(vjp_context_create(NULL, &ctx, NULL, 0), VJP_OK);
    const char *best = vjp_context_isa(ctx);
    snprintf(words, sizeof words, "isa       %s, the best that this CPU has\n", best);
    assert_prints(tool(ARGS("info")), words);
    setenv("VJP_ISA", "scalar", 1);
    snprintf(words, sizeof words, "capped by VJP_ISA=scalar; this CPU has %s\n", best);
    assert_prints(tool(ARGS("info")), strcmp(best, "scalar") ? words : "the best that");
    setenv("VJP_ISA", "8088", 1);
    assert_says(tool(ARGS("info")), 1, "VJP_ISA: this build has no instruction set '8088'");
    unsetenv("VJP_ISA");
    vjp_context_destroy(ctx);
}

static void info_names_everything_else(void **state)
{
    (void)state;
    static const char *const lines[] = { "version ", "\ncpu ", "\ncaches ", "\nthreads ",
                                         "\ncuda " };
    outcome got = tool(ARGS("info"));
    for (int i = 0; i < COUNT_OF(lines); i++)
        assert_prints(got, lines[i]);
}

/* ---- errors -------------------------------------------------------------------------------- */

/* In capitals, with dashes and a letter too many; and with its last letters swapped, unless it is so
 * short that another may be as close. */
static void misspelt_operators_are_guessed(void **state)
{
    (void)state;
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        const char *name = vjp_op_at(i)->name;
        char shouted[64], swapped[64], words[128];
        size_t length = strlen(name);
        snprintf(shouted, sizeof shouted, "%sS", name);
        for (size_t c = 0; c < length; c++)
            shouted[c] = name[c] == '_' ? '-' : (char)toupper((unsigned char)name[c]);
        snprintf(swapped, sizeof swapped, "%.*s%c%c", (int)length - 2, name, name[length - 1],
                 name[length - 2]);
        snprintf(words, sizeof words, "did you mean %s?", name);
        assert_says(tool(ARGS("ops", shouted)), 2, words);
        if (length > 8)
            assert_says(tool(ARGS("ops", swapped)), 2, words);
    }
}

enum {
    MOST_ARGS = 16
};

typedef struct wrong {
    const char *args[MOST_ARGS];
    int status;
    const char *words;
} wrong;

#define RUN_MAP "run", SAMPLE_MAP, "--src", "x.npy", "--diff_dst", "g.npy"
#define RUN_NUMBERS \
    "run", SAMPLE_NUMBERS, "--src", "x.npy", "--diff_dst", "g.npy", "--diff_src", "d.npy"
#define RUN_ROWS "run", SAMPLE_ROWS, "--dst", "x.npy", "--diff_dst", "g.npy"
#define D "--diff_src", "d.npy"
#define NOT_WIDE(dtype)                                                    \
    "vjp run: --wide: " dtype                                              \
    " is not allowed with inputs of f32; outputs may be f32 where inputs " \
    "are f16 or bf16"

static const wrong wrongs[] = {
    { { NULL }, 2, "usage: vjp COMMAND" },
    { { "walk" }, 2, "vjp: there is no command walk; `vjp help` lists them\n" },
    { { "chekc" }, 2, "vjp: there is no command chekc; did you mean check?" },
    { { "help", "inf" }, 2, "vjp: there is no command inf; did you mean info?" },
    { { "help", "info", "more" }, 2, "vjp info: unexpected argument: more" },
    { { "info", "here" }, 2, "vjp info: unexpected argument: here" },
    { { "info", "--loud" }, 2, "vjp info: there is no option --loud; see vjp info --help" },
    { { "info", "-x" }, 2, "vjp info: options begin with two dashes: -x" },
    { { "bench", "--sede", "1" }, 2, "vjp bench: there is no option --sede; see vjp bench --help" },
    { { "check", "--sed=1" },
      2,
      "vjp check: there is no option --sed; did you mean --seed? see vjp check --help" },
    { { "info", "--help=yes" }, 2, "vjp info: --help takes no value" },
    { { "ops", SAMPLE_MAP "s" },
      2,
      "vjp ops: there is no operator " SAMPLE_MAP "s; did you mean " SAMPLE_MAP "? `vjp ops` lists "
      "them" },
    { { "ops", "dropout" }, 2, "vjp ops: there is no operator dropout; `vjp ops` lists them" },
    { { "ops", SAMPLE_MAP, "more" }, 2, "vjp ops: unexpected argument: more" },
    { { "run" }, 2, "vjp run: which operator? `vjp ops` lists them" },
    { { "run", SAMPLE_MAP "s", D },
      2,
      "vjp run: there is no operator " SAMPLE_MAP "s; did you mean " SAMPLE_MAP "?" },
    { { "run", SAMPLE_MAP "s", "--help" }, 2, "did you mean " SAMPLE_MAP "?" },
    { { RUN_MAP, D, "--user-dst", "0" },
      2,
      "vjp run: --user_dst: " SAMPLE_MAP
      " has no such tensor or attribute; did you mean --use_dst? "
      "see vjp run " SAMPLE_MAP " --help" },
    { { RUN_MAP, "--dif_src", "d.npy" }, 2, "did you mean --diff_src?" },
    { { RUN_MAP, D, "--thread", "2" }, 2, "did you mean --threads?" },
    { { RUN_MAP, D, "--slope", "x.npy" },
      2,
      "vjp run: --slope: " SAMPLE_MAP " has no such tensor or attribute; see vjp run " SAMPLE_MAP
      " --help" },
    { { RUN_MAP, D, "--axis=1" },
      2,
      "vjp run: --axis: " SAMPLE_MAP " has no such tensor or attribute" },
    { { RUN_MAP, "--diff_src" }, 2, "vjp run: --diff_src needs a value" },
    { { RUN_MAP }, 2, "vjp run: --diff_src FILE is missing: an output of " SAMPLE_MAP },
    { { "run", SAMPLE_MAP, "--src", "x.npy", D },
      2,
      "vjp run: --diff_dst FILE is missing: an input of " SAMPLE_MAP },
    { { "run", SAMPLE_MAP, "--src", "-", "--diff_dst", "-", D },
      2,
      "vjp run: --diff_dst: - is taken by --src" },
    { { "run", SAMPLE_FOLD, "--src", "x.npy", "--diff_dst", "g.npy", "--slope", "x.npy",
        "--diff_src", "-", "--diff_slope", "-" },
      2,
      "vjp run: --diff_slope: - is taken by --diff_src" },
    { { RUN_MAP, D, "--use_dst", "yes" },
      2,
      "vjp run: --use_dst: \"yes\" is not 0, 1, false or true" },
    { { RUN_MAP, D, "--use_dst", "" }, 2, "vjp run: --use_dst: \"\" is not 0, 1, false or true" },
    { { RUN_MAP, D, "--threads", "-1" },
      2,
      "vjp run: --threads: \"-1\" is not a whole number from 0 to 32767" },
    { { RUN_MAP, D, "--threads", "two" }, 2, "vjp run: --threads: \"two\" is not a whole number" },
    { { RUN_MAP, D, "--wide", "f32" },
      2,
      "vjp run: --wide: the outputs of " SAMPLE_MAP " have the dtype of its inputs" },
    { { RUN_ROWS, D, "--wide", "f31" }, 2, "vjp run: --wide: there is no dtype f31" },
    { { RUN_ROWS, D, "--axis", "0", "--wide", "f16" }, 2, NOT_WIDE("f16") },
    { { RUN_ROWS, D, "--axis", "0", "--wide", "f64" }, 2, NOT_WIDE("f64") },
    { { RUN_ROWS, D, "--axis", "1.5" }, 2, "vjp run: --axis: \"1.5\" is not a whole number" },
    { { RUN_ROWS, D, "--axis", "" }, 2, "vjp run: --axis: \"\" is not a whole number" },
    { { RUN_ROWS, D, "--axis", "9223372036854775808" }, 2, "is not a whole number of 64 bits" },
    { { RUN_ROWS, D, "--axis", "1" },
      1,
      "vjp run: " SAMPLE_ROWS ": attribute axis: 1 is out of range" },
    { { RUN_NUMBERS, "--alpha", "0.2" }, 1, "vjp run: " SAMPLE_NUMBERS ": attribute beta" },
    { { RUN_NUMBERS, "--alpha", "0.2", "--beta", "half" },
      2,
      "vjp run: --beta: \"half\" is not a number in the range of f64" },
    { { RUN_NUMBERS, "--alpha", "1e309", "--beta", "1" }, 2, "--alpha: \"1e309\" is not a number" },
    { { RUN_NUMBERS, "--alpha", "", "--beta", "1" }, 2, "--alpha: \"\" is not a number" },
    { { "run", SAMPLE_FOLD, "--src", "x.npy", "--diff_dst", "g.npy", "--slope", "x.npy",
        "--diff_src", "d.npy", "--diff_slope", "s.npy", "--data_format=NHWC" },
      1,
      "vjp run: " SAMPLE_FOLD ": attribute data_format: 'NHWC' is not one of" },
    { { "run", SAMPLE_MAP, "--src", "no.npy", "--diff_dst", "g.npy", D },
      1,
      "vjp run: --src: no.npy: No such file or directory" },
    { { "run", SAMPLE_MAP, "--src", ".", "--diff_dst", "g.npy", D },
      1,
      "vjp run: --src: .: Is a directory" },
    { { "run", SAMPLE_MAP, "--src", "x.npy", "--diff_dst", "bad.npy", D },
      1,
      "vjp run: --diff_dst: bad.npy: not a .npy file" },
};

static void a_wrong_command_line(void **state)
{
    const wrong *w = *state;
    file_write("bad.npy", "not numbers", 11);
    assert_says(tool(w->args), w->status, w->words);
    assert_int_equal(folder_count(), 3); /* x.npy, g.npy, bad.npy: no output appears */
}

int main(void)
{
    const struct CMUnitTest fixed[] = {
        cmocka_unit_test(help_is_everywhere),
        cmocka_unit_test(the_version_is_the_library_s),
        cmocka_unit_test(every_operator_is_listed),
        cmocka_unit_test(info_names_the_instruction_set),
        cmocka_unit_test(info_names_everything_else),
        cmocka_unit_test(misspelt_operators_are_guessed),
    };
    int64_t count = COUNT_OF(fixed), most = count + COUNT_OF(wrongs) + 2 * vjp_op_count();
    struct CMUnitTest *tests = unit_malloc((size_t)most * sizeof *tests);
    memcpy(tests, fixed, sizeof fixed);
    for (int64_t i = 0; i < COUNT_OF(wrongs); i++) {
        tests[count] = unit_named(wrongs[i].words, "said", a_wrong_command_line, &wrongs[i]);
        tests[count++].setup_func = prepare;
    }
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        tests[count++] = unit_named(vjp_op_at(i)->name, "shown in full",
                                    an_operator_is_shown_in_full, vjp_op_at(i));
        tests[count++] = unit_named(vjp_op_at(i)->name, "its options", run_helps_with_an_operator,
                                    vjp_op_at(i));
    }
    int failed =
        _cmocka_run_group_tests("vjp says", tests, (size_t)count, folder_open, folder_close);
    free(tests);
    return failed;
}
