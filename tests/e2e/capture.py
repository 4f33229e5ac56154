"""fadeprobe capture, captures and replay."""
import json
import os
import signal
import time

import fade

# Scenarios of captured.hip: the kernel that is captured, and which of its dispatches.
KINDS = {"add": ("^add", 1), "chase": ("^chase", 1), "dynamic_lds": ("dynamicLds", 1), "variables": ("variables", 2),
         "functions": ("callObjects", 1), "float_sum": ("floatSum", 1), "printf": ("^say", 1), "host_memory": ("hostMemory", 1),
         "scratch": ("scratch", 1), "recursion": ("recursion", 1), "gather": ("gather", 1), "heap": ("sumLists", 1),
         "cooperative": ("cooperative", 1), "graph": ("^add", 4), "streams": ("^add", 2), "wait_value": ("^add", 1), "mapped": ("^add", 1)}
# Device malloc of Debian 12's device libraries asks a clock that gfx11 and gfx12 do not have; the compiler leaves the question out, and it waits forever.
ALLOCATES = not fade.GPU.startswith(("gfx11", "gfx12"))
ALONE = {"FADE_GPU_WORKERS": "1"}  # atomics in the same order each time


class Tests(fade.Test):
    def capture(self, scenario, *options, size="", env=None, **more):
        self.captures = self.path("captures")
        app = [fade.program("captured"), scenario] + ([size] if size else [])
        return self.probe(["capture", "-o", self.captures, *options], app, json_log=False,
                          env=dict(ALONE, **(env or {})), **more)

    def captured(self, scenario, **more):
        """Path of one capture."""
        kernel, dispatch = KINDS[scenario]
        result = self.capture(scenario, "-k", kernel, "-d", str(dispatch), **more)
        self.assertEqual(result.code, 0, result.stderr)
        found = os.listdir(self.captures)
        self.assertEqual(len(found), 1, result.stderr)
        return os.path.join(self.captures, found[0])

    def replay(self, path, *options, code=0, model=False):
        if "-c" in options and not model:
            options += ("--no-model",)  # two more runs, through ROCr
        result = self.bare([fade.PROBE, "replay", path, *options], env=ALONE)
        self.assertEqual(result.code, code, result.stdout + result.stderr)
        return result

    def kinds(self, *names):
        for name in names:
            with self.subTest(name):
                plain = self.software_gpu([fade.program("captured"), name], ALONE)
                kernel, dispatch = KINDS[name]
                result = self.capture(name, "-k", kernel, "-d", str(dispatch))
                self.assertEqual((result.code, result.stdout), (0, plain.stdout), result.stderr)
                found = [os.path.join(self.captures, x) for x in os.listdir(self.captures)]
                self.assertEqual(len(found), 1, result.stderr)
                checked = self.replay(found[0], "--check", "--iterations", "20")
                self.assertRegex(checked.stdout, r"check: equal, [1-9]\d* pages? compared")
                self.assertNotIn("not deterministic", checked.stdout)
                fade.shutil.rmtree(self.captures)

    def test_code_and_arguments_of_all_kinds_replay_the_same(self):
        self.kinds("add", "dynamic_lds", "scratch", "recursion", "functions", "printf")

    def test_memory_of_all_kinds_replays_the_same(self):
        self.kinds("chase", "variables", "host_memory", "float_sum", "gather", *(["heap"] if ALLOCATES else []))

    def test_launches_of_all_kinds_replay_the_same(self):
        self.kinds("cooperative", "graph", "streams", "wait_value")

    def test_kernels_of_all_kinds_replay_the_same_through_rocr(self):
        for name in ("add", "variables", "functions", "host_memory", "printf", "cooperative"):
            with self.subTest(name):
                path = self.captured(name)
                checked = self.replay(path, "--on", "gpu", "--check", "--iterations", "3")
                self.assertRegex(checked.stdout, fr"on {fade.GPU}: 3 times")
                self.assertNotIn("not deterministic", checked.stdout)  # as it would be with what the last run left
                self.assertRegex(checked.stdout, r"check: equal, [1-9]\d* pages? compared")
                fade.shutil.rmtree(self.captures)

    def test_a_heap_that_grows_in_a_replay_does_no_harm(self):
        if not ALLOCATES:
            self.skipTest("malloc waits forever here")
        self.assertEqual(self.capture("malloc", "-k", "^mallocAndFree").code, 0)
        for on in ("software", "gpu"):
            # Where slabs come to lie, and with them the heap's lists, is another thing each time.
            self.assertIn("check: equal", self.replay(self.captures, "--check", "--iterations", "3", "--on", on).stdout)

    def test_only_what_pointers_lead_to_is_captured_if_that_is_wanted(self):
        sizes = {}
        for name, options in (("all", ()), ("reachable", ("--reachable",))):
            result = self.capture("reach", "-k", "^chase", *options)
            self.assertEqual(result.code, 0, result.stderr)
            line = json.loads(self.bare([fade.PROBE, "captures", "--json", self.captures]).stdout)
            self.assertEqual(line["only_reachable"], bool(options))
            sizes[name] = line["memory"]
            self.assertRegex(self.replay(self.captures, "--check").stdout, r"check: equal, [1-9]\d* pages? compared")
            fade.shutil.rmtree(self.captures)
        self.assertLess(sizes["reachable"] + (4 << 20), sizes["all"] + 1)

    def test_an_address_that_no_pointer_leads_to_is_explained(self):
        self.assertEqual(self.capture("apart", "-k", "^apart", "--reachable").code, 0)
        result = self.replay(self.captures, code=2)
        self.assertRegex(result.stderr, r"^fadeprobe: .*--reachable skips memory that no pointer leads to\n$")
        result = self.replay(self.captures, "--on", "gpu", code=2)  # and no pages of the runtime's
        self.assertEqual([x for x in result.said if not x.startswith("fadegpu: ")][1:], [], result.stderr)
        self.assertRegex(result.stderr, r"\nfadeprobe: .*kernel _Z5apart\S+: memory fault at 0x\w+; .*no pointer leads to\n$")

    def test_copies_of_the_application_are_waited_for_and_held_back(self):
        result = self.capture("copies", "-k", "^add", "-d", "2-4")
        self.assertEqual(result.code, 0, result.stderr)
        found = sorted(os.listdir(self.captures))
        self.assertEqual(len(found), 3, result.stderr)
        for name in found:
            checked = json.loads(self.replay(os.path.join(self.captures, name), "--check", "--json").stdout.splitlines()[1])
            self.assertTrue(checked["equal"])
            self.assertLess(checked["foreign_pages"], 16)  # of the 2048 that the copier would have changed

    def test_four_threads_under_load_are_captured_one_after_the_other(self):
        plain = self.software_gpu([fade.program("captured"), "load"])
        result = self.capture("load", "-k", "^add", "-d", "5-12", "--limit", "6", env={"FADE_GPU_WORKERS": "2", "FADE_PATIENCE": "2"})
        self.assertEqual((result.code, result.stdout), (0, plain.stdout), result.stderr)
        self.assertEqual(fade.signals_left(result.stderr), fade.signals_left(plain.stderr))
        lines = [json.loads(x) for x in self.bare([fade.PROBE, "captures", "--json", self.captures]).stdout.splitlines()]
        self.assertEqual(len(lines), 6)
        self.assertEqual([x["other_queues_busy"] for x in lines], [0] * 6)
        for line in lines:
            checked = json.loads(self.replay(line["path"], "--check", "--json").stdout.splitlines()[1])
            self.assertTrue(checked["equal"])
            # Arguments that threads write for their next launch, but no output of another kernel, which has 16 pages.
            self.assertLess(checked["foreign_pages"], 16)

    def test_the_memory_of_another_agent_is_not_captured(self):
        gpus = f"{fade.GPU},{fade.GPU}"
        result = self.capture("agents", "-k", "^add", "--gpu", gpus)
        self.assertEqual(result.code, 0, result.stderr)
        line = json.loads(self.bare([fade.PROBE, "captures", "--json", self.captures]).stdout)
        with open(os.path.join(line["path"], "manifest.jsonl")) as file:
            regions = [x for x in map(json.loads, file) if x["type"] == "region" and not x["on_host"]]
        self.assertEqual({x["agent"] for x in regions}, {2})
        self.assertIn("check: equal", self.replay(self.captures, "--check").stdout)
        self.assertIn("check: equal", self.replay(self.captures, "--check", "--on", "gpu").stdout)

    def test_executables_without_code_do_no_harm(self):
        self.captures = self.path("captures")
        result = self.probe(["capture", "-o", self.captures, "-d", "2"], [fade.program("unloaded")], json_log=False, env=ALONE)
        self.assertEqual((result.code, result.stdout), (0, "63\n"), result.stderr)
        self.assertIn("check: equal", self.replay(self.captures, "--check").stdout)

    def test_memory_of_the_virtual_memory_management_replays_the_same(self):
        plain = self.software_gpu([fade.program("captured"), "mapped"], ALONE)
        if "unknown scenario" in plain.stderr:
            self.skipTest("this HIP has none")
        self.assertEqual(plain.code, 0, plain.stderr)
        path = self.captured("mapped")
        self.assertRegex(self.replay(path, "--check").stdout, r"check: equal, [1-9]\d* pages? compared")
        self.assertIn("check: equal", self.replay(path, "--check", "--on", "gpu").stdout)

    def test_checks_find_an_access_beyond_an_allocation_in_a_capture(self):
        self.assertEqual(self.capture("one_too_far", "-k", "^oneTooFar").code, 0)
        findings = self.path("findings.jsonl")
        result = self.bare([fade.PROBE, "check", self.captures, "--json", findings, "--error-exitcode", "9"], env=ALONE)
        self.assertEqual(result.code, 9, result.stdout + result.stderr)
        with open(findings) as file:
            found = [json.loads(x) for x in file]
        self.assertEqual([(x["check"], x["kernel"].split("(")[0], x["count"]) for x in found], [("memory", "oneTooFar", 1)])
        self.assertRegex(found[0]["instruction"], "load_(dword|b32)")  # the program has no line table
        self.assertEqual(found[0]["allocation"]["size"], 4000)

    def test_checks_look_at_another_version_of_a_captured_kernel(self):
        path = self.captured("add", size="4000")
        for version, findings in (("add1", 0), ("add6", 1)):
            result = self.bare([fade.PROBE, "check", path, "--code", fade.code_object(version), "--error-exitcode", "9"], env=ALONE)
            self.assertEqual(result.code, 9 if findings else 0, result.stdout + result.stderr)
            self.assertRegex(result.stderr, r"check: 1 finding \(memory 1\) in 1 dispatch" if findings else "no findings in 1 dispatch")
        self.assert_mistake(["check", "--code", "x.hsaco"], "--code needs a capture")

    def test_checks_find_nothing_in_captures_of_right_kernels(self):
        # Clang 19 does not wait for SALU results on gfx12.
        checks = "all" if not fade.GPU.startswith("gfx12") else "memory,race,init,sync,wait"
        for name in ("add", "dynamic_lds", "variables", "host_memory"):
            with self.subTest(name):
                path = self.captured(name)
                result = self.bare([fade.PROBE, "check", path, "--checks", checks, "--error-exitcode", "9"], env=ALONE)
                self.assertEqual(result.code, 0, result.stdout + result.stderr)
                self.assertIn("check: no findings in 1 dispatch", result.stderr)
                fade.shutil.rmtree(self.captures)
        self.assertRegex(self.bare([fade.PROBE, "check", self.path("none")]).stderr, r"^fadeprobe: .*no capture found\n$")
        self.assert_mistake(["check", self.dir], "expected a capture or an application")

    def test_analyzers_see_a_replay_as_they_see_the_application(self):
        self.captures = self.path("captures")
        app = [fade.program("shapes")]
        live = self.probe(["-i", "-a", "MemoryAnalysis"], app)
        self.assertEqual(self.probe(["capture", "-o", self.captures, "-k", "^reversed"], app, json_log=False).code, 0)
        log = self.path("replayed")
        self.replay(self.captures, "-i", "-a", "MemoryAnalysis", "-l", log, "-t", "json")

        def accesses(lines):
            found = [x for x in map(json.loads, lines) if x["type"] == "memory" and x["kernel"].startswith("reversed")]
            return [{k: v for k, v in x.items() if k != "dispatch_id"} for x in found]

        with open(log) as file:
            replayed = accesses(file)
        self.assertTrue(replayed[0]["global"] and replayed[0]["lds"])
        self.assertEqual(replayed, accesses(live.text().splitlines()))
        # A minimised capture has the twin's code, too.
        small = self.path("small")
        self.replay(self.captures, "--minimise", "-o", small)
        self.replay(small, "-i", "-a", "MemoryAnalysis", "-l", log, "-t", "json")
        with open(log) as file:
            self.assertEqual(accesses(file), replayed)

    def test_analyzers_see_a_kernel_without_twin(self):
        path, log = self.captured("add", size="1000"), self.path("observed")
        self.replay(path, "-i", "-a", "MemoryAnalysis", "-l", log, "-t", "json")
        with open(log) as file:
            found = [x for x in map(json.loads, file) if x["type"] == "memory"]
        self.assertEqual([x["kernel"].split("(")[0] for x in found], ["add"])
        self.assertTrue(found[0]["global"])

    def test_observers_see_a_replay(self):
        path = self.captured("add", size="1000")
        observer = os.path.join(fade.LIB, "libbusiest_lines.so")
        result = self.bare([fade.PROBE, "replay", path], env=dict(ALONE, FADE_GPU_OBSERVER=observer))
        self.assertEqual(result.code, 0, result.stderr)
        self.assertIn("_Z3addPKfS0_Pfi", result.stdout + result.stderr)

    def test_addresses_that_are_taken_are_named(self):
        path = self.captured("add", size="1000")
        self.assertRegex(self.replay(path, "--reserve-check").stdout, r"^\d+ ranges of addresses are free\n$")
        manifest = os.path.join(path, "manifest.jsonl")
        with open(manifest) as file:
            text = file.read()
        last = [x for x in map(json.loads, text.splitlines()) if x["type"] == "region"][-1]
        text = text.replace(f'"address":{last["address"]},', f'"address":{1 << 56},', 1)  # nobody can have that
        head, end = text[:text.rindex(',"checksum"')], 0xcbf29ce484222325
        for byte in head.encode():
            end = (end ^ byte) * 0x100000001b3 & (1 << 64) - 1
        with open(manifest, "w") as file:
            file.write(f'{head},"checksum":{end}}}\n')
        result = self.replay(path, "--reserve-check", code=2)
        self.assertRegex(result.stderr, r"^fadeprobe: \d+ bytes at 0x100000000000000 are not available: beyond this machine's address space\n$")

    def test_a_wrong_kernel_is_found_and_rounding_is_tolerated(self):
        path = self.captured("add", size="4000")
        same = self.replay(path, "--check", "-c", fade.code_object("add1"))
        self.assertIn("check: equal", same.stdout)
        newer = self.replay(path, "--check", "-c", fade.code_object("add1-v6"))  # with other hidden arguments
        self.assertIn("check: equal", newer.stdout)
        program = self.replay(path, "--check", "-c", fade.program("captured"))  # the code is found in it
        self.assertIn("check: equal", program.stdout)
        wrong = self.replay(path, "--check", "-c", fade.code_object("add2"), code=1)
        self.assertRegex(wrong.stdout, r"check: differs")
        self.assertRegex(wrong.stdout, r"1 elements of type f32 differ \(\d bytes\), offsets 0x134 to 0x134")
        self.assertRegex(wrong.stdout, r"\[77\] \S+ instead of \S+")
        rounded = self.replay(path, "--check", "-c", fade.code_object("add3"), code=1)
        self.assertRegex(rounded.stdout, r"elements of type f32 differ .*at most 1 ulp")
        self.replay(path, "--check", "-c", fade.code_object("add3"), "--tolerance", "ulp=1")
        self.replay(path, "--check", "-c", fade.code_object("add3"), "--tolerance", "rel=1e-6")
        self.replay(path, "--check", "-c", fade.code_object("add2"), "--tolerance", "ulp=1", code=1)
        self.replay(path, "--check", "-c", fade.code_object("add2"), "--tolerance", "abs=1e30")
        self.replay(path, "--check", "-c", fade.code_object("add2"), "--tolerance", "rel=1e-9", "--tolerance", "ulp=1,abs=1e30")
        self.replay(path, "--check", "-c", fade.code_object("add2"), "--tolerance", "abs=1e30", "--on", "gpu", "--iterations", "1")
        nothing = self.replay(path, "--check", "-c", fade.code_object("add4"), "--json", code=1)
        check = [json.loads(x) for x in nothing.stdout.splitlines()][1]
        self.assertEqual((check["type"], check["equal"]), ("check", False))
        self.assertEqual(sum(x["elements"] for x in check["differences"]), 4000)

    def test_a_version_that_is_right_for_the_captured_inputs_only_is_found(self):
        path = self.captured("add", size="4000")
        self.replay(path, "--check", "-c", fade.code_object("add5"))
        for seed in ("1", "2"):
            lines = [json.loads(x) for x in
                     self.replay(path, "--check", "-c", fade.code_object("add5"), "--change-inputs", seed, "--json", code=1).stdout.splitlines()]
            self.assertEqual((lines[1]["type"], lines[1]["seed"]), ("inputs", int(seed)))
            self.assertGreater(lines[1]["changed_pages"], 7)  # two arrays of 16000 bytes
            self.assertGreater(sum(x["elements"] for x in lines[2]["differences"]), 3000)
            self.replay(path, "--check", "-c", fade.code_object("add1"), "--change-inputs", seed)
        self.assertRegex(self.replay(path, "--check", "--change-inputs", "1", code=2).stderr, "--change-inputs compares two versions: add -c FILE")

    def test_two_versions_are_compared_in_one_call(self):
        path = self.captured("add", size="4000")
        once = self.replay(path, "--check", "-c", fade.code_object("add2"), code=1).stdout
        self.assertRegex(once, r"compared with the captured code: \d+ instructions instead of \d+ \(\d+\.?\d* times as many\)\n$")
        lines = [json.loads(x) for x in
                 self.replay(path, "--check", "-c", fade.code_object("add1"), "--iterations", "6", "--json").stdout.splitlines()]
        self.assertEqual([x["type"] for x in lines], ["replay", "check", "versions"])
        versions = lines[2]
        self.assertEqual((versions["iterations"], lines[1]["equal"]), (6, True))
        self.assertEqual(versions["instructions"], lines[0]["instructions"])
        self.assertGreater(versions["captured_instructions"], 0)
        self.assertTrue(0 < versions["speedup_low"] <= versions["speedup"] <= versions["speedup_high"], versions)

    def test_two_versions_are_compared_by_the_model(self):
        path = self.captured("add", size="4000")
        same = self.replay(path, "-c", fade.code_object("add1"), model=True)
        self.assertRegex(same.stdout, r"times as many\)\nequal: kernels take [\d.]+ us by the model, as before\n$")
        lines = [json.loads(x) for x in self.replay(path, "-c", fade.code_object("add1"), "--json", model=True).stdout.splitlines()]
        self.assertEqual([x["type"] for x in lines], ["replay", "versions", "model"])
        self.assertEqual(lines[2]["captured_ns"], lines[2]["ns"])
        self.assertGreater(lines[2]["ns"], 2000)  # with the launch

    def test_other_code_runs_through_rocr(self):
        path = self.captured("add", size="4000")
        same = self.replay(path, "--on", "gpu", "--check", "-c", fade.code_object("add1")).stdout
        self.assertRegex(same, r"on \w+: 20 times, median .*\ncheck: equal, [1-9]\d* pages? compared\n"
                               r"compared with the captured code: median .* times as fast \(95 % confidence: .*; 20 runs of each")
        wrong = self.replay(path, "--on", "gpu", "--check", "--iterations", "1", "-c", fade.code_object("add2"), code=1).stdout
        self.assertRegex(wrong, r"1 elements of type f32 differ \(\d bytes\), offsets 0x134 to 0x134")

    def test_variables_are_carried_over_by_name_and_back(self):
        path = self.captured("variables")
        for on in ((), ("--on", "gpu", "--iterations", "2")):
            self.assertIn("check: equal", self.replay(path, "--check", "-c", fade.code_object("add1"), *on).stdout)

    def test_another_version_may_print_and_have_other_variables(self):
        path = self.captured("add", size="4000")
        for on in ((), ("--on", "gpu", "--iterations", "1")):
            done = self.replay(path, "--check", "-c", fade.code_object("add7"), *on).stdout
            self.assertIn("check: equal", done)
            self.assertIn("host services used: printf: 128", done)  # two of each 64 of 4096
        fade.shutil.rmtree(self.captures)
        path = self.captured("variables")
        for on in ((), ("--on", "gpu", "--iterations", "1")):
            result = self.replay(path, "--check", "-c", fade.code_object("add7"), *on, code=1)
            self.assertRegex(result.stderr, r"(^|\n)fadeprobe: .*: variables of another size than in the captured code keep the values of the file .*: table\n")
            self.assertRegex(result.stderr, r"\nfadeprobe: .*: variables that the captured code does not have keep the values of the file: in_between\n")

    def test_constants_of_another_version_are_its_own(self):
        self.assertEqual(self.capture("tabled", "-k", "^tabled").code, 0)
        for on in ((), ("--on", "gpu", "--iterations", "1")):
            self.assertIn("check: differs", self.replay(self.captures, "--check", "-c", fade.code_object("add1"), *on, code=1).stdout)
            self.assertIn("check: equal", self.replay(self.captures, "--check", "-c", fade.program("captured"), *on).stdout)

    def test_a_run_that_does_not_end_is_ended_when_its_time_is_over(self):
        self.assertEqual(self.capture("tabled", "-k", "^tabled").code, 0)
        endless = fade.code_object("add3")
        for on in (("--timeout", "0.001"), ("--timeout", "0.3", "--on", "gpu", "--iterations", "1", "--no-recopy")):
            result = self.replay(self.captures, "-c", endless, *on, code=2)
            self.assertEqual(result.stdout, "")
            self.assertRegex(result.stderr, fr"^fadeprobe: .*: {fade.GPU}: kernel _Z6tabledPi: it had not ended after 0.\d+ s \(--timeout\)\n$")
        result = self.bare([fade.PROBE, "check", self.captures, "--code", endless, "--timeout", "0.3"], env=ALONE)
        self.assertEqual(result.code, 124)
        self.assertRegex(result.stderr, r"^hang: not ended after 0\.\d+ s; 0 of \d+ workgroup")
        result = self.bare([fade.PROBE, "check", self.captures, "--code", endless, "--timeout", "0.3", "--checks", "memory"], env=ALONE)
        self.assertEqual(result.code, 2)
        self.assertRegex(result.stderr, r"^fadeprobe: .*it had not ended after 0.3 s \(--timeout\)\n$")
        self.assertIn("check: equal", self.replay(self.captures, "--check", "--timeout", "60").stdout)
        self.assert_mistake(["check", "--timeout", "1", "--checks", "memory"], "--timeout needs hang in --checks")

    def test_other_code_that_does_not_fit_is_refused(self):
        path = self.captured("dynamic_lds")
        result = self.replay(path, "-c", fade.code_object("add1"), code=2)
        self.assertRegex(result.stderr, r"^fadeprobe: .*it has no kernel _Z10dynamicLds\S+\n$")
        result = self.replay(path, "-c", __file__, code=2)
        self.assertRegex(result.stderr, r"^fadeprobe: .*it has no GPU code\n$")
        result = self.replay(path, "-c", self.path("none.hsaco"), code=2)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_minimised_captures_are_smaller_and_replay_the_same(self):
        for name, size, most in (("gather", "32", 16 << 20), ("variables", "", 100 << 10), ("functions", "", 100 << 10)):
            with self.subTest(name):
                path = self.captured(name, size=size)
                small = self.path("small-" + name)
                done = self.replay(path, "--minimise", "-o", small, "--json")
                line = json.loads(done.stdout)
                self.assertEqual((line["type"], line["capture"]), ("minimised", small))
                self.assertLess(line["on_disk"], most)
                self.assertLess(line["touched"], line["pages"])
                self.assertRegex(self.replay(small, "--check", "--iterations", "3").stdout, r"check: equal, [1-9]\d* pages? compared")
                fade.shutil.rmtree(self.captures)

    def test_a_minimised_capture_is_tried_through_rocr_if_that_is_wanted(self):
        path, small = self.captured("variables"), self.path("small")
        done = self.replay(path, "--minimise", "-o", small, "--on", "gpu").stdout
        self.assertRegex(done, r"^minimised variables.* pages touched.*\nreplayed variables.* on " + fade.GPU
                         + r": .*\ncheck: equal, [1-9]\d* pages? compared\n$")

    def test_a_page_that_was_left_out_is_named(self):
        path = self.captured("gather", size="16")
        small, both = self.path("small"), self.path("both")
        self.replay(path, "--minimise", "-o", small)
        result = self.replay(small, "-c", fade.code_object("add1"), code=2)
        self.assertRegex(result.stderr, r"^fadeprobe: .*at 0x[0-9a-f]+ is outside of GPU memory.*left out by --minimise\n$")
        self.replay(path, "--minimise", "-c", fade.code_object("add1"), "-o", both)  # what either of them touches
        self.replay(both, "-c", fade.code_object("add1"))
        self.assertIn("check: equal", self.replay(both, "--check").stdout)

    def test_captures_are_listed(self):
        self.capture("graph", "-k", "^add", "-d", "1-3")
        table = self.bare([fade.PROBE, "captures", self.captures])
        self.assertEqual([x.split()[1:3] for x in table.stdout.splitlines()],
                         [["kernel", "dispatch"]] + [["add", str(n)] for n in (1, 2, 3)])
        lines = self.bare([fade.PROBE, "captures", "--json", self.captures])
        found = [json.loads(x) for x in lines.stdout.splitlines()]
        self.assertEqual([(x["type"], x["version"], x["dispatch"]) for x in found], [("capture", 1, n) for n in (1, 2, 3)])
        self.assertTrue(all(x["gpu"] == fade.GPU and x["grid"] == [4096, 1, 1] for x in found))
        self.assertEqual([x["changed_pages"] for x in found], [4, 4, 0])  # the third computes the same again
        several = self.replay(self.captures, code=2)
        self.assertRegex(several.stderr, r"contains 3 captures")
        none = self.bare([fade.PROBE, "captures", self.dir])
        self.assertEqual((none.code, none.stdout), (1, ""))

    def test_limit_and_default_are_kept(self):
        self.capture("graph", "-k", "^add")
        self.assertEqual(os.listdir(self.captures), ["add.1"])
        self.capture("graph", "-k", "^add", "-d", "all", "--limit", "2")
        self.assertEqual(sorted(os.listdir(self.captures)), ["add.1", "add.1-2", "add.2"])
        for options, why in ((["-k", "^add", "-d", "99"], r"none of the requested dispatches ran: add\(.*\) ran \d+ times?$"),
                             (["-k", "nothing"], r"--kernels matches none of the kernels that ran: add\(")):
            result = self.capture("add", *options)
            self.assertEqual((result.code, result.said[1:]), (1, [f"fadeprobe: capture: no dispatch was captured into {self.captures}"]))
            self.assertRegex(result.said[0], "^fade: nothing was captured: " + why)

    def test_variables_do_what_the_command_does(self):
        self.captures = self.path("captures")
        result = self.software_gpu([fade.program("captured"), "add", "1000"],
                                   {"HSA_TOOLS_LIB": os.path.join(fade.LIB, "libfade.so"), "FADE_CAPTURE": self.captures,
                                    "FADE_KERNELS": "^add"})
        self.assertEqual(result.code, 0, result.stderr)
        self.assertIn("check: equal", self.replay(self.captures, "--check").stdout)

    def test_a_full_disk_leaves_no_capture_and_the_application_runs(self):
        plain = self.software_gpu([fade.program("captured"), "gather"])
        small = self.path("small")
        os.mkdir(small)
        script = 'mount -t tmpfs -o size=1m none "$0" || exit 77; "$@"; code=$?; ls "$0" >&2; exit $code'
        # A chroot may have no namespace of users, but has mounts of its own (scripts/rocm-root).
        alone = ["-m", "--propagation", "unchanged"] if fade.SUFFIX else ["-rm"]
        result = self.bare(["unshare", *alone, "sh", "-c", script, small, fade.PROBE, "capture", "-o", small, "-k", "gather",
                            "--", fade.program("captured"), "gather"])
        if result.code == 77 or "unshare" in result.stderr:
            self.skipTest("no file system of its own can be had here")
        self.assertEqual((result.code, result.stdout), (1, plain.stdout), result.stderr)  # nothing was captured
        self.assertEqual(len(result.said), 2, result.stderr)  # and the folder is empty
        self.assertRegex(result.said[0], r"gather.* is not captured: .*pages.zst.*No space left")

    def test_kill_during_a_capture_leaves_nothing_that_looks_whole(self):
        self.captures = self.path("captures")
        process = self.start(["capture", "-o", self.captures, "-k", "gather"], [fade.program("captured"), "gather", "64"],
                             json_log=False)
        deadline = time.time() + 60
        while not (os.path.isdir(self.captures) and os.listdir(self.captures)) and time.time() < deadline:
            time.sleep(0.001)
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            os.kill(int(file.read().split()[0]), signal.SIGKILL)
        process.communicate()
        self.assertEqual(process.returncode, -signal.SIGKILL)  # it ends as the application did
        left = os.listdir(self.captures)
        self.assertTrue(all(x.endswith(".partial") for x in left), left)
        self.assertEqual(self.bare([fade.PROBE, "captures", self.captures]).code, 1)
        for name in left:
            self.replay(os.path.join(self.captures, name), code=2)

    def test_a_dispatch_that_ends_the_application_is_captured_without_memory_after_it(self):
        plain = self.software_gpu([fade.program("captured"), "astray"])
        self.assertNotEqual(plain.code, 0)
        for explain in ("on", "off"):
            began = time.time()
            result = self.capture("astray", "-k", "^astray", env={"FADE_EXPLAIN": explain})
            self.assertEqual(result.code, plain.code, result.stderr)
            self.assertLess(time.time() - began, 25)  # nobody waits for its end, as for 30 s before a report
            self.assertEqual(os.listdir(self.captures), ["astray.1"], result.stderr)
            self.assertIn("captured astray(int*, long) (dispatch 1, which did not end, without memory after it)", result.stderr)
            self.assertEqual("in flight: dispatch 1: astray" in result.stderr, explain == "on", result.stderr)
            self.assertNotIn("no dispatch was in flight", result.stderr)
            self.assertRegex(self.replay(self.captures, code=2).stderr, r"^fadeprobe: .*_Z6astrayPil.*it was not captured\n$")
            found = self.bare([fade.PROBE, "check", self.captures, "--error-exitcode", "9"], env=ALONE)
            self.assertEqual(found.code, 9, found.stderr)
            self.assertIn("memory 1", found.stderr)
            fade.shutil.rmtree(self.captures)

    def test_a_result_that_cannot_be_written_is_no_success(self):
        path = self.captured("add", size="1000")
        for on in ("software", "gpu"):
            result = self.bare(["sh", "-c", '"$0" "$@" >/dev/full', fade.PROBE, "replay", path, "--check", "--on", on])
            self.assertEqual(result.code, 2, result.stderr)
            self.assertRegex(result.stderr, r"fadeprobe: replay: the result cannot be written: No space left on device\n$")

    def test_a_damaged_capture_is_one_line_for_every_command(self):
        path = self.captured("add", size="1000")
        with open(os.path.join(path, "pages.zst"), "ab") as file:
            file.write(b"x")
        for command in (["replay", path], ["replay", path, "--reserve-check"], ["check", path],
                        ["replay", path, "--minimise", "-o", self.path("small")]):
            result = self.bare([fade.PROBE, *command])
            self.assertEqual(result.code, 2, command)
            self.assertRegex(result.stderr, r"^fadeprobe: .*pages.zst: .*\n$", command)
        self.assertFalse(os.path.exists(self.path("small")))

    def test_checks_of_code_that_is_not_the_gpus_find_nothing_and_say_why(self):
        manifest = os.path.join(self.captured("add", size="1000"), "manifest.jsonl")
        with open(manifest) as file:
            text, end = file.read().rsplit(',"checksum":', 1)[0], '"checksum":%d}\n'
        text = text.replace(f'"gpu":"{fade.GPU}"', '"gpu":"%s"' % ("gfx90a" if fade.GPU.startswith("gfx1") else "gfx1030"))
        checksum = 0xcbf29ce484222325
        for byte in text.encode():
            checksum = (checksum ^ byte) * 0x100000001b3 % 2 ** 64
        with open(manifest, "w") as file:
            file.write(text + "," + end % checksum)
        result = self.bare([fade.PROBE, "check", self.captures])
        self.assertEqual((result.code, result.stdout), (2, ""))
        self.assertRegex(result.stderr, r"^fadeprobe: .*: not an instruction\n$")

    def test_mistakes_are_one_line(self):
        self.assert_mistake(["capture", "-k", "("], "--kernels")
        self.assert_mistake(["capture", "--limit", "0"], "--limit")
        self.assert_mistake(["capture", "-o", "/proc/none"], "--output: cannot write into /proc/none")
        tolerances = ("", ",", "ulp", "ulp=", "ulp=1,", "ulp=-1", "ulp=1.5", "rel=nan", "rel=inf", "rel=1e-400", "ulp=1,,rel=1", "abs=", "abs=-1", "abs=inf", "max=1")
        for options, expected in (*((["--check", "--tolerance", x], f"--tolerance: '{x}' is not of the form") for x in tolerances),
                                  (["--tolerance", "ulp=1"], "--tolerance needs --check"), (["--timeout", "0"], "--timeout"),
                                  (["--timeout", "nan"], "--timeout"), (["-c", ""], "--code"), (["-o", "x"], "--minimise"),
                                  (["--check", "--no-recopy", "--iterations", "4"], "--check compares memory after one run"),
                                  (["--check", "--no-recopy", "-c", "x"], "--check compares memory after one run")):
            result = self.replay(self.dir, *options, code=2)
            self.assertRegex(result.stderr, expected)
            self.assertEqual(len(result.stderr.splitlines()), 1)
        self.assertRegex(self.replay(self.path("none"), code=2).stderr, "manifest.jsonl: No such file")
        os.mkdir(self.path("other"))
        with open(self.path("other/manifest.jsonl"), "w") as file:
            file.write('{"name":"of something else"}\n')
        self.assertEqual(self.replay(self.dir, code=2).stderr, f"fadeprobe: {self.dir}: not a capture, and contains none\n")
        self.assertRegex(self.replay("full-vm", code=2).stderr, "'full-vm' is an argument of rocm-perf-lab: use fadeprobe replay DIR")


if __name__ == "__main__":
    fade.main()
