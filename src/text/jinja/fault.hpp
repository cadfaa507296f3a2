// The error that stops a template. It is thrown inside the interpreter, and ChatTemplate reports it
// with line and column.
#pragma once

#include <string>

namespace rollcall::text::jinja {

/// A place in the template's source. Lines and columns count from 1, columns in characters.
struct Place {
  int line = 0, column = 0;
};

enum class FaultKind {
  syntax,       ///< the template is not Jinja
  unsupported,  ///< the template is Jinja, but uses something that this interpreter lacks
  wrong,        ///< an operation that Python or Jinja refuses as well
  refused,      ///< the template itself called raise_exception
  limit,        ///< the template takes more steps, bytes or depth than allowed
};

struct Fault {
  FaultKind kind;
  std::string problem;
  Place place = {};  ///< line 0 if it is not known yet
};

[[noreturn]] inline void fail(std::string problem) {
  throw Fault{FaultKind::wrong, std::move(problem)};
}
[[noreturn]] inline void fail_unsupported(std::string what) {
  throw Fault{FaultKind::unsupported, std::move(what) + " is not supported"};
}

}  // namespace rollcall::text::jinja
