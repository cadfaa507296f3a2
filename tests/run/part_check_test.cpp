// The list of what a checkpoint holds is complete: a part that is missing is noticed, and so is a
// file that no row of it knows; parts are read back in its order.
#include "run/checkpoint/part_check.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "io/sample_run.hpp"
#include "model/tensors/safetensors.hpp"
#include "model/train/value_head.hpp"
#include "run/checkpoint/restore.hpp"
#include "scheduling/prompts/prompt_rows.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace rollcall::run {
namespace {

using io::test::RunFolder;

constexpr PartNeeds kAll{.reference = true, .value_head = true, .scheduler = true};

std::vector<std::string> files_of(const PartRow& row) {
  using Numbers = std::vector<std::vector<std::int64_t>>;
  const Numbers numbers = numbers_of(row.part) == 2   ? Numbers{{1, 3}, {2, 3}, {3, 3}}
                          : numbers_of(row.part) == 1 ? Numbers{{1}, {2}, {3}}
                                                      : Numbers{{}};
  std::vector<std::string> files;
  for (const auto& each : numbers) files.push_back(file_of(row.part, each));
  return files;
}

io::CheckpointFacts whole() {
  io::CheckpointFacts files;
  for (const PartRow& row : part_rows())
    for (const auto& file : files_of(row)) files[file] = {};
  return files;
}

/// What the check says of these files; empty: nothing.
std::string fault(const io::CheckpointFacts& files, const PartNeeds& needs = kAll) {
  try {
    check_parts(files, needs, "train_000004");
    return "";
  } catch (const StorageError& error) {
    return error.what();
  }
}

bool names(const std::string& message, const std::string& what) {
  return message.find(what) != std::string::npos;
}

TEST(Parts, AreWhole) { EXPECT_EQ(fault(whole()), ""); }

TEST(Parts, AreMissedOneByOne) {
  for (const PartRow& row : part_rows()) {
    for (const auto& file : files_of(row)) {
      auto files = whole();
      files.erase(file);
      if (row.part == Part::scheduler_rows && file == files_of(row).back()) continue;  // fewer rows
      const std::string message = fault(files);
      EXPECT_TRUE(names(message, row.what) && names(message, file)) << file << ": " << message;
    }
    auto files = whole();
    for (const auto& file : files_of(row)) files.erase(file);
    const std::string message = fault(files);
    EXPECT_TRUE(names(message, row.what) && names(message, "train_000004"))
        << row.what << ": " << message;
    const bool is_optional = row.presence != Presence::always;
    EXPECT_EQ(fault(files, {.scheduler = false}).empty(), is_optional) << row.what;
  }
}

TEST(Parts, AreAllThatACheckpointHolds) {
  for (const char* file :
       {"notes.txt", "optimizer.safetensors", "scheduler-1.rows",
        "optimizer-000001-of-00003.safetensors", "model.safetensors.index.json"}) {
    auto files = whole();
    files[file] = {};
    EXPECT_TRUE(names(fault(files), file)) << file << ": " << fault(files);
  }
}

TEST(Parts, AreOfOneNumberOfRanks) {
  auto files = whole();
  files["optimizer-00001-of-00002.safetensors"] = {};
  EXPECT_TRUE(names(fault(files), "the moments of the optimizer")) << fault(files);
}

TEST(Parts, HaveNamesThatAreReadBack) {
  for (const std::int64_t number : {1, 99999, 100000, 123456789}) {
    const std::vector<std::int64_t> numbers{number, number + 1};
    EXPECT_EQ(numbers_in(Part::moments, file_of(Part::moments, numbers)), numbers);
  }
  EXPECT_EQ(file_of(Part::moments, std::vector<std::int64_t>{2, 4}),
            "optimizer-00002-of-00004.safetensors");
  EXPECT_EQ(file_of(Part::scheduler_rows, std::vector<std::int64_t>{12}), "scheduler-000012.rows");
}

TEST(Parts, HaveTheFormatsThatTheirOwnersWrite) {
  const std::string rows = scheduling::to_bytes(scheduling::PromptRows{});
  std::uint32_t format = 0;
  std::memcpy(&format, rows.data() + std::strlen("rollrows"), sizeof format);
  EXPECT_EQ(int(format), row_of(Part::scheduler_rows).format);
  auto table = scheduling::prompt_table(4);
  const auto scheduler = scheduling::make_scheduler({"gdro_both"}, {}, table, 1);
  const auto head = nlohmann::json::parse(scheduler->save_parts(scheduling::Rows::all).head);
  EXPECT_EQ(head.at("format").get<int>(), row_of(Part::scheduler).format);
  const auto value_head =
      model::SafetensorsFile::parse(model::ValueHead(16).to_bytes(), "critic.safetensors");
  EXPECT_EQ(value_head.metadata().at("format_number"),
            std::to_string(row_of(Part::value_head).format));
}

TEST(Parts, AreReadBackInTheOrderOfTheList) {
  const RunFolder run;
  io::Checkpoint written{.name = "train_000004", .files = {}};
  for (const auto& [file, facts] : whole()) written.files[file] = "bytes";
  io::write_checkpoint(run, written);
  const io::StoredCheckpoint checkpoint(run, written.name);
  EXPECT_EQ(fault(checkpoint.files()), "");
  for (const Restoring why : {Restoring::resume, Restoring::rollback}) {
    std::vector<Part> read, wanted;
    PartReaders readers;
    for (const PartRow& row : part_rows()) {
      readers[row.part] = [&, part = row.part](const io::StoredCheckpoint&, Restoring) {
        read.push_back(part);
      };
      if (why == Restoring::resume || row.on_rollback != OnRollback::kept)
        wanted.push_back(row.part);
    }
    restore_parts(checkpoint, why, readers);
    EXPECT_EQ(read, wanted);
    EXPECT_LT(read.front(), Part::moments) << "the optimizer takes weights that are read before it";
  }
}

TEST(Parts, AreCompletelyThereWhenTheyAreReadBack) {
  for (const char* lost : {"objective.json", "optimizer-00002-of-00003.safetensors"}) {
    const RunFolder run;
    io::Checkpoint written{.name = "train_000004", .files = {}};
    for (const auto& [file, facts] : whole()) written.files[file] = "bytes";
    written.files.erase(lost);
    io::write_checkpoint(run, written);
    const PartReaders readers{{Part::coordinator, [](const io::StoredCheckpoint&, Restoring) {
                                 ADD_FAILURE() << "nothing is read of an incomplete checkpoint";
                               }}};
    EXPECT_THROW(restore_parts(io::StoredCheckpoint(run, written.name), Restoring::resume, readers),
                 StorageError)
        << lost;
  }
}

TEST(Parts, AreNeededAsTheObjectiveReadsThem) {
  const auto needs = [](const std::vector<std::string>& settings, const CoordinatorState& state) {
    const RunConfig config = load_run_config({}, settings);
    return part_needs(config, state, "train_000004");
  };
  CoordinatorState begun, warm, rolled_back, branch, stopped;
  begun.train_steps = rolled_back.train_steps = branch.train_steps = stopped.train_steps = 4;
  rolled_back.bad_steps = 1;
  branch.parent = R"({"checkpoint": "train_000004"})";
  const std::vector<std::string> kl{"objective.pieces.regularizer=kl",
                                    "objective.knobs.kl_coef=0.5"};
  EXPECT_TRUE(needs(kl, begun).reference);
  EXPECT_FALSE(needs(kl, warm).reference) << "training makes the policy its reference";
  EXPECT_FALSE(needs(kl, rolled_back).reference) << "a rollback to the warm start leaves none";
  EXPECT_FALSE(needs(kl, branch).reference) << "the parent may have had none";
  EXPECT_FALSE(needs(kl, branch).scheduler);
  stopped.parent = R"({"checkpoint": "done_000004", "train_steps": 4})";
  EXPECT_FALSE(needs(kl, stopped).reference)
      << "a branch that is stopped before its first step has none either";
  stopped.train_steps = 5;
  EXPECT_TRUE(needs(kl, stopped).reference);
  EXPECT_FALSE(needs({}, begun).reference || needs({}, begun).value_head);
  EXPECT_TRUE(needs({}, begun).scheduler);
  EXPECT_TRUE(needs({"objective.recipe=ppo"}, warm).value_head);
}

}  // namespace
}  // namespace rollcall::run
