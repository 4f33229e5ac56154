#!/usr/bin/env python3
"""The module fade: readers with good and bad files, recording of a part of a process, the wheel.

usage: module_test.py BUILD_DIR HIP_LIBRARY
"""
import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
import zipfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
HIP = sys.argv[2]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# As installed: beside the tools.
TREE = pathlib.Path(tempfile.mkdtemp(prefix="fade-tree-"))
subprocess.run(["cmake", "--install", BUILD, "--prefix", TREE, "--strip"], check=True, capture_output=True)
PYTHON = TREE / "share/fade/python"
sys.path.insert(0, str(PYTHON))
import fade  # noqa: E402

PROGRAM = BUILD / "examples/programs/example_transpose"
SOFTWARE_GPU = {"LD_PRELOAD": str(BUILD / "lib/libfadegpu.so"), "FADE_GPU": "gfx90a"}


def run(*words, **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("FADE_", "RPDT_"))} | more
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, env=environment, check=True)


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="fade-module-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def file(self, content, name="file"):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


class Readers(Scratch):
    def test_a_report_is_lists_by_type(self):
        made = self.folder / "run.jsonl"
        self.assertEqual(fade.run("--gpu", "gfx90a", "-i", "-a", "MemoryAnalysis", "-t", "json", "-l", made, "--", PROGRAM, "slow", capture_output=True).returncode, 0)
        report = fade.read_report(made)
        self.assertEqual(len(report["run"]), 1)
        self.assertEqual([d["kernel"] for d in report["dispatch"]], ["transpose_slow(float const*, float*)"])
        self.assertEqual({a["op"] for a in report["memory"][0]["global"]}, {"load", "store"})

    def test_pieces_of_a_long_trace_are_in_order_together(self):
        pieces = ([(5, "call"), (9, "call"), (6, "operation")], [(7, "call"), (3, "marker"), (4, "operation"), (2, "marker")])
        lines = [json.dumps({"type": kind, "version": 1, "start_ns": start, "end_ns": start}) for piece in pieces for start, kind in piece]
        trace = fade.read_trace(self.file("\n".join(lines), "pieces.jsonl"))
        self.assertEqual({kind: [x["start_ns"] for x in trace[kind]] for kind in ("calls", "operations", "markers")},
                         {"calls": [5, 7, 9], "operations": [4, 6], "markers": [2, 3]})

    def test_every_format_of_a_trace_is_the_same_trace(self):
        whole = self.folder / "run"
        fade.run("trace", "--gpu", "gfx90a", "-o", f"{whole}/", "--", PROGRAM, "slow", capture_output=True, check=True)
        made = {"folder": whole}
        events = next(whole.rglob("events"))
        for name in ("rpd", "rpd2", "json"):
            made[name] = self.folder / f"made.{name}"
            fade.run("log", events, "--format", name, "-o", made[name], capture_output=True, check=True)
        made["events"] = events

        def operations(trace):
            return [(o["kind"], o.get("kernel") if o["kind"] == "kernel" else None, o["start_ns"], o["end_ns"]) for o in trace["operations"]]
        wanted = fade.read_trace(made["json"])
        self.assertEqual([o["kind"] for o in wanted["operations"]].count("kernel"), 1)
        self.assertIn("copy", [o["kind"] for o in wanted["operations"]])
        for name in ("folder", "events", "rpd", "rpd2"):
            trace = fade.read_trace(made[name])
            self.assertEqual(operations(trace), operations(wanted), name)
            self.assertEqual([(c["function"], c["thread"]) for c in trace["calls"]], [(c["function"], c["thread"]) for c in wanted["calls"]], name)
            for call, other in zip(trace["calls"], wanted["calls"]):  # those of RPD are moved apart
                self.assertLess(abs(call["start_ns"] - other["start_ns"]), 1000)
            by_id = {c["id"]: c["function"] for c in trace["calls"]}
            self.assertEqual([by_id[o["call"]] for o in trace["operations"] if o["kind"] == "kernel"], ["hipLaunchKernel"], name)

    def test_findings_of_a_check_and_of_a_checked_run(self):
        line = {"type": "finding", "version": 1, "check": "race", "id": "race-1", "message": "m"}
        path = self.file(json.dumps(line) + "\n" + json.dumps({"type": "check", "version": 1}) + "\n")
        self.assertEqual(fade.read_findings(path), [line])
        run_folder = self.folder / "checked"
        fade.run("check", "--gpu", "gfx90a", "-o", f"{run_folder}/", "--", PROGRAM, "slow", capture_output=True)
        self.assertEqual(fade.read_findings(run_folder), [])

    def test_a_line_that_was_cut_off_is_left_out_with_a_warning(self):
        good = '{"type":"dispatch","version":1}\n'
        path = self.file(good + '{"type":"disp')
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.assertEqual(len(fade.read_lines(path)), 1)
        self.assertIn(f"{path}:2 is cut off", str(said[0].message))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.assertEqual(len(fade.read_lines(self.file(good + good.rstrip()))), 2)  # no end of line, but whole
        self.assertEqual(said, [])

    def test_what_is_not_ours_is_refused_with_its_name(self):
        cases = {
            '{"type":"dispatch","version":1}\n{"x":\n{}\n': ":2: ", '[1]\n': ":1 was not written by FADE", '{"type":"dispatch"}\n': ":1 was not written by FADE",
            '{"type":"dispatch","version":9}\n': ":1: 'dispatch' has version 9, this module knows 1: update it",
        }
        for content, wanted in cases.items():
            path = self.file(content)
            with self.assertRaises(fade.FormatError) as caught:
                fade.read_lines(path)
            self.assertIn(f"{path}{wanted}", str(caught.exception))
        for content in (b"SQLite format 3\0" + b"x" * 200, b"", b"\x7fELF", b'{"x":1}\n', b"FADEEVNT" + b"\xff" * 64):
            path = self.file(content)
            with self.assertRaises(fade.FormatError) as caught:
                fade.read_trace(path)
            self.assertIn(str(path), str(caught.exception))
        for content in (b"", b"{}", b"[]", b'{"type":"profile","version":3}'):
            with self.assertRaises(fade.FormatError):
                fade.read_profile(self.file(content, "profile.json"))
        with self.assertRaises(FileNotFoundError):
            fade.read_trace(self.folder / "nothing")


class Recording(Scratch):
    def test_parts_of_a_process(self):
        path = self.folder / "run.rpd"
        code = f"""
import ctypes, fade
tracer = fade.trace({str(path)!r})
hip = ctypes.CDLL({HIP!r})
memory = ctypes.c_void_p()
def fill(n):
    for i in range(n): assert hip.hipMemsetAsync(memory, 1, ctypes.c_size_t(4096), None) == 0
    assert hip.hipDeviceSynchronize() == 0
assert hip.hipMalloc(ctypes.byref(memory), 4096) == 0
def fills(): return [o["kind"] for o in fade.read_trace({str(path)!r})["operations"]].count("fill")
fill(3)
with tracer:
    with tracer.range("step", "n=5"):
        fill(5)
    tracer.mark("here")
assert fills() == 5, fills()   # as soon as the part has ended
fill(2)
with fade.trace({str(path)!r}):
    fill(7)
assert fills() == 12, fills()
try:
    fade.trace("other.rpd")
    assert False
except RuntimeError as error:
    assert "this process records into {path}" in str(error), error
markers = {{m["text"]: m for m in fade.read_trace({str(path)!r})["markers"]}}
assert set(markers) == {{"step", "here"}}, markers
assert markers["step"]["args"] == "n=5" and markers["step"]["start_ns"] < markers["step"]["end_ns"]
"""
        run(sys.executable, "-c", code, PYTHONPATH=str(PYTHON), **SOFTWARE_GPU)


class Wheel(Scratch):
    def test_the_wheel_has_the_tools_and_the_module_inside(self):
        path = pathlib.Path(run(sys.executable, ROOT / "scripts/wheel", TREE, "-o", self.folder).stdout.strip())
        first = path.read_bytes()
        run(sys.executable, ROOT / "scripts/wheel", TREE, "-o", self.folder)
        self.assertEqual(first, path.read_bytes())  # reproducible
        wheel = zipfile.ZipFile(path)
        info = next(name for name in wheel.namelist() if name.endswith("/RECORD")).rsplit("/", 1)[0]
        rows = list(csv.reader(io.StringIO(wheel.read(f"{info}/RECORD").decode())))
        self.assertEqual({row[0] for row in rows}, set(wheel.namelist()))
        for name, digest, size in rows[:-1]:
            data = wheel.read(name)
            self.assertEqual((digest, int(size)), ("sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data)), name)
        # As pip puts it there, which is not on every machine.
        site = self.folder / "site"
        for entry in wheel.infolist():
            target = pathlib.Path(wheel.extract(entry, site))
            target.chmod(entry.external_attr >> 16 & 0o777 or 0o644)
        alone = {"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin"}
        self.assertTrue(run(sys.executable, "-m", "fade", "--version", **alone).stdout.startswith("fadeprobe "))
        program = run(sys.executable, "-c", "import fade; print(fade.program(), fade.__version__)", **alone).stdout.split()
        self.assertEqual(program[0], str(site / "fade/_tools/bin/fadeprobe"))
        self.assertIn(f"-{program[1]}-py3-none-", path.name)
        text = run(sys.executable, "-m", "fade", "--gpu", "gfx90a", "-i", "-a", "MemoryAnalysis", "--", PROGRAM, "slow", **alone)
        self.assertIn("transpose_slow", text.stderr + text.stdout)


if __name__ == "__main__":
    try:
        unittest.main(argv=sys.argv[:1])
    finally:
        shutil.rmtree(TREE)
