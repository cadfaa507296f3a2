// Every reference model is what transformers said of the files we wrote (fixtures/transformers.json, by transformers_parity.py --write).
#include "base/file.hpp"
#include "model/model_folder.hpp"
#include "model/reference_models.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::model::testing {
namespace {

using Json = nlohmann::json;

constexpr double kTolerance = 1e-4;  // fp32, other orders of summation
constexpr double kFloor = 1e-6;      // of the whole gradient's norm: for tensors whose true gradient is zero

const Json& fixture() {
  static const Json read = Json::parse(read_file(ROLLCALL_TRANSFORMERS_FIXTURE));
  return read;
}

void expect_near(const std::vector<float>& ours, const Json& theirs, const char* what) {
  ASSERT_EQ(theirs.size(), ours.size()) << what;
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], theirs[i].get<double>(), kTolerance) << what << " " << i;
}

/// Norm and signed sums of each tensor's gradient. A sum of an error with random signs is as large as the error's norm, so four of them show it.
void expect_gradient(const ModelConfig& config, const std::vector<float>& gradient, const Json& theirs) {
  const WeightLayout layout = weight_layout(config);
  ASSERT_EQ(theirs.size(), layout.slices.size());
  const double whole = norm_of(gradient);
  for (const Slice& slice : layout.slices) {
    const auto values = std::span(gradient).subspan(std::size_t(slice.offset), std::size_t(slice.count));
    const auto expected = theirs.at(slice.name).get<std::vector<double>>();
    const double tolerance = kTolerance * expected.at(0) + kFloor * whole;
    EXPECT_NEAR(norm_of(values), expected.at(0), tolerance) << slice.name;
    const auto sums = signed_sums(values);
    for (std::size_t k = 0; k < sums.size(); ++k) EXPECT_NEAR(sums[k], expected.at(k + 1), tolerance) << slice.name << ", sum " << k;
  }
}

TEST(Transformers, AgreesOnEveryReferenceModel) {
  ASSERT_EQ(fixture().at("models").size(), reference_models().size());
  for (const auto& [name, config] : reference_models()) {
    SCOPED_TRACE(name);
    const Json& expected = fixture().at("models").at(name);
    EXPECT_EQ(expected.at("config"), Json::parse(to_config_json(config))) << "other keys than those judged";
    const ReferenceResults r = reference_results(config);
    ASSERT_EQ(expected.at("tokens"), Json(r.leaf.tokens));
    expect_near(r.columns.logprob, expected.at("logprobs"), "log-prob");
    expect_near(r.columns.entropy, expected.at("entropies"), "entropy");
    ASSERT_EQ(expected.at("logits").size(), r.logits.size());
    for (std::size_t t = 0; t < r.logits.size(); ++t) expect_near(r.logits[t], expected.at("logits")[t], "logit");
    EXPECT_EQ(Json(r.greedy), expected.at("greedy"));
    expect_gradient(config, r.gradient, expected.at("gradients"));
  }
}

/// Over all models together: a single one's log-probs are too few for a percentile.
TEST(Transformers, Bf16IsNoFartherFromFp32ThanItsOwn) {
  std::vector<double> ours, theirs;
  for (const auto& [name, config] : reference_models()) {
    const Json& expected = fixture().at("models").at(name);
    const Policy policy(config, reference_weights(config), {}, kernel_sets(kernels::kBf16Sliced8).back());
    const std::vector<float> logprob = forward(policy, reference_leaf(config), 1.0).logprob;
    ASSERT_EQ(logprob.size(), expected.at("logprobs_bf16").size());
    for (std::size_t i = 0; i < logprob.size(); ++i) {
      const double truth = expected.at("logprobs")[i].get<double>();
      ours.push_back(std::abs(double(logprob[i]) - truth));
      theirs.push_back(std::abs(expected.at("logprobs_bf16")[i].get<double>() - truth));
    }
  }
  const auto mean = [](const std::vector<double>& all) { return std::accumulate(all.begin(), all.end(), 0.0) / double(all.size()); };
  const auto percentile_99 = [](std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all.at(all.size() * 99 / 100);
  };
  EXPECT_GT(mean(ours), 1e-3) << "nothing was rounded";
  EXPECT_LE(mean(ours), mean(theirs));
  EXPECT_LE(percentile_99(ours), percentile_99(theirs));
}

/// transformers 5 writes configurations in its own spelling: the same model.
TEST(Transformers, ItsOwnConfigurationsAreUnderstood) {
  for (const auto& [name, config] : reference_models()) {
    const ModelConfig read = read_model_config({fixture().at("models").at(name).at("written").dump(), name});
    EXPECT_EQ(to_config_json(read), to_config_json(config)) << name;
  }
}

}  // namespace
}  // namespace rollcall::model::testing
