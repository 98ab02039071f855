#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# need.sh [TEST=]PACKAGE... - check that what a step needs is present; on Debian, install the rest.
# need.sh --versions [TEST=]PACKAGE... - print what is present, one name and version per line.
#
# TEST is a command, or a header that cc should find (name.h); without TEST, the Debian package
# itself is queried. As root the missing packages are installed; otherwise the command that installs
# them is printed and the exit status is 1.
set -eu

has() {
    case $1 in
    *.h=*) printf '#include <%s>\n' "${1%%=*}" | cc -E - ;;
    *=*) command -v "${1%%=*}" ;;
    *) ! command -v dpkg-query || dpkg-query -s "$1" | grep -q '^Status:.* installed$' ;;
    esac >/dev/null 2>&1
}

# version [TEST=]PACKAGE - from Debian's package database, or else from the command itself.
version() {
    dpkg-query -W -f '${Package} ${Version}\n' "${1#*=}" 2>/dev/null | grep ' .' && return
    case $1 in
    *.h=*) echo "${1%%=*}, of unknown version" ;;
    *=*) "${1%%=*}" --version | head -n 1 ;;
    *) echo "$1, of unknown version" ;;
    esac
}

if [ "$1" = --versions ]; then
    shift
    for need in "$@"; do
        version "$need"
    done | sort -u
    exit
fi

missing=
for need in "$@"; do
    has "$need" || missing="$missing ${need#*=}"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "Something is missing. On Debian, this installs it; then try again:"
    echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing"
    exit 1
fi

echo "Installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086 # a list of names
apt-get install -qq -y --no-install-recommends $missing >/dev/null
# shellcheck disable=SC2086
dpkg-query -W $missing
