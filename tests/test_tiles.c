/* SPDX-License-Identifier: Apache-2.0 */
/* test_tiles.c - operands of every element size are packed into a tile and unpacked from it.
 *
 * No operator stores a dtype of one byte in tiles of its own yet, so this test reaches into the
 * library: a nest of two strided operands, an input and an output, of elements of 1 to 8 bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "cpu/nest.h"
#include "unit.h"

enum {
    ROWS = 37,
    COLUMNS = 301,
    INPUT = 1,
    OUTPUT = 2 /* bits of the operands */
};

/* Strides in elements, of which each side may be the nearer one. */
typedef struct layout {
    int64_t row, column;
} layout;

static const layout layouts[] = {
    { 2 * COLUMNS, 2 }, { 1, ROWS }, { 3, 3 * ROWS }, { -2 * COLUMNS, -2 }, { 5 * COLUMNS, -3 }
};

static int64_t reach(layout l)
{
    return (ROWS - 1) * llabs(l.row) + (COLUMNS - 1) * llabs(l.column) + 1;
}

static int64_t first(layout l)
{
    return (l.row < 0 ? -(ROWS - 1) * l.row : 0) + (l.column < 0 ? -(COLUMNS - 1) * l.column : 0);
}

/* The element at (row, column): bytes that are not like their neighbours'. */
static void pattern(int64_t row, int64_t column, size_t size, unsigned char *bytes)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(row * 31 + column * 7 + (int64_t)i * 101 + 1);
}

/* Copies every tile's input to its output, element by element. */
static void copy_tiles(const vjpi_nest *nest, char *const *data, size_t size)
{
    const vjpi_tile_operands operands = { INPUT | OUTPUT, OUTPUT };
    static _Alignas(64) char scratch[VJPI_PACKED_SIZE];
    vjpi_walk walk;
    vjpi_walk_units(nest, data, 0, &walk);
    for (int64_t unit = 0; unit < nest->nunits; unit++) {
        vjpi_tile tile;
        memset(&tile, 0, sizeof tile);
        memset(scratch, 0xee, sizeof scratch);
        vjpi_tile_begin(nest, &walk, operands, scratch, &tile);
        assert_true(tile.data[0] >= scratch && tile.data[0] < scratch + sizeof scratch);
        assert_true(tile.data[1] >= scratch && tile.data[1] < scratch + sizeof scratch);
        for (int64_t r = 0; r < tile.rows; r++)
            memcpy(tile.data[1] + r * tile.row_step[1], tile.data[0] + r * tile.row_step[0],
                   (size_t)tile.n * size);
        vjpi_tile_end(nest, &walk, operands, &tile);
        vjpi_next_unit(nest, &walk);
    }
}

static void check_copy(layout in, layout out, size_t size)
{
    vjpi_loop loop = { .ndim = 2, .noperands = 2 };
    vjpi_nest nest;
    const layout both[] = { in, out };
    arena memory[2];
    char *data[2];
    unsigned char element[8];
    loop.dims[0].n = ROWS;
    loop.dims[1].n = COLUMNS;
    for (int i = 0; i < 2; i++) {
        loop.size[i] = (int64_t)size;
        loop.dims[0].step[i] = both[i].row * (int64_t)size;
        loop.dims[1].step[i] = both[i].column * (int64_t)size;
        memory[i] =
            arena_open((size_t)reach(both[i]) * size, i == 0 ? ARENA_AT_START : ARENA_AT_END);
        memset(memory[i].bytes, 0, memory[i].size);
        data[i] = (char *)memory[i].bytes + first(both[i]) * (int64_t)size;
    }
    unsigned char *wanted = unit_malloc(memory[1].size);
    memset(wanted, 0, memory[1].size);
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < COLUMNS; c++) {
            pattern(r, c, size, element);
            memcpy(data[0] + (r * in.row + c * in.column) * (int64_t)size, element, size);
            memcpy(wanted + (first(out) + r * out.row + c * out.column) * (int64_t)size, element,
                   size);
        }
    vjpi_nest_map(&loop, INPUT | OUTPUT, &nest);
    assert_int_equal(nest.packed, INPUT | OUTPUT);
    copy_tiles(&nest, data, size);
    assert_memory_equal(memory[1].bytes, wanted, memory[1].size);
    for (int i = 0; i < 2; i++) {
        assert_true(arena_slack_intact(&memory[i]));
        arena_close(&memory[i]);
    }
    free(wanted);
}

static void elements_of_every_size_are_packed_and_unpacked(void **state)
{
    (void)state;
    const size_t sizes[] = { 1, 2, 4, 8 };
    for (int64_t s = 0; s < COUNT_OF(sizes); s++)
        for (int64_t i = 0; i < COUNT_OF(layouts); i++)
            for (int64_t o = 0; o < COUNT_OF(layouts); o++)
                check_copy(layouts[i], layouts[o], sizes[s]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_of_every_size_are_packed_and_unpacked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
