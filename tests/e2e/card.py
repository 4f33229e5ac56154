"""The software GPU as unforgiving as a card, and machines that not everybody has."""
import math
import os
import re
import signal
import time

import fade
from fade import code_object, program

# An eighth of a card: grids that fill it are small.
EIGHTH = {"FADE_GPU_RESIDENT": "card", "FADE_GPU_MACHINE": "cpx"}

ENGINE_GHZ = {"gfx908": 1.502, "gfx90a": 1.7, "gfx942": 2.1, "gfx950": 2.4, "gfx1030": 2.575, "gfx1100": 2.482, "gfx1150": 2.9, "gfx1151": 2.9, "gfx1200": 3.13,
              "gfx1201": 2.97}

MANY_REGISTERS = ("gfx1100", "gfx1151", "gfx1200", "gfx1201")  # half as many again for each lane

GAPS_BY_COMPILER = "clang 19 does not wait for SALU results on gfx12" if fade.GPU.startswith("gfx12") else ""


class Tests(fade.Test):
    def on_instinct(self, why):
        if not fade.GPU.startswith("gfx9"):
            self.skipTest(why)

    def direct(self, how, options=("-i", "-a", "Heatmap"), **more):
        result = self.probe(options, [program("direct"), how, code_object("scale1-twin")], **more)
        self.assertEqual((result.code, result.stdout), (0, "all batches are right\n"), result.stderr)
        return result

    # ---- residency

    def test_a_cooperative_kernel_whose_twin_does_not_fit_is_left_alone(self):
        if fade.GPU in MANY_REGISTERS:
            self.skipTest("it has so many registers that the instrumented form fits, too")
        result = self.probe(["-i"], [program("resident"), "cooperative"], env=EIGHTH)
        self.assertEqual(result.code, 0, result.stderr)
        self.assertRegex(result.stdout, r"^\d+ workgroups\nall workgroups met\n$")
        groups = int(result.stdout.split()[0])
        skipped = [x["reason"] for x in result.summary()["skipped"] if x["kernel"].startswith("meet")]
        self.assertEqual(len(skipped), 1, result.summary())
        self.assertRegex(skipped[0], rf"^it is launched cooperatively, and its instrumented form takes more registers or LDS: \d+ of its {groups} workgroups fit at once$")
        self.assertEqual([x["instrumented"] for x in result.dispatches("meet")], [False])

    def test_a_persistent_kernel_that_does_not_end_is_explained(self):
        if fade.GPU in MANY_REGISTERS:
            self.skipTest("it has so many registers that the instrumented form fits, too")
        process = self.start(["-i"], [program("resident"), "persistent"], env={**EIGHTH, **fade.SOON})
        self.assertRegex(process.stdout.readline(), r"^\d+ workgroups$")
        time.sleep(2)  # it does not end: that nobody else comes is what a card does
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        result = self.finish(process)
        self.assertRegex(result.stderr, r"in flight: dispatch \d+: meet")
        self.assertRegex(result.stderr, r"\d+ of its \d+ workgroups fit on the GPU at once, of the original all: if they wait for each other, it never ends; leave it out with --kernels")

    def test_a_grid_that_fills_the_card_runs_without_instrumentation(self):
        for how in ("cooperative", "persistent"):
            result = self.software_gpu([program("resident"), how], env=EIGHTH)
            self.assertEqual(result.code, 0, result.stderr)
            self.assertIn("all workgroups met\n", result.stdout)

    # ---- wait states

    def test_a_wait_state_that_is_missing_is_said_once_of_originals_and_of_twins(self):
        hazards = {"FADE_GPU_HAZARDS": "card"}
        line = rf"^fadegpu: {fade.GPU}: kernel (\S+): 0x[0-9a-f]+ comes too early behind 0x[0-9a-f]+: .*: \d between them, \d+ needed"
        early = [program("early"), "broken"]
        original = self.software_gpu(early, hazards)
        self.assertEqual((original.code, original.stdout, len(original.said)), (0, "1\n", 1), original.stderr)
        self.assertRegex(original.said[0], line)
        if GAPS_BY_COMPILER:
            self.skipTest(GAPS_BY_COMPILER)
        twin = self.probe(["-i"], early, env=hazards)
        self.assertEqual((twin.code, twin.stdout, len(twin.said)), (0, "1\n", 1), twin.stderr)
        self.assertTrue(re.match(line, twin.said[0])[1].startswith("__fade_"), twin.said)
        for app, env in ((early, {"FADE_GPU_HAZARDS": "off"}), ([program("early"), "fine"], hazards)):
            self.assert_fine(self.software_gpu(app, env), "1\n")
            self.assert_fine(self.probe(["-i"], app, env=env), "1\n")

    def test_no_wait_state_is_missing_in_twins(self):
        if GAPS_BY_COMPILER:
            self.skipTest(GAPS_BY_COMPILER)
        for name, analyzer in (("sums", "MemoryAnalysis"), ("unsummed", "MemoryAnalysis"), ("timed_blocks", "BlockCounts")):
            result = self.probe(["-i", "-a", analyzer], [program(name)], env={"FADE_GPU_HAZARDS": "card"})
            self.assert_fine(result)
            self.assertGreater(result.summary()["instrumented"], 0, name)

    # ---- clocks

    def check_clocks(self, name, analyzers):
        """No block takes longer than all waves of its dispatch together could."""
        result = self.probe(["-i", *analyzers], [program(name)], env={"FADE_GPU_CLOCK": "card"})
        self.assert_fine(result)
        dispatches = {x["dispatch_id"]: x for x in result.objects("dispatch")}
        timed = 0
        for blocks in result.objects("blocks"):
            dispatch = dispatches[blocks["dispatch_id"]]
            most = 2 * dispatch["workgroups"] * fade.waves(math.prod(dispatch["workgroup"])) * (dispatch["end_ns"] - dispatch["start_ns"]) * ENGINE_GHZ[fade.GPU]
            for block in blocks["blocks"]:
                self.assertLess(block.get("clocks", 0), most, (name, dispatch, block))
                timed += block.get("clocks", 0) > 0
        self.assertGreater(timed, 0, name)
        return result

    def test_clocks_of_blocks_are_right_when_the_clock_wraps(self):
        recorded = self.check_clocks("unsummed", ["-a", "BlockCounts", "-a", "MessageLogger"])
        # The first wave of all looked at it right before.
        bits = 20 if fade.GPU.startswith("gfx11") else 32
        first = min(x["clock"] for x in recorded.objects("wave_begin") if x["clock"] >= 2**bits - 64)
        if fade.GPU.startswith("gfx12"):  # two halves, read one after the other: the upper one may have changed meanwhile
            self.assertLessEqual(first, 2**bits)
        else:
            self.assertEqual(first, 2**bits - 64)
        self.check_clocks("timed_blocks", ["-a", "BlockCounts"])

    # ---- memory behind the PCI aperture

    def arguments_of(self, result):
        return {x.get("argument") for heatmap in result.objects("heatmap") for x in heatmap["allocations"]}

    def test_arguments_in_vram_are_known_to_analyzers(self):
        self.on_instinct("the host does not see the memory of the others")
        # Where HIP has them on MI300, and process_vm_readv does not reach.
        expected = self.arguments_of(self.direct("memory"))
        self.assertNotEqual(expected, {None})
        result = self.direct("vram")
        self.assertEqual(result.summary()["instrumented"], 30)
        self.assertEqual(self.arguments_of(result), expected)

    def test_arguments_that_the_host_cannot_read_are_a_reason_and_no_crash(self):
        if fade.GPU.startswith("gfx115"):
            self.skipTest("it has no memory of its own")
        result = self.direct("vram", env={"FADE_GPU_MACHINE": "small-bar"})
        self.assertEqual(result.summary()["instrumented"], 0)
        self.assertEqual({x["reason"] for x in result.summary()["skipped"]}, {"its arguments are in memory that the host cannot read"})

    # ---- machines

    def test_programs_run_on_machines_of_all_kinds(self):
        for machine in ("small-bar", "no-atomics", "two-sockets", "apu", "no-atomics,small-bar,two-sockets"):
            result = self.probe(["-i", "-a", "MemoryAnalysis"], [program("scaling")], stdin="\n\n", env={"FADE_GPU_MACHINE": machine})
            self.assertEqual(result.code, 0, (machine, result.stderr))
            self.assertEqual(result.said, [], machine)
            self.assertGreater(result.summary()["instrumented"], 0, machine)

    def test_rings_are_in_the_memory_of_the_socket_that_the_gpu_is_at(self):
        # Agents 0 and 1 are the sockets; the first GPU is at the second one.
        result = self.probe(["-v", "-i"], [program("agents")], env={"FADE_GPU_MACHINE": "two-sockets", "FADE_GPU": "gfx90a,gfx90a"})
        self.assertEqual(result.code, 0, result.stderr)
        for line in ("rings of agent 2 are in the memory of agent 1", "rings of agent 3 are in the memory of agent 0"):
            self.assertIn(line, result.stderr)

    def test_every_partition_is_a_gpu_of_its_own(self):
        self.on_instinct("others have no partitions")
        result = self.probe(["-i", "-a", "MemoryAnalysis"], [program("agents")], env={"FADE_GPU_MACHINE": "cpx"})
        self.assertEqual((result.code, result.stdout), (0, "8 devices are right\n"), result.stderr)
        numbers = result.dispatches("number(")
        self.assertEqual(sorted({x["agent"] for x in numbers}), list(range(1, 9)))
        self.assertTrue(all(x["instrumented"] and x["records"] > 0 for x in numbers))

    def test_streams_of_records_need_no_pcie_atomics_and_no_large_bar(self):
        for transport in ("host", "device"):
            result = self.probe(["--transport", transport, "--stream", "-i", "-a", "MemoryAnalysis"], [program("streaming")],
                                env={"FADE_GPU_MACHINE": "no-atomics,small-bar,two-sockets"})
            self.assertEqual(result.code, 0, result.stderr)
            self.assertEqual(result.summary()["incomplete"], 0)

    # ---- captures of large memory

    def test_a_capture_of_more_than_the_limit_is_refused_before_anything_is_read(self):
        captures = self.path("captures")
        result = self.bare([fade.PROBE, "capture", "-k", "^scale", "--max-size", "1M", "-o", captures, "--", program("scaling")], stdin="\n")
        self.assertEqual(result.code, 1, result.stderr)  # nothing was captured
        self.assertRegex(result.stderr, r"capture: scale.*\(dispatch 1\) is not captured: its [\d.]+ MiB of memory are more than 1\.0 MiB \(--max-size\); --reachable reads only what pointers lead to\n")
        self.assertEqual(os.listdir(captures), [])

    def test_the_size_of_a_capture_is_checked(self):
        done = self.bare([fade.PROBE, "capture", "--max-size", "many", "-o", self.dir, "--", "true"])
        self.assertEqual(done.code, 2)
        self.assertIn("--max-size", done.stderr)


if __name__ == "__main__":
    fade.main()
