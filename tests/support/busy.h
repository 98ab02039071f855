/* SPDX-License-Identifier: Apache-2.0 */
/* busy.h - every operator, dense and not, large enough for several tasks. */
#ifndef VJP_TESTS_BUSY_H
#define VJP_TESTS_BUSY_H

#include "shaped.h"

/* busy_problems - to be freed with shaped_free. */
shaped_list busy_problems(void);

#endif
