# Tests of the pass at the level of IR and assembly, one run per LLVM.
import os
import sys
import lit.formats
import lit.util

config.name = "passes-" + config.llvm_key
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".ll", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.excludes = ["Inputs"]
if "NVPTX" not in config.targets:
    config.excludes += [name for name in os.listdir(os.path.dirname(__file__)) if name.startswith("nvptx-")]

version = int(config.llvm_version)
for n in range(15, version + 1):
    config.available_features.add("llvm-ge-%d" % n)
for other in config.other_plugins.split():
    config.available_features.add("plugin-" + other)

tools = config.llvm_bindir
plugin = "%s/libfadeinstr-%s.so" % (config.plugin_dir, config.llvm_key)
subst = config.substitutions
subst.append(("%plugin_dir", config.plugin_dir))
subst.append(("%plugin", plugin))
# fade(options) file: the usual way to run the pass.
subst.append(("%opt", "%s/opt -load-pass-plugin=%s" % (tools, plugin)))
subst.append(("%bare_opt", tools + "/opt"))
# LLVM checks machine code after each of its passes, which takes seven times as long as compiling: always for one processor of a
# generation, for its relatives only with the long tests.
subst.append(("%verify-relative", "-verify-machineinstrs" if config.long_tests else ""))
# Before %llc, which it starts with.
subst.append(("%llc-nvptx", tools + "/llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80 -mattr=+ptx70"))
subst.append(("%cl-nvptx", "-x cl -cl-std=CL2.0 -target nvptx64-nvidia-cuda -march=sm_80 -nogpulib --cuda-feature=+ptx70"))
subst.append(("%ptx-sites", "%s %s/../tools/ptx_sites.py" % (sys.executable, config.test_source_root)))
subst.append(("%counter-registers", "%s %s/../tools/counter_registers.py" % (sys.executable, config.test_source_root)))
subst.append(("%kernels", config.test_source_root + "/../../../bench/silicon/kernels"))
ptxas = lit.util.which("ptxas", os.environ.get("PATH", "") + os.pathsep + "/usr/local/cuda/bin")
if ptxas:
    config.available_features.add("ptxas")
    subst.append(("%ptxas", ptxas + " -arch=sm_90"))
subst.append(("%llc", tools + "/llc -mtriple=amdgcn-amd-amdhsa"))
subst.append(("%bare_llc", tools + "/llc"))
subst.append(("%llvm_version", config.llvm_version))
subst.append(("%clang", "%s/clang -B%s" % (tools, tools)))
subst.append(("%lld", tools + "/ld.lld"))
subst.append(("%objcopy", tools + "/llvm-objcopy"))
subst.append(("%readelf", tools + "/llvm-readelf"))
subst.append(("%strip", tools + "/llvm-strip"))
subst.append(("%dump-sites", config.dump_sites))
# Bytes of stack of the runtime's functions, by name: compilers do not have them in the same order.
subst.append(("%scratch", "awk '/^__fade_rt_[a-z_]*:/ {name = $1} /^; ScratchSize:/ && name {print name, $3; name = \"\"}' | LC_ALL=C sort"))
subst.append((r"\bFileCheck\b", config.check_bindir + "/FileCheck"))
subst.append((r"\bnot\b", config.check_bindir + "/not"))
