#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The packages for pip: wheel.sh BUILD [aarch64] makes BUILD/wheel/dist/gmanalyze-*.tar.gz, and from it the wheel, with all libraries
# inside; with aarch64 that for such machines, too, in a bare Debian.
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
"$tools/python" -m build --wheel -C cmake.define.GM_GATHER=ON -C cmake.define.GM_SQLITE=ON -C build-dir="$work/objects" \
    -o "$work/raw" "$work/source"

# finish RAW: into dist. Nothing outside but the C library, and of it nothing newer than the tag says.
finish() {
    local tag
    tag=$("$tools/auditwheel" show "$1" | tr -d '\n' | grep -o 'platform tag: *"[a-z0-9_]*"' | head -1 | cut -d'"' -f2)
    case $tag in
    manylinux_*) ;;
    *)
        "$tools/auditwheel" -v show "$1" >&2
        exit 1
        ;;
    esac
    "$tools/wheel" tags --remove --platform-tag "$tag" "$1"
    mv "$(dirname "$1")/"*"$tag.whl" "$work/dist/"
}

finish "$work/raw/"*.whl
case ${2:-} in
aarch64)
    packages=(crossbuild-essential-arm64 qemu-user-static cmake ninja-build pkg-config python3-venv git fonts-dejavu-core
        lib{pango1.0,cairo2,png,deflate,isal,zstd,sqlite3}-dev:arm64 zlib1g-dev:arm64)
    rm -rf "$work/packs"
    "$tools/pip" download -q -d "$work/packs" --python-version 3.11 --only-binary :all: build scikit-build-core wheel
    tests/install/bare.sh "$build/bare" "${packages[@]/#/-p}" -c "$work/dist/"*.tar.gz -c "$work/packs" \
        -c analyze/install/wheel_aarch64.sh ./wheel_aarch64.sh "$(basename "$work/dist/"*.tar.gz)" packs
    cp "$build/bare/now/root/raw/"*.whl "$work/raw/"
    finish "$work/raw/"*.whl
    ;;
esac
