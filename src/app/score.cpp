// rollcall score: verdicts on responses by a verifier, or by a model that judges, as a filter of JSON lines.
#include "app/commands.hpp"
#include "app/model_judge.hpp"
#include "app/start_sandbox.hpp"
#include "base/exact_number.hpp"
#include "base/file.hpp"
#include "base/foreign_json.hpp"
#include "base/lines.hpp"
#include "base/visible.hpp"
#include "reward/verifier.hpp"
#include "text/text_files.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

namespace rollcall::app {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostLines = 1024;  // that are scored together; fewer where the input has no more to give yet

struct ScoreFlags {
  std::string file, verifier;
  TaskSection task;  // extract and answer_marker
  JudgeFlags judge;  // its threads are the verifier's too
};

struct Line {
  std::size_t number;
  std::string text;
  std::string verdict{};  ///< its line of the output
  std::exception_ptr fault{};
};

/// Text as it is; another JSON value as JSON, as verifiers with structured references read it.
std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// A response and what it answers, as a line gives them.
struct Answered {
  Prompt prompt;
  std::string response;
};

Answered answered(const Line& line, const std::string& file) {
  const auto need = [&](bool ok, const std::string& problem) {
    require(ok, fmt::format("{}:{}: {}", file, line.number, problem), "the line cannot be scored",
            R"(write {"response": "...", "answer": "..."} a line, in UTF-8)");
  };
  std::string fault;
  const std::string json = text::valid_utf8(line.text);
  const Json value = parse_foreign<Json>(json, fault);
  need(fault.empty(), fault);
  need(value.contains("response") && value["response"].is_string(), "no text under \"response\"");
  const char* reference = value.contains("tests") ? "tests" : "answer";
  need(value.contains(reference) && !value[reference].is_null(), "neither \"answer\" nor \"tests\"");
  need(!value.contains("prompt") || value["prompt"].is_string(), "what is under \"prompt\" is no text");
  Answered result;
  result.prompt.answer = value[reference].is_number() ? exact_number(json, reference) : text_of(value[reference]);
  result.prompt.text = value.value("prompt", std::string());
  result.response = value["response"].get<std::string>();
  return result;
}

std::string score_line(const reward::Judge& judge, const Line& line, const std::string& file) {
  const auto [prompt, response] = answered(line, file);
  Score score;
  std::string problem;
  try {
    score = judge.score(prompt, response, true);
    if (score.undecided) problem = judge.reference_problem(prompt);
  } catch (const InputError& unusable) {
    throw InputError(fmt::format("{}:{}: {}", file, line.number, unusable.what()));
  }
  if (!problem.empty()) score.reason = fmt::format("{}:{}: {}", file, line.number, problem);
  if (score.reason.empty() && !score.correct) score.reason = score.answer.empty() ? "no answer was found" : "another answer than the reference";
  const Json verdict = {{"verdict", score.undecided ? "undecided"
                                    : score.correct ? "correct"
                                                    : "wrong"},
                        {"score", score.reward},
                        {"reason", score.reason},
                        {"extracted", score.answer.empty() ? Json() : Json(score.answer)}};
  return verdict.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string judged_line(const ModelJudge& judge, const stages::Judgement& judgement) {
  const auto accepts = judge.accepts(judgement);
  const Json verdict = judgement.undecided ? Json("undecided") : !accepts ? Json() : Json(*accepts ? "correct" : "wrong");
  const Json line = {{"verdict", verdict}, {"score", judgement.undecided ? 0.0 : judgement.value}, {"reason", judgement.reason}, {"extracted", nullptr}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Lines up to the first that is none, in one batch.
void judge_all(const ModelJudge& judge, std::vector<Line>& lines, const ScoreFlags& flags) {
  std::vector<std::vector<std::int32_t>> questions;
  try {
    for (const Line& line : lines) {
      const auto [prompt, response] = answered(line, flags.file);
      questions.push_back(judge.model().tokens({prompt.text, response, prompt.answer}));
    }
  } catch (...) {
    lines[questions.size()].fault = std::current_exception();
  }
  const auto judgements = judge.judge(questions);
  for (std::size_t n = 0; n < judgements.size(); ++n) lines[n].verdict = judged_line(judge, judgements[n]);
}

/// Each thread takes the next line; the order of the output is that of the input.
void score_all(const reward::Judge& judge, std::vector<Line>& lines, const ScoreFlags& flags) {
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
  for (std::size_t n = 1; n < std::min(flags.judge.threads, lines.size() / 8); ++n) others.emplace_back(work);
  work();
}

/// Verdicts in order up to the first line that could not be scored, which ends the command. False when nobody reads any more.
bool write_out(const std::vector<Line>& lines) {
  const auto bad = std::find_if(lines.begin(), lines.end(), [](const Line& line) { return line.fault != nullptr; });
  std::string out;
  for (auto line = lines.begin(); line != bad; ++line) out += visible_lines(line->verdict) + '\n';
  const bool is_written = std::fwrite(out.data(), 1, out.size(), stdout) == out.size() && std::fflush(stdout) == 0;
  if (!is_written && errno == EPIPE) return false;
  require<StorageError>(is_written, fmt::format("the verdicts cannot be written: {}", std::strerror(errno)), "their reader would miss them",
                        "free space, or write elsewhere");
  if (bad != lines.end()) std::rethrow_exception(bad->fault);
  return true;
}

/// Hands the lines to `score`, many at a time, and writes what it makes of them.
ExitCode filter(const ScoreFlags& flags, const std::function<void(std::vector<Line>&)>& score) {
  std::ifstream input(flags.file == "-" ? "/dev/stdin" : flags.file);
  if (!input) reading_failure("open", flags.file, errno);
  std::size_t number = 0;
  for (;;) {
    std::vector<Line> lines;
    std::string text;
    while (lines.size() < kMostLines && (lines.empty() || input.rdbuf()->in_avail() > 0) && next_line(input, text, flags.file)) {
      ++number;
      if (text.find_first_not_of(" \t\r") != std::string::npos) lines.push_back({number, text});
    }
    if (input.bad()) reading_failure("read", flags.file, errno);
    if (lines.empty()) return ExitCode::done;
    score(lines);
    if (!write_out(lines)) return ExitCode::done;
  }
}

ExitCode run(const ScoreFlags& flags) {
  require<ConfigError>(flags.verifier.empty() != flags.judge.file.empty(), "one of --verifier and --judge says who judges", "there is nobody to ask otherwise",
                       "name a verifier, or a run file whose [judge] names a model");
  if (!flags.judge.file.empty()) {
    const ModelJudge judge(flags.judge);
    return filter(flags, [&](std::vector<Line>& lines) { judge_all(judge, lines, flags); });
  }
  start_sandbox(reward::find_verifier(flags.verifier), {.workers = std::int64_t(flags.judge.threads)});
  const reward::Judge judge(reward::find_verifier(flags.verifier), flags.task);
  return filter(flags, [&](std::vector<Line>& lines) { score_all(judge, lines, flags); });
}

std::string footer() {
  std::string rows;
  for (const auto& name : reward::verifier_names()) rows += fmt::format("\n  {:21}{}", name, reward::find_verifier(name).meaning);
  return fmt::format(
      R"(A line of FILE: {{"response": "...", "answer": "..."}}; "tests" takes the place of "answer" where a verifier runs tests, "prompt" may be given.
Its line of the output: {{"verdict": "correct" | "wrong" | "undecided", "score": ..., "reason": "...", "extracted": "..." | null}}.
With --judge, "score" is the model's and "verdict" correct where a judge's is above 1/2; a reward model gives none (null). "reason" is what a judge wrote.
An "answer" that the verifier cannot use ends the command with an example of one it can; jobs/README.md describes them.
Verifiers, and in brackets the tasks whose answers they judge:{})",
      rows);
}

}  // namespace

void add_score(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ScoreFlags>();
  auto* command = app.add_subcommand("score", "judge responses with a verifier or a model, one JSON object a line");
  command->add_option("file", flags->file, "JSON lines; - reads standard input")->required();
  command->add_option("--verifier", flags->verifier, "who judges");
  auto* judge = add_judge_options(*command, flags->judge);
  command->add_option("--extract", flags->task.extract, "how the answer is found in a response, as task.extract; default: the verifier's own way")
      ->excludes(judge);
  command->add_option("--marker", flags->task.answer_marker, "what stands before the answer, for --extract marker (verifier marked_answer)")
      ->capture_default_str()
      ->excludes(judge);
  command->footer(footer());
  command->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace rollcall::app
