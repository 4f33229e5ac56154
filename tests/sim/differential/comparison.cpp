#include "comparison.h"

#include "../support/test_device.h"
#include "dice.h"

#include <fmt/format.h>

#include <condition_variable>
#include <csignal>
#include <dlfcn.h>
#include <mutex>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fade::sim::differential {
namespace {

constexpr uint32_t max_items = 256, in_bytes = 4096, mem_bytes = 64, counters = 24;

// `struct Arguments` of prelude.h.
struct KernelArguments {
  uint64_t in, mem, out, counters;
  uint32_t uniforms[3];
  uint32_t size_x, size_y, items, last_items, last_group;
};

KernelArguments arguments_of(const Program &p, uint64_t in, uint64_t mem, uint64_t out,
                             uint64_t count) {
  const Launch &l = p.launch;
  return {in,
          mem,
          out,
          count,
          {l.uniforms[0], l.uniforms[1], l.uniforms[2]},
          l.workgroup[0],
          l.workgroup[1],
          l.items(),
          l.last_items,
          l.groups - 1};
}

Memory initial_memory(const Program &p) {
  Dice dice(p.seed ^ 0xda7a);
  Memory m;
  const size_t slots = size_t{p.launch.groups} * max_items;
  auto word = [&]() -> uint32_t {
    const auto w = static_cast<uint32_t>(dice.word());
    switch (dice.below(4)) {
    case 0: return w & 0xff;
    case 1: return 0u - (w & 0xff);
    case 2: return 0x3f000000 + (w & 0x83ffffff); // near 1 as f32, and as half an f64
    default: return w;
    }
  };
  auto fill_words = [&](std::vector<uint8_t> &v, size_t bytes) {
    v.resize(bytes);
    for (size_t i = 0; i < bytes; i += 4) {
      const uint32_t w = word();
      std::memcpy(&v[i], &w, 4);
    }
  };
  fill_words(m.in, in_bytes);
  fill_words(m.mem, slots * mem_bytes);
  m.out.assign(slots * p.results.size(), 0xcccccccccccccccc);
  for (uint32_t i = 0; i < counters; i++)
    m.counters.push_back(i < 16 ? word() : 0); // then f32 and f64
  return m;
}

// Ends a dispatch that runs for too long.
class Watchdog {
public:
  Watchdog(Executor &executor, std::chrono::seconds limit)
      : thread_([this, &executor, limit] {
          std::unique_lock lock(mutex_);
          if (!done_.wait_for(lock, limit, [&] { return over_; })) executor.stop();
        }) {}
  ~Watchdog() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    done_.notify_one();
    thread_.join();
  }

private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool over_ = false;
  std::thread thread_;
};

// The first difference of each kind, and how many there are.
template <class T, class Describe>
void differences(std::string &report, const std::vector<T> &expected, const T *got,
                 Describe describe) {
  size_t count = 0, first = 0;
  for (size_t i = 0; i < expected.size(); i++)
    if (expected[i] != got[i] && count++ == 0) first = i;
  if (!count) return;
  report += fmt::format("  {}: expected {:#x}, got {:#x} ({} of {} differ)\n", describe(first),
                        expected[first], got[first], count, expected.size());
}

void run_on_host(void *library, const Program &p, const Target &target, Memory &m) {
  using Entry =
      void (*)(KernelArguments, uint32_t group, uint32_t items, uint32_t wave, uint32_t reach);
  const auto entry = reinterpret_cast<Entry>(dlsym(library, p.kernel.c_str()));
  if (!entry) throw std::runtime_error("the host's library has no " + p.kernel);
  auto address = [](auto &v) { return reinterpret_cast<uint64_t>(v.data()); };
  const KernelArguments a =
      arguments_of(p, address(m.in), address(m.mem), address(m.out), address(m.counters));
  // From gfx10 on, ds_bpermute stays within each half of 64 lanes.
  const uint32_t reach = target.reach();
  for (uint32_t g = 0; g < p.launch.groups; g++)
    entry(a, g, g + 1 == p.launch.groups ? p.launch.last_items : p.launch.items(), target.wave,
          reach);
}

struct Library {
  explicit Library(const std::string &path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle)
      throw std::runtime_error(std::string("cannot load the host's program: ") + dlerror());
  }
  void *handle;
};

// The memory that a kernel asks for in its descriptor.
struct Needs {
  uint32_t lds, scratch;
};
Needs needs_of(TestDevice &device, uint64_t descriptor) {
  Needs n;
  uint16_t properties;
  device.memory().read(descriptor, &n, sizeof n);
  device.memory().read(descriptor + 56, &properties, sizeof properties);
  if (properties >> 11 & 1) n.scratch += 0x8000; // calls functions that the compiler does not know
  return n;
}

void write_text(const std::string &path, const std::string &text) { std::ofstream(path) << text; }

std::string joined(const std::vector<Program> &programs) {
  std::string text;
  for (const Program &p : programs) text += p.text + "\n";
  return text;
}

} // namespace

Batch::Batch(std::vector<Program> programs)
    : programs_(std::move(programs)), source_(joined(programs_)),
      source_path_(folder_.file("programs.c")) {
  write_text(source_path_, source_);
  host_ = Library(compile_for_host(folder_, source_path_)).handle;
}

Batch::~Batch() {
  if (host_) dlclose(host_);
}

const Memory &Batch::expected(size_t program, const Target &target) {
  const auto [it, fresh] = expected_.try_emplace({program, target.reach(), target.wave},
                                                 initial_memory(programs_[program]));
  if (fresh) run_on_host(host_, programs_[program], target, it->second);
  return it->second;
}

std::vector<Disagreement> Batch::compare(const Target &target) {
  const std::string code_object = compile_for_gpu(folder_, source_path_, target);
  std::vector<Disagreement> found;
  for (size_t i = 0; i < programs_.size(); i++) {
    const std::string what = run(programs_[i], code_object, target, expected(i, target));
    if (!what.empty()) found.push_back({programs_[i].seed, target, what});
  }
  return found;
}

std::string Batch::run(const Program &p, const std::string &code_object, const Target &target,
                       const Memory &expected) {
  TestDevice device(target.arch, 1);
  CodeObject &object = device.load(read_file(code_object));
  const uint64_t descriptor = object.symbol(p.kernel + ".kd");
  if (!descriptor) throw std::runtime_error("the code object has no " + p.kernel);
  const Needs needs = needs_of(device, descriptor);

  const Memory before = initial_memory(p);
  const auto in = device.upload(before.in), mem = device.upload(before.mem);
  const auto out = device.upload(before.out);
  const auto count = device.upload(before.counters);
  const Launch &l = p.launch;
  const std::array<uint32_t, 3> grid{l.groups * l.workgroup[0] - (l.items() - l.last_items),
                                     l.workgroup[1], l.workgroup[2]};
  DispatchResult result;
  {
    Watchdog watchdog(device.executor(), std::chrono::seconds(120));
    result = device.run(object, p.kernel, grid, l.workgroup,
                        Arguments().add(arguments_of(p, in.va, mem.va, out.va, count.va)),
                        needs.lds, needs.scratch);
  }
  if (result.status == DispatchResult::Status::stopped) return "  does not end\n";
  if (result.status != DispatchResult::Status::ok) return "  " + result.message + "\n";

  std::string report;
  const size_t results = p.results.size();
  auto item = [](size_t slot) {
    return fmt::format("group {}, work-item {}", slot / max_items, slot % max_items);
  };
  differences(report, expected.out, out.data, [&](size_t i) {
    return fmt::format("{}: {}", item(i / results), p.results[i % results]);
  });
  differences(report, expected.mem, mem.data, [&](size_t i) {
    return fmt::format("{}: byte {} of its memory", item(i / mem_bytes), i % mem_bytes);
  });
  differences(report, expected.counters, count.data,
              [](size_t i) { return fmt::format("counter {}", i); });
  return report;
}

std::string undefined_behaviour(const std::vector<Program> &programs) {
  const WorkFolder folder;
  const std::string source = folder.file("programs.c");
  write_text(source, joined(programs));
  const std::string path =
      compile_for_host(folder, source,
                       {"-fsanitize=undefined,float-cast-overflow,local-bounds",
                        "-fno-sanitize=function", "-fsanitize-trap=all"});
  for (const Program &p : programs) {
    const pid_t child = fork();
    if (child == 0) {
      Memory m = initial_memory(p);
      run_on_host(Library(path).handle, p, {"gfx90a", 1, 64}, m);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      return fmt::format("seed {} stops with status {:#x}", p.seed, status);
  }
  return "";
}

} // namespace fade::sim::differential
