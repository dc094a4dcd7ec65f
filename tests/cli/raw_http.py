"""A client that sends bytes as they are given, for requests that no library would send."""
import re
import socket
import time

REQUESTS = 0  # sent by this process


class Reply:
    def __init__(self, status, fields, body, whole):
        self.status = status
        self.fields = fields  # [(name in lower case, value)]
        self.body = body
        self.whole = whole  # everything that came was this one reply

    def get(self, name):
        values = [value for key, value in self.fields if key == name]
        return values[0] if values else None

    def __repr__(self):
        return f"{self.status} {self.fields} {self.body[:200]!r}"


def connect(port, host="127.0.0.1", timeout=15, receive_buffer=None):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    client = socket.socket(family, socket.SOCK_STREAM)
    if receive_buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.settimeout(timeout)
    client.connect((host, port))
    return client


def read_until_closed(client):
    data = bytearray()
    try:
        while piece := client.recv(1 << 16):
            data += piece
    except ConnectionResetError:
        pass
    return bytes(data)


def split_replies(data, heads_only=False):
    """Every reply in `data`."""
    replies = []
    while data:
        head, found, rest = data.partition(b"\r\n\r\n")
        assert found, data
        first, *lines = head.decode("latin-1").split("\r\n")
        status = int(re.fullmatch(r"HTTP/1\.1 (\d{3}) .+", first)[1])
        fields = [tuple(line.split(": ", 1)) for line in lines]
        fields = [(name.lower(), value) for name, value in fields]
        length = 0 if heads_only or status == 304 else int(dict(fields)["content-length"])
        replies.append(Reply(status, fields, rest[:length], len(rest) == length))
        data = rest[length:]
    return replies


class Client:
    """Asks the server at `address` (with its token), one connection a request."""

    def __init__(self, address):
        found = re.fullmatch(r"http://(127\.0\.0\.1|\[::1\]):(\d+)/\?token=([0-9a-f]{32})", address)
        self.host = found[1].strip("[]")
        self.name = f"{found[1]}:{found[2]}"
        self.port = int(found[2])
        self.token = found[3]
        self.cookie = None

    def log_in(self):
        reply = self.get(f"/?token={self.token}")
        assert reply.status == 200, reply
        self.cookie = reply.get("set-cookie").split(";")[0]
        return reply

    def raw(self, data, heads_only=False):
        """Sends `data`, says that nothing follows, and returns the replies until the end."""
        global REQUESTS
        REQUESTS += 1
        with connect(self.port, self.host) as client:
            try:
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError, OSError):
                pass  # refused before all of it was sent
            return split_replies(read_until_closed(client), heads_only)

    def request(self, target, method="GET", fields=(), host=None, version="1.1", cookie=True):
        names = [self.name] if host is None else host
        lines = [f"{method} {target} HTTP/{version}"] + [f"Host: {name}" for name in names]
        if cookie and self.cookie:
            lines.append(f"Cookie: {self.cookie}")
        lines += [f"{name}: {value}" for name, value in fields]
        return "\r\n".join(lines + ["", ""]).encode("latin-1")

    def get(self, target, method="GET", **options):
        [reply] = self.raw(self.request(target, method, **options), heads_only=method == "HEAD")
        return reply

    def seconds(self, target):
        begin = time.monotonic()
        reply = self.get(target)
        assert reply.status == 200, reply
        return time.monotonic() - begin
