// Processes of a verifier's command at work: a thread that carries out what dispatch decides.
#pragma once

#include "core/run_config.hpp"
#include "reward/command/dispatch.hpp"
#include "reward/command/spawner.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::reward {

/// Who hears of it, from a thread of its own.
struct GraderListener {
  /// what a process wrote to standard error
  std::function<void(std::size_t process, std::string_view bytes)> errors = [](std::size_t,
                                                                               std::string_view) {};
  std::function<void()> judged = [] {};  ///< one more verdict
};

/// Lets up to reward.processes processes judge batches of samples. Processes are started when they
/// are needed and end with this object.
class Graders {
 public:
  Graders(Spawner& spawner, const RewardSection& section, GraderListener listener = {});
  ~Graders();
  Graders(const Graders&) = delete;
  Graders& operator=(const Graders&) = delete;

  /// At once; returns the batch's number, counted from 0. Ids must differ.
  std::uint64_t add(std::vector<Sample> samples);
  using Batch = std::pair<std::uint64_t, std::vector<Verdict>>;
  /// A batch all of whose samples have a verdict, in their order; nothing while there is none.
  /// Throws what stopped the work (EnvironmentError: the command cannot be started any more).
  std::optional<Batch> take();
  /// The same, once there is one. A batch must have been added.
  Batch await();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

/// Lets one process judge one sample. Throws EnvironmentError when the command cannot be started,
/// ConfigError when it gives no usable verdict, with what it wrote to standard error.
Verdict try_command(Spawner& spawner, const RewardSection& section, const Sample& sample);

}  // namespace rollcall::reward
