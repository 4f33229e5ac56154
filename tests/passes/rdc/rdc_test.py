#!/usr/bin/env python3
"""A program of two files with -fgpu-rdc, instrumented file by file and as a whole when it is linked: its results stay right, and
the sites of both files are reported with their lines.

usage: rdc_test.py --plugin P --compiler C --fadeprobe F -- compiler options
"""
import argparse, os, re, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def line_of(file, mark):
    with open(os.path.join(HERE, file)) as f:
        return next(n for n, text in enumerate(f, 1) if mark in text)


def build(a, flags, folder, name, compile_flags, link_flags):
    objects = []
    for file in ("main", "other"):
        objects.append(os.path.join(folder, f"{name}_{file}.o"))
        call([a.compiler, *flags, "-x", "hip", "-fgpu-rdc", "-gline-tables-only", *compile_flags, "-c", os.path.join(HERE, file + ".hip"),
              "-o", objects[-1]])
    program = os.path.join(folder, name)
    call([a.compiler, *flags, "-fgpu-rdc", "--hip-link", *link_flags, *objects, "-o", program, "-lamdhip64"])
    return program


def check(what, program, fadeprobe, wanted, unwanted):
    said = call([fadeprobe, "-i", "-a", "MemoryAnalysis", "--", program])
    sites = set(re.findall(r"^\s+(\S+\.hip:\d+):\d+\s+(load|store)\s+4\s+4\s+100%", said, re.M))
    mistakes = [f"no {site}" for site in wanted if site not in sites] + [f"{site}" for site in unwanted if site in sites]
    if not re.search(r"^right$", said, re.M):
        mistakes.append("wrong results")
    if "2 dispatches, 2 instrumented" not in said:
        mistakes.append("not instrumented")
    for mistake in mistakes:
        print(f"{what}: {mistake}\n{said}")
    print(f"{what}: {len(sites)} sites")
    return not mistakes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("plugin", "compiler", "fadeprobe"):
        parser.add_argument(f"--{name}", required=True)
    split = sys.argv.index("--")
    a, flags = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
    kernels = [(f"main.hip:{line_of('main.hip', 'WRITE weighAll')}", "store"),
               (f"other.hip:{line_of('other.hip', 'WRITE tripleAll')}", "load"),
               (f"other.hip:{line_of('other.hip', 'WRITE tripleAll')}", "store")]
    called = (f"other.hip:{line_of('other.hip', 'READ weigh')}", "load")
    with tempfile.TemporaryDirectory() as folder:
        each = build(a, flags, folder, "each", [f"-fpass-plugin={a.plugin}"], [])
        whole = build(a, flags, folder, "whole", [], ["-Xoffload-linker", f"--load-pass-plugin={a.plugin}"])
        good = check("file by file", each, a.fadeprobe, kernels, [called])  # a function of another file is not followed
        good &= check("whole program", whole, a.fadeprobe, kernels + [called], [])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
