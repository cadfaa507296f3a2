// Compares two checkpoints and keeps one bit for each weight that differs. Rank 0 keeps the bits of
// the whole model, and update ranks keep those of their own share.
#include "run/context/gradient_mask.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/errors/visible.hpp"
#include "kernels/parameter_kernels.hpp"
#include "model/tensors/model_folder.hpp"
#include "run/context/run_context.hpp"
#include "run/folder/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::run {
namespace {

namespace fs = std::filesystem;
constexpr auto kBlock = std::int64_t(kernels::kNormBlock);
constexpr std::int64_t kPiece = 4096 * kBlock;  // number of weights for which rank 0 has the mask
                                                // in memory at a time

/// Opens the files of a checkpoint. Its tensors must match the run's model.
model::WeightFiles open_files(const char* key, const std::string& folder,
                              const model::ModelConfig& policy) {
  const auto own = model::weight_layout(policy),
             theirs = model::weight_layout(model::read_folder_config(folder));
  const bool same =
      std::equal(own.slices.begin(), own.slices.end(), theirs.slices.begin(), theirs.slices.end(),
                 [](const model::Slice& a, const model::Slice& b) {
                   return a.name == b.name && a.shape == b.shape;
                 });
  require<InputError>(
      same, fmt::format("{} ({}) is not a checkpoint of the run's model", key, visible(folder)),
      "its tensors have other names or shapes, so no weight of one belongs to one of the other",
      "name a checkpoint of this model");
  auto files = model::WeightFiles::open(folder);
  model::check_model_files(policy, files);
  return files;
}

std::string whole_path(const std::string& reference) {
  return fs::absolute(checkpoint_folder(reference)).lexically_normal().string();
}

}  // namespace

MaskOrigin find_mask(const RunConfig& config, const model::ModelConfig& policy) {
  const GradientMaskSection& section = config.gradient_mask;
  require<ConfigError>(
      config.run.numerics != kernels::kCudaBf16Sliced8,
      fmt::format("gradient_mask.after is set, and run.numerics is {}", config.run.numerics),
      "the optimizer of CUDA devices changes all weights",
      "choose numerics of the host, or leave gradient_mask out");
  MaskOrigin origin{whole_path(section.before), whole_path(section.after), {}};
  const auto before = open_files("gradient_mask.before", origin.before, policy),
             after = open_files("gradient_mask.after", origin.after, policy);
  const auto layout = model::trained_layout(policy);
  std::vector<std::int64_t> hashes;
  std::int64_t trained = 0, weights = 0;
  for (const auto& slice : layout.slices) weights += slice.count;
  for (std::int64_t at = 0; at < layout.size; at += kPiece) {
    const auto piece = model::changed_weights(layout, before, after, section.tolerance, at,
                                              std::min(at + kPiece, layout.size));
    const auto own = piece.block_hashes();
    hashes.insert(hashes.end(), own.begin(), own.end());
    trained += piece.trained();
  }
  require<InputError>(
      trained > 0,
      fmt::format("no weight differs by more than {} between {} and {}", section.tolerance,
                  visible(origin.before), visible(origin.after)),
      "training would change nothing",
      "name the model that a run began from and the run, or lower gradient_mask.tolerance");
  log_info(
      "gradient_mask: {} of {} weights train ({:.2f} %), those that moved by more than {} between {} and {}",
      trained, weights, 100.0 * double(trained) / double(weights), section.tolerance,
      visible(origin.before), visible(origin.after));
  origin.digest = model::mask_digest(hashes);
  return origin;
}

std::shared_ptr<const model::GradientMask> mask_of_share(const RunContext& context,
                                                         Collectives& ranks, std::int64_t begin,
                                                         std::int64_t end) {
  if (context.mask.digest.empty()) return nullptr;
  const auto& policy = context.store->config();
  const auto& layout = context.store->layout();
  const auto before = open_files("gradient_mask.before", context.mask.before, policy),
             after = open_files("gradient_mask.after", context.mask.after, policy);
  auto mask = std::make_shared<const model::GradientMask>(model::changed_weights(
      layout, before, after, context.config.gradient_mask.tolerance, begin, end));
  std::vector<std::int64_t> hashes(std::size_t((layout.size + kBlock - 1) / kBlock), 0);
  const auto own = mask->block_hashes();
  std::copy(own.begin(), own.end(), hashes.begin() + begin / kBlock);
  ranks.sum(hashes);  // each block has one owner
  require<EnvironmentError>(
      model::mask_digest(hashes) == context.mask.digest,
      fmt::format("the ranks read other weights in {} or {} than rank 0",
                  visible(context.mask.before), visible(context.mask.after)),
      "ranks would train other weights, and results would depend on their number",
      "put both on a file system that all nodes of the job share, and leave them as they are while the run starts");
  return mask;
}

}  // namespace rollcall::run
