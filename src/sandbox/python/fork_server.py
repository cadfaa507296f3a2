"""A warm interpreter of a worker: forks for every test, and the child gives up all rights before it reads a line of the code it runs.

argv: server socket, own pid namespace (-1: second tier), file with the filter of system calls, working folder. The worker is the other side of the socket.
A request is the text "RESOURCE SOFT HARD ... files BYTES" with five descriptors (stdin, stdout, stderr, code, report), and a sixth where tests follow, which run in
a process of their own (checks.py). The answer is the pids of the program and of the checks (0: none), then the program's wait status, processor time in microseconds
and peak memory in KiB.
"""
import ast, atexit, bisect, builtins, collections, copy, ctypes, datetime, decimal, fractions, functools, gc, heapq, io, itertools, json, math, operator, os, random, re
import resource, signal, socket, statistics, string, struct, sys, threading, time, traceback, types, typing

CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
MS_NOSUID, MS_NODEV = 2, 4
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 4, 22, 38, 47, 4
OUT_OF_MEMORY, OUT_OF_TIME = 86, 87  # exit statuses; the worker knows them

libc = ctypes.CDLL(None, use_errno=True)
# Without what Python does for threads and random numbers in a child, which touches, and so copies,
# a hundred pages: there is one thread, and numbers begin alike.
fork = ctypes.PyDLL(None, use_errno=True).fork
random.seed(0)
libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # no program may open this interpreter's pipes by /proc/PID/fd
server = socket.socket(fileno=int(sys.argv[1]))
own_pid_namespace, folder = int(sys.argv[2]), sys.argv[4]
with os.fdopen(int(sys.argv[3]), "rb") as file:
    FILTER = file.read()
filter_code = ctypes.create_string_buffer(FILTER)


class SockFprog(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


filter_program = SockFprog(len(FILTER) // 8, ctypes.addressof(filter_code))
capability_header, no_capabilities = struct.pack("Ii", 0x20080522, 0), bytes(24)


def demand(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def confine(words, descriptors, has_mounts):
    """Gives up all rights; `descriptors` become 0, 1 and so on, and all others are closed."""
    if has_mounts and own_pid_namespace >= 0:
        demand(libc.unshare(CLONE_NEWNS))
        size = words[words.index("files") + 1]
        demand(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", MS_NOSUID | MS_NODEV, f"size={size},nr_inodes=1024,mode=700".encode()))
    os.setsid()  # kill(0) reaches a whole process group, worker and interpreter included, whatever its pid namespaces
    os.chdir(folder)
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
    os.closerange(len(descriptors), 4096)
    for number, soft, hard in zip(words[: words.index("files") : 3], words[1::3], words[2::3]):
        resource.setrlimit(int(number), (int(soft), int(hard)))
    demand(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
    demand(libc.capset(capability_header, no_capabilities))
    demand(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    demand(libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(filter_program), 0, 0))


def confined(words, descriptors, report, has_mounts):
    """Confines this process, or ends it and says why. `report` is the last of the descriptors."""
    try:
        confine(words, descriptors, has_mounts)
    except BaseException as error:
        os.write(report, b"broken: " + str(error).encode())
        os._exit(1)


def all_of(descriptor):
    parts = []
    while not parts or parts[-1]:
        parts.append(os.read(descriptor, 1 << 20))
    os.close(descriptor)
    return b"".join(parts)


def run(code, channel):
    name = "__main__" if channel is None else "solution"
    module = types.ModuleType(name)
    module.__dict__["__builtins__"] = builtins
    sys.modules[name] = module
    exec(compile(code, "solution.py", "exec"), module.__dict__)
    if channel is not None:
        Answers(module.__dict__, channel).serve()


def be_program(words, descriptors, channel):
    """`descriptors`: input, output, error, code, report. The report is closed before a line of the
    code is read, so that no program has ever held it.
    """
    signal.signal(signal.SIGXCPU, lambda *_: os._exit(OUT_OF_TIME))  # the first process of a pid namespace is spared what it does not handle
    *streams, code, report = descriptors
    held = [*streams, code, *([] if channel is None else [channel]), report]
    confined(words, held, report, True)
    os.close(len(held) - 1)
    status = 1
    try:
        run(all_of(3), None if channel is None else 4)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except MemoryError:
        status = OUT_OF_MEMORY
    except BaseException:
        traceback.print_exc()
    try:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except MemoryError:
        status = OUT_OF_MEMORY
    except BaseException:
        status = status or 1
    os._exit(status & 255)


def report_of(checks, program):
    """How the checks ended (a letter), four counts, and why."""
    try:
        checks.run()
    except Unusable as problem:
        return told(b"u", said=str(problem))
    return told(b"g" if program.gone else b"e", (checks.count, checks.passed, checks.first, checks.by_program), checks.said)


def told(end, counts=(0, 0, 0, 0), said=""):
    return end + struct.pack("4I", *counts) + said.encode("utf-8", "replace")[:2000]


def become_checks(words, program, channel, report):
    """In a process of their own, the checks have the limits of a program. What goes wrong before
    its first answer is their own fault.
    """
    def short_of(what, end):
        os.write(5, told(end if program.heard else b"u", said=f"the tests of the prompt run out of {what}"))
        os._exit(0)
    program.short_of = short_of
    signal.signal(signal.SIGXCPU, lambda *_: short_of("processor time", b"t"))
    confined(words, [0, 1, 2, channel, channel, report], report, False)
    program.channel, program.before_large, program.values.before_rare = 4, None, None


def be_checks(words, tests, channel, report):
    """`tests`: ready ones, or the descriptor that they come from."""
    program = Program(channel)
    source = all_of(tests).decode() if isinstance(tests, int) else ""
    become_checks(words, program, channel, report)
    try:
        os.write(5, report_of(Checks(tests if not source else Tests(source), program), program))
    except Unusable as problem:
        os.write(5, told(b"u", said=str(problem)))
    except MemoryError:
        program.short_of("memory", b"m")
    os._exit(0)


def run_plain(words, tests, channel, report):
    """Plain tests run nobody's code, so this process does it. Where a value is large, or none of
    the common ones, a process of their own goes on: its pid, else 0.
    """
    program = Program(channel)

    def hand_over():
        pid = fork()
        demand(0 if pid >= 0 else -1)
        if pid > 0:
            raise HandedOver(pid)
        become_checks(words, program, channel, report)
    program.before_large = program.values.before_rare = hand_over
    try:
        said = report_of(Checks(tests, program), program)
    except HandedOver as other:
        return other.args[0]
    except MemoryError:
        said = told(b"m")
    except Exception as error:  # this process must outlive whatever a program hands over
        said = told(b"g", said=type(error).__name__)
    if program.channel != channel:
        os.write(5, said)
        os._exit(0)
    os.write(report, said)
    return 0


def warm_up():
    """What Python makes at the first use, every child would make anew."""
    answers, program, replies = Answers({"f": lambda x: [x]}, None), Program(None), []
    program.send = lambda *request: replies.append(answers.answer(program.values.encode(list(request))))
    program.receive = lambda: (program.values.decode(replies[0])[0], program.values.decode(replies.pop())[1:])
    for source in ("assert f(1) == [1]\nassert f([2]) == [[2]]", "assert f(1) == [1]\nfor x in [2]: assert f([x]) == [[2]]"):
        checks = Checks(Tests(source), program)
        checks.run()
        demand(0 if checks.passed == checks.count else -1)


known_tests = {}  # by their text; answers to one prompt come together


def tests_of(source):
    if source not in known_tests:
        if len(known_tests) >= 16:
            del known_tests[next(iter(known_tests))]
        known_tests[source] = Tests(source.decode())
    return known_tests[source]


def begin_checks(words, tests, report):
    """The pid of the process of the checks (0: this one runs them), both ends of the channel to the
    program, and the tests.
    """
    ours, theirs = (end.detach() for end in socket.socketpair())
    tests = tests_of(all_of(os.dup(tests))) if "whole" in words else tests
    if isinstance(tests, Tests) and tests.is_plain:
        return 0, ours, theirs, tests
    pid = fork()
    demand(0 if pid >= 0 else -1)
    if pid == 0:
        be_checks(words, tests, ours, report)
    os.close(ours)
    return pid, None, theirs, tests


def begin_program(words, descriptors, channel):
    if own_pid_namespace >= 0:
        demand(libc.unshare(CLONE_NEWPID))
    pid = fork()
    demand(0 if pid >= 0 else -1)
    if pid == 0:
        be_program(words, descriptors, channel)
    if own_pid_namespace >= 0:
        demand(libc.setns(own_pid_namespace, CLONE_NEWPID))
    return pid


def serve():
    warm_up()
    gc.collect()
    gc.freeze()
    server.sendall(b"ready")
    while True:
        message, descriptors, _, _ = socket.recv_fds(server, 4096, 6)
        if not message:
            os._exit(0)
        words, report = message.decode().split(), descriptors[4]
        checked = len(descriptors) == 6
        checks, ours, theirs, tests = begin_checks(words, descriptors[5], report) if checked else (0, None, None, None)
        pid = begin_program(words, descriptors[:5], theirs)
        for descriptor in [*descriptors[:4], *descriptors[5:], *([theirs] if checked else [])]:
            os.close(descriptor)
        server.sendall(struct.pack("qq", pid, checks))
        if ours is not None:
            checks = run_plain(words, tests, ours, report)
            os.close(ours)
        os.close(report)
        if checks:
            os.waitpid(checks, 0)  # it ends with the program, or has nothing more to ask
        if checked:
            os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        server.sendall(struct.pack("qqq", status, int((usage.ru_utime + usage.ru_stime) * 1e6), usage.ru_maxrss))


serve()
