"""fadeprobe --report and --timeline on a program that runs on the software GPU."""
import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import tempfile
import termios
import unittest

PROBE, SHOWCASE = os.environ["REPORT_PROBE"], os.environ["REPORT_SHOWCASE"]


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.html, self.log, self.trace = self.root / "out.html", self.root / "out.jsonl", self.root / "trace.json"

    def run_probe(self, *arguments, **more):
        return subprocess.run([PROBE, *map(str, arguments)], capture_output=True, text=True, timeout=150, cwd=self.root, **more)

    def data(self):
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', self.html.read_text(), re.S).group(1))


class Report(Run):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.shared.cleanup)
        root = pathlib.Path(cls.shared.name)
        cls.made = subprocess.run([PROBE, "--gpu", "gfx90a", "--report", "out.html", "--timeline", "trace.json", "--", SHOWCASE, "64", "2"],
                                  capture_output=True, text=True, timeout=150, cwd=root)
        cls.lines = [json.loads(line) for line in (root / "out.jsonl").read_text().splitlines()]
        cls.page = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', (root / "out.html").read_text(), re.S).group(1))
        cls.timeline = json.loads((root / "trace.json").read_text())

    def of(self, kind):
        return [line for line in self.lines if line["type"] == kind]

    def test_the_application_is_not_touched(self):
        self.assertEqual(self.made.returncode, 0, self.made.stderr)
        self.assertEqual(self.made.stdout, "4096 elements are transposed\n")

    def test_headline_counts_are_those_of_the_kernels_and_findings_come_with_advice(self):
        log = self.root / "plain.jsonl"
        self.assertEqual(self.run_probe("--gpu", "gfx90a", "-t", "json", "-l", log, "--", SHOWCASE, "64", "2").returncode, 0)
        plain = [x for x in map(json.loads, log.read_text().splitlines()) if x["type"] == "dispatch"]
        own = sum(x["wave_instructions"] for x in plain)
        twins = sum(x["wave_instructions"] for x in self.of("dispatch"))
        self.assertGreater(twins, 5 * own)
        mean = lambda kind, name: {x["wave_instructions"] for x in kind if x["kernel"].startswith(name)}
        for name in ("transpose_naive", "transpose_tiled", "histogram"):
            shown = {n for k, n in zip(self.page["dispatches"]["kernel"], self.page["dispatches"]["executed"]) if self.page["kernels"][k]["name"].startswith(name)}
            self.assertEqual(shown, mean(plain, name))
        self.assertAlmostEqual(self.page["totals"]["executed"] / own, 1, delta=0.001)  # blocks of collatz are not those of its code
        self.assertIn(f", {self.page['totals']['executed']} instructions executed, ", self.made.stderr)
        for finding in self.page["findings"][:5]:
            self.assertIn(" ".join(finding["advice"].split()[:4]), " ".join(self.made.stderr.split()))

    def test_both_problems_are_found_first(self):
        first = [(a["line"], a["op"], a["space"]) for a in self.page["accesses"][:3]]
        lines = pathlib.Path(self.page["files"][self.page["accesses"][0]["file"]]["path"]).read_text().splitlines()
        number = lambda text: 1 + next(i for i, line in enumerate(lines) if text in line)
        self.assertIn((number("tile[threadIdx.x][threadIdx.y + row]"), "load", "lds"), first)
        self.assertIn((number("out[x * n + y] ="), "store", "global"), first)
        self.assertIn((number("atomicAdd"), "atomic", "global"), first)

    def test_findings_are_of_all_kinds_and_ranked_by_what_there_is_to_gain(self):
        self.assertEqual(self.run_probe("--gpu", "gfx90a", "--report", "out.html", "--", SHOWCASE, "128", "1").returncode, 0)
        page = self.data()
        findings, kernels = page["findings"], page["kernels"]
        found = {(f["cause"], kernels[f["kernel"]]["name"].split("(")[0]) for f in findings}
        for one in (("bank conflicts", "transpose_tiled"), ("divergence", "collatz"), ("atomics on one address in a wave", "histogram")):
            self.assertIn(one, found)
        # In a matrix as small as this, waiting for the loads takes longer than all that is scattered: the model rewards no change.
        self.assertNotIn(("scattered access", "transpose_naive"), found)
        worth = [f["run_gain"] for f in findings]
        self.assertEqual(worth, sorted(worth, reverse=True))
        for f in findings:
            self.assertTrue(f["counts"] and f["advice"], f)

    def test_accesses_are_the_sums_of_the_memory_lines(self):
        for key, name in (("needed", "lines_needed"), ("used", "lines_used"), ("executions", "executions"), ("lanes", "lanes")):
            expected = sum(a[name] for line in self.of("memory") for a in line["global"])
            self.assertEqual(sum(a[key] for a in self.page["accesses"] if a["space"] == "global"), expected, key)
        expected = sum(a["conflicts"] for line in self.of("memory") for a in line["lds"])
        self.assertEqual(sum(a["conflicts"] for a in self.page["accesses"]), expected)
        self.assertGreater(expected, 0)

    def test_the_memory_picture_holds_every_access_of_every_page(self):
        expected = [sum(page[kind] for line in self.of("heatmap") for page in line["pages"]) for kind in ("reads", "writes", "atomics")]
        cells = self.page["heat"]["cells"]
        self.assertEqual([sum(cells[k::7]) for k in (4, 5, 6)], expected)

    def test_lanes_leave_each_block_by_the_ways_they_came(self):
        flow = next(f for f in self.page["flows"] if self.page["kernels"][f["kernel"]]["name"].startswith("collatz"))
        into = {}
        for _, to, _, lanes in flow["edges"]:
            into[to] = into.get(to, 0) + lanes
        for block in flow["blocks"]:
            self.assertEqual(into.get(block["id"], 0), block["lanes"])
        self.assertGreater(len(flow["edges"]), 6)
        self.assertTrue(any(e[0] is not None and e[0] > e[1] for e in flow["edges"]))  # the loop

    def test_patterns_show_the_lanes_of_the_worst_wave(self):
        worst = [p for p in self.page["patterns"] if p["which"] == "worst" and p["space"] == "lds" and p["op"] == "load"]
        self.assertEqual(len(worst), 1)
        self.assertEqual(worst[0]["conflicts"], 62)  # two halves of a wave, 32 dwords of one bank each
        self.assertEqual(len(worst[0]["offsets"]), 64)

    def test_instructions_stand_behind_the_lines(self):
        code = next(c for c in self.page["code"] if self.page["kernels"][c["kernel"]]["name"].startswith("transpose_naive"))
        lines = {i[4]: [] for i in code["instructions"]}
        for i in code["instructions"]:
            lines[i[4]].append(i[1])
        store = next(a["line"] for a in self.page["accesses"] if a["op"] == "store" and a["kernel"] == code["kernel"])
        self.assertTrue(any(text.startswith("global_store_dword") for text in lines[store]))
        self.assertFalse(any("fade" in text for texts in lines.values() for text in texts))

    def test_the_timeline_agrees_with_the_dispatch_lines(self):
        slices = {e["args"]["dispatch_id"]: e for e in self.timeline["traceEvents"] if e["ph"] == "X" and "dispatch_id" in e.get("args", {})}
        self.assertEqual(set(slices), {line["dispatch_id"] for line in self.of("dispatch")})
        for line in self.of("dispatch"):
            one = slices[line["dispatch_id"]]
            # Each is rounded to the clock's ticks on its own.
            self.assertAlmostEqual(one["ts"] * 1000, line["start_ns"], delta=1000)
            self.assertAlmostEqual(one["dur"] * 1000, line["end_ns"] - line["start_ns"], delta=1000)
            self.assertEqual(one["args"]["records"], line["records"])
            if not line["kernel"].startswith("__amd_rocclr"):
                self.assertEqual(one["name"], line["kernel"])

    def test_the_page_has_the_calls_and_what_they_caused(self):
        host, kernels = self.page["host"], self.page["kernels"]
        operations, names = host["operations"], host["names"]
        of_dispatches = [i for i, d in enumerate(operations["dispatch"]) if d is not None]
        self.assertEqual(len(of_dispatches), len(self.of("dispatch")))
        launched = [i for i in of_dispatches if operations["kind"][i] == 0]
        self.assertTrue(launched)
        for i in launched:
            dispatch = operations["dispatch"][i]
            self.assertEqual(names[operations["name"][i]], kernels[self.page["dispatches"]["kernel"][dispatch]]["name"])
            self.assertEqual(names[host["spans"]["name"][operations["span"][i]]], "hipLaunchKernel")


def lanes_of(record):
    return [lane for lane in range(64) if int(record["mask"], 16) >> lane & 1]


class AgainstEveryRecord(Run):
    """What AccessPatterns and BlockFlow say, found out again from all records that MessageLogger lists."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log.jsonl"
            subprocess.run([PROBE, "--gpu", "gfx90a", "-i", "-a", "MessageLogger", "AccessPatterns", "BlockFlow", "-t", "json", "-l", log, "--", SHOWCASE, "32", "1"],
                           check=True, capture_output=True, timeout=150)
            cls.lines = [json.loads(line) for line in log.read_text().splitlines()]

    def of(self, *kinds):
        return [line for line in self.lines if line["type"] in kinds]

    def test_the_worst_example_is_the_worst_of_all_executions(self):
        worst = {}
        for record in self.of("access"):
            if record["space"] != "global" or record["bytes"] > 256:
                continue
            used = {line for address in record["addresses"] for line in range(address // 128, (address + record["bytes"] - 1) // 128 + 1)}
            needed = -(-len(record["addresses"]) * record["bytes"] // 128)
            key = tuple(record[name] for name in ("kernel", "line", "column", "op"))
            worst[key] = max(worst.get(key, 0), len(used) - needed)
        patterns = {tuple(p[name] for name in ("kernel", "line", "column", "op")): max(0, p["lines_used"] - p["lines_needed"])
                    for p in self.of("pattern") if p["space"] == "global" and p["which"] == "worst"}
        self.assertEqual(patterns, worst)
        self.assertGreater(max(worst.values()), 10)

    def test_every_example_is_an_execution_that_happened(self):
        happened = {(r["kernel"], r["dispatch_id"], r["line"], r["column"], int(r["mask"], 16), tuple(r["addresses"])) for r in self.of("access")}
        patterns = self.of("pattern")
        self.assertGreater(len(patterns), 10)
        for p in patterns:
            self.assertIn((p["kernel"], p["dispatch_id"], p["line"], p["column"], int(p["mask"], 16), tuple(p["addresses"])), happened)

    def test_the_ways_between_blocks_are_those_of_the_lanes(self):
        last, edges = {}, {}
        for record in self.of("block"):
            wave = (record["dispatch_id"], record["wave"])
            for lane in lanes_of(record):
                way = (record["kernel"], last.get((wave, lane)), record["line"])
                edges[way] = edges.get(way, 0) + 1
                last[wave, lane] = record["line"]
        found = {}
        for flow in self.of("flow"):
            first = {b["block"]: b for b in flow["blocks"]}
            for edge in flow["edges"]:
                self.assertIn(edge["to"], first)
                found[flow["kernel"]] = found.get(flow["kernel"], 0) + edge["lanes"]
        expected = {}
        for (kernel, _, _), lanes in edges.items():
            expected[kernel] = expected.get(kernel, 0) + lanes
        self.assertEqual(found, expected)
        for flow in self.of("flow"):
            entries = sum(e["lanes"] for e in flow["edges"] if e["from"] is None)
            self.assertEqual(entries, sum(n for (kernel, before, _), n in edges.items() if kernel == flow["kernel"] and before is None))


class Surroundings(Run):
    def test_the_exit_code_is_the_application_s(self):
        done = self.run_probe("--gpu", "gfx90a", "--report", "out.html", "--", SHOWCASE, "32", "1", "37")
        self.assertEqual(done.returncode, 37, done.stderr)
        self.assertEqual(self.data()["totals"]["cut_off"], False)

    def test_a_fault_is_on_the_page_with_what_was_meant_and_how_it_ended(self):
        done = self.run_probe("--gpu", "gfx90a", "--report", "out.html", "--", SHOWCASE, "32", "1", env=dict(os.environ, FADE_GPU_FAIL="fault:1:transpose_tiled", SHOWCASE_ASKS="1"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the run crashed with a memory fault", done.stderr)
        data = self.data()
        (death,) = data["deaths"]
        self.assertEqual(death["what"], "Memory fault at 0xf000, page not present")
        # How far depends on where the runtime has its memory.
        self.assertTrue(any(re.match(r"(far below|\d+ bytes before) allocation \d+ of .* made by main \(showcase\.hip:", line) for line in death["lines"]), death["lines"])
        self.assertTrue(any("transpose_tiled" in line and "had not ended" in line for line in death["lines"]), death["lines"])
        self.assertIn("SIGABRT", data["ended"])
        self.assertGreater(data["totals"]["incomplete"], 0)
        self.assertEqual(sorted(p.name for p in self.root.iterdir()), ["out.html", "out.jsonl"])  # nothing else is left

    def test_the_page_of_a_kernel_has_registers_arguments_the_twin_and_places(self):
        done = self.run_probe("--gpu", "gfx90a", "--report", "out.html", "--", SHOWCASE, "32", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        data = self.data()
        index = next(i for i, kernel in enumerate(data["kernels"]) if kernel["name"].startswith("transpose_tiled"))
        self.assertEqual([argument["type"] for argument in data["kernels"][index]["arguments"]], ["float*", "float const*", "int"])
        self.assertEqual([value[1] for value in data["kernels"][index]["arguments"][2]["values"]], ["32"])
        code = next(one for one in data["code"] if one["kernel"] == index)
        self.assertRegex(code["facts"]["compiler"], r"clang version \d+")
        self.assertEqual(code["facts"]["lds"], 4096)
        self.assertEqual(code["facts"]["occupancy"]["most"], 8)
        self.assertGreater(len(code["twin"]["instructions"]), len(code["instructions"]))
        waves = next(one for one in data["placements"] if one["kernel"] == index)["units"]
        self.assertEqual(sum(unit[4] for unit in waves), 4)  # one workgroup of 32 x 8
        self.assertTrue(data["software"] and data["runs"][0]["gpus"][0]["software"])

    def test_a_timeline_alone_needs_no_instrumentation_and_leaves_only_itself(self):
        done = self.run_probe("--gpu", "gfx90a", "--timeline", "trace.json", "--", SHOWCASE, "32", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        slices = [e for e in json.loads(self.trace.read_text())["traceEvents"] if e["ph"] == "X"]
        self.assertTrue(any(s["cat"] == "call" for s in slices))
        kernels = [s for s in slices if s["cat"] == "kernel"]
        self.assertTrue(kernels and not any(s["args"]["instrumented"] for s in kernels))
        self.assertEqual([p.name for p in self.root.iterdir()], ["trace.json"])

    def test_a_program_without_a_gpu_has_its_exit_code_and_nothing_to_report(self):
        done = self.run_probe("--gpu", "gfx90a", "--report", "out.html", "--", "sh", "-c", "echo hello; exit 5")
        self.assertEqual((done.returncode, done.stdout), (5, "hello\n"))
        self.assertIn("there is nothing to report", done.stderr)
        self.assertFalse(self.html.exists())

    def test_a_sample_is_called_one_on_the_page_and_on_the_terminal(self):
        done = self.run_probe("--gpu", "gfx90a", "--sample", "2", "--report", "out.html", "--", SHOWCASE, "64", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        notes = self.data()["notes"]
        self.assertEqual(len(notes), 1)
        self.assertRegex(notes[0], r"cover \d+ of \d+ workgroups \(one in 2\); their counts are not scaled")
        self.assertIn(notes[0] + "\n", done.stderr)

    def test_a_page_without_instrumented_kernels_says_how_to_get_them(self):
        done = self.run_probe("--gpu", "gfx90a", "-k", "nothing like it", "--report", "out.html", "--", SHOWCASE, "64", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("'nothing like it' matches none of the kernels that ran", self.data()["hint"])
        self.assertEqual(done.stderr.count("matches none of the kernels"), 1)

    def test_a_program_that_is_not_there_is_127(self):
        done = self.run_probe("--gpu", "gfx90a", "--report", "out.html", "--", "./nowhere")
        self.assertEqual(done.returncode, 127)
        self.assertIn("cannot run ./nowhere", done.stderr)

    def test_an_unwritable_report_is_said_before_the_application_runs(self):
        done = self.run_probe("--gpu", "gfx90a", "--report", "nowhere/out.html", "--", "sh", "-c", "echo ran")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("cannot write nowhere/out.html", done.stderr)

    def test_text_and_a_report_do_not_go_together(self):
        done = self.run_probe("--gpu", "gfx90a", "--report", "out.html", "-t", "text", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--log-format text", done.stderr)

    def test_the_terminal_has_the_findings_in_its_width_and_in_color(self):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**os.environ, "TERM": "xterm"}
        environment.pop("NO_COLOR", None)
        done = subprocess.run([PROBE, "--gpu", "gfx90a", "--report", "out.html", "--", SHOWCASE, "128", "1"], stdout=subprocess.PIPE, stderr=theirs, timeout=150, cwd=self.root, env=environment)
        os.close(theirs)
        text = os.read(ours, 65536).decode()
        os.close(ours)
        self.assertEqual(done.returncode, 0)
        self.assertIn("\x1b[1m", text)
        plain = re.sub(r"\x1b\[\d+m", "", text).replace("\r", "").splitlines()
        self.assertLessEqual(max(map(len, plain)), 80)
        at = next(i for i, line in enumerate(plain) if re.search(r"^\d\. bank conflicts, up to \d+% to gain \((under )?\d+% of all kernels\) in", line))
        at += 0 if "transpose_tiled" in plain[at] else 1
        self.assertIn("transpose_tiled", plain[at])
        self.assertRegex(plain[at + 1], r"^   showcase.hip:\d+:\d+ load")
        self.assertRegex(plain[at + 2], r"^   \d+ cycles of (LDS|latency): 62 bank conflicts per execution")

    def test_a_pipe_gets_the_same_without_color(self):
        done = self.run_probe("--gpu", "gfx90a", "--report", "out.html", "--", SHOWCASE, "32", "1")
        self.assertNotIn("\x1b", done.stderr)
        self.assertIn("5 dispatches, 4 instrumented", done.stderr)
        self.assertRegex(done.stderr, r"\d\. divergence, .* to gain \(.* of all kernels\) in\s+collatz")
        self.assertIn("cycles and gains are those of a model; counts are exact", done.stderr)

    def test_a_signal_goes_on_to_the_application_and_comes_back_as_its_end(self):
        process = subprocess.Popen([PROBE, "--gpu", "gfx90a", "--report", "out.html", "--", "sh", "-c", "echo up; exec sleep 60"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   text=True, cwd=self.root)
        self.assertEqual(process.stdout.readline(), "up\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=30), -signal.SIGTERM)

    def test_the_application_can_catch_the_signal(self):
        script = "trap 'echo caught; exit 3' USR1; echo up; for i in 1 2 3 4 5 6 7 8 9; do sleep 1; done"
        process = subprocess.Popen([PROBE, "--gpu", "gfx90a", "--report", "out.html", "--", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   text=True, cwd=self.root)
        self.assertEqual(process.stdout.readline(), "up\n")
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.stdout.read(), "caught\n")
        self.assertEqual(process.wait(timeout=30), 3)


if __name__ == "__main__":
    unittest.main()
