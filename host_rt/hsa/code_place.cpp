#include "hsa/code_place.h"

#include "base/careful_read.h"
#include "codeobj/code_object.h"
#include "codeobj/demangle.h"
#include "codeobj/source_map.h"
#include "fade/clone.h"
#include "hsa/hsa_api.h"

#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>

namespace fade {
namespace {

using PlaceLoader = hsa_ven_amd_loader_1_01_pfn_t;

/// A code object in the GPU's memory, and the file that it was made from.
struct Loaded {
  uint64_t pc = 0;
  int64_t delta = 0;
  std::vector<uint8_t> file;
};

hsa_status_t look(const PlaceLoader &loader, hsa_loaded_code_object_t object, Loaded &to) {
  const auto get = loader.hsa_ven_amd_loader_loaded_code_object_get_info;
  uint64_t base = 0, size = 0, storage = 0, storage_size = 0;
  uint32_t kind = 0;
  if (!ok(get(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE, &base)) ||
      !ok(get(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE, &size)) ||
      to.pc - base >= size)
    return HSA_STATUS_SUCCESS;
  using Info = hsa_ven_amd_loader_loaded_code_object_info_t;
  const auto ask = [&](Info what, auto &value) { return ok(get(object, what, &value)); };
  constexpr uint64_t most = uint64_t{1} << 30;
  if (!ask(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA, to.delta) ||
      !ask(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE, kind) ||
      kind != HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY ||
      !ask(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE, storage) ||
      !ask(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE,
           storage_size) ||
      storage_size > most)
    return HSA_STATUS_INFO_BREAK;
  to.file.resize(storage_size);
  if (!readCarefully(to.file.data(), storage, storage_size)) to.file.clear();
  return HSA_STATUS_INFO_BREAK;
}

/// Empty file: it is not known.
Loaded findCode(uint64_t pc) {
  Loaded loaded;
  loaded.pc = pc;
  PlaceLoader loader{};
  hsa_executable_t executable{};
  if (!ok(hsaApi().core.hsa_system_get_major_extension_table_fn(HSA_EXTENSION_AMD_LOADER, 1,
                                                                sizeof loader, &loader)) ||
      !loader.hsa_ven_amd_loader_query_executable ||
      !loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects ||
      !ok(loader.hsa_ven_amd_loader_query_executable(reinterpret_cast<const void *>(pc),
                                                     &executable)))
    return loaded;
  struct Search {
    const PlaceLoader &loader;
    Loaded &loaded;
  } search{loader, loaded};
  (void)loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(
      executable,
      [](hsa_executable_t, hsa_loaded_code_object_t object, void *data) {
        try {
          const auto &in = *static_cast<Search *>(data);
          return look(in.loader, object, in.loaded);
        } catch (...) {
          return HSA_STATUS_INFO_BREAK;
        }
      },
      &search);
  return loaded;
}

} // namespace

DeathPlace placeOfCode(uint64_t pc) {
  DeathPlace place;
  place.pc = pc;
  Loaded loaded = findCode(pc);
  if (loaded.file.empty()) return place;
  const uint64_t address = pc - static_cast<uint64_t>(loaded.delta);
  const auto object =
      codeobj::CodeObject::open(codeobj::Blob::own(std::move(loaded.file), "code of the kernel"));
  if (!object) return place;
  if (const codeobj::Symbol *function = (*object)->functionAt(address)) {
    std::string_view name = function->name;
    if (name.starts_with(FADE_CLONE_PREFIX)) name.remove_prefix(sizeof FADE_CLONE_PREFIX - 1);
    place.function = codeobj::demangle(name);
    place.offset = address - function->value;
  }
  if (const auto map = codeobj::SourceMap::open(*object)) {
    const auto frames = (*map)->stack(address);
    if (frames.empty()) return place;
    place.file = frames.front().file;
    place.line = frames.front().line;
    place.column = frames.front().column;
    const codeobj::SourceFrame &outer = frames.back();
    if (frames.size() > 1 && !outer.file.empty())
      place.called_from = fmt::format("{}:{}:{}", outer.file.substr(outer.file.rfind('/') + 1),
                                      outer.line, outer.column);
  }
  return place;
}

std::optional<DeathPlace> lastPlace() {
  static const auto last_stop =
      reinterpret_cast<uint64_t (*)()>(dlsym(RTLD_DEFAULT, "fadegpu_last_pc"));
  const uint64_t pc = last_stop ? last_stop() : 0;
  if (pc == 0) return std::nullopt;
  return placeOfCode(pc);
}

} // namespace fade
