/* SPDX-License-Identifier: Apache-2.0 */
/* dnnl_debug.h - names for status codes, data types, engine kinds, modes and runtimes.
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

/* "f32", "cpu", "strict" and so on; "unknown dt", "unknown engine_kind", "unknown fpmath_mode" or
 * "unknown accumulation_mode" for any other number. */
DNNL_API const char *dnnl_dt2str(dnnl_data_type_t v);
DNNL_API const char *dnnl_engine_kind2str(dnnl_engine_kind_t v);
DNNL_API const char *dnnl_fpmath_mode2str(dnnl_fpmath_mode_t v);
DNNL_API const char *dnnl_accumulation_mode2str(dnnl_accumulation_mode_t v);

/* A runtime of dnnl_config.h or dnnl_version_t: "OpenMP" and so on; "unknown" for any other. */
DNNL_API const char *dnnl_runtime2str(unsigned v);

#ifdef __cplusplus
}
#endif

#endif
