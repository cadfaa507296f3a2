// rollcall status: the activity of a run and the reason why it makes no progress, read only from
// its folder.
#include "app/commands.hpp"
#include "app/runs/run_state.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/joined.hpp"
#include "base/text/json.hpp"
#include "base/time/clock.hpp"
#include "core/run_record.hpp"
#include "core/settings_text.hpp"
#include "io/archive.hpp"
#include "io/checkpoint.hpp"
#include "run/coordinator/results.hpp"
#include "run/folder/run_folder.hpp"
#include "watch/explanation.hpp"
#include "watch/watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rollcall::app {
namespace {

namespace fs = std::filesystem;

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}
void rest(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

double newest_beat(const watch::WatchFile& file) {
  double newest = 0.0;
  for (const auto& record : file.records) newest = std::max(newest, record.beat_unix_s);
  return newest;
}

/// Finds out why a run that has not ended makes no progress. If no rank seems to be alive, it looks
/// again after some seconds, because this machine's clock may be wrong.
watch::Explanation explain_now(const fs::path& dir, watch::WatchFile file, double watch_s) {
  constexpr double kLongest_s = 11.0;  // [s]; a rank writes at least every 10 s
  const double newest = newest_beat(file);
  if (unix_time() - newest > watch_s) {
    const Stopwatch clock;
    while (clock.seconds() < std::min(watch_s, kLongest_s) && newest_beat(file) <= newest) {
      rest(0.1);
      file = watch::read_watch(dir).value_or(watch::WatchFile{});
    }
    if (newest_beat(file) > newest) return explain(file, newest_beat(file), watch_s);
  }
  return explain(file, time_of(file, unix_time(), watch_s), watch_s);
}

/// The output lines about the ranks: how long ago they made progress, or why they make none. There
/// are no lines if the run has no watch or all its ranks have ended.
std::vector<std::string> ranks_of(const fs::path& dir, double watch_s, bool running) {
  if (watch_s <= 0) return {};
  const auto file = watch::read_watch(dir);
  if (!file)
    return running ? std::vector<std::string>{"ranks       no record of them: " +
                                              watch::watch_file(dir).string() + " is not there"}
                   : std::vector<std::string>();
  if (file->records.empty())
    return {"ranks       no record of them: " + watch::watch_file(dir).string() +
            " cannot be read as one"};
  std::vector<std::string> lines;
  if (std::all_of(file->records.begin(), file->records.end(),
                  [](const auto& record) { return record.ended; }))
    return {};
  const double age_s = unix_time() - newest_beat(*file);
  if (!running && age_s > watch_s) {  // a file system without locks cannot tell whether a run is
                                      // alive
    lines.push_back(fmt::format("ranks       last heard of {:.0f} s ago: {}", age_s,
                                joined(watch::last_seen(*file), "; ")));
  } else if (const auto why = explain_now(dir, *file, watch_s); why.silent) {
    lines = why.lines;
    lines.front().insert(0, "ranks       ");
  } else {
    lines.push_back(
        running ? fmt::format("ranks       {}, progress {:.0f} s ago", file->ranks, why.quiet_s)
                : fmt::format("ranks       {}, last heard of {:.0f} s ago", file->ranks, age_s));
  }
  if (file->unreadable > 0)
    lines.push_back(fmt::format("            {} records cannot be read", file->unreadable));
  return lines;
}

/// The samples with the slowest verdicts since the last start, if any took remarkably long.
std::vector<std::string> slow_verdicts(const nlohmann::json& status) {
  constexpr double kSlow_s = 0.1;
  std::vector<std::string> lines;
  for (const auto& verdict : status.value("slowest_verdicts", nlohmann::json::array())) {
    const double seconds = verdict.value("seconds", 0.0);
    if (seconds < kSlow_s) break;
    lines.push_back(fmt::format("{:<11} {} took the verifier {} {:.1f} s",
                                lines.empty() ? "slowest" : "", verdict.value("sample", ""),
                                status.value("verifier", ""), seconds));
  }
  return lines;
}

ExitCode show(const fs::path& dir) {
  if (!fs::is_directory(dir)) require_record(dir);  // which throws with what the path is instead
  const auto in_folder = list_folder(dir);
  const bool submitted = std::any_of(in_folder.begin(), in_folder.end(),
                                     [](const auto& entry) { return is_submitted(entry.path()); });
  if (!fs::exists(dir / "config.toml") && submitted) {
    print_visible(
        "run         {}\nstate       submitted, and not started yet (squeue shows its job)\n",
        dir.string());
    return ExitCode::done;
  }
  const RunConfig config = run::read_run_folder(dir);
  const bool running = FolderLock::is_held(dir);
  const std::string failure = failure_of(dir);
  std::string phase = "not started";
  double age_s = 0.0;
  const bool has_status = fs::exists(dir / "status.json");
  const auto status = has_status
                          ? nlohmann::json::parse(read_file(dir / "status.json"), nullptr, false)
                          : nlohmann::json();
  if (has_status && !status.is_object()) {
    phase = "unknown";
    print_visible(
        "run         {}\nstate       unknown: status.json is incomplete, as after a power cut; the "
        "next start replaces it\n",
        dir.string());
  } else if (has_status) {
    phase = status.value("phase", "unknown");
    age_s = unix_time() - status.value("updated_unix_s", 0.0);
    print_visible(
        "run         {} ({} ranks, {})\nstate       {}, {:.0f} s ago\nsupervised  {} of {} "
        "steps\ntraining    {} of {} steps\nrollouts    {}\nnumerics    {}\n",
        dir.string(), status.value("ranks", 1), status.value("layout", "?"), state_of(dir, phase),
        age_s, status.value("sft_steps", 0), config.sft.steps, status.value("train_steps", 0),
        config.train.steps, status.value("rollouts_total", std::uint64_t{0}),
        status.value("numerics", config.run.numerics));
    if (const std::string said = status.value("patience", ""); !said.empty())
      print_visible("patience    {}\n", said);
    for (const auto& line : slow_verdicts(status)) print_visible("{}\n", line);
    if (const auto said = run::undecided_text(dir, status.value("undecided", std::uint64_t{0}),
                                              status.value("verdicts", std::uint64_t{0}),
                                              status.value("undecided_reason", ""),
                                              status.value("lost", std::uint64_t{0}));
        !said.empty())
      print_visible("undecided   {}\n", said);
    if (const auto said = run::lost_text(dir, status.value("lost", std::uint64_t{0}),
                                         status.value("lost_reason", ""));
        !said.empty())
      print_visible("lost        {}\n", said);
    for (const auto& said : status.value("diagnoses", nlohmann::json::array()))
      print_visible("{:<11} {}; {} [{}]\n", said.value("kind", "note"), said.value("what", ""),
                    said.value("advice", ""), said.value("name", ""));
  } else {
    print_visible("run         {}\nstate       {}\n", dir.string(),
                  running ? "starting" : state_of(dir, phase));
  }
  if (!failure.empty()) fmt::print("failure     {}\n", visible_lines(failure, "            "));
  if (fs::exists(dir / "parent.json"))
    if (const auto parent = nlohmann::json::parse(read_file(dir / "parent.json"), nullptr, false);
        parent.is_object())
      print_visible("branched    from {} of {}\n", parent.value("checkpoint", "?"),
                    parent.value("run", "?"));
  for (const auto& line : ranks_of(dir, config.run.watch_s, running)) print_visible("{}\n", line);
  const auto checkpoints = io::list_checkpoints(dir);
  print_visible("checkpoint  {}\narchive     {} files\n",
                checkpoints.empty() ? "none yet" : checkpoints.back(),
                io::read_manifest(dir).size());
  if (!running && (phase != "done" || !failure.empty()))
    print_visible("next        rollcall train --resume {}/config.toml\n", dir.string());
  return ExitCode::done;
}

/// The progress of the run, such as "training 12 of 300 steps"; empty if it is not known at the
/// moment.
std::string steps_of(const fs::path& dir) {
  if (!fs::exists(dir / "status.json")) return "";
  const auto status = nlohmann::json::parse(read_file(dir / "status.json"), nullptr, false);
  if (!status.is_object()) return "";
  const int wanted = status.value("sft_steps_wanted", 0), done = status.value("sft_steps", 0);
  return done < wanted ? fmt::format("supervised {} of {} steps", done, wanted)
                       : fmt::format("training {} of {} steps", status.value("train_steps", 0),
                                     status.value("train_steps_wanted", 0));
}

/// Returns false if the reader has gone away.
bool say(const std::string& line) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  const std::string text = fmt::format("{:02}:{:02}:{:02} {}\n", local.tm_hour, local.tm_min,
                                       local.tm_sec, visible(line));
  return std::fputs(text.c_str(), stdout) != EOF && std::fflush(stdout) == 0;
}

ExitCode watch(const fs::path& dir) {
  show(dir);
  if (std::fflush(stdout) != 0 || !fs::exists(dir / "config.toml")) return ExitCode::done;
  const double watch_s = run::read_run_folder(dir).run.watch_s;
  const double turn_s = watch_s > 0 ? std::clamp(watch_s / 12, 0.25, 5.0) : 5.0;
  watch::SilenceTeller teller;
  std::string said;
  while (FolderLock::is_held(dir)) {
    if (auto steps = steps_of(dir);
        !steps.empty() && steps != said && !say(said = std::move(steps)))
      return ExitCode::done;
    const auto file = watch_s > 0 ? watch::read_watch(dir) : std::nullopt;
    if (file && !file->records.empty())
      for (const auto& line : teller.tell(explain_now(dir, *file, watch_s)))
        if (!say(line)) return ExitCode::done;
    const Stopwatch clock;
    while (clock.seconds() < turn_s && FolderLock::is_held(dir)) rest(0.2);
  }
  // A run that was silent and has ended normally since then did so between two looks.
  const auto status = fs::exists(dir / "status.json")
                          ? nlohmann::json::parse(read_file(dir / "status.json"), nullptr, false)
                          : nlohmann::json();
  const std::string phase = status.is_object() ? status.value("phase", "") : "";
  if (phase == "done" || phase.starts_with("stopped"))
    for (const auto& line : teller.tell({}))
      if (!say(line)) return ExitCode::done;
  std::fputs("\n", stdout);
  return show(dir);
}

}  // namespace

void add_status(Command program) {
  auto dir = std::make_shared<std::string>();
  auto keep = std::make_shared<bool>(false);
  auto command = program.command(
      "status",
      "what a run is doing and, if it hangs, which rank is silent and where in the code; read from "
      "its folder");
  command.option("run", *dir, "run folder").required();
  command.flag(
      "--watch", *keep,
      "go on until the run ends: a line when a step is done, and what is wrong when none is");
  command.runs([dir, keep] {
    try {
      return *keep ? watch(*dir) : show(*dir);
    } catch (const nlohmann::json::exception& fault) {
      throw InputError(error_message(
          fmt::format("status.json or parent.json of {}: {}", *dir, fault_of(fault)),
          "they say what the run does and where it came from",
          "restore it from a copy, or move it away; the next start writes a new status.json"));
    }
  });
}

}  // namespace rollcall::app
