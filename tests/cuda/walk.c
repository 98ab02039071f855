/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c - see walk.h. The functions have the names and the arithmetic of the kernels'. */
#include "walk.h"

#include "base.h"
#include "record.h"

#define LINE_SIZE 128 /* bytes: row.cuh */

typedef struct place {
    int64_t at[VJPI_MAX_OPERANDS];
} place;

/* A launch and the thread that is looked at. */
typedef struct walker {
    record *r;
    const cuda_case *c;
    const vjpi_cuda_launch *l;
    const vjpi_cuda_loop *loop;
    place data;
    int64_t n;          /* elements of a vector, or 1 */
    bool terms;         /* the sums of rows alone */
    int32_t nin, first_sum, noperands;
    int64_t block, x, y;
} walker;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- access.cuh --------------------------------------------------------------------------- */

static void move(const walker *w, place *place, const vjpi_cuda_axis *axis, int64_t index)
{
    for (int32_t i = 0; i < w->noperands; i++)
        place->at[i] += index * axis->step[i];
}

static void move_outer(const walker *w, place *place, int32_t first, int32_t last, int64_t index)
{
    for (int32_t d = last - 1; d > first; d--) {
        move(w, place, &w->loop->outer[d], index % w->loop->outer[d].n);
        index /= w->loop->outer[d].n;
    }
    if (last > first)
        move(w, place, &w->loop->outer[first], index);
}

static int64_t shift_of(const walker *w, const place *run, int64_t n)
{
    int32_t operand = w->terms ? 0 : w->nin;
    return n > 1 ? run->at[operand] / w->c->plan.size[operand] % n : 0;
}

/* Does a stage of this kind touch operand i element by element? */
static bool takes_part(const walker *w, int32_t i)
{
    bool map = w->l->kernel == w->c->kernels.map[0] || w->l->kernel == w->c->kernels.map[1] ||
               w->l->kernel == w->c->kernels.map[2] || w->l->kernel == w->c->kernels.turned[0] ||
               w->l->kernel == w->c->kernels.turned[1];
    if (i >= w->first_sum) /* the row sum, for the map behind the fold */
        return map && w->c->call.op->kind == VJPI_ROW;
    return i < w->nin || !w->terms;
}

/* Where the kernel looks for element p of operand i. */
static int64_t address(const walker *w, const place *run, int32_t i, int64_t p)
{
    int64_t step = w->loop->x.step[i], size = w->c->plan.size[i];
    bool repeats = w->l->kernel == w->c->kernels.map[2] ||
                   w->l->kernel == w->c->kernels.turned[1];
    bool along = w->l->kernel == w->c->kernels.along[0] || w->l->kernel == w->c->kernels.along[1];
    if ((repeats && step == 0) ||
        (along && !w->terms && w->c->call.op->tensors[i].shape_rule == VJP_SHAPE_PARAM))
        return run->at[i];
    return run->at[i] + p * (w->n > 1 ? size : step);
}

/* The element that operand i has here is the one that the call's strides put there. */
static void check_operand(const walker *w, int32_t i, int64_t element, int64_t at)
{
    cuda_require(w->c, w->r->address[i][element] == at, "an operand's address", i);
}

/* Visit elements p .. p + n - 1, those that are among the run's count; whole: all must be. They add
 * to one sum (-1: none) or, as columns, to one each. */
static void visit(const walker *w, const place *run, int64_t p, int64_t n, int64_t count,
                  bool whole, int64_t sum, bool columns)
{
    walker one = *w;
    bool all = p >= 0 && p + n <= count;
    cuda_require(w->c, all || !whole, "a vector over the end", p);
    one.n = n;
    for (int64_t e = p; e < p + n; e++) {
        if (e < 0 || e >= count)
            continue;
        int64_t output = run->at[w->nin] + e * w->loop->x.step[w->nin];
        int64_t element = record_visit(w->r, output, columns ? sum + e - p : sum);
        for (int32_t i = 0; i < w->noperands; i++)
            if (takes_part(w, i))
                check_operand(w, i, element, address(&one, run, i, e));
    }
    for (int32_t i = 0; i < w->noperands && n > 1 && all; i++)
        if (takes_part(w, i) && address(&one, run, i, p) != run->at[i] + p * w->loop->x.step[i])
            cuda_fail(w->c, "a vector of something that is not dense", i);
        else if (takes_part(w, i) && address(&one, run, i, p + 1) != address(&one, run, i, p))
            cuda_require(w->c, address(&one, run, i, p) % VJPI_CUDA_VECTOR == 0,
                         "a vector is not aligned", i);
}

/* ---- map.cuh ------------------------------------------------------------------------------ */

static void map_run(const walker *w, const place *run, int64_t begin)
{
    int64_t step = w->l->x * w->n, end = begin + step * VJPI_CUDA_MAP_STEPS, n = w->loop->x.n;
    bool whole = begin >= 0 && end <= n;
    for (int64_t p = begin + w->x * w->n; p < end && p < n; p += step)
        visit(w, run, p, w->n, n, whole, -1, false);
}

static void map_kernel(const walker *w)
{
    int64_t xb = w->block % w->loop->xblocks, rest = w->block / w->loop->xblocks;
    int64_t y = rest % w->loop->yblocks * w->l->y + w->y;
    place run = w->data;
    if (y >= w->loop->y.n)
        return;
    move(w, &run, &w->loop->y, y);
    move_outer(w, &run, 0, w->loop->nouter, rest / w->loop->yblocks);
    map_run(w, &run, xb * w->l->x * w->n * VJPI_CUDA_MAP_STEPS - shift_of(w, &run, w->n));
}

static void flat_kernel(const walker *w)
{
    map_run(w, &w->data, w->block * w->l->x * w->n * VJPI_CUDA_MAP_STEPS);
}

/* What read_tile leaves at this place of operand i's tile, the corner being at `corner`. */
static int64_t turned_address(const walker *w, const place *corner, int32_t i, int64_t column,
                              int64_t row)
{
    int64_t step = w->n > 1 ? w->c->plan.size[i] : w->loop->y.step[i];
    return corner->at[i] + column * w->loop->x.step[i] + row * step;
}

static void turned_vector(const walker *w, const place *corner, int64_t row, int64_t column,
                          int64_t columns)
{
    place run = *corner;
    move(w, &run, &w->loop->y, row);
    for (int64_t p = column; p < column + w->n && p < columns; p++) {
        int64_t output = run.at[w->nin] + p * w->loop->x.step[w->nin];
        int64_t element = record_visit(w->r, output, -1);
        for (int32_t i = 0; i < w->noperands; i++)
            if (takes_part(w, i))
                check_operand(w, i, element, w->loop->turned >> i & 1
                                                 ? turned_address(w, corner, i, p, row)
                                                 : address(w, &run, i, p));
    }
    for (int32_t i = 0; i < w->noperands && w->n > 1 && column + w->n <= columns; i++)
        if (takes_part(w, i) && !(w->loop->turned >> i & 1) && w->loop->x.step[i] != 0)
            cuda_require(w->c, address(w, &run, i, column) % VJPI_CUDA_VECTOR == 0,
                         "a vector of a tile is not aligned", i);
}

/* read_tile: vectors run down each column. */
static void check_columns(const walker *w, const place *corner, int64_t columns, int64_t rows)
{
    for (int32_t i = 0; i < w->nin && w->n > 1 && w->x == 0 && rows >= w->n; i++)
        for (int64_t column = 0; column < columns && w->loop->turned >> i & 1; column++)
            cuda_require(w->c, turned_address(w, corner, i, column, 0) % VJPI_CUDA_VECTOR == 0,
                         "a vector of a turned tile is not aligned", i);
}

static void turned_kernel(const walker *w)
{
    int64_t side = VJPI_CUDA_TILE / (vjp_dtype_size(w->c->call.dtype) > 4 ? 2 : 1);
    int64_t xb = w->block % w->loop->xblocks, rest = w->block / w->loop->xblocks;
    int64_t x = xb * side, y = rest % w->loop->yblocks * side, turned = 0;
    int64_t columns = least(side, w->loop->x.n - x), rows = least(side, w->loop->y.n - y);
    place corner = w->data;
    for (int32_t i = 0; i < w->nin; i++)
        turned += w->loop->turned >> i & 1;
    cuda_require(w->c, turned <= 2, "tiles for so many operands", turned);
    move_outer(w, &corner, 0, w->loop->nouter, rest / w->loop->yblocks);
    move(w, &corner, &w->loop->x, x);
    move(w, &corner, &w->loop->y, y);
    check_columns(w, &corner, columns, rows);
    for (int64_t s = 0; s < side * side / w->n / VJPI_CUDA_THREADS; s++) {
        int64_t i = s * VJPI_CUDA_THREADS + w->x, row = i / (side / w->n);
        int64_t column = i % (side / w->n) * w->n;
        if (row < rows && column < columns)
            turned_vector(w, &corner, row, column, columns);
    }
}

/* ---- row.cuh ------------------------------------------------------------------------------ */

/* Vectors that a thread of the launch's row kernel holds. */
static int64_t held_by(const walker *w)
{
    int64_t ones = least(VJPI_CUDA_HELD_ONES, VJPI_CUDA_VECTOR / w->c->plan.size[0]);
    for (int32_t log = 0; log < VJPI_CUDA_HELD; log++)
        for (int vectors = 0; vectors < 2; vectors++)
            if (w->l->kernel == w->c->kernels.row[vectors][log])
                return (vectors ? 1 : ones) << log;
    return w->loop->held;
}

/* A row that begins at `run`, of which this thread has vectors first, first + stride ..., and the
 * single element `number`. */
static void share_row(const walker *w, const place *run, int64_t line, int64_t number,
                      int64_t first, int64_t stride, int64_t row)
{
    int64_t n = w->loop->x.n, head = least(n, (line - shift_of(w, run, line)) % line);
    int64_t vectors = (n - head) / w->n, singles = n - vectors * w->n;
    int64_t single = number < head ? number : vectors * w->n + number;
    for (int64_t j = 0; j < held_by(w); j++)
        if (first + j * stride < vectors)
            visit(w, run, head + (first + j * stride) * w->n, w->n, n, true, row, false);
    if (w->n > 1 && number < singles)
        visit(w, run, single, 1, n, true, row, false);
}

/* row_kernel and long_kernel: they differ in where vectors begin. */
static void row_kernel(const walker *w)
{
    int64_t lanes = w->loop->lanes, cluster = w->loop->cluster, rank = w->block % cluster;
    bool longer = w->l->kernel == w->c->kernels.longer[0] ||
                  w->l->kernel == w->c->kernels.longer[1];
    int64_t line = longer ? LINE_SIZE / w->c->plan.size[0] : w->n;
    int64_t row = lanes > 0 ? (w->block * w->l->x + w->x) / lanes : w->block / cluster;
    place run = w->data;
    if (row >= w->loop->rows)
        return;
    move_outer(w, &run, 0, w->loop->nouter, row);
    if (lanes > 0)
        share_row(w, &run, line, w->x % lanes, w->x % lanes, lanes, row);
    else
        share_row(w, &run, w->n > 1 ? line : 1, rank * w->l->x + w->x,
                  rank * w->l->x * held_by(w) + w->x, w->l->x, row);
}

static void column_kernel(const walker *w)
{
    int64_t rank = w->block % w->loop->cluster, rest = w->block / w->loop->cluster;
    int64_t first = rank * w->l->y * w->loop->held + w->y, n = w->loop->x.n;
    int64_t outer = rest / w->loop->xblocks;
    int64_t p = (rest % w->loop->xblocks * w->l->x + w->x) * w->n;
    int64_t below = (w->loop->y.n - first + w->l->y - 1) / w->l->y;
    int64_t mine = p < n ? most(0, least(w->loop->held, below)) : 0;
    for (int64_t j = 0; j < mine; j++) {
        place run = w->data;
        move_outer(w, &run, 0, w->loop->nouter, outer);
        move(w, &run, &w->loop->y, first + j * w->l->y);
        visit(w, &run, p, w->n, n, true, outer * n + p, true);
    }
}

/* ---- fold.cuh ----------------------------------------------------------------------------- */

/* The sums of `out` go where its elements' own addresses of them are. */
static void check_sums(const walker *w, int64_t out, const place *start, int64_t p)
{
    int64_t element = w->r->element_of_sum[out];
    cuda_require(w->c, element >= 0, "a sum of nothing", out);
    for (int32_t i = w->first_sum; i < w->noperands; i++)
        check_operand(w, i, element, start->at[i] + p * w->loop->x.step[i]);
}

/* A warp's share of a piece; w->x is the lane. */
static void along_piece(const walker *w, const place *start, int64_t piece, int64_t out)
{
    int64_t lane = w->x % 32, width = 32 * w->n * VJPI_CUDA_PIECE_STEPS, n = w->loop->x.n;
    place run = *start;
    move_outer(w, &run, w->loop->nkept, w->loop->nouter, piece / w->loop->xblocks);
    int64_t begin = piece % w->loop->xblocks * width - shift_of(w, &run, w->n);
    bool whole = (begin >= 0 && begin + width <= n) || (w->n > 1 && w->loop->exact);
    for (int64_t p = begin + lane * w->n; p < begin + width && p < n; p += 32 * w->n)
        visit(w, &run, p, w->n, n, whole, out, false);
}

static void along_kernel(const walker *w)
{
    int64_t warp = w->x / 32, warps = w->loop->warps;
    int64_t unit = warps == 1 ? w->block * VJPI_CUDA_WARPS + warp : w->block;
    int64_t segment = unit % w->loop->nsegments, out = unit / w->loop->nsegments;
    if (out >= w->loop->nouts)
        return;
    place start = w->data;
    move_outer(w, &start, 0, w->loop->nkept, out);
    int64_t piece = segment * w->loop->per_segment;
    int64_t end = least(piece + w->loop->per_segment, w->loop->rows);
    for (piece += warps == 1 ? 0 : warp; piece < end; piece += warps)
        along_piece(w, &start, piece, out);
    if (w->x % 32 == 31 && (warps == 1 || warp == warps - 1)) /* all others were there */
        check_sums(w, out, &start, 0);
}

static void across_kernel(const walker *w)
{
    int64_t xb = w->block % w->loop->xblocks, unit = w->block / w->loop->xblocks;
    int64_t segment = unit % w->loop->nsegments, kept = unit / w->loop->nsegments;
    int64_t p = (xb * w->l->x + w->x) * w->n, n = w->loop->x.n;
    int64_t row = segment * w->loop->per_segment;
    int64_t end = least(row + w->loop->per_segment, w->loop->rows);
    place start = w->data;
    move_outer(w, &start, 0, w->loop->nkept, kept);
    for (row += w->y; p < n && row < end; row += w->l->y) {
        place run = start;
        move_outer(w, &run, w->loop->nkept, w->loop->nouter, row);
        visit(w, &run, p, w->n, n, true, kept * n + p, true);
    }
    for (int64_t e = 0; e < w->n && p < n && w->y + 1 == w->l->y; e++)
        check_sums(w, kept * n + p + e, &start, p + e);
}

static void join_kernel(const walker *w)
{
    int64_t out = w->block * VJPI_CUDA_WARPS + w->x / 32;
    int64_t x = w->loop->x_kept ? out % w->loop->x.n : 0;
    place result = w->data;
    if (out >= w->loop->nouts || w->x % 32 > 0)
        return;
    move(w, &result, &w->loop->x, x);
    move_outer(w, &result, 0, w->loop->nkept, w->loop->x_kept ? out / w->loop->x.n : out);
    check_sums(w, out, &result, 0);
    w->r->sum_of_key[w->r->key[w->r->element_of_sum[out]]] = -1;
    w->r->element_of_sum[out] = -1; /* no other warp may join it */
}

/* ---- launches ----------------------------------------------------------------------------- */

typedef void kernel(const walker *w);

static kernel *const kernels[] = { map_kernel,   turned_kernel, row_kernel, column_kernel,
                                   along_kernel, across_kernel, join_kernel };

static void walk_threads(walker *w, kernel *what)
{
    w->c->walked[cuda_kernel_number(w->l->kernel)] = true;
    for (w->block = 0; w->block < w->l->blocks; w->block++)
        for (w->y = 0; w->y < w->l->y; w->y++)
            for (w->x = 0; w->x < w->l->x; w->x++)
                what(w);
}

static void walk_join(walker *w, vjpi_cuda_launch *l)
{
    vjpi_cuda_shape_join(&w->c->plan, l, l);
    walk_threads(w, join_kernel);
    for (int64_t key = 0; key < w->r->nkeys; key++)
        cuda_require(w->c, w->r->sum_of_key[key] < 0, "segments are not joined", key);
}

static void walk_stage(walker *w, const vjpi_cuda_stage *stage)
{
    char *data[VJPI_MAX_OPERANDS] = { NULL };
    vjpi_cuda_launch l;
    bool exact;
    for (int32_t i = 0; i < w->noperands; i++)
        data[i] = (char *)(uintptr_t)w->data.at[i];
    bool vectors = vjpi_cuda_choose(&w->c->plan, stage, data, &exact);
    vjpi_cuda_shape(&w->c->plan, stage, vectors, exact, &l);
    w->l = &l;
    w->loop = &l.loop;
    w->n = vectors ? VJPI_CUDA_VECTOR / (int64_t)vjp_dtype_size(w->c->call.dtype) : 1;
    w->terms = w->c->call.op->kind == VJPI_ROW &&
               (stage->kind == VJPI_CUDA_ALONG || stage->kind == VJPI_CUDA_ACROSS);
    cuda_require(w->c, cuda_partials_fit(w->c, &l), "partial sums do not fit", l.loop.nsegments);
    record_begin(w->r);
    walk_threads(w, l.flat ? flat_kernel : kernels[stage->kind]);
    record_end(w->r);
    if (l.loop.nsegments > 1)
        walk_join(w, &l);
}

/* Sums of nothing are written all the same: each element of the outputs that are sums. */
static void walk_nothing(walker *w)
{
    vjpi_cuda_launch l;
    int64_t out = 0;
    vjpi_cuda_shape(&w->c->plan, &w->c->plan.stages[0], false, false, &l);
    w->l = &l;
    w->loop = &l.loop;
    cuda_require(w->c, l.loop.nsegments == 0 && l.blocks * VJPI_CUDA_WARPS >= l.loop.nouts,
                 "sums of nothing", l.loop.nouts);
    for (walk at = walk_tensor(&w->c->p->tensors[w->first_sum]); at.more; walk_next(&at)) {
        place result = w->data;
        move_outer(w, &result, 0, l.loop.nkept, out++);
        cuda_require(w->c, result.at[w->first_sum] == w->data.at[w->first_sum] +
                                                          at.offset * w->c->plan.size[w->first_sum],
                     "a sum of nothing is elsewhere", out);
    }
    cuda_require(w->c, out == l.loop.nouts, "how many sums of nothing", out);
}

void cuda_walk(const cuda_case *c, const int64_t *shift)
{
    record r;
    record_open(&r, c, shift);
    walker w = { .r = &r, .c = c, .nin = c->p->op->ninputs, .noperands = c->plan.noperands };
    w.first_sum = w.nin + c->call.op->nfull;
    for (int32_t i = 0; i < w.noperands; i++)
        w.data.at[i] = r.base[i] + c->plan.offset[i];
    if (r.count == 0 && c->plan.nstages > 0)
        walk_nothing(&w);
    for (int32_t s = 0; s < c->plan.nstages && r.count > 0; s++)
        walk_stage(&w, &c->plan.stages[s]);
    record_close(&r);
}
