// What the doctor reads of a machine's files: whatever is in one of them, facts, findings and both
// outputs come of it, and so does a copy for others (--collect).
#include "doctor/collect.h"
#include "doctor/kernel_words.h"
#include "doctor/output.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

namespace fs = std::filesystem;
using namespace fade::doctor;

/// Files of different kinds; the first byte of an input chooses one.
constexpr std::array kFiles = {"/fade-doctor/environ",
                               "/fade-doctor/id",
                               "/fade-doctor/devices",
                               "/fade-doctor/dmesg",
                               "/fade-doctor/deaths",
                               "/etc/group",
                               "/etc/os-release",
                               "/etc/environment",
                               "/etc/profile.d/x.sh",
                               "/etc/systemd/system/x.service",
                               "/home/me/.config/fish/config.fish",
                               "/etc/modprobe.d/x.conf",
                               "/etc/ld.so.conf",
                               "/etc/ld.so.cache",
                               "/proc/cmdline",
                               "/proc/version",
                               "/proc/self/mountinfo",
                               "/sys/class/kfd/kfd/topology/nodes/1/properties",
                               "/sys/bus/pci/devices/0000:03:00.0/vendor",
                               "/opt/rocm/.info/version",
                               "/opt/rocm/lib/libhsa-runtime64.so.1.14.60200",
                               "/opt/rocm/lib/librocblas.so.4",
                               "/home/me/app",
                               "/proc/cpuinfo",
                               "/proc/self/attr/current",
                               "/etc/ld.so.preload",
                               "/etc/default/grub",
                               "/etc/kernel/cmdline",
                               "/etc/mkinitcpio.d/x.preset"};

/// A word that is added to the kernel's command line is there then, and is not added again.
void addWord(const Tree &tree) {
  const auto place = kernelLineOf(tree, "a=b");
  if (!place) return;
  const std::string before = tree.text(place->path).value_or(place->fresh);
  const auto once = withKernelWord(tree, place->path, before, "a=b");
  if (!once) return;
  if (once->find("a=b") == once->npos) __builtin_trap();
  const auto twice = withKernelWord(tree, place->path, *once, "a=b");
  if (!twice || *twice != *once) __builtin_trap();
}

std::string newFolder() {
  std::string pattern = "/dev/shm/fade-fuzz-XXXXXX";
  if (!mkdtemp(pattern.data())) {
    pattern = "/tmp/fade-fuzz-XXXXXX";
    if (!mkdtemp(pattern.data())) std::abort();
  }
  return pattern;
}

struct Work {
  std::string folder = newFolder();
  RuleSet rules;
  Work() {
    if (!rules.add(FADE_DOCTOR_RULES).ok()) std::abort();
  }
  ~Work() { fs::remove_all(folder); }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static Work work;
  if (size == 0) return 0;
  const std::string root = work.folder + "/root", copy = work.folder + "/copy";
  const std::string path = root + kFiles[data[0] % kFiles.size()];
  fs::create_directories(fs::path(path).parent_path());
  if (path != root + kFiles[0]) { // so that its home is looked at
    fs::create_directories(root + "/fade-doctor");
    std::ofstream(root + kFiles[0]) << "HOME=/home/me\n";
  }
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(data + 1), static_cast<std::streamsize>(size - 1));
  const LookOptions options{"/home/me/app", work.rules.variables()};
  const Tree tree(root);
  Diagnosis diagnosis;
  diagnosis.facts = look(tree, options);
  diagnosis.findings = work.rules.judge(diagnosis.facts);
  diagnosis.verdict = verdictOf(diagnosis.facts, diagnosis.findings);
  for (const unsigned char c : asTable(diagnosis))
    if (c < 32 && c != '\n') __builtin_trap(); // a terminal would obey it
  if (asJson(diagnosis).empty()) __builtin_trap();
  if (!collect(tree, options, copy)) __builtin_trap();
  addWord(tree);
  fs::remove_all(root);
  fs::remove_all(copy);
  return 0;
}
