"""attnscope inspect: the architecture of a folder, against its config.json and its weights."""
import json
import shutil
import struct
import unittest

import support
from support import CliTest, run

FAMILIES = support.FIXTURES / "families"


def stored_parameters(path):
    """Values of every tensor in a safetensors file."""
    content = path.read_bytes()
    [length] = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    count = {}
    for name, tensor in header.items():
        if name != "__metadata__":
            count[name] = 1
            for n in tensor["shape"]:
                count[name] *= n
    return count


class Json(CliTest):
    def inspect(self, model, *arguments):
        return json.loads(self.assert_ok(run("inspect", model, "--json", *arguments)).out)

    def test_sizes(self):
        for family, layers, heads, kv_heads, d_model in (
                ("llama", 2, 6, 2, 48), ("mistral", 2, 6, 3, 40), ("qwen2", 2, 6, 2, 48),
                ("gemma2", 2, 6, 3, 40), ("bert", 2, 6, 6, 42), ("albert", 3, 6, 6, 42)):
            with self.subTest(family):
                report = self.inspect(FAMILIES / family)
                self.assertEqual(report["n_layers"], layers)
                self.assertEqual(report["d_model"], d_model)
                for layer in report["layers"]:
                    self.assertEqual(layer["n_heads"], heads)
                    self.assertEqual(layer["n_kv_heads"], kv_heads)

    def test_windows(self):
        windows = [layer["window"] for layer in self.inspect(FAMILIES / "gemma2")["layers"]]
        self.assertEqual(sorted(windows), [0, 6])
        windows = [layer["window"] for layer in self.inspect(FAMILIES / "mistral")["layers"]]
        self.assertEqual(windows, [6, 6])

    def test_parameters_are_those_stored(self):
        # No tied twin and no buffer is stored in these files.
        for family in ("llama", "mistral", "qwen2", "qwen3", "gpt2"):
            with self.subTest(family):
                stored = stored_parameters(FAMILIES / family / "model.safetensors")
                expected = sum(n for name, n in stored.items()
                               if not name.endswith((".attn.bias", ".attn.masked_bias")))
                self.assertEqual(self.inspect(FAMILIES / family)["parameters"], expected)


class Text(CliTest):
    def test_drawing(self):
        text = self.assert_ok(run("inspect", FAMILIES / "gemma2")).out
        for part in ("2 layers", "6 heads", "3 kv heads", "RMS norm", "window of 6", "parameters"):
            self.assertIn(part.lower(), text.lower())
        text = self.assert_ok(run("inspect", FAMILIES / "gpt2")).out
        for part in ("learned", "layer norm", "causal"):
            self.assertIn(part.lower(), text.lower())
        self.assertIn("bidirectional", self.assert_ok(run("inspect", FAMILIES / "bert")).out.lower())

    def test_tokens_change_the_memory(self):
        short = self.assert_ok(run("inspect", support.MODEL, "--tokens", "16"))
        long = self.assert_ok(run("inspect", support.MODEL, "--tokens", "512"))
        self.assertNotEqual(short.out, long.out)
        self.assertIn("512", long.out)

    def test_chat_template_is_text(self):
        model = self.folder / "m"
        shutil.copytree(support.MODEL, model)
        config = json.loads((model / "tokenizer_config.json").read_text())
        config["chat_template"] = "{% for m in messages %}\033[31mEVIL{% endfor %}"
        (model / "tokenizer_config.json").write_text(json.dumps(config))
        result = self.assert_ok(run("inspect", model))
        self.assertIn("{% for m in messages %}", result.out)
        self.assertNotIn("\033", result.out)


class BadInput(CliTest):
    def edited(self, **changes):
        model = self.folder / "m"
        shutil.rmtree(model, ignore_errors=True)
        shutil.copytree(support.MODEL, model)
        config = json.loads((model / "config.json").read_text())
        for key, value in changes.items():
            if value is KeyError:
                config.pop(key, None)
            else:
                config[key] = value
        (model / "config.json").write_text(json.dumps(config))
        return model

    def test_config_values(self):
        for key, value in (("n_layer", 0), ("n_layer", -1), ("n_layer", 2**31), ("n_layer", 2.7),
                           ("n_layer", "5"), ("n_head", 3), ("vocab_size", 0),
                           ("vocab_size", 2**40), ("n_positions", 2**40),
                           ("layer_norm_epsilon", 0), ("layer_norm_epsilon", -1)):
            with self.subTest(key=key, value=value):
                self.assert_error(run("inspect", self.edited(**{key: value})), 2, "config.json", key)

    def test_unknown_kinds_are_named_with_what_there_is(self):
        self.assert_error(run("inspect", self.edited(activation_function="swiglu9")), 2, "swiglu9",
                          "gelu")
        model = self.edited(architectures=["NoSuchModel"], model_type="no_such")
        self.assert_error(run("inspect", model), 2, "no_such", "gpt_neox")

    def test_config_file(self):
        for content in ("", "[1]", '{"n_layer": 1, "n_layer": 2}', "{" * 100000, "\x00", '{"a":1e400}'):
            model = self.edited()
            (model / "config.json").write_text(content)
            self.assert_error(run("inspect", model), 2, "config.json")
        (model / "config.json").unlink()
        self.assert_error(run("inspect", model), 2, "config.json")

    def test_missing_model(self):
        for model in (self.folder / "none", "no-such-org/no-such-model", "/dev/null"):
            self.assert_error(run("inspect", model), 2)


if __name__ == "__main__":
    unittest.main()
