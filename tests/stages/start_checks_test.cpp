// What a run is told at its start of draws that leave tokens out, and what is refused of them.
#include "stages/start_checks.hpp"

#include "base/error.hpp"
#include "io/sample_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::stages {
namespace {

using testing::HasSubstr;

RunConfig config_of(std::vector<std::string> settings) {
  settings.push_back("run.dir=/nonexistent/run");
  return load_run_config({}, settings);
}

std::string refusal(const std::vector<std::string>& settings) {
  try {
    check_start(config_of(settings));
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TEST(StartChecks, DrawsThatLeaveTokensOutAreTold) {
  for (const auto& [settings, cut] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"sampling.top_p=0.9"}, "sampling.top_p is 0.9:"},
           {{"sampling.top_k=20"}, "sampling.top_k is 20:"},
           {{"sampling.top_k=20", "sampling.top_p=0.9"}, "sampling.top_k is 20 and sampling.top_p 0.9:"}}) {
    const std::string told = truncation_told(config_of(settings));
    EXPECT_THAT(told, HasSubstr(cut));
    EXPECT_THAT(told, HasSubstr("rollout/kept_mass_mean"));
    EXPECT_THAT(told, HasSubstr("sampling.logprob = \"kept\" trains on what is drawn from"));
  }
  EXPECT_THAT(truncation_told(config_of({"sampling.top_p=0.9", "run.numerics=cuda_bf16_sliced8"})), HasSubstr("in numerics of the host"));
  for (const std::vector<std::string>& settings : {std::vector<std::string>{},
                                                   {"sampling.top_p=0.9", "sampling.logprob=kept"},
                                                   {"sampling.top_p=0.9", "sampling.temperature=0"},
                                                   {"sampling.top_p=0.9", "train.steps=0"}})
    EXPECT_EQ(truncation_told(config_of(settings)), "");
}

TEST(StartChecks, LogProbsOfKeptTokensNeedDrawsThatKeepSomeAndTheHost) {
  EXPECT_EQ(refusal({"sampling.top_p=0.9", "sampling.logprob=kept"}), "");
  EXPECT_THAT(refusal({"sampling.logprob=kept"}), HasSubstr("sampling.logprob is set, but draws leave no token out"));
  EXPECT_THAT(refusal({"sampling.top_k=5", "sampling.logprob=kept", "run.numerics=cuda_bf16_sliced8"}), HasSubstr("choose numerics of the host"));
  EXPECT_THROW(config_of({"sampling.logprob=top_p"}), ConfigError);
}

}  // namespace
}  // namespace rollcall::stages
