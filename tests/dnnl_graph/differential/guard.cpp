// SPDX-License-Identifier: Apache-2.0
// guard.cpp - see library.h.
#include "library.h"

int guarded(void (*call)(void *), void *argument)
{
    try {
        call(argument);
        return 0;
    } catch (...) {
        return 1;
    }
}
