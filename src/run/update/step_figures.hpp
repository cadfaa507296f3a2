// The figures of a training step, computed from those of its updates and of its rollouts.
#pragma once

#include <map>
#include <string>

namespace rollcall::run {

/// A step may make several updates. A figure of updates is reduced over them as in verl: the least
/// of minima, the greatest of maxima, the sum of times, and otherwise the mean. Some figures are
/// also given for the first and the last update, as NAME_first and NAME_last. A figure of rollouts
/// is over all rollouts of the step.
class StepFigures {
 public:
  using Figures = std::map<std::string, double>;
  void add(const Figures& update);
  /// The figures of the step. `rollouts`: figures of all its rollouts, which replace those of its
  /// updates; empty where one update had all rollouts. `several`: the run makes several updates per
  /// step.
  Figures take(const Figures& rollouts, bool several);

 private:
  struct Series {
    double first = 0.0, last = 0.0, least = 0.0, most = 0.0, sum = 0.0;
    int count = 0;
  };
  std::map<std::string, Series> series_;
  int updates_ = 0;
};

}  // namespace rollcall::run
