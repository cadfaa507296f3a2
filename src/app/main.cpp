// Entry point: parses the command line, runs one subcommand and turns its outcome into the exit
// code.
#include "app/commands.hpp"
#include "base/errors/log.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/process/stop_signals.hpp"
#include "io/origin.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <system_error>

namespace {

using namespace rollcall;

/// Whether all output has been written. It counts as written if the reader has gone away (head, a
/// closed pager), which is not an error.
bool is_told() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return true;
  pollfd reader{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&reader, 1, 0) == 1 && (reader.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}

/// Opens closed standard streams on /dev/null. Otherwise the next file that is opened would get
/// their number, and progress would be written into metrics.jsonl.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDWR) != stream)
      std::_Exit(int(ExitCode::failed));
}

/// Paths are relative to the working directory, and so is what libraries look for when they load.
void require_working_directory() {
  std::error_code gone;
  (void)std::filesystem::current_path(gone);
  require<EnvironmentError>(
      !gone, fmt::format("the working directory cannot be found: {}", gone.message()),
      "it was removed or moved while the shell was in it, and paths are relative to it",
      "change into a folder that exists (cd), and call the command again");
}

/// Commands that may take long, and what a stop signal leaves of them, from their start until they
/// set a better message. Other commands are ended by the signal silently, as most programs are.
struct LongCommand {
  std::string_view name;
  const char* left;
};
constexpr const char* kStarting =
    "no step was under way, so nothing is lost; go on by the same command with --resume "
    "--start-if-none";
constexpr LongCommand kLongCommands[] = {
    {"train", kStarting},
    {"sft", kStarting},
    {"eval", "the evaluation is not kept; the same command repeats it"},
    {"score", "the verdicts that are written are whole, but the last line may be cut"},
    {"prove", "nothing is proved; the same command starts again"},
    {"archive", "nothing was changed"},
    {"data", "nothing was changed"},
    {"view", "no pages were changed"},
};

int run(int argc, char** argv) {
  hold_standard_streams();
  for (const auto& [name, left] : kLongCommands)
    if (argc > 1 && name == argv[1]) end_on_stop_signals(left);
  prepare_log();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write() and does not end a run
  std::signal(SIGXFSZ, SIG_IGN);  // likewise for a file that becomes larger than `ulimit -f` allows
  app::CommandLine line(
      "rollcall",
      "Rollcall trains language models by reinforcement learning with verifiable rewards, as one "
      "MPI job.");
  app::Command program = line.program();
  program.expects_commands(0, 1);
  bool show_version = false, verbose = false;
  program.flag("--version", show_version, "print the version");
  program.flag("--verbose", verbose, "with --version: libraries, compiler, kernels");
  const app::Arguments arguments{argc, argv};
  app::add_train(program, arguments);
  app::add_eval(program, arguments);
  app::add_generate(program);
  app::add_chat(program);
  app::add_logprob(program);
  app::add_plan(program);
  app::add_data(program);
  app::add_prove(program);
  app::add_recipes(program);
  app::add_schedulers(program);
  app::add_schedule(program);
  app::add_simulate(program);
  app::add_export(program);
  app::add_weights(program);
  app::add_archive(program);
  app::add_view(program);
  app::add_status(program);
  app::add_report(program);
  app::add_compare(program);
  app::add_submit(program);
  app::add_score(program);
  app::add_sandbox(program);
  app::add_tokenize(program);
  app::add_template(program);
  app::add_doctor(program);
  if (const auto exit_code = line.read(argc, argv)) return *exit_code;
  if (show_version) {
    std::puts((verbose ? app::version_verbose() : app::version()).c_str());
    return 0;
  }
  const app::Action& action = line.chosen();
  if (!action) {
    std::fputs(program.help().c_str(), stdout);
    return int(ExitCode::misconfigured);
  }
  try {
    require_working_directory();
    io::read_files_of(io::Origin::others);
    const ExitCode code = action();
    require<StorageError>(code != ExitCode::done || is_told(), "cannot write standard output",
                          "the output is not complete", "check free space and quota");
    return int(code);
  } catch (const std::exception& e) {
    const ExitCode code = exit_code_of(e);
    end_as_failed(code);
    complain(message_of(e));
    return int(code);
  }
}

/// Ends without LibTorch's work at a normal exit. It removes its operators from tables one by one,
/// which takes 60 ms of 200 and is of no use to a process that ends.
void end_at_once([[maybe_unused]] int code) {
// With a sanitizer the process exits normally after this function, because sanitizers report then.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
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
