// The outcome of a run from its state, metrics and archive.
#include "stages/results.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "base/visible.hpp"
#include "io/archive.hpp"
#include "report/html_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>

namespace rollcall::stages {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::map<std::string, report::Evaluation> evaluations(const Job& job, const CoordinatorState& state) {
  std::map<std::string, report::Evaluation> all;
  const auto& c = job.config.eval;
  if (state.before) all["before"] = report::evaluate(*state.before, c.pass_k, c.bootstrap, std::uint64_t(job.config.run.seed));
  if (state.after) all["after"] = report::evaluate(*state.after, c.pass_k, c.bootstrap, std::uint64_t(job.config.run.seed));
  for (auto& [when, evaluation] : all) evaluation.extract = job.judge->extraction();
  return all;
}

/// The last archived training group whose rewards differ: what a group-relative method learns from.
std::vector<report::GroupExhibit> exhibit(const fs::path& run_dir) {
  const auto entries = io::read_manifest(run_dir);
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->purpose != "train") continue;
    const auto groups = io::read_archive(run_dir, *entry);
    for (auto g = groups.rbegin(); g != groups.rend(); ++g) {
      report::GroupExhibit shown{g->prompt.text, g->prompt.answer, {}};
      bool differ = false;
      for (std::size_t i = 0; i < g->scores.size(); ++i) {
        shown.responses.emplace_back(g->group.rollouts[i].text, g->scores[i].reward);
        differ = differ || g->scores[i].reward != g->scores[0].reward;
      }
      if (differ) return {shown};
    }
  }
  return {};
}

json interval_json(const report::Interval& i) { return {{"mean", i.mean}, {"ci95", {i.low, i.high}}}; }

void write_report(const Job& job, const CoordinatorState& state, const std::string& sha, const std::map<std::string, report::Evaluation>& evals) {
  report::ReportInput input;
  input.title = fmt::format("{} on {}", job.config.objective.recipe, job.config.task.name);
  input.run_id = job.identity.run_id, input.policy_sha256 = sha;
  input.facts = {{"run folder", job.run_dir.string()},
                 {"task", job.config.task.name},
                 {"answers found by", job.judge->extraction()},
                 {"recipe", job.config.objective.recipe},
                 {"scheduler", job.config.scheduler.policy},
                 {"steps", fmt::format("{}", state.train_steps)},
                 {"seed", fmt::format("{}", job.config.run.seed)},
                 {"parameters", fmt::format("{}", job.store->layout().size)},
                 {"rollouts", fmt::format("{}", state.rollouts_total)},
                 {"layout", fmt::format("{} x {} ranks", job.layout.name, job.layout.ranks)},
                 {"version", job.identity.binary_version}};
  input.metrics = report::read_metrics(job.run_dir);
  report::RecentSteps recent;
  for (const auto& row : input.metrics) recent.add(row);
  input.diagnoses = report::diagnose(recent, job.config);
  input.evaluations = evals;
  for (const auto& [stage, seconds] : state.seconds) {
    if (stage != "step") input.stage_seconds.emplace_back(stage, seconds);  // "step" is the sum of the others over training
  }
  input.rollouts_per_level = state.rollouts_per_level;
  input.groups = exhibit(job.run_dir);
  write_file_atomic(job.run_dir / "report.html", report::html_report(input));
}

}  // namespace

void write_results(const Job& job, const CoordinatorState& state, const std::string& sha, const std::string& checkpoint) {
  const auto evals = evaluations(job, state);
  json result{{"policy_sha256", sha},
              {"run_id", job.identity.run_id},
              {"config_sha256", job.identity.config_sha256},
              {"data_hash", job.identity.data_hash},
              {"extract", job.judge->extraction()},
              {"archive_sha256", io::archive_sha256(job.run_dir)},
              {"train_steps", state.train_steps},
              {"rollouts_total", state.rollouts_total},
              {"timing_s", state.seconds}};
  for (const auto& [level, count] : state.rollouts_per_level) result["rollouts_per_level"][std::to_string(level)] = count;
  for (const auto& [when, evaluation] : evals) result["eval_" + when] = json::parse(report::to_json(evaluation));
  const auto seed = std::uint64_t(job.config.run.seed);
  if (state.before && state.after) {
    const auto& c = job.config.eval;
    result["gain"]["pass_at_1"] = interval_json(report::paired_gain(*state.before, *state.after, 1, c.bootstrap, seed));
    result["gain"][fmt::format("pass_at_{}", c.pass_k)] = interval_json(report::paired_gain(*state.before, *state.after, c.pass_k, c.bootstrap, seed));
  }
  write_report(job, state, sha, evals);
  write_file_atomic(job.run_dir / "result.json", result.dump(2) + "\n");

  if (evals.contains("before") && evals.contains("after")) {
    fmt::print("\n{}\n", visible_lines(report::to_table(evals.at("before"), evals.at("after"), state.rollouts_per_level)));
  }
  fmt::print("time by stage [s]:");
  for (const auto& [stage, seconds] : state.seconds) {
    if (stage != "step") print_visible(" {} {:.1f}", stage, seconds);
  }
  print_visible("\n\nrollouts   {} in {}\ncheckpoint {}\nreport     {}\nresult     {}\npolicy sha256 {}\n", state.rollouts_total,
                (job.run_dir / "archive").string(), (job.run_dir / "checkpoints" / checkpoint).string(), (job.run_dir / "report.html").string(),
                (job.run_dir / "result.json").string(), sha);
  std::fflush(stdout);
}

void write_status_file(const Job& job, const CoordinatorState& state, const std::vector<report::Diagnosis>& diagnoses, const std::vector<SlowVerdict>& slowest,
                       const std::string& phase) {
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  json told = json::array();
  for (const auto& diagnosis : diagnoses)
    told.push_back({{"kind", diagnosis.kind == report::DiagnosisKind::note ? "note" : "warning"},
                    {"name", diagnosis.name},
                    {"what", diagnosis.what},
                    {"advice", diagnosis.advice}});
  json slow = json::array();
  for (const auto& verdict : slowest) slow.push_back({{"sample", verdict.sample}, {"seconds", verdict.seconds}});
  const json status{{"phase", phase},
                    {"sft_steps", state.sft_steps},
                    {"sft_steps_wanted", job.config.sft.steps},
                    {"train_steps", state.train_steps},
                    {"train_steps_wanted", job.config.train.steps},
                    {"ranks", job.layout.ranks},
                    {"layout", job.layout.name},
                    {"numerics", text_of(state.numerics)},
                    {"rollouts_total", state.rollouts_total},
                    {"diagnoses", told},
                    {"verifier", job.judge->name()},
                    {"slowest_verdicts", slow},
                    {"updated_unix_s", now},
                    {"seconds", state.seconds}};
  // For people only: renamed into place, not fsynced, because a lost line costs nothing and an fsync a step costs half a millisecond.
  const fs::path path = job.run_dir / "status.json", partial = job.run_dir / "status.json.partial";
  std::ofstream out(partial);
  out << status.dump(2) << "\n";
  out.close();
  std::error_code ec;
  if (out) fs::rename(partial, path, ec);
  if (out && !ec) return;
  spdlog::warn("cannot write {}: {}", path.string(), ec ? ec.message() : "the file system refuses it");
  fs::remove(partial, ec);
}

}  // namespace rollcall::stages
