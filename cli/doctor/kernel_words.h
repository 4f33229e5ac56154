// Where a machine keeps the words of its kernel's command line, and how one is added: GRUB,
// systemd-boot, unified kernel images.
#pragma once

#include "base/result.h"
#include "doctor/tree.h"

namespace fade::doctor {

constexpr const char *kGrub = "/etc/default/grub";
/// What kernel-install, ukify, mkinitcpio and sdbootutil put into entries of systemd-boot and into
/// unified kernel images.
constexpr const char *kCommandLine = "/etc/kernel/cmdline";
/// With such files mkinitcpio does not read the one above.
constexpr const char *kCommandLinePart = "/etc/cmdline.d/fade-doctor.conf";

struct KernelLine {
  std::string path;    ///< one of the above
  std::string fresh;   ///< what the file starts with if it is not there
  std::string command; ///< that makes it take effect
};

/// An error says where `word` has to be added by hand, and how.
Result<KernelLine> kernelLineOf(const Tree &tree, const std::string &word);

/// The file's contents with the word, which may be in it already.
Result<std::string> withKernelWord(const Tree &tree, const std::string &path,
                                   const std::string &contents, const std::string &word);

} // namespace fade::doctor
