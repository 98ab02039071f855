#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# kit.sh DIR - write DIR/vjp-conformance-VERSION.tar.gz: the vectors, the runners and the oracle,
# for authors of other kernels: docs/conformance-kit.md. The same tree gives the same bytes.
set -eu
dir=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
name=vjp-conformance-$(scripts/version.sh)
tar -c --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=u=rwX,go=rX \
    --exclude=__pycache__ --transform="s,^,$name/," \
    LICENSE docs/conformance-kit.md docs/numerics/onednn_ctypes.py scripts/onednn.sh \
    scripts/need.sh scripts/torch_standins.py conformance/README.md conformance/kit \
    conformance/vectors conformance/torch_vectors.py conformance/onednn_vectors.py reference \
    include src/isas.def | gzip -9n >"$dir/$name.tar.gz"
echo "$dir/$name.tar.gz"
