#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# reproducible.sh - build and install twice; the installed files must be identical, byte for byte.
#
# The second build differs in everything that should not matter: folder, user, time, time zone,
# language, umask, number of jobs. It cannot write to its sources, has no home directory and, where
# the system has namespaces, no network. As root, it runs as user nobody, who must then have written
# nothing outside the build folder. Both have debug information, in which a folder name would show.
set -eu
cd "$(dirname "$0")/.."
: "${CUDAARCHS:=90-real}" # one generation of GPUs is enough here
export CUDAARCHS

# build SOURCE FOLDER JOBS - configure, build and install into FOLDER/installed.
build() {
    cmake -S "$1" -B "$2" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS=-g -DVJP_TESTS=OFF \
        -DCMAKE_INSTALL_PREFIX=/usr && cmake --build "$2" "-j$3" &&
        DESTDIR="$2/installed" cmake --install "$2"
}

if [ "${1-}" = --second ]; then # SOURCE FOLDER
    umask 077
    mkdir "$3/tmp"
    exec env -i PATH="$PATH" CUDAARCHS="$CUDAARCHS" HOME=/nonexistent TMPDIR="$3/tmp" \
        TZ=Pacific/Chatham LC_ALL=C "$0" --build "$2" "$3" 1
elif [ "${1-}" = --build ]; then
    build "$2" "$3" "$4"
    exit
fi

first=$PWD/build/reproducible
second=$(mktemp -d)
chmod 755 "$second"
trap 'rm -rf "$second"' EXIT
rm -rf "$first"
mkdir -p "$first" "$second/a/folder/elsewhere" "$second/build"

echo "first build, in $first"
build "$PWD" "$first" "$(nproc)" >"$first.log" 2>&1 || { cat "$first.log"; exit 1; }

tar -c --exclude=./build --exclude=./.git . | tar -x --no-same-owner -C "$second/a/folder/elsewhere"
chmod -R a+rX,a-w "$second/a"
as=$(id -un)
set --
if unshare -n true 2>/dev/null; then
    set -- unshare -n
elif unshare -rn true 2>/dev/null; then
    set -- unshare -rn
fi
network=${1:+" without network"}
if [ "$(id -u)" = 0 ]; then
    as=nobody
    chown nobody "$second/build"
    set -- "$@" setpriv --reuid=nobody --regid=nogroup --clear-groups --no-new-privs
fi
echo "second build, in $second by $as${network:-, with network: no namespaces here}"
touch "$first/started"
"$@" "$second/a/folder/elsewhere/scripts/reproducible.sh" --second "$second/a/folder/elsewhere" \
    "$second/build" >"$first.log" 2>&1 || { cat "$first.log"; exit 1; }

if [ "$as" = nobody ]; then # owns only what it has just written
    strays=$(find /tmp /var/tmp /dev/shm -path "$second" -prune -o -user nobody \
        -newer "$first/started" -print 2>/dev/null || true)
    [ -z "$strays" ] || { echo "written outside the build folder: $strays"; exit 1; }
fi
diff -r --no-dereference "$first/installed" "$second/build/installed"
find "$first/installed" -type f | wc -l | sed 's/$/ installed files, the same bytes/'
