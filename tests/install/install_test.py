#!/usr/bin/env python3
"""The installed tree, moved elsewhere and used by another user from another directory.

usage: install_test.py BUILD_DIR HEADERS HIP_FLAGS...   (HIP's precompiled headers, or an empty word; flags with which HIP
programs are compiled on this machine)
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv[1]).resolve()
HIP_FLAGS = sys.argv[3:]
# Reading HIP's headers is most of what compiling takes; where a command need not be the user's word by word, it is spared.
PRECOMPILED = ["-O2", "-std=c++17"] + (["-include", sys.argv[2]] if sys.argv[2] else [])
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = [HERE / "project" / name for name in ("app.hip", "answer.cpp")]


def run(*command, **options):
    """Runs a command; its output is in the message if it fails."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result


def as_nobody():
    """Options for a run as another user, if we are root."""
    return {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="install-", dir=BUILD))
        cls.scratch.chmod(0o755)
        run("cmake", "--install", BUILD, "--prefix", cls.scratch / "first", "--strip")
        cls.prefix = cls.scratch / "moved"  # nothing may remember where it was installed
        (cls.scratch / "first").rename(cls.prefix)
        cls.probe = cls.prefix / "bin/fadeprobe"
        cls.away = cls.scratch / "elsewhere"
        cls.away.mkdir()
        cls.away.chmod(0o777)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("FADE_", "LD_", "HSA_"))}
        cls.environment = clean | {"HOME": str(cls.away)}
        if (BUILD / "tests/comgr").exists():  # spares HIP from compiling its own kernels in each run
            cls.environment["LD_LIBRARY_PATH"] = str(BUILD / "tests/comgr")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)

    def files(self):
        return {str(p.relative_to(self.prefix)) for p in self.prefix.rglob("*") if not p.is_dir()}

    def probe_run(self, *words, **options):
        return run(self.probe, *words, cwd=self.away, env=self.environment, **as_nobody(), **options)

    def test_the_tree_has_what_users_need(self):
        files = self.files()
        for pattern in (r"bin/fadeprobe", r"lib/.*libfade\.so", r"lib/.*libfadegpu\.so", r"lib/.*libfadegpu-core\.so", r"lib/.*libfadecheck\.so", r"lib/.*fade/fade-rewrite",
                        r"lib/.*libfadeinstr\.so", r"lib/.*libfadeinstr-19\.so", r"lib/.*fade/libHeatmap\.so",
                        r"lib/.*fade/libMemoryAnalysis\.so", r"lib/.*fade/libMessageLogger\.so",
                        r"lib/.*fade/libBlockCounts\.so", r"include/fade/handler\.h", r"include/fade/message\.h", r"include/fade/observer\.h",
                        r"lib/.*cmake/Fade/FadeConfig\.cmake", r"share/man/man1/fadeprobe\.1", r"share/fade/doctor/rules/driver\.json", r"share/fade/examples/transpose/transpose\.hip", r"share/fade/examples/common/check\.h",
                        r"share/fade/examples/handler/CMakeLists\.txt",
                        r"share/bash-completion/completions/fadeprobe", r"share/zsh/vendor-completions/_fadeprobe"):
            self.assertTrue(any(re.fullmatch(pattern, name) for name in files), f"{pattern} in {sorted(files)}")
        if (BUILD / "lib/libfadegpu-jit.so").exists(): # not for older systems
            self.assertTrue(any(name.endswith("/libfadegpu-jit.so") for name in files))

    def test_the_loader_finds_every_variant_of_the_software_gpu(self):
        variants = sorted(p.parent.name for p in BUILD.glob("lib/glibc-hwcaps/*/libfadegpu-core.so"))
        library = next(self.prefix.rglob("libfadegpu.so"))
        self.assertEqual(variants, sorted(p.parent.name for p in library.parent.glob("glibc-hwcaps/*/libfadegpu-core.so")))

        def compiled_for(**more):
            command = ["cat", "/sys/module/amdgpu/initstate"]
            environment = dict(self.environment, LD_PRELOAD=str(library), FADE_GPU_TRACE="ioctls", **more)
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
            return re.search(r"^fadegpu: device compiled for (\S+)$", done.stderr, re.MULTILINE).group(1)

        loader = re.search(r"/\S*ld-linux\S*", run("ldd", library).stdout).group(0)
        able = [v for v in variants if f"{v} (supported, searched)" in run(loader, "--help").stdout]
        oldest = compiled_for(GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2")
        self.assertNotIn(oldest, variants)
        self.assertEqual(compiled_for(), able[-1] if able else oldest)

    def test_no_file_remembers_the_build_directory(self):
        binaries = [name for name in sorted(self.files()) if name.endswith((".so", "bin/fadeprobe", "fade-doctor-probe", "fade-rewrite", "fade-trace-writer"))]  # have debug information
        for name in sorted(self.files()):
            data = (self.prefix / name).read_bytes()
            self.assertFalse(str(self.scratch / "first").encode() in data, name)
            self.assertFalse(name not in binaries and str(BUILD).encode() in data, name)
        for name in binaries:
            dynamic = run("readelf", "-d", self.prefix / name).stdout
            self.assertNotRegex(dynamic, r"R(UN)?PATH.*" + re.escape(str(BUILD)), name)

    def test_version_is_that_of_the_project(self):
        wanted = re.search(r"project\(fade VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(self.probe_run("--version").stdout.splitlines()[0], f"fadeprobe {wanted}")

    def test_bash_completes_options_analyzers_and_commands(self):
        def complete(*words):
            script = self.prefix / "share/bash-completion/completions/fadeprobe"
            text = (f"source '{script}'; COMP_WORDS=({' '.join(words)} ''); [ '{words[-1]}' = '' ] || "
                    f"COMP_WORDS=({' '.join(words)}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); _fadeprobe; "
                    "printf '%s\\n' \"${COMPREPLY[@]}\"")
            return run("bash", "-c", text, cwd=self.away).stdout.split()
        self.assertEqual(complete("fadeprobe", "--instr"), ["--instrumented"])
        self.assertEqual(complete("fadeprobe", "-a", "Mem"), ["MemoryAnalysis"])
        self.assertEqual(complete("fadeprobe", "insp"), ["inspect"])
        self.assertEqual(complete("fadeprobe", "inspect", "--js"), ["--json"])

    def compile_with_cc(self, *instrument):
        program = self.away / "by-cc"
        run(self.probe, "cc", *instrument, "--", "clang++-19", *HIP_FLAGS, *PRECOMPILED, "--offload-arch=gfx90a",
            *SOURCES, "-o", program, "-lamdhip64", cwd=self.away, env=self.environment)
        return program

    def report(self, program, *options):
        result = self.probe_run("-i", "-t", "json", "--gpu", "gfx90a", *options, "--", program)
        self.assertEqual(result.stdout, "right\n")
        return [json.loads(line) for line in result.stderr.splitlines() if line.startswith("{")]

    def test_cc_instruments_and_another_user_runs_it(self):
        program = self.compile_with_cc()
        lines = self.report(program, "-a", "MemoryAnalysis", "BlockCounts")
        self.assertTrue(all(line["blocks"] for line in lines if line["type"] == "blocks"))  # without being asked for
        self.assertEqual(len([line for line in lines if line["type"] == "blocks"]), 2)
        memory = {line["kernel"]: line for line in lines if line["type"] == "memory"}
        self.assertEqual(len(memory), 2, memory)
        copy = next(line for name, line in memory.items() if name.startswith("copy("))
        source = (HERE / "project/app.hip").read_text().splitlines()
        wanted = 1 + next(i for i, text in enumerate(source) if "to[i] = from[i]" in text)
        self.assertEqual({(a["line"], a["op"]) for a in copy["global"]}, {(wanted, "load"), (wanted, "store")})
        # Where no stream is needed there is none, without being asked for, and the same numbers.
        alone = self.report(program, "-a", "MemoryAnalysis")
        self.assertEqual({line["kernel"]: line for line in alone if line["type"] == "memory"}, memory)
        records = [sum(line["records"] for line in run if line["type"] == "dispatch") for run in (alone, lines)]
        self.assertLess(4 * records[0], records[1])

    def test_cc_needs_no_more_than_the_readme_says(self):
        program = self.away / "by-readme"
        run(self.probe, "cc", "--", "clang++-19", "-x", "hip", "--offload-arch=gfx90a", "-O2", *SOURCES,
            "-o", program, "-lamdhip64", cwd=self.away, env=self.environment)
        self.assertEqual(len([l for l in self.report(program, "-a", "Heatmap") if l["type"] == "heatmap"]), 2)

    def words_of_cc(self, *command, **variables):
        """What the compiler is called with."""
        compiler = self.away / "clang"
        compiler.write_text('#!/bin/sh\n[ "$1" != --version ] || exec clang++-19 --version\necho "$@"\n')
        compiler.chmod(0o755)
        return run(self.probe, "cc", "--", compiler, *command, cwd=self.away,
                   env=self.environment | variables).stdout.split()

    def test_cc_adds_what_this_hip_needs_when_the_command_names_its_rocm(self):
        paths = [flag for flag in HIP_FLAGS if flag.startswith(("--rocm-path", "--rocm-device-lib-path"))]
        self.assertEqual(len(paths), 2)
        # All words of the command of above, which gives a program that runs, in another order.
        wanted = self.words_of_cc("-x", "hip", "--offload-arch=gfx90a", "-O2", "a.hip", "-lamdhip64")
        self.assertEqual([wanted.count(path) for path in paths], [1, 1])
        for given in (paths[:1], paths):
            words = self.words_of_cc("-x", "hip", *given, "--offload-arch=gfx90a", "-O2", "a.hip", "-lamdhip64")
            self.assertEqual(sorted(words), sorted(wanted))

    def test_cc_adds_flags_by_the_version_of_the_hip_that_is_chosen(self):
        for version in ("5.2", "6.4"):
            header = self.away / version / "include/hip/hip_version.h"
            header.parent.mkdir(parents=True)
            major, minor = version.split(".")
            header.write_text(f"#define HIP_VERSION_MAJOR {major}\n#define HIP_VERSION_MINOR {minor}\n")
        def words(*command, **variables):
            return self.words_of_cc("-c", *command, **variables)
        old, new = self.away / "5.2", self.away / "6.4"
        for given in (words("a.hip", f"--rocm-path={old}"), words("-xhip", "a.cpp", f"--hip-path={old}", f"--rocm-path={new}"),
                      words("a.hip", ROCM_PATH=str(old))):
            self.assertEqual([given.count(f"amdgpu-no-{x}") for x in ("completion-action", "default-queue")], [1, 1])
            self.assertIn("-mcode-object-version=4", given)
            self.assertEqual([x for x in given if x.startswith("--rocm-device-lib-path")], [])  # that ROCm has its own
        for given in (words("a.hip", f"--rocm-path={new}"), words("a.cpp", f"--rocm-path={old}"),
                      words("a.hip", f"--rocm-path={self.away}/none")):
            self.assertEqual([x for x in given if "amdgpu-no" in x or "code-object" in x], [])
        given = words("a.hip", f"--rocm-path={old}", "-mcode-object-version=3", "-Xclang", "-default-function-attr",
                      "-Xclang", "amdgpu-no-default-queue")
        self.assertEqual(given.count("amdgpu-no-default-queue"), 1)
        self.assertNotIn("-mcode-object-version=4", given)

    def test_cc_hands_options_to_the_pass(self):
        lines = self.report(self.compile_with_cc("--instrument", "accesses;kernels=^twice"), "-a", "MemoryAnalysis")
        self.assertEqual([line["kernel"].split("(")[0] for line in lines if line["type"] == "memory"], ["twice"])

    def test_flags_are_those_that_cc_uses(self):
        flags = self.probe_run("flags", "clang++-19").stdout.strip()
        self.assertIn("-fpass-plugin=", flags)
        headers = [word.removeprefix("-idirafter") for word in shlex.split(flags) if word.startswith("-idirafter")]
        self.assertEqual([pathlib.Path(place, "fade/user.h").exists() for place in headers], [True])
        program = self.away / "by-flags"
        command = f"clang++-19 {flags} {' '.join(HIP_FLAGS + PRECOMPILED)} --offload-arch=gfx90a {' '.join(map(str, SOURCES))} -o '{program}' -lamdhip64"
        run("bash", "-c", command, cwd=self.away)
        self.assertEqual(len([l for l in self.report(program, "-a", "Heatmap") if l["type"] == "heatmap"]), 2)

    def test_cc_with_another_compiler_is_one_line(self):
        for words, said in ((["g++", "-c", "x.cpp"], "is not clang"), (["no-such-compiler"], "cannot run no-such-compiler")):
            result = subprocess.run([self.probe, "cc", "--", *words], capture_output=True, text=True, cwd=self.away)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertIn(said, result.stderr)

    def test_cc_refuses_a_fork_with_the_number_of_a_plugin_and_names_the_command_that_builds_its_own(self):
        compiler = self.away / "hipcc"
        compiler.write_text("#!/bin/sh\necho 'HIP version: 6.4.43482'\necho 'AMD clang version 19.0.0git (https://github.com/RadeonOpenCompute/llvm-project roc-6.4.0 25133)'\n"
                            "echo 'InstalledDir: /opt/rocm-6.4.0/lib/llvm/bin'\n")
        compiler.chmod(0o755)
        result = subprocess.run([self.probe, "cc", "--", compiler, "a.hip"], capture_output=True, text=True, cwd=self.away)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^fadeprobe: .*hipcc is 'AMD clang version 19\.0\.0git .*', and no plugin was built for it .*"
                         r"'scripts/build -DFADE_ROCM_LLVM=/opt/rocm-6\.4\.0/lib/llvm'.*\n$")

    def test_cc_tells_the_linker_which_compiler_it_is(self):
        compiler = self.away / "clang"
        compiler.write_text('#!/bin/sh\n[ "$1" != --version ] || exec clang++-19 --version\necho "$FADE_COMPILER"\n')
        compiler.chmod(0o755)
        said = run(self.probe, "cc", "--", compiler, "a.hip", cwd=self.away, env=self.environment).stdout
        self.assertEqual(said, run("clang++-19", "--version").stdout.splitlines()[0] + "\n")

    def test_a_folder_with_a_blank_in_its_name_is_a_place_for_it(self):
        shutil.copytree(self.prefix, self.scratch / "a copy", symlinks=True)
        result = subprocess.run([self.scratch / "a copy/bin/fadeprobe", "--gpu", "gfx90a", "--", "sh", "-c", "echo $LD_PRELOAD:$HSA_TOOLS_LIB"],
                                capture_output=True, text=True, env=dict(self.environment, XDG_RUNTIME_DIR=str(self.scratch)))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        # Both lists name files of the copy, by a path without a blank.
        listed = [pathlib.Path(file) for file in result.stdout.strip().split(":") if "fade" in file]
        self.assertGreaterEqual(len(listed), 2)
        for file in listed:
            self.assertNotIn(" ", str(file))
            self.assertTrue(file.resolve().is_relative_to(self.scratch / "a copy"), file)

    def test_a_cmake_project_outside_finds_the_package(self):
        project = self.away / "project"
        shutil.copytree(HERE / "project", project)
        header = (self.prefix / "include/fade/handler.h").read_text()
        example = re.search(r"//   #include <fade/handler.h>\n.*?FADE_HANDLER\(LaneCount\)\n", header, re.S).group(0)
        (project / "lane_count.cpp").write_text(re.sub(r"^//( {1,3})?", "", example, flags=re.M))
        run("cmake", "-S", project, "-B", project / "build", "-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++-19",
            f"-DCMAKE_PREFIX_PATH={self.prefix}", env=self.environment)
        run("cmake", "--build", project / "build", env=self.environment)
        handler = project / "build/libLaneCount.so"
        lines = self.report(project / "build/outside", "-a", "BlockCounts", handler, "MemoryAnalysis")
        kinds = {(line["type"], line["kernel"].split("(")[0]) for line in lines if line["type"] in ("memory", "blocks")}
        self.assertEqual(kinds, {("memory", "copy"), ("blocks", "copy")})  # twice was not asked for
        text = self.probe_run("-i", "--gpu", "gfx90a", "-a", handler, "--", project / "build/outside").stderr
        self.assertIn("lanes: 2048", text)  # 1024 loads and 1024 stores
        self.assertEqual([line["text"] for line in lines if line["type"] == "text"], ["lanes: 2048"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
