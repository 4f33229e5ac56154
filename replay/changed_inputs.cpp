#include "replay/changed_inputs.h"

#include "replay/element_type.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace fade::replay {
namespace {

using capture::kPageSize;

constexpr std::size_t kWords = kPageSize / sizeof(uint64_t);
using Page = std::array<uint64_t, kWords>;
using Random = std::mt19937_64;

/// Digits of which the exponent and the first few stay, so that it is about as large; of one in
/// eight the sign as well.
void changeDigits(Page &page, Random &random, unsigned width, unsigned digits, bool with_signs) {
  constexpr uint64_t one_in = 8;
  const uint64_t sign = uint64_t{1} << (width - 1);
  const uint64_t mask = (uint64_t{1} << digits) - 1;
  const uint64_t one = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  for (uint64_t &word : page)
    for (unsigned at = 0; at < 64; at += width)
      if ((word >> at & one) != 0) {
        word ^= (random() & mask) << at;
        if (with_signs && random() % one_in == 0) word ^= sign << at;
      }
}

void changePlaces(Page &page, Random &random) {
  std::array<uint32_t, 2 * kWords> elements;
  std::memcpy(elements.data(), page.data(), sizeof elements);
  std::vector<std::size_t> used; // zeros are often what was never written
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (elements[i] != 0) used.push_back(i);
  for (std::size_t i = used.size(); i > 1; --i)
    std::swap(elements[used[i - 1]], elements[used[random() % i]]);
  // All the same: nobody would notice. One or two may be a size or a flag.
  constexpr std::size_t many = 4;
  const bool are_same = std::ranges::all_of(
      used, [&](std::size_t i) { return elements[i] == elements[used.front()]; });
  if (are_same && used.size() >= many) {
    const auto value = static_cast<int32_t>(elements[used.front()]);
    for (const std::size_t i : used)
      if (random() % 2 == 0)
        elements[i] = static_cast<uint32_t>(value / static_cast<int32_t>(2 + random() % 3));
  }
  std::memcpy(page.data(), elements.data(), sizeof elements);
}

/// False: it is left as it is.
bool change(Page &page, Random &random, const Memory &memory, bool with_signs) {
  const auto isAddress = [&](uint64_t value) { return memory.find(value) != memory.regions(); };
  std::vector<WordPair> words;
  for (const uint64_t word : page) {
    if (word == 0) continue;
    if (isAddress(word)) return false; // one pointer among other things is enough
    words.push_back({word, word});
  }
  if (words.empty()) return false;
  const Page before = page;
  switch (guessType(words, isAddress)) {
  case ElementType::f32: changeDigits(page, random, 32, 20, with_signs); break;
  case ElementType::f64: changeDigits(page, random, 64, 48, with_signs); break;
  case ElementType::f16: changeDigits(page, random, 16, 8, with_signs); break;
  case ElementType::u32: changePlaces(page, random); break;
  case ElementType::pointer: return false;
  }
  return page != before;
}

} // namespace

uint64_t changeInputs(const capture::Reader &reader, Memory &memory, uint64_t seed,
                      std::optional<std::size_t> besides) {
  const capture::Description &d = reader.description();
  Random random(seed);
  uint64_t changed = 0;
  for (std::size_t i = 0; i < memory.regions(); ++i) {
    const capture::Region &region = memory.region(i);
    if (region.kind == capture::RegionKind::code || i == besides) continue;
    uint64_t page = 0;
    for (const capture::Run &run : reader.runs(capture::State::before, i)) {
      const bool is_stored = run.kind != capture::Run::kAbsent && run.kind != capture::Run::kZero;
      for (uint32_t k = 0; is_stored && k < run.count; ++k) {
        const uint64_t address = region.address + (page + k) * kPageSize;
        if (address < d.kernarg_address + d.arguments.size() &&
            d.kernarg_address < address + kPageSize)
          continue;
        Page bytes;
        std::memcpy(bytes.data(), memory.captured({i, page + k}), kPageSize);
        if (change(bytes, random, memory, seed % 2 == 0) &&
            memory.patch(address, bytes.data(), kPageSize))
          ++changed;
      }
      page += run.count;
    }
  }
  return changed;
}

} // namespace fade::replay
