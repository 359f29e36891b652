# SPDX-License-Identifier: Apache-2.0
"""What the same file costs with what people have besides: pickle.load, which all of Python's tools begin with, and
PyTorch's torch/cuda/_memory_viz.py, if $GM_TORCH_PYTHON is a Python that has it. The one table that README quotes.
Called by bench.py."""
import os
import subprocess

NO_VIZ = "GM_TORCH_PYTHON names no Python with torch: _memory_viz.py is left out"
VIZ = {"`_memory_viz.py stats`, the state as text": ["stats"],
       "`_memory_viz.py trace`, the events as text": ["trace"],
       "`_memory_viz.py trace_plot`, one page": ["trace_plot", "-o", os.devnull]}
FIND = "import importlib.util, sys; s = importlib.util.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"


def memory_viz():
    """[python, path] of PyTorch's own tool, a file that needs nothing but Python; [] if there is none."""
    python = os.environ.get("GM_TORCH_PYTHON")
    if not python:
        return []
    folder = subprocess.run([python, "-c", FIND], capture_output=True, text=True, check=False).stdout.strip()
    path = os.path.join(folder, "cuda", "_memory_viz.py")
    return [python, path] if folder and os.path.exists(path) else []


class Table:
    """A column for each file, a row for each job: wall and CPU time."""

    def __init__(self):
        self.columns, self.rows = [], {}

    def add_column(self, words):
        self.columns.append(words)

    def add(self, row, done):
        """`done`: of several runs, each with seconds and cpu; those that took least count, since others only slow it."""
        least = (min(d.seconds for d in done), min(d.cpu for d in done))
        self.rows.setdefault(row, {})[len(self.columns) - 1] = least

    def add_others(self, run, path, rounds):
        """What _memory_viz.py does with a file that a pickle.load without its danger has read before."""
        viz = memory_viz()
        for row, arguments in VIZ.items() if viz else ():
            self.add(row, [run([*viz, *arguments, path]) for _ in range(rounds)])

    def show(self):
        def time(seconds):
            return f"{1e3 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"

        def words(times):
            return "" if times is None else f"{time(times[0])} ({time(times[1])})"
        print("time of the clock (of all CPUs), least of some runs:\n")
        print("| | " + " | ".join(self.columns) + " |")
        print("|---|" + "---|" * len(self.columns))
        for row, cells in self.rows.items():
            print(f"| {row} | " + " | ".join(words(cells.get(i)) for i in range(len(self.columns))) + " |")
        if not memory_viz():
            print(f"\n({NO_VIZ})")
