// Finds out which names a frame hides before it sets them.
#pragma once

#include "text/jinja/syntax/syntax.hpp"

namespace rollcall::text::jinja {

/// Jinja decides which variables belong to a frame before it runs a template. A frame that sets a
/// name before it reads it has its own variable of that name from its beginning, which is undefined
/// until it is set, even if a variable outside has the same name. Fills the lists `hidden` of the
/// tree with these names.
void settle_names(Template& parsed);

}  // namespace rollcall::text::jinja
