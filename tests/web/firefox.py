"""Controls Debian's Firefox in a virtual display by WebDriver BiDi (W3C).

Firefox needs a display to draw WebGL with software rendering.
"""

import base64
import itertools
import json
import os
import socket
import subprocess
import time

import websocket

# Without a graphics card, Firefox disables WebGL unless these preferences are set.
WORDS = ["webgl.force-enabled", "gfx.x11-egl.force-enabled"]


class Firefox:
    def __init__(self, folder, size):
        (folder / "user.js").write_text("".join(f'user_pref("{word}", true);\n' for word in WORDS))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        screen = ["xvfb-run", "-a", "-s", "-screen 0 1400x1000x24"]
        words = ["--no-remote", "--profile", str(folder), "--remote-debugging-port", str(port), "about:blank"]
        self.program = subprocess.Popen(
            [*screen, "firefox-esr", *words], env=os.environ | {"LIBGL_ALWAYS_SOFTWARE": "1"}, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        self.numbers = itertools.count(1)
        end = time.time() + 60
        while True:
            try:
                self.line = websocket.create_connection(f"ws://127.0.0.1:{port}/session", timeout=60, suppress_origin=True)
                break
            except OSError:
                assert time.time() < end, "Firefox does not accept connections"
                time.sleep(0.2)
        self.send("session.new", capabilities={})
        self.context = self.send("browsingContext.getTree")["contexts"][0]["context"]
        self.send("browsingContext.setViewport", context=self.context, viewport={"width": size[0], "height": size[1]})

    def send(self, method, **params):
        number = next(self.numbers)
        self.line.send(json.dumps({"id": number, "method": method, "params": params}))
        while (answer := json.loads(self.line.recv())).get("id") != number:
            pass
        if answer["type"] == "error":
            raise RuntimeError(f"{method}: {answer['message']}")
        return answer["result"]

    def go(self, address):
        self.send("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def run(self, script):
        """Returns the value of an expression, passed through JSON."""
        answer = self.send("script.evaluate", expression=f"JSON.stringify({script})", target={"context": self.context}, awaitPromise=True)
        if answer["type"] != "success":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"].get("value", "null"))

    def until(self, what, holds, seconds=90):
        end, state = time.time() + seconds, None
        while time.time() < end:
            state = self.run("window.thalweg?.state() ?? null")
            if state and holds(state):
                return state
            time.sleep(0.1)
        text = self.run("document.body.innerText")
        raise AssertionError(f"timeout while waiting until {what}; last state: {state}; {text}")

    def picture(self):
        return base64.b64decode(self.send("browsingContext.captureScreenshot", context=self.context)["data"])

    def close(self):
        # The process group includes the virtual display.
        os.killpg(self.program.pid, 15)
        self.program.wait(20)
