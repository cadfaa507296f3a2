// The objective against other trainers: verl's and TRL's own code has judged small steps
// (fixtures/referees.json, made by scripts/referee), and loss and derivatives must agree to 1e-6
// relative. Where settings had to be made equal, or a constant factor remains, METHODS.md says why.
#include "base/text/json.hpp"
#include "objective/objective.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

namespace rollcall::objective::test {
namespace {

using nlohmann::json;

const json& fixture() {
  static const json all = json::parse(std::ifstream(ROLLCALL_REFEREES));
  return all;
}

at::Tensor reals(const json& column) {
  return at::tensor(column.get<std::vector<double>>(), at::kDouble);
}

StepColumns columns_of(const json& step) {
  std::vector<std::int64_t> offsets{0};
  for (const auto& length : step["length"])
    offsets.push_back(offsets.back() + length.get<std::int64_t>());
  StepColumns c;
  c.reward = reals(step["reward"]);
  c.group = at::tensor(step["group"].get<std::vector<std::int64_t>>(), at::kLong);
  c.prompt_level = at::zeros_like(c.group);
  c.offsets = at::tensor(offsets, at::kLong);
  c.old_logprob = reals(step["old"]), c.rollout_logprob = reals(step["rollout"]);
  c.truncated = at::zeros_like(c.group).to(at::kBool);
  c.max_new_tokens = step["horizon"].get<double>();
  c.named["reference_logprob"] = reals(step["reference"]);
  c.named["current_logprob"] = reals(step["now"]);  // the peers take covariances and masks under
                                                    // the policy they evaluate
  c.named["current_entropy"] = reals(step["entropy"]);
  c.named["sum_squares"] = reals(step["sum_squares"]);
  c.named["value"] = reals(step["value"]);
  for (const char* name : {"greedy_reward", "component/correct", "component/format"})
    c.named[name] = reals(step[name]);
  return c;
}

Settings settings(const json& object) {
  Settings all;
  for (const auto& [name, value] : object.items()) all.emplace_back(name, value.get<std::string>());
  return all;
}

/// To 1e-6 of the value itself; what is a rounding error beside the column's largest value counts
/// as 0.
void expect_agreement(const at::Tensor& ours, const std::vector<double>& theirs, const char* what) {
  ASSERT_EQ(std::size_t(ours.numel()), theirs.size()) << what;
  const auto larger = [](double a, double b) { return std::max(a, std::abs(b)); };
  const double floor = 1e-12 * std::accumulate(theirs.begin(), theirs.end(), 0.0, larger);
  const at::Tensor flat = ours.contiguous();
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const double value = flat.const_data_ptr<double>()[i];
    EXPECT_NEAR(value, theirs[i], 1e-6 * std::abs(theirs[i]) + floor) << what << " of token " << i;
  }
}

class Referees : public testing::TestWithParam<std::size_t> {};

TEST_P(Referees, AgreeToAMillionth) {
  const json& example = fixture()["cases"][GetParam()];
  const json& columns = fixture()["steps"][example["step"].get<std::string>()];
  const Objective objective(example["recipe"], settings(example["pieces"]),
                            settings(example["knobs"]));
  std::vector<std::int64_t> rollouts(columns["length"].size());
  std::iota(rollouts.begin(), rollouts.end(), 0);
  const MicroBatchLoss ours = objective.evaluate(
      *objective.prepare(columns_of(columns)),
      {rollouts, reals(columns["now"]), reals(columns["entropy"]), reals(columns["value_now"])});
  const double scale = example.value("scale", 1.0);
  if (example.contains("loss"))
    expect_agreement(at::full({1}, ours.loss * scale, at::kDouble), {example["loss"].get<double>()},
                     "loss");
  expect_agreement(ours.dlogprob * scale, example["derivative"], "derivative");
  if (example.contains("entropy_derivative"))
    expect_agreement(ours.dentropy, example["entropy_derivative"], "derivative in the entropy");
  if (example.contains("value_derivative"))
    expect_agreement(ours.dvalue, example["value_derivative"], "derivative in the value");
}

std::string name_of(const testing::TestParamInfo<std::size_t>& info) {
  const json& example = fixture()["cases"][info.param];
  std::string name = example["peer"].get<std::string>() + "_" +
                     example["recipe"].get<std::string>() + "_" +
                     example["step"].get<std::string>();
  std::replace(name.begin(), name.end(), '-', '_');
  return name + "_" + std::to_string(info.param);
}

INSTANTIATE_TEST_SUITE_P(Peers, Referees, testing::Range(std::size_t{0}, fixture()["cases"].size()),
                         name_of);

TEST(RefereeVersions, AreNamed) {
  for (const char* peer : {"verl", "trl", "torch"})
    EXPECT_THAT(fixture()["versions"][peer].get<std::string>(), testing::Not(testing::IsEmpty()));
}

}  // namespace
}  // namespace rollcall::objective::test
