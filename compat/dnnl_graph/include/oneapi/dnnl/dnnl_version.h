/* SPDX-License-Identifier: Apache-2.0 */
/* dnnl_version.h - the version of the oneDNN API that this library speaks.
 *
 * It is not the version of vjp: dnnl_version() says who answers in its hash field.
 */
#ifndef ONEAPI_DNNL_DNNL_VERSION_H
#define ONEAPI_DNNL_DNNL_VERSION_H

#define DNNL_VERSION_MAJOR 3
#define DNNL_VERSION_MINOR 14
#define DNNL_VERSION_PATCH 0

#endif
