// Preloaded: a process that rounds every float downward, as a processor with other arithmetic would
// get other bits. For tests/app/layouts_test.py.
#include <cfenv>

namespace {

// threads inherit it
__attribute__((constructor)) void round_down() { std::fesetround(FE_DOWNWARD); }

}  // namespace
