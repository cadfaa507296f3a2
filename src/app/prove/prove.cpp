// rollcall prove: runs a short form of a run without interruption, and again with kills and resumes
// on other ranks and layouts. All must give the same bits.
#include "app/commands.hpp"
#include "app/prove/trial.hpp"
#include "app/runs/launcher.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/process/stop_signals.hpp"
#include "base/time/clock.hpp"
#include "comm/stage_layout.hpp"
#include "core/run_config.hpp"
#include "io/difference.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <random>

namespace rollcall::app {
namespace {

namespace fs = std::filesystem;
using namespace prove;

constexpr const char* kMarker = "rollcall-prove";  // this file marks a folder of this command,
                                                   // which the next call may remove

struct ProveFlags {
  std::string run_file, launcher, folder;
  std::vector<std::string> assignments;
  std::vector<int> ranks{1, 2, 3, 4};
  double seconds = 120;
  std::uint64_t seed = 0;
};

/// The settings of a short run: few steps, small steps, a checkpoint at every second step. All that
/// decides how numbers are computed stays as it is.
std::vector<std::string> short_form(const RunConfig& c) {
  const auto rollouts =
      std::min(c.train.rollouts_per_prompt, std::max<std::int64_t>(8, c.scheduler.min_rollouts));
  const auto prompts = std::min<std::int64_t>(c.train.prompts_per_step, 16);
  // with fewer steps no answer of the quickstart's task is right, and nothing changes
  std::vector<std::string> all{
      fmt::format("sft.steps={}", std::min<std::int64_t>(c.sft.steps, 60)),
      fmt::format("train.steps={}", std::min<std::int64_t>(c.train.steps, 6)),
      fmt::format("train.prompts_per_step={}", prompts),
      fmt::format("train.rollouts_per_prompt={}", rollouts),
      fmt::format("train.mini_batches={}", std::min(c.train.mini_batches, prompts)),
      fmt::format(
          "task.heldout_prompts={}",
          c.task.heldout_prompts > 0 ? std::min<std::int64_t>(c.task.heldout_prompts, 16) : 16),
      "eval.before=false",
      "eval.samples=2",
      "eval.pass_k=2",
      "eval.bootstrap=20",
      "checkpoint.every=2",
      "archive.pack_every=4",
      "run.wall_time_s=0",
      "run.log_level=warn"};
  // A setting that no part of the run reads would be refused.
  if (c.sft.steps > 0)
    all.push_back(fmt::format("sft.batch_size={}", std::min<std::int64_t>(c.sft.batch_size, 64)));
  if (c.eval.every > 0) all.emplace_back("eval.validation_samples=2");
  return all;
}

std::string default_launcher() {
  LauncherFacts facts = launcher_facts();
  const bool allocated = std::getenv("SLURM_JOB_ID") != nullptr;
  facts.has_srun = facts.has_srun && allocated;  // outside an allocation, srun would wait for nodes
  const std::string command = choose_launcher(facts, Bind::none).command;
  const bool open_mpi =
      command.find("mpirun") != std::string::npos && facts.mpi_library.starts_with("Open MPI");
  return command + (open_mpi && !allocated ? " --oversubscribe" : "") + " -n";
}

/// The places of a proof: layout single for one rank, colocated for two and three, disaggregated
/// from four on.
std::vector<Place> places_of(const std::vector<int>& ranks) {
  std::vector<Place> places;
  for (const int n : ranks)
    places.push_back(
        {n, n < 4 ? comm::make_layout("auto", n).name : comm::valid_layouts(n).back()});
  return places;
}

/// Two trials per place. The first one begins there, is killed once and is resumed at the next
/// place. The second one does the same, is killed once more at that next place, and is resumed
/// where it began.
std::vector<Trial> plan_trials(const std::vector<Place>& places, const std::vector<double>& seconds,
                               std::mt19937_64& random) {
  std::vector<Trial> trials;
  for (std::size_t i = 0; i < 2 * places.size(); ++i) {
    const std::size_t at = i % places.size(), next = (at + 1) % places.size();
    const auto instant = [&](std::size_t place) {
      return seconds[place] * std::uniform_real_distribution<double>(0.2, 0.95)(random);
    };
    Trial trial{places[at], {instant(at)}, {places[next]}};
    if (i >= places.size())
      trial.kills.push_back(0.7 * instant(next)), trial.resumes.push_back(places[at]);
    trials.push_back(std::move(trial));
  }
  return trials;
}

std::string place_text(const Place& place) {
  return fmt::format("{} {}", place.ranks, place.layout);
}

class Proof {
 public:
  Proof(const ProveFlags& flags, Starting starting, fs::path folder)
      : flags_(&flags), starting_(std::move(starting)), folder_(std::move(folder)) {}

  ExitCode run() {
    std::mt19937_64 random(flags_->seed);
    const auto places = places_of(flags_->ranks);
    print_visible("{:<44} {:>8}  {:<12} {:<12} {:<8} {:>7}\n", "run", "killed", "policy",
                  "rollouts", "metrics", "seconds");
    std::vector<double> seconds;
    for (const Place& place : places) {
      if (!difference_.empty() || (seconds.size() > 1 && over(seconds.back()))) break;
      const auto took = one({place, {}, {}}, "undisturbed on " + place_text(place));
      seconds.push_back(took);
    }
    const std::vector<Place> tried(places.begin(), places.begin() + std::ptrdiff_t(seconds.size()));
    std::size_t left_out = places.size() - tried.size();
    const auto trials = plan_trials(tried, seconds, random);
    for (std::size_t i = 0; i < trials.size() && difference_.empty(); ++i) {
      const Trial& trial = trials[i];
      if (i >= 2 && over(seconds[i % tried.size()] * double(1 + trial.kills.size()))) {
        left_out += trials.size() - i;
        break;
      }
      std::string what = fmt::format("killed on {}", place_text(trial.begins));
      for (const auto& place : trial.resumes) what += fmt::format(", {}", place_text(place));
      one(trial, what);
    }
    if (left_out > 0 && difference_.empty())
      print_visible("{} more were left out to stay within --seconds {:g}\n", left_out,
                    flags_->seconds);
    return verdict();
  }

 private:
  bool over(double needed) const { return clock_.seconds() + needed > flags_->seconds; }

  double one(const Trial& trial, const std::string& what) {
    const fs::path folder = folder_ / fmt::format("run-{:02}", ++runs_);
    const Outcome outcome = prove::run(trial, starting_, folder);
    kills_ += outcome.killed;
    if (!reference_) reference_ = outcome, reference_folder_ = folder;
    const auto mark = [](const std::string& value, const std::string& expected) {
      return value.substr(0, 10) + (value == expected ? "" : " !");
    };
    const std::string metric = first_difference(reference_->metrics, outcome.metrics);
    print_visible("{:<44} {:>8}  {:<12} {:<12} {:<8} {:>7.1f}\n", what,
                  outcome.killed == 0 ? "" : fmt::format("{}x", outcome.killed),
                  mark(outcome.policy, reference_->policy),
                  mark(outcome.archive, reference_->archive), metric.empty() ? "same" : "differ",
                  outcome.seconds);
    std::fflush(stdout);
    if (difference_.empty()) difference_ = first_of(outcome, folder, metric);
    if (!difference_.empty() && differs_.empty()) differs_ = what;
    return outcome.seconds;
  }

  /// The first difference from the reference run, in the order in which a step makes things:
  /// rollouts, metrics, weights. Empty if there is none.
  std::string first_of(const Outcome& outcome, const fs::path& folder,
                       const std::string& metric) const {
    if (outcome.archive != reference_->archive)
      return "rollouts: " + io::compare(reference_folder_, folder).first;
    if (!metric.empty()) return "metrics: " + metric;
    if (outcome.policy != reference_->policy)
      return fmt::format("policy: SHA-256 {} and {}, with the same rollouts and metrics",
                         reference_->policy, outcome.policy);
    return "";
  }

  ExitCode verdict() const {
    if (difference_.empty()) {
      const Moved moved = moved_in(reference_->metrics);
      print_visible(
          "moved in {} training steps: the weights in {}, rewards within a step in {}, budgets "
          "within a step in {}\n",
          moved.steps, moved.weights, moved.rewards, moved.budgets);
      if (moved.steps > 0 && moved.weights == 0) {
        print_visible(
            "nothing is proved: no training step changed the weights, so any learning rate and any "
            "policy would end in the same bits; give the "
            "short form a longer warm start (--set sft.steps=N), easier prompts or more "
            "rollouts\nfolders kept: {}\n",
            folder_.string());
        return ExitCode::failed;
      }
      print_visible(
          "identical: {} runs, {} kills, one policy {}, one archive {}, the same metrics\n", runs_,
          kills_, reference_->policy.substr(0, 16), reference_->archive.substr(0, 16));
      return ExitCode::done;
    }
    print_visible(
        "different: \"{}\" is not \"undisturbed on {}\"\nfirst difference: {}\nfolders kept: {}\n",
        differs_, place_text(places_of(flags_->ranks).front()), difference_, folder_.string());
    return ExitCode::failed;
  }

  const ProveFlags* flags_;
  Starting starting_;
  fs::path folder_, reference_folder_;
  Stopwatch clock_;
  std::optional<Outcome> reference_;
  int runs_ = 0, kills_ = 0;
  std::string differs_, difference_;
};

ExitCode prove_it(ProveFlags flags) {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    require<ConfigError>(std::getenv(variable) == nullptr, "prove was started by an MPI launcher",
                         "it starts the ranks of its runs itself",
                         "call it as one process, in a batch job without srun");
  if (::geteuid() == 0)  // As root, as in a container, Open MPI's mpirun demands a confirmation,
                         // which the user of this command has given by asking for a proof.
    for (const char* variable : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
      ::setenv(variable, "1", 0);
  std::vector<std::string> assignments =
      short_form(load_run_config(flags.run_file, flags.assignments));
  assignments.insert(assignments.end(), flags.assignments.begin(), flags.assignments.end());
  const RunConfig config = load_run_config(flags.run_file, assignments);
  for (const int n : flags.ranks) comm::make_layout("auto", n);
  const fs::path folder =
      fs::absolute(flags.folder.empty() ? config.run.dir + ".prove" : flags.folder);
  require<ConfigError>(!fs::exists(folder) || fs::exists(folder / kMarker),
                       fmt::format("{} already exists", folder.string()),
                       "prove would mix its runs with what is in it",
                       "name another with --folder, or remove it");
  std::optional<FolderLock> lock;
  make_folder(folder);
  lock.emplace(folder, "rollcall prove");
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename() != ".lock") fs::remove_all(entry.path());
  end_on_stop_signals(fmt::format(
      "nothing is proved; the runs so far are in {}, which the same command starts again",
      folder.string()));
  write_file_atomic(folder / kMarker, "Runs of rollcall prove; may be removed.\n");
  if (flags.seed == 0) flags.seed = std::random_device{}();
  const bool several =
      std::any_of(flags.ranks.begin(), flags.ranks.end(), [](int n) { return n > 1; });
  const Starting starting{!several                 ? ""
                          : flags.launcher.empty() ? default_launcher()
                                                   : flags.launcher,
                          fs::absolute(flags.run_file), assignments,
                          std::max(600.0, flags.seconds)};
  print_visible(
      "short form of {}: {} training steps of {} prompts x {} rollouts; kills at random moments of "
      "--seed {}\n",
      flags.run_file, config.train.steps, config.train.prompts_per_step,
      config.train.rollouts_per_prompt, flags.seed);
  std::fflush(stdout);
  const ExitCode code = Proof(flags, starting, folder).run();
  lock.reset();
  if (code == ExitCode::done) fs::remove_all(folder);
  return code;
}

}  // namespace

void add_prove(Command program) {
  auto flags = std::make_shared<ProveFlags>();
  auto command = program.command(
      "prove",
      "run a short form of a run undisturbed, killed and resumed, and on other ranks; compare all "
      "bits");
  command.option("run-file", flags->run_file, "TOML run file").required();
  command
      .option("--set", flags->assignments,
              "key=value, overrides the run file and its short form; may be repeated")
      .repeated();
  command.option("--ranks", flags->ranks, "rank counts to compare, such as 1,2,8")
      .comma_separated()
      .range(1, 1 << 16)
      .default_shown();
  command
      .option(
          "--seconds", flags->seconds,
          "time budget [s]: no run is started that would end after it, but at least four are made "
          "(three with one rank count)")
      .positive()
      .default_shown();
  command.option("--seed", flags->seed,
                 "seed of the moments at which runs are killed; 0: a new one each time");
  command.option(
      "--launcher", flags->launcher,
      "what starts ranks, to be followed by their number; default: srun in an allocation, else "
      "mpirun");
  command.option(
      "--folder", flags->folder,
      "where the runs go, on a file system that all nodes see; default: run.dir with .prove behind "
      "it");
  command.footer("Exit codes: 0 identical, 2 misconfigured, 3 different or failed.");
  command.runs([flags] { return prove_it(*flags); });
}

}  // namespace rollcall::app
