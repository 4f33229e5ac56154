// JSON lines of a run, which reports, comparisons and conditions are made from.
#include "analysis/run_log.h"
#include "files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  using namespace fade;
  fuzz::put("run.jsonl", {reinterpret_cast<const char *>(data), size});
  const auto log = report::readRunLog(fuzz::folder() + "/run.jsonl");
  const auto isOneLine = [](const std::string &text) {
    if (text.empty() || text.find('\n') != text.npos) std::abort();
  };
  if (!log) isOneLine(log.error().message());
  if (log)
    for (const std::string &problem : log->problems) isOneLine(problem);
  return 0;
}
