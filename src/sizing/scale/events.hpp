// Discrete events in time order, and cores that ranks share.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace rollcall::sizing::scale {

/// A clock that jumps from event to event. Events at the same time happen in the order in which
/// they were added, so a simulation is a function of its inputs.
class Events {
 public:
  using Then = std::function<void()>;
  double now() const { return now_; }
  void later(double seconds, Then then);
  void run();  ///< until no event is left

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

/// Processor sharing: up to `capacity` jobs have a core each; if there are more, all get an equal
/// share, as under an operating system. `crowding` is the fraction by which a job takes longer when
/// all cores are busy than when it runs by itself (shared caches, memory, clock rate, two threads
/// of one core). In between it is proportional.
class Cores {
 public:
  Cores(Events& events, double capacity, double crowding = 0.0)
      : events_(&events), capacity_(capacity), crowding_(crowding) {}
  /// `then` happens once the job has had `seconds` seconds at full speed.
  void compute(double seconds, Events::Then then);

 private:
  struct Job {
    double end = 0.0;  ///< value of progress_ at which the job is done
    std::uint64_t order = 0;
    Events::Then then;
  };
  struct After {
    bool operator()(const Job& a, const Job& b) const {
      return a.end != b.end ? a.end > b.end : a.order > b.order;
    }
  };
  double speed() const;  ///< speed of each job as a fraction of full speed
  void advance();        ///< brings progress_ up to the present
  void expect_next();
  void finish(std::uint64_t forecast);

  Events* events_;
  double capacity_, crowding_;
  double progress_ = 0.0, advanced_ = 0.0;  ///< progress_: seconds at full speed that a job would
                                            ///< have had by the time advanced_ if it had been there
                                            ///< from the beginning
  std::uint64_t order_ = 0, forecast_ = 0;  ///< a forecast of the next end is valid until a job
                                            ///< comes or goes
  std::priority_queue<Job, std::vector<Job>, After> jobs_;
};

}  // namespace rollcall::sizing::scale
