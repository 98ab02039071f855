/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - vjp check: test the library on this machine.
 *
 * Every operator, dtype and layout, against a reference: a CUDA device against the CPU, the CPU
 * against its scalar code on one thread. Results must be the same bits; on CUDA, results of sums
 * must keep their stated bounds and be the same bits from run to run. First of all, results over
 * fixed inputs must be those of every other machine (bits.c). */
#define _DEFAULT_SOURCE

#include "check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "cases.h"
#include "isas.h"
#include "large.h"

enum {
    POISON = 0xa5,
    OTHER_POISON = 0x5a,
    MOST_DESCRIBED = 20,
    QUICK_CASES = 6,
    SMALL_CASES = 60,
    MEDIUM_CASES = 12,
    QUICK_ELEMENTS = 1 << 20
};

/* ---- reporting ---------------------------------------------------------------------------- */

static void show_progress(const checks *c)
{
    enum {
        WIDTH = 40
    };
    static const char full[] = "########################################";
    int64_t done = c->passed + c->failed, filled = c->planned ? done * WIDTH / c->planned : 0;
    if (!c->terminal)
        return;
    if (filled > WIDTH)
        filled = WIDTH;
    fprintf(stderr, "\r[%.*s%*s] %" PRId64 "/%" PRId64 "%s", (int)filled, full,
            (int)(WIDTH - filled), "", done, c->planned, c->failed ? ", failures" : "");
}

static void clear_progress(const checks *c)
{
    if (c->terminal)
        fprintf(stderr, "\r\033[K");
}

void checks_count(checks *c, const probe *t, bool passed)
{
    *(passed ? &c->passed : &c->failed) += 1;
    if (!passed && c->failed <= MOST_DESCRIBED) {
        char text[PROBLEM_TEXT];
        clear_progress(c);
        printf("FAILED: %s\n  %s\n  values %" PRIu64 ", seed %" PRIu64 "\n",
               problem_describe(&t->p, text), t->failure, t->number, random_seed());
        if (c->failed == MOST_DESCRIBED)
            printf("further failures are only counted\n");
        fflush(stdout);
    }
    show_progress(c);
}

/* ---- one problem -------------------------------------------------------------------------- */

/* Two runs in different ways, each of a new plan and with another poison, so that an element that
 * no run wrote shows. */
static bool agrees(checks *c, probe *t)
{
    if (!probe_run(t, &t->reference, c->reference, ON_DEFAULT_STREAM, POISON) ||
        !probe_run(t, &t->device, c->context, (way)(t->number % WAYS), OTHER_POISON) ||
        !probe_compare(t, c->device.cuda != NULL))
        return false;
    size_t size = (size_t)t->count * sizeof(*t->device.bits);
    uint64_t *earlier = unit_malloc(size);
    memcpy(earlier, t->device.bits, size);
    bool same = probe_run(t, &t->device, c->context, (way)((t->number + 1) % WAYS), POISON) &&
                probe_repeats(t, earlier);
    free(earlier);
    return same;
}

void checks_problem(checks *c, const problem *p, uint64_t number)
{
    probe t;
    if (c->device.error) /* a CUDA device that has stopped does not start again */
        return;
    bool passed = probe_open(&t, p, number, &c->host, &c->device) && agrees(c, &t);
    checks_count(c, &t, passed);
    probe_close(&t);
}

/* ---- the grid ----------------------------------------------------------------------------- */

static int64_t grid(checks *c, bool dry)
{
    int64_t small = c->quick ? QUICK_CASES : SMALL_CASES, medium = c->quick ? 1 : MEDIUM_CASES;
    int64_t planned = 0;
    for (int32_t op = 0; op < vjp_op_count(); op++) {
        const char *name = vjp_op_at(op)->name;
        case_dtypes pairs[CASE_DTYPES];
        int32_t npairs = case_dtypes_of(name, pairs);
        planned += npairs * (small + medium);
        for (int32_t pair = 0; pair < npairs && !dry; pair++)
            for (int64_t n = 0; n < small + medium; n++) {
                problem p = case_draw_within(name, pairs[pair].dtype, pairs[pair].wide, (uint64_t)n,
                                             n < small ? CASE_SMALL : CASE_MEDIUM);
                checks_problem(c, &p, (uint64_t)n);
            }
    }
    return planned;
}

/* The problems of a list, without large ones if --quick is given. */
static int64_t listed(checks *c, shaped_list list, bool dry)
{
    int64_t planned = 0;
    for (int64_t i = 0; i < list.count; i++) {
        if (c->quick && tensor_count(&list.at[i].p.tensors[0]) > QUICK_ELEMENTS)
            continue;
        planned++;
        if (!dry)
            checks_problem(c, &list.at[i].p, (uint64_t)i);
    }
    shaped_free(&list);
    return planned;
}

static int64_t everything(checks *c, bool dry)
{
    if (c->vectors)
        return check_vectors(c, dry);
    if (c->bits)
        return check_bits(c, dry);
    return check_bits(c, dry) + grid(c, dry) + listed(c, large_problems(), dry) +
           listed(c, long_problems(), dry) + check_threads(c, dry) +
           (c->large ? check_large(c, dry) : 0);
}

/* ---- the command -------------------------------------------------------------------------- */

static bool open_contexts(const arguments *args, checks *c, vjp_device device)
{
    char reason[VJP_REASON_SIZE] = "";
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.device = device;
    options.device_id = c->device.ordinal;
    if (vjp_context_create(&options, &c->context, reason, sizeof(reason)) != VJP_OK)
        return complain(args->command, false, "%s", reason);
    options = (vjp_context_options)VJP_CONTEXT_DEFAULTS;
    if (device == VJP_CPU) {
        options.num_threads = 1;
        c->reference = context_for_isa("scalar", &options);
    } else if (vjp_context_create(&options, &c->reference, reason, sizeof(reason)) != VJP_OK) {
        return complain(args->command, false, "%s", reason);
    }
    return true;
}

static int run(const arguments *args)
{
    checks c = { .terminal = isatty(STDERR_FILENO) };
    char reason[VJP_REASON_SIZE] = "";
    int64_t seed;
    vjp_device device;
    if (!option_number(args, "seed", 0, INT64_MAX, 0, &seed) || !memory_option(args, &device))
        return MISUSED;
    if (option_given(args, "seed"))
        setenv("VJP_TEST_SEED", option_given(args, "seed"), 1); /* where random.c looks */
    c.quick = option_given(args, "quick") != NULL;
    c.large = option_given(args, "large") != NULL;
    c.bits = option_given(args, "bits") != NULL;
    c.vectors = option_given(args, "vectors");
    if (!memory_open(&c.host, VJP_CPU, 0, reason) || !memory_open(&c.device, device, 0, reason))
        return complain(args->command, FAILED, "%s", reason);
    if (!open_contexts(args, &c, device))
        return FAILED;
    if (option_given(args, "write-bits"))
        return write_bits(&c);
    c.planned = everything(&c, true);
    if (c.planned == 0)
        return complain(args->command, FAILED, "there is nothing to check");
    show_progress(&c);
    everything(&c, false);
    clear_progress(&c);
    if (c.device.error)
        printf("the device stopped: %s; %" PRId64 " checks did not run\n", c.device.error,
               c.planned - c.passed - c.failed);
    printf("%" PRId64 " passed, %" PRId64 " failed\n", c.passed, c.failed);
    vjp_context_destroy(c.context);
    vjp_context_destroy(c.reference);
    return c.failed || c.device.error ? FAILED : DONE;
}

static const option options[] = {
    { "device", "DEVICE", "cpu (the default) or cuda" },
    { "seed", "NUMBER", "another choice of random problems" },
    { "quick", NULL, "fewer and smaller problems" },
    { "large", NULL, "tensors of more than 2^31 elements too, if there is memory for them" },
    { "bits", NULL, "only the fixed inputs, whose results are the same bits everywhere" },
    { "vectors", "DIR", "only the conformance vectors in DIR" },
    { "write-bits", NULL, "print conformance/hashes.def, the hashes of those results" },
    { NULL, NULL, NULL },
};

const command command_check = { "check", NULL, "test the library on this machine", options, NULL,
                                run, NULL };
