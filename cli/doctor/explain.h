// doctor -- application: runs it and says how it died. And what the doctor's commands share.
#pragma once

#include "base/result.h"
#include "doctor/command.h"
#include "doctor/output.h"

namespace fade::cli {

/// Not one of the codes that are verdicts.
inline constexpr int kDoctorFailed = 3;

bool isSoftwareGpu(const DoctorOptions &options);
/// Says what is wrong, and returns kDoctorFailed.
int refuse(const Error &error);
/// False, after a line that says why, if the file cannot be written.
bool saveTo(const std::string &path, const std::string &text);
/// Adds what a file of deaths says. False, after a line that says why, if it cannot be read.
bool addDeathsOf(const std::string &path, doctor::Diagnosis &diagnosis);

/// The application's output, exit code and signals stay its own: this process ends like it.
int runAndExplain(const DoctorOptions &options, const doctor::RuleSet &rules,
                  const std::vector<std::string> &application);

} // namespace fade::cli
