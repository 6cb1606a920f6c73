"""Controls Debian's Chromium without a window, over a pipe, by the Chrome DevTools Protocol."""

import base64
import functools
import http.server
import io
import json
import os
import queue
import subprocess
import threading
import time

import numpy as np
from PIL import Image

WORDS = [
    "--headless=new", "--no-sandbox", "--disable-gpu-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--hide-scrollbars", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--force-color-profile=srgb", "--remote-debugging-pipe",
]


class Browser:
    def __init__(self, folder, *words):
        (ours_in, theirs_out), (theirs_in, ours_out) = os.pipe(), os.pipe()

        def give_pipes():
            # Chromium reads from descriptor 3 and writes to 4. Duplicate both ends first: one of them may be 3 or 4.
            a, b = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.program = subprocess.Popen(
            ["chromium", *WORDS, *words, f"--user-data-dir={folder}", "about:blank"], preexec_fn=give_pipes, close_fds=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.to, self.answers, self.number, self.pages = ours_out, {}, 0, {}
        self.lock = threading.Lock()
        threading.Thread(target=self.listen, args=(ours_in,), daemon=True).start()

    def listen(self, source):
        rest = b""
        while piece := os.read(source, 1 << 20):
            *whole, rest = (rest + piece).split(b"\0")
            for message in map(json.loads, whole):
                if "id" in message:
                    self.answers[message["id"]].put(message)
                elif page := self.pages.get(message.get("sessionId")):
                    page.heard(message["method"], message["params"])

    def send(self, method, session=None, timeout=30, **params):
        with self.lock:
            self.number += 1
            number, self.answers[self.number] = self.number, queue.Queue()
            message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
            data = json.dumps(message).encode() + b"\0"
            while data:
                data = data[os.write(self.to, data):]
        answer = self.answers[number].get(timeout=timeout)
        del self.answers[number]
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def page(self, address, size=(1280, 800), scale=1, mobile=False, dark=True, offline=False):
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, context, target)
        self.pages[session] = page
        for domain in ["Page", "Runtime", "Network", "Log"]:
            page.send(f"{domain}.enable")
        page.send("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=scale, mobile=mobile)
        page.send("Emulation.setTouchEmulationEnabled", enabled=mobile, maxTouchPoints=5)
        page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        if address:
            page.go(address)
        return page

    def close(self):
        try:
            self.send("Browser.close", timeout=10)
            self.program.wait(10)
        except Exception:
            self.program.kill()


class Page:
    def __init__(self, browser, session, context, target):
        self.browser, self.session, self.context, self.target = browser, session, context, target
        self.asked, self.troubles, self.dialogs, self.answer = [], [], [], True
        self.loaded = 0

    def heard(self, method, params):
        if method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded += 1
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.troubles.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.troubles.append(params["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])
            threading.Thread(target=self.send, args=("Page.handleJavaScriptDialog",), kwargs={"accept": self.answer}, daemon=True).start()

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def go(self, address):
        self.send("Page.navigate", url=address)

    def run(self, script):
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "?"))
        return answer["result"].get("value")

    def state(self):
        return self.run("window.thalweg?.state() ?? null")

    def until(self, what, holds, seconds=90):
        """Waits until the studio's state satisfies a condition, and returns the state."""
        end, state = time.time() + seconds, None
        while time.time() < end:
            try:
                state = self.state()
            except RuntimeError:
                # A page that is being reloaded returns an error.
                state = None
            if state and holds(state):
                return state
            time.sleep(0.05)
        seen = f"last state: {state}; errors: {self.troubles}; {self.words()}"
        raise AssertionError(f"timeout while waiting until {what}; {seen}")

    def words(self):
        return self.run("[...document.querySelectorAll('#words:not([hidden]) p, #still:not([hidden]) p')].map((p) => p.textContent).join(' ')")

    def picture(self, path=None):
        data = base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])
        if path:
            path.write_bytes(data)
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **more)

    def click(self, x, y, times=1):
        self.mouse("Moved", x, y)
        for _ in range(times):
            self.mouse("Pressed", x, y, button="left", clickCount=1)
            self.mouse("Released", x, y, button="left", clickCount=1)

    def drag(self, start, end, steps=8, rest=0.03):
        self.mouse("Moved", *start)
        self.mouse("Pressed", *start, button="left", buttons=1, clickCount=1)
        for k in range(1, steps + 1):
            x, y = (a + (b - a) * k / steps for a, b in zip(start, end))
            self.mouse("Moved", x, y, button="left", buttons=1)
            time.sleep(rest)
        self.mouse("Released", *end, button="left", clickCount=1)

    def touch(self, *places, steps=10, rest=0.03):
        """Touches the page with one finger per entry of ``places``, and moves each from its first place to its last."""
        def points(share):
            return [{"x": a[0] + (b[0] - a[0]) * share, "y": a[1] + (b[1] - a[1]) * share, "id": n} for n, (a, b) in enumerate(places)]
        self.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=points(0))
        for k in range(1, steps + 1):
            time.sleep(rest)
            self.send("Input.dispatchTouchEvent", type="touchMove", touchPoints=points(k / steps))
        time.sleep(rest)
        self.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def key(self, key, code):
        letter = len(code) == 1
        more = {"code": f"Key{code}", "windowsVirtualKeyCode": ord(code)} if letter else {"code": code}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **more, **({"text": key} if letter else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, **more)

    def downloads(self, folder):
        self.browser.send("Browser.setDownloadBehavior", behavior="allow", browserContextId=self.context, downloadPath=str(folder))

    def close(self):
        self.browser.send("Target.disposeBrowserContext", browserContextId=self.context)
        del self.browser.pages[self.session]


class Server:
    """A static server without log messages, with the folder under a path; `isolated` pages may share memory."""

    def __init__(self, folder, path="/some/where/", isolated=False):
        self.served, self.silent = [], False

        class Handler(http.server.SimpleHTTPRequestHandler):
            extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {".wasm": "application/wasm", ".js": "text/javascript"}

            def do_GET(handler):
                if self.silent:
                    # Close the connection, as if there were no server.
                    return handler.connection.close()
                self.served.append(handler.path)
                super().do_GET()

            def end_headers(self):
                if isolated:
                    self.send_header("Cross-Origin-Opener-Policy", "same-origin")
                    self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
                super().end_headers()

            def translate_path(self, name):
                return super().translate_path(name.removeprefix(path)) if name.startswith(path) else os.devnull + "/none"

            def log_message(self, *_):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            # A page that is closed breaks off its requests, which is no error here.
            def handle_error(self, *_):
                pass

        self.server = Quiet(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.origin = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.address = self.origin + path

    def close(self):
        self.server.shutdown()
