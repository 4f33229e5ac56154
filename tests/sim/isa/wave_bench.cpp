#include "wave_bench.h"

#include "semantics/opcodes.h"

#include <algorithm>
#include <stdexcept>

namespace fade::sim {

constexpr unsigned register_rows = 512 + 1;

WaveBench::WaveBench(const std::string &cpu, unsigned lanes)
    : arch_(*find_arch(cpu)), registers_(new Row[register_rows]{}),
      assembler_(cpu, (lanes            ? lanes
                       : arch_.gfx10_up ? 32u
                                        : 64u) == 32),
      decoder_(arch_,
               lanes            ? lanes
               : arch_.gfx10_up ? 32
                                : 64,
               opcodes()) {
  wave.arch = &arch_;
  wave.lanes = lanes ? lanes : arch_.gfx10_up ? 32 : 64;
  wave.vgpr = registers_.get();
  wave.set_mode(default_mode);
  wave.set_exec(~0ull);
}

void WaveBench::run(const std::string &line) {
  auto it = known_.find(line);
  if (it == known_.end()) {
    const std::vector<uint8_t> code = assembler_.assemble(line);
    Decoder::Result r = decoder_.decode(code, 0x1000);
    if (!r.valid || !r.known) throw std::runtime_error("no semantics for '" + line + "'");
    it = known_.emplace(line, r.instruction).first;
  }
  wave.expand_exec();
  it->second.run(wave, it->second);
}

void WaveBench::run(std::initializer_list<u32> words) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(words.begin());
  const Decoder::Result r = decoder_.decode({bytes, words.size() * 4}, 0x1000);
  if (!r.valid || !r.known) throw std::runtime_error("no semantics for " + r.mnemonic);
  wave.expand_exec();
  r.instruction.run(wave, r.instruction);
}

void WaveBench::set_v(unsigned reg, u32 value) { std::fill_n(v(reg), 64, value); }
void WaveBench::set_v(unsigned reg, std::initializer_list<u32> values) {
  unsigned i = 0;
  for (u32 x : values) v(reg)[i++] = x;
  for (; i > 0 && i < 64; i++) v(reg)[i] = v(reg)[i - 1];
}
void WaveBench::set_v64(unsigned reg, u64 value) {
  set_v(reg, static_cast<u32>(value));
  set_v(reg + 1, static_cast<u32>(value >> 32));
}
u64 WaveBench::v64(unsigned reg, unsigned lane) const {
  return u64{wave.vgpr[reg + 1][lane]} << 32 | wave.vgpr[reg][lane];
}

u32 WaveBench::eval(const std::string &line, std::initializer_list<u32> operands) {
  unsigned reg = 1;
  for (u32 x : operands) set_v(reg++, x);
  run(line);
  return v(0)[0];
}
u64 WaveBench::eval64(const std::string &line, std::initializer_list<u64> operands) {
  unsigned reg = 2;
  for (u64 x : operands) set_v64(reg, x), reg += 2;
  run(line);
  return v64(0);
}
f32 WaveBench::evalf(const std::string &line, std::initializer_list<f32> operands) {
  unsigned reg = 1;
  for (f32 x : operands) set_v(reg++, bits(x));
  run(line);
  return as_f32(v(0)[0]);
}
f64 WaveBench::evald(const std::string &line, std::initializer_list<f64> operands) {
  unsigned reg = 2;
  for (f64 x : operands) set_v64(reg, bits(x)), reg += 2;
  run(line);
  return as_f64(v64(0));
}

} // namespace fade::sim
