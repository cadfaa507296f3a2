// Mistakes gathered: each once, in the order of the run file, and none that another one has caused.
#include "base/errors/faults.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(const Faults& faults) {
  try {
    faults.require_none();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

Faults gathered() {
  Faults faults;
  faults.places = {{"train.steps", {"run.toml:7", {0, 7}}},
                   {"task.file", {"run.toml:3", {0, 3}}},
                   {"run.dir", {"--set run.dir=x", {1, 0}, true}}};
  return faults;
}

TEST(Faults, AreToldInTheOrderOfTheRunFileWithTheirPlaces) {
  Faults faults = gathered();
  faults.check({}, [] { throw InputError("data.jsonl is gone"); });
  faults.check({"run.dir"}, [] { throw EnvironmentError("the folder is full"); });
  faults.need({"train.steps"}, false, "train.steps is odd", "why", "make it even");
  faults.check({"task.file"}, [] { throw InputError("cannot open x"); });
  EXPECT_EQ(
      text_of(faults),
      "4 mistakes, one a line:\nrun.toml:3: cannot open x\nrun.toml:7: train.steps is odd (why); make it even\n"
      "--set run.dir=x: the folder is full\ndata.jsonl is gone");
}

TEST(Faults, ACheckOfAWrongSettingIsLeftOut) {
  Faults faults = gathered();
  EXPECT_TRUE(faults.need({"train.steps"}, true, "", "", ""));
  EXPECT_FALSE(
      faults.need({"train.steps", "train.rollouts"}, false, "train.steps is odd", "why", "what"));
  for (const Faults::Keys& keys :
       {Faults::Keys{"train.steps"}, {"task.file", "train."}, {"train"}}) {
    EXPECT_FALSE(faults.check(keys, [] { FAIL() << "the check was made"; }));
    EXPECT_FALSE(faults.are_sound(keys));
  }
  EXPECT_TRUE(faults.check({"train.rollouts"}, [] {})) << "the first key alone is the wrong one";
  EXPECT_TRUE(faults.check({"train.step"}, [] {}));
  faults.tell("task.file", "task.file is set, but nothing reads it");
  EXPECT_TRUE(faults.are_sound({"task.file"})) << "what nothing reads leads nothing astray";
}

TEST(Faults, ThePlaceIsThatOfTheKeyThatTheMessageNames) {
  Faults faults = gathered();
  faults.need({"task.name", "train.", "task.file"}, false, "train.steps is 1, and task.file is set",
              "why", "what");
  EXPECT_THAT(text_of(faults), HasSubstr("run.toml:7: train.steps is 1"));
  Faults others = gathered();
  others.need({"train.step"}, false, "train.steps_of is 1", "why", "what");
  EXPECT_EQ(text_of(others), "train.steps_of is 1 (why); what") << "no part of a longer name";
}

TEST(Faults, OneIsThrownAsWhatItWas) {
  Faults input, environment, two;
  EXPECT_NO_THROW(input.require_none());
  input.check({}, [] { throw InputError("a"); });
  EXPECT_THROW(input.require_none(), InputError);
  environment.check({}, [] { throw EnvironmentError("a"); });
  EXPECT_THROW(environment.require_none(), EnvironmentError);
  two.check({}, [] { throw InputError("a"); });
  two.check({}, [] { throw InputError("b"); });
  EXPECT_THROW(two.require_none(), ConfigError);
  EXPECT_THROW(two.check({}, [] { throw StorageError("the disk"); }), StorageError)
      << "no mistake of a person";
}

TEST(Faults, ListsInListsAreOneList) {
  Faults inner, outer = gathered();
  for (const char* said : {"a", "b", "a"}) inner.need({"train.steps"}, false, said, "why", "what");
  EXPECT_EQ(text_of(inner), "a (why); what") << "the rest goes by a setting that is wrong";
  inner.need({"task.file"}, false, "b", "why", "what");
  outer.check({"objective."}, [&] { inner.require_none(); });
  EXPECT_EQ(text_of(outer),
            "2 mistakes, one a line:\nrun.toml:3: b (why); what\nrun.toml:7: a (why); what");
  EXPECT_FALSE(outer.are_sound({"train.steps"}));
  EXPECT_TRUE(outer.are_sound({"objective.recipe"})) << "they say themselves whose they are";
}

TEST(Faults, OfAnotherRunFileComeBelow) {
  Faults first = gathered(), second = gathered();
  first.need({"run.dir"}, false, "of the first", "why", "what");
  second.need({"task.file"}, false, "of the second", "why", "what");
  first.join(second);
  EXPECT_EQ(
      text_of(first),
      "2 mistakes, one a line:\n--set run.dir=x: of the first (why); what\nrun.toml:3: of the second (why); what");
}

TEST(Faults, FiftyAreToldAndTheOthersCounted) {
  Faults faults;
  for (int i = 0; i < 53; ++i)
    faults.check({}, [i] { throw ConfigError("mistake " + std::to_string(i) + ","); });
  const std::string said = text_of(faults);
  EXPECT_THAT(said, HasSubstr("53 mistakes"));
  EXPECT_THAT(said, HasSubstr("mistake 49,"));
  EXPECT_THAT(said, Not(HasSubstr("mistake 50,")));
  EXPECT_THAT(said, HasSubstr("\n3 more are told once these are corrected"));
}

TEST(Faults, NoneForgesALine) {
  Faults faults;
  for (const char* said : {"a\nrollcall: all is well", "b"})
    faults.check({}, [said] { throw ConfigError(said); });
  EXPECT_THAT(text_of(faults), Not(HasSubstr("\nrollcall:")));
}

}  // namespace
}  // namespace rollcall
