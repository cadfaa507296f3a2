// What rank 0 remembers: the same bits after a round trip through JSON, and a refusal of anything
// else.
#include "run/checkpoint/coordinator_state.hpp"
#include "base/errors/error.hpp"
#include "base/text/json.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <tuple>

namespace rollcall::run {
namespace {

double any_finite() {
  const double value =
      std::bit_cast<double>(*rc::gen::resize(1000, rc::gen::arbitrary<std::uint64_t>()));
  return std::isfinite(value) ? value : -0.0;
}

std::string any_text() { return *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)); }

io::PublishedFile any_file() {
  return {any_text(), *rc::gen::arbitrary<std::uint64_t>(),
          *rc::gen::resize(1000, rc::gen::arbitrary<std::uint64_t>())};
}

std::optional<std::vector<report::PromptOutcome>> any_outcomes() {
  if (*rc::gen::arbitrary<bool>()) return std::nullopt;
  std::vector<report::PromptOutcome> outcomes(std::size_t(*rc::gen::inRange(0, 4)));
  for (auto& o : outcomes)
    o = {*rc::gen::arbitrary<std::int32_t>(),
         *rc::gen::arbitrary<std::vector<std::uint8_t>>(),
         {any_text(), "数 3/4"}};
  return outcomes;
}

/// Derived prompt `index` of a kind, in the order in which a state holds kinds.
DerivedPrompt any_derived(std::uint64_t index) {
  const DerivedKind kinds[] = {DerivedKind::verdict, DerivedKind::reflection,
                               DerivedKind::continuation};
  DerivedPrompt derived;
  Derivation& from = derived.from;
  from.kind = kinds[index];
  derived.prompt = {.id = derived_number(from.kind, 5, index),
                    .level = *rc::gen::arbitrary<std::int32_t>(),
                    .text = any_text() + "\xFF",
                    .answer = any_text(),
                    .solution = {}};
  if (is_judge_task(from.kind)) return derived;
  from.parent = {*rc::gen::arbitrary<std::uint64_t>(), {*rc::gen::arbitrary<std::uint64_t>()}, 3};
  if (*rc::gen::arbitrary<bool>()) from.parent_sample = 7;
  from.tier = 2, from.placement = Placement::joins_parent;
  derived.given = *rc::gen::arbitrary<std::vector<std::int32_t>>();
  derived.learns_given = *rc::gen::arbitrary<bool>();
  return derived;
}

CoordinatorState any_state() {
  CoordinatorState s;
  s.sft_steps = *rc::gen::arbitrary<std::int64_t>(),
  s.train_steps = *rc::gen::arbitrary<std::int64_t>(),
  s.metric_rows = *rc::gen::arbitrary<std::int64_t>();
  s.bad_steps = *rc::gen::arbitrary<std::int64_t>(),
  s.packed_steps = *rc::gen::arbitrary<std::int64_t>();
  s.policy_version = *rc::gen::arbitrary<std::uint64_t>(),
  s.rollouts_total = *rc::gen::resize(1000, rc::gen::arbitrary<std::uint64_t>());
  s.grad_norm_mean = any_finite();
  if (*rc::gen::arbitrary<bool>()) s.best_value = any_finite();
  s.best_checkpoint = any_text(), s.best_metric = any_text(), s.archive_digest = any_text();
  s.prompts_hash = any_text(), s.before_prompts = any_text(), s.after_prompts = any_text();
  s.validations_since_best = *rc::gen::inRange(0, 9);
  s.actions_left = *rc::gen::inRange(1, 9);
  if (*rc::gen::arbitrary<bool>()) s.kept.emplace(std::size_t(*rc::gen::inRange(0, 3)), any_text());
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
    s.numerics.push_back(
        {i, *rc::gen::arbitrary<std::int64_t>(), any_text(), i > 1 ? any_text() : ""});
  s.text_hash = any_text(), s.examples_hash = any_text(), s.judge_digest = any_text(),
  s.arithmetic = any_text();
  for (auto* programs : {&s.graders, &s.environment_files})
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
      programs->push_back(
          {any_text(), *rc::gen::resize(1000, rc::gen::arbitrary<std::uint64_t>())});
  s.rollouts_per_level = *rc::gen::arbitrary<std::map<std::int32_t, std::int64_t>>();
  for (const char* stage : {"generation", "update"}) s.seconds[stage] = any_finite();
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    s.unpacked.push_back(
        {Purpose(i), *rc::gen::arbitrary<std::uint64_t>(), {any_file(), any_file()}});
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    s.next.push_back(any_derived(std::uint64_t(3 - i)));
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
    s.histories.push_back({.parent = {*rc::gen::arbitrary<std::uint64_t>(), {7}, 1},
                           .sample = std::uint32_t(i),
                           .level = i,
                           .question = any_text(),
                           .reference = any_text(),
                           .answer = any_text() + "\xFF",
                           .variance = any_finite()});
  s.before = any_outcomes(), s.after = any_outcomes();
  return s;
}

/// Every field with doubles as their bits.
auto bits(const CoordinatorState& s) {
  std::vector<std::tuple<std::string, std::uint64_t>> seconds;
  for (const auto& [stage, value] : s.seconds)
    seconds.emplace_back(stage, std::bit_cast<std::uint64_t>(value));
  std::vector<std::tuple<int, std::uint64_t, std::string, std::uint64_t, std::uint64_t>> files;
  for (const auto& f : s.unpacked)
    for (const auto& p : {f.files.shard, f.files.scores})
      files.emplace_back(int(f.purpose), f.step, p.path, p.bytes, p.checksum);
  std::vector<std::tuple<int, std::int32_t, std::vector<std::uint8_t>, std::vector<std::string>>>
      outcomes;
  for (const auto* list : {&s.before, &s.after}) {
    outcomes.push_back({list->has_value() ? 1 : 0, 0, {}, {}});
    for (const auto& o : list->value_or(std::vector<report::PromptOutcome>{}))
      outcomes.push_back({2, o.level, o.correct, o.answers});
  }
  std::vector<std::tuple<std::uint64_t, std::int32_t, std::string, std::string, Derivation,
                         std::vector<std::int32_t>, bool>>
      next;
  for (const auto& [prompt, from, given, learns] : s.next)
    next.emplace_back(prompt.id.value, prompt.level, prompt.text, prompt.answer, from, given,
                      learns);
  return std::tuple{s.sft_steps,
                    s.train_steps,
                    s.policy_version,
                    s.metric_rows,
                    s.bad_steps,
                    std::bit_cast<std::uint64_t>(s.grad_norm_mean),
                    s.rollouts_total,
                    s.rollouts_per_level,
                    s.best_value.has_value(),
                    std::bit_cast<std::uint64_t>(s.best_value.value_or(0.0)),
                    s.best_checkpoint,
                    s.best_metric,
                    s.validations_since_best,
                    s.kept,
                    s.prompts_hash,
                    s.before_prompts,
                    s.after_prompts,
                    s.packed_steps,
                    s.archive_digest,
                    s.text_hash,
                    s.examples_hash,
                    s.judge_digest,
                    s.arithmetic,
                    to_json(s.numerics),
                    to_json(s.graders),
                    to_json(s.environment_files),
                    files,
                    seconds,
                    next,
                    s.actions_left,
                    s.histories,
                    outcomes};
}

TEST(CoordinatorState, WritesJudgeTasksAsEarlierBuildsDid) {
  CoordinatorState state;
  state.next = {{.prompt = {.id = derived_number(DerivedKind::verdict, 3, 1),
                            .level = 2,
                            .text = "a\xFF",
                            .answer = "b",
                            .solution = {}},
                 .from = {.kind = DerivedKind::verdict}},
                {.prompt = {.id = derived_number(DerivedKind::reflection, 3, 0),
                            .level = 4,
                            .text = "c",
                            .answer = "",
                            .solution = {}},
                 .from = {.kind = DerivedKind::reflection}}};
  const std::string text = to_json(state);
  // 2^39 + 3 * 2^16 + 1, and 2^39 + 2^38 + 3 * 2^16
  EXPECT_NE(text.find(R"("judge_tasks":[[549756010497,2,"61ff","62"],[824633917440,4,"63",""]])"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("environment_files"), std::string::npos);
  EXPECT_EQ(text.find("derived"), std::string::npos)
      << "runs without a second pass have no key more";
  // An earlier build could number more reflections in a step than this one.
  auto older = nlohmann::json::parse(text);
  older["judge_tasks"][1][0] = 824633917440 + 9000;
  EXPECT_EQ(parse_coordinator_state(older.dump(), "test").next[1].from.kind,
            DerivedKind::reflection);
}

TEST(CoordinatorState, SurvivesItsTextBitForBit) {
  EXPECT_TRUE(rc::check("parse(to_json(state)) is the state", [] {
    const CoordinatorState state = any_state();
    RC_ASSERT(bits(parse_coordinator_state(to_json(state), "test")) == bits(state));
  }));
}

TEST(CoordinatorState, KeepsTheHardestDoubles) {
  for (const double value :
       {-0.0, 5e-324, 1.7976931348623157e308, 0.1, 1.0 / 3.0, 9007199254740993.0}) {
    CoordinatorState state;
    state.grad_norm_mean = value;
    EXPECT_EQ(bits(parse_coordinator_state(to_json(state), "test")), bits(state)) << value;
  }
}

void expect_refused(const std::string& text) {
  try {
    parse_coordinator_state(text, "train_000004/coordinator.json");
    ADD_FAILURE() << "accepted: " << text;
  } catch (const StorageError& error) {
    EXPECT_NE(std::string(error.what()).find("train_000004/coordinator.json"), std::string::npos)
        << error.what();
  }
}

UnpackedFile unpacked(Purpose purpose, std::uint64_t step) {
  return {purpose, step, {{fmt::format("{}-{}", int(purpose), step), 0, 0}, {}}};
}

/// One file of a purpose, cut where the archive has a file in between, such as when a damaged one
/// was taken out and its shards were still there.
TEST(PackRequests, NeverReachOverAnArchiveFile) {
  io::ArchiveEntry middle;
  middle.purpose = "train", middle.first_step = 3, middle.last_step = 4;
  const std::vector<UnpackedFile> files{unpacked(Purpose::train, 5), unpacked(Purpose::train, 1),
                                        unpacked(Purpose::eval, 2),  unpacked(Purpose::train, 2),
                                        unpacked(Purpose::train, 2), unpacked(Purpose::eval, 6),
                                        unpacked(Purpose::train, 6), unpacked(Purpose::train, 9)};
  std::vector<std::pair<std::string, std::size_t>> found;
  for (const auto& request : pack_requests(files, {middle}))
    found.emplace_back(request.name, request.files.size());
  EXPECT_EQ(found, (std::vector<std::pair<std::string, std::size_t>>{{"train_000001-000002", 3},
                                                                     {"train_000005-000006", 2},
                                                                     {"train_000009-000009", 1},
                                                                     {"eval_000002-000006", 2}}));
  EXPECT_EQ(pack_requests(files, {}).size(), 4U) << "nor over a step that is missing";
  EXPECT_TRUE(pack_requests({}, {middle}).empty());
}

TEST(CoordinatorState, RefusesDamagedText) {
  const std::string whole = to_json(CoordinatorState{});
  for (std::size_t length = 0; length < whole.size(); length += 7)
    expect_refused(whole.substr(0, length));
  expect_refused("[]");
  const auto json = nlohmann::json::parse(whole);
  for (const auto& [key, value] : json.items()) {
    auto without = json, wrong = json;
    without.erase(key);
    wrong[key] = nlohmann::json{{"unlike", "anything"}};
    expect_refused(without.dump());
    expect_refused(wrong.dump());
  }
  for (const int purpose : {-1, 4}) {
    auto unknown = json;
    unknown["unpacked"] = {{purpose, 1, {"a", 1, 1}, {"b", 1, 1}}};
    expect_refused(unknown.dump());
  }
  auto older = json, newer = json;
  older["format"] = 6, older.erase("arithmetic");
  EXPECT_EQ(bits(parse_coordinator_state(older.dump(), "x")), bits({}));
  older["format"] = 5, older.erase("examples_hash");
  EXPECT_EQ(bits(parse_coordinator_state(older.dump(), "x")), bits({}));
  older["format"] = 4, older.erase("text_hash");
  EXPECT_EQ(bits(parse_coordinator_state(older.dump(), "x")), bits({}));
  older["format"] = 3, older.erase("rollback_to"), older.erase("weights_hash");
  EXPECT_EQ(bits(parse_coordinator_state(older.dump(), "x")), bits({}));
  older["format"] = 2, older.erase("archive_digest");
  EXPECT_EQ(bits(parse_coordinator_state(older.dump(), "x")), bits({}));
  newer["format"] = json.at("format").get<int>() + 1;
  EXPECT_THROW(parse_coordinator_state(newer.dump(), "x"), EnvironmentError)
      << "another version's is no damage";
}

}  // namespace
}  // namespace rollcall::run
