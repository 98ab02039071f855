/* SPDX-License-Identifier: Apache-2.0 */
/* maps.h - maps: the rows of a tile, one after the other. Part of loops.c.
 *
 * This is one copy for all operators. Only a block, the formula over a line, is compiled per
 * operator: sixty copies of the rest would be most of the library. */

/* A map over a tile, at an element of one of its rows. */
typedef struct map {
    block_function *block;
    const vjpi_tile *tile;
    int count;                          /* of the operands that the part reads or writes */
    uint8_t operand[VJPI_MAX_OPERANDS]; /* which they are */
    ptrdiff_t move[VJPI_MAX_OPERANDS];  /* by operand: bytes per element; 0: repeated */
    char *data[VJPI_MAX_OPERANDS];      /* by operand: where the block finds it */
    bool together;                      /* all rows may be one block */
    ptrdiff_t start;                    /* along the tile's axis */
} map;

INLINE void map_begin(map *m, use u, const vjpi_tile *tile)
{
    m->block = u.op->blocks[block_number(u.part)];
    m->tile = tile;
    m->count = 0;
    m->together = !ends_early(u, tile) && !tile->non_temporal;
    ONCE
    for (int i = 0; i < operand_count(u); i++)
        if (is_used(u, i)) {
            bool repeated = tile->repeated >> i & 1;
            m->operand[m->count++] = (uint8_t)i;
            m->move[i] = repeated ? 0 : size_of(u, tile, i);
            if (repeated && needs_copies(u, i) && tile->row_step[i] != 0)
                m->together = false; /* each row has copies of its own */
        }
}

INLINE void map_some(map *m, ptrdiff_t n, bool non_temporal)
{
    if (n == 0)
        return;
    m->block(m->tile, m->data, m->start, 1, n, non_temporal, NULL);
    m->start += m->tile->axis_inner ? n : 0;
    ONCE
    for (int j = 0; j < m->count; j++)
        m->data[m->operand[j]] += n * m->move[m->operand[j]];
}

/* One row; whole cache lines bypass the caches, other elements do not. */
static void map_row(use u, map *m, ptrdiff_t row, ptrdiff_t n)
{
    ptrdiff_t lead = bypass_from(u, m->tile, row);
    if (lead < 0) {
        map_some(m, n, false);
        return;
    }
    const ptrdiff_t line = PAIR * SIZE >= CACHE_LINE ? PAIR : BLOCK;
    lead = lead < n ? lead : 0;
    ptrdiff_t rest = (n - lead) % line;
    map_some(m, lead, false);
    map_some(m, n - lead - rest, true);
    map_some(m, rest, false);
}

/* Point at a row. An unwanted output is stored in its copy and discarded. */
INLINE void map_row_begin(use u, map *m, ptrdiff_t row, char (*copies)[COPY_SIZE])
{
    m->start = row * m->tile->axis_row;
    ONCE
    for (int j = 0; j < m->count; j++) {
        int i = m->operand[j];
        m->data[i] = m->tile->data[i] + row * m->tile->row_step[i];
        if (m->move[i] > 0 || !needs_copies(u, i))
            continue;
        if (is_read(u, i))
            repeat(copies[i], m->data[i], size_of(u, m->tile, i));
        m->data[i] = copies[i];
    }
}

/* The FULL or PER_ROW outputs of a tile. */
static __attribute__((noinline)) void map_tile(const signature *op, int part, const vjpi_tile *tile)
{
    _Alignas(64) char copies[COPIES][COPY_SIZE];
    const use u = { op, NULL, part, false, false, true };
    map m;
    if (tile->repeated == 0 && !ends_early(u, tile) && !tile->non_temporal) { /* for small maps */
        op->blocks[block_number(part)](tile, tile->data, 0, tile->rows, tile->n, false, NULL);
        return;
    }
    map_begin(&m, u, tile);
    if (m.together) {
        map_row_begin(u, &m, 0, copies);
        m.block(tile, m.data, 0, tile->rows, tile->n, false, NULL);
        return;
    }
    for (ptrdiff_t row = 0; row < tile->rows; row++) {
        ptrdiff_t n = row_length(u, tile, row);
        map_row_begin(u, &m, row, copies);
        map_row(u, &m, row, n);
        clear_behind(u, tile, row, n);
    }
}
