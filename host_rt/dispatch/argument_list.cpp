#include "dispatch/argument_list.h"

#include "codeobj/demangle.h"
#include "codeobj/source_map.h"
#include "fade/kernel_name.h"

#include <mutex>

namespace fade {

std::vector<std::string> parameterTypes(std::string_view demangled) {
  std::vector<std::string> types;
  const std::size_t from = kernel_name::parametersOf(demangled);
  if (from == demangled.size()) return types;
  const auto to = demangled.rfind(')');
  std::string one;
  int depth = 0;
  for (const char c : demangled.substr(from + 1, to - from - 1)) {
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      types.push_back(std::move(one));
      one.clear();
    } else if (c != ' ' || !one.empty()) {
      one += c;
    }
  }
  if (!one.empty() && one != "void") types.push_back(std::move(one));
  return types;
}

namespace {

/// Names in the line table. That of the last code object is kept, which may have thousands of
/// kernels. One thread reads it at a time.
std::vector<std::string> parameterNames(const std::shared_ptr<const codeobj::CodeObject> &object,
                                        uint64_t address) {
  struct Last {
    std::mutex mutex;
    std::shared_ptr<const codeobj::CodeObject> object;
    std::shared_ptr<const codeobj::SourceMap> map;
  };
  static Last &last = *new Last; // also read while the process ends
  const std::lock_guard lock(last.mutex);
  if (last.object != object) {
    const auto map = codeobj::SourceMap::open(object);
    last.object = object;
    last.map = map ? *map : nullptr;
  }
  return last.map ? last.map->parameters(address) : std::vector<std::string>();
}

} // namespace

std::shared_ptr<const KernelArguments> argumentsOf(const LoadedCode &code,
                                                   const std::string &symbol) {
  auto list = std::make_shared<KernelArguments>();
  const auto object = code.sharedObject();
  const auto index = object ? object->findKernel(symbol) : std::nullopt;
  if (!index) return list;
  const auto kernel = object->kernel(*index);
  if (!kernel || !kernel->has_metadata) return list;
  bool has_names = true;
  for (const codeobj::KernelArg &arg : kernel->metadata.args) {
    if (codeobj::isHidden(arg.kind)) continue;
    const bool is_pointer = arg.kind == codeobj::ArgKind::GlobalBuffer;
    // Optimizing compilers append ".coerce" where they changed a pointer's address space.
    const std::string name = arg.name.substr(0, arg.name.find(".coerce"));
    list->list.push_back(
        {arg.offset, arg.size, is_pointer ? FADE_ARGUMENT_POINTER : 0u, name, arg.type_name});
    has_names = has_names && !name.empty();
  }
  // What stands by itself in the source may be several arguments, or none: names only if it fits.
  if (const auto types = parameterTypes(codeobj::demangle(symbol));
      types.size() == list->list.size())
    for (std::size_t i = 0; i < types.size(); ++i)
      if (list->list[i].type.empty()) list->list[i].type = types[i];
  if (has_names || !object->elf().findSection(".debug_info")) return list;
  const auto names = parameterNames(object, kernel->code_address);
  for (std::size_t i = 0; names.size() == list->list.size() && i < names.size(); ++i)
    if (list->list[i].name.empty()) list->list[i].name = names[i];
  return list;
}

} // namespace fade
