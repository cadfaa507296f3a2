// Errors speak one grammar, carry the job's exit code, and misspelt names find their neighbour.
#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rollcall {
namespace {

TEST(Error, MessageIsProblemWhySuggestion) {
  EXPECT_EQ(error_message("a.txt is empty", "there is nothing to read", "name another file"),
            "a.txt is empty (there is nothing to read); name another file");
  try {
    require<StorageError>(false, "p", "w", "s");
    FAIL() << "passed";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "p (w); s");
    EXPECT_EQ(e.code(), ExitCode::failed);
  }
  EXPECT_NO_THROW(require(true, "p", "w", "s"));
  EXPECT_THROW(require(false, "p", "w", "s"), InputError);
}

TEST(Error, CodesTellTheLauncherWhetherToRequeue) {
  EXPECT_EQ(ConfigError("").code(), ExitCode::misconfigured);
  EXPECT_EQ(InputError("").code(), ExitCode::misconfigured);
  EXPECT_EQ(EnvironmentError("").code(), ExitCode::misconfigured);
  EXPECT_EQ(StorageError("").code(), ExitCode::failed);
  EXPECT_EQ(ProtocolError("").code(), ExitCode::failed);
  EXPECT_EQ(NumericsError("").code(), ExitCode::failed);
  EXPECT_EQ(int(ExitCode::misconfigured), 2);
  EXPECT_EQ(int(ExitCode::failed), 3);
  EXPECT_EQ(int(ExitCode::requeue), 75);
}

TEST(Error, ABrokenContractIsALogicError) {
  EXPECT_NO_THROW(expect(true, "x"));
  try {
    expect(false, "ranks agree");
    FAIL() << "passed";
  } catch (const std::logic_error& e) {
    EXPECT_NE(std::string(e.what()).find("ranks agree"), std::string::npos);
  }
}

TEST(Nearest, HandWorked) {
  const std::vector<std::string> valid = {"grpo", "rloo", "dapo", "gspo"};
  EXPECT_EQ(nearest_name("grp", valid), "grpo");
  EXPECT_EQ(nearest_name("gsppo", valid), "gspo");
  EXPECT_EQ(nearest_name("rlo", valid), "rloo");
  EXPECT_EQ(nearest_name("", valid), "grpo");  // all equally far: the first
  EXPECT_EQ(nearest_name("x", {}), "");
  // Both names are cut where the comparison ends, not one of them alone.
  const std::string longer(200, 'a');
  EXPECT_EQ(nearest_name(longer, {std::string(100, 'a'), longer}), longer);
  EXPECT_EQ(suggest_name("grp", valid), "did you mean grpo? valid are grpo, rloo, dapo, gspo");
}

TEST(Nearest, LongListsAreNotPrinted) {
  std::vector<std::string> many;
  for (int i = 0; i < 21; ++i) many.push_back("name" + std::to_string(i));
  EXPECT_EQ(suggest_name("nam7", many), "did you mean name7?");
  EXPECT_EQ(suggest_name("zebra", {"grpo", "rloo", "dapo"}), "valid are grpo, rloo, dapo")
      << "nothing is near";
  EXPECT_EQ(suggest_name("zebra", many, "rollcall zoo"), "rollcall zoo lists all of them");
}

RC_GTEST_PROP(Nearest, AValidNameIsItsOwnNearest, (std::vector<std::string> valid)) {
  RC_PRE(!valid.empty());
  const auto& name = valid[*rc::gen::inRange<std::size_t>(0, valid.size())];
  RC_ASSERT(nearest_name(name, valid) == name);
}

RC_GTEST_PROP(Nearest, OneSlipFindsTheWayBack, ()) {
  const std::vector<std::string> valid = {"train.steps", "task.max_level", "sampling.temperature",
                                          "eval.bootstrap"};
  const auto& name = valid[*rc::gen::inRange<std::size_t>(0, valid.size())];
  const auto at = *rc::gen::inRange<std::size_t>(0, name.size());
  std::string slipped = name;
  if (*rc::gen::arbitrary<bool>()) slipped.erase(at, 1);
  else slipped[at] = *rc::gen::inRange('a', 'z');
  RC_ASSERT(nearest_name(slipped, valid) == name);
}

}  // namespace
}  // namespace rollcall
