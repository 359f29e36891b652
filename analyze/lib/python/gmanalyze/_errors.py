# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, a class for each exit code of the programs."""
from __future__ import annotations

from typing import Dict, Optional, Type


class GmError(Exception):
    """`exit_code`: of the program; `kind`: "truncated", "refused", "limit" ... (gm.h); `offset`: bytes into the
    decompressed input, None where it has no place in it."""

    exit_code = 5

    def __init__(self, text: str, kind: str = "", offset: Optional[int] = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.offset = offset


class UsageError(GmError, ValueError):
    """A wrong option, or a value that it does not take."""

    exit_code = 2


class InputError(GmError, ValueError):
    """An input is missing, damaged, larger than allowed, or no snapshot."""

    exit_code = 3


class MissingError(GmError):
    """A capability is missing here."""

    exit_code = 4


class LibraryNotFound(MissingError, ImportError):
    """libgm is nowhere to be found, or is of another version."""


class InternalError(GmError):
    """An internal error, or an output that could not be written."""


class OutOfMemory(InternalError, MemoryError):
    """This machine's, not the GPU's."""


class CheckFailed(AssertionError):
    """More memory than was allowed. `peak_bytes` and `limit_bytes` say how much; `report` is the Report, or gmdry's
    answer."""

    exit_code = 1

    def __init__(self, text: str, peak_bytes: int, limit_bytes: int, report: object) -> None:
        super().__init__(text)
        self.peak_bytes = peak_bytes
        self.limit_bytes = limit_bytes
        self.report = report


_CLASSES: Dict[int, Type[GmError]] = {2: UsageError, 3: InputError, 4: MissingError}


def error_of(exit_code: int, kind: str, offset: Optional[int], text: str) -> GmError:
    if kind == "nomem":
        return OutOfMemory(text, kind, offset)
    return _CLASSES.get(exit_code, InternalError)(text, kind, offset)
