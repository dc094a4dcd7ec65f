"""A model of the size of GPT-2 small, with weights that mean nothing."""
import array
import json
import random
import struct

LAYERS, WIDTH, HEADS, CONTEXT, VOCABULARY = 12, 768, 12, 1024, 50257
BYTES = 498_000_000
# Weights are cut from this many normal numbers, a prime, so that no two rows are alike.
POOL = 1_000_003
DEVIATION = 0.02


def shapes():
    """Names as in the published checkpoint, with their shapes."""
    yield "wte.weight", (VOCABULARY, WIDTH)
    yield "wpe.weight", (CONTEXT, WIDTH)
    for layer in range(LAYERS):
        for name, shape in (("ln_1.weight", (WIDTH,)), ("ln_1.bias", (WIDTH,)),
                            ("attn.c_attn.weight", (WIDTH, 3 * WIDTH)),
                            ("attn.c_attn.bias", (3 * WIDTH,)),
                            ("attn.c_proj.weight", (WIDTH, WIDTH)), ("attn.c_proj.bias", (WIDTH,)),
                            ("ln_2.weight", (WIDTH,)), ("ln_2.bias", (WIDTH,)),
                            ("mlp.c_fc.weight", (WIDTH, 4 * WIDTH)), ("mlp.c_fc.bias", (4 * WIDTH,)),
                            ("mlp.c_proj.weight", (4 * WIDTH, WIDTH)),
                            ("mlp.c_proj.bias", (WIDTH,))):
            yield f"h.{layer}.{name}", shape
    yield "ln_f.weight", (WIDTH,)
    yield "ln_f.bias", (WIDTH,)


def count(shape):
    n = 1
    for size in shape:
        n *= size
    return n


def write(folder):
    """Writes config.json and model.safetensors, unless they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "model.safetensors"
    if path.exists():
        return folder
    (folder / "config.json").write_text(json.dumps({
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": LAYERS,
        "n_embd": WIDTH, "n_head": HEADS, "n_positions": CONTEXT, "vocab_size": VOCABULARY,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}))
    header, offset = {}, 0
    for name, shape in shapes():
        header[name] = {"dtype": "F32", "shape": list(shape),
                        "data_offsets": [offset, offset + 4 * count(shape)]}
        offset += 4 * count(shape)
    text = json.dumps(header).encode()
    source = random.Random(1)
    pool = array.array("f", (source.gauss(0, DEVIATION) for _ in range(POOL))).tobytes()
    with open(path.with_suffix(".part"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        begin = 0
        for name, shape in shapes():
            begin = write_values(file, name, 4 * count(shape), pool, begin)
    path.with_suffix(".part").rename(path)
    return folder


def write_values(file, name, size, pool, begin):
    """Gains are 1, biases 0, all else follows the pool; returns where the pool goes on."""
    if name.endswith("bias"):
        file.write(bytes(size))
        return begin
    if "ln_" in name:
        file.write(array.array("f", [1.0] * (size // 4)).tobytes())
        return begin
    while size > 0:
        part = min(size, len(pool) - begin)
        file.write(memoryview(pool)[begin:begin + part])
        begin = (begin + part) % len(pool)
        size -= part
    return begin
