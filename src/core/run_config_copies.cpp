// How a run file's settings are made, copied and dropped: code of some 300 members, in one place.
#include "core/run_config.hpp"

namespace rollcall {

RunConfig::RunConfig() = default;
RunConfig::RunConfig(const RunConfig& other) = default;
RunConfig::RunConfig(RunConfig&& other) noexcept = default;
RunConfig& RunConfig::operator=(const RunConfig& other) = default;
RunConfig& RunConfig::operator=(RunConfig&& other) noexcept = default;
RunConfig::~RunConfig() = default;

}  // namespace rollcall
