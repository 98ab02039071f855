/* SPDX-License-Identifier: Apache-2.0 */
/* busy.c - see busy.h. */
#include "busy.h"

#include "base.h"

/* clang-format off */
static const shaped_row rows[] = {
    { "dense",
      SHAPED_MAP, VJP_F32, VJP_F32, NAMED_PLAIN, 0, 1, { 400003 }, NO_SLOPE },
    { "gradient transposed",
      SHAPED_MAP, VJP_BF16, VJP_BF16, NAMED_SWAPPED, 0, 2, { 403, 511 }, NO_SLOPE },
    { "gradient channels last",
      SHAPED_MAP, VJP_F16, VJP_F16, NAMED_CHANNELS_LAST, 0, 4, { 3, 65, 31, 33 }, NO_SLOPE },
    { "long rows",
      SHAPED_ROW, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 2, { 9, 30011 }, NO_SLOPE },
    { "first axis",
      SHAPED_ROW, VJP_BF16, VJP_F32, NAMED_SWAPPED, 0, 2, { 301, 703 }, NO_SLOPE },
    { "channels last",
      SHAPED_FOLD, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 2, { 3001, 65 }, 1, { 65 } },
    { "channels first, gradient channels last",
      SHAPED_FOLD, VJP_F64, VJP_F64, NAMED_CHANNELS_LAST, 1, 4, { 3, 65, 31, 33 }, 1, { 65 } },
};
/* clang-format on */

shaped_list busy_problems(void)
{
    return shaped_problems(rows, COUNT_OF(rows));
}
