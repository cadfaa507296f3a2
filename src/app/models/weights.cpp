// rollcall weights: shows in which weights two checkpoints differ, and merges several models into
// one.
#include "app/commands.hpp"

#include "base/errors/long_phase.hpp"
#include "base/errors/visible.hpp"
#include "base/files/output_file.hpp"
#include "base/text/json.hpp"
#include "model/tensors/model_folder.hpp"
#include "model/tensors/weight_changes.hpp"
#include "run/folder/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <numeric>
#include <vector>

namespace rollcall::app {
namespace {

model::LoadedModel load(const std::string& reference) {
  const LongPhase phase("reading the model of " + reference);
  return model::read_model_folder(run::checkpoint_folder(reference));
}

/// Throws unless the two are sets of weights of the same model.
void check_same_model(const std::string& first, const model::LoadedModel& a,
                      const std::string& other, const model::LoadedModel& b) {
  require<InputError>(
      model::to_config_json(a.config) == model::to_config_json(b.config),
      fmt::format("{} and {} are not the same model", visible(first), visible(other)),
      "their config.json differ, so no weight of one belongs to one of the other",
      "name two checkpoints of one model");
}

struct Comparison {
  std::string before, after;
  double tolerance = 1e-5;
  bool json = false;
};

ExitCode compare(const Comparison& flags) {
  const auto before = load(flags.before), after = load(flags.after);
  check_same_model(flags.before, before, flags.after, after);
  const auto layout = model::weight_layout(before.config);
  const auto changes =
      model::changes(layout, before.weights.span(), after.weights.span(), flags.tolerance);
  model::TensorChange all{"all", 0, 0};
  for (const auto& change : changes) all.count += change.count, all.changed += change.changed;
  nlohmann::ordered_json tensors;
  for (const auto& change : changes) {
    if (flags.json)
      tensors[change.name] = {
          {"weights", change.count}, {"changed", change.changed}, {"sparsity", change.sparsity()}};
    else
      std::cout << fmt::format("{:<56} {:>12} weights {:>12} changed  sparsity {:8.4f} %\n",
                               change.name, change.count, change.changed, 100 * change.sparsity());
  }
  const auto total = fmt::format("{:<56} {:>12} weights {:>12} changed  sparsity {:8.4f} %\n",
                                 all.name, all.count, all.changed, 100 * all.sparsity());
  const nlohmann::ordered_json report = {{"tolerance", flags.tolerance},
                                         {"weights", all.count},
                                         {"changed", all.changed},
                                         {"sparsity", all.sparsity()},
                                         {"tensors", tensors}};
  std::cout << (flags.json ? report.dump(1) + "\n" : total) << std::flush;
  return ExitCode::done;
}

struct Merge {
  std::string out, base;
  std::vector<std::string> models;
  std::vector<double> shares;
  double keep = 1.0, scale = 1.0;
  bool force = false;
};

/// The weight of each model in the mean: those of --shares, or equal ones.
std::vector<double> shares_of(const Merge& flags) {
  if (flags.shares.empty())
    return std::vector<double>(flags.models.size(), 1.0 / double(flags.models.size()));
  require<ConfigError>(flags.shares.size() == flags.models.size(),
                       fmt::format("--shares has {} numbers for {} models", flags.shares.size(),
                                   flags.models.size()),
                       "each model has one share of the mean",
                       "give as many as models, or none for equal shares");
  const double sum = std::accumulate(flags.shares.begin(), flags.shares.end(), 0.0);
  require<ConfigError>(std::abs(sum - 1.0) < 1e-9, fmt::format("--shares add up to {}", sum),
                       "a mean of models has shares that add up to 1", "change them");
  return flags.shares;
}

ExitCode merge(const Merge& flags) {
  require<ConfigError>(!flags.base.empty() || (flags.keep == 1.0 && flags.scale == 1.0),
                       "--keep and --scale need --base", "they choose among the moves from a model",
                       "add --base with the model that training began from");
  require(flags.force ||
              !std::filesystem::exists(std::filesystem::path(flags.out) / "model.safetensors"),
          visible(flags.out) + " already holds a model", "it would be overwritten",
          "choose another folder or add --force");
  OutputFolder folder(flags.out);
  const auto shares = shares_of(flags);
  const auto first = load(flags.base.empty() ? flags.models.front() : flags.base);
  const auto layout = model::weight_layout(first.config);
  std::vector<double> sum(std::size_t(layout.size), 0.0);
  for (std::size_t i = 0; i < flags.models.size(); ++i) {
    auto one = load(flags.models[i]);
    check_same_model(flags.base.empty() ? flags.models.front() : flags.base, first, flags.models[i],
                     one);
    if (!flags.base.empty())
      model::keep_largest_changes(layout, first.weights.span(), flags.keep, flags.scale,
                                  one.weights.span());
    model::add_share(one.weights.span(), shares[i], sum);
  }
  model::AlignedFloats merged{sum.size()};
  std::transform(sum.begin(), sum.end(), merged.data(), [](double x) { return float(x); });
  model::write_model_folder(flags.out, first.config, merged.span());
  if (const auto text = run::text_folder(flags.base.empty() ? flags.models.front() : flags.base);
      !text.empty())
    run::copy_text_files(text, flags.out);
  folder.keep();
  const std::string what = flags.base.empty() ? "the weights" : "the moves";
  print_visible("merged {} of {} model{} into {}\n", what, flags.models.size(),
                flags.models.size() == 1 ? "" : "s", flags.out);
  print_visible("policy sha256 {}\n", model::weights_sha256(layout, merged.span()));
  return ExitCode::done;
}

void add_weight_changes(Command parent) {
  auto flags = std::make_shared<Comparison>();
  auto command = parent.command(
      "compare",
      "for each tensor, how many weights differ between two checkpoints, and the share that does "
      "not");
  command
      .option("before", flags->before,
              "RUN, RUN@STEP, RUN@CHECKPOINT, or the folder of a model or of an adapter")
      .required();
  command.option("after", flags->after, "another of the same model").required();
  command
      .option("--tolerance", flags->tolerance,
              "a weight that moved by no more than this has not changed")
      .non_negative();
  command.flag("--json", flags->json, "one JSON object instead of lines");
  command.runs([flags] { return compare(*flags); });
}

void add_merge(Command parent) {
  auto flags = std::make_shared<Merge>();
  auto command = parent.command(
      "merge",
      "write a model folder that is the mean of checkpoints, or a base with their largest moves");
  command.option("out", flags->out, "folder to write").required();
  command
      .option("models", flags->models,
              "RUN, RUN@STEP, RUN@CHECKPOINT, or folders of models or of adapters, of one model")
      .required();
  command
      .option("--shares", flags->shares,
              "of each model in the mean; they add up to 1 (default: equal)")
      .comma_separated();
  command.option("--base", flags->base,
                 "what training began from: only each model's moves from it are merged");
  command
      .option("--keep", flags->keep, "share of a model's moves that stay, the largest (DLER: 0.25)")
      .range(0.0, 1.0);
  command.option("--scale", flags->scale, "factor on the moves that stay (DLER: 0.7)")
      .non_negative();
  command.flag("--force", flags->force, "overwrite a model in that folder");
  command.runs([flags] { return merge(*flags); });
}

}  // namespace

void add_weights(Command program) {
  auto command = program.command(
      "weights", "compare the weights of checkpoints, or merge them into one model");
  command.expects_commands(1, 1);
  add_weight_changes(command);
  add_merge(command);
}

}  // namespace rollcall::app
