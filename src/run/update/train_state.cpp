// Runs an optimizer step over ranks and nodes, and saves and restores weights and moments.
#include "run/update/train_state.hpp"

#include "base/errors/error.hpp"
#include "base/time/clock.hpp"
#include "comm/weight_transfer.hpp"
#include "model/tensors/model_folder.hpp"
#include "model/tensors/safetensors.hpp"
#include "run/checkpoint/part.hpp"
#include "run/checkpoint/restore.hpp"
#include "run/checkpoint/tensor_files.hpp"
#include "run/context/run_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rollcall::run {
namespace {

/// The gradient sum of this rank's node, and the exchanges that fetch its shares from other nodes.
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

std::string moments_name(std::int64_t slice, std::int64_t slices) {
  const std::array numbers{slice + 1, slices};
  return file_of(Part::moments, numbers);
}

}  // namespace

TrainState::TrainState(RunContext& context, comm::Communicator& ranks)
    : context_(&context),
      ranks_(&ranks),
      groups_(comm::make_node_groups(
          ranks, context.store->on_device() ? nullptr : context.transport.get())),
      by_transport_(context.transport->over(ranks)),
      share_offsets_(model::optimizer_shares(context.store->layout().size, ranks.size())),
      optimizer_(make_optimizer()),
      mask_(mask_of_share(context, ranks, share_offsets_[std::size_t(own_share_)],
                          share_offsets_[std::size_t(own_share_) + 1])) {}

/// On devices, rank r owns share r. On processors NodeGroups deals the shares.
std::unique_ptr<model::PolicyOptimizer> TrainState::make_optimizer() {
  const auto& store = *context_->store;
  if (store.on_device()) {
    own_share_ = ranks_->rank();
    auto made = model::make_device_optimizer(store.policy(), share_offsets_, *by_transport_);
    device_ = made.get();
    return made;
  }
  own_share_ = groups_.own;
  return model::make_host_optimizer(
      store.layout(), shared_sum(store.layout(), groups_, share_offsets_),
      {context_->threads.pool->threads(), context_->threads.pool->side_by_side()},
      {context_->store->weights(), context_->store->parts()});
}

UpdateOutcome TrainState::apply(const OptimizerSection& settings, double lr, double norm_limit,
                                std::map<std::string, double>& metrics) {
  const double norm = optimizer_->norm();
  metrics["actor/grad_norm"] = norm;
  metrics["actor/lr"] = lr;
  if (norm_limit > 0 && norm > norm_limit) return UpdateOutcome::spike;
  const PolicyVersion next{context_->store->version().value + 1};
  if (device_ != nullptr) {
    optimizer_->apply(settings, lr);
    (void)context_->store->publish(next, {});
    return UpdateOutcome::applied;
  }
  await_writer();
  optimizer_->apply(settings, lr);
  const Stopwatch gathering;
  gather_weights();
  const double gathered_s = gathering.seconds();
  std::vector<PolicyStore::Stretch> packed;
  for (const int share : groups_.shares)
    packed.push_back({share_offsets_[std::size_t(share)], share_offsets_[std::size_t(share) + 1]});
  metrics["timing_s/publish"] =
      gathered_s + context_->store->publish(next, {groups_.node.get(), packed});
  return UpdateOutcome::applied;
}

void TrainState::gather_weights() {
  for (const auto& across : groups_.across) {
    if (across.ranks->size() == 1) continue;
    auto begins = begins_of(across, share_offsets_);
    const std::int64_t start = begins.front();
    for (std::int64_t& begin : begins) begin -= start;
    const auto weights =
        context_->store->weights().subspan(std::size_t(start), std::size_t(begins.back()));
    comm::gather_checked(*across.ranks, *across.over_transport, weights, begins);
  }
}

void TrainState::fetch_weights() {
  context_->store->fetch(*groups_.node, [this](std::span<float> weights) {
    await_writer();
    device_->fetch(weights);
  });
}

void TrainState::enter_phase(bool supervised) {
  if (supervised == supervised_phase_) return;
  await_writer();
  optimizer_->forget();
  set_phase(supervised);
}

void TrainState::set_phase(bool supervised) {
  supervised_phase_ = supervised;
  optimizer_->only(supervised ? nullptr : mask_);
}

std::optional<int> TrainState::sum_gradient(const std::vector<BackwardMicroBatch>& own,
                                            std::int64_t count, double temperature,
                                            const SeeColumns& see) {
  const auto rounds = (count + ranks_->size() - 1) / ranks_->size();  // micro-batches of rank 0
  for (int attempt = 0; attempt < model::kMostSumAttempts; ++attempt) {
    optimizer_->start();
    context_->threads.micro_batches->run(
        std::int64_t(own.size()), [&](model::MicroBatchRunner& runner, std::int64_t i) {
          if (context_->threads.cut->wanted()) return optimizer_->add_none();
          const BackwardMicroBatch& each = own[std::size_t(i)];
          see(i, optimizer_->add(runner, context_->store->policy(), each.micro_batch, temperature,
                                 each.derivative.by));
        });
    for (auto i = std::int64_t(own.size()); i < rounds; ++i) optimizer_->add_none();
    context_->threads.cut->agree(*ranks_);
    const auto outcome = optimizer_->finish(*ranks_);
    if (outcome == model::SumOutcome::nonfinite) return std::nullopt;
    if (outcome == model::SumOutcome::ready) return attempt + 1;
  }
  throw NumericsError(
      error_message(fmt::format("the fixed-point gradient sum found no exponent in {} attempts",
                                model::kMostSumAttempts),
                    "the gradient cannot be summed exactly",
                    "lower the learning rate or look at the data of this step"));
}

void TrainState::await_writer() {
  ranks_->wait([this] { return saving_.ended(); }, context_->config.run.deadline_s,
               "the writing of a checkpoint, whose weights and moments change now");
  // Waits for the leader's writer, which reads weights that all ranks of its node are about to
  // change.
  if (std::exchange(save_begun_, false)) groups_.node->barrier();
}

void TrainState::add_moments(io::CheckpointShare& share) const {
  if (share_offsets_[std::size_t(own_share_)] == share_offsets_[std::size_t(own_share_) + 1])
    return;
  const auto own = optimizer_->state();
  struct Moments {
    std::shared_ptr<const model::OptimizerState> state;
    std::vector<std::int64_t> exponents, counters;
  };
  const auto moments = std::make_shared<const Moments>(Moments{
      own,
      optimizer_->exponents(),
      {own->step, supervised_phase_ ? 1 : 0, std::int64_t(context_->store->version().value)}});
  share.files[moments_name(own_share_, model::ranks_with_share(share_offsets_))] = [moments] {
    const auto& [state, exponents, counters] = *moments;
    const std::vector<std::int64_t> shape{std::int64_t(state->m.size())};
    const std::vector<model::TensorView> tensors{
        {"m", model::Dtype::f32, shape, std::as_bytes(std::span(state->m))},
        {"v", model::Dtype::f32, shape, std::as_bytes(std::span(state->v))},
        {"exponents",
         model::Dtype::i64,
         {std::int64_t(exponents.size())},
         std::as_bytes(std::span(exponents))},
        {"counters", model::Dtype::i64, {3}, std::as_bytes(std::span(counters))}};
    return tensor_file(tensors, {{"format_number", std::to_string(row_of(Part::moments).format)}},
                       moments);
  };
}

void TrainState::save(const std::string& checkpoint, io::CheckpointShare share) {
  fetch_weights();
  save_begun_ = true;
  add_moments(share);
  if (ranks_->rank() != 0) {
    saving_.start([run_dir = context_->run_dir, checkpoint, share] {
      return SaveReport{io::write_share(run_dir, checkpoint, share), {}};
    });
    return;
  }
  const auto weights = context_->store->shared_weights();
  const auto layout = std::make_shared<const model::WeightLayout>(context_->store->layout());
  share.files[file_of(Part::weights)] = [layout, weights] {
    return weights_file(*layout, weights);
  };
  share.files[file_of(Part::config)] = [text = model::to_config_json(context_->store->config())] {
    return text;
  };
  saving_.start([run_dir = context_->run_dir, checkpoint, share, layout, weights] {
    return SaveReport{io::write_share(run_dir, checkpoint, share),
                      model::weights_sha256(*layout, weights->span())};
  });
}

void TrainState::restore_moments(const io::StoredCheckpoint& checkpoint) {
  const auto slices = std::max<std::int64_t>(count_files(checkpoint.files(), Part::moments), 1);
  // The checkpoint may have been written by a different number of ranks.
  const auto written = model::optimizer_shares(context_->store->layout().size, int(slices));
  const std::int64_t begin = share_offsets_[std::size_t(own_share_)],
                     end = share_offsets_[std::size_t(own_share_) + 1];
  const auto overlap = [&](std::size_t i) {
    return std::pair(std::max(written[i], begin), std::min(written[i + 1], end));
  };
  const auto open_slice = [&](std::size_t i) {
    auto file =
        model::SafetensorsFile::map(checkpoint.verified(moments_name(std::int64_t(i), slices)));
    for (const char* name : {"m", "v"}) {
      const auto& tensor = file.tensor(name);
      require<StorageError>(
          tensor.dtype == model::Dtype::f32 &&
              tensor.bytes.size() == std::size_t(written[i + 1] - written[i]) * sizeof(float),
          fmt::format("{}: moments of another model", file.origin()),
          "the optimizer cannot be restored", "use a checkpoint of this run");
    }
    return file;
  };
  std::vector<std::size_t> taken;  // only these files are compared with the manifest, because
                                   // otherwise every rank would read all moments
  for (std::size_t i = 0; i < std::size_t(slices); ++i)
    if (overlap(i).first < overlap(i).second) taken.push_back(i);
  if (taken.empty()) taken.push_back(0);  // each file has the counters and exponents
  const auto first = open_slice(taken.front());
  const auto counters = first.integers("counters"), exponents = first.integers("exponents");
  require<StorageError>(
      counters.size() == 3 && exponents.size() == optimizer_->exponents().size(),
      fmt::format("{}: counters or exponents of the wrong number", first.origin()),
      "the optimizer cannot be restored", "use an older checkpoint");
  optimizer_->restore(exponents, counters[0], [&](std::span<float> m, std::span<float> v) {
    for (const std::size_t i : taken) {
      // At most one file besides the first is open, because a share may come from many files.
      const auto file = i == taken.front() ? first : open_slice(i);
      const auto [from, to] = overlap(i);
      if (from >= to) continue;
      for (const auto& [name, moments] : {std::pair("m", m), std::pair("v", v)})
        file.widen(name, std::size_t(from - written[i]),
                   moments.subspan(std::size_t(from - begin), std::size_t(to - from)));
    }
  });
  set_phase(counters[1] != 0);
  if (device_ != nullptr) device_->take(std::as_const(*context_->store).weights());
}

void TrainState::begin_rollback() {
  await_writer();
  groups_.node->barrier();  // no rank of the node sends weights any more
}

void TrainState::take_back_weights(const io::StoredCheckpoint& checkpoint) {
  const PolicyVersion next{context_->store->version().value + 1};
  restore_weights(checkpoint, *context_->store, *groups_.node, next);
}

}  // namespace rollcall::run
