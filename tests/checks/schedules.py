#!/usr/bin/env python3
"""`fadeprobe check CAPTURE --schedules N`: kernels whose result depends on the order of waves or workgroups are found, with a seed and the number
of switches that give the same result when they are replayed, and one switch less does not; kernels whose result does not are left alone.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

fadeprobe, program = sys.argv[1:]
problems = []
with tempfile.TemporaryDirectory() as folder:
    environment = {**os.environ, "TMPDIR": folder, "FADE_GPU_WORKERS": "1"}
    for kernel in ("last_wins", "no_barrier", "lost_update"):
        for kind in ("broken", "clean"):
            capture, lines = pathlib.Path(folder) / f"{kernel}-{kind}", pathlib.Path(folder) / "lines"
            subprocess.run([fadeprobe, "capture", "--gpu", "gfx90a", "-k", kernel, "-o", str(capture), "--", program, kind], capture_output=True, timeout=100, env=environment)
            command = [fadeprobe, "check", "--checks", "memory", "--json", str(lines), str(capture), "--schedules", "20", "--seed", "7"]
            run = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment)
            found = [json.loads(line) for line in lines.read_text().splitlines()]
            if len(found) != (kind == "broken") or "20 orders tried" not in run.stderr or "failed" in run.stderr:
                problems.append(f"{kernel} {kind}: {run.stderr}")
                continue
            for one in found:
                if one["check"] != "schedules" or one["seed"] < 7 or one["switches"] < 1 or kernel not in one["kernel"]:
                    problems.append(f"{kernel}: {one}")
                replay = one["advice"][one["advice"].index("fadeprobe replay") + 17:].split()
                for switches, code in ((one["switches"], 1), (one["switches"] - 1, 0)):
                    again = subprocess.run([fadeprobe, "replay", *replay], capture_output=True, text=True, timeout=100,
                                           env={**environment, "FADE_GPU_SCHEDULE": f"{one['seed']}:{switches}"})
                    if again.returncode != code:
                        problems.append(f"{kernel} with {switches} switches: {again.returncode}: {again.stdout}{again.stderr}")
    # The same of an application: all of its kernels, captured in a second run.
    for kind, kernels in (("broken", 3), ("clean", 0)):
        lines = pathlib.Path(folder) / "lines"
        run = subprocess.run([fadeprobe, "check", "--gpu", "gfx90a", "--checks", "memory", "--json", str(lines), "--schedules", "8", "--seed", "7", "--", program, kind],
                             capture_output=True, text=True, timeout=300, env=environment)
        found = [json.loads(line) for line in lines.read_text().splitlines()]
        kept = [str(path) for path in pathlib.Path(folder).glob("fade-schedules-*/*")]
        if run.returncode != 5 or run.stdout != "done\n" or [one["check"] for one in found] != ["schedules"] * kernels or len(kept) != kernels or "captured in a second run" not in run.stderr:
            problems.append(f"application, {kind}: {run.returncode} {run.stdout} {kept} {run.stderr}")
        for one in found:
            replay = one["advice"][one["advice"].index("fadeprobe replay") + 17:].split()
            again = subprocess.run([fadeprobe, "replay", *replay], capture_output=True, text=True, timeout=100,
                                   env={**environment, "FADE_GPU_SCHEDULE": f"{one['seed']}:{one['switches']}"})
            if replay[0] not in kept or again.returncode != 1:
                problems.append(f"application: {replay}: {again.returncode}: {again.stdout}{again.stderr}")
        for path in kept:
            shutil.rmtree(pathlib.Path(path).parent, ignore_errors=True)
if problems:
    print("\n".join(problems))
sys.exit(1 if problems else 0)
