// Which files may be shown as source. Their names come from runs and binaries that somebody else
// may have sent, and what is shown may be sent on: /home/me/.ssh/id_ed25519 is no source.
#pragma once

#include <string>
#include <vector>

namespace fade::cli {

/// A regular file whose name, also that which links lead to, is one of a source in a programming
/// language. `roots`: folders that it has to be below; none: anywhere.
bool isSourceFile(const std::string &path, const std::vector<std::string> &roots = {});
/// Whether it would be one, were it below the roots.
bool isWithheld(const std::string &path, const std::vector<std::string> &roots);

} // namespace fade::cli
