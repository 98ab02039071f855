/* SPDX-License-Identifier: Apache-2.0 */
/* attributes.h - the attributes of a call: which are given, and what they mean for it. For
 * check.c. */
#ifndef VJPI_ATTRIBUTES_H
#define VJPI_ATTRIBUTES_H

#include "core/internal.h"

/* vjpi_resolve_attrs - values[i] for each attribute i of the operator: as given, else its
 * default. */
vjp_status vjpi_resolve_attrs(const vjpi_op *op, const vjp_attr *attrs, int32_t nattrs,
                              vjp_attr *values, bool *given, vjpi_reason reason);

/* vjpi_apply_attrs - what they mean for the call, whose data is known: its axis, its choice, its
 * numbers; or what the operator refuses. */
vjp_status vjpi_apply_attrs(const vjp_attr *values, const bool *given, vjpi_call *call,
                            vjpi_reason reason);

/* vjpi_channels_first - whether the channels of a 1-D parameter are dim 1, not the last. */
bool vjpi_channels_first(const vjpi_op *op, const vjp_attr *values);

#endif
