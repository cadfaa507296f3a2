// Plays the stored conversations of a run again, with the environment that its settings name.
#pragma once

#include "run/start/replayed_conversations.hpp"

#include <filesystem>

namespace rollcall::app::archive {

/// To be called without other threads. If the environment is a command, prints its name to standard
/// error before starting it. Throws ConfigError if the run has no environment, and the exceptions
/// from reading its settings, tokenizer and archive.
run::ReplayedConversations::Found replay(const std::filesystem::path& run_dir);

}  // namespace rollcall::app::archive
