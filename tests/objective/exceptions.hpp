// Which recipes are excused from which property of the conformance suite, and why.
#pragma once

#include <string>
#include <vector>

namespace rollcall::objective::test {

/// A recipe that rightly breaks a property says so here, with the reason.
struct Exception {
  std::string recipe, property, reason;
};
inline const std::vector<Exception> exceptions = {
    {"rloo", "trust_region", "the plain policy gradient has no trust interval: it is meant for one update on its own samples"},
};

}  // namespace rollcall::objective::test
