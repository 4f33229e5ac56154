#include "hsa/unseen.h"

#include <fmt/format.h>

namespace fade {

std::vector<std::string> Unseen::lines(bool with_copies) const {
  std::vector<std::string> lines;
  const auto say = [&](Kind kind, const char *one, const char *many, const std::string &what) {
    if (const uint64_t n = count(kind); n != 0)
      lines.push_back(fmt::format("{} {} {}", n, n == 1 ? one : many, what));
  };
  say(Kind::queue, "queue was", "queues were",
      "created in a way that FADE cannot observe: kernels on them are missing");
  if (const uint32_t first = packet_.load(std::memory_order_relaxed); first != kNoPacket)
    say(Kind::packet, "packet", "packets",
        fmt::format("of a type unknown to FADE ({}): passed on unchanged; kernels they run "
                    "are missing",
                    first >> 8 == 0 ? fmt::format("vendor format {}", first & 0xff)
                                    : fmt::format("type {}", first >> 8)));
  say(Kind::cluster, "dispatch", "dispatches",
      "in clusters of workgroups cannot be captured: passed on unchanged");
  if (!with_copies) return lines;
  say(Kind::sdma_queue, "SDMA queue was", "SDMA queues were",
      "created by the application itself: copies on them are missing");
  say(Kind::copy, "batch of copies has", "batches of copies have",
      "a form unknown to FADE: their copies are missing");
  say(Kind::prefetch, "prefetch", "prefetches",
      "of managed memory (hsa_amd_svm_prefetch_async): their copies are missing");
  return lines;
}

void Unseen::clear() noexcept {
  for (auto &count : counts_) count.store(0, std::memory_order_relaxed);
  packet_.store(kNoPacket, std::memory_order_relaxed);
}

Unseen &unseen() noexcept {
  static Unseen all;
  return all;
}

} // namespace fade
