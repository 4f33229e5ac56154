#include "doctor/facts.h"

#include "doctor/tree.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace fade::doctor {
namespace {

/// The numbers of a version, up to what is no number.
std::vector<uint64_t> numbersOf(std::string_view text) {
  std::vector<uint64_t> numbers;
  const char *at = text.data();
  const char *const end = at + text.size();
  while (at < end && numbers.size() < 6) {
    uint64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    at = next;
    if (at < end && *at != '.' && *at != '-') break;
    ++at;
  }
  return numbers;
}

} // namespace

const std::string *Record::find(std::string_view name) const {
  const auto at = values.find(name);
  return at == values.end() ? nullptr : &at->second;
}

std::string Record::get(std::string_view name) const {
  const std::string *value = find(name);
  return value ? *value : "";
}

bool Record::is(std::string_view name, std::string_view value) const {
  const std::string *known = find(name);
  return known && *known == value;
}

void Record::set(std::string name, std::string value) {
  if (!value.empty()) values[std::move(name)] = std::move(value);
}

void Record::addTo(const std::string &name, std::string_view word) {
  std::string &list = values[name];
  const auto words = wordsOf(list);
  if (std::ranges::find(words, word) != words.end()) return;
  list += (list.empty() ? "" : " ") + std::string(word);
}

Record &Facts::add(std::string kind) {
  records_.push_back({std::move(kind), {}});
  return records_.back();
}

std::vector<const Record *> Facts::of(std::string_view kind) const {
  std::vector<const Record *> found;
  for (const Record &record : records_)
    if (record.kind == kind) found.push_back(&record);
  return found;
}

std::vector<Record *> Facts::of(std::string_view kind) {
  std::vector<Record *> found;
  for (Record &record : records_)
    if (record.kind == kind) found.push_back(&record);
  return found;
}

Record &Facts::one(std::string_view kind) {
  const auto known = of(kind);
  return known.empty() ? add(std::string(kind)) : *known.front();
}

int compareVersions(std::string_view a, std::string_view b) {
  const auto left = numbersOf(a), right = numbersOf(b);
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    // A version that says less stands for all that begin like it.
    if (i >= left.size() || i >= right.size()) return 0;
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  }
  return 0;
}

std::string gfxName(uint64_t target_version) {
  if (target_version == 0 || target_version > 999999) return "";
  return fmt::format("gfx{}{:x}{:x}", target_version / 10000, target_version / 100 % 100,
                     target_version % 100);
}

std::string gfxNameOfOverride(std::string_view text) {
  const auto numbers = numbersOf(text);
  if (numbers.size() != 3 || numbers[0] > 99 || numbers[1] > 15 || numbers[2] > 15) return "";
  return gfxName(numbers[0] * 10000 + numbers[1] * 100 + numbers[2]);
}

uint64_t toNumber(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  uint64_t value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  return value;
}

} // namespace fade::doctor
