// rollcall score: verdicts on responses by a verifier, a program of the user's or a judge model, as
// a filter of JSON lines or as a server of another program.
#include "app/commands.hpp"
#include "app/models/model_judge.hpp"
#include "app/tools/score_line.hpp"
#include "app/tools/serve_scores.hpp"
#include "app/tools/start_sandbox.hpp"
#include "base/errors/long_phase.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/files/lfs_pointer.hpp"
#include "base/files/lines.hpp"
#include "base/text/json.hpp"
#include "reward/command/graders.hpp"
#include "reward/verifier.hpp"
#include "text/answer/accepted_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>

namespace rollcall::app {
namespace {

using Json = nlohmann::ordered_json;

struct Line : ScoreLine {
  std::string verdict{};  ///< the line of output
  std::exception_ptr fault{};
};

constexpr std::size_t kMostLines = 1024;  // most lines that are scored together; fewer if no more
                                          // input is available yet

struct ScoreFlags {
  std::string file, verifier;
  bool serves = false;
  TaskSection task;      // only extract and answer_marker are used
  JudgeFlags judge;      // its number of threads is used for a verifier as well
  RewardSection reward;  // only the command and its components are used
};

std::string judged_line(const ModelJudge& judge, const run::Judgement& judgement) {
  const auto accepts = judge.accepts(judgement);
  const Json verdict = judgement.undecided ? Json("undecided")
                       : !accepts          ? Json()
                                           : Json(*accepts ? "correct" : "wrong");
  const Json line = {{"verdict", verdict},
                     {"score", judgement.undecided ? 0.0 : judgement.value},
                     {"reason", judgement.reason},
                     {"extracted", nullptr}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Asks the judge model about the lines up to the first that has an error, in one batch.
void judge_all(const ModelJudge& judge, std::vector<Line>& lines, const ScoreFlags& flags) {
  std::vector<std::vector<std::int32_t>> questions;
  try {
    for (const Line& line : lines) {
      const auto [prompt, response, extra] = answered(line, flags.file);
      questions.push_back(judge.model().tokens({prompt.text, response, prompt.answer}));
    }
  } catch (...) {
    lines[questions.size()].fault = std::current_exception();
  }
  const auto judgements = judge.judge(questions);
  for (std::size_t n = 0; n < judgements.size(); ++n)
    lines[n].verdict = judged_line(judge, judgements[n]);
}

std::string graded_line(const reward::Verdict& verdict,
                        const std::vector<std::string>& components) {
  const reward::Reply& reply = verdict.reply;
  Json line = {{"verdict", reply.undecided ? "undecided"
                           : reply.correct ? "correct"
                                           : "wrong"},
               {"score", reply.score},
               {"reason", reply.reason},
               {"extracted", reply.extracted.empty() ? Json() : Json(reply.extracted)}};
  for (std::size_t k = 0; k < components.size(); ++k)
    line["components"][components[k]] = reply.components.at(k);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A program that judges, with its processes.
class Program {
 public:
  explicit Program(const ScoreFlags& flags) : flags_(flags) {}

  /// Gives the lines up to the first that has an error to the processes, in one batch.
  void grade(std::vector<Line>& lines) {
    std::vector<reward::Sample> samples;
    try {
      for (const Line& line : lines) {
        const auto [prompt, response, extra] = answered(line, flags_.file);
        samples.push_back({fmt::format("score/0/{}/0/0", line.number), prompt.text, response,
                           prompt.answer, extra});
      }
    } catch (...) {
      lines[samples.size()].fault = std::current_exception();
    }
    if (samples.empty()) return;
    if (!graders_) start(samples.front());
    graders_->add(std::move(samples));
    const auto verdicts = graders_->await().second;
    for (std::size_t n = 0; n < verdicts.size(); ++n)
      lines[n].verdict = graded_line(verdicts[n], flags_.reward.components);
  }

 private:
  /// A program that is missing, or that lacks its own files, would fail on every line.
  void start(reward::Sample first) {
    first.response = text::first_accepted(first.answer);
    (void)try_command(spawner_, flags_.reward, first, reward::OnFailure::accept);
    graders_.emplace(spawner_, flags_.reward,
                     reward::GraderListener{.errors = [](std::size_t, std::string_view bytes) {
                       std::cerr << visible_lines(bytes);
                     }});
  }

  const ScoreFlags& flags_;
  reward::Spawner spawner_;
  std::optional<reward::Graders> graders_;
};

/// Grades the lines with a verifier. Each thread takes the next line, and the output has the order
/// of the input.
void score_all(const reward::Grader& judge, std::vector<Line>& lines, const ScoreFlags& flags) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t n = next++; n < lines.size(); n = next++) {
      try {
        lines[n].verdict = score_line(judge, lines[n], flags.file);
      } catch (...) {
        lines[n].fault = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t n = 1; n < std::min(flags.judge.threads, lines.size() / 8); ++n)
    others.emplace_back(work);
  work();
}

/// Writes the verdicts in order, up to the first line that could not be scored, which ends the
/// command. Returns false if the reader has gone away.
bool write_out(const std::vector<Line>& lines) {
  const auto bad = std::find_if(lines.begin(), lines.end(),
                                [](const Line& line) { return line.fault != nullptr; });
  std::string out;
  for (auto line = lines.begin(); line != bad; ++line) out += visible_lines(line->verdict) + '\n';
  if (!write_verdicts(out)) return false;
  if (bad != lines.end()) std::rethrow_exception(bad->fault);
  return true;
}

constexpr const char* kUndecided = R"("verdict":"undecided")";

/// Passes the lines to `score`, many at a time, and writes the results.
ExitCode filter(const ScoreFlags& flags, const std::function<void(std::vector<Line>&)>& score) {
  if (flags.file != "-") refuse_lfs_pointer(std::filesystem::path(flags.file));
  std::ifstream input(flags.file == "-" ? "/dev/stdin" : flags.file);
  if (!input) reading_failure("open", flags.file, errno);
  std::size_t number = 0, all = 0, decided = 0;
  for (;;) {
    std::vector<Line> lines;
    std::string text;
    while (lines.size() < kMostLines && (lines.empty() || input.rdbuf()->in_avail() > 0) &&
           next_line(input, text, flags.file)) {
      ++number;
      if (text.find_first_not_of(" \t\r") != std::string::npos) lines.push_back({{number, text}});
    }
    if (input.bad()) reading_failure("read", flags.file, errno);
    if (lines.empty()) break;
    score(lines);
    if (!write_out(lines)) return ExitCode::done;
    all += lines.size();
    decided += std::size_t(std::count_if(lines.begin(), lines.end(), [](const Line& line) {
      return line.verdict.find(kUndecided) == std::string::npos;
    }));
  }
  require<InputError>(all > 0, fmt::format("{} holds no line to score", flags.file),
                      "there is nothing to judge",
                      R"(write {"response": "...", "answer": "..."} a line)");
  if (decided > 0) return ExitCode::done;
  complain(
      fmt::format("none of the {} responses got a verdict: each line of the output says why", all));
  return ExitCode::failed;
}

void check_who(const ScoreFlags& flags) {
  const int judges = int(!flags.verifier.empty()) + int(!flags.judge.file.empty()) +
                     int(!flags.reward.command.empty());
  require<ConfigError>(
      judges == 1, "one of --verifier, --command and --judge says who judges",
      judges == 0 ? "there is nobody to ask otherwise" : "a verdict comes from one of them",
      "name a verifier, a program that reads and writes JSON lines, or a run file whose [judge] "
      "names a model");
  require<ConfigError>(
      !flags.serves || !flags.verifier.empty(), "--serve is given without --verifier",
      "it answers with a verifier's verdicts", "name a verifier, or leave --serve out");
  require<ConfigError>(flags.serves == flags.file.empty(),
                       flags.serves ? fmt::format("--serve is given beside the file {}", flags.file)
                                    : "no file is named, and --serve is not given",
                       flags.serves ? "it reads standard input" : "there is nothing to judge",
                       "name a file of JSON lines (- is standard input), or give --serve");
  require<ConfigError>(flags.reward.components.empty() || !flags.reward.command.empty(),
                       "--components is given without --command", "they are what a program reports",
                       "leave it out, or name the program");
}

ExitCode run(const ScoreFlags& flags) {
  check_who(flags);
  if (!flags.judge.file.empty()) {
    std::optional<LongPhase> phase(std::in_place, "reading the judge of " + flags.judge.file);
    const ModelJudge judge(flags.judge);
    phase.reset();
    return filter(flags, [&](std::vector<Line>& lines) { judge_all(judge, lines, flags); });
  }
  if (!flags.reward.command.empty()) {
    Program program(flags);
    return filter(flags, [&](std::vector<Line>& lines) { program.grade(lines); });
  }
  start_sandbox(reward::find_verifier(flags.verifier),
                {.workers = std::int64_t(flags.judge.threads)});
  const reward::Grader judge(reward::find_verifier(flags.verifier), flags.task);
  if (flags.serves) return serve_scores(judge, flags.judge.threads);
  return filter(flags, [&](std::vector<Line>& lines) { score_all(judge, lines, flags); });
}

std::string footer() {
  std::string rows;
  for (const auto& name : reward::verifier_names())
    rows += fmt::format("\n  {:21}{}", name, reward::find_verifier(name).meaning);
  return fmt::format(
      R"(A line of FILE: {{"response": "...", "answer": "..."}}; "tests" takes the place of "answer" where a verifier runs tests, "prompt" may be given,
and with --command "extra", an object.
A list as the "answer" accepts each of its texts and numbers; a text accepts itself, whatever it looks like.
Its line of the output: {{"verdict": "correct" | "wrong" | "undecided", "score": ..., "reason": "...", "extracted": "..." | null}}.
With --serve each line of standard input gets one line of standard output at once and in order, and a line that cannot be judged gets {{"error": "..."}}; the end of the input ends it with 0.
With --judge, "score" is the model's and "verdict" correct where a judge's is above 1/2; a reward model gives none (null). "reason" is what a judge wrote.
An "answer" that the verifier cannot use ends the command with an example of one it can; docs/reference/tasks.md describes them.
Verifiers, and in brackets the tasks whose answers they judge:{})",
      rows);
}

}  // namespace

void add_score(Command program) {
  auto flags = std::make_shared<ScoreFlags>();
  auto command = program.command(
      "score", "judge responses with a verifier, a program or a model, one JSON object a line");
  command.option("file", flags->file, "JSON lines; - reads standard input");
  command.option("--verifier", flags->verifier, "who judges");
  command.flag("--serve", flags->serves,
               "answer the lines of standard input one by one, in place of a file");
  auto judge = add_judge_options(command, flags->judge);
  command
      .option(
          "--extract", flags->task.extract,
          "how the answer is found in a response, as task.extract; default: the verifier's own way")
      .excludes(judge);
  command
      .option("--marker", flags->task.answer_marker,
              "what stands before the answer, for --extract marker (verifier marked_answer)")
      .default_shown()
      .excludes(judge);
  command
      .option("--command", flags->reward.command,
              "program and arguments that judge, as reward.command; must be the last option")
      .takes_rest();
  command
      .option("--components", flags->reward.components,
              "components that the command reports beside correct")
      .comma_separated()
      .expected(1, 1);
  command.option("--processes", flags->reward.processes, "processes of the command side by side")
      .default_shown();
  command
      .option("--timeout", flags->reward.timeout_s, "longest time of the command for a verdict [s]")
      .default_shown();
  command.footer(footer());
  command.runs([flags] { return run(*flags); });
}

}  // namespace rollcall::app
