// The waves that have announced themselves in a dispatch, for records that refer to them.
//
// One thread adds, in the order of the stream; any number of threads look up what was added before
// the batch they work on was handed to them. The table keeps a window of the latest waves: a wave
// that is still running while a million others were announced after it is no longer known. That
// keeps memory bounded, and so does this: while workers are far behind, what they may still look at
// is kept only up to the size of another window, and waves beyond that are not known.
#pragma once

#include "fade/message.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>

namespace fade {

class WaveTable {
public:
  static constexpr uint32_t kChunk = 512;
  static constexpr uint32_t kChunks = 2048;
  static constexpr std::size_t kMostRetired = kChunks;

  WaveTable() = default;
  ~WaveTable();
  WaveTable(const WaveTable &) = delete;
  WaveTable &operator=(const WaveTable &) = delete;

  /// `batch` numbers the batches of the dispatch: the one this record is part of.
  void add(const fade_wave_begin &wave, uint64_t batch);
  /// Batches before `batch` are done: nobody looks at what only they could see.
  void retireBefore(uint64_t batch);
  bool find(uint32_t wave, fade_wave_begin &out) const;

private:
  struct Chunk {
    uint32_t first = 0;
    std::array<std::atomic<bool>, kChunk> known{};
    std::array<fade_wave_begin, kChunk> waves;
  };
  struct Retired {
    uint64_t batch;
    std::unique_ptr<Chunk> chunk;
  };

  std::array<std::atomic<Chunk *>, kChunks> chunks_{};
  std::deque<Retired> retired_;
};

} // namespace fade
