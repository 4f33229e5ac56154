"""Findings in one currency: what a run's counts cost, worked out by hand.

A GPU without a name is taken for an MI210 (gfx90a): lines of 64 bytes in L1, 16 lanes' addresses per cycle, 963.5 bytes of memory per cycle. The
dispatches here have 8 workgroups, so 8 compute units are busy."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import log_lines
from log_lines import access, dispatch, lines, memory

PROBE = os.environ["REPORT_PROBE"]
SUMMARY = {"type": "summary", "version": 1, "records": 1, "bytes": 1, "dropped": 0, "dispatches": 1, "instrumented": 1, "incomplete": 0, "durations": [], "skipped": []}
APART = {"strides": [{"stride": 512, "executions": 100}], "lane_slots": 6400}


def cache(kernel, *entries):
    everything = {"requests": 0, "l1_hits": 0, "l2_hits": 0, "misses": 0, "fetched": 0, "unused": 0, "written": 0, "unwanted": 0, "first_uses": 0, "reuse": []}
    return {"type": "cache", "version": 1, "kernel": kernel, "target": "gfx90a", "dispatches": 1, "all": everything, "allocations": [],
            "accesses": [{**everything, **entry} for entry in entries]}


class Findings(unittest.TestCase):
    def page(self, *objects, kernel="k(int)", **more):
        with tempfile.TemporaryDirectory() as folder:
            log, html = pathlib.Path(folder) / "run.jsonl", pathlib.Path(folder) / "out.html"
            log_lines.write(log, [dispatch(1, kernel, 1000, 100, **more), *objects, SUMMARY])
            done = subprocess.run([PROBE, "report", str(log), "-o", str(html)], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html.read_text(), re.S).group(1))

    def only(self, page):
        self.assertEqual(len(page["findings"]), 1, page["findings"])
        return page["findings"][0]

    def test_perfect_accesses_are_no_finding(self):
        page = self.page(memory(1, "k(int)", [access("a.hip", 3, 1, "load", **lines(200))], [access("a.hip", 4, 1, "load", conflicts=0)]))
        self.assertEqual(page["findings"], [])

    def test_five_lines_with_one_cause_are_one_finding_with_five_places(self):
        found = self.only(self.page(memory(1, "k(int)", [access("a.hip", 10 + i, 1, "load", **{**lines(6400), **APART}) for i in range(5)])))
        self.assertEqual(found["cause"], "scattered access")
        self.assertEqual([place["line"] for place in found["places"]], [10, 11, 12, 13, 14])
        # Each wants 2 * 6400 lines of L1 where 25600 / 64 = 400 would do, on 8 compute units.
        self.assertEqual(found["unit"], "vector memory")
        self.assertAlmostEqual(found["cycles"], 5 * (12800 - 400) / 8)
        # What is left to wait for are loads: 500 of 500 cycles, 4 at a time by each of 4 waves on a unit.
        self.assertAlmostEqual(found["gain"], 1 - 500 * 500 / 4 / (8 * 4) / (5 * 12800 / 8))

    def test_lines_that_are_used_up_later_cost_no_memory_traffic(self):
        # 32 loads of a row for each lane: 3 % of each access, and every byte of what is fetched.
        place = dict(file="a.hip", line=3, column=1, op="load", bytes=4)
        rows = access(**{**place, **lines(6400), **APART})
        used = self.only(self.page(memory(1, "k(int)", [rows]), cache("k(int)", {**place, "requests": 12800, "l1_hits": 12400, "fetched": 25600, "unused": 0})))
        self.assertEqual((used["bytes"], used["unit"]), (0, "vector memory"))
        wasted = self.only(self.page(memory(1, "k(int)", [rows]), cache("k(int)", {**place, "requests": 12800, "fetched": 12800 * 128, "unused": 12800 * 124})))
        self.assertEqual(wasted["bytes"], 12800 * 124)
        self.assertEqual(wasted["unit"], "memory" if 12800 * 124 / 963.5 > 12400 / 8 else "vector memory")

    def test_what_matters_more_comes_first_whatever_it_is_counted_in(self):
        # 100 lines too many on one side, 50,000 turns on the other: fewer in number, but not in cycles.
        page = self.page(memory(1, "k(int)", [access("a.hip", 3, 1, "store", **{**lines(6400), **APART})],
                                [access("a.hip", 4, 1, "load", conflicts=50000, lane_slots=6400, strides=[{"stride": 128, "executions": 100}])]))
        self.assertEqual([found["cause"] for found in page["findings"]], ["bank conflicts", "scattered access"])
        first, second = page["findings"]
        self.assertAlmostEqual(first["cycles"], 50000 / 8)
        # Once the conflicts are gone, vector memory is what the kernel waits for.
        self.assertAlmostEqual(first["gain"], 1 - 1600 / ((50000 + 200) / 8), places=3)
        self.assertGreater(second["gain"], 0)

    def test_conflicts_that_nothing_waits_for_are_no_finding(self):
        page = self.page(memory(1, "k(int)", [access("a.hip", 3, 1, "load", **lines(200), executions=100000, lanes=6400000, lane_slots=6400000)],
                                [access("a.hip", 4, 1, "load", conflicts=300, lane_slots=6400)]))
        self.assertEqual(page["findings"], [])

    def test_combined_atomics_are_no_finding_and_others_are(self):
        hot = {"machine": "combined", "executions": 100, "lanes": 100, "lane_slots": 6400, "hottest": {"address": 64, "operations": 100}}
        busy = access("a.hip", 3, 1, "load", **lines(20000, 20000), executions=10000, lanes=640000, lane_slots=640000)
        self.assertEqual(self.page(memory(1, "k(int)", [busy, access("a.hip", 4, 1, "atomic", **{**lines(100, 100), **hot})]))["findings"], [])
        apart = {**hot, "machine": "", "lanes": 64000, "lane_slots": 64000, "executions": 1000, "same_address": 63000, "hottest": {"address": 64, "operations": 64000}}
        found = self.only(self.page(memory(1, "k(int)", [busy, access("a.hip", 4, 1, "atomic", **{**lines(1000, 1000), **apart})])))
        self.assertEqual((found["cause"], found["unit"]), ("atomics on one address in a wave", "atomics"))
        self.assertAlmostEqual(found["cycles"], 63000)

    def test_lanes_that_stand_by_are_a_finding(self):
        counts = {"type": "hotspots", "version": 1, "kernel": "k(int)", "symbol": "k", "target": "gfx90a", "dispatches": 1, "wave_size": 64, "executions": 8000, "lanes": 256000,
                  "mix": [{"unit": "valu", "executions": 8000, "lanes": 256000}], "bytes": {}, "instructions": [], "lines": []}
        found = self.only(self.page(counts))
        self.assertEqual((found["cause"], found["unit"]), ("divergence", "vector ALU"))
        self.assertAlmostEqual(found["cycles"], 8000 / 8 / 2)
        self.assertAlmostEqual(found["gain"], 0.5)

    def test_one_wave_that_does_the_work_of_many_is_a_finding(self):
        line = memory(1, "k(int)", [access("a.hip", 3, 1, "load", **lines(200), executions=1032, lanes=66048, lane_slots=66048)])
        line["waves"] = {"count": 32, "executions": 1032, "most": 1001}
        found = self.only(self.page(line))
        self.assertEqual(found["cause"], "uneven waves")
        self.assertIn("1001", found["counts"])
        line["waves"]["most"] = 33
        self.assertEqual(self.page(line)["findings"], [])

    def test_costs_are_those_of_the_busiest_unit(self):
        cost = self.page(memory(1, "k(int)", [access("a.hip", 3, 1, "load", **lines(200), lane_slots=6400)]))["costs"][0]
        self.assertAlmostEqual(cost["units"]["vector memory"], max(100 * 64 / 16, 400) / 8)


if __name__ == "__main__":
    unittest.main()
