#include "codeobj/source_map.h"

#include <algorithm>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

namespace fade::codeobj {
namespace {

/// Inlined calls deeper than this are an endless chain, not a program.
constexpr std::size_t kDeepestInlining = 256;

constexpr uint32_t kNoFile = ~0u;

struct Row {
  uint64_t address = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t discriminator = 0;
  uint32_t file = kNoFile; ///< index in Impl::file_names
  bool ends_sequence = false;
};

/// A function that exists in the code, with one of its address ranges.
struct Function {
  AddressRange range;
  Dwarf_Die die{};
};

/// Calls `visit` for each child. The offsets of siblings must grow: a file can say otherwise, and
/// go round in circles.
template <class Visit> void forEachChild(Dwarf_Die parent, Visit visit) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  for (;;) {
    visit(child);
    Dwarf_Die next;
    if (dwarf_siblingof(&child, &next) != 0 || dwarf_dieoffset(&next) <= dwarf_dieoffset(&child))
      return;
    child = next;
  }
}

template <class Visit> void forEachRange(Dwarf_Die die, Visit visit) {
  Dwarf_Addr base = 0, begin = 0, end = 0;
  std::ptrdiff_t at = 0;
  while ((at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0)
    if (begin < end) visit(AddressRange{begin, end});
}

std::string functionName(Dwarf_Die *die) {
  Dwarf_Attribute attribute;
  for (unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name})
    if (dwarf_attr_integrate(die, name, &attribute) != nullptr)
      if (const char *text = dwarf_formstring(&attribute)) return text;
  return "";
}

std::string text(Dwarf_Die *die, unsigned name) {
  Dwarf_Attribute attribute;
  if (dwarf_attr(die, name, &attribute) == nullptr) return "";
  const char *value = dwarf_formstring(&attribute);
  return value != nullptr ? value : "";
}

/// A file's name as a path: names may be relative to the folder the compiler ran in.
std::string fullPath(Dwarf_Die *unit, const char *name) {
  if (name[0] == '/') return name;
  std::string folder = text(unit, DW_AT_comp_dir);
  return folder.empty() ? name : folder + "/" + name;
}

uint32_t number(Dwarf_Die *die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0)
    return 0;
  return static_cast<uint32_t>(value);
}

/// The file that an attribute has the number of. (dwarf_decl_file() knows no file 0, which is the
/// unit's own since DWARF 5.)
std::string fileIn(Dwarf_Die *die, unsigned attribute) {
  Dwarf_Attribute number;
  Dwarf_Word index = 0;
  Dwarf_Files *source_files = nullptr;
  std::size_t count = 0;
  Dwarf_Die unit;
  if (dwarf_attr_integrate(die, attribute, &number) == nullptr ||
      dwarf_formudata(&number, &index) != 0 ||
      dwarf_diecu(die, &unit, nullptr, nullptr) == nullptr ||
      dwarf_getsrcfiles(&unit, &source_files, &count) != 0 || index >= count)
    return "";
  const char *name = dwarf_filesrc(source_files, index, nullptr, nullptr);
  return name != nullptr ? fullPath(&unit, name) : "";
}

/// The type behind typedefs and qualifiers.
std::optional<Dwarf_Die> plainTypeOf(Dwarf_Die *die) {
  Dwarf_Attribute attribute;
  Dwarf_Die type, plain;
  if (dwarf_attr_integrate(die, DW_AT_type, &attribute) == nullptr ||
      dwarf_formref_die(&attribute, &type) == nullptr || dwarf_peel_type(&type, &plain) != 0)
    return std::nullopt;
  return plain;
}

std::optional<uint64_t> sizeOf(Dwarf_Die *type) {
  Dwarf_Word size = 0;
  if (dwarf_aggregate_size(type, &size) != 0) return std::nullopt;
  return size;
}

/// How many indices an array takes.
std::size_t dimensions(Dwarf_Die array) {
  std::size_t count = 0;
  forEachChild(array, [&](Dwarf_Die child) { count += dwarf_tag(&child) == DW_TAG_subrange_type; });
  return count;
}

/// Bytes from one element to the next of an array's dimension `at`.
std::optional<uint64_t> strideOf(Dwarf_Die array, std::size_t at) {
  const auto element = plainTypeOf(&array);
  if (!element) return std::nullopt;
  Dwarf_Die type = *element;
  auto bytes = sizeOf(&type);
  std::size_t number = 0;
  forEachChild(array, [&](Dwarf_Die child) {
    if (dwarf_tag(&child) != DW_TAG_subrange_type || number++ <= at || !bytes) return;
    Dwarf_Attribute attribute;
    Dwarf_Word count = 0;
    if (dwarf_attr(&child, DW_AT_count, &attribute) == nullptr ||
        dwarf_formudata(&attribute, &count) != 0)
      bytes.reset();
    else
      *bytes *= count;
  });
  return bytes;
}

std::optional<Dwarf_Die> childNamed(Dwarf_Die parent, std::string_view name,
                                    std::initializer_list<int> tags) {
  std::optional<Dwarf_Die> found;
  forEachChild(parent, [&](Dwarf_Die child) {
    const char *own = dwarf_diename(&child);
    if (!found && own != nullptr && name == own && std::ranges::count(tags, dwarf_tag(&child)) != 0)
      found = child;
  });
  return found;
}

/// Goes one step after the other from a variable to what is accessed in the end.
class LayoutWalk {
public:
  explicit LayoutWalk(Dwarf_Die type) : type_(type) {}

  bool step(const std::string &step, std::size_t number) {
    return step == "[" ? index(number) : member(step, number);
  }
  std::optional<AccessLayout> result() {
    const auto size = sizeOf(&type_);
    if (!size || left_ != 0) return std::nullopt; // a part of an array
    layout_.size = *size;
    return layout_;
  }

private:
  bool isPointer() { return dwarf_tag(&type_) == DW_TAG_pointer_type; }
  bool go(Dwarf_Die *from) {
    const auto next = plainTypeOf(from);
    if (next) type_ = *next;
    return next.has_value();
  }
  /// Through a pointer: what lies before it does not matter any more.
  bool follow(std::size_t number) {
    layout_ = {};
    layout_.first = number;
    Dwarf_Die pointer = type_;
    return go(&pointer);
  }
  bool index(std::size_t number) {
    if (left_ == 0 && isPointer()) {
      if (!follow(number)) return false;
      const auto size = sizeOf(&type_);
      if (size) layout_.strides.push_back(*size);
      return size.has_value();
    }
    if (dwarf_tag(&type_) != DW_TAG_array_type) return false;
    const std::size_t all = dimensions(type_);
    if (left_ == 0) left_ = all;
    const auto stride = strideOf(type_, all - left_);
    if (!stride) return false;
    layout_.strides.push_back(*stride);
    if (--left_ != 0) return true;
    Dwarf_Die array = type_;
    return go(&array);
  }
  bool member(const std::string &name, std::size_t number) {
    if (left_ != 0 || (isPointer() && !follow(number))) return false;
    const auto found = childNamed(type_, name, {DW_TAG_member});
    if (!found) return false;
    Dwarf_Die die = *found;
    Dwarf_Attribute attribute;
    Dwarf_Word offset = 0;
    if (dwarf_attr(&die, DW_AT_data_bit_offset, &attribute) != nullptr) return false;
    if (dwarf_attr(&die, DW_AT_data_member_location, &attribute) != nullptr &&
        dwarf_formudata(&attribute, &offset) != 0)
      return false;
    layout_.offset += offset;
    layout_.strides.push_back(0);
    return go(&die);
  }

  Dwarf_Die type_;
  std::size_t left_ = 0; ///< dimensions of an array that have no index yet
  AccessLayout layout_;
};

std::optional<Dwarf_Die> referred(Dwarf_Die *die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Die found;
  if (dwarf_attr(die, name, &attribute) == nullptr ||
      dwarf_formref_die(&attribute, &found) == nullptr)
    return std::nullopt;
  return found;
}

/// A type without names and qualifiers.
std::optional<Dwarf_Die> plainType(Dwarf_Die *die) {
  auto type = referred(die, DW_AT_type);
  for (std::size_t depth = 0; type && depth < kDeepestInlining; ++depth) {
    const int tag = dwarf_tag(&*type);
    if (tag != DW_TAG_typedef && tag != DW_TAG_const_type && tag != DW_TAG_volatile_type)
      return type;
    type = referred(&*type, DW_AT_type);
  }
  return std::nullopt;
}

/// Fills in the sizes, if it is an array of numbers.
bool readArrayType(Dwarf_Die *variable, SourceArray &to) {
  auto type = plainType(variable);
  uint64_t count = 1;
  constexpr uint64_t most = uint64_t{1} << 40;
  unsigned dimensions = 0;
  for (; type && dwarf_tag(&*type) == DW_TAG_array_type && ++dimensions < 16;
       type = plainType(&*type))
    forEachChild(*type, [&](Dwarf_Die child) {
      if (dwarf_tag(&child) != DW_TAG_subrange_type) return;
      Dwarf_Attribute attribute;
      Dwarf_Word value = 0;
      if (dwarf_attr(&child, DW_AT_count, &attribute) == nullptr ||
          dwarf_formudata(&attribute, &value) != 0) {
        if (dwarf_attr(&child, DW_AT_upper_bound, &attribute) == nullptr ||
            dwarf_formudata(&attribute, &value) != 0)
          value = 0;
        else
          ++value;
      }
      count = value < most && count < most ? count * value : 0;
    });
  if (!type || dimensions == 0 || count == 0 || count >= most) return false;
  const int tag = dwarf_tag(&*type);
  if (tag != DW_TAG_base_type && tag != DW_TAG_enumeration_type) return false;
  to.element = number(&*type, DW_AT_byte_size);
  to.size = count * to.element;
  return to.element != 0;
}

/// Fills in where it is, if it has one place for as long as the program runs.
bool readLocation(Dwarf_Die *variable, SourceArray &to) {
  Dwarf_Attribute attribute, address;
  Dwarf_Op *operations = nullptr;
  std::size_t count = 0;
  if (dwarf_attr(variable, DW_AT_location, &attribute) == nullptr ||
      dwarf_getlocation(&attribute, &operations, &count) != 0 || count == 0)
    return false;
  const auto atom = operations[0].atom;
  if (atom == DW_OP_addr) {
    to.address = operations[0].number;
  } else if (atom == DW_OP_addrx) {
    if (dwarf_getlocation_attr(&attribute, operations, &address) != 0 ||
        dwarf_formaddr(&address, &to.address) != 0)
      return false;
  } else {
    return false;
  }
  to.in_lds = operations[count - 1].atom == DW_OP_xderef;
  return to.in_lds || count == 1;
}

/// Then all that a function has is on the stack. (HIP has functions that are inlined in any case.)
bool isUnoptimized(Dwarf_Die function) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_call_all_calls, DW_AT_GNU_all_call_sites})
    if (dwarf_attr(&function, name, &attribute) != nullptr) return false;
  unsigned on_stack = 0, elsewhere = 0;
  forEachChild(function, [&](Dwarf_Die child) {
    if (dwarf_tag(&child) != DW_TAG_formal_parameter) return;
    Dwarf_Op *operations = nullptr;
    std::size_t count = 0;
    const bool has_place = dwarf_attr(&child, DW_AT_location, &attribute) != nullptr &&
                           dwarf_getlocation(&attribute, &operations, &count) == 0 && count != 0;
    ++(has_place && operations[0].atom == DW_OP_fbreg ? on_stack : elsewhere);
  });
  return on_stack != 0 && elsewhere == 0;
}

/// Variables and parameters of a function by this name. Those of inlined copies are the same.
void findNamed(Dwarf_Die scope, const std::string &name, std::size_t depth,
               std::map<Dwarf_Off, Dwarf_Die> &found) {
  forEachChild(scope, [&](Dwarf_Die child) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_lexical_block && depth < kDeepestInlining)
      return findNamed(child, name, depth + 1, found);
    if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) return;
    Dwarf_Die own = child;
    if (auto origin = referred(&child, DW_AT_abstract_origin)) own = *origin;
    if (text(&own, DW_AT_name) == name) found.emplace(dwarf_dieoffset(&own), own);
  });
}

} // namespace

struct SourceMap::Impl {
  std::shared_ptr<const CodeObject> object;
  std::vector<char> copy; ///< of the file, where libelf changes it
  ::Elf *elf = nullptr;
  Dwarf *dwarf = nullptr;
  std::vector<Function> functions; ///< by address
  std::vector<Row> rows;           ///< of all units, by address
  std::vector<std::string> file_names;
  mutable std::mutex mutex; ///< libdw caches as it reads

  ~Impl() {
    if (dwarf != nullptr) dwarf_end(dwarf);
    if (elf != nullptr) elf_end(elf);
  }

  void readUnits();
  void readRows(Dwarf_Die *unit);
  const std::string &fileOf(const Row &row) const;
  const Row *rowAt(uint64_t address) const;
  SourceFrame placeOf(const Row *row) const;
  void findFunctions(Dwarf_Die unit);
  const Function *functionAt(uint64_t address) const;
  std::vector<Dwarf_Die> inlineChain(uint64_t address) const;
  SourceFrame callSite(Dwarf_Die *inlined) const;
  std::optional<Dwarf_Die> variableAt(uint64_t address, std::string_view name) const;
  /// The only variable of this name that is of no function, in the unit of `in`.
  bool findGlobal(Dwarf_Die *in, const std::string &name, Dwarf_Die &found) const;
};

void SourceMap::Impl::readRows(Dwarf_Die *unit) {
  Dwarf_Lines *lines = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrclines(unit, &lines, &count) != 0) return;
  rows.reserve(rows.size() + count);
  std::map<const char *, uint32_t> known; // libdw gives the same pointer for the same file
  for (std::size_t i = 0; i < count; ++i) {
    Dwarf_Line *line = dwarf_onesrcline(lines, i);
    Row row;
    int number = 0, column = 0;
    Dwarf_Addr address = 0;
    if (line == nullptr || dwarf_lineaddr(line, &address) != 0) continue;
    dwarf_lineno(line, &number);
    dwarf_linecol(line, &column);
    dwarf_lineendsequence(line, &row.ends_sequence);
    dwarf_linediscriminator(line, &row.discriminator);
    row.address = address;
    row.line = static_cast<uint32_t>(number);
    row.column = static_cast<uint32_t>(column);
    if (const char *name = dwarf_linesrc(line, nullptr, nullptr)) {
      auto [it, inserted] = known.emplace(name, static_cast<uint32_t>(file_names.size()));
      if (inserted) file_names.push_back(fullPath(unit, name));
      row.file = it->second;
    }
    rows.push_back(row);
  }
}

void SourceMap::Impl::readUnits() {
  Dwarf_Off offset = 0, next = 0;
  std::size_t header = 0;
  while (dwarf_nextcu(dwarf, offset, &next, &header, nullptr, nullptr, nullptr) == 0) {
    if (next <= offset) break; // would go round in circles
    Dwarf_Die unit;
    if (dwarf_offdie(dwarf, offset + header, &unit) != nullptr) {
      readRows(&unit);
      findFunctions(unit);
    }
    offset = next;
  }
  // At one address the last row of a unit is the one that counts, and the end of a sequence comes
  // before the start of the next one there.
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::tuple(rows[i].address, !rows[i].ends_sequence, i);
  });
  std::vector<Row> sorted;
  sorted.reserve(rows.size());
  for (std::size_t i : order) sorted.push_back(rows[i]);
  rows = std::move(sorted);
  std::ranges::sort(functions, {}, [](const Function &f) { return f.range.begin; });
}

/// Functions stand at the top of a unit, or in namespaces and classes there.
void SourceMap::Impl::findFunctions(Dwarf_Die unit) {
  std::vector<std::pair<Dwarf_Die, std::size_t>> pending{{unit, 0}};
  while (!pending.empty()) {
    Dwarf_Die parent = pending.back().first;
    std::size_t depth = pending.back().second;
    pending.pop_back();
    forEachChild(parent, [&](Dwarf_Die child) {
      int tag = dwarf_tag(&child);
      if (tag == DW_TAG_subprogram) {
        forEachRange(child, [&](AddressRange range) { functions.push_back({range, child}); });
      } else if (tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
                 tag == DW_TAG_structure_type) {
        if (depth < kDeepestInlining) pending.emplace_back(child, depth + 1);
      }
    });
  }
}

const Row *SourceMap::Impl::rowAt(uint64_t address) const {
  auto after = std::ranges::upper_bound(rows, address, {}, &Row::address);
  if (after == rows.begin()) return nullptr;
  const Row &row = *--after;
  return row.ends_sequence ? nullptr : &row;
}

const Function *SourceMap::Impl::functionAt(uint64_t address) const {
  auto after = std::ranges::upper_bound(functions, address, {},
                                        [](const Function &f) { return f.range.begin; });
  if (after == functions.begin()) return nullptr;
  const Function &function = *--after;
  return address < function.range.end ? &function : nullptr;
}

const std::string &SourceMap::Impl::fileOf(const Row &row) const {
  static const std::string none;
  return row.file == kNoFile ? none : file_names[row.file];
}

SourceFrame SourceMap::Impl::placeOf(const Row *row) const {
  SourceFrame frame;
  if (row == nullptr) return frame;
  frame.file = fileOf(*row);
  frame.line = row->line;
  frame.column = row->column;
  return frame;
}

/// The functions around `address`, innermost first, each but the last inlined into the next.
std::vector<Dwarf_Die> SourceMap::Impl::inlineChain(uint64_t address) const {
  std::vector<Dwarf_Die> chain;
  const Function *function = functionAt(address);
  if (function == nullptr) return chain;
  chain.push_back(function->die);
  Dwarf_Die scope = function->die;
  for (std::size_t depth = 0; depth < kDeepestInlining; ++depth) {
    std::optional<Dwarf_Die> inner;
    forEachChild(scope, [&](Dwarf_Die child) {
      int tag = dwarf_tag(&child);
      bool scoped = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block;
      if (scoped && !inner && dwarf_haspc(&child, address) == 1) inner = child;
    });
    if (!inner) break;
    if (dwarf_tag(&*inner) == DW_TAG_inlined_subroutine) chain.push_back(*inner);
    scope = *inner;
  }
  std::ranges::reverse(chain);
  return chain;
}

SourceFrame SourceMap::Impl::callSite(Dwarf_Die *inlined) const {
  SourceFrame frame;
  frame.line = number(inlined, DW_AT_call_line);
  frame.column = number(inlined, DW_AT_call_column);
  frame.file = fileIn(inlined, DW_AT_call_file);
  return frame;
}

/// The innermost variable of this name.
std::optional<Dwarf_Die> SourceMap::Impl::variableAt(uint64_t address,
                                                     std::string_view name) const {
  const Function *function = functionAt(address);
  if (function == nullptr) return std::nullopt;
  std::optional<Dwarf_Die> found;
  Dwarf_Die scope = function->die;
  for (std::size_t depth = 0; depth < kDeepestInlining; ++depth) {
    // What is in an inlined function does not see the variables of the one around it.
    if (dwarf_tag(&scope) == DW_TAG_inlined_subroutine) found.reset();
    if (const auto own = childNamed(scope, name, {DW_TAG_variable, DW_TAG_formal_parameter}))
      found = own;
    std::optional<Dwarf_Die> inner;
    forEachChild(scope, [&](Dwarf_Die child) {
      const int tag = dwarf_tag(&child);
      if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) && !inner &&
          dwarf_haspc(&child, address) == 1)
        inner = child;
    });
    if (!inner) break;
    scope = *inner;
  }
  return found;
}

SourceMap::SourceMap(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SourceMap::~SourceMap() = default;

Result<std::shared_ptr<const SourceMap>> SourceMap::open(std::shared_ptr<const CodeObject> object) {
  elf_version(EV_CURRENT);
  auto impl = std::make_unique<Impl>();
  impl->object = std::move(object);
  ByteView bytes = impl->object->elf().blob().bytes();
  // libelf takes a mutable pointer, but it only reads a file of the host's byte order, unless it
  // decompresses sections: then it changes their headers.
  auto *image = const_cast<char *>(reinterpret_cast<const char *>(bytes.data()));
  if (std::ranges::any_of(impl->object->elf().sections(),
                          [](const Section &s) { return (s.flags & SHF_COMPRESSED) != 0; })) {
    impl->copy.assign(image, image + bytes.size());
    image = impl->copy.data();
  }
  impl->elf = elf_memory(image, bytes.size());
  if (impl->elf == nullptr)
    return impl->object->elf().blob().error("ELF header", 0, elf_errmsg(-1));
  impl->dwarf = dwarf_begin_elf(impl->elf, DWARF_C_READ, nullptr);
  if (impl->dwarf != nullptr) impl->readUnits();
  return std::shared_ptr<const SourceMap>(new SourceMap(std::move(impl)));
}

bool SourceMap::empty() const { return impl_->rows.empty(); }

SourceFrame SourceMap::place(uint64_t address) const {
  return impl_->placeOf(impl_->rowAt(address));
}

uint32_t SourceMap::discriminator(uint64_t address) const {
  const Row *row = impl_->rowAt(address);
  return row == nullptr ? 0 : row->discriminator;
}

std::vector<SourceFrame> SourceMap::stack(uint64_t address) const {
  std::lock_guard lock(impl_->mutex);
  std::vector<SourceFrame> frames;
  SourceFrame place = impl_->placeOf(impl_->rowAt(address));
  for (Dwarf_Die &function : impl_->inlineChain(address)) {
    place.function = functionName(&function);
    frames.push_back(place);
    if (dwarf_tag(&function) == DW_TAG_inlined_subroutine) place = impl_->callSite(&function);
  }
  const Symbol *symbol = impl_->object->functionAt(address);
  if (frames.empty() && (place.line != 0 || symbol != nullptr)) frames.push_back(place);
  // The symbol table knows the function that exists in the code even without a description of it.
  if (!frames.empty() && symbol != nullptr) frames.back().function = symbol->name;
  return frames;
}

std::vector<std::string> SourceMap::parameters(uint64_t address) const {
  std::lock_guard lock(impl_->mutex);
  std::vector<std::string> names;
  const Function *function = impl_->functionAt(address);
  if (function == nullptr) return names;
  forEachChild(function->die, [&](Dwarf_Die child) {
    if (dwarf_tag(&child) != DW_TAG_formal_parameter) return;
    Dwarf_Attribute attribute;
    const char *name = dwarf_attr_integrate(&child, DW_AT_name, &attribute) != nullptr
                           ? dwarf_formstring(&attribute)
                           : nullptr;
    names.emplace_back(name != nullptr ? name : "");
  });
  return names;
}

std::optional<AccessLayout> SourceMap::layout(uint64_t address, std::string_view variable,
                                              const std::vector<std::string> &steps) const {
  std::lock_guard lock(impl_->mutex);
  auto found = impl_->variableAt(address, variable);
  if (!found) return std::nullopt;
  const auto type = plainTypeOf(&*found);
  if (!type) return std::nullopt;
  LayoutWalk walk(*type);
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (!walk.step(steps[i], i)) return std::nullopt;
  return walk.result();
}

bool SourceMap::hasOwnPlace(uint64_t address) const {
  const Row *row = impl_->rowAt(address);
  if (row == nullptr || row->line == 0 || row->column == 0) return false;
  if (row->address == address) return true;
  std::lock_guard lock(impl_->mutex);
  const Function *function = impl_->functionAt(address);
  return function != nullptr && isUnoptimized(function->die);
}

std::pair<uint64_t, uint64_t> SourceMap::entryRange(uint64_t address) const {
  const Row *row = impl_->rowAt(address);
  if (row == nullptr) return {address, address};
  const Row *end = impl_->rows.data() + impl_->rows.size(), *next = row + 1;
  while (next != end && next->address == row->address) ++next;
  return {row->address, next == end ? address : next->address};
}

bool SourceMap::Impl::findGlobal(Dwarf_Die *in, const std::string &name, Dwarf_Die &found) const {
  Dwarf_Die unit;
  if (dwarf_diecu(in, &unit, nullptr, nullptr) == nullptr) return false;
  unsigned count = 0;
  std::vector<Dwarf_Die> pending{unit};
  for (std::size_t depth = 0; !pending.empty() && depth < 10'000; ++depth) {
    const Dwarf_Die parent = pending.back();
    pending.pop_back();
    forEachChild(parent, [&](Dwarf_Die child) {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_namespace) pending.push_back(child);
      if (tag == DW_TAG_variable && text(&child, DW_AT_name) == name) found = child, ++count;
    });
  }
  return count == 1;
}

std::optional<SourceArray> SourceMap::array(uint64_t address, std::size_t frame,
                                            const std::string &name) const {
  std::lock_guard lock(impl_->mutex);
  const auto chain = impl_->inlineChain(address);
  if (frame >= chain.size()) return std::nullopt;
  Dwarf_Die function = chain[frame];
  std::map<Dwarf_Off, Dwarf_Die> found, members;
  findNamed(function, name, 0, found);
  findNamed(function, "this", 0, members);
  if (auto origin = referred(&function, DW_AT_abstract_origin)) {
    findNamed(*origin, name, 0, found);
    findNamed(*origin, "this", 0, members);
  }
  if (found.size() > 1) return std::nullopt;
  Dwarf_Die variable;
  if (found.size() == 1)
    variable = found.begin()->second;
  else if (!members.empty() || !impl_->findGlobal(&function, name, variable))
    return std::nullopt; // it may be a member's
  SourceArray array;
  if (!readLocation(&variable, array) || !readArrayType(&variable, array)) return std::nullopt;
  array.id = dwarf_dieoffset(&variable);
  array.name = name;
  array.file = fileIn(&variable, DW_AT_decl_file);
  int line = 0;
  if (dwarf_decl_line(&variable, &line) == 0) array.line = static_cast<uint32_t>(line);
  return array;
}

std::vector<AddressRange> SourceMap::addresses(std::string_view file, uint32_t line) const {
  std::vector<AddressRange> ranges;
  const std::vector<Row> &rows = impl_->rows;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    const Row &row = rows[i];
    uint64_t end = rows[i + 1].address;
    if (row.ends_sequence || row.line != line || end == row.address) continue;
    if (row.file == kNoFile || file != impl_->file_names[row.file]) continue;
    if (!ranges.empty() && ranges.back().end == row.address)
      ranges.back().end = end;
    else
      ranges.push_back({row.address, end});
  }
  return ranges;
}

std::vector<std::string> SourceMap::files() const {
  std::set<std::string_view> names;
  for (const Row &row : impl_->rows)
    if (row.file != kNoFile && !row.ends_sequence) names.insert(impl_->file_names[row.file]);
  return {names.begin(), names.end()};
}

} // namespace fade::codeobj
