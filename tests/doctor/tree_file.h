// Trees of machines, written down in few lines (tests/data/doctor/*.tree), and made into folders.
//
//   # comment                          verdict CODE        expectations so far are forgotten
//   include NAME                       finding RULE        one line per finding, in any order
//   file PATH TEXT      (\n, \e, \a)   says RULE TEXT      what a finding of that rule contains
//   link PATH TARGET                   loads NAME PATH     what the program would load
//   remove PATH                        program PATH
//   fifo PATH   folder PATH            prints-no-escapes   the table has no control characters
//   mode OCTAL PATH                    data PATH FILE      a copy of a file of tests/data
//   big PATH BYTES                     a file with a hole
//   garbage PATH BYTES   truncated PATH BYTES   the start of a library
//   elf PATH [soname=] [needed=a,b] [rpath=] [runpath=] [strings=a,b]
//   node N GFX_TARGET_VERSION pci= minor= mib= [cores=]    a GPU in the topology and on the bus
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace fade::test {

struct TreeFile {
  int verdict = -1;
  std::multiset<std::string> findings;
  std::vector<std::pair<std::string, std::string>> says;
  std::map<std::string, std::string> loads;
  std::string program;
  bool prints_no_escapes = false;

  /// Makes the tree below `root`. Throws std::runtime_error for what it does not understand.
  void make(const std::string &name, const std::string &root);
};

struct ElfParts {
  std::string soname, rpath, runpath;
  std::vector<std::string> needed, strings;
};
/// A library without code that the loader could read.
std::string makeElf(const ElfParts &parts);

/// A folder of its own, which goes with the object.
class Folder {
public:
  Folder();
  ~Folder();
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  const std::string &path() const { return path_; }

private:
  std::string path_;
};

} // namespace fade::test
