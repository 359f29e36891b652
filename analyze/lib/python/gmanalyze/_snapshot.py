# SPDX-License-Identifier: Apache-2.0
"""Snapshots: their tables as arrays that lie where libgm has them."""
from __future__ import annotations

import array
import ctypes
import os
import pickle
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Union

from ._errors import UsageError
from ._library import SALVAGED, UNKNOWN, Array, Handle, Problem, lib

if TYPE_CHECKING:
    import numpy.typing as npt

_DTYPES = {"B": "u1", "I": "u4", "q": "i8", "Q": "u8"}
_NO_TIME = -(1 << 63)
_MOST = 32  # columns of a table
_WORDS = {"action": "action", "state": "block_state", "type": "segment_type", "is_expandable": "truth",
          "overflowed": "truth", "stage": "stage"}
_STRINGS = {"compile_context", "user_metadata", "action_name", "category", "name", "filename"}

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, Mapping[str, Any], "Snapshot"]


class Frame(NamedTuple):
    """A line of a stack; line is None if the file gives none."""

    name: str
    filename: str
    line: Optional[int]


def _window(address: int, size: int, owner: Handle) -> Any:
    """Memory of a snapshot. Whoever views it keeps it, and it keeps the snapshot."""
    window: Any = (ctypes.c_char * size).from_address(address)
    window.owner = owner
    return window


def words(name: str) -> List[str]:
    """The words of the codes of a column: words("action")[1] is "alloc"."""
    found: List[str] = []
    while True:
        word = lib.gm_word(_WORDS[name].encode(), len(found))
        if word is None:
            return found
        found.append(word.decode())


class Table:
    """Columns of equal length: table.size or table["size"], a numpy array that is read-only and is not a copy (without
    numpy a memoryview or an array.array). Integers as gm.h says; `None` of a file is the largest uint64, or the smallest
    int64. An array keeps the snapshot's memory as long as it lives."""

    def __init__(self, name: str, handle: Handle) -> None:
        arrays = (Array * _MOST)()
        count = lib.gm_arrays(handle, name.encode(), arrays, _MOST)
        self._name = name
        self._handle = handle
        self._arrays: Dict[str, Array] = {a.name.decode(): a for a in arrays[:count]}
        self._made: Dict[str, Any] = {}

    @property
    def columns(self) -> List[str]:
        """The names of the columns."""
        return list(self._arrays)

    @property
    def _snapshot(self) -> "Snapshot":
        return Snapshot(self._handle, "")  # no circle: with its last array the snapshot's memory is free at once

    def __len__(self) -> int:
        return next((int(a.count) for a in self._arrays.values()), 0)

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._arrays]

    def __repr__(self) -> str:
        return f"<{self._name}: {len(self):,} rows of {', '.join(self._arrays)}>"

    def __getattr__(self, name: str) -> "npt.NDArray[Any]":
        if name.startswith("_") or name not in self._arrays:
            raise AttributeError(f"{self._name} has no column {name!r}: {', '.join(self._arrays)}")
        return self[name]

    def __getitem__(self, name: str) -> "npt.NDArray[Any]":
        if name not in self._made:
            self._made[name] = self._view(self._arrays[name])
        made: "npt.NDArray[Any]" = self._made[name]
        return made

    def _view(self, column: Array) -> Any:
        code = column.type.decode()
        count, stride, width = int(column.count), int(column.stride), int(_DTYPES[code][1])
        size = 0 if count == 0 else stride * (count - 1) + width
        window = _window(column.data or 0, size, self._handle) if size else b""
        try:
            import numpy
        except ImportError:
            if stride == width or count == 0:
                return memoryview(window).toreadonly().cast("B").cast(code)
            raw = bytes(window)
            return array.array(code, b"".join(raw[stride * i:stride * i + width] for i in range(count)))
        view: Any = numpy.ndarray(count, _DTYPES[code], window, strides=(stride,))
        view.flags.writeable = False
        return view

    # ---- frames of data ----

    def _labels(self, name: str) -> Optional[List[str]]:
        """The words of a column of codes; None: it has none."""
        if name in _WORDS and self._arrays[name].type != b"Q":
            return words(name)
        return None

    def to_pandas(self) -> Any:
        """A pandas DataFrame: codes and strings are categories, times datetime64, what a file does not say is NA. Column
        `device` is added where the rows are events."""
        import numpy
        import pandas

        frame: Dict[str, Any] = {}
        strings, handles = self._snapshot.strings, self._snapshot.streams["handle"]
        for name, values in self._with_devices().items():
            found = self._labels(name) if name in self._arrays else None
            if found is not None:
                frame[name] = pandas.Categorical.from_codes(values.astype("i2"), categories=pandas.Index(_distinct(found)))
            elif name in _STRINGS:
                used, codes = numpy.unique(values, return_inverse=True)
                texts = [strings[int(i)] if i else None for i in used]
                frame[name] = pandas.Series(pandas.array(texts, dtype="string"), dtype="category").take(codes).array
            elif name == "time_us":
                frame["time"] = values.astype("M8[us]")  # what is not stated is NaT there
            elif name == "stream":
                frame[name] = pandas.Series(handles[values]).astype("Int64").mask(values == 0)
            elif values.dtype == "u8" and (values == UNKNOWN).any():
                frame[name] = pandas.Series(values).astype("UInt64").mask(values == UNKNOWN)
            else:
                frame[name] = values
        return pandas.DataFrame(frame)

    def to_polars(self) -> Any:
        """A polars DataFrame, as to_pandas() makes it."""
        import numpy
        import polars

        frame: Dict[str, Any] = {}
        strings, handles = self._snapshot.strings, self._snapshot.streams["handle"]
        for name, values in self._with_devices().items():
            found = self._labels(name) if name in self._arrays else None
            if found is not None:
                frame[name] = polars.Series(name, found, dtype=polars.Categorical).gather(values.astype("u4"))
            elif name in _STRINGS:
                used, codes = numpy.unique(values, return_inverse=True)
                texts = [strings[int(i)] if i else None for i in used]
                frame[name] = polars.Series(name, texts, dtype=polars.Categorical).gather(codes.astype("u4"))
            elif name == "time_us":
                times = polars.Series("time", values)
                frame["time"] = times.set(times == _NO_TIME, None).cast(polars.Datetime("us"))
            elif name == "stream":
                frame[name] = polars.Series(name, handles[values]).set(polars.Series(values == 0), None)
            elif values.dtype == "u8" and (values == UNKNOWN).any():
                series = polars.Series(name, values)
                frame[name] = series.set(series == UNKNOWN, None)
            else:
                frame[name] = polars.Series(name, values)
        return polars.DataFrame(frame)

    def _with_devices(self) -> Dict[str, Any]:
        columns: Dict[str, Any] = {name: self[name] for name in self._arrays}
        if self._name != "events":
            return columns
        import numpy

        device = numpy.full(len(self), -1, "i4")  # pinned host memory has none
        traces = self._snapshot.traces
        for ordinal in range(len(traces)):
            first = int(traces["first"][ordinal])
            device[first:first + int(traces["count"][ordinal])] = ordinal
        return {"device": device, **columns}


def _distinct(found: List[str]) -> List[str]:
    return [word if word else "unknown" for word in found]


class Strings(Sequence[str]):
    """The strings of a snapshot by their ids; 0 is "". Bytes that are no UTF-8 become U+FFFD."""

    def __init__(self, start: Any, content: Any) -> None:
        self._start, self._bytes = start, content

    def __len__(self) -> int:
        return len(self._start) - 1

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        if i < 0:
            i += len(self)
        if not 0 <= i < len(self):
            raise IndexError(i)
        return bytes(self._bytes[int(self._start[i]):int(self._start[i + 1])]).decode("utf-8", "replace")


class Snapshot:
    """A snapshot that load() has read. Tables: events, traces (which events are whose device), segments, blocks, stacks,
    stack_frames, frames, streams, pools, annotations, host_segments, host_blocks, host_traces (pinned host memory)."""

    TABLES = ("events", "traces", "segments", "blocks", "stacks", "stack_frames", "frames", "streams", "pools",
              "annotations", "host_segments", "host_blocks", "host_traces")

    events: Table
    traces: Table
    segments: Table
    blocks: Table
    stacks: Table
    stack_frames: Table
    frames: Table
    streams: Table
    pools: Table
    annotations: Table
    host_segments: Table
    host_blocks: Table
    host_traces: Table

    def __init__(self, handle: Handle, name: str) -> None:
        self._handle = handle
        self.name = name

    def __getattr__(self, name: str) -> Any:
        if name not in self.TABLES:
            raise AttributeError(f"a snapshot has no {name!r}: {', '.join(self.TABLES)}, strings, stack(), warnings")
        table = Table(name, self._handle)
        setattr(self, name, table)
        return table

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self.TABLES]

    def __repr__(self) -> str:
        return (f"<Snapshot {self.name!r}: {len(self.events):,} events, {len(self.segments):,} segments, "
                f"{len(self.blocks):,} blocks, {max(len(self.stacks) - 1, 0):,} stacks>")

    @property
    def strings(self) -> Strings:
        """Names, files and metadata by their ids."""
        start = Table("strings", self._handle)
        return Strings(start["start"], Table("string_bytes", self._handle)["byte"])

    def stack(self, i: int) -> List[Frame]:
        """The frames of a stack, innermost first; [] for one that was not recorded."""
        if not 0 <= i < len(self.stacks) - 1:
            raise IndexError(i)
        start, strings, frames = self.stacks["start"], self.strings, self.frames
        ids = self.stack_frames["frame"][int(start[i]):int(start[i + 1])]
        return [Frame(strings[int(frames["name"][f])], strings[int(frames["filename"][f])],
                      None if int(frames["line"][f]) == UNKNOWN else int(frames["line"][f])) for f in ids]

    @property
    def warnings(self) -> List[str]:
        """What was odd about the file."""
        return list(self._warnings())

    def _warnings(self) -> Iterator[str]:
        i = 0
        while True:
            text = lib.gm_warning(self._handle, i)
            if text is None:
                return
            yield text.decode("utf-8", "replace")
            i += 1

    def to_pandas(self, table: str = "events") -> Any:
        """One table as a pandas DataFrame."""
        return self._table(table).to_pandas()

    def to_polars(self, table: str = "events") -> Any:
        """One table as a polars DataFrame."""
        return self._table(table).to_polars()

    def _table(self, name: str) -> Table:
        if name not in self.TABLES:
            raise UsageError(f"a snapshot has no table {name!r}: {', '.join(self.TABLES)}", "usage")
        table: Table = getattr(self, name)
        return table


def load(source: Source, *, name: Optional[str] = None, salvage: bool = False, max_memory: int = 0) -> Snapshot:
    """Reads a snapshot: a path of any form that gmanalyze reads, the bytes of such a file, or what
    torch.cuda.memory._snapshot() returns. `name` is what reports call what is no file. salvage: keep what is complete of
    a damaged file; max_memory: bytes that it may need, 0: 512 MiB and 100 times the file. InputError."""
    if isinstance(source, Snapshot):
        return source
    problem = Problem()
    flags = SALVAGED if salvage else 0
    if isinstance(source, (str, os.PathLike)):
        path = os.fsencode(source)
        if b"\0" in path:
            raise UsageError("a path holds a zero byte", "usage")
        pointer = lib.gm_load(path, flags, max_memory, problem)
        return Snapshot(Handle(pointer, lib.gm_unload, problem), os.fspath(source))
    if isinstance(source, (Mapping, list)):
        source = pickle.dumps(source, protocol=4)  # read back by libgm, which executes nothing
    if not isinstance(source, (bytes, bytearray, memoryview)):
        raise TypeError(f"neither a path nor a snapshot: {type(source).__name__}")
    content = bytes(source)
    called = name or "snapshot"
    pointer = lib.gm_load_bytes(content, len(content), os.fsencode(called), flags, max_memory, problem)
    return Snapshot(Handle(pointer, lib.gm_unload, problem), called)
