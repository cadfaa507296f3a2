// rollcall status: what a run is doing, read from its folder alone.
#include "app/commands.hpp"
#include "base/file.hpp"
#include "io/archive.hpp"
#include "io/checkpoint.hpp"
#include "stages/run_folder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>

namespace rollcall::app {
namespace {

namespace fs = std::filesystem;

ExitCode show(const fs::path& dir) {
  const RunConfig config = stages::read_run_folder(dir);
  const bool running = FolderLock::is_held(dir);
  std::string phase = "not started";
  double age_s = 0.0;
  const bool told = fs::exists(dir / "status.json");
  const auto status = told ? nlohmann::json::parse(read_file(dir / "status.json"), nullptr, false) : nlohmann::json();
  if (told && !status.is_object()) {
    phase = "unknown";
    fmt::print("run         {}\nstate       unknown: status.json is incomplete, as after a power cut; the next start replaces it\n", dir.string());
  } else if (told) {
    phase = status.value("phase", "unknown");
    age_s = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count() - status.value("updated_unix_s", 0.0);
    fmt::print("run         {} ({} ranks, {})\nstate       {}{}, {:.0f} s ago\nsupervised  {} of {} steps\ntraining    {} of {} steps\nrollouts    {}\n",
               dir.string(), status.value("ranks", 1), status.value("layout", "?"), phase,
               running                                           ? ""
               : phase == "done" || phase.starts_with("stopped") ? ""
                                                                 : ", but no process holds the folder",
               age_s, status.value("sft_steps", 0), config.sft.steps, status.value("train_steps", 0), config.train.steps,
               status.value("rollouts_total", std::uint64_t{0}));
    for (const auto& said : status.value("diagnoses", nlohmann::json::array()))
      fmt::print("note        {}; {} [{}]\n", said.value("what", ""), said.value("advice", ""), said.value("name", ""));
  } else {
    fmt::print("run         {}\nstate       {}\n", dir.string(), running ? "starting" : phase);
  }
  const auto checkpoints = io::list_checkpoints(dir);
  fmt::print("checkpoint  {}\narchive     {} files\n", checkpoints.empty() ? "none yet" : checkpoints.back(), io::read_manifest(dir).size());
  if (!running && phase != "done") fmt::print("next        rollcall train --resume {}/config.toml\n", dir.string());
  return ExitCode::done;
}

}  // namespace

void add_status(CLI::App& app, Action& action) {
  auto dir = std::make_shared<std::string>();
  auto* command = app.add_subcommand("status", "what a run is doing, read from its folder");
  command->add_option("run", *dir, "run folder")->required();
  command->callback([dir, &action] { action = [dir] { return show(*dir); }; });
}

}  // namespace rollcall::app
