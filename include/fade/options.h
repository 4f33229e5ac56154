// Options written as words: key=value lists, sizes such as 64K, and the nearest right word when
// one is wrong. Header-only.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fade {

// How many letters have to be changed, added or removed to make one word of the other.
inline std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; };
      const std::size_t changed = diagonal + (lower(a[i - 1]) != lower(b[j - 1]) ? 1 : 0);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// The word of the list that was probably meant, or nothing if none is near.
inline std::optional<std::string_view> nearestWord(std::string_view word,
                                                   std::span<const std::string_view> words) {
  std::optional<std::string_view> best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto candidate : words) {
    const std::size_t distance = editDistance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

// " (did you mean 'x'?)" or nothing.
inline std::string suggestion(std::string_view word, std::span<const std::string_view> words) {
  const auto near = nearestWord(word, words);
  return near ? " (did you mean '" + std::string(*near) + "'?)" : "";
}

// A whole number with an optional K, M or G (1024, 1024 squared ...).
inline std::optional<uint64_t> parseSize(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.ends_with("iB"))
    unit.remove_suffix(2);
  else if (unit.ends_with("B"))
    unit.remove_suffix(1);
  if (unit.empty()) return value;
  if (unit.size() != 1) return std::nullopt;
  const std::string_view units = "KMGT";
  const auto power = units.find(unit[0] >= 'a' ? char(unit[0] - 32) : unit[0]);
  if (power == std::string_view::npos) return std::nullopt;
  const auto shift = 10 * (power + 1);
  if (value > (UINT64_MAX >> shift)) return std::nullopt;
  return value << shift;
}

inline std::optional<uint64_t> parseNumber(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A handler's options: key=value,key=value; a key alone stands for key=true. What is wrong with
// them is thrown as std::invalid_argument.
class Options {
public:
  explicit Options(std::string_view text) {
    while (!text.empty()) {
      const auto comma = std::min(text.find(','), text.size());
      const auto item = text.substr(0, comma);
      text.remove_prefix(std::min(comma + 1, text.size()));
      if (item.empty()) continue;
      const auto equals = item.find('=');
      const auto value = equals == std::string_view::npos ? "true" : item.substr(equals + 1);
      items_.emplace_back(item.substr(0, equals), value);
    }
  }

  // To be called first: the keys that exist.
  void allow(std::initializer_list<std::string_view> keys) const {
    for (const auto &[key, value] : items_)
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        throw std::invalid_argument("unknown option '" + key + "'" +
                                    suggestion(key, std::span(keys.begin(), keys.size())));
  }
  std::string text(std::string_view key, std::string_view fallback) const {
    const std::string *value = find(key);
    return value ? *value : std::string(fallback);
  }
  uint64_t size(std::string_view key, uint64_t fallback) const {
    const std::string *value = find(key);
    if (!value) return fallback;
    const auto size = parseSize(*value);
    if (!size) throw std::invalid_argument(describe(key, *value) + " is not a size such as 64K");
    return *size;
  }
  bool flag(std::string_view key, bool fallback) const {
    const std::string *value = find(key);
    if (!value) return fallback;
    if (*value == "true" || *value == "on" || *value == "1") return true;
    if (*value == "false" || *value == "off" || *value == "0") return false;
    throw std::invalid_argument(describe(key, *value) + " is neither true nor false");
  }

private:
  const std::string *find(std::string_view key) const {
    for (const auto &[k, value] : items_)
      if (k == key) return &value;
    return nullptr;
  }
  static std::string describe(std::string_view key, const std::string &value) {
    return std::string(key) + "=" + value;
  }

  std::vector<std::pair<std::string, std::string>> items_;
};

} // namespace fade
