// Writes random C expressions without undefined behaviour and without side effects.
#pragma once

#include "dice.h"
#include "types.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace fade::sim::differential {

// Puts the pieces where the pattern has a $. A braced list is evaluated from left to right by every
// compiler, which arguments of a call are not: the pieces roll dice.
std::string fill(std::string_view pattern, std::initializer_list<std::string> pieces);

struct Variable {
  std::string name;
  Type type;
  bool writable = true;
  bool uniform = false; // the same in all work-items
};

struct Array {
  std::string name;
  Type type;
  unsigned size; // a power of two
  bool writable = true;
};

// What can be named where an expression stands.
struct Scope {
  std::vector<Variable> variables;
  std::vector<Array> arrays;
  std::string in_space = "GLOBAL const"; // address space of `in`
  bool item = false;                     // inside a phase: id, mem, LDS
  bool counters = false;                 // LDS counters may be read
  bool shared = false;                   // LDS through the flat pointer `shared`
  bool uniform = false;                  // only what is the same in all work-items
};

class Expressions {
public:
  Expressions(Dice &dice, Nodes &nodes) : dice_(dice), nodes_(nodes) {}

  std::string value(const Scope &scope, Type type, int depth);
  std::string condition(const Scope &scope, int depth);
  std::string constant(Type type);

  Type any_type();    // scalars and vectors
  Type scalar_type(); // integers and floats
  Type integer_type();

private:
  std::string leaf(const Scope &scope, Type type);
  std::string load(const Scope &scope, Type type);
  std::string loaded(const std::string &space, Type type, const std::string &pointer,
                     unsigned bytes_there, const std::string &index);
  std::string index(const Scope &scope);
  std::string compound(const Scope &scope, Type type, int depth);
  std::string integer(const Scope &scope, Type type, int depth);
  std::string word(const Scope &scope, Type type, int depth);
  std::string real(const Scope &scope, Type type, int depth);
  std::string vector(const Scope &scope, Type type, int depth);
  std::string integer_constant(Type type);
  std::string float_constant(Type type);

  Dice &dice_;
  Nodes &nodes_;
};

// `text` is of type `from`.
std::string converted(const std::string &text, Type from, Type to);

} // namespace fade::sim::differential
