// Built-in environments answer at once or on separate threads. Commands answer by processes or in
// the sandbox.
#include "run/generation/partners.hpp"

#include "base/errors/error.hpp"
#include "environment/chosen.hpp"
#include "environment/command/processes.hpp"
#include "run/context/run_context.hpp"
#include "run/folder/error_files.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

namespace rollcall::run {
namespace {

std::unique_ptr<environment::Partner> partner_by_command(const RunContext& context,
                                                         reward::Spawner* spawner, int rank) {
  if (context.config.environment.sandbox) return environment::make_confined(context.config);
  expect(spawner != nullptr, "a job with an environment's command was given what starts it");
  const auto files = std::make_shared<ErrorFiles>(context.run_dir / "environment", rank);
  return environment::make_processes(
      *spawner, context.config,
      {.errors = [files](std::size_t process,
                         std::string_view bytes) { files->write(process, bytes); },
       .answered = [pool = context.threads.pool.get()] { pool->progressed(); }});
}

}  // namespace

std::unique_ptr<environment::Partner> make_partner(const RunContext& context,
                                                   reward::Spawner* spawner, int rank) {
  if (!context.texts.turns) return nullptr;
  const RunConfig& config = context.config;
  if (!config.environment.command.empty()) return partner_by_command(context, spawner, rank);
  auto environment = environment::make_environment(config, *context.texts.format);
  if (environment::answers_slowly(config))
    return environment::on_threads(std::move(environment), int(config.sandbox.workers));
  return environment::at_once(std::move(environment));
}

}  // namespace rollcall::run
