/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c - what `vjp info --json` and `vjp ops --json` print is JSON, and says what the
 * library says. */
#define _POSIX_C_SOURCE 200809L

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "samples.h"
#include "support.h"

/* ---- a reader: the text after a value, or NULL if there is none ---------------------------- */

static const char *after_value(const char *text);

static const char *blanks(const char *text)
{
    return text ? text + strspn(text, " \n") : NULL;
}

static const char *after_string(const char *text)
{
    if (*text++ != '"')
        return NULL;
    for (; *text && *text != '"'; text++) {
        if ((unsigned char)*text < ' ')
            return NULL;
        if (*text == '\\' && !strchr("\"\\u", *++text))
            return NULL;
    }
    return *text ? text + 1 : NULL;
}

/* Values between brackets, with a name before each if these are braces. */
static const char *after_list(const char *text, char end)
{
    text = blanks(text + 1);
    if (*text == end)
        return text + 1;
    for (;;) {
        if (end == '}') {
            text = blanks(after_string(text));
            if (!text || *text++ != ':')
                return NULL;
        }
        text = blanks(after_value(text));
        if (!text || (*text != ',' && *text != end))
            return NULL;
        if (*text++ == end)
            return text;
        text = blanks(text);
    }
}

static const char *after_value(const char *text)
{
    static const char *const words[] = { "true", "false", "null" };
    text = blanks(text);
    if (*text == '{' || *text == '[')
        return after_list(text, *text == '{' ? '}' : ']');
    for (int i = 0; i < COUNT_OF(words); i++)
        if (!strncmp(text, words[i], strlen(words[i])))
            return text + strlen(words[i]);
    if (*text == '"')
        return after_string(text);
    char *end;
    strtod(text, &end);
    return end > text && (isdigit((unsigned char)*text) || *text == '-') ? end : NULL;
}

/* The output of a run, which is one value. */
static const char *json_of(const char *const *args)
{
    outcome got = tool(args);
    assert_says(got, 0, NULL);
    const char *end = blanks(after_value(got.out));
    if (!end || *end)
        fail_msg("this is not JSON: %s", got.out);
    return got.out;
}

static void assert_has(const char *json, const char *words)
{
    if (!strstr(json, words))
        fail_msg("no %s in %s", words, json);
}

/* ---- the tests ----------------------------------------------------------------------------- */

static void info_is_json(void **state)
{
    (void)state;
    static const char *const keys[] = { "version", "cpu",  "caches", "isa",
                                        "best_isa", "threads", "cpus",   "cuda" };
    vjp_context *ctx;
    char words[64];
    assert_status(VJP_OK, vjp_context_create(NULL, &ctx, NULL, 0), NULL);
    snprintf(words, sizeof words, "\"isa\": \"%s\"", vjp_context_isa(ctx));
    vjp_context_destroy(ctx);
    const char *json = json_of(ARGS("info", "--json"));
    assert_has(json, words);
    for (int i = 0; i < COUNT_OF(keys); i++) {
        snprintf(words, sizeof words, "\"%s\": ", keys[i]);
        assert_has(json, words);
    }
}

static void a_cap_shows_in_json(void **state)
{
    (void)state;
    setenv("VJP_ISA", "scalar", 1);
    assert_has(json_of(ARGS("info", "--json")), "\"isa\": \"scalar\"");
    setenv("VJP_ISA", "8088", 1);
    assert_says(tool(ARGS("info", "--json")), 1, "VJP_ISA: this build has no instruction set");
    unsetenv("VJP_ISA");
}

static void assert_op(const char *json, const vjp_op_info *op)
{
    char words[512];
    snprintf(words, sizeof words, "\"name\": \"%s\", \"title\": \"%s\", \"formula\": \"%s\"",
             op->name, op->title, op->formula);
    assert_has(json, words);
    const char *at = strstr(json, words);
    for (int32_t i = 0; i < op->ninputs + op->noutputs; i++) {
        snprintf(words, sizeof words, "{\"name\": \"%s\", \"output\": %s",
                 vjp_op_tensor(op, i)->name, i < op->ninputs ? "false" : "true");
        assert_has(at, words);
        at = strstr(at, words);
    }
    for (int32_t i = 0; i < op->nattrs; i++) {
        const vjp_attr_info *attr = vjp_op_attr(op, i);
        snprintf(words, sizeof words, "\"name\": \"%s\"", attr->name);
        assert_has(at, words);
        assert_has(at, attr->required ? "\"required\": true" : "\"default\": ");
    }
}

static void every_operator_is_in_the_list(void **state)
{
    (void)state;
    char *list = strdup(json_of(ARGS("ops", "--json")));
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        assert_op(list, vjp_op_at(i));
        assert_op(json_of(ARGS("ops", vjp_op_at(i)->name, "--json")), vjp_op_at(i));
    }
    free(list);
    assert_has(json_of(ARGS("ops", "--json", SAMPLE_ROWS)), "\"default\": 1");
    assert_has(json_of(ARGS("ops", "--json", SAMPLE_FOLD)), "\"choices\": [\"NCX\", \"NXC\"]");
}

static void strings_are_escaped(void **state)
{
    (void)state;
    static const char wanted[] = "\"a \\\"b\\\" \\\\ \\u000a \\u001f \xc3\xa9\"";
    char text[sizeof(wanted)] = "";
    FILE *file = tmpfile();
    assert_non_null(file);
    json_put_string(file, "a \"b\" \\ \n \x1f \xc3\xa9");
    rewind(file);
    assert_int_equal(fread(text, 1, sizeof(text), file), sizeof(wanted) - 1);
    assert_string_equal(text, wanted);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(info_is_json),
        cmocka_unit_test(a_cap_shows_in_json),
        cmocka_unit_test(every_operator_is_in_the_list),
        cmocka_unit_test(strings_are_escaped),
    };
    return cmocka_run_group_tests_name("json", tests, folder_open, folder_close);
}
