// What the update stage keeps: its part of a checkpoint (weights, optimizer, the objective's state
// and its companions), written and taken back, and word of a step's files.
#include "run/update/update.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "model/tensors/model_folder.hpp"
#include "model/tensors/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rollcall::run {
namespace {

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
  const std::array numbers{slice + 1, slices};
  return file_of(Part::moments, numbers);
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
    return borrowed(tensors, {{"format_number", std::to_string(row_of(Part::moments).format)}},
                    moments);
  };
}

void UpdateStage::add_reference(io::CheckpointShare& share, const SaveRequest& request) {
  if (!auxiliary_models_.reference()) return;
  const auto now = auxiliary_models_.reference_revision();
  if (saved_reference_ && *saved_reference_ == std::pair(request.earlier, now)) {
    share.unchanged.push_back(file_of(Part::reference));
  } else {
    share.files[file_of(Part::reference)] = [layout = context_->store->layout(),
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
  const auto writes = [this](Part part) {
    return is_written_by(part, ranks_->rank(), ranks_->size());
  };
  if (writes(Part::reference)) add_reference(share, request);
  if (writes(Part::value_head) && auxiliary_models_.value_head() != nullptr)
    share.files[file_of(Part::value_head)] = [bytes = auxiliary_models_.value_head()->to_bytes()] {
      return bytes;
    };
  if (!leader()) {
    saving_.start([run_dir = context_->run_dir, name = request.name, share] {
      return SaveReport{io::write_share(run_dir, name, share), {}};
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
  share.files[file_of(Part::objective)] = [state = objective_state_] { return state.to_json(); };
  saving_.start([run_dir = context_->run_dir, name = request.name, share, layout, weights] {
    return SaveReport{io::write_share(run_dir, name, share),
                      model::weights_sha256(*layout, weights->span())};
  });
}

void UpdateStage::restore_optimizer(const io::StoredCheckpoint& checkpoint) {
  const auto slices = std::max<std::int64_t>(count_files(checkpoint.files(), Part::moments), 1);
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

void UpdateStage::restore_objective(const io::StoredCheckpoint& checkpoint, Restoring why) {
  const ObjectiveState seen = objective_state_;
  const std::string file = file_of(Part::objective);
  objective_state_.restore(checkpoint.read(file), checkpoint.name() + "/" + file);
  if (why == Restoring::resume) return;
  // Weights are taken back, rollouts are not: what prompts have shown stays known, here as in the
  // scheduler.
  objective_state_.success = seen.success, objective_state_.best_length = seen.best_length;
}

PartReaders UpdateStage::part_readers() {
  using Checkpoint = io::StoredCheckpoint;
  return {{Part::moments,
           [this](const Checkpoint& checkpoint, Restoring) { restore_optimizer(checkpoint); }},
          {Part::objective, [this](const Checkpoint& checkpoint,
                                   Restoring why) { restore_objective(checkpoint, why); }},
          {Part::reference, [this](const Checkpoint& checkpoint,
                                   Restoring) { auxiliary_models_.restore_reference(checkpoint); }},
          {Part::value_head, [this](const Checkpoint& checkpoint, Restoring) {
             auxiliary_models_.restore_value_head(checkpoint);
           }}};
}

void UpdateStage::on_rollback(const std::string& name) {
  await_writer();
  groups_.node->barrier();  // none of the node sends weights any more, which are replaced now
  io::await_checkpoint(context_->run_dir, name);
  const io::StoredCheckpoint checkpoint(context_->run_dir, name);
  // The version goes on: it numbers what generation holds, and the rolled-back weights must replace
  // it everywhere.
  const PolicyVersion next{context_->store->version().value + 1};
  PartReaders readers = part_readers();
  readers[Part::weights] = [&](const io::StoredCheckpoint& from, Restoring) {
    restore_weights(from, *context_->store, *groups_.node, next);
  };
  restore_parts(checkpoint, Restoring::rollback, readers);
  finish({});
}

}  // namespace rollcall::run
