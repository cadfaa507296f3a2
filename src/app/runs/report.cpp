// rollcall report: makes the page of a run from its folder, also for a run that stopped or failed.
#include "app/archive/committed.hpp"
#include "app/commands.hpp"
#include "app/runs/run_state.hpp"
#include "base/errors/log.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/files/output_file.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "run/coordinator/run_report.hpp"
#include "run/folder/recorded_settings.hpp"
#include "run/folder/run_folder.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::app {
namespace {

namespace fs = std::filesystem;

/// The object in a file that the run wrote; an empty one where there is no file, or another content
/// than that.
nlohmann::json read_object(const fs::path& path) {
  if (!fs::exists(path)) return nlohmann::json::object();
  auto object = nlohmann::json::parse(read_file(path), nullptr, false);
  if (object.is_object()) return object;
  log_warning("{} is not what a run writes; the report goes without it", path.string());
  return nlohmann::json::object();
}

ExitCode report_of(const fs::path& dir, const std::string& out) {
  RunConfig config = run::read_run_folder(dir);
  std::vector<std::string> faults;
  const auto newest = archive::newest_committed(dir, archive::Depth::state, faults);
  // Somebody may have edited config.toml after the checkpoint was written.
  if (newest) config = run::recorded_settings(dir, newest->checkpoint)->config;
  for (const auto& fault : faults) print_visible("note    {}\n", fault);
  const auto result = read_object(dir / "result.json");
  const std::string state =
      state_of(dir, read_object(dir / "status.json").value("phase", "not started"));
  const bool done =
      newest && result.value("train_steps", std::int64_t{-1}) == newest->state.train_steps;
  auto input =
      run::read_report(dir, config, newest ? newest->state : run::CoordinatorState{}, state);
  if (done) {
    input.run_id = result.value("run_id", ""),
    input.policy_sha256 = result.value("policy_sha256", "");
    for (auto& fact : run::facts_of(result)) input.facts.push_back(std::move(fact));
  }
  const fs::path path = out.empty() ? dir / "report.html" : fs::path(out);
  require_output_file(path, "<!doctype html>");
  write_file_atomic(path, report::html_report(input));
  print_visible("report  {} ({}; {} of {} steps are in its newest checkpoint)\n", path.string(),
                state, newest ? newest->state.train_steps : 0, config.train.steps);
  return ExitCode::done;
}

}  // namespace

void add_report(Command program) {
  auto words = std::make_shared<std::pair<std::string, std::string>>();
  auto command = program.command(
      "report", "write report.html of a run as it is now: done, stopped, failed or still running");
  command.option("run", words->first, "run folder").required();
  command.option("--out", words->second, "file to write; default: RUN/report.html");
  command.runs([words] {
    try {
      return report_of(words->first, words->second);
    } catch (const nlohmann::json::exception& fault) {
      throw InputError(error_message(
          fmt::format("result.json or status.json of {}: {}", words->first, fault_of(fault)),
          "its numbers are on the page", "restore it from a copy, or move it away"));
    }
  });
}

}  // namespace rollcall::app
