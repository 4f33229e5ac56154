#!/usr/bin/env python3
"""What tracing costs: compare.py FADEPROBE LIBDIR DL_CALLS CODE_OBJECT [rounds] [launches]

LIBDIR has libfade.so and libfadegpu.so, DL_CALLS is e2e_dl_calls of the tests, CODE_OBJECT its e2e_scale1 for the GPU. The
program is run without FADE and with it, one after the other, so that a machine that is busy is equally busy for all of them.
Prints the smallest processor time of a call in ns, and that of a program with many launches, for which it also gives the
largest memory and the sizes of the files."""
import os
import resource
import subprocess
import sys
import tempfile

probe, libraries, program, code = sys.argv[1:5]
rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 5
launches = int(sys.argv[6]) if len(sys.argv) > 6 else 100_000
CALLS = 1_000_000

folder = tempfile.TemporaryDirectory(prefix="fade-bench-")
events = os.path.join(folder.name, "run.events")
gpu = {} if os.path.exists("/dev/kfd") else {"LD_PRELOAD": os.path.join(libraries, "libfadegpu.so")}
tools = {"HSA_TOOLS_LIB": os.path.join(libraries, "libfade.so"), "FADE_TRACE": events}
WAYS = {
    "without FADE": {},
    "--start off": dict(tools, FADE_TRACE_START="off"),
    "recording": tools,
    "--stacks": dict(tools, FADE_TRACE_STACKS="on"),
}


def run(command, env):
    """Processor seconds of the process, its largest memory in bytes, and its output."""
    if os.path.exists(events):
        os.remove(events)
    process = subprocess.Popen(command, env=dict(os.environ, **gpu, **env), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status != 0:
        sys.exit(f"{command} ended with {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, out


def smallest(command, env):
    return min((run(command, env) for _ in range(rounds)), key=lambda x: x[0])


print(f"a call (hipGetDevice), processor time in ns, the smallest of {rounds} runs of {CALLS} calls")
least = {}
for _ in range(rounds):
    for way, env in WAYS.items():
        times = CALLS // 20 if way == "--stacks" else CALLS
        least[way] = min(least.get(way, 1e9), float(run([program, "loop", str(times)], env)[2]))
for way, ns in least.items():
    print(f"  {way:16}{ns:10.1f}{ns - least['without FADE']:+10.1f}")

print(f"{launches} launches of an empty kernel: processor time in s, the smallest of {rounds} runs; memory in MB")
command = [program, "launches", code, "1", str(launches), "1"]
best = {}
for _ in range(rounds):
    for way in ("without FADE", "--start off", "recording"):
        result = run(command, WAYS[way])
        if way not in best or result[0] < best[way][0]:
            best[way] = result
for way, (seconds, memory, _) in best.items():
    print(f"  {way:16}{seconds:10.2f}{seconds / best['without FADE'][0]:9.2f} times{memory / 1e6:10.0f} MB")
run(command, WAYS["recording"])
database = os.path.join(folder.name, "run.rpd")
before = resource.getrusage(resource.RUSAGE_CHILDREN)
subprocess.run([probe, "log", events, "-o", database], check=True)
after = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"  bytes per launch: {os.path.getsize(events) / launches:.0f} as events, {os.path.getsize(database) / launches:.0f} as RPD file, "
      f"which takes {(after.ru_utime - before.ru_utime) / launches * 1e6:.1f} us to write")
