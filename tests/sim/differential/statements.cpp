#include "statements.h"

#include <fmt/format.h>

#include <algorithm>

namespace fade::sim::differential {

using fmt::format;

namespace {
constexpr unsigned most_times = 40;  // a statement inside nested loops
constexpr unsigned most_cost = 3000; // of a function and all that it calls
} // namespace

std::vector<std::string> Statements::indirect_targets() const {
  std::vector<std::string> names;
  for (const Function &f : functions_)
    if (f.indirect) names.push_back(f.name);
  return names;
}

void Statements::start_function(std::optional<Type> result) {
  result_ = result;
  records_.clear();
  phase_ = counters_ = false;
  loops_ = names_ = cost_ = 0;
  times_ = 1;
}

void Statements::start_phase(bool counters, bool shared, unsigned slot_mask) {
  phase_ = true;
  counters_ = counters;
  shared_ = shared;
  slot_mask_ = slot_mask;
}

unsigned Statements::end_function() { return cost_; }

void Statements::add_record(const std::string &variable, const std::string &array,
                            const Record &type) {
  records_.push_back({variable, array, type});
}

std::string Statements::block(const Scope &scope, unsigned count, unsigned indent) {
  std::string text;
  for (unsigned i = 0; i < count; i++) {
    const unsigned node = nodes_.next();
    const std::string one = statement(scope, indent);
    if (!nodes_.dropped(node)) text += std::string(indent, ' ') + one + "\n";
  }
  return text;
}

const Variable *Statements::target(const Scope &scope, std::optional<Type> type) {
  std::vector<const Variable *> candidates;
  for (const Variable &v : scope.variables)
    if (v.writable && (!scope.uniform || v.uniform) && (!type || v.type == *type))
      candidates.push_back(&v);
  return candidates.empty() ? nullptr : dice_.pick(candidates);
}

std::string Statements::statement(const Scope &scope, unsigned indent) {
  cost_ += times_;
  const unsigned roll = dice_.below(100);
  const bool nest = indent < 8 && cost_ < most_cost;
  if (nest && roll < 14) return branch(scope, indent);
  if (nest && roll < 24) return loop(scope, indent);
  if (scope.uniform) return assignment(scope);
  if (nest && roll < 30) return choice(scope, indent);
  if (roll < 42) return call(scope);
  if (roll < 47) return record_copy(scope);
  if (roll < 58 && phase_) return memory(scope);
  if (roll < 66 && phase_) return atomic(scope);
  if (roll < 69 && loops_)
    return fill("if ($) $;", {expressions_.condition(scope, 2), dice_.pick({"break", "continue"})});
  if (roll < 71)
    return fill("if ($) return$;", {expressions_.condition(scope, 2),
                                    result_ ? " " + expressions_.value(scope, *result_, 1) : ""});
  return assignment(scope);
}

std::string Statements::assignment(const Scope &scope) {
  if (!scope.uniform && dice_.chance(25)) {
    std::vector<const Array *> arrays;
    for (const Array &a : scope.arrays)
      if (a.writable) arrays.push_back(&a);
    if (!arrays.empty()) {
      const Array &a = *dice_.pick(arrays);
      return fill("$[$ & $] = $;",
                  {a.name, expressions_.value(scope, Type::u32, 1), std::to_string(a.size - 1),
                   expressions_.value(scope, a.type, 3)});
    }
  }
  const Variable *v = target(scope);
  if (!v) return ";";
  if (is_vector(v->type) && dice_.chance(40)) // one element
    return fill("$[$ & $] = $;", {v->name, expressions_.value(scope, Type::u32, 1),
                                  std::to_string(info(v->type).lanes - 1),
                                  expressions_.value(scope, info(v->type).element, 2)});
  if (is_integer(v->type) && dice_.chance(30))
    return fill("$ $= $;", {v->name, dice_.pick({"+", "-", "*", "^", "&", "|"}),
                            expressions_.value(scope, v->type, 2)});
  return fill("$ = $;", {v->name, expressions_.value(scope, v->type, dice_.chance(20) ? 4 : 3)});
}

std::string Statements::branch(const Scope &scope, unsigned indent) {
  std::string text = fill("if ($) {\n", {expressions_.condition(scope, 3)});
  text += block(scope, dice_.between(1, 3), indent + 2);
  if (dice_.chance(50)) {
    text += std::string(indent, ' ') + "} else {\n";
    text += block(scope, dice_.between(1, 3), indent + 2);
  }
  return text + std::string(indent, ' ') + "}";
}

std::string Statements::choice(const Scope &scope, unsigned indent) {
  const std::string margin(indent, ' ');
  const unsigned cases = dice_.between(2, 4);
  std::string text = fill("switch ($ & 7) {\n", {expressions_.value(scope, Type::u32, 2)});
  for (unsigned i = 0; i < cases; i++) {
    text += format("{}case {}:\n", margin, i);
    text += block(scope, dice_.between(1, 2), indent + 2);
    if (dice_.chance(80)) text += margin + "  break;\n"; // or falls through
  }
  if (dice_.chance(50))
    text += margin + "default:\n" + block(scope, 1, indent + 2) + margin + "  ;\n";
  else
    text += margin + "default:;\n";
  return text + margin + "}";
}

std::string Statements::loop(const Scope &scope, unsigned indent) {
  const unsigned most = dice_.pick({2u, 4u, 8u});
  if (times_ * most > most_times) return assignment(scope);
  const std::string margin(indent, ' '), counter = format("turn{}", names_++);
  const std::string trips =
      fill("$ & $", {expressions_.value(scope, Type::u32, 2), std::to_string(most - 1)});
  const unsigned kind = dice_.below(3);
  Scope inner = scope;
  inner.variables.push_back({counter, Type::u32, false, scope.uniform});
  times_ *= most, loops_++;
  const std::string body = block(inner, dice_.between(1, 4), indent + 2);
  times_ /= most, loops_--;
  switch (kind) {
  case 0:
    return format("for (u32 {0} = 0, n = {1}; {0} <= n; {0}++) {{\n{2}{3}}}", counter, trips, body,
                  margin);
  case 1: return format("for (u32 {0} = {1}; {0}--;) {{\n{2}{3}}}", counter, trips, body, margin);
  default:
    return format("{{\n{3}  u32 {0} = {1};\n{3}do {{\n{2}{3}}} while ({0}-- > 0);\n{3}}}", counter,
                  trips, body, margin);
  }
}

// A pointer to 8 words of the function's own.
std::string Statements::array_pointer(const Scope &scope) {
  std::vector<std::string> candidates;
  for (const Array &a : scope.arrays)
    if (a.writable && a.type == Type::u32 && a.size >= 8) candidates.push_back(a.name);
  return candidates.empty() ? "(u32[8]){1, 2, 3}" : dice_.pick(candidates);
}

std::string Statements::call(const Scope &scope) {
  std::vector<const Function *> affordable;
  unsigned dearest = 0;
  for (const Function &f : functions_) {
    if (f.indirect) dearest = std::max(dearest, f.cost);
    if (f.cost * times_ + cost_ < most_cost) affordable.push_back(&f);
  }
  if (affordable.empty()) return assignment(scope);
  const Function &f = *dice_.pick(affordable);
  const Variable *to = target(scope);
  if (!to) return ";";
  const bool through_table = f.indirect && !call_table_.empty() && dice_.chance(60) &&
                             dearest * times_ + cost_ < most_cost;
  cost_ += times_ * (through_table ? dearest : f.cost);
  std::string text = through_table
                         ? fill("$[$ & 3]", {call_table_, expressions_.value(scope, Type::u32, 1)})
                         : f.name;
  text += "(";
  for (Type t : f.parameters) text += expressions_.value(scope, t, 2) + ", ";
  if (!f.record.empty()) {
    std::string record = format("({}){{0}}", f.record);
    for (const LocalRecord &r : records_)
      if (r.type.name == f.record) record = r.variable;
    text += record + ", ";
  }
  text += array_pointer(scope);
  text += flat_in_ && scope.in_space != "const" ? ", (const u8 *)in" : ", in";
  if (shared_) text += scope.item ? ", (const u8 *)lds_read" : ", shared";
  text += ")";
  return format("{} = {};", to->name, converted(text, f.result, to->type));
}

std::string Statements::record_copy(const Scope &scope) {
  if (records_.empty()) return assignment(scope);
  const LocalRecord &r = dice_.pick(records_);
  const std::string index = expressions_.value(scope, Type::u32, 1);
  switch (dice_.below(3)) {
  case 0: return format("{}[{} & 3] = {};", r.array, index, r.variable);
  case 1: return format("{} = {}[{} & 3];", r.variable, r.array, index);
  default: {
    const Variable &f = dice_.pick(r.type.fields);
    return fill("$[$ & 3].$ = $;", {r.array, index, f.name, expressions_.value(scope, f.type, 2)});
  }
  }
}

// A store to this work-item's piece of global memory or to its slot of LDS.
std::string Statements::memory(const Scope &scope) {
  if (dice_.chance(10)) { // 12 bytes at once
    const char *from = dice_.pick({"(GLOBAL const triple *)(in + 4080)", "(GLOBAL triple *)mem",
                                   "(LDS triple *)(lds_read + 16 * id)"});
    const std::string to = dice_.chance(50)
                               ? "(GLOBAL triple *)(mem + 16)"
                               : format("(LDS triple *)(lds_write + (id ^ {}u) * 16u)", slot_mask_);
    return format("*{} = *{};", to, from);
  }
  const Type t =
      dice_.pick({Type::u8, Type::i8, Type::u16, Type::i16, Type::u32, Type::i32, Type::u64,
                  Type::i64, Type::u8x4, Type::i16x2, Type::u32x2, Type::u32x4, Type::u64x2});
  const std::string v = expressions_.value(scope, t, 3);
  const bool lds = dice_.chance(50);
  const std::string space = lds ? "LDS" : "GLOBAL";
  const std::string base = lds ? format("lds_write + ((id ^ {}u) * 16u)", slot_mask_) : "mem";
  const unsigned room = lds ? 16 : 64, size = bytes(t);
  if (dice_.chance(12))
    return format("LOOSE({}, {}, {}, {}) = {};", space, name(t), base, dice_.below(room - size + 1),
                  v);
  return fill("TIGHT($, $, $, $ & $u) = $;",
              {space, name(t), base, expressions_.value(scope, Type::u32, 1),
               std::to_string(room - size), v});
}

std::string Statements::atomic(const Scope &scope) {
  if (dice_.chance(15)) { // sums of small numbers are exact in any order
    const bool lds = counters_ && dice_.chance(50), wide = !lds && dice_.chance(50);
    return fill("__atomic_fetch_add(($ $ *)&$, ($)($ & 15), __ATOMIC_RELAXED);",
                {lds ? "LDS" : "GLOBAL", wide ? "f64" : "f32",
                 lds    ? "lds_count[32]"
                 : wide ? "counters[20]"
                        : "counters[16]",
                 wide ? "f64" : "f32", expressions_.value(scope, Type::u32, 2)});
  }
  if (dice_.chance(50)) { // shared with all others: operations in any order come to the same
    static constexpr const char *operations[] = {"add", "sub", "and", "or",
                                                 "xor", "min", "max", "max"};
    const unsigned o = dice_.below(8);
    const bool is_signed = o == 7, lds = counters_ && dice_.chance(50);
    return fill("__atomic_fetch_$(($ $ *)&$[$ + 8 * ($ & $)], $, __ATOMIC_RELAXED);",
                {operations[o], lds ? "LDS" : "GLOBAL", is_signed ? "i32" : "u32",
                 lds ? "lds_count" : "counters", std::to_string(o),
                 expressions_.value(scope, Type::u32, 1), lds ? "3" : "1",
                 expressions_.value(scope, is_signed ? Type::i32 : Type::u32, 2)});
  }
  const Type t = dice_.pick(
      {Type::u32, Type::i32, Type::u64, Type::i64}); // its own word, and the old value is used
  const Variable *to = target(scope, t);
  if (!to) return assignment(scope);
  const bool lds = dice_.chance(50);
  const unsigned words = (lds ? 16 : 64) / bytes(t);
  const std::string place = lds ? format("(LDS {} *)(lds_write + (id ^ {}u) * 16u) + {}", name(t),
                                         slot_mask_, dice_.below(words))
                                : format("(GLOBAL {} *)mem + {}", name(t), dice_.below(words));
  if (dice_.chance(20))
    return fill("$ = __atomic_exchange_n($, $, __ATOMIC_RELAXED);",
                {to->name, place, expressions_.value(scope, t, 2)});
  if (dice_.chance(20))
    return fill(
        "$ += __atomic_compare_exchange_n($, &($){$}, $, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);",
        {to->name, place, name(t), expressions_.value(scope, t, 1),
         expressions_.value(scope, t, 2)});
  return fill("$ = __atomic_fetch_$($, $, __ATOMIC_RELAXED);",
              {to->name, dice_.pick({"add", "sub", "and", "or", "xor", "min", "max"}), place,
               expressions_.value(scope, t, 2)});
}

} // namespace fade::sim::differential
