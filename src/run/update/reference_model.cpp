// Weights of the reference: their source, their updates from the policy, and their saved form.
#include "run/update/reference_model.hpp"

#include "base/errors/error.hpp"
#include "model/tensors/model_folder.hpp"
#include "run/checkpoint/part.hpp"
#include "run/checkpoint/tensor_files.hpp"

#include <fmt/format.h>

namespace rollcall::run {

ReferenceModel::ReferenceModel(const RunConfig& config, const PolicyStore& store)
    : settings_(&config.reference), store_(&store) {
  if (settings_->model.empty()) return;
  auto loaded = model::read_finite_model(settings_->model);
  require<ConfigError>(
      std::int64_t(loaded.weights.size()) == store.layout().size &&
          loaded.config.vocab_size == store.config().vocab_size,
      fmt::format("reference.model = {} has a different shape from the policy", settings_->model),
      "the reference is kept beside the policy, weight by weight",
      "use a model of the same architecture");
  set(std::move(loaded.weights));
}

void ReferenceModel::set(model::AlignedFloats weights) {
  model_.reset();
  weights_ = std::make_shared<model::AlignedFloats>(std::move(weights));
  ++revision_;
  model_.emplace(store_->config(), weights_, PolicyVersion{0}, &store_->kernels());
}

void ReferenceModel::drop() {
  model_.reset();
  weights_.reset();
}

void ReferenceModel::begin_training() {
  if (takes_policy()) set(model::AlignedFloats(store_->weights()));
}

bool ReferenceModel::changes(std::uint64_t step) const {
  return settings_->decay < 1.0 ||
         (settings_->refresh_every > 0 && step % std::uint64_t(settings_->refresh_every) == 0);
}

void ReferenceModel::after_step(std::uint64_t step) {
  if (!changes(step)) return;
  const auto policy = store_->weights();
  if (settings_->refresh_every > 0 && step % std::uint64_t(settings_->refresh_every) == 0) {
    drop();
    return set(model::AlignedFloats(policy));
  }
  const auto reference = weights_->span();
  for (std::size_t i = 0; i < policy.size(); ++i)
    reference[i] = float(settings_->decay * double(reference[i]) +
                         (1.0 - settings_->decay) * double(policy[i]));
  model_.reset();
  model_.emplace(store_->config(), weights_, PolicyVersion{0}, &store_->kernels());
  ++revision_;
}

void ReferenceModel::add_to(io::CheckpointShare& share, const std::string& name) {
  if (!weights_) return;
  const std::string file = file_of(Part::reference);
  if (saved_ && *saved_ == std::pair(share.earlier, revision_)) {
    share.unchanged.push_back(file);
  } else {
    share.files[file] = [layout = store_->layout(),
                         weights = std::shared_ptr<const model::AlignedFloats>(weights_)] {
      return weights_file(layout, weights);
    };
  }
  saved_ = {name, revision_};
}

void ReferenceModel::restore(const io::StoredCheckpoint& checkpoint) {
  const std::string file = file_of(Part::reference);
  if (checkpoint.files().contains(file)) {
    drop();
    set(model::read_weights(store_->config(), checkpoint.verified(file)));
  } else if (settings_->model.empty()) {
    drop();  // a rollback to a checkpoint from before training began
  }
}

}  // namespace rollcall::run
