// A session that is added to an RPD file, which somebody else may have made: the input is that
// file.
#include "analysis/host_events/event_reader.h"
#include "files.h"
#include "host_trace/rpd_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  using namespace fade;
  fuzz::put("in.rpd", {reinterpret_cast<const char *>(data), size});
  for (const char *rest : {"in.rpd-journal", "in.rpd-wal"})
    std::filesystem::remove(fuzz::folder() + "/" + rest);
  host_trace::HostEvents events;
  int64_t session = -1;
  const auto version = size % 2 == 0 ? host_trace::RpdVersion::v3 : host_trace::RpdVersion::v2;
  for (int i = 0; i < 2; ++i) { // and once more over it, as a writer that follows does
    const Status status = writeRpd(events, fuzz::folder() + "/in.rpd", version, session);
    if (!status && status.error().message().find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
