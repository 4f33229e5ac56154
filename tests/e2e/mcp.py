"""fadeprobe mcp: the Model Context Protocol, spoken by hand."""
import json
import os
import select
import subprocess

import fade
from fade import PROBE, program

VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
STATELESS = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": STATELESS, "io.modelcontextprotocol/clientCapabilities": {}}
TOOLS = {"list_kernels", "read_kernel", "findings", "profile", "check", "capture", "list_captures", "replay", "compare", "try_version", "optimize", "doctor"}


class Server:
    """A server, and the lines that it writes."""

    def __init__(self, *options):
        self.process = subprocess.Popen([PROBE, "mcp", *options], env=fade.clean_environment({"FADE_GPU_WORKERS": "1"}), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.begun, self.last_id = b"", 0

    def write(self, data):
        self.process.stdin.write(data if isinstance(data, bytes) else (json.dumps(data) + "\n").encode())

    def read(self, timeout=100):
        deadline = fade.time.time() + timeout
        while b"\n" not in self.begun:
            left = deadline - fade.time.time()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise TimeoutError(self.begun)
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise EOFError(self.begun)
            self.begun += more
        line, self.begun = self.begun.split(b"\n", 1)
        return json.loads(line)

    def ask(self, method, params=None, **more):
        """The answer to a request, and what came before it."""
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method, **more}
        if params is not None:
            message["params"] = params
        self.write(message)
        self.before = []
        while True:
            answer = self.read()
            if answer.get("id") == self.last_id:
                return answer
            self.before.append(answer)

    def call(self, tool, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        assert all(x["type"] == "text" for x in result["content"])
        return result["isError"], "\n".join(x["text"] for x in result["content"])

    def close(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        said = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        return code, said

    def end(self):
        self.process.kill()
        self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.process.stderr):
            file.close()


class Tests(fade.Test):
    def server(self, *options):
        server = Server(*(options or ("--output", self.path("out"))))
        self.addCleanup(server.end)
        return server

    def test_a_client_with_a_handshake(self):
        for wanted, expected in [(x, x) for x in VERSIONS] + [("1999-01-01", VERSIONS[0]), (STATELESS, VERSIONS[0])]:
            server = self.server()
            result = server.ask("initialize", {"protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}})["result"]
            self.assertEqual((result["protocolVersion"], set(result["capabilities"])), (expected, {"tools", "resources"}))
            self.assertEqual(result["serverInfo"]["name"], "fade")
            server.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
            self.assertEqual(server.ask("ping")["result"], {})
            self.assertEqual(server.close(), (0, ""))

    def test_a_client_without_a_handshake(self):
        server = self.server()
        result = server.ask("server/discover", {"_meta": META})["result"]
        self.assertEqual(result["supportedVersions"], [STATELESS] + VERSIONS)
        for method in ("tools/list", "resources/list"):
            listed = server.ask(method, {"_meta": META})["result"]
            self.assertEqual((listed["resultType"], listed["cacheScope"]), ("complete", "private"))
            self.assertGreaterEqual(listed["ttlMs"], 0)
            self.assertEqual(listed["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "fade")
        called = server.ask("tools/call", {"_meta": META, "name": "list_captures", "arguments": {"folders": [self.path("no")]}})["result"]
        self.assertEqual((called["resultType"], called["isError"]), ("complete", True))
        error = server.ask("tools/list", {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}})["error"]
        self.assertEqual((error["code"], error["data"]["requested"], error["data"]["supported"][0]), (-32022, "2030-01-01", STATELESS))
        for meta in ({**META, "io.modelcontextprotocol/protocolVersion": 5}, {"io.modelcontextprotocol/protocolVersion": STATELESS}):
            self.assertEqual(server.ask("tools/list", {"_meta": meta})["error"]["code"], -32602)
        self.assertEqual(server.ask("ping", {"_meta": META})["error"]["code"], -32601)
        self.assertEqual(server.close(), (0, ""))

    def test_tools_and_resources_are_described(self):
        server = self.server()
        tools = {x["name"]: x for x in server.ask("tools/list")["result"]["tools"]}
        self.assertEqual(set(tools), TOOLS)
        for tool in tools.values():
            schema = tool["inputSchema"]
            self.assertEqual((schema["type"], schema["additionalProperties"]), ("object", False))
            self.assertLessEqual(set(schema.get("required", [])), set(schema["properties"]))
            self.assertTrue(tool["description"] and tool["title"] and all(x["description"] and x["type"] for x in schema["properties"].values()))
        self.assertEqual(tools["read_kernel"]["annotations"]["readOnlyHint"], True)
        resources = {x["uri"]: x for x in server.ask("resources/list")["result"]["resources"]}
        self.assertLessEqual({"fade://docs/mcp", "fade://docs/recipes/race", "fade://docs/formats/check"}, set(resources))
        for uri, resource in resources.items():
            contents, = server.ask("resources/read", {"uri": uri})["result"]["contents"]
            self.assertEqual((contents["uri"], contents["mimeType"], len(contents["text"].encode())), (uri, "text/markdown", resource["size"]))
        self.assertEqual(server.ask("resources/templates/list")["result"], {"resourceTemplates": []})
        for uri in ("fade://docs/../README", "file:///etc/passwd", "fade://docs/"):
            self.assertEqual(server.ask("resources/read", {"uri": uri})["error"]["code"], -32002)
        server.close()
        server = self.server("--read-only")
        self.assertEqual({x["name"] for x in server.ask("tools/list")["result"]["tools"]}, {"list_kernels", "read_kernel", "list_captures"})
        # LD_PRELOAD would run what the client likes.
        is_error, said = server.call("list_kernels", paths=[program("plain")], environment={"LD_PRELOAD": "/nothing.so"})
        self.assertEqual((is_error, "unknown argument 'environment'" in said), (True, True), said)
        self.assertEqual(server.ask("tools/call", {"name": "findings", "arguments": {"command": ["true"]}})["error"]["code"], -32602)

    def test_hostile_input_gets_errors_and_the_server_goes_on(self):
        server = self.server()
        cases = [(b"not JSON\n", -32700), (b"\xff\xfe\n", -32700), (b"[" * 100000 + b"\n", -32700), (b'{"a":' * 1000 + b"\n", -32700),
                 (b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * 70 + b"]" * 70 + b"}\n", -32700),
                 (b"x" * (5 << 20) + b"\n", -32700), (b'"text"\n', -32600), (b"[]\n", -32600), (b"null\n", -32600), (b"{}\n", -32600),
                 (b'{"jsonrpc":"1.0","id":7,"method":"ping"}\n', -32600), (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600),
                 (b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n', -32600), (b'{"jsonrpc":"2.0","id":7,"method":5}\n', -32600),
                 (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}\n', -32602), (b'{"jsonrpc":"2.0","id":7,"method":"nothing"}\n', -32601),
                 (b'{"jsonrpc":"2.0","id":7,"method":"tools/call"}\n', -32602), (b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}\n', -32700),
                 (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}\n', -32602),
                 (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"doctor","arguments":"--help"}}\n', -32602),
                 (b'{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":{}}}\n', -32602),
                 (b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}\n', -32602)]
        for line, code in cases:
            server.write(line)
            answer = server.read()
            self.assertEqual((answer["error"]["code"], answer["id"]), (code, 7 if b'"id":7' in line else None), line[:100])
            self.assertNotIn("result", answer)
        # Nobody asked: no answer.
        server.write(b'\n   \r\n{"jsonrpc":"2.0","method":"nothing"}\n{"jsonrpc":"2.0","id":3,"result":{}}\n{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}\n')
        # A batch is answered as one.
        server.write(b'[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"x"},5,{"jsonrpc":"2.0","id":"b","method":"y"}]\n')
        self.assertEqual([(x["id"], x.get("result"), x.get("error", {}).get("code")) for x in server.read()],
                         [("a", {}, None), (None, None, -32600), ("b", None, -32601)])
        self.assertEqual(server.ask("ping")["result"], {})
        # The last line needs no end.
        server.write(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
        server.process.stdin.close()
        self.assertEqual(server.read(), {"jsonrpc": "2.0", "id": "last", "result": {}})
        self.assertEqual(server.process.wait(timeout=60), 0)

    def test_arguments_of_tools_are_checked(self):
        server = self.server()
        for tool, arguments, expected in (
                ("read_kernel", {}, "'path' is missing"), ("read_kernel", {"path": 1, "kernels": "x"}, "'path' must be a non-empty string"),
                ("read_kernel", {"path": "x", "kernels": "x", "view": "no"}, "'view' must be one of: source, isa"),
                ("read_kernel", {"path": "", "kernels": "x"}, "'path' must be a non-empty string"),
                ("read_kernel", {"path": "x\0y", "kernels": "x"}, "without zero bytes"), ("list_kernels", {"paths": []}, "'paths' must be a list of strings"),
                ("list_kernels", {"paths": [[]]}, "'paths' must be a list of strings"), ("doctor", {"shell": "x"}, "unknown argument 'shell'; known: probe"),
                ("replay", {"capture": "x", "iterations": 0}, "'iterations' must be a whole number from 1 to 1000000"),
                ("replay", {"capture": "x", "iterations": 2**64 - 1}, "'iterations' must be"), ("replay", {"capture": "x", "check": "yes"}, "'check' must be true or false"),
                ("check", {}, "expected either 'command' or 'capture'"), ("check", {"command": ["x"], "code": "y"}, "'code' goes with 'capture'"),
                ("compare", {"before": "x"}, "expected either 'before' and 'after'"),
                ("compare", {"before_command": ["x", "--"], "after_command": ["y"]}, "which would end it"),
                ("doctor", {"directory": self.path("none")}, "no such directory"), ("doctor", {"environment": {"A=B": "x"}}, "'environment' must be"),
                ("list_kernels", {"paths": ["--pid=1"]}, "./--pid=1: cannot open"), ("list_kernels", {"paths": ["--"]}, "./--: cannot open")):
            is_error, text = server.call(tool, **arguments)
            self.assertTrue(is_error, text)
            self.assertIn(expected, text)

    def test_a_kernel_is_read_measured_captured_and_judged(self):
        server = self.server()
        app = program("turn")
        self.assertIn("turn(float const*, float*, int)", server.call("list_kernels", paths=[app])[1])
        is_error, text = server.call("findings", command=[app], kernels="^turn")
        self.assertFalse(is_error, text)
        self.assertIn("bank conflicts", text)
        log = [x.split(": ")[1] for x in text.splitlines() if x.startswith("written: ")][0]
        is_error, text = server.call("read_kernel", path=app, kernels="^turn", counts=log, gpu=fade.GPU, view="isa")
        self.assertFalse(is_error, text)
        names = "store|load" if fade.GPU.startswith(("gfx11", "gfx12")) else "write|read"
        self.assertRegex(text, fr"{16 * fade.waves(1024)} +{fade.LANES}.* ds_({names})_b32")
        self.assertFalse(server.call("compare", before=log, after=log)[0])
        captures = self.path("captures")
        is_error, text = server.call("capture", command=[app], kernels="^turn", output=captures)
        self.assertFalse(is_error, text)
        capture, = [json.loads(x) for x in server.call("list_captures", folders=[captures])[1].splitlines() if x.startswith("{")]
        is_error, text = server.call("replay", capture=capture["path"], check=True)
        self.assertFalse(is_error, text)
        self.assertIn('"equal":true', text.replace(" ", ""))
        self.assertFalse(server.call("check", capture=capture["path"])[0])
        if not os.environ.get("E2E_COMPILE"):
            return
        source = os.path.join(os.path.dirname(__file__), "kernels", "turn.hip")
        with open(source) as file:
            text = file.read()
        build = os.environ["E2E_COMPILE"].split("|") + ["{source}", "-o", "{output}"]
        for change, stage in (("tile[32][33]", None), ("tile[31][32]", "findings|results")):
            is_error, said = server.call("try_version", kernel="^turn", source=source, proposed=text.replace("tile[32][32]", change), captures=captures, build=build)
            self.assertFalse(is_error, said)
            attempt, = [json.loads(x) for x in said.splitlines() if x.startswith('{"type":"attempt"')]
            self.assertEqual(attempt["accepted"], stage is None, said)
            self.assertRegex(attempt.get("stage", ""), stage or "^$")
        with open(source) as file:
            self.assertEqual(file.read(), text)

    def test_programs_are_bounded_and_see_nothing_of_the_protocol(self):
        server = self.server()
        # Its stdin is none, its output is cut, its exit code is told.
        is_error, text = server.call("profile", command=["sh", "-c", "cat; yes 0123456 | head -c 3000000; echo the end; exit 7"])
        self.assertTrue(is_error)
        self.assertLess(len(text), 200000)
        self.assertRegex(text, r"\[\.\.\. \d+ bytes left out \.\.\.\]")
        self.assertIn("the end", text)
        self.assertIn("exit code 7", text)
        is_error, text = server.call("profile", command=["sh", "-c", "echo $MINE; pwd"], environment={"MINE": "yes $(no)"}, directory=self.dir)
        self.assertIn(f"yes $(no)\n{os.path.realpath(self.dir)}\n", text)
        is_error, text = server.call("findings", command=[self.path("no-such-program")])
        self.assertEqual((is_error, "exit code 127" in text, "written:" in text), (True, True, False), text)
        is_error, text = server.call("profile", command=["sleep", "1000"], timeout=1)
        self.assertTrue(is_error)
        self.assertIn("because that is the time limit", text)

    def wait_until(self, condition):
        deadline = fade.time.time() + 60
        while not condition():
            self.assertLess(fade.time.time(), deadline, "it takes too long")
            fade.time.sleep(0.01)

    def sleeper(self, name):
        """A program that writes its pid and sleeps, and whether it lives."""
        pid = self.path(name)

        def lives():
            with open(pid) as file:
                stat = f"/proc/{file.read().strip()}/stat"
            try:
                with open(stat) as file:
                    return ") Z" not in file.read()
            except (FileNotFoundError, ProcessLookupError):
                return False
        return ["sh", "-c", f"trap '' TERM; echo $$ >{pid}.new; mv {pid}.new {pid}; while :; do sleep 0.1; done"], pid, lives

    def test_a_client_that_does_not_read_keeps_no_program_running_beyond_its_time(self):
        server = self.server()
        command, pid, lives = self.sleeper("pid")
        server.write({"jsonrpc": "2.0", "id": 1000, "method": "tools/call", "params": {"name": "profile", "arguments": {"command": command, "timeout": 3}}})
        self.wait_until(lambda: os.path.exists(pid))
        pages = server.ask("resources/list")["result"]["resources"]
        largest = max(pages, key=lambda page: page.get("size", 0))["uri"]
        for number in range(60):  # more than a pipe holds, and nobody reads the answers
            server.write({"jsonrpc": "2.0", "id": 2000 + number, "method": "resources/read", "params": {"uri": largest}})
        self.wait_until(lambda: not lives())
        answers = {server.read()["id"] for _ in range(61)}
        self.assertEqual(answers, {1000, *range(2000, 2060)}, "and all of it is there when it does")

    def test_a_request_can_be_cancelled_and_tells_how_far_it_is(self):
        server = self.server()
        command, pid, lives = self.sleeper("pid")
        server.write({"jsonrpc": "2.0", "id": "long", "method": "tools/call",
                      "params": {"name": "profile", "arguments": {"command": command}, "_meta": {"progressToken": "p"}}})
        self.assertEqual(server.ask("ping")["result"], {})  # is answered meanwhile
        told = [server.read() for _ in range(2)]
        self.assertEqual({(x["method"], x["params"]["progressToken"]) for x in told}, {("notifications/progress", "p")})
        self.assertLess(told[0]["params"]["progress"], told[1]["params"]["progress"])
        self.wait_until(lambda: os.path.exists(pid))
        server.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "long", "reason": "enough"}})
        self.wait_until(lambda: not lives())
        self.assertEqual(server.ask("ping")["result"], {})
        self.assertFalse([x for x in server.before if x.get("id") == "long"])
        self.assertEqual(server.close(), (0, ""))

    def test_nothing_survives_the_server(self):
        for end in ("signal", "closed"):
            server = self.server()
            command, pid, lives = self.sleeper(end)
            server.write({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "profile", "arguments": {"command": command}}})
            self.wait_until(lambda: os.path.exists(pid))
            if end == "signal":
                server.process.terminate()
            else:
                server.process.stdin.close()
                server.process.stdout.close()
            self.assertEqual(server.process.wait(timeout=60), -fade.signal.SIGTERM if end == "signal" else 0)
            self.assertFalse(lives())


if __name__ == "__main__":
    fade.main()
