#include "exec/jit.h"

#include "base/trace.h"
#include "exec/program.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace fade::sim {
namespace {

constexpr size_t most_code = size_t{64} << 20; // bytes, of all programs
std::atomic<size_t> code_size{0};

// The process that has compiled first. A child that it forks has LLVM's locks as other threads left
// them: it interprets.
std::atomic<pid_t> process{0};

bool is_in_its_process() {
  pid_t nobody = 0;
  const pid_t self = getpid();
  return process.compare_exchange_strong(nobody, self) || nobody == self;
}

// LLVM ends the process when it gets no memory: where that is limited, nothing is compiled.
bool has_memory() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

// Beside this library; libraries for one kind of processor are two folders further down.
std::string folder_of_this() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void *>(&jit_use), &info) || !info.dli_fname) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

JitCompile *load() {
  const std::string folder = folder_of_this();
  void *library = nullptr;
  for (const std::string &place : {folder, folder + "../../", folder + "../lib/"})
    if (!library) library = dlopen((place + jit_library_name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  return reinterpret_cast<JitCompile *>(dlsym(library, jit_compile_name));
}

JitCompile *compiler() {
  if (!is_in_its_process() || !has_memory()) return nullptr;
  static JitCompile *const loaded = load();
  return loaded;
}

// Errors do not pass through compiled code.
bool call_handler(JitFrame &frame, Wave &w, const Instruction &in) {
  *frame.current = &in;
  w.expand_exec();
  try {
    in.run(w, in);
    return false;
  } catch (...) {
    frame.error = std::current_exception();
    return true;
  }
}

} // namespace

JitUse jit_use() {
  static const JitUse use = [] {
    const char *wish = std::getenv("FADE_GPU_JIT");
    if (!wish || !*wish || std::strcmp(wish, "1") == 0) return JitUse::when_hot;
    if (std::strcmp(wish, "always") == 0) return JitUse::always;
    if (std::strcmp(wish, "0") != 0)
      say("FADE_GPU_JIT: '%s' is not 0, 1 or always; nothing is compiled", wish);
    return JitUse::off;
  }();
  return use;
}

std::unique_ptr<JitCode> JitCode::compile(std::span<const Segment *const> region, const Arch &arch,
                                          unsigned lanes) {
  if (region.empty() || code_size > most_code) return nullptr;
  JitCompile *const compile_region = compiler();
  if (!compile_region) return nullptr;
  JitRequest request;
  request.segments = region.data(), request.count = static_cast<uint32_t>(region.size());
  request.lanes = lanes, request.arch = &arch;
  request.call = call_handler, request.constant = constant_bits;
  request.expand_exec = [](Wave &w) { w.expand_exec(); };
  JitResult result;
  compile_region(request, result);
  if (!result.run) return nullptr;
  code_size += result.size;
  return std::unique_ptr<JitCode>(new JitCode(result));
}

JitCode::~JitCode() {
  munmap(result_.memory, result_.size);
  code_size -= result_.size;
}

void JitCode::publish(std::span<const Segment *const> region) {
  entries_.reserve(region.size());
  for (const Segment *segment : region) {
    entries_.push_back({result_.run, static_cast<uint32_t>(entries_.size())});
    segment->code.store(&entries_.back(), std::memory_order_release);
    segment->was_compiled.store(true, std::memory_order_relaxed);
  }
}

} // namespace fade::sim
