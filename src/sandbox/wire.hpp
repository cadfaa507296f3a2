// Messages between a process of Rollcall, its spawner and its workers: length-prefixed frames over
// stream sockets, and descriptors.
#pragma once

#include "sandbox/sandbox.hpp"

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace rollcall::sandbox {

constexpr std::uint64_t kLongestFrame = 1ULL << 30;

/// Returns false if the other side is gone.
bool send_frame(int socket, std::string_view bytes);
std::optional<std::string> receive_frame(int socket);
bool send_descriptors(int socket, std::string_view bytes, const int* descriptors, int count);
int receive_descriptor(int socket);  ///< -1 if none came

class Writer {
 public:
  void put(std::uint64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put(std::string_view text) {
    put(std::uint64_t(text.size()));
    bytes_ += text;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads the output of Writer. Both sides are the same program, so a frame that does not parse is a
/// bug and throws std::logic_error.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t number();
  std::string text();

 private:
  std::string_view take(std::uint64_t count);
  std::string_view bytes_;
};

struct Request {
  Program program;
  std::string input;
  Limits limits;
};

std::string encode(const Request& request);
Request decode_request(std::string_view bytes);
std::string encode(const Outcome& outcome);
Outcome decode_outcome(std::string_view bytes);

}  // namespace rollcall::sandbox
