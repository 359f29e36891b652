# SPDX-License-Identifier: Apache-2.0
"""The page in a browser: how long until a dropped file is drawn, until its headline is there, and how long frames take while a
wheel zooms in and out. With the path of a page as $GM_OTHER_VIEWER, that one beside it, on the same files: a page with an input
of files, which draws SVG polygons (memory_viz's script in a page of its own, for example)."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "page"))
import browser  # noqa: E402

FRAMES = 120
# A turn of the wheel each frame, half of them in, half out; the times between frames.
ZOOM = """
const target = document.querySelector(arguments[0]), box = target.getBoundingClientRect(), times = [];
const x = box.left + box.width * 0.6, y = box.top + box.height / 2, at = document.elementFromPoint(x, y) ?? target;
let last = 0;
for (let i = 0; i < arguments[1]; i++) {
    at.dispatchEvent(new WheelEvent("wheel", {deltaY: i < arguments[1] / 2 ? -60 : 60, clientX: x, clientY: y, bubbles: true, cancelable: true}));
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
}
return times.slice(2);
"""


def tell(name, page, path, drawn, target, frames):
    start = time.perf_counter()
    page.give_files("input[type=file]", [path])
    page.wait(drawn, 300)
    first = time.perf_counter() - start
    time.sleep(1)
    times = sorted(page.js(ZOOM, target, frames))
    print(
        f"  {name:<10} first view {first:6.2f} s   frames: median {statistics.median(times):7.1f} ms, 95 % below "
        f"{times[len(times) * 95 // 100]:7.1f} ms, longest {times[-1]:7.1f} ms",
        flush=True,
    )


def show_page(binary, label, path):
    other = os.environ.get("GM_OTHER_VIEWER")
    with tempfile.TemporaryDirectory(prefix="page-bench-") as folder:
        html = os.path.join(folder, "viewer.html")
        if subprocess.run([binary, "--viewer", html], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            print("no page in this build")
            return
        print(f"the page: {label}, {os.path.getsize(path) / (1 << 20):.1f} MiB")
        for name in filter(browser.program, browser.PROGRAMS):
            with browser.open_browser(name) as page:
                page.go("file://" + html)
                page.wait("document.readyState === 'complete'")
                tell(name, page, path, "document.querySelector('#legend li')", "#timeline-canvas", FRAMES)
            if other:
                with browser.open_browser(name) as page:
                    page.go("file://" + os.path.abspath(other))
                    page.wait("document.querySelector('input[type=file]')")
                    tell("other", page, path, "document.querySelector('svg polygon')", "svg", FRAMES // 3)
        print()


if __name__ == "__main__":
    show_page(sys.argv[1], os.path.basename(sys.argv[2]), sys.argv[2])
