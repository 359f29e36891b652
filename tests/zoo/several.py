# SPDX-License-Identifier: Apache-2.0
"""Runs programs one after the other, each in a process of its own that has torch imported already: under gmdry.

    several.py JOBS.json     a list of {"path", "environment"}; the n-th process has RANK=n, and how it ended is its
                             "status" afterwards"""
import json
import os
import runpy
import sys

import torch  # noqa: F401: so that it is imported once

with open(sys.argv[1], encoding="utf-8") as file:
    jobs = json.load(file)
for rank, job in enumerate(jobs):
    child = os.fork()
    if child == 0:
        os.environ.update(job["environment"], RANK=str(rank))
        sys.argv[:] = [job["path"]]
        runpy.run_path(job["path"], run_name="__main__")
        sys.exit(0)
    job["status"] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(jobs, file)
