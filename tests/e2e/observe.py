"""--observe: kernels that have no instrumented twin are analyzed, too, as the software GPU sees them."""
import csv
import json
import os

import subprocess
import unittest

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


COMPILE = os.environ.get("E2E_COMPILE", "").split("|")
CLANG = next((x for x in COMPILE if os.path.basename(x).startswith("clang++")), COMPILE[0])
NO_COMPILER = "there is no compiler in the root"

SOURCE = """
extern "C" __global__ void twice(int *out, const int *in, int n) {
  __shared__ int tile[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = in[i];
  __syncthreads();
  // An argument that is not loaded by a scalar instruction, as nobody knows that all lanes want the same one.
  const __attribute__((address_space(4))) int *arguments = (const __attribute__((address_space(4))) int *)__builtin_amdgcn_kernarg_segment_ptr();
  if (i < arguments[4 + threadIdx.x / 64]) out[i] = 2 * tile[63 - threadIdx.x];
}
"""
# The second load goes to LDS, past the registers.
ASSEMBLY = """
  .amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
  .amdhsa_code_object_version 4
  .text
  .globl rows
  .p2align 8
  .type rows,@function
rows:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_mov_b32 s10, 0x10000
  s_mov_b32 s11, 0x27000
  s_mov_b32 m0, 0
  s_movk_i32 s12, 0x100
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, s6
  s_and_b32 s9, s7, 0xffff
  buffer_load_dword v2, v1, s[8:11], 0 offen
  buffer_load_dword v1, s[8:11], s12 offen lds
  s_waitcnt vmcnt(0)
  ds_read_b32 v3, v1
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v2, v2, v3
  global_store_dword v1, v2, s[4:5]
  s_endpgm
.Lend:
  .size rows, .Lend-rows
  .rodata
  .p2align 6
  .amdhsa_kernel rows
    .amdhsa_group_segment_fixed_size 256
    .amdhsa_kernarg_size 16
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_accum_offset 4
    .amdhsa_next_free_vgpr 4
    .amdhsa_next_free_sgpr 16
  .end_amdhsa_kernel
  .amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.kernels:
  - .name: rows
    .symbol: rows.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 256
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 4
    .max_flat_workgroup_size: 64
    .args:
      - {.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
      - {.size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}
...
  .end_amdgpu_metadata
"""


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
        app = [fade.example("transpose")]
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
        result = self.probe(["-i", "-a", "BlockCounts", "BlockFlow", "Placement", "--gpu", "gfx90a", "-k", "^loop"], [program("counted")])
        self.assertEqual(result.code, 0, result.said)
        # A dispatch is written when its last record was read, which may be after that of the next one.
        reports = sorted(result.objects("blocks"), key=lambda each: each["dispatch_id"])
        turns = [max(block["executions"] for block in each["blocks"]) for each in reports]
        self.assertEqual(turns, [10 * 4, 5 * 4])  # 256 work-items are 4 waves
        (flow,) = result.objects("flow")
        back = [edge for edge in flow["edges"] if edge["from"] == edge["to"]]
        self.assertEqual([edge["executions"] for edge in back], [(9 + 4) * 4])
        (placement,) = result.objects("placement")
        self.assertEqual((placement["waves"], len(placement["units"])), (2 * 4, 2))  # a workgroup for each unit
        self.assertIn("as compiled", result.summary()["notes"][0])

    def sites(self, gpu, path, kernel, *arguments):
        """What is known of each access of a kernel in a file: (space, op, function) -> executions."""
        result = self.analyzed(["--observe", "gpu", "--gpu", gpu], [program("module"), path, kernel, *arguments])
        (memory,) = result.objects("memory")
        found = {(space, site["op"], site["function"]): site["executions"] for space in ("global", "lds") for site in memory[space]}
        self.assertEqual(len(found), sum(len(memory[space]) for space in ("global", "lds")))
        return result.stdout, found

    def written(self, name, text):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    @unittest.skipIf(COMPILE == [""], NO_COMPILER)
    def test_code_without_lines_has_its_instructions_instead(self):
        # Compiled by hiprtc, and by somebody who removed all that is not needed to run it.
        source = self.written("twice.hip", SOURCE)
        arguments = ["twice", 2, 64, 0, "p", "p", "i128"]
        stripped = self.path("twice.hsaco")
        header = "#define __global__ __attribute__((global))\n#define __shared__ __attribute__((shared))\n#define __syncthreads __builtin_amdgcn_s_barrier\n"
        plain = SOURCE.replace("blockIdx.x * blockDim.x", "__builtin_amdgcn_workgroup_id_x() * 64").replace("threadIdx.x", "__builtin_amdgcn_workitem_id_x()")
        subprocess.run([*COMPILE, self.written("plain.hip", header + plain), "-o", stripped, "-Xlinker", "--strip-debug"], check=True)
        for path in (source, stripped):
            stdout, found = self.sites(fade.GPU, path, *arguments)
            self.assertEqual(int(stdout), sum(range(129, 16385)) + sum(2 * x for x in range(1, 129)))
            self.assertEqual(sorted((space, op, count) for (space, op, _), count in found.items()),
                             [(space, op, 2 * fade.waves(64)) for space in ("global", "lds") for op in ("load", "store")])
            for (space, op, function), _ in found.items():
                self.assertRegex(function, r"^twice\+0x[0-9a-f]+ " + {"global": "global_", "lds": "ds_"}[space])

    @unittest.skipIf(COMPILE == [""], NO_COMPILER)
    def test_assembly_with_buffer_loads_and_one_into_lds(self):
        code = self.path("rows.hsaco")
        subprocess.run([CLANG, "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-x", "assembler", self.written("rows.s", ASSEMBLY), "-o", code], check=True)
        stdout, found = self.sites("gfx90a", code, "rows", 1, 64, 0, "p", "p")
        self.assertEqual(int(stdout), sum(range(65, 16385)) + sum(2 * x + 64 for x in range(1, 65)))
        self.assertEqual(found, {
            ("global", "load", "rows+0x34 buffer_load_dword v2, v1, s[8:11], 0 offen"): 1,
            ("global", "load", "rows+0x3c buffer_load_dword v1, s[8:11], s12 offen lds"): 1,
            ("global", "store", "rows+0x58 global_store_dword v1, v2, s[4:5]"): 1,
            ("lds", "store", "rows+0x3c buffer_load_dword v1, s[8:11], s12 offen lds"): 1,
            ("lds", "load", "rows+0x48 ds_read_b32 v3, v1"): 1,
        })

    @unittest.skipIf(COMPILE == [""], NO_COMPILER)
    def test_blocks_and_records_of_code_without_lines_are_named_by_instructions(self):
        code = self.path("rows.hsaco")
        # The store five times.
        text = ASSEMBLY.replace("  global_store_dword", "  s_movk_i32 s13, 0x5\nagain:\n  global_store_dword").replace(
            "  s_endpgm", "  s_sub_u32 s13, s13, 1\n  s_cmp_lg_u32 s13, 0\n  s_cbranch_scc1 again\n  s_endpgm")
        subprocess.run([CLANG, "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-x", "assembler", self.written("rows.s", text), "-o", code], check=True)
        app = [program("module"), code, "rows", 1, 64, 0, "p", "p"]
        first, store, last = "rows+0x0 s_load_dwordx4 s[4:7], s[0:1], 0x0", "rows+0x5c global_store_dword v1, v2, s[4:5]", "rows+0x70 s_endpgm"
        handlers = ["--observe", "gpu", "--gpu", "gfx90a", "-i", "-a", "BlockCounts", "BlockFlow", "MessageLogger"]
        result = self.probe(handlers, app)
        self.assertEqual(result.code, 0, result.said)
        (blocks,) = result.objects("blocks")
        self.assertEqual([(x["function"], x["line"], x["executions"]) for x in blocks["blocks"]], [(first, 0, 1), (store, 0, 5), (last, 0, 1)])
        (flow,) = result.objects("flow")
        names = {x["block"]: x["function"] for x in flow["blocks"]}
        self.assertEqual({(names.get(x["from"]), names[x["to"]]): x["executions"] for x in flow["edges"]},
                         {(None, first): 1, (first, store): 1, (store, store): 4, (store, last): 1})
        self.assertEqual([x["function"] for x in result.objects("block")], [first] + 5 * [store] + [last])
        self.assertEqual([x["function"] for x in result.objects("access") if x["op"] == "store" and x["space"] == "global"], 5 * [store])
        log = self.path("log")
        result = self.probe([*handlers, "-t", "csv", "-l", log], app, json_log=False)
        self.assertEqual(result.code, 0, result.said)
        with open(log, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        self.assertEqual([(x[0], x[-1]) for x in rows if x[0] in ("blocks", "block") and x[1] == "1"],
                         [("block", first)] + 5 * [("block", store)] + [("block", last), ("blocks", first), ("blocks", store), ("blocks", last)])
        result = self.probe([*handlers, "-t", "text", "-l", log], app, json_log=False)
        with open(log, encoding="utf-8") as file:
            text = file.read()
        for part in ("\n  rows+0x5c global_st...  -               5", "\n  rows+0x5c global_store_dw...  rows+0x5c global_store_dw...           4",
                     f" {store} store 4 B global 0x", f" {last} block clock "):
            self.assertIn(part, text)

    def test_without_the_software_gpu_nothing_can_be_observed(self):
        result = self.probe(["-i", "--observe", "gpu", "--gpu", "real"], ["true"])
        self.assertEqual(result.code, 2)


if __name__ == "__main__":
    fade.main()
