# SPDX-License-Identifier: Apache-2.0
"""Where the GPU memory of a PyTorch program is, from its memory snapshots.

    import gmanalyze as gm

    report = gm.analyze("step3.pickle")                     # or torch.cuda.memory._snapshot()
    report.totals.reserved_bytes                            # the keys of analysis.json
    gm.load("step3.pickle").events.to_pandas()              # a row for each allocation and free
    gm.replay("step3.pickle", gpu="rtx-4090").fits          # would it run there?
    gm.diff("before.pickle", "after.pickle").peaks          # what changed

    with gm.assert_peak_below("40GiB"):                     # in a test
        train_step(batch)

Sizes are bytes, times microseconds since 1970. Nothing in a snapshot is executed. Needs libgm (docs/library.md); numpy,
pandas and polars only where they are asked for."""
from ._errors import (CheckFailed, GmError, InputError, InternalError, LibraryNotFound, MissingError, OutOfMemory,
                      UsageError)
from ._library import library_path, program_path, version
from ._peak import assert_command_below, assert_peak_below
from ._result import Chart, Diff, Node, Page, Replay, Report, analyze, diff, replay
from ._snapshot import Frame, Snapshot, Table, load

__all__ = ["CheckFailed", "Chart", "Diff", "Frame", "GmError", "InputError", "InternalError", "LibraryNotFound",
           "MissingError", "Node", "OutOfMemory", "Page", "Replay", "Report", "Snapshot", "Table", "UsageError", "analyze",
           "assert_command_below", "assert_peak_below", "diff", "library_path", "load", "program_path", "replay",
           "version"]
__version__ = version
