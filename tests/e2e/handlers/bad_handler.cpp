// Handlers that do what handlers must not do. BAD says what:
//   NEWER, OLDER, RECORDS, SHORT, HOLES: interfaces that do not fit
//   NO_ENTRY: exports nothing
//   THROW_ENTRY, THROW_CREATE, THROW_RECORDS, THROW_END, THROW_REPORT
//   CRASH_CREATE, ABORT_CREATE, CRASH_RECORDS, CRASH_REPORT
//   BREAK_HEAP, BREAK_HEAP_END: write behind their memory, so that malloc() ends the process, on
//     records and at the end of a dispatch
//   EXIT_CREATE: ends the process
//   WRITE_CREATE: writes wherever it can when it is created; its option is the name of a file
//   ENDLESS, ENDLESS_END: never come back from records, from dispatch_end
//   SLOW_REPORT: takes seconds
//   REFUSE: says no, with a reason
#include "fade/handler_abi.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <stdexcept>
#include <string_view>
#include <unistd.h>

#define NEWER 1
#define OLDER 2
#define RECORDS 3
#define SHORT 4
#define HOLES 5
#define NO_ENTRY 6
#define THROW_ENTRY 7
#define THROW_CREATE 8
#define THROW_RECORDS 9
#define THROW_END 10
#define THROW_REPORT 11
#define CRASH_CREATE 12
#define ABORT_CREATE 13
#define CRASH_RECORDS 14
#define CRASH_REPORT 15
#define REFUSE 16
#define ENDLESS 17
#define ENDLESS_END 18
#define SLOW_REPORT 19
#define EXIT_CREATE 20
#define WRITE_CREATE 21
#define BREAK_HEAP 22
#define BREAK_HEAP_END 23

namespace {

int instance;

void misbehave(int if_throwing, int if_crashing) {
  if (BAD == if_throwing) throw std::runtime_error("no luck today");
  if (BAD == if_crashing) *reinterpret_cast<volatile int *>(16) = 1;
}

void *volatile keep = nullptr;

/// The size of what is free behind the last allocation becomes one that cannot be, which the next
/// large allocation of this thread finds out.
void breakHeap() {
  constexpr std::size_t large = 100'000; // beyond what threads keep for themselves
  auto *last = static_cast<unsigned char *>(std::malloc(large));
  std::memset(last + malloc_usable_size(last), 0xff, 8);
  for (int i = 0; i < 100; ++i) keep = std::malloc(large);
}

void *create(const fade_host *host, const char *options, char *error, fade_u64 size) {
  misbehave(THROW_CREATE, CRASH_CREATE);
  if (BAD == ABORT_CREATE) std::abort();
  if (BAD == REFUSE) {
    std::snprintf(error, size, "it is Sunday");
    return nullptr;
  }
  if (BAD == EXIT_CREATE) _exit(0);
  if (BAD == WRITE_CREATE) {
    const std::string_view line = R"({"type":"text","version":1,"text":"created"})"
                                  "\n";
    host->write(host->context, line.data(), line.size());
    host->write_file(host->context, options, "created\n", 8);
    host->warn(host->context, "created");
    (void)!write(STDOUT_FILENO, "created\n", 8);
    (void)!write(STDERR_FILENO, "created\n", 8);
  }
  return &instance;
}
void *shard(void *, const fade_dispatch *) { return &instance; }
void records(void *, const fade_batch *) {
  misbehave(THROW_RECORDS, CRASH_RECORDS);
  if (BAD == BREAK_HEAP) breakHeap();
  while (BAD == ENDLESS) pause();
}
void dispatchEnd(void *, const fade_dispatch *, void *const *, fade_u32) {
  misbehave(THROW_END, 0);
  if (BAD == BREAK_HEAP_END) breakHeap();
  while (BAD == ENDLESS_END) pause();
}
void shardFree(void *) {}
void report(void *) {
  misbehave(THROW_REPORT, CRASH_REPORT);
  if (BAD == SLOW_REPORT) sleep(5);
}
void destroy(void *) {}

} // namespace

#if BAD == NO_ENTRY
#define ENTRY fade_handler_of_another_kind
#else
#define ENTRY fade_handler
#endif

extern "C" __attribute__((visibility("default"))) const fade_handler_api *ENTRY() {
  static fade_handler_api api{};
  misbehave(THROW_ENTRY, 0);
  api.size = BAD == SHORT ? offsetof(fade_handler_api, destroy) : sizeof api;
  api.abi = BAD == NEWER ? FADE_HANDLER_ABI + 1 : BAD == OLDER ? 0 : FADE_HANDLER_ABI;
  api.message_version = BAD == RECORDS ? FADE_MESSAGE_VERSION + 1 : FADE_MESSAGE_VERSION;
  api.needs = FADE_NEEDS_ACCESSES;
  api.name = "Bad";
  api.summary = "misbehaves";
  api.create = create;
  api.shard = shard;
  api.records = BAD == HOLES ? nullptr : records;
  api.dispatch_end = dispatchEnd;
  api.shard_free = shardFree;
  api.report = report;
  api.destroy = destroy;
  return &api;
}
