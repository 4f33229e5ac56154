#include "check/array_bounds.h"

#include "codeobj/host_lines.h"
#include "fade/observer.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string_view>

namespace fade::cli {
namespace {

using namespace fade::checks;

bool isOfName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool isBlank(char c) { return c == ' ' || c == '\t'; }

void skipBlanks(std::string_view text, std::size_t &at) {
  while (at < text.size() && isBlank(text[at])) ++at;
}

/// What stands before a name makes it a member, or another scope's.
bool isAlone(std::string_view text, std::size_t begin) {
  while (begin > 0 && isBlank(text[begin - 1])) --begin;
  return begin == 0 ||
         (!isOfName(text[begin - 1]) && text[begin - 1] != '.' && text[begin - 1] != ':' &&
          !text.substr(0, begin).ends_with("->")) ||
         text.substr(0, begin).ends_with("return") || text.substr(0, begin).ends_with("else");
}

/// "name[" from here on.
std::string nameFrom(std::string_view text, std::size_t at) {
  const std::size_t begin = at;
  while (at < text.size() && isOfName(text[at])) ++at;
  const std::size_t end = at;
  skipBlanks(text, at);
  if (end == begin || at == text.size() || text[at] != '[' || !isAlone(text, begin)) return "";
  return std::string(text.substr(begin, end - begin));
}

/// "name[...][...]" up to here.
std::string nameBefore(std::string_view text, std::size_t end) {
  bool has_index = false;
  for (;;) {
    while (end > 0 && isBlank(text[end - 1])) --end;
    if (end == 0 || text[end - 1] != ']') break;
    int depth = 0;
    do {
      --end;
      depth += text[end] == ']' ? 1 : text[end] == '[' ? -1 : 0;
    } while (end > 0 && depth != 0);
    if (depth != 0) return "";
    has_index = true;
  }
  std::size_t begin = end;
  while (begin > 0 && isOfName(text[begin - 1])) --begin;
  if (!has_index || begin == end || !isAlone(text, begin)) return "";
  return std::string(text.substr(begin, end - begin));
}

/// "atomicAdd(&name[".
std::string nameInAtomic(std::string_view text, std::size_t at) {
  if (text.compare(at, 6, "atomic") != 0 || !isAlone(text, at)) return "";
  while (at < text.size() && isOfName(text[at])) ++at;
  skipBlanks(text, at);
  if (at == text.size() || text[at] != '(') return "";
  skipBlanks(text, ++at);
  if (at == text.size() || text[at] != '&') return "";
  skipBlanks(text, ++at);
  return nameFrom(text, at);
}

} // namespace

std::string arrayName(const std::string &line, uint32_t column, Place access) {
  if (column == 0 || column > line.size()) return "";
  const std::string_view text = line;
  const std::size_t at = column - 1;
  const auto kind = static_cast<AccessKind>(access.kind);
  if (kind == AccessKind::atomic) return nameInAtomic(text, at);
  if (isOfName(text[at])) return kind == AccessKind::load ? nameFrom(text, at) : "";
  const std::string_view rest = text.substr(at);
  const bool is_step = rest.starts_with("++") || rest.starts_with("--");
  if (is_step) {
    if (const std::string before = nameBefore(text, at); !before.empty()) return before;
    std::size_t behind = at + 2;
    skipBlanks(text, behind);
    return nameFrom(text, behind);
  }
  const bool is_plain = rest.starts_with("=") && !rest.starts_with("==");
  bool is_compound = false;
  for (const std::string_view one : {"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})
    is_compound |= rest.starts_with(one);
  if (is_compound || (is_plain && kind == AccessKind::store)) return nameBefore(text, at);
  return "";
}

bool hasTwoAddresses(const std::string &instruction) {
  return instruction.starts_with("ds_") && (instruction.find("2_b") != instruction.npos ||
                                            instruction.find("2st64") != instruction.npos ||
                                            instruction.find("2addr") != instruction.npos);
}

bool areNeighbors(const std::string &instruction) {
  const auto offset = [&](std::string_view name) {
    const std::size_t at = instruction.find(name);
    return at == instruction.npos ? 0 : std::atoi(instruction.c_str() + at + name.size());
  };
  const bool has_strides = instruction.find("st64") != instruction.npos ||
                           instruction.find("stride64") != instruction.npos;
  return hasTwoAddresses(instruction) && !has_strides &&
         std::abs(offset("offset0:") - offset("offset1:")) == 1;
}

std::optional<codeobj::SourceArray> arrayOf(const codeobj::SourceMap &map, const FoundPlace &place,
                                            const LineReader &line, std::optional<uint64_t> base,
                                            bool is_computed_there) {
  const std::string &instruction = place.instruction;
  if (hasTwoAddresses(instruction) && !areNeighbors(instruction)) return std::nullopt;
  const bool is_own = map.hasOwnPlace(place.raw.address);
  if (place.is_near || (!is_own && !base && !is_computed_there)) return std::nullopt;
  const auto kind = static_cast<AccessKind>(place.raw.kind);
  // HIP's atomics are functions in its headers.
  std::size_t frame = 0;
  if (kind == AccessKind::atomic)
    while (frame < place.stack.size() && codeobj::isSystemSource(place.stack[frame].file)) ++frame;
  if (frame >= place.stack.size() || (kind == AccessKind::atomic && frame == 0))
    return std::nullopt;
  const FoundFrame &at = place.stack[frame];
  const std::string name = arrayName(line(at.file, at.line), at.column, place.raw);
  if (name.empty()) return std::nullopt;
  auto array = map.array(place.raw.address, frame, name);
  // The source may be another one by now.
  if (array && line(array->file, array->line).find(name) == std::string::npos) return std::nullopt;
  if (array && !is_own && (array->in_lds ? !is_computed_there : !base || array->address != *base))
    return std::nullopt;
  return array;
}

namespace {

/// What is known of an array in LDS: it holds [low, high), and is `size` long.
struct Extent {
  uint64_t low = ~uint64_t{0}, high = 0, size = 0;
};

/// Whether arrays can lie so, one behind the other as `order` has them.
bool fits(const std::vector<Extent> &all, const std::vector<std::size_t> &order, uint64_t lds) {
  uint64_t free = 0;
  for (const std::size_t i : order) {
    const Extent &e = all[i];
    const uint64_t first = std::max(free, e.high > e.size ? e.high - e.size : 0);
    if (first > e.low) return false;
    free = first + e.size;
  }
  return free <= lds;
}

bool fits(const std::vector<Extent> &all, uint64_t lds) {
  constexpr std::size_t most = 7;
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  if (all.size() > most) {
    // That each pair fits is all that is asked.
    for (const std::size_t a : order)
      for (const std::size_t b : order)
        if (a < b && !fits({all[a], all[b]}, lds)) return false;
    return true;
  }
  do {
    if (fits(all, order, lds)) return true;
  } while (std::ranges::next_permutation(order).found);
  return false;
}

/// Places for all arrays with the fewest accesses outside of them.
class Placing {
public:
  Placing(const std::vector<ArrayUse> &uses, uint64_t lds) : lds_(lds) {
    std::map<uint64_t, std::vector<std::size_t>> by_id;
    for (std::size_t i = 0; i < uses.size(); ++i) by_id[uses[i].array.id].push_back(i);
    for (auto &[id, own] : by_id) arrays_.push_back(candidatesOf(uses, std::move(own)));
    bases_.resize(arrays_.size());
    place(0, 0);
  }
  /// By array, in the order of their ids; empty if there is no way that was found.
  const std::vector<uint64_t> &bases() const { return best_; }

private:
  struct Candidate {
    uint64_t base, cost;
  };
  struct Array {
    uint64_t size = 0;
    std::vector<Candidate> candidates;
  };

  Array candidatesOf(const std::vector<ArrayUse> &uses, std::vector<std::size_t> own) const {
    Array array;
    array.size = uses[own[0]].array.size;
    const uint64_t align = array.size > 8 ? 16 : array.size; // compilers do so
    std::vector<uint64_t> bases{0};
    if (lds_ > array.size) bases.push_back((lds_ - array.size) / align * align);
    for (const std::size_t i : own) {
      bases.push_back(uses[i].begin / align * align);
      if (uses[i].end >= array.size) bases.push_back((uses[i].end - array.size) / align * align);
    }
    std::ranges::sort(bases);
    bases.erase(std::ranges::unique(bases).begin(), bases.end());
    for (const uint64_t base : bases) {
      if (base + array.size > lds_) continue;
      uint64_t cost = 0;
      for (const std::size_t i : own) // to come too far is more common than to begin too early
        cost += uses[i].begin < base ? 1001 : uses[i].end > base + array.size ? 1000 : 0;
      array.candidates.push_back({base, cost});
    }
    std::ranges::sort(array.candidates, {},
                      [](const Candidate &c) { return std::pair(c.cost, c.base); });
    return array;
  }

  void place(std::size_t i, uint64_t cost) {
    constexpr unsigned most = 200'000;
    if (++steps_ > most || cost >= best_cost_) return;
    if (i == arrays_.size()) {
      best_cost_ = cost, best_ = bases_;
      return;
    }
    for (const Candidate &c : arrays_[i].candidates) {
      bool is_free = true;
      for (std::size_t k = 0; k < i && is_free; ++k)
        is_free = c.base >= bases_[k] + arrays_[k].size || bases_[k] >= c.base + arrays_[i].size;
      if (!is_free) continue;
      bases_[i] = c.base;
      place(i + 1, cost + c.cost);
    }
  }

  uint64_t lds_;
  std::vector<Array> arrays_;
  std::vector<uint64_t> bases_, best_;
  uint64_t best_cost_ = ~uint64_t{0};
  unsigned steps_ = 0;
};

std::optional<OutOfArray> outOf(std::size_t number, const ArrayUse &use, uint64_t base) {
  if (use.end > base + use.array.size)
    return OutOfArray{number, true, true,
                      static_cast<int64_t>(use.end - use.array.element - base - use.array.size)};
  if (use.begin < base)
    return OutOfArray{number, false, true, -static_cast<int64_t>(base - use.begin)};
  return std::nullopt;
}

} // namespace

std::vector<OutOfArray> outOfArrays(const std::vector<ArrayUse> &uses, uint64_t lds) {
  std::vector<OutOfArray> found;
  std::map<uint64_t, Extent> extents;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const ArrayUse &use = uses[i];
    if (!use.array.in_lds) {
      if (const auto out = outOf(i, use, use.array.address)) found.push_back(*out);
      continue;
    }
    Extent &e = extents[use.array.id];
    e.low = std::min(e.low, use.begin), e.high = std::max(e.high, use.end);
    e.size = use.array.size;
  }
  std::vector<Extent> all;
  for (const auto &[id, e] : extents) all.push_back(e);
  if (all.empty() || fits(all, lds)) return found;
  const Placing placing(uses, lds);
  if (placing.bases().empty()) return found;
  std::map<uint64_t, uint64_t> base_of;
  for (std::size_t i = 0; const auto &[id, e] : extents) base_of[id] = placing.bases()[i++];
  for (std::size_t i = 0; i < uses.size(); ++i)
    if (const auto out = outOf(i, uses[i], base_of[uses[i].array.id])) found.push_back(*out);
  return found;
}

} // namespace fade::cli
