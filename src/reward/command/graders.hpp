// Has a verifier's command judge batches of samples. A thread carries out what dispatch decides.
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

/// Callbacks, called by the thread of Graders.
struct GraderListener {
  /// Receives the standard error of a process.
  std::function<void(std::size_t process, std::string_view bytes)> errors = [](std::size_t,
                                                                               std::string_view) {};
  std::function<void()> judged = [] {};  ///< called for each verdict
  bool warns = true;  ///< whether the log names processes that die or reply with something unusable
};

/// Has up to reward.processes processes judge batches of samples. Processes are started when they
/// are needed and end with this object.
class Graders {
 public:
  Graders(Spawner& spawner, const RewardSection& section, GraderListener listener = {});
  ~Graders();
  Graders(const Graders&) = delete;
  Graders& operator=(const Graders&) = delete;

  /// Adds a batch and returns at once, with the batch's number, counted from 0. The samples' ids
  /// must differ.
  std::uint64_t add(std::vector<Sample> samples);
  using Batch = std::pair<std::uint64_t, std::vector<Verdict>>;
  /// A batch in which all samples have a verdict, in the samples' order; nothing while there is no
  /// such batch. Throws the error that stopped the judging (EnvironmentError if the command can no
  /// longer be started).
  std::optional<Batch> take();
  /// Like take(), but waits for such a batch. A batch must have been added.
  Batch await();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

/// The treatment, in a trial, of a reply which says that the command failed on the sample
/// (Reply::failed).
enum class OnFailure : std::uint8_t { refuse, accept };

/// Has one process judge one sample, before others are asked for. Throws EnvironmentError if the
/// command cannot be started, and ConfigError, with the end of the command's standard error, if it
/// returns no usable verdict.
Verdict try_command(Spawner& spawner, const RewardSection& section, const Sample& sample,
                    OnFailure on_failure = OnFailure::refuse);

}  // namespace rollcall::reward
