// Attacks on files: reading, changing and making them outside, by path, link, race and descriptor.
#include "attacks/attack.hpp"
#include "base/time/clock.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <thread>

namespace rollcall::sandbox::attacks {
namespace {

using Text = std::string_view;

bool writes(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), O_WRONLY | flags, 0666);
  return file >= 0 && ::write(file, "x", 1) == 1;
}

/// One thread turns a link from a harmless file to the bait and back while another opens it by
/// name.
int race(Text input, std::string&) {
  const Bait bait = Bait::parse(input);
  const std::string link = "race-" + std::to_string(::getpid());
  ::close(::open("harmless", O_CREAT | O_WRONLY, 0600));
  std::atomic<bool> stop = false;
  std::thread turner([&] {
    while (!stop) {
      (void)!::symlink("harmless", link.c_str());
      ::unlink(link.c_str());
      (void)!::symlink(bait.secret().c_str(), link.c_str());
      ::unlink(link.c_str());
    }
  });
  bool won = false;
  for (const Stopwatch since; since.seconds() < 0.25 && !won;) won = reads(link, kSecret);
  stop = true;
  turner.join();
  return got(won);
}

/// The same with a folder that is exchanged for a link below a fixed name.
int folder_race(Text input, std::string&) {
  const Bait bait = Bait::parse(input);
  const std::string base = "race-folder-" + std::to_string(::getpid());
  ::mkdir((base + "-a").c_str(), 0700);
  (void)!::symlink(bait.folder.c_str(), (base + "-b").c_str());
  std::atomic<bool> stop = false;
  std::thread turner([&] {
    while (!stop)
      ::syscall(SYS_renameat2, AT_FDCWD, (base + "-a").c_str(), AT_FDCWD, (base + "-b").c_str(),
                2 /* exchange */);
  });
  bool won = false;
  for (const Stopwatch since; since.seconds() < 0.25 && !won;)
    won = reads(base + "-a/secret", kSecret);
  stop = true;
  turner.join();
  return got(won);
}

int any_open_descriptor(Text, std::string&) {
  for (int descriptor = 3; descriptor < 4096; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) return 0;
  }
  return 1;
}

int device(mode_t kind, unsigned major, unsigned minor) {
  const std::string name = "device-" + std::to_string(::getpid());
  const bool made = ::mknod(name.c_str(), kind | 0666, ::makedev(major, minor)) == 0;
  ::unlink(name.c_str());
  return got(made);  // whether it opens is the mount's affair
}

}  // namespace

std::vector<Attack> on_files() {
  return {
      {"read by path",
       [](Text in, std::string&) { return got(reads(Bait::parse(in).secret(), kSecret)); }},
      {"read by way of ..",
       [](Text in, std::string&) {
         return got(reads("../../../../../../.." + Bait::parse(in).secret(), kSecret));
       }},
      {"read by the parent's root",
       [](Text in, std::string&) {
         return got(reads(
             "/proc/" + std::to_string(::getppid()) + "/root" + Bait::parse(in).secret(), kSecret));
       },
       {proc()}},
      {"read by /proc/self/root",
       [](Text in, std::string&) {
         return got(reads("/proc/self/root" + Bait::parse(in).secret(), kSecret));
       },
       {proc()}},
      {"read by /proc/HOST/cwd",
       [](Text in, std::string&) {
         return got(names_in("/proc/" + std::to_string(Bait::parse(in).host) + "/cwd", ""));
       },
       {proc()}},
      {"read by a symbolic link",
       [](Text in, std::string&) {
         const std::string link = "link-" + std::to_string(::getpid());
         return got(::symlink(Bait::parse(in).secret().c_str(), link.c_str()) == 0 &&
                    reads(link, kSecret));
       }},
      {"read by a hard link",
       [](Text in, std::string&) {
         const Bait bait = Bait::parse(in);
         const std::string link = bait.folder + "/hard-" + std::to_string(::getpid());
         return got(::link(bait.secret().c_str(), link.c_str()) == 0 && reads(link, kSecret));
       }},
      {"read by openat2",
       [](Text in, std::string&) {
         std::array<std::uint64_t, 3> how{O_RDONLY, 0, 0};
         return got(::syscall(SYS_openat2, AT_FDCWD, Bait::parse(in).secret().c_str(), how.data(),
                              sizeof how) >= 0);
       },
       {call(SYS_openat2)}},
      {"read by the handle of a file",
       [](Text in, std::string&) {
         struct {
           file_handle head;
           unsigned char rest[128];
         } handle{};
         handle.head.handle_bytes = sizeof handle.rest;
         int mount = 0;
         if (::name_to_handle_at(AT_FDCWD, Bait::parse(in).secret().c_str(), &handle.head, &mount,
                                 0) != 0)
           return 1;
         // of the same file system
         const int same = ::open(Bait::parse(in).folder.c_str(), O_RDONLY);
         return got(::open_by_handle_at(same, &handle.head, O_RDONLY) >= 0);
       },
       {machine_capability(CAP_DAC_READ_SEARCH), file_handles("/tmp"), call(SYS_name_to_handle_at),
        call(SYS_open_by_handle_at)}},
      {"name a handle of the root",
       [](Text, std::string&) {
         struct {
           file_handle head;
           unsigned char rest[128];
         } handle{};
         handle.head.handle_bytes = sizeof handle.rest;
         int mount = 0;
         return got(::name_to_handle_at(AT_FDCWD, "/usr", &handle.head, &mount, 0) == 0);
       },
       {file_handles("/usr"), call(SYS_name_to_handle_at)}},
      {"win a race of links", race, {processes(8)}},
      {"win a race of folders", folder_race, {processes(8), exchange_of_names()}},
      {"list the folder",
       [](Text in, std::string&) { return got(names_in(Bait::parse(in).folder, "secret")); }},
      {"learn that a file exists",
       [](Text in, std::string&) {
         struct stat s {};
         return got(::stat(Bait::parse(in).secret().c_str(), &s) == 0);
       }},
      {"write", [](Text in, std::string&) { return got(writes(Bait::parse(in).open(), 0)); }},
      {"append",
       [](Text in, std::string&) { return got(writes(Bait::parse(in).open(), O_APPEND)); }},
      {"truncate",
       [](Text in, std::string&) {
         return got(::truncate(Bait::parse(in).open().c_str(), 1) == 0);
       }},
      {"create",
       [](Text in, std::string&) {
         return got(
             writes(Bait::parse(in).folder + "/made-" + std::to_string(::getpid()), O_CREAT));
       }},
      {"make a folder",
       [](Text in, std::string&) {
         return got(
             ::mkdir((Bait::parse(in).folder + "/made-" + std::to_string(::getpid())).c_str(),
                     0700) == 0);
       }},
      {"rename",
       [](Text in, std::string&) {
         const Bait bait = Bait::parse(in);
         return got(::rename(bait.open().c_str(), (bait.folder + "/renamed").c_str()) == 0 &&
                    ::rename((bait.folder + "/renamed").c_str(), bait.open().c_str()) == 0);
       }},
      {"remove",
       [](Text in, std::string&) {
         const std::string name = Bait::parse(in).folder + "/removable";
         return got(::access(name.c_str(), F_OK) == 0 && ::unlink(name.c_str()) == 0 &&
                    writes(name, O_CREAT));
       }},
      {"change the mode",
       [](Text in, std::string&) {
         return got(::chmod(Bait::parse(in).open().c_str(), 0666) == 0);
       }},
      {"change the times",
       [](Text in, std::string&) {
         return got(::utimensat(AT_FDCWD, Bait::parse(in).open().c_str(), nullptr, 0) == 0);
       }},
      {"set an attribute",
       [](Text in, std::string&) {
         return got(::setxattr(Bait::parse(in).open().c_str(), "user.attack", "x", 1, 0) == 0);
       },
       {user_attributes()}},
      {"watch",
       [](Text in, std::string&) {
         return got(::inotify_add_watch(::inotify_init1(0), Bait::parse(in).folder.c_str(),
                                        IN_ALL_EVENTS) >= 0);
       },
       {inotify_instances()}},
      {"read passwords",
       [](Text, std::string&) { return got(::open("/etc/shadow", O_RDONLY) >= 0); },
       {may(R_OK, {"/etc/shadow"})}},
      {"read the machine's name",
       [](Text, std::string&) {
         return got(::open("/etc/hostname", O_RDONLY) >= 0 || ::open("/etc/hosts", O_RDONLY) >= 0);
       },
       {may(R_OK, {"/etc/hostname", "/etc/hosts"})}},
      {"list root's home",
       [](Text, std::string&) { return got(::open("/root", O_RDONLY | O_DIRECTORY) >= 0); },
       {may(R_OK, {"/root"})}},
      {"list logs",
       [](Text, std::string&) { return got(names_in("/var", "log")); },
       {may(F_OK, {"/var/log"})}},
      {"list /sys",
       [](Text, std::string&) { return got(names_in("/sys", "")); },
       {may(R_OK, {"/sys/kernel"})}},
      {"list processes",
       [](Text in, std::string&) {
         return got(names_in("/proc", std::to_string(Bait::parse(in).host)));
       },
       {proc()}},
      {"list disks and terminals",
       [](Text, std::string&) {
         return got(names_in("/dev", "pts") || names_in("/dev", "tty") || names_in("/dev", "mem"));
       },
       {may(F_OK, {"/dev/pts", "/dev/tty", "/dev/mem"})}},
      {"find a terminal",
       [](Text, std::string&) { return got(::open("/dev/ptmx", O_RDWR) >= 0); },
       {may(R_OK | W_OK, {"/dev/ptmx"})}},
      {"make a device of memory",
       [](Text, std::string&) { return device(S_IFCHR, 1, 11); },
       {machine_capability(CAP_MKNOD), device_files()}},
      {"make a device of a disk",
       [](Text, std::string&) { return device(S_IFBLK, 254, 0); },
       {machine_capability(CAP_MKNOD), device_files()}},
      {"write programs",
       [](Text, std::string&) {
         return got(writes("/usr/bin/attack-made", O_CREAT) &&
                    ::unlink("/usr/bin/attack-made") == 0);
       },
       {owns("/usr/bin")}},
      {"write libraries",
       [](Text, std::string&) {
         return got(writes("/usr/lib/attack-made", O_CREAT) &&
                    ::unlink("/usr/lib/attack-made") == 0);
       },
       {owns("/usr/lib")}},
      {"write the root",
       [](Text, std::string&) {
         return got(writes("/attack-made", O_CREAT) && ::unlink("/attack-made") == 0);
       },
       {owns("/")}},
      {"write /etc",
       [](Text, std::string&) {
         return got(writes("/etc/attack-made", O_CREAT) && ::unlink("/etc/attack-made") == 0);
       },
       {owns("/etc")}},
      {"touch a device",
       [](Text, std::string&) { return got(::utimensat(AT_FDCWD, "/dev/null", nullptr, 0) == 0); },
       {owns("/dev/null")}},
      {"give a file away",
       [](Text, std::string&) {
         ::close(::open("mine", O_CREAT | O_WRONLY, 0600));
         return got(::chown("mine", 1, 1) == 0);
       },
       {capability(CAP_CHOWN), second_id()}},
      {"find an open descriptor", any_open_descriptor},
      {"use the host's descriptor",
       [](Text in, std::string&) {
         char c = 0;
         return got(::pread(Bait::parse(in).descriptor, &c, 1, 0) == 1);
       }},
      {"use a descriptor by /dev/fd",
       [](Text in, std::string&) {
         return got(::open(("/dev/fd/" + std::to_string(Bait::parse(in).descriptor)).c_str(),
                           O_RDONLY) >= 0);
       },
       {proc(), may(F_OK, {"/dev/fd"})}},
      {"share memory by name",
       [](Text, std::string&) {
         return got(writes("/dev/shm/attack", O_CREAT) && ::unlink("/dev/shm/attack") == 0);
       },
       {may(W_OK, {"/dev/shm"})}},
  };
}

}  // namespace rollcall::sandbox::attacks
