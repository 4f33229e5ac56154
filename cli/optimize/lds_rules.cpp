// Edits of arrays in LDS.
#include "optimize/rule_parts.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <set>

namespace fade::cli {
namespace {

using Json = nlohmann::ordered_json;

uint64_t conflictsIn(const Json &request) {
  return request.value("counts", Json::object()).value("conflicts", uint64_t{0});
}

/// A __shared__ array: "float tile[N][M];". Places are indexes of tokens.
struct SharedArray {
  std::string type;
  std::string_view name;
  std::size_t name_at = 0;
  std::vector<std::pair<std::size_t, std::size_t>> dimensions; ///< brackets
};

std::vector<SharedArray> sharedArrays(const SourceText &source) {
  std::vector<SharedArray> found;
  const std::size_t count = source.tokens().size();
  for (std::size_t i = 0; i < count; ++i) {
    if (!source.is(i, "__shared__") || (i > 0 && source.is(i - 1, "extern"))) continue;
    SharedArray array;
    std::size_t at = i + 1;
    while (at < count && !source.is(at, "[") && !source.is(at, ";") && !source.is(at, "=") &&
           !source.is(at, "{") && !source.is(at, ","))
      ++at;
    if (!source.is(at, "[") || !source.isName(at - 1) || at - 1 == i) continue;
    array.name_at = at - 1;
    array.name = source.tokens()[at - 1].text;
    for (std::size_t type = i + 1; type + 1 < at; ++type)
      array.type += std::string(source.tokens()[type].text) + " ";
    for (; source.is(at, "[") && source.partner(at) < count; at = source.partner(at) + 1)
      array.dimensions.emplace_back(at, source.partner(at));
    const bool has_lengths = std::ranges::all_of(
        array.dimensions, [](const auto &each) { return each.second > each.first + 1; });
    if (source.is(at, ";") && has_lengths) found.push_back(std::move(array));
  }
  return found;
}

/// Those of the kernels that were captured, then those that may be: in functions, or in kernels
/// that cannot be told. What lies in another kernel changes nothing.
std::vector<SharedArray> sharedArraysFor(const SourceText &source, const Json &request) {
  std::set<std::string> wanted;
  for (const Json &each : request.value("kernels", Json::array()))
    wanted.insert(plainNameOf(each.value("kernel", "")));
  std::vector<SharedArray> ours, others;
  for (SharedArray &array : sharedArrays(source)) {
    const auto around = std::ranges::find_if(source.kernels(), [&](const KernelText &kernel) {
      return kernel.body < array.name_at && array.name_at < kernel.body_end;
    });
    if (around == source.kernels().end())
      others.push_back(std::move(array));
    else if (wanted.contains(std::string(around->name)))
      ours.push_back(std::move(array));
  }
  std::ranges::move(others, std::back_inserter(ours));
  return ours;
}

/// Elements that make rows begin in another bank: banks are 4 bytes wide.
int paddingFor(const std::string &type) {
  const auto has = [&](std::initializer_list<const char *> words) {
    return std::ranges::any_of(words, [&](const char *word) {
      return (" " + type).find(fmt::format(" {} ", word)) != std::string::npos;
    });
  };
  if (has({"char", "bool", "int8_t", "uint8_t", "std::int8_t", "std::uint8_t"})) return 4;
  if (has({"short", "int16_t", "uint16_t", "_Float16", "__half", "half", "hip_bfloat16", "__bf16"}))
    return 2;
  return 1;
}

/// An array of one dimension that is used as rows of `stride` elements: the places of all strides
/// in indices "x * stride + y". Nothing: some use is another one.
std::optional<std::vector<std::size_t>> rowUses(const SourceText &source, const SharedArray &array,
                                                std::string_view stride) {
  static const std::set<std::string_view> others = {"&", "|", "^", "?", "<", ">", "-", "%", ","};
  std::vector<std::size_t> places;
  const auto is = [&](std::size_t i, std::string_view text) { return source.is(i, text); };
  for (std::size_t i = array.dimensions[0].second, end = scopeEnd(source, i); i < end; ++i) {
    if (!is(i, array.name) || is(i - 1, ".")) continue;
    const std::size_t open = i + 1, close = is(open, "[") ? source.partner(open) : 0;
    if (close <= open || close >= source.tokens().size()) return std::nullopt;
    std::optional<std::size_t> place;
    for (std::size_t k = open + 1; k < close; ++k) {
      if (others.contains(source.tokens()[k].text)) return std::nullopt;
      if (is(k, "(") && source.partner(k) < close) {
        k = source.partner(k);
        continue;
      }
      if (!is(k, stride)) continue;
      // What it is multiplied by, and that this is a term of the sum.
      const std::size_t factor = is(k - 2, ")") ? source.partner(k - 2) : k - 2;
      const bool is_term = k >= open + 3 && is(k - 1, "*") && factor > open &&
                           (factor == open + 1 || is(factor - 1, "+")) &&
                           (k + 1 == close || is(k + 1, "+"));
      if (place || !is_term) return std::nullopt;
      place = k;
    }
    if (!place) return std::nullopt;
    places.push_back(*place);
  }
  if (places.size() < 2) return std::nullopt;
  return places;
}

std::optional<uint64_t> numberIn(std::string_view word) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

/// The same for an array of one dimension, "tile[rows * stride]" or "tile[1024]".
std::optional<Edits> padFlat(const SourceText &source, const SharedArray &array, int padding) {
  const auto [open, close] = array.dimensions[0];
  const bool is_product = close == open + 4 && source.is(open + 2, "*");
  std::vector<std::size_t> strides; // where they may be found
  if (is_product) strides = {open + 3, open + 1};
  for (std::size_t i = close; close == open + 2 && i < scopeEnd(source, close); ++i)
    if (source.is(i, array.name) && source.is(i + 1, "[") && strides.empty())
      for (std::size_t k = i + 2; k < source.partner(i + 1); ++k)
        if (source.is(k - 1, "*")) strides = {k};
  for (const std::size_t stride : strides) {
    const Token &word = source.tokens()[stride];
    const auto uses = rowUses(source, array, word.text);
    if (!uses) continue;
    Edits edits;
    const std::string wider = fmt::format("({} + {})", word.text, padding);
    if (is_product) {
      edits.replace(word.at, word.text.size(), wider);
    } else {
      const auto length = numberIn(source.tokens()[open + 1].text), row = numberIn(word.text);
      if (!length || !row || *row == 0 || *length % *row != 0) continue;
      edits.insert(source.tokens()[close].at,
                   fmt::format(" + {}", *length / *row * static_cast<uint64_t>(padding)));
    }
    for (const std::size_t use : *uses)
      edits.replace(source.tokens()[use].at, word.text.size(), wider);
    return edits;
  }
  return std::nullopt;
}

} // namespace

/// Lanes that go down a column of an array in LDS meet in one bank, unless rows have an odd length.
std::vector<RuleEdit> padArrays(const SourceText &source, const Json &request) {
  std::vector<RuleEdit> all;
  if (conflictsIn(request) == 0) return all;
  for (const SharedArray &array : sharedArraysFor(source, request)) {
    const auto [open, close] = array.dimensions.back();
    const int padding = paddingFor(array.type);
    const auto flat = array.dimensions.size() == 1 ? padFlat(source, array, padding) : std::nullopt;
    if (array.dimensions.size() < 2 && !flat) continue;
    RuleEdit edit;
    edit.key = fmt::format("{} {}", array.name, source.between(open, close));
    edit.comment =
        fmt::format("rows of {} are {} longer, so that columns spread over the banks of LDS",
                    array.name, padding == 1 ? "one element" : fmt::format("{} elements", padding));
    if (flat) {
      edit.edits = *flat;
    } else if (close > open + 2) { // "N << 1" and others bind less than +
      edit.edits.insert(source.tokens()[open].end(), "(");
      edit.edits.insert(source.tokens()[close].at, fmt::format(") + {}", padding));
    } else {
      edit.edits.insert(source.tokens()[close].at, fmt::format(" + {}", padding));
    }
    all.push_back(std::move(edit));
  }
  return all;
}

/// A square array whose every use has both indices can lie the other way round in LDS.
std::vector<RuleEdit> swapIndices(const SourceText &source, const Json &request) {
  std::vector<RuleEdit> all;
  if (conflictsIn(request) == 0) return all;
  for (const SharedArray &array : sharedArraysFor(source, request)) {
    if (array.dimensions.size() != 2) continue;
    const auto inside = [&](std::size_t open, std::size_t close) {
      return std::string(source.between(open + 1, close - 1));
    };
    const auto [rows, columns] = std::pair(array.dimensions[0], array.dimensions[1]);
    if (inside(rows.first, rows.second) != inside(columns.first, columns.second)) continue;
    RuleEdit edit;
    edit.key = std::string(array.name);
    edit.comment = fmt::format("{} is transposed in LDS", array.name);
    bool is_known = true;
    for (std::size_t i = columns.second, end = scopeEnd(source, i); i < end; ++i) {
      if (!source.is(i, array.name) || source.is(i - 1, ".")) continue;
      const std::size_t first = i + 1,
                        first_end = source.is(first, "[") ? source.partner(first) : 0;
      const std::size_t second = first_end + 1,
                        second_end = source.is(second, "[") ? source.partner(second) : 0;
      // An index that uses the array itself would be edited twice.
      is_known = first_end > first + 1 && second_end > second + 1 &&
                 second_end < source.tokens().size() &&
                 std::none_of(source.tokens().begin() + static_cast<std::ptrdiff_t>(first),
                              source.tokens().begin() + static_cast<std::ptrdiff_t>(second_end),
                              [&](const Token &token) { return token.text == array.name; });
      if (!is_known) break;
      const std::string row = inside(first, first_end), column = inside(second, second_end);
      edit.edits.replace(source.tokens()[first + 1].at, row.size(), column);
      edit.edits.replace(source.tokens()[second + 1].at, column.size(), row);
    }
    if (is_known) all.push_back(std::move(edit));
  }
  return all;
}

} // namespace fade::cli
