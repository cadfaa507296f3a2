// Every reference model is what transformers said of the files we wrote
// (fixtures/transformers.json, by transformers_parity.py --write).
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "model/reference_models.hpp"
#include "model/tensors/model_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::model::testing {
namespace {

using Json = nlohmann::json;

constexpr double kTolerance = 1e-4;  // fp32, other orders of summation
constexpr double kFloor = 1e-6;  // of the whole gradient's norm: for tensors whose true gradient is
                                 // zero

const Json& fixture() {
  static const Json read = Json::parse(read_file(ROLLCALL_TRANSFORMERS_FIXTURE));
  return read;
}

void expect_near(const std::vector<float>& ours, const Json& theirs, const char* what) {
  ASSERT_EQ(theirs.size(), ours.size()) << what;
  for (std::size_t i = 0; i < ours.size(); ++i)
    EXPECT_NEAR(ours[i], theirs[i].get<double>(), kTolerance) << what << " " << i;
}

/// Norm and signed sums of each tensor's gradient. A sum of an error with random signs is as large
/// as the error's norm, so four of them show it.
void expect_gradient(const ModelConfig& config, const std::vector<float>& gradient,
                     const Json& theirs) {
  const WeightLayout layout = weight_layout(config);
  ASSERT_EQ(theirs.size(), layout.slices.size());
  const double whole = norm_of(gradient);
  for (const Slice& slice : layout.slices) {
    const auto values =
        std::span(gradient).subspan(std::size_t(slice.offset), std::size_t(slice.count));
    const auto expected = theirs.at(slice.name).get<std::vector<double>>();
    const double tolerance = kTolerance * expected.at(0) + kFloor * whole;
    EXPECT_NEAR(norm_of(values), expected.at(0), tolerance) << slice.name;
    const auto sums = signed_sums(values);
    for (std::size_t k = 0; k < sums.size(); ++k)
      EXPECT_NEAR(sums[k], expected.at(k + 1), tolerance) << slice.name << ", sum " << k;
  }
}

TEST(Transformers, AgreesOnEveryReferenceModel) {
  ASSERT_EQ(fixture().at("models").size(), reference_models().size());
  for (const auto& [name, config] : reference_models()) {
    SCOPED_TRACE(name);
    const Json& expected = fixture().at("models").at(name);
    EXPECT_EQ(expected.at("config"), Json::parse(to_config_json(config)))
        << "other keys than those judged";
    const ReferenceResults r = reference_results(config);
    ASSERT_EQ(expected.at("tokens"), Json(r.micro_batch.tokens));
    expect_near(r.columns.logprob, expected.at("logprobs"), "log-prob");
    expect_near(r.columns.entropy, expected.at("entropies"), "entropy");
    ASSERT_EQ(expected.at("logits").size(), r.logits.size());
    for (std::size_t t = 0; t < r.logits.size(); ++t)
      expect_near(r.logits[t], expected.at("logits")[t], "logit");
    EXPECT_EQ(Json(r.greedy), expected.at("greedy"));
    expect_gradient(config, r.gradient, expected.at("gradients"));
  }
}

double mean(const std::vector<double>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) / double(all.size());
}

double percentile_99(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all.at(all.size() * 99 / 100);
}

/// Over all models together: a single one's log-probs are too few for a percentile.
TEST(Transformers, Bf16IsNoFartherFromFp32ThanItsOwn) {
  std::vector<double> ours, theirs;
  for (const auto& [name, config] : reference_models()) {
    const Json& expected = fixture().at("models").at(name);
    const PolicyModel policy(config, reference_weights(config), {},
                             kernel_sets(kernels::kBf16Sliced8).back());
    const std::vector<float> logprob = forward(policy, reference_micro_batch(config), 1.0).logprob;
    ASSERT_EQ(logprob.size(), expected.at("logprobs_bf16").size());
    for (std::size_t i = 0; i < logprob.size(); ++i) {
      const double truth = expected.at("logprobs")[i].get<double>();
      ours.push_back(std::abs(double(logprob[i]) - truth));
      theirs.push_back(std::abs(expected.at("logprobs_bf16")[i].get<double>() - truth));
    }
  }
  EXPECT_GT(mean(ours), 1e-3) << "nothing was rounded";
  EXPECT_LE(mean(ours), mean(theirs));
  EXPECT_LE(percentile_99(ours), percentile_99(theirs));
}

/// Norm of a - b.
double distance(std::span<const float> a, std::span<const float> b) {
  return std::sqrt(
      std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus(),
                         [](float x, float y) { return (double(x) - y) * (double(x) - y); }));
}

/// Whole gradients in units of their norm, and all tensors of all models in units of theirs: 0.032
/// against 0.049, and 0.030 against 0.045 in the mean.
TEST(Transformers, Bf16GradientsAreNoFartherFromFp32ThanItsOwn) {
  std::vector<double> ours, theirs, whole_ours, whole_theirs;
  for (const auto& [name, config] : reference_models()) {
    const Json& expected = fixture().at("models").at(name);
    const ReferenceResults full = reference_results(config);
    const PolicyModel policy(config, reference_weights(config), {},
                             kernel_sets(kernels::kBf16Sliced8).back());
    const std::vector<float> rounded = gradient_of(policy, full.micro_batch, 1.0, full.weights);
    double own = 0.0, other = 0.0;
    for (const Slice& slice : weight_layout(config).slices) {
      const auto part = [&](const std::vector<float>& all) {
        return std::span(all).subspan(std::size_t(slice.offset), std::size_t(slice.count));
      };
      const double error = distance(part(rounded), part(full.gradient)),
                   error_of_theirs =
                       expected.at("gradient_errors_bf16").at(slice.name).get<double>();
      own += error * error, other += error_of_theirs * error_of_theirs;
      // its true gradient is zero
      if (norm_of(part(full.gradient)) < kFloor * norm_of(full.gradient)) continue;
      ours.push_back(error / norm_of(part(full.gradient))),
          theirs.push_back(error_of_theirs / norm_of(part(full.gradient)));
    }
    EXPECT_LE(std::sqrt(own), 1.25 * std::sqrt(other))
        << name << ": a single model's roundings may fall either way";
    whole_ours.push_back(std::sqrt(own) / norm_of(full.gradient)),
        whole_theirs.push_back(std::sqrt(other) / norm_of(full.gradient));
    EXPECT_GT(std::sqrt(own), 1e-3 * norm_of(full.gradient)) << name << ": nothing was rounded";
  }
  EXPECT_LE(mean(whole_ours), mean(whole_theirs));
  EXPECT_LE(mean(ours), mean(theirs));
  EXPECT_LE(percentile_99(ours), percentile_99(theirs));
}

/// transformers 5 writes configurations in its own spelling: the same model.
TEST(Transformers, ItsOwnConfigurationsAreUnderstood) {
  for (const auto& [name, config] : reference_models()) {
    const ModelConfig read =
        read_model_config({fixture().at("models").at(name).at("written").dump(), name});
    EXPECT_EQ(to_config_json(read), to_config_json(config)) << name;
  }
}

}  // namespace
}  // namespace rollcall::model::testing
