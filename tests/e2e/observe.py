"""--observe: kernels that have no instrumented twin are analyzed, too, as the software GPU sees them."""
import json
import os

import fade
from fade import program

OBSERVED = "kernels are observed on the software GPU, as compiled (--observe)"


def accesses(objects):
    """(kernel, space, line, op, bytes) -> (executions, lanes, cache lines), of all dispatches."""
    found = {}
    for each in objects:
        if each["type"] != "memory":
            continue
        for space in ("global", "lds"):
            for site in each[space]:
                key = (each["kernel"], space, site["line"], site["op"], site["bytes"])
                before = found.get(key, (0, 0, 0))
                now = (site["executions"], site["lanes"], site.get("lines_used", 0))
                found[key] = tuple(a + b for a, b in zip(before, now))
    return found


class Tests(fade.Test):
    def analyzed(self, options, app):
        result = self.probe(["-i", "-a", "MemoryAnalysis", *options], app)
        self.assertEqual(result.code, 0, result.said)
        return result

    def test_a_program_without_twins_is_observed_and_one_line_says_so(self):
        result = self.analyzed([], [program("plain"), 3])
        self.assertEqual(result.stdout, "3 dispatches are right\n")
        self.assertEqual("\n".join(result.said).count(OBSERVED), 1)
        found = accesses(result.objects())
        self.assertTrue(any(op == "load" for _, _, _, op, _ in found), found)
        self.assertTrue(any(op == "store" for _, _, _, op, _ in found), found)
        self.assertFalse(accesses(self.analyzed(["--observe", "pass"], [program("plain"), 3]).objects()))

    def test_what_is_observed_is_what_the_twin_says(self):
        app = [os.path.join(fade.BIN, "..", "examples", "programs", "example_transpose")]
        twin, observed = (accesses(self.analyzed(["--observe", who], app).objects()) for who in ("pass", "gpu"))
        self.assertGreater(len(twin), 3)
        self.assertEqual(twin, observed)

    def test_workgroups_dispatches_and_kernels_are_chosen_as_usual(self):
        app = [program("plain"), 4]
        every = sum(x[0] for x in accesses(self.analyzed([], app).objects()).values())
        one = sum(x[0] for x in accesses(self.analyzed(["-d", "1"], app).objects()).values())
        self.assertEqual(every, 4 * one)
        self.assertFalse(accesses(self.analyzed(["-k", "no such kernel"], app).objects()))

    def test_a_recording_of_what_was_observed_says_the_same_later(self):
        path = self.path("stream.fade")
        live = self.analyzed(["--record", path], [program("plain"), 2])
        self.bare([fade.PROBE, "analyze", path, "-a", "MemoryAnalysis", "-t", "json", "-l", self.path("again")])
        with open(self.path("again"), encoding="utf-8") as lines:
            again = accesses(json.loads(line) for line in lines)
        self.assertTrue(again)
        self.assertEqual(accesses(live.objects()), again)

    def test_blocks_are_those_of_the_machine_code(self):
        result = self.probe(["-i", "-a", "BlockCounts", "BlockFlow", "--gpu", "gfx90a", "-k", "^loop"], [program("counted")])
        self.assertEqual(result.code, 0, result.said)
        turns = [max(block["executions"] for block in each["blocks"]) for each in result.objects("blocks")]
        self.assertEqual(turns, [10 * 4, 5 * 4])  # 256 work-items are 4 waves
        (flow,) = result.objects("flow")
        back = [edge for edge in flow["edges"] if edge["from"] == edge["to"]]
        self.assertEqual([edge["executions"] for edge in back], [(9 + 4) * 4])
        self.assertIn("as compiled", result.summary()["notes"][0])

    def test_without_the_software_gpu_nothing_can_be_observed(self):
        result = self.probe(["-i", "--observe", "gpu", "--gpu", "real"], ["true"])
        self.assertEqual(result.code, 2)


if __name__ == "__main__":
    fade.main()
