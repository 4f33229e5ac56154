"""fadeprobe rewrite and --observe rewrite: kernels that nobody compiles again are instrumented as machine code."""
import collections
import json
import os
import re
import shutil
import stat
import subprocess
import unittest

import agreement
import fade
import observe
import reports
from fade import GPU, LIB, PROBE, program

LEVELS = ["O0", "O1", "O2", "O3"]
LANES = {GPU: fade.LANES} if "E2E_GPU" in os.environ else {"gfx90a": 64, "gfx1030": 32}

# Values in nearly all scalar registers, most of which hold the address of the next load.
CROWDED = observe.ASSEMBLY.replace("rows", "crowded").replace(observe.ASSEMBLY.split("rows:\n")[1].split(".Lend:")[0], """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v2, 0
  s_waitcnt lgkmcnt(0)
  .set n, 8
  .rept 44
  s_mov_b64 s[n:n+1], s[6:7]
  .set n, n+2
  .endr
  .rept 6
  s_movk_i32 s[n], 3*n
  .set n, n+1
  .endr
  .set n, 8
  .rept 44
  global_load_dword v3, v1, s[n:n+1]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v2, v2, v3
  .set n, n+2
  .endr
  .rept 6
  v_add_u32_e32 v2, s[n], v2
  .set n, n+1
  .endr
  global_store_dword v1, v2, s[4:5]
  s_endpgm
""").replace("next_free_sgpr 16", "next_free_sgpr 102")

# Values in all 256 vector registers, among them addresses; a load and a matrix multiplication are on their way into some when others are needed.
FULL = observe.ASSEMBLY.replace("rows", "full").replace(observe.ASSEMBLY.split("rows:\n")[1].split(".Lend:")[0], """
  .macro address low, high, offset
  v_mov_b32_e32 v[\\high], s7
  v_add_co_u32_e64 v[\\low], VCC, s6, v1
  s_nop 1
  v_addc_co_u32_e64 v[\\high], VCC, 0, v[\\high], VCC
  v_add_u32_e32 v[\\low], \\offset, v[\\low]
  .endm
  PAIRS
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 0
  s_waitcnt lgkmcnt(0)
  .set n, 4
  .rept 252
  v_mad_u32_u24 v[n], v0, 3, 64-n/4
  .set n, n+1
  .endr
  address A, A+1, 0
  address B, B+1, 32
  address C, C+1, 64
  address D, D+1, 128
  global_load_dword v236, v1, s[6:7] offset:8
  s_mov_b32 exec_lo, 0x55555555
  global_load_dword v2, v[A:A+1], off
  global_load_dword v237, v[B:B+1], off
  MATRICES
  global_load_dword v234, v[C:C+1], off
  s_mov_b32 exec_lo, -1
  global_load_dword v3, v[D:D+1], off
  ds_write_b32 v1, v238
  ds_read_b32 v252, v1
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_nop 15
  .irp low, A, B, C, D
  v_subrev_u32_e32 v[\\low], s6, v[\\low]
  .endr
  .irp high, A+1, B+1, C+1, D+1
  v_subrev_u32_e32 v[\\high], s7, v[\\high]
  .endr
  .set n, 3
  .rept 253
  v_xor_b32_e32 v2, v2, v[n]
  v_lshl_add_u32 v2, v2, 1, v2
  .set n, n+1
  .endr
  global_store_dword v1, v2, s[4:5]
  s_endpgm
""").replace("next_free_vgpr 4", "next_free_vgpr 256").replace("accum_offset 4", "accum_offset 256")


def with_twin(text, name):
    """Metadata of the kernel's twin as well: HIP finds it, and it runs alone, without anybody who takes its records."""
    entry = text.split("amdhsa.kernels:\n")[1].split("...\n")[0]
    twin = entry.replace(name, "__fade_" + name).replace("kernarg_segment_size: 16", "kernarg_segment_size: 24").replace("private_segment_fixed_size: 0", "private_segment_fixed_size: 36")
    return text.replace(entry, entry + twin + "      - {.size: 8, .offset: 16, .value_kind: by_value}\n")


def full(gpu):
    """For a GPU."""
    is_gfx9 = gpu.startswith("gfx9")
    pairs = zip("ABCD", (254, 248, 246, 230) if is_gfx9 else (254, 247, 239, 231))
    text = FULL.replace("gfx90a", gpu).replace("PAIRS", "\n".join(f"  .set {x}, {n}" for x, n in pairs))
    if gpu == "gfx908":
        return text.replace("VCC", "vcc").replace("MATRICES", "").replace("    .amdhsa_accum_offset 256\n", "")
    if gpu == "gfx90a":
        return text.replace("VCC", "vcc").replace("MATRICES", "v_mfma_f32_16x16x4f32 v[250:253], v[4], v[5], v[250:253]")
    if is_gfx9:
        return text.replace("VCC", "vcc").replace("MATRICES", "v_mfma_f32_16x16x4_f32 v[250:253], v[4], v[5], v[250:253]")
    text = text.replace("VCC", "vcc_lo").replace("MATRICES", "").replace("v_addc_co_u32", "v_add_co_ci_u32")
    text = re.sub("v_(add|subrev)_u32", r"v_\1_nc_u32", text).replace("    .amdhsa_accum_offset 256\n", "").replace("wavefront_size: 64", "wavefront_size: 32")
    if gpu.startswith("gfx10"):
        return text
    text = text.replace("s_load_dwordx4", "s_load_b128").replace("load_dword", "load_b32").replace("store_dword", "store_b32").replace("ds_read_", "ds_load_").replace("ds_write_", "ds_store_")
    if gpu.startswith("gfx11"):
        return text
    return re.sub("s_waitcnt .*", "s_wait_loadcnt 0\ns_wait_dscnt 0\ns_wait_kmcnt 0", text)


# Calls one of two functions, whose addresses are chosen beforehand, without symbols. They use registers that compilers keep, take SCC and leave something in it.
CHOOSING = observe.ASSEMBLY.replace("rows", "choosing").replace(observe.ASSEMBLY.split("rows:\n")[1].split(".Lend:")[0], """
  .macro address function
  s_getpc_b64 s[12:13]
  s_add_i32 s14, \\function-4-.Lfrom\\@, 4
  .Lfrom\\@ = .-8
  s_add_u32 s12, s12, s14
  s_addc_u32 s13, s13, 0
  .endm
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[6:7]
  s_mov_b64 s[20:21], 0
  s_waitcnt vmcnt(0)
.Lagain:
  s_bitcmp1_b32 s20, 0
  s_cbranch_scc1 .Lodd
  address .Ldouble
  s_branch .Lchosen
.Lodd:
  address .Linvert
.Lchosen:
  v_cmp_gt_u32_e64 s[16:17], 40, v0
  s_mov_b64 exec, s[16:17]
  s_cmp_lt_u32 s20, 3
  s_cbranch_execz .Lskip
  s_swappc_b64 s[30:31], s[12:13]
  s_cbranch_execz .Lskip
  s_addc_u32 s21, s21, 0
  s_swappc_b64 s[30:31], s[12:13]
.Lskip:
  s_mov_b64 exec, -1
  s_add_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 5
  s_cbranch_scc1 .Lagain
  v_add_u32_e32 v2, s21, v2
  global_store_dword v1, v2, s[4:5]
  s_endpgm
.Ldouble:
  s_cselect_b32 s34, 5, 7
  v_lshl_add_u32 v2, v2, 1, s34
  s_cmp_lt_u32 s20, 4
  s_cbranch_execz .Lreturn
  s_nop 0
.Lreturn:
  s_setpc_b64 s[30:31]
.Linvert:
  s_cselect_b32 s70, 11, 13
  v_xor_b32_e32 v2, s70, v2
  s_cmp_lt_u32 s20, 2
  s_setpc_b64 s[30:31]
""").replace("next_free_sgpr 16", "next_free_sgpr 80").replace("  .size choosing, .Lend-choosing\n", "")


# A lane that loads through a buffer is partly outside of it, the next one wholly.
PARTLY = observe.ASSEMBLY.replace("rows", "partly").replace(observe.ASSEMBLY.split("rows:\n")[1].split(".Lend:")[0], """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 4, v0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, s6
  s_and_b32 s9, s7, 0xffff
  s_movk_i32 s10, 62*16+8
  s_mov_b32 s11, 0x27000
  buffer_load_dwordx4 v[4:7], v1, s[8:11], 0 offen
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v4, v5
  v_add_u32_e32 v4, v4, v6
  v_add_u32_e32 v4, v4, v7
  global_store_dword v1, v4, s[4:5]
  s_endpgm
""")


def blocks(objects):
    """kernel -> [(block, executions, lanes)], one for each dispatch in order."""
    found = {}
    for each in objects:
        if each["type"] == "blocks":
            ran = sorted((x["block"], x["executions"], x["lanes"]) for x in each["blocks"] if x["executions"])
            found.setdefault(each["kernel"].split("(")[0], []).append(ran)
    return found


class Tests(reports.Test):
    def setUp(self):
        super().setUp()
        self.home = {"XDG_CACHE_HOME": self.path("cache")}

    def rewritten(self, app, options=(), env=None, handler="BlockCounts", **more):
        return self.probe(["-i", "--observe", "rewrite", "-a", handler, *options], [app], env={**self.home, **(env or {})}, **more)

    def check_level(self, level, refused):
        """Results are those of the program alone; counts are those that the software GPU sees; `refused` kernels run as they are."""
        app = program(f"rewritten_{level}")
        alone = self.software_gpu([app])
        self.assertEqual(alone.code, 0, alone.stderr)
        result = self.rewritten(app)
        self.assertEqual(result.code, 0, result.stderr)
        self.assertEqual(result.stdout, alone.stdout)
        counted = blocks(result.objects())
        observed = self.probe(["-i", "--observe", "gpu", "-a", "BlockCounts"], [app])
        truth = blocks(observed.objects())
        self.assertEqual(set(truth) - set(counted), refused)
        for kernel, dispatches in counted.items():
            self.assertEqual(dispatches, truth[kernel], kernel)

    def test_counts_without_optimization(self):
        self.check_level("O0", {"looking"})

    def test_counts_with_some_optimization(self):
        self.check_level("O1", {"looking"})

    def test_counts_of_optimized_code(self):
        self.check_level("O2", {"looking"})

    def test_counts_with_all_optimizations(self):
        self.check_level("O3", {"looking"})

    def check_accesses(self, level, refused):
        """Results are those of the program alone; accesses are those that the software GPU sees, lane by lane and site by site."""
        app = program(f"rewritten_{level}")
        found = []
        for way in ("rewrite", "gpu"):
            result = self.probe(["-i", "--observe", way, "-a", "MessageLogger", "Heatmap"], [app], env=self.home)
            self.assertEqual(result.code, 0, result.stderr)
            self.assertEqual(result.stdout, self.software_gpu([app]).stdout)
            accesses = [x for x in result.objects("access") if x["kernel"].split("(")[0] not in refused]
            waves = collections.Counter((x["kernel"].split("(")[0], *x["workgroup"], x["mask"]) for x in result.objects("wave_begin"))
            by_site = collections.Counter((x["kernel"], *x["workgroup"], x.get("line"), x.get("column"), x["op"], x["bytes"], x["mask"]) for x in accesses)
            recorded = {x["kernel"].split("(")[0] for x in result.objects("dispatch") if x["records"]}
            touched = agreement.touched([x for x in result.objects() if x["type"] != "access"] + accesses)
            found.append((recorded - refused, {k: n for k, n in waves.items() if k[0] not in refused}, by_site, touched))
            self.assertEqual(recorded & refused, set() if way == "rewrite" else refused)
        for rewritten, observed in zip(*found):
            self.assertGreater(len(rewritten), 6)
            self.assertEqual(rewritten, observed)

    def test_accesses_without_optimization(self):
        self.check_accesses("O0", {"looking"})

    def test_accesses_with_some_optimization(self):
        self.check_accesses("O1", {"looking"})

    def test_accesses_of_optimized_code(self):
        self.check_accesses("O2", {"looking"})

    def test_accesses_with_all_optimizations(self):
        self.check_accesses("O3", {"looking"})

    @unittest.skipIf(fade.HIP < 6, "without optimization all kernels use variables of HIP 5's libraries")
    def test_times_without_optimization(self):
        self.check_times("O0", {"shared", "calling", "recursive", "spilling", "through_buffers"}, 3)

    def test_times_of_optimized_code(self):
        self.check_times("O2", {"shared", "calling", "recursive", "spilling", "through_buffers"}, 8)

    def check_times(self, level, kernels, least):
        """Counts are what they are without clocks; blocks that ran have clocks, and only those. `kernels`: others use variables of their code object."""
        app, folder = program(f"rewritten_{level}"), self.path("out")
        made = self.bare([PROBE, "rewrite", app, "-o", folder, "--instrument", "times"])
        self.assertEqual(made.code, 0, made.stderr)
        for gpu in self.gpus():
            alone = self.software_gpu([app], gpu)
            result = self.probe(["-i", "--observe", "pass", "-c", folder, "-a", "BlockCounts"], [app], env={**gpu, "FADE_GPU_HAZARDS": "card"})
            self.assertEqual((result.code, result.stdout), (0, alone.stdout), result.stderr)
            timed = result.objects("blocks")
            counted = blocks(timed)
            self.assertEqual(set(counted), kernels)
            truth = blocks(self.rewritten(app, env=gpu).objects())
            self.assertEqual(counted, {kernel: truth[kernel] for kernel in counted})
            for kernel in timed:
                ran = [x["block"] for x in kernel["blocks"] if x["executions"]]
                with_clocks = [x["block"] for x in kernel["blocks"] if x.get("clocks")]
                # There is a pair of registers for each block, those of loops first, as long as there are some.
                self.assertGreaterEqual(len(with_clocks), min(len(ran), least), kernel)
                self.assertLessEqual(set(with_clocks), set(ran), kernel)

    def check_sums(self, name, *analyzers):
        """Accesses that are added up on the GPU: the reports are those of the stream."""
        app = program(name)
        for gpu in self.gpus():
            # Behind calls of routines and their returns, too.
            env = {**self.home, **gpu, "FADE_GPU_HAZARDS": "calls"}
            summed, streamed = (self.results(app, *analyzers, "--observe", "rewrite", *how, env=env) for how in ((), ("--stream",)))
            self.assertEqual(summed.stdout, streamed.stdout)
            if name.endswith("O2"):
                self.assertNotIn("comes too early", summed.stderr + streamed.stderr)
            self.assertGreater(len(self.reports(summed)), 16)
            self.assertEqual(self.reports(summed), self.reports(streamed), env)
            self.assertEqual(self.pages(summed), self.pages(streamed), env)
            self.assertLess(1.5 * self.records(summed), self.records(streamed))
            yield summed, env

    def check_sums_of_all_kinds(self, name):
        """The same, and what the software GPU sees."""
        for analyzers in (reports.BOTH, ("-a", "MemoryAnalysis", "Heatmap")):
            for summed, env in self.check_sums(name, *analyzers):
                observed = self.results(program(name), *analyzers, "--observe", "gpu", env=env)
                self.assertEqual(summed.stdout, observed.stdout)
                self.assertEqual(self.numbers(summed), self.numbers(observed), env)
                self.assertGreater(len(self.numbers(summed)), 60)

    def test_sums_without_optimization(self):
        self.assertEqual(len(list(self.check_sums("rewritten_O0", *reports.BOTH))), len(self.gpus()))

    def test_sums_of_optimized_code(self):
        self.assertEqual(len(list(self.check_sums("rewritten_O2", *reports.BOTH))), len(self.gpus()))

    def test_sums_of_accesses_of_all_kinds_without_optimization(self):
        self.check_sums_of_all_kinds("plain_corners_O0")

    def test_sums_of_accesses_of_all_kinds(self):
        self.check_sums_of_all_kinds("plain_corners_O2")

    def check_together(self, level, refused):
        """One run has counts and accesses: counts are those of the blocks, and the table of memory is what it is on the software GPU."""
        app = program(f"rewritten_{level}")
        found = []
        for way in ("rewrite", "gpu"):
            result = self.probe(["-i", "--observe", way, "-a", "BlockCounts", "MemoryAnalysis"], [app], env=self.home)
            self.assertEqual((result.code, result.stdout), (0, self.software_gpu([app]).stdout))
            reports = [x for x in result.objects("memory") if x["kernel"].split("(")[0] not in refused]
            reports.sort(key=lambda x: (x["kernel"], x.get("dispatch_id", 0))) # dispatches end in any order
            memory = [(each["kernel"], [{**x, "hottest": None} for x in each.get("global", []) + each.get("lds", [])]) for each in reports]
            found.append(({k: v for k, v in blocks(result.objects()).items() if k not in refused}, memory))
        for rewritten, observed in zip(*found):
            self.assertGreater(len(rewritten), 6)
            self.assertEqual(rewritten, observed)

    def check_blocks(self, level, refused):
        """Each entry of a block that the software GPU sees is recorded, with its lanes, in the order of its wave."""
        app = program(f"rewritten_{level}")
        found = []
        for way in ("rewrite", "gpu"):
            result = self.probe(["-i", "--observe", way, "-a", "MessageLogger"], [app], env=self.home)
            self.assertEqual((result.code, result.stdout), (0, self.software_gpu([app]).stdout))
            entries = collections.defaultdict(list)
            for x in result.objects("block"):
                if x["kernel"].split("(")[0] not in refused:
                    entries[x["kernel"], x["dispatch_id"], *x["workgroup"], x["wave"]].append((x.get("function"), x.get("line"), x.get("column"), x["mask"]))
            # Waves are numbered in another order.
            found.append(collections.Counter((*key[:-1], tuple(path)) for key, path in entries.items()))
        self.assertGreater(found[0].total(), 100)
        self.assertEqual(*found)

    def test_counts_and_accesses_together_without_optimization(self):
        self.check_together("O0", {"looking"})

    def test_counts_and_accesses_together_with_some_optimization(self):
        self.check_together("O1", {"looking"})

    def test_counts_and_accesses_together_of_optimized_code(self):
        self.check_together("O2", {"looking"})

    def test_counts_and_accesses_together_with_all_optimizations(self):
        self.check_together("O3", {"looking"})

    def test_blocks_without_optimization(self):
        self.check_blocks("O0", {"looking"})

    def test_blocks_with_some_optimization(self):
        self.check_blocks("O1", {"looking"})

    def test_blocks_of_optimized_code(self):
        self.check_blocks("O2", {"looking"})

    def test_blocks_with_all_optimizations(self):
        self.check_blocks("O3", {"looking"})

    def test_counts_accesses_and_blocks_of_kernels_that_use_all_vector_registers(self):
        self.check_accesses("full_O2", {"looking"})
        self.check_together("full_O2", {"looking"})
        self.check_blocks("full_O2", {"looking"})

    def test_counts_and_accesses_of_kernels_that_use_all_vector_registers_of_large_workgroups(self):
        made = self.bare([PROBE, "rewrite", program("rewritten_wide_O2"), "-o", self.path("out"), "--instrument", "accesses"])
        self.assertIn("36 more bytes of scratch", made.stdout)
        self.assertNotRegex(made.stdout, "[1-9][0-9]* more VGPRs")
        self.check_together("wide_O2", {"looking"})
        self.check_level("wide_O2", {"looking"})

    def test_sums_of_kernels_that_use_all_vector_registers(self):
        self.assertEqual(len(list(self.check_sums("rewritten_full_O2", *reports.BOTH))), len(self.gpus()))

    def test_kernels_that_are_left_alone_have_a_reason(self):
        result = self.rewritten(program("rewritten_O0"), ["-v"])
        self.assertRegex(result.stderr, r"fade: looking\(.*\): the original runs: it has no instrumented twin: an address that is computed from the program counter at 0x")

    def check_pointers(self, level):
        """Calls through pointers lead to copies; those of functions that have none are right, and known to be missing."""
        app = program(f"pointers_{level}")
        alone = self.software_gpu([app])
        self.assertEqual(alone.code, 0, alone.stderr)
        result = self.rewritten(app)
        self.assertEqual((result.code, result.stdout), (0, alone.stdout), result.stderr)
        counted = blocks(result.objects())
        dropped = sorted(x["dropped"] for x in result.objects("dispatch") if x["kernel"].startswith("by_"))
        truth = blocks(self.probe(["-i", "--observe", "gpu", "-a", "BlockCounts"], [app]).objects())
        self.assertEqual(set(counted), {"by_table", "by_object", "choose", "by_variable"})
        left, whole = min(counted.pop("by_variable"), key=len), truth.pop("by_variable")
        self.assertEqual(counted, truth)
        self.assertTrue(any(set(left) < set(x) for x in whole), (left, whole))
        waves = -(-1000 // (64 if GPU.startswith("gfx9") else 32))
        self.assertEqual(dropped, [0, 0, 0, waves])
        found = []
        for way in ("rewrite", "gpu"):
            result = self.probe(["-i", "--observe", way, "-a", "MessageLogger"], [app], env=self.home)
            self.assertEqual((result.code, result.stdout), (0, alone.stdout), result.stderr)
            found.append(collections.Counter((x["kernel"], *x["workgroup"], x.get("line"), x["op"], x["bytes"], x["mask"]) for x in result.objects("access")))
            if way == "rewrite":
                self.assertEqual(sorted(x["dropped"] for x in result.objects("dispatch") if x["kernel"].startswith("by_")), dropped)
        self.assertEqual(found[0], found[1])  # the function without a copy accesses nothing but its stack

    @unittest.skipIf(fade.HIP < 6, "HIP 5 crashes when it launches kernels with calls through pointers")
    def test_calls_through_pointers_without_optimization(self):
        self.check_pointers("O0")

    @unittest.skipIf(fade.HIP < 6, "HIP 5 crashes when it launches kernels with calls through pointers")
    def test_calls_through_pointers_of_optimized_code(self):
        self.check_pointers("O2")

    def test_counting_code_misses_no_wait_states(self):
        self.check_wait_states("BlockCounts")

    def test_recording_code_misses_no_wait_states(self):
        self.check_wait_states("MemoryAnalysis", ["--stream"])

    def test_summing_code_misses_no_wait_states(self):
        self.check_wait_states("MemoryAnalysis")

    def test_code_for_blocks_and_accesses_misses_no_wait_states(self):
        self.check_wait_states("MessageLogger")

    def check_wait_states(self, handler, options=()):
        """Beyond those that the kernel itself misses: clang 19 does not wait for SALU results on gfx12."""
        app, hazards = program("rewritten_O2"), {"FADE_GPU_HAZARDS": "card"}
        alone, result = self.software_gpu([app], hazards), self.rewritten(app, options, env=hazards, handler=handler)
        self.assertEqual((alone.code, result.code), (0, 0))
        if not GPU.startswith("gfx12"):
            self.assertEqual((alone.said, result.said), ([], []))
        by_kernel = [collections.Counter(re.search(r"kernel (?:__fade_)?(\S+):", line)[1] for line in x.said) for x in (alone, result)]
        self.assertEqual(by_kernel[1] - by_kernel[0], collections.Counter())

    def test_the_command_makes_code_objects_for_the_kernel_cache(self):
        app, folder = program("rewritten_O2"), self.path("out")
        made = self.bare([PROBE, "rewrite", app, "-o", folder, "-k", "shared|calling"])
        self.assertEqual(made.code, 0, made.stderr)
        self.assertRegex(made.stdout, rf"{folder}/e2e_rewritten_O2\S*\.{GPU}\.hsaco: 2 of 2 kernels rewritten\n")
        self.assertRegex(made.stdout, r"  shared\(.*\): \d+ block counters, \d+ more SGPRs, 0 more VGPRs, code \d+ -> \d+ bytes\n")
        result = self.probe(["-i", "--observe", "pass", "-c", folder, "-a", "BlockCounts"], [app])
        self.assertEqual(result.stdout, self.software_gpu([app]).stdout)
        self.assertEqual(set(blocks(result.objects())), {"shared", "calling"})
        [made] = [x for x in os.listdir(folder) if f".{GPU}." in x]
        damaged = os.path.join(folder, made)
        os.truncate(damaged, os.path.getsize(damaged) // 2)
        result = self.probe(["-i", "-v", "--observe", "pass", "-c", folder, "-a", "BlockCounts"], [app])
        self.assertEqual(result.stdout, self.software_gpu([app]).stdout)
        self.assertRegex(result.stderr, rf"fade: kernel cache: {damaged}: .* past the end of the file\n")

    def test_the_command_makes_code_objects_that_record_accesses(self):
        app, folder = program("rewritten_O2"), self.path("out")
        made = self.bare([PROBE, "rewrite", app, "-o", folder, "-k", "shared|calling", "--instrument", "accesses"])
        self.assertEqual(made.code, 0, made.stderr)
        self.assertRegex(made.stdout, r"  shared\(.*\): \d+ accesses, \d+ more SGPRs, 8 more VGPRs, code \d+ -> \d+ bytes\n")
        result = self.probe(["-i", "--observe", "pass", "-c", folder, "-a", "MemoryAnalysis"], [app])
        self.assertEqual(result.stdout, self.software_gpu([app]).stdout)
        self.assertEqual({x["kernel"].split("(")[0] for x in result.objects("dispatch") if x["records"]}, {"shared", "calling"})

    def test_the_kernel_cache_does_not_double_variables(self):
        app, folder = program("rewritten_O2"), self.path("out")
        self.bare([PROBE, "rewrite", app, "-o", folder])
        result = self.probe(["-i", "-v", "--observe", "pass", "-c", folder, "-a", "BlockCounts"], [app])
        self.assertEqual(result.stdout, self.software_gpu([app]).stdout)
        self.assertTrue({"diverging", "straight"}.isdisjoint(blocks(result.objects())))  # "found", and "weights", which are constant
        self.assertIn("it uses variables of its code object", result.stderr)

    def test_the_command_refuses_what_it_cannot_do(self):
        result = self.bare([PROBE, "rewrite", program("rewritten_O2"), "-o", self.path("out"), "--instrument", "kernel"])
        self.assertEqual(result.code, 2)
        self.assertEqual(result.stderr, "fadeprobe: rewrite: --instrument: 'kernel' is none of summary, accesses, blocks, counts and times, which finished code can be instrumented for\n")
        result = self.bare([PROBE, "rewrite", "/etc/passwd", "-o", self.path("out")])
        self.assertEqual(result.code, 2)
        self.assertEqual(result.stderr, "fade: rewrite: /etc/passwd: no AMD GPU code was found\n")
        self.assertFalse(os.path.exists(self.path("out")))  # nothing is left of what came to nothing
        app = program("rewritten_O2")
        result = self.bare([PROBE, "rewrite", app, "-o", "/etc/passwd"])
        self.assertEqual((result.code, result.stderr), (2, "fade: rewrite: /etc/passwd is a file: a folder is needed\n"))
        self.assertEqual(self.bare([PROBE, "rewrite", app, "-o", self.path("whole")]).code, 0)
        [made] = [x for x in os.listdir(self.path("whole")) if f".{GPU}." in x]
        damaged = os.path.join(self.path("whole"), made)
        os.truncate(damaged, os.path.getsize(damaged) // 2)
        result = self.bare([PROBE, "rewrite", damaged, "-o", self.path("out")])
        self.assertEqual(result.code, 2)
        self.assertRegex(result.stderr, rf"^fade: rewrite: {damaged}: .* past the end of the file\n$")  # and nothing else
        result = self.bare([PROBE, "rewrite", app, "-o", self.path("out"), "-k", "no_such_kernel"])
        self.assertEqual((result.code, result.stderr), (2, f"fade: rewrite: {app}: no kernel matches\n"))
        full, name = self.path("full"), f"{os.path.splitext(os.path.basename(app))[0]}.{GPU}.hsaco"
        os.makedirs(os.path.join(full, name))  # nobody writes there, root neither
        result = self.bare([PROBE, "rewrite", app, "-o", full, "-k", "straight"])
        self.assertEqual(result.code, 2)
        self.assertRegex(result.stderr, rf"^fade: rewrite: cannot write {full}/\S+: Is a directory\n$")
        self.assertNotIn(name, result.stdout)

    def helper(self, script):
        """A folder with FADE's libraries whose fade-rewrite is a script, or is missing."""
        folder = self.path("lib")
        os.makedirs(os.path.join(folder, "fade"))
        shutil.copy(os.path.join(LIB, "libfade.so"), folder)
        os.symlink(os.path.join(LIB, "libBlockCounts.so"), os.path.join(folder, "libBlockCounts.so"))
        if script:
            path = os.path.join(folder, "fade", "fade-rewrite")
            with open(path, "w") as file:
                file.write("#!/bin/sh\n" + script)
            os.chmod(path, stat.S_IRWXU)
        return folder

    def as_on_a_card(self, app, handler="BlockCounts", **env):
        """A GPU that tells nothing of what kernels do."""
        env = {"HSA_TOOLS_LIB": os.path.join(LIB, "libfade.so"), "LD_PRELOAD": os.path.join(LIB, "libfadegpu.so"), "FADE_INSTRUMENTED": "true",
               "FADE_HANDLERS": handler, "FADE_LOG_LOCATION": self.log, "FADE_LOG_FORMAT": "json", **self.home, **env}
        result = self.bare([app], env)
        self.assertEqual((result.code, result.stdout), (0, self.software_gpu([app]).stdout))
        return result

    def test_auto_rewrites_where_nobody_can_observe(self):
        app = program("rewritten_O2")
        counted = blocks(self.as_on_a_card(app).objects())
        self.assertIn("diverging", counted)
        self.assertEqual(counted, blocks(self.rewritten(app).objects()))
        self.assertEqual(blocks(self.as_on_a_card(app, FADE_OBSERVE="pass").objects()), {})
        self.assertEqual(blocks(self.as_on_a_card(app, FADE_KERNEL_CACHE=self.path("other")).objects()), {})
        self.assertEqual(blocks(self.as_on_a_card(app, FADE_LIBRARY_FILTER="librocblas").objects()), {})

    def test_auto_uses_twins_where_there_are_some(self):
        result = self.as_on_a_card(program("counted_twins"))
        self.assertGreater(len(blocks(result.objects())), 0)
        self.assertFalse(os.path.exists(os.path.join(self.path("cache"), "fade", "rewritten")))

    def test_auto_observes_on_the_software_gpu(self):
        app = program("rewritten_O2")
        result = self.probe(["-i", "-a", "BlockCounts"], [app], env=self.home)
        self.assertIn("looking", blocks(result.objects()))  # which cannot be rewritten
        self.assertFalse(os.path.exists(os.path.join(self.path("cache"), "fade", "rewritten")))

    def run_with_helper(self, script, expected, **env):
        app = program("rewritten_O2")
        env = {"HSA_TOOLS_LIB": os.path.join(self.helper(script), "libfade.so"), "LD_PRELOAD": os.path.join(LIB, "libfadegpu.so"),
               "FADE_INSTRUMENTED": "true", "FADE_OBSERVE": "rewrite", "FADE_HANDLERS": "BlockCounts", "FADE_LOG_LOCATION": self.log,
               "FADE_LOG_FORMAT": "json", **self.home, **env}
        result = self.bare([app], env)
        self.assertEqual(result.code, 0)
        self.assertEqual(result.stdout, self.software_gpu([app]).stdout)
        self.assertEqual(len([x for x in result.said if "--observe rewrite" in x]), 1, result.said)
        self.assertRegex("\n".join(result.said), expected)

    def test_a_helper_that_is_killed_changes_nothing(self):
        self.run_with_helper("kill -9 $$\n", "fade: --observe rewrite: fade-rewrite failed for .*: kernels run as they are")

    def test_a_helper_that_hangs_is_ended(self):
        self.run_with_helper("exec sleep 1000\n", r"fade: --observe rewrite: fade-rewrite made no progress for \d+ s: kernels run as they are",
                             FADE_PATIENCE="0.01")

    def test_a_helper_that_is_missing_changes_nothing(self):
        self.run_with_helper("", "fade: --observe rewrite: cannot run .*/fade-rewrite: No such file or directory: kernels run as they are")

    def test_a_helper_that_writes_rubbish_changes_nothing(self):
        self.run_with_helper('echo rubbish > "$4"; echo done\n', "fade: --observe rewrite: the runtime does not load")

    def test_a_helper_without_memory_changes_nothing(self):
        self.run_with_helper(f'ulimit -v 100000; exec {LIB}/fade/fade-rewrite "$@"\n', "fade: --observe rewrite: fade-rewrite failed for .*: kernels run as they are")

    def test_a_cache_that_nobody_can_write_changes_nothing(self):
        self.run_with_helper(f'exec {LIB}/fade/fade-rewrite "$@"\n', "fade: --observe rewrite: cannot write to /proc/fade/rewritten: kernels run as they are",
                             XDG_CACHE_HOME="/proc")

    def test_code_in_the_cache_that_was_damaged_is_made_again(self):
        app, folder = program("rewritten_O2"), os.path.join(self.path("cache"), "fade", "rewritten")
        counted = blocks(self.rewritten(app).objects())
        self.assertIn("diverging", counted)
        made = {x: fade.read_bytes(os.path.join(folder, x)) for x in os.listdir(folder)}
        largest = max((x for x in made if x.endswith(".hsaco")), key=lambda x: len(made[x]))
        middle = len(made[largest]) // 2
        damages = {"shortened": made[largest][:1000], "refused": b"", "removed": None,
                   "flipped": made[largest][:middle] + bytes([made[largest][middle] ^ 1]) + made[largest][middle + 1:]}
        for kind, content in damages.items():
            victim = os.path.join(folder, largest.replace(".hsaco", ".refused") if kind == "refused" else largest)
            os.unlink(victim)
            if content is not None:
                with open(victim, "wb") as file:
                    file.write(content)
            result = self.rewritten(app)
            self.assertEqual((result.code, result.said), (0, []), kind)
            self.assertEqual(blocks(result.objects()), counted, kind)
            self.assertEqual({x: fade.read_bytes(os.path.join(folder, x)) for x in os.listdir(folder)}, made, kind)

    def test_a_full_disk_changes_nothing(self):
        app, small = program("rewritten_O2"), self.path("cache")
        plain = self.software_gpu([app])
        os.mkdir(small)
        # Enough for the code object, not for what is made of it; or not even for that.
        for size in ("64k", "4k"):
            script = f'mount -t tmpfs -o size={size} none "$0" || exit 77; "$@"; code=$?; find "$0" -type f >&2; exit $code'
            alone = ["-m", "--propagation", "unchanged"] if fade.SUFFIX else ["-rm"]
            result = self.bare(["unshare", *alone, "sh", "-c", script, small, PROBE, "-i", "--observe", "rewrite", "-a", "BlockCounts", "-l", self.log, "--", app],
                               self.home)
            if result.code == 77 or "unshare" in result.stderr:
                self.skipTest("no file system of its own can be had here")
            self.assertEqual((result.code, result.stdout), (0, plain.stdout), result.stderr)
            said = [x for x in result.stderr.splitlines() if "--observe rewrite" in x]
            self.assertEqual(len(said), 1, result.stderr)
            self.assertRegex(said[0], "kernels run as they are$")
            self.assertNotIn(small + "/", result.stderr.replace(said[0], "").replace("fade: rewrite: cannot write " + small, ""))  # nothing is left there

    def test_two_processes_rewrite_the_same_code_at_once(self):
        app = program("rewritten_O2")
        command = [PROBE, "-i", "--observe", "rewrite", "-a", "BlockCounts", "--log-format", "json", "-l"]
        both = [subprocess.Popen([*command, self.path(f"log{n}"), "--", app], env={**os.environ, **self.home}, stdout=subprocess.PIPE, text=True) for n in range(2)]
        outputs = [each.communicate()[0] for each in both]
        self.assertEqual(outputs, 2 * [self.software_gpu([app]).stdout])
        found = []
        for n in range(2):
            with open(self.path(f"log{n}"), encoding="utf-8") as file:
                found.append(blocks([json.loads(line) for line in file]))
        self.assertIn("diverging", found[0])
        self.assertEqual(found[0], found[1])
        self.assertEqual({x.rsplit(".")[-1] for x in os.listdir(os.path.join(self.path("cache"), "fade", "rewritten"))}, {"hsaco", "refused"})

    def test_processes_with_the_same_number_share_the_cache(self):
        app = program("rewritten_O2")
        folder = self.helper(f'sleep 1; exec {LIB}/fade/fade-rewrite "$@"\n')  # so that both have written what they ask for
        env = {**fade.clean_environment(self.home), "HSA_TOOLS_LIB": os.path.join(folder, "libfade.so"), "LD_PRELOAD": os.path.join(LIB, "libfadegpu.so"),
               "FADE_INSTRUMENTED": "true", "FADE_OBSERVE": "rewrite", "FADE_HANDLERS": "BlockCounts", "FADE_LOG_FORMAT": "json"}
        # As in two containers.
        both = [subprocess.Popen(["unshare", "--pid", "--fork", "--mount-proc", app], env={**env, "FADE_LOG_LOCATION": self.path(f"log{n}")},
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for n in range(2)]
        said = [each.communicate() for each in both]
        if any("unshare" in x[1] for x in said):
            self.skipTest("no process numbers of its own can be had here")
        for n in range(2):
            self.assertNotIn("--observe rewrite", said[n][1])
            with open(self.path(f"log{n}"), encoding="utf-8") as file:
                self.assertIn("diverging", blocks([json.loads(line) for line in file]))

    @unittest.skipIf(observe.COMPILE == [""], observe.NO_COMPILER)
    def test_kernels_whose_descriptors_do_not_say_how_large_their_arguments_are(self):
        code, source = self.path("rows.hsaco"), self.path("rows.s")
        with open(source, "w", encoding="utf-8") as file:
            file.write(observe.ASSEMBLY.replace("    .amdhsa_kernarg_size 16\n", ""))  # as Tensile's
        subprocess.run([observe.CLANG, "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-x", "assembler", source, "-o", code], check=True)
        app = [program("module"), code, "rows", 1, 64, 0, "p", "p"]
        alone = self.probe(["--gpu", "gfx90a"], app)
        result = self.probe(["--gpu", "gfx90a", "-i", "--observe", "rewrite", "-a", "BlockCounts"], app, env=self.home)
        self.assertEqual((result.code, result.stdout), (0, alone.stdout), result.stderr)
        self.assertEqual(blocks(result.objects()), {"rows": [[(0, 1, 64)]]})

    @unittest.skipIf(observe.COMPILE == [""], observe.NO_COMPILER)
    def test_registers_are_borrowed_where_the_kernel_leaves_too_few(self):
        self.check_crowded(CROWDED, sum(3 * n for n in range(96, 102)))

    @unittest.skipIf(observe.COMPILE == [""], observe.NO_COMPILER)
    def test_registers_come_back_long_enough_before_they_are_read(self):
        self.check_crowded(CROWDED.replace(".rept 6", ".rept 0"), 0)

    def check_crowded(self, text, others):
        code = self.assembled("crowded", text)
        made = self.bare([PROBE, "rewrite", code, "-o", self.path("out"), "--instrument", "accesses"])
        self.assertLess(int(re.search(r"(\d+) more SGPRs", made.stdout)[1]), 12, made.stdout)
        app, found = [program("module"), code, "crowded", 1, 64, 0, "p", "p"], []
        total = sum(range(65, 16385)) + sum(44 * x + others for x in range(1, 65))
        for way in ("rewrite", "gpu"):
            # They come back right before accesses that read them: wait states matter.
            result = self.probe(["--gpu", "gfx90a", "-i", "--observe", way, "-a", "MessageLogger"], app, env={**self.home, "FADE_GPU_HAZARDS": "card"})
            self.assertEqual((result.code, result.stdout), (0, f"{total}\n"))
            self.assertNotIn("comes too early", result.stderr)
            found.append([(x["op"], x["function"], x["mask"], [address - x["addresses"][0] for address in x["addresses"]]) for x in result.objects("access")])
        self.assertEqual(len(found[0]), 45)
        self.assertEqual(*found)

    @unittest.skipIf(observe.COMPILE == [""], observe.NO_COMPILER)
    def test_vector_registers_are_borrowed_where_all_hold_something(self):
        for gpu in LANES:
            code = self.assembled("full", full(gpu), gpu)
            app = [program("module"), code, "full", 1, 64, 0, "p", "p"]
            alone = self.probe(["--gpu", gpu], app)
            self.assertEqual(alone.code, 0, alone.stderr)
            for handlers in (["MessageLogger"], ["BlockCounts", "MemoryAnalysis"], ["MemoryAnalysis"]):
                found = []
                for way in ("rewrite", "gpu"):
                    result = self.probe(["--gpu", gpu, "-i", "--observe", way, "-a", *handlers], app, env={**self.home, "FADE_GPU_HAZARDS": "calls"})
                    self.assertEqual((result.code, result.stdout), (0, alone.stdout), result.stderr)
                    self.assertNotIn("comes too early", result.stderr)
                    accesses = [(x["op"], x["function"], x["mask"], [address - x["addresses"][0] for address in x["addresses"]]) for x in result.objects("access")]
                    tables = [[{**x, "hottest": None} for x in each["global"] + each["lds"]] for each in result.objects("memory") if each["kernel"] == "full"]
                    found.append((sorted(accesses), tables, blocks(result.objects())))
                self.assertEqual(*found)
                self.assertEqual(len(found[0][0]), {"MessageLogger": 8 * 64 // LANES[gpu]}.get(handlers[0], 0))

    @unittest.skipIf(observe.COMPILE == [""] or "E2E_GPU" in os.environ, "for gfx1030")
    def test_kernels_with_too_few_registers_for_sums_record(self):
        text = CROWDED.replace("gfx90a", "gfx1030").replace("v_add_u32", "v_add_nc_u32").replace("    .amdhsa_accum_offset 4\n", "").replace("wavefront_size: 64", "wavefront_size: 32")
        app, found = [program("module"), self.assembled("crowded", text, "gfx1030"), "crowded", 1, 64, 0, "p", "p"], []
        alone = self.probe(["--gpu", "gfx1030"], app)
        for way in ("rewrite", "gpu"):
            result = self.probe(["--gpu", "gfx1030", "-i", "--observe", way, "-a", "MemoryAnalysis"], app, env=self.home)
            self.assertEqual((result.code, result.stdout), (0, alone.stdout), result.stderr)
            [memory] = [x for x in result.objects("memory") if x["kernel"] == "crowded"]
            found.append([{**x, "hottest": None} for x in memory["global"]])
            [dispatch] = [x for x in result.objects("dispatch") if x["kernel"] == "crowded"]
            self.assertEqual(dispatch["records"], 2 * 46 if way == "rewrite" else dispatch["records"])
        self.assertEqual(*found)
        self.assertEqual(len(found[0]), 45)

    @unittest.skipIf(observe.COMPILE == [""], observe.NO_COMPILER)
    def test_borrowed_vector_registers_wait_for_what_is_on_its_way_there(self):
        for gpu in LANES:
            code = self.assembled("full", with_twin(full(gpu), "full"), gpu)
            made = self.bare([PROBE, "rewrite", code, "-o", self.path(gpu), "--instrument", "accesses"])
            self.assertRegex(made.stdout, "full: 9 accesses, 36 more bytes of scratch, .* 0 more VGPRs")
            [twins] = os.listdir(self.path(gpu))
            for kernel, more in (("full", []), ("__fade_full", ["i0", "i0"])):
                app = [program("module"), os.path.join(self.path(gpu), twins), kernel, 1, 64, 0, "p", "p", *more]
                result = self.bare([PROBE, "check", "--gpu", gpu, "--checks", "wait,hazard", "--", *app])
                self.assertEqual(result.code, 0, result.stderr)
                self.assertIn("no findings in 1 dispatch", result.stderr)

    def assembled(self, name, text, gpu="gfx90a"):
        code, source = self.path(name + ".hsaco"), self.path(name + ".s")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([observe.CLANG, "-target", "amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-x", "assembler", source, "-o", code], check=True)
        return code

    @unittest.skipIf(observe.COMPILE == [""], observe.NO_COMPILER)
    def test_blocks_are_counted_where_no_registers_are_left_for_counters(self):
        loop = "s_movk_i32 vcc_lo, 3\n.Lagain:\ns_sub_u32 vcc_lo, vcc_lo, 1\ns_cmp_lg_u32 vcc_lo, 0\ns_cbranch_scc1 .Lagain\nglobal_store_dword"
        code = self.assembled("crowded", CROWDED.replace("global_store_dword", loop))
        app, found = [program("module"), code, "crowded", 1, 64, 0, "p", "p"], []
        alone = self.probe(["--gpu", "gfx90a"], app)
        for way in ("rewrite", "gpu"):
            result = self.probe(["--gpu", "gfx90a", "-i", "--observe", way, "-a", "BlockCounts"], app, env={**self.home, "FADE_GPU_HAZARDS": "card"})
            self.assertEqual((result.code, result.stdout), (0, alone.stdout), result.stderr)
            self.assertNotIn("comes too early", result.stderr)
            found.append(blocks(result.objects()))
        self.assertEqual(*found)
        self.assertEqual([executions for _, executions, _ in found[0]["crowded"][0]], [1, 3, 1])

    @unittest.skipIf(observe.COMPILE == [""], observe.NO_COMPILER)
    def test_lanes_partly_outside_of_a_buffer_access_it(self):
        app, found = [program("module"), self.assembled("partly", PARTLY), "partly", 1, 64, 0, "p", "p"], []
        alone = self.probe(["--gpu", "gfx90a"], app)
        for way in ("rewrite", "gpu"):
            result = self.probe(["--gpu", "gfx90a", "-i", "--observe", way, "-a", "MessageLogger"], app, env=self.home)
            self.assertEqual((result.code, result.stdout), (0, alone.stdout), result.stderr)
            self.assertEqual([x["dropped"] for x in result.objects("dispatch") if x["kernel"] == "partly"], [0])
            found.append([(x["op"], x["bytes"], x["mask"], [address - x["addresses"][0] for address in x["addresses"]]) for x in result.objects("access")])
            summed = self.probe(["--gpu", "gfx90a", "-i", "--observe", way, "-a", "MemoryAnalysis"], app, env=self.home)
            [memory] = [x for x in summed.objects("memory") if x["kernel"] == "partly"]
            self.assertEqual([(x["op"], x["executions"], x["lanes"]) for x in memory["global"]], [("load", 1, 63), ("store", 1, 64)])
        self.assertEqual(*found)
        self.assertEqual(found[0][0][3], list(range(0, 63 * 16, 16)))

    @unittest.skipIf(observe.COMPILE == [""], observe.NO_COMPILER)
    def test_assembly_that_calls_one_of_several_functions(self):
        self.check_choosing(CHOOSING)

    @unittest.skipIf(observe.COMPILE == [""], observe.NO_COMPILER)
    def test_functions_of_assembly_may_return_through_any_registers(self):
        self.check_choosing(CHOOSING.replace("s[30:31]", "s[22:23]"))

    def check_choosing(self, text):
        code = self.assembled("choosing", text)
        app = [program("module"), code, "choosing", 1, 64, 0, "p", "p"]
        alone = self.probe(["--gpu", "gfx90a"], app)
        for handlers in (["BlockCounts"], ["BlockCounts", "MemoryAnalysis"]):
            found = []
            for way in ("rewrite", "gpu"):
                result = self.probe(["--gpu", "gfx90a", "-i", "--observe", way, "-a", *handlers], app, env=self.home)
                self.assertEqual((result.code, result.stdout), (0, alone.stdout), result.stderr)
                found.append(blocks(result.objects()))
            self.assertEqual(*found)
            self.assertIn(6, [executions for _, executions, _ in found[0]["choosing"][0]])  # of a function, by 40 lanes

    def test_rewritten_code_is_kept(self):
        app = program("rewritten_O2")
        first = blocks(self.rewritten(app).objects())
        kept = os.path.join(self.path("cache"), "fade", "rewritten")
        before = {x: os.stat(os.path.join(kept, x)).st_mtime_ns for x in os.listdir(kept)}
        self.assertEqual(sorted(x.rsplit(".")[-1] for x in before), ["hsaco", "refused"])
        self.assertEqual(blocks(self.rewritten(app).objects()), first)
        self.assertEqual({x: os.stat(os.path.join(kept, x)).st_mtime_ns for x in os.listdir(kept)}, before)

    def test_only_chosen_kernels_are_rewritten(self):
        app = program("rewritten_O2")
        alone = self.software_gpu([app])
        kept = os.path.join(self.path("cache"), "fade", "rewritten")
        whole = blocks(self.rewritten(app).objects())
        [large] = [x for x in os.listdir(kept) if x.endswith(".hsaco")]
        result = self.rewritten(app, ["-k", "^straight"])
        self.assertEqual((result.code, result.stdout), (0, alone.stdout), result.stderr)
        self.assertEqual(blocks(result.objects()), {"straight": whole["straight"]})
        [small] = [x for x in os.listdir(kept) if x.endswith(".hsaco") and x != large]
        with open(os.path.join(kept, small), "rb") as file:
            self.assertEqual(set(re.findall(rb"__fade__Z\d+(\w+)", file.read())), {b"straightPKfPfi"})
        none = self.rewritten(app, ["-k", "no_such_kernel"])
        self.assertEqual((none.code, none.stdout), (0, alone.stdout), none.stderr)

    def test_a_part_of_the_workgroups_is_not_counted(self):
        result = self.rewritten(program("rewritten_O2"), ["--workgroups", "x=0-0"])
        self.assertEqual(blocks(result.objects()), {})
        self.assertIn("rewritten kernels count all workgroups, not a part of them", result.text() + result.stderr)


if __name__ == "__main__":
    fade.main()
