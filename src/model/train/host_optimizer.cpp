// The optimizer on the host: the gradient sum, the moments and AdamW.
#include "model/train/policy_optimizer.hpp"

namespace rollcall::model {
namespace {

class HostOptimizer final : public PolicyOptimizer {
 public:
  HostOptimizer(const WeightLayout& layout, SharedSum shared, Threads threads, HostWeights weights)
      : layout_(layout),
        threads_(threads),
        weights_(std::move(weights)),
        share_(shared.share_offsets[std::size_t(shared.own_share) + 1] -
               shared.share_offsets[std::size_t(shared.own_share)]),
        sum_(layout, std::move(shared), std::move(threads)) {
    forget();
  }
  void start() override { sum_.start(); }
  Columns add(MicroBatchRunner& runner, const PolicyModel& policy, const MicroBatch& micro_batch,
              double temperature, const ColumnGradient& derivative) override {
    auto columns = runner.forward_backward(
        policy, micro_batch, temperature, derivative,
        [this](TensorId tensor, std::int64_t first, std::span<const float> values) {
          sum_.add(tensor, first, values);
        });
    sum_.end_micro_batch();
    return columns;
  }
  void add_none() override {}
  SumOutcome finish(Collectives& ranks) override { return sum_.finish(ranks); }
  double norm() const override { return sum_.gradient().norm; }
  void apply(const OptimizerSection& settings, double lr) override {
    apply_adamw(layout_, settings, lr, sum_.gradient(), weights_.weights, *state_, threads_,
                weights_.parts);
    sum_.clear();
  }
  void forget() override {
    state_->m.assign(std::size_t(share_), 0.0F), state_->v.assign(std::size_t(share_), 0.0F);
    state_->step = 0;
  }
  void only(std::shared_ptr<const GradientMask> mask) override { sum_.only(std::move(mask)); }
  const std::vector<std::int64_t>& exponents() const override { return sum_.exponents(); }
  std::shared_ptr<const OptimizerState> state() override { return state_; }
  void restore(std::span<const std::int64_t> exponents, std::int64_t step,
               const ReadMoments& read) override {
    read(state_->m, state_->v);
    sum_.set_exponents(exponents);
    state_->step = step;
  }

 private:
  WeightLayout layout_;
  Threads threads_;
  HostWeights weights_;
  std::int64_t share_;
  GradientSum sum_;
  std::shared_ptr<OptimizerState> state_ = std::make_shared<OptimizerState>();
};

}  // namespace

std::unique_ptr<PolicyOptimizer> make_host_optimizer(const WeightLayout& layout, SharedSum sum,
                                                     Threads threads, HostWeights weights) {
  return std::make_unique<HostOptimizer>(layout, std::move(sum), std::move(threads),
                                         std::move(weights));
}

}  // namespace rollcall::model
