#include "kfd/virtual_files.h"

namespace fade::sim::kfd {
namespace {

std::vector<std::string> components(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    size_t slash = path.find('/');
    std::string_view part = path.substr(0, slash);
    path = slash == path.npos ? "" : path.substr(slash + 1);
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

std::string parent_of(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

} // namespace

void VirtualFiles::add(const std::string &path, VirtualNode node) {
  if (path != "/" && !nodes_.contains(parent_of(path))) add(parent_of(path), {});
  node.inode = nodes_.size() + 1;
  nodes_[path] = std::move(node);
}

void VirtualFiles::file(const std::string &path, std::string text) {
  add(path, {.type = VirtualNode::Type::file, .text = std::move(text)});
}
void VirtualFiles::device(const std::string &path, uint64_t number) {
  add(path, {.type = VirtualNode::Type::device, .text = {}, .device_number = number});
}
void VirtualFiles::directory(const std::string &path) { add(path, {}); }
void VirtualFiles::link(const std::string &path, const std::string &target) {
  add(path, {.type = VirtualNode::Type::link, .text = target});
}

std::string VirtualFiles::resolve(std::string_view path, bool follow_last) const {
  std::vector<std::string> todo = components(path);
  std::string at = "/";
  int links = 0;
  for (size_t i = 0; i < todo.size(); ++i) {
    if (todo[i] == ".") continue;
    if (todo[i] == "..") {
      at = parent_of(at);
      continue;
    }
    std::string next = at == "/" ? at + todo[i] : at + "/" + todo[i];
    auto it = nodes_.find(next);
    if (it == nodes_.end()) return {};
    if (it->second.type == VirtualNode::Type::link && (i + 1 < todo.size() || follow_last)) {
      if (++links > 16) return {};
      auto rest = components(it->second.text);
      if (it->second.text.starts_with('/')) at = "/";
      rest.insert(rest.end(), todo.begin() + static_cast<std::ptrdiff_t>(i) + 1, todo.end());
      todo = std::move(rest);
      i = static_cast<size_t>(-1);
      continue;
    }
    at = next;
  }
  return at;
}

const VirtualNode *VirtualFiles::find(std::string_view path, bool follow) const {
  auto it = nodes_.find(resolve(path, follow));
  return it == nodes_.end() ? nullptr : &it->second;
}

std::vector<std::string> VirtualFiles::list(std::string_view path) const {
  std::string directory = resolve(path);
  std::vector<std::string> names;
  if (directory.empty()) return names;
  if (directory != "/") directory += '/';
  for (auto it = nodes_.lower_bound(directory); it != nodes_.end(); ++it) {
    if (!it->first.starts_with(directory)) break;
    std::string name = it->first.substr(directory.size());
    if (!name.empty() && name.find('/') == name.npos) names.push_back(name);
  }
  return names;
}

} // namespace fade::sim::kfd
