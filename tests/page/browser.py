# SPDX-License-Identifier: Apache-2.0
"""Drives an installed chromium (DevTools protocol over a pipe) or firefox (Marionette over a socket), without any package.

    with open_browser("chromium", width=1280, height=800) as page:
        page.go("file:///tmp/memory.html")
        page.js("return document.title")

Positions are CSS pixels of the viewport. `dark` and `scale` are of the whole session."""

import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

PROGRAMS = {"chromium": ("chromium", "chromium-browser", "google-chrome"), "firefox": ("firefox-esr", "firefox")}
KEYS = {
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Enter": 13,
    "Escape": 27,
    "Tab": 9,
    "Home": 36,
    "End": 35,
    "PageUp": 33,
    "PageDown": 34,
    " ": 32,
}
GECKO_KEYS = {
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "Tab": "\ue004",
    "Home": "\ue011",
    "End": "\ue010",
    "PageUp": "\ue00e",
    "PageDown": "\ue00f",
    "Shift": "\ue008",
}


def is_snap(path):
    """Snaps see neither our profile nor our files."""
    with open(path, "rb") as file:
        head = file.read(4096)
    return os.path.basename(os.path.realpath(path)) == "snap" or (head.startswith(b"#!") and b"/snap/" in head)


def program(name):
    return next((found for found in map(shutil.which, PROGRAMS[name]) if found and not is_snap(found)), None)


class Page:
    """What both browsers can do; a subclass has `_run` (a function's body, its value as JSON) and the raw input."""

    def js(self, body, *args):
        return self._run(body, args)

    def wait(self, condition, seconds=20):
        """Waits until the expression is true, and returns its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.js(f"const value = ({condition}); return value instanceof Node ? true : value")
            if value:
                return value
            time.sleep(0.03)
        raise AssertionError(
            f"not within {seconds} s: {condition}; the page says: {self.js('return document.body.innerText.slice(0, 400)')}"
        )

    def box(self, selector):
        return self.js(
            """const e = document.querySelector(arguments[0]); if (!e) throw Error('no ' + arguments[0]);
            e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height];""",
            selector,
        )

    def click_on(self, selector):
        x, y, w, h = self.box(selector)
        self.click(x + w / 2, y + h / 2)

    def click(self, x, y):
        self.drag((x, y))


class Chromium(Page):
    def __init__(self, profile, width, height, dark, scale):
        ours, theirs = os.pipe()
        back, out = os.pipe()
        # The browser reads its pipe 3 and writes its pipe 4.
        command = [
            program("chromium"),
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
            "--no-first-run",
            "--hide-scrollbars",
            "--force-color-profile=srgb",
        ]
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$@" 3<&{ours} 4>&{out}', "sh", *command],
            pass_fds=(ours, out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(ours), os.close(out)
        self.write, self.read, self.rest, self.number, self.session, self.log = theirs, back, b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self.scale = scale
        self.resize(width, height)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                more = os.read(self.read, 1 << 20)
                if not more:
                    raise RuntimeError("chromium went away")
                self.rest += more
            text, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._event(answer)

    def _event(self, event):
        params = event.get("params", {})
        if event["method"] == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.log.append(details.get("exception", {}).get("description", details["text"]))
        elif event["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.log.append(params["entry"]["text"])
        elif event["method"] == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.log.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))

    def go(self, url):
        self.call("Page.navigate", url=url)

    def resize(self, width, height):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=self.scale,
            mobile=False,
        )

    def _run(self, body, args):
        text = f"(async function() {{ {body} }}).apply(null, {json.dumps(args)})"
        answer = self.call("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", "?"))
        return answer["result"].get("value")

    def _mouse(self, kind, at, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], **more)

    def hover(self, x, y):
        self._mouse("mouseMoved", (x, y))

    def drag(self, *points, shift=False):
        modifiers = 8 if shift else 0
        self._mouse("mouseMoved", points[0], modifiers=modifiers)
        self._mouse("mousePressed", points[0], button="left", buttons=1, clickCount=1, modifiers=modifiers)
        for point in points[1:]:
            self._mouse("mouseMoved", point, button="left", buttons=1, modifiers=modifiers)
        self._mouse("mouseReleased", points[-1], button="left", clickCount=1, modifiers=modifiers)

    def pinch(self, start, end):
        """Two fingers, from two points to two others."""
        for kind, points in (("touchStart", start), ("touchMove", end), ("touchEnd", ())):
            self.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])

    def speak(self, locale):
        self.call("Emulation.setLocaleOverride", **({"locale": locale} if locale else {}))

    def wheel(self, x, y, delta, ctrl=False):
        self._mouse("mouseWheel", (x, y), deltaX=0, deltaY=delta, modifiers=2 if ctrl else 0)

    def key(self, key, shift=False):
        code = KEYS.get(key, ord(key.upper()) if len(key) == 1 else 0)
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        more = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", **more)

    def shot(self, path, whole=False):
        with open(path, "wb") as file:
            file.write(
                base64.b64decode(
                    self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
                )
            )

    def pdf(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))

    def give_files(self, selector, paths):
        node = self.call("Runtime.evaluate", expression=f"document.querySelector({json.dumps(selector)})")["result"][
            "objectId"
        ]
        self.call("DOM.setFileInputFiles", objectId=node, files=[os.path.abspath(path) for path in paths])

    def close(self):
        with contextlib.suppress(RuntimeError, OSError):
            self.session = None
            self.call("Browser.close")


class Firefox(Page):
    def __init__(self, profile, width, height, dark, scale):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        wishes = {
            "marionette.port": port,
            "layout.css.prefers-color-scheme.content-override": 0 if dark else 1,
            "layout.css.devPixelsPerPx": str(scale),
            "ui.prefersReducedMotion": 1,
            "browser.shell.checkDefaultBrowser": False,
            "app.update.auto": False,
            "datareporting.policy.dataSubmissionEnabled": False,
        }
        with open(os.path.join(profile, "user.js"), "w") as file:
            file.writelines(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in wishes.items())
        self.process = subprocess.Popen(
            [program("firefox"), "--headless", "--no-remote", "--marionette", "--profile", profile],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.socket, self.number, self.log, self.scale = None, 0, [], scale
        end = time.monotonic() + 60
        while self.socket is None:
            try:
                self.socket = socket.create_connection(("127.0.0.1", port), timeout=120).makefile("rwb")
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.1)
        self._read()
        self.call("NewSession", capabilities={})
        self.call("SetTimeouts", script=600000)
        self.resize(width, height)

    def _read(self):
        size = b""
        while not size.endswith(b":"):
            size += self.socket.read(1)
        return json.loads(self.socket.read(int(size[:-1])))

    def call(self, method, **params):
        self.number += 1
        text = json.dumps([0, self.number, "WebDriver:" + method, params]).encode()
        self.socket.write(b"%d:%s" % (len(text), text))
        self.socket.flush()
        _, _, error, result = self._read()
        if error:
            raise RuntimeError(f"{method}: {error['message']}")
        return result.get("value") if isinstance(result, dict) and "value" in result else result

    def go(self, url):
        self.call("Navigate", url=url)

    def resize(self, width, height):
        for _ in range(3):  # the window has a frame of its own, even without a screen
            inner = self.js("return [innerWidth, innerHeight, outerWidth, outerHeight]")
            if inner[:2] == [width, height]:
                return
            self.call("SetWindowRect", width=width + inner[2] - inner[0], height=height + inner[3] - inner[1])
            time.sleep(0.2)

    def _run(self, body, args):
        return self.call(
            "ExecuteScript", script=f"return (async function() {{ {body} }}).apply(null, arguments)", args=list(args)
        )

    def _actions(self, *sources):
        self.call("PerformActions", actions=list(sources))

    @staticmethod
    def _pointer(*actions):
        return {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": list(actions)}

    @staticmethod
    def _move(point):
        return {"type": "pointerMove", "x": round(point[0]), "y": round(point[1]), "duration": 0}

    def hover(self, x, y):
        self._actions(self._pointer(self._move((x, y))))

    def drag(self, *points, shift=False):
        moves = [self._move(point) for point in points[1:]]
        if shift:
            self._actions(
                {"type": "key", "id": "keys", "actions": [{"type": "keyDown", "value": GECKO_KEYS["Shift"]}]}
            )
        self._actions(
            self._pointer(
                self._move(points[0]), {"type": "pointerDown", "button": 0}, *moves, {"type": "pointerUp", "button": 0}
            )
        )
        self.call("ReleaseActions")

    def pinch(self, start, end):
        self._actions(*(
            {"type": "pointer", "id": f"finger {i}", "parameters": {"pointerType": "touch"},
             "actions": [self._move(start[i]), {"type": "pointerDown", "button": 0}, self._move(end[i]), {"type": "pointerUp", "button": 0}]}
            for i in range(2)
        ))

    def wheel(self, x, y, delta, ctrl=False):
        self._actions(
            {
                "type": "wheel",
                "id": "wheel",
                "actions": [
                    {"type": "scroll", "x": round(x), "y": round(y), "deltaX": 0, "deltaY": delta, "duration": 0}
                ],
            }
        )

    def key(self, key, shift=False):
        keys = ([GECKO_KEYS["Shift"]] if shift else []) + [GECKO_KEYS.get(key, key)]
        self._actions(
            {
                "type": "key",
                "id": "keys",
                "actions": [{"type": "keyDown", "value": k} for k in keys]
                + [{"type": "keyUp", "value": k} for k in reversed(keys)],
            }
        )

    def shot(self, path, whole=False):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("TakeScreenshot", full=whole, hash=False)))

    def pdf(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Print", background=True)))

    def give_files(self, selector, paths):
        element = self.call("FindElement", using="css selector", value=selector)
        for path in paths:
            self.call("ElementSendKeys", id=list(element.values())[0], text=os.path.abspath(path))

    def close(self):
        with contextlib.suppress(RuntimeError, OSError, ValueError):
            self.number += 1
            text = json.dumps([0, self.number, "Marionette:Quit", {"flags": ["eForceQuit"]}]).encode()
            self.socket.write(b"%d:%s" % (len(text), text))
            self.socket.flush()


@contextlib.contextmanager
def open_browser(name, width=1280, height=800, dark=False, scale=1):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        page = {"chromium": Chromium, "firefox": Firefox}[name](profile, width, height, dark, scale)
        try:
            yield page
        finally:
            page.close()
            try:
                page.process.wait(10)
            except subprocess.TimeoutExpired:
                page.process.kill()
                page.process.wait()
