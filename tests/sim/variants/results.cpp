// What every vector and scalar ALU instruction and every matrix instruction leaves in the
// registers, for random operands, modifiers, rounding and denormal modes: one line per architecture
// and mnemonic with a number made of all of it. Programs compiled for different processors must
// print the same.
#include "isa/decoder.h"
#include "semantics/opcodes.h"
#include "wave/wave.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>

using namespace fade::sim;

namespace {

constexpr unsigned rows = 512 + 1, used_rows = 64, trials = 16;

class Random {
public:
  uint32_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<uint32_t>(state_ * 0x2545f4914f6cdd1d >> 32);
  }
  uint32_t below(uint32_t bound) { return next() % bound; }
  bool once_in(uint32_t n) { return below(n) == 0; }

private:
  uint64_t state_ = 0x9e3779b97f4a7c15;
};

struct Outcome {
  uint64_t hash = 0xcbf29ce484222325;
  unsigned ran = 0, refused = 0;
  void add(uint64_t word) { hash = (hash ^ word) * 0x100000001b3; }
  void add(const uint32_t *words, size_t count) {
    for (size_t i = 0; i < count; ++i) add(words[i]);
  }
};

class Bench {
public:
  Bench(const Arch &arch, unsigned lanes)
      : arch_(arch), lanes_(lanes), registers_(new Row[rows]{}), decoder_(arch, lanes, opcodes()) {}

  // All opcodes of all encodings, with the operands left to chance.
  void run_all() {
    const uint32_t vop3 = arch_.gfx9 ? 0xd0000000 : 0xd4000000,
                   vop3p = arch_.gfx9 ? 0xd3800000 : 0xcc000000;
    for (unsigned trial = 0; trial < trials; ++trial) {
      for (uint32_t op = 0; op < 256; ++op) {
        run({0x7e000000 | vector() << 17 | op << 9 | short_source(), random_.next()});
        run({0x7c000000 | op << 17 | vector() << 9 | short_source(), random_.next()});
        run({0xbe800000 | scalar() << 16 | op << 8 | scalar_source(), random_.next()});
      }
      for (uint32_t op = 0; op < 128; ++op) {
        run({0xbf000000 | op << 16 | scalar_source() << 8 | scalar_source(), random_.next()});
        run({0x80000000 | op << 23 | scalar() << 16 | scalar_source() << 8 | scalar_source(),
             random_.next()});
        run({vop3p | op << 16 | (random_.next() & 0x7f00) | vector(), long_sources(),
             random_.next()});
      }
      for (uint32_t op = 0; op < 62; ++op)
        run({op << 25 | vector() << 17 | vector() << 9 | short_source(), random_.next()});
      for (uint32_t op = 0; op < 1024; ++op)
        run({vop3 | op << 16 | modifiers() | vector(), long_sources(), random_.next()});
      if (arch_.id == Gfx::gfx1100) // two operations in one
        for (unsigned i = 0; i < 512; ++i)
          run({0xc8000000 | (random_.next() & 0x03fe0000) | vector() << 9 | short_source(),
               vector() << 24 | vector() << 17 | vector() << 9 | short_source(), random_.next()});
    }
  }

  const std::map<std::string, Outcome> &outcomes() const { return outcomes_; }

private:
  uint32_t vector() { return random_.below(24); }
  uint32_t scalar() { return 2 * random_.below(16); }
  uint32_t scalar_source() { return random_.once_in(3) ? 128 + random_.below(81) : scalar(); }
  uint32_t source() {
    switch (random_.below(6)) {
    case 0: return scalar();
    case 1: return random_.once_in(2) ? 128 + random_.below(81) : 240 + random_.below(9);
    default: return 256 + vector();
    }
  }
  uint32_t short_source() { // also a literal, SDWA and DPP
    return random_.once_in(4) ? std::array{255u, 249u, 250u, 233u}[random_.below(4)] : source();
  }
  uint32_t long_sources() {
    const uint32_t sources = source() | source() << 9 | source() << 18;
    return random_.once_in(2) ? sources : sources | (random_.next() & 0xf8000000);
  }
  uint32_t modifiers() { return random_.once_in(2) ? 0 : random_.next() & 0xff00; }

  uint32_t value() {
    switch (random_.below(6)) {
    case 0: return random_.below(70);
    case 1: return 0u - random_.below(70);
    case 2: return (random_.next() & 0x80000000) | (0x3f000000 + random_.below(0x1800000));
    case 3: {
      static constexpr uint32_t special[] = {
          0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00001, 0x7f800001, 0xffc12345,
          0xff812345, 1,          0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x3c003c00,
          0x7c00fc00, 0x7e017c01, 0xfe01fc02, 0x00018001, 0x7bff0400, 0x7ff00000, 0x7ff80000,
          0x7ff40000, 0xfff00000, 0x000fffff, 0x80000001, 0x4f000000, 0xcf000000, 0x4f800000};
      return special[random_.below(std::size(special))];
    }
    default: return random_.next();
    }
  }

  void prepare(Wave &wave) {
    wave.arch = &arch_;
    wave.lanes = lanes_;
    wave.vgpr = registers_.get();
    for (unsigned row = 0; row < used_rows; ++row)
      for (unsigned lane = 0; lane < 64; ++lane) {
        registers_[row][lane] = value();
        registers_[agpr_base + row][lane] = registers_[row][lane] * 2654435761u;
      }
    for (unsigned i = 0; i < 106; ++i) wave.sgpr[i] = value();
    wave.sgpr[sreg::m0] = random_.below(8);
    wave.set_sgpr64(sreg::vcc_lo, uint64_t{random_.next()} << 32 | random_.next());
    wave.scc = random_.once_in(2);
    wave.set_exec(random_.once_in(3) ? uint64_t{random_.next()} << 32 | random_.next() : ~0ull);
    const uint32_t float_modes = random_.once_in(2) ? 0xf0 : random_.below(256);
    wave.set_mode(float_modes | random_.below(4) << 8);
  }

  void run(std::initializer_list<uint32_t> words) {
    uint32_t code[5] = {};
    std::copy(words.begin(), words.end(), code);
    const Decoder::Result r =
        decoder_.decode({reinterpret_cast<const uint8_t *>(code), sizeof code}, 0x1000);
    if (!r.valid || !r.known) return;
    const Instruction &i = r.instruction;
    const bool scalar_alu = i.cls == ExecClass::salu && !i.ends_segment &&
                            (i.encoding == Encoding::sop1 || i.encoding == Encoding::sop2 ||
                             i.encoding == Encoding::sopc);
    if (!scalar_alu && i.cls != ExecClass::valu && i.cls != ExecClass::mfma) return;
    for (const Operand &o : i.src) // apertures and the like: of a workgroup, which is not here
      if (o.kind == Operand::Kind::special) return;

    Outcome &outcome = outcomes_[r.mnemonic];
    Wave wave;
    prepare(wave);
    wave.expand_exec();
    try {
      i.run(wave, i);
      ++outcome.ran;
    } catch (...) {
      ++outcome.refused;
    }
    outcome.add(registers_[0], used_rows * 64);
    outcome.add(registers_[agpr_base], used_rows * 64);
    outcome.add(wave.sgpr, sreg::count);
    outcome.add(wave.scc);
  }

  const Arch &arch_;
  unsigned lanes_;
  std::unique_ptr<Row[]> registers_;
  Decoder decoder_;
  Random random_;
  std::map<std::string, Outcome> outcomes_;
};

} // namespace

int main() {
  for (const char *name : {"gfx90a", "gfx942", "gfx1030", "gfx1100"}) {
    const Arch &arch = *find_arch(name);
    Bench bench(arch, arch.gfx10_up ? 32 : 64);
    bench.run_all();
    for (const auto &[mnemonic, outcome] : bench.outcomes())
      std::printf("%s %s %u ran, %u refused: %016llx\n", name, mnemonic.c_str(), outcome.ran,
                  outcome.refused, static_cast<unsigned long long>(outcome.hash));
  }
}
