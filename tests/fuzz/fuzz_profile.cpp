// What fadeprobe profile reads besides runs: thread traces of rocprofv3 (code, a wave, occupancy)
// and files of peaks. The parts stand one behind the other, with zero bytes between them.
#include "profile/peaks.h"
#include "profile/thread_trace.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

void put(const std::string &path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Up to a zero byte, or all that is left.
std::string_view next(std::string_view &rest) {
  const auto end = std::min(rest.find('\0'), rest.size());
  const auto part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

const std::string &folder() {
  static const std::string path = [] {
    std::string name = (std::filesystem::temp_directory_path() / "fade-fuzz-XXXXXX").string();
    if (!mkdtemp(name.data())) abort();
    return name;
  }();
  return path;
}

void isOneLine(const std::string &text) {
  if (text.find('\n') != std::string::npos) abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char *>(data), size);
  for (const char *name : {"/code.json", "/se0_sm0_sl0_wv0.json", "/occupancy.json"})
    put(folder() + name, next(rest));
  const auto trace = fade::profile::readThreadTrace(folder());
  if (!trace) isOneLine(trace.error().message());
  if (trace)
    for (const fade::profile::ProfiledKernel &kernel : trace->kernels) {
      const auto &code = kernel.counts.instructions;
      if (code.size() != kernel.time.instructions.size()) abort();
      for (const fade::profile::InstructionTime &time : kernel.time.instructions)
        if ((time.waits_for && *time.waits_for >= code.size()) || time.waits < 0) abort();
    }
  put(folder() + "/peaks", next(rest));
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
