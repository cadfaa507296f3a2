// rollcall score: a verifier's verdicts on responses, as a filter of JSON lines.
#include "app/commands.hpp"
#include "app/start_sandbox.hpp"
#include "base/file.hpp"
#include "base/foreign_json.hpp"
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
#include <memory>
#include <thread>

namespace rollcall::app {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostLines = 1024;  // that are scored together; fewer where the input has no more to give yet

struct ScoreFlags {
  std::string file, verifier;
  TaskSection task;  // extract and answer_marker
  std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
};

struct Line {
  std::size_t number;
  std::string text;
  std::string verdict{};  ///< its line of the output
  std::exception_ptr fault{};
};

/// Text as it is; another JSON value as JSON, as verifiers with structured references read it.
std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string score_line(const reward::Judge& judge, const Line& line, const std::string& file) {
  const auto need = [&](bool ok, const std::string& problem) {
    require(ok, fmt::format("{}:{}: {}", file, line.number, problem), "the line cannot be scored",
            R"(write {"response": "...", "answer": "..."} a line, in UTF-8)");
  };
  std::string fault;
  const Json value = parse_foreign<Json>(text::valid_utf8(line.text), fault);
  need(fault.empty(), fault);
  need(value.contains("response") && value["response"].is_string(), "no text under \"response\"");
  const char* reference = value.contains("tests") ? "tests" : "answer";
  need(value.contains(reference), "neither \"answer\" nor \"tests\"");
  need(!value.contains("prompt") || value["prompt"].is_string(), "what is under \"prompt\" is no text");
  Prompt prompt;
  prompt.answer = text_of(value[reference]);
  // 1.50 is 1.5 as text too, but 12345678901234567890123 would lose digits.
  need(!value[reference].is_number() || line.text.find(prompt.answer) != std::string::npos,
       fmt::format("the number under \"{}\" cannot be told exactly; write it as text", reference));
  prompt.text = value.value("prompt", std::string());
  const Score score = judge.score(prompt, value["response"].get_ref<const std::string&>(), true);
  const Json verdict = {{"verdict", score.undecided ? "undecided"
                                    : score.correct ? "correct"
                                                    : "wrong"},
                        {"score", score.reward},
                        {"reason", score.reason},
                        {"extracted", score.answer.empty() ? Json() : Json(score.answer)}};
  return verdict.dump(-1, ' ', false, Json::error_handler_t::replace);
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
  for (std::size_t n = 1; n < std::min(flags.threads, lines.size() / 8); ++n) others.emplace_back(work);
  work();
}

/// Verdicts in order up to the first line that could not be scored, which ends the command.
void write_out(const std::vector<Line>& lines) {
  const auto bad = std::find_if(lines.begin(), lines.end(), [](const Line& line) { return line.fault != nullptr; });
  std::string out;
  for (auto line = lines.begin(); line != bad; ++line) out += line->verdict + '\n';
  const bool is_written = std::fwrite(out.data(), 1, out.size(), stdout) == out.size() && std::fflush(stdout) == 0;
  require<StorageError>(is_written, fmt::format("the verdicts cannot be written: {}", std::strerror(errno)), "their reader would miss them",
                        "free space, or keep the reading end open");
  if (bad != lines.end()) std::rethrow_exception(bad->fault);
}

ExitCode run(const ScoreFlags& flags) {
  start_sandbox(reward::find_verifier(flags.verifier), {.workers = std::int64_t(flags.threads)});
  const reward::Judge judge(reward::find_verifier(flags.verifier), flags.task);
  std::ifstream input(flags.file == "-" ? "/dev/stdin" : flags.file);
  if (!input) reading_failure("open", flags.file, errno);
  std::size_t number = 0;
  for (;;) {
    std::vector<Line> lines;
    std::string text;
    while (lines.size() < kMostLines && (lines.empty() || input.rdbuf()->in_avail() > 0) && std::getline(input, text)) {
      ++number;
      if (text.find_first_not_of(" \t\r") != std::string::npos) lines.push_back({number, text});
    }
    if (input.bad()) reading_failure("read", flags.file, errno);
    if (lines.empty()) return ExitCode::done;
    score_all(judge, lines, flags);
    write_out(lines);
  }
}

std::string footer() {
  std::string names;
  for (const auto& name : reward::verifier_names()) names += (names.empty() ? "" : ", ") + name;
  return fmt::format(
      R"(A line of FILE: {{"response": "...", "answer": "..."}}; "tests" takes the place of "answer" where a verifier runs tests, "prompt" may be given.
Its line of the output: {{"verdict": "correct" | "wrong" | "undecided", "score": ..., "reason": "...", "extracted": "..." | null}}.
Verifiers: {}.)",
      names);
}

}  // namespace

void add_score(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ScoreFlags>();
  auto* command = app.add_subcommand("score", "judge responses with a verifier, one JSON object a line");
  command->add_option("file", flags->file, "JSON lines; - reads standard input")->required();
  command->add_option("--verifier", flags->verifier, "who judges")->required();
  command->add_option("--extract", flags->task.extract, "how the answer is found in a response, as task.extract; default: the verifier's own way");
  command->add_option("--marker", flags->task.answer_marker, "what stands before the answer, for --extract marker");
  command->add_option("--threads", flags->threads, "threads; the output is the same with any number")->check(CLI::Range(1, 1024));
  command->footer(footer());
  command->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace rollcall::app
