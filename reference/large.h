/* SPDX-License-Identifier: Apache-2.0 */
/* large.h - problems of a million elements or so: beyond the caches, long rows, many columns. */
#ifndef VJP_REFERENCE_LARGE_H
#define VJP_REFERENCE_LARGE_H

#include "shaped.h"

/* large_problems - to be freed with shaped_free. */
shaped_list large_problems(void);

#endif
