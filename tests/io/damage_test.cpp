// Damaged, foreign and inconsistent files are refused with a message that names file and fault.
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/numbers/hash.hpp"
#include "io/compact_tables.hpp"
#include "io/group_columns.hpp"
#include "io/mapped_shard.hpp"
#include "io/published.hpp"
#include "io/sample_run.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <functional>

namespace rollcall::io::test {
namespace {

namespace fs = std::filesystem;

/// As if these bytes had been published.
PublishedFile as_published(const fs::path& run, const std::string& path, const std::string& bytes) {
  put(run / path, bytes);
  return {path, bytes.size(), checksum64(bytes)};
}

struct Columns {
  KeyColumns keys;
  RolloutColumns rollouts;
  Attributes attributes;
};

/// Shards are compact; those of earlier programs have tables, and are read too.
enum class Form { compact, tables };

/// A shard file whose columns or attributes `spoil` has changed; every checksum in and of the file
/// is right.
PublishedFile spoiled(const fs::path& run, Form form, const std::function<void(Columns&)>& spoil) {
  Sample s = sample(3, 4, 3);
  Rollout& first = s.shard.groups[0].rollouts[0];
  first.facts.assign(first.turns.size(), TurnFacts{});
  first.facts[1] = {.reward = 1.0, .components = {0.5, 0.25}, .action = 7, .reason = "why"};
  Columns c;
  for (std::size_t g = 0; g < s.shard.groups.size(); ++g) {
    append(s.shard.groups[g], c.keys);
    append(s.shard.groups[g], s.prompts[g], s.shard.temperature, c.rollouts);
  }
  c.attributes = identity_attributes(identity(), "shard", Purpose::train,
                                     form == Form::compact ? kCompactMajor : kSchemaMajor);
  for (const char* name : {"step", "round", "producer", "policy_version"})
    c.attributes.emplace_back(name, std::uint64_t{4});
  c.attributes.emplace_back("temperature", 1.0F);
  spoil(c);
  const auto columns = views(c.keys, c.rollouts);
  {
    const auto inside = enter_hdf5();
    const Layout layout{extents_of(columns, 0), {}, c.attributes};
    if (form == Form::compact) write_file_shown(run / "spoiled.h5", build_compact(columns, layout));
    else write_tables(run / "spoiled.h5", columns, layout, Values::here);
  }
  return inspect(run, "spoiled.h5");
}

void expect_refused(const std::function<void(Columns&)>& spoil, const std::string& words) {
  for (const Form form : {Form::compact, Form::tables}) {
    const RunFolder run;
    const PublishedFile file = spoiled(run, form, spoil);
    const std::string fault = fault_of([&] { read_shard(run, file); });
    EXPECT_NE(fault.find("spoiled.h5"), std::string::npos) << fault;
    EXPECT_NE(fault.find(words), std::string::npos) << fault;
  }
}

TEST(Damage, EverySampledByteFlipIsRefused) {
  const RunFolder run;
  const PackInput files = write(run, sample(1, 2, 2));
  for (const PublishedFile& file :
       {files.shard, files.scores, write_in_one(run, sample(1, 2, 2)).shard}) {
    const std::string good = content(run.path() / file.path);
    for (std::size_t at = 0; at < good.size(); at += 61) {
      std::string bad = good;
      bad[at] = char(bad[at] ^ (1 << (at % 8)));
      put(run.path() / file.path, bad);
      const std::string fault = fault_of([&] {
        file.path == files.scores.path ? (void)read_scores(run, file) : (void)read_shard(run, file);
      });
      ASSERT_NE(fault.find(file.path + ": its checksum is"), std::string::npos)
          << "byte " << at << ": " << fault;
    }
  }
}

TEST(Damage, TruncatedAndMissingFilesAreRefused) {
  const RunFolder run;
  const PublishedFile file = write(run, sample(1, 2, 2)).shard;
  const std::string good = content(run.path() / file.path);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, good.size() / 2, good.size() - 1}) {
    put(run.path() / file.path, good.substr(0, size));
    EXPECT_NE(fault_of([&] { read_shard(run, file); }).find("bytes where"), std::string::npos);
    EXPECT_NE(fault_of([&] {
                read_shard(run, as_published(run, "cut.h5", good.substr(0, size)));
              }).find("cut.h5"),
              std::string::npos)
        << size;
  }
  fs::remove(run.path() / file.path);
  EXPECT_NE(fault_of([&] { read_shard(run, file); }).find(file.path + ": No such file"),
            std::string::npos);
}

/// The checksum of the whole file made to fit: what is left are HDF5's own checks, ours on columns
/// and counts, and no crash.
TEST(Damage, FlipsBehindAFittingFileChecksumNeverPassAsOtherValues) {
  const RunFolder run;
  const Sample s = sample(1, 2, 4);
  const std::string good = content(run.path() / write_in_one(run, s).shard.path);
  EXPECT_TRUE(rc::check([&] {
    std::string bad = good;
    for (int flips = *rc::gen::inRange(1, 4); flips > 0; --flips) {
      const auto at = *rc::gen::inRange<std::size_t>(0, bad.size());
      bad[at] = char(bad[at] ^ *rc::gen::inRange(1, 256));
    }
    try {
      std::vector<ShardPrompt> prompts;
      const RolloutShard shard = read_shard(run, as_published(run, "bad.h5", bad), &prompts);
      // the flip met padding, an attribute or a score
      RC_ASSERT(same(shard.groups, s.shard.groups) && same(prompts, s.prompts));
      const ScoredShard scores = read_scores(run, as_published(run, "bad.h5", bad));
      for (std::size_t g = 0; g < s.scores.scores.size(); ++g)
        RC_ASSERT(same(scores.scores.at(g), s.scores.scores[g]));
    } catch (const StorageError&) {
    } catch (const EnvironmentError&) {  // the flip made the schema a newer one
    }
  }));
}

TEST(Damage, ColumnsAreCheckedByTheirOwnChecksum) {
  const RunFolder run;
  const PublishedFile file = write(run, sample(1, 2, 4)).shard;
  std::string bytes = content(run.path() / file.path);
  const auto logprob = sample(1, 2, 4).shard.groups[0].rollouts[0].turns[1].columns.logprob;
  ASSERT_FALSE(logprob.empty());
  const auto at = bytes.find(
      std::string(reinterpret_cast<const char*>(logprob.data()), logprob.size() * sizeof(float)));
  ASSERT_NE(at, std::string::npos);
  bytes[at] = char(bytes[at] ^ 1);
  EXPECT_NE(fault_of([&] {
              read_shard(run, as_published(run, "flip.h5", bytes));
            }).find("tokens/logprob has checksum"),
            std::string::npos);
}

TEST(Damage, UnspoiledColumnsAreAccepted) {
  const RunFolder run;
  for (const Form form : {Form::compact, Form::tables})
    EXPECT_EQ(fault_of([&] { read_shard(run, spoiled(run, form, [](Columns&) {})); }), "");
}

TEST(Damage, InconsistentCountsAreRefused) {
  expect_refused([](Columns& c) { c.keys.rollout_count[0] += 1; }, "groups/rollout_count sums to");
  expect_refused([](Columns& c) { c.rollouts.turn_count[0] -= 1; }, "rollouts/turn_count sums to");
  expect_refused([](Columns& c) { c.rollouts.token_count[1] += 1; }, "turns/token_count sums to");
  expect_refused([](Columns& c) { c.rollouts.prompt_bytes[0] += 1; },
                 "groups/prompt_bytes sums to");
  expect_refused([](Columns& c) { c.rollouts.completion_bytes[0] += 7; },
                 "rollouts/completion_bytes sums to");
  expect_refused([](Columns& c) { c.keys.group.back() = 0; }, "rollouts/group says 0");
}

TEST(Damage, ValuesOutsideTheirCodesAreRefused) {
  expect_refused([](Columns& c) { c.rollouts.role[0] = 3; }, "turns/role holds 3");
  expect_refused([](Columns& c) { c.rollouts.finish[0] = -1; }, "rollouts/finish holds -1");
  expect_refused([](Columns& c) { c.rollouts.finish[0] = 4; }, "rollouts/finish holds 4");
  expect_refused([](Columns& c) { c.rollouts.conversation.kind[0] = 11; }, "groups/kind holds 11");
  expect_refused([](Columns& c) { c.rollouts.conversation.kind[0] = 1 << 8; },
                 "groups/kind holds 256");
  expect_refused([](Columns& c) { c.rollouts.conversation.placement[2] = -2; },
                 "groups/placement holds -2");
}

/// A rollout with facts, by its row.
std::size_t with_facts(const Columns& c) {
  const auto& counts = c.rollouts.conversation.fact_count;
  const auto found = std::find_if(counts.begin(), counts.end(), [](auto n) { return n > 0; });
  return std::size_t(found - counts.begin());
}

TEST(Damage, ConversationsThatCannotBeAreRefused) {
  using C = ConversationColumns;
  const auto refused = [](std::vector<std::int64_t> C::*column, std::int64_t value,
                          const std::string& words) {
    expect_refused([=](Columns& c) { (c.rollouts.conversation.*column).at(0) = value; }, words);
  };
  refused(&C::start_bytes, -1, "groups/start_bytes holds -1, which is no count");
  refused(&C::fact_count, std::int64_t{1} << 32U, "rollouts/fact_count holds 4294967296");
  refused(&C::component_count, -1, "turn_facts/component_count holds -1");
  refused(&C::reason_bytes, 1000, "turn_facts/fact_reason_bytes sums to");
  refused(&C::parent_step, -1, "groups/parent_step holds -1");
  refused(&C::parent_prompt, -7, "groups/parent_prompt holds -7");
  refused(&C::parent_draw, std::int64_t{1} << 32U, "groups/parent_draw holds 4294967296");
  refused(&C::parent_sample, -2, "groups/parent_sample holds -2");
  refused(&C::tier, std::int64_t{1} << 31U, "groups/tier holds 2147483648");
  refused(&C::parent, -2, "rollouts/parent holds -2");
  refused(&C::fork_token, -2, "rollouts/fork_token holds -2");
  refused(&C::opening, -1, "rollouts/opening holds -1");
  refused(&C::component, 1, "fact_components/name is 1 at row 0, which is part 0 of the reward");
}

/// The counts add up, but they give the facts of one rollout to another.
TEST(Damage, FactsOfSomeTurnsAreRefused) {
  const auto moved = [](Columns& c) {
    auto& counts = c.rollouts.conversation.fact_count;
    const std::size_t from = with_facts(c), to = from == 0 ? 1 : 0;
    counts.at(from) -= 1, counts.at(to) += 1;
  };
  expect_refused(moved, "rollouts/fact_count is ");
  const RunFolder run;
  const PublishedFile file = spoiled(run, Form::compact, moved);
  EXPECT_NE(fault_of([&] {
              map_shard(run, {file, {"scores.h5", 0, 0}});
            }).find("spoiled.h5: rollouts/fact_count is "),
            std::string::npos)
      << "it is not packed either";
}

TEST(Damage, OtherSchemasAndKindsAreRefused) {
  expect_refused([](Columns& c) { c.attributes[0].second = std::int32_t{0}; }, "it has schema 0.");
  expect_refused([](Columns& c) { c.attributes[2].second = std::string("scores"); },
                 "kind \"scores\"");
  expect_refused([](Columns& c) { c.attributes[9].second = std::string("play"); },
                 "purpose is \"play\"");
  const RunFolder run;
  for (const Form form : {Form::compact, Form::tables}) {
    const auto newer =
        spoiled(run, form, [](Columns& c) { c.attributes[0].second = std::int32_t{3}; });
    EXPECT_THROW(read_shard(run, newer), EnvironmentError)
        << "not damaged: a newer program wrote it";
    EXPECT_EQ(fault_of([&] {
                read_shard(run, spoiled(run, form, [](Columns& c) {
                             c.attributes[1].second = std::int32_t{kSchemaMinor + 1};
                           }));
              }),
              "")
        << "a minor version is compatible";
  }
}

TEST(Damage, AFactOfAnotherKindIsRefused) {
  const RunFolder run;
  const auto fault = [&](std::size_t attribute, auto value) {
    return fault_of([&] {
      read_shard(run, spoiled(run, Form::compact,
                              [&](Columns& c) { c.attributes[attribute].second = value; }));
    });
  };
  EXPECT_NE(fault(2, std::uint64_t{3}).find("cannot find kind"), std::string::npos);
  EXPECT_NE(fault(11, std::string("four")).find("cannot find step"), std::string::npos);
  EXPECT_NE(
      fault(12, std::uint64_t{1} << 40U).find("fact round is 1099511627776, which is too large"),
      std::string::npos);
}

/// The index alone says where a column lies: what it says is held against the file before it is
/// believed.
TEST(Damage, AnIndexThatLeadsElsewhereIsRefused) {
  const RunFolder run;
  const std::string good = content(run.path() / write(run, sample(1, 2, 4)).shard.path);
  const auto row = good.find("tokens/logprob");
  ASSERT_NE(row, std::string::npos);
  // offset at 40, bytes at 48, checksum at 56
  const auto with = [&](std::size_t at, std::uint64_t value) {
    std::string bad = good;
    bad.replace(row + at, 8, reinterpret_cast<const char*>(&value), 8);
    return fault_of([&] { read_shard(run, as_published(run, "led.h5", bad)); });
  };
  EXPECT_NE(with(40, 4).find("tokens/logprob has checksum"), std::string::npos);
  EXPECT_NE(with(40, std::uint64_t(-4)).find("tokens/logprob extends past the end"),
            std::string::npos);
  EXPECT_NE(with(48, std::uint64_t{1} << 60U).find("tokens/logprob extends past the end"),
            std::string::npos);
  EXPECT_NE(with(48, 3).find("tokens/logprob has no type of a column"), std::string::npos);
  EXPECT_NE(with(48, 4).find("tokens/logprob"), std::string::npos)
      << "fewer rows than its table has";
  EXPECT_NE(with(32, 0).find("tokens/logprob has no type of a column"), std::string::npos);
  EXPECT_NE(with(56, 1).find("tokens/logprob has checksum"), std::string::npos);
  EXPECT_NE(with(0, 0).find("cannot open column tokens/logprob"), std::string::npos);
}

/// The file as a program with the next minor version might have written it: with a column and an
/// attribute more.
PublishedFile of_the_next_minor(const fs::path& run, const std::string& path) {
  {
    const auto inside = enter_hdf5();
    const Handle file(H5Fopen((run / path).c_str(), H5F_ACC_RDWR, file_properties()), "open");
    const std::int32_t minor = kSchemaMinor + 1;
    const Handle version(H5Aopen(file, "schema_minor", H5P_DEFAULT), "open attribute");
    check(H5Awrite(version, H5T_STD_I32LE, &minor), "write attribute");
    const Handle scalar(H5Screate(H5S_SCALAR), "make space");
    const Handle attribute(
        H5Acreate2(file, "weather", H5T_STD_I32LE, scalar, H5P_DEFAULT, H5P_DEFAULT),
        "create attribute");
    check(H5Awrite(attribute, H5T_STD_I32LE, &minor), "write attribute");
    const std::array<std::uint64_t, 2> values{3, 4};
    const hsize_t rows = values.size();
    const Handle space(H5Screate_simple(1, &rows, nullptr), "make space");
    const Handle column(
        H5Dcreate2(file, "mood", H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        "create column");
    check(H5Dwrite(column, H5T_STD_U64LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
          "write column");
  }
  return inspect(run, path);
}

/// A pack would leave out what this program does not know and then remove the only copy.
TEST(Damage, FilesOfALaterMinorVersionAreReadButNotPacked) {
  const Sample s = sample(1, 2, 2);
  for (const bool scores_are_newer : {false, true}) {
    const RunFolder run;
    PackInput files = write(run, s);
    PublishedFile& newer = scores_are_newer ? files.scores : files.shard;
    EXPECT_NO_THROW(map_shard(run, files));
    newer = of_the_next_minor(run, newer.path);
    std::vector<ShardPrompt> prompts;
    EXPECT_TRUE(same(read_shard(run, files.shard, &prompts).groups, s.shard.groups));
    EXPECT_TRUE(same(prompts, s.prompts));
    const ScoredShard scores = read_scores(run, files.scores);
    for (std::size_t g = 0; g < s.shard.groups.size(); ++g)
      EXPECT_TRUE(same(scores.scores.at(g), s.scores.scores[g]));
    EXPECT_THROW(map_shard(run, files), EnvironmentError);
    EXPECT_THROW(pack(*comm::alone(), run, "x", {files}, identity()), EnvironmentError);
    for (const PublishedFile& file : {files.shard, files.scores})
      EXPECT_TRUE(fs::exists(run.path() / file.path)) << file.path;
    EXPECT_TRUE(read_manifest(run).empty());
  }
}

TEST(Damage, FilesThatAreNotHdf5AreRefused) {
  const RunFolder run;
  EXPECT_NE(fault_of([&] {
              read_shard(run, as_published(run, "note.h5", "hello"));
            }).find("note.h5: cannot open"),
            std::string::npos);
}

TEST(Damage, BrokenContractsAreNotWritten) {
  const RunFolder run;
  Sample s = sample(1, 2, 2);
  s.shard.groups[0].rollouts[0].turns[0].columns.logprob = {0.0F};  // a prompt turn with a value
  EXPECT_THROW(draft_shard(s.shard, s.prompts, identity()), std::logic_error);
  EXPECT_THROW(draft_shard(sample(1, 2, 2).shard, {}, identity()), std::logic_error);
  s = sample(1, 2, 2);
  s.scores.scores[1].pop_back();
  EXPECT_THROW(draft_scores(s.scores, s.shard, identity()), std::logic_error);
  EXPECT_FALSE(fs::exists(run.path() / "shards") && !fs::is_empty(run.path() / "shards"));
}

}  // namespace
}  // namespace rollcall::io::test
