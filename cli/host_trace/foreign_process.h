// Another process, as /proc shows it, and the rights of its user. fadeprobe may be run by root for
// somebody else's process: whatever that process says of itself was chosen by its user, so files
// that it names are opened with the rights of that user.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fade::host_trace {

/// Whom a process acts for.
struct ProcessUser {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups; ///< further ones

  bool operator==(const ProcessUser &) const = default;
};

class ForeignProcess {
public:
  static Result<ForeignProcess> open(uint32_t pid);
  ForeignProcess(ForeignProcess &&other) noexcept;
  ForeignProcess &operator=(ForeignProcess &&) = delete;
  ~ForeignProcess();

  /// A file of its folder in /proc. It is always of this process, also if the number belongs to
  /// another one by now.
  Result<std::string> read(const char *name) const;
  /// The user who chose what it was started with; an error if there is no single one, as for a
  /// program that runs with the rights of its file's owner.
  Result<ProcessUser> user() const;
  /// With which it was started.
  Result<std::map<std::string, std::string>> environment() const;

private:
  ForeignProcess(uint32_t pid, int folder) : pid_(pid), folder_(folder) {}

  uint32_t pid_;
  int folder_;
};

/// While it lives, this process opens files as that user if it is root's, else as always.
class RightsOf {
public:
  static Result<RightsOf> take(const ProcessUser &user);
  RightsOf(RightsOf &&other) noexcept;
  RightsOf &operator=(RightsOf &&) = delete;
  ~RightsOf();

private:
  RightsOf(bool is_changed, std::vector<gid_t> groups, gid_t group)
      : is_changed_(is_changed), groups_(std::move(groups)), group_(group) {}

  bool is_changed_;
  std::vector<gid_t> groups_; ///< to come back to
  gid_t group_;
};

} // namespace fade::host_trace
