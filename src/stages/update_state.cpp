// The update stage's part of a checkpoint: weights, optimizer, the objective's state and its companions, written and taken back.
#include "stages/update.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "model/huge_blocks.hpp"
#include "model/model_folder.hpp"
#include "model/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

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

/// In the order of their slices. Throws StorageError when one is missing.
std::vector<model::SafetensorsFile> moment_files(const std::map<std::string, std::string>& files, const std::string& origin) {
  std::vector<model::SafetensorsFile> slices;
  const auto first = files.lower_bound(kMoments);
  std::int64_t count = 0;
  for (auto file = first; file != files.end() && file->first.starts_with(kMoments); ++file) ++count;
  for (std::int64_t slice = 0; slice < std::max<std::int64_t>(count, 1); ++slice) {
    const auto found = files.find(moments_name(slice, count));
    require<StorageError>(found != files.end(), fmt::format("checkpoint {} has no {}", origin, moments_name(slice, std::max<std::int64_t>(count, 1))),
                          "the optimizer cannot be restored", "use an older checkpoint, or the version that wrote it");
    slices.push_back(model::SafetensorsFile::view(std::as_bytes(std::span(found->second)), origin + "/" + found->first));
  }
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

void Update::restore_optimizer(const std::map<std::string, std::string>& files, const std::string& origin) {
  const auto slices = moment_files(files, origin);
  const auto read_i64 = [&](const std::string& name, std::size_t count) {
    const auto& tensor = slices.front().tensor(name);
    require<StorageError>(tensor.dtype == model::Dtype::i64 && tensor.bytes.size() == count * sizeof(std::int64_t),
                          fmt::format("{}: tensor {} has the wrong size", origin, name), "the optimizer cannot be restored", "use an older checkpoint");
    std::vector<std::int64_t> values(count);
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
  };
  // Written by any number of ranks: all slices one after the other, of which this rank takes its share.
  const auto own = std::size_t(own_);
  const auto read = [&](const char* name, std::span<float> moments) {
    std::int64_t at = 0;
    for (const auto& slice : slices) {
      const auto& tensor = slice.tensor(name);
      const auto count = std::int64_t(tensor.bytes.size() / sizeof(float));
      const std::int64_t first = std::max(at, begins_[own]), last = std::min(at + count, begins_[own + 1]);
      if (tensor.dtype == model::Dtype::f32 && first < last)
        std::memcpy(moments.data() + (first - begins_[own]), tensor.bytes.data() + std::size_t(first - at) * sizeof(float),
                    std::size_t(last - first) * sizeof(float));
      at += tensor.dtype == model::Dtype::f32 ? count : 0;
    }
    require<StorageError>(at == job_->store->layout().size, fmt::format("{}: moments of another model", origin), "the optimizer cannot be restored",
                          "use a checkpoint of this run");
  };
  const auto counters = read_i64("counters", 3);
  optimizer_->restore(read_i64("exponents", optimizer_->exponents().size()), counters[0], [&](std::span<float> m, std::span<float> v) {
    read("m", m);
    read("v", v);
  });
  supervised_phase_ = counters[1] != 0;
  if (device_ != nullptr) device_->take(std::as_const(*job_->store).weights());
}

void Update::restore(const std::map<std::string, std::string>& files, const std::string& origin) {
  restore_optimizer(files, origin);
  const auto objective = files.find("objective.json");
  require<StorageError>(objective != files.end(), fmt::format("checkpoint {} has no objective.json", origin), "the run cannot continue from it",
                        "remove it to use the previous one");
  objective_state_.restore(objective->second, origin + "/objective.json");
  companions_.restore(files, origin);
}

void Update::on_rollback(const std::string& name) {
  await_writer();
  groups_.node->barrier();  // none of the node sends weights any more, which are replaced now
  io::await_checkpoint(job_->run_dir, name);
  job_->leaves->give_back();
  model::huge_blocks().release_idle();  // a checkpoint is read into memory of another kind
  const auto checkpoint = io::read_checkpoint(job_->run_dir, name);
  const auto file = checkpoint.files.find("model.safetensors");
  require<StorageError>(file != checkpoint.files.end(), fmt::format("checkpoint {} has no model.safetensors", name), "the run cannot go back to it",
                        "remove it to use the previous one");
  if (groups_.node->rank() == 0) model::parse_weights(job_->store->config(), file->second, name + "/model.safetensors", job_->store->weights());
  // The version goes on: it numbers what generation holds, and the rolled-back weights must replace it everywhere.
  job_->store->publish(PolicyVersion{job_->store->version().value + 1}, *groups_.node);
  // Weights are taken back, rollouts are not: what prompts have shown stays known, here as in the scheduler.
  const ObjectiveState seen = objective_state_;
  restore(checkpoint.files, name);
  objective_state_.success = seen.success, objective_state_.best_length = seen.best_length;
  finish({});
}

}  // namespace rollcall::stages
