#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A command in a bare Debian, made anew for it: bare.sh FOLDER [-p PACKAGE]... [-c FILE]... COMMAND...
# FOLDER keeps the system as debootstrap made it (and with the packages, for the next call), and the one of the last command,
# FOLDER/now. Each FILE is copied to its /root, where COMMAND runs. Needs root, debootstrap and a mirror; exit code 77 without.
set -euo pipefail

suite=${GM_SUITE:-bookworm}
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
    echo "skipped: a bare system needs root and debootstrap" >&2
    exit 77
fi
folder=$1
shift
packages=() files=()
while getopts p:c: option; do
    case $option in
    p) packages+=("$OPTARG") ;;
    c) files+=("$OPTARG") ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
mkdir -p "$folder"
folder=$(realpath "$folder")

# inside ROOT COMMAND...: mounts go with the process.
inside() {
    # shellcheck disable=SC2016
    unshare --mount --pid --fork bash -c '
        root=$1
        shift
        mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev"
        exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
    ' bash "$@"
}

# make NAME COMMAND...: the command makes the folder that is its last argument; half a one is no one.
make() {
    [ ! -d "$folder/$1" ] || return 0
    rm -rf "$folder/half"
    "${@:2}" "$folder/half" >"$folder/log" 2>&1 || {
        cat "$folder/log" >&2
        exit 77
    }
    mv "$folder/half" "$folder/$1"
}

bootstrap() {
    debootstrap --variant=minbase "$suite" "$1" ${GM_MIRROR:+"$GM_MIRROR"}
}

with_packages() {
    cp -a "$folder/$suite" "$1"
    cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
    case " ${packages[*]}" in
    *:arm64*) inside "$1" dpkg --add-architecture arm64 ;;
    esac
    inside "$1" apt-get -qq update
    inside "$1" apt-get -qq install -y --no-install-recommends "${packages[@]}"
}

make "$suite" bootstrap
base=$suite
if [ ${#packages[@]} -gt 0 ]; then
    base=$suite+$(IFS=+ && echo "${packages[*]}")
    [ ${#base} -lt 200 ] || base=$suite+$(sha256sum <<<"$base" | cut -c1-16)
    make "$base" with_packages
fi
rm -rf "$folder/now"
cp -a "$folder/$base" "$folder/now"
cp -L /etc/resolv.conf /etc/hosts "$folder/now/etc/"
for file in ${files[@]+"${files[@]}"}; do
    cp -a "$file" "$folder/now/root/"
done
inside "$folder/now" bash -c 'cd /root && exec "$@"' bash "$@"
