// Makes of a run folder what its rollouts were sampled with: settings, templates, environment.
#include "app/archive/replay.hpp"

#include "app/tools/start_sandbox.hpp"
#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/errors/long_phase.hpp"
#include "base/errors/visible.hpp"
#include "environment/chosen.hpp"
#include "environment/command/processes.hpp"
#include "io/source.hpp"
#include "run/folder/run_folder.hpp"
#include "run/folder/start_directory.hpp"
#include "task/answer_source.hpp"
#include "task/task.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>

namespace rollcall::app::archive {
namespace {

/// A run folder may come from anybody, and its settings name a program of this machine.
void tell_command(const RunConfig& config, const std::filesystem::path& run_dir) {
  std::string words;
  for (const std::string& word : config.environment.command)
    words += visible_format(" \"{}\"", word);
  if (!words.empty())
    fmt::print(stderr,
               "rollcall: environment.command of {} answers the policy:{} is about to be "
               "run, as you\n",
               visible((run_dir / "config.toml").string()), words);
}

}  // namespace

run::ReplayedConversations::Found replay(const std::filesystem::path& run_dir) {
  const auto whole = std::filesystem::absolute(run_dir).lexically_normal();
  RunConfig config = run::read_run_folder(whole);
  require<ConfigError>(task::has_environment(config),
                       fmt::format("{} is a run without an environment", run_dir.string()),
                       "its rollouts are single answers, which nothing answered",
                       "leave out --replay");
  if (const auto said = run::enter_recorded_directory(whole); !said.empty()) log_info("{}", said);
  (void)task::settle_answers(config.task, config.reward);
  tell_command(config, run_dir);
  if (environment::needs_sandbox(config)) start_sandbox(config.sandbox);
  std::optional<reward::Spawner> spawner;
  if (!config.environment.command.empty() && !config.environment.sandbox)
    spawner.emplace("environment.command");
  const std::string tools = environment::tool_schemas(config);
  const text::PromptFormat format(config.text, run::text_folder(whole.string()), tools);
  const text::TurnTexts texts(format, environment::traits_of_run(config, format).role, tools);
  const std::unique_ptr<environment::Partner> partner =
      spawner ? environment::make_processes(*spawner, config)
      : !config.environment.command.empty()
          ? environment::make_confined(config)
          : environment::at_once(environment::make_environment(config, format));
  run::ReplayedConversations conversations(std::uint64_t(config.run.seed), texts, *partner);
  std::atomic<std::uint64_t> rollouts = 0;
  const LongPhase phase("playing the conversations of " + run_dir.string(),
                        [&] { return fmt::format("{} rollouts", rollouts.load()); });
  io::each_group(whole, {}, [&](const io::ArchivedGroup& group, const auto&) {
    conversations.add(group);
    rollouts += group.group.rollouts.size();
    return true;
  });
  return conversations.finish();
}

}  // namespace rollcall::app::archive
