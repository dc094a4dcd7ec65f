"""Reading and writing .safetensors files of float32 tensors, without further packages."""

import json
import struct

import torch


def save(tensors, path):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in sorted(tensors.items()):
        raw = tensor.detach().contiguous().numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def load(path):
    with open(path, "rb") as file:
        content = file.read()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    data = bytearray(content[8 + size :])
    tensors = {}
    for name, info in header.items():
        if name == "__metadata__":
            continue
        begin, end = info["data_offsets"]
        if info["dtype"] != "F32":
            raise ValueError(f"{path}: {name} is {info['dtype']}, not F32")
        flat = torch.frombuffer(data, dtype=torch.float32, offset=begin, count=(end - begin) // 4)
        tensors[name] = flat.reshape(info["shape"]).clone()
    return tensors
