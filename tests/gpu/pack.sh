#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Packs the traces of a folder of snapshots as .gmtrace, to carry them to a machine with a GPU (GM_GPU_TRACES) or to keep
# recordings small. What has no trace or cannot be read is left out, and told. With COUNT: no more than so many, the
# smallest files first. Exit code 1: there was none.
#
# usage: tests/gpu/pack.sh GMREPLAY FOLDER OUT [COUNT]
set -eu
[ $# -ge 3 ] || {
    sed -n 's/^# usage: /usage: /p' "$0" >&2
    exit 2
}
replay=$1 folder=${2%/} out=$3 most=${4:-1000000} done=0
mkdir -p "$out"
list=$(mktemp)
trap 'rm -f "$list"' EXIT
find "$folder" -type f \( -name '*.pickle' -o -name '*.pkl' -o -name '*.gz' -o -name '*.zst' \) -printf '%s %p\n' |
    sort -n | cut -d ' ' -f 2- >"$list"
while [ "$done" -lt "$most" ] && IFS= read -r path; do
    name=$(printf '%s' "${path#"$folder"/}" | sed 's|/|_|g; s|\.[^.]*$||')
    if "$replay" -q --trace-out "$out/$name.gmtrace" "$path"; then
        done=$((done + 1))
    else
        rm -f "$out/$name.gmtrace"
    fi
done <"$list"
[ "$done" -gt 0 ]
