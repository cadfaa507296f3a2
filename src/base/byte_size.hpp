// Sizes in bytes as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rollcall {

/// "6G", "512M", "1.5T", "6 GB", "6GiB" or plain bytes; K, M, G and T are powers of 1024, as
/// Slurm's --mem takes them. Throws ConfigError that calls it `name`.
std::uint64_t parse_bytes(std::string_view text, std::string_view name);

/// "12.3 GB", "512 MB", "27 kB": powers of 1000.
std::string bytes_text(std::uint64_t bytes);

}  // namespace rollcall
