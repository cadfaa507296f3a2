// The figures of a training step from those of its updates, and from its rollouts.
#pragma once

#include <map>
#include <string>

namespace rollcall::run {

/// A step may make several updates. What a figure says of an update is its mean over them: the
/// least of minima, the most of maxima (verl's reduction), the sum of times. Some are told of the
/// first and the last as well, as NAME_first and NAME_last. What it says of rollouts is of all of
/// the step's.
class StepFigures {
 public:
  using Figures = std::map<std::string, double>;
  void add(const Figures& update);
  /// `rollouts`: of the whole step, in place of those of its updates; empty where one update has
  /// all of it. `several`: the run makes several updates a step.
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
