// Answers what a kernel asks of the host: printf, and memory for its heap.
//
// The kernel puts a packet on a stack in a buffer of the application's, rings a doorbell and waits
// until a bit is cleared. There is no application here; a thread does its part.
#pragma once

#include "base/address_space.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace fade::replay {

class Hostcalls {
public:
  /// `buffer`: its address in `space`. `allocate`: memory for the kernel, by its address.
  static std::unique_ptr<Hostcalls> create(sim::AddressSpace &space, uint64_t buffer,
                                           std::function<uint64_t(uint64_t size)> allocate);
  ~Hostcalls();

  /// A buffer for a kernel whose captured version had none: one packet for each wave that may run
  /// at a time, which is what the device library relies on.
  static uint64_t packetsFor(uint64_t work_items);
  static uint64_t bufferSize(uint64_t packets);
  /// Makes it of zeroed memory. `address`: that which the kernel sees.
  static void layOut(std::byte *memory, uint64_t address, uint64_t packets);

  void start();
  void stop();
  /// The kernel asked for what cannot be had here: it must be stopped.
  bool isStuck() const { return is_stuck_.load(); }
  std::string summary() const;
  /// The device's heap has grown.
  bool hasGivenMemory() const;

private:
  Hostcalls(sim::AddressSpace &space, uint64_t buffer) : space_(space), buffer_(buffer) {}
  void serve();
  void answer(uint32_t service, uint64_t lanes, uint64_t payload);

  sim::AddressSpace &space_;
  const uint64_t buffer_;
  std::function<uint64_t(uint64_t)> allocate_;
  std::unique_ptr<std::byte[]> doorbell_;
  std::atomic<bool> is_stopping_{false}, is_stuck_{false};
  std::thread thread_;
  mutable std::mutex mutex_;
  std::map<uint32_t, uint64_t> served_; ///< lanes, by service
};

} // namespace fade::replay
