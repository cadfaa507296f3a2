// Which names a frame hides before it sets them.
#pragma once

#include "text/jinja/syntax/syntax.hpp"

namespace rollcall::text::jinja {

/// Jinja settles names before it runs: a frame that sets a name before it reads it has its own
/// variable of that name from its beginning, undefined until it is set, even where a variable of
/// the template is called so. Fills the lists `hidden` of the tree, from which the renderer begins
/// its frames.
void settle_names(Template& parsed);

}  // namespace rollcall::text::jinja
