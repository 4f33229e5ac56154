#include "hsa/code_hooks.h"

#include "base/diagnostics.h"
#include "base/hip_helpers.h"
#include "codeobj/demangle.h"
#include "codeobj/module_id.h"
#include "hip/install.h"
#include "hip/recorder.h"
#include "hsa/capture_session.h"
#include "hsa/pending_code.h"
#include "hsa/runtime.h"
#include "hsa/variables.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace fade {
namespace {

/// What is kept of code that is loaded: its bytes only if they matter. Takes a while, so no lock is
/// held.
void describe(PendingCode::Loaded &loaded, const PendingCode::Seen &seen, Runtime &runtime) {
  loaded.path = seen.path;
  loaded.module = seen.module;
  const codeobj::Blob &blob = seen.blob;
  if (blob.empty()) return;
  if (hip::hasRecorder()) loaded.facts = kernelFactsOf(blob);
  if (runtime.allocationPolicy().isActive() &&
      codeobj::asText(blob.bytes()).find("hidden_hostcall_buffer") != std::string_view::npos)
    runtime.allocationPolicy().noteHostcalls();
  if (!runtime.keepsCode()) return;
  if (!runtime.settings().cache.empty() || runtime.captures() ||
      runtime.instrumentation().observing() != Observe::pass ||
      LoadedCode::mayBeInstrumented(blob.bytes()))
    loaded.code = std::make_shared<LoadedCode>(codeobj::Blob::copy(blob.bytes(), blob.name()));
}

/// Runs what FADE does besides the runtime's own work; whatever goes wrong there stays there.
template <typename F> void aside(const char *what, F &&f) noexcept {
  if (Runtime::isInChild()) return;
  try {
    f();
  } catch (const std::exception &e) {
    warn("{}: {}", what, e.what());
  } catch (...) {
    warn("{}: an exception of unknown type", what);
  }
}

/// An agent gets what a reader reads; without memory for what that is, at least that is known.
void noteLoad(hsa_executable_t executable, hsa_agent_t agent, uint64_t reader) noexcept {
  aside("a code object was not seen", [&] {
    PendingCode::Loaded loaded;
    loaded.agent = agent;
    const auto seen = pending().find(reader);
    const Visit visit;
    if (seen && visit.runtime())
      aside("a code object was not read", [&] { describe(loaded, *seen, *visit.runtime()); });
    pending().load(executable.handle, std::move(loaded));
  });
}

std::string kernelName(hsa_executable_symbol_t symbol) {
  std::string name = symbolName(symbol);
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
    if (code && code->object() && code->object()->findKernel(symbol)) return code;
  return nullptr;
}

/// The module of a kernel that came from `code`, or from the only one that was loaded.
std::string moduleOf(const LoadedCode *code, hsa_agent_t agent,
                     const std::vector<PendingCode::Loaded> &loaded) {
  const PendingCode::Loaded *only = nullptr;
  for (const auto &item : loaded) {
    if (item.agent.handle != agent.handle) continue;
    if (code && item.code.get() == code) return item.module;
    if (only) return "";
    only = &item;
  }
  return only ? only->module : "";
}

/// Whether one of the files that the agent's code came from is meant.
bool isOfWantedLibrary(const Selection &selection, hsa_agent_t agent,
                       const std::vector<PendingCode::Loaded> &loaded) {
  return !selection.hasLibraryFilter() ||
         std::ranges::any_of(loaded, [&](const PendingCode::Loaded &item) {
           return item.agent.handle == agent.handle && selection.wantsLibrary(item.path);
         });
}

/// What registering kernels needs.
struct KernelServices {
  const Agents &agents;
  KernelRegistry &registry;
  const Selection &selection;
};

struct Registration {
  KernelServices services;
  hsa_executable_t executable;
  hsa_agent_t agent;
  const std::vector<PendingCode::Loaded> &loaded;
  std::vector<std::shared_ptr<KernelEntry>> kernels; ///< what came of it
};

void registerKernel(Registration &in, hsa_executable_symbol_t symbol) {
  const auto get = hsaApi().core.hsa_executable_symbol_get_info_fn;
  hsa_symbol_kind_t kind{};
  if (!ok(get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind)) || kind != HSA_SYMBOL_KIND_KERNEL)
    return;
  const std::string name = kernelName(symbol);
  const Agent *agent = in.services.agents.find(in.agent);
  auto code = codeOf(name, in.agent, in.loaded);
  auto kernel = std::make_shared<KernelEntry>(
      in.services.registry.info({0, codeobj::demangle(name), name, agent ? agent->target : "",
                                 moduleOf(code.get(), in.agent, in.loaded)}));
  kernel->device = readKernelSymbol(symbol);
  kernel->agent = in.agent.handle;
  kernel->executable = in.executable.handle;
  kernel->code = std::move(code);
  // Tensile's descriptors do not say how large the arguments are; its notes do.
  if (kernel->device.kernarg_size == 0 && kernel->code)
    if (const auto layout = kernel->code->layout(name)) kernel->device.kernarg_size = layout->size;
  for (const PendingCode::Loaded &loaded : in.loaded)
    if (const auto at = loaded.facts.find(name);
        loaded.agent.handle == in.agent.handle && at != loaded.facts.end())
      kernel->facts = at->second;
  const Selection &selection = in.services.selection;
  kernel->is_chosen = selection.wantsKernel(kernel->info->name()) &&
                      isOfWantedLibrary(selection, in.agent, in.loaded);
  note("kernel {} at {:#x}{}", kernel->info->name(), kernel->device.object,
       kernel->is_chosen ? "" : ", not chosen");
  in.kernels.push_back(kernel);
  in.services.registry.add(std::move(kernel));
}

void registerExecutable(hsa_executable_t executable) {
  const auto loaded = pending().take(executable.handle);
  const Visit visit;
  Runtime *runtime = visit.runtime();
  if (!runtime) return;
  std::vector<uint64_t> done;
  for (const auto &item : loaded) {
    if (std::ranges::find(done, item.agent.handle) != done.end()) continue;
    done.push_back(item.agent.handle);
    Registration registration{{runtime->agents(), runtime->registry(), runtime->selection()},
                              executable,
                              item.agent,
                              loaded,
                              {}};
    hsaApi().core.hsa_executable_iterate_agent_symbols_fn(
        executable, item.agent,
        [](hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void *data) {
          aside("a kernel cannot be registered",
                [&] { registerKernel(*static_cast<Registration *>(data), symbol); });
          return HSA_STATUS_SUCCESS;
        },
        &registration);
    // Now, when twins are known as well, and not when the first packet comes: that may take long.
    for (const auto &kernel : registration.kernels) {
      if (!isHipHelper(kernel->info->symbol())) runtime->noteLoaded();
      if (kernel->is_chosen && runtime->instrumentation().isNeeded())
        aside("a kernel will not be replaced", [&] { runtime->instrumentation().plan(*kernel); });
    }
    if (const Agent *agent = runtime->agents().find(item.agent);
        agent && runtime->wantsAllocations())
      noteVariables(runtime->allocations(), executable, *agent);
  }
}

// The functions that stand in the runtime's tables.

bool wantsPaths() {
  const Visit visit;
  return visit.runtime() && visit.runtime()->selection().hasLibraryFilter();
}

/// The file that is mapped there: a library, or what the runtime has mapped itself.
std::string fileAt(const void *bytes) {
  if (!wantsPaths()) return "";
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    const auto address = reinterpret_cast<unsigned long>(bytes);
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2 || address < begin ||
        address >= end)
      continue;
    const size_t slash = line.find('/');
    return slash == std::string::npos ? "" : line.substr(slash);
  }
  return "";
}

std::string fileBehind(hsa_file_t file) {
  if (!wantsPaths()) return "";
  std::error_code error;
  return std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", file), error).string();
}

void seeMemory(const void *bytes, size_t size, uint64_t reader) noexcept {
  if (!Runtime::active()) return;
  aside("a code object was not seen", [&] {
    const codeobj::ByteView view(static_cast<const uint8_t *>(bytes), size);
    pending().addReader(reader, {codeobj::Blob::borrow(view, pending().nextName()), fileAt(bytes),
                                 codeobj::moduleIdOf(view)});
  });
}

hsa_status_t readerFromMemory(const void *bytes, size_t size, hsa_code_object_reader_t *reader) {
  const hsa_status_t status =
      hsaApi().core.hsa_code_object_reader_create_from_memory_fn(bytes, size, reader);
  if (ok(status)) seeMemory(bytes, size, reader->handle);
  return status;
}

/// The bytes [offset, offset + size) of a file, size 0: all from offset on.
void addFileReader(hsa_file_t file, size_t offset, size_t size, uint64_t reader, bool keeps_bytes) {
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
  std::string module = codeobj::moduleIdOf(bytes);
  codeobj::Blob blob;
  if (keeps_bytes) blob = codeobj::Blob::own(std::move(bytes), pending().nextName());
  pending().addReader(reader, {std::move(blob), fileBehind(file), std::move(module)});
}

void seeFile(hsa_file_t file, size_t offset, size_t size, uint64_t reader) noexcept {
  const Visit visit;
  if (!visit.runtime()) return;
  const bool keeps_bytes = visit.runtime()->keepsCode() || hip::hasRecorder() ||
                           visit.runtime()->allocationPolicy().isActive();
  aside("a code object was not seen",
        [&] { addFileReader(file, offset, size, reader, keeps_bytes); });
}

hsa_status_t readerFromFile(hsa_file_t file, hsa_code_object_reader_t *reader) {
  const hsa_status_t status =
      hsaApi().core.hsa_code_object_reader_create_from_file_fn(file, reader);
  if (ok(status)) seeFile(file, 0, 0, reader->handle);
  return status;
}

hsa_status_t readerDestroy(hsa_code_object_reader_t reader) {
  aside("a code object was not forgotten", [&] { pending().dropReader(reader.handle); });
  return hsaApi().core.hsa_code_object_reader_destroy_fn(reader);
}

// The loader extension has a table of its own, which applications ask for: hsa_ven_amd_loader.h.
using LoaderTable = hsa_ven_amd_loader_1_02_pfn_t;
using ReaderFromPart =
    decltype(LoaderTable::hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size);
std::atomic<ReaderFromPart> reader_from_part{nullptr};

hsa_status_t readerFromPart(hsa_file_t file, size_t offset, size_t size,
                            hsa_code_object_reader_t *reader) {
  const hsa_status_t status = reader_from_part.load()(file, offset, size, reader);
  if (ok(status)) seeFile(file, offset, size, reader->handle);
  return status;
}

void hookLoaderTable(uint16_t extension, size_t length, void *table) noexcept {
  constexpr size_t end =
      offsetof(LoaderTable,
               hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size) +
      sizeof(ReaderFromPart);
  if (extension != HSA_EXTENSION_AMD_LOADER || !table || length < end) return;
  auto &entry = static_cast<LoaderTable *>(table)
                    ->hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size;
  if (!entry || entry == readerFromPart) return;
  reader_from_part = entry;
  entry = readerFromPart;
}

hsa_status_t extensionTable(uint16_t extension, uint16_t major, uint16_t minor, void *table) {
  const hsa_status_t status =
      hsaApi().core.hsa_system_get_extension_table_fn(extension, major, minor, table);
  if (ok(status) && major == 1) {
    // The caller's table is as long as the version it asked for.
    const size_t length = minor >= 2 ? sizeof(LoaderTable) : 0;
    hookLoaderTable(extension, length, table);
  }
  return status;
}

hsa_status_t majorExtensionTable(uint16_t extension, uint16_t major, size_t length, void *table) {
  const hsa_status_t status =
      hsaApi().core.hsa_system_get_major_extension_table_fn(extension, major, length, table);
  if (ok(status) && major == 1) hookLoaderTable(extension, length, table);
  return status;
}

// The way of HSA 1.0, deprecated and still there.

hsa_status_t deserialize(void *bytes, size_t size, const char *options, hsa_code_object_t *code) {
  const hsa_status_t status =
      hsaApi().core.hsa_code_object_deserialize_fn(bytes, size, options, code);
  if (ok(status)) seeMemory(bytes, size, code->handle);
  return status;
}

hsa_status_t destroyCode(hsa_code_object_t code) {
  aside("a code object was not forgotten", [&] { pending().dropReader(code.handle); });
  return hsaApi().core.hsa_code_object_destroy_fn(code);
}

hsa_status_t loadCode(hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_t code,
                      const char *options) {
  const hsa_status_t status =
      hsaApi().core.hsa_executable_load_code_object_fn(executable, agent, code, options);
  if (ok(status) && Runtime::active()) noteLoad(executable, agent, code.handle);
  return status;
}

/// A code object that has no twins, with some that are made from its machine code. It is never
/// given back: the runtime may look at the bytes as long as the code is loaded.
const codeobj::Blob *withTwins(const codeobj::Blob &code, const std::string &library) {
  const Visit visit;
  Runtime *runtime = visit.runtime();
  RewrittenCode *rewritten = runtime ? runtime->instrumentation().rewrittenCode() : nullptr;
  if (!rewritten || LoadedCode::mayBeInstrumented(code.bytes()) ||
      !runtime->selection().wantsLibrary(library) ||
      codeobj::asText(code.bytes()).find(kHipHelperPrefix) != std::string_view::npos)
    return nullptr;
  (void)runtime->agents(); // the analyzers are known then
  const uint32_t modes = runtime->instrumentation().rewriteFor();
  if (modes == 0) return nullptr;
  auto other = rewritten->of(code.bytes(), code.name(), modes);
  if (!other) {
    static std::atomic<bool> was_said{false};
    const char *option = runtime->settings().observe == Observe::rewrite ? "rewrite" : "auto";
    if (!was_said.exchange(true))
      warn("--observe {}: {}: kernels run as they are", option, other.error().message());
    else
      note("--observe {}: {}", option, other.error().message());
    return nullptr;
  }
  return other->empty() ? nullptr : new codeobj::Blob(*std::move(other));
}

/// Loads other code instead of what `reader` reads, if there is any. False: nothing was loaded.
bool loadWithTwins(hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t reader,
                   const char *options, hsa_loaded_code_object_t *loaded) {
  const auto original = pending().find(reader.handle);
  const codeobj::Blob *other = original ? withTwins(original->blob, original->path) : nullptr;
  if (!other) return false;
  const CoreApiTable &core = hsaApi().core;
  hsa_code_object_reader_t own{};
  if (!ok(core.hsa_code_object_reader_create_from_memory_fn(other->bytes().data(),
                                                            other->bytes().size(), &own)))
    return false;
  const hsa_status_t status =
      core.hsa_executable_load_agent_code_object_fn(executable, agent, own, options, loaded);
  if (ok(status)) {
    pending().addReader(own.handle, {*other, original->path, original->module});
    noteLoad(executable, agent, own.handle);
    pending().dropReader(own.handle);
  } else {
    warn("--observe rewrite: the runtime does not load {}", other->name());
  }
  (void)core.hsa_code_object_reader_destroy_fn(own);
  return ok(status);
}

hsa_status_t loadAgentCode(hsa_executable_t executable, hsa_agent_t agent,
                           hsa_code_object_reader_t reader, const char *options,
                           hsa_loaded_code_object_t *loaded) {
  bool is_loaded = false;
  if (Runtime::active())
    aside("a code object was not rewritten",
          [&] { is_loaded = loadWithTwins(executable, agent, reader, options, loaded); });
  if (is_loaded) return HSA_STATUS_SUCCESS;
  const hsa_status_t status = hsaApi().core.hsa_executable_load_agent_code_object_fn(
      executable, agent, reader, options, loaded);
  if (ok(status) && Runtime::active()) noteLoad(executable, agent, reader.handle);
  return status;
}

hsa_status_t freeze(hsa_executable_t executable, const char *options) {
  hip::lookAgain();
  const hsa_status_t status = hsaApi().core.hsa_executable_freeze_fn(executable, options);
  if (ok(status))
    aside("the kernels of an executable are not known", [&] { registerExecutable(executable); });
  return status;
}

hsa_status_t destroyExecutable(hsa_executable_t executable) {
  aside("an executable was not forgotten", [&] {
    (void)pending().take(executable.handle);
    const Visit visit;
    if (!visit.runtime()) return;
    // Its code may be being read for a capture: that is waited for, and not done again.
    if (CaptureSession *captures = visit.runtime()->captures())
      captures->memory().beginUnload(executable.handle);
    visit.runtime()->registry().remove(executable.handle);
    visit.runtime()->allocations().removeVariables(executable.handle);
  });
  const hsa_status_t status = hsaApi().core.hsa_executable_destroy_fn(executable);
  aside("an executable was not forgotten", [&] {
    const Visit visit;
    if (CaptureSession *captures = visit.runtime() ? visit.runtime()->captures() : nullptr)
      captures->memory().endUnload(executable.handle);
  });
  return status;
}

} // namespace

void hookCode(HsaTables &tables) {
  CoreApiTable &core = tables.core();
  core.hsa_code_object_reader_create_from_memory_fn = readerFromMemory;
  core.hsa_code_object_reader_create_from_file_fn = readerFromFile;
  core.hsa_code_object_reader_destroy_fn = readerDestroy;
  core.hsa_executable_load_agent_code_object_fn = loadAgentCode;
  core.hsa_executable_freeze_fn = freeze;
  core.hsa_executable_destroy_fn = destroyExecutable;
  core.hsa_system_get_extension_table_fn = extensionTable;
  core.hsa_system_get_major_extension_table_fn = majorExtensionTable;
  core.hsa_code_object_deserialize_fn = deserialize;
  core.hsa_code_object_destroy_fn = destroyCode;
  core.hsa_executable_load_code_object_fn = loadCode;
}

} // namespace fade
