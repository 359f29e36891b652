# SPDX-License-Identifier: Apache-2.0
"""Small traces that a CPU can fill and verify."""
import os
import pickle

KIB, MIB = 1 << 10, 1 << 20


class Trace:
    """Events, and what must come of them."""

    def __init__(self):
        self.events, self.sizes, self.next, self.frees, self.streams = [], {}, 0x7F0000000000, [], {}

    def event(self, action, address, stream, site=None):
        event = {"action": action, "addr": address, "size": self.sizes[address], "stream": stream,
                 "time_us": 1_000_000 + 2000 * len(self.events)}
        if site:
            event["frames"] = [{"name": site, "filename": "/torch/nn/" + site + ".py", "line": 7}]
        self.events.append(event)
        return len(self.events) - 1

    def alloc(self, size, stream=0, site="forward"):
        self.next += 64 * MIB
        self.sizes[self.next], self.streams[self.next] = size, stream
        self.event("alloc", self.next, stream, site)
        return self.next

    def request(self, address):
        self.frees.append((self.event("free_requested", address, self.streams[address]), address))

    def complete(self, address):
        self.event("free_completed", address, self.streams[address])

    def free(self, address):
        self.request(address)
        self.complete(address)

    def write(self, folder, name):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            pickle.dump({"segments": [], "device_traces": [self.events]}, file)
        return path


SITES = ("scaled_dot_product_attention", "embedding", "layer_norm", "linear", "adamw_step", "cross_entropy", "relu", "cat")


def small_trace():
    """Blocks of the small pool: each has its request rounded up to 512."""
    t = Trace()
    live = [t.alloc(3000, 0, "__init__"), t.alloc(70 * KIB, 0, "__init__")]
    for i in range(24):
        live.append(t.alloc(600 + 5000 * i, 7 if i % 3 == 2 else 0, SITES[i % len(SITES)]))
        if i % 4 == 3:
            t.free(live.pop(len(live) // 2))
    late = live.pop()
    t.request(late)                       # another stream still uses it
    live.append(t.alloc(5000, t.streams[late]))
    t.complete(late)
    live.append(t.alloc(t.sizes[late], t.streams[late]))
    for address in live[::2]:
        t.free(address)
    return t


def large_trace():
    """Growth, a retry, and fragmentation: blocks of up to 24 MiB on two streams."""
    t = Trace()
    live = []
    for i in range(20):
        live.append(t.alloc((1 + i * 5 % 23) * MIB + 4096, 3 if i % 5 == 4 else 0, SITES[i % len(SITES)]))
        if i % 3 == 2:
            t.free(live.pop(i * 7 % len(live)))
    for address in live[::3]:
        t.free(address)
    t.alloc(30 * MIB)
    t.alloc(2 * MIB, 3)
    return t
