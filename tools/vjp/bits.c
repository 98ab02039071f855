/* SPDX-License-Identifier: Apache-2.0 */
/* bits.c - one hash for each operator, dtype and output over fixed inputs; see check.h.
 *
 * Every build, instruction set and number of threads must reproduce the hashes of
 * conformance/hashes.def, and a CUDA device those of elementwise outputs. Inputs are bit patterns
 * from an integer generator, edge values among them; all NaNs count as one. `vjp check
 * --write-bits` prints that file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "cases.h"
#include "check.h"
#include "dtypes.h"
#include "isas.h"
#include "kinds.h"
#include "values.h"
#include "variants.h"

static const struct known {
    const char *op, *dtype, *wide, *output;
    uint64_t hash;
} known_bits[] = {
#define BITS(op, dtype, wide, output, hash) { #op, #dtype, #wide, #output, hash },
#include "../../conformance/hashes.def"
#undef BITS
};

enum {
    COUNT_OF_THREADS = 5
};
static const int32_t thread_counts[COUNT_OF_THREADS] = { 1, 2, 3, 7, 16 };

/* ---- the fixed inputs ---------------------------------------------------------------------- */

/* Large enough for several threads, or small and wild. */
typedef struct fixed {
    int32_t ndim;
    int64_t shape[4];
    int swapped; /* dims 0 and 1 of the leading input change places in memory, dim 1 runs backwards */
    int wild;    /* any bits and many edge values, else numbers whose sums stay finite */
} fixed;

static const fixed fixed_inputs[] = {
    { 2, { 211, 701 }, 0, 0 },
    { 2, { 1201, 131 }, 1, 0 },
    { 2, { 2, 70001 }, 0, 1 },
    { 3, { 7, 65, 9 }, 1, 0 },
    { 4, { 3, 5, 7, 11 }, 1, 1 },
};

/* A number from 0 to n - 1 that depends on the input and differs between attributes. */
static int64_t choice_of(int64_t input, int32_t attr, int64_t n)
{
    return (input + attr) % n;
}

static void add_places(problem *p, int64_t input)
{
    for (int32_t i = 0; i < p->op->nattrs; i++) {
        const vjp_attr_info *info = vjp_op_attr(p->op, i);
        int32_t n = 0;
        while (info->role == VJP_ROLE_FORMAT && kind_choice(info, n))
            n++;
        if (n > 0)
            problem_add_attr(p, vjp_attr_str(info->name, kind_choice(info, (int32_t)choice_of(
                                                                               input, i, n))));
        if (kind_attr_role(info) == ROLE_AXIS)
            problem_add_attr(p, vjp_attr_s64(info->name, choice_of(input, i,
                                                                   fixed_inputs[input].ndim)));
    }
}

/* Optional tensors are all there, or in every other input all inputs among them are not. */
static void leave_out(problem *p, int64_t input)
{
    for (int32_t t = 0; t < p->op->ninputs; t++)
        if (input % 2 && vjp_op_tensor(p->op, t)->flags & VJP_TENSOR_OPTIONAL)
            p->absent |= 1u << t;
}

/* One parameter for all; one for each place but those of dim 0; one for each place along dim 1. */
static int32_t param_of(int64_t input, int64_t shape[4])
{
    const fixed *f = &fixed_inputs[input];
    for (int32_t d = 0; d < f->ndim; d++)
        shape[d] = (input % 3 == 1 && d > 0) || (input % 3 == 2 && d == 1) ? f->shape[d] : 1;
    return f->ndim;
}

static problem fixed_problem(const vjp_op_info *op, case_dtypes dtypes, int32_t variant,
                             int64_t input)
{
    const fixed *f = &fixed_inputs[input];
    int64_t param[4];
    problem p = variant_problem(op, variant);
    vjp_tensor *lead = &p.tensors[kind_lead(op)];
    int32_t param_ndim = param_of(input, param);
    add_places(&p, input);
    leave_out(&p, input);
    problem_contiguous(&p, dtypes.dtype, dtypes.wide, f->ndim, f->shape, param_ndim, param);
    if (f->swapped && lead->ndim == f->ndim) {
        int64_t step = lead->strides[1];
        lead->strides[0] = step;
        lead->strides[1] = -step * f->shape[0];
    }
    return p;
}

static uint64_t mild_bits(vjp_dtype dtype, uint64_t bits)
{
    static const struct {
        int digits, bias, reach; /* exponents from -reach to +reach */
    } formats[] = {
        [VJP_F64] = { 52, 1023, 30 },
        [VJP_F32] = { 23, 127, 12 },
        [VJP_F16] = { 10, 15, 5 },
        [VJP_BF16] = { 7, 127, 12 },
    };
    int digits = formats[dtype].digits, reach = formats[dtype].reach;
    uint64_t exponent =
        (uint64_t)(formats[dtype].bias - reach) + (bits >> 8) % (2u * (unsigned)reach);
    uint64_t sign = (bits & 1) << (8 * vjp_dtype_size(dtype) - 1);
    return sign | exponent << digits | (bits >> (64 - digits));
}

static void write_integers(probe *t, int32_t input, random_state *random)
{
    const vjp_tensor *tensor = &t->p.tensors[input];
    ptrdiff_t size = (ptrdiff_t)vjp_dtype_size(tensor->dtype);
    unsigned char *origin = t->image[input] + t->start[input];
    for (walk w = walk_tensor(tensor); w.more; walk_next(&w))
        element_write(tensor->dtype, origin + w.offset * size,
                      value_draw_input(random, &t->p, input, 0));
}

/* Every element of an input; the low bytes of a number come first, as npy.c asserts. */
static void write_input(probe *t, int32_t input, random_state *random, int wild)
{
    const vjp_tensor *tensor = &t->p.tensors[input];
    size_t size = vjp_dtype_size(tensor->dtype);
    unsigned char *origin = t->image[input] + t->start[input], edges[VALUE_EDGES][8];
    for (int32_t i = 0; i < VALUE_EDGES; i++)
        element_write(tensor->dtype, edges[i], value_edge(tensor->dtype, i));
    for (walk w = walk_tensor(tensor); w.more; walk_next(&w)) {
        uint64_t bits = random_bits(random);
        const void *from = &bits;
        if (wild && bits % 8 == 0)
            from = edges[bits / 8 % VALUE_EDGES];
        else
            bits = wild ? bits >> (64 - 8 * size) : mild_bits(tensor->dtype, bits);
        memcpy(origin + w.offset * (ptrdiff_t)size, from, size);
    }
}

/* ---- the hashes ---------------------------------------------------------------------------- */

static uint64_t hash_step(uint64_t hash, uint64_t bits)
{
    hash = (hash ^ bits) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static void hash_outputs(const probe *t, uint64_t *hashes)
{
    const uint64_t *bits = t->device.bits;
    for (int32_t o = 0; o < t->p.op->noutputs; o++)
        for (int64_t i = probe_output_count(t, t->p.op->ninputs + o); i > 0; i--)
            hashes[o] = hash_step(hashes[o], *bits++);
}

/* One of the ways to compute, and what it gave for the operator at hand. */
typedef struct subject {
    vjp_context *ctx;
    char name[64];
    uint64_t hashes[PROBLEM_TENSORS];
} subject;

typedef struct subjects {
    subject at[ISAS * COUNT_OF_THREADS];
    int count;
} subjects;

/* The outputs of one problem by all subjects; the probe stays open. */
static bool hash_problem(checks *c, const problem *p, uint64_t stream, int wild, subjects *all,
                         probe *t)
{
    random_state random = random_start(0x76a9, stream); /* for any seed */
    bool well = probe_open_blank(t, p, &c->host, &c->device);
    for (int32_t i = 0; i < p->op->ninputs && well; i++)
        if (problem_has(p, i) && dtype_is_integer(p->tensors[i].dtype))
            write_integers(t, i, &random);
        else if (problem_has(p, i))
            write_input(t, i, &random, wild);
    for (int i = 0; i < all->count && well; i++) {
        well = probe_run(t, &t->device, all->at[i].ctx, ON_DEFAULT_STREAM, 0xa5);
        if (well)
            hash_outputs(t, all->at[i].hashes);
        else
            probe_fail(t, "on %s", all->at[i].name);
    }
    return well;
}

/* One operator and pair of dtypes: the hash of each output over all its fixed inputs. `last` is
 * left open for the report; its failure is set if a run went wrong. */
static bool hash_operator(checks *c, const vjp_op_info *op, case_dtypes dtypes, subjects *all,
                          probe *last)
{
    int64_t inputs = COUNT_OF(fixed_inputs), problems = variant_count(op) * inputs;
    for (int i = 0; i < all->count; i++)
        for (int32_t o = 0; o < op->noutputs; o++)
            all->at[i].hashes[o] = 0xcbf29ce484222325u;
    for (int64_t n = 0; n < problems; n++) {
        problem p = fixed_problem(op, dtypes, (int32_t)(n / inputs), n % inputs);
        if (!hash_problem(c, &p, (uint64_t)n, fixed_inputs[n % inputs].wild, all, last))
            return false;
        if (n < problems - 1)
            probe_close(last);
    }
    return true;
}

/* Whether a device other than the CPU must give the same bits: not if it hangs on a sum. */
static bool is_elementwise(const vjp_op_info *op, int32_t output)
{
    return !kind_has_rows(op) &&
           vjp_op_tensor(op, op->ninputs + output)->shape_rule == VJP_SHAPE_DATA;
}

static bool is_known(probe *t, case_dtypes dtypes, int32_t output, uint64_t hash, const char *who)
{
    const char *name = vjp_op_tensor(t->p.op, t->p.op->ninputs + output)->name;
    for (int64_t i = 0; i < COUNT_OF(known_bits); i++) {
        const struct known *k = &known_bits[i];
        if (strcmp(k->op, t->p.op->name) || strcmp(k->dtype, vjp_dtype_name(dtypes.dtype)) ||
            strcmp(k->wide, vjp_dtype_name(dtypes.wide)) || strcmp(k->output, name))
            continue;
        return k->hash == hash ||
               probe_fail(t, "%s: over all fixed inputs %s hashes to %016" PRIx64
                          ", not to %016" PRIx64 " as everywhere",
                          who, name, hash, k->hash);
    }
    return probe_fail(t, "%s has no hash for %s: in the source tree, `vjp check --write-bits > "
                      "conformance/hashes.def` adds it; then build again", t->p.op->name, name);
}

static void add_cpu(subjects *cpus, int isa, int32_t threads)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    subject *s = &cpus->at[cpus->count];
    options.num_threads = threads;
    s->ctx = context_for_isa(all_isas[isa], &options);
    cpus->count += s->ctx != NULL;
    snprintf(s->name, sizeof(s->name), "%s, threads: %d", all_isas[isa], (int)threads);
}

/* Each instruction set with one number of threads, which is not the same for all. */
static subjects few_cpus(void)
{
    subjects few = { .count = 0 };
    for (int isa = 0; isa < ISAS; isa++)
        add_cpu(&few, isa, thread_counts[(isa + 1) % COUNT_OF_THREADS]);
    return few;
}

/* Each instruction set with every number of threads. */
static subjects all_cpus(void)
{
    subjects all = { .count = 0 };
    for (int isa = 0; isa < ISAS; isa++)
        for (int n = 0; n < COUNT_OF_THREADS; n++)
            add_cpu(&all, isa, thread_counts[n]);
    return all;
}

static void close_cpus(subjects *cpus)
{
    for (int i = 0; i < cpus->count; i++)
        vjp_context_destroy(cpus->at[i].ctx);
}

static void check_operator(checks *c, const vjp_op_info *op, case_dtypes dtypes, subjects *all)
{
    probe last;
    bool ran = hash_operator(c, op, dtypes, all, &last), same = ran;
    for (int i = 0; i < all->count && same; i++)
        for (int32_t o = 0; o < op->noutputs && same; o++)
            if (!c->device.cuda || is_elementwise(op, o))
                same = is_known(&last, dtypes, o, all->at[i].hashes[o], all->at[i].name);
    checks_count(c, &last, same);
    probe_close(&last);
}

/* Only results that depend on a sum are tried with every number of threads: where a map is cut in
 * pieces shows with one. */
int64_t check_bits(checks *c, bool dry)
{
    subjects device = { { { .ctx = c->context, .name = "cuda" } }, 1 };
    subjects few = { .count = 0 }, all = { .count = 0 };
    int64_t planned = 0;
    if (!c->device.cuda && !dry) {
        few = few_cpus();
        all = all_cpus();
    }
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        const vjp_op_info *op = vjp_op_at(i);
        case_dtypes pairs[CASE_DTYPES];
        int32_t npairs = case_dtypes_of(op->name, pairs);
        planned += npairs;
        for (int32_t d = 0; d < npairs && !dry && !c->device.error; d++)
            check_operator(c, op, pairs[d],
                           c->device.cuda ? &device : kind_reduces(op) && !c->quick ? &all : &few);
    }
    close_cpus(&few);
    close_cpus(&all);
    return planned;
}

int write_bits(checks *c)
{
    subjects all = { { { .ctx = c->reference, .name = "the reference" } }, 1 };
    puts("/* SPDX-License-Identifier: Apache-2.0 */\n"
         "/* hashes.def - what every machine must compute, by `vjp check --write-bits`.\n"
         " *\n"
         " * BITS(operator, dtype, dtype of tensors that may be wider, output, hash): bits.c */");
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        const vjp_op_info *op = vjp_op_at(i);
        case_dtypes pairs[CASE_DTYPES];
        int32_t npairs = case_dtypes_of(op->name, pairs);
        for (int32_t d = 0; d < npairs; d++) {
            probe last;
            bool ran = hash_operator(c, op, pairs[d], &all, &last);
            for (int32_t o = 0; o < op->noutputs && ran; o++)
                printf("BITS(%s, %s, %s, %s, 0x%016" PRIx64 ")\n", op->name,
                       vjp_dtype_name(pairs[d].dtype), vjp_dtype_name(pairs[d].wide),
                       vjp_op_tensor(op, op->ninputs + o)->name, all.at[0].hashes[o]);
            if (!ran)
                fprintf(stderr, "%s: %s\n", op->name, last.failure);
            probe_close(&last);
            if (!ran)
                return FAILED;
        }
    }
    return DONE;
}
