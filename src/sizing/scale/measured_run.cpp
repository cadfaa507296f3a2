// Reads a run folder for the calibration: what its steps worked on, and how long they took.
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "io/checkpoint.hpp"
#include "io/source.hpp"
#include "model/tensors/weights.hpp"
#include "report/metrics.hpp"
#include "sizing/memory.hpp"
#include "sizing/scale/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <tuple>

namespace rollcall::sizing::scale {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kWarmSteps = 3;  // in the first steps memory is touched for the first time
                                       // (as in benchmarks/scaling/run)

/// Medians over the training steps that count.
class Medians {
 public:
  explicit Medians(const std::string& run_dir) : run_dir_(run_dir) {
    for (auto& row : report::read_metrics(run_dir)) {
      if (row.phase == "train") rows_.push_back(std::move(row));
    }
    require<InputError>(
        rows_.size() > kWarmSteps, fmt::format("{} has {} training steps", run_dir, rows_.size()),
        fmt::format("the first {} are not counted", kWarmSteps), "give a run with more steps");
    rows_.erase(rows_.begin(), rows_.begin() + kWarmSteps);
  }
  double of(const std::string& metric) const {
    const auto values = of_steps(metric);
    require<InputError>(
        values.size() == rows_.size(), fmt::format("{} has steps without {}", run_dir_, metric),
        "the fit needs it of every step",
        "give a run that sampled its own rollouts and has no critic, made by this version");
    return median(values);
  }
  /// The median of a metric that steps leave out when it is 0.
  double of_any(const std::string& metric) const {
    auto values = of_steps(metric);
    values.resize(rows_.size(), 0.0);
    return median(values);
  }

 private:
  std::vector<double> of_steps(const std::string& metric) const {
    std::vector<double> values;
    for (const auto& row : rows_)
      for (const auto& [name, value] : row.values) {
        if (name == metric) values.push_back(value);
      }
    return values;
  }
  static double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2),
                     values.end());
    return values[values.size() / 2];
  }

  std::string run_dir_;
  std::vector<report::MetricRow> rows_;
};

int ranks_of(const fs::path& run_dir) {
  try {
    return nlohmann::json::parse(read_file(run_dir / "status.json")).at("ranks").get<int>();
  } catch (const nlohmann::json::exception&) {
    throw InputError(error_message(fmt::format("{} does not say on how many ranks the run was",
                                               (run_dir / "status.json").string()),
                                   "what a rank cost cannot be told without it",
                                   "give the folder of a run that has trained"));
  }
}

/// Read from a checkpoint, because the model that the run started from may have been moved.
model::ModelConfig policy_of(const fs::path& run_dir) {
  const auto names = io::list_checkpoints(run_dir);
  require<InputError>(!names.empty(), fmt::format("{} holds no checkpoint", run_dir.string()),
                      "the size of its model is read from it",
                      "give the folder of a run that has trained");
  const io::StoredCheckpoint newest(run_dir, names.back());
  return model::read_model_config({newest.read("config.json"), newest.name() + "/config.json"});
}

/// Reads lengths from the archive. `computed` is the number of tokens that the update of a step
/// computes.
void read_rollouts(const fs::path& run_dir, double computed, Workload& work) {
  work.lengths.clear();
  double groups = 0.0, prompt_tokens = 0.0, tokens = 0.0;
  std::set<std::uint64_t> steps;
  io::each_group(run_dir, {.purpose = Purpose::train, .first_step = kWarmSteps + 1},
                 [&](const io::ArchivedGroup& archived, const auto&) {
                   const std::size_t first = work.lengths.size();
                   double known = 0.0;
                   for (const auto& rollout : archived.group.rollouts) {
                     std::size_t length = 0;
                     for (const auto& turn : rollout.turns) {
                       if (turn.role == Role::policy) length += turn.tokens.size();
                       else known += double(turn.tokens.size());
                     }
                     work.lengths.push_back(std::int32_t(length));
                   }
                   const double prompt =
                       known / double(std::max<std::size_t>(archived.group.rollouts.size(), 1));
                   const double whole =
                       prompt + std::accumulate(work.lengths.begin() + std::ptrdiff_t(first),
                                                work.lengths.end(), 0.0);
                   groups += 1, prompt_tokens += prompt, tokens += whole;
                   steps.insert(archived.group.id.step);
                   return true;
                 });
  require<InputError>(
      !work.lengths.empty(),
      fmt::format("the archive of {} holds no rollouts of training", run_dir.string()),
      "lengths of responses are drawn from it", "give a run that has trained");
  work.prompt_tokens = prompt_tokens / groups;
  work.trained = computed * double(steps.size()) / std::max(tokens, 1.0);
}

}  // namespace

MeasuredRun read_measured_run(const std::string& run_dir, const RunConfig& config, int cores,
                              std::uint64_t seed) {
  const Medians medians(run_dir);
  MeasuredRun run{.name = fs::path(run_dir).lexically_normal().string(),
                  .cluster = {},
                  .work = {},
                  .times = {}};
  const int ranks = ranks_of(run_dir);
  run.cluster.layout = layout_of(config, ranks);
  run.cluster.threads =
      config.run.threads > 0 ? int(config.run.threads) : std::max(1, cores / ranks);
  run.cluster.ranks_per_node = ranks, run.cluster.cores_per_node = cores;
  const auto policy = policy_of(run_dir);
  run.work.prompts = config.train.prompts_per_step;
  run.work.rollouts = config.train.prompts_per_step * config.train.rollouts_per_prompt;
  run.work.micro_batch_tokens = micro_batch_tokens(config, policy);
  run.work.weights = std::int64_t(model::weight_layout(policy).size);
  run.work.seed = seed;
  read_rollouts(run_dir, medians.of_any("perf/tokens_computed"), run.work);
  run.times = {.step = medians.of("timing_s/step"),
               .generation = medians.of("timing_s/generation"),
               .generation_mean = medians.of("timing_s/generation_mean"),
               .archive = medians.of("timing_s/archive"),
               .update = medians.of("timing_s/update"),
               .columns = medians.of("timing_s/columns"),
               .scheduling = medians.of("timing_s/scheduling")};
  return run;
}

std::vector<MeasuredRun> medians_of_cases(const std::vector<MeasuredRun>& runs) {
  const auto case_of = [](const MeasuredRun& run) {
    return std::tuple(run.cluster.layout.name, run.cluster.layout.ranks, run.cluster.threads,
                      run.cluster.cores_per_node, run.work.prompts, run.work.rollouts,
                      run.work.weights);
  };
  std::vector<MeasuredRun> cases;
  for (const auto& run : runs) {
    if (std::any_of(cases.begin(), cases.end(),
                    [&](const MeasuredRun& known) { return case_of(known) == case_of(run); }))
      continue;
    MeasuredRun& one = cases.emplace_back(run);
    for (const auto part :
         {&StepTimes::step, &StepTimes::generation, &StepTimes::generation_mean,
          &StepTimes::archive, &StepTimes::update, &StepTimes::columns, &StepTimes::scheduling}) {
      std::vector<double> seconds;
      for (const auto& other : runs) {
        if (case_of(other) == case_of(run)) seconds.push_back(other.times.*part);
      }
      std::sort(seconds.begin(), seconds.end());
      one.times.*part = 0.5 * (seconds[(seconds.size() - 1) / 2] + seconds[seconds.size() / 2]);
    }
  }
  return cases;
}

}  // namespace rollcall::sizing::scale
