// Attacks on mounts and roots. Outside they run in a mount namespace of their own.
#include "attacks/attack.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rollcall::sandbox::attacks {
namespace {
using Text = std::string_view;

int mounts(const char* what, const char* where, const char* kind, unsigned long flags) {
  return got(::mount(what, where, kind, flags, nullptr) == 0);
}
}  // namespace

std::vector<Attack> on_mounts() {
  return {
      {"mount a tmpfs over /usr",
       [](Text, std::string&) { return mounts("tmpfs", "/usr", "tmpfs", 0); },
       {mounting()}},
      {"mount proc",
       [](Text, std::string&) { return mounts("proc", "/proc", "proc", 0); },
       {mounting(), namespace_of_own("pid")}},
      {"mount sysfs",
       [](Text, std::string&) { return mounts("sysfs", "/tmp", "sysfs", 0); },
       {mounting(), namespace_of_own("net")}},
      {"bind the root elsewhere",
       [](Text, std::string&) { return mounts("/", "/tmp", nullptr, MS_BIND | MS_REC); },
       {mounting()}},
      {"make /usr writable again",
       [](Text, std::string&) { return mounts(nullptr, "/", nullptr, MS_BIND | MS_REMOUNT); },
       {mounting(), machine_capability(CAP_SYS_ADMIN), mount_point("/")}},
      {"move a mount",
       [](Text, std::string&) {
         return got(::mount("tmpfs", "/tmp", "tmpfs", 0, nullptr) == 0 &&
                    ::mkdir("/tmp/x", 0700) == 0);
       },
       {mounting(), own_id()}},
      {"make mounts shared",
       [](Text, std::string&) { return mounts(nullptr, "/", nullptr, MS_SHARED | MS_REC); },
       {mounting(), mount_point("/")}},
      {"unmount",
       [](Text, std::string&) {
         return got(::umount2("/dev/null", MNT_DETACH) == 0 || ::umount2("/proc", MNT_DETACH) == 0);
       },
       {mounting(), machine_capability(CAP_SYS_ADMIN), mount_point("/proc")}},
      {"open a tree of mounts",
       [](Text, std::string&) { return reached(::syscall(SYS_open_tree, AT_FDCWD, "/", 1)); },
       {mounting(), call(SYS_open_tree)}},
      {"move a tree of mounts",
       [](Text, std::string&) { return reached(::syscall(SYS_move_mount, -1, "", -1, "", 0)); },
       {capability(CAP_SYS_ADMIN), call(SYS_move_mount)}},
      {"open a file system",
       [](Text, std::string&) { return reached(::syscall(SYS_fsopen, "tmpfs", 0)); },
       {mounting(), call(SYS_fsopen)}},
      {"configure a file system",
       [](Text, std::string&) {
         return reached(::syscall(SYS_fsconfig, -1, 0, nullptr, nullptr, 0));
       },
       {call(SYS_fsconfig)}},
      {"pick a file system",
       [](Text, std::string&) { return reached(::syscall(SYS_fspick, AT_FDCWD, "/", 0)); },
       {mounting(), call(SYS_fspick)}},
      {"set flags of a mount",
       [](Text, std::string&) {
         return reached(::syscall(SYS_mount_setattr, -1, "", 0, nullptr, 0));
       },
       {call(SYS_mount_setattr)}},
      {"change the root",
       [](Text, std::string&) {
         return got(::mkdir("attack-root", 0700) <= 0 && ::chroot("attack-root") == 0);
       },
       {capability(CAP_SYS_CHROOT)}},
      {"escape from a root by ..",
       [](Text, std::string&) {
         ::mkdir("attack-root", 0700);
         const int outside = ::open("/", O_RDONLY | O_DIRECTORY);
         if (::chroot("attack-root") != 0 || ::fchdir(outside) != 0) return 1;
         for (int i = 0; i < 32; ++i) (void)!::chdir("..");
         return got(::chroot(".") == 0 && ::access("/usr", F_OK) == 0);
       },
       {capability(CAP_SYS_CHROOT)}},
      {"pivot the root",
       [](Text, std::string&) { return reached(::syscall(SYS_pivot_root, "/tmp", "/nowhere")); },
       {mounting()}},
      {"read what tmpfs hides",
       [](Text in, std::string&) {
         const std::string secret = Bait::parse(in).secret();
         return got(reads(secret, kSecret) ||
                    (::umount2("/tmp", MNT_DETACH) == 0 && reads(secret, kSecret)));
       }},
      {"watch a whole file system",
       [](Text, std::string&) { return reached(::syscall(SYS_fanotify_init, 0, 0)); },
       {machine_capability(CAP_SYS_ADMIN), call(SYS_fanotify_init)}},
      {"swap to a file",
       [](Text, std::string&) { return reached(::syscall(SYS_swapon, "/nowhere", 0)); },
       {machine_capability(CAP_SYS_ADMIN), call(SYS_swapon)}},
      {"account processes to a file",
       [](Text, std::string&) { return reached(::syscall(SYS_acct, "/nowhere/at/all")); },
       {machine_capability(CAP_SYS_PACCT), call(SYS_acct)}},
      {"set quotas",
       [](Text, std::string&) {
         return reached(::syscall(SYS_quotactl, 0x80000100, nullptr, 0, nullptr));
       },
       {call(SYS_quotactl)}},
  };
}

}  // namespace rollcall::sandbox::attacks
