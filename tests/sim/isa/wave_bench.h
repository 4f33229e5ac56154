// One wave on a workbench: registers are set, an instruction given as assembly text is decoded and
// run, registers are looked at.
#pragma once

#include "assembler.h"
#include "isa/decoder.h"
#include "semantics/values.h"
#include "wave/wave.h"

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fade::sim {

class WaveBench {
public:
  static constexpr uint32_t default_mode = 0x3f0; // nearest even, denormals kept, DX10 clamp, IEEE

  explicit WaveBench(const std::string &cpu = "gfx90a", unsigned lanes = 0);

  Wave wave;

  // Runs one line of assembly.
  void run(const std::string &line);
  // Runs an instruction given as words.
  void run(std::initializer_list<u32> words);

  u32 *v(unsigned reg) { return wave.vgpr[reg]; }
  u32 *a(unsigned reg) { return wave.vgpr[agpr_base + reg]; }
  u32 &s(unsigned reg) { return wave.sgpr[reg]; }
  u64 vcc() const { return wave.vcc(); }
  void set_vcc(u64 mask) { wave.set_sgpr64(sreg::vcc_lo, mask); }
  void set_exec(u64 mask) { wave.set_exec(mask); }
  // The same word in all lanes, or a word per lane (the last one is repeated).
  void set_v(unsigned reg, u32 value);
  void set_v(unsigned reg, std::initializer_list<u32> values);
  void set_v64(unsigned reg, u64 value);
  u64 v64(unsigned reg, unsigned lane = 0) const;

  // Operands go to v1, v2, v3 in all lanes; returns lane 0 of v0, which the instruction must name
  // as destination.
  u32 eval(const std::string &line, std::initializer_list<u32> operands = {});
  // The same for 64-bit operands in v[2:3], v[4:5], v[6:7] and a result in v[0:1].
  u64 eval64(const std::string &line, std::initializer_list<u64> operands = {});
  f32 evalf(const std::string &line, std::initializer_list<f32> operands);
  f64 evald(const std::string &line, std::initializer_list<f64> operands);

private:
  const Arch &arch_;
  std::unique_ptr<Row[]> registers_;
  Assembler assembler_;
  Decoder decoder_;
  std::map<std::string, Instruction> known_;
};

} // namespace fade::sim
