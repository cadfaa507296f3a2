// A whole step by the device's kernels: 4 prompts x 4 rollouts are generated, columns and
// derivatives taken, gradients summed in integers, AdamW run and weights published.
#include "emulation.hpp"
#include "step_model.hpp"

#include "kernels/parameter_kernels.hpp"

namespace rollcall::kernels {
namespace {

struct Columns {
  Floats logprob, entropy, lse;
};
Columns columns_of(Math& math, const Floats& logits, const std::vector<std::int32_t>& target) {
  const auto n = std::int64_t(target.size());
  Columns c{Floats(target.size()), Floats(target.size()), Floats(target.size())};
  ExecutionContext context;
  math.set->token_columns(context, logits.data(), n, kVocabulary, 1.0F, target.data(),
                          c.logprob.data(), c.entropy.data(), c.lse.data(), nullptr, nullptr);
  return c;
}

/// Whole sequences [begin, end).
Rows rows_of(const std::vector<std::vector<std::int32_t>>& tokens, std::int64_t begin,
             std::int64_t end) {
  Rows rows;
  for (std::int64_t s = begin; s < end; ++s)
    for (std::int64_t t = 0; t < kTokens; ++t)
      rows.token.push_back(tokens[std::size_t(s)][std::size_t(t)]),
          rows.sequence.push_back(std::int32_t(s)), rows.position.push_back(std::int32_t(t));
  return rows;
}
/// Of each row the answer's token that follows, or -1.
std::vector<std::int32_t> targets_of(const Rows& rows) {
  std::vector<std::int32_t> target;
  for (std::size_t i = 0; i < rows.token.size(); ++i)
    target.push_back(
        rows.position[i] + 1 >= kPrompt && rows.position[i] + 1 < kTokens ? rows.token[i + 1] : -1);
  return target;
}

struct Rollouts {
  std::vector<std::vector<std::int32_t>> tokens;
  std::vector<Floats> logprob;  ///< [sequence][answer's token]
};

/// Position by position, `batch` sequences a call.
Rollouts generated(const Parameters& weights, std::int64_t batch) {
  Device device;
  Model model(device, weights);
  Rollouts all{std::vector<std::vector<std::int32_t>>(kSequences), std::vector<Floats>(kSequences)};
  for (std::int64_t s = 0; s < kSequences; ++s)
    for (std::int64_t t = 0; t < kPrompt; ++t)
      all.tokens[std::size_t(s)].push_back(std::int32_t((s / 4 * 7 + t * 13) % kVocabulary));
  for (std::int64_t t = 0; t < kTokens - 1; ++t)
    for (std::int64_t first = 0; first < kSequences; first += batch) {
      Rows rows;
      for (std::int64_t s = first; s < std::min(first + batch, kSequences); ++s)
        rows.token.push_back(all.tokens[std::size_t(s)][std::size_t(t)]),
            rows.sequence.push_back(std::int32_t(s)), rows.position.push_back(std::int32_t(t));
      const Floats logits = model.logits(rows);
      if (t + 1 < kPrompt) continue;
      const std::int64_t n = rows.count();
      Floats u;
      for (const std::int32_t s : rows.sequence)
        u.push_back(random_floats(1, unsigned(1000 * s + t), 1.0F)[0]);
      for (float& x : u) x = 0.5F + 0.5F * std::tanh(x);
      ExecutionContext context;
      const OnDevice<float> on_logits(logits), on_u(u), logprob(n), entropy(n), lse(n);
      const OnDevice<std::int32_t> none(std::vector<std::int32_t>(std::size_t(n), -1)), token(n);
      const OnDevice<BlockMass> blocks(n * 2);
      cuda::token_columns(context, on_logits, n, kVocabulary, 1.0F, none, logprob, entropy, lse,
                          blocks);
      cuda::sample(context, on_logits, n, kVocabulary, {kVocabulary, 1.0F}, blocks, on_u, token,
                   logprob);
      const auto drawn = token.values();
      const Floats logprobs = logprob.values();
      for (std::size_t i = 0; i < drawn.size(); ++i)
        all.tokens[std::size_t(rows.sequence[i])].push_back(drawn[i]),
            all.logprob[std::size_t(rows.sequence[i])].push_back(logprobs[i]);
    }
  return all;
}

/// The columns of sequences [begin, end) and the derivatives of sum(advantage logprob) + 0.1
/// sum(entropy) over answers.
std::pair<Columns, Parameters> learned(Math& math, const Parameters& weights,
                                       const Rollouts& rollouts, std::int64_t begin,
                                       std::int64_t end) {
  Model model(math, weights);
  const Rows rows = rows_of(rollouts.tokens, begin, end);
  const auto target = targets_of(rows);
  const Floats logits = model.logits(rows);
  Columns c = columns_of(math, logits, target);
  Floats dlogprob, dentropy, dlogits(logits.size());
  for (std::size_t i = 0; i < target.size(); ++i) {
    const bool counts = target[i] >= 0;
    dlogprob.push_back(counts ? (rows.sequence[i] % 4 < 2 ? 1.0F : -1.0F) : 0.0F),
        dentropy.push_back(counts ? 0.1F : 0.0F);
  }
  ExecutionContext context;
  math.set->token_columns_backward(context, logits.data(), rows.count(), kVocabulary, 1.0F,
                                   target.data(), c.lse.data(), c.entropy.data(), dlogprob.data(),
                                   dentropy.data(), dlogits.data());
  return {c, model.backward(dlogits)};
}

constexpr int kExponent = 30;
constexpr std::int64_t kMicroBatch = 4;  ///< sequences

/// The integer sums of micro-batches [begin, end) of the step.
std::map<std::string, std::vector<std::int64_t>> summed(const Parameters& weights,
                                                        const Rollouts& rollouts,
                                                        std::int64_t begin, std::int64_t end) {
  std::map<std::string, std::vector<std::int64_t>> sums;
  for (const auto& [name, m] : kMatrices) sums[name].resize(std::size_t(m.o * m.k));
  for (std::int64_t micro_batch = begin; micro_batch < end; ++micro_batch) {
    Device device;
    for (const auto& [name, gradient] :
         learned(device, weights, rollouts, micro_batch * kMicroBatch,
                 (micro_batch + 1) * kMicroBatch)
             .second)
      device.set->accumulate_fixed_point(gradient.data(), std::int64_t(gradient.size()),
                                         std::ldexp(1.0, kExponent), sums[name].data());
  }
  return sums;
}

/// The weights after AdamW, as they are published.
std::map<std::string, std::vector<Bf16>> published(
    const Parameters& weights, const std::map<std::string, std::vector<std::int64_t>>& sums) {
  std::map<std::string, std::vector<Bf16>> all;
  for (const auto& [name, m] : kMatrices) {
    ExecutionContext context;
    const OnDevice<std::int64_t> sum(sums.at(name));
    const OnDevice<float> w(weights.at(name)), gradient(m.o * m.k),
        first(Floats(std::size_t(m.o * m.k))), second(Floats(std::size_t(m.o * m.k)));
    const OnDevice<Bf16> out(m.o * cuda::stepped(m.k));
    cuda::from_fixed_point(context, sum, m.o * m.k, kExponent, gradient);
    cuda::adamw(context, w, m.o, m.k, gradient, first, second,
                {.lr = 1e-2,
                 .beta1 = 0.9,
                 .beta2 = 0.95,
                 .eps = 1e-8,
                 .weight_decay = 0.0,
                 .gradient_scale = -1.0,
                 .step = 1},
                out);
    all[name] = out.values();
  }
  return all;
}

TEST(DeviceStep, IsTheSameForAnyBatchRanksAndOrderOfThreads) {
  const Parameters weights = first_weights();
  const Rollouts rollouts = generated(weights, kSequences);
  emulation::seed(7);
  const Rollouts again = generated(weights, 5);
  EXPECT_EQ(again.tokens, rollouts.tokens);
  for (std::size_t s = 0; s < std::size_t(kSequences); ++s)
    EXPECT_TRUE(same_bits(again.logprob[s], rollouts.logprob[s])) << s;
  // The training forward has the bits of generation: the ratio is exactly 1.
  Device device;
  const Columns columns = learned(device, weights, rollouts, 0, kMicroBatch).first;
  for (std::int64_t s = 0; s < kMicroBatch; ++s)
    for (std::int64_t t = 0; t < kAnswer; ++t)
      EXPECT_EQ(columns.logprob[std::size_t(s * kTokens + kPrompt - 1 + t)],
                rollouts.logprob[std::size_t(s)][std::size_t(t)])
          << s << ' ' << t;
  // One rank sums four micro-batches; of three ranks one has two, and their sums are added. Another
  // order of threads each time.
  auto sums = summed(weights, rollouts, 0, 4);
  const auto alone = published(weights, sums);
  EXPECT_NE(alone.at("0.q")[0], 0);
  for (const auto& [name, m] : kMatrices) sums[name].assign(std::size_t(m.o * m.k), 0);
  for (const auto& [begin, end] : std::vector<std::pair<int, int>>{{3, 4}, {0, 2}, {2, 3}})
    for (const auto& [name, part] : summed(weights, rollouts, begin, end))
      for (std::size_t i = 0; i < part.size(); ++i) sums[name][i] += part[i];
  EXPECT_EQ(published(weights, sums), alone);
}

TEST(DeviceStep, IsNearThePlainLoops) {
  const Parameters weights = first_weights();
  const Rollouts rollouts = generated(weights, kSequences);
  Device device;
  Plain plain;
  const auto [columns, gradients] = learned(device, weights, rollouts, 0, kMicroBatch);
  const auto [expected, derivatives] = learned(plain, weights, rollouts, 0, kMicroBatch);
  // Operands of all products have 8 bits, errors of 2^-9 each; two layers of them.
  EXPECT_TRUE(near(columns.logprob, expected.logprob, 2e-2));
  EXPECT_TRUE(near(columns.entropy, expected.entropy, 1e-2));
  for (const auto& [name, m] : kMatrices) {
    double error = 0, size = 0;
    for (std::size_t i = 0; i < gradients.at(name).size(); ++i) {
      const double d = derivatives.at(name)[i];
      error += (gradients.at(name)[i] - d) * (gradients.at(name)[i] - d), size += d * d;
    }
    EXPECT_GT(size, 0.0) << name;
    EXPECT_LT(std::sqrt(error / size), 3e-2) << name;
  }
}

}  // namespace
}  // namespace rollcall::kernels
