// Writes a run folder with as many rollouts as asked for, for tests and measurements of `rollcall
// view`: write_view_archive FOLDER ROLLOUTS [hostile]
#include "base/files/file.hpp"
#include "base/numbers/random.hpp"
#include "io/archive.hpp"
#include "text/tokenizer/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace rollcall;

constexpr std::uint64_t kGroups = 64, kSamples = 8, kTokens = 64, kStepsPerFile = 40;
constexpr std::string_view kHostile =
    "<script>window.hurt = 1</script><img src=x onerror=\"window.hurt = 1\">\u2028</script>&amp;\u202Egnp.exe\"'\\";

struct Writer {
  std::filesystem::path run;
  std::uint64_t rollouts;
  bool hostile;
  std::unique_ptr<text::Tokenizer> tokenizer = text::make_tokenizer("character");

  std::string words(std::uint64_t address, std::size_t size) const {
    const RandomStream stream(5, RandomPurpose::test, address);
    std::string text;
    for (std::uint64_t i = 0; text.size() < size; ++i) text += char(' ' + stream.below(i, 95));
    return text;
  }

  Rollout rollout(std::uint64_t address, std::uint32_t sample,
                  const std::vector<std::int32_t>& prompt) const {
    const RandomStream stream(7, RandomPurpose::test, address);
    const std::string text = hostile ? std::string(kHostile) + "\xE2\x82"
                                     : words(address, kTokens - stream.below(0, 16));
    Turn answer{.role = Role::policy, .tokens = tokenizer->encode(text)};
    for (std::size_t t = 0; t < answer.tokens.size(); ++t) {
      answer.columns.logprob.push_back(-float(stream.uniform(2 * t + 1)) * 3.0F),
          answer.columns.entropy.push_back(float(stream.uniform(2 * t + 2)) * 2.0F);
      answer.policy_version.push_back(address / (kGroups * kSamples));
    }
    Turn asked{.role = Role::prompt, .tokens = prompt};
    return {.sample = sample,
            .finish = FinishReason(stream.below(90, 8) == 0),
            .turns = {std::move(asked), std::move(answer)},
            .text = text};
  }

  io::PackInput write_step(std::uint64_t step, std::uint64_t groups,
                           const io::RunIdentity& identity) const {
    RolloutShard shard{.purpose = Purpose::train,
                       .step = step,
                       .round = 0,
                       .producer = 0,
                       .policy = {step},
                       .temperature = 1.0F,
                       .groups = {}};
    ScoredShard scores{.purpose = Purpose::train,
                       .step = step,
                       .round = 0,
                       .producer = 0,
                       .component_names = {"correct", "format"},
                       .scores = {}};
    if (hostile) scores.component_names[1] = std::string(kHostile);
    std::vector<io::ShardPrompt> prompts;
    // a prompt comes back ten times
    const std::uint64_t known = std::max(kGroups, rollouts / kSamples / 10);
    for (std::uint64_t g = 0; g < groups; ++g) {
      const std::uint64_t prompt = ((step - 1) * kGroups + g) % known;
      const std::string text = hostile ? std::string(kHostile) : words(prompt | 1ULL << 40U, 12);
      prompts.push_back({text, hostile ? std::string(kHostile) : fmt::format("{}", prompt)});
      Group group{.id = {step, {prompt}, 0},
                  .level = std::int32_t(prompt % 5),
                  .rollouts = {},
                  .planned = kSamples,
                  .bin = std::int32_t(prompt % 3),
                  .stream_prompt = prompt};
      auto& verdicts = scores.scores.emplace_back();
      const auto tokens = tokenizer->encode(text);
      for (std::uint32_t i = 0; i < kSamples; ++i) {
        const std::uint64_t address = ((step - 1) * kGroups + g) * kSamples + i;
        group.rollouts.push_back(rollout(address, i, tokens));
        const bool correct = RandomStream(9, RandomPurpose::test, address).below(0, 100) <
                             std::min<std::uint64_t>(90, 20 + step);
        verdicts.push_back({.components = {correct ? 1.0 : 0.0, 0.5},
                            .reward = correct ? 1.0 : 0.0,
                            .correct = correct,
                            .answer = hostile ? std::string(kHostile)
                                              : fmt::format("{}", prompt + (correct ? 0 : 1))});
      }
      shard.groups.push_back(std::move(group));
    }
    return {io::publish(run, io::draft_shard(shard, prompts, identity)),
            io::publish(run, io::draft_scores(scores, shard, identity))};
  }

  void write() const {
    const io::RunIdentity identity{"synthetic", "", "", "synthetic", "", 1, ""};
    std::filesystem::create_directories(run);
    write_file_synced(
        run / "config.toml",
        "[run]\ndir = \"synthetic\"\n[text]\ntokenizer = \"character\"\n[sampling]\nmax_new_tokens = 64\n");
    std::vector<io::PackInput> inputs;
    const std::uint64_t groups = (rollouts + kSamples - 1) / kSamples,
                        steps = (groups + kGroups - 1) / kGroups;
    for (std::uint64_t step = 1, first = 1; step <= steps; ++step) {
      inputs.push_back(
          write_step(step, std::min(kGroups, groups - (step - 1) * kGroups), identity));
      if (step % kStepsPerFile != 0 && step != steps) continue;
      io::pack(*comm::alone(), run, fmt::format("train_{:06}-{:06}", first, step), inputs,
               identity);
      inputs.clear(), first = step + 1;
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  Writer{.run = argv[1],
         .rollouts = std::strtoull(argv[2], nullptr, 10),
         .hostile = argc > 3 && std::string_view(argv[3]) == "hostile"}
      .write();
  return 0;
}
