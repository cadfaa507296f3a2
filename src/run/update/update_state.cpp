// What the update stage keeps: its part of a checkpoint (weights, optimizer, the objective's state
// and its companions), written and taken back, and word of a step's files.
#include "run/update/update.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "model/tensors/model_folder.hpp"
#include "model/tensors/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::run {
namespace {

constexpr const char *kMoments = "optimizer-", *kReference = "reference.safetensors";

/// Tensors as a file that borrows their bytes from `owner`.
FileContent borrowed(std::span<const model::TensorView> tensors,
                     const std::map<std::string, std::string>& metadata,
                     const std::shared_ptr<const void>& owner) {
  FileContent content(model::safetensors_head(tensors, metadata));
  for (const auto& tensor : tensors) content.add(tensor.bytes, owner);
  return content;
}

FileContent weights_file(const model::WeightLayout& layout,
                         const std::shared_ptr<const model::AlignedFloats>& weights) {
  return borrowed(model::weight_tensors(layout, weights->span()), model::model_metadata(), weights);
}

std::string moments_name(std::int64_t slice, std::int64_t slices) {
  return fmt::format("{}{:05}-of-{:05}.safetensors", kMoments, slice + 1, slices);
}

}  // namespace

void UpdateStage::add_moments(io::CheckpointShare& share) const {
  if (begins_[std::size_t(own_)] == begins_[std::size_t(own_) + 1]) return;
  const auto own = optimizer_->state();
  struct Moments {
    std::shared_ptr<const model::OptimizerState> state;
    std::vector<std::int64_t> exponents, counters;
  };
  const auto moments = std::make_shared<const Moments>(Moments{
      own,
      optimizer_->exponents(),
      {own->step, supervised_phase_ ? 1 : 0, std::int64_t(context_->store->version().value)}});
  share.files[moments_name(own_, model::ranks_with_share(begins_))] = [moments] {
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
    return borrowed(tensors, {{"format_number", "2"}}, moments);
  };
}

void UpdateStage::add_reference(io::CheckpointShare& share, const SaveRequest& request) {
  if (!auxiliary_models_.reference()) return;
  const auto now = auxiliary_models_.reference_revision();
  if (saved_reference_ && *saved_reference_ == std::pair(request.earlier, now)) {
    share.unchanged.push_back(kReference);
  } else {
    share.files[kReference] = [layout = context_->store->layout(),
                               weights = auxiliary_models_.reference()] {
      return weights_file(layout, weights);
    };
  }
  saved_reference_ = {request.name, now};
}

void UpdateStage::end_step(UpdateReport& report, double own_s,
                           std::vector<io::PublishedFile> own_files) const {
  for (const auto& bytes : ranks_->gather(to_bytes(std::pair(own_s, std::move(own_files))), 0)) {
    auto [seconds, files] = from_bytes<std::pair<double, std::vector<io::PublishedFile>>>(bytes);
    report.compute_max_s = std::max(report.compute_max_s, seconds);
    report.compute_mean_s += seconds / double(ranks_->size());
    std::move(files.begin(), files.end(), std::back_inserter(report.stored));
  }
  std::sort(report.stored.begin(), report.stored.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
}

void UpdateStage::await_writer() {
  ranks_->wait([this] { return saving_.ended(); }, context_->config.run.deadline_s,
               "the writing of a checkpoint, whose weights and moments change now");
  // The leader's writer reads weights that all of its node are about to change.
  if (std::exchange(save_begun_, false)) groups_.node->barrier();
}

void UpdateStage::on_save(const SaveRequest& request) {
  fetch_weights();
  save_begun_ = true;
  io::CheckpointShare share{.files = {}, .earlier = request.earlier, .unchanged = {}};
  add_moments(share);
  if (ranks_->rank() == 1 % ranks_->size()) {  // beside the leader, which has the weights to write
    add_reference(share, request);
    for (auto& [name, bytes] : auxiliary_models_.save())
      share.files[name] = [bytes = std::move(bytes)] { return bytes; };
  }
  if (!leader()) {
    saving_.start([run_dir = context_->run_dir, name = request.name, share] {
      return SaveReport{io::write_share(run_dir, name, share), {}};
    });
    return;
  }
  const auto weights = context_->store->shared_weights();
  const auto layout = std::make_shared<const model::WeightLayout>(context_->store->layout());
  share.files["model.safetensors"] = [layout, weights] { return weights_file(*layout, weights); };
  share.files["config.json"] = [text = model::to_config_json(context_->store->config())] {
    return text;
  };
  share.files["objective.json"] = [state = objective_state_] { return state.to_json(); };
  saving_.start([run_dir = context_->run_dir, name = request.name, share, layout, weights] {
    return SaveReport{io::write_share(run_dir, name, share),
                      model::weights_sha256(*layout, weights->span())};
  });
}

void UpdateStage::restore_optimizer(const io::StoredCheckpoint& checkpoint) {
  const auto is_slice = [](const auto& file) { return file.first.starts_with(kMoments); };
  const auto slices = std::max<std::int64_t>(
      std::count_if(checkpoint.files().begin(), checkpoint.files().end(), is_slice), 1);
  // by any number of ranks
  const auto written = model::optimizer_shares(context_->store->layout().size, int(slices));
  const std::int64_t begin = begins_[std::size_t(own_)], end = begins_[std::size_t(own_) + 1];
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
  std::vector<std::size_t> taken;  // only these are compared with the manifest, or every rank would
                                   // read all moments
  for (std::size_t i = 0; i < std::size_t(slices); ++i)
    if (overlap(i).first < overlap(i).second) taken.push_back(i);
  if (taken.empty()) taken.push_back(0);  // all have counters and exponents
  const auto first = open_slice(taken.front());
  const auto counters = first.integers("counters"), exponents = first.integers("exponents");
  require<StorageError>(
      counters.size() == 3 && exponents.size() == optimizer_->exponents().size(),
      fmt::format("{}: counters or exponents of the wrong number", first.origin()),
      "the optimizer cannot be restored", "use an older checkpoint");
  optimizer_->restore(exponents, counters[0], [&](std::span<float> m, std::span<float> v) {
    for (const std::size_t i : taken) {
      // one at a time beside it: many ranks may have written what one takes
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

void UpdateStage::restore(const io::StoredCheckpoint& checkpoint) {
  restore_optimizer(checkpoint);
  objective_state_.restore(checkpoint.read("objective.json"),
                           checkpoint.name() + "/objective.json");
  auxiliary_models_.restore(checkpoint);
}

void UpdateStage::on_rollback(const std::string& name) {
  await_writer();
  groups_.node->barrier();  // none of the node sends weights any more, which are replaced now
  io::await_checkpoint(context_->run_dir, name);
  const io::StoredCheckpoint checkpoint(context_->run_dir, name);
  if (groups_.node->rank() == 0)
    model::read_weights(context_->store->config(), checkpoint.verified("model.safetensors"),
                        context_->store->weights());
  // The version goes on: it numbers what generation holds, and the rolled-back weights must replace
  // it everywhere.
  context_->store->publish(PolicyVersion{context_->store->version().value + 1}, *groups_.node);
  // Weights are taken back, rollouts are not: what prompts have shown stays known, here as in the
  // scheduler.
  const ObjectiveState seen = objective_state_;
  restore(checkpoint);
  objective_state_.success = seen.success, objective_state_.best_length = seen.best_length;
  finish({});
}

}  // namespace rollcall::run
