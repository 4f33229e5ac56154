"""Stands in for Triton where there is none: compiles a kernel's IR, which is real IR of Triton, with LLVM's tools, and keeps it as Triton 3.2 and later do
(runtime/cache.py, compiler/compiler.py): a folder for each hash, files put there one by one under a temporary name, the code object last, then the metadata."""
import ctypes
import hashlib
import json
import os
import pathlib
import subprocess
import uuid


def cache_dir():
    home = os.getenv("TRITON_HOME", pathlib.Path.home())
    return pathlib.Path(os.getenv("TRITON_CACHE_DIR", "").strip() or os.path.join(home, ".triton", "cache"))


class Cache:
    def __init__(self, key):
        self.folder = cache_dir() / key
        self.folder.mkdir(parents=True, exist_ok=True)

    def put(self, data, name):
        temporary = self.folder / f"tmp.pid_{os.getpid()}_{uuid.uuid4()}"
        temporary.mkdir()
        (temporary / name).write_bytes(data)
        os.replace(temporary / name, self.folder / name)
        temporary.rmdir()
        return self.folder / name


def llvm(ir, arch, folder):
    object_file, code = folder / "k.o", folder / "k.hsaco"
    subprocess.run(["llc-19", f"-mcpu={arch}", "-O3", "-fp-contract=fast", "-filetype=obj", "-", "-o", object_file], input=ir, check=True)
    subprocess.run(["ld.lld-19", "-shared", object_file, "-o", code], check=True)
    return code.read_bytes()


def compile(name, ir, arch, folder):
    """A kernel of that IR, from the cache if it is there."""
    cache = Cache(hashlib.sha256(ir).hexdigest()[:52].upper())
    if not (cache.folder / f"{name}.json").exists():
        keeps_all = os.environ.get("TRITON_STORE_BINARY_ONLY", "0") != "1"
        code = llvm(ir, arch, folder)
        for stage, data in (("ttir", b""), ("ttgir", b""), ("llir", ir), ("amdgcn", b""), ("hsaco", code)):
            if keeps_all or stage == "hsaco":
                cache.put(data, f"{name}.{stage}")
        cache.put(json.dumps({"name": name, "enable_fp_fusion": True}).encode(), f"{name}.json")
    return Kernel(name, (cache.folder / f"{name}.hsaco").read_bytes())


class Kernel:
    """Loaded and launched as in backends/amd/driver.c."""
    hip = None

    def __init__(self, name, code):
        Kernel.hip = Kernel.hip or ctypes.CDLL("libamdhip64.so.5" if os.path.exists("/usr/lib/x86_64-linux-gnu/libamdhip64.so.5") else "libamdhip64.so")
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("hipModuleLoadDataEx", ctypes.byref(module), code, 0, None, None)
        self.call("hipModuleGetFunction", ctypes.byref(self.function), module, name.encode())

    @classmethod
    def call(cls, name, *arguments):
        error = getattr(cls.hip, name)(*arguments)
        if error != 0:
            raise RuntimeError(f"{name}: {error}")

    def launch(self, grid, lanes, *arguments):
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(a) for a in arguments])
        self.call("hipModuleLaunchKernel", self.function, grid, 1, 1, lanes, 1, 1, 0, None, pointers, None)
        self.call("hipDeviceSynchronize")
