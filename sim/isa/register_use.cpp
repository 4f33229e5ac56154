#include "isa/register_use.h"

#include "isa/instruction.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace fade::sim {
namespace {

// "VGPR12": one register; "VCC": two.
std::optional<ObservedRange> one(std::string_view name) {
  struct File {
    std::string_view prefix;
    bool vector;
    uint16_t base;
  };
  for (const File &file : {File{"VGPR", true, 0}, File{"AGPR", true, agpr_base},
                           File{"SGPR", false, 0}, File{"TTMP", false, sreg::ttmp0}}) {
    if (!name.starts_with(file.prefix)) continue;
    uint16_t number = 0;
    const char *begin = name.data() + file.prefix.size();
    if (std::from_chars(begin, name.data() + name.size(), number).ptr == begin) return {};
    return ObservedRange{file.vector, static_cast<uint16_t>(file.base + number), 1};
  }
  return {};
}

} // namespace

std::vector<ObservedRange> ranges_of(const std::vector<std::string> &names) {
  std::vector<ObservedRange> ranges;
  for (const std::string &name : names) {
    if (name == "VCC") {
      ranges.push_back({false, sreg::vcc_lo, 2});
    } else if (name == "VCC_LO" || name == "VCC_HI") {
      ranges.push_back({false, name == "VCC_LO" ? sreg::vcc_lo : sreg::vcc_hi, 1});
    } else if (name == "SCC") {
      ranges.push_back({false, kObservedScc, 1});
    } else if (name.starts_with("M0")) {
      ranges.push_back({false, sreg::m0, 1});
    } else {
      // A tuple is the names of its registers, with underscores between them.
      std::optional<ObservedRange> all;
      for (size_t at = 0; at <= name.size();) {
        const size_t end = std::min(name.find('_', at), name.size());
        const auto part = one(std::string_view(name).substr(at, end - at));
        if (part && !all)
          all = part;
        else if (part)
          all->count++;
        at = end + 1;
      }
      if (all) ranges.push_back(*all);
    }
  }
  return ranges;
}

} // namespace fade::sim
