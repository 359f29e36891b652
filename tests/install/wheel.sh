#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The wheel in a Debian that has Python and nothing else (no font, none of the libraries): wheel.sh WHEEL FOLDER PYTHON. The
# picture that is made there is left as FOLDER/wheel.png.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
wheel=$(realpath "$1")
"$here/bare.sh" "$2" -p python3-venv -c "$wheel" -c "$here/wheel_inside.sh" ./wheel_inside.sh "$(basename "$wheel")"
cp "$2/now/root/results/"*_name/memory_timeline.png "$2/wheel.png"
echo "looks like this there: $2/wheel.png"
