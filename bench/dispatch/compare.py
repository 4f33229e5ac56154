#!/usr/bin/env python3
"""What a dispatch costs with FADE and without: compare.py FADEPROBE LIBFADEGPU LAUNCHES [rounds] [queued|waited|heavy|memory]

Runs the program without FADE and in several ways with it, one after the other, so that a machine that is busy is equally
busy for all of them, and prints medians in microseconds per dispatch. What FADE costs is the processor time that the
launching thread needs more than without it, and that of FADE's own threads."""
import os
import statistics
import subprocess
import sys

probe, gpu, launches = sys.argv[1:4]
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 7
how = sys.argv[5] if len(sys.argv) > 5 else "queued"
ways = {
    "none": ["env", "LD_PRELOAD=" + gpu],
    "durations": [probe, "--gpu", "gfx90a", "-l", "/dev/null", "--"],
    "durations, JSON": [probe, "--gpu", "gfx90a", "-t", "json", "-l", "/dev/null", "--"],
    "no explanation": [probe, "--gpu", "gfx90a", "--no-explain", "-l", "/dev/null", "--"],
    "instrumented": [probe, "--gpu", "gfx90a", "-i", "-l", "/dev/null", "--"],
    "the same, no e.": [probe, "--gpu", "gfx90a", "-i", "--no-explain", "-l", "/dev/null", "--"],
}
if os.path.exists("/dev/kfd"):
    here = ("--gpu", "gfx90a", "LD_PRELOAD=" + gpu)
    ways = {way: [x for x in command if x not in here] for way, command in ways.items()}
results = {way: [] for way in ways}
for _ in range(rounds):
    for way, command in ways.items():
        out = subprocess.run(command + [launches, how], capture_output=True, text=True, check=True).stdout
        results[way].append([float(x) / 1000 for x in out.split()])

print(f"{how}: microseconds per {'allocation' if how == 'memory' else 'dispatch'}, median of {rounds} runs")
print(f"{'':16}{'wall':>8}{'launching thread':>18}{'threads of FADE':>17}{'cost over none':>16}")
median = {way: [statistics.median(column) for column in zip(*rows)] for way, rows in results.items()}
for way, (wall, thread, fade) in median.items():
    cost = thread - median["none"][1] + fade
    print(f"{way:16}{wall:8.2f}{thread:18.2f}{fade:17.2f}{cost:16.2f}")
