"""attnscope view: its options, what it shows, the browser that it opens, the page that it writes."""
import base64
import html
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
import unittest

import support
from raw_http import Client
from support import CliTest, run

DEFAULT_PORT = 8765


def listener(port, host="127.0.0.1"):
    taken = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    taken.bind((host, port))
    taken.listen()
    return taken


def ipv6_hosts():
    """Names of IPv6's loopback, or none where this machine has no IPv6 (containers)."""
    try:
        listener(0, "::1").close()
    except OSError:
        print("no IPv6 on this machine: ::1 is not tried")
        return []
    return ["::1", "[::1]"]


class ViewTest(CliTest):
    def setUp(self):
        super().setUp()
        self.run_file = support.text_capture()
        if not support.has_viewer():
            self.skipTest("this attnscope was built without the page of the viewer")

    def shown(self, *arguments, cwd=None):
        """What a server of `arguments` lists, its port, and what it wrote to standard error."""
        process, address = support.start_view(*arguments, cwd=cwd)
        client = Client(address)
        client.log_in()
        listed = json.loads(client.get("/files.json").body)["files"]
        for file in listed:
            if "url" in file:
                self.assertEqual(len(client.get("/" + file["url"]).body), file["size"])
        return listed, client.port, support.stop_server(process, address)

    def names(self, *arguments, cwd=None):
        return [file["name"] for file in self.shown(*arguments, "--port", "0", cwd=cwd)[0]]


class WithoutThePage(CliTest):
    def test_it_says_how_to_get_it(self):
        if support.has_viewer():
            self.skipTest("this attnscope has the page of the viewer")
        for arguments in ([], ["--html", self.folder / "page.html"]):
            self.assert_error(run("view", support.text_capture(), *arguments, timeout=10), 3,
                              "node", "apt-get install nodejs npm", "./run build")
        self.assertEqual(list(self.folder.iterdir()), [])


class Address(ViewTest):
    def test_case_95_default_port_or_the_next_free_one(self):
        try:
            with listener(DEFAULT_PORT):
                _, port, _ = self.shown(self.run_file)
        except OSError:
            _, port, _ = self.shown(self.run_file)  # another program has it
        self.assertTrue(DEFAULT_PORT < port <= DEFAULT_PORT + 20, port)

    def test_case_95_a_taken_port_that_was_asked_for(self):
        for host in ["127.0.0.1", *ipv6_hosts()[:1]]:
            with listener(0, host) as taken:
                port = taken.getsockname()[1]
                shown = f"[::1]:{port}" if ":" in host else f"127.0.0.1:{port}"
                self.assert_error(run("view", self.run_file, "--port", str(port), "--host", host,
                                      timeout=10), 3, shown, "another program", "--port")
            _, got, _ = self.shown(self.run_file, "--port", port, "--host", host)
            self.assertEqual(got, port)

    def test_case_96_other_machines(self):
        for host in ("0.0.0.0", "::", "192.168.0.1", "127.0.0.2", "example.org", "localhost.",
                     "127.0.0.1:80", "::ffff:127.0.0.1", "2130706433", " 127.0.0.1"):
            self.assert_error(run("view", self.run_file, "--host", host, timeout=10), 2, "--host",
                              "127.0.0.1, localhost or ::1")
        for host in ["127.0.0.1", "localhost", *ipv6_hosts()]:
            self.assertEqual(len(self.shown(self.run_file, "--host", host, "--port", "0")[0]), 1)

    def test_it_listens_on_one_address_of_this_machine(self):
        process, address = support.start_view(self.run_file, "--port", "0")
        port = Client(address).port
        lines = []
        for table in ("tcp", "tcp6"):
            lines += pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        local = [line.split()[1] for line in lines if line.split()[3] == "0A"]  # listening
        self.assertEqual([one for one in local if one.endswith(f":{port:04X}")],
                         [f"0100007F:{port:04X}"])
        support.stop_server(process, address)

    def test_options_that_do_not_fit(self):
        out = self.folder / "page.html"
        for arguments, parts in ((["--port", "65536"], ["--port", "0 to 65535"]),
                                 (["--port", "-1"], ["--port"]), (["--port", "http"], ["--port"]),
                                 (["--force"], ["--force", "--html"]),
                                 (["--html", out, "--port", "80"], ["--html", "--port"]),
                                 (["--html", out, "--no-open"], ["--html", "--no-open"]),
                                 (["--html", self.run_file, "--force"], ["also an input"])):
            self.assert_error(run("view", self.run_file, *arguments, timeout=10), 2, *parts)
        self.assert_error(run("view"), 2, "FILE")

    def test_signals_end_it_with_exit_code_0(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process, address = support.start_view(self.run_file, "--port", "0")
            self.assertIn("no terminal", support.stop_server(process, address, number))

    def test_nothing_is_logged(self):
        process, address = support.start_view(self.run_file, "--port", "0")
        client = Client(address)
        client.log_in()
        client.get("/?token=0123")
        client.get("/nowhere")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=5)
        self.assertEqual(out, b"Ctrl-C stops it.\n")
        self.assertRegex(err.decode(), r"\ANo browser was opened: [^\n]+\n\Z")


class Files(ViewTest):
    def test_missing_files(self):
        shutil.copy(self.run_file, self.folder / "run.h5")
        for name, parts in (("rum.h5", ['did you mean "run.h5"?']),
                            ("nothing-alike", ["attnscope capture"]),
                            ("no-folder/run.h5", ["attnscope capture"]),
                            (self.folder, ["not a regular file"])):
            self.assert_error(run("view", name, cwd=self.folder, timeout=10), 2, str(name), *parts)

    def test_several_files_and_links(self):
        for name in ("a", "b"):
            (self.folder / name).mkdir()
            shutil.copy(self.run_file, self.folder / name / "run.h5")
        (self.folder / "link.h5").symlink_to(self.run_file)
        self.assertEqual(self.names("a/run.h5", "b/run.h5", "link.h5", "a/run.h5", "a/../a/run.h5",
                                    cwd=self.folder), ["a/run.h5", "b/run.h5", "link.h5"])

    def test_what_is_no_hdf5_is_shown_with_a_warning(self):
        other, empty = self.folder / "other.h5", self.folder / "empty.h5"
        other.write_text("not HDF5, but longer than a kilobyte" * 100)
        empty.touch()
        with_block = self.folder / "user-block.h5"
        with_block.write_bytes(bytes(512) + self.run_file.read_bytes())
        listed, _, err = self.shown(other, empty, with_block, self.run_file, "--port", "0")
        self.assertEqual([file["size"] for file in listed],
                         [other.stat().st_size, 0, with_block.stat().st_size,
                          self.run_file.stat().st_size])
        self.assertEqual(re.findall(r"warning: \S*/(\S+): not an HDF5 file", err),
                         ["other.h5", "empty.h5"])

    def test_what_was_cut_off_is_shown_with_a_warning(self):
        """Also behind a block of the user's, and with the superblock of older libraries."""
        whole = self.run_file.read_bytes()
        old = (b"\x89HDF\r\n\x1a\n" + bytes([0, 0, 0, 0, 0, 8, 8, 0]) + bytes(8) +
               struct.pack("<QQQQ", 0, 2**64 - 1, 1000, 2**64 - 1)).ljust(1000, b"\0")
        cut = {"half.h5": (whole, len(whole) // 2), "byte.h5": (whole, len(whole) - 1),
               "block.h5": (bytes(512) + whole, 512 + len(whole) - 1), "old.h5": (old, 200)}
        for name, (data, length) in cut.items():
            (self.folder / name).write_bytes(data[:length])
        for name, data in (("sound.h5", bytes(512) + whole), ("sound-old.h5", old)):
            (self.folder / name).write_bytes(data)
        listed, _, err = self.shown(*(self.folder / name for name in [*cut, "sound.h5"]),
                                    self.folder / "sound-old.h5", self.run_file, "--port", "0")
        self.assertEqual(len(listed), 7)
        self.assertEqual(
            re.findall(r"warning: \S*/(\S+): cut off: (\d+) of (\d+) bytes are there; the page", err),
            [(name, str(length), str(len(data))) for name, (data, length) in cut.items()])
        page = run("view", self.folder / "half.h5", "--html", self.folder / "page.html")
        self.assertIn("half.h5: cut off", self.assert_ok(page).err)

    def test_names_that_are_no_text(self):
        name = os.fsencode(self.folder) + b"/\xff\x1b[31m<b>.h5"
        shutil.copy(self.run_file, name)
        process, address = support.start_view(os.fsdecode(name), "--port", "0")
        client = Client(address)
        client.log_in()
        listed = json.loads(client.get("/files.json").body)["files"]
        self.assertEqual(listed[0]["name"], "\ufffd\x1b[31m<b>.h5")
        self.assertNotIn("\x1b", support.stop_server(process, address))


class Parts(ViewTest):
    def unfinished(self, name, kept, planned):
        parts = self.folder / f"{name}.parts"
        parts.mkdir()
        for number in kept:
            shutil.copy(self.run_file, parts / f"shard-{number:06d}.h5")
        (parts / "shard-000009.h5.tmp").write_text("half written")
        if planned:
            (parts / "manifest.json").write_text(
                json.dumps({"shards": [[i, 1] for i in range(planned)]}))
        return self.folder / name

    def test_a_run_that_is_not_finished_shows_its_parts(self):
        path = self.unfinished("run.h5", [2, 0], 4)
        listed, _, err = self.shown(path, "--port", "0")
        self.assertEqual([f["name"] for f in listed], ["shard-000000.h5", "shard-000002.h5"])
        self.assertIn(f"{path} is partial: 2 of 4 parts.", err)

    def test_a_plan_that_is_not_known(self):
        path = self.unfinished("run.h5", [0], 0)
        self.assertIn("partial: 1 part so far", self.shown(path, "--port", "0")[2])
        (self.folder / "run.h5.parts" / "manifest.json").write_text("{")
        self.assertIn("partial: 1 part so far", self.shown(path, "--port", "0")[2])

    def test_the_finished_file_comes_first(self):
        path = self.unfinished("run.h5", [0], 2)
        shutil.copy(self.run_file, path)
        self.assertEqual(self.names(path), ["run.h5"])

    def test_a_run_without_any_part_yet(self):
        path = self.unfinished("run.h5", [], 4)
        self.assert_error(run("view", path, timeout=10), 2, "not finished any part")

    def test_a_run_that_was_stopped(self):
        out = self.folder / "ablate.h5"
        status, _ = support.stop_once_it_keeps_shards(
            ["ablate", "-m", support.MODEL, "--pairs", support.pairs_file(), "--method",
             "zero,mean,resample", "--unit", "head-pos", "--positions", "1,2,3,last", "--quiet"],
            out, signal.SIGTERM, 1)
        if status == 0:
            self.skipTest("it was done before it could be stopped")
        kept = support.kept_shards(out)
        listed, _, err = self.shown(out, "--port", "0")
        self.assertEqual(len(listed), kept)
        self.assertRegex(err, rf"partial: {kept} of \d+ parts?\.")


class Browser(ViewTest):
    def opened(self, script, environment):
        """Runs it on a terminal with a browser of `script`; the client, what the browser was given,
        what was written to the terminal."""
        got = self.folder / "got"
        browser = self.folder / "browser"
        browser.write_text(f"#!/bin/sh\n{script} > {got}.tmp && mv {got}.tmp {got}\n")
        browser.chmod(0o755)
        terminal, end = pty.openpty()
        process = subprocess.Popen(
            [support.ATTNSCOPE, "view", self.run_file, "--port", "0"], stdin=subprocess.DEVNULL,
            stdout=end, stderr=end, env=dict(os.environ) | environment)
        os.close(end)
        text = ""
        while "stops it" not in text:
            text += os.read(terminal, 4096).decode()
        client = Client(re.search(r"http://\S+", text)[0])
        give_up = time.monotonic() + 5
        while not got.exists() and "No browser" not in text and time.monotonic() < give_up:
            time.sleep(0.02)
            os.set_blocking(terminal, False)
            try:
                text += os.read(terminal, 4096).decode()
            except BlockingIOError:
                pass
        def close():
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=5), 0)
            os.close(terminal)
        self.addCleanup(close)
        return client, got.read_text() if got.exists() else None, text

    def test_it_gets_an_address_that_is_good_once(self):
        client, given, text = self.opened("echo \"$#|$1\"",
                                          {"BROWSER": str(self.folder / "browser")})
        self.assertNotIn("No browser", text)
        count, address = given.strip().split("|")
        self.assertEqual(count, "1")
        launch = Client(address)
        self.assertEqual((launch.host, launch.port), (client.host, client.port))
        self.assertNotEqual(launch.token, client.token)
        launch.log_in()
        self.assertEqual(launch.get("/files.json").status, 200)
        other = Client(address)
        self.assertEqual(other.get(f"/?token={launch.token}").status, 401)
        # The tab that is in goes on, also when it is loaded again.
        self.assertEqual(launch.get(f"/?token={launch.token}").status, 200)
        client.log_in()
        client.log_in()

    def test_commands_with_words_and_no_shell(self):
        browser = self.folder / "browser"
        _, given, _ = self.opened("printf '%s|' \"$@\"",
                                  {"BROWSER": f"{browser} --new %s $(id);x:other-browser"})
        words = given.split("|")
        self.assertEqual(words[:1] + words[2:], ["--new", "$(id);x", ""])
        self.assertTrue(words[1].startswith("http://127.0.0.1:"))

    def test_why_there_is_none(self):
        nowhere = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}
        self.assertIn("no display", self.opened("", nowhere)[2])
        self.assertIn("there is no /no/such", self.opened("", {"BROWSER": "/no/such"})[2])
        self.assertIn("there is no xdg-open",
                      self.opened("", nowhere | {"DISPLAY": ":0", "PATH": "/no/such"})[2])


class Html(ViewTest):
    def write(self, *files, name="page.html"):
        out = self.folder / name
        result = self.assert_ok(run("view", *files, "--html", out))
        self.assertIn(str(out), result.out)
        text = out.read_text()
        found = re.findall(r'<script type="text/plain" data-file="([^"]*)">([^<]*)</script>\n',
                           text)
        return text, {html.unescape(name): base64.b64decode(data) for name, data in found}

    def test_the_page_has_the_files_inside(self):
        other = self.folder / "a&b <x>.h5"
        other.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(range(256)))
        text, inside = self.write(self.run_file, other)
        self.assertEqual(inside, {self.run_file.name: self.run_file.read_bytes(),
                                  other.name: other.read_bytes()})
        self.assertLess(text.rindex("data-file="), text.index('<div id="app">'))
        self.assertEqual(text.count('<div id="app">'), 1)
        # The page without files, as the build installs it.
        page = support.BIN.parent / "viewer" / "attnscope-viewer.html"
        if page.exists():
            self.assertEqual(re.sub(r'<script type="text/plain" data-file.*\n', "", text),
                             page.read_text())

    def test_an_existing_file_is_kept(self):
        out = self.folder / "page.html"
        out.write_text("mine")
        self.assert_error(run("view", self.run_file, "--html", out), 3, "exists", "--force")
        self.assertEqual(out.read_text(), "mine")
        self.assert_ok(run("view", self.run_file, "--html", out, "--force"))
        self.assertIn("data-file", out.read_text())
        self.assertEqual(list(self.folder.iterdir()), [out])
        self.assert_error(run("view", self.run_file, "--html", self.folder / "no" / "page.html"), 3,
                          "does not exist")

    def test_eight_mebibytes_at_most(self):
        large = self.folder / "large.h5"
        large.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes((8 << 20) - 8))
        _, inside = self.write(large)
        self.assertEqual(inside[large.name], large.read_bytes())
        self.assert_error(run("view", large, self.run_file, "--html", self.folder / "x.html"), 4,
                          "at most 8 MiB", "attnscope export")
        self.assertFalse((self.folder / "x.html").exists())

    def test_parts_of_an_unfinished_run(self):
        parts = self.folder / "run.h5.parts"
        parts.mkdir()
        shutil.copy(self.run_file, parts / "shard-000000.h5")
        _, inside = self.write(self.folder / "run.h5")
        self.assertEqual(inside, {"shard-000000.h5": self.run_file.read_bytes()})


if __name__ == "__main__":
    unittest.main()
