#include "hip/first_call.h"

#include "fade/hip_api.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

extern "C" void *_Unwind_FindEnclosingFunction(void *);

namespace fade::hip {
namespace {

struct CallSearch {
  const LoadedLibrary &library;
  const FunctionTable &table;
  std::optional<uint16_t> found;
};

/// HIP 5: the exported function around a return address.
std::optional<uint16_t> byName(void *address) {
  Dl_info info{};
  void *extra = nullptr;
  if (dladdr1(address, &info, &extra, RTLD_DL_SYMENT) == 0 || !info.dli_sname || !extra)
    return std::nullopt;
  const auto *symbol = static_cast<const ElfW(Sym) *>(extra);
  if (address >= static_cast<char *>(info.dli_saddr) + symbol->st_size) return std::nullopt;
  const auto *const at = std::ranges::find_if(kFunctions, [&](const FunctionInfo &function) {
    return std::strcmp(function.name, info.dli_sname) == 0;
  });
  if (at == std::end(kFunctions)) return std::nullopt;
  return at->number;
}

/// HIP 6 and 7: what is exported only jumps on, so the stack has the function of the table.
std::optional<uint16_t> byTable(void *address, const FunctionTable &table) {
  const void *function = _Unwind_FindEnclosingFunction(address);
  if (!function) return std::nullopt;
  for (std::size_t i = 0; i < table.count; ++i)
    if (table.entries[i] == function)
      return functionNumber(Table::runtime, static_cast<unsigned>(i));
  return std::nullopt;
}

_Unwind_Reason_Code onFrame(_Unwind_Context *context, void *data) {
  auto &search = *static_cast<CallSearch *>(data);
  int is_before = 0;
  const auto ip = _Unwind_GetIPInfo(context, &is_before);
  if (ip == 0) return _URC_NO_REASON;
  void *address = reinterpret_cast<void *>(ip - (is_before != 0 ? 0 : 1));
  if (!search.library.isCode(address)) return _URC_NO_REASON;
  // The outermost is what the application has called.
  if (const auto number = search.table ? byTable(address, search.table) : byName(address))
    search.found = number;
  return _URC_NO_REASON;
}

} // namespace

std::optional<uint16_t> findFirstCall(const LoadedLibrary &library, const FunctionTable &table) {
  CallSearch search{library, table, std::nullopt};
  _Unwind_Backtrace(onFrame, &search);
  return search.found;
}

} // namespace fade::hip
