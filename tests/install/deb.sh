#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian package, installed, run and removed in a bare Debian: deb.sh PACKAGE FOLDER
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
exec "$here/bare.sh" "$2" -c "$(realpath "$1")" -c "$here/deb_inside.sh" ./deb_inside.sh "$(basename "$1")"
