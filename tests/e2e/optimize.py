"""fadeprobe optimize: what is accepted, and what is not."""
import http.server
import json
import os
import subprocess
import sys
import threading

import fade

SOURCE = os.path.join(os.path.dirname(__file__), "kernels", "turn.hip")
COMPILE = os.environ.get("E2E_COMPILE", "").split("|")
ALONE = {"FADE_GPU_WORKERS": "1"}
TILE, STORE = "float tile[32][32];", "  tile[y][x] = in[(from_y + y) * n + from_x + x];\n"
# Of gfx950's 64 banks the two rows that each of the 256 waves writes share one if they are 33 long, and so do the columns that it reads; rows of 34
# share two at the same time, columns none.
IS_GFX950 = fade.GPU == "gfx950"
NEXT = "  if (y < 31) tile[y + 1][x] = 0;\n"

# What the scripted proposer offers, one after the other: where it fails, and the edit.
OFFERS = [("signature", "__global__ void turn", "__global__ __attribute__((amdgpu_flat_work_group_size(1, 512))) void turn"),
          ("build", "  meet();\n", "  this is not code\n"),
          ("results", "= tile[x][y];", "= tile[x][y] + 1;"),
          ("changed inputs", "= tile[x][y];", "= 1 + (from_y + x) * n + from_x + y;"),
          ("findings", STORE, NEXT + STORE, TILE, "float tile[32][33];"),
          ("costs", STORE, "  for (int i = 0; i < 20; ++i) *(volatile float *)&tile[y][x] = in[(from_y + y) * n + from_x + x];\n"),
          (None, TILE, "float tile[32][33];")]

PROPOSER = """
import json, sys
request = json.load(sys.stdin)
assert request["type"] == "request" and request["version"] == 1 and request["kernels"][0]["symbol"] == "_Z4turnPKfPfi"
assert len(request["history"]) == request["attempt"] - 1
offers = json.load(open(sys.argv[1]))
if request["attempt"] > len(offers):
    print(json.dumps({"stop": True}))
    sys.exit()
assert request["counts"]["conflicts"] > 0 and request["accesses"][0]["lds"] and request["counts"]["modeled_ns"] > 0
profile = request["profile"][0]
# On Radeon GPUs and gfx950 all of the work is a fifth of the time that a launch takes: little in it is worth a finding.
assert profile["findings"] or profile["target"].startswith(("gfx1", "gfx950")), profile
assert not profile["findings"] or profile["findings"][0]["cause"] == "bank conflicts", profile["findings"]
assert profile["roofline"]["bytes"]["lds"] > 0 and profile["lines"]
edits, source = offers[request["attempt"] - 1][1:], request["source"]
for old, new in zip(edits[::2], edits[1::2]):
    assert old in source, old
    source = source.replace(old, new)
if request["attempt"] == 3:
    assert "this is not code" in json.dumps(request["history"][1]) or "error" in request["history"][1]["reason"]
print(json.dumps({"source": source, "comment": "number %d" % request["attempt"]}))
"""


class Tests(fade.Test):
    def setUp(self):
        super().setUp()
        if not COMPILE[0]:
            self.skipTest("there is no compiler here")
        self.captures, self.output, self.source = self.path("captures"), self.path("out"), self.path("turn.hip")
        fade.shutil.copy(SOURCE, self.source)
        self.capture("turn", "^turn")

    def capture(self, program, kernel):
        done = self.probe(["capture", "-k", kernel, "-o", self.captures], [fade.program(program)], json_log=False, env=ALONE)
        self.assertEqual((done.code, done.stdout), (0, program + "ed\n" if program == "turn" else program + "\n"), done.stderr)

    def optimize(self, *options, code, build=None, kernel="^turn"):
        result = self.bare([fade.PROBE, "optimize", "-k", kernel, "--source", self.source, "--captures", self.captures, "-o", self.output,
                            *options, "--", *(build or COMPILE + ["{source}", "-o", "{output}"])], env=ALONE)
        self.assertEqual(result.code, code, result.stdout + result.stderr)
        return result

    def ledger(self):
        with open(os.path.join(self.output, "ledger.jsonl")) as file:
            lines = [json.loads(x) for x in file]
        self.assertTrue(all(x["version"] == 1 for x in lines))
        self.assertEqual([lines[0]["type"], lines[-1]["type"]], ["start", "end"])
        return lines

    def read(self, path):
        with open(path) as file:
            return file.read()

    def test_only_what_is_right_and_better_is_accepted(self):
        offers, script = self.path("offers.json"), self.path("proposer.py")
        with open(offers, "w") as file:
            json.dump(OFFERS, file)
        with open(script, "w") as file:
            file.write(PROPOSER)
        self.optimize("--proposer", f"{sys.executable} {script} {offers}", code=0)
        attempts = [x for x in self.ledger() if x["type"] == "attempt"]
        self.assertEqual([(x["accepted"], x.get("stage"), x["comment"]) for x in attempts],
                         [(offer[0] is None, offer[0], f"number {i + 1}") for i, offer in enumerate(OFFERS)])
        self.assertTrue(all(x["reason"] for x in attempts[:-1]))
        self.assertEqual(self.read(self.source), self.read(SOURCE))  # nobody has asked to change it
        if not fade.shutil.which("patch"):
            return  # in a root
        copy = self.path("copy.hip")
        fade.shutil.copy(SOURCE, copy)
        subprocess.run(["patch", "-s", copy, os.path.join(self.output, "best.patch")], check=True)
        self.assertEqual(self.read(copy), self.read(SOURCE).replace(TILE, "float tile[32][33];"))

    def test_a_step_that_a_later_one_makes_useless_is_dropped(self):
        offers, script = self.path("offers.json"), self.path("proposer.py")
        with open(offers, "w") as file:
            mask = 3 if IS_GFX950 else 1  # of its banks, which are twice as many, a wave's two rows use as many as before with 1
            json.dump([(None, STORE, STORE.replace("tile[y][x]", f"tile[y][x ^ (y & {mask})]"), "= tile[x][y];", f"= tile[x][y ^ (x & {mask})];"),
                       (None, TILE, "float tile[32][33];")], file)
        with open(script, "w") as file:
            file.write(PROPOSER)
        self.optimize("--proposer", f"{sys.executable} {script} {offers}", "--apply", code=0)
        attempts = [x for x in self.ledger() if x["type"] == "attempt"]
        self.assertEqual([(x["accepted"], x["comment"]) for x in attempts],
                         [(True, "number 1"), (True, "number 2"), (True, "without attempt 1 (number 1)")])
        self.assertEqual(attempts[2]["counts"]["conflicts"], 512 if IS_GFX950 else 0)
        self.assertLess(attempts[2]["counts"]["instructions"], attempts[1]["counts"]["instructions"])
        self.assertEqual(self.read(self.source), self.read(SOURCE).replace(TILE, "float tile[32][33];"))

    def offer(self, *edits):
        """A proposer that offers the source with these edits, and the build command, which compiles another kernel as well."""
        with open(self.source, "a") as file:
            file.write("__global__ void other(float *out) { out[0] = 1; }\n")
        source = self.read(self.source)
        for old, new in edits:
            self.assertIn(old, source)
            source = source.replace(old, new)
        with open(self.path("answer"), "w") as file:
            json.dump({"source": source}, file)
        return ["--attempts", "1", "--proposer", f"cat {self.path('answer')} # whatever it was asked"]

    def test_kernels_that_nobody_compares_stay_as_they_are(self):
        better = (TILE, "float tile[32][33];")
        for edit, reason in ((("= 1;", "= 2;"), "is not the same as before"), (("other(float *out)", "another(float *out)"), "is missing")):
            fade.shutil.copy(SOURCE, self.source)
            options = self.offer(better, edit)
            self.optimize(*options, code=1)
            attempt = self.ledger()[1]
            self.assertEqual((attempt["accepted"], attempt["stage"]), (False, "other kernels"))
            self.assertIn("other(float*) " + reason, attempt["reason"])
        self.optimize(*options, "--unchecked", code=0)
        fade.shutil.copy(SOURCE, self.source)
        self.optimize(*self.offer(better, ("void other", "void more(float *out) { out[1] = 1; }\n__global__ void other")), code=0)

    def test_what_is_wrong_for_other_signs_is_not_accepted(self):
        options = self.offer((TILE, "float tile[32][33];"), ("= tile[x][y];", "= tile[x][y] < 0 ? 0 : tile[x][y];"))
        self.optimize(*options, code=1)
        self.assertEqual(self.ledger()[1]["stage"], "changed inputs")

    def test_rules_make_a_transposition_free_of_conflicts_and_leave_lines_as_they_end(self):
        text = self.read(SOURCE).replace("\n  ", "\n\t").replace("\n", "\r\n")
        with open(self.source, "w", newline="") as file:
            file.write(text)
        said = self.optimize("--apply", code=0).stderr
        lines = self.ledger()
        self.assertGreater(lines[0]["counts"]["conflicts"], 0)
        left = 256 if IS_GFX950 else 0
        self.assertEqual(lines[-1]["counts"]["conflicts"], left)
        # On gfx942 and gfx950 __restrict__ saves four moves of pointers into vector registers besides.
        self.assertEqual((lines[-1]["accepted"], lines[-1]["applied"]), ({"gfx942": 2, "gfx950": 3}.get(fade.GPU, 1), True))
        self.assertRegex(said, rf"{left} bank conflicts, [\d.]+ us by the model instead of")
        text = text.replace("[32][32]", "[32][(32 + 1) + 1]" if IS_GFX950 else "[32][32 + 1]")
        if fade.GPU in ("gfx942", "gfx950"):
            text = text.replace("*in", "*__restrict__ in").replace("*out", "*__restrict__ out")
        with open(self.source, newline="") as file:
            self.assertEqual(file.read(), text)

    def test_rules_tell_the_compiler_that_pointers_are_apart(self):
        source = self.read(SOURCE).replace(TILE, "float tile[32][33];").replace(
            "= tile[x][y];", "= in[0] * 0;\n  out[(from_x + y) * n + from_y + x] += in[1] * 0;\n  out[(from_x + y) * n + from_y + x] += tile[x][y];")
        with open(self.source, "w") as file:
            file.write(source)
        # On gfx1030 the scalar load that takes the place of two vector loads, which hit, waits longer than they do.
        is_better = fade.GPU != "gfx1030"
        self.optimize(code=0 if is_better else 1)
        lines = self.ledger()
        # On gfx950 conflicts are left, and longer rows are tried first.
        self.assertEqual([(x["accepted"], x["comment"]) for x in lines if x["type"] == "attempt" and "rows" not in x["comment"]],
                         [(is_better, "the pointers of turn do not alias")])
        if not is_better:
            self.assertEqual(lines[1]["stage"], "costs")
            return
        self.assertLess(lines[-1]["counts"]["instructions"], lines[0]["counts"]["instructions"])
        self.assertIn("+__global__ void turn(const float *__restrict__ in, float *__restrict__ out, int n)",
                      self.read(os.path.join(self.output, "best.patch")))

    def attempts(self):
        return [(x["accepted"], x["comment"]) for x in self.ledger() if x["type"] == "attempt"]

    def test_rules_let_threads_change_places_where_stores_are_scattered(self):
        barrier = '  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");\n  __builtin_amdgcn_s_barrier();\n'
        source = self.read(SOURCE).replace("  meet();\n", barrier).replace(TILE, "float tile[32][33];").replace(
            "out[(from_x + y) * n + from_y + x] = tile[x][y];", "out[(from_x + x) * n + from_y + y] = tile[y][x];")
        with open(self.source, "w") as file:
            file.write(source)
        self.optimize("--attempts", "1", "--worse", "1", code=1)  # addresses are computed twice
        self.assertIn("--worse", self.ledger()[1]["reason"])
        allowed = ("--worse", "30") if fade.GPU.startswith("gfx115") else ()  # there instructions grow by 22 %, beyond what is allowed unasked
        self.optimize("--attempts", "1", *allowed, code=0)
        self.assertEqual(self.attempts(), [(True, "after the barrier of turn, threads swap x and y")])
        lines = self.ledger()
        self.assertLess(2 * lines[-1]["counts"]["lines"], lines[0]["counts"]["lines"])

    def test_rules_unroll_loops_and_bound_launches_where_the_user_allows_it(self):
        self.source = os.path.join(os.path.dirname(SOURCE), "pressed.hip")
        self.capture("pressed", "^press")
        self.optimize(code=1, kernel="^press")  # it must not be bound
        self.assertEqual([x for x in self.attempts() if "work-items" in x[1]], [])
        # In a workgroup of 1,024 a wave of gfx1100 and gfx1151 may have 192 registers, others 128. It needs 163: there is nothing to gain.
        is_pressed = fade.GPU not in ("gfx1100", "gfx1151")
        self.optimize("--launch-bounds", code=0 if is_pressed else 1, kernel="^press")
        self.assertIn((is_pressed, "workgroups of press have at most 64 work-items"), self.attempts())
        self.capture("pressed", "^follow")
        self.optimize(code=0, kernel="^follow")
        self.assertIn((True, "loop 1 of follow is unrolled by four"), self.attempts())
        self.assertIn("+  #pragma unroll 4\n", self.read(os.path.join(self.output, "best.patch")))

    def test_proposers_that_misbehave(self):
        # One run, since all that is done before the first proposal takes longest.
        ways = (("head -c 17000000 /dev/zero", "longer than 16 MiB"), ("yes", "longer than 16 MiB"), ("exit 3", "ended with exit code 3"), ("kill -9 $$", "ended with"),
                ("echo '{}'", "no 'source', and no 'stop'"), ("echo '{\"source\": 5}'", "no 'source'"), ("no-such-program", "exit code 127"), ("echo '[1]'", "not a JSON object"),
                ("cat >/dev/null; head -c 3000000 /dev/zero >&2; printf '{\"source\": \"\", \"comment\": \"\\\\u001b[31m%09000d\"}' 0", ""), ("echo '{\"source\": \"\"}'", "it equals attempt 9"))
        script = self.path("misbehaves")
        with open(script, "w") as file:
            file.write('n=$(grep -o \'"attempt":[0-9]*\' | head -1 | cut -d: -f2)\ncase $n in\n' + "".join(f"{i + 1}) {way} ;;\n" for i, (way, _) in enumerate(ways)) + "esac\n")
        result = self.optimize("--proposer", f"exec sh {script}", "--attempts", str(len(ways)), code=1)
        for attempt, (way, reason) in zip(self.ledger()[1:-1], ways, strict=True):
            self.assertEqual((attempt["accepted"], attempt["stage"]), (False, "signature" if reason == "" else "proposal"), way)
            self.assertIn(reason, attempt["reason"])
        self.assertLess(len(result.stderr), 5000)
        self.assertNotIn("\x1b", result.stderr)
        self.assertIn("attempt 9 of 10: ?[31m000", result.stderr)
        self.assertEqual(self.read(self.source), self.read(SOURCE))
        self.assertFalse(os.path.exists(os.path.join(self.output, "best.patch")))

    def test_a_patch_of_another_run_does_not_stay(self):
        os.mkdir(self.output)
        for name in ("best.patch", "1"):
            with open(os.path.join(self.output, name), "w") as file:
                file.write("old")
        # The command may go elsewhere: it gets whole paths.
        os.chdir(self.dir)
        self.output = "out"
        self.optimize("--proposer", "cat >/dev/null; echo '{\"stop\": true}'", code=1, build=["sh", "-c", 'cd / && exec "$@"', "sh", *COMPILE, "{source}", "-o", "{output}"])
        self.assertFalse(os.path.exists(os.path.join(self.output, "best.patch")))

    def test_the_example_asks_an_endpoint(self):
        better = self.read(SOURCE).replace(TILE, "float tile[32][33];")
        asked = []

        class Endpoint(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                asked.append((self.path, self.headers.get("Authorization"), request))
                answer = {"source": better, "comment": "padded"} if self.path == "/plain" else {
                    "choices": [{"message": {"content": f"Padded.\n```cpp\n{better}```\n"}}]}
                body = json.dumps(answer).encode()
                self.send_response(500 if len(asked) == 1 else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Endpoint)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        script = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "proposer", "http_proposer.py")
        for path, options, attempts in (("plain", "", 2), ("chat", "--chat some-model --header Authorization=MY_TOKEN", 1)):
            self.optimize("--attempts", str(attempts), "--proposer", f"MY_TOKEN='Bearer x' {sys.executable} {script} http://127.0.0.1:{server.server_port}/{path} {options}", code=0)
        self.assertEqual([x[:2] for x in asked], [("/plain", None), ("/plain", None), ("/chat", "Bearer x")])  # the first was answered with an error
        self.assertEqual((asked[0][2]["type"], len(asked[1][2]["history"])), ("request", 1))
        self.assertIn("turn(float const*, float*, int)", asked[2][2]["messages"][1]["content"])

    def test_ctrl_c_ends_what_runs_and_leaves_the_ledger(self):
        marker = self.path("marker")
        command = [fade.PROBE, "optimize", "-k", "^turn", "--source", self.source, "--captures", self.captures, "-o", self.output,
                   "--proposer", f"echo $$ >{marker}.new; mv {marker}.new {marker}; exec sleep 1000", "--", *COMPILE, "{source}", "-o", "{output}"]
        process = subprocess.Popen(command, env=fade.clean_environment(ALONE), stderr=subprocess.PIPE)
        deadline = fade.time.time() + 60
        while not os.path.exists(marker) and fade.time.time() < deadline:
            fade.time.sleep(0.01)
        process.send_signal(fade.signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -fade.signal.SIGINT)
        asleep = int(self.read(marker))
        while fade.time.time() < deadline and os.path.exists(f"/proc/{asleep}") and "Z" not in self.read(f"/proc/{asleep}/stat"):
            fade.time.sleep(0.01)
        self.assertLess(fade.time.time(), deadline, "it still runs")
        self.assertEqual([x["type"] for x in map(json.loads, self.read(os.path.join(self.output, "ledger.jsonl")).splitlines())], ["start", "end"])
        end = json.loads(self.read(os.path.join(self.output, "ledger.jsonl")).splitlines()[-1])
        self.assertEqual((end["interrupted"], end["attempts"], end["accepted"]), (True, 0, 0))

    def test_what_cannot_be_tried_is_said_in_one_line(self):
        for kernel, build, expected in (("turn", ["cc", "{source}"], "with {source} and {output}"),
                                        ("nothing", None, "no capture of 'nothing'"), ("(", None, "is not a regular expression"),
                                        ("turn", ["false", "{source}", "{output}"], "it does not compile: false: it ended with exit code 1"),
                                        ("turn", ["true", "{source}", "{output}"], "it does not compile: true: it wrote nothing to {output}"),
                                        ("turn", ["mkdir", "-p", "{source}.d", "{output}"], "it wrote nothing to {output}"),
                                        ("turn", ["no-such-compiler", "{source}", "{output}"], "no-such-compiler: No such file or directory"),
                                        ("turn", ["cp", "{source}", "{output}"], "")):
            result = self.optimize(code=2, build=build, kernel=kernel)
            self.assertRegex(result.stderr, f"^fadeprobe: .*{fade.re.escape(expected)}.*\n$")
        self.source = self.dir
        self.assertIn("it cannot be read, or is empty", self.optimize(code=2).stderr)


if __name__ == "__main__":
    fade.main()
