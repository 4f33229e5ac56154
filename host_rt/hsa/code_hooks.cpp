#include "hsa/code_hooks.h"

#include "base/diagnostics.h"
#include "dispatch/demangle.h"
#include "hsa/runtime.h"

#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>

namespace fade {
namespace {

/// Code objects between the creation of a reader and the freezing of an executable.
class PendingCode {
public:
  void addReader(uint64_t reader, codeobj::Blob blob) {
    const std::lock_guard lock(mutex_);
    readers_[reader] = std::move(blob);
  }
  void dropReader(uint64_t reader) {
    const std::lock_guard lock(mutex_);
    readers_.erase(reader);
  }
  /// Notes that an agent gets what a reader reads. The bytes are kept only if they matter.
  void load(uint64_t executable, hsa_agent_t agent, uint64_t reader) {
    const std::lock_guard lock(mutex_);
    Loaded &loaded = executables_[executable].emplace_back();
    loaded.agent = agent;
    const auto at = readers_.find(reader);
    Runtime *runtime = Runtime::active();
    if (at == readers_.end() || !runtime || !runtime->keepsCode()) return;
    const codeobj::Blob &blob = at->second;
    if (!runtime->settings().cache.empty() || LoadedCode::mayBeInstrumented(blob.bytes()))
      loaded.code = std::make_shared<LoadedCode>(codeobj::Blob::copy(blob.bytes(), blob.name()));
  }
  struct Loaded {
    hsa_agent_t agent{};
    std::shared_ptr<const LoadedCode> code;
  };
  std::vector<Loaded> take(uint64_t executable) {
    const std::lock_guard lock(mutex_);
    auto node = executables_.extract(executable);
    return node.empty() ? std::vector<Loaded>() : std::move(node.mapped());
  }
  std::string nextName() {
    const std::lock_guard lock(mutex_);
    return fmt::format("code object {}", ++named_);
  }

private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, codeobj::Blob> readers_;
  std::unordered_map<uint64_t, std::vector<Loaded>> executables_;
  uint64_t named_ = 0;
};

PendingCode &pending() {
  static auto *code = new PendingCode; // outlives every exit handler
  return *code;
}

/// Runs what FADE does besides the runtime's own work; whatever goes wrong there stays there.
template <typename F> void aside(const char *what, F &&f) noexcept {
  try {
    f();
  } catch (const std::exception &e) {
    warn("{}: {}", what, e.what());
  } catch (...) {
    warn("{}: an exception of unknown type", what);
  }
}

std::string symbolName(hsa_executable_symbol_t symbol) {
  const auto get = hsaApi().core.hsa_executable_symbol_get_info_fn;
  uint32_t length = 0;
  if (!ok(get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length))) return "";
  std::string name(length, '\0');
  if (!ok(get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data()))) return "";
  if (name.ends_with(".kd")) name.resize(name.size() - 3);
  return name;
}

/// The code object that a kernel came from, when several were loaded.
std::shared_ptr<const LoadedCode> codeOf(const std::string &symbol, hsa_agent_t agent,
                                         const std::vector<PendingCode::Loaded> &loaded) {
  std::vector<std::shared_ptr<const LoadedCode>> candidates;
  for (const auto &item : loaded)
    if (item.agent.handle == agent.handle) candidates.push_back(item.code);
  if (candidates.size() == 1) return candidates.front();
  for (const auto &code : candidates)
    if (code && code->object() && code->object()->find_kernel(symbol)) return code;
  return nullptr;
}

struct Registration {
  Runtime &runtime;
  hsa_executable_t executable;
  hsa_agent_t agent;
  const std::vector<PendingCode::Loaded> &loaded;
};

void registerKernel(const Registration &in, hsa_executable_symbol_t symbol) {
  const auto get = hsaApi().core.hsa_executable_symbol_get_info_fn;
  hsa_symbol_kind_t kind{};
  if (!ok(get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind)) || kind != HSA_SYMBOL_KIND_KERNEL)
    return;
  auto kernel = std::make_shared<KernelEntry>();
  kernel->symbol = symbolName(symbol);
  kernel->name = demangle(kernel->symbol);
  kernel->agent = in.agent.handle;
  kernel->executable = in.executable.handle;
  readKernelSymbol(symbol, *kernel);
  kernel->code = codeOf(kernel->symbol, in.agent, in.loaded);
  kernel->is_chosen = in.runtime.selection().wantsKernel(kernel->name);
  const Agent *agent = in.runtime.agents().find(in.agent);
  kernel->info =
      in.runtime.registry().info(kernel->name, kernel->symbol, agent ? agent->target : "", nullptr);
  note("kernel {} at {:#x}{}", kernel->name, kernel->object,
       kernel->is_chosen ? "" : ", not chosen");
  in.runtime.registry().add(std::move(kernel));
}

void registerExecutable(hsa_executable_t executable) {
  const auto loaded = pending().take(executable.handle);
  Runtime *runtime = Runtime::active();
  if (!runtime) return;
  std::vector<uint64_t> done;
  for (const auto &item : loaded) {
    if (std::ranges::find(done, item.agent.handle) != done.end()) continue;
    done.push_back(item.agent.handle);
    Registration registration{*runtime, executable, item.agent, loaded};
    hsaApi().core.hsa_executable_iterate_agent_symbols_fn(
        executable, item.agent,
        [](hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void *data) {
          aside("a kernel cannot be registered",
                [&] { registerKernel(*static_cast<const Registration *>(data), symbol); });
          return HSA_STATUS_SUCCESS;
        },
        &registration);
  }
}

// The functions that stand in the runtime's tables.

hsa_status_t readerFromMemory(const void *bytes, size_t size, hsa_code_object_reader_t *reader) {
  const hsa_status_t status =
      hsaApi().core.hsa_code_object_reader_create_from_memory_fn(bytes, size, reader);
  if (ok(status) && Runtime::active())
    aside("a code object was not seen", [&] {
      const codeobj::ByteView view(static_cast<const uint8_t *>(bytes), size);
      pending().addReader(reader->handle, codeobj::Blob::borrow(view, pending().nextName()));
    });
  return status;
}

/// The bytes [offset, offset + size) of a file, size 0: all from offset on.
void addFileReader(hsa_file_t file, size_t offset, size_t size, uint64_t reader) {
  struct stat status {};
  if (fstat(file, &status) != 0 || static_cast<size_t>(status.st_size) < offset) return;
  const size_t length =
      std::min(size ? size : SIZE_MAX, static_cast<size_t>(status.st_size) - offset);
  std::vector<uint8_t> bytes(length);
  size_t done = 0;
  while (done < length) {
    const ssize_t n =
        pread(file, bytes.data() + done, length - done, static_cast<off_t>(offset + done));
    if (n <= 0) return;
    done += static_cast<size_t>(n);
  }
  pending().addReader(reader, codeobj::Blob::own(std::move(bytes), pending().nextName()));
}

hsa_status_t readerFromFile(hsa_file_t file, hsa_code_object_reader_t *reader) {
  const hsa_status_t status =
      hsaApi().core.hsa_code_object_reader_create_from_file_fn(file, reader);
  if (Runtime *runtime = Runtime::active(); ok(status) && runtime && runtime->keepsCode())
    aside("a code object was not seen", [&] { addFileReader(file, 0, 0, reader->handle); });
  return status;
}

hsa_status_t readerDestroy(hsa_code_object_reader_t reader) {
  aside("a code object was not forgotten", [&] { pending().dropReader(reader.handle); });
  return hsaApi().core.hsa_code_object_reader_destroy_fn(reader);
}

hsa_status_t loadAgentCode(hsa_executable_t executable, hsa_agent_t agent,
                           hsa_code_object_reader_t reader, const char *options,
                           hsa_loaded_code_object_t *loaded) {
  const hsa_status_t status = hsaApi().core.hsa_executable_load_agent_code_object_fn(
      executable, agent, reader, options, loaded);
  if (ok(status) && Runtime::active())
    aside("a code object was not seen",
          [&] { pending().load(executable.handle, agent, reader.handle); });
  return status;
}

hsa_status_t freeze(hsa_executable_t executable, const char *options) {
  const hsa_status_t status = hsaApi().core.hsa_executable_freeze_fn(executable, options);
  if (ok(status))
    aside("the kernels of an executable are not known", [&] { registerExecutable(executable); });
  return status;
}

hsa_status_t destroyExecutable(hsa_executable_t executable) {
  aside("an executable was not forgotten", [&] {
    (void)pending().take(executable.handle);
    if (Runtime *runtime = Runtime::active()) runtime->registry().remove(executable.handle);
  });
  return hsaApi().core.hsa_executable_destroy_fn(executable);
}

} // namespace

void hookCode(CoreApiTable &core) {
  core.hsa_code_object_reader_create_from_memory_fn = readerFromMemory;
  core.hsa_code_object_reader_create_from_file_fn = readerFromFile;
  core.hsa_code_object_reader_destroy_fn = readerDestroy;
  core.hsa_executable_load_agent_code_object_fn = loadAgentCode;
  core.hsa_executable_freeze_fn = freeze;
  core.hsa_executable_destroy_fn = destroyExecutable;
}

} // namespace fade
