// Writes random C statements: assignments, control flow, memory, calls. Every loop ends.
#pragma once

#include "expressions.h"

#include <optional>

namespace fade::sim::differential {

struct Record { // a struct type
  std::string name;
  std::vector<Variable> fields;
};

struct Function {
  std::string name;
  Type result = Type::u32;
  std::vector<Type> parameters;
  std::string record;    // type of a struct passed by value, or empty
  bool indirect = false; // has the signature of the call table
  unsigned cost = 0;     // statements that one call runs, at most
};

class Statements {
public:
  Statements(Dice &dice, Nodes &nodes, Expressions &expressions)
      : dice_(dice), nodes_(nodes), expressions_(expressions) {}

  // How functions take `in` and whether they take `shared`.
  void set_kernel(bool flat_in, bool shared) { flat_in_ = flat_in, shared_ = shared; }
  void add_function(const Function &f) { functions_.push_back(f); }
  std::vector<std::string> indirect_targets() const;
  void set_call_table(const std::string &table) { call_table_ = table; }

  // Between these, statements belong to one function. `result`: what it returns, if anything.
  void start_function(std::optional<Type> result);
  void add_record(const std::string &variable, const std::string &array, const Record &type);
  // The function is a phase, which may write LDS: its own slot, and counters if it is their turn.
  void start_phase(bool counters, bool shared, unsigned slot_mask);
  unsigned end_function();

  std::string block(const Scope &scope, unsigned count, unsigned indent);

private:
  struct LocalRecord {
    std::string variable, array;
    Record type;
  };
  std::string statement(const Scope &scope, unsigned indent);
  std::string assignment(const Scope &scope);
  std::string branch(const Scope &scope, unsigned indent);
  std::string choice(const Scope &scope, unsigned indent);
  std::string loop(const Scope &scope, unsigned indent);
  std::string call(const Scope &scope);
  std::string record_copy(const Scope &scope);
  std::string memory(const Scope &scope);
  std::string atomic(const Scope &scope);
  std::string array_pointer(const Scope &scope);
  const Variable *target(const Scope &scope, std::optional<Type> type = {});

  Dice &dice_;
  Nodes &nodes_;
  Expressions &expressions_;
  std::vector<Function> functions_;
  std::vector<LocalRecord> records_;
  std::string call_table_;
  bool flat_in_ = false, shared_ = false;
  // Of the function being written.
  std::optional<Type> result_;
  bool phase_ = false, counters_ = false;
  unsigned slot_mask_ = 0;
  unsigned loops_ = 0, times_ = 1, names_ = 0, cost_ = 0;
};

} // namespace fade::sim::differential
