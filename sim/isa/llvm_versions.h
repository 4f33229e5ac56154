// What LLVM's MC layer calls differently in the versions that the decoder can be built with, 19
// to 22.
#pragma once

#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <string>

namespace fade::sim {

// A triple, as the factories of a target want it: itself, or its text.
template <class Target = llvm::Target>
auto factory_name(const Target &target, const llvm::Triple &triple) {
  if constexpr (requires { target.createMCRegInfo(triple); })
    return triple;
  else
    return triple.str();
}

template <class Registry = llvm::TargetRegistry>
const llvm::Target *find_target(const llvm::Triple &triple, std::string &error) {
  if constexpr (requires { Registry::lookupTarget(triple, error); })
    return Registry::lookupTarget(triple, error);
  else
    return Registry::lookupTarget(triple.str(), error);
}

template <class Printer = llvm::MCInstPrinter>
std::string mnemonic_of(Printer &printer, const llvm::MCInst &inst) {
  std::string name;
  if constexpr (requires { printer.getMnemonic(inst); })
    name = printer.getMnemonic(inst).first;
  else
    name = printer.getMnemonic(&inst).first;
  name.resize(std::min(name.find_first_of(" \t"), name.size())); // "... off,"
  return name;
}

} // namespace fade::sim
