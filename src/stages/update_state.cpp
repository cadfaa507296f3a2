// The update stage's part of a checkpoint: weights, optimizer, the objective's state and its companions, written and taken back.
#include "stages/update.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "model/model_folder.hpp"
#include "model/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::stages {
namespace {

constexpr const char *kMoments = "optimizer-", *kReference = "reference.safetensors";

/// Tensors as a file that borrows their bytes from `owner`.
FileContent borrowed(std::span<const model::TensorView> tensors, const std::map<std::string, std::string>& metadata, const std::shared_ptr<const void>& owner) {
  FileContent content(model::safetensors_head(tensors, metadata));
  for (const auto& tensor : tensors) content.add(tensor.bytes, owner);
  return content;
}

FileContent weights_file(const model::WeightLayout& layout, const std::shared_ptr<const model::AlignedFloats>& weights) {
  return borrowed(model::weight_tensors(layout, weights->span()), model::model_metadata(), weights);
}

std::string moments_name(std::int64_t slice, std::int64_t slices) { return fmt::format("{}{:05}-of-{:05}.safetensors", kMoments, slice + 1, slices); }

/// A part of the moments, as one rank wrote it: [first, first + count) of the layout.
struct MomentSlice {
  std::int64_t first = 0, count = 0;
  model::SafetensorsFile file;
};

/// The slice that begins the layout, whose counters hold for all, and those that [begin, end) takes something of. Only these are compared with the manifest: all ranks
/// together read the moments about once. Throws StorageError.
std::vector<MomentSlice> moment_slices(const io::StoredCheckpoint& checkpoint, std::int64_t begin, std::int64_t end, std::int64_t size) {
  const auto files = std::count_if(checkpoint.files().begin(), checkpoint.files().end(), [](const auto& file) { return file.first.starts_with(kMoments); });
  std::vector<MomentSlice> slices;
  std::int64_t at = 0;
  for (std::int64_t number = 0; number < std::max<std::int64_t>(files, 1); ++number) {
    const std::string name = moments_name(number, std::max<std::int64_t>(files, 1));
    if (number == 0) checkpoint.verified(name);  // or it is missing
    auto file = model::SafetensorsFile::map(checkpoint.folder() / name);
    const auto &m = file.tensor("m"), &v = file.tensor("v");
    require<StorageError>(m.dtype == model::Dtype::f32 && v.dtype == model::Dtype::f32 && m.bytes.size() == v.bytes.size(),
                          fmt::format("{}: m and v are not alike", file.origin()), "the optimizer cannot be restored", "use an older checkpoint");
    const auto count = std::int64_t(m.bytes.size() / sizeof(float));
    const bool taken = std::max(at, begin) < std::min(at + count, end);
    if (taken && number > 0) checkpoint.verified(name);
    if (taken || number == 0) slices.push_back({at, count, std::move(file)});
    at += count;
  }
  require<StorageError>(at == size, fmt::format("{}: moments of another model", checkpoint.name()), "the optimizer cannot be restored",
                        "use a checkpoint of this run");
  return slices;
}

}  // namespace

void Update::add_moments(io::CheckpointShare& share) const {
  if (begins_[std::size_t(own_)] == begins_[std::size_t(own_) + 1]) return;
  const auto own = optimizer_->state();
  struct Moments {
    std::shared_ptr<const model::OptimizerState> state;
    std::vector<std::int64_t> exponents, counters;
  };
  const auto moments = std::make_shared<const Moments>(
      Moments{own, optimizer_->exponents(), {own->step, supervised_phase_ ? 1 : 0, std::int64_t(job_->store->version().value)}});
  share.files[moments_name(own_, model::ranks_with_share(begins_))] = [moments] {
    const auto& [state, exponents, counters] = *moments;
    const std::vector<std::int64_t> shape{std::int64_t(state->m.size())};
    const std::vector<model::TensorView> tensors{{"m", model::Dtype::f32, shape, std::as_bytes(std::span(state->m))},
                                                 {"v", model::Dtype::f32, shape, std::as_bytes(std::span(state->v))},
                                                 {"exponents", model::Dtype::i64, {std::int64_t(exponents.size())}, std::as_bytes(std::span(exponents))},
                                                 {"counters", model::Dtype::i64, {3}, std::as_bytes(std::span(counters))}};
    return borrowed(tensors, {{"format_number", "2"}}, moments);
  };
}

void Update::add_reference(io::CheckpointShare& share, const SaveRequest& request) {
  if (!companions_.reference()) return;
  const auto now = companions_.reference_revision();
  if (saved_reference_ && *saved_reference_ == std::pair(request.earlier, now)) {
    share.unchanged.push_back(kReference);
  } else {
    share.files[kReference] = [layout = job_->store->layout(), weights = companions_.reference()] { return weights_file(layout, weights); };
  }
  saved_reference_ = {request.name, now};
}

void Update::await_writer() {
  ranks_->wait([this] { return saving_.ended(); }, job_->config.run.deadline_s, "the writing of a checkpoint, whose weights and moments change now");
  // The leader's writer reads weights that all of its node are about to change.
  if (std::exchange(save_begun_, false)) groups_.node->barrier();
}

void Update::on_save(const SaveRequest& request) {
  fetch_weights();
  save_begun_ = true;
  io::CheckpointShare share{.files = {}, .earlier = request.earlier, .unchanged = {}};
  add_moments(share);
  if (ranks_->rank() == 1 % ranks_->size()) {  // beside the leader, which has the weights to write
    add_reference(share, request);
    for (auto& [name, bytes] : companions_.save()) share.files[name] = [bytes = std::move(bytes)] { return bytes; };
  }
  if (!leader()) {
    saving_.start([run_dir = job_->run_dir, name = request.name, share] { return SaveReport{io::write_share(run_dir, name, share), {}}; });
    return;
  }
  const auto weights = job_->store->shared_weights();
  const auto layout = std::make_shared<const model::WeightLayout>(job_->store->layout());
  share.files["model.safetensors"] = [layout, weights] { return weights_file(*layout, weights); };
  share.files["config.json"] = [text = model::to_config_json(job_->store->config())] { return text; };
  share.files["objective.json"] = [state = objective_state_] { return state.to_json(); };
  saving_.start([run_dir = job_->run_dir, name = request.name, share, layout, weights] {
    return SaveReport{io::write_share(run_dir, name, share), model::weights_sha256(*layout, weights->span())};
  });
}

void Update::restore_optimizer(const io::StoredCheckpoint& checkpoint) {
  const std::int64_t begin = begins_[std::size_t(own_)], end = begins_[std::size_t(own_) + 1];
  const auto slices = moment_slices(checkpoint, begin, end, job_->store->layout().size);  // written by any number of ranks
  const auto counters = slices.front().file.integers("counters"), exponents = slices.front().file.integers("exponents");
  require<StorageError>(counters.size() == 3 && exponents.size() == optimizer_->exponents().size(),
                        fmt::format("{}: counters or exponents of the wrong number", checkpoint.name()), "the optimizer cannot be restored",
                        "use an older checkpoint");
  const auto read = [&](const char* name, std::span<float> moments) {
    for (const auto& [at, count, file] : slices) {
      const std::int64_t first = std::max(at, begin), last = std::min(at + count, end);
      if (first < last) file.widen(name, std::size_t(first - at), moments.subspan(std::size_t(first - begin), std::size_t(last - first)));
    }
  };
  optimizer_->restore(exponents, counters[0], [&](std::span<float> m, std::span<float> v) {
    read("m", m);
    read("v", v);
  });
  supervised_phase_ = counters[1] != 0;
  if (device_ != nullptr) device_->take(std::as_const(*job_->store).weights());
}

void Update::restore(const io::StoredCheckpoint& checkpoint) {
  restore_optimizer(checkpoint);
  objective_state_.restore(checkpoint.read("objective.json"), checkpoint.name() + "/objective.json");
  companions_.restore(checkpoint);
}

void Update::on_rollback(const std::string& name) {
  await_writer();
  groups_.node->barrier();  // none of the node sends weights any more, which are replaced now
  io::await_checkpoint(job_->run_dir, name);
  const io::StoredCheckpoint checkpoint(job_->run_dir, name);
  if (groups_.node->rank() == 0) model::read_weights(job_->store->config(), checkpoint.verified("model.safetensors"), job_->store->weights());
  // The version goes on: it numbers what generation holds, and the rolled-back weights must replace it everywhere.
  job_->store->publish(PolicyVersion{job_->store->version().value + 1}, *groups_.node);
  // Weights are taken back, rollouts are not: what prompts have shown stays known, here as in the scheduler.
  const ObjectiveState seen = objective_state_;
  restore(checkpoint);
  objective_state_.success = seen.success, objective_state_.best_length = seen.best_length;
  finish({});
}

}  // namespace rollcall::stages
