#include "doctor/probe.h"

namespace fade::doctor {

const char *nameOf(ProbeResult::Outcome outcome) {
  switch (outcome) {
  case ProbeResult::Outcome::passed: return "passed";
  case ProbeResult::Outcome::limited: return "limited";
  case ProbeResult::Outcome::skipped: return "skipped";
  case ProbeResult::Outcome::failed: return "failed";
  }
  return "";
}

} // namespace fade::doctor
