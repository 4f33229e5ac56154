// Looks at a machine and notes the facts; judges nothing. Needs no GPU and no rights.
#pragma once

#include "doctor/facts.h"
#include "doctor/tree.h"

#include <span>

namespace fade::doctor {

/// A variable that libraries of ROCm or of programs on top of it read.
struct KnownVariable {
  std::string name;
  std::vector<std::string> readers; ///< libraries by the start of their file name: libhsa-runtime64
  std::string meaning;
};

struct LookOptions {
  std::string program; ///< of that machine, a path; empty: none
  std::span<const KnownVariable> variables;
};

/// Everything below, in this order.
Facts look(const Tree &tree, const LookOptions &options);

void lookAtUser(const Tree &tree, Facts &facts);
void lookAtSystem(const Tree &tree, Facts &facts);
void lookAtGpus(const Tree &tree, Facts &facts);
void lookAtDevices(const Tree &tree, Facts &facts);
void lookAtLog(const Tree &tree, Facts &facts);
/// How runs died: the lines that libfade wrote (FADE_DEATHS), in the notes of a tree.
void lookAtDeaths(const Tree &tree, Facts &facts);
/// The same from such lines. What is none of them is passed over.
void addDeaths(std::string_view lines, Facts &facts);
/// Where variables are set: the environment, and the files that shells read.
void lookAtVariables(const Tree &tree, std::span<const KnownVariable> known, Facts &facts);
/// `program`: empty, or one whose own packages count, too.
void lookAtRocm(const Tree &tree, const std::string &program, Facts &facts);
/// Which of the libraries read the variables that are set.
void lookForReaders(const Tree &tree, std::span<const KnownVariable> known, Facts &facts);
void lookAtProgram(const Tree &tree, const std::string &program, Facts &facts);

/// Files in which shells and sessions find variables. `home` may be empty.
std::vector<std::string> shellFiles(const Tree &tree, const std::string &home);
/// Whether a variable says something about ROCm.
bool isInteresting(std::string_view name, std::span<const KnownVariable> known);
/// Of such a file, the lines that set variables which say something about ROCm.
std::string settingsIn(std::string_view text, std::span<const KnownVariable> known);

/// The environment of the process that will use the GPU: this one's, or what the tree says.
std::map<std::string, std::string> environmentOf(const Tree &tree);

/// What a copied tree cannot hold as files stands in this folder of it, as the commands print it:
/// environ (env), id (id), devices (stat -c '%a %u %g %n' /dev/kfd /dev/dri/*), dmesg (dmesg),
/// deaths (FADE_DEATHS).
inline constexpr const char *kNotes = "/fade-doctor/";

} // namespace fade::doctor
