// A run file that asks for 256 prompts and 1,024 rollouts spends exactly 1,024 in each of 100
// steps, under every policy that promises exact totals. Rank 0 is the real one, from the run file
// to the plans it sends; who would generate, score and update answers at once with results by
// address.
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "io/sample_run.hpp"
#include "report/metrics.hpp"
#include "run/context/run_context.hpp"
#include "run/coordinator/coordinator.hpp"
#include "run/played_ranks.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

namespace rollcall::run {
namespace {

constexpr std::uint64_t kSteps = 100;
constexpr std::int64_t kRollouts = 1024;

struct Enough {};  // the plan of step 101 is asked for

/// What each step drew, and results by address.
struct DrawCounts {
  std::map<std::uint64_t, std::int64_t> rollouts;  ///< by step
  /// rollouts of each of a step
  std::map<std::uint64_t, std::map<PromptId, std::int64_t>> prompts;

  GroupReport sample(const StepPlan& plan, const GroupPlan& group) {
    if (plan.step > kSteps) throw Enough{};
    rollouts[plan.step] += group.count;
    prompts[plan.step][group.id.prompt] += group.count;
    GroupReport report{.id = group.id, .level = group.level, .from = group.from};
    for (std::uint32_t s = group.first_sample; s < group.first_sample + group.count; ++s) {
      const bool right =
          RandomStream(9, RandomPurpose::test, plan.step, group.id.prompt.value, s).uniform(0) <
          0.05 * double(group.id.prompt.value % 21);
      report.rewards.push_back(right), report.correct.push_back(right), report.lengths.push_back(4);
    }
    return report;
  }
};

/// Questions of three domains, each with the success that a value model expects, so that no policy
/// lacks what it needs but one.
RunConfig run_file(const std::filesystem::path& folder, const std::string& policy) {
  std::string questions;
  for (int i = 0; i < 800; ++i)
    questions += fmt::format(
        "{{\"question\": \"{}+1\", \"answer\": \"{}\", \"kind\": \"k{}\", \"rate\": {}}}\n", i,
        i + 1, i % 3, 0.05 * (i % 21));
  write_file_atomic(folder / "questions.jsonl", questions);
  write_file_atomic(folder / "run.toml", fmt::format(R"(
run = {{ dir = "{0}", log_level = "error" }}
task = {{ name = "file", file = "{0}/questions.jsonl", answer_marker = "", fields = {{ domain = "kind", prior = "rate" }} }}
text = {{ tokenizer = "byte" }}
model = {{ hidden_size = 16, intermediate_size = 16, num_hidden_layers = 1, num_attention_heads = 1, num_key_value_heads = 1, head_dim = 16 }}
sft = {{ steps = 0 }}
train = {{ steps = {1}, prompts_per_step = 256, rollouts_per_prompt = 4 }}
scheduler = {{ policy = "{2}" }}
eval = {{ before = false }}
checkpoint = {{ every = 1000 }}
)",
                                                     folder.string(), kSteps + 1, policy));
  return load_run_config(folder / "run.toml", {});
}

bool promises_exact_totals(const std::string& row) {
  return scheduling::make_scheduler({row}, {}, {.level = {1}}, 1)->traits().exact_total;
}

std::vector<std::string> exact_rows() {
  auto rows = scheduling::policy_names();
  std::erase_if(rows, [](const std::string& row) { return !promises_exact_totals(row); });
  return rows;
}

class ExactBudget : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Rows, ExactBudget, testing::ValuesIn(exact_rows()),
                         [](const auto& row) { return row.param; });

TEST_P(ExactBudget, OfARunFileIsSpentInEachOfAHundredSteps) {
  const io::test::RunFolder folder;
  RunContext context = make_context(run_file(folder.path(), GetParam()), {});
  DrawCounts drawn;
  test::PlayedRanks ranks(context.layout, [&](const StepPlan& plan, const GroupPlan& group) {
    return drawn.sample(plan, group);
  });
  Mailbox mail(ranks);
  const auto next = [&](const std::string&) { return ranks.next(); };
  if (GetParam() == "arrol") {  // no stage predicts success while it generates: refused by name,
                                // rather than fed nothing
    EXPECT_THROW(Coordinator(context, mail, next, {}, {}), ConfigError);
    return;
  }
  {
    Coordinator coordinator(context, mail, next, {}, {});
    EXPECT_THROW(coordinator.train(), Enough);
  }
  ASSERT_EQ(drawn.rollouts.size(), kSteps);
  for (const auto& [step, rollouts] : drawn.rollouts)
    ASSERT_EQ(rollouts, kRollouts) << "step " << step;
  // one_shot's second half is copies of one prompt; a side of wgrpo's pairs that has run out draws
  // its own prompts again.
  if (GetParam() != "one_shot" && GetParam() != "wgrpo") {
    for (const auto& [step, prompts] : drawn.prompts)
      ASSERT_EQ(prompts.size(), 256U) << "step " << step;
  }
  std::size_t told = 0;
  for (const auto& row : report::read_metrics(folder.path())) {
    for (const auto& [name, value] : row.values) {
      if (name == "rollout_alloc/drawn" || name == "rollout_alloc/total_budget") {
        EXPECT_EQ(value, double(kRollouts)) << name << " of step " << row.step;
        ++told;
      }
    }
  }
  EXPECT_EQ(told, 2 * kSteps);
}

}  // namespace
}  // namespace rollcall::run
