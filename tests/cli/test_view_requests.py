"""The server of `attnscope view`, asked over raw sockets: which request gets which answer, what slow,
greedy and rude clients can do, how it ends."""
import base64
import hashlib
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import time
import unittest

import raw_http
import support
from raw_http import Client
from support import CliTest

SECURITY = {
    "content-security-policy":
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval' "
        "'sha256-0yMeKivUAEocyfVCJVDG8BNp1MhIsXppRG0eC6pKPvQ='; worker-src 'self' blob:; "
        "img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
        "form-action 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
ASSETS = {"/": b"<!doctype html>", "/app.js": b"", "/chunk.js": b"", "/later.js": b"",
          "/app.css": b"", "/worker.js": b"", "/hdf5.wasm": b"\0asm", "/demo-capture.h5": b"\x89HDF",
          "/demo-verdict.h5": b"\x89HDF"}
MIB = 1 << 20
RESERVED = 64  # descriptors of the server that are no connections, at most


def memory_of(process):
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) * 1024


def descriptors_of(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def tearDownModule():
    print(f"\n{raw_http.REQUESTS} requests of every kind, one connection each")


class ViewTest(CliTest):
    def setUp(self):
        super().setUp()
        if not support.has_viewer():
            self.skipTest("this attnscope was built without the page of the viewer")

    def start(self, *arguments, **options):
        """A server with its client, which has the cookie; it is ended after the test."""
        self.process, address = support.start_view(*arguments, "--port", "0", **options)
        self.addCleanup(self.end)
        client = Client(address)
        client.log_in()
        return client

    def end(self):
        if self.process.returncode is None:
            self.assertEqual(self.stop(), "")

    def stop(self, number=signal.SIGTERM):
        """What it says of itself, but for the line about the browser."""
        begin = time.monotonic()
        err = support.stop_server(self.process, None, number)
        self.assertLess(time.monotonic() - begin, 2)
        return "".join(line for line in err.splitlines(True) if "No browser" not in line)

    def assert_guarded(self, reply):
        self.assertEqual({name: reply.get(name) for name in SECURITY}, SECURITY)
        self.assertFalse([name for name, _ in reply.fields if name.startswith("access-control")])


class Requests(ViewTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "run.h5"
        self.content = bytes(range(256)) * 40
        self.path.write_bytes(self.content)
        self.client = self.start(self.path)

    def end(self):
        self.assertIn("not an HDF5 file", self.stop())

    def statuses(self, requests):
        """{what: status} of {what: bytes}; the server lives and guards every answer."""
        out = {}
        for what, data in requests.items():
            replies = self.client.raw(data)
            for reply in replies:
                self.assert_guarded(reply)
            out[what] = [reply.status for reply in replies]
        self.assertEqual(self.client.get("/").status, 200)
        return out

    def assert_statuses(self, requests, status):
        self.assertEqual(self.statuses(requests), {what: [status] for what in requests})

    def test_page_list_and_file(self):
        for target, begin in ASSETS.items():
            reply = self.client.get(target)
            self.assertEqual(reply.status, 200, reply)
            self.assertTrue(reply.body.startswith(begin) and reply.body, target)
            self.assert_guarded(reply)
        self.assertEqual(self.client.get("/hdf5.wasm").get("content-type"), "application/wasm")
        self.assertEqual(self.client.get("/app.js").get("content-type"),
                         "text/javascript; charset=utf-8")
        listed = json.loads(self.client.get("/files.json").body)
        self.assertEqual(listed, {"files": [{"name": "run.h5", "url": "files/0",
                                             "size": len(self.content),
                                             "path": str(self.path)}]})
        self.assertEqual(self.client.get("/files/0").body, self.content)

    def test_case_86_paths(self):
        targets = ["/../", "/../../etc/passwd", "/%2e%2e/", "/%2e%2e%2fetc/passwd", "/%252e%252e/",
                   "/..\\", "/..\\..\\etc", "//etc/passwd", "/etc/passwd", "/%00", "/a.txt%00.html",
                   "/app.js%00", "/files/0%00", "/files/../files/0", "/files/1", "/files/00",
                   "/files/-1", "/files/NaN", "/files/99999999999999999999", "/favicon.ico",
                   "/run.h5", "/.git/config", "/\xff"]
        self.assert_statuses({t: self.client.request(t) for t in targets}, 404)

    def test_case_87_hosts(self):
        port = self.client.port
        names = ["evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.:{port}",
                 f"localhost.:{port}", f"[::]:{port}", f"[::ffff:127.0.0.1]:{port}", f"::1:{port}",
                 f"[0:0:0:0:0:0:0:1]:{port}", f"127.1:{port}", f"127.0.0.1:{port + 1}", ""]
        hosts = {name: [name] for name in names} | {"none": [], "two": [self.client.name] * 2}
        self.assert_statuses({what: self.client.request("/", host=host)
                              for what, host in hosts.items()}, 421)
        self.assert_statuses({"1.0": b"GET / HTTP/1.0\r\n\r\n"}, 421)
        # Before the token is looked at.
        target = f"/?token={self.client.token}"
        self.assertEqual(self.client.get(target, host=["evil.example"]).status, 421)
        for name in (f"localhost:{port}", f"[::1]:{port}", f"LOCALHOST:{port}"):
            self.assertEqual(self.client.get("/", host=[name]).status, 200)

    def test_case_88_origins(self):
        foreign = [("Origin", origin) for origin in
                   ("http://evil.example", "null", f"http://localhost:{self.client.port}",
                    f"https://{self.client.name}", f"http://{self.client.name}.evil.example")]
        foreign += [("Sec-Fetch-Site", site) for site in ("cross-site", "same-site")]
        self.assert_statuses({str(f): self.client.request("/files/0", fields=[f])
                              for f in foreign}, 403)
        for field in (("Origin", f"http://{self.client.name}"), ("Sec-Fetch-Site", "same-origin"),
                      ("Sec-Fetch-Site", "none")):
            self.assertEqual(self.client.get("/files/0", fields=[field]).status, 200)
        options = self.client.get("/", "OPTIONS", fields=[
            ("Origin", "http://evil.example"), ("Access-Control-Request-Method", "GET")])
        self.assertEqual(options.status, 405)
        self.assert_guarded(options)

    def test_case_89_methods(self):
        methods = ["POST", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "OPTIONS", "get", "FOO"]
        self.assert_statuses({m: self.client.request("/", m) for m in methods}, 405)
        self.assertEqual(self.client.get("/", "PUT").get("allow"), "GET, HEAD")

    def test_case_90_ranges(self):
        size = len(self.content)
        def ask(value):
            return self.client.get("/files/0", fields=[("Range", value)])
        for value, (first, last) in {"bytes=0-0": (0, 0), "bytes=5-9": (5, 9),
                                     "bytes=5-": (5, size - 1), "bytes=-5": (size - 5, size - 1),
                                     f"bytes=-{size + 1}": (0, size - 1),
                                     "bytes=5-99999999": (5, size - 1)}.items():
            reply = ask(value)
            self.assertEqual(reply.status, 206, value)
            self.assertEqual(reply.get("content-range"), f"bytes {first}-{last}/{size}")
            self.assertEqual(reply.body, self.content[first:last + 1])
            self.assertTrue(reply.whole)
        for value in ("bytes=-0", "bytes=9-1", f"bytes={size}-", f"bytes={2 ** 64 - 1}-"):
            reply = ask(value)
            self.assertEqual((reply.status, reply.get("content-range")), (416, f"bytes */{size}"))
        many = "bytes=" + ",".join(f"{2 * i}-{2 * i}" for i in range(200))
        for value in ("bytes=0-1,3-4", many, f"bytes={2 ** 64}-", "bytes=a-b", "rows=0-1", "bytes="):
            reply = ask(value)
            self.assertEqual((reply.status, reply.body == self.content), (200, True), value)
            self.assertNotIn("multipart", reply.get("content-type"))

    def test_case_90_a_changed_file_is_noticed(self):
        tag = self.client.get("/files/0").get("etag")
        fields = [("Range", "bytes=0-3"), ("If-Range", tag)]
        self.assertEqual(self.client.get("/files/0", fields=fields).status, 206)
        other = self.folder / "other"
        other.write_bytes(b"x" * len(self.content))
        other.replace(self.path)
        reply = self.client.get("/files/0", fields=fields)
        self.assertEqual((reply.status, reply.body), (200, b"x" * len(self.content)))
        self.path.unlink()
        self.assertEqual(self.client.get("/files/0").status, 404)
        [listed] = json.loads(self.client.get("/files.json").body)["files"]
        self.assertEqual(listed, {"name": "run.h5",
                                  "error": "cannot open: No such file or directory"})

    def test_case_91_sizes(self):
        long_line = self.client.request("/" + "a" * 9000)
        fields = [("X", "y")] * 65
        self.assert_statuses({"line": long_line, "line without end": b"G" * 20000}, 414)
        self.assert_statuses({
            "many": self.client.request("/", fields=fields),
            "long": self.client.request("/", fields=[("X", "y" * 17000)]),
            "endless": self.client.request("/")[:-2] + b"X: " + b"y" * 200000}, 431)
        length = [("Content-Length", str(65537))]
        self.assert_statuses({m: self.client.request("/", m, fields=length)
                              for m in ("GET", "POST")}, 413)
        chunked = [("Transfer-Encoding", "chunked")]
        self.assert_statuses({
            "both": self.client.request("/", "POST", fields=chunked + [("Content-Length", "5")]),
            "two lengths": self.client.request(
                "/", fields=[("Content-Length", "1"), ("Content-Length", "2")]),
            "negative": self.client.request("/", fields=[("Content-Length", "-1")]),
            "overflow": self.client.request("/", fields=[("Content-Length", str(2 ** 70))])}, 400)
        self.assert_statuses({"chunked": self.client.request("/", "POST", fields=chunked)}, 411)
        # A small body is not read as a request of its own.
        inside = self.client.request("/files/0")
        smuggled = self.client.request("/", fields=[("Content-Length", str(len(inside)))]) + inside
        self.assert_statuses({"smuggled": smuggled}, 200)

    def test_case_91_large_bodies_are_not_taken(self):
        before = memory_of(self.process)
        body = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
        for fields in ([("Transfer-Encoding", "chunked")], [("Content-Length", str(40 * MIB))]):
            self.client.raw(self.client.request("/", "POST", fields=fields) + body * 5000)
        self.assertLess(memory_of(self.process) - before, 8 * MIB)
        self.assertEqual(self.client.get("/").status, 200)

    def test_case_93_queries(self):
        targets = ["/?x=1", "/?", "/app.js?v=1", "/files.json?x", "/files/0?rows=0-1e9",
                   "/files/0?offset=-1", "/files/0?offset=NaN", f"/files/0?offset={2 ** 70}"]
        got = self.statuses({t: self.client.request(t) for t in targets})
        self.assertEqual(got.pop("/?"), [200])  # no parameter at all
        self.assertEqual(set(map(tuple, got.values())), {(400,)})

    def test_case_94_tokens(self):
        cookie = self.client.cookie
        self.client.cookie = None
        wrong = ["/", "/files/0", "/nowhere", "/?token=", f"/?token={'0' * 32}",
                 f"/?token={self.client.token[:-1]}", f"/app.js?token={self.client.token}"]
        self.assert_statuses_without_cookie(wrong)
        self.assertIn(b"printed in the terminal", self.client.get("/").body)
        for value in (f"attnscope-{self.client.port}=", f"attnscope-{self.client.port}={'0' * 32}",
                      f"attnscope-{self.client.port}={self.client.token}",
                      cookie.replace("attnscope", "other")):
            reply = self.client.get("/", fields=[("Cookie", value)])
            self.assertEqual(reply.status, 401, value)
        reply = self.client.log_in()
        self.assertEqual(self.client.cookie, cookie)
        self.assertRegex(reply.get("set-cookie"), rf"^attnscope-{self.client.port}=[0-9a-f]{{32}}; "
                                                  "HttpOnly; SameSite=Strict; Path=/$")
        script = re.search(rb"<script>(.*)</script>", reply.body)[1]
        digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
        self.assertIn(f"'sha256-{digest}'", reply.get("content-security-policy"))
        self.assertNotIn(self.client.token.encode(), reply.body)
        self.assertNotIn(self.client.token, cookie)
        self.assert_guarded(reply)
        # The address is opened from a chat in the browser too, which is another site.
        other_site = self.client.get(f"/?token={self.client.token}",
                                     fields=[("Sec-Fetch-Site", "cross-site")])
        self.assertEqual(other_site.status, 200)

    def assert_statuses_without_cookie(self, targets):
        for target in targets:
            reply = self.client.get(target)
            self.assertEqual((reply.status, reply.get("set-cookie")), (401, None), target)
            self.assert_guarded(reply)

    def test_case_98_head_and_known_content(self):
        for target in ("/", "/app.js", "/files.json", "/files/0"):
            head, whole = self.client.get(target, "HEAD"), self.client.get(target)
            self.assertEqual(head.fields, whole.fields)
            self.assertEqual((head.status, head.body), (200, b""))
        tag = whole.get("etag")
        for value, status in ((tag, 304), ("*", 304), (f'"x", W/{tag}', 304), ('"x"', 200)):
            reply = self.client.get("/files/0", fields=[("If-None-Match", value)])
            self.assertEqual(reply.status, status, value)
        self.assertEqual(self.client.get("/x", "HEAD").status, 404)

    def test_case_98_versions_and_line_ends(self):
        old = self.client.raw(self.client.request("/", version="1.0"))
        self.assertEqual([(r.status, r.get("connection")) for r in old], [(200, "close")])
        self.assert_statuses({
            "bare LF": self.client.request("/").replace(b"\r\n", b"\n"),
            "0.9": b"GET /\r\n\r\n", "2.0": self.client.request("/", version="2.0"),
            "empty line": b"\r\n" + self.client.request("/"), "TLS": b"\x16\x03\x01\x02\0\n",
            "nul": b"GET /\0 HTTP/1.1\r\n\r\n", "no target": b"GET HTTP/1.1\r\n\r\n",
            "space before colon": self.client.request("/", fields=[("X ", "y")]),
            "absolute": self.client.request(f"http://{self.client.name}/")}, 400)

    def test_case_98_pipelining(self):
        three = (self.client.request("/files/0") + self.client.request("/nowhere")
                 + self.client.request("/files.json", fields=[("Connection", "close")]))
        replies = self.client.raw(three + self.client.request("/"))
        self.assertEqual([r.status for r in replies], [200, 404, 200])
        self.assertEqual(replies[0].body, self.content)
        self.assertEqual([r.get("connection") for r in replies], ["keep-alive"] * 2 + ["close"])
        # A request in pieces of one byte.
        with raw_http.connect(self.client.port) as client:
            for byte in self.client.request("/files.json", fields=[("Connection", "close")]):
                client.sendall(bytes([byte]))
            [reply] = raw_http.split_replies(raw_http.read_until_closed(client))
        self.assertEqual(reply.status, 200)


class Clients(ViewTest):
    """Slow, greedy and rude ones."""

    def sparse(self, size):
        path = self.folder / "large.h5"
        with open(path, "wb") as file:
            file.write(b"\x89HDF\r\n\x1a\n")
            file.truncate(size)
        return path

    def opened(self, client, count, **options):
        sockets = [raw_http.connect(client.port, **options) for _ in range(count)]
        self.addCleanup(lambda: [s.close() for s in sockets])
        return sockets

    def test_case_92_slow_and_idle_clients(self):
        client = self.start(support.text_capture())
        idle = self.opened(client, 500)
        slow = self.opened(client, 100)
        begin = time.monotonic()
        times, endings = [], []
        for at in range(70):
            for one in slow:
                try:
                    one.send(b"GET /?a=b HTTP/1.1\r\nHost: x"[at:at + 1] or b"x")
                except (BrokenPipeError, ConnectionResetError):
                    pass
            if at % 10 == 5:
                times.append(client.seconds("/"))
            time.sleep(0.1)
        self.assertLess(descriptors_of(self.process), 256 + RESERVED)
        for one in slow:
            one.settimeout(5)
            endings += [r.status for r in raw_http.split_replies(raw_http.read_until_closed(one))]
        print(f"\n100 slow and 500 idle clients: page in at most {1000 * max(times):.0f} ms, "
              f"slow ones told after {time.monotonic() - begin:.1f} s")
        self.assertLess(max(times), 5)
        self.assertEqual(endings, [408] * len(slow))
        readable, _, _ = select.select(idle, [], [], 0)
        self.assertGreaterEqual(len(readable), 500 + 100 - 256)  # those that made room

    def test_case_92_slow_readers_of_a_large_file(self):
        client = self.start(self.sparse(2 << 30))
        before = memory_of(self.process)
        readers = self.opened(client, 50, receive_buffer=4096)
        for reader in readers:
            reader.sendall(client.request("/files/0"))
        for _ in range(20):
            for reader in readers:
                self.assertTrue(reader.recv(1000))
        grown = memory_of(self.process) - before
        seconds = client.seconds("/")
        print(f"\n50 slow readers of 2 GiB: {grown / MIB:.1f} MiB more, page in "
              f"{1000 * seconds:.1f} ms")
        self.assertLess(grown, 64 * MIB)
        self.assertLess(seconds, 5)
        # Nothing is taken any more: the server gives them up.
        time.sleep(12)
        self.assertLess(descriptors_of(self.process), RESERVED)
        # Case 100, with replies open.
        for reader in self.opened(client, 20, receive_buffer=4096):
            reader.sendall(client.request("/files/0"))
            self.assertTrue(reader.recv(10))
        self.assertEqual(self.stop(), "")

    def test_case_92_every_byte_arrives(self):
        path = self.sparse(600 * MIB)
        client = self.start(path)
        begin = time.monotonic()
        with raw_http.connect(client.port) as one:
            one.sendall(client.request("/files/0", fields=[("Range", f"bytes={100 * MIB}-"),
                                                           ("Connection", "close")]))
            head, _, body = one.recv(MIB).partition(b"\r\n\r\n")
            received, piece = len(body), bytearray(MIB)
            while count := one.recv_into(piece):
                received += count
        seconds = time.monotonic() - begin
        self.assertTrue(head.startswith(b"HTTP/1.1 206"), head)
        self.assertEqual(received, 500 * MIB)
        print(f"\n500 MiB in {seconds:.2f} s, {500 / seconds:.0f} MiB/s, with this client")

    def test_few_descriptors(self):
        """The page answers and files open also where the limit is far below what comes."""
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        client = self.start(support.text_capture(), preexec_fn=limit)
        self.opened(client, 200)
        for target in ("/", "/files/0", "/files.json"):
            self.assertEqual(client.get(target).status, 200)
        self.assertLess(descriptors_of(self.process), 64)

    def test_case_99_clients_that_drop(self):
        client = self.start(self.sparse(1 << 30))
        for number in range(30):
            one = raw_http.connect(client.port, receive_buffer=4096)
            one.sendall(client.request("/files/0"))
            if number % 2:
                one.recv(100)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            one.close()
        self.assertEqual(client.get("/").status, 200)
        self.assertIsNone(self.process.poll())
        self.assertLess(descriptors_of(self.process), RESERVED)

    def test_a_file_that_is_cut_ends_the_reply(self):
        path = self.sparse(256 * MIB)
        client = self.start(path)
        [one] = self.opened(client, 1, receive_buffer=4096)
        one.sendall(client.request("/files/0"))
        one.recv(1000)
        os.truncate(path, 1000)
        self.assertLess(len(raw_http.read_until_closed(one)), 16 * MIB)
        self.assertEqual(client.get("/files/0").get("content-length"), "1000")

    def test_case_100_stops_with_everything_open(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            client = self.start(self.sparse(1 << 30))
            sockets = self.opened(client, 30, receive_buffer=4096)
            for at, one in enumerate(sockets):
                one.sendall([b"", b"GET", client.request("/files/0")][at % 3])
            sockets[2].recv(100)
            self.assertEqual(self.stop(number), "")

    def test_idle_connections_are_used_again(self):
        client = self.start(support.text_capture())
        with raw_http.connect(client.port) as one:
            for _ in range(50):
                one.sendall(client.request("/files.json"))
                data = b""
                while not data.endswith(b"]}\n"):
                    data += one.recv(1 << 16)
                self.assertTrue(data.startswith(b"HTTP/1.1 200"))


if __name__ == "__main__":
    unittest.main()
