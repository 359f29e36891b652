#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run in a Debian for x86-64 that has a compiler and libraries for arm64, by wheel.sh: the source distribution $1, with what
# Python needs from the folder $2, as a wheel in ./raw. What the build runs, and the wheel itself, runs in QEMU.
set -euo pipefail

python3 -m venv tools
tools/bin/pip install -q --no-index --find-links "$2" build scikit-build-core wheel
mkdir source made raw
tar -xf "$1" -C source --strip-components 1
target=/usr/bin/aarch64-linux-gnu
export PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig
export CMAKE_ARGS="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=$target-gcc
    -DCMAKE_ASM_COMPILER=$target-gcc -DCMAKE_OBJDUMP=$target-objdump -DCMAKE_STRIP=$target-strip
    -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64-static"
tools/bin/python -m build --wheel --no-isolation -C cmake.define.GM_GATHER=ON -C cmake.define.GM_SQLITE=ON -o made source
tools/bin/wheel tags --remove --platform-tag linux_aarch64 made/*.whl
mv made/*.whl raw/

# As pip installs it there, but for Python's own part.
tools/bin/pip install -q --no-index --no-deps --platform linux_aarch64 --only-binary :all: --target there raw/*.whl
qemu-aarch64-static there/bin/gmanalyze there/share/gmanalyze/demo.gmtrace
for name in memory_timeline.png memory.html analysis.json; do
    [ -s results/latest/$name ]
done
qemu-aarch64-static there/bin/gmreplay --verify there/share/gmanalyze/demo.gmtrace | grep 'verdict: PASS'
