// Writes a small run for readers in other languages: shards, scores and an archive, and what they
// should find in it as JSON on standard output.
#include "base/errors/error.hpp"
#include "io/sample_run.hpp"

#include <fmt/format.h>

#include <cstdio>

int main(int argc, char** argv) {
  using namespace rollcall::io;
  if (argc != 2) return 2;
  const std::filesystem::path run = argv[1];
  std::vector<PackInput> inputs;
  for (std::uint64_t step = 1; step <= 3; ++step)
    inputs.push_back(test::write(run, test::sample(7, step, 4)));
  // the other two were not recorded
  inputs.push_back(test::write_training(run, {test::sample(7, 2, 4)}));
  const ArchiveEntry entry = pack(*rollcall::comm::alone(), run, "train", inputs, test::identity());
  test::write(run, test::sample(7, 4, 4));  // stays a shard
  test::write_in_one(run, test::sample(7, 6, 4));
  test::write_training(run, {test::sample(7, 6, 4)});
  // a producer without work
  test::write(run, test::sample(7, 5, 0, 0, 1, rollcall::Purpose::validation));
  std::size_t policy_tokens = 0, correct = 0;
  std::string prompts;
  for (const ArchivedGroup& group : read_archive(run, entry)) {
    prompts += group.prompt.text + "|";
    for (const auto& rollout : group.group.rollouts)
      for (const auto& turn : rollout.turns)
        policy_tokens += turn.role == rollcall::Role::policy ? turn.tokens.size() : 0;
    for (const auto& score : group.scores) correct += score.correct ? 1 : 0;
  }
  std::string hex;
  for (const unsigned char byte : prompts) hex += fmt::format("{:02x}", byte);
  fmt::print(
      R"({{"archive": "{}", "groups": {}, "rollouts": {}, "tokens": {}, "policy_tokens": {}, "correct": {}, "prompts_hex": "{}"}})"
      "\n",
      entry.file.path, entry.groups, entry.rollouts, entry.tokens, policy_tokens, correct, hex);
  return 0;
}
