// Every family's log-probs are those that transformers computed from the files we wrote (fixtures/transformers.json, by transformers_parity.py --write).
#include "base/file.hpp"
#include "model/model_folder.hpp"
#include "model/reference_models.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rollcall::model::testing {
namespace {

constexpr double kTolerance = 1e-4;  // fp32, other orders of summation

TEST(Transformers, AgreesWithEveryFamily) {
  const auto fixture = nlohmann::json::parse(read_file(ROLLCALL_TRANSFORMERS_FIXTURE));
  ASSERT_EQ(fixture.at("models").size(), reference_models().size());
  for (const auto& [name, config] : reference_models()) {
    SCOPED_TRACE(name);
    const auto& expected = fixture.at("models").at(name);
    const auto weights = reference_weights(config);
    EXPECT_EQ(expected.at("config"), nlohmann::json::parse(to_config_json(config))) << "other keys than those judged";
    const Policy policy(config, weights, {});
    const auto leaves = reference_leaves(config);
    ASSERT_EQ(expected.at("logprobs").size(), leaves.size());
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      ASSERT_EQ(expected.at("tokens")[i], nlohmann::json(leaves[i].tokens));
      const auto logprob = forward(policy, leaves[i], 1.0).logprob;
      const auto theirs = expected.at("logprobs")[i].get<std::vector<double>>();
      ASSERT_EQ(theirs.size(), logprob.size());
      for (std::size_t t = 0; t < theirs.size(); ++t) EXPECT_NEAR(logprob[t], theirs[t], kTolerance) << "sequence " << i << ", token " << t;
    }
  }
}

}  // namespace
}  // namespace rollcall::model::testing
