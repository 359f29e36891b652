#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The packages for pip: wheel.sh BUILD makes BUILD/wheel/dist/gmanalyze-*.tar.gz, and from it the wheel, with all libraries inside.
set -euo pipefail

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
build=$(realpath "$1")
work=$build/wheel
tools=$work/tools/bin
if [ ! -x "$tools/auditwheel" ]; then
    python3 -m venv "$work/tools"
    "$tools/pip" install -q build auditwheel wheel
fi

# The tree that is packed: ours, what packages need at its top, and the page, which then needs no compiler for WebAssembly.
rm -rf "$work/tree" "$work/dist" "$work/raw"
mkdir -p "$work/tree"
git ls-files -z | tar --null -T - -c | tar -x -C "$work/tree"
cp analyze/install/pyproject.toml "$work/tree/"
cp "$build/render/page/template.html" "$work/tree/render/page/"

"$tools/python" -m build --sdist -o "$work/dist" "$work/tree"
tar -xf "$work/dist/"gmanalyze-*.tar.gz -C "$work"
rm -rf "$work/source" "$work/objects" # times of files say nothing there
mv "$work/"gmanalyze-*/ "$work/source"
"$tools/python" -m build --wheel -C cmake.define.GM_GATHER=ON -C build-dir="$work/objects" -o "$work/raw" "$work/source"

# Nothing outside but the C library, and of it nothing newer than the tag says.
tag=$("$tools/auditwheel" show "$work/raw/"*.whl | tr -d '\n' | grep -o 'platform tag: *"[a-z0-9_]*"' | head -1 | cut -d'"' -f2)
case $tag in
manylinux_*) ;;
*)
    "$tools/auditwheel" -v show "$work/raw/"*.whl >&2
    exit 1
    ;;
esac
(cd "$work/dist" && "$tools/wheel" tags --platform-tag "$tag" "$work/raw/"*.whl && mv "$work/raw/"*"$tag"* .)
