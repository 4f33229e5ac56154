#!/usr/bin/env python3
"""fadeprobe doctor as users run it: exit codes, formats, fixes in a tree, and probes on the software GPU that fail on purpose."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROBE = os.environ["DOCTOR_PROBE"]
HIP = int(os.environ.get("DOCTOR_HIP", "5"))
# ROCr 5 and 6 end the process after a memory fault; HIP 7 returns an error, and the program ends by itself.
FAULT = 1 if HIP > 6 else -6


def doctor(*words, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("HSA_", "ROCR_", "HIP_", "FADE_GPU"))}
    return subprocess.run([PROBE, "doctor", *words], capture_output=True, text=True, env=environment | variables, timeout=250)


def lines(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text):
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def test_an_empty_tree_is_not_usable_and_quiet_says_it_by_the_code_alone(self):
        result = doctor("--root", str(self.root), "--quiet")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (2, "", ""))

    def test_every_line_of_json_is_an_object_and_the_first_is_the_verdict(self):
        result = doctor("--root", str(self.root), "--json")
        self.assertEqual(result.returncode, 2)
        first = lines(result)[0]
        self.assertEqual((first["type"], first["version"], first["code"], first["verdict"]), ("doctor", 1, 2, "not usable"))
        self.assertEqual({f["rule"] for f in lines(result) if f["type"] == "finding"}, {"no-amd-gpu", "no-rocm"})

    def test_no_line_of_the_table_is_wider_than_80_columns_unless_it_is_one_word(self):
        for line in doctor("--root", str(self.root)).stdout.splitlines():
            self.assertTrue(len(line) <= 80 or len(line.split()) <= 2, line)

    def test_mistakes_are_one_line_and_no_verdict(self):
        self.write("bad.json", '{"version": 1, "rules": [{"id": "x"}]}')
        for words, text in ((["--root", "/nonexistent"], "no such folder"), (["--rules", str(self.root / "bad.json")], "rule 'x'"),
                            (["--root", str(self.root), "--probe", "all"], "cannot be probed"), (["--gpu", "gfx90a"], "--gpu is for"),
                            (["--probe", "kernel,cats", "--gpu", "gfx90a"], "'cats' is no stage"),
                            (["--fix", "--revert", "--root", str(self.root)], "nothing to revert")):
            result = doctor(*words)
            self.assertEqual((result.returncode, result.stdout), (3, ""), words)
            self.assertIn(text, result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_what_is_looked_at_can_be_collected_into_a_folder_or_an_archive(self):
        self.write("/root/proc/version", "Linux version 6.5.0")
        self.write("/root/fade-doctor/environ", "HSA_XNACK=1\nTOKEN=secret\n")
        findings = [x["rule"] for x in lines(doctor("--root", str(self.root / "root"), "--json")) if x["type"] == "finding"]
        result = doctor("--root", str(self.root / "root"), "--collect", str(self.root / "x.tar"))
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        (self.root / "copy").mkdir()
        subprocess.run(["tar", "xf", self.root / "x.tar", "-C", self.root / "copy"], check=True)
        again = [x["rule"] for x in lines(doctor("--root", str(self.root / "copy"), "--json")) if x["type"] == "finding"]
        self.assertEqual(findings, again)
        self.assertEqual((self.root / "copy/fade-doctor/environ").read_text(), "HSA_XNACK=1\n")
        self.assertEqual(sorted(p.name for p in self.root.iterdir()), ["copy", "root", "x.tar"])
        result = doctor("--collect", str(self.root / "copy"))
        self.assertEqual((result.returncode, len(result.stderr.splitlines())), (3, 1))
        # This machine, whatever it is.
        result = doctor("--collect", str(self.root / "here"), TOKEN="secret", HSA_XNACK="0")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        self.assertNotIn("secret", (self.root / "here/fade-doctor/environ").read_text())
        self.assertIn("HSA_XNACK=0", (self.root / "here/fade-doctor/environ").read_text())

    def test_more_rules_can_be_given(self):
        self.write("more.json", json.dumps({"version": 1, "rules": [
            {"id": "mine", "severity": "note", "when": [{"fact": "machine.kfd", "is": "missing"}], "finding": "Mine.", "source": "me"}]}))
        for result in (doctor("--root", str(self.root), "--rules", str(self.root / "more.json"), "--json"),
                       doctor("--root", str(self.root), "--json", FADE_DOCTOR_RULES=str(self.root / "more.json"))):
            self.assertIn("mine", [f.get("rule") for f in lines(result)])

    def test_a_fix_is_printed_written_and_taken_back(self):
        self.write("/sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 4\ngfx_target_version 100300\ndrm_render_minor 128\n")
        self.write("/fade-doctor/devices", "660 0 109 /dev/kfd\n666 0 109 /dev/dri/renderD128\n")
        self.write("/fade-doctor/id", "uid=1000(me) gid=1000(me) groups=1000(me)\n")
        self.write("/etc/group", "render:x:109:\n")
        before = {p: p.read_bytes() for p in self.root.rglob("*") if p.is_file()}
        rules = self.root / "etc/udev/rules.d/70-fade-doctor.rules"
        printed = doctor("--root", str(self.root), "--fix", "--print")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        self.assertIn('+ KERNEL=="kfd", MODE="0666"', printed.stdout)
        self.assertFalse(rules.exists())
        written = doctor("--root", str(self.root), "--fix", "--write")
        self.assertEqual(written.returncode, 0, written.stderr)
        self.assertIn('KERNEL=="kfd"', rules.read_text())
        reverted = doctor("--root", str(self.root), "--fix", "--revert")
        self.assertEqual(reverted.returncode, 0, reverted.stderr)
        self.assertEqual({p: p.read_bytes() for p in self.root.rglob("*") if p.is_file()}, before)
        self.assertFalse(rules.parent.exists())


class Probes(unittest.TestCase):
    """Each stage on the software GPU, as it is and with something broken."""

    def probe(self, stages, *words, fail="", gpu="gfx90a"):
        result = doctor("--probe", stages, "--gpu", gpu, "--json", *words, FADE_GPU_FAIL=fail)
        self.assertEqual(result.stderr, "")
        found = {line["stage"]: line for line in lines(result) if line["type"] == "probe"}
        return result.returncode, found

    def test_all_stages_pass_where_all_is_well(self):
        code, found = self.probe("all")
        self.assertEqual(code, 0, found)
        for stage in ("driver", "agents", "allocate", "copy", "kernel", "lds", "atomics", "queues", "large", "managed", "graphs", "matmul", "fade-off", "fade-times",
                      "fade-host", "fade-device"):
            self.assertEqual(found[stage]["outcome"], "passed", found[stage])

    def test_two_gpus_are_both_tried(self):
        code, found = self.probe("kernel,lds", gpu="gfx90a,gfx1030")
        self.assertEqual(code, 0, found)
        self.assertIn("gfx90a", found["kernel"]["text"])
        self.assertIn("gfx1030", found["kernel"]["text"])

    def test_a_driver_that_does_not_open_makes_the_rest_pointless(self):
        code, found = self.probe("driver,agents,copy", fail="open:*")
        self.assertEqual(code, 2)
        self.assertEqual([found[s]["outcome"] for s in ("driver", "agents", "copy")], ["failed", "skipped", "skipped"])
        self.assertIn("Permission denied", found["driver"]["text"])

    def test_each_stage_sees_its_failure(self):
        for stage, fail, text in (("agents", "open:*", ""), ("allocate", "allocation:*:1000000", "OUT_OF_RESOURCES"), ("copy", "copy:1", "values are wrong"),
                                  ("kernel", "fault:1:probe_store", "memory fault at 0xfade000"), ("kernel", "skip:1:probe_store", "values are wrong"),
                                  ("lds", "violation:1:probe_lds", "APERTURE_VIOLATION"), ("lds", "skip:1:probe_lds", "wrong values through LDS"),
                                  ("atomics", "skip:1:probe_atomic", "device memory are wrong"), ("queues", "skip:64:probe_store", "values are wrong"),
                                  ("queues", "queue:*", "OUT_OF_RESOURCES"), ("matmul", "illegal:1:probe_matmul", "ILLEGAL_INSTRUCTION")):
            with self.subTest(stage=stage, fail=fail):
                code, found = self.probe(stage, fail=fail)
                self.assertEqual((code, found[stage]["outcome"]), (2, "failed"), found)
                self.assertIn(text, found[stage]["text"])

    def test_what_not_every_program_needs_is_a_limit(self):
        for stage, fail, outcome in (("large", "allocation:*:1000000000", "failed"), ("managed", "fault:1:probe_store", "failed"),
                                     ("atomics", "skip:2:probe_atomic", "limited"), ("graphs", "allocation:*:4000", "failed")):
            with self.subTest(stage=stage):
                code, found = self.probe(stage, fail=fail)
                self.assertEqual((code, found[stage]["outcome"]), (1, outcome), found)

    def test_fade_itself_is_tried_in_waves_of_either_size_and_a_wrong_result_is_seen(self):
        code, found = self.probe("fade", gpu="gfx1030")
        self.assertEqual((code, [found[f"fade-{s}"]["outcome"] for s in ("off", "times", "host", "device")]), (0, ["passed"] * 4), found)
        self.assertRegex(found["fade-host"]["text"], r"^576 records, \d+ bytes, all as they must be")
        code, found = self.probe("fade", fail="skip:1:__fade_fade_probe")
        self.assertEqual((code, found["fade-times"]["outcome"], found["fade-host"]["outcome"]), (1, "passed", "failed"), found)

    def test_everything_can_be_saved_to_one_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "result.jsonl"
            result = doctor("--probe", "driver", "--gpu", "gfx90a", "--quiet", "--save", str(file))
            self.assertEqual((result.returncode, result.stdout), (0, ""))
            saved = [json.loads(line) for line in file.read_text().splitlines()]
            self.assertEqual([line["type"] for line in saved], ["doctor", "probe"])

    def test_a_stage_that_hangs_is_ended(self):
        for stage, fail in (("kernel", "hang:1:probe_store"), ("atomics", "lost:1:probe_atomic"), ("copy", "copyhang:1")):
            with self.subTest(fail=fail):
                code, found = self.probe(stage, "--timeout", "2", fail=fail)
                self.assertEqual((code, found[stage]["outcome"]), (2, "failed"), found)
                self.assertIn("hung: no end within 2 s", found[stage]["text"])


class Deaths(unittest.TestCase):
    """doctor -- application, and any other run: says what killed it, and leaves output, exit code and signals alone."""

    def run_it(self, how, *words, gpu="gfx90a", **variables):
        return doctor(*words, "--gpu", gpu, "--", os.environ["DOCTOR_DEATHS"], how, FADE_PATIENCE="0.1", **variables)

    def run_plain(self, how, *words, gpu="gfx90a", **variables):
        """Not under the doctor."""
        return subprocess.run([PROBE, "-l", "/dev/null", "--gpu", gpu, *words, "--", os.environ["DOCTOR_DEATHS"], how], capture_output=True, text=True,
                              env=os.environ | {"FADE_PATIENCE": "0.3"} | variables, timeout=250)

    def line_of(self, text):
        source = pathlib.Path(__file__).with_name("deaths.hip").read_text().splitlines()
        return 1 + next(i for i, line in enumerate(source) if text in line)

    def test_a_program_that_lives_is_left_alone(self):
        for how, code in (("fine", 0), ("seven", 7)):
            result = self.run_it(how)
            self.assertEqual((result.returncode, result.stdout), (code, "right\n"), result.stderr)
        self.assertEqual([x for x in result.stderr.splitlines() if x.startswith("fade:")], [])

    def test_an_overrun_names_kernel_line_argument_allocation_and_who_allocated(self):
        result = self.run_it("overrun")
        self.assertEqual(result.returncode, FAULT, result.stderr)
        line = self.line_of("void writeAt")
        self.assertRegex(result.stderr, r"fade: memory fault at 0x[0-9a-f]+, page not present")
        self.assertRegex(result.stderr, rf"fade: at pc 0x[0-9a-f]+: writeAt\(int\*, unsigned long\)\+0x[0-9a-f]+, deaths.hip:{line}:\d+")
        self.assertRegex(result.stderr, r"fade: \d+ bytes beyond the end of allocation \d+ \(\d+ bytes at 0x[0-9a-f]+\), allocated by ")
        self.assertRegex(result.stderr, r"fade: in flight: dispatch \d+: writeAt\(int\*, unsigned long\), grid 64x1x1 workgroup 64x1x1, queue 0")
        allocates, calls = self.line_of("hipMalloc(&memory"), self.line_of("= makeBuffer(bytes)")
        self.assertRegex(result.stderr, r"fade:   its argument at byte 0 points into allocation \d+ \(8388608 bytes at 0x[0-9a-f]+\), "
                                        rf"allocated by makeBuffer \(deaths.hip:{allocates}\), main \(deaths.hip:{calls}\); the address is 1073741824 bytes beyond its end")
        self.assertIn("was ended by SIGABRT" if FAULT < 0 else "ended with code 1", result.stderr)
        self.assertIn("(died-outside-of-memory)", result.stderr)

    def test_memory_that_was_freed_is_known_with_who_freed_it(self):
        result = self.run_it("freed")
        self.assertEqual(result.returncode, FAULT, result.stderr)
        self.assertRegex(result.stderr, r"fade: the address is \d+ bytes into allocation \d+ \(8388608 bytes at .*\), which was freed by dropBuffer ")
        self.assertRegex(result.stderr, r"fade: it had been allocated by makeBuffer ")
        self.assertIn("writeAt(int*, unsigned long) used memory that had been freed (died-of-freed-memory)", result.stderr)

    def test_the_last_record_of_the_guilty_wave_has_the_line_in_any_run_with_any_transport_and_either_wave_size(self):
        line = self.line_of("// the guilty line")
        for gpu, words, wave, lanes in (("gfx90a", [], 0, 32), ("gfx1030", [], 1, 32), ("gfx90a", ["--transport", "device"], 0, 32)):
            with self.subTest(gpu=gpu, words=words), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "deaths.json"
                result = self.run_plain("many", "-i", "-a", "MemoryAnalysis", "--deaths", str(file), *words, gpu=gpu)
                self.assertEqual(result.returncode, FAULT, result.stderr)
                found = json.loads(file.read_text())
                dispatch = found["dispatches"][0]
                self.assertEqual((found["type"], found["version"], found["kind"], dispatch["instrumented"]), ("death", 1, "memory fault", True))
                self.assertRegex(result.stderr, rf"fade:   wave {wave} of workgroup 2,0,0 touched that page: load of 4 bytes at deaths.hip:{line}:\d+ in oneOfMany, "
                                                rf"from 0x[0-9a-f]+ to 0x[0-9a-f]+, {lanes} lanes")
                guilty = dispatch["waves"][0]
                self.assertEqual((guilty["workgroup"], guilty["wave_in_group"], guilty["records"][-1]["line"]), ([2, 0, 0], wave, line))
                self.assertEqual(guilty["records"][-1]["hits"], lanes)
                self.assertLessEqual(guilty["records"][-1]["first"], found["address"])

    def test_an_error_of_a_queue_names_kernel_and_line(self):
        for how, error, kernel, rule in (("trap", "HSA_STATUS_ERROR_EXCEPTION", "trapNow", "died-of-a-trap"),
                                         ("misaligned", "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION", "misaligned", "died-of-an-aperture-violation")):
            for words, said in (([], rf"at pc 0x[0-9a-f]+: {kernel}\(.*deaths.hip:{{}}"), (["-i"], r"last record of 1 wave: .*deaths.hip:{}")):
                with self.subTest(how=how, words=words):
                    line = self.line_of(f"void {kernel}") + (how == "trap")
                    result = self.run_plain(how, *words)
                    self.assertNotEqual(result.returncode, 0)
                    self.assertRegex(result.stderr, rf"fade: queue \d+ stopped: {error}\n")
                    self.assertRegex(result.stderr, rf"fade: in flight: dispatch \d+: {kernel}\(")
                    self.assertRegex(result.stderr, said.format(line))
            self.assertIn(f"({rule})", self.run_it(how).stderr)

    def test_failures_of_the_gpu_name_the_kernel(self):
        for fail, text, rule in (("violation:1:writeAt", "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION", "died-of-an-aperture-violation"),
                                 ("illegal:1:writeAt", "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION", "died-of-an-illegal-instruction"),
                                 ("fault:1:writeAt", "memory fault at 0xfade000", "died-outside-of-memory")):
            result = self.run_it("fine", FADE_GPU_FAIL=fail)
            self.assertIn(text, result.stderr)
            self.assertRegex(result.stderr, r"fade: in flight: dispatch \d+: writeAt")
            self.assertIn(f"({rule})", result.stderr)

    def test_a_hang_names_the_kernel_when_the_time_is_over(self):
        for how, fail, kernel in (("hang", "", "forever"), ("fine", "lost:1:writeAt", "writeAt")):
            result = self.run_it(how, "--timeout", "5", FADE_GPU_FAIL=fail)
            self.assertEqual(result.returncode, -15, result.stderr)
            self.assertRegex(result.stderr, rf"fade: in flight: dispatch \d+: {kernel}\(")
            self.assertIn("took longer than 5 s and was ended", result.stderr)
            self.assertIn("(died-of-a-hang)", result.stderr)

    def test_what_killed_it_can_be_saved_and_judged_again(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "all.jsonl"
            result = self.run_it("freed", "--save", str(file))
            self.assertEqual(result.returncode, FAULT)
            saved = [json.loads(line) for line in file.read_text().splitlines()]
            self.assertEqual([x["type"] for x in saved], ["doctor", "fact", "death", "finding", "end"])
            self.assertEqual((saved[3]["rule"], saved[3]["death"], saved[4].get("signal"), saved[4]["timed_out"]), ("died-of-freed-memory", "1", "SIGABRT" if FAULT < 0 else None, False))
            memory = saved[2]["memory"][0]
            self.assertEqual((memory["freed"], memory["relation"], memory["size"], memory["freed_by"][0]["function"]), (True, "into", 8 << 20, "dropBuffer"))
            empty = pathlib.Path(folder) / "root"
            empty.mkdir()
            again = lines(doctor("--root", str(empty), "--deaths", str(file), "--json"))
            self.assertIn("died-of-freed-memory", [x.get("rule") for x in again])

    def test_it_can_be_switched_off_and_is_not_said_twice(self):
        self.assertNotIn("fade:", self.run_plain("overrun", "--no-explain").stderr)
        self.assertEqual(self.run_plain("trap").stderr.count("in flight:"), 1)


class Allocations(unittest.TestCase):
    """FADE_ALLOC, as the software GPU's own log of allocations sees it, in a program that loads HIP with RTLD_LOCAL."""

    def kinds(self, policy, door="device"):
        """What the two buffers of the program, of 24 and 40 MiB, are."""
        # ROCr 5 has fine-grained memory on a GPU only if it is told so.
        environment = os.environ | {"FADE_GPU_TRACE": "allocations", "FADE_LOG_LOCATION": "/dev/null", "HSA_FORCE_FINE_GRAIN_PCIE": "1"}
        words = ["--alloc", policy] if policy else []
        result = subprocess.run([PROBE, "--gpu", "gfx90a", *words, "--", os.environ["DOCTOR_ALLOC"], door], capture_output=True, text=True,
                                env=environment, timeout=250)
        self.assertEqual((result.returncode, result.stdout), (0, "right\n"), result.stderr)
        found = {}
        for line in result.stderr.splitlines():
            for size in (24 << 20, 40 << 20):
                if line.startswith((f"fadegpu: allocate {size} bytes", f"fadegpu: svm {size} bytes")):
                    found.setdefault(size >> 20, line.split(":")[2].replace(" executable", "").strip())
        return found, [line for line in result.stderr.splitlines() if "FADE_ALLOC" in line]

    def test_nothing_is_changed_unless_it_is_asked_for(self):
        self.assertEqual(self.kinds(""), ({24: "vram", 40: "vram"}, []))

    def test_memory_is_placed_where_the_policy_says(self):
        for policy, expected, moved in (("fine", {24: "vram coherent", 40: "vram coherent"}, 2), ("host", {24: "userptr coherent", 40: "userptr coherent"}, 2),
                                        ("host:min=30M", {24: "vram", 40: "userptr coherent"}, 1), ("fine:max=30M", {24: "vram coherent", 40: "vram"}, 1),
                                        ("fine:caller=doctor_alloc_client", {24: "vram coherent", 40: "vram coherent"}, 2),
                                        ("fine:nobody_calls_this", {24: "vram", 40: "vram"}, 0)):
            with self.subTest(policy):
                found, said = self.kinds(policy)
                self.assertEqual(found, expected)
                self.assertEqual(len(said), 1, said)
                self.assertRegex(said[0], rf"FADE_ALLOC={policy.split(':')[0]}: \d+ allocations")

    def test_every_door_to_memory_obeys_and_the_report_says_what_was_changed(self):
        two = "2 allocations (67108864 bytes) were moved"
        managed = "2 of managed memory (67108864 bytes) were changed"
        cases = [("host", "", "userptr coherent", None), ("host", "coarse:min=20M", "userptr", two), ("managed", "", "", None), ("managed", "coarse:min=20M", "coarse", managed),
                 ("managed", "host:min=20M", "system", managed), ("region", "", "userptr", None), ("region", "fine:min=20M", "userptr coherent", two)]
        if HIP >= 6:
            cases += [("virtual", "", "vram", None), ("virtual", "fine:min=20M", "vram coherent", two), ("virtual", "host:min=20M", "vram", "2 not: the runtime refused")]
        for door, policy, expected, said in cases:
            with self.subTest(door=door, policy=policy):
                found, lines = self.kinds(policy, door)
                self.assertEqual(found, {24: expected, 40: expected})
                self.assertEqual(len(lines), 0 if said is None else 1)
                self.assertIn(said or "", "".join(lines))

    def test_memory_that_the_gpu_does_not_have_is_said(self):
        found, said = self.kinds("uncached")
        if HIP >= 6:
            self.assertEqual(found, {24: "vram coherent extended", 40: "vram coherent extended"})
        else:
            self.assertEqual(found, {24: "vram", 40: "vram"})
            self.assertIn("there is no such memory", said[0])

    def test_mistakes_are_refused_before_the_program_starts(self):
        for policy, text in (("corse", "did you mean 'coarse'"), ("fine:min=x", "not a size"), ("fine:caller=(", "not a regular expression"),
                             ("fine:min=2M,max=1M", "is more than")):
            result = subprocess.run([PROBE, "--alloc", policy, "--", os.environ["DOCTOR_ALLOC"]], capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 2)
            self.assertIn(text, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=0)
