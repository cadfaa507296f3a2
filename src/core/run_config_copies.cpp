// How settings are constructed, copied and destroyed. The code for some 300 members is compiled
// once, here.
#include "core/run_config.hpp"

namespace rollcall {

RunConfig::RunConfig() = default;
RunConfig::RunConfig(const RunConfig& other) = default;
RunConfig::RunConfig(RunConfig&& other) noexcept = default;
RunConfig& RunConfig::operator=(const RunConfig& other) = default;
RunConfig& RunConfig::operator=(RunConfig&& other) noexcept = default;
RunConfig::~RunConfig() = default;

}  // namespace rollcall
