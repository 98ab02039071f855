/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.cpp - the kernels of one dtype as plain C++ (emulate.h). */
#include "cuda/kernels.cu"
