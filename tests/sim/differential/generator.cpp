#include "generator.h"

#include "expressions.h"
#include "statements.h"

#include <fmt/format.h>

namespace fade::sim::differential {
namespace {

using fmt::format;

class Generator {
public:
  Generator(uint64_t seed, const std::set<unsigned> &dropped)
      : seed_(seed), dice_(seed), nodes_(dropped), expressions_(dice_, nodes_),
        statements_(dice_, nodes_, expressions_), kernel_(format("k{}", seed)) {}

  Program program();

private:
  Launch launch();
  void tables();
  void structs();
  void function(unsigned number);
  void indirect_calls();
  void state();
  void phase(unsigned number);
  std::string phases();
  std::string exchange();
  void entry();
  Variable declared(std::string name, Type type, const Scope &scope);
  void declare_locals(Scope &scope, unsigned variables, unsigned arrays, unsigned structs);

  const uint64_t seed_;
  Dice dice_;
  Nodes nodes_;
  Expressions expressions_;
  Statements statements_;
  const std::string kernel_;
  std::string text_;
  std::vector<std::string> results_;
  Scope base_; // what every function sees
  std::vector<Variable> state_;
  std::vector<Record> records_;
  bool flat_in_functions_ = false, shared_ = false;
  unsigned phase_count_ = 0;
};

Launch Generator::launch() {
  Launch l;
  const std::array<uint32_t, 3> shapes[] = {{64, 1, 1},  {64, 1, 1},  {32, 1, 1}, {100, 1, 1},
                                            {128, 1, 1}, {8, 8, 1},   {16, 4, 2}, {4, 3, 5},
                                            {1, 37, 1},  {256, 1, 1}, {7, 1, 1},  {33, 2, 1}};
  l.workgroup = shapes[dice_.below(std::size(shapes))];
  l.groups = dice_.between(1, 2);
  l.last_items = l.items();
  if (l.workgroup[1] == 1 && l.workgroup[2] == 1 && dice_.chance(30))
    l.last_items = dice_.between(1, l.items());
  for (uint32_t &u : l.uniforms)
    u = static_cast<uint32_t>(dice_.chance(50) ? dice_.below(100) : dice_.word());
  return l;
}

void Generator::tables() {
  text_ += format("static const u32 {}_words[16] = {{", kernel_);
  for (int i = 0; i < 16; i++) text_ += expressions_.constant(Type::u32) + ", ";
  text_ += format("}};\nstatic const f64 {}_reals[8] = {{", kernel_);
  for (int i = 0; i < 8; i++)
    text_ += format("{}, ", (static_cast<int>(dice_.below(20000)) - 10000) / 64.0);
  text_ += "};\n";
  base_.arrays.push_back({kernel_ + "_words", Type::u32, 16, false});
  base_.arrays.push_back({kernel_ + "_reals", Type::f64, 8, false});
}

void Generator::structs() {
  for (unsigned n = dice_.below(3); n > 0; n--) {
    Record r{format("struct {}_record{}", kernel_, n), {}};
    text_ += r.name + " { ";
    for (unsigned i = 0, fields = dice_.between(2, 6); i < fields; i++) {
      const Type t = expressions_.any_type();
      r.fields.push_back({format("f{}", i), t});
      text_ += format("{} f{}; ", name(t), i);
    }
    text_ += "};\n";
    records_.push_back(r);
  }
}

Variable Generator::declared(std::string variable, Type type, const Scope &scope) {
  text_ += format("  {} {} = {};\n", name(type), variable, expressions_.value(scope, type, 2));
  return {std::move(variable), type};
}

void Generator::declare_locals(Scope &scope, unsigned variables, unsigned arrays,
                               unsigned structs) {
  for (unsigned i = 0; i < variables; i++)
    scope.variables.push_back(declared(format("v{}", i), expressions_.any_type(), scope));
  for (unsigned i = 0; i < arrays; i++) {
    const Array a{format("a{}", i), expressions_.any_type(), 4u << dice_.below(3)};
    text_ += format("  {} {}[{}] = {{0}};\n", name(a.type), a.name, a.size);
    scope.arrays.push_back(a);
  }
  if (records_.empty()) return;
  for (unsigned i = 0; i < structs; i++) {
    const Record &r = dice_.pick(records_);
    text_ += format("  {0} r{1} = {{0}}, rs{1}[4] = {{{{0}}}};\n", r.name, i);
    for (const Variable &f : r.fields)
      scope.variables.push_back({format("r{}.{}", i, f.name), f.type});
    statements_.add_record(format("r{}", i), format("rs{}", i), r);
  }
}

// A function that is really called: arguments in registers and on the stack, an array by pointer,
// records by value.
void Generator::function(unsigned number) {
  Function f;
  f.name = format("{}_f{}", kernel_, number);
  f.indirect = dice_.chance(40);
  f.result = f.indirect ? Type::u32 : expressions_.any_type();
  Scope scope = base_;
  scope.in_space = flat_in_functions_ ? "const" : "GLOBAL const";
  scope.shared = shared_;
  std::string parameters;
  auto add = [&](Type t) {
    const std::string p = format("p{}", f.parameters.size());
    parameters += format("{} {}, ", name(t), p);
    scope.variables.push_back({p, t});
    f.parameters.push_back(t);
  };
  if (f.indirect) {
    for (Type t : {Type::u32, Type::f32, Type::u64}) add(t);
  } else {
    for (unsigned n = dice_.chance(15) ? 24 : dice_.between(1, 6); n > 0; n--)
      add(expressions_.any_type());
    if (!records_.empty() && dice_.chance(50)) {
      const Record &r = dice_.pick(records_);
      f.record = r.name;
      parameters += r.name + " rp, ";
      for (const Variable &v : r.fields) scope.variables.push_back({"rp." + v.name, v.type});
    }
  }
  scope.arrays.push_back({"q", Type::u32, 8});
  text_ += format("NOINLINE {} {}({}u32 *q, {} u8 *in{}) {{\n", name(f.result), f.name, parameters,
                  scope.in_space, shared_ ? ", const u8 *shared" : "");
  statements_.start_function(f.result);
  const unsigned variables = dice_.between(1, 4), arrays = dice_.below(2), structs = dice_.below(2);
  declare_locals(scope, variables, arrays, structs);
  text_ += statements_.block(scope, dice_.between(1, 4), 2);
  text_ += format("  return {};\n}}\n", expressions_.value(scope, f.result, 3));
  f.cost = statements_.end_function();
  statements_.add_function(f);
}

// Calls through a table of functions of one signature.
void Generator::indirect_calls() {
  const std::vector<std::string> targets = statements_.indirect_targets();
  if (targets.size() < 2) return;
  const std::string table = kernel_ + "_calls";
  text_ += format("static u32 (*const {}[4])(u32, f32, u64, u32 *, {} u8 *{}) = {{", table,
                  flat_in_functions_ ? "const" : "GLOBAL const", shared_ ? ", const u8 *" : "");
  for (int i = 0; i < 4; i++) text_ += dice_.pick(targets) + ", ";
  text_ += "};\n";
  statements_.set_call_table(table);
}

// What a work-item keeps from phase to phase, and the values it stores at the end.
void Generator::state() {
  text_ += format("struct {}_state {{ u32 x0, x1, x2; ", kernel_);
  std::string store;
  auto result = [&](const std::string &value, const std::string &what) {
    store += format("  out[{}] = {};\n", results_.size(), value);
    results_.push_back(what);
  };
  for (int i = 0; i < 3; i++) {
    state_.push_back({format("s->x{}", i), Type::u32});
    result(format("s->x{}", i), format("x{}", i));
  }
  for (unsigned i = 0, n = dice_.between(3, 8); i < n; i++) {
    const Type t = expressions_.any_type(), e = info(t).element;
    state_.push_back({format("s->y{}", i), t});
    text_ += format("{} y{}; ", name(t), i);
    for (unsigned l = 0; l < info(t).lanes; l++) {
      const std::string element = is_vector(t) ? format("s->y{}[{}]", i, l) : format("s->y{}", i);
      result(is_float(e) ? format("bits_{}({})", name(e), element) : format("(u64){}", element),
             format("y{}[{}] ({})", i, l, name(e)));
    }
  }
  text_ +=
      format("}};\nINLINE void {0}_store(const struct {0}_state *s, GLOBAL u64 *out) {{\n{1}}}\n",
             kernel_, store);
}

void Generator::phase(unsigned number) {
  text_ += format("static void {0}_phase{1}(struct {0}_state *s, ITEM_PARAMETERS) {{\n", kernel_,
                  number);
  Scope scope = base_;
  scope.item = true;
  scope.counters = number % 2 == 1;
  statements_.start_function({});
  for (const char *u : {"uni0", "uni1", "uni2", "group"})
    scope.variables.push_back({u, Type::u32, false, true});

  // First what is the same in all work-items: scalar instructions and branches.
  Scope uniform = scope;
  uniform.uniform = true;
  for (unsigned i = 0, n = dice_.below(4); i < n; i++) {
    Variable v = declared(format("g{}", i), expressions_.integer_type(), uniform);
    v.uniform = true;
    uniform.variables.push_back(v);
  }
  if (dice_.chance(60)) text_ += statements_.block(uniform, dice_.between(1, 3), 2);
  for (Variable v : uniform.variables)
    if (v.name[0] == 'g' && v.writable) v.writable = false, scope.variables.push_back(v);

  scope.variables.push_back({"id", Type::u32, false});
  scope.variables.insert(scope.variables.end(), state_.begin(), state_.end());
  const unsigned variables = dice_.below(4), arrays = dice_.below(3), structs = dice_.below(2);
  declare_locals(scope, variables, arrays, structs);
  statements_.start_phase(number % 2 == 0, shared_, dice_.below(256));
  text_ += statements_.block(scope, dice_.between(3, 6), 2);
  text_ += "}\n";
  statements_.end_function();
}

std::string Generator::exchange() {
  std::string x = format("x{}", dice_.below(3)), y = format("x{}", dice_.below(3));
  const unsigned mask = dice_.between(1, 31);
  switch (dice_.below(8)) {
  case 0: return format("EXCHANGE_BPERMUTE({}, {})", x, y);
  case 1: return format("EXCHANGE_PERMUTE({}, {})", x, mask);
  case 2: return format("EXCHANGE_SWIZZLE({}, {})", x, mask);
  case 3: return format("EXCHANGE_BALLOT({}, {})", x, y);
  case 4: return format("EXCHANGE_RANK({}, {})", x, y);
  case 5: return format("EXCHANGE_FIRST({})", x);
  default: {
    const unsigned controls[] = {dice_.below(256),
                                 0x100 + dice_.between(1, 15),
                                 0x110 + dice_.between(1, 15),
                                 0x120 + dice_.between(1, 15),
                                 0x140,
                                 0x141};
    const unsigned control = controls[dice_.below(6)];
    const unsigned rows = dice_.chance(60) ? 15 : dice_.below(16),
                   banks = dice_.chance(60) ? 15 : dice_.below(16);
    return format("EXCHANGE_DPP({}, {}, {:#x}, {:#x}, {:#x}, {})", x, y, control, rows, banks,
                  dice_.below(2));
  }
  }
}

// Phases read one half of LDS and write the other, which then change roles; so a loop holds an even
// number of them.
std::string Generator::phases() {
  std::string body;
  unsigned n = 0;
  auto one = [&](const std::string &indent) {
    const unsigned node = nodes_.next();
    if (!nodes_.dropped(node))
      body += format("{}PHASE({}_phase{}, {}, {});\n", indent, kernel_, n, n % 2, 1 - n % 2);
    n++;
    if (!dice_.chance(60)) return;
    const std::string crossing = exchange();
    if (!nodes_.dropped(nodes_.next())) body += indent + crossing + ";\n";
  };
  while (n < phase_count_) {
    if (n + 2 <= phase_count_ && dice_.chance(30)) {
      body +=
          format("  for (u32 round = 0; round < 1 + (a.uni{} & 3); round++) {{\n", dice_.below(3));
      one("    "), one("    ");
      body += "  }\n";
    } else {
      one("  ");
    }
  }
  return body;
}

void Generator::entry() {
  text_ += format("ENTRY({0}, {1}) {{\n  SETUP({0});\n  CLEAR_LDS();\n", kernel_, results_.size());
  text_ += phases();
  text_ += format("  RESULTS({}_store, {});\n}}\n", kernel_, results_.size());
}

Program Generator::program() {
  const Launch l = launch();
  flat_in_functions_ = dice_.chance(30);
  shared_ = dice_.chance(30);
  tables();
  structs();
  statements_.set_kernel(flat_in_functions_, shared_);
  for (unsigned i = 0, n = dice_.below(4); i < n; i++) function(i);
  indirect_calls();
  state();
  phase_count_ = dice_.between(1, 3);
  for (unsigned i = 0; i < phase_count_; i++) phase(i);
  entry();
  return {seed_, kernel_, text_, results_, l, nodes_.count()};
}

} // namespace

Program generate(uint64_t seed, const std::set<unsigned> &dropped) {
  return Generator(seed, dropped).program();
}

} // namespace fade::sim::differential
