// Plays the stored conversations of a run again, with the environment that its settings name.
#pragma once

#include "run/start/replayed_conversations.hpp"

#include <filesystem>

namespace rollcall::app::archive {

/// To be called without other threads. Where the environment is a command, it names it on standard
/// error before it starts it. Throws ConfigError where the run has no environment, and what reading
/// its settings, tokenizer and archive throws.
run::ReplayedConversations::Found replay(const std::filesystem::path& run_dir);

}  // namespace rollcall::app::archive
