// The partner with which a generation rank holds its conversations.
#pragma once

#include "environment/partner.hpp"
#include "reward/command/spawner.hpp"

#include <memory>

namespace rollcall::run {

struct RunContext;

/// The partner of a run's conversations; null in a run without an environment. What processes of
/// environment.command write to standard error goes to RUN/environment. `spawner`: starts them;
/// null where there is no command. `context` and `spawner` outlive the partner. Throws
/// EnvironmentError where the command or the sandbox cannot be started.
std::unique_ptr<environment::Partner> make_partner(const RunContext& context,
                                                   reward::Spawner* spawner, int rank);

}  // namespace rollcall::run
