#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# All checks that need a GPU, in one call: builds, runs, and writes OUT/README.md and what it refers to (OUT is docs/gpu
# unless GM_GPU_OUT says otherwise). Exit code 1 if something is wrong; 4 if there is no GPU. docs/gpu/running.md has more.
#
# usage: tests/gpu/run.sh [BUILD]
#   GM_GPU_TRACES        a folder of traces (.gmtrace and others; pack.sh makes one); default: tests/data
#   GM_GPU_RECORD_TRUTH  a record_truth.py, which is run with python3 (PyTorch is needed) as record_truth.py FOLDER, and
#                        leaves PROGRAM__SETTING.pickle and .json there
#   GM_GPU_TRUTH         a folder of such recordings instead
#   GM_GPU_PYTHON        the Python that has PyTorch (python3)
#   GM_GPU_FAKE=1        uses the programs of BUILD that are linked with the fake CUDA: a test of this script
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$source/build}
out=${GM_GPU_OUT:-$source/docs/gpu}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    tail -n 30 "$work/log" >&2
    exit 5
}

replay=$build/bin/gmreplay suffix='' size=4096 judge=''
if [ "${GM_GPU_FAKE:-}" = 1 ]; then
    replay=$build/tests/gmreplay_fake suffix=_fake size=8 judge=no-judgement
elif command -v cmake >/dev/null; then
    cmake -S "$source" -B "$build" -DGM_CUDA=ON -DGM_TESTS=ON >"$work/log" 2>&1 || fail
    cmake --build "$build" -j "$(nproc)" --target gpu_programs >"$work/log" 2>&1 || fail
fi # else: what was built elsewhere

# ---- kernels, and the sanitizer on them

code=0
# shellcheck disable=SC2086 # no argument if it is empty
"$build/tests/gpu_kernels$suffix" "$size" $judge >"$work/kernels.md" || code=$?
[ "$code" -le 1 ] || exit "$code"
traces=${GM_GPU_TRACES:-$source/tests/data}
smallest=$(find "$traces" -type f \( -name '*.gmtrace' -o -name '*.pickle' -o -name '*.pkl' \) -printf '%s %p\n' |
    sort -n | head -n 1 | cut -d ' ' -f 2-)

# sanitize WHAT PROGRAM...: a row of the page's table.
sanitize() {
    what=$1 found=clean
    shift
    if [ "${GM_GPU_FAKE:-}" = 1 ] || ! command -v compute-sanitizer >/dev/null; then
        found='not run: compute-sanitizer is not installed'
    elif ! compute-sanitizer --error-exitcode 9 --leak-check full "$@" >"$work/sanitizer" 2>&1; then
        found='NOT CLEAN' code=1
        tail -n 30 "$work/sanitizer" >&2
    fi
    echo "| $what | $found |" >>"$work/sanitizer.md"
}
sanitize 'every kernel' "$build/tests/gpu_kernels$suffix" 8 no-judgement
sanitize "\`${smallest##*/}\`, caching allocator, \`--compute full\`" \
    "$replay" --backend cuda --compute full "$smallest"
sanitize "\`${smallest##*/}\`, expandable segments, \`--compute full\`" \
    "$replay" --backend cuda --alloc-conf expandable_segments:True --compute full "$smallest"
sanitize "\`${smallest##*/}\`, cudaMallocAsync, \`--compute full\`" \
    "$replay" --backend cuda-async --compute full "$smallest"

# ---- the recorder in a program that knows nothing of it

recorded='not run: built without CUPTI'
if [ -e "$build/lib/gmanalyze/libgmrecord.so" ]; then
    recorded=$work/recorded.gmtrace
    if [ "${GM_GPU_FAKE:-}" = 1 ]; then
        # shellcheck disable=SC2016 # the inner shell expands it; this program always ends with 3
        set -- sh -c '"$0" plain; test $? -eq 3' "$build/tests/recorder_program"
        export GM_RECORD_CUPTI="$build/tests/libfake_cupti.so"
    else
        set -- "$build/tests/gpu_blas"
    fi
    CUDA_INJECTION64_PATH=$build/lib/gmanalyze/libgmrecord.so GM_RECORD_OUT=$recorded "$@" >"$work/program.log" 2>&1 ||
        echo "exit code $?" >>"$work/program.log"
fi

# ---- what PyTorch does on this machine

truth=${GM_GPU_TRUTH:-}
if [ -n "${GM_GPU_RECORD_TRUTH:-}" ]; then
    truth=$work/truth
    if ! "${GM_GPU_PYTHON:-python3}" "$GM_GPU_RECORD_TRUTH" "$truth" >"$work/log" 2>&1 || grep -q FAILED "$work/log"; then
        grep FAILED "$work/log" >&2 || tail -n 5 "$work/log" >&2
        code=1
    fi
    rm -rf "$out/recorded"
    sh "$source/tests/gpu/pack.sh" "$replay" "$truth" "$out/recorded" || code=1
    cp "$truth"/*.json "$out/recorded" || code=1
fi

python3 -B "$source/tests/gpu/report.py" --replay "$replay" --analyze "$build/bin/gmanalyze" --traces "$traces" \
    --truth "$truth" --kernels "$work/kernels.md" --sanitizer "$work/sanitizer.md" --recorded "$recorded" \
    --program-log "$work/program.log" --bare "$build/tests/gpu_bare$suffix" --out "$out" >"$work/README.md" || code=$?
cp "$work/README.md" "$out/README.md"
exit "$code"
