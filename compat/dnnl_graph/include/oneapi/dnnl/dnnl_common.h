/* SPDX-License-Identifier: Apache-2.0 */
/* dnnl_common.h - engines, streams and the settings of the whole library.
 *
 * Functions return dnnl_success or say what was wrong; NULL where something is needed is
 * dnnl_invalid_arguments. All of them may be called from any thread.
 */
#ifndef ONEAPI_DNNL_DNNL_COMMON_H
#define ONEAPI_DNNL_DNNL_COMMON_H

#include "oneapi/dnnl/dnnl_common_types.h"
#include "oneapi/dnnl/dnnl_config.h"
#include "oneapi/dnnl/dnnl_version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- engines ------------------------------------------------------------------------------ */

/* How many engines of the kind there are: one CPU, no GPU. */
DNNL_API size_t dnnl_engine_get_count(dnnl_engine_kind_t kind);

/* index: less than the count. An engine stays alive until it and every stream, tensor and compiled
 * partition made from it are destroyed, in any order. */
DNNL_API dnnl_status_t dnnl_engine_create(dnnl_engine_t *engine, dnnl_engine_kind_t kind,
                                          size_t index);
DNNL_API dnnl_status_t dnnl_engine_get_kind(dnnl_engine_t engine, dnnl_engine_kind_t *kind);

/* NULL is allowed. */
DNNL_API dnnl_status_t dnnl_engine_destroy(dnnl_engine_t engine);

/* ---- streams ------------------------------------------------------------------------------ */

/* flags: of dnnl_stream_flags_t; any other bit is dnnl_unimplemented. Work on a CPU stream is done
 * when the call that starts it returns, so waiting returns at once. */
DNNL_API dnnl_status_t dnnl_stream_create(dnnl_stream_t *stream, dnnl_engine_t engine,
                                          unsigned flags);
DNNL_API dnnl_status_t dnnl_stream_get_engine(const_dnnl_stream_t stream, dnnl_engine_t *engine);
DNNL_API dnnl_status_t dnnl_stream_wait(dnnl_stream_t stream);

/* NULL is allowed. */
DNNL_API dnnl_status_t dnnl_stream_destroy(dnnl_stream_t stream);

/* ---- settings ----------------------------------------------------------------------------- */

/* The mode that new graphs start with. It is kept and reported; results do not depend on it. */
DNNL_API dnnl_status_t dnnl_get_default_fpmath_mode(dnnl_fpmath_mode_t *mode);
DNNL_API dnnl_status_t dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_t mode);

/* level: 0, 1 or 2. The library never prints, whatever the level. */
DNNL_API dnnl_status_t dnnl_set_verbose(int level);

/* The library's own constant. */
DNNL_API const dnnl_version_t *dnnl_version(void);

#ifdef __cplusplus
}
#endif

#endif
