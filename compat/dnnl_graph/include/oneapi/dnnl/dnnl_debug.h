/* SPDX-License-Identifier: Apache-2.0 */
/* dnnl_debug.h - names for status codes.
 *
 * oneDNN's header of this name also has names for what belongs to its primitives; those are not
 * here, because the primitives are not.
 */
#ifndef ONEAPI_DNNL_DNNL_DEBUG_H
#define ONEAPI_DNNL_DNNL_DEBUG_H

#include "oneapi/dnnl/dnnl_common_types.h"
#include "oneapi/dnnl/dnnl_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "success", "invalid_shape" and so on; "unknown status" for any other number. */
DNNL_API const char *dnnl_status2str(dnnl_status_t v);

#ifdef __cplusplus
}
#endif

#endif
