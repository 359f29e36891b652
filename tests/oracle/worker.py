# SPDX-License-Identifier: Apache-2.0
"""Runs under gmdry. Reads jobs, one line of JSON each, from standard input; plays each in a child, which has torch
imported already, and answers with one line. A job: {"program", "conf" (settings), "memory" (bytes; null: the card's),
"events" (null, or how the device lags behind, as GMDRY_EVENTS says it), "skip" (numbers of empty_cache() calls to leave
out), "keeps_graphs" (true: no graph is given up), "named" (true: events get the pools that PyTorch 2.12 names first),
"out" (a snapshot's path)}. The answer: {"stats": [memory_stats() of each device], "oom": what could not be had, "calls": of
empty_cache(), "silent": the numbers of those that gave nothing back, "silent_retries": [of each device, those that gave
nothing back, as far as the program is played by operations], "in_pool": whether memory ran out in a private pool} or
{"error"}."""
import json
import os
import pickle
import sys
import traceback
import warnings

import programs
import quiet
import settings

quiet.begin()
import torch  # noqa: E402
import torch._dynamo  # noqa: E402  memory._snapshot() and the optimizers want it: once, here, and not in each child

DEVICES = 2


class Calls:
    """Counts the calls of empty_cache(), leaves some out, and sees which of them gave nothing back."""

    def __init__(self, skip):
        self.skip, self.count, self.silent, self.call = set(skip), 0, [], torch.cuda.empty_cache

    def __call__(self):
        number = self.count
        self.count += 1
        if number in self.skip:
            return
        before = [torch.cuda.memory_reserved(device) for device in range(DEVICES)]
        self.call()
        if before == [torch.cuda.memory_reserved(device) for device in range(DEVICES)]:
            self.silent.append(number)


class Retries:
    """Of each device, how many gave nothing back: looked at after each operation."""

    def __init__(self):
        self.silent, self.before = [0] * DEVICES, [(0, 0)] * DEVICES

    def look(self):
        for device in range(DEVICES):
            stats = torch._C._cuda_memoryStats(device)
            now = (stats.get("num_alloc_retries", 0), stats.get("num_device_free", 0))
            if now[1] == self.before[device][1]:
                self.silent[device] += now[0] - self.before[device][0]
            self.before[device] = now


def name_pools(snapshot, player):
    """Each event gets the pool that it is of, as the program knows it."""
    for device, trace in enumerate(snapshot["device_traces"]):
        asked = iter([row for row in player.asked if row[0] == device])
        wanted, waiting, of_block, of_page = next(asked, None), [], {}, {}
        for event in trace:
            action, address, event["pool_id"] = event["action"], event.get("addr", event.get("device_free")), (0, 0)
            if action in ("segment_alloc", "segment_map"):
                waiting.append(event)
            elif action in ("segment_free", "segment_unmap"):
                event["pool_id"] = of_page.get(address, (0, 0))
            elif action in ("alloc", "oom"):
                if action == "oom" and player.asked_of == device:
                    event["pool_id"] = player.pool
                elif wanted is not None and wanted[1] == address:
                    event["pool_id"], wanted = wanted[2], next(asked, None)
                of_block[address] = event["pool_id"]
                for growth in waiting:
                    growth["pool_id"] = event["pool_id"]
                    for page in range(growth["addr"], growth["addr"] + growth["size"], 2 << 20):
                        of_page[page] = event["pool_id"]
                waiting = []
            else:
                event["pool_id"] = of_block.get(address, (0, 0))


def set_card(memory, events):
    """The stand-in reads its environment when it is first asked for the card: in the child, not at torch's import."""
    card = os.environ["GMDRY_CARD"].split(",")
    if memory is not None:
        card[3] = str(memory)
    card[4] = "0"  # no context: all the memory is the allocator's
    os.environ["GMDRY_CARD"] = ",".join(card)
    if events is not None:
        os.environ["GMDRY_EVENTS"] = str(events)


def play(job):
    set_card(job.get("memory"), job.get("events"))
    fraction, conf = settings.called(job.get("conf") or "")
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = conf
    torch.cuda.memory._record_memory_history(max_entries=5_000_000, stacks="python", context=job.get("context", "all"))
    state = {"oom": None}
    torch.cuda.empty_cache = calls = Calls(job.get("skip", ()))
    retries, player = Retries(), programs.Player(torch)
    player.keeps_graphs = job.get("keeps_graphs", False)
    if job.get("memory") is not None:
        player.after = retries.look

    def tell():
        player.after()
        snapshot = torch.cuda.memory._snapshot()
        if job.get("named"):
            name_pools(snapshot, player)
        with open(job["out"], "wb") as file:
            pickle.dump(snapshot, file)
        stats = [dict(torch.cuda.memory_stats(device)) for device in range(DEVICES)]
        with open(job["out"] + ".json", "w", encoding="utf-8") as file:
            json.dump({"stats": stats, "calls": calls.count, "silent": calls.silent, "silent_retries": retries.silent,
                       "in_pool": player.pool != (0, 0), **state}, file)

    def out_of_memory(device, wanted, total, free):
        state["oom"] = [device, wanted]
        tell()  # before the exception gives anything up
        os._exit(0)

    for device in reversed(range(DEVICES if fraction is not None else 0)):  # up to 2.4 the last one becomes current
        torch.cuda.set_per_process_memory_fraction(fraction, device)
    torch._C._cuda_attach_out_of_memory_observer(out_of_memory)
    try:
        kept = programs.run(torch, job["program"], player)
    except torch.OutOfMemoryError as error:  # throw_on_cudamalloc_oom does not ask the observer
        kept = error  # with the frames that hold the tensors
        state["oom"] = [player.asked_of, None]
    tell()
    del kept


def do(job):
    for path in (job["out"], job["out"] + ".json"):
        if os.path.exists(path):
            os.remove(path)
    child = os.fork()
    if child == 0:
        try:
            play(job)
        except BaseException:
            with open(job["out"] + ".json", "w", encoding="utf-8") as file:
                json.dump({"error": traceback.format_exc()[-2000:]}, file)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    try:
        with open(job["out"] + ".json", encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {"error": f"the child ended with status {status}"}


def main():
    warnings.simplefilter("ignore")
    print(json.dumps({"torch": torch.__version__}), flush=True)
    for line in sys.stdin:
        print(json.dumps(do(json.loads(line))), flush=True)


main()
