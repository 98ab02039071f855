/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_client.c - every operator on an NVIDIA GPU against the same call on the CPU, as a program
 * written for infiniop and infinirt makes it: on a stream, with events around, in place too, and
 * captured into a graph. Maps have equal bits; sums are as close as their shapes allow.
 *
 * `cuda_client cpu` compares the CPU with itself, which tests this program. Without a GPU that the
 * library serves it says so and exits with 77. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniop.h>
#include <infinirt.h>

enum {
    MAX_TENSORS = 5,
    RANK = 4,
    SKIPPED = 77
};

static void check(infiniStatus_t status, const char *call)
{
    if (status != INFINI_STATUS_SUCCESS) {
        printf("%s: status %d\n0 passed, 1 failed\n", call, (int)status);
        exit(1);
    }
}

#define CHECK(call) check(call, #call)

/* ---- numbers: any IEEE-like format, by its bits ------------------------------------------- */

static const struct format {
    const char *name;
    infiniDtype_t dtype;
    size_t size;
    int fraction_bits, bias;
    double sum_epsilon; /* of the type that sums are computed in */
} formats[] = {
    { "f16", INFINI_DTYPE_F16, 2, 10, 15, 0x1p-24 },
    { "bf16", INFINI_DTYPE_BF16, 2, 7, 127, 0x1p-24 },
    { "f32", INFINI_DTYPE_F32, 4, 23, 127, 0x1p-24 },
    { "f64", INFINI_DTYPE_F64, 8, 52, 1023, 0x1p-53 },
};

static uint64_t random_bits(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 29;
}

/* Either sign, any fraction, magnitudes from 2^-7 to 8. */
static void fill(const struct format *f, void *data, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t random = random_bits();
        uint64_t fraction = random & (((uint64_t)1 << f->fraction_bits) - 1);
        uint64_t exponent = (uint64_t)(f->bias - 7) + (random >> 53) % 10;
        uint64_t bits = random >> 63 << (f->size * 8 - 1) | exponent << f->fraction_bits | fraction;
        memcpy((char *)data + i * f->size, &bits, f->size); /* little-endian */
    }
}

static double value_at(const struct format *f, const void *data, size_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)data + i * f->size, f->size);
    uint64_t sign = bits >> (f->size * 8 - 1);
    uint64_t fraction = bits & (((uint64_t)1 << f->fraction_bits) - 1);
    int exponent = (int)((bits ^ sign << (f->size * 8 - 1)) >> f->fraction_bits);
    double value = exponent == 2 * f->bias + 1 ? (fraction ? NAN : INFINITY)
                   : exponent == 0 ? ldexp((double)fraction, 1 - f->bias - f->fraction_bits)
                                   : ldexp((double)(fraction | (uint64_t)1 << f->fraction_bits),
                                           exponent - f->bias - f->fraction_bits);
    return sign ? -value : value;
}

/* ---- the operators: tensors are outputs, then inputs, as infiniop takes them --------------- */

typedef infiniopTensorDescriptor_t descriptor;
typedef struct InfiniopDescriptor *operation;

struct operator {
    const char *name;
    int noutputs, ntensors;
    infiniStatus_t (*create)(infiniopHandle_t handle, operation *made, const descriptor *t);
    infiniStatus_t (*workspace_size)(operation op, size_t *size);
    infiniStatus_t (*run)(operation op, void *workspace, size_t size, void *const *d, void *stream);
    infiniStatus_t (*destroy)(operation op);
};

#define LIST(...) __VA_ARGS__
#define OPERATOR(stem, create_arguments, run_arguments)                                           \
    static infiniStatus_t create_##stem(infiniopHandle_t handle, operation *made,                 \
                                        const descriptor *t)                                      \
    {                                                                                             \
        return infiniopCreate##stem##Descriptor(handle, made, LIST create_arguments);             \
    }                                                                                             \
    static infiniStatus_t run_##stem(operation op, void *workspace, size_t size, void *const *d,  \
                                     void *stream)                                                \
    {                                                                                             \
        return infiniop##stem(op, workspace, size, LIST run_arguments, stream);                   \
    }
#define ROW(stem, noutputs, ntensors)                                          \
    {                                                                          \
        #stem, noutputs, ntensors, create_##stem,                              \
            infiniopGet##stem##WorkspaceSize, run_##stem,                      \
            infiniopDestroy##stem##Descriptor                                  \
    }

OPERATOR(SigmoidBackward, (t[0], t[1], t[2]), (d[0], d[1], d[2]))
OPERATOR(ReluBackward, (t[0], t[1], t[2]), (d[0], d[1], d[2]))
OPERATOR(HardSigmoidBackward, (t[0], t[1], t[2], 0.2f, 0.5f), (d[0], d[1], d[2]))
OPERATOR(PReluBackward, (t[0], t[1], t[2], t[3], t[4]), (d[0], d[1], d[2], d[3], d[4]))
OPERATOR(SoftmaxBackward, (t[0], t[1], t[2], 1), (d[0], d[1], d[2]))

static const struct operator operators[] = {
    ROW(SigmoidBackward, 1, 3), ROW(ReluBackward, 1, 3),    ROW(HardSigmoidBackward, 1, 3),
    ROW(PReluBackward, 2, 5),   ROW(SoftmaxBackward, 1, 3),
};

/* ---- one case: its tensors on the host, its results from a device -------------------------- */

struct problem {
    const struct operator *op;
    const struct format *format;
    const size_t *shape;
    int place;    /* output 0 is written over this tensor; 0: over none */
    int mixed;    /* the last tensor is channels-last */
    int captured; /* run as a graph, twice */
    size_t counts[MAX_TENSORS];
    void *data[MAX_TENSORS];
};

static int is_slope(const struct problem *p, int i)
{
    return p->op->ntensors == 5 && (i == 1 || i == 3);
}

static void make_data(struct problem *p)
{
    for (int i = 0; i < p->op->ntensors; i++) {
        p->counts[i] = is_slope(p, i)
                           ? p->shape[1]
                           : p->shape[0] * p->shape[1] * p->shape[2] * p->shape[3];
        p->data[i] = malloc(p->counts[i] * p->format->size);
        if (!p->data[i])
            exit(1);
        fill(p->format, p->data[i], p->counts[i]);
    }
}

static operation create_operation(const struct problem *p, infiniopHandle_t handle)
{
    const size_t *s = p->shape;
    const ptrdiff_t channels_last[RANK] = { (ptrdiff_t)(s[1] * s[2] * s[3]), 1,
                                            (ptrdiff_t)(s[3] * s[1]), (ptrdiff_t)s[1] };
    descriptor tensors[MAX_TENSORS];
    operation op;
    for (int i = 0; i < p->op->ntensors; i++)
        CHECK(infiniopCreateTensorDescriptor(
            &tensors[i], is_slope(p, i) ? 1 : RANK, is_slope(p, i) ? s + 1 : s,
            p->mixed && i == p->op->ntensors - 1 ? channels_last : NULL, p->format->dtype));
    CHECK(p->op->create(handle, &op, tensors));
    for (int i = 0; i < p->op->ntensors; i++)
        CHECK(infiniopDestroyTensorDescriptor(tensors[i]));
    return op;
}

static void run_captured(const struct problem *p, operation op, void *workspace, size_t size,
                         void *const *memory, infinirtStream_t stream)
{
    infinirtGraph_t graph;
    infinirtGraphExec_t exec;
    CHECK(infinirtStreamBeginCapture(stream, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(p->op->run(op, workspace, size, memory, stream));
    CHECK(infinirtStreamEndCapture(stream, &graph));
    CHECK(infinirtGraphInstantiate(&exec, graph, NULL, NULL, 0));
    for (int i = 0; i < 2; i++)
        CHECK(infinirtGraphLuanch(exec, stream));
    CHECK(infinirtStreamSynchronize(stream));
    CHECK(infinirtGraphExecDestroy(exec));
    CHECK(infinirtGraphDestroy(graph));
}

/* Between two events, which must have happened in their order. */
static void run_timed(const struct problem *p, operation op, void *workspace, size_t size,
                      void *const *memory, infinirtStream_t stream)
{
    infinirtEvent_t start, end;
    float ms = -1;
    CHECK(infinirtEventCreate(&start));
    CHECK(infinirtEventCreate(&end));
    CHECK(infinirtEventRecord(start, stream));
    CHECK(p->op->run(op, workspace, size, memory, stream));
    CHECK(infinirtEventRecord(end, stream));
    CHECK(infinirtEventSynchronize(end));
    CHECK(infinirtEventElapsedTime(&ms, start, end));
    check(ms >= 0 ? INFINI_STATUS_SUCCESS : INFINI_STATUS_INTERNAL_ERROR, "time goes forward");
    CHECK(infinirtEventDestroy(start));
    CHECK(infinirtEventDestroy(end));
}

/* Compute p on a device; results[] are new host memory. */
static void compute(const struct problem *p, infiniDevice_t device, void **results)
{
    infiniopHandle_t handle;
    infinirtStream_t stream;
    void *memory[MAX_TENSORS], *buffers[MAX_TENSORS], *workspace;
    size_t workspace_size, size[MAX_TENSORS];
    CHECK(infinirtSetDevice(device, 0));
    CHECK(infiniopCreateHandle(&handle));
    CHECK(infinirtStreamCreate(&stream));
    operation op = create_operation(p, handle);
    CHECK(p->op->workspace_size(op, &workspace_size));
    CHECK(infinirtMalloc(&workspace, workspace_size));
    for (int i = 0; i < p->op->ntensors; i++) {
        size[i] = p->counts[i] * p->format->size;
        CHECK(infinirtMalloc(&memory[i], size[i]));
        CHECK(infinirtMemcpyAsync(memory[i], p->data[i], size[i], INFINIRT_MEMCPY_H2D, stream));
    }
    memcpy(buffers, memory, sizeof(memory));
    buffers[0] = memory[p->place];
    (p->captured && device != INFINI_DEVICE_CPU ? run_captured : run_timed)(
        p, op, workspace, workspace_size, buffers, stream);
    for (int i = 0; i < p->op->noutputs; i++) {
        results[i] = malloc(size[i]);
        CHECK(infinirtMemcpyAsync(results[i], buffers[i], size[i], INFINIRT_MEMCPY_D2H, stream));
    }
    CHECK(infinirtStreamSynchronize(stream));
    for (int i = 0; i < p->op->ntensors; i++)
        CHECK(infinirtFree(memory[i]));
    CHECK(infinirtFree(workspace));
    CHECK(p->op->destroy(op));
    CHECK(infinirtStreamDestroy(stream));
    CHECK(infiniopDestroyHandle(handle));
}

/* ---- how close is close ------------------------------------------------------------------- */

static size_t channel_of(const struct problem *p, size_t i)
{
    return i / (p->shape[2] * p->shape[3]) % p->shape[1];
}

/* The position of element i of a dense tensor in the last one. */
static size_t place_in_last(const struct problem *p, size_t i)
{
    size_t pixels = p->shape[2] * p->shape[3], image = p->shape[1] * pixels;
    return p->mixed ? i / image * image + i % pixels * p->shape[1] + channel_of(p, i) : i;
}

static int is_softmax(const struct problem *p)
{
    return !strcmp(p->op->name, "SoftmaxBackward");
}

/* Which sum the terms at element i go to. */
static size_t sum_of(const struct problem *p, size_t i)
{
    size_t pixels = p->shape[2] * p->shape[3], image = p->shape[1] * pixels;
    return is_softmax(p) ? i / image * pixels + i % pixels : channel_of(p, i);
}

/* The magnitudes of all terms of each sum, added up. */
static double *magnitudes(const struct problem *p)
{
    const void *x = p->data[p->op->noutputs], *dy = p->data[p->op->ntensors - 1];
    double *sums = calloc(p->counts[0], sizeof(*sums));
    if (!sums)
        exit(1);
    for (size_t i = 0; i < p->counts[0]; i++)
        sums[sum_of(p, i)] += fabs(value_at(p->format, x, i) *
                                   value_at(p->format, dy, place_in_last(p, i)));
    return sums;
}

/* How far apart two right results may be: not at all where nothing is added up; else a unit in the
 * last place, since either may round up, and what two orders of adding may cost. */
static double tolerance(const struct problem *p, const double *sums, int output, size_t i,
                        double want)
{
    double magnitude = is_softmax(p) ? fabs(value_at(p->format, p->data[1], i)) *
                                           (8 + sums[sum_of(p, i)])
                                     : sums[i];
    return output == 0 && !is_softmax(p) ? 0
                                         : ldexp(fabs(want), -p->format->fraction_bits) +
                                               64 * p->format->sum_epsilon * magnitude;
}

static int same(const struct problem *p, const double *sums, int output, const void *want,
                const void *got)
{
    size_t size = p->format->size;
    for (size_t i = 0; i < p->counts[output]; i++) {
        double w = value_at(p->format, want, i), g = value_at(p->format, got, i);
        double slack = tolerance(p, sums, output, i, w);
        if (!memcmp((const char *)want + i * size, (const char *)got + i * size, size) ||
            (slack > 0 && fabs(g - w) <= slack)) /* 0: not even +0 for -0 */
            continue;
        printf("%s %s, output %d over tensor %d%s%s: element %zu is %a, the CPU has %a\n",
               p->op->name, p->format->name, output, p->place, p->mixed ? ", mixed" : "",
               p->captured ? ", captured" : "", i, g, w);
        return 0;
    }
    return 1;
}

/* ---- all cases ---------------------------------------------------------------------------- */

static int passed, failed;

static void compare(struct problem p, infiniDevice_t device)
{
    void *want[MAX_TENSORS], *got[MAX_TENSORS];
    int right = 1;
    make_data(&p);
    double *sums = magnitudes(&p);
    compute(&p, INFINI_DEVICE_CPU, want);
    compute(&p, device, got);
    for (int i = 0; i < p.op->noutputs; i++) {
        right = same(&p, sums, i, want[i], got[i]) && right;
        free(want[i]);
        free(got[i]);
    }
    free(sums);
    for (int i = 0; i < p.op->ntensors; i++)
        free(p.data[i]);
    *(right ? &passed : &failed) += 1;
}

static void compare_all(const struct operator *op, const struct format *format,
                        infiniDevice_t device)
{
    static const size_t shapes[][RANK] = { { 1, 1, 1, 1 }, { 2, 5, 3, 7 }, { 3, 70, 11, 13 } };
    for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
        struct problem p = { .op = op, .format = format, .shape = shapes[s] };
        compare(p, device);
        for (p.place = op->noutputs; p.place < op->ntensors; p.place++)
            if (!is_slope(&p, p.place))
                compare(p, device);
        p.place = 0;
        p.mixed = 1;
        compare(p, device);
        p.captured = 1;
        compare(p, device);
    }
}

/* Can the library work there? */
static int is_served(infiniDevice_t device)
{
    infiniopHandle_t handle;
    return infinirtSetDevice(device, 0) == INFINI_STATUS_SUCCESS &&
           infiniopCreateHandle(&handle) != INFINI_STATUS_DEVICE_NOT_FOUND &&
           infiniopDestroyHandle(handle) == INFINI_STATUS_SUCCESS;
}

int main(int argc, char **argv)
{
    infiniDevice_t device = argc > 1 && !strcmp(argv[1], "cpu") ? INFINI_DEVICE_CPU
                                                                : INFINI_DEVICE_NVIDIA;
    int count;
    CHECK(infinirtGetDeviceCount(device, &count));
    if (count == 0 || !is_served(device)) {
        printf("skipped: %s\n", count == 0 ? "there is no NVIDIA GPU that can be used"
                                           : "this library does not serve the NVIDIA GPU");
        return SKIPPED;
    }
    for (size_t o = 0; o < sizeof(operators) / sizeof(*operators); o++)
        for (size_t f = 0; f < sizeof(formats) / sizeof(*formats); f++)
            compare_all(&operators[o], &formats[f], device);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
