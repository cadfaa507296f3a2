// Computes dot products in a fixed order, and sums gradients as for the policy.
#include "model/train/value_head.hpp"

#include "base/errors/error.hpp"
#include "model/tensors/safetensors.hpp"

#include <fmt/format.h>

namespace rollcall::model {
namespace {

constexpr std::int64_t kAlign = 16;  // slices begin at multiples of this, as in weight_layout()

WeightLayout head_layout(std::int64_t hidden) {
  const std::int64_t bias_at = (hidden + kAlign - 1) / kAlign * kAlign;
  return {{{{0}, "value_head.weight", {1, hidden}, 0, hidden, true, Initial::zeros},
           {{1}, "value_head.bias", {1}, bias_at, 1, false, Initial::zeros}},
          bias_at + kAlign};
}

}  // namespace

ValueHead::ValueHead(std::int64_t hidden_size)
    : layout_(head_layout(hidden_size)), weights_(std::size_t(layout_.size), 0.0F), sum_(layout_) {
  optimizer_ = {std::vector<float>(weights_.size(), 0.0F),
                std::vector<float>(weights_.size(), 0.0F), 0};
}

std::vector<float> ValueHead::values(std::span<const float> hidden) const {
  const auto width = std::size_t(layout_.slices[0].count);
  const float bias = weights_[std::size_t(layout_.slices[1].offset)];
  std::vector<float> out(hidden.size() / width);
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = bias;
    for (std::size_t k = 0; k < width; ++k)
      sum += double(weights_[k]) * double(hidden[i * width + k]);
    out[i] = float(sum);
  }
  return out;
}

void ValueHead::add(std::span<const float> hidden, std::span<const float> dvalue) {
  const auto width = std::size_t(layout_.slices[0].count);
  expect(hidden.size() == dvalue.size() * width, "one hidden state a value");
  std::vector<double> exact(width + 1, 0.0);
  for (std::size_t i = 0; i < dvalue.size(); ++i) {
    for (std::size_t k = 0; k < width; ++k)
      exact[k] += double(dvalue[i]) * double(hidden[i * width + k]);
    exact[width] += double(dvalue[i]);
  }
  std::vector<float> gradient(weights_.size(), 0.0F);
  std::copy_n(exact.begin(), width, gradient.begin());
  gradient[std::size_t(layout_.slices[1].offset)] = float(exact[width]);
  sum_.add(gradient);
}

double ValueHead::apply(const OptimizerSection& settings, double lr) {
  apply_adamw(layout_, settings, lr, sum_.gradient(), weights_, optimizer_);
  return sum_.gradient().norm;
}

std::string ValueHead::to_bytes() const {
  const std::vector<std::int64_t> shape{layout_.size}, exponents = sum_.exponents(),
                                                       steps{optimizer_.step};
  const std::vector<TensorView> tensors{
      {"weights", Dtype::f32, shape, std::as_bytes(std::span(weights_))},
      {"m", Dtype::f32, shape, std::as_bytes(std::span(optimizer_.m))},
      {"v", Dtype::f32, shape, std::as_bytes(std::span(optimizer_.v))},
      {"exponents",
       Dtype::i64,
       {std::int64_t(exponents.size())},
       std::as_bytes(std::span(exponents))},
      {"steps", Dtype::i64, {1}, std::as_bytes(std::span(steps))}};
  return to_safetensors(tensors, {{"format_number", "1"}});
}

void ValueHead::restore(const std::string& bytes, const std::string& origin) {
  const auto file = SafetensorsFile::parse(bytes, origin);
  const auto steps = file.integers("steps"), exponents = file.integers("exponents");
  require<StorageError>(steps.size() == 1 && exponents.size() == sum_.exponents().size(),
                        fmt::format("{}: steps or exponents of the wrong number", origin),
                        "the value head cannot be restored", "use an older checkpoint");
  auto weights = file.floats("weights"), m = file.floats("m"), v = file.floats("v");
  require<StorageError>(weights.size() == weights_.size() && m.size() == weights_.size() &&
                            v.size() == weights_.size(),
                        fmt::format("{}: a value head of another model", origin),
                        "it cannot be restored", "use a checkpoint of this run");
  weights_ = std::move(weights), optimizer_.m = std::move(m), optimizer_.v = std::move(v);
  optimizer_.step = steps[0];
  sum_.set_exponents(exponents);
}

}  // namespace rollcall::model
