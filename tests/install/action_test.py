#!/usr/bin/env python3
"""The steps of action.yml, run as a runner of GitHub does: in their order, with inputs, conditions and outputs.

usage: action_test.py BUILD_DIR
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
EXAMPLE = BUILD / "examples/programs/example_transpose"
RACE = f"{BUILD}/tests/checks/programs/check_lds_cases broken || true"  # which says itself that its results are wrong


def evaluated(text, inputs):
    """With ${{ inputs.x }} replaced; other expressions are not used."""
    return re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda m: inputs[m.group(1)], text)


def holds(condition, inputs, failed):
    """An `if:` of a step, in the small language that action.yml uses."""
    if condition is None:
        return not failed
    text = re.sub(r"inputs\.([a-z-]+)", lambda m: repr(inputs[m.group(1)]), condition)
    text = text.replace("&&", " and ").replace("||", " or ").replace("success()", str(not failed)).replace("failure()", str(failed))
    allowed = bool(eval(text, {"__builtins__": {}}))  # our own file
    return allowed and (not failed or "failure()" in condition)


class Action(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tree = pathlib.Path(tempfile.mkdtemp(prefix="fade-action-"))
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.tree / "fade-0", "--strip"], check=True, capture_output=True)
        cls.package = cls.tree / "fade.tar.gz"
        subprocess.run(["tar", "-I", "gzip -1", "-cf", cls.package, "-C", cls.tree, "fade-0"], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.tree)

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="fade-runner-")
        self.addCleanup(scratch.cleanup)
        self.work = pathlib.Path(scratch.name)

    def act(self, **inputs):
        """Runs the action: (names of steps that ran, name of the first that failed, what was printed)."""
        given = {name: value.get("default", "") for name, value in ACTION["inputs"].items()} | {"package": str(self.package)}
        given |= {name.replace("_", "-"): str(value) for name, value in inputs.items()}
        self.assertEqual(set(given), set(ACTION["inputs"]))
        (self.work / "tmp").mkdir(exist_ok=True)
        path_file, summary = self.work / "path", self.work / "summary"
        path_file.touch()
        ran, failed, text = [], None, ""
        for step in ACTION["runs"]["steps"]:
            if not holds(step.get("if"), given, failed is not None):
                continue
            ran.append(step["name"])
            self.assertEqual(step["shell"], "bash")
            clean = {k: v for k, v in os.environ.items() if not k.startswith(("FADE_", "GITHUB_"))}
            environment = clean | {"GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": str(self.work / "tmp"), "GITHUB_PATH": str(path_file), "GITHUB_STEP_SUMMARY": str(summary)}
            environment["PATH"] = ":".join([*reversed(path_file.read_text().split()), clean["PATH"]])
            environment |= {name: evaluated(value, given) for name, value in step.get("env", {}).items()}
            done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", evaluated(step["run"], given)], cwd=self.work,
                                  env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            text += done.stdout
            if done.returncode != 0 and failed is None:
                failed = step["name"]
        self.outputs = {name: self.work / evaluated(value["value"], given) for name, value in ACTION["outputs"].items()}
        return ran, failed, text

    def rules(self, file):
        return [result["ruleId"] for run in json.loads((self.outputs["sarif"] / file).read_text())["runs"] for result in run["results"]]

    def test_a_clean_program_passes_and_its_results_are_there(self):
        ran, failed, text = self.act(run=f"{EXAMPLE} fast", fail_if="conflicts>0\n\nefficiency<60%\n")
        self.assertEqual((ran, failed), (["Install FADE", "Check kernels", "Compare kernels"], None), text)
        self.assertIn("2 of 2 conditions passed", text)
        self.assertEqual((self.rules("check.sarif"), self.rules("compare.sarif")), ([], []))
        self.assertTrue(self.outputs["report"].exists() and self.outputs["findings"].exists())
        self.assertIn("### FADE: compare", (self.work / "summary").read_text())

    def test_an_error_fails_the_check_and_the_comparison_still_runs(self):
        ran, failed, text = self.act(run=RACE, fail_if="conflicts>1000000")
        self.assertEqual((ran[-1], failed), ("Compare kernels", "Check kernels"), text)
        self.assertIn("race", self.rules("check.sarif"))
        # Known findings pass.
        shutil.copy(self.outputs["findings"], self.work / "known.jsonl")
        ran, failed, text = self.act(run=RACE, check_baseline="known.jsonl")
        self.assertEqual((ran, failed), (["Install FADE", "Check kernels"], None), text)

    def test_the_program_is_built_with_fade(self):
        ran, failed, text = self.act(build="fadeprobe --version\nfalse\ntrue", run="true")
        self.assertEqual((ran, failed), (["Install FADE", "Build"], "Build"), text)
        ran, failed, text = self.act(build=f"fadeprobe --version >built\ncp {EXAMPLE} app", run="./app fast")
        self.assertEqual((ran, failed), (["Install FADE", "Build", "Check kernels"], None), text)
        self.assertTrue((self.work / "built").read_text().startswith("fadeprobe "))

    def test_a_kernel_that_became_slower_than_the_baseline_fails(self):
        ran, failed, text = self.act(run=f"{EXAMPLE} fast", check="none", baseline="kept/baseline.jsonl")
        self.assertEqual((ran, failed), (["Install FADE", "Compare kernels"], None), text)
        self.assertIn("no baseline kept/baseline.jsonl yet", text)
        (self.work / "kept").mkdir()
        shutil.copy(self.outputs["report"], self.work / "kept/baseline.jsonl")
        self.assertEqual(self.act(run=f"{EXAMPLE} fast", check="none", baseline="kept/baseline.jsonl")[1], None)
        ran, failed, text = self.act(run=f"{EXAMPLE} slow", check="none", baseline="kept/baseline.jsonl")
        self.assertEqual(failed, "Compare kernels", text)
        self.assertIn("instead of", text)

    def install(self, system="debian-12", curl=None, at="_actions/somebody/fade/v0", **environment):
        """Installs what the release of this action has for a system: (what was downloaded, exit code, what was printed)."""
        folder, tools = self.work / at, self.work / "tools"
        shutil.copytree(ROOT / "action", folder / "action", dirs_exist_ok=True)
        shutil.copy(ROOT / "CMakeLists.txt", folder)
        tools.mkdir(exist_ok=True)
        for tool in ("bash", "sed", "dirname", "mktemp", "uname", "dpkg", "grep", "sha256sum", "tar", "gzip", "mkdir", "realpath", "cp", "env", "id"):
            if not (tools / tool).exists():
                (tools / tool).symlink_to(shutil.which(tool))
        downloaded = self.work / "downloaded"
        downloaded.write_text("")
        for tool, text in {"curl": curl, "apt-get": '[ "$1" = update ] || { echo "unmet dependencies" >&2; exit 100; }'}.items():
            (tools / tool).unlink(missing_ok=True)
            if text is not None:
                (tools / tool).write_text(f"#!/bin/bash\necho \"${{@: -1}}\" >>{downloaded}\n{text}\n")
                (tools / tool).chmod(0o755)
        name, _, number = system.partition("-")
        (self.work / "os-release").write_text(f'ID={name}\nVERSION_ID="{number}"\n')
        (self.work / "tmp").mkdir(exist_ok=True)
        done = subprocess.run(["bash", folder / "action/install"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.work,
                              env={"PATH": str(tools), "RUNNER_TEMP": str(self.work / "tmp"), "FADE_OS_RELEASE": str(self.work / "os-release"), **environment})
        return [line for line in downloaded.read_text().split() if line.startswith("http")], done.returncode, done.stdout

    def test_each_system_gets_the_file_of_the_release_that_fits(self):
        fails = "exit 22"
        for system, wanted in (("debian-12", r"\.deb"), ("ubuntu-24.04", r"\.deb"), ("ubuntu-22.04", r"\.tar\.gz"), ("debian-13", r"\.tar\.gz"), ("rhel-9.4", r"\.tar\.gz")):
            (address,), code, text = self.install(system, fails)
            self.assertRegex(address, r"^https://github\.com/somebody/fade/releases/download/v[0-9.]+/fade[^/]*" + wanted + "$")
            self.assertEqual(code, 1)
            self.assertIn("cannot be downloaded", text)
        (address,), _, _ = self.install(curl=fails, at="checkout", GITHUB_ACTION_REPOSITORY="else/where")
        self.assertIn("/else/where/releases/", address)

    def test_why_a_release_cannot_be_installed_is_said(self):
        gives = f'file=$(sed "s/.*-o \\([^ ]*\\) .*/\\1/" <<<"$*"); case $file in *SUMS) printf "%s" "$SUMS" >"$file" ;; *) cp {self.package} "$file" ;; esac'
        name = next(iter(self.install("rhel-9", "exit 22")[0])).rpartition("/")[2]
        for wanted, code, options in (
            ("curl is missing", 1, {}),
            ("the repository of this action is unknown", 1, dict(curl=gives, at="checkout")),
            ("is damaged", 1, dict(system="rhel-9", curl=gives, SUMS="0" * 64 + f"  {name}\n")),
            ("no checksum of", 0, dict(system="rhel-9", curl=gives, SUMS="0" * 64 + "  another.tar.gz\n")),
            (".deb cannot be installed here: it is for Debian 12 and Ubuntu 24.04", 1, dict(curl=gives, SUMS="")),
        ):
            _, status, text = self.install(**options)
            self.assertIn(wanted, text)
            self.assertEqual(status, code, text)

    def test_what_cannot_be_installed_or_run_is_said(self):
        for package, wanted in (("nothing.deb", "no such file: nothing.deb"), (EXAMPLE, "is not a .deb, .tar.gz or .whl")):
            ran, failed, text = self.act(run="true", package=package)
            self.assertEqual((ran, failed), (["Install FADE"], "Install FADE"))
            self.assertIn(wanted, text)
        ran, failed, text = self.act(run="")
        self.assertEqual(failed, "Check kernels")
        self.assertIn("the input 'run' is empty", text)
        self.assertEqual(self.act(run="exit 7", check="none", fail_if="conflicts>0")[1], "Compare kernels")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
