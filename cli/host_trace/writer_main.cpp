// fade-trace-writer EVENTS OUTPUT FORMAT SECONDS: libfade.so starts it when FADE_TRACE names
// another file than one of host events. Descriptor 3 is a socket whose other end the recording
// processes have.
#include "host_trace/trace_formats.h"
#include "host_trace/writer.h"

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char **argv) {
  using namespace fade::host_trace;
  constexpr int recorders = 3;
  if (argc != 5 || (!isForm(argv[3]) && argv[3] != kRunForm)) {
    std::fputs("fade-trace-writer is started by libfade.so\n", stderr);
    return 2;
  }
  const WriterOptions options{argv[1], argv[2], argv[3],
                              static_cast<unsigned>(std::strtoul(argv[4], nullptr, 10)), recorders};
  const fade::Status status = followEvents(options);
  if (status) return 0;
  std::fputs(("fade: " + status.error().message() + "; the recorded events are in " +
              options.events + "\n")
                 .c_str(),
             stderr);
  return 1;
}
