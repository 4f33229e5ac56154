// A test that does not end, for the watchdog.
#include <gtest/gtest.h>

#include <unistd.h>

TEST(Case, Waits) {
  while (true) pause();
}
