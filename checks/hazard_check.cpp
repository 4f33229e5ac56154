#include "checks/hazard_check.h"

namespace fade::checks {

void reportHazard(const ObservedWave &wave, const ObservedHazard &hazard, uint64_t site,
                  Reporter &reporter) {
  Finding f = reporter.begin(Check::hazard, Problem::wait_states);
  f.place = reporter.place(wave, 0, site, AccessKind::load, 4);
  f.other = reporter.place(wave, 0, siteOf(hazard.first, stackOf(site)), AccessKind::load, 4);
  f.space = hazard.at.vector ? 1 : 0;
  f.address = hazard.at.count ? hazard.at.first : kNoRegister;
  f.waves = hazard.present;
  f.limit = hazard.needed;
  f.rule = FindingLog::instance().string(hazard.rule);
  f.cure = FindingLog::instance().string(hazard.cure);
  reporter.report(f);
}

} // namespace fade::checks
