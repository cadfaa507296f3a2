// Feeds every verifier noise that looks like answers, damaged answers and damaged references: each
// verdict has its components in [0, 1], the same twice, and a damaged reference is either usable or
// refused with an InputError.
// usage: fuzz_verifiers RUNS [FIRST_SEED]     run N depends on N alone, so a failure is repeated by
// fuzz_verifiers 1 N
#include "base/errors/error.hpp"
#include "reward/verifier.hpp"
#include "task/task.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace rollcall;
using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t end) { return std::size_t(random() % end); }

/// What means something to one verifier or another.
const std::vector<std::string> kPieces = {"<think>",
                                          "</think>",
                                          "<answer>",
                                          "</answer>",
                                          "{\"a\":",
                                          "}",
                                          "[",
                                          "]",
                                          "\"",
                                          ",",
                                          ":",
                                          "1",
                                          "-",
                                          "3.5",
                                          "1e400",
                                          "true",
                                          "null",
                                          "\\u0000",
                                          "\\",
                                          "***",
                                          "******",
                                          "\n\n",
                                          "\n- ",
                                          "*a*",
                                          "P.S.",
                                          "<<",
                                          ">>",
                                          "Section 1",
                                          "My answer is yes.",
                                          "A",
                                          "B",
                                          "(C)",
                                          "KNK",
                                          "knight",
                                          "knave",
                                          " and ",
                                          "A-B->C",
                                          "none",
                                          "km",
                                          "/",
                                          "####",
                                          "\\boxed{",
                                          "\xFF",
                                          "\xE2\x88\x92",
                                          "99999999999999999999",
                                          " ",
                                          ".",
                                          "AB",
                                          "```json"};

std::string noise(Random& random) {
  std::string text;
  if (below(random, 500) == 0) {  // long: no verifier may recurse, or take its square, by the
                                  // length of an answer
    const auto &a = kPieces[below(random, kPieces.size())],
               &b = kPieces[below(random, kPieces.size())];
    while (text.size() < 200000) text += below(random, 2) == 0 ? a : b;
    return text;
  }
  for (std::size_t i = below(random, 24); i > 0; --i)
    text += below(random, 5) == 0 ? std::string(1, char(random()))
                                  : kPieces[below(random, kPieces.size())];
  return text;
}

std::string damaged(std::string bytes, Random& random) {
  for (std::size_t i = 1 + below(random, 3); i > 0; --i) {
    const std::size_t at = below(random, bytes.size() + 1);
    switch (below(random, 4)) {
      case 0: bytes.insert(at, kPieces[below(random, kPieces.size())]); break;
      case 1: bytes.erase(at, 1 + below(random, 6)); break;
      case 2: bytes.insert(at, bytes.substr(0, below(random, bytes.size() + 1))); break;
      default:
        if (at < bytes.size()) bytes[at] = char(random());
    }
  }
  return bytes;
}

struct Subject {
  const reward::Verifier* verifier;
  std::vector<Prompt> prompts;
};

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const auto& name : task::task_names()) {
    if (name == "file" || name == "corpus") continue;  // they read files
    TaskSection section;
    section.train_prompts = 300, section.validation_prompts = 0, section.heldout_prompts = 1;
    const auto& row = task::find_task(name);
    all.push_back({&reward::find_verifier(row.verifier), row.make(section, 1).train});
  }
  Prompt marked;
  marked.answer = "1,050", marked.solution = "50 - 1,100\n#### 1050";
  all.push_back({&reward::find_verifier("marked_answer"), {marked}});
  Prompt text;
  text.answer = R"({"next": ["AB none 12.", "km / AB."], "masked": false})",
  text.solution = "AB none 12. km";
  all.push_back({&reward::find_verifier("continuation"), {text}});
  Prompt called;
  called.answer = R"({"calls": [{"name": "add", "arguments": {"a": 1, "b": [2, "x"]}}]})",
  called.solution = R"([{"name": "add", "arguments": {"a": 1, "b": [2, "x"]}}])";
  all.push_back({&reward::find_verifier("tool_calls"), {called}});
  Prompt flawed;  // of no task, as mathematics
  flawed.answer = R"({"error": 2, "steps": 5})", flawed.solution = "Step 2 is wrong: \\boxed{2}";
  all.push_back({&reward::find_verifier("error_index"), {flawed}});
  Subject mathematics{&reward::find_verifier("math"), {}};
  for (const char* value : {"\\frac{1}{2}", "3\\sqrt{2}", "x^2-3x+2", "\\{1,2,3\\}",
                            "[0,1)\\cup(2,\\infty)", "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}",
                            "y=2x+1", "5\\text{ km}", "1+2i", "\\sin\\frac{\\pi}{6}"}) {
    Prompt prompt;
    prompt.answer = value, prompt.solution = std::string("so it is \\boxed{") + value + "}";
    mathematics.prompts.push_back(prompt);
  }
  all.push_back(mathematics);
  return all;
}

bool is_sound(const Score& score, std::size_t components) {
  const bool in_range = std::all_of(score.components.begin(), score.components.end(),
                                    [](double c) { return c >= 0.0 && c <= 1.0; });
  return in_range && score.components.size() == components &&
         score.correct == (score.components[0] == 1.0);
}

/// What went wrong, or null.
const char* run_one(const std::vector<Subject>& all, std::uint64_t seed) {
  Random random(seed);
  const Subject& subject = all[below(random, all.size())];
  TaskSection section;
  section.extract = below(random, 4) == 0 ? "answer_tag" : "";
  const reward::Grader judge(*subject.verifier, section);
  Prompt prompt = subject.prompts[below(random, subject.prompts.size())];
  const std::string response =
      below(random, 2) == 0 ? noise(random) : damaged(prompt.solution, random);
  const bool finished = below(random, 8) != 0, broken = below(random, 4) == 0;
  if (broken) prompt.answer = damaged(prompt.answer, random);
  try {
    const Score score = judge.score(prompt, response, finished),
                again = judge.score(prompt, response, finished);
    if (!is_sound(score, subject.verifier->components.size())) return "a component is out of range";
    if (score.components != again.components || score.answer != again.answer ||
        score.reason != again.reason)
      return "twice is not the same";
  } catch (const InputError&) {
    if (!broken) return "a sound reference was refused";
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", subject.verifier->name, e.what());
    return "something else was thrown";
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t runs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000,
                      first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  const auto all = subjects();
  double slowest_s = 0;
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    const auto begin = std::chrono::steady_clock::now();
    if (const char* fault = run_one(all, seed)) {
      std::fprintf(stderr, "run %llu: %s\n", static_cast<unsigned long long>(seed), fault);
      return 1;
    }
    slowest_s = std::max(
        slowest_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::printf("%llu runs over %zu verifiers, slowest %.2f ms\n",
              static_cast<unsigned long long>(runs), all.size(), slowest_s * 1e3);
}
