#!/usr/bin/env python3
"""fadeprobe doctor as users run it: exit codes, formats, fixes in a tree, and probes on the software GPU that fail on purpose."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

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
                            (["--root", str(self.root), "--probe", "all"], "cannot be probed"), (["--gpu", "gfx90a"], "--gpu needs --probe"),
                            (["--probe", "kernel,cats", "--gpu", "gfx90a"], "'cats' is not a stage"),
                            (["--fix", "--revert", "--root", str(self.root)], "nothing to revert")):
            result = doctor(*words)
            self.assertEqual((result.returncode, result.stdout), (3, ""), words)
            self.assertIn(text, result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_what_is_looked_at_can_be_collected_into_a_folder_or_an_archive(self):
        self.write("/tree/proc/version", "Linux version 6.5.0")
        self.write("/tree/fade-doctor/environ", "HSA_XNACK=1\nTOKEN=secret\n")
        findings = [x["rule"] for x in lines(doctor("--root", str(self.root / "tree"), "--json")) if x["type"] == "finding"]
        result = doctor("--root", str(self.root / "tree"), "--collect", str(self.root / "x.tar"))
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        (self.root / "copy").mkdir()
        subprocess.run(["tar", "xf", self.root / "x.tar", "-C", self.root / "copy"], check=True)
        again = [x["rule"] for x in lines(doctor("--root", str(self.root / "copy"), "--json")) if x["type"] == "finding"]
        self.assertEqual(findings, again)
        self.assertEqual((self.root / "copy/fade-doctor/environ").read_text(), "HSA_XNACK=1\n")
        self.assertEqual(sorted(p.name for p in self.root.iterdir()), ["copy", "tree", "x.tar"])
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


    def test_mistakes_of_the_command_line_are_no_verdict(self):
        for words in (("--bogus",), ("--timeout", "abc"), ("--probe", "nothing")):
            result = doctor(*words)
            self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (3, "", 1), (words, result.stderr))

    def test_remedies_name_what_a_fix_writes(self):
        self.write("more.json", json.dumps({"version": 1, "rules": [
            {"id": "mine", "severity": "note", "when": [{"fact": "machine.kfd", "is": "missing"}], "finding": "Mine.", "source": "me",
             "remedies": [{"do": "set it", "cost": "reboot", "modprobe": ["vm_fragment_size=9", "noretry=0"], "kernel": ["amdgpu.vm_fragment_size=9", "amdgpu.noretry=0"]},
                          {"do": "log in", "environment": ["A=1"]}, {"do": "nothing"}]}]}))
        words = ("--root", str(self.root), "--rules", str(self.root / "more.json"))
        text = " ".join(doctor(*words).stdout.split())
        self.assertIn("1. set it [reboot] [--fix writes amdgpu vm_fragment_size=9 amdgpu noretry=0] 2. log in [--fix writes A=1] 3. nothing", text)
        found, = [f for f in lines(doctor(*words, "--json")) if f.get("rule") == "mine"]
        self.assertEqual([x.get("writes") for x in found["remedies"]], [["amdgpu vm_fragment_size=9", "amdgpu noretry=0"], ["A=1"], None])

    def test_what_most_users_of_rdna_report_as_a_cure_comes_before_other_fixes(self):
        rules = json.loads((pathlib.Path(__file__).parent / "../../doctor/rules/rdna.json").read_text())["rules"]
        rule, = [x for x in rules if x["id"] == "rdna12-coherent-memory"]
        first = next(x for x in rule["remedies"] if "modprobe" in x or "environment" in x)
        self.assertEqual(first["modprobe"], ["vm_fragment_size=9", "noretry=0"])


class Probes(unittest.TestCase):
    """Each stage on the software GPU, as it is and with something broken."""

    def probe(self, stages, *words, fail="", gpu="gfx90a"):
        result = doctor("--probe", stages, "--gpu", gpu, "--json", *words, FADE_GPU_FAIL=fail)
        self.assertEqual(result.stderr, "")
        found = {line["stage"]: line for line in lines(result) if line["type"] == "probe"}
        return result.returncode, found

    @contextlib.contextmanager
    def quick_compiler(self):
        """A compiler with HIP's headers precompiled, which are most of the time that a program takes; another test compiles as users do."""
        headers, compiler = os.environ.get("DOCTOR_HEADERS"), shutil.which("clang++-19")
        with tempfile.TemporaryDirectory() as folder:
            if headers and compiler:
                quick = pathlib.Path(folder) / "clang++-19"
                quick.write_text(f'#!/bin/sh\nexec {compiler} -std=c++17 -D__HIP_PLATFORM_AMD__ -include {headers} "$@"\n')
                quick.chmod(0o755)
            with unittest.mock.patch.dict(os.environ, PATH=folder + os.pathsep + os.environ["PATH"]):
                yield

    def test_all_stages_pass_where_all_is_well(self):
        code, found = self.probe("all")
        self.assertEqual(code, 0, found)
        for stage in ("driver", "agents", "allocate", "copy", "kernel", "lds", "atomics", "queues", "large", "managed", "graphs", "matmul", "fade-off", "fade-times",
                      "fade-host", "fade-device", "fade-hip", "fade-often", "fade-compile", "fade-summary", "fade-stream", "fade-counts", "fade-clocks", "fade-capture"):
            self.assertEqual(found[stage]["outcome"], "passed", found[stage])
        self.assertRegex(found["fade-often"]["text"], r"^54272 records in .* ns each; .* ms without them")

    def test_a_gpu_that_is_younger_than_the_compiler_gets_kernels_of_its_family(self):
        program = pathlib.Path(PROBE).parent.parent / "lib/fade/fade-doctor-probe"
        for gpu, code in (("gfx90a", 0), ("gfx1159", 0), ("gfx1311", 1), ("gfx90a0", 1), ("", 1)):
            with self.subTest(gpu):
                self.assertEqual(subprocess.run([program, "has-kernels-for", gpu]).returncode, code)

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
        # Each stage is a process of its own, in which failures count from 1.
        first = {"copy": ("copy:1", "values are wrong"), "kernel": ("fault:1:probe_store", "memory fault at 0xf000"), "lds": ("violation:1:probe_lds", "APERTURE_VIOLATION"),
                 "atomics": ("skip:1:probe_atomic", "device memory are wrong"), "matmul": ("illegal:1:probe_matmul", "ILLEGAL_INSTRUCTION")}
        second = {"kernel": ("skip:1:probe_store", "values are wrong"), "lds": ("skip:1:probe_lds", "wrong values through LDS"), "queues": ("skip:64:probe_store", "values are wrong")}
        for failures in (first, second, {"agents": ("open:*", "")}, {"allocate": ("allocation:*:1000000", "OUT_OF_RESOURCES")}, {"queues": ("queue:*", "OUT_OF_RESOURCES")},
                         {"kernel": ("ecc:1:probe_store", "")}):
            code, found = self.probe(",".join(failures), fail=",".join(fail for fail, _ in failures.values()))
            self.assertEqual(code, 2, found)
            for stage, (fail, text) in failures.items():
                with self.subTest(stage=stage, fail=fail):
                    self.assertEqual(found[stage]["outcome"], "failed", found)
                    self.assertIn(text, found[stage]["text"])

    def test_what_not_every_program_needs_is_a_limit(self):
        for stages, fail, outcomes in (("large,atomics", "allocation:*:1000000000,skip:2:probe_atomic", ["failed", "limited"]), ("managed", "fault:1:probe_store", ["failed"]),
                                       ("graphs", "allocation:*:4000", ["failed"])):
            with self.subTest(stages):
                code, found = self.probe(stages, fail=fail)
                self.assertEqual((code, [found[stage]["outcome"] for stage in stages.split(",")]), (1, outcomes), found)

    def test_fade_itself_is_tried_in_waves_of_either_size_and_a_wrong_result_is_seen(self):
        with unittest.mock.patch.dict(os.environ, PATH="/nowhere", ROCM_PATH=""):
            code, found = self.probe("fade", gpu="gfx1030")
        self.assertEqual((code, [found[f"fade-{s}"]["outcome"] for s in ("off", "times", "host", "device", "hip")]), (0, ["passed"] * 5), found)
        self.assertRegex(found["fade-host"]["text"], r"^576 records, \d+ bytes, all correct")
        self.assertEqual((found["fade-compile"]["outcome"], found["fade-compile"]["text"]), ("skipped", "no hipcc and no clang++ found in PATH or /opt/rocm"))
        self.assertEqual((found["fade-summary"]["outcome"], found["fade-summary"]["text"]), ("skipped", "because no program was compiled"))
        with self.quick_compiler():
            code, found = self.probe("fade", fail="skip:1:__fade_fade_probe,skip:1:__fade__Z9first_run")
        self.assertEqual((code, found["fade-times"]["outcome"]), (1, "passed"), found)
        for stage in ("host", "hip", "often", "summary", "stream", "counts", "clocks"):
            self.assertEqual(found[f"fade-{stage}"]["outcome"], "failed", found[f"fade-{stage}"])

    def test_everything_can_be_saved_to_one_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "result.jsonl"
            result = doctor("--probe", "driver", "--gpu", "gfx90a", "--quiet", "--save", str(file))
            self.assertEqual((result.returncode, result.stdout), (0, ""))
            saved = [json.loads(line) for line in file.read_text().splitlines()]
            self.assertEqual([line["type"] for line in saved], ["doctor", "probe"])

    def test_a_stage_that_hangs_is_ended(self):
        code, found = self.probe("kernel,atomics,copy", "--timeout", "1", fail="hang:1:probe_store,lost:1:probe_atomic,copyhang:1")
        for stage in ("kernel", "atomics", "copy"):
            self.assertEqual((code, found[stage]["outcome"]), (2, "failed"), found)
            self.assertIn("hung: no end within 1 s", found[stage]["text"])


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

    def until_it_hangs(self, how, **variables):
        """A run that is ended while its kernel runs. How soon it gets there depends on the machine, so it gets ever more time."""
        for seconds in (1, 2, 4, 8, 16, 32, 64):
            result = self.run_it(how, "--timeout", str(seconds), **variables)
            if "fade: in flight:" in result.stderr:
                return result, seconds
        self.fail(result.stderr)

    def test_a_program_that_lives_is_left_alone(self):
        result = self.run_it("seven")
        self.assertEqual((result.returncode, result.stdout), (7, "right\n"), result.stderr)
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

    def test_memory_that_was_freed_is_known_with_who_freed_it_and_all_can_be_saved_and_judged_again(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "all.jsonl"
            result = self.run_it("freed", "--save", str(file))
            self.assertEqual(result.returncode, FAULT, result.stderr)
            frees, calls = self.line_of("hipFree(buffer)"), self.line_of("dropBuffer(buffer) != 0")
            self.assertRegex(result.stderr, r"fade: the address is \d+ bytes into allocation \d+ \(8388608 bytes at .*\), "
                                            rf"which was freed by dropBuffer \(deaths.hip:{frees}\), main \(deaths.hip:{calls}\)")
            self.assertRegex(result.stderr, r"fade: it had been allocated by makeBuffer ")
            self.assertIn("writeAt(int*, unsigned long) used memory that had been freed (died-of-freed-memory)", result.stderr)
            saved = [json.loads(line) for line in file.read_text().splitlines()]
            self.assertEqual([x["type"] for x in saved], ["doctor", "fact", "death", "finding", "end"])
            self.assertEqual((saved[3]["rule"], saved[3]["death"], saved[4].get("signal"), saved[4]["timed_out"]), ("died-of-freed-memory", "1", "SIGABRT" if FAULT < 0 else None, False))
            memory = saved[2]["memory"][0]
            self.assertEqual((memory["freed"], memory["relation"], memory["size"], memory["freed_by"][0]["function"]), (True, "into", 8 << 20, "dropBuffer"))
            empty = pathlib.Path(folder) / "tree"
            empty.mkdir()
            again = lines(doctor("--root", str(empty), "--deaths", str(file), "--json"))
            self.assertIn("died-of-freed-memory", [x.get("rule") for x in again])

    def test_the_last_record_of_the_guilty_wave_has_the_line_in_any_run_with_any_transport_and_either_wave_size(self):
        line = self.line_of("// the guilty line")
        for gpu, words, wave in (("gfx90a", [], 0), ("gfx1030", ["--transport", "device"], 1)):
            with self.subTest(gpu=gpu, words=words), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "deaths.json"
                result = self.run_plain("many", "-i", "-a", "MemoryAnalysis", "--deaths", str(file), *words, gpu=gpu)
                self.assertEqual(result.returncode, FAULT, result.stderr)
                found = json.loads(file.read_text())
                dispatch = found["dispatches"][0]
                self.assertEqual((found["type"], found["version"], found["kind"], dispatch["instrumented"]), ("death", 1, "memory fault", True))
                self.assertRegex(result.stderr, rf"fade:   wave {wave} of workgroup 2,0,0 touched that page: load of 4 bytes at deaths.hip:{line}:\d+ in oneOfMany, "
                                                r"from 0x[0-9a-f]+ to 0x[0-9a-f]+, 32 lanes")
                guilty = dispatch["waves"][0]
                self.assertEqual((guilty["workgroup"], guilty["wave_in_group"], guilty["records"][-1]["line"]), ([2, 0, 0], wave, line))
                self.assertEqual(guilty["records"][-1]["hits"], 32)
                self.assertLessEqual(guilty["records"][-1]["first"], found["address"])

    def test_an_error_of_a_queue_names_kernel_and_line_once(self):
        for how, error, kernel, rule in (("trap", "HSA_STATUS_ERROR_EXCEPTION", "trapNow", "died-of-a-trap"),
                                         ("misaligned", "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION", "misaligned", "died-of-an-aperture-violation")):
            line = self.line_of(f"void {kernel}") + (how == "trap")
            for run, words, said in ((self.run_it, [], rf"at pc 0x[0-9a-f]+: {kernel}\(.*deaths.hip:{line}"), (self.run_plain, ["-i"], rf"last record of 1 wave: .*deaths.hip:{line}")):
                with self.subTest(how=how, words=words):
                    result = run(how, *words)
                    self.assertNotEqual(result.returncode, 0)
                    self.assertRegex(result.stderr, rf"fade: queue \d+ stopped: {error}\n")
                    self.assertRegex(result.stderr, rf"fade: in flight: dispatch \d+: {kernel}\(")
                    self.assertEqual(result.stderr.count("in flight:"), 1, result.stderr)
                    self.assertRegex(result.stderr, said)
                    if not words:
                        self.assertIn(f"({rule})", result.stderr)

    def test_failures_of_the_gpu_name_the_kernel_also_if_it_is_instrumented(self):
        for fail, text, rule in (("illegal:1:writeAt", "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION", "died-of-an-illegal-instruction"),
                                 ("ecc:1:writeAt", "fade: the GPU was reset, because of an ECC error\n", "died-of-an-ecc-error")):
            result = self.run_it("fine", FADE_GPU_FAIL=fail, FADE_INSTRUMENTED="on")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(text, result.stderr)
            self.assertRegex(result.stderr, r"fade: in flight: dispatch \d+: writeAt.*\nfade:   it is instrumented, but none of its waves has written a record\n")
            self.assertEqual(result.stderr.count("in flight:"), 1, result.stderr)
            self.assertIn(f"({rule})", result.stderr)

    def test_a_reset_after_a_hang_names_the_kernel(self):
        # ROCr 5.2 does not ask the driver about resets: the program hangs.
        if HIP < 6:
            result, _ = self.until_it_hangs("fine", FADE_GPU_FAIL="reset:1:writeAt")
            self.assertIn("(died-of-a-hang)", result.stderr)
        else:
            result = self.run_it("fine", FADE_GPU_FAIL="reset:1:writeAt")
            self.assertIn("fade: the GPU was reset, because it hung\n", result.stderr)
            self.assertIn("(died-of-a-reset)", result.stderr)
        self.assertRegex(result.stderr, r"fade: in flight: dispatch \d+: writeAt")

    def test_a_hang_names_the_kernel_and_its_last_record_when_the_time_is_over(self):
        result, seconds = self.until_it_hangs("hang", FADE_INSTRUMENTED="on")
        self.assertEqual(result.returncode, -15, result.stderr)
        self.assertRegex(result.stderr, r"fade: in flight: dispatch \d+: forever\(.*\nfade:   last record of 1 wave: load of 4 bytes at deaths.hip:" + str(self.line_of("while (*flag")))
        self.assertIn(f"took longer than {seconds} s and was ended", result.stderr)
        self.assertIn("(died-of-a-hang)", result.stderr)

    def test_it_can_be_switched_off(self):
        self.assertNotIn("fade:", self.run_plain("overrun", "--no-explain").stderr)


class Allocations(unittest.TestCase):
    """FADE_ALLOC, as the software GPU's own log of allocations sees it, in a program that loads HIP with RTLD_LOCAL."""

    def run_it(self, policy, program, *words):
        # ROCr 5 has fine-grained memory on a GPU only if it is told so.
        environment = os.environ | {"FADE_GPU_TRACE": "allocations", "FADE_LOG_LOCATION": "/dev/null", "HSA_FORCE_FINE_GRAIN_PCIE": "1"}
        result = subprocess.run([PROBE, "--gpu", "gfx90a", *(["--alloc", policy] if policy else []), "--", os.environ[program], *words], capture_output=True, text=True,
                                env=environment, timeout=250)
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1:]), (0, ["right"]), result.stderr)
        return result, [line for line in result.stderr.splitlines() if "FADE_ALLOC" in line]

    def kinds(self, policy, *doors):
        """What the two buffers, of 6 and 10 MiB, are that the program gets by each door, and what is said at the end."""
        result, said = self.run_it(policy, "DOCTOR_ALLOC", *doors)
        found, door = {}, None
        for line in result.stderr.splitlines():
            if line.startswith("door "):
                door = line[5:]
            for size in (6 << 20, 10 << 20):
                if line.startswith((f"fadegpu: allocate {size} bytes", f"fadegpu: svm {size} bytes")):
                    found.setdefault(door, {}).setdefault(size >> 20, line.split(":")[2].replace(" executable", "").strip())
        return found, said

    def test_every_door_to_memory_obeys_and_the_report_says_what_was_changed_and_for_whom(self):
        doors = ["device", "host", "managed", "region"] + ["virtual"] * (HIP >= 6)
        for policy, expected, said in (
                ("", {"device": "vram", "host": "userptr coherent", "managed": "", "region": "userptr", "virtual": "vram"}, []),
                ("coarse:min=5M", {"device": "vram", "host": "userptr", "managed": "coarse", "region": "userptr", "virtual": "vram"},
                 ["2 allocations (16777216 bytes) were moved", "2 of managed memory (16777216 bytes) were changed"]),
                ("fine:min=5M", {"device": "vram coherent", "host": "userptr coherent", "region": "userptr coherent", "virtual": "vram coherent"},
                 [f"{4 + 2 * (HIP >= 6)} allocations (", "; the largest, 10485760 bytes, for "]),
                ("host:min=5M", {"device": "userptr coherent", "managed": "system", "virtual": "vram"}, ["2 of managed memory (16777216 bytes) were changed"] + ["2 not: the runtime refused"] * (HIP >= 6))):
            with self.subTest(policy):
                found, lines = self.kinds(policy, *doors)
                for door in expected.keys() & set(doors):
                    self.assertEqual(found.get(door), {6: expected[door], 10: expected[door]}, door)
                self.assertEqual(len(lines), 1 if policy else 0)
                for text in said:
                    self.assertIn(text, lines[0])

    def test_sizes_and_callers_can_be_chosen_and_the_first_rule_that_fits_counts(self):
        found, said = self.kinds("host:min=8M;fine:max=8M", "device")
        self.assertEqual(found["device"], {6: "vram coherent", 10: "userptr coherent"})
        found, said = self.kinds("host:nobody_calls_this;fine:caller=doctor_alloc_client", "device")
        self.assertEqual(found["device"], {6: "vram coherent", 10: "vram coherent"})
        self.assertIn("FADE_ALLOC=host: 0 allocations (0 bytes)", said[0])
        self.assertRegex(said[1], r"FADE_ALLOC=fine: \d+ allocations .*; the largest, 10485760 bytes, for .*main")

    def test_what_kernels_talk_to_the_host_through_stays_coherent(self):
        def coherent(policy):
            result, said = self.run_it(policy, "DOCTOR_DEATHS", "talk")
            self.assertEqual(result.stdout, "from the GPU 0\nright\n")
            return sorted(line.split()[2] for line in result.stderr.splitlines() if line.startswith("fadegpu: allocate") and "userptr coherent" in line), said
        before, _ = coherent("")
        after, said = coherent("coarse")
        self.assertEqual(before, after)
        self.assertRegex(said[0], r"; \d+ kept coherent, for kernels that print, assert or allocate")

    def test_memory_that_the_gpu_does_not_have_is_said(self):
        found, said = self.kinds("uncached", "device")
        if HIP >= 6:
            self.assertEqual(found["device"], {6: "vram coherent extended", 10: "vram coherent extended"})
        else:
            self.assertEqual(found["device"], {6: "vram", 10: "vram"})
            self.assertIn("there is no such memory", said[0])

    def test_mistakes_are_refused_before_the_program_starts(self):
        for policy, text in (("corse", "did you mean 'coarse'"), ("fine:min=x", "not a size"), ("fine:caller=(", "not a regular expression"),
                             ("fine:min=2M,max=1M", "is more than")):
            result = subprocess.run([PROBE, "--alloc", policy, "--", os.environ["DOCTOR_ALLOC"]], capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 2)
            self.assertIn(text, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=0)
