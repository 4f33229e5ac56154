// Answers what a kernel asks of the host: printf, and memory for its heap.
//
// The kernel puts a packet on a stack in a buffer of the application's, rings a doorbell and waits
// until a bit is cleared. There is no application here; a thread does its part.
#pragma once

#include "replay/memory.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace fade::replay {

class Hostcalls {
public:
  /// `buffer`: address. `gap`: a free range of addresses of that size.
  static std::unique_ptr<Hostcalls> create(Memory &memory, uint64_t buffer,
                                           std::function<uint64_t(uint64_t size)> gap);
  ~Hostcalls();

  void start();
  void stop();
  /// The kernel asked for what cannot be had here: it must be stopped.
  bool isStuck() const { return is_stuck_.load(); }
  std::size_t region() const { return region_; }
  std::string summary() const;

private:
  Hostcalls(Memory &memory, uint64_t buffer) : memory_(memory), buffer_(buffer) {}
  void serve();
  void answer(uint64_t packet);

  Memory &memory_;
  const uint64_t buffer_;
  std::size_t region_ = 0;
  std::function<uint64_t(uint64_t)> gap_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_; ///< for the kernel's heap
  std::unique_ptr<std::byte[]> doorbell_;
  std::atomic<bool> is_stopping_{false}, is_stuck_{false};
  std::thread thread_;
  mutable std::mutex mutex_;
  std::map<uint32_t, uint64_t> served_; ///< lanes, by service
};

} // namespace fade::replay
