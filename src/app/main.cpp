// Entry point: parses the command line, runs one subcommand, turns its outcome into the exit code.
#include "app/commands.hpp"
#include "app/run_reports.hpp"
#include "app/weights.hpp"
#include "base/faults.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "base/nearest.hpp"
#include "base/visible.hpp"
#include "io/origin.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

namespace {

using namespace rollcall;

const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

/// What somebody could have meant in this place: commands and flags.
std::vector<std::string> valid_words(const CLI::App& app) {
  std::vector<std::string> words;
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) words.push_back("--" + name);
  }
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) words.push_back(command->get_name());
  return words;
}

/// "rollcall archive ls --help"
std::string help_of(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return app.get_name() + " " + (chosen.empty() ? std::string("--help") : help_of(*chosen.front()));
}

/// What was left over, in the order of the command line.
std::vector<std::string> unexpected(const CLI::App& app, const std::vector<std::string>& arguments) {
  auto left = app.remaining(true);
  std::vector<std::string> ordered;
  for (const auto& argument : arguments) {
    const auto found = std::find(left.begin(), left.end(), argument);
    if (found == left.end()) continue;
    left.erase(found);
    ordered.push_back(argument);
  }
  return ordered;
}

int usage_error(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments) {
  std::string problem = error.what(), suggestion = "see " + help_of(app);
  const auto extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ? unexpected(app, arguments) : std::vector<std::string>();
  if (!extra.empty()) {
    const std::string word = extra.front().substr(0, extra.front().find('='));
    const auto& chosen = innermost(app);
    const bool flag = word.starts_with('-'), command = !flag && !chosen.get_subcommands([](const CLI::App*) { return true; }).empty();
    problem = command ? fmt::format("there is no command {}", &chosen == &app ? word : chosen.get_name() + " " + word)
                      : fmt::format("not expected here: {}", fmt::join(extra, " "));
    const std::string nearest = nearest_name(word, valid_words(chosen));
    if ((flag || command) && is_near(word, nearest)) suggestion = fmt::format("did you mean {}? {} shows all", nearest, help_of(app));
  }
  complain(error_message(problem, "the command line cannot be understood", suggestion));
  return int(ExitCode::misconfigured);
}

/// Whether what was printed has gone out. A reader that went away (head, a closed pager) wants no more.
bool is_told() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return true;
  pollfd reader{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&reader, 1, 0) == 1 && (reader.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}

/// A standard stream that was closed would be the number of the next file that is opened, and progress would be written into metrics.jsonl.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDWR) != stream) std::_Exit(int(ExitCode::failed));
}

int run(int argc, char** argv) {
  hold_standard_streams();
  prepare_log();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write(), not the end of a run
  std::signal(SIGXFSZ, SIG_IGN);  // so is a file that becomes larger than `ulimit -f` allows
  CLI::App app{"Rollcall trains language models by reinforcement learning with verifiable rewards, as one MPI job."};
  app.name("rollcall");
  app.require_subcommand(0, 1);
  bool show_version = false, verbose = false;
  app.add_flag("--version", show_version, "print the version");
  app.add_flag("--verbose", verbose, "with --version: libraries, compiler, kernels");
  app::Action action;
  const app::Arguments arguments{argc, argv};
  app::add_train(app, arguments, action);
  app::add_eval(app, arguments, action);
  app::add_generate(app, action);
  app::add_chat(app, action);
  app::add_logprob(app, action);
  app::add_plan(app, action);
  app::add_prove(app, action);
  app::add_recipes(app, action);
  app::add_policies(app, action);
  app::add_schedule(app, action);
  app::add_simulate(app, action);
  app::add_export(app, action);
  app::add_weights(app, action);
  app::add_archive(app, action);
  app::add_view(app, action);
  app::add_status(app, action);
  app::add_report(app, action);
  app::add_compare(app, action);
  app::add_submit(app, action);
  app::add_score(app, action);
  app::add_sandbox(app, action);
  app::add_tokenize(app, action);
  app::add_template(app, action);
  app::add_doctor(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return usage_error(app, e, {argv + 1, argv + argc});
  }
  if (show_version) {
    std::puts((verbose ? app::version_verbose() : app::version()).c_str());
    return 0;
  }
  if (!action) {
    std::fputs(app.help().c_str(), stdout);
    return int(ExitCode::misconfigured);
  }
  try {
    io::read_files_of(io::Origin::others);
    const ExitCode code = action();
    require<StorageError>(code != ExitCode::done || is_told(), "cannot write standard output", "the output is not complete", "check free space and quota");
    return int(code);
  } catch (const Error& e) {
    complain(e.what());
    return int(e.code());
  } catch (const std::exception& e) {
    complain(message_of(e));
    return int(ExitCode::failed);
  }
}

/// What LibTorch does at a normal exit, taking its operators out of their tables one by one, costs 60 ms of 200 and is of no use to a process that ends.
void end_at_once([[maybe_unused]] int code) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they report at a normal exit
  std::cout.flush();
  std::fflush(nullptr);
  ::_exit(code);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const int code = run(argc, argv);
  end_at_once(code);
  return code;
}
