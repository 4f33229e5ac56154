// A copy of a kernel's code that records its memory accesses and entries of its blocks, as twins of
// the pass do (fade/message.h): each wave announces itself when it begins, each access writes a
// record with the addresses of its lanes, and each block one with the clock, or is counted.
//
// Before each access its addresses are computed into vector registers that are added, and a routine
// behind the code is called that writes the record. There is another one for blocks. What it needs
// to know of the wave, and scalar registers that the kernel does not leave free, are kept in lanes
// of an added vector register. Where a kernel leaves no vector registers free, it lends eight of
// its own, which are kept in scratch meanwhile. All registers of the kernel, EXEC, VCC and SCC are
// as before when it goes on.
#pragma once

#include "rewrite/assembler.h"
#include "rewrite/launch.h"
#include "rewrite/program.h"

namespace fade::rewrite {

/// A kernel's copy, ready to be loaded at the address it was made for.
struct RecordingCode {
  std::vector<uint8_t> code;                                  ///< its first byte is the entry
  std::array<uint8_t, codeobj::kDescriptorSize> descriptor{}; ///< without the entry's offset
  unsigned sites = 0;                                         ///< that are recorded
  unsigned registers = 0, vector_registers = 0;               ///< that were taken
  unsigned scratch = 0; ///< bytes in which vector registers are kept that were borrowed
};

struct RecordingRequest {
  const codeobj::CodeObject &object;
  const codeobj::Kernel &kernel;
  const Program &program;
  struct Site {
    uint32_t number = 0, bytes = 0;
    bool is_lds = false, is_atomic = false;
  };
  std::map<uint64_t, Site> sites;      ///< of accesses, by address
  std::map<uint64_t, uint32_t> blocks; ///< their sites, by address
  uint32_t modes = 0;                  ///< FADE_MODE_ACCESSES, _SUMMARY, _BLOCKS, _COUNTS
  uint64_t module = 0;                 ///< id of their site table
  uint64_t address = 0;                ///< where the copy will be; a multiple of 256
};

/// An error says why the kernel cannot be copied.
Result<RecordingCode> makeRecording(const RecordingRequest &request, Assembler &assembler);

} // namespace fade::rewrite
