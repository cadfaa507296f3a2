// Attacks on files: reading, changing and making them outside, by path, link, race and descriptor.
#include "attacks/attack.hpp"
#include "base/clock.hpp"

#include <dirent.h>
#include <fcntl.h>
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

/// One thread turns a link from a harmless file to the bait and back while another opens it by name.
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
    while (!stop) ::syscall(SYS_renameat2, AT_FDCWD, (base + "-a").c_str(), AT_FDCWD, (base + "-b").c_str(), 2 /* exchange */);
  });
  bool won = false;
  for (const Stopwatch since; since.seconds() < 0.25 && !won;) won = reads(base + "-a/secret", kSecret);
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
  const int open = made ? ::open(name.c_str(), O_RDONLY) : -1;
  ::unlink(name.c_str());
  return got(made && (open >= 0 || kind == S_IFBLK));
}

}  // namespace

std::vector<Attack> on_files() {
  return {
      {"read by path", [](Text in, std::string&) { return got(reads(Bait::parse(in).secret(), kSecret)); }},
      {"read by way of ..", [](Text in, std::string&) { return got(reads("../../../../../../.." + Bait::parse(in).secret(), kSecret)); }},
      {"read by the parent's root",
       [](Text in, std::string&) { return got(reads("/proc/" + std::to_string(::getppid()) + "/root" + Bait::parse(in).secret(), kSecret)); }},
      {"read by /proc/self/root", [](Text in, std::string&) { return got(reads("/proc/self/root" + Bait::parse(in).secret(), kSecret)); }},
      {"read by /proc/HOST/cwd", [](Text in, std::string&) { return got(names_in("/proc/" + std::to_string(Bait::parse(in).host) + "/cwd", "")); }},
      {"read by a symbolic link",
       [](Text in, std::string&) {
         const std::string link = "link-" + std::to_string(::getpid());
         return got(::symlink(Bait::parse(in).secret().c_str(), link.c_str()) == 0 && reads(link, kSecret));
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
         return got(::syscall(SYS_openat2, AT_FDCWD, Bait::parse(in).secret().c_str(), how.data(), sizeof how) >= 0);
       }},
      {"read by the handle of a file",
       [](Text in, std::string&) {
         struct {
           file_handle head;
           unsigned char rest[128];
         } handle{};
         handle.head.handle_bytes = sizeof handle.rest;
         int mount = 0;
         if (::name_to_handle_at(AT_FDCWD, Bait::parse(in).secret().c_str(), &handle.head, &mount, 0) != 0) return 1;
         const int root = ::open("/", O_RDONLY);
         return got(::open_by_handle_at(root, &handle.head, O_RDONLY) >= 0);
       }},
      {"name a handle of the root",
       [](Text, std::string&) {
         struct {
           file_handle head;
           unsigned char rest[128];
         } handle{};
         handle.head.handle_bytes = sizeof handle.rest;
         int mount = 0;
         return got(::name_to_handle_at(AT_FDCWD, "/usr", &handle.head, &mount, 0) == 0);
       }},
      {"win a race of links", race},
      {"win a race of folders", folder_race},
      {"list the folder", [](Text in, std::string&) { return got(names_in(Bait::parse(in).folder, "secret")); }},
      {"learn that a file exists",
       [](Text in, std::string&) {
         struct stat s {};
         return got(::stat(Bait::parse(in).secret().c_str(), &s) == 0);
       }},
      {"write", [](Text in, std::string&) { return got(writes(Bait::parse(in).open(), 0)); }},
      {"append", [](Text in, std::string&) { return got(writes(Bait::parse(in).open(), O_APPEND)); }},
      {"truncate", [](Text in, std::string&) { return got(::truncate(Bait::parse(in).open().c_str(), 1) == 0); }},
      {"create", [](Text in, std::string&) { return got(writes(Bait::parse(in).folder + "/made-" + std::to_string(::getpid()), O_CREAT)); }},
      {"make a folder",
       [](Text in, std::string&) { return got(::mkdir((Bait::parse(in).folder + "/made-" + std::to_string(::getpid())).c_str(), 0700) == 0); }},
      {"rename",
       [](Text in, std::string&) {
         const Bait bait = Bait::parse(in);
         return got(::rename(bait.open().c_str(), (bait.folder + "/renamed").c_str()) == 0 &&
                    ::rename((bait.folder + "/renamed").c_str(), bait.open().c_str()) == 0);
       }},
      {"remove",
       [](Text in, std::string&) {
         const std::string name = Bait::parse(in).folder + "/removable";
         return got(::access(name.c_str(), F_OK) == 0 && ::unlink(name.c_str()) == 0 && writes(name, O_CREAT));
       }},
      {"change the mode", [](Text in, std::string&) { return got(::chmod(Bait::parse(in).open().c_str(), 0666) == 0); }},
      {"change the times", [](Text in, std::string&) { return got(::utimensat(AT_FDCWD, Bait::parse(in).open().c_str(), nullptr, 0) == 0); }},
      {"set an attribute", [](Text in, std::string&) { return got(::setxattr(Bait::parse(in).open().c_str(), "user.attack", "x", 1, 0) == 0); }},
      {"watch", [](Text in, std::string&) { return got(::inotify_add_watch(::inotify_init1(0), Bait::parse(in).folder.c_str(), IN_ALL_EVENTS) >= 0); }},
      {"read passwords", [](Text, std::string&) { return got(::open("/etc/shadow", O_RDONLY) >= 0); }},
      {"read the machine's name", [](Text, std::string&) { return got(::open("/etc/hostname", O_RDONLY) >= 0 || ::open("/etc/hosts", O_RDONLY) >= 0); }},
      {"list root's home", [](Text, std::string&) { return got(::open("/root", O_RDONLY | O_DIRECTORY) >= 0); }},
      {"list logs", [](Text, std::string&) { return got(names_in("/var", "log")); }},
      {"list /sys", [](Text, std::string&) { return got(names_in("/sys", "")); }},
      {"list processes", [](Text, std::string&) { return got(names_in("/proc", "1")); }},
      {"list disks and terminals", [](Text, std::string&) { return got(names_in("/dev", "pts") || names_in("/dev", "tty") || names_in("/dev", "mem")); }},
      {"find a terminal", [](Text, std::string&) { return got(::open("/dev/ptmx", O_RDWR) >= 0); }},
      {"make a device of memory", [](Text, std::string&) { return device(S_IFCHR, 1, 11); }},
      {"make a device of a disk", [](Text, std::string&) { return device(S_IFBLK, 254, 0); }},
      {"write programs", [](Text, std::string&) { return got(::access("/usr/bin", W_OK) == 0 && ::access("/usr/bin/env", W_OK) == 0); }},
      {"write libraries", [](Text, std::string&) { return got(::open("/usr/lib", O_TMPFILE | O_WRONLY, 0600) >= 0); }},
      {"write the root", [](Text, std::string&) { return got(writes("/attack-made", O_CREAT) && ::unlink("/attack-made") == 0); }},
      {"write /etc", [](Text, std::string&) { return got(writes("/etc/attack-made", O_CREAT) && ::unlink("/etc/attack-made") == 0); }},
      {"touch a device", [](Text, std::string&) { return got(::utimensat(AT_FDCWD, "/dev/null", nullptr, 0) == 0); }},
      {"give a file away",
       [](Text, std::string&) {
         ::close(::open("mine", O_CREAT | O_WRONLY, 0600));
         return got(::chown("mine", 1, 1) == 0);
       }},
      {"find an open descriptor", any_open_descriptor},
      {"use the host's descriptor",
       [](Text in, std::string&) {
         char c = 0;
         return got(::pread(Bait::parse(in).descriptor, &c, 1, 0) == 1);
       }},
      {"use a descriptor by /dev/fd",
       [](Text in, std::string&) { return got(::open(("/dev/fd/" + std::to_string(Bait::parse(in).descriptor)).c_str(), O_RDONLY) >= 0); }},
      {"share memory by name", [](Text, std::string&) { return got(writes("/dev/shm/attack", O_CREAT) && ::unlink("/dev/shm/attack") == 0); }},
  };
}

}  // namespace rollcall::sandbox::attacks
