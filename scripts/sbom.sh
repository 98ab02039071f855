#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# sbom.sh PREFIX BUILD TEST - the bill of materials of what is installed in PREFIX, in SPDX 2.3's
# tag-value form: every file with its hashes, and its run-time, build and test dependencies.
#
# BUILD and TEST are lists of [TEST=]PACKAGE, as need.sh takes them. Run-time dependencies are read
# from the files themselves. Versions are those of this machine's packages. SOURCE_DATE_EPOCH, if
# set, is the timestamp; the rest depends only on the files and packages.
set -eu
export LC_ALL=C
scripts=$(cd "$(dirname "$0")" && pwd)
part() {
    sed -n "s/^#define VJP_VERSION_$1 //p" "$scripts/../include/vjp/vjp.h"
}
version=$(part MAJOR).$(part MINOR).$(part PATCH)
created=$(date -u ${SOURCE_DATE_EPOCH+-d "@$SOURCE_DATE_EPOCH"} +%Y-%m-%dT%H:%M:%SZ)
build=$2
tests=$3
cd "$1"
files=$(find . -type f | sort)
cuda=$(echo "$files" | grep '/libvjp_cuda\.so$' || true)
licence=Apache-2.0
[ -z "$cuda" ] || licence=NOASSERTION # the CUDA module contains NVIDIA's runtime

hash_of() {
    "$1"sum | cut -d ' ' -f 1
}

# id TEXT - an SPDX identifier of letters, digits, . and -
id() {
    printf 'SPDXRef-%s' "$(printf %s "$1" | tr -c 'A-Za-z0-9.' -)"
}

# package NAME VERSION - a package that vjp needs; the caller states the relationship.
package() {
    cat <<END

PackageName: $1
SPDXID: $(id "Package-$1")
PackageVersion: $2
PackageDownloadLocation: NOASSERTION
FilesAnalyzed: false
PackageLicenseConcluded: NOASSERTION
PackageLicenseDeclared: NOASSERTION
PackageCopyrightText: NOASSERTION
END
}

# packages RELATIONSHIP [TEST=]PACKAGE... - each one once, unless an earlier list had it.
listed=' '
packages() {
    relationship=$1
    shift
    for need in "$@"; do
        name=${need#*=}
        case $listed in *" $name "*) continue ;; esac
        listed="$listed$name "
        found=$("$scripts/need.sh" --versions "$need")
        package "$name" "${found#"$name" }"
        echo "Relationship: $(id "Package-$name") $relationship SPDXRef-vjp"
    done
}

# runtime - the packages of the shared libraries that the files need but do not include.
runtime() {
    for file in $files; do
        readelf -d "$file" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
    done | sort -u | while read -r soname; do
        case $files in *"/$soname"*) continue ;; esac
        owner=$(dpkg-query -S "*/$soname" 2>/dev/null | grep ":$(dpkg --print-architecture): " ||
            true)
        owner=${owner%%:*}
        echo "${owner:-$soname}"
    done | sort -u
}

# shellcheck disable=SC2086 # lists of files
cat <<END
SPDXVersion: SPDX-2.3
DataLicense: CC0-1.0
SPDXID: SPDXRef-DOCUMENT
DocumentName: vjp-$version
DocumentNamespace: https://spdx.org/spdxdocs/vjp-$version-$(cat $files | hash_of sha256)
Creator: Tool: vjp-sbom.sh
Created: $created
Relationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-vjp

PackageName: vjp
SPDXID: SPDXRef-vjp
PackageVersion: $version
PackageDownloadLocation: NOASSERTION
FilesAnalyzed: true
PackageVerificationCode: $(sha1sum $files | cut -d ' ' -f 1 | sort | tr -d '\n' | hash_of sha1)
PackageLicenseConcluded: $licence
PackageLicenseInfoFromFiles: Apache-2.0
PackageLicenseDeclared: Apache-2.0
PackageCopyrightText: NOASSERTION
PrimaryPackagePurpose: LIBRARY
END
for file in $files; do
    cat <<END

FileName: $file
SPDXID: $(id "File${file#.}")
FileChecksum: SHA1: $(hash_of sha1 <"$file")
FileChecksum: SHA256: $(hash_of sha256 <"$file")
LicenseConcluded: $([ "$file" = "$cuda" ] && echo NOASSERTION || echo Apache-2.0)
LicenseInfoInFile: $(grep -aqF 'SPDX-License-Identifier: Apache-2.0' "$file" && echo Apache-2.0 || echo NONE)
FileCopyrightText: NOASSERTION
END
done

# shellcheck disable=SC2046,SC2086 # lists of names
{
    packages RUNTIME_DEPENDENCY_OF $(runtime)
    packages BUILD_DEPENDENCY_OF $build
    packages TEST_DEPENDENCY_OF $tests
}
if [ -n "$cuda" ]; then
    package cudart_static "$(nvcc --version | sed -n 's/.* V\([0-9.]*\)$/\1/p')"
    echo "Relationship: $(id "File${cuda#.}") STATIC_LINK $(id Package-cudart_static)"
fi
