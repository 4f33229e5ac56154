// One stage of the doctor's probes. The last line on stdout that starts with "verdict " says how it
// ended; whatever else happens to this process, the doctor is another one.
#include "hsa_device.h"
#include "stages.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unistd.h>

namespace fade::probe {

namespace {

void writeLine(const char *outcome, const std::string &text) {
  std::string line = "verdict " + std::string(outcome) + " " + text;
  for (char &c : line)
    if (c == '\n') c = ' ';
  line += '\n';
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t n = write(STDOUT_FILENO, line.data() + done, line.size() - done);
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
}

} // namespace

void endWith(const char *outcome, const std::string &text) {
  writeLine(outcome, text);
  // What destructors of a broken runtime would do is of no interest any more.
  _exit(std::strcmp(outcome, "passed") == 0 ? 0 : 1);
}

/// libfade reports when the process ends, if it ends as programs do.
int fadeKernel(std::string_view word, const char *rounds) {
  try {
    if (word == "fade-hip")
      writeLine("passed", runFadeKernelWithHip());
    else if (word == "fade-often")
      writeLine("passed", runFadeKernelOften(static_cast<uint32_t>(std::atoi(rounds))));
    else
      writeLine("passed", runFadeKernel());
    return 0;
  } catch (const Skipped &why) {
    writeLine("skipped", why.what());
  } catch (const std::exception &why) {
    writeLine("failed", why.what());
  }
  return 1;
}

int peaks(bool only_tried) {
  try {
    endWith("passed", measurePeaks(only_tried));
  } catch (const Skipped &why) {
    endWith("skipped", why.what());
  } catch (const std::exception &why) {
    endWith("failed", why.what());
  }
}

} // namespace fade::probe

int main(int argc, char **argv) {
  using namespace fade::probe;
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (argc == (word == "fade-often" ? 3 : 2) && word.starts_with("fade-"))
    return fadeKernel(word, argv[argc - 1]);
  if (argc == 3 && word == "has-kernels-for") return codeFor("probe", argv[2]).empty() ? 1 : 0;
  if (argc != 2) {
    for (const Stage &stage : stages())
      std::printf("%-10s %s\n", stage.name.data(), stage.about.data());
    return argc == 1 ? 0 : 2;
  }
  for (const char *peak : {"peaks", "try-peaks"})
    if (word == peak) return peaks(word == "try-peaks");
  for (const Stage &stage : stages())
    if (stage.name == argv[1]) {
      try {
        endWith("passed", stage.run());
      } catch (const Skipped &why) {
        endWith("skipped", why.what());
      } catch (const Limited &why) {
        endWith("limited", why.what());
      } catch (const std::exception &why) {
        endWith("failed", why.what());
      }
    }
  std::fprintf(stderr, "fade-doctor-probe: no stage '%s'\n", argv[1]);
  return 2;
}
