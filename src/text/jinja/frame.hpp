// Scopes and captured output, undone in the order in which they were begun.
#pragma once

#include "text/jinja/renderer.hpp"

namespace rollcall::text::jinja {

class Renderer::Frame {
 public:
  Frame(Renderer& r, const std::vector<int>& hidden) : Frame(r, r.scope_, hidden) {}
  Frame(Renderer& r, Scope* parent, const std::vector<int>& hidden)
      : renderer_(r), before_(r.scope_), scope_(std::make_shared<Scope>()) {
    scope_->parent = parent;
    r.hide(*scope_, hidden);
    r.scope_ = scope_.get();
  }
  ~Frame() { renderer_.scope_ = before_; }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

 private:
  Renderer& renderer_;
  Scope* before_;
  std::shared_ptr<Scope> scope_;
};

class Renderer::Capture {
 public:
  explicit Capture(Renderer& r) : renderer_(r), before_(r.out_) { r.out_ = &text_; }
  ~Capture() {
    renderer_.out_ = before_;
    renderer_.context_.budget.give(std::int64_t(text_.size()));
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  Value text() const { return string(renderer_.context_.budget, text_); }

 private:
  Renderer& renderer_;
  std::string* before_;
  std::string text_;
};

}  // namespace rollcall::text::jinja
