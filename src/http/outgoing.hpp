// An answer on its way: what was given to be sent and has not been sent.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::http {

/// Shared by an exchange and its connection. For the server's thread alone.
class Outgoing {
 public:
  /// `changed` is called after each add(), until over().
  explicit Outgoing(std::function<void()> changed) : changed_(std::move(changed)) {}

  enum class Last { no, yes, broken };  ///< broken: the answer stops before its end
  void add(std::string bytes, Last last) {
    if (delivered_) return;
    if (!bytes.empty()) parts_.push_back(std::move(bytes));
    last_ = last;
    changed_();
  }
  std::vector<std::string> take() { return std::exchange(parts_, {}); }
  bool is_empty() const { return parts_.empty() && last_ == Last::no; }
  Last last() const { return last_; }

  /// Nothing more is sent. Returns what is to be called with `delivered`; null if nothing is.
  std::function<void(bool)> over(bool delivered) {
    if (delivered_) return nullptr;
    delivered_ = delivered;
    parts_.clear();
    changed_ = nullptr;
    return std::exchange(then_, nullptr);
  }
  void on_end(std::function<void(bool)> then) {
    if (delivered_) then(*delivered_);
    else then_ = std::move(then);
  }

 private:
  std::vector<std::string> parts_;  ///< in order
  Last last_ = Last::no;
  std::optional<bool> delivered_;  ///< set once nothing more is sent
  std::function<void()> changed_;
  std::function<void(bool)> then_;
};

}  // namespace rollcall::http
