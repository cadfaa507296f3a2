// Which action follows which in a run: the decisions of rank 0 walked through without messages,
// files or ranks.
#include "run/coordinator/next_action.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace rollcall::run {
namespace {

/// One letter for each action, in the order of the enumeration.
char letter(Action action) { return "wWeBbtvTaSf"[std::size_t(action)]; }

RunConfig settings(std::int64_t sft_steps, std::int64_t train_steps) {
  RunConfig config;
  config.sft.steps = sft_steps;
  config.train.steps = train_steps;
  config.checkpoint.every = 2;
  config.checkpoint.keep_every = 0;
  config.eval.before = config.eval.after = true;
  config.eval.every = 0;
  return config;
}

/// A run whose actions only count: each does what the ranks would do to the situation.
struct Walk {
  RunConfig config;
  Situation now{};
  std::int64_t best_step = -1;  ///< the train step whose validation is the best so far

  Action next() const { return next_action(now, config); }

  void perform(Action action) {
    if (action == Action::warm_step) ++now.sft_steps;
    if (action == Action::train_step) ++now.train_steps;
    if (action == Action::evaluate_before) now.has_before = true;
    if (action == Action::evaluate_after) now.has_after = true;
    now.is_best = action == Action::validate && now.train_steps == best_step;
    now.last = action;
    measure();
  }
  void measure() {
    now.progress =
        config.train.steps == 0 ? 1.0 : double(now.train_steps) / double(config.train.steps);
  }

  /// The letters of all actions until the run is done. A point at which a stop is looked for is a
  /// dot before its action, and the end of a step is a comma.
  std::string to_the_end() {
    measure();
    std::string actions;
    for (bool in_step = false;;) {
      const Action action = next();
      if (in_step && !belongs_to_step(action)) {
        actions += ',';
        in_step = false;
      }
      if (is_stop_point(now, action)) actions += '.';
      actions += letter(action);
      if (action == Action::finish) return actions;
      in_step = in_step || action == Action::warm_step || action == Action::train_step;
      perform(action);
    }
  }
};

TEST(NextAction, WarmsUpEvaluatesTrainsAndEvaluatesAgain) {
  Walk walk{settings(3, 4)};
  EXPECT_EQ(walk.to_the_end(), ".w,.wW,.wW,eBb.t,.tT,.t,.tT,aSf");
}

TEST(NextAction, LooksForAStopBeforeItsFirstActionAndBeforeEachStep) {
  Walk walk{settings(0, 1)};
  EXPECT_EQ(walk.to_the_end(), ".Bb.tT,aSf");
  Walk nothing_to_train{settings(0, 0)};
  EXPECT_EQ(nothing_to_train.to_the_end(), ".BaSf") << "there is no training to evaluate before";
}

TEST(NextAction, EvaluatesOnlyWhatIsAskedForAndNotThereYet) {
  Walk walk{settings(0, 2)};
  walk.now.has_before = walk.now.has_after = true;
  EXPECT_EQ(walk.to_the_end(), ".B.t,.tT,f");
  Walk never{settings(1, 1)};
  never.config.eval.before = never.config.eval.after = false;
  EXPECT_EQ(never.to_the_end(), ".wW,eB.tT,f");
}

TEST(NextAction, ResumesWhereTheRunWas) {
  Walk in_warm_start{settings(3, 1)};
  in_warm_start.now.sft_steps = 2;
  EXPECT_EQ(in_warm_start.to_the_end(), ".wW,eBb.tT,aSf");
  Walk after_warm_start{settings(3, 1)};
  after_warm_start.now.sft_steps = 3;
  EXPECT_EQ(after_warm_start.to_the_end(), ".Bb.tT,aSf") << "its weights were sent before";
  Walk in_training{settings(9, 4)};  // more supervised steps are asked for than were done
  in_training.now.sft_steps = in_training.now.train_steps = 3;
  EXPECT_EQ(in_training.to_the_end(), ".B.tT,aSf");
  Walk done{settings(0, 4)};
  done.now.train_steps = 4;
  done.now.has_after = true;
  EXPECT_EQ(done.to_the_end(), ".Bf");
}

TEST(NextAction, ValidatesBeforeTheCheckpointAndSavesTheBestStep) {
  Walk walk{settings(0, 7)};
  walk.config.eval.before = walk.config.eval.after = false;
  walk.config.checkpoint.every = 5;
  walk.config.eval.every = 3;
  walk.best_step = 3;
  EXPECT_EQ(walk.to_the_end(), ".B.t,.t,.tvT,.t,.tT,.tv,.tT,f");
}

TEST(NextAction, SavesStepsThatAreKeptForGood) {
  Walk walk{settings(0, 6)};
  walk.config.eval.before = walk.config.eval.after = false;
  walk.config.checkpoint.every = 100;
  walk.config.checkpoint.keep_every = 4;
  EXPECT_EQ(walk.to_the_end(), ".B.t,.t,.t,.tT,.t,.tT,f");
}

TEST(NextAction, EndsWithTheRolloutsWhateverStepsAreLeft) {
  Walk walk{settings(0, 100)};
  walk.now.last = Action::train_step;
  walk.now.train_steps = 7;
  walk.now.progress = 1.0;
  EXPECT_TRUE(is_checkpoint_due(walk.now, walk.config));
  EXPECT_EQ(walk.next(), Action::save_train_step);
  walk.now.last = Action::save_train_step;
  EXPECT_EQ(walk.next(), Action::evaluate_after);
}

}  // namespace
}  // namespace rollcall::run
