"""A client of one server: it declares no roots, and sends one request after the other."""

import json
import queue
import subprocess
import tempfile
import threading

from .request import LEFT_OUT

# How long one answer may take.
PATIENCE_S = 20


class Session:
    """A server that runs. An answer is the `result` or the `error` of a message, as the server gave it."""

    def __init__(self, command, environment):
        self._log = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
            encoding="utf-8",
            bufsize=1,
        )
        self._lines = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self._asked = 0
        client = {"name": "compare", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self._process.kill()
        self._process.wait()

    def ask(self, method, params):
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        while True:
            try:
                line = self._lines.get(timeout=PATIENCE_S)
            except queue.Empty:
                raise AssertionError(f"no answer to {method} for {PATIENCE_S} s") from None
            if line is None:
                raise AssertionError(f"the server has gone: {self.said()}")
            message = json.loads(line)
            # What is no answer is a notification: a client that declares nothing is asked nothing.
            if message.get("id") == self._asked and "method" not in message:
                return message

    def call(self, tool, arguments):
        left_out = arguments == LEFT_OUT
        return self.ask("tools/call", {"name": tool} if left_out else {"name": tool, "arguments": arguments})

    def tools(self):
        return {tool["name"]: tool for tool in self.ask("tools/list", {})["result"]["tools"]}

    def said(self):
        self._log.seek(0)
        return self._log.read().strip()[-2000:].replace("\n", " | ")

    def _send(self, message):
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)
