// rollcall sandbox: makes an untrusted grader usable as reward.command. Each line of input is a
// confined run of the grader.
#include "sandbox/sandbox.hpp"
#include "app/commands.hpp"
#include "app/tools/start_sandbox.hpp"
#include "base/errors/visible.hpp"
#include "base/files/lines.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "sandbox/packed.hpp"
#include "text/answer/answer_text.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::app {
namespace {

using Json = nlohmann::json;

struct SandboxFlags {
  SandboxSection limits{.workers = 1};
  std::vector<std::string> with;
};

/// The program, with every file that its command line names.
sandbox::Program program_of(const std::vector<std::string>& argv,
                            const std::vector<std::string>& with) {
  require<ConfigError>(!argv.empty(), "no program is named", "there would be nothing to run",
                       "rollcall sandbox ./grade.py");
  require<ConfigError>(!argv.front().starts_with('-'),
                       fmt::format("there is no option {}", argv.front()),
                       "it would be taken for the program", "rollcall sandbox --help shows all");
  return sandbox::packed(argv, with);
}

/// The first line that the program wrote, or a reply with the reason if there is none or it did not
/// end normally.
std::string reply(const sandbox::Outcome& outcome, const std::string& id) {
  const std::string_view line =
      text::trim(std::string_view(outcome.out).substr(0, outcome.out.find('\n')));
  if (outcome.end == sandbox::End::passed && !line.empty()) return std::string(line);
  const std::string_view said = text::trim(outcome.err);
  std::string reason =
      outcome.end == sandbox::End::passed ? "it wrote no line" : name_of(outcome.end);
  if (!outcome.reason.empty()) reason += ": " + outcome.reason;
  else if (!said.empty()) reason += fmt::format(": {}", said.substr(said.rfind('\n') + 1));
  // End::sandbox_error is the machine's fault; the answer may have caused any of the other ends.
  const bool ended = outcome.end != sandbox::End::sandbox_error;
  return visible_lines(
      Json{{"id", id}, {"undecided", true}, {"ended", ended}, {"reason", reason}}.dump(
          -1, ' ', false, Json::error_handler_t::replace));
}

std::string id_of(const std::string& line, std::size_t number) {
  std::string fault;
  const Json sample = parse_foreign<Json>(line, fault);
  if (fault.empty() && (!sample.contains("id") || !sample["id"].is_string()))
    fault = "no text under \"id\"";
  require(fault.empty(), fmt::format("line {} of the input: {}", number, fault),
          "its answer could not name it",
          R"(write {"id": "...", "prompt": "...", "response": "...", "answer": "..."} a line)");
  return sample["id"].get<std::string>();
}

ExitCode run(const SandboxFlags& flags, const std::vector<std::string>& argv) {
  const sandbox::Program program = program_of(argv, flags.with);
  start_sandbox(flags.limits);
  std::string line;
  for (std::size_t number = 1; next_line(std::cin, line); ++number) {
    if (text::trim(line).empty()) continue;
    const std::string id = id_of(line, number);
    std::puts(
        for_standard_output(reply(sandbox::started()->run(program, line + '\n'), id)).c_str());
    if (std::fflush(stdout) != 0) break;  // the reader has gone away, or main reports the error
  }
  return ExitCode::done;
}

}  // namespace

void add_sandbox(Command program) {
  auto flags = std::make_shared<SandboxFlags>();
  auto command = program.command(
      "sandbox",
      "run a grader in the sandbox, once for each line of standard input: reward.command = "
      "[\"rollcall\", \"sandbox\", \"./grade.py\"]");
  command
      .option("--with", flags->with,
              "a further file that the program needs, such as a module; may be repeated")
      .repeated();
  command.option("--cpu", flags->limits.cpu_s, "processor time of a run [s]")
      .range(1, 86400)
      .default_shown();
  command.option("--wall", flags->limits.wall_s, "wall clock that guards a run [s]")
      .range(0.1, 86400.0)
      .default_shown();
  command.option("--memory", flags->limits.memory, "address space of each process").default_shown();
  command.option("--output", flags->limits.output, "most output of a run").default_shown();
  command.option("--files", flags->limits.files, "most that a run may write to its folder")
      .default_shown();
  command.option("--processes", flags->limits.processes, "processes and threads at a time")
      .range(1, 4096)
      .default_shown();
  command.flag("--allow-landlock", flags->limits.allow_landlock,
               "where user namespaces are forbidden, Landlock and seccomp may serve");
  command.keeps_rest();
  command.footer(
      "rollcall sandbox [OPTIONS] PROGRAM [ARGUMENT]...: PROGRAM gets one line of JSON on its "
      "standard input and writes one\n"
      "(docs/guide/own-reward.md). It finds /usr, and in its folder the files that its command "
      "line and --with name. A run that ends badly or writes nothing is a reply without a verdict, "
      "with the reason.");
  command.runs([flags, command] { return run(*flags, command.rest()); });
}

}  // namespace rollcall::app
