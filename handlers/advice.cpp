#include "advice.h"

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

} // namespace

std::string adviceFor(const Place &place, const GlobalStats &stats, const MemoryModel &model) {
  if (stats.executions == 0) return "";
  if (place.kind == AccessKind::atomic && stats.same_address * 2 > stats.lanes)
    return mean(stats.same_address, stats.executions) +
           " lanes of each wave find another lane at their address and wait for it; combine the "
           "values within the wave or workgroup first and let one lane do the atomic.";
  if (place.kind == AccessKind::atomic) {
    const auto hottest = stats.hot.hottest();
    if (stats.executions >= 16 && hottest.count * 2 > stats.lanes)
      return std::to_string(hottest.count) + " of " + std::to_string(stats.lanes) +
             " operations of all waves go to one address, one after the other; collect in LDS and "
             "let each workgroup do one atomic.";
  }
  if (stats.wasted * 10 <= stats.used) return "";
  const std::string lines = mean(stats.used, stats.executions) + " cache lines per wave where " +
                            mean(stats.needed, stats.executions) + " would do";
  int64_t stride = 0;
  if (!dominantStride(stats.strides, stats.executions, stride)) {
    if (stats.strides.irregular() * 2 > stats.executions)
      return "The lanes' addresses follow no pattern: " + lines +
             "; sort or block the indices, or gather through LDS.";
    return lines + "; look at what the lanes' indices have in common.";
  }
  const uint64_t bytes = place.bytes;
  const bool in_rows = stats.strides.inRows() * 2 > stats.executions;
  if (stride == 0)
    return "Many lanes use the same address, in several groups: " + lines +
           "; load such values once and share them through LDS or registers.";
  const auto apart = static_cast<uint64_t>(stride < 0 ? -stride : stride);
  if (apart <= bytes && in_rows)
    return "Neighbouring lanes are neighbours in memory only within short rows: " + lines +
           "; let neighbouring lanes cover at least " + std::to_string(model.line) +
           " bytes before the next row.";
  if (apart <= bytes)
    return "Neighbouring lanes are neighbours in memory, but " + lines +
           "; start at a multiple of " + std::to_string(model.line) +
           " bytes, and keep the active lanes together.";
  if (apart < model.line)
    return "Neighbouring lanes are " + distance(stride) + ": " + lines +
           "; keep what they use side by side (an array for each member instead of one of "
           "structs).";
  return "Neighbouring lanes are " + distance(stride) + ": " + lines +
         "; let neighbouring lanes use neighbouring elements (swap the loops or indices, or "
         "transpose through LDS).";
}

std::string adviceFor(const Place &place, const LdsStats &stats, const MemoryModel &model) {
  if (stats.executions == 0) return "";
  if (place.kind == AccessKind::atomic && stats.same_address * 2 > stats.lanes)
    return mean(stats.same_address, stats.executions) +
           " lanes of each wave find another lane at their LDS address; combine the values within "
           "the wave first.";
  if (stats.conflicts == 0) return "";
  const std::string turns = mean(stats.conflicts, stats.executions) +
                            (stats.conflicts == stats.executions ? " extra turn" : " extra turns") +
                            " per wave";
  int64_t stride = 0;
  if (!dominantStride(stats.strides, stats.executions, stride))
    return "Lanes meet in the same LDS banks: " + turns +
           "; spread them with padding or by "
           "permuting the index.";
  const uint32_t row = model.banks * 4;
  const auto apart = static_cast<uint64_t>(stride < 0 ? -stride : stride);
  if (apart != 0 && apart % row == 0)
    return "Lanes are " + distance(stride) + ", a multiple of all " + std::to_string(model.banks) +
           " banks, so that they all meet in one: " + turns + "; pad each row by one element.";
  if (stats.strides.inRows() * 2 >= stats.executions)
    return "Rows of lanes meet in the same LDS banks: " + turns +
           "; choose a row length that puts neighbouring rows into different banks.";
  return "Lanes are " + distance(stride) + " and share LDS banks: " + turns +
         "; choose a row length that is odd in units of 4 bytes.";
}

} // namespace fade::handlers
