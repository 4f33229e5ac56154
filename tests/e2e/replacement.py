"""Which kernel runs instead of which, and why not."""
import os
import shutil

import fade
from fade import code_object, program

SCALING = program("scaling")


class Tests(fade.Test):
    def setUp(self):
        super().setUp()
        self.cache = self.path("cache")
        os.makedirs(self.cache)

    def put(self, name, place="a/b"):
        """Into the cache, somewhere below, and all at once."""
        directory = os.path.join(self.cache, place)
        os.makedirs(directory, exist_ok=True)
        target = os.path.join(directory, name + ".hsaco")
        shutil.copy(code_object(name), target + ".part")
        os.rename(target + ".part", target)
        return target

    def scaled(self, options, lines, **more):
        result = self.probe(options, [SCALING], stdin="\n".join(lines) + "\n", **more)
        self.assertEqual(result.code, 0, result.stderr)
        return result

    def variants(self, result):
        return [x["variant"] for x in result.dispatches("scale")]

    def reason(self, result):
        skipped = [x for x in result.summary()["skipped"] if x["kernel"].startswith("scale")]
        self.assertEqual(len(skipped), 1, skipped)
        return skipped[0]["reason"]

    def test_the_twin_in_the_same_executable_comes_first(self):
        self.put("scale1-replaced")
        result = self.scaled(["-i", "-c", self.cache], ["go"])
        self.assertEqual(result.stdout, "9\n")
        self.assertEqual(self.variants(result), ["instrumented"] * 2)

    def test_a_kernel_of_the_cache_with_one_more_pointer_is_instrumented(self):
        file = self.put("scale1-replaced")
        result = self.scaled(["-i", "-a", "MemoryAnalysis", "-c", self.cache],
                             ["file " + code_object("scale1")])
        self.assertEqual(result.stdout, "9\n")
        self.assertEqual(self.variants(result), [file] * 2)
        self.assertTrue(all(x["instrumented"] and x["records"] > 0
                            for x in result.dispatches("scale")))
        lines = result.objects("memory")[0]["global"]
        self.assertEqual({x["op"] for x in lines}, {"load", "store"})
        self.assertTrue(all(x["file"].endswith("scale.hip") and x["line"] > 0 for x in lines))

    def test_a_twin_in_the_cache_serves_as_well(self):
        file = self.put("scale1-twin")
        result = self.scaled(["-i", "-c", self.cache], ["data " + code_object("scale1")])
        self.assertEqual(result.stdout, "9\n")
        self.assertEqual(self.variants(result), [file] * 2)

    def test_other_arguments_are_refused_with_the_reason(self):
        self.put("scale3-replaced")
        result = self.scaled(["-i", "-c", self.cache], ["file " + code_object("scale1")])
        self.assertEqual(result.stdout, "9\n")
        self.assertEqual(self.variants(result), ["original"] * 2)
        self.assertRegex(self.reason(result), "scale3-replaced.hsaco: .*argument")

    def test_a_kernel_without_the_pointer_is_not_taken_for_an_instrumented_one(self):
        self.put("scale2")
        result = self.scaled(["-i", "-c", self.cache], ["file " + code_object("scale1")])
        self.assertEqual(result.stdout, "9\n")
        self.assertEqual(self.variants(result), ["original"] * 2)
        self.assertRegex(self.reason(result), "scale2.hsaco")

    def test_code_of_another_gpu_is_refused_with_the_reason(self):
        self.put("scale1-other-gpu")
        result = self.scaled(["-i", "-c", self.cache], ["file " + code_object("scale1")])
        self.assertEqual(result.stdout, "9\n")
        self.assertRegex(self.reason(result), f"gfx(1030|90a), the agent is {fade.GPU}")

    def test_a_twin_whose_counters_its_compiler_uses_is_refused_with_the_reason(self):
        if fade.GPU != "gfx90a":
            self.skipTest("the instruction that is exchanged is one of gfx9")
        bcnt1_s89_exec, mov_s89_s4 = bytes.fromhex("7e0dd9be"), bytes.fromhex("0400d9be")
        with open(program("timed_blocks"), "rb") as file:
            code = file.read()
        self.assertIn(bcnt1_s89_exec, code)
        broken = self.path("broken")
        with open(broken, "wb") as file:
            file.write(code.replace(bcnt1_s89_exec, mov_s89_s4))
        os.chmod(broken, 0o755)
        whole = self.probe(["-i", "-a", "BlockCounts"], [program("timed_blocks")])
        instrumented = whole.summary()["instrumented"]
        result = self.probe(["-i", "-a", "BlockCounts"], [broken])
        self.assertEqual((result.code, result.stdout), (0, whole.stdout), result.stderr)
        skipped = result.summary()["skipped"]
        self.assertTrue(skipped)
        self.assertEqual(instrumented - result.summary()["instrumented"], sum(x["count"] for x in skipped))
        for kernel in skipped:
            self.assertRegex(kernel["reason"], r"^its counters are in s\d+ to s89, where its compiler has values of its own \(s_mov_b32 s89, s4\): compile it ")

    def test_without_twin_and_cache_the_original_runs_and_it_is_said_why(self):
        result = self.scaled(["-i", "--observe", "pass"], ["file " + code_object("scale1")])
        self.assertEqual(result.stdout, "9\n")
        self.assertEqual(self.variants(result), ["original"] * 2)
        self.assertIn("no instrumented twin", self.reason(result))

    def test_comparison_runs_other_versions_in_turns_and_times_them_apart(self):
        second, fourth = self.put("scale2"), self.put("scale4", "c")
        result = self.scaled(["-c", self.cache], ["file " + code_object("scale1")] * 2)
        # 1 * 3 * 3, with version 4 adding 1000 behind the second multiplication
        self.assertEqual(result.stdout, "1009\n" * 2)
        self.assertEqual(self.variants(result), [second, fourth] * 2)
        durations = {x["variant"]: x["count"] for x in result.summary()["durations"]
                     if x["kernel"] == "scale"}
        self.assertEqual(durations, {second: 2, fourth: 2})

    def test_comparison_works_on_kernels_that_are_part_of_the_program(self):
        second = self.put("scale2")
        result = self.scaled(["-c", self.cache], ["go"])
        self.assertEqual(result.stdout, "9\n")
        self.assertEqual(self.variants(result), [second] * 2)

    def test_comparison_refuses_other_arguments(self):
        self.put("scale3")
        result = self.scaled(["-c", self.cache], ["file " + code_object("scale1")])
        self.assertEqual(result.stdout, "9\n")
        self.assertEqual(self.variants(result), ["original"] * 2)
        self.assertRegex(self.reason(result), "scale3.hsaco: .*argument")

    def test_kernels_and_dispatches_choose_what_is_exchanged(self):
        fourth = self.put("scale4")
        result = self.scaled(["-c", self.cache, "-d", "2"], ["file " + code_object("scale1")])
        self.assertEqual(result.stdout, "1009\n")
        self.assertEqual(self.variants(result), ["original", fourth])
        result = self.scaled(["-c", self.cache, "-k", "other"], ["file " + code_object("scale1")])
        self.assertEqual(result.stdout, "9\n")

    def test_a_file_that_appears_while_the_application_runs_is_used(self):
        process = self.start(["-c", self.cache], [SCALING])
        def line(text):
            process.stdin.write(text + "\n")
            process.stdin.flush()
            return process.stdout.readline()
        self.assertEqual(line("file " + code_object("scale1")), "9\n")
        fourth = self.put("scale4", "made/later")
        fade.time.sleep(0.1)
        self.assertEqual(line("go"), "4009\n")  # (1 * 3 + 1000) * 3 + 1000
        os.unlink(fourth)
        fade.time.sleep(0.1)
        self.assertEqual(line("go"), "9\n")
        result = self.finish(process)
        self.assertEqual(self.variants(result), ["original"] * 2 + [fourth] * 2 + ["original"] * 2)

    def test_files_that_are_no_code_objects_are_passed_over(self):
        for name, contents in (("empty", b""), ("text", b"hello"), ("elf", b"\x7fELF" + b"\0" * 60)):
            with open(os.path.join(self.cache, name + ".hsaco"), "wb") as file:
                file.write(contents)
        with open(code_object("scale2"), "rb") as whole:
            with open(os.path.join(self.cache, "cut.hsaco"), "wb") as file:
                file.write(whole.read()[:2000])
        result = self.scaled(["-c", self.cache], ["file " + code_object("scale1")])
        self.assertEqual(result.stdout, "9\n")
        self.assertEqual(result.said, [])

    def test_several_directories_are_searched(self):
        other = self.path("other")
        os.makedirs(other)
        fourth = self.put("scale4")
        result = self.scaled(["-c", other + ":" + self.cache], ["file " + code_object("scale1")])
        self.assertEqual(self.variants(result), [fourth] * 2)

    def test_modules_that_come_and_go_are_all_reported(self):
        file = code_object("scale1-twin")
        lines = ["file " + file, "unload", "data " + file, "unload"] * 5
        result = self.scaled(["-i", "-a", "MemoryAnalysis"], lines)
        self.assertEqual(result.stdout, "9\n" * 20)
        self.assertEqual(self.variants(result), ["instrumented"] * 40)
        self.assertEqual(sum(x["executions"] for m in result.objects("memory")
                             for x in m["global"]), 40 * 5 * 2 * fade.waves(64))


if __name__ == "__main__":
    fade.main()
