"""A warm interpreter of a worker: forks for every test, and the child gives up all rights before it reads a line of the code it runs.

argv: server socket, own pid namespace (-1: second tier), file with the filter of system calls, working folder.
The worker is the other side of the socket. A request is the text "RESOURCE SOFT HARD ... files BYTES wall SECONDS"
with five descriptors (stdin, stdout, stderr, code, report), and a sixth where tests follow; "whole" at the end says
that they are in that pipe already. The answer is the pid of the program, then its wait status, processor time in
microseconds and peak memory in KiB. Tests are read and run in a process from which no program is forked.
"""
import ast, atexit, bisect, builtins, collections, copy, ctypes, datetime, decimal, fractions, functools, gc, heapq, io, itertools, json, math, operator, os, random, re
import resource, signal, socket, statistics, string, struct, sys, threading, time, traceback, types, typing

CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
MS_NOSUID, MS_NODEV = 2, 4
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 1, 4, 22, 38, 47, 4
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


def flush_all():
    """Flushes as Python does at its end, and also the original streams if a program has replaced
    them, and files that it left open.
    """
    streams, failed = [sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__], None
    for name in ("__main__", "solution"):
        module = sys.modules.get(name)
        if isinstance(module, types.ModuleType):
            streams += [value for value in module.__dict__.values() if isinstance(value, io.IOBase)]
    for stream in streams:
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except Exception as error:
            failed = failed or error
    if failed:
        raise failed


def be_program(words, descriptors, channel):
    """Becomes the program. `descriptors` are input, output, error, code and report. The report is
    closed before a line of the code is read, so that no program ever holds it.
    """
    signal.signal(signal.SIGXCPU, lambda *_: os._exit(OUT_OF_TIME))  # the first process of a pid namespace is spared what it does not handle
    for number in signal.SIGTERM, signal.SIGUSR2:  # which this process ignores: Slurm sends stops to all processes of a step
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
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
        flush_all()
    except MemoryError:
        status = OUT_OF_MEMORY
    except BaseException:
        status = status or 1
    os._exit(status & 255)


def told(end, counts=(0, 0, 0, 0), said=""):
    """The report: how the checks ended (a letter), four counts, and the reason."""
    return end + struct.pack("4I", *counts) + said.encode("utf-8", "replace")[:2000]


def report_of(tests, program):
    try:
        checks = Checks(tests, program)
        checks.run()
    except Unusable as problem:
        return told(b"u", said=str(problem))
    except MemoryError:
        return told(b"m" if program.heard else b"u", said="the tests of the prompt run out of memory")
    return told(b"g" if program.gone else b"e", (checks.count, checks.passed, checks.first, checks.by_program), checks.said)


def end_after(seconds):
    """Ends this process after some seconds of running time. It counts ticks, because no ticks come
    while a job is suspended, whereas an alarm for the whole time would then be overdue.
    """
    ticks = iter(range(max(1, round(seconds))))

    def tick(*_):
        if next(ticks, None) is None:
            os._exit(1)
    signal.signal(signal.SIGALRM, tick)
    signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)


def become_checks(words, program, report):
    """Confines the process of the checks with the limits of a program. An error before their first
    answer is the checks' own fault.
    """
    def out_of_time(*_):
        os.write(4, told(b"t" if program.heard else b"u", said="the tests of the prompt run out of processor time"))
        os._exit(0)
    signal.signal(signal.SIGXCPU, out_of_time)
    confined(words, [0, 1, 2, program.channel, report], report, False)
    end_after(float(words[words.index("wall") + 1]) + 1.0)  # where they wait for what is not the program
    program.channel, program.before_large, program.values.before_rare = 3, None, None


def be_checks(words, tests, channel, report):
    """Runs the checks. `tests` are prepared ones, or the descriptor from which they come."""
    program = Program(channel)
    source = None if isinstance(tests, Tests) else all_of(tests).decode()
    become_checks(words, program, report)
    os.write(4, report_of(tests if source is None else Tests(source), program))
    os._exit(0)


def run_plain(words, tests, channel, report):
    """Runs plain tests in this process, since they contain no foreign code. If a value is large or
    of a rare type, a process of their own continues: returns its pid, else 0.
    """
    program = Program(channel)

    def hand_over():
        pid = fork()
        demand(0 if pid >= 0 else -1)
        if pid > 0:
            raise HandedOver(pid)
        become_checks(words, program, report)
    program.before_large = program.values.before_rare = hand_over
    try:
        said = report_of(tests, program)
    except HandedOver as other:
        return other.args[0]
    except Exception as error:  # this process must outlive whatever a program hands over
        said = told(b"g", said=type(error).__name__)
    if program.channel != channel:
        os.write(4, said)
        os._exit(0)
    os.write(report, said)
    return 0


known_tests = {}  # by their text; answers to one prompt come together


def tests_of(source):
    if source not in known_tests:
        if len(known_tests) >= 16:
            del known_tests[next(iter(known_tests))]
        known_tests[source] = Tests(source.decode())
    return known_tests[source]


def serve_checks(orders):
    """Serves checks in a process from which no program is forked, because expected values stay in
    its memory. An order has the tests, the channel to the program and the report's descriptor.
    """
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    while True:
        message, descriptors, _, _ = socket.recv_fds(orders, 4096, 3)
        if not message:
            os._exit(0)
        words, (tests, channel, report) = message.decode().split(), descriptors
        ready = tests_of(all_of(os.dup(tests))) if "whole" in words else tests
        if isinstance(ready, Tests) and ready.is_plain:
            pid = run_plain(words, ready, channel, report)
        else:
            pid = fork()
            demand(0 if pid >= 0 else -1)
            if pid == 0:
                be_checks(words, ready, channel, report)
        for descriptor in descriptors:
            os.close(descriptor)
        if pid > 0:
            os.waitpid(pid, 0)  # it ends with the program, or has nothing more to ask
        orders.sendall(b"d")


def warm_up():
    """Makes what Python creates at its first use, which every child would otherwise make again."""
    answers, program, replies = Answers({"f": lambda x: [x]}, None), Program(None), []
    program.send = lambda *request: replies.append(answers.answer(program.values.encode(list(request))))
    program.receive = lambda: (program.values.decode(replies[0])[0], program.values.decode(replies.pop())[1:])
    for source in ("assert f(1) == [1]\nassert f([2]) == [[2]]", "assert f(1) == [1]\nfor x in [2]: assert f([x]) == [[2]]"):
        checks = Checks(Tests(source), program)
        checks.run()
        demand(0 if checks.passed == checks.count else -1)


def begin_checks():
    """Starts the process that runs checks, and returns a socket to it."""
    ours, theirs = socket.socketpair()
    pid = fork()
    demand(0 if pid >= 0 else -1)
    if pid > 0:
        return ours
    ours.close()
    server.close()
    serve_checks(theirs)


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
    orders = begin_checks()
    server.sendall(b"ready")
    while True:
        message, descriptors, _, _ = socket.recv_fds(server, 4096, 6)
        if not message:
            os._exit(0)
        channel, checked = None, len(descriptors) == 6
        if checked:
            far, near = socket.socketpair()
            socket.send_fds(orders, [message], [descriptors[5], far.fileno(), descriptors[4]])
            far.close()
            channel = near.detach()
            descriptors.append(channel)
        pid = begin_program(message.decode().split(), descriptors[:5], channel)
        for descriptor in descriptors:
            os.close(descriptor)
        server.sendall(struct.pack("q", pid))
        if checked:
            if not orders.recv(1):
                os._exit(1)
            os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        server.sendall(struct.pack("qqq", status, int((usage.ru_utime + usage.ru_stime) * 1e6), usage.ru_maxrss))


serve()
