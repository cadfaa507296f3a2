// What stops a template: thrown inside the interpreter, told to the user with line and column by
// ChatTemplate.
#pragma once

#include <string>

namespace rollcall::text::jinja {

/// A place in the template's source; both count from 1, columns in characters.
struct Place {
  int line = 0, column = 0;
};

enum class FaultKind {
  syntax,       ///< the template is no Jinja
  unsupported,  ///< it is, but uses what this interpreter lacks
  wrong,        ///< an operation that Python or Jinja refuses too
  refused,      ///< the template's own raise_exception
  limit,        ///< steps, bytes or depth of TemplateLimits
};

struct Fault {
  FaultKind kind;
  std::string problem;
  Place place = {};  ///< line 0: not known yet
};

[[noreturn]] inline void fail(std::string problem) {
  throw Fault{FaultKind::wrong, std::move(problem)};
}
[[noreturn]] inline void fail_unsupported(std::string what) {
  throw Fault{FaultKind::unsupported, std::move(what) + " is not supported"};
}

}  // namespace rollcall::text::jinja
