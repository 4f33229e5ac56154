// Directories with other versions of kernels: code objects (*.hsaco) at any depth, found by the
// names of their kernels, and looked for again when the directories change.
#pragma once

#include "dispatch/loaded_code.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
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
  /// Grows when something has changed. Cheap to call often: the file system is asked at most every
  /// few milliseconds, and read again only if it says so. Any thread.
  uint64_t generation();

  /// Code objects with a kernel of this name (without ".kd"), by path.
  std::vector<std::shared_ptr<const LoadedCode>> find(const std::string &symbol);

private:
  struct File {
    std::filesystem::file_time_type time;
    uintmax_t size = 0;
    std::vector<std::shared_ptr<const LoadedCode>> code;
  };

  bool hasChanged();
  void scan();
  void watch(const std::string &directory);
  void visit(const std::filesystem::directory_entry &entry, std::map<std::string, File> &now);
  static File read(const std::filesystem::directory_entry &entry);

  const std::vector<std::string> directories_;
  std::mutex mutex_;
  std::map<std::string, File> files_;
  std::multimap<std::string, std::shared_ptr<const LoadedCode>> kernels_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<int64_t> looked_{0}; ///< when, in steady nanoseconds
  int notify_ = -1;
};

} // namespace fade
