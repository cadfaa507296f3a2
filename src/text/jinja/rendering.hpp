// The state of one rendering of a template: variables in their scopes, output, budget, and the
// place that is being rendered.
#pragma once

#include "text/jinja/renderer_objects.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::text::jinja {

/// The variables that were set in one frame, which is the template, a loop iteration, a macro call,
/// or a block.
struct Scope : std::enable_shared_from_this<Scope> {
  Scope* parent = nullptr;
  std::vector<std::pair<int, Value>> variables;
  bool kept = false;  ///< whether a macro was defined in it or in a nested scope, and needs it
                      ///< later
};

/// The scopes around the statement that is being rendered, with the template's own scope as the
/// outermost. Looking up a variable takes steps from the budget.
class Scopes {
 public:
  Scopes(Budget& budget, const Template& parsed);

  Scope* current() const { return current_; }
  /// Makes a scope the current one, and returns the previous one.
  Scope* enter(Scope* scope) { return std::exchange(current_, scope); }

  void set(int symbol, Value value);    ///< in the current scope
  const Value* find(int symbol) const;  ///< from the current scope outwards; null if no scope has
                                        ///< it
  /// Makes the names undefined in a scope, even if an enclosing scope has them.
  void hide(Scope& scope, const std::vector<int>& symbols);
  /// Keeps the current scope and those around it until the rendering ends, for a macro.
  void keep();
  void clear();  ///< removes all variables from the template's scope and from scopes that are kept

 private:
  void set_in(Scope& scope, int symbol, Value value);

  Budget& budget_;
  const Template& parsed_;
  std::shared_ptr<Scope> root_ = std::make_shared<Scope>();
  Scope* current_ = root_.get();
  std::vector<std::shared_ptr<Scope>> kept_;
};

/// The text that was rendered, or a part of it that a tag captures. Its bytes are taken from the
/// budget.
class Output {
 public:
  explicit Output(Budget& budget) : budget_(budget) {}

  void write(std::string_view text);
  /// Writes to another string from now on, and returns the previous one.
  std::string* redirect(std::string* text) { return std::exchange(text_, text); }
  std::string take() { return std::move(whole_); }

 private:
  Budget& budget_;
  std::string whole_;
  std::string* text_ = &whole_;
};

struct Rendering {
  Rendering(const Template& tree, const Budget& budget);
  ~Rendering();
  Rendering(const Rendering&) = delete;
  Rendering& operator=(const Rendering&) = delete;

  bool mentions(std::string_view name) const;  ///< whether the template uses a variable with that
                                               ///< name
  void set(std::string_view name,
           const Value& value);  ///< before the rendering begins; only if mentions(name)

  const Template& parsed;
  Context context;
  Scopes scopes;
  Output output;
  Place at{1, 1};  ///< place of the statement or expression being evaluated
};

/// A new scope, which is the current one while the frame lives.
class Frame {
 public:
  /// `hidden`: names that start out undefined in it (scoping.hpp).
  Frame(Rendering& rendering, Scope* parent, const std::vector<int>& hidden);
  Frame(Rendering& rendering, const std::vector<int>& hidden)
      : Frame(rendering, rendering.scopes.current(), hidden) {}
  ~Frame() { scopes_.enter(before_); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

 private:
  Scopes& scopes_;
  Scope* before_;
  std::shared_ptr<Scope> scope_;
};

/// Catches what the rendering writes while the object lives.
class Capture {
 public:
  explicit Capture(Rendering& rendering);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  Value text() const { return string(rendering_.context.budget, text_); }

 private:
  Rendering& rendering_;
  std::string text_;
  std::string* before_;
};

}  // namespace rollcall::text::jinja
