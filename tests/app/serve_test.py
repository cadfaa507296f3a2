"""`rollcall view --serve` among clients that are slow, many, greedy or from elsewhere, and its end."""
import contextlib
import gzip
import signal
import socket
import threading
import time

from harness import check, main

SOON_S = 2.0  # on a busy machine
SLOW = 8  # as many as the threads of a small pool of threads


@contextlib.contextmanager
def server(harness):
    run = harness.work / "run"
    if not run.exists():
        harness.train(run)
    process = harness.start("view", run, "--serve", "0")
    try:
        yield process, int(process.stdout.readline().strip().rstrip("/").rsplit(":", 1)[1])
    finally:
        process.kill()
        process.wait()


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def everything(connection):
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def ask(port, head, body=b""):
    """(status, the whole answer, seconds)"""
    began = time.monotonic()
    with connect(port) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(head.format(host=f"127.0.0.1:{port}").replace("\n", "\r\n").encode() + body)
        answer = everything(connection)
    return int(answer.split()[1]) if answer.startswith(b"HTTP/1.1 ") else 0, answer, time.monotonic() - began


def served_soon(port):
    status, answer, seconds = ask(port, "GET / HTTP/1.1\nHost: {host}\n\n")
    check(status == 200 and b"<html" in answer and seconds < SOON_S, f"status {status} after {seconds:.2f} s")


def slow_clients_stop_nobody(harness):
    """Some send a byte now and then, some nothing, some read nothing of a large answer."""
    with server(harness) as (process, port), contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connect(port)) for _ in range(SLOW)]
        half = stack.enter_context(connect(port))
        half.sendall(b"GET / HTT")
        deaf = [stack.enter_context(connect(port)) for _ in range(SLOW)]
        drips = [stack.enter_context(connect(port)) for _ in range(SLOW)]
        for connection in deaf:
            connection.sendall(f"GET /page.css HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        began, ends = time.monotonic(), []

        def drip(connection):
            with contextlib.suppress(OSError):
                connection.sendall(b"GET / HTTP/1.1\r\n")
                while time.monotonic() < began + 15:
                    connection.sendall(b"X-")
                    time.sleep(0.1)
            ends.append(time.monotonic() - began)

        threads = [threading.Thread(target=drip, args=(connection,)) for connection in drips]
        for thread in threads:
            thread.start()
        served_soon(port)
        served_soon(port)
        for thread in threads:
            thread.join()
        check(max(ends) < 10, f"a request may take {max(ends):.0f} s to arrive")
        answer = everything(half)
        check(answer.startswith(b"HTTP/1.1 408 "), f"half a request is told {answer[:60]}")
        served_soon(port)
        check(len(idle) == SLOW and process.poll() is None, "the server has ended")


def many_clients_make_room(harness):
    with server(harness) as (_, port), contextlib.ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(connect(port))
        served_soon(port)


def an_end_waits_for_nobody(harness):
    with server(harness) as (process, port), connect(port) as slow, connect(port):
        slow.sendall(b"GET / HTT")
        served_soon(port)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        check(process.wait(timeout=20) == 0 and time.monotonic() - began < SOON_S, f"{process.returncode} after {time.monotonic() - began:.1f} s")


def no_request_is_worth_more_than_a_file(harness):
    with server(harness) as (process, port):
        size = len(ask(port, "GET /page.css HTTP/1.1\nHost: {host}\n\n")[1])
        ranges = ",".join(["0-"] * 2000)
        _, answer, _ = ask(port, f"GET /page.css HTTP/1.1\nHost: {{host}}\nRange: bytes={ranges}\n\n")
        check(0 < len(answer) < size + 1000, f"{len(answer)} bytes for a file of {size}")
        bomb = gzip.compress(bytes(32 << 20))
        for method, fields in (("GET", ""), ("POST", "Content-Type: application/x-www-form-urlencoded\n"), ("GET", "Content-Type: text/plain\n")):
            status, answer, seconds = ask(port, f"{method} / HTTP/1.1\nHost: {{host}}\n{fields}Content-Encoding: gzip\nContent-Length: {len(bomb)}\n\n", bomb)
            check(status == (405 if method == "POST" else 413) and seconds < 3, f"{method} with a body: status {status} after {seconds:.1f} s")
        status, _, _ = ask(port, "GET / HTTP/1.1\nHost: {host}\nTransfer-Encoding: chunked\n\n", b"5\r\nhello\r\n0\r\n\r\n")
        check(status == 413, f"a chunked body: {status}")
        peak = next(int(line.split()[1]) for line in open(f"/proc/{process.pid}/status") if line.startswith("VmHWM"))
        check(peak < 400_000, f"{peak} KiB of memory")
        served_soon(port)


def others_are_refused_by_their_head(harness):
    """Before their body is read: it never comes here, and the answer does."""
    with server(harness) as (_, port):
        waiting = "Content-Length: 1000000\n\n"
        for head, wanted in ((f"POST / HTTP/1.1\nHost: {{host}}\n{waiting}", 405), (f"GET / HTTP/1.1\nHost: evil.example\n{waiting}", 403),
                             ("GET /data/runs.js HTTP/1.1\nHost: evil.example:{port}\n\n", 403), ("GET / HTTP/1.1\n\n", 403), ("GET / HTTP/1.1\nHost: {host}\nHost: evil.example\n\n", 403),
                             ("get / HTTP/1.1\nHost: {host}\n\n", 405), ("GET http://{host}/ HTTP/1.1\nHost: {host}\n\n", 400),
                             ("GET / HTTP/2.0\nHost: {host}\n\n", 400), ("GET / HTTP/1.1\nHost: {host}\nno colon\n\n", 400),
                             ("PUT /x HTTP/1.1\nHost: {host}\n\n", 405),
                             ("GET /data/runs.js HTTP/1.1\nHost: {host}\nSec-Fetch-Site: cross-site\n\n", 403), ("nonsense\n\n", 400), ("\x16\x03\x01\n\n", 400),
                             ("GET /" + "a" * 20000 + " HTTP/1.1\nHost: {host}\n\n", 431)):
            status, _, seconds = ask(port, head.replace("{port}", str(port)))
            check(status == wanted and seconds < 3, f"{head[:60]!r}: status {status}, not {wanted}, after {seconds:.1f} s")
        served_soon(port)


main(slow_clients_stop_nobody, many_clients_make_room, an_end_waits_for_nobody, no_request_is_worth_more_than_a_file, others_are_refused_by_their_head)
