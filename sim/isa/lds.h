// The parts that make up the table of LDS instructions.
#pragma once

#include "isa/opcode.h"

#include <span>

namespace fade::sim {

} // namespace fade::sim
