// The management library of the fake driver.
#include <cstddef>
#include <cstdio>

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return std::snprintf(version, std::size_t(length), "580.65.06"), 0;
}
}
