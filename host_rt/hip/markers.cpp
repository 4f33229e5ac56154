#include "hip/markers.h"

#include "hip/recorder.h"

#include <cstring>

namespace fade::hip {

void recordMarker(uint32_t kind, const char *text, uint64_t range) noexcept {
  constexpr std::size_t most = 16'384; // bytes of a text
  if (!isRecording() || kind > static_cast<uint32_t>(events::MarkerKind::stop)) return;
  const std::string_view message = text ? std::string_view(text, strnlen(text, most)) : "";
  events::MarkerEvent event{};
  event.header.kind = events::EventKind::marker;
  event.kind = static_cast<events::MarkerKind>(kind);
  event.size = static_cast<uint16_t>(message.size());
  event.time_ns = nowNs();
  event.range = range;
  (void)recordEvent(event, message);
}

} // namespace fade::hip
