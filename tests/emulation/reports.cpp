// Fails a test that left a report of the emulated device.
#include "emulation.hpp"

#include <gtest/gtest.h>

namespace {

class Reports : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo&) override {
    for (const std::string& problem : emulation::take_reports()) ADD_FAILURE() << problem;
  }
};

const bool listening = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new Reports);
  return true;
}();

}  // namespace
