# SPDX-License-Identifier: Apache-2.0
"""Under gmdry, before torch is imported: gmdry's own recording of this process is not wanted."""
import atexit
import os
import shutil
import tempfile


def begin():
    """The stand-in loads hook.py of GMDRY_FOLDER when torch comes: an empty one, in a folder that goes at the end."""
    folder = tempfile.mkdtemp(prefix="gm_quiet_")
    with open(os.path.join(folder, "hook.py"), "w", encoding="utf-8"):
        pass
    os.environ["GMDRY_FOLDER"] = folder
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # children end by os._exit
