"""Two versions of one kernel, as autotuning makes them: the same name and arguments, other code. Launches both until FADE has instrumented versions in FOLDER, and
once more; their results must always be the same.   usage: triton_app.py IR FOLDER"""
import array
import ctypes
import pathlib
import sys
import tempfile
import time

import triton

IR, MADE, COUNT = pathlib.Path(sys.argv[1]).read_bytes(), pathlib.Path(sys.argv[2]), 1000


def on_device(values):
    memory = ctypes.c_void_p()
    triton.Kernel.call("hipMalloc", ctypes.byref(memory), ctypes.c_size_t(4 * COUNT))
    triton.Kernel.call("hipMemcpy", memory, values.tobytes(), ctypes.c_size_t(4 * COUNT), 1)
    return memory


# A product that a fused operation does not round.
fused = IR.replace(b"%22 = fadd float %20, %21", b"%p = fmul float %20, %20\n  %22 = fsub float %p, %21")
assert fused != IR
with tempfile.TemporaryDirectory() as folder:
    kernels = [triton.compile("vector_add", ir, "gfx90a", pathlib.Path(folder)) for ir in (IR, fused)]
a = array.array("f", [1 + i / 8192 for i in range(COUNT)])
b = array.array("f", [x * x for x in a])
x, y, out = on_device(a), on_device(b), on_device(array.array("f", [0] * COUNT))


def results():
    both = []
    for kernel in kernels:
        kernel.launch(4, 256, x, y, out, ctypes.c_int(COUNT), ctypes.c_void_p(), ctypes.c_void_p())
        back = ctypes.create_string_buffer(4 * COUNT)
        triton.Kernel.call("hipMemcpy", back, out, ctypes.c_size_t(4 * COUNT), 2)
        both.append(array.array("f", back.raw))
    return both


first = results()
print("instrumented when the first two had run:", len(list(MADE.glob("*/vector_add.hsaco"))), file=sys.stderr)
assert all(r == s for r, s in zip(first[0], array.array("f", [p + q for p, q in zip(a, b)])))
assert any(first[1])  # 0 if the product were rounded
for _ in range(1000):
    if len(list(MADE.glob("*/vector_add.hsaco"))) == 2:
        break
    time.sleep(0.05)
print("right" if results() == first and results() == first else "wrong")
