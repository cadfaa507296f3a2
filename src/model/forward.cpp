// Token columns of a leaf, without and with gradient.
#include "base/error.hpp"
#include "model/row_engine.hpp"
#include "model/tape_engine.hpp"

#include <ATen/Parallel.h>

#include <algorithm>

namespace rollcall::model {

Columns forward(const Policy& policy, const Leaf& leaf, double temperature) {
  const Policy::Packed& packed = policy.packed();
  expect_leaf(packed, leaf);
  PackedSequences sequences(leaf.offsets, packed.kv_width());
  RowEngine engine(packed, std::int64_t(leaf.tokens.size()));
  const float* hidden = engine.hidden(leaf.tokens, sequences.positions(), sequences);
  std::vector<const float*> rows;
  std::vector<std::int32_t> targets;
  for (const std::int64_t target : leaf.targets) {
    rows.push_back(hidden + (target - 1) * packed.config.hidden_size);  // a token is predicted at the position before it
    targets.push_back(leaf.tokens[std::size_t(target)]);
  }
  Columns columns{std::vector<float>(rows.size()), std::vector<float>(rows.size())};
  std::vector<float> lse(RowEngine::kHeadRows);
  engine.logits(rows, [&](std::size_t first, std::size_t count, const float* logits) {
    packed.kernels->token_columns(engine.context(), logits, std::int64_t(count), packed.config.vocab_size, inverse_temperature(temperature),
                                  targets.data() + first, columns.logprob.data() + first, columns.entropy.data() + first, lse.data());
  });
  return columns;
}

void forward_backward(const Policy& policy, const Leaf& leaf, double temperature, const std::function<ColumnGradient(const Columns&)>& loss,
                      std::span<float> gradient) {
  const Policy::Packed& packed = policy.packed();
  expect_leaf(packed, leaf);
  expect(std::int64_t(gradient.size()) == packed.layout.size, "the gradient fills the layout");
  std::fill(gradient.begin(), gradient.end(), 0.0F);
  if (leaf.targets.empty()) {
    loss({});
    return;
  }
  TapeEngine engine(packed, leaf);
  const TapeEngine::Scored scored = engine.forward(leaf, temperature);
  const auto copy = [](const at::Tensor& t) { return std::vector<float>(t.const_data_ptr<float>(), t.const_data_ptr<float>() + t.numel()); };
  const ColumnGradient columns = loss({copy(scored.logprob), copy(scored.entropy)});
  expect(columns.logprob.size() == leaf.targets.size() && columns.entropy.size() == leaf.targets.size(), "the loss has a derivative for each column");
  engine.backward(scored, columns, gradient);
}

void use_one_thread_per_operation() { at::set_num_threads(1); }

}  // namespace rollcall::model
