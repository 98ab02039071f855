#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# version.sh - print the version that include/vjp/vjp.h states.
set -eu
cd "$(dirname "$0")/.."
sed -n 's/^#define VJP_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' include/vjp/vjp.h | paste -sd.
