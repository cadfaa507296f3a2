// The update stage's weights: the optimizer of this rank's share, its step, and how what it makes
// comes to other ranks and to the host.
#include "run/update/update.hpp"

#include "base/clock.hpp"
#include "comm/weight_transfer.hpp"

namespace rollcall::run {
namespace {

/// The sum of this rank's node, and how its shares are fetched from others.
model::SharedSum shared_sum(const model::WeightLayout& layout, const comm::NodeGroups& groups,
                            const std::vector<std::int64_t>& begins) {
  model::SharedSum sum{begins,
                       groups.own,
                       groups.node->share_memory(model::GradientSum::bytes(layout)),
                       groups.node.get(),
                       {}};
  for (const auto& across : groups.across)
    sum.across.push_back({across.over_transport.get(), begins_of(across, begins)});
  return sum;
}

}  // namespace

/// On a device no rank stands for others of its node: shares go by rank.
std::unique_ptr<model::PolicyOptimizer> UpdateStage::make_optimizer() {
  const auto& store = *context_->store;
  if (store.on_device()) {
    own_ = ranks_->rank();
    auto made = model::make_device_optimizer(store.policy(), begins_, *by_transport_);
    device_ = made.get();
    return made;
  }
  own_ = groups_.own;
  return model::make_host_optimizer(
      store.layout(), shared_sum(store.layout(), groups_, begins_),
      {context_->workers->threads(), context_->workers->side_by_side()},
      {context_->store->weights(), context_->store->parts()});
}

UpdateOutcome UpdateStage::apply(const OptimizerSection& settings, double lr, double norm_limit,
                                 std::map<std::string, double>& metrics) {
  const double norm = optimizer_->norm();
  metrics["actor/grad_norm"] = norm;
  metrics["actor/lr"] = lr;
  if (norm_limit > 0 && norm > norm_limit) return UpdateOutcome::spike;
  const PolicyVersion next{context_->store->version().value + 1};
  if (device_ != nullptr) {
    optimizer_->apply(settings, lr);
    context_->store->publish_on_device(next);
    return UpdateOutcome::applied;
  }
  await_writer();
  optimizer_->apply(settings, lr);
  const Stopwatch gathering;
  gather_weights();
  const double gathered_s = gathering.seconds();
  std::vector<PolicyStore::Stretch> packed;
  for (const int share : groups_.shares)
    packed.push_back({begins_[std::size_t(share)], begins_[std::size_t(share) + 1]});
  metrics["timing_s/publish"] = gathered_s + context_->store->publish(next, *groups_.node, packed);
  return UpdateOutcome::applied;
}

void UpdateStage::gather_weights() {
  for (const auto& across : groups_.across) {
    if (across.ranks->size() == 1) continue;
    auto begins = begins_of(across, begins_);
    const std::int64_t start = begins.front();
    for (std::int64_t& begin : begins) begin -= start;
    const auto weights =
        context_->store->weights().subspan(std::size_t(start), std::size_t(begins.back()));
    comm::gather_checked(*across.ranks, *across.over_transport, weights, begins);
  }
}

void UpdateStage::fetch_weights() {
  if (device_ == nullptr || context_->store->is_fetched()) return;
  await_writer();
  device_->fetch(groups_.node->rank() == 0 ? context_->store->weights() : std::span<float>());
  groups_.node->barrier();
  context_->store->fetched();
}

void UpdateStage::enter_phase(bool supervised) {
  if (supervised == supervised_phase_) return;
  // Moments of the supervised loss would set the size of the first policy-gradient steps.
  await_writer();
  optimizer_->forget();
  set_phase(supervised);
}

void UpdateStage::set_phase(bool supervised) {
  supervised_phase_ = supervised;
  optimizer_->only(supervised ? nullptr : mask_);
}

}  // namespace rollcall::run
