"""scripts/test-counts counts what ctest and GoogleTest really print: test_counts_test.py PROGRAM (outcomes.cpp)"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

COUNTS = pathlib.Path(__file__).resolve().parents[2] / "scripts/test-counts"
PROGRAM = sys.argv.pop()


class Tests(unittest.TestCase):
    def counts(self, *tests):
        """What is counted after ctest has run these commands."""
        with tempfile.TemporaryDirectory() as folder:
            lines = [f'add_test(t{i} {" ".join(command)})\nset_tests_properties(t{i} PROPERTIES SKIP_RETURN_CODE 77)'
                     for i, command in enumerate(tests)]
            (pathlib.Path(folder) / "CTestTestfile.cmake").write_text("\n".join(lines))
            with open(pathlib.Path(folder) / "test.log", "w") as log:
                subprocess.run(["ctest", "--test-dir", folder, "--output-on-failure"], stdout=log, stderr=log)
            return subprocess.run([COUNTS, folder], capture_output=True, text=True).stdout.split()

    def outcomes(self, *names):
        return [PROGRAM, "--gtest_brief=1", "--gtest_filter=" + ":".join("Outcomes." + n for n in names)]

    def test_programs_without_a_framework_count_once(self):
        self.assertEqual(self.counts(["true"], ["true"], ["false"], ["sh", "-c", '"exit 77"']), ["2", "1", "1"])

    def test_each_test_of_a_googletest_program_counts(self):
        self.assertEqual(self.counts(self.outcomes("GoodOne", "GoodTwo", "GoodThree")), ["3", "0", "0"])

    def test_a_skipped_test_is_not_a_passed_one(self):
        self.assertEqual(self.counts(self.outcomes("GoodOne", "LeftOut"), ["true"]), ["2", "0", "1"])

    def test_each_failed_test_counts(self):
        self.assertEqual(self.counts(self.outcomes("GoodOne", "BadOne", "BadTwo", "LeftOut")), ["1", "2", "1"])
        self.assertEqual(self.counts(self.outcomes("GoodOne", "BadOne")), ["1", "1", "0"])

    def test_a_program_that_dies_is_a_failure(self):
        self.assertEqual(self.counts(self.outcomes("GoodOne", "Crash"), ["true"]), ["1", "1", "0"])

    def test_no_run_is_a_failure(self):
        self.assertEqual(self.counts(), ["0", "1", "0"])


unittest.main()
