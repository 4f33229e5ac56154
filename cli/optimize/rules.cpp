#include "optimize/rule_parts.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>

namespace fade::cli {

std::vector<const KernelText *> kernelsOf(const SourceText &source,
                                          const nlohmann::ordered_json &request) {
  std::vector<const KernelText *> found;
  for (const auto &each : request.value("kernels", nlohmann::ordered_json::array())) {
    const KernelText *kernel = source.kernel(plainNameOf(each.value("kernel", "")));
    if (kernel && std::ranges::find(found, kernel) == found.end()) found.push_back(kernel);
  }
  return found;
}

std::vector<std::size_t> pointersOf(const SourceText &source, const KernelText &kernel) {
  std::vector<std::size_t> names;
  for (std::size_t i = kernel.parameters + 1; i < kernel.parameters_end; ++i) {
    const bool is_last = source.is(i + 1, ",") || i + 1 == kernel.parameters_end;
    const bool is_pointer =
        source.is(i - 1, "*") || (source.is(i - 1, "const") && source.is(i - 2, "*"));
    if (is_last && is_pointer && source.isName(i)) names.push_back(i);
  }
  return names;
}

bool addRestrict(const SourceText &source, const KernelText &kernel, Edits &edits) {
  for (std::size_t i = kernel.parameters + 1; i < kernel.parameters_end; ++i)
    if (source.tokens()[i].text.starts_with("__restrict")) return false;
  const std::vector<std::size_t> names = pointersOf(source, kernel);
  if (names.size() < 2) return false; // one alone has nobody to be apart from
  for (const std::size_t name : names) edits.insert(source.tokens()[name].at, "__restrict__ ");
  return true;
}

bool isAssigned(const SourceText &source, std::size_t i) {
  const auto at = [&](std::size_t k, const char *text) { return source.is(k, text); };
  if (!source.isName(i)) return false;
  if (at(i + 1, "=")) return !at(i + 2, "=");
  for (const char *sign : {"+", "-", "*", "/", "%", "&", "|", "^"})
    if (at(i + 1, sign) && at(i + 2, "=")) return true;
  return (at(i + 1, "+") && at(i + 2, "+")) || (at(i + 1, "-") && at(i + 2, "-")) ||
         (i >= 2 && ((at(i - 1, "+") && at(i - 2, "+")) || (at(i - 1, "-") && at(i - 2, "-"))));
}

std::size_t scopeEnd(const SourceText &source, std::size_t token) {
  for (std::size_t i = token; i < source.tokens().size(); ++i) {
    if (source.is(i, "{") && source.partner(i) < source.tokens().size())
      i = source.partner(i);
    else if (source.is(i, "}"))
      return i;
  }
  return source.tokens().size();
}

std::string_view lineEndOf(const SourceText &source) {
  return source.source().find("\r\n") == std::string_view::npos ? "\n" : "\r\n";
}

namespace {

using Json = nlohmann::ordered_json;

/// Of all captures of a kernel.
std::vector<std::array<uint64_t, 3>> workgroupsOf(const KernelText &kernel, const Json &request) {
  std::vector<std::array<uint64_t, 3>> all;
  for (const Json &each : request.value("kernels", Json::array()))
    if (plainNameOf(each.value("kernel", "")) == kernel.name)
      all.push_back(each.value("workgroup", std::array<uint64_t, 3>{1, 1, 1}));
  return all;
}

// ---- threads that change places behind a barrier

/// "y" for x: of threadIdx.x, hipThreadIdx_x and __builtin_amdgcn_workitem_id_x.
std::optional<std::pair<std::size_t, char>> threadIndexAt(const SourceText &source, std::size_t i) {
  const auto other = [](char c) { return c == 'x' ? 'y' : 'x'; };
  if (source.is(i, "threadIdx") && source.is(i + 1, ".") &&
      (source.is(i + 2, "x") || source.is(i + 2, "y"))) {
    const Token &axis = source.tokens()[i + 2];
    return std::pair(axis.at, other(axis.text[0]));
  }
  const Token &token = source.tokens()[i];
  for (const std::string_view name : {"hipThreadIdx_", "__builtin_amdgcn_workitem_id_"})
    if (token.text.starts_with(name) && (token.text.ends_with("_x") || token.text.ends_with("_y")))
      return std::pair(token.end() - 1, other(token.text.back()));
  return std::nullopt;
}

bool isBarrier(const SourceText &source, std::size_t i) {
  return (source.is(i, "__syncthreads") || source.is(i, "__builtin_amdgcn_s_barrier")) &&
         source.is(i + 1, "(") && source.is(i + 2, ")") && source.is(i + 3, ";");
}

/// The declarations of a kernel before its barrier that say where a thread stands.
class PlaceDeclarations {
public:
  PlaceDeclarations(const SourceText &source, const KernelText &kernel, std::size_t barrier)
      : source_(source), barrier_(barrier), body_(kernel.body) {
    for (std::size_t i = kernel.parameters; i < kernel.parameters_end; ++i)
      if (source.isName(i)) known_.insert(source.tokens()[i].text);
    for (std::size_t begin = kernel.body + 1; begin < barrier;) begin = addStatement(begin);
  }

  /// First and last tokens, in order.
  const std::vector<std::pair<std::size_t, std::size_t>> &statements() const { return statements_; }

  /// Whether what is used from there on can be told for a thread in another place: all else that
  /// was computed before the barrier belongs to the thread that did it.
  bool canMove(std::size_t from, std::size_t to) const {
    std::set<std::string_view> changed;
    for (std::size_t i = body_; i < barrier_; ++i)
      if (source_.isName(i) && !source_.is(i - 1, ".") && isChanged(i) && !isDeclared(i))
        changed.insert(source_.tokens()[i].text);
    return std::none_of(source_.tokens().begin() + static_cast<std::ptrdiff_t>(from),
                        source_.tokens().begin() + static_cast<std::ptrdiff_t>(to),
                        [&](const Token &token) {
                          return changed.contains(token.text) && !shared_.contains(token.text);
                        });
  }

private:
  /// "name =", "name +=", "name++" or "name[": it gets a value there, or is an array.
  bool isChanged(std::size_t i) const {
    if (source_.is(i + 1, "[")) return !known_.contains(source_.tokens()[i].text);
    return isAssigned(source_, i);
  }
  bool isDeclared(std::size_t i) const {
    return std::ranges::any_of(harmless_, [&](const auto &statement) {
      return statement.first <= i && i <= statement.second;
    });
  }

  /// Returns where the next one begins.
  std::size_t addStatement(std::size_t begin) {
    std::size_t end = begin;
    while (end < barrier_ && !source_.is(end, ";")) {
      const bool opens = source_.is(end, "{") || source_.is(end, "(") || source_.is(end, "[");
      if (opens && source_.partner(end) < barrier_) {
        const bool is_block = source_.is(end, "{");
        end = source_.partner(end);
        if (is_block) break;
      }
      ++end;
    }
    if (source_.is(begin, "__shared__"))
      for (std::size_t i = begin; i + 1 < end; ++i)
        if (source_.isName(i) && source_.is(i + 1, "[")) {
          shared_.insert(source_.tokens()[i].text);
          break;
        }
    const Meaning meaning = meaningOf(begin, end);
    for (std::size_t i = begin; meaning == Meaning::other && i < end; ++i)
      if (source_.isName(i) && isChanged(i)) others_.insert(source_.tokens()[i].text);
    if (meaning != Meaning::other) harmless_.emplace_back(begin, end);
    if (meaning == Meaning::place) statements_.emplace_back(begin, end);
    return end + 1;
  }

  enum class Meaning { place, uniform, other };
  /// A declaration of whole numbers that are computed from where the thread stands, or are the same
  /// for all threads; or anything else.
  Meaning meaningOf(std::size_t begin, std::size_t end) {
    static const std::set<std::string_view> types = {
        "const",  "constexpr", "auto",    "int",      "unsigned", "long",     "short",
        "size_t", "uint32_t",  "int32_t", "uint64_t", "int64_t",  "uint16_t", "int16_t"};
    if (!types.contains(source_.tokens()[begin].text) || !source_.is(end, ";"))
      return Meaning::other;
    std::vector<std::string_view> names;
    bool is_place = false;
    for (std::size_t i = begin; i < end; ++i) {
      if (source_.is(i, "[") || source_.is(i, "{") || source_.is(i, "*")) {
        // Products are fine; pointers and loads are not.
        if (!source_.is(i, "*") || names.empty()) return Meaning::other;
      }
      if (!source_.isName(i)) continue;
      const std::string_view text = source_.tokens()[i].text;
      const bool is_index = threadIndexAt(source_, i).has_value();
      is_place |= is_index || places_.contains(text);
      if (source_.is(i + 1, "(") && !is_index &&
          !text.starts_with("__builtin_amdgcn_workgroup_id_"))
        return Meaning::other; // who knows what it does
      if (source_.is(i + 1, "=") && !source_.is(i + 2, "="))
        names.push_back(text);
      else if (others_.contains(text))
        return Meaning::other;
    }
    if (names.empty()) return Meaning::other;
    if (is_place) places_.insert(names.begin(), names.end());
    return is_place ? Meaning::place : Meaning::uniform;
  }

  const SourceText &source_;
  const std::size_t barrier_, body_;
  std::set<std::string_view> known_, shared_, places_, others_; ///< others_: neither of these
  std::vector<std::pair<std::size_t, std::size_t>> statements_, harmless_;
};

/// Whether accesses to global memory touch many more cache lines than they need.
bool areScattered(const Json &request) {
  for (const Json &kernel : request.value("accesses", Json::array()))
    for (const Json &access : kernel.value("global", Json::array()))
      if (access.value("lines_used", uint64_t{0}) > 2 * access.value("lines_needed", uint64_t{0}))
        return true;
  return false;
}

/// In a copy through LDS every thread may fetch what any other has put there: if x and y change
/// places behind the barrier, neighbors store to neighboring addresses.
std::vector<RuleEdit> swapThreads(const SourceText &source, const Json &request) {
  std::vector<RuleEdit> all;
  if (!areScattered(request)) return all;
  for (const KernelText *kernel : kernelsOf(source, request)) {
    if (!std::ranges::all_of(workgroupsOf(*kernel, request),
                             [](const auto &size) { return size[0] == size[1] && size[0] > 1; }))
      continue;
    std::vector<std::size_t> barriers;
    for (std::size_t i = kernel->body; i < kernel->body_end; ++i)
      if (isBarrier(source, i)) barriers.push_back(i);
    if (barriers.size() != 1 || scopeEnd(source, barriers[0]) != kernel->body_end) continue;
    const std::size_t rest = barriers[0] + 4;
    const PlaceDeclarations places(source, *kernel, barriers[0]);
    if (rest >= kernel->body_end || !places.canMove(rest, kernel->body_end)) continue;
    RuleEdit edit;
    edit.key = std::string(kernel->name);
    edit.comment = fmt::format("after the barrier of {}, threads swap x and y", kernel->name);
    const std::string line_end(lineEndOf(source));
    std::string again = " {";
    bool is_any = false;
    for (const auto &[first, last] : places.statements()) {
      Edits swapped;
      for (std::size_t i = first; i < last; ++i)
        if (const auto index = threadIndexAt(source, i))
          swapped.replace(index->first - source.tokens()[first].at, 1,
                          std::string(1, index->second));
      again += line_end + "  " + swapped.applyTo(source.between(first, last));
      is_any = true;
    }
    for (std::size_t i = rest; i < kernel->body_end; ++i)
      if (const auto index = threadIndexAt(source, i)) {
        edit.edits.replace(index->first, 1, std::string(1, index->second));
        is_any = true;
      }
    if (!is_any) continue;
    edit.edits.insert(source.tokens()[rest - 1].end(), again);
    edit.edits.insert(source.tokens()[kernel->body_end].at, "}" + line_end);
    all.push_back(std::move(edit));
  }
  return all;
}

// ---- what the compiler may know

/// Whether what a pointer leads to is only read, as far as can be seen: "name[...]", neither
/// assigned nor taken the address of.
bool isOnlyRead(const SourceText &source, const KernelText &kernel, std::string_view name) {
  for (std::size_t i = kernel.body; i < kernel.body_end; ++i) {
    if (!source.is(i, name)) continue;
    const std::size_t end = source.is(i + 1, "[") ? source.partner(i + 1) : kernel.body_end;
    if (end >= kernel.body_end || source.is(i - 1, "&")) return false;
    for (const char *sign : {".", "[", "-"}) // members may be changed
      if (source.is(end + 1, sign) && (*sign != '-' || source.is(end + 2, ">"))) return false;
    // Behind "]" an assignment looks as it does behind a name; before the name, too.
    const bool is_plain = source.is(end + 1, "=") && !source.is(end + 2, "=");
    bool is_changed = is_plain;
    for (const char *sign : {"<", ">"})
      is_changed |= source.is(end + 1, sign) && source.is(end + 2, sign) && source.is(end + 3, "=");
    for (const char *sign : {"+", "-", "*", "/", "%", "&", "|", "^"})
      is_changed |= source.is(end + 1, sign) && source.is(end + 2, "=");
    for (const char *sign : {"+", "-"})
      is_changed |= (source.is(end + 1, sign) && source.is(end + 2, sign)) ||
                    (source.is(i - 1, sign) && source.is(i - 2, sign));
    if (is_changed) return false;
  }
  return true;
}

/// Whether types of parameters are no part of the kernel's name: extern "C".
bool hasPlainName(const SourceText &source, const KernelText &kernel) {
  if (kernel.begin > 0 && source.is(kernel.begin - 1, "extern")) return true;
  for (std::size_t i = 0; i + 1 < kernel.begin; ++i)
    if (source.is(i, "extern") && source.is(i + 1, "{") &&
        source.partner(i + 1) > kernel.body_end && source.partner(i + 1) < source.tokens().size())
      return true;
  return false;
}

/// "const" for pointers through which nothing is written. False: there are none, or the name of
/// the kernel would be another one.
bool addConst(const SourceText &source, const KernelText &kernel, Edits &edits) {
  if (!hasPlainName(source, kernel)) return false;
  bool is_any = false;
  for (const std::size_t name : pointersOf(source, kernel)) {
    std::size_t first = name;
    bool is_known = true;
    while (first > kernel.parameters + 1 && !source.is(first - 1, ",")) {
      --first;
      for (const char *word : {"const", "<", ">", "(", ")", "["})
        is_known &= !source.is(first, word);
    }
    if (!is_known || first + 2 > name || source.is(name - 2, "*") ||
        !isOnlyRead(source, kernel, source.tokens()[name].text))
      continue;
    edits.insert(source.tokens()[first].at, "const ");
    is_any = true;
  }
  return is_any;
}

/// A value that was loaded stays known after a store through another pointer. Whether the pointers
/// really are apart shows in the results.
std::vector<RuleEdit> restrictPointers(const SourceText &source, const Json &request) {
  std::vector<RuleEdit> all;
  for (const KernelText *kernel : kernelsOf(source, request)) {
    RuleEdit edit;
    edit.key = std::string(kernel->name);
    edit.comment = fmt::format("the pointers of {} do not alias", kernel->name);
    if (!addRestrict(source, *kernel, edit.edits)) continue;
    RuleEdit reading = edit;
    reading.key += " const";
    reading.comment += ", and some are only read";
    if (addConst(source, *kernel, reading.edits)) all.push_back(std::move(reading));
    all.push_back(std::move(edit)); // if the other one does not compile
  }
  return all;
}

/// A kernel for smaller workgroups may use more registers. Only if the user says that there are no
/// larger ones.
std::vector<RuleEdit> boundLaunches(const SourceText &source, const Json &request) {
  std::vector<RuleEdit> all;
  if (!request.value("may_bound_launches", false)) return all;
  for (const KernelText *kernel : kernelsOf(source, request)) {
    const bool is_bound =
        std::any_of(source.tokens().begin() + static_cast<std::ptrdiff_t>(kernel->begin),
                    source.tokens().begin() + static_cast<std::ptrdiff_t>(kernel->body),
                    [](const Token &token) {
                      return token.text == "__launch_bounds__" || token.text == "launch_bounds" ||
                             token.text.find("work_group_size") != std::string_view::npos;
                    });
    uint64_t largest = 0;
    for (const auto &size : workgroupsOf(*kernel, request))
      largest = std::max(largest, size[0] * size[1] * size[2]);
    if (is_bound || largest == 0 || largest >= 1024) continue;
    RuleEdit edit;
    edit.key = std::string(kernel->name);
    edit.comment =
        fmt::format("workgroups of {} have at most {} work-items", kernel->name, largest);
    // The short form is a macro of HIP's headers.
    const bool has_headers = source.source().find("hip_runtime") != std::string_view::npos;
    edit.edits.insert(
        source.tokens()[kernel->parameters - 1].at,
        has_headers ? fmt::format("__launch_bounds__({}) ", largest)
                    : fmt::format("__attribute__((amdgpu_flat_work_group_size(1, {}))) ", largest));
    all.push_back(std::move(edit));
  }
  return all;
}

} // namespace

const std::vector<Rule> &allRules() {
  static const std::vector<Rule> rules = {
      {"swap threads", swapThreads},  {"swap indices", swapIndices}, {"pad", padArrays},
      {"restrict", restrictPointers}, {"bound", boundLaunches},      {"widen", widenLoops},
      {"unroll", unrollLoops}};
  return rules;
}

} // namespace fade::cli
