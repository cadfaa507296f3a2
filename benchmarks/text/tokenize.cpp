// How long does a tokenizer.json take to load, and a text to encode? Asked line by line by
// benchmarks/text/tokenizers, which asks others in turn.
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "text/tokenizer/text_files.hpp"

#include <fmt/format.h>

#include <ctime>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace rollcall;

/// Of this process: what a shared machine takes away does not count.
double core_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(
        stderr,
        "usage: bench_text_tokenize TOKENIZER.json TEXTS.json [RUNS]\nEach line of standard input (without RUNS) is answered with the core seconds of one run.\n");
    return int(ExitCode::misconfigured);
  }
  const double before = core_seconds();
  const auto tokenizer = text::read_tokenizer_json(argv[1]);
  const double load_s = core_seconds() - before;
  const auto texts = nlohmann::json::parse(read_file(argv[2])).get<std::vector<std::string>>();
  fmt::print("{}\n", load_s);
  std::fflush(stdout);
  const auto run = [&] {
    const double began = core_seconds();
    std::size_t tokens = 0;
    for (const auto& text : texts) tokens += tokenizer->encode(text).size();
    fmt::print("{} {}\n", core_seconds() - began, tokens);
    std::fflush(stdout);
  };
  if (argc > 3) {
    for (int i = 0; i < std::atoi(argv[3]); ++i) run();
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);) run();
  return 0;
}
