"""A headless Chromium, driven through chromedriver by the WebDriver protocol with the standard library alone."""
import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015", "Enter": "\ue007", "Tab": "\ue004",
        "Home": "\ue011", "End": "\ue010", "PageDown": "\ue00f", "PageUp": "\ue00e", "Space": " "}


class BrowserMissing(Exception):
    pass


def find(*names):
    for name in names:
        if path := shutil.which(name):
            return path
    raise BrowserMissing(f"{names[0]} is not installed: scripts/deps installs it")


class Browser:
    def __init__(self, width=1280, height=1000, dark=False):
        chromium, driver = find("chromium", "chromium-browser", "google-chrome"), find("chromedriver")
        self.profile = tempfile.mkdtemp(prefix="fade-report-")
        self.session = None
        for _ in range(5):  # another program may take the port before the driver does
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            self.base = f"http://127.0.0.1:{port}"
            self.driver = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                           env={**os.environ, "HOME": self.profile})
            if self._driver_answers():
                break
        else:
            raise RuntimeError("chromedriver does not answer")
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={self.profile}/profile",
                     f"--window-size={width},{height}", f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
        options = {"binary": chromium, "args": arguments}
        if width < 500:  # a window is never that narrow, a phone is
            options["mobileEmulation"] = {"deviceMetrics": {"width": width, "height": height, "pixelRatio": 2, "touch": True}}
        answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = answer["sessionId"]

    def look_like(self, width=1280, height=1000, dark=False):
        """From now on a screen of that size, a phone's if it is narrow, in light or dark: a start of the browser costs more than a test."""
        command = lambda name, **parameters: self.call("POST", "/goog/cdp/execute", {"cmd": f"Emulation.{name}", "params": parameters})
        phone = width < 500
        command("setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone)
        command("setTouchEmulationEnabled", enabled=phone)
        command("setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def _driver_answers(self):
        deadline = time.monotonic() + 60
        while self.driver.poll() is None and time.monotonic() < deadline:
            try:
                if self._call("GET", "/status")["ready"]:
                    return self.driver.poll() is None
            except (urllib.error.URLError, ConnectionError):
                pass
            time.sleep(0.1)
        self.driver.kill()
        self.driver.wait()
        return False

    def _call(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data=data, method=method, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=180) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def call(self, method, path, body=None):
        return self._call(method, f"/session/{self.session}{path}", body)

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script, *arguments):
        """Until a script says so: what a page does after an event is not done when the event is."""
        deadline = time.monotonic() + 60
        while not self.run(script, *arguments):
            if time.monotonic() > deadline:
                raise AssertionError(f"not within a minute: {script} {arguments}")
            time.sleep(0.02)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)

    def find(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.call("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self.call("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def clear(self, selector):
        self.run("const e = document.querySelector(arguments[0]); e.value = ''; e.dispatchEvent(new Event('input'))", selector)

    def press(self, *keys):
        """Keys as a person would press them, wherever the focus is."""
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def wheel(self, selector, delta, share=0.5):
        box = self.run("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.left, b.top, b.width, b.height]", selector)
        self.call("POST", "/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": int(box[0] + box[2] * share), "y": int(box[1] + box[3] / 2), "deltaX": 0, "deltaY": delta}]}]})

    def errors(self):
        """What the console complained about since the last call."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"}) if entry["level"] in ("SEVERE", "WARNING")]

    def screenshot(self, path):
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("GET", "/screenshot")))

    def close(self):
        try:
            if self.session:
                self._call("DELETE", f"/session/{self.session}")
        finally:
            self.driver.terminate()
            self.driver.wait()
            shutil.rmtree(self.profile, ignore_errors=True)
