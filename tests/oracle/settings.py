# SPDX-License-Identifier: Apache-2.0
"""Which settings and memories a program is recorded under. All follow from the program's seed."""
import random
import re

MIB = 1 << 20
SETTINGS = [
    "", "expandable_segments:True", "max_split_size_mb:21", "max_split_size_mb:32", "max_split_size_mb:64",
    "max_split_size_mb:128", "max_split_size_mb:256", "max_split_size_mb:64,max_non_split_rounding_mb:128",
    "max_non_split_rounding_mb:64", "roundup_power2_divisions:2", "roundup_power2_divisions:4",
    "roundup_power2_divisions:8", "roundup_power2_divisions:16",
    "roundup_power2_divisions:[1:2,2:4,4:8,8:1,16:2,>:4]", "roundup_power2_divisions:[64:8,128:1,>:1]",
    "roundup_power2_divisions:[64:1,128:8,>:8]", "expandable_segments:True,roundup_power2_divisions:4",
    "expandable_segments:True,max_split_size_mb:64", "max_split_size_mb:64,roundup_power2_divisions:8",
    "max_split_size_mb:128,roundup_power2_divisions:2", "expandable_segments:True,expandable_segments_reserve:0.05",
    "expandable_segments:True,expandable_segments_reserve:0.02,roundup_power2_divisions:8",
    "large_segment_size_mb:32", "large_segment_size_mb:12", "large_segment_size_mb:32,max_split_size_mb:128",
    "large_segment_size_mb:64,expandable_segments:True", "pinned_use_cuda_host_register:True,pinned_num_register_threads:4",
    "large_segment_size_mb:32,pinned_max_cached_size_mb:64", "pinned_use_background_threads:True",
    "release_lock_on_cudamalloc:True", "pinned_max_round_threshold_mb:64,max_split_size_mb:64",
    "graph_capture_record_stream_reuse:True", "per_process_memory_fraction:0.9"]
LIMITED = [
    "garbage_collection_threshold:0.6,per_process_memory_fraction:0.99",
    "garbage_collection_threshold:0.8,per_process_memory_fraction:0.9",
    "garbage_collection_threshold:0.7,max_split_size_mb:64,per_process_memory_fraction:0.95",
    "garbage_collection_threshold:0.6", "garbage_collection_threshold:0.8,max_split_size_mb:128",
    "per_process_memory_fraction:0.9", "expandable_segments:True,per_process_memory_fraction:0.95",
    "expandable_segments:True,garbage_collection_threshold:0.6,per_process_memory_fraction:0.99",
    "throw_on_cudamalloc_oom:True,per_process_memory_fraction:0.95", "throw_on_cudamalloc_oom:True"]
CALLED = [  # set_fraction: by a call, of which no event tells
    "set_fraction:0.9", "set_fraction:0.95,expandable_segments:True", "set_fraction:0.9,garbage_collection_threshold:0.6",
    "set_fraction:0.95,garbage_collection_threshold:0.7,max_split_size_mb:64",
    "set_fraction:0.98,garbage_collection_threshold:0.8,roundup_power2_divisions:4"]
EVENTS = [None, None, 1, 3, "sync"]


def lag(seed, family):
    """How late the device's events are: matters where tensors are used on several streams."""
    return random.Random(seed * 31 + 5).choice(EVENTS) if family in ("streams", "graphs") else None


def plan(seed, peaks):
    """[(settings, memory of each device in bytes or None)], of a program that by default reserved, and had active, so
    much at most on one device."""
    rng, reserved, active = random.Random(seed * 17 + 3), max(peaks["reserved"]), max(peaks["active"])

    def of(part, bytes_):
        return max(4 * MIB, int(bytes_ * part) // MIB * MIB)

    chosen = [(conf, None) for conf in rng.sample(SETTINGS[1:], 6)]
    chosen += [(rng.choice(SETTINGS), of(rng.choice([1.0, 0.92, 0.8, 0.6]), reserved)) for _ in range(3)]
    chosen += [(conf, of(rng.choice([1.05, 0.95, 0.85]), reserved)) for conf in rng.sample(LIMITED, 3)]
    chosen += [(rng.choice(["", "expandable_segments:True"]), of(1.03, active))]
    rng = random.Random(seed * 13 + 7)
    chosen += [(rng.choice(CALLED), of(rng.choice([1.1, 1.0, 0.9]), reserved))]
    return list(dict.fromkeys(chosen))


def called(conf):
    """(What the program calls set_per_process_memory_fraction with, or None; the other settings)."""
    first, _, others = conf.partition(",")
    return (float(first.partition(":")[2]), others) if first.startswith("set_fraction:") else (None, conf)


def fraction(conf):
    """Of the memory, what the allocator may have."""
    told = re.search(r"(?:set_fraction|per_process_memory_fraction):([0-9.]+)", conf)
    return float(told.group(1)) if told else 1.0


def as_text(conf):
    """The settings with that fraction as one of them."""
    return conf.replace("set_fraction", "per_process_memory_fraction")
