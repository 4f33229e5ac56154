#include "advice.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace fade::handlers {
namespace {

/// "2", "1.5": a mean without needless digits.
std::string mean(uint64_t sum, uint64_t n) {
  if (n == 0) return "0";
  if (sum % n == 0) return std::to_string(sum / n);
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(sum) / static_cast<double>(n));
  return text;
}

/// The stride of most executions, if there is one.
bool dominantStride(const StrideHistogram &strides, uint64_t executions, int64_t &stride) {
  const auto sorted = strides.sorted();
  if (sorted.empty() || sorted.front().count * 2 <= executions) return false;
  stride = sorted.front().stride;
  return true;
}

std::string distance(int64_t stride) {
  return std::to_string(stride < 0 ? -stride : stride) + " bytes apart";
}

std::string counted(uint64_t n, const char *one, const char *more) {
  return n == 1 ? std::string("one ") + one : std::to_string(n) + " " + more;
}

/// Of an access that wastes nothing: that most of the wave stands by.
template <typename Stats> std::string idleLanes(const Stats &stats) {
  if (stats.lanes * 2 >= stats.slots) return "";
  return "Only " + mean(stats.lanes, stats.executions) + " of " +
         mean(stats.slots, stats.executions) +
         " lanes are active here, but the wave takes as long as with all of them; let more lanes "
         "take part, or use fewer waves.";
}

/// What helps against lanes that are so far apart.
std::string paddingAdvice(const Place &place, const LdsStats &stats, int64_t stride,
                          const MemoryModel &model) {
  const bool is_down = stride < 0;
  const auto apart = static_cast<uint64_t>(is_down ? -stride : stride);
  LaneRows rows;
  if (stats.strides.inRows() * 2 >= stats.executions) {
    rows = stats.strides.rows();
    if (rows.lanes == 0) return "spread them with padding or by permuting the index.";
    if (is_down) rows.step = -rows.step;
  }
  const auto lanes = static_cast<uint32_t>((stats.lanes + stats.executions - 1) / stats.executions);
  const Padding padding = paddingFor(apart, place.bytes, lanes, model.banks, rows);
  if (padding.elements == 0) return "spread them with padding or by permuting the index.";
  const std::string left =
      padding.conflicts == 0 ? "none is left then."
                             : counted(padding.conflicts, "cycle is", "cycles are") + " left then.";
  // What is wider than a number is a vector, or several elements that the compiler took together.
  const bool is_element = place.bytes != 0 && place.bytes <= 8;
  return "pad each row by " +
         (is_element ? counted(padding.elements, "element", "elements") + " (" : "") +
         std::to_string(padding.bytes) + (padding.bytes == 1 ? " byte" : " bytes") +
         (is_element ? "): " : ": ") + left;
}

} // namespace

bool isMemberAt(std::string_view line, uint32_t column) {
  if (column == 0 || column > line.size()) return false;
  const auto isOfName = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  const auto withoutBlanks = [](std::string_view text) {
    return text.substr(0, text.find_last_not_of(" \t") + 1);
  };
  std::string_view before = line.substr(0, column - 1);
  if (!isOfName(line[column - 1])) {
    // A store is at its operator: what it goes to stands before it.
    before = withoutBlanks(before);
    const std::size_t all = before.size();
    while (!before.empty() && isOfName(before.back())) before.remove_suffix(1);
    if (before.size() == all) return false;
  }
  before = withoutBlanks(before);
  if (before.ends_with("->")) return true;
  if (!before.ends_with('.')) return false;
  before = withoutBlanks(before.substr(0, before.size() - 1));
  return !before.empty() &&
         (isOfName(before.back()) || before.back() == ']' || before.back() == ')');
}

Padding paddingFor(uint64_t stride, uint32_t element, uint32_t lanes, uint32_t banks,
                   LaneRows rows) {
  constexpr uint64_t kMostStride = 320 << 10; // all of LDS
  const uint32_t size = element == 0 ? 4 : element;
  if (stride == 0 || stride > kMostStride || size > 16 || lanes == 0) return {};
  const auto conflictsAt = [&](uint64_t distance) {
    WaveAccess access;
    access.mask = lanes >= 64 ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1;
    // A step to the next row of lanes that is whole distances grows with them; another stays.
    const auto now = static_cast<int64_t>(stride), then = static_cast<int64_t>(distance);
    const int64_t step = rows.step % now == 0 ? rows.step / now * then : rows.step;
    const uint64_t in_row = rows.lanes == 0 ? 64 : rows.lanes;
    uint32_t most = 0;
    // Other executions begin elsewhere within a dword.
    for (uint64_t from = 0; from < 4; from += size) {
      for (uint64_t lane = 0; lane < 64; ++lane)
        access.addresses[lane] =
            from + lane % in_row * distance + lane / in_row * static_cast<uint64_t>(step);
      most = std::max(most, ldsConflicts(access, size, banks));
    }
    return most;
  };
  Padding best{0, 0, conflictsAt(stride)};
  // After as much as all banks together hold it begins anew.
  for (uint64_t n = 1; n * size < uint64_t{banks} * 4 && best.conflicts != 0; ++n)
    if (const uint32_t left = conflictsAt(stride + n * size); left < best.conflicts)
      best = {n, n * size, left};
  return best;
}

namespace {

/// Bytes of a lane that one instruction loads or stores at most.
constexpr uint64_t kWidestAccess = 16;
/// Operations on one address that are worth a word: fewer pass while a wave starts.
constexpr uint64_t kFewOperations = 1024;

std::string globalAdvice(const Place &place, const PlaceStats &access, const MemoryModel &model,
                         bool is_member) {
  const GlobalStats &stats = access.global;
  if (stats.executions == 0) return "";
  if (place.kind == AccessKind::atomic && stats.same_address * 2 > stats.lanes)
    return mean(stats.same_address, stats.executions) +
           " lanes of each wave share their address with another lane and wait for it; combine the "
           "values within the wave or workgroup first and let one lane do the atomic.";
  if (place.kind == AccessKind::atomic) {
    const auto hottest = stats.hot.hottest();
    if (hottest.count >= kFewOperations && hottest.count * 2 > stats.lanes)
      return std::to_string(hottest.count) + " of " + std::to_string(stats.lanes) +
             " operations of all waves go to one address, one after the other; collect in LDS and "
             "let each workgroup do one atomic.";
  }
  // That one lane does it for all is what was wanted.
  if (stats.wasted * 10 <= stats.used) return access.is_combined ? "" : idleLanes(stats);
  const std::string lines = mean(stats.used, stats.executions) + " cache lines per wave where " +
                            mean(stats.needed, stats.executions) + " would do";
  int64_t stride = 0;
  if (!dominantStride(stats.strides, stats.executions, stride)) {
    if (stats.strides.irregular() * 2 > stats.executions)
      return "The lanes' addresses follow no pattern: " + lines +
             (place.kind == AccessKind::atomic
                  ? "; sort or block the indices, or collect in LDS first."
              : place.kind == AccessKind::write
                  ? "; sort or block the indices, or put the values in order in LDS first."
                  : "; sort or block the indices, or gather through LDS.");
    return lines + "; check how the lanes' indices are computed.";
  }
  const uint64_t bytes = place.bytes;
  const bool in_rows = stats.strides.inRows() * 2 > stats.executions;
  if (stride == 0 && stats.lanes < 2 * stats.executions) return idleLanes(stats);
  if (stride == 0)
    return "Many lanes use the same address, in several groups: " + lines +
           "; load such values once and share them through LDS or registers.";
  const auto apart = static_cast<uint64_t>(stride < 0 ? -stride : stride);
  if (const LaneRows rows = in_rows ? stats.strides.rows() : LaneRows{};
      apart <= bytes && rows.lanes * bytes >= model.line)
    return "Rows of lanes fill cache lines, but are not aligned to them: " + lines +
           "; start each row at a multiple of " + std::to_string(model.line) + " bytes.";
  if (apart <= bytes && in_rows)
    return "Neighboring lanes access neighboring addresses only within short rows: " + lines +
           "; let neighboring lanes cover at least " + std::to_string(model.line) +
           " bytes before the next row.";
  if (apart <= bytes && bytes > kWidestAccess)
    return "Each lane uses " + std::to_string(bytes) + " bytes of its own, which takes " +
           counted((bytes + kWidestAccess - 1) / kWidestAccess, "instruction", "instructions") +
           " that each touch all of the wave's cache lines: " + lines +
           "; after the first they hit in L1, so this matters only where vector memory is busiest.";
  if (apart <= bytes)
    return "Neighboring lanes access neighboring addresses, but " + lines +
           "; start at a multiple of " + std::to_string(model.line) +
           " bytes, and keep the active lanes together.";
  if (apart < model.line && is_member)
    return "Neighboring lanes are " + distance(stride) + ": " + lines +
           "; store what they use side by side (a struct of arrays instead of an array of "
           "structs).";
  if (apart < model.line)
    return "Neighboring lanes are " + distance(stride) + ": " + lines + ", for " +
           std::to_string(bytes) + " of every " + std::to_string(apart) +
           " bytes are used here; store what the lanes use side by side, or let each lane use all "
           "of its bytes at once.";
  return "Neighboring lanes are " + distance(stride) + ": " + lines +
         "; let neighboring lanes use neighboring elements (swap the loops or indices, or "
         "transpose through LDS).";
}

} // namespace

std::string adviceFor(const Place &place, const PlaceStats &access, const MemoryModel &model,
                      bool is_member) {
  const std::string advice = globalAdvice(place, access, model, is_member);
  return advice.empty() || !access.is_before_merging ? advice : "Before merging: " + advice;
}

std::string adviceFor(const Place &place, const LdsStats &stats, const MemoryModel &model) {
  if (stats.executions == 0) return "";
  if (place.kind == AccessKind::atomic && stats.same_address * 2 > stats.lanes)
    return mean(stats.same_address, stats.executions) +
           " lanes of each wave share their LDS address with another lane and wait for it; keep "
           "several copies of the array in LDS, so that lanes of a wave use different ones, and "
           "add them up at the end. In a loop, add up in registers first.";
  if (stats.conflicts == 0) return idleLanes(stats);
  const std::string cycles =
      mean(stats.conflicts, stats.executions) +
      (stats.conflicts == stats.executions ? " extra cycle" : " extra cycles") + " per wave";
  int64_t stride = 0;
  if (!dominantStride(stats.strides, stats.executions, stride))
    return "Lanes access the same LDS banks: " + cycles +
           "; spread them with padding or by "
           "permuting the index.";
  const uint32_t row = model.banks * 4;
  const auto apart = static_cast<uint64_t>(stride < 0 ? -stride : stride);
  if (apart != 0 && apart % row == 0)
    return "Lanes are " + distance(stride) + ", a multiple of all " + std::to_string(model.banks) +
           " banks, so they all access one bank: " + cycles + "; " +
           paddingAdvice(place, stats, stride, model);
  if (stats.strides.inRows() * 2 >= stats.executions && apart <= place.bytes)
    return "Rows of lanes access the same LDS banks: " + cycles +
           "; choose a row length that puts neighboring rows into different banks.";
  return "Lanes are " + distance(stride) + " and share LDS banks: " + cycles + "; " +
         paddingAdvice(place, stats, stride, model);
}

} // namespace fade::handlers
