/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - what the parts of `vjp bench` share. */
#ifndef VJP_BENCH_H
#define VJP_BENCH_H

#include <stdio.h>

#include "bench_report.h"
#include "memory.h"
#include "peers/peer.h"
#include "shaped.h"
#include "tool.h"

/* ---- bench_cases.c, bench_problem.c -------------------------------------------------------- */

enum {
    BENCH_SIZES = 24,
    BENCH_DTYPES = 4,
    BENCH_NAME = 64,
    FILL = -1 /* dim 0: as large as the case's size requires */
};

/* What is unusual about the data of a problem. */
typedef enum bench_twist {
    TWIST_NONE,
    TWIST_OFFSET,    /* every tensor begins one element past an aligned address */
    TWIST_DENORMALS, /* every number is subnormal */
    BENCH_TWISTS
} bench_twist;

/* Problems of one shape for the operators of a kind, at several sizes and in several dtypes. */
typedef struct bench_case {
    const char *suffix; /* of its name, behind the operator; @ is the operator's parameter */
    shaped_kind kind;
    named_layout layout;
    int32_t place; /* the dim that rows run along, or channels */
    int32_t ndim;
    int64_t shape[VJP_MAX_DIMS];
    int32_t param_ndim; /* of a fold; a parameter of rows runs along them */
    int64_t param_shape[3];
    int64_t sizes[BENCH_SIZES];     /* elements, ends with 0; none: the shape is complete */
    vjp_dtype dtypes[BENCH_DTYPES]; /* ends with 0 */
} bench_case;

typedef struct bench_set {
    vjp_device device;
    const char *name;
    const bench_case *cases;
    int64_t count;
    bool twisted;  /* each case with every twist */
    bool as_peers; /* optional tensors as other libraries have them: what the forward pass kept, but
                      no results that only vjp has */
} bench_set;

/* bench_set_of - the set "standard", "peers", "growth" or "cliffs"; NULL if the device has no such
 * set. */
const bench_set *bench_set_of(vjp_device device, const char *name);

/* One problem to measure. */
typedef struct bench_problem {
    char name[BENCH_NAME];
    problem p;
    vjp_dtype dtype;
    named_layout layout;
} bench_problem;

/* bench_choices - in how many ways an operator is measured: 2 if it has a CHOICE. bench_case_name -
 * the name of a case with an operator in one of them; false if the case is not for it. */
int32_t bench_choices(const vjp_op_info *op);
bool bench_case_name(const bench_case *c, const vjp_op_info *op, int32_t choice,
                     char name[BENCH_NAME]);

/* bench_case_at - the problem of a set's case at size `size` (0 if the case has none) in one dtype;
 * false if there is none. */
bool bench_case_at(const bench_set *set, const bench_case *c, const vjp_op_info *op, int32_t choice,
                   int64_t size, vjp_dtype dtype, bench_problem *made);

/* A shape of --shape. */
enum {
    BENCH_SHAPES = 64
};

typedef struct bench_shape {
    char text[96];
    int32_t ndim;
    int64_t dims[VJP_MAX_DIMS];
    bool in_set; /* a case that is wanted has it */
} bench_shape;

/* bench_problem_of - the operator in a shape that the set does not have: along the last axis, with
 * a parameter for each element of that. */
bench_problem bench_problem_of(const vjp_op_info *op, const bench_shape *shape, vjp_dtype dtype);

/* ---- bench_load.c, bench_forward.c --------------------------------------------------------- */

/* A problem ready to run: a plan, a workspace, and one or more sets of tensors, taken in turn so
 * that none is in a cache of `spread` bytes when its turn comes. */
typedef struct load {
    memory *where;
    problem p;
    vjp_plan *plan;
    unsigned char *blocks[PROBLEM_TENSORS]; /* every set of one tensor, one after the other */
    size_t stride[PROBLEM_TENSORS];         /* bytes from one set to the next */
    size_t offset[PROBLEM_TENSORS];         /* bytes from the start of a set to its tensor */
    int64_t sets, turn;
    void *workspace;
    void *spare; /* as large as the largest tensor, if that is not an output; else NULL */
    double bytes; /* of one set: each input read once, each output written once */
} load;

bool load_open(load *l, memory *where, vjp_context *ctx, const problem *p, bench_twist twist,
               double spread, char reason[VJP_REASON_SIZE]);
void load_close(load *l);

/* bench_is_kept - whether an input of a gradient is an output of its forward pass that the caller
 * may keep: statistics of rows. load_keep - compute those that the problem has, on the CPU. */
bool bench_is_kept(const vjp_op_info *op, int32_t input);
bool load_keep(load *l, vjp_context *ctx, char reason[VJP_REASON_SIZE]);

/* load_run - one run on the next set. load_buffer - the address of set 0 of a tensor. */
vjp_status load_run(load *l, void *stream);
void *load_buffer(const load *l, int32_t tensor);

/* ---- measuring ---------------------------------------------------------------------------- */

typedef struct sample {
    double ns;            /* the median time of a run */
    double gbps, ceiling; /* ceiling: of a triad in the same minute */
    double share;         /* of the ceiling; on the CPU the median over the rounds */
    double call_ns;       /* the host's time for one call; 0: not measured */
    double graph_ns;      /* one run in a graph of many; 0: not measured */
    double over_vjp;      /* of a peer: its time over vjp's, the median of pairs */
    int pairs;            /* how often it was measured, each time beside the others */
} sample;

/* ---- bench_peers.c ------------------------------------------------------------------------ */

enum {
    BENCH_PEERS = 6
};

typedef struct peers {
    int count;
    const peer *at[BENCH_PEERS];
    peer_host host;
} peers;

/* A peer in one case. */
typedef struct rival {
    const peer *who;
    void *job;                       /* NULL: it refuses */
    char note[PEER_REASON_SIZE + 16]; /* "", "differs from vjp" or "refuses: why" */
    sample s;
} rival;

/* peers_open - load every peer of the folder $VJP_PEERS, or of ../peers beside the program's
 * folder; says so and returns false if there is none. They take memory from `where`. */
bool peers_open(peers *p, const command *command, memory *where, int threads);

/* rivals_open - each peer ready to run on the load's buffers, its results compared with ours. */
void rivals_open(const peers *p, load *l, rival rivals[BENCH_PEERS]);
void rivals_close(const peers *p, rival rivals[BENCH_PEERS]);

/* ---- bench_turns.c ------------------------------------------------------------------------ */

enum {
    LEAST_PAIRS = 11,
    MOST_PAIRS = 41,
    SLOW_PAIRS = 3, /* of one that takes seconds for a run, or ten times as long as `beside` */
    MOST_CONTENDERS = 2 + BENCH_PEERS
};

/* Somebody whose runs are timed. */
typedef struct contender {
    bool (*run)(void *state);
    void *state;
    int64_t times; /* runs for one reading of the clock */
    int pairs;     /* rounds that it takes part in */
    const struct contender *beside; /* of the same array: the one it is compared with; or NULL */
    double seconds[MOST_PAIRS];
} contender;

/* turns_take - run them in turn for about that many seconds, at least LEAST_PAIRS rounds; false if
 * a run fails. turns_fastest - the one with the fastest of a few runs.
 * turns_median, turns_ratio - of one's seconds; of a's over b's, round by round. */
bool turns_take(contender *all, int count, double seconds);
contender *turns_fastest(contender *all, int count);
double turns_median(const contender *c);
double turns_ratio(const contender *a, const contender *b);

/* bench_now - seconds of a steady clock; bench_median - also sorts the values. */
double bench_now(void);
double bench_median(double *values, int n);

/* bench_cpu_caches - the sizes of the CPU's caches for data, as far as known; ends with 0. */
enum {
    BENCH_CACHES = 8
};
void bench_cpu_caches(double sizes[BENCH_CACHES]);

/* bench_cpu_measure - the operator, the ceiling on as many threads, and the peers that do not
 * refuse, in turn for about that many seconds. */
bool bench_cpu_measure(load *l, int threads, double seconds, sample *s, rival *rivals, int nrivals);

enum {
    BENCH_EVENTS = 41
};

/* The ceiling of a CUDA device needs a kernel and memory of its own. */
typedef struct bench_cuda {
    memory *where;
    void *stream;
    cuda_event events[BENCH_EVENTS];
    cuda_module module;
    cuda_function triad;
    unsigned blocks; /* of its grid */
    void *buffers[3];
    double cache_size; /* the device's L2 */
} bench_cuda;

bool bench_cuda_open(bench_cuda *b, memory *where, char reason[VJP_REASON_SIZE]);
bool bench_cuda_measure(bench_cuda *b, load *l, sample *s);
void bench_cuda_close(bench_cuda *b);

/* ---- bench_show.c ------------------------------------------------------------------------- */

typedef struct bench {
    const arguments *args;
    vjp_device device;
    vjp_context *ctx;
    memory where;
    bench_cuda cuda;
    peers peers;
    int64_t threads, seconds;
    bool ordinary_pages;
    const bench_set *set;
    int nshapes;
    bench_shape shapes[BENCH_SHAPES];
    FILE *json, *html;
    records before; /* what the file of --json had, if the run is to be resumed */
    int64_t matching;      /* cases that the options want */
    int64_t total, passed; /* those to measure, and those behind us */
    int64_t measured;
} bench;

/* One case and what came out. */
typedef struct bench_result {
    bench_problem of;
    char shape[96];
    char layout[32];
    sample s;
    rival rivals[BENCH_PEERS];
} bench_result;

/* bench_read_selection - the options --shape, --dtype and --op; says what is wrong with them.
 * bench_wants - whether they select a case of the set. bench_knows - whether an earlier run, which
 * is to be resumed, measured it with the same peers. */
bool bench_read_selection(bench *b);
bool bench_wants(const bench *b, const bench_result *r);
bool bench_knows(const bench *b, const bench_result *r);

/* bench_wants_op, bench_wants_dtype - whether they want it in a shape that the set does not
 * have. */
bool bench_wants_op(const bench *b, const vjp_op_info *op);
bool bench_wants_dtype(const bench *b, vjp_dtype dtype);

/* bench_device, bench_pages, bench_who - as the lines of JSON name them; the last a peer. */
enum {
    WHO_SIZE = 32
};

const char *bench_device(const bench *b);
const char *bench_pages(const bench *b);
void bench_who(const peer *peer, char who[WHO_SIZE]);

/* bench_describe - the shape and the layout of a case in words. */
void bench_describe(bench_result *r, bench_twist twist);

void show_machine(const bench *b);
void show_head(const bench *b);
void show_result(const bench *b, const bench_result *r);

/* show_progress - on a terminal, a bar below the table; show_result writes over it. */
void show_progress(const bench *b, const bench_result *next);
void hide_progress(void);

/* write_json - a line for each peer, and last one for vjp: with it the case is complete. */
void write_json(const bench *b, const bench_result *r);

#endif
