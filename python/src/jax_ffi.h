/* SPDX-License-Identifier: Apache-2.0 */
/* jax_ffi.h - the handlers that vjp.jax registers with XLA, for every operator.
 *
 * The attribute `op` names the operator and `tensors` the tensors given, inputs then outputs, with
 * a space between; XLA has no buffers that are NULL. The other attributes are the operator's. */
#ifndef VJPY_JAX_FFI_H
#define VJPY_JAX_FFI_H

#include "xla_ffi.h"

#include <vjp/vjp.h>

XLA_FFI_Error *vjpy_jax_cpu(XLA_FFI_CallFrame *frame);
XLA_FFI_Error *vjpy_jax_cuda(XLA_FFI_CallFrame *frame);

/* jax_threads.c: run tasks on XLA's thread pool, that of the frame in *frame of this thread. */
extern _Thread_local XLA_FFI_CallFrame *vjpy_jax_frame;
void vjpy_jax_threads(void *user, int64_t ntasks, vjp_task task, void *arg);

/* Drop an error that is not passed on. */
void vjpy_jax_forget(const XLA_FFI_Api *api, XLA_FFI_Error *error);

#endif
