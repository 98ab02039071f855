/* SPDX-License-Identifier: Apache-2.0 */
/* ops_json.h - an operator as JSON. */
#ifndef VJP_OPS_JSON_H
#define VJP_OPS_JSON_H

#include <vjp/vjp.h>

/* ops_show_json - an object on standard output: the operator's tensors and attributes in order, and
 * what vjp_op_info says. */
void ops_show_json(const vjp_op_info *op);

#endif
