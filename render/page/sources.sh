#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The sources of zlib and zstd as the distribution has them, for page.wasm's decoders: sources.sh DIR makes DIR/zlib and
# DIR/zstd. Needs no root: apt's lists of source packages are kept in DIR, made of the lists that the machine is set up with.
set -euo pipefail

[ $# -eq 1 ] || {
    echo "usage: sources.sh DIR" >&2
    exit 2
}
mkdir -p "$1"
cd "$1"
if [ -f zlib/inflate.c ] && [ -f zstd/lib/zstd.h ]; then
    exit 0
fi

work=$(mktemp -d "$PWD/apt.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/parts" "$work/lists/partial" "$work/cache/archives/partial"
for list in /etc/apt/sources.list /etc/apt/sources.list.d/{debian,ubuntu}.{sources,list}; do
    [ -f "$list" ] && sed -E 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /' "$list" >"$work/parts/${list##*/}"
done
[ -f "$work/parts/sources.list" ] && mv "$work/parts/sources.list" "$work/parts/main.list"
options=(-qq -o Dir::Etc::sourcelist=- -o Dir::Etc::sourceparts="$work/parts" -o Dir::State::lists="$work/lists"
    -o Dir::Cache="$work/cache" -o APT::Sandbox::User="$(id -un)")
apt-get "${options[@]}" update

# get NAME PACKAGE: the packed upstream source, unpacked as NAME.
get() {
    local name=$1 package=$2 packed
    (cd "$work" && apt-get "${options[@]}" source --download-only "$package")
    for packed in "$work/${package}"_*.orig.tar.*; do
        case $packed in *.asc) continue ;; esac
        mkdir "$work/$name"
        tar -xf "$packed" -C "$work/$name" --strip-components=1
    done
    rm -rf "${name:?}"
    mv "$work/$name" "$name"
}
get zlib zlib
get zstd libzstd
