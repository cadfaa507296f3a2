// Sends and receives frames and descriptors, and encodes requests and outcomes field by field.
#include "sandbox/wire.hpp"

#include "base/errors/error.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace rollcall::sandbox {
namespace {

bool send_all(int socket, const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t sent = ::send(socket, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    count -= std::size_t(sent);
  }
  return true;
}

bool receive_all(int socket, char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t got = ::recv(socket, bytes, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    count -= std::size_t(got);
  }
  return true;
}

}  // namespace

bool send_frame(int socket, std::string_view bytes) {
  const std::uint64_t size = bytes.size();
  return send_all(socket, reinterpret_cast<const char*>(&size), sizeof size) &&
         send_all(socket, bytes.data(), bytes.size());
}

std::optional<std::string> receive_frame(int socket) {
  std::uint64_t size = 0;
  if (!receive_all(socket, reinterpret_cast<char*>(&size), sizeof size) || size > kLongestFrame)
    return std::nullopt;
  std::string bytes(size, '\0');
  if (!receive_all(socket, bytes.data(), bytes.size())) return std::nullopt;
  return bytes;
}

bool send_descriptors(int socket, std::string_view bytes, const int* descriptors, int count) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 8)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(sizeof(int) * std::size_t(count));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * std::size_t(count));
  std::memcpy(CMSG_DATA(header), descriptors, sizeof(int) * std::size_t(count));
  ssize_t sent = 0;
  do sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == ssize_t(bytes.size());
}

int receive_descriptor(int socket) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = 0;
  do got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  const cmsghdr* header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return descriptor;
}

std::uint64_t Reader::number() {
  std::uint64_t value = 0;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

std::string Reader::text() { return std::string(take(number())); }

std::string_view Reader::take(std::uint64_t count) {
  expect(count <= bytes_.size(), "a frame of the sandbox holds all its fields");
  const std::string_view taken = bytes_.substr(0, count);
  bytes_.remove_prefix(count);
  return taken;
}

std::string encode(const Request& request) {
  const auto& [program, input, limits] = request;
  Writer out;
  out.put(std::uint64_t(program.kind));
  out.put(program.code);
  out.put(program.checks);
  out.put(program.argv.size());
  for (const auto& word : program.argv) out.put(word);
  out.put(program.files.size());
  for (const auto& [name, content] : program.files) {
    out.put(name);
    out.put(content);
  }
  // Spawner and workers are forks of this process, so the address holds in them too.
  out.put(reinterpret_cast<std::uint64_t>(program.function));
  out.put(input);
  for (const std::uint64_t limit :
       {std::uint64_t(limits.cpu_s), std::uint64_t(limits.wall_s * 1e6), limits.memory,
        limits.output, limits.files, std::uint64_t(limits.processes)})
    out.put(limit);
  return out.bytes();
}

Request decode_request(std::string_view bytes) {
  Reader in(bytes);
  Request request;
  request.program.kind = Program::Kind(in.number());
  request.program.code = in.text();
  request.program.checks = in.text();
  request.program.argv.resize(in.number());
  for (auto& word : request.program.argv) word = in.text();
  request.program.files.resize(in.number());
  for (auto& [name, content] : request.program.files) {
    name = in.text();
    content = in.text();
  }
  request.program.function = reinterpret_cast<Function>(in.number());
  request.input = in.text();
  auto& limits = request.limits;
  limits.cpu_s = std::int64_t(in.number());
  limits.wall_s = double(in.number()) * 1e-6;
  limits.memory = in.number();
  limits.output = in.number();
  limits.files = in.number();
  limits.processes = std::int64_t(in.number());
  return request;
}

std::string encode(const Outcome& outcome) {
  Writer out;
  for (const std::uint64_t value :
       {std::uint64_t(outcome.end), std::uint64_t(outcome.tier), std::uint64_t(outcome.exit),
        outcome.counts.cpu_us, outcome.counts.peak_memory, std::uint64_t(outcome.counts.checks),
        std::uint64_t(outcome.counts.checks_passed), std::uint64_t(outcome.counts.first_failed),
        std::uint64_t(outcome.counts.by_program), std::uint64_t(outcome.starved)})
    out.put(value);
  for (const std::string* text : {&outcome.out, &outcome.err, &outcome.reason}) out.put(*text);
  return out.bytes();
}

Outcome decode_outcome(std::string_view bytes) {
  Reader in(bytes);
  Outcome outcome;
  outcome.end = End(in.number());
  outcome.tier = Tier(in.number());
  outcome.exit = int(in.number());
  outcome.counts.cpu_us = in.number();
  outcome.counts.peak_memory = in.number();
  outcome.counts.checks = std::uint32_t(in.number());
  outcome.counts.checks_passed = std::uint32_t(in.number());
  outcome.counts.first_failed = std::uint32_t(in.number());
  outcome.counts.by_program = std::uint32_t(in.number());
  outcome.starved = in.number() != 0;
  for (std::string* text : {&outcome.out, &outcome.err, &outcome.reason}) *text = in.text();
  return outcome;
}

}  // namespace rollcall::sandbox
