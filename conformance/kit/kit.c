/* SPDX-License-Identifier: Apache-2.0 */
/* kit.c - see kit.h. */
#include "kit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "dtypes.h"
#include "json.h"

/* ---- the list of cases -------------------------------------------------------------------- */

static void read_attributes(kit_case *c, json *j)
{
    json_open(j, '{');
    for (int n = 0; json_more(j, '}', n); n++) {
        if (n == KIT_ATTRS) {
            json_fail(j, "too many attributes");
            return;
        }
        c->attrs[n] = json_key(j);
        c->values[n] = json_scalar(j);
        c->nattrs = n + 1;
    }
}

/* Strides are not used: they are read to get past them. */
static void skip_strides(json *j)
{
    json_open(j, '{');
    for (int n = 0; json_more(j, '}', n); n++) {
        free(json_key(j));
        json_open(j, '[');
        for (int d = 0; json_more(j, ']', d); d++)
            json_integer(j);
    }
}

static void read_case(kit_case *c, json *j)
{
    json_open(j, '{');
    for (int n = 0; json_more(j, '}', n); n++) {
        char *key = json_key(j);
        if (key && !strcmp(key, "name") && !c->name)
            c->name = json_string(j);
        else if (key && !strcmp(key, "attributes") && !c->nattrs)
            read_attributes(c, j);
        else if (key && !strcmp(key, "strides"))
            skip_strides(j);
        else
            json_fail(j, "a key other than name, attributes and strides, or one of them twice");
        free(key);
    }
    if (!c->name)
        json_fail(j, "a case has no name");
}

static void free_case(kit_case *c)
{
    for (int i = 0; i < c->nattrs; i++) {
        free(c->attrs[i]);
        free(c->values[i]);
    }
    free(c->name);
}

/* ---- one case ----------------------------------------------------------------------------- */

static const safetensor *find(const kit_case *c, const char *name, const char *suffix)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s%s", c->name, name, suffix);
    return safetensors_find(c->file, full);
}

const safetensor *kit_tensor(const kit_case *c, const char *name)
{
    return find(c, name, "");
}

const char *kit_attr(const kit_case *c, const char *name, const char *otherwise)
{
    for (int i = 0; i < c->nattrs; i++)
        if (!strcmp(c->attrs[i], name))
            return c->values[i];
    return otherwise;
}

static double element(const safetensor *t, const void *data, size_t i)
{
    return element_read(t->dtype, (const char *)data + i * vjp_dtype_size(t->dtype));
}

int64_t kit_wrong(const kit_case *c, const char *output, const void *result)
{
    const safetensor *exact = find(c, output, "");
    const safetensor *low = find(c, output, ".low"), *high = find(c, output, ".high");
    int64_t wrong = 0;
    if (!exact || !low || !high || low->size != exact->size || high->size != exact->size) {
        printf("%s: there is no output %s\n", c->name, output);
        return 1;
    }
    for (size_t i = 0; i < exact->size / vjp_dtype_size(exact->dtype); i++) {
        double expected = element(exact, exact->data, i), got = element(exact, result, i);
        if (ends_hold(expected, element(low, low->data, i), element(high, high->data, i), got))
            continue;
        if (wrong++ == 0)
            printf("%s: element %zu of %s is %.9g, not %.9g\n", c->name, i, output, got, expected);
    }
    return wrong;
}

/* ---- a file ------------------------------------------------------------------------------- */

static int64_t run_cases(const safetensors *file, const char *list, const char *path,
                         int64_t (*kernel)(const kit_case *c))
{
    json j = json_start(list, strlen(list));
    int64_t total = 0;
    int served = 0, n = 0;
    json_open(&j, '[');
    for (; json_more(&j, ']', n); n++) {
        kit_case c = { .file = file };
        read_case(&c, &j);
        int64_t wrong = j.error ? KIT_NOT_SERVED : kernel(&c);
        if (wrong != KIT_NOT_SERVED) {
            total += wrong;
            served++;
        }
        free_case(&c);
    }
    if (!json_end(&j))
        printf("%s: case %d: %s\n", path, n, j.error);
    else
        printf("%s: %d of %d cases served, %" PRId64 " elements wrong\n", path, served, n, total);
    return j.error || !served ? -1 : total;
}

int64_t kit_run(const char *path, int64_t (*kernel)(const kit_case *c))
{
    safetensors file;
    char reason[SAFETENSORS_REASON_SIZE];
    if (!safetensors_read(path, &file, reason)) {
        printf("%s\n", reason);
        return -1;
    }
    const char *list = safetensors_value(&file, "cases");
    int64_t wrong = -1;
    if (list)
        wrong = run_cases(&file, list, path, kernel);
    else
        printf("%s: it has no list of cases\n", path);
    safetensors_free(&file);
    return wrong;
}
