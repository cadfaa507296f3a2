// A driver with two devices, of which one is too old and without GPUDirect: for what `rollcall
// doctor` says.
#include <cstddef>
#include <cstdio>
#include <cstdlib>

extern "C" {
int cuInit(unsigned) { return std::getenv("FAKE_NO_DEVICE") != nullptr ? 100 : 0; }
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
int cuDeviceGetCount(int* count) { return *count = 2, 0; }
int cuDeviceGetName(char* name, int length, int device) {
  return std::snprintf(name, std::size_t(length), "Fake %s", device == 0 ? "H100" : "V100"), 0;
}
int cuDeviceGetPCIBusId(char* id, int length, int device) {
  return std::snprintf(id, std::size_t(length), "0000:0%d:00.0", device + 1), 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == 75 ? (device == 0 ? 9 : 7) : attribute == 76 ? 0 : 1;
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = std::size_t{80'000'000'000}, 0; }
}
