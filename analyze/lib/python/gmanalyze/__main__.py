# SPDX-License-Identifier: Apache-2.0
"""python -m gmanalyze: the program gmanalyze."""
import os
import sys

from ._errors import GmError
from ._library import program_path

if __name__ == "__main__":
    try:
        program = program_path("gmanalyze")
        os.execv(program, [program, *sys.argv[1:]])
    except (GmError, OSError) as error:
        print(f"gmanalyze: {error}", file=sys.stderr)
        sys.exit(getattr(error, "exit_code", 4))
