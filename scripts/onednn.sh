#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# onednn.sh DIR - make DIR a virtual environment with oneDNN 3.2, whose Graph API the test
# dnnl_graph_differential compares with ours: DIR/lib/libdnnl.so.3. It is available for x86-64 only.
set -eu
cd "$(dirname "$0")/.."
[ ! -e "$1/complete" ] || exit 0
scripts/need.sh python3=python3 python3-venv
python3 -m venv "$1"
"$1/bin/pip" install -q --disable-pip-version-check onednn-cpu-gomp==2023.2.0 # oneDNN 3.2
touch "$1/complete"
