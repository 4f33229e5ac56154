// A small read-only file tree in memory: what the application sees under /sys and /dev in place of
// the real one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fade::sim::kfd {

struct VirtualNode {
  enum class Type : uint8_t { directory, file, device, link };
  Type type = Type::directory;
  std::string text;           // of a file; target of a link
  uint64_t device_number = 0; // makedev(), of a device
  uint64_t inode = 0;
};

class VirtualFiles {
public:
  VirtualFiles() { add("/", {}); }

  // Parents are made as needed.
  void file(const std::string &path, std::string text);
  void device(const std::string &path, uint64_t device_number);
  void directory(const std::string &path);
  void link(const std::string &path, const std::string &target);

  // Null when there is no such node. Links are followed, the last one only if asked for.
  const VirtualNode *find(std::string_view path, bool follow = true) const;
  std::vector<std::string> list(std::string_view path) const;
  // The path without ".", "..", doubled slashes and links; empty when it does not exist.
  std::string resolve(std::string_view path, bool follow_last = true) const;

private:
  void add(const std::string &path, VirtualNode node);
  std::map<std::string, VirtualNode, std::less<>> nodes_; // by absolute path
};

} // namespace fade::sim::kfd
