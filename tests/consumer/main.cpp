// SPDX-License-Identifier: Apache-2.0
#include "main.c" // a file of its own, so that CMake compiles it as C++
