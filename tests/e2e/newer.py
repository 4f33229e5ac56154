"""What only ROCm 10 has, in a root that looks like it to tools (tests/rocm_next): queues by descriptors, counted queues, copies in
batches, and rocprofiler-register with a client, as PyTorch brings one. The other suites run there as well."""
import json
import os

import fade
from fade import PROBE, code_object, example, program

CLIENT = "/opt/rocm-next/libstub-client.so"


class Tests(fade.Test):
    def with_client(self, **more):
        """The environment of a program that brings a profiler; its tables are logged."""
        self.tables = self.path("tables")
        return dict(LD_PRELOAD=CLIENT, STUB_CLIENT_LOG=self.tables, **more)

    def given_to_client(self):
        with open(self.tables) as file:
            return file.read().split()

    def direct(self, how, options=("-i", "-a", "MemoryAnalysis"), env=None):
        result = self.probe(options, [program("direct"), how, code_object("scale1-twin")], env=env)
        self.assert_fine(result, "all batches are right\n")
        return result

    def assert_vadd_is_seen(self, result):
        self.assertEqual((result.code, result.stdout), (0, "4096 sums are right\n"), result.stderr)
        self.assertEqual(result.said, [])
        seen = result.dispatches("vadd(")
        self.assertEqual([x["instrumented"] for x in seen], [True])
        self.assertLess(0, seen[0]["records"])

    def calls(self, env=None, options=()):
        log = self.path("calls.jsonl")
        result = self.bare([PROBE, "trace", "--api-log", log, *options, "--", example("vadd")], env)
        self.assertEqual(result.code, 0, result.stderr)
        with open(log) as file:
            return [x for x in map(json.loads, file) if x["type"] == "call"], result

    # ---- queues and copies

    def test_kernels_of_hip_are_seen_in_queues_made_by_descriptors(self):
        self.assert_vadd_is_seen(self.probe(["-i"], [example("vadd")]))

    def test_queues_made_by_descriptors_are_watched_and_keep_errors_and_priorities(self):
        scales = self.direct("descriptors").dispatches("scale")
        self.assertEqual([x["instrumented"] for x in scales], [True] * 30)
        self.assertEqual(sum(x["records"] for x in scales), 30 * 4 * 3 * fade.waves(64))

    def test_counted_queues_are_watched(self):
        self.assertEqual(self.direct("counted").summary()["instrumented"], 30)

    def test_copies_in_batches_wait_for_kernels_whose_records_are_copied(self):
        summary = self.direct("batch", ["-i", "--transport", "device"]).summary()
        self.assertEqual((summary["instrumented"], summary["dropped"]), (1, 0))

    # ---- a profiler in the process

    def test_a_profiler_in_the_process_does_not_keep_fade_out(self):
        self.assert_vadd_is_seen(self.probe(["-i"], [example("vadd")], env=self.with_client()))
        self.assertNotIn("hsa", self.given_to_client())

    def test_both_tools_see_the_runtime_if_wanted(self):
        env = self.with_client(FADE_OTHER_TOOLS="keep")
        self.assert_vadd_is_seen(self.probe(["-i"], [example("vadd")], env=env))
        self.assertIn("hsa", self.given_to_client())

    def test_checks_run_beside_a_profiler(self):
        result = self.bare([PROBE, "check", "--error-exitcode", "9", "--", example("vadd")], env=self.with_client())
        self.assertEqual((result.code, result.stdout), (0, "4096 sums are right\n"), result.stderr)
        self.assertRegex(result.stderr, r"1 dispatch|1 kernel|no errors")

    def test_a_capture_beside_a_profiler_replays(self):
        captures = self.path("captures")
        result = self.bare([PROBE, "capture", "-o", captures, "-k", "vadd", "--", example("vadd")], env=self.with_client())
        self.assertEqual(result.code, 0, result.stderr)
        (name,) = os.listdir(captures)
        result = self.bare([PROBE, "replay", os.path.join(captures, name)])
        self.assertEqual(result.code, 0, result.stdout + result.stderr)

    # ---- HIP's tables

    def test_calls_are_recorded_by_the_tables_that_hip_registers(self):
        alone, result = self.calls(options=["-v"])
        self.assertIn("with rocprofiler-register; ", result.stderr)
        self.assertNotIn("found in memory", result.stderr)
        self.assertNotIn(True, [x.get("partial") for x in alone])  # the first one, too
        names = [x["function"] for x in alone]
        self.assertIn("hipLaunchKernel", names)
        self.assertIn("hipMemcpy", names)
        beside, _ = self.calls(self.with_client())
        self.assertEqual([x["function"] for x in beside], names)
        self.assertEqual(sorted(set(self.given_to_client()) & {"hip", "hip_compiler"}), ["hip", "hip_compiler"])

    def test_without_what_is_preloaded_the_table_is_found_in_memory(self):
        log = self.path("calls.events")
        env = {"HSA_TOOLS_LIB": os.path.join(fade.LIB, "libfade.so"), "FADE_TRACE": log, "FADE_TRACE_FORMAT": "events",
               "FADE_VERBOSE": "1", "LD_PRELOAD": os.path.join(fade.LIB, "libfadegpu.so"), "FADE_GPU": fade.GPU}
        result = self.bare([example("vadd")], env)
        self.assertEqual(result.code, 0, result.stderr)
        self.assertIn("HIP's table was found in memory, not by rocprofiler-register: 506 functions", result.stderr)


if __name__ == "__main__":
    fade.main()
