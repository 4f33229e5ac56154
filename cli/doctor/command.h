// fadeprobe doctor: why does the GPU not work here?
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fade::cli {

struct DoctorOptions {
  std::string root;    ///< a copied tree; empty: this machine
  std::string program; ///< whose libraries are looked at
  std::string rules;   ///< more rules: a file or folder
  bool json = false, quiet = false;
  bool fix = false, print = false, write = false, revert = false;
  std::string deaths;                ///< a file that FADE wrote; empty: none
  std::string collect;               ///< a folder or .tar for what is looked at; empty: none
  std::string save;                  ///< a file for JSON lines; empty: none
  std::string probe;                 ///< all, or stages; empty: none
  std::string gpu;                   ///< for probes and applications
  double timeout = 0;                ///< seconds; 0: not given
  std::vector<std::string> remedies; ///< RULE or RULE:N, for fix
};

CLI::App *addDoctorCommand(CLI::App &app, DoctorOptions &options);
/// 0: usable, 1: usable with limits, 2: not usable, 3: the doctor could not do its work.
int runDoctor(const DoctorOptions &options, const std::vector<std::string> &application);

} // namespace fade::cli
