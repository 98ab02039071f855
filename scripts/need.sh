#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# need.sh [TEST=]PACKAGE... - see that what a step needs is there; on Debian, install what is not.
#
# TEST is a command, or a header that cc should find (name.h); without a TEST, Debian's package
# itself is asked for. As root the missing packages are installed; otherwise the command that
# installs them is printed and the exit status is 1.
set -eu

has() {
    case $1 in
    *.h=*) printf '#include <%s>\n' "${1%%=*}" | cc -E - ;;
    *=*) command -v "${1%%=*}" ;;
    *) ! command -v dpkg-query || dpkg-query -s "$1" | grep -q '^Status:.* installed$' ;;
    esac >/dev/null 2>&1
}

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
