// Discrete events: things that happen at a time, in order, and cores that ranks share.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace rollcall::sizing::scale {

/// A clock that jumps from event to event. Events of one time happen in the order in which they
/// were asked for, so a simulation is a function of its inputs.
class Events {
 public:
  using Then = std::function<void()>;
  double now() const { return now_; }
  void later(double seconds, Then then);
  void run();  ///< until nothing is left to happen

 private:
  struct Event {
    double time = 0.0;
    std::uint64_t order = 0;
    Then then;
  };
  struct After {
    bool operator()(const Event& a, const Event& b) const {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };
  std::priority_queue<Event, std::vector<Event>, After> events_;
  double now_ = 0.0;
  std::uint64_t order_ = 0;
};

/// Processor sharing: up to `capacity` jobs have a core; of more, each gets an equal part, as an
/// operating system deals out its cores. `crowding`: how much longer a job takes when all cores are
/// busy than when it is alone (shared caches, memory, clock, two threads of one core), in
/// proportion in between.
class Cores {
 public:
  Cores(Events& events, double capacity, double crowding = 0.0)
      : events_(&events), capacity_(capacity), crowding_(crowding) {}
  /// `then` happens when the job has had `seconds` at full speed.
  void compute(double seconds, Events::Then then);

 private:
  struct Job {
    double end = 0.0;  ///< of progress_
    std::uint64_t order = 0;
    Events::Then then;
  };
  struct After {
    bool operator()(const Job& a, const Job& b) const {
      return a.end != b.end ? a.end > b.end : a.order > b.order;
    }
  };
  double speed() const;  ///< of each job
  void advance();        ///< progress_ to now
  void expect_next();
  void finish(std::uint64_t forecast);

  Events* events_;
  double capacity_, crowding_;
  double progress_ = 0.0, advanced_ = 0.0;  ///< seconds at full speed that a job present throughout
                                            ///< has had; the time up to which that is counted
  std::uint64_t order_ = 0, forecast_ = 0;  ///< a forecast of the next end holds until a job comes
                                            ///< or goes
  std::priority_queue<Job, std::vector<Job>, After> jobs_;
};

}  // namespace rollcall::sizing::scale
