#!/usr/bin/env python3
"""What a dispatch costs with FADE and without: compare.py FADEPROBE LIBFADEGPU LAUNCHES [rounds]

Runs the program without FADE and in several ways with it, one after the other, so that a machine that is busy is equally
busy for all of them, and prints medians and the differences to none."""
import os
import statistics
import subprocess
import sys

probe, gpu, launches = sys.argv[1:4]
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 7
ways = {
    "none": ["env", "LD_PRELOAD=" + gpu],
    "durations": [probe, "--gpu", "gfx90a", "-l", "/dev/null", "--"],
    "durations, JSON": [probe, "--gpu", "gfx90a", "-t", "json", "-l", "/dev/null", "--"],
    "instrumented": [probe, "--gpu", "gfx90a", "-i", "-l", "/dev/null", "--"],
}
if os.path.exists("/dev/kfd"):
    ways = {k: [x for x in v if x not in ("--gpu", "gfx90a") and not x.startswith("LD_PRELOAD")] for k, v in ways.items()}
results = {way: [] for way in ways}
for _ in range(rounds):
    for way, command in ways.items():
        out = subprocess.run(command + [launches], capture_output=True, text=True, check=True).stdout
        results[way].append([float(x) for x in out.split()])

print(f"microseconds per dispatch, median of {rounds} runs")
print(f"{'':18}{'wall':>9}{'over none':>11}{'launching thread':>18}{'over none':>11}{'process':>9}{'over none':>11}")
median = {way: [statistics.median(column) / 1000 for column in zip(*rows)] for way, rows in results.items()}
for way, (wall, thread, process) in median.items():
    base = median["none"]
    print(f"{way:18}{wall:9.2f}{wall - base[0]:11.2f}{thread:18.2f}{thread - base[1]:11.2f}{process:9.2f}{process - base[2]:11.2f}")
