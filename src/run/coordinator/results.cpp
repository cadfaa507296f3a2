// Makes the outcome of a run from its state, metrics and archive.
#include "run/coordinator/results.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/files/plain_file.hpp"
#include "base/text/json.hpp"
#include "io/archive.hpp"
#include "report/evaluation_table.hpp"
#include "report/html_report.hpp"
#include "report/paired_tests.hpp"
#include "run/context/run_context.hpp"
#include "run/coordinator/kept_checkpoints.hpp"
#include "run/coordinator/run_report.hpp"
#include "task/answer_source.hpp"
#include "task/rows/file_list.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <fstream>

namespace rollcall::run {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

json interval_json(const report::Interval& i) {
  return {{"mean", i.mean}, {"ci95", {i.low, i.high}}};
}

void write_report(const RunContext& context, const CoordinatorState& state, const json& result) {
  auto input = read_report(context.run_dir, context.config, state, "done");
  input.run_id = context.identity.run_id, input.policy_sha256 = result.at("policy_sha256");
  for (auto& fact : facts_of(result)) input.facts.push_back(std::move(fact));
  write_file_atomic(context.run_dir / "report.html", report::html_report(input));
}

}  // namespace

void write_results(const RunContext& context, const CoordinatorState& state,
                   const VerdictTally& tally, const std::string& sha, const std::string& checkpoint,
                   std::uint64_t missing) {
  const auto evals = evaluations_of(context.config, state);
  json result{
      {"policy_sha256", sha},
      {"run_id", context.identity.run_id},
      {"config_sha256", context.identity.config_sha256},
      {"data_hash", context.identity.data_hash},
      {"extract", context.config.reward.command.empty() ? context.grading.grader->extraction()
                                                        : std::string()},
      {"archive_sha256", io::archive_sha256(context.run_dir)},
      {"parameters", context.store->layout().size},
      {"layout", fmt::format("{} x {} ranks", context.layout.name, context.layout.ranks)},
      {"version", context.identity.binary_version},
      {"train_steps", state.train_steps},
      {"rollouts_total", state.rollouts_total},
      {"timing_s", state.seconds}};
  if (missing > 0) result["rollouts_missing"] = missing;
  if (has_stalled(state, context.config.checkpoint) &&
      state.train_steps < context.config.train.steps)
    result["ended_early"] = patience_text(state, context.config.checkpoint);
  if (!state.parent.empty()) result["parent"] = json::parse(state.parent);
  for (const auto& [level, count] : state.rollouts_per_level)
    result["rollouts_per_level"][std::to_string(level)] = count;
  for (const auto& [when, evaluation] : evals)
    result["eval_" + when] = json::parse(report::to_json(evaluation));
  for (const auto& [name, gain] : gains_of(context.config, state))
    result["gain"][fmt::format("pass_at_{}", name.substr(5))] = interval_json(gain);
  if (state.before && state.after)
    for (const auto& test : report::paired_tests(
             *state.before, *state.after, context.config.eval.pass_k, context.config.eval.bootstrap,
             std::uint64_t(context.config.run.seed)))
      result["tests"].push_back(
          {{"measure", test.measure}, {"gain", test.gain}, {"p", test.p}, {"p_holm", test.p_holm}});
  write_report(context, state, result);
  write_file_atomic(context.run_dir / "result.json", result.dump(2) + "\n");

  if (evals.contains("before") && evals.contains("after")) {
    fmt::print("\n{}\n", visible_lines(report::to_table(evals.at("before"), evals.at("after"),
                                                        state.rollouts_per_level)));
  }
  if (result.contains("ended_early"))
    print_visible("ended early: {}\n", result["ended_early"].get<std::string>());
  fmt::print("time by stage [s]:");
  for (const auto& [stage, seconds] : state.seconds) {
    if (stage != "step") print_visible(" {} {:.1f}", stage, seconds);
  }
  if (const auto said = undecided_text(context.run_dir, tally.undecided, tally.verdicts,
                                       tally.reason, tally.lost);
      !said.empty())
    print_visible("\n\nundecided  {}", said);
  if (const auto said = lost_text(context.run_dir, tally.lost, tally.lost_reason); !said.empty())
    print_visible("\n\nlost       {}", said);
  print_visible(
      "\n\nrollouts   {} in {}\ncheckpoint {}\nreport     {}\nresult     {}\npolicy sha256 {}\n",
      state.rollouts_total, (context.run_dir / "archive").string(),
      (context.run_dir / "checkpoints" / checkpoint).string(),
      (context.run_dir / "report.html").string(), (context.run_dir / "result.json").string(), sha);
  std::fflush(stdout);
}

void write_evaluation(const RunContext& context, const report::Evaluation& evaluation) {
  const TaskSection& task = context.config.task;
  const std::string file = task.heldout_file.empty() ? task::shown_files(task) : task.heldout_file;
  const std::string data =
      task::reads_rows(task)
          ? fmt::format("{} of the {} rows of {}", evaluation.prompts, task::row_count(task), file)
          : "";
  auto object = nlohmann::ordered_json::parse(report::to_json(evaluation));
  if (!data.empty()) object["data"] = data;
  const std::string text = object.dump();
  write_file_atomic(context.run_dir / "eval.json", text + "\n");
  fmt::print("\n{}\n", visible_lines(report::to_table(evaluation, data)));
  print_visible("rollouts   {}\nresult     {}\n", (context.run_dir / "archive").string(),
                (context.run_dir / "eval.json").string());
  fmt::print("{}\n", visible_lines(text));
  std::fflush(stdout);
}

void write_status_file(const RunContext& context, const CoordinatorState& state,
                       const std::vector<report::Diagnosis>& diagnoses, const VerdictTally& tally,
                       const std::string& phase) {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  json diagnosed = json::array();
  for (const auto& diagnosis : diagnoses)
    diagnosed.push_back(
        {{"kind", diagnosis.kind == report::DiagnosisKind::note ? "note" : "warning"},
         {"name", diagnosis.name},
         {"what", diagnosis.what},
         {"advice", diagnosis.advice}});
  json slow = json::array();
  for (const auto& verdict : tally.slowest)
    slow.push_back({{"sample", verdict.sample}, {"seconds", verdict.seconds}});
  json status{{"phase", phase},
              {"sft_steps", state.sft_steps},
              {"sft_steps_wanted", context.config.sft.steps},
              {"train_steps", state.train_steps},
              {"train_steps_wanted", context.config.train.steps},
              {"ranks", context.layout.ranks},
              {"layout", context.layout.name},
              {"numerics", text_of(state.numerics)},
              {"rollouts_total", state.rollouts_total},
              {"diagnoses", diagnosed},
              {"verifier", context.grading.grader->name()},
              {"slowest_verdicts", slow},
              {"verdicts", tally.verdicts},
              {"undecided", tally.undecided},
              {"undecided_reason", tally.reason},
              {"lost", tally.lost},
              {"lost_reason", tally.lost_reason},
              {"updated_unix_s", now},
              {"seconds", state.seconds}};
  if (auto said = patience_text(state, context.config.checkpoint); !said.empty())
    status["patience"] = std::move(said);
  // The file is for people only. It is renamed into place and not fsynced, because a lost line
  // costs nothing and an fsync costs half a millisecond in every step.
  const fs::path path = context.run_dir / "status.json",
                 partial = context.run_dir / "status.json.partial";
  if (std::error_code ignored; is_link(partial)) fs::remove(partial, ignored);
  std::ofstream out(partial);
  out << status.dump(2) << "\n";
  out.close();
  std::error_code ec;
  if (out) fs::rename(partial, path, ec);
  if (out && !ec) return;
  log_warning("cannot write {}: {}", path.string(),
              ec ? ec.message() : "the file system refuses it");
  fs::remove(partial, ec);
}

}  // namespace rollcall::run
