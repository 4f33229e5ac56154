// Directories with other versions of kernels: code objects (*.hsaco) at any depth, found by the
// names of their kernels. Whoever keeps a thread for it can wait for changes of the directories and
// read them.
#pragma once

#include "dispatch/loaded_code.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace fade {

class KernelCache {
public:
  explicit KernelCache(std::vector<std::string> directories);
  ~KernelCache();
  KernelCache(const KernelCache &) = delete;
  KernelCache &operator=(const KernelCache &) = delete;

  bool empty() const { return directories_.empty(); }
  /// Code objects with a kernel of this name (without ".kd"), by path, as they were read last. Any
  /// thread.
  std::vector<std::shared_ptr<const LoadedCode>> find(const std::string &symbol) const;

  /// Whether something has changed since refresh() began. Asks the system and reads no files. Any
  /// thread.
  bool hasChanged() const;
  /// Waits until something has changed and changes pause, or for ever if the system cannot tell;
  /// wake() ends it.
  void waitForChange() const;
  void wake() const;
  /// Reads what has changed. Returns the names of kernels that are not found in the same code as
  /// before. One thread at a time.
  std::set<std::string> refresh();

private:
  struct File {
    std::filesystem::file_time_type time;
    uintmax_t size = 0;
    std::vector<std::shared_ptr<const LoadedCode>> code;
  };

  using Kernels = std::map<std::string, std::vector<std::shared_ptr<const LoadedCode>>>;

  Kernels scan();
  void watch(const std::string &directory);
  void visit(const std::filesystem::directory_entry &entry, std::map<std::string, File> &now);
  static File read(const std::filesystem::directory_entry &entry);

  const std::vector<std::string> directories_;
  std::map<std::string, File> files_;
  mutable std::mutex mutex_;
  Kernels kernels_;
  int notify_ = -1; ///< changes of the directories, as the system tells them
  int wake_ = -1;
};

} // namespace fade
