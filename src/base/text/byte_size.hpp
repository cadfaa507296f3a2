// Sizes in bytes as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rollcall {

/// Reads "6G", "512M", "1.5T", "6 GB", "6GiB" or plain bytes. K, M, G and T are powers of 1024, as
/// in Slurm's --mem. Throws ConfigError. The message calls the size `name`.
std::uint64_t parse_bytes(std::string_view text, std::string_view name);

/// Writes "12.3 GB", "512 MB" or "27 kB". The units are powers of 1000.
std::string bytes_text(std::uint64_t bytes);

}  // namespace rollcall
