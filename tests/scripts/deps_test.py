#!/usr/bin/env python3
"""scripts/deps --print: which packages are wanted on which system, and that no ROCm is installed beside the one in /opt/rocm."""
import os
import pathlib
import subprocess
import tempfile
import unittest

DEPS = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/deps"
OWN_ROCM = {"libamdhip64-dev", "libhsa-runtime-dev", "rocm-device-libs", "rocm-device-libs-17", "rocminfo", "librocprim-dev", "librocrand-dev"}


class Deps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)
        self.tools = self.place / "bin"
        self.tools.mkdir()

    def tool(self, name, text):
        (self.tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.tools / name).chmod(0o755)

    def rocm(self, *files, place="rocm"):
        for name in files:
            path = self.place / place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def deps(self, system, version, *options, wanted=0):
        release = self.place / "os-release"
        release.write_text(f'NAME="Some Linux"\nID={system}\nVERSION_ID="{version}"\n')
        environment = dict(os.environ, FADE_OS_RELEASE=str(release), FADE_ROCM_PATH=str(self.place / "rocm"),
                           PATH=f"{self.tools}:{os.environ['PATH']}")
        done = subprocess.run([DEPS, *options], capture_output=True, text=True, env=environment, check=False)
        self.assertEqual(done.returncode, wanted, done.stderr)
        return set(done.stdout.split()), done.stderr

    def test_debian_12_gets_its_own_rocm(self):
        packages, said = self.deps("debian", "12", "--print")
        self.assertLessEqual({"clang-19", "llvm-19-dev", "libamdhip64-dev", "libhsa-runtime-dev", "rocm-device-libs", "chromium", "clang-16"}, packages)
        self.assertEqual(said, "")
        demo, _ = self.deps("debian", "12", "--print", "--demo")
        self.assertLess(demo, packages)
        self.assertNotIn("chromium", demo)

    def test_ubuntu_2404_has_other_names(self):
        packages, said = self.deps("ubuntu", "24.04", "--print")
        self.assertIn("rocm-device-libs-17", packages)
        self.assertFalse({"rocm-device-libs", "chromium"} & packages)
        self.assertIn("clang-19", packages)
        self.assertEqual(said, "")

    def test_no_rocm_is_installed_beside_that_of_opt_rocm(self):
        self.rocm("include/hip/hip_version.h", "include/hip/hip_runtime.h", "include/hsa/hsa_api_trace.h", "llvm/include/llvm/IR/Module.h")
        for system in (("debian", "12"), ("ubuntu", "24.04")):
            packages, said = self.deps(*system, "--print")
            self.assertEqual(packages & OWN_ROCM, set())
            self.assertIn("clang-19", packages)
            self.assertEqual(said, f"scripts/deps: ROCm of {self.place}/rocm is used; none is installed beside it\n")

    def test_rocm_10_is_found_where_it_is_installed(self):
        self.rocm("include/hip/hip_version.h", "lib/llvm/include/llvm/IR/Module.h", place="rocm/core")
        packages, said = self.deps("ubuntu", "24.04", "--print")
        self.assertEqual(packages & OWN_ROCM, set())
        self.assertIn("/rocm/core is used", said)
        self.assertNotIn("rocm-llvm-dev", said)

    def test_what_a_rocm_lacks_is_named_with_its_package(self):
        self.rocm("lib/libhsa-runtime64.so.1")
        _, said = self.deps("ubuntu", "24.04", "--print")
        for package in ("hsa-rocr-dev", "hip-dev", "rocm-llvm-dev"):
            self.assertIn(package, said)

    def test_ubuntu_2204_says_what_has_to_come_from_elsewhere(self):
        self.tool("apt-cache", "echo 'clang-19:'; echo '  Candidate: (none)'")
        self.tool("cmake", "echo 'cmake version 3.22.1'")
        _, said = self.deps("ubuntu", "22.04", wanted=1)
        self.assertIn("install AMD's ROCm first", said)
        self.rocm("include/hip/hip_version.h")
        _, said = self.deps("ubuntu", "22.04", wanted=1)
        self.assertIn("llvm.sh 19", said)
        self.assertIn("CMake 3.25 or newer", said)
        packages, said = self.deps("ubuntu", "22.04", "--print")
        self.assertFalse({"chromium", "clang-16", "libmsgpack-cxx-dev"} & packages)

    def test_ubuntu_2204_with_both_needs_nothing_else(self):
        self.rocm("include/hip/hip_version.h")
        self.tool("apt-cache", "echo 'clang-19:'; echo '  Candidate: 1:19.1.7~++20250114'")
        self.tool("cmake", "echo 'cmake version 3.31.6'")
        packages, said = self.deps("ubuntu", "22.04", "--print")
        self.assertNotIn("lacks", said)
        self.assertIn("clang-19", packages)
        self.assertNotIn("cmake", packages)  # an old one would come before it

    def test_other_systems_are_told_that_they_are_untried(self):
        _, said = self.deps("fedora", "42", "--print")
        self.assertIn("fedora 42 is not a system that FADE was built on", said)

    def test_other_options_are_refused(self):
        _, said = self.deps("debian", "12", "--everything", wanted=2)
        self.assertIn("--print", said)


if __name__ == "__main__":
    unittest.main()
