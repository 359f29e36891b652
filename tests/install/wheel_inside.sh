#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run in a bare system by wheel.sh: installs the wheel as a user would, and tries what it carries.
set -euo pipefail

python3 -m venv venv
PATH=$PWD/venv/bin:$PATH
pip install -q --no-index "./$1"
demo=venv/share/gmanalyze/demo.gmtrace
gmanalyze --export sqlite "$demo" name | tee said
grep -q '^Report  results/' said
for name in memory_timeline.png memory_overview.png memory.html snapshot.sqlite analysis.json; do
    [ -s results/latest/$name ] || { echo "no $name"; exit 1; }
done
gmreplay --verify "$demo" | grep 'verdict: PASS'
gmdiff "$demo" "$demo" >/dev/null
gmfleet "$demo" >/dev/null
gmdry -q -- cat /proc/self/maps | grep 'r-xp.*venv/libexec/gmanalyze/libgmdry.so'
python -m gmanalyze --version
python -c 'import gmanalyze, sys; print("import", gmanalyze.analyze(sys.argv[1]).totals)' "$demo"
for program in gmanalyze gmreplay gmdiff gmfleet gmdry gmtrace; do
    ! LD_TRACE_LOADED_OBJECTS=1 venv/bin/$program | grep '=>' | grep -v '/libexec/gmanalyze/\|lib[cm]\.so\.6\|linux-vdso' || exit 1
done
# A text that the font lacks: there is no system's font to fall back on, and no word about it.
python -c 'print("""{"segments": [{"device": 0, "address": 4096, "total_size": 2097152, "segment_type": "small", "stream": 0,
    "allocated_size": 2097152, "active_size": 2097152, "requested_size": 2097152, "blocks": [{"size": 2097152, "address": 4096,
    "requested_size": 2097152, "state": "active_allocated", "frames": [{"filename": "a.py", "name": "\u8bad\u7ec3", "line": 1}]}]}],
    "device_traces": []}""")' >chinese.json
gmanalyze -q chinese.json 2>&1 | tee complaints
[ ! -s complaints ]
pip uninstall -q -y gmanalyze
[ ! -e venv/bin/gmanalyze ] && [ ! -e venv/share/gmanalyze ]
# In a folder of its own, where pip leaves out what would go to lib.
pip install -q --no-index --target there "./$1"
there/bin/gmanalyze -q there/share/gmanalyze/demo.gmtrace elsewhere
[ -s results/latest/memory_timeline.png ]
PYTHONPATH=there python -c 'import gmanalyze; print("import", gmanalyze.library_path)' | grep '/there/'
echo "all right"
