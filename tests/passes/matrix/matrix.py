#!/usr/bin/env python3
"""Language features x optimisation x code-object version x architecture: each must compile with the plugin, the
original must come out as without it, and the twin's arguments must obey the rule of include/fade/clone.h.

usage: matrix.py --plugin P --compiler C --device-libs DIR [--full]
"""
import argparse, os, re, subprocess, sys, tempfile

ALL = ["gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200"]
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "features.hip")


def library_flags(directory, arch):
    """Architectures that the device libraries do not know borrow the constants of a relative."""
    if os.path.exists(f"{directory}/oclc_isa_version_{arch[3:]}.bc"):
        return [f"--rocm-device-lib-path={directory}"]
    gfx9 = arch.startswith("gfx9")
    names = ["hip", "ocml", "ockl", "oclc_daz_opt_off", "oclc_unsafe_math_off", "oclc_finite_only_off",
             "oclc_correctly_rounded_sqrt_on", f"oclc_wavefrontsize64_{'on' if gfx9 else 'off'}",
             f"oclc_isa_version_{'940' if gfx9 else '1030'}", "oclc_abi_version_400"]
    flags = ["-nogpulib"]
    for name in names:
        flags += ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", f"{directory}/{name}.bc"]
    return flags


def compile(a, arch, level, version, plugin, folder):
    out = os.path.join(folder, "out.s")
    command = [a.compiler, "-x", "hip", "--rocm-path=/usr", *library_flags(a.device_libs, arch), "-D__HIP_PLATFORM_AMD__",
               f"--offload-arch={arch}", "--offload-device-only", "--no-gpu-bundle-output", "-std=c++17", "-S",
               f"-{level}", f"-mcode-object-version={version}", "-gline-tables-only", "-Wno-unused-command-line-argument",
               "-mllvm", "-verify-machineinstrs", SOURCE, "-o", out]
    if plugin:
        command.append(f"-fpass-plugin={plugin}")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    with open(out) as f:
        return f.read()


def code(assembly):
    """Instructions of each function: no comments and directives, labels without the number of their function."""
    functions = {}
    for match in re.finditer(r"^([\w$.]+):[^\n]*; @.*?\n(.*?)^\.Lfunc_end", assembly, re.M | re.S):
        body = []
        for line in match.group(2).splitlines():
            line = line.split(";")[0].strip()
            if not line or (line.startswith(".") and not line.startswith(".LBB")) or re.match(r"\.L(tmp|func_begin)\d*", line):
                continue
            body.append(re.sub(r"\.LBB\d+_", ".LBB_", re.sub(r"\.L(post_)?getpc\d+", ".Lgetpc", line)))
        functions[match.group(1)] = body
    return functions


def arguments(assembly):
    """Kernel -> list of (offset, size, kind), from the metadata."""
    kernels = {}
    metadata = assembly.split(".amdgpu_metadata")[1].split(".end_amdgpu_metadata")[0]
    for entry in metadata.split("  - .agpr_count")[1:] if ".agpr_count" in metadata else metadata.split("\n  - .args")[1:]:
        name = re.search(r"^\s+\.name:\s+(\S+)", entry, re.M)
        list_ = entry.split(".group_segment_fixed_size")[0]
        found = []
        for part in re.split(r"\n\s+- ", list_)[1:]:
            part = "\n" + part
            get = lambda key: re.search(rf"\.{key}:\s+(\S+)", part)
            if get("offset") and get("value_kind"):
                found.append((int(get("offset")[1]), int(get("size")[1]), get("value_kind")[1]))
        names = [n for n in re.findall(r"^ {4}\.name:\s+(\S+)", entry, re.M)]
        kernels[names[-1] if names else name[1]] = found
    return kernels


def check_arguments(original, twin):
    shown = [x for x in original if not x[2].startswith("hidden_")]
    end = max((o + s for o, s, _ in shown), default=0)
    place = (end + 7) // 8 * 8
    theirs = [x for x in twin if not x[2].startswith("hidden_")]
    if theirs != shown + [(place, 8, "global_buffer")]:
        return f"arguments {theirs} after {shown}"
    moved = {(o + 8, s, k) for o, s, k in original if k.startswith("hidden_")}
    extra = {x for x in twin if x[2].startswith("hidden_") and x[2] != "hidden_none"}
    if not {x for x in moved if x[2] != "hidden_none"} >= extra:
        return f"hidden arguments {extra} are not {moved}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("plugin", "compiler", "device-libs"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--full", action="store_true")
    a = parser.parse_args()
    archs, levels, versions = (ALL, ["O0", "O1", "O2", "O3"], [4, 5]) if a.full else (ALL, ["O2"], [5])
    cells = [(x, l, v) for x in archs for l in levels for v in versions]
    if not a.full:
        cells += [("gfx90a", "O0", 4), ("gfx1030", "O0", 5), ("gfx90a", "O3", 4)]
    bad = pairs = 0
    with tempfile.TemporaryDirectory() as folder:
        for arch, level, version in cells:
            where = f"{arch} -{level} v{version}"
            try:
                plain = compile(a, arch, level, version, None, folder)
                with_plugin = compile(a, arch, level, version, a.plugin, folder)
            except RuntimeError as error:
                print(f"{where}: does not compile\n{error}")
                bad += 1
                continue
            before, after = code(plain), code(with_plugin)
            had, have = arguments(plain), arguments(with_plugin)
            for name in before:
                if before[name] != after.get(name):
                    print(f"{where}: code of {name} changed")
                    bad += 1
            for name, original in had.items():
                pairs += 1
                twin = have.get("__fade_" + name)
                mistake = "no twin" if twin is None else check_arguments(original, twin)
                if mistake:
                    print(f"{where}: {name}: {mistake}")
                    bad += 1
    print(f"{len(cells)} compilations, {pairs} kernels with twins, {bad} mistakes")
    return 1 if bad or pairs == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
