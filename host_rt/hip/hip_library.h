// HIP as it lies in this process's memory.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fade::hip {

/// A loaded library, for whoever wants to look at its code and data.
struct LoadedLibrary {
  struct Part {
    char *at;
    std::size_t size;
    bool has(const void *p) const { return p >= at && p < at + size; }
  };
  std::string path;
  std::vector<Part> code;
  std::vector<Part> zeroed; ///< what the loader has filled with zeros: .bss
  std::vector<Part> gaps;   ///< whole pages between its segments, which belong to nothing
  char *begin = nullptr, *end = nullptr;

  bool isCode(const void *p) const;
};

/// By the beginning of its file's name: "libamdhip64.so". However it was loaded.
std::optional<LoadedLibrary> findLibrary(std::string_view name);
/// Grows with every library that is loaded.
unsigned long long librariesLoaded();

/// A table of functions: its size in bytes, then pointers. Some are null: not implemented.
///
/// HIP 6 and 7 keep theirs in a variable that nobody can name, and load a pointer from it at each
/// call, so whatever is stored there is what everybody calls who calls HIP, by whichever way.
struct FunctionTable {
  void **entries = nullptr;
  std::size_t count = 0;

  explicit operator bool() const { return entries != nullptr; }
};
/// A table that HIP itself has handed out; empty if it does not look like one.
FunctionTable tableAt(void *table, std::size_t most);
/// Whether the library gives its tables to rocprofiler-register, and FADE sees that.
bool registersTables(const LoadedLibrary &library);
/// For libraries that do not.
FunctionTable findTable(const LoadedLibrary &library, std::size_t least, std::size_t most);

} // namespace fade::hip
