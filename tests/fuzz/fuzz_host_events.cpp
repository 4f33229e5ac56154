// Files of host events, and all that is made from them. The input is what is in the blocks: each
// begins with its size in two bytes.
#include "analysis/host_events/event_reader.h"
#include "fade/host_events.h"
#include "host_trace/call_log.h"
#include "host_trace/perfetto_timeline.h"
#include "host_trace/process_totals.h"
#include "host_trace/rocpd_file.h"
#include "host_trace/rpd_file.h"
#include "host_views.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

using namespace fade;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  std::string file(events::kHeaderBytes, '\0');
  events::FileHeader header{};
  header.magic = events::kMagic;
  header.version = events::kVersion;
  header.block_bytes = events::kBlockBytes;
  while (size >= 2) {
    std::uint16_t length = 0;
    std::memcpy(&length, data, sizeof length);
    data += 2;
    size -= 2;
    const std::size_t used = std::min<std::size_t>({length, size, std::size_t{0xfff8}});
    const events::BlockHeader block{events::kBlockMagic,
                                    static_cast<std::uint32_t>(sizeof block + used)};
    std::string bytes(events::kBlockBytes, '\0');
    std::memcpy(bytes.data(), &block, sizeof block);
    std::memcpy(bytes.data() + sizeof block, data, used);
    file += bytes;
    data += used;
    size -= used;
    ++header.claimed;
    if (header.claimed == 4) break; // more of the same
  }
  std::memcpy(file.data(), &header, sizeof header);
  // The last block is cut off with what it holds, as in a file that is copied while it grows.
  if (size != 0) file.resize(file.size() - std::min<std::size_t>(file.size() / 2, data[0] * 64u));
  const std::string path = host_trace::fileOf(file);
  const auto events = host_trace::HostEvents::read(path);
  if (!events) return 0;
  // As a stream it is the same.
  auto totals = host_trace::ProcessTotals::open(path, {});
  if (!totals) std::abort();
  const auto summary = (*totals)->finish();
  if (!summary || summary->totals.calls != events->calls.size()) std::abort();
  host_trace::makeAllViews(host_trace::TraceLog::of(*events));
  const host_trace::EventSource source(*events);
  if (!writeLog(source, "/dev/null", host_trace::LogScope::everything)) std::abort();
  if (!writeTimeline(*events, "/dev/null")) std::abort();
  const auto version =
      file.size() % 128 < 64 ? host_trace::RpdVersion::v3 : host_trace::RpdVersion::v2;
  if (const Status status = writeRpd(*events, ":memory:", version); !status) {
    std::fprintf(stderr, "%s\n", status.error().message().c_str());
    std::abort();
  }
  if (!host_trace::writeRocpd(*events, ":memory:", "host")) std::abort();
  return 0;
}
