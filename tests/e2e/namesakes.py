"""Kernels of one name in two modules are two kernels, wherever a line names one."""
import collections
import json
import os
import subprocess

import fade
from fade import GPU, PROBE, program

NAMESAKES = program("namesakes")
COMPILE = os.environ.get("E2E_COMPILE", "").split("|")
SOURCE = """extern "C" __attribute__((global)) void work(int *numbers, int count) {
  const int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < count) numbers[i] %s;
}
"""


def own(lines, key="kernel"):
    """Those of kernels of the program, not of HIP's."""
    return [x for x in lines if "work(" in (x.get(key) or "") or x.get(key) == "work"]


class Tests(fade.Test):
    def lines(self, options, app=(NAMESAKES,)):
        result = self.probe(options, app)
        self.assertEqual(result.code, 0, result.stderr)
        return result.objects()

    def modules(self, lines):
        """Which module the kernel that ran twice and the other one are of."""
        counts = collections.Counter(x["module"] for x in own(lines) if x["type"] == "dispatch")
        self.assertEqual(sorted(counts.values()), [1, 2], counts)
        for module in counts:
            self.assertRegex(module, "^[0-9a-f]{16}$")
        (twice, _), (once, _) = counts.most_common()
        return twice, once

    def assert_apart(self, lines):
        """Each line of a kernel has its module, and nothing of the other's file."""
        twice, once = self.modules(lines)
        files = {twice: "namesakes.hip", once: "namesakes_other.hip"}
        found = own(lines)
        for line in found:
            text = json.dumps(line)
            self.assertIn(line["module"], files, text)
            others = [name for module, name in files.items() if module != line["module"]]
            self.assertNotIn("/" + others[0], text)
        return twice, once, found

    def test_lines_of_analyzers(self):
        analyzers = ("MemoryAnalysis", "Heatmap", "BlockCounts", "CacheModel", "AccessPatterns", "BlockFlow", "Placement", "MessageLogger")
        lines = self.lines(["-i", "-a", *analyzers])
        twice, once, found = self.assert_apart(lines)
        for kind in ("memory_total", "cache"):
            self.assertEqual({x["module"]: x["dispatches"] for x in found if x["type"] == kind}, {twice: 2, once: 1}, kind)
        for kind in ("heatmap_total", "placement", "flow", "pattern", "block_times"):
            self.assertEqual({x["module"] for x in found if x["type"] == kind} - {twice, once}, set(), kind)
        durations = own(next(x for x in lines if x["type"] == "summary")["durations"])
        self.assertEqual({x["module"]: x["count"] for x in durations}, {twice: 2, once: 1})

    def test_lines_of_observed_kernels(self):
        twice, once, found = self.assert_apart(self.lines(["-i", "--observe", "gpu", "-a", "MemoryAnalysis", "Hotspots"]))
        self.assertEqual({x["module"]: x["dispatches"] for x in found if x["type"] == "hotspots"}, {twice: 2, once: 1})

    def test_a_recording_keeps_them_apart(self):
        live = self.lines(["-i", "-a", "MemoryAnalysis", "--record", self.path("trace")])
        again = self.bare([PROBE, "analyze", self.path("trace"), "-a", "MemoryAnalysis", "-t", "json", "-l", self.path("again")])
        again.log = self.path("again")
        self.assertEqual(again.objects(), live)

    def test_code_objects_that_are_loaded_from_files(self):
        if not COMPILE[0]:
            self.skipTest("no compiler")
        paths = []
        for i, what in enumerate(("+= 1", "*= 3")):
            with open(self.path(f"{i}.hip"), "w") as file:
                file.write(SOURCE % what)
            paths.append(self.path(f"{i}.hsaco"))
            subprocess.run([*COMPILE, self.path(f"{i}.hip"), "-o", paths[-1]], check=True)
        twice, once = self.modules(self.lines([], (NAMESAKES, *paths)))
        listed = subprocess.run([PROBE, "inspect", "--json", *paths], check=True, text=True, stdout=subprocess.PIPE).stdout
        kernels = [x for x in map(json.loads, listed.splitlines()) if x["type"] == "kernel"]
        self.assertEqual([x["module"] for x in kernels], [twice, once], "inspect says the same")

    def test_findings_and_code_of_a_run(self):
        log, findings = self.path("log"), self.path("findings")
        result = self.probe(["-i", "-a", "MemoryAnalysis", "CacheModel", "--findings", findings], [NAMESAKES])
        self.assertEqual(result.code, 0, result.stderr)
        with open(log) as of_run, open(findings) as of_findings:
            lines = [json.loads(x) for file in (of_run, of_findings) for x in file]
        twice, once, found = self.assert_apart(lines)
        self.assertEqual({x["module"] for x in found if x["type"] == "cost"}, {twice, once})
        self.assertEqual({x["module"] for x in found if x["type"] == "code"}, {twice, once})

    def test_profile(self):
        result = self.bare([PROBE, "profile", "-o", self.path("out"), "--", NAMESAKES])
        self.assertEqual(result.code, 0, result.stderr)
        documents = {}
        for name in ("profile", "roofline", "analysis", "dag"):
            with open(self.path(f"out/{name}.json")) as file:
                documents[name] = json.load(file)
        kernels = own(documents["profile"]["kernels"])
        counts = {x["module"]: x["metrics"]["dispatches"] for x in kernels}
        self.assertEqual(sorted(counts.values()), [1, 2])
        for kernel in kernels:
            files = {os.path.basename(x["file"]) for x in kernel["lines"] if x["file"].endswith("hip")}
            self.assertEqual(files, {"namesakes.hip" if kernel["metrics"]["dispatches"] == 2 else "namesakes_other.hip"})
            self.assertIsNotNone(kernel["criticality"])
        self.assertEqual({x["module"]: x["count"] for x in own(documents["dag"]["work"], "name")}, counts)
        for name in ("roofline", "analysis"):
            self.assertEqual({x["module"] for x in own(documents[name]["kernels"])}, set(counts), name)

    def test_trace(self):
        path = self.path("trace.jsonl")
        result = self.bare([PROBE, "trace", "--format", "json", "-o", path, "--", NAMESAKES])
        self.assertEqual(result.code, 0, result.stderr)
        with open(path) as file:
            lines = own([json.loads(x) for x in file])
        for kind in ("call", "operation"):
            counts = collections.Counter(x["module"] for x in lines if x["type"] == kind)
            self.assertEqual(sorted(counts.values()), [1, 2], kind)

    def test_a_run_is_no_different_from_itself(self):
        for name in ("before", "after"):
            self.assertEqual(self.bare([PROBE, "-i", "-a", "MemoryAnalysis", "-t", "json", "-l", self.path(name), "--", NAMESAKES]).code, 0)
        result = self.bare([PROBE, "diff", "--json", "-", self.path("before"), self.path("after")])
        self.assertEqual(result.code, 0, result.stderr)
        lines = [json.loads(x) for x in result.stdout.splitlines()]
        kernels = own([x for x in lines if x["type"] == "difference" and "line" not in x])
        self.assertEqual(len({x["module"] for x in kernels}), 2)
        self.assertEqual({x["in"] for x in kernels}, {"both"})
        self.assertEqual((lines[-1]["better"], lines[-1]["worse"], lines[-1]["only_before"], lines[-1]["only_after"]), (0, 0, 0, 0))

    def test_a_capture(self):
        result = self.bare([PROBE, "capture", "-o", self.path("captures"), "-k", "work", "--", NAMESAKES])
        self.assertEqual(result.code, 0, result.stderr)
        listed = self.bare([PROBE, "captures", "--json", self.path("captures")])
        lines = [json.loads(x) for x in listed.stdout.splitlines()]
        self.assertEqual(len({x["module"] for x in own(lines)}), 2, listed.stdout)


if __name__ == "__main__":
    fade.main()
