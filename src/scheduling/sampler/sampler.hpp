// A sampler decides which prompts a step trains on. Pure: its choice depends on its state value and the addressed random streams alone.
#pragma once

#include "base/config.hpp"
#include "core/plan.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

/// The n-th choice of a prompt within one step has draw n, from 0.
struct Draw {
  PromptId prompt;
  std::uint32_t draw = 0;
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual void bind(ConfigSchema& knobs) = 0;                       ///< its knobs: key, variable, meaning, range
  virtual std::vector<Draw> choose(std::int64_t prompts) = 0;       ///< [prompts]
  virtual void learn(const std::vector<GroupReport>& reports) = 0;  ///< end of a step
  virtual nlohmann::json save() const = 0;
  virtual void load(const nlohmann::json& state) = 0;  ///< throws StorageError or a json exception when it is not such a state
};

}  // namespace rollcall::scheduling
