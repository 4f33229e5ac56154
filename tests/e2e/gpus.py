"""GPUs that this machine's HIP and compiler do not know, with a newer ROCm: what hiprtc compiles for them runs, is observed, checked,
captured, replayed and profiled."""
import json
import os

import fade
from fade import GPU, HIP, LANES, PROBE, program

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels", "gpus.hip")
# Name, bytes of LDS of a workgroup, and how many products the matrix instruction of gpus.hip adds up.
CARDS = {"gfx908": ("AMD Instinct MI100", 64, 4), "gfx950": ("AMD Instinct MI355X", 160, 128),
         "gfx1150": ("AMD Radeon 890M Graphics", 64, 16), "gfx1151": ("AMD Radeon 8060S Graphics", 64, 16),
         "gfx1152": ("AMD Radeon 860M Graphics", 64, 16), "gfx1153": ("AMD Radeon 840M Graphics", 64, 16),
         "gfx1200": ("AMD Radeon RX 9060 XT", 64, 16), "gfx1201": ("AMD Radeon RX 9070 XT", 64, 16)}
NAME, LDS, DEPTH = CARDS[GPU]
HEADLINE = f"{NAME}, {LDS * 1024} bytes of LDS, waves of {LANES}\n"
IS_KNOWN = HIP >= 7 or GPU != "gfx950"  # to HIP
SPLITS_BARRIERS = GPU.startswith("gfx12")
HAS_SCALAR_FLOATS = GPU.startswith(("gfx115", "gfx12"))


class Tests(fade.Test):
    def setUp(self):
        super().setUp()
        if not IS_KNOWN and not self.id().endswith("_is_named"):
            self.skipTest(f"HIP {HIP} does not know {GPU}")

    def app(self, *what):
        return [program("gpus"), SOURCE, *what]

    def check(self, *what, code, checks="default"):
        chosen = [] if checks == "default" else ["--checks", checks]
        result = self.bare([PROBE, "check", "--error-exitcode", "9", *chosen, "--", *self.app(*what)])
        self.assertEqual(result.code, code, result.stderr + result.stdout)
        return result

    def test_kernels_come_to_the_right_results(self):
        result = self.probe([], self.app())
        self.assert_fine(result, HEADLINE + f"workgroup 0 says 42\na product of depth {DEPTH}\nall right\n")
        self.assertEqual(len(result.dispatches("add")), 1)

    def test_a_gpu_that_hip_does_not_know_is_named(self):
        if IS_KNOWN:
            self.skipTest(f"HIP {HIP} knows {GPU}")
        result = self.software_gpu(self.app())
        self.assertEqual(result.code, 1)
        self.assertRegex(result.stderr, rf"^fadegpu: FADE_GPU: {GPU} is not known to the HIP of this process \(.*\): it finds no such device")

    def test_kernels_are_observed_as_compiled(self):
        result = self.probe(["-i", "-a", "MemoryAnalysis", "-a", "Hotspots"], self.app())
        self.assertEqual(result.code, 0, result.stderr)
        adds = [x for x in result.objects("memory") if x["kernel"] == "add"]
        self.assertEqual(len(adds), 1)
        lanes = {(x["op"], x["bytes"]): x["lanes"] for x in adds[0]["global"] if x["op"] == "store"}
        self.assertEqual(lanes, {("store", 4): 10000})
        self.assertEqual(sum(x["lanes"] for x in adds[0]["global"] if x["op"] == "load"), 20000)
        products = [x for x in result.objects("hotspots") if x["kernel"] == "product"]
        self.assertEqual(len(products), 1)

    def test_a_missing_barrier_is_found(self):
        result = self.check("racy", code=9)
        self.assertRegex(result.stdout + result.stderr, r"race: (store and load|load and store) of byte \d+ of LDS by different waves")

    def test_barriers_order_waves(self):
        self.assertIn("no findings", self.check("split", code=0).stderr)

    def test_what_is_read_between_signal_and_wait_races(self):
        if not SPLITS_BARRIERS:
            self.skipTest("barriers are one instruction")
        result = self.check("early", code=9)
        self.assertRegex(result.stdout + result.stderr, r"race: (store and load|load and store) of byte \d+ of LDS by different waves")

    def test_an_infinity_of_the_unit_that_computes_what_is_the_same_for_all_lanes_is_found(self):
        result = self.check("overflow", code=9, checks="nan")
        unit = "s" if HAS_SCALAR_FLOATS else "v"
        self.assertRegex(result.stdout + result.stderr, rf"nan: infinity produced by {unit}_\w+_f32\w* of 3e\+30, 3e\+30.*, stored to byte 0 of allocation")
        self.assertIn("no findings", self.check("scaled", code=0, checks="nan").stderr)

    def test_captures_replay_the_same(self):
        captures = self.path("captures")
        result = self.probe(["capture", "-o", captures, "-k", "^(add|reduce|steps|product)"], self.app(), json_log=False)
        self.assertEqual(result.code, 0, result.stderr)
        found = sorted(os.listdir(captures))
        self.assertEqual(found, ["add.1", "product.1", "reduce.1", "steps.1"])
        for each in found:
            replayed = self.bare([PROBE, "replay", os.path.join(captures, each)])
            self.assertEqual(replayed.code, 0, replayed.stderr + replayed.stdout)
            self.assertIn(f"on the executor for {GPU}", replayed.stdout)

    def test_profiles_are_those_of_the_card(self):
        result = self.bare([PROBE, "profile", "--", *self.app()])
        self.assertEqual(result.code, 0, result.stderr)
        self.assertIn(f"{GPU}: times are modeled for {NAME.removesuffix(' Graphics')}", result.stdout + result.stderr)

    def test_a_trace_has_the_kernels(self):
        log = self.path("calls.jsonl")
        result = self.bare([PROBE, "trace", "--api-log", log, "--", *self.app()])
        self.assertEqual(result.code, 0, result.stderr)
        with open(log) as file:
            kernels = {x.get("kernel") or x.get("name") for x in map(json.loads, file)}
        self.assertIn("product", kernels)


if __name__ == "__main__":
    fade.main()
