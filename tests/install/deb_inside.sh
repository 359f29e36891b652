#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run in a bare system by deb.sh.
set -euo pipefail

apt-get -qq update
apt-get -qq install -y --no-install-recommends "./$1" >/dev/null 2>apt.err || { cat apt.err; exit 1; }
demo=/usr/share/gmanalyze/demo.gmtrace
gmanalyze --export sqlite "$demo" name
[ -s results/latest/memory_timeline.png ] && [ -s results/latest/memory.html ] && [ -s results/latest/snapshot.sqlite ]
gmreplay --verify "$demo" | grep 'verdict: PASS'
gmdiff "$demo" "$demo" >/dev/null
gmfleet "$demo" >/dev/null
gmdry -q -- cat /proc/self/maps | grep 'r-xp.*/usr/lib/gmanalyze/libgmdry.so'
apt-get -qq install -y --no-install-recommends python3 >/dev/null 2>&1
python3 -c 'import gmanalyze; print(gmanalyze.library_path, gmanalyze.load("'$demo'"))'
dpkg -L gmanalyze >files
for program in gmanalyze gmreplay gmdiff gmfleet gmdry gmtrace gm_record; do
    grep -qx "/usr/share/man/man1/$program.1.gz" files || { echo "$program has no manual page"; exit 1; }
done
dpkg -s gmanalyze | grep '^Depends'
apt-get -qq purge -y gmanalyze >/dev/null
while read -r file; do
    if [ -e "$file" ] && [[ $file = *gm* ]]; then
        echo "left: $file"
        exit 1
    fi
done <files
echo "all right"
