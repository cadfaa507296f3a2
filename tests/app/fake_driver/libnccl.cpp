// NCCL of some version.
extern "C" int ncclGetVersion(int* version) { return *version = 22809, 0; }
