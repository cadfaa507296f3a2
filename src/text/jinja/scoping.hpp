// Finds out which names a frame hides before it sets them.
#pragma once

#include "text/jinja/syntax/syntax.hpp"

namespace rollcall::text::jinja {

/// Jinja decides which variables belong to a frame before it runs a template. A frame that sets a
/// name before reading it has its own variable with that name from the beginning, which is
/// undefined until it is set, even if an outer variable has the same name. Fills the tree's lists
/// `hidden` with these names.
void settle_names(Template& parsed);

}  // namespace rollcall::text::jinja
