#include "codeobj/disassembler.h"

#include "codeobj/instruction.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <map>
#include <mutex>

namespace fade::codeobj {
namespace {

constexpr uint64_t kWord = 4;     ///< instructions are multiples of four bytes
constexpr uint64_t kLongest = 20; ///< bytes of an instruction

void *openFirst(std::initializer_list<std::string> names) {
  for (const std::string &name : names)
    if (void *library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

template <class F> bool load(void *library, const char *name, F &into) {
  into = reinterpret_cast<F>(::dlsym(library, name));
  return into != nullptr;
}

/// libamd_comgr, as far as it is needed here. The interface has been the same since version 2.0.
struct Comgr {
  struct Handle {
    uint64_t value;
  };
  using ReadMemory = uint64_t (*)(uint64_t from, char *to, uint64_t size, void *user);
  using PrintText = void (*)(const char *text, void *user);
  using PrintAddress = void (*)(uint64_t address, void *user);

  void (*get_version)(std::size_t *, std::size_t *) = nullptr;
  int (*create)(const char *isa, ReadMemory, PrintText, PrintAddress, Handle *) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*disassemble)(Handle, uint64_t address, void *user, uint64_t *size) = nullptr;

  /// Null if there is none on this machine.
  static const Comgr *get() {
    static const std::unique_ptr<const Comgr> instance = open();
    return instance.get();
  }

private:
  static std::unique_ptr<const Comgr> open() {
    void *library =
        openFirst({"libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so",
                   "/opt/rocm/lib/libamd_comgr.so.3", "/opt/rocm/lib/libamd_comgr.so.2"});
    auto comgr = std::make_unique<Comgr>();
    if (library == nullptr || !load(library, "amd_comgr_get_version", comgr->get_version) ||
        !load(library, "amd_comgr_create_disassembly_info", comgr->create) ||
        !load(library, "amd_comgr_destroy_disassembly_info", comgr->destroy) ||
        !load(library, "amd_comgr_disassemble_instruction", comgr->disassemble))
      return nullptr;
    return comgr;
  }
};

class ComgrDisassembler final : public Disassembler {
public:
  static std::unique_ptr<ComgrDisassembler> create(const Target &target) {
    const Comgr *comgr = Comgr::get();
    if (comgr == nullptr) return nullptr;
    // Settings like xnack do not change the encoding, and old versions stumble over them.
    std::string isa = "amdgcn-amd-amdhsa--" + target.processor;
    Comgr::Handle handle{};
    if (comgr->create(
            isa.c_str(), readMemory, printText, [](uint64_t, void *) {}, &handle) != 0)
      return nullptr;
    return std::unique_ptr<ComgrDisassembler>(new ComgrDisassembler(*comgr, handle));
  }
  ~ComgrDisassembler() override { comgr_.destroy(handle_); }

  std::string backend() const override {
    std::size_t major = 0, minor = 0;
    comgr_.get_version(&major, &minor);
    return fmt::format("comgr {}.{}", major, minor);
  }

protected:
  uint32_t decode(ByteView code, uint64_t address, std::string &text) const override {
    Request request{code, address, &text};
    uint64_t size = 0;
    if (comgr_.disassemble(handle_, address, &request, &size) != 0) return 0;
    return static_cast<uint32_t>(size);
  }

private:
  struct Request {
    ByteView code;
    uint64_t address;
    std::string *text;
  };
  ComgrDisassembler(const Comgr &comgr, Comgr::Handle handle) : comgr_(comgr), handle_(handle) {}

  static uint64_t readMemory(uint64_t from, char *to, uint64_t size, void *user) {
    const auto &request = *static_cast<Request *>(user);
    uint64_t at = from - request.address;
    if (at >= request.code.size()) return 0;
    size = std::min<uint64_t>(size, request.code.size() - at);
    std::memcpy(to, request.code.data() + at, size);
    return size;
  }
  static void printText(const char *text, void *user) {
    *static_cast<Request *>(user)->text = text;
  }

  const Comgr &comgr_;
  Comgr::Handle handle_;
};

/// The C interface of a shared libLLVM, which is stable across versions.
struct Llvm {
  void (*get_version)(unsigned *, unsigned *, unsigned *) = nullptr;
  void *(*create)(const char *triple, const char *cpu, const char *features, void *, int, void *,
                  void *) = nullptr;
  void (*dispose)(void *) = nullptr;
  std::size_t (*disassemble)(void *, const uint8_t *, uint64_t size, uint64_t pc, char *,
                             std::size_t) = nullptr;

  static const Llvm *get() {
    static const std::unique_ptr<const Llvm> instance = open();
    return instance.get();
  }

  static constexpr unsigned kNewest = 25, kOldest = 17;

private:
  static std::unique_ptr<const Llvm> open() {
    void *library = nullptr;
    for (unsigned major = kNewest; library == nullptr && major >= kOldest; --major)
      library =
          openFirst({fmt::format("libLLVM.so.{}.1", major), fmt::format("libLLVM-{}.so.1", major),
                     fmt::format("libLLVM-{}.so", major)});
    if (library == nullptr) return nullptr;
    auto llvm = std::make_unique<Llvm>();
    void (*info)() = nullptr, (*mc)() = nullptr, (*disassembler)() = nullptr;
    if (!load(library, "LLVMGetVersion", llvm->get_version) ||
        !load(library, "LLVMCreateDisasmCPUFeatures", llvm->create) ||
        !load(library, "LLVMDisasmDispose", llvm->dispose) ||
        !load(library, "LLVMDisasmInstruction", llvm->disassemble) ||
        !load(library, "LLVMInitializeAMDGPUTargetInfo", info) ||
        !load(library, "LLVMInitializeAMDGPUTargetMC", mc) ||
        !load(library, "LLVMInitializeAMDGPUDisassembler", disassembler))
      return nullptr;
    info();
    mc();
    disassembler();
    return llvm;
  }
};

/// The first LLVM that knows the processor, or nothing if none is known to. LLVM ends the process
/// when it is asked to disassemble for a processor it has never heard of, so nobody may ask. A
/// processor that becomes a row of gpu_table.h needs a line here.
std::optional<unsigned> firstLlvmFor(const Target &target) {
  const GfxVersion v = target.version;
  if (target.generic) {
    if (target.processor == "gfx9-4-generic") return 20;
    return v >= GfxVersion{12, 5, 0} ? 22 : 19;
  }
  if (v >= GfxVersion{12, 5, 2}) return std::nullopt;
  if (v >= GfxVersion{12, 5, 0}) return 22;
  if (v >= GfxVersion{12, 0, 2}) return std::nullopt;
  if (v >= GfxVersion{12, 0, 0}) return 18;
  if (v >= GfxVersion{11, 5, 4} && v.major == 11) return std::nullopt;
  if (v >= GfxVersion{11, 5, 0} && v.major == 11)
    return v.stepping <= 1 ? 17 : v.stepping == 2 ? 19 : 20;
  if (v == GfxVersion{9, 5, 0}) return 20;
  return target.gpu ? std::optional(Llvm::kOldest) : std::nullopt;
}

class LlvmDisassembler final : public Disassembler {
public:
  static std::unique_ptr<LlvmDisassembler> create(const Target &target, unsigned wavefront_size) {
    const Llvm *llvm = Llvm::get();
    auto first = firstLlvmFor(target);
    if (llvm == nullptr || !first) return nullptr;
    unsigned major = 0, minor = 0, patch = 0;
    llvm->get_version(&major, &minor, &patch);
    if (major < *first) return nullptr;
    // gfx940 and gfx941 were never sold and later versions forgot them; gfx942 has the same
    // instructions.
    bool forgotten = target.processor == "gfx940" || target.processor == "gfx941";
    std::string processor = forgotten ? "gfx942" : target.processor;
    const char *features = target.version.major < 10 ? ""
                           : wavefront_size == 64    ? "+wavefrontsize64"
                                                     : "+wavefrontsize32";
    void *context = llvm->create("amdgcn-amd-amdhsa", processor.c_str(), features, nullptr, 0,
                                 nullptr, nullptr);
    if (context == nullptr) return nullptr;
    return std::unique_ptr<LlvmDisassembler>(new LlvmDisassembler(*llvm, context));
  }
  ~LlvmDisassembler() override { llvm_.dispose(context_); }

  std::string backend() const override {
    unsigned major = 0, minor = 0, patch = 0;
    llvm_.get_version(&major, &minor, &patch);
    return fmt::format("LLVM {}.{}", major, minor);
  }

protected:
  uint32_t decode(ByteView code, uint64_t address, std::string &text) const override {
    char buffer[1024];
    std::size_t size =
        llvm_.disassemble(context_, code.data(), code.size(), address, buffer, sizeof buffer);
    if (size != 0) text = buffer;
    return static_cast<uint32_t>(size);
  }

private:
  LlvmDisassembler(const Llvm &llvm, void *context) : llvm_(llvm), context_(context) {}
  const Llvm &llvm_;
  void *context_;
};

/// Neither library promises to be called from two threads at once.
std::mutex &libraryMutex() {
  static std::mutex mutex;
  return mutex;
}

/// LLVM 22 and later mark a constant that fills a literal although it would fit into the
/// instruction: "lit(0x0)", "lit64(0x1)". Earlier ones print it as if it did: "0".
std::string withoutMarks(std::string_view text) {
  std::string plain;
  for (;;) {
    const std::size_t lit = text.find("lit("), lit64 = text.find("lit64(");
    const std::size_t mark = std::min(lit, lit64);
    const std::size_t end = mark == text.npos ? mark : text.find(')', mark);
    if (end == text.npos) return plain.append(text);
    const std::size_t begin = text.find('(', mark) + 1;
    const std::string number(text.substr(begin, end - begin));
    char *rest = nullptr;
    const uint64_t value = std::strtoull(number.c_str(), &rest, 0);
    const bool is_small = !number.empty() && *rest == '\0' && value <= 64;
    plain.append(text.substr(0, mark)).append(is_small ? std::to_string(value) : number);
    text.remove_prefix(end + 1);
  }
}

} // namespace

std::string instructionText(std::string_view text) {
  text = text.substr(0, std::min(text.find("//"), text.find(" ;")));
  std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  text = text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
  std::string tidied = withoutMarks(text);
  for (char &c : tidied)
    if (c == '\t') c = ' ';
  return tidied;
}

bool Disassembler::isLoaded() {
  for (const char *name : {"libamd_comgr.so.3", "libamd_comgr.so.2"})
    if (void *library = ::dlopen(name, RTLD_NOW | RTLD_NOLOAD)) {
      ::dlclose(library);
      return true;
    }
  return false;
}

Result<std::shared_ptr<const Disassembler>> Disassembler::create(const Target &target,
                                                                 unsigned wavefront_size) {
  // One for each processor, kept for good: setting one up takes longer than most kernels, and the
  // libraries may be gone by the time the statics of this one are destroyed.
  using Cache = std::map<std::pair<std::string, unsigned>, std::shared_ptr<const Disassembler>>;
  static auto *cache = new Cache;
  std::lock_guard lock(libraryMutex());
  auto &cached = (*cache)[{target.processor, wavefront_size}];
  if (cached != nullptr) return cached;
  // LLVM, which is in libamd_comgr, too, has none for GCN 1 and 2, and ends the process.
  if (target.version < GfxVersion{8, 0, 0})
    return Error{"", "", 0,
                 fmt::format("cannot disassemble: LLVM cannot for {}", target.processor)};
  if (auto comgr = ComgrDisassembler::create(target))
    cached = std::move(comgr);
  else if (auto llvm = LlvmDisassembler::create(target, wavefront_size))
    cached = std::move(llvm);
  if (cached != nullptr) return cached;
  std::string why = Comgr::get() == nullptr
                        ? "libamd_comgr is not installed"
                        : fmt::format("libamd_comgr does not know {}", target.processor);
  return Error{"", "", 0, fmt::format("cannot disassemble: {}, and no libLLVM can", why)};
}

std::vector<Instruction> Disassembler::disassemble(ByteView code, uint64_t address,
                                                   std::size_t most) const {
  std::lock_guard lock(libraryMutex());
  std::vector<Instruction> instructions;
  instructions.reserve(std::min(code.size() / 6, most));
  std::string text;
  for (std::size_t at = 0; at < code.size() && instructions.size() < most;) {
    Instruction instruction;
    instruction.address = address + at;
    text.clear();
    ByteView rest = code.subspan(at);
    // Some LLVMs crash in the message that a constant is cut off.
    std::array<uint8_t, kLongest> padded{};
    const bool is_short = rest.size() < padded.size();
    if (is_short) std::ranges::copy(rest, padded.begin());
    uint32_t size = decode(is_short ? ByteView(padded) : rest, instruction.address, text);
    if (size != 0 && size <= rest.size()) {
      instruction.size = size;
      instruction.text = instructionText(text);
      instruction.target = branchTarget(instruction, rest);
    }
    if (instruction.text.empty()) {
      auto word = read<uint32_t>(rest, 0);
      instruction.size = static_cast<uint32_t>(std::min<std::size_t>(rest.size(), kWord));
      instruction.text = fmt::format(".long {:#010x}", word.value_or(0));
    }
    at += instruction.size;
    instructions.push_back(std::move(instruction));
  }
  return instructions;
}

} // namespace fade::codeobj
