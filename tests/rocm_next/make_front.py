#!/usr/bin/env python3
"""A front library: it has the exports of a library of ROCm, under the same versions, and calls them through tables of its own.

Every export jumps through its slot of a table, as in ROCr and HIP; a slot holds an entry, which jumps to the real library; tools
may put functions of their own into the slots. Which table and slot an export has is read from the header for tools.

  make_front.py REAL HEADER OUT --machine MACHINE --header-bytes N --table STRUCT=SYMBOL[+NEW...]...

writes OUT/exports.S, OUT/exports.map and OUT/exports.inc, where macros that are not defined are empty:
  FRONT_TABLE(symbol, slots)             one for each table
  FRONT_ENTRY(number, table, slot, name) one for each slot of the header
  FRONT_DIRECT(number, name)             exports that are in no table
"""
import argparse
import re
import subprocess
from pathlib import Path

# Old names of functions whose entries have newer ones.
OLD = (("_acq_rel", "_scacq_screl"), ("_acquire", "_scacquire"), ("_release", "_screlease"))

MACROS = (("FRONT_TABLE", "symbol, slots"), ("FRONT_ENTRY", "number, table, slot, name"), ("FRONT_DIRECT", "number, name"))


def exports_of(library):
    """[(name, version)] of functions, and the versions in their order."""
    symbols = subprocess.run(["readelf", "--dyn-syms", "-W", library], check=True, capture_output=True, text=True).stdout
    functions = []
    for line in symbols.splitlines():
        words = line.split()
        if len(words) < 8 or words[3] != "FUNC" or words[4] not in ("GLOBAL", "WEAK") or words[6] == "UND":
            continue
        name, _, version = words[7].partition("@")
        if version.startswith("@"):  # the default one
            functions.append((name, version[1:]))
    versions = subprocess.run(["readelf", "-V", "-W", library], check=True, capture_output=True, text=True).stdout
    definitions = versions.split("Version needs")[0]
    order = re.findall(r"Flags: none .*Name: (\S+)", definitions)
    return functions, order


def slots_of(header, struct):
    body = re.search(r"struct %s \{(.*?)^\};" % struct, header, re.S | re.M).group(1)
    return re.findall(r"\b(\w+)_fn;", body)


def table_name(name, known):
    """The name under which an export is in a table."""
    mangled = re.match(r"_Z(\d+)(\w+)", name)
    if mangled:
        name = mangled.group(2)[:int(mangled.group(1))]
    if name in known:
        return name
    for old, new in OLD:
        if name.endswith(old) and name[:-len(old)] + new in known:
            return name[:-len(old)] + new
    return None


ASSEMBLY = {
    # How functions begin (with something that can be moved, for tools that patch them); a jump through a pointer that lies at a
    # place; what is done before the first.
    "aarch64": {
        "begin": "  hint 34 // bti c\n",
        "jump": "  adrp x16, {0}\n  ldr x16, [x16, :lo12:{0}]\n  br x16\n",
        "first": "  adrp x16, front_is_ready_{1}\n  ldrb w16, [x16, :lo12:front_is_ready_{1}]\n  cbnz w16, 1f\n"
                 "  adr x17, 1f\n  b front_first_{1}\n1:\n",
        "slow": """front_first_{0}:
  stp x29, x30, [sp, -256]!
  stp x0, x1, [sp, 16]
  stp x2, x3, [sp, 32]
  stp x4, x5, [sp, 48]
  stp x6, x7, [sp, 64]
  stp x8, x17, [sp, 80]
  stp q0, q1, [sp, 96]
  stp q2, q3, [sp, 128]
  stp q4, q5, [sp, 160]
  stp q6, q7, [sp, 192]
  bl front_open_{0}
  ldp q6, q7, [sp, 192]
  ldp q4, q5, [sp, 160]
  ldp q2, q3, [sp, 128]
  ldp q0, q1, [sp, 96]
  ldp x8, x17, [sp, 80]
  ldp x6, x7, [sp, 64]
  ldp x4, x5, [sp, 48]
  ldp x2, x3, [sp, 32]
  ldp x0, x1, [sp, 16]
  ldp x29, x30, [sp], 256
  br x17
"""},
    "x86_64": {
        "begin": "  endbr64\n",
        "jump": "  jmp *{0}(%rip)\n",
        "first": "  cmpb $0, front_is_ready_{1}(%rip)\n  jne 1f\n  leaq 1f(%rip), %r11\n  jmp front_first_{1}\n1:\n",
        "slow": """front_first_{0}:
  pushq %r11
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %rax
  subq $128, %rsp
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  subq $8, %rsp
  call front_open_{0}
  addq $8, %rsp
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  addq $128, %rsp
  popq %rax
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %r11
  jmp *%r11
"""},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real")
    parser.add_argument("header", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--machine", choices=sorted(ASSEMBLY), required=True)
    parser.add_argument("--header-bytes", type=int, required=True)
    parser.add_argument("--table", action="append", required=True)
    parser.add_argument("--also", nargs="*", default=[], help="exports that are written by hand")
    options = parser.parse_args()
    machine, header = ASSEMBLY[options.machine], options.header.read_text()

    place, entries, tables = {}, [], []  # name -> (table, slot)
    for description in options.table:
        struct, _, rest = description.partition("=")
        symbol, *new = rest.split("+")
        slots = slots_of(header, struct)
        for slot, name in enumerate(slots):
            place[name] = (symbol, slot)
            entries.append((symbol, slot, name))
        for name in new:
            place[name] = (symbol, len(slots) + new.index(name))
        tables.append((symbol, len(slots) + len(new)))
    functions, versions = exports_of(options.real)
    direct = [name for name, _ in functions if not table_name(name, place)]
    number = {name: i for i, (_, _, name) in enumerate(entries)}
    number.update({name: len(entries) + i for i, name in enumerate(direct)})

    text = ["  .text\n  .p2align 4\n"]
    for symbol in [symbol for symbol, _ in tables] + ["direct"]:
        text.append(machine["slow"].format(symbol))
    added = [(name, versions[-1]) for description in options.table for name in description.split("+")[1:]]
    for name, _ in functions + added:
        inside = table_name(name, place)
        if inside:
            symbol, slot = place[inside]
            pointer, first = f"front_{symbol}+{options.header_bytes + 8 * slot}", symbol
        else:
            pointer, first = f"front_real+{8 * number[name]}", "direct"
        text.append(f"  .globl {name}\n  .type {name}, %function\n  .p2align 4\n{name}:\n"
                    + machine["begin"] + machine["first"].format(name, first) + machine["jump"].format(pointer) + f"  .size {name}, .-{name}\n")
    for i, _ in enumerate(entries):
        text.append(f"  .p2align 4\nfront_entry_{i}:\n" + machine["jump"].format(f"front_real+{8 * i}"))
    hidden = [("front_real", 8 * len(number))] + [(f"front_{s}", options.header_bytes + 8 * n) for s, n in tables]
    text.append("  .bss\n")
    for name, size in hidden:
        text.append(f"  .globl {name}\n  .hidden {name}\n  .p2align 4\n{name}:\n  .zero {size}\n")
    for symbol in [symbol for symbol, _ in tables] + ["direct"]:
        text.append(f"  .globl front_is_ready_{symbol}\n  .hidden front_is_ready_{symbol}\n  .hidden front_open_{symbol}\n"
                    f"front_is_ready_{symbol}:\n  .zero 1\n")
    text.append("  .section .data.rel.ro, \"aw\"\n  .p2align 3\n  .globl front_entries\n  .hidden front_entries\nfront_entries:\n")
    text.extend(f"  .quad front_entry_{i}\n" for i in range(len(entries)))
    text.append("  .section .note.GNU-stack, \"\"\n")

    script, before = [], ""
    for version in versions:
        names = [name for name, its in functions + added if its == version]
        if version == versions[-1]:
            names += options.also
        script.append(f"{version} {{ global: {' '.join(n + ';' for n in names)} {'local: *;' if not before else ''} }} {before};\n")
        before = version
    lines = [f"FRONT_TABLE({symbol}, {count})\n" for symbol, count in tables]
    lines += [f"FRONT_ENTRY({number[name]}, {symbol}, {slot}, {name})\n" for symbol, slot, name in entries]
    lines += [f"FRONT_DIRECT({number[name]}, {name})\n" for name in direct]
    for macro, names in MACROS:
        lines.insert(0, f"#ifndef {macro}\n#define {macro}({names})\n#endif\n")
        lines.append(f"#undef {macro}\n")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "exports.S").write_text("".join(text))
    (options.out / "exports.map").write_text("".join(script))
    (options.out / "exports.inc").write_text("".join(lines))


if __name__ == "__main__":
    main()
