// The system around the GPU: kernel, driver, user, device files, container, log.
#include "doctor/look.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/klog.h>
#include <unistd.h>

namespace fade::doctor {
namespace {

constexpr std::size_t kMostLogLines = 200;

std::string valueAfter(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  if (at == text.npos) return "";
  const auto rest = text.substr(at + key.size());
  return std::string(rest.substr(0, rest.find_first_of(" \n,(")));
}

/// gid to name, as /etc/group has it.
std::map<std::string, std::string> groupNames(const Tree &tree) {
  std::map<std::string, std::string> names;
  for (const std::string &line : linesOf(tree.text("/etc/group").value_or(""))) {
    const auto first = line.find(':');
    const auto second = line.find(':', first == line.npos ? first : first + 1);
    if (second == line.npos) continue;
    names.emplace(line.substr(second + 1, line.find(':', second + 1) - second - 1),
                  line.substr(0, first));
  }
  return names;
}

/// The ids in what `id` prints: uid=1000(me) gid=1000(me) groups=1000(me),44(video)
std::vector<std::string> idsIn(std::string_view text) {
  std::vector<std::string> ids;
  const auto at = text.find("groups=");
  if (at == text.npos) return ids;
  std::string_view rest = text.substr(at + 7);
  rest = rest.substr(0, rest.find_first_of(" \n"));
  while (!rest.empty()) {
    const auto comma = std::min(rest.find(','), rest.size());
    ids.emplace_back(rest.substr(0, std::min(rest.find('('), comma)));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return ids;
}

std::string containerOf(const Tree &tree) {
  if (tree.exists("/.dockerenv")) return "docker";
  if (tree.exists("/run/.containerenv")) return "podman";
  const std::string cgroup = tree.text("/proc/1/cgroup").value_or("");
  for (const char *name : {"kubepods", "docker", "podman", "libpod", "lxc"})
    if (cgroup.find(name) != cgroup.npos) return name == std::string("libpod") ? "podman" : name;
  if (const auto systemd = tree.line("/run/systemd/container"); systemd && !systemd->empty())
    return *systemd;
  // With cgroup v2 a container sees nothing of its own name; what its file systems are called, and
  // what is put into its environment, tells.
  const auto environment = environmentOf(tree);
  if (environment.contains("KUBERNETES_SERVICE_HOST") ||
      tree.exists("/var/run/secrets/kubernetes.io"))
    return "kubernetes";
  if (tree.exists("/.singularity.d") || environment.contains("APPTAINER_CONTAINER") ||
      environment.contains("SINGULARITY_CONTAINER"))
    return "apptainer";
  constexpr std::array<std::pair<const char *, const char *>, 7> signs = {
      {{"/kubelet/pods/", "kubernetes"},
       {"/var/lib/docker/", "docker"},
       {"/docker/overlay2/", "docker"},
       {"/containers/storage/", "podman"},
       {"io.containerd.", "containerd"},
       {"fuse.lxcfs", "lxc"},
       {"/lxc/", "lxc"}}};
  for (const std::string &line : linesOf(tree.text("/proc/self/mountinfo").value_or(""))) {
    // Of the host's own mounts only the root is one of the container's.
    const auto words = wordsOf(line);
    const bool is_root = words.size() > 4 && words[4] == "/";
    const bool is_of_container =
        words.size() > 4 &&
        (words[4] == "/etc/hostname" || words[4] == "/etc/hosts" || words[4].starts_with("/proc/"));
    for (const auto &[sign, name] : signs)
      if ((is_root || is_of_container) && line.find(sign) != line.npos) return name;
  }
  const auto container = environment.find("container"); // as systemd, podman and lxc set it
  return container == environment.end() ? "" : container->second.substr(0, 40);
}

void lookAtCommandLine(const Tree &tree, Record &machine) {
  const std::string line = tree.line("/proc/cmdline").value_or("");
  machine.set("cmdline", line);
  for (const std::string &word : wordsOf(line)) {
    const auto equals = std::min(word.find('='), word.size());
    machine.set("cmdline." + word.substr(0, equals),
                equals < word.size() ? word.substr(equals + 1) : "set");
  }
}

/// What modprobe will tell the driver at the next start, and whether it may load it at all.
void lookAtModprobe(const Tree &tree, Record &machine) {
  for (const char *folder :
       {"/usr/lib/modprobe.d", "/lib/modprobe.d", "/etc/modprobe.d", "/run/modprobe.d"})
    for (const std::string &name : tree.list(folder)) {
      if (!name.ends_with(".conf")) continue;
      const std::string path = fmt::format("{}/{}", folder, name);
      for (const std::string &line : linesOf(tree.text(path).value_or(""))) {
        const auto words = wordsOf(line);
        if (words.size() < 2 || words[1] != "amdgpu") continue;
        if (words[0] == "blacklist") machine.set("amdgpu.blacklisted_in", path);
        if (words[0] != "options") continue;
        for (std::size_t i = 2; i < words.size(); ++i) {
          const auto equals = words[i].find('=');
          if (equals != 0 && equals != std::string::npos)
            machine.set("modprobe." + words[i].substr(0, equals), words[i].substr(equals + 1));
        }
      }
    }
}

void lookAtDriver(const Tree &tree, Record &machine) {
  const bool is_loaded = tree.exists("/sys/module/amdgpu");
  machine.set("amdgpu", is_loaded ? "loaded" : "missing");
  machine.set("amdgpu.version", tree.line("/sys/module/amdgpu/version").value_or(""));
  for (const std::string &name : tree.list("/sys/module/amdgpu/parameters"))
    machine.set("amdgpu." + name, tree.line("/sys/module/amdgpu/parameters/" + name).value_or(""));
  if (tree.exists("/sys/module/nvidia")) machine.set("nvidia", "loaded");
  // AMD's own driver, compiled for this kernel; not signed by the distribution.
  for (const char *folder : {"updates/dkms", "extra"})
    for (const char *end : {"", ".zst", ".xz", ".gz"}) {
      const std::string path =
          fmt::format("/lib/modules/{}/{}/amdgpu.ko{}", machine.get("kernel"), folder, end);
      if (tree.exists(path)) machine.set("amdgpu.dkms", path);
    }
}

/// What may forbid things that groups and modes allow.
void lookAtPolicies(const Tree &tree, Record &machine) {
  constexpr std::size_t size = 5; // four bytes of attributes, then the value
  const auto secure =
      tree.text("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", size);
  if (secure && secure->size() == size)
    machine.set("secure_boot", secure->back() == 0 ? "off" : "on");
  if (const auto enforce = tree.line("/sys/fs/selinux/enforce"))
    machine.set("selinux", *enforce == "1" ? "enforcing" : "permissive");
  // user:role:domain:level; AppArmor uses the same file for other texts.
  const std::string label = tree.line("/proc/self/attr/current").value_or("");
  const auto first = label.find(':'), second = label.find(':', first + 1);
  if (first == label.npos || second == label.npos) return;
  const auto end = std::min(label.find(':', second + 1), label.size());
  machine.set("selinux_domain", label.substr(second + 1, end - second - 1));
  if (const auto allowed = tree.line("/sys/fs/selinux/booleans/container_use_devices"))
    machine.set("selinux_devices", allowed->starts_with("1") ? "yes" : "no");
}

void lookAtIommu(const Tree &tree, Record &machine) {
  machine.set("iommu", tree.list("/sys/class/iommu").empty() ? "off" : "on");
  for (const std::string &group : tree.list("/sys/kernel/iommu_groups"))
    if (const auto type = tree.line("/sys/kernel/iommu_groups/" + group + "/type"))
      machine.addTo("iommu.types", *type);
}

/// Whether the user may read and write, by owner, group and mode.
bool mayUse(const Record &user, uint64_t mode, const std::string &uid, const std::string &gid) {
  if (user.is("uid", "0")) return true;
  if (user.is("uid", uid)) return (mode & 0600) == 0600;
  const auto groups = wordsOf(user.get("gids"));
  if (std::ranges::find(groups, gid) != groups.end()) return (mode & 060) == 060;
  return (mode & 06) == 06;
}

struct DeviceFile {
  std::string path, uid, gid;
  uint64_t mode = 0;
  bool is_denied = false; ///< in a copied tree: the kernel refused it there
};

std::vector<DeviceFile> deviceFiles(const Tree &tree) {
  std::vector<DeviceFile> found;
  const auto notes = tree.text(std::string(kNotes) + "devices");
  if (notes) {
    for (const std::string &line : linesOf(*notes))
      if (const auto words = wordsOf(line); words.size() == 4 || words.size() == 5) {
        uint64_t mode = 0;
        for (const char digit : words[0])
          if (digit >= '0' && digit <= '7') mode = mode * 8 + static_cast<uint64_t>(digit - '0');
        found.push_back({words[3], words[1], words[2], mode & 07777,
                         words.size() == 5 && words[4] == "denied"});
      }
    return found;
  }
  std::vector<std::string> paths = {"/dev/kfd"};
  for (const std::string &name : tree.list("/dev/dri"))
    if (name.starts_with("renderD")) paths.push_back("/dev/dri/" + name);
  for (const std::string &path : paths)
    if (const auto status = tree.status(path))
      found.push_back({path, std::to_string(status->st_uid), std::to_string(status->st_gid),
                       status->st_mode & 07777u, false});
  return found;
}

} // namespace

void lookAtUser(const Tree &tree, Facts &facts) {
  Record &user = facts.one("user");
  const auto names = groupNames(tree);
  std::vector<std::string> ids;
  if (tree.isThisMachine()) {
    user.set("uid", std::to_string(geteuid()));
    std::vector<gid_t> groups(static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
    if (!groups.empty() && getgroups(static_cast<int>(groups.size()), groups.data()) < 0)
      groups.clear();
    groups.push_back(getegid());
    for (const gid_t group : groups) ids.push_back(std::to_string(group));
  } else if (const auto text = tree.text(std::string(kNotes) + "id")) {
    user.set("uid", valueAfter(*text, "uid="));
    ids = idsIn(*text);
  }
  for (const std::string &id : ids) {
    user.addTo("gids", id);
    const auto name = names.find(id);
    user.addTo("groups", name == names.end() ? id : name->second);
  }
}

void lookAtSystem(const Tree &tree, Facts &facts) {
  Record &machine = facts.one("machine");
  const std::string version = tree.line("/proc/version").value_or("");
  machine.set(
      "kernel",
      tree.line("/proc/sys/kernel/osrelease").value_or(valueAfter(version, "Linux version ")));
  const std::string kernel = machine.get("kernel");
  if (kernel.find("icrosoft") != kernel.npos) machine.set("wsl", "yes");
  for (const std::string &line : linesOf(tree.text("/etc/os-release").value_or("")))
    if (line.starts_with("PRETTY_NAME=")) {
      std::string name = line.substr(12);
      std::erase(name, '"');
      machine.set("os", name);
    }
  machine.set("vendor", tree.line("/sys/class/dmi/id/sys_vendor").value_or(""));
  machine.set("container", containerOf(tree));
  lookAtCommandLine(tree, machine);
  lookAtDriver(tree, machine);
  lookAtPolicies(tree, machine);
  lookAtModprobe(tree, machine);
  lookAtIommu(tree, machine);
}

void lookAtDevices(const Tree &tree, Facts &facts) {
  Record &machine = facts.one("machine");
  const Record &user = facts.one("user");
  const auto names = groupNames(tree);
  machine.set("kfd", "missing");
  for (const DeviceFile &file : deviceFiles(tree)) {
    Record &device = facts.add("device");
    device.set("path", file.path);
    device.set("mode", fmt::format("{:04o}", file.mode));
    device.set("gid", file.gid);
    const auto name = names.find(file.gid);
    device.set("group", name == names.end() ? file.gid : name->second);
    device.set("group_has_name", name == names.end() ? "no" : "yes");
    device.set("group_may", (file.mode & 060) == 060 ? "yes" : "no");
    bool usable = mayUse(user, file.mode, file.uid, file.gid) && !file.is_denied;
    if (tree.isThisMachine())
      usable = faccessat(AT_FDCWD, file.path.c_str(), R_OK | W_OK, AT_EACCESS) == 0;
    if (!usable && mayUse(user, file.mode, file.uid, file.gid)) device.set("denied", "yes");
    if (tree.isThisMachine() || user.find("uid")) device.set("usable", usable ? "yes" : "no");
    if (file.path == "/dev/kfd") {
      machine.set("kfd", "present");
      device.set("role", "driver");
      continue;
    }
    if (!file.path.starts_with("/dev/dri/renderD")) continue;
    const std::string minor = file.path.substr(16);
    for (Record *gpu : facts.of("gpu"))
      if (gpu->is("render_minor", minor)) {
        device.set("role", "gpu");
        device.set("node", gpu->get("node"));
        gpu->set("render_node", "present");
      }
  }
  for (Record *gpu : facts.of("gpu"))
    if (!gpu->find("render_node") && gpu->find("render_minor")) gpu->set("render_node", "missing");
}

void lookAtLog(const Tree &tree, Facts &facts) {
  std::string text;
  if (const auto note = tree.tail(std::string(kNotes) + "dmesg", 1 << 20)) text = *note;
  if (text.empty() && tree.isThisMachine()) {
    constexpr int read_all = 3;
    text.resize(1 << 20);
    const int size = klogctl(read_all, text.data(), static_cast<int>(text.size()));
    text.resize(static_cast<std::size_t>(std::max(size, 0))); // often not allowed
  }
  for (const char *path : {"/var/log/kern.log", "/var/log/dmesg"})
    if (text.empty()) text = tree.tail(path, 1 << 20).value_or("");
  std::vector<std::string> lines;
  for (std::string &line : linesOf(text))
    if (line.find("amdgpu") != line.npos || line.find("kfd") != line.npos)
      lines.push_back(line.substr(0, 500));
  if (lines.size() > kMostLogLines)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kMostLogLines));
  std::ranges::reverse(lines); // the latest first
  for (std::string &line : lines) facts.add("log").set("line", std::move(line));
}

Facts look(const Tree &tree, const LookOptions &options) {
  Facts facts;
  lookAtUser(tree, facts);
  lookAtSystem(tree, facts);
  lookAtVariables(tree, options.variables, facts);
  lookAtGpus(tree, facts);
  lookAtDevices(tree, facts);
  lookAtLog(tree, facts);
  lookAtDeaths(tree, facts);
  lookAtRocm(tree, options.program, facts);
  lookForReaders(tree, options.variables, facts);
  if (!options.program.empty()) lookAtProgram(tree, options.program, facts);
  return facts;
}

} // namespace fade::doctor
