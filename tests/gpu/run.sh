#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# All checks that need a GPU, in one call: builds, runs, and writes OUT/README.md (OUT is docs/gpu unless GM_GPU_OUT says
# otherwise). Exit code 1 if something is wrong; 4 if there is no GPU.
#
# usage: tests/gpu/run.sh [BUILD]
#   GM_GPU_TRACES  a folder of traces (.gmtrace and others); default: tests/data
#   GM_GPU_TRUTH   a folder of record_truth.py's PROGRAM__SETTING.pickle, if there is one
#   GM_GPU_FAKE=1  uses the programs of BUILD that are linked with the fake CUDA: a test of this script
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$source/build}
out=${GM_GPU_OUT:-$source/docs/gpu}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ "${GM_GPU_FAKE:-}" = 1 ]; then
    kernels=$build/tests/gpu_kernels_fake replay=$build/tests/gmreplay_fake
    set -- 8 no-judgement
else
    if ! { cmake -S "$source" -B "$build" -DGM_CUDA=ON &&
        cmake --build "$build" -j "$(nproc)" --target gmreplay gpu_kernels; } >"$work/log" 2>&1; then
        tail -n 30 "$work/log" >&2
        exit 5
    fi
    kernels=$build/tests/gpu_kernels replay=$build/bin/gmreplay
    set -- 4096
fi

code=0
"$kernels" "$@" >"$work/kernels.md" || code=$?
[ "$code" -le 1 ] || exit "$code"
sanitized='not run: compute-sanitizer is not installed'
if [ "${GM_GPU_FAKE:-}" != 1 ] && command -v compute-sanitizer >/dev/null; then
    sanitized=clean
    compute-sanitizer --error-exitcode 9 "$kernels" 8 no-judgement >"$work/sanitizer" 2>&1 || sanitized='NOT CLEAN'
    [ "$sanitized" = clean ] || { code=1; tail -n 30 "$work/sanitizer" >&2; }
fi
python3 -B "$source/tests/gpu/report.py" "$replay" "${GM_GPU_TRACES:-$source/tests/data}" "${GM_GPU_TRUTH:-}" \
    "$work/kernels.md" "$sanitized" >"$work/README.md" || code=$?
cp "$work/README.md" "$out/README.md"
exit "$code"
