// The update stage's part of a checkpoint: weights, optimizer, the objective's state and its companions, written and taken back.
#include "stages/update.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "io/checkpoint.hpp"
#include "model/model_folder.hpp"
#include "model/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace rollcall::stages {

std::string Update::optimizer_bytes() const {
  const auto& layout = job_->store->layout();
  const std::vector<std::int64_t> exponents = sum_.exponents();
  const std::vector<std::int64_t> shape{layout.size}, counters{optimizer_.step, supervised_phase_ ? 1 : 0, std::int64_t(job_->store->version().value)};
  const std::vector<model::TensorView> tensors{
      {"m", model::Dtype::f32, shape, std::as_bytes(std::span(optimizer_.m))},
      {"v", model::Dtype::f32, shape, std::as_bytes(std::span(optimizer_.v))},
      {"exponents", model::Dtype::i64, {std::int64_t(exponents.size())}, std::as_bytes(std::span(exponents))},
      {"counters", model::Dtype::i64, {3}, std::as_bytes(std::span(counters))}};
  return model::to_safetensors(tensors, {{"format_number", "1"}});
}

void Update::restore_optimizer(const std::string& bytes, const std::string& origin) {
  const auto file = model::SafetensorsFile::parse(bytes, origin);
  const auto read_i64 = [&](const std::string& name, std::size_t count) {
    const auto& tensor = file.tensor(name);
    require<StorageError>(tensor.dtype == model::Dtype::i64 && tensor.bytes.size() == count * sizeof(std::int64_t),
                          fmt::format("{}: tensor {} has the wrong size", origin, name), "the optimizer cannot be restored", "use an older checkpoint");
    std::vector<std::int64_t> values(count);
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
  };
  optimizer_.m = file.floats("m"), optimizer_.v = file.floats("v");
  require<StorageError>(optimizer_.m.size() == std::size_t(job_->store->layout().size) && optimizer_.v.size() == optimizer_.m.size(),
                        fmt::format("{}: moments of another model", origin), "the optimizer cannot be restored", "use a checkpoint of this run");
  sum_.set_exponents(read_i64("exponents", sum_.exponents().size()));
  const auto counters = read_i64("counters", 3);
  optimizer_.step = counters[0], supervised_phase_ = counters[1] != 0;
}

void Update::restore(const std::map<std::string, std::string>& files, const std::string& origin) {
  const auto file = [&](const char* name) -> const std::string& {
    const auto found = files.find(name);
    require<StorageError>(found != files.end(), fmt::format("checkpoint {} has no {}", origin, name), "the run cannot go on from it", "remove it to use the one before");
    return found->second;
  };
  restore_optimizer(file("optimizer.safetensors"), origin + "/optimizer.safetensors");
  objective_state_ = ObjectiveState::parse(file("objective.json"), origin + "/objective.json");
  companions_.restore(files, origin);
}

void Update::on_save(const SaveRequest& request) {
  const Stopwatch clock;
  io::Checkpoint checkpoint{request.name, request.files};
  checkpoint.files["config.json"] = model::to_config_json(job_->store->config());
  checkpoint.files["model.safetensors"] = model::to_model_safetensors(job_->store->layout(), job_->store->weights());
  checkpoint.files["optimizer.safetensors"] = optimizer_bytes();
  checkpoint.files["objective.json"] = objective_state_.to_json();
  companions_.save(checkpoint.files);
  io::write_checkpoint(job_->run_dir, checkpoint);
  mail_->send(0, Tag::saved, SaveReport{job_->store->sha256(), clock.seconds()});
}

void Update::on_rollback(const std::string& name) {
  const auto checkpoint = io::read_checkpoint(job_->run_dir, name);
  const auto weights = model::read_weights(job_->store->config(), job_->run_dir / "checkpoints" / name / "model.safetensors");
  std::copy(weights.begin(), weights.end(), job_->store->weights().begin());
  restore(checkpoint.files, name);
  // The version goes on: it numbers what generation holds, and the rolled-back weights must replace it everywhere.
  job_->store->publish(PolicyVersion{job_->store->version().value + 1});
}

}  // namespace rollcall::stages
