// Sorting: "7391=" is answered by "1379" and the end. Settings are those of
// jobs/runs/quickstart.toml, with a fixed number of rollouts a prompt.
#include "benchmarks/gpu_check/training.hpp"

#include "benchmarks/gpu_check/on_policy.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

namespace rollcall::gpu_check {
namespace {

constexpr std::int32_t kEqual = 10, kEnd = 11;
using Text = std::vector<std::int32_t>;

/// Lengths 2 to `longest` with P(length) ~ 1 / length.
Text prompt(std::mt19937& engine, std::int64_t longest) {
  std::vector<double> weight;
  for (std::int64_t length = 2; length <= longest; ++length) weight.push_back(1.0 / double(length));
  std::discrete_distribution<int> length(weight.begin(), weight.end());
  std::uniform_int_distribution<std::int32_t> digit(0, 9);
  Text text(std::size_t(length(engine) + 2));
  for (auto& d : text) d = digit(engine);
  text.push_back(kEqual);
  return text;
}
Text answer(const Text& prompt) {
  Text text(prompt.begin(), prompt.end() - 1);
  std::sort(text.begin(), text.end());
  text.push_back(kEnd);
  return text;
}

/// Whole sequences as rows, with the answers' tokens as targets.
struct Batch {
  Tokens rows{};
  std::vector<std::int32_t> target{};
  std::vector<std::size_t> sequence{};  ///< of each row
  void add(const Text& prompt, const Text& response) {
    Text all = prompt;
    all.insert(all.end(), response.begin(), response.end());
    const auto number = std::int32_t(sequence.empty() ? 0 : sequence.back() + 1);
    for (std::size_t t = 0; t + 1 < all.size(); ++t) {
      rows.add(all[t], number, std::int32_t(t)), sequence.push_back(std::size_t(number));
      target.push_back(t + 1 >= prompt.size() ? all[t + 1] : -1);
    }
  }
};

struct Answers {
  std::vector<Text> text;
  std::vector<std::vector<float>> logprob;
};

/// Position by position; who has ended is left out.
Answers generate(Transformer& model, const std::vector<Text>& prompts, std::int64_t new_tokens,
                 std::mt19937& engine) {
  Answers answers{std::vector<Text>(prompts.size()),
                  std::vector<std::vector<float>>(prompts.size())};
  std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
  for (std::size_t t = 0;; ++t) {
    Tokens rows;
    for (std::size_t s = 0; s < prompts.size(); ++s) {
      const Text& own = answers.text[s];
      const bool ended =
          !own.empty() && (own.back() == kEnd || std::int64_t(own.size()) == new_tokens);
      if (!ended)
        rows.add(t < prompts[s].size() ? prompts[s][t] : own[t - prompts[s].size()],
                 std::int32_t(s), std::int32_t(t));
    }
    if (rows.count() == 0) return answers;
    std::vector<float> u(rows.token.size()), logprob;
    for (float& x : u) x = std::min(uniform(engine), 0.9999999F);
    const auto drawn = model.draw(rows, u, &logprob);
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const auto s = std::size_t(rows.sequence[i]);
      if (t + 1 >= prompts[s].size())
        answers.text[s].push_back(drawn[i]), answers.logprob[s].push_back(logprob[i]);
    }
  }
}

double share_right(Transformer& model, const TrainingPlan& plan) {
  std::mt19937 engine(99);
  std::vector<Text> prompts;
  for (std::int64_t i = 0; i < plan.judged; ++i) prompts.push_back(prompt(engine, plan.longest));
  const auto answers = generate(model, prompts, plan.new_tokens, engine);
  std::int64_t right = 0;
  for (std::size_t i = 0; i < prompts.size(); ++i)
    right += answers.text[i] == answer(prompts[i]) ? 1 : 0;
  return double(right) / double(plan.judged);
}

/// Mean cross-entropy of the answers' tokens before the step.
double supervised_step(Transformer& model, const TrainingPlan& plan, std::int64_t step,
                       std::mt19937& engine) {
  Batch batch;
  for (std::int64_t i = 0; i < plan.examples; ++i) {
    const Text asked = prompt(engine, plan.longest);
    batch.add(asked, answer(asked));
  }
  const auto counted = double(std::count_if(batch.target.begin(), batch.target.end(),
                                            [](std::int32_t t) { return t >= 0; }));
  std::vector<float> coefficient;
  for (const std::int32_t t : batch.target)
    coefficient.push_back(t >= 0 ? float(-1.0 / counted) : 0.0F);
  const auto columns = model.learn(batch.rows, batch.target, coefficient);
  double loss = 0.0;
  for (const float logprob : columns.logprob) loss -= double(logprob) / counted;
  model.update(2e-3 * std::min(1.0, double(step + 1) / 10.0), 1.0);
  return loss;
}

void grpo_step(Transformer& model, const TrainingPlan& plan, std::int64_t step,
               std::mt19937& engine, TrainingResult& result) {
  std::vector<Text> prompts;
  for (std::int64_t p = 0; p < plan.prompts; ++p)
    prompts.insert(prompts.end(), std::size_t(plan.rollouts), prompt(engine, plan.longest));
  const auto answers = generate(model, prompts, plan.new_tokens, engine);
  std::vector<double> reward;
  std::vector<std::int64_t> length;
  Batch batch;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    reward.push_back(answers.text[i] == answer(prompts[i]) ? 1.0 : 0.0),
        length.push_back(std::int64_t(answers.text[i].size()));
    batch.add(prompts[i], answers.text[i]);
    result.tokens += length.back();
  }
  const auto derivative = on_policy_derivative(reward, length, std::size_t(plan.rollouts));
  std::vector<float> coefficient;
  for (std::size_t row = 0; row < batch.target.size(); ++row)
    coefficient.push_back(batch.target[row] >= 0 ? float(derivative[batch.sequence[row]]) : 0.0F);
  const auto columns = model.learn(batch.rows, batch.target, coefficient);
  for (std::size_t row = 0; row < batch.target.size(); ++row) {
    if (batch.target[row] < 0) continue;
    const auto at = std::size_t(batch.rows.position[row]) + 1 - prompts[batch.sequence[row]].size();
    result.largest_difference =
        std::max(result.largest_difference,
                 double(std::abs(columns.logprob[row] - answers.logprob[batch.sequence[row]][at])));
  }
  model.update(1e-4 * std::min(1.0, double(step + 1) / 20.0), 1.0);
}

}  // namespace

TrainingResult train(const TrainingPlan& plan, const std::function<void(const std::string&)>& say) {
  const std::int64_t sequences =
      std::max({plan.examples, plan.prompts * plan.rollouts, plan.judged});
  const Shape& s = plan.shape;
  const std::int64_t row_bytes =
      4 * (s.layers * (6 * s.hidden + 3 * s.q_width() + 4 * s.kv_width() + 5 * s.inner) +
           20 * s.hidden + 12 * s.inner);
  Transformer model(s, sequences,
                    std::size_t(sequences * s.positions * row_bytes + 8 * 512 * s.vocabulary * 4) +
                        (std::size_t{4} << 20));
  std::mt19937 engine(1);
  TrainingResult result;
  for (std::int64_t step = 0; step < plan.supervised_steps; ++step) {
    result.last_loss = supervised_step(model, plan, step, engine);
    if (step == 0) result.first_loss = result.last_loss;
    if (step % std::max<std::int64_t>(plan.supervised_steps / 10, 1) == 0)
      say("example " + std::to_string(step) + ": loss " + std::to_string(result.last_loss));
  }
  result.before = share_right(model, plan);
  const auto began = std::chrono::steady_clock::now();
  for (std::int64_t step = 0; step < plan.steps; ++step) {
    grpo_step(model, plan, step, engine, result);
    if (step % std::max<std::int64_t>(plan.steps / 10, 1) == 0)
      say("GRPO step " + std::to_string(step));
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  result.after = share_right(model, plan);
  return result;
}

}  // namespace rollcall::gpu_check
