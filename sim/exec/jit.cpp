#include "exec/jit.h"

#include "base/trace.h"
#include "exec/program.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

extern "C" {
extern void *__dso_handle;
int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library);
}

namespace fade::sim {
namespace {

constexpr size_t most_code = size_t{64} << 20; // bytes, of all programs
std::atomic<size_t> code_size{0};

// LLVM must not compile while the process runs its destructors. So whoever compiles is counted, and
// the end of the process waits for them, for a while. It has to wait before any destructor: LLVM
// has objects that are made when they are first needed, and destroyed before what was registered
// earlier. What a thread destroys comes first of all, so the main thread has something to destroy.
// For processes that another thread ends, the wait is registered again behind all that has been
// compiled.
std::atomic<int> compiling{0};
std::atomic<bool> is_over{false};
// The process that has compiled first. A child that it forks has LLVM's locks as other threads left
// them: it interprets.
std::atomic<pid_t> process{0};

bool is_in_its_process() {
  pid_t nobody = 0;
  const pid_t self = getpid();
  return process.compare_exchange_strong(nobody, self) || nobody == self;
}

void end_compiling() {
  if (getpid() != process) return;
  is_over = true;
  using namespace std::chrono_literals;
  for (int i = 0; compiling && i < 5000; i++) std::this_thread::sleep_for(1ms);
}

void wait_at_exit() {
  constexpr int enough = 256; // by then LLVM has made all that it makes once
  static std::atomic<int> times{0};
  if (times.fetch_add(1, std::memory_order_relaxed) < enough) std::atexit(end_compiling);
}

class Compiling {
public:
  Compiling() { compiling++; }
  ~Compiling() { compiling--; }
  Compiling(const Compiling &) = delete;
  Compiling &operator=(const Compiling &) = delete;
  bool may() const { return !is_over; }
};

// Beside this library; libraries for one kind of processor are two folders further down.
std::string folder_of_this() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void *>(&end_compiling), &info) || !info.dli_fname) return "";
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
  if (!is_in_its_process()) return nullptr;
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

void jit_expect_end_of_process() {
  static thread_local bool done = false;
  if (done || gettid() != getpid()) return;
  done = true;
  __cxa_thread_atexit_impl([](void *) { end_compiling(); }, nullptr, &__dso_handle);
}

JitUse jit_use() {
  static const JitUse use = [] {
    const char *wish = std::getenv("FADE_GPU_JIT");
    if (!wish || !*wish || !std::strcmp(wish, "1")) return JitUse::when_hot;
    if (!std::strcmp(wish, "always")) return JitUse::always;
    if (std::strcmp(wish, "0"))
      say("FADE_GPU_JIT: '%s' is not 0, 1 or always; nothing is compiled", wish);
    return JitUse::off;
  }();
  return use;
}

std::unique_ptr<JitCode> JitCode::compile(std::span<const Segment *const> region, const Arch &arch,
                                          unsigned lanes) {
  if (region.empty() || code_size > most_code || is_over) return nullptr;
  const Compiling now;
  if (!now.may()) return nullptr;
  JitCompile *const compile_region = compiler();
  if (!compile_region) return nullptr;
  JitRequest request;
  request.segments = region.data(), request.count = static_cast<uint32_t>(region.size());
  request.lanes = lanes, request.arch = &arch;
  request.call = call_handler, request.constant = constant_bits;
  request.expand_exec = [](Wave &w) { w.expand_exec(); };
  JitResult result;
  compile_region(request, result);
  wait_at_exit();
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
