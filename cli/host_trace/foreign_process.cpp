#include "host_trace/foreign_process.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sstream>
#include <unistd.h>

namespace fade::host_trace {
namespace {

constexpr std::size_t kMostText = 64 << 20; // memory maps of large programs are long

/// The numbers in a line "Uid:\t1000\t1000\t1000\t1000".
std::vector<uint32_t> numbersIn(const std::string &status, const char *name) {
  std::vector<uint32_t> numbers;
  std::istringstream lines(status);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream words(line.substr(std::strlen(name)));
    for (uint32_t number = 0; words >> number;) numbers.push_back(number);
    break;
  }
  return numbers;
}

/// Real, effective, saved and for files: all the same.
bool isOne(const std::vector<uint32_t> &ids) {
  return ids.size() == 4 && ids[1] == ids[0] && ids[2] == ids[0] && ids[3] == ids[0];
}

/// Whether it was started with more rights than those of who started it. Unknown counts as yes.
bool hasGainedRights(const std::string &auxiliary) {
  for (std::size_t at = 0; at + sizeof(Elf64_auxv_t) <= auxiliary.size();
       at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry{};
    std::memcpy(&entry, auxiliary.data() + at, sizeof entry);
    if (entry.a_type == AT_SECURE) return entry.a_un.a_val != 0;
  }
  return true;
}

} // namespace

Result<ForeignProcess> ForeignProcess::open(uint32_t pid) {
  const int folder = ::open(fmt::format("/proc/{}", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) return ForeignProcess(pid, folder);
  if (errno == ENOENT) return Error::of(fmt::format("no such process: {}", pid));
  return Error::of(fmt::format("process {}: {}", pid, std::strerror(errno)));
}

ForeignProcess::ForeignProcess(ForeignProcess &&other) noexcept
    : pid_(other.pid_), folder_(std::exchange(other.folder_, -1)) {}

ForeignProcess::~ForeignProcess() {
  if (folder_ >= 0) close(folder_);
}

Result<std::string> ForeignProcess::read(const char *name) const {
  const auto failed = [&](int error) {
    return error == ESRCH || error == ENOENT
               ? Error::of(fmt::format("no such process: {}", pid_))
               : Error::of(fmt::format("process {}: {}", pid_, std::strerror(error)));
  };
  const int fd = openat(folder_, name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed(errno);
  std::string text;
  std::array<char, 65536> buffer;
  ssize_t got = 0;
  while ((got = ::read(fd, buffer.data(), buffer.size())) > 0 && text.size() < kMostText)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  const int error = got < 0 ? errno : 0;
  close(fd);
  if (error != 0) return failed(error);
  return text;
}

Result<ProcessUser> ForeignProcess::user() const {
  const auto status = read("status");
  if (!status) return status.error();
  const auto auxiliary = read("auxv");
  if (!auxiliary) return auxiliary.error();
  const auto users = numbersIn(*status, "Uid:"), groups = numbersIn(*status, "Gid:");
  if (!isOne(users) || !isOne(groups) || hasGainedRights(*auxiliary))
    return Error::of(fmt::format(
        "process {} was started with another user's rights; its recording cannot be switched",
        pid_));
  return ProcessUser{users[0], groups[0], numbersIn(*status, "Groups:")};
}

Result<std::map<std::string, std::string>> ForeignProcess::environment() const {
  const auto text = read("environ");
  if (!text) return text.error();
  std::map<std::string, std::string> variables;
  std::istringstream file(*text);
  for (std::string line; std::getline(file, line, '\0');)
    if (const auto equals = line.find('='); equals != line.npos)
      variables.emplace(line.substr(0, equals), line.substr(equals + 1));
  return variables;
}

Result<RightsOf> RightsOf::take(const ProcessUser &user) {
  if (geteuid() != 0 || user.user == 0) return RightsOf(false, {}, 0);
  const int count = getgroups(0, nullptr);
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(count, 0)));
  if (count < 0 || getgroups(count, groups.data()) < 0)
    return Error::of(fmt::format("the groups of this process: {}", std::strerror(errno)));
  RightsOf rights(true, std::move(groups), getegid());
  // The user last: after that there is no right to change the rest.
  if (setgroups(user.groups.size(), user.groups.data()) != 0 || setegid(user.group) != 0 ||
      seteuid(user.user) != 0)
    return Error::of(fmt::format("cannot act as user {}: {}", user.user, std::strerror(errno)));
  return rights;
}

RightsOf::RightsOf(RightsOf &&other) noexcept
    : is_changed_(std::exchange(other.is_changed_, false)), groups_(std::move(other.groups_)),
      group_(other.group_) {}

RightsOf::~RightsOf() {
  if (!is_changed_) return;
  // With half of the rights of each nothing more may be done.
  if (seteuid(0) != 0 || setegid(group_) != 0 || setgroups(groups_.size(), groups_.data()) != 0)
    std::abort();
}

} // namespace fade::host_trace
