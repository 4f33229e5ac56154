#!/usr/bin/env python3
"""What it costs a run without observers that there could be some: unobserved.py FOLDER [--layouts N] [--runs N] [--jobs N]

Builds bench_sim as it is, and with FADE_UNOBSERVED, where the compiler knows that nobody observes. Two builds of the same
source differ by several per cent by where their code happens to lie, more than the question can cost. So both are linked N times
with their functions in an order drawn at random, for each of three ways to align blocks of code, and what they do per
second of processor time is compared layout by layout; each figure is the best of the runs, which alternate. Prints, for each
loop, how much slower the build that asks is: in the median and the mean of all layouts, with the mean's standard error. The
target is 2 %."""
import argparse
import concurrent.futures
import math
import os
import pathlib
import shlex
import subprocess
import statistics
import threading

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LOOPS = ["alu", "stream", "stream_blocks", "copy", "lds_loop", "lds_gemm", "atomics"]
ALIGNED = {"plain": "", "blocks of 32": "-mllvm -align-all-nofallthru-blocks=5", "blocks of 64": "-mllvm -align-all-nofallthru-blocks=6"}
BUILDS = {"asks": "", "unobserved": "-DFADE_UNOBSERVED"}


def build(folder, flags):
    """The command that links bench_sim, to be run in the folder."""
    setting = ["cmake", "-S", SOURCE, "-B", folder, "-G", "Ninja", "-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19",
               "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld", "-DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=lld", "-DFADE_BUILD_BENCH=ON",
               "-DFADE_BUILD_HOST=OFF", "-DFADE_BUILD_PASSES=OFF", "-DFADE_BUILD_TESTS=OFF", "-DFADE_GPU_VARIANTS=",
               f"-DCMAKE_CXX_FLAGS=-ffunction-sections -Wno-unused-command-line-argument {flags}"]
    subprocess.run(setting, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", folder, "bench_sim"], check=True, stdout=subprocess.DEVNULL)
    commands = subprocess.run(["ninja", "-C", folder, "-t", "commands", "-s", "bin/bench_sim"], check=True, capture_output=True, text=True)
    return commands.stdout.strip()


def link(folder, command, seed):
    """bench_sim with its functions in another order."""
    program = f"bin/bench_sim-{seed}"
    words = shlex.split(command.replace("-o bin/bench_sim", f"-Wl,--shuffle-sections=.text*={seed} -o {program}"))
    words = [word for word in words if word not in (":", "&&")]
    subprocess.run(words, check=True, cwd=folder)
    return folder / program


def speeds(program, kernels, loop, core):
    """{(gpu, loop): lane-instructions per second of processor time}"""
    out = subprocess.run([program, kernels, "1", loop], check=True, capture_output=True, text=True,
                         preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    return {(gpu, name): float(speed) for gpu, name, speed in map(str.split, out.stdout.splitlines())}


def slower(pair, runs, core):
    """{(gpu, loop): by how much the build that asks is slower}, for one layout of both."""
    ratios = {}
    for loop in LOOPS:
        best = {name: {} for name in BUILDS}
        for _ in range(runs):
            for name, (folder, program) in pair.items():
                for key, speed in speeds(program, folder / "bench/sim", loop, core).items():
                    best[name][key] = max(best[name].get(key, 0), speed)
        for key, speed in best["asks"].items():
            ratios[key] = best["unobserved"][key] / speed - 1
    return ratios


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=pathlib.Path, help="where to build; made if it is not there")
    arguments.add_argument("--layouts", type=int, default=4, help="orders of functions for each alignment (4)")
    arguments.add_argument("--runs", type=int, default=3, help="of each program; the best counts (3)")
    arguments.add_argument("--jobs", type=int, default=1, help="layouts that run at the same time, each on a core of its own (1)")
    options = arguments.parse_args()
    pairs = []
    for number, (alignment, flags) in enumerate(ALIGNED.items()):
        folders = {name: options.folder.resolve() / f"{name}-{number}" for name in BUILDS}
        commands = {name: build(folder, f"{flags} {BUILDS[name]}") for name, folder in folders.items()}
        for seed in range(1, options.layouts + 1):
            pairs.append({name: (folder, link(folder, commands[name], seed)) for name, folder in folders.items()})
        print(f"{alignment}: built", flush=True)
    free, cores = threading.Semaphore(options.jobs), list(range(0, options.jobs))

    def run(pair):
        with free:
            core = cores.pop()
            try:
                return slower(pair, options.runs, core)
            finally:
                cores.append(core)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(run, pairs))
    print(f"{'gpu':8} {'loop':20} {'median':>8} {'mean':>8} {'+-':>6} {'least':>7} {'most':>7}   {len(results)} layouts, %")
    everything = []
    for key in results[0]:
        found = [100 * r[key] for r in results]
        everything += found
        error = statistics.stdev(found) / math.sqrt(len(found)) if len(found) > 1 else math.nan
        print(f"{key[0]:8} {key[1]:20} {statistics.median(found):8.2f} {statistics.mean(found):8.2f} {error:6.2f} {min(found):7.2f} {max(found):7.2f}")
    print(f"{'all':29} {statistics.median(everything):8.2f} {statistics.mean(everything):8.2f} {statistics.stdev(everything) / math.sqrt(len(everything)):6.2f}")


if __name__ == "__main__":
    main()
