"""Checks machine code for the registers in which kernels count (passes/RegisterCounters.cpp): that nothing but FADE's own assembly writes them, and that
functions, which kernels may call, save them before.

usage: counter_registers.py TEXT.ll CODE.s    what opt made of a module, and what llc made of that, as text
"""
import re
import sys

# Instructions whose first operand is read.
READS_FIRST = re.compile(r"s_(?!sendmsg_rtn)(cmp_|bitcmp|cbranch|branch|setpc|store|buffer_store|atomic|dcache|nop|wait|sleep|endpgm|barrier|inst_prefetch|setreg|set_gpr|sendmsg|setprio"
                         r"|prefetch|code_end|trap|sethalt|incperflevel|decperflevel|ttrace|clause|delay|delay_alu|version|icache)|"
                         r"(global|flat|scratch|buffer|ds|image|tbuffer)_|exp\b|v_cmpx_")
# Those that write a second one: what is carried, or the scale of a division.
WRITES_SECOND = re.compile(r"v_(add|sub|subrev|addc|subb|subbrev)_(co|co_ci|u32|i32|co_u32)|v_mad_[iu]64_[iu]32|v_div_scale")
HIGHEST = 106  # vcc and others come after that


def registers(operand):
    """Numbers of the scalar registers that an operand names."""
    one = re.fullmatch(r"s(\d+)", operand)
    if one:
        return {int(one.group(1))}
    many = re.fullmatch(r"s\[(\d+):(\d+)\]", operand)
    return set(range(int(many.group(1)), int(many.group(2)) + 1)) if many else set()


def lowest_of(text):
    """By kernel: the first register that is not the compiler's. The attribute counts two that are no registers."""
    groups = dict(re.findall(r'^attributes (#\d+) = \{.*?"amdgpu-num-sgpr"="(\d+)"', text, re.M))
    kernels = re.findall(r"^define [^\n]*?@\"?([\w.$]+)\"?\([^\n]*?(#\d+)", text, re.M)
    return {name: int(groups[group]) - 2 for name, group in kernels if group in groups}


def functions_of(text):
    """Names of the functions of a module that are no kernels."""
    return [name for kind, name in re.findall(r"^define ([^\n]*?)@\"?([\w.$]+)\"?\(", text, re.M) if "amdgpu_kernel" not in kind]


def body_of(name, code):
    found = re.search(rf"^{re.escape(name)}:.*?^\.Lfunc_end", code, re.M | re.S)
    return found and found.group(0).splitlines()


def unsaved(lines, low):
    """The first line of a function that writes a register from `low` on which it has not saved in a lane."""
    saved = set()
    for line in lines:
        lane = re.match(r"\s*v_writelane_b32 v\d+, s(\d+), ", line)
        if lane:
            saved.add(int(lane.group(1)))
        elif {number for number in written(line) if low <= number < HIGHEST} - saved:
            return line.strip()
    return None


def written(line):
    words = line.split(";")[0].strip().split(None, 1)
    if not words or words[0].endswith(":") or words[0].startswith("."):
        return set()
    operands = re.findall(r"[^,\[\s]+\[[^\]]*\]|[^,\s]+", words[1] if len(words) > 1 else "")
    found = set() if READS_FIRST.match(words[0]) or not operands else registers(operands[0])
    if WRITES_SECOND.match(words[0]) and len(operands) > 1:
        found |= registers(operands[1])
    return found


def main():
    text, code = (open(path).read() for path in sys.argv[1:3])
    lowest, problems, counted = lowest_of(text), [], 0
    for name, low in sorted(lowest.items()):
        body = body_of(name, code)
        if not body:
            sys.exit(f"{name}: no such kernel in the machine code")
        is_ours, own = False, set()
        for line in body:
            if "#ASMSTART" in line or "#ASMEND" in line:
                is_ours = "#ASMSTART" in line
                continue
            reserved = {number for number in written(line) if low <= number < HIGHEST}
            if is_ours:
                own |= reserved
            elif reserved:
                problems.append(f"{name}: counters are in s{low} and above, and the compiler writes s{min(reserved)}: {line.strip()}")
        if not own:
            problems.append(f"{name}: nothing is counted in s{low} and above")
        counted += 1
    for name in functions_of(text) if lowest else []:
        line = unsaved(body_of(name, code) or [], min(lowest.values()))
        if line:
            problems.append(f"{name}: counters are in s{min(lowest.values())} and above, and it does not save them: {line}")
    if not counted:
        problems.append("no kernel counts in registers")
    print("\n".join(problems) if problems else f"{counted} kernels: counters are written by their own assembly alone")
    sys.exit(1 if problems else 0)


main()
