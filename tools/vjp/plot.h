/* SPDX-License-Identifier: Apache-2.0 */
/* plot.h - an operator as a picture: what its forward function gives, and its gradients. */
#ifndef VJP_PLOT_H
#define VJP_PLOT_H

#include <stdio.h>

#include <vjp/vjp.h>

/* plot_write - SVG of the operator, its attributes those of its first variant, in f64. The text is
 * the same on every machine.
 *
 * An operator with an axis is shown along one row, with a diff_dst of 1 at one index and 0
 * elsewhere; any other over src, with a diff_dst of 1. */
void plot_write(FILE *file, const vjp_op_info *op);

#endif
