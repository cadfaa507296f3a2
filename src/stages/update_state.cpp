// The update stage's part of a checkpoint: weights, optimizer, the objective's state and its companions, written and taken back.
#include "stages/update.hpp"

#include "base/error.hpp"
#include "model/model_folder.hpp"
#include "model/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace rollcall::stages {
namespace {

constexpr const char *kMoments = "optimizer-", *kReference = "reference.safetensors";

using Floats = std::shared_ptr<const std::vector<float>>;

/// The step's end is the only moment at which all ranks stand still, so what is written later is copied now.
Floats copy(std::span<const float> values) { return std::make_shared<const std::vector<float>>(values.begin(), values.end()); }

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
    slices.push_back(model::SafetensorsFile::parse(found->second, origin + "/" + found->first));
  }
  return slices;
}

}  // namespace

void Update::add_moments(io::CheckpointShare& share) const {
  if (optimizer_.m.empty()) return;
  const std::vector<std::int64_t> counters{optimizer_.step, supervised_phase_ ? 1 : 0, std::int64_t(job_->store->version().value)};
  share.files[moments_name(ranks_->rank(), model::ranks_with_share(begins_))] = [m = copy(optimizer_.m), v = copy(optimizer_.v), exponents = sum_.exponents(),
                                                                                 counters] {
    const std::vector<std::int64_t> shape{std::int64_t(m->size())};
    const std::vector<model::TensorView> tensors{{"m", model::Dtype::f32, shape, std::as_bytes(std::span(*m))},
                                                 {"v", model::Dtype::f32, shape, std::as_bytes(std::span(*v))},
                                                 {"exponents", model::Dtype::i64, {std::int64_t(exponents.size())}, std::as_bytes(std::span(exponents))},
                                                 {"counters", model::Dtype::i64, {3}, std::as_bytes(std::span(counters))}};
    return model::to_safetensors(tensors, {{"format_number", "2"}});
  };
}

void Update::add_reference(io::CheckpointShare& share, const SaveRequest& request) {
  if (companions_.reference().empty()) return;
  const auto now = companions_.reference_revision();
  if (saved_reference_ && *saved_reference_ == std::pair(request.earlier, now)) {
    share.unchanged.push_back(kReference);
  } else {
    share.files[kReference] = [layout = job_->store->layout(), weights = copy(companions_.reference())] {
      return model::to_model_safetensors(layout, *weights);
    };
  }
  saved_reference_ = {request.name, now};
}

void Update::on_save(const SaveRequest& request) {
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
  const auto weights = copy(job_->store->weights());
  const auto layout = std::make_shared<const model::WeightLayout>(job_->store->layout());
  share.files["model.safetensors"] = [layout, weights] { return model::to_model_safetensors(*layout, *weights); };
  share.files["config.json"] = [text = model::to_config_json(job_->store->config())] { return text; };
  share.files["objective.json"] = [state = objective_state_] { return state.to_json(); };
  saving_.start([run_dir = job_->run_dir, name = request.name, share, layout, weights] {
    return SaveReport{io::write_share(run_dir, name, share), model::weights_sha256(*layout, *weights)};
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
  // Written by any number of ranks: all slices one after the other, then this rank's share of them.
  for (auto [name, moments] : {std::pair("m", &optimizer_.m), std::pair("v", &optimizer_.v)}) {
    std::vector<float> all;
    for (const auto& slice : slices) {
      const auto values = slice.floats(name);
      all.insert(all.end(), values.begin(), values.end());
    }
    require<StorageError>(all.size() == std::size_t(job_->store->layout().size), fmt::format("{}: moments of another model", origin),
                          "the optimizer cannot be restored", "use a checkpoint of this run");
    const auto rank = std::size_t(ranks_->rank());
    moments->assign(all.begin() + begins_[rank], all.begin() + begins_[rank + 1]);
  }
  sum_.set_exponents(read_i64("exponents", sum_.exponents().size()));
  const auto counters = read_i64("counters", 3);
  optimizer_.step = counters[0], supervised_phase_ = counters[1] != 0;
}

void Update::restore(const std::map<std::string, std::string>& files, const std::string& origin) {
  restore_optimizer(files, origin);
  const auto objective = files.find("objective.json");
  require<StorageError>(objective != files.end(), fmt::format("checkpoint {} has no objective.json", origin), "the run cannot go on from it",
                        "remove it to use the one before");
  objective_state_ = ObjectiveState::parse(objective->second, origin + "/objective.json");
  companions_.restore(files, origin);
}

void Update::on_rollback(const std::string& name) {
  io::await_checkpoint(job_->run_dir, name);
  const auto checkpoint = io::read_checkpoint(job_->run_dir, name);
  const auto file = checkpoint.files.find("model.safetensors");
  require<StorageError>(file != checkpoint.files.end(), fmt::format("checkpoint {} has no model.safetensors", name), "the run cannot go back to it",
                        "remove it to use the one before");
  const auto weights = model::parse_weights(job_->store->config(), file->second, name + "/model.safetensors");
  std::copy(weights.begin(), weights.end(), job_->store->weights().begin());
  restore(checkpoint.files, name);
  // The version goes on: it numbers what generation holds, and the rolled-back weights must replace it everywhere.
  job_->store->publish(PolicyVersion{job_->store->version().value + 1});
  finish({});
}

}  // namespace rollcall::stages
