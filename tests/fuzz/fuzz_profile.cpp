// What fadeprobe profile reads besides runs: thread traces of rocprofv3 (code, a wave, occupancy)
// and files of peaks. The parts stand one behind the other, with zero bytes between them.
#include "files.h"
#include "profiles/peaks_file.h"
#include "profiles/thread_trace.h"

namespace {

using namespace fade::fuzz;

void isOneLine(const std::string &text) {
  if (text.find('\n') != std::string::npos) abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char *>(data), size);
  for (const char *name : {"code.json", "se0_sm0_sl0_wv0.json", "occupancy.json"})
    put(name, next(rest));
  const auto trace = fade::profile::readThreadTrace(folder());
  if (!trace) isOneLine(trace.error().message());
  if (trace)
    for (const fade::profile::ProfiledKernel &kernel : trace->kernels) {
      const auto &code = kernel.counts.instructions;
      if (code.size() != kernel.time.instructions.size()) abort();
      for (const fade::profile::InstructionTime &time : kernel.time.instructions)
        if ((time.waits_for && *time.waits_for >= code.size()) || time.waits < 0) abort();
    }
  put("peaks", next(rest));
  const auto peaks = fade::profile::readPeaks(folder() + "/peaks");
  if (!peaks) isOneLine(peaks.error().message());
  if (peaks)
    for (const fade::profile::MeasuredPeaks &one : *peaks) {
      isOneLine(fade::profile::lineOf(one));
      fade::profile::GpuModel model = fade::profile::GpuModel::of(one.target);
      model.use(one);
    }
  (void)fade::profile::parsePeaks(std::string(rest));
  return 0;
}
