"""fadeprobe import: captures of rocm-perf-lab's layout, written by hand."""
import json
import os
import struct

import fade

BASE = 0x7f5000000000  # where the code is said to have been loaded
A, B, C = 0x7f4000000000, 0x7f4000010000, 0x7f4000020100  # allocations; the last begins within a page
COUNT = 1000
ALONE = {"FADE_GPU_WORKERS": "1"}


def symbol(path, wanted):
    """Value of a symbol of an ELF file."""
    with open(path, "rb") as file:
        elf = file.read()
    at, size, count = struct.unpack_from("<Q", elf, 40)[0], *struct.unpack_from("<HH", elf, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", elf, at + i * size) for i in range(count)]
    for _, kind, _, _, offset, length, link, *_ in sections:
        if kind != 11:  # dynamic symbols
            continue
        for each in range(offset, offset + length, 24):
            name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", elf, each)
            begin = sections[link][4] + name
            if elf[begin:elf.index(b"\0", begin)].decode() == wanted:
                return value, elf[8]
    raise KeyError(wanted)


class Tests(fade.Test):
    def perf_lab(self, kernel="_Z3addPKfS0_Pfi", code="add1", **changes):
        """A folder as rocm-perf-lab makes it."""
        folder = self.path("isolate_capture_1234")
        os.makedirs(os.path.join(folder, "memory"))
        value, abi = symbol(fade.code_object(code), kernel + ".kd")
        with open(fade.code_object(code), "rb") as file:
            self.put(folder, "kernel.hsaco", file.read())
        arguments = struct.pack("<QQQi4x", A, B, C, COUNT)
        # Code objects of version 5 read the size of workgroups there, older ones in the packet.
        hidden = struct.pack("<IIIHHH", 4, 1, 1, 256, 1, 1) if abi >= 3 else b""
        self.put(folder, "kernarg.bin", arguments + hidden.ljust(256, b"\0"))
        dispatch = {"mangled_name": kernel + ".kd", "demangled_name": "add(float const*, float const*, float*, int) [clone .kd]",
                    "agent_name": fade.GPU, "isa_name": "", "wavefront_size": 64, "kernel_object": BASE + value,
                    "grid": [1024, 1, 1], "block": [256, 1, 1], "group_segment_size": 0, "private_segment_size": 0,
                    "kernarg_size": len(arguments), "dispatch_index": 2}
        self.put(folder, "dispatch.json", json.dumps(dict(dispatch, **changes)).encode())
        contents = {A: struct.pack(f"<{COUNT}f", *range(COUNT)), B: struct.pack(f"<{COUNT}f", *[0.5] * COUNT), C: bytes(4 * COUNT)}
        regions = [{"base": base, "size": len(bytes_), "is_pool": True, "is_vmem": False, "contains_kernarg": False, "handle": 0,
                    "access": 0} for base, bytes_ in contents.items()]
        self.put(folder, "memory_regions.json", json.dumps({"regions": regions}).encode())
        for base, bytes_ in contents.items():
            self.put(folder, f"memory/region_{base:x}.bin", bytes_)
        return folder

    def put(self, folder, name, bytes_):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(bytes_)

    def run_probe(self, *words, code=0):
        result = self.bare([fade.PROBE, *words], env=ALONE)
        self.assertEqual(result.code, code, result.stdout + result.stderr)
        return result

    def imported(self, folder):
        done = self.run_probe("import", folder, "-o", self.path("captures"), "--json")
        line = json.loads(done.stdout)
        self.assertEqual((line["type"], line["version"], line["dispatch"], line["gpu"]), ("imported", 1, 3, fade.GPU))
        self.assertEqual(done.said, [])
        return line

    def test_an_imported_capture_is_replayed_and_compared_with_other_versions(self):
        path = self.imported(self.perf_lab())["capture"]
        self.assertEqual(os.path.basename(path), "add.3")
        self.assertIn("check: equal", self.run_probe("replay", path, "--check", "-c", fade.code_object("add1")).stdout)
        wrong = self.run_probe("replay", path, "--check", "-c", fade.code_object("add2"), code=1)
        # Element 77, of an allocation that begins within a page: 77 * 1.1 + 0.5.
        self.assertRegex(wrong.stdout, r"1 elements of type f32 differ \(\d bytes\), offsets 0x234 to 0x234")
        self.assertRegex(wrong.stdout, r"\] 1085\.\d+ instead of 85\.\d+")
        alone = self.run_probe("replay", path, "--check", code=2)
        self.assertRegex(alone.stderr, r"^fadeprobe: .*memory after the dispatch was not captured: only another version")

    def test_an_imported_capture_is_replayed_through_rocr(self):
        path = self.imported(self.perf_lab())["capture"]
        self.assertRegex(self.run_probe("replay", path, "--on", "gpu", "--iterations", "2").stdout, fr"on {fade.GPU}: 2 times")

    def test_a_code_object_of_version_6_is_replayed(self):
        path = self.imported(self.perf_lab(code="add1-v6"))["capture"]
        with open(os.path.join(path, "code", "0.hsaco"), "rb") as file:
            self.assertEqual(file.read(9)[8], 4)  # what the ELF header calls version 6
        self.assertIn("check: equal", self.run_probe("replay", path, "--check", "-c", fade.code_object("add1")).stdout)
        self.run_probe("replay", path, "--check", "-c", fade.code_object("add2"), code=1)
        small = self.path("small")
        self.run_probe("replay", path, "--minimise", "-o", small)
        self.assertIn("check: equal", self.run_probe("replay", small, "--check", "-c", fade.code_object("add1-v6")).stdout)
        if fade.HIP >= 7:  # older runtimes do not load it
            self.assertRegex(self.run_probe("replay", path, "--on", "gpu", "--iterations", "2").stdout, fr"on {fade.GPU}: 2 times")

    def test_what_is_missing_is_said(self):
        folder = self.perf_lab(agent_name="")
        done = self.run_probe("import", folder, "-o", self.path("captures"))
        self.assertRegex(done.stdout, fr"^imported add\(float const\*.*\(dispatch 3, {fade.GPU}\): .* MiB on disk: .*add\.3\n$")
        self.assertRegex(done.stderr, r"variables of the program were not captured and are as in the file: .*\bcounter\b|and \d more")
        self.assertRegex(done.stderr, "memory after the dispatch was not captured")

    def test_wrong_ones_are_refused_in_one_line(self):
        for number, (changes, expected) in enumerate((({"kernel_object": 4097}, "cannot have been at 0x1001"),
                                                      ({"kernel_object": A + 64}, "cannot have been at|overlaps memory"),
                                                      ({"mangled_name": "nothing.kd"}, "it has no kernel nothing"),
                                                      ({"grid": [0, 1, 1]}, "'grid' has values other than positive numbers"))):
            with self.subTest(expected):
                folder = self.perf_lab(**changes)
                result = self.run_probe("import", folder, "-o", self.path(f"captures{number}"), code=2)
                self.assertRegex(result.stderr, f"^fadeprobe: .*{expected}")
                self.assertEqual(len(result.stderr.splitlines()), 1)
                self.assertFalse(os.path.exists(self.path(f"captures{number}")) and os.listdir(self.path(f"captures{number}")))
                fade.shutil.rmtree(folder)
        none = self.run_probe("import", self.path("none"), code=2)
        self.assertRegex(none.stderr, "^fadeprobe: .*not a capture of rocm-perf-lab: there is no dispatch.json\n$")


if __name__ == "__main__":
    fade.main()
