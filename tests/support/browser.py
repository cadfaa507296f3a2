"""A headless Chromium driven over WebDriver (https://www.w3.org/TR/webdriver2/), with nothing but Python's own library."""
import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of a reference to an element
LIMIT_S = 20


def missing():
    """What there is not, in words; empty where a browser can be started."""
    return " and ".join(name for name in ("chromium", "chromedriver") if shutil.which(name) is None)


class Browser:
    def __init__(self, width=1280, height=900, folder=None):
        self.profile = tempfile.TemporaryDirectory(prefix="rollcall_browser_")
        # Not its standard input or output: a wrapper script of Debian's would keep them open.
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                self.address = f"http://127.0.0.1:{line.rstrip().rstrip('.').split()[-1]}"
                break
        else:
            raise AssertionError("chromedriver did not start")
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={self.profile.name}",
                     f"--window-size={width},{height}"]
        self.session = ""
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = f"/session/{made['sessionId']}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("DELETE", "")
        except (OSError, AssertionError):
            pass  # it is gone
        self.driver.terminate()
        self.driver.wait()
        self.profile.cleanup()

    def call(self, method, path, body=None):
        data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.address + self.session + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {json.load(error)['value']['message']}") from None

    def open(self, url):
        self.call("POST", "/url", {"url": str(url)})

    def run(self, script, *arguments):
        """The value that the body of a function returns in the page."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script, *arguments, what=None):
        """Until the expression is true; returns its value."""
        end = time.monotonic() + LIMIT_S
        while True:
            value = self.run(f"return {script}", *arguments)
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"not seen in {LIMIT_S} s: {what or script}\n{self.text('main')[:1500]}\n{self.errors()}")
            time.sleep(0.02)

    def text(self, selector):
        return self.run("const e = document.querySelector(arguments[0]); return e ? e.innerText : ''", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.innerText)", selector)

    def click(self, selector):
        found = self.call("POST", "/element", {"using": "css selector", "value": selector})
        self.call("POST", f"/element/{found[ELEMENT]}/click")

    def type(self, keys):
        """Keys go to what has the focus, as from a keyboard."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def picture(self):
        """PNG, in base64"""
        return self.call("GET", "/screenshot")

    def errors(self):
        """What the page has complained of since the last call."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"}) if entry["level"] in ("SEVERE", "WARNING")]
