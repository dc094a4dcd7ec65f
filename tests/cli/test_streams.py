"""Standard streams: results on one, messages on the other, closed pipes, colour, odd paths."""
import os
import pty
import shutil
import subprocess
import unittest

import support
from support import CliTest, run


def shell(script, **env):
    environment = dict(os.environ, A=str(support.ATTNSCOPE), M=str(support.MODEL),
                       F=str(support.text_capture()), **env)
    return support.Result(subprocess.run(["/bin/bash", "-o", "pipefail", "-c", script],
                                         env=environment, capture_output=True, check=False,
                                         timeout=120))


def in_terminal(*arguments, **env):
    """Standard output of a command whose output is a terminal."""
    ours, theirs = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", **env}
    process = subprocess.Popen([support.ATTNSCOPE, *map(str, arguments)], stdout=theirs,
                               stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                               env=environment)
    os.close(theirs)
    text = b""
    while True:
        try:
            block = os.read(ours, 65536)
        except OSError:
            break
        if not block:
            break
        text += block
    os.close(ours)
    return process.wait(timeout=60), text.decode("utf-8")


class Closed(CliTest):
    def test_reader_goes_away(self):
        for verb in ('tokenize -m "$M" --json --prompt x', 'stats "$F"', 'show "$F" --head 0.0',
                     'inspect "$M"', "--help", "capture --help"):
            result = shell(f'(sleep 0.2; "$A" {verb}) | true')
            self.assertEqual((result.code, result.err), (0, ""), verb)

    def test_standard_output_is_closed(self):
        result = shell('"$A" stats "$F" >&-')
        self.assertEqual((result.code, result.err), (0, ""), result)

    def test_full_device(self):
        self.assert_error(shell('"$A" stats "$F" >/dev/full'), 3, "standard output", "No space")

    def test_no_descriptors_at_all(self):
        result = shell('"$A" capture -m "$M" --prompt Once -o "$OUT" <&- >&- 2>&-',
                       OUT=str(self.folder / "x.h5"))
        self.assertEqual(result.code, 0, result)
        self.assert_ok(run("verify", self.folder / "x.h5"))

    def test_capture_whose_reader_goes_away_is_kept(self):
        result = shell('"$A" capture -m "$M" --prompt Once -o "$OUT" | true',
                       OUT=str(self.folder / "x.h5"))
        self.assertEqual(result.code, 0, result)
        self.assert_ok(run("verify", self.folder / "x.h5"))


class Colour(CliTest):
    def test_only_on_a_terminal(self):
        file = support.text_capture()
        for arguments in (["stats", file], ["show", file, "--head", "0.0"]):
            self.assertNotIn("\033", run(*arguments, env={"TERM": "xterm-256color"}).out)
            code, text = in_terminal(*arguments)
            self.assertEqual(code, 0)
            self.assertIn("\033[", text)
            code, text = in_terminal(*arguments, NO_COLOR="1")
            self.assertEqual(code, 0)
            self.assertNotIn("\033[", text)

    def test_quiet_capture_says_nothing(self):
        result = self.assert_ok(run("capture", "-m", support.MODEL, "--prompt", "Once", "--quiet",
                                    "-o", self.folder / "q.h5"))
        self.assertEqual((result.out, result.err), ("", ""))

    def test_no_progress_bar_in_a_pipe(self):
        result = self.assert_ok(run("capture", "-m", support.MODEL, "--prompt", "Once", "-o",
                                    self.folder / "p.h5"))
        self.assertNotIn("\r", result.err + result.out)
        self.assertNotIn("\033", result.err + result.out)


class Paths(CliTest):
    def test_bytes_that_are_no_text(self):
        folder = os.fsencode(self.folder) + b"/f\xff\xfe"
        os.mkdir(folder)
        shutil.copytree(os.fsencode(support.MODEL), folder + b"/m\xff")
        self.assert_ok(run("inspect", folder + b"/m\xff"))
        self.assert_ok(run("tokenize", "-m", folder + b"/m\xff", "--prompt", "Once"))
        result = self.assert_ok(run("capture", "-m", folder + b"/m\xff", "--prompt", "Once", "-o",
                                    folder + b"/o\xff.h5"))
        self.assertTrue(os.path.exists(folder + b"/o\xff.h5"))
        self.assertTrue(os.path.exists(folder + b"/o\xff.json"))
        self.assertIn("\\xFF", result.out + result.err)
        self.assert_ok(run("verify", folder + b"/o\xff.h5"))
        self.assert_error(run("verify", folder + b"/none\xff"), 2, "\\xFF")

    def test_escape_codes_in_names_are_escaped(self):
        result = run("inspect", self.folder / "evil\033[31m\nname")
        self.assert_error(result, 2, "\\x1B")
        self.assertNotIn("\033", result.err)

    def test_through_a_symbolic_link(self):
        link = self.folder / "link"
        link.symlink_to(support.ATTNSCOPE)
        process = subprocess.run([link, "capture", "-m", support.MODEL, "--prompt", "Once", "-o",
                                  self.folder / "l.h5"], capture_output=True, check=False,
                                 timeout=120)
        self.assertEqual(process.returncode, 0, process.stderr)


if __name__ == "__main__":
    unittest.main()
