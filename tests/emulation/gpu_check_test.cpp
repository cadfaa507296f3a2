// What scripts/gpu_check trains and times, on the emulated device: its gradients are those of the
// plain loops, and a training learns with the ratio exactly 1.
#include "emulation.hpp"
#include "step_model.hpp"

#include "benchmarks/gpu_check/training.hpp"

namespace rollcall::gpu_check {
namespace {

using kernels::kMatrices;

TEST(GpuCheck, GradientsAreThoseOfThePlainLoops) {
  const kernels::Parameters weights = kernels::first_weights();
  // step_model.hpp's
  const auto angle = [](std::int64_t position, std::int64_t j, std::int64_t) {
    return double(0.3F * float(position) / float(1 + j));
  };
  const Shape shape{"small",
                    kernels::kHidden,
                    kernels::kInner,
                    kernels::kLayers,
                    kernels::kHeads,
                    kernels::kVocabulary,
                    kernels::kTokens,
                    false,
                    angle};
  Transformer model(shape, 4, std::size_t{8} << 20);
  for (const auto& [name, values] : weights) model.set(name, values);
  kernels::Rows rows;
  Tokens tokens;
  std::vector<std::int32_t> target;
  std::vector<float> coefficient;
  for (std::int32_t s = 0; s < 4; ++s)
    for (std::int32_t t = 0; t < kernels::kTokens; ++t) {
      const std::int32_t token = (s * 7 + t * 13) % std::int32_t(kernels::kVocabulary);
      rows.token.push_back(token), rows.sequence.push_back(s), rows.position.push_back(t),
          tokens.add(token, s, t);
      target.push_back(t == 0 ? -1 : (s * 5 + t) % std::int32_t(kernels::kVocabulary)),
          coefficient.push_back(t == 0       ? 0.0F
                                : s % 2 == 0 ? -0.1F
                                             : 0.05F);
    }
  const auto columns = model.learn(tokens, target, coefficient);

  kernels::Plain plain;
  kernels::Model reference(plain, weights);
  const kernels::Floats logits = reference.logits(rows);
  const auto n = rows.count();
  kernels::Floats logprob(target.size()), entropy(target.size()), lse(target.size()),
      zeros(target.size()), dlogits(logits.size());
  kernels::ExecutionContext context;
  plain.set->token_columns(context, logits.data(), n, kernels::kVocabulary, 1.0F, target.data(),
                           logprob.data(), entropy.data(), lse.data(), nullptr, nullptr);
  plain.set->token_columns_backward(context, logits.data(), n, kernels::kVocabulary, 1.0F,
                                    target.data(), lse.data(), entropy.data(), coefficient.data(),
                                    zeros.data(), dlogits.data());
  EXPECT_TRUE(kernels::near(columns.logprob, logprob, 2e-2));
  for (const auto& [name, derivative] : reference.backward(dlogits)) {
    const auto gradient = model.gradient(name);
    double error = 0, size = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i)
      error += std::pow(gradient[i] - derivative[i], 2), size += std::pow(derivative[i], 2);
    EXPECT_GT(size, 0.0) << name;
    EXPECT_LT(std::sqrt(error / size), 3e-2) << name;
  }
}

TEST(GpuCheck, AGraphDrawsWhatLaunchesDraw) {
  Transformer model({"small", 32, 48, 2, {2, 1, 16}, 40, 8}, 3, std::size_t{1} << 20);
  Tokens prompts, step;
  for (std::int32_t s = 0; s < 3; ++s) {
    for (std::int32_t t = 0; t < 4; ++t) prompts.add(s + t, s, t);
    step.add(7 * s, s, 4);
  }
  const std::vector<float> none(12, 0.5F), u{0.1F, 0.5F, 0.9F};
  model.draw(prompts, none);
  const auto expected = model.draw(step, u);
  const auto graph = model.draw_graph(step, u);
  graph.launch(), graph.launch();
  std::vector<std::int32_t> drawn(3);
  copy(drawn.data(), graph.drawn, drawn.size() * sizeof(std::int32_t));
  EXPECT_EQ(drawn, expected);
}

/// Of what the quickstart learns this is a glimpse: two digits of a small model.
TEST(GpuCheck, ATrainingLearnsAndItsRatioIsOne) {
  TrainingPlan plan;
  plan.shape = {"glimpse", 32, 48, 1, {2, 1, 16}, 16, 8};
  plan.examples = 8, plan.supervised_steps = 30, plan.prompts = 2, plan.rollouts = 4,
  plan.steps = 1, plan.judged = 4, plan.longest = 2, plan.new_tokens = 4;
  int said = 0;
  const auto result = train(plan, [&](const std::string&) { ++said; });
  EXPECT_NEAR(result.first_loss, std::log(16.0), 0.5);
  EXPECT_LT(result.last_loss, 0.8 * result.first_loss);
  EXPECT_EQ(result.largest_difference, 0.0);
  EXPECT_GE(result.tokens, 8);
  EXPECT_EQ(said, 11);
}

}  // namespace
}  // namespace rollcall::gpu_check
