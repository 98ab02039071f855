/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - how many of what an operator can have. Plain enough for nvcc. */
#ifndef VJPI_LIMITS_H
#define VJPI_LIMITS_H

#define VJPI_MAX_TENSORS 5
#define VJPI_MAX_ATTRS 4
#define VJPI_MAX_SUMS 2
#define VJPI_MAX_OPERANDS (VJPI_MAX_TENSORS + 1) /* the tensors, and a row sum behind them */

#endif
