#!/usr/bin/env python3
"""compile.py FOLDER [ARCH...]: compiles Triton kernels for AMD GPUs into FOLDER/ARCH/NAME.hsaco, with NAME.json beside each; needs no GPU.

One line for each kernel: its matrix instructions, or why it was not compiled. FOLDER/summary.txt has the same lines.
"""
import collections
import json
import os
import re
import sys
import traceback

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C (f32, m x n) = A (m x k, by rows) * B (k x n, by rows). Ragged edges."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        left = k - start
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :], mask=(rows[:, None] < m) & (ks[None, :] < left), other=0.0)
        y = tl.load(b + (start + ks)[:, None] * n + columns[None, :], mask=(ks[:, None] < left) & (columns[None, :] < n), other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * n + columns[None, :], acc, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def matmul_t(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C (f32, m x n) = A (m x k, by rows) * B (k x n, by columns). m, n and k are multiples of the blocks."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :])
        y = tl.load(b + columns[None, :] * k + (start + ks)[:, None])
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * n + columns[None, :], acc)


@triton.jit
def matmul_i8(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C (i32, m x n) = A (m x k, by rows) * B (k x n, by columns)."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.int32)
    for start in range(0, k, BK):
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :])
        y = tl.load(b + columns[None, :] * k + (start + ks)[:, None])
        acc = tl.dot(x, y, acc, out_dtype=tl.int32)
    tl.store(c + rows[:, None] * n + columns[None, :], acc)


@triton.jit
def matmul_scaled(a, sa, b, sb, c, m, n, k, FA: tl.constexpr, FB: tl.constexpr, PA: tl.constexpr, PB: tl.constexpr,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C (f32) = A * B. A: m x k / PA bytes by rows; B: n x k / PB bytes by rows (that is, by columns of k x n); PA, PB: numbers in a byte.
    Scales: e8m0, m x k / 32 and n x k / 32 bytes by rows. m, n and k are multiples of the blocks."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ka = tl.arange(0, BK // PA)
    kb = tl.arange(0, BK // PB)
    ks = tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        x = tl.load(a + rows[:, None] * (k // PA) + (start // PA + ka)[None, :])
        y = tl.load(b + columns[None, :] * (k // PB) + (start // PB + kb)[:, None])
        scale_x = tl.load(sa + rows[:, None] * (k // 32) + (start // 32 + ks)[None, :])
        scale_y = tl.load(sb + columns[:, None] * (k // 32) + (start // 32 + ks)[None, :])
        acc = tl.dot_scaled(x, scale_x, FA, y, scale_y, FB, acc)
    tl.store(c + rows[:, None] * n + columns[None, :], acc)


@triton.jit
def attention(q, k, v, out, length, scale, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """One head per program_id(1): out (f32) = softmax(q k^T * scale) v; q, k, v, out: heads x length x D. length is a multiple of the blocks."""
    head = tl.program_id(1) * length * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    x = tl.load(q + head + rows[:, None] * D + d[None, :])
    largest = tl.full((BM,), -1e30, dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    end = length
    if CAUSAL:
        end = tl.minimum((tl.program_id(0) + 1) * BM, length)
    for start in range(0, end, BN):
        columns = start + tl.arange(0, BN)
        y = tl.load(k + head + columns[None, :] * D + d[:, None])
        scores = tl.dot(x, y) * (scale * 1.4426950408889634)
        if CAUSAL:
            scores = tl.where(rows[:, None] >= columns[None, :], scores, -1e30)
        new = tl.maximum(largest, tl.max(scores, 1))
        shrink = tl.exp2(largest - new)
        p = tl.exp2(scores - new[:, None])
        total = total * shrink + tl.sum(p, 1)
        z = tl.load(v + head + columns[:, None] * D + d[None, :])
        acc = tl.dot(p.to(z.dtype), z, acc * shrink[:, None])
        largest = new
    tl.store(out + head + rows[:, None] * D + d[None, :], acc / total[:, None])


@triton.jit
def to_fp8(x, out, n, BLOCK: tl.constexpr):
    """out = x (f32), rounded to the element type of out."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, value.to(out.dtype.element_ty), mask=i < n)


@triton.jit
def from_fp8(x, out, n, BLOCK: tl.constexpr):
    """out (f32) = x."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, value.to(tl.float32), mask=i < n)


CDNA, RDNA = ["gfx942", "gfx950"], ["gfx1100", "gfx1151", "gfx1201"]
ALL = CDNA + RDNA
Kernel = collections.namedtuple("Kernel", "name function types constants options archs", defaults=[{}, ALL])


def product(name, function, a, b, bm, bn, bk, archs=ALL, c="*fp32", **options):
    return Kernel(name, function, {"a": a, "b": b, "c": c, "m": "i32", "n": "i32", "k": "i32"}, {"BM": bm, "BN": bn, "BK": bk}, options, archs)


def scaled(name, fa, fb, bm, bn, bk, archs=("gfx950", "gfx942", "gfx1201"), **options):
    packed = {"e2m1": ("*u8", 2), "e4m3": ("*fp8e4nv", 1), "e5m2": ("*fp8e5", 1)}
    (ta, pa), (tb, pb) = packed[fa], packed[fb]
    return Kernel(name, matmul_scaled, {"a": ta, "sa": "*u8", "b": tb, "sb": "*u8", "c": "*fp32", "m": "i32", "n": "i32", "k": "i32"},
                  {"FA": fa, "FB": fb, "PA": pa, "PB": pb, "BM": bm, "BN": bn, "BK": bk}, options, list(archs))


def heads(name, kind, causal, archs=ALL):
    return Kernel(name, attention, {"q": kind, "k": kind, "v": kind, "out": "*fp32", "length": "i32", "scale": "fp32"},
                  {"CAUSAL": causal, "BM": 32, "BN": 32, "D": 64}, {}, archs)


KERNELS = [
    product("matmul_bf16", matmul, "*bf16", "*bf16", 32, 32, 32),
    product("matmul_f16_deep", matmul_t, "*fp16", "*fp16", 32, 32, 64),
    product("matmul_i8", matmul_i8, "*i8", "*i8", 32, 32, 64, c="*i32"),
    product("matmul_fp8", matmul, "*fp8e4nv", "*fp8e4nv", 32, 32, 64),
    product("matmul_bf8", matmul, "*fp8e5", "*fp8e5", 32, 32, 64),
    product("matmul_fp8_bf8", matmul_t, "*fp8e4nv", "*fp8e5", 32, 32, 64),
    product("matmul_fp8_fnuz", matmul, "*fp8e4b8", "*fp8e4b8", 32, 32, 64, ["gfx942"]),
    product("matmul_bf8_fnuz", matmul_t, "*fp8e5b16", "*fp8e4b8", 32, 32, 64, ["gfx942"]),
    product("matmul_fp8_deep16", matmul_t, "*fp8e4nv", "*fp8e4nv", 32, 32, 128, ["gfx950"], matrix_instr_nonkdim=16),
    product("matmul_fp8_deep32", matmul_t, "*fp8e4nv", "*fp8e4nv", 32, 32, 128, ["gfx950"], matrix_instr_nonkdim=32),
    scaled("matmul_mxfp4", "e2m1", "e2m1", 32, 32, 128),
    scaled("matmul_mxfp4_32", "e2m1", "e2m1", 64, 64, 128, ["gfx950"], matrix_instr_nonkdim=32),
    scaled("matmul_mxfp8", "e4m3", "e4m3", 32, 32, 128),
    scaled("matmul_mxbf8_mxfp4", "e5m2", "e2m1", 32, 32, 128),
    heads("attention_f16", "*fp16", 0),
    heads("attention_f16_causal", "*fp16", 1),
    heads("attention_bf16", "*bf16", 0),
    heads("attention_fp8", "*fp8e5", 0, ["gfx950", "gfx1201"]),
    Kernel("to_fp8", to_fp8, {"x": "*fp32", "out": "*fp8e4nv", "n": "i32"}, {"BLOCK": 256}),
    Kernel("to_bf8", to_fp8, {"x": "*fp32", "out": "*fp8e5", "n": "i32"}, {"BLOCK": 256}),
    Kernel("from_fp8", from_fp8, {"x": "*fp8e4nv", "out": "*fp32", "n": "i32"}, {"BLOCK": 256}),
    Kernel("from_bf8", from_fp8, {"x": "*fp8e5", "out": "*fp32", "n": "i32"}, {"BLOCK": 256}),
]


def build(kernel, arch, folder):
    warp = 64 if arch.startswith("gfx9") else 32
    names = list(kernel.function.arg_names)
    signature = {name: kernel.types.get(name, "constexpr") for name in names}
    attributes = {(names.index(name),): [["tt.divisibility", 16]] for name, kind in kernel.types.items() if kind.startswith("*")}
    source = ASTSource(fn=kernel.function, signature=signature, constexprs=kernel.constants, attrs=attributes)
    done = compile(source, target=GPUTarget("hip", arch, warp), options={"num_warps": 4, **kernel.options})
    text = done.asm["amdgcn"]
    used = collections.Counter(re.findall(r"\bv_(?:s?mfma\w*|s?wmma\w*|swmmac\w*|cvt\w*(?:fp8|bf8|fp4|f8)\w*|dot\w+)", text))
    meta = done.metadata
    with open(os.path.join(folder, kernel.name + ".hsaco"), "wb") as file:
        file.write(done.asm["hsaco"])
    with open(os.path.join(folder, kernel.name + ".json"), "w") as file:
        json.dump({"name": meta.name, "arch": arch, "num_warps": str(meta.num_warps), "warp_size": str(warp), "shared": str(meta.shared),
                   "triton_version": triton.__version__, "signature": signature, "constants": kernel.constants, "options": kernel.options,
                   "instructions": used}, file, indent=1)
    return ", ".join(f"{name} x {n}" for name, n in sorted(used.items())) or "no matrix instructions"


def main():
    out = sys.argv[1]
    archs = sys.argv[2:] or ALL
    bad = 0
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "summary.txt"), "w") as summary:
        for arch in archs:
            folder = os.path.join(out, arch)
            os.makedirs(folder, exist_ok=True)
            for kernel in KERNELS:
                if arch not in kernel.archs:
                    continue
                try:
                    line = f"{arch} {kernel.name}: {build(kernel, arch, folder)}"
                except Exception as error:  # pylint: disable=broad-except
                    bad += 1
                    line = f"{arch} {kernel.name}: FAILED {type(error).__name__}: {str(error)[:400]}"
                    with open(os.path.join(folder, kernel.name + ".error"), "w") as file:
                        traceback.print_exc(file=file)
                print(line, flush=True)
                summary.write(line + "\n")
    print(f"{bad} not compiled")
    return 0


if __name__ == "__main__":
    sys.exit(main())
