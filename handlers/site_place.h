// Where in the application's source an access is.
//
// An atomicAdd or the assignment of a float4 is inlined from a header of HIP. What a reader wants
// is the line of his own that does it: the innermost place that is not in a header of the system.
// If all of them are, as in the kernels of a library, it is the place itself.
#pragma once

#include <fade/site_table.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace fade::handlers {

struct SitePlace {
  std::string_view file, function;
  uint32_t line = 0, column = 0;
  std::string_view via; ///< the system's function that was inlined there, or nothing
};

inline bool isSystemHeader(std::string_view file) {
  constexpr std::array<std::string_view, 4> roots = {"/usr/include/", "/usr/lib/",
                                                     "/usr/local/include/", "/opt/rocm"};
  for (const auto root : roots)
    if (file.starts_with(root)) return true;
  return file.find("/lib/clang/") != file.npos || file.find("/include/hip/") != file.npos ||
         file.find("/hip/amd_detail/") != file.npos;
}

inline SitePlace placeOf(const SiteTable &table, const fade_site &site) {
  const SitePlace own{table.string(site.file), table.string(site.function), site.line, site.column,
                      ""};
  if (!isSystemHeader(own.file)) return own;
  std::string_view via = own.function;
  for (uint32_t at = site.inlined_at; at != FADE_NO_INDEX; at = table.frames()[at].parent) {
    const fade_site_frame &frame = table.frames()[at];
    const SitePlace place{table.string(frame.file), table.string(frame.function), frame.line,
                          frame.column, via};
    if (!isSystemHeader(place.file) && place.line != 0) return place;
    via = place.function; // the outermost of the system's functions is the one that was called
  }
  return own;
}

/// Of what the kernel's author records: the call of fade::record, whose own line is in fade/user.h.
inline SitePlace placeOfUser(const SiteTable &table, const fade_site &site) {
  if (site.inlined_at == FADE_NO_INDEX)
    return {table.string(site.file), table.string(site.function), site.line, site.column, ""};
  const fade_site_frame &caller = table.frames()[site.inlined_at];
  return {table.string(caller.file), table.string(caller.function), caller.line, caller.column, ""};
}

/// Of an observed kernel without lines: the function, the offset in it and the instruction's text.
inline std::string_view codeOf(const SiteTable &table, const SitePlace &place) {
  const bool has_line = place.line != 0 || !place.file.empty();
  return has_line || table.options() != "observed" ? std::string_view() : place.function;
}

} // namespace fade::handlers
