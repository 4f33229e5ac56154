// A handler that was built with the first headers of this ABI, whose structs were shorter.
#include "handler_abi_1.h"

#include <cstdio>

namespace {

struct Old {
  const fade_host *host;
  unsigned long dispatches = 0, records = 0;
};

void *create(const fade_host *host, const char *, char *error, fade_u64 size) {
  if (host->size >= sizeof(fade_host)) return new Old{host};
  std::snprintf(error, size, "the host is shorter than it ever was");
  return nullptr;
}
void *shard(void *handler, const fade_dispatch *) { return handler; }
void records(void *, const fade_batch *) {}
void dispatchEnd(void *handler, const fade_dispatch *dispatch, void *const *, fade_u32) {
  auto &old = *static_cast<Old *>(handler);
  ++old.dispatches;
  old.records += dispatch->records;
}
void shardFree(void *) {}
void report(void *handler) {
  const auto &old = *static_cast<Old *>(handler);
  char text[128];
  const int length = std::snprintf(text, sizeof text,
                                   R"({"type":"old","version":1,"dispatches":%lu,"records":%lu})"
                                   "\n",
                                   old.dispatches, old.records);
  old.host->write(old.host->context, text, static_cast<fade_u64>(length));
}
void destroy(void *handler) { delete static_cast<Old *>(handler); }

} // namespace

extern "C" __attribute__((visibility("default"))) const fade_handler_api *fade_handler() {
  static const fade_handler_api api = {
      sizeof(fade_handler_api),
      1,
      FADE_MESSAGE_VERSION,
      1,
      "Old",
      "counts what it is told of",
      create,
      shard,
      records,
      dispatchEnd,
      shardFree,
      report,
      destroy,
  };
  return &api;
}
