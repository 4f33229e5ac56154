#include "comparison/difference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace fade::compare {
namespace {

constexpr std::size_t kFewestTimes = 4;
constexpr double kLikely = 0.05; // a difference that chance alone would make as often as this

std::string fileName(const std::string &path) { return path.substr(path.rfind('/') + 1); }

/// "scale" of "void scale<float>(float*, int)".
std::string baseName(const std::string &kernel) {
  const std::string_view text = std::string_view(kernel).substr(0, kernel.find_first_of("<("));
  return std::string(text.substr(text.rfind(' ') + 1));
}

/// A kernel of a run, with its accesses.
struct Kernel {
  const Subject *self;
  std::vector<const Subject *> accesses;
};

std::vector<Kernel> kernelsOf(const std::vector<Subject> &all) {
  std::vector<Kernel> kernels;
  for (const Subject &subject : all)
    if (subject.is_kernel)
      kernels.push_back({&subject, {}});
    else
      kernels.back().accesses.push_back(&subject);
  return kernels;
}

/// Pairs off what has the same key on both sides; with `only_single`, only where it has no double.
template <typename T, typename Key>
void match(std::vector<const T *> &before, std::vector<const T *> &after,
           std::vector<std::pair<const T *, const T *>> &pairs, Key key, bool only_single) {
  std::map<decltype(key(*before.front())),
           std::pair<std::vector<const T *>, std::vector<const T *>>>
      by_key;
  for (const T *one : before) by_key[key(*one)].first.push_back(one);
  for (const T *one : after) by_key[key(*one)].second.push_back(one);
  std::set<const T *> done;
  for (auto &[unused, sides] : by_key) {
    auto &[a, b] = sides;
    if (only_single ? a.size() != 1 || b.size() != 1 : a.size() != b.size()) continue;
    for (std::size_t i = 0; i < a.size(); ++i) {
      pairs.emplace_back(a[i], b[i]);
      done.insert({a[i], b[i]});
    }
  }
  std::erase_if(before, [&](const T *one) { return done.contains(one); });
  std::erase_if(after, [&](const T *one) { return done.contains(one); });
}

using SubjectPairs = std::vector<std::pair<const Subject *, const Subject *>>;

/// The text of the line finds an access that other lines have moved; then its place; then its order
/// among those of its kind.
SubjectPairs matchAccesses(std::vector<const Subject *> &before,
                           std::vector<const Subject *> &after) {
  SubjectPairs pairs;
  // Files that only one side has are taken for the same: a copy with a new name.
  std::set<std::string> of_before, of_after;
  for (const Subject *one : before) of_before.insert(fileName(one->file));
  for (const Subject *one : after) of_after.insert(fileName(one->file));
  const auto fileOf = [&](const Subject &s) {
    const std::string name = fileName(s.file);
    return of_before.contains(name) && of_after.contains(name) ? name : std::string();
  };
  const auto kind = [&](const Subject &s) {
    return std::tuple(fileOf(s), s.op, s.is_lds, s.bytes);
  };
  match(
      before, after, pairs,
      [&](const Subject &s) {
        return std::tuple(kind(s), s.source.empty() ? std::to_string(s.line) : s.source, s.column);
      },
      true);
  match(
      before, after, pairs, [&](const Subject &s) { return std::tuple(kind(s), s.line, s.column); },
      true);
  match(before, after, pairs, kind, false);
  // A wider or narrower access in the same place.
  match(
      before, after, pairs,
      [&](const Subject &s) { return std::tuple(fileOf(s), s.op, s.is_lds, s.line); }, true);
  // The only one of its kind that is left on each side.
  match(
      before, after, pairs, [&](const Subject &s) { return std::tuple(fileOf(s), s.op, s.is_lds); },
      true);
  return pairs;
}

Change changeOf(Metric metric, const Subject &a, const Subject &b, double least) {
  Change change{metric, *a[metric], *b[metric], Verdict::same, std::nullopt};
  const double by = change.after - change.before;
  if (by == 0 || std::abs(by) <= least * std::abs(change.before)) return change;
  const int better = infoOf(metric).better;
  change.verdict = better == 0                ? Verdict::changed
                   : (by > 0) == (better > 0) ? Verdict::better
                                              : Verdict::worse;
  if (metric != Metric::time) return change;
  change.chance = chanceOfDifference(a.times, b.times);
  if (!change.chance || *change.chance > kLikely) change.verdict = Verdict::unclear;
  return change;
}

Pair pairOf(const Subject *before, const Subject *after, double least) {
  Pair pair{before, after, {}};
  if (!before || !after) return pair;
  for (const MetricInfo &info : metrics())
    if ((*before)[info.metric] && (*after)[info.metric])
      pair.changes.push_back(changeOf(info.metric, *before, *after, least));
  return pair;
}

void addKernel(Difference &to, const Kernel *before, const Kernel *after, double least) {
  to.pairs.push_back(pairOf(before ? before->self : nullptr, after ? after->self : nullptr, least));
  std::vector<const Subject *> a, b;
  if (before) a = before->accesses;
  if (after) b = after->accesses;
  const SubjectPairs matched = matchAccesses(a, b);
  std::map<const Subject *, const Subject *> before_of;
  for (const auto &[old, now] : matched) before_of[now] = old;
  if (after)
    for (const Subject *now : after->accesses)
      to.pairs.push_back(pairOf(before_of.contains(now) ? before_of[now] : nullptr, now, least));
  for (const Subject *old : a) to.pairs.push_back(pairOf(old, nullptr, least));
}

} // namespace

std::string Pair::kernel(bool is_whole) const {
  const auto name = [&](const Subject &of) { return is_whole ? of.kernel : shortName(of.kernel); };
  const bool is_renamed = before && after && before->kernel != after->kernel;
  return is_renamed ? name(*before) + " -> " + name(*after) : name(any());
}

std::vector<const Change *> Pair::worthALine(bool all) const {
  std::vector<const Change *> lines;
  for (const Change &change : changes)
    if (all || change.verdict != Verdict::same) lines.push_back(&change);
  const bool has_lines = std::ranges::any_of(
      lines, [](const Change *change) { return change->metric == Metric::lines; });
  if (!all && has_lines)
    std::erase_if(lines, [&](const Change *change) {
      // A kernel's efficiency is its headline.
      return infoOf(change->metric).follows &&
             !(any().is_kernel && change->metric == Metric::efficiency);
    });
  return lines;
}

const char *verdictName(Verdict verdict) {
  constexpr std::array names = {"same", "better", "worse", "changed", "unclear"};
  return names[static_cast<std::size_t>(verdict)];
}

std::optional<double> chanceOfDifference(const std::vector<double> &a,
                                         const std::vector<double> &b) {
  if (a.size() < kFewestTimes || b.size() < kFewestTimes) return std::nullopt;
  std::vector<std::pair<double, bool>> all; // a value, and whether it is of a
  for (const double value : a) all.emplace_back(value, true);
  for (const double value : b) all.emplace_back(value, false);
  std::ranges::sort(all);
  const auto na = static_cast<double>(a.size()), nb = static_cast<double>(b.size()), n = na + nb;
  double ranks_of_a = 0, ties = 0;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end < all.size() && all[end].first == all[i].first) ++end;
    const auto count = static_cast<double>(end - i);
    const double rank = (static_cast<double>(i) + static_cast<double>(end) + 1) / 2;
    for (std::size_t k = i; k < end; ++k) ranks_of_a += all[k].second ? rank : 0;
    ties += count * count * count - count;
    i = end;
  }
  const double u = ranks_of_a - na * (na + 1) / 2, mean = na * nb / 2;
  const double variance = na * nb / 12 * (n + 1 - ties / (n * (n - 1)));
  if (variance <= 0) return 1;
  const double z = std::max(0.0, std::abs(u - mean) - 0.5) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0));
}

Difference differenceOf(const std::vector<Subject> &before, const std::vector<Subject> &after,
                        double least) {
  const std::vector<Kernel> olds = kernelsOf(before), news = kernelsOf(after);
  std::vector<const Kernel *> a, b;
  for (const Kernel &kernel : olds) a.push_back(&kernel);
  for (const Kernel &kernel : news) b.push_back(&kernel);
  std::vector<std::pair<const Kernel *, const Kernel *>> matched;
  const auto name = [](const Kernel &k) { return k.self->kernel; };
  // Kernels of one name: the same code, then the same file, then in order.
  match(
      a, b, matched, [&](const Kernel &k) { return std::tuple(name(k), k.self->module); }, true);
  match(a, b, matched, name, true);
  match(
      a, b, matched, [&](const Kernel &k) { return std::tuple(name(k), fileName(k.self->file)); },
      true);
  match(a, b, matched, name, false);
  match(
      a, b, matched, [](const Kernel &k) { return baseName(k.self->kernel); }, true);
  // What is left over on each side, if it is one: a kernel that was renamed.
  match(
      a, b, matched, [](const Kernel &) { return 0; }, true);
  std::map<const Kernel *, const Kernel *> old_of;
  for (const auto &[old, now] : matched) old_of[now] = old;
  Difference result;
  for (const Kernel &now : news)
    addKernel(result, old_of.contains(&now) ? old_of[&now] : nullptr, &now, least);
  for (const Kernel *old : a) addKernel(result, old, nullptr, least);
  for (const Pair &pair : result.pairs) {
    if (!pair.before || !pair.after) continue;
    const auto has = [&](Verdict verdict) {
      return std::ranges::any_of(pair.changes,
                                 [&](const Change &c) { return c.verdict == verdict; });
    };
    if (has(Verdict::worse))
      ++result.worse;
    else if (has(Verdict::better))
      ++result.better;
    else
      ++result.same;
  }
  return result;
}

} // namespace fade::compare
