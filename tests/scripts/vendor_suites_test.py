"""scripts/vendor-suites calls no failure a success: a test program that behaves well and badly in all ways, without a root."""
import importlib.machinery
import importlib.util
import pathlib
import random
import stat
import sys
import tempfile
import types
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/vendor-suites"
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("vendor_suites", str(SCRIPT))
vendor = importlib.util.module_from_spec(importlib.util.spec_from_loader("vendor_suites", loader))
loader.exec_module(vendor)

# Speaks like Google's test framework; a test does what its name says.
PROGRAM = """#!%s
import os, signal, sys
names = "good bad skipped leaves crashes exits spins good2".split()
if "--gtest_list_tests" in sys.argv:
    print("A/Suite.")
    for name in names: print("  " + name + "  # comment")
    sys.exit(0)
chosen = sys.argv[-1].split("=", 1)[1].split(":")
failed = False
for name in names:
    full = "A/Suite." + name
    if full not in chosen or name == "leaves": continue
    print("[ RUN      ] " + full, flush=True)
    if name == "crashes": os.kill(os.getpid(), signal.SIGSEGV)
    if name == "exits": os._exit(0)
    while name == "spins": pass
    word = {"bad": "  FAILED  ", "skipped": "  SKIPPED "}.get(name, "       OK ")
    failed = failed or name == "bad"
    print("output without end of line[" + word + "] " + full + ", where GetParam() = 1 (0 ms)", flush=True)
if "CRASH_AT_EXIT" in os.environ: os.kill(os.getpid(), signal.SIGABRT)
sys.exit(failed)
"""

# Speaks like test-backend-ops, which has an order of its own.
OPERATIONS = """#!%s
import os, signal, sys, time
cases = ["ADD(ne=[1,1],eps=0.5)", "ADD(bad=1)", "MUL(spins=1)", "MUL(crashes=1)", "SUB(left=1)", "ADD(good=2)"]
if "support" in sys.argv:
    print('"op_name","op_params","supported"')
    for case in cases: print('"%%s","%%s","1"' %% (case[:3], case[4:-1]))
    print('"FOO","a=1","0"')
    sys.exit(0)
for case in cases:
    if case not in sys.argv[-1]: continue
    print("  " + case + ": ", end="", flush=True)
    if "crashes" in case: os.kill(os.getpid(), signal.SIGSEGV)
    while "spins" in case: pass
    print("\\033[1;31m" + ("FAIL" if "bad" in case else "not supported [ROCm0]" if "left" in case else "OK") + "\\033[0m", flush=True)
sys.exit("bad" in sys.argv[-1])
"""


class Tests(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.place = pathlib.Path(scratch.name)
        self.program = self.place / "program"
        self.program.write_text(PROGRAM % sys.executable)
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def row(self, driver=vendor.Gtest, **environment):
        suite = vendor.Suite("suite", {6: "package"}, lambda where, root: [[str(self.program)]], driver, 100)
        options = types.SimpleNamespace(rocm=None, roots=self.place, logs=self.place / "logs", seed=1, sample=None, test=None, limit=2, time=600)
        row = vendor.Row(suite, "gfx90a", options)
        row.inside = lambda command: ["env", *(f"{k}={v}" for k, v in environment.items()), *command]
        row.run()
        return {name.rpartition(".")[2]: outcome for (_, name), outcome in row.outcomes.items()}

    def test_every_test_gets_the_outcome_it_had(self):
        self.assertEqual(self.row(), {"good": "passed", "bad": "failed", "skipped": "skipped", "leaves": "skipped", "crashes": "failed", "exits": "failed",
                                      "spins": "stopped", "good2": "passed"})

    def test_operations_of_llama_cpp_get_the_outcome_they_had(self):
        self.program.write_text(OPERATIONS % sys.executable)
        outcomes = self.row(vendor.Operations)
        self.assertEqual(outcomes.pop("5)"), "passed")  # its name has a dot
        self.assertEqual(outcomes, {"ADD(bad=1)": "failed", "MUL(spins=1)": "stopped", "MUL(crashes=1)": "failed", "SUB(left=1)": "skipped", "ADD(good=2)": "passed"})

    def test_a_crash_at_exit_is_a_failure(self):
        self.program.write_text(self.program.read_text().replace(" crashes exits spins", ""))
        self.assertEqual(self.row(CRASH_AT_EXIT=1)["at exit"], "failed")

    def test_a_suite_that_lists_nothing_has_failed(self):
        self.program.write_text("#!/bin/sh\nexit 0\n")
        self.assertEqual(self.row(), {"no test was listed": "failed"})

    def test_a_program_that_is_one_test_passes_only_when_it_says_so(self):
        for text, outcome in [("echo ok", "passed"), ("echo nothing", "failed"), ("echo ok; echo failed", "failed"), ("echo ok; exit 1", "failed")]:
            self.program.write_text("#!/bin/sh\n" + text + "\n")
            self.assertEqual(list(self.row(vendor.Lines).values()), [outcome], text)

    def test_records_of_a_data_file_are_cut_whole(self):
        record = lambda text: text.ljust(20, b"\0")
        head = b"rocBLAS\0" + bytes(range(20)) + b"ROCblas\0"
        source = self.place / "source"
        source.write_bytes(head + b"".join(record(b"%d%s" % (i, b"quick" if i % 2 else b"nightly")) for i in range(10)))
        vendor.cut(source, self.place / "target", 3, random.Random(1))
        cut = (self.place / "target").read_bytes()
        self.assertEqual(cut[:len(head)], head)
        rest = cut[len(head):]
        records = [rest[i:i + 20] for i in range(0, len(rest), 20)]
        self.assertEqual(len(records), 3)
        self.assertEqual(len(set(records)), 3)
        for cut_record in records:
            self.assertIn(cut_record, [record(b"%dquick" % i) for i in range(1, 10, 2)])

    def test_each_group_of_tests_is_in_the_sample_before_one_is_there_twice(self):
        tests = [(["p"], f"Id{i}/Sort/{i}.Test") for i in range(50)] + [(["p"], f"Scan/{i}.Test") for i in range(3)] + [(["q"], "Scan/0.Test")]
        chosen = vendor.spread(tests, random.Random(7))
        self.assertEqual(sorted(chosen), sorted(tests))
        self.assertEqual({(program[0], "Sort" in name) for program, name in chosen[:3]}, {("p", True), ("p", False), ("q", False)})
        self.assertEqual(chosen, vendor.spread(tests, random.Random(7)))

    def test_known_failures_name_suites_and_gpus_that_exist_and_a_reason(self):
        for line in vendor.KNOWN.read_text().splitlines():
            if not line.startswith("#"):
                suite, gpus, test, reason = line.split("\t")
                self.assertIn(suite, [s.name for s in vendor.SUITES])
                self.assertLessEqual(set(gpus.split(",")), set(vendor.GPUS))
                self.assertTrue(test and test != "*" and reason)


if __name__ == "__main__":
    unittest.main()
