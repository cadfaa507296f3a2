"""A warm interpreter of a worker: forks for every test, and the child gives up all rights before it reads a line of the code it runs.

argv: server socket, own pid namespace (-1: second tier), file with the filter of system calls, working folder. The worker is the other side of the socket.
A request is the text "RESOURCE SOFT HARD ... files BYTES" with five descriptors: stdin, stdout, stderr, program, report. The answer is the child's pid, then
its wait status, processor time in microseconds and peak memory in KiB.
"""
import ast, atexit, bisect, builtins, collections, copy, ctypes, datetime, decimal, fractions, functools, gc, heapq, io, itertools, json, math, operator, os, random, re
import resource, signal, socket, statistics, string, struct, sys, threading, time, traceback, types, typing

CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
MS_NOSUID, MS_NODEV = 2, 4
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 4, 22, 38, 47, 4
OUT_OF_MEMORY, OUT_OF_TIME = 86, 87  # exit statuses; the worker knows them

libc = ctypes.CDLL(None, use_errno=True)
# Without what Python does for threads and random numbers in a child, which touches, and so copies, a hundred pages: there is one thread, and numbers begin alike.
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


def confine(words, descriptors):
    if own_pid_namespace >= 0:
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


def read_frame():
    """Code first; what checks it is read only after it ran."""
    def read(count):
        parts = []
        while count > 0:
            part = os.read(3, min(count, 1 << 20))
            if not part:
                break
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
    return read(struct.unpack("Q", read(8))[0])


CHECK_NOTHING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Pass)


def run_checks(checks, names):
    """(tests, passed, number of the first that did not pass or 0): each assert at the top is a test, and any other statement that fails is one that did not pass and ends the list. None at all: nothing is checked."""
    try:
        body = ast.parse(checks).body
    except SyntaxError:
        traceback.print_exc()
        return 0, 0, 0
    asserts, passed, tried, first = sum(isinstance(node, ast.Assert) for node in body), 0, 0, 0
    if all(isinstance(node, CHECK_NOTHING) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) for node in body):
        return 0, 0, 0
    for node in body:
        counted = isinstance(node, ast.Assert)
        tried += counted
        try:
            exec(compile(ast.Module([node], []), "tests", "exec"), names)
            passed += counted
        except MemoryError:
            raise
        except Exception:
            traceback.print_exc()
            if not counted:
                return asserts + 1, passed, first or asserts + 1
            first = first or tried
    return (asserts, passed, first) if asserts else (1, 1, 0)


def run():
    code = read_frame()
    report = os.read(3, 1) == b"1"  # whether checks follow
    name = "solution" if report else "__main__"
    module = types.ModuleType(name)
    module.__dict__["__builtins__"] = builtins
    sys.modules[name] = module
    exec(compile(code, "solution.py", "exec"), module.__dict__)
    if report:
        total, passed, first = run_checks(read_frame(), module.__dict__)
        secret = read_frame()
        sys.stdout.flush()
        os.write(4, secret + struct.pack("III", total, passed, first))
        return 0 if passed == total else 1
    return 0


def child(words, descriptors):
    status = 1
    try:
        signal.signal(signal.SIGXCPU, lambda *_: os._exit(OUT_OF_TIME))  # the first process of a pid namespace is spared what it does not handle
        confine(words, descriptors)
    except BaseException as error:
        os.write(descriptors[4], b"broken: " + str(error).encode())
        os._exit(1)
    try:
        status = run()
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


def serve():
    run_checks("def f(x):\n    return [x]\nassert f(1) == [1]", {"__builtins__": builtins})  # what Python makes at the first use, every child would make anew
    gc.collect()
    gc.freeze()
    server.sendall(b"ready")
    while True:
        message, descriptors, _, _ = socket.recv_fds(server, 4096, 5)
        if not message:
            os._exit(0)
        if own_pid_namespace >= 0:
            demand(libc.unshare(CLONE_NEWPID))
        pid = fork()
        demand(0 if pid >= 0 else -1)
        if pid == 0:
            child(message.decode().split(), descriptors)
        if own_pid_namespace >= 0:
            demand(libc.setns(own_pid_namespace, CLONE_NEWPID))
        for descriptor in descriptors:
            os.close(descriptor)
        server.sendall(struct.pack("q", pid))
        _, status, usage = os.wait4(pid, 0)
        server.sendall(struct.pack("qqq", status, int((usage.ru_utime + usage.ru_stime) * 1e6), usage.ru_maxrss))


serve()
