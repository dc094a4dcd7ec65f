// Files to measure with, made once by h5py (ATTNSCOPE_PYTHON).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** 1,024 heads at 1,024 tokens; maps of three layers. */
const LARGE = `
import h5py, sys, numpy as np
L, H, T = 32, 32, 1024
rng = np.random.default_rng(0)
with h5py.File(sys.argv[1], "w", libver=("v110", "v110")) as f:
    f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
    f.attrs["kind"] = np.bytes_(b"capture"); f.attrs["run_id"] = np.bytes_(b"large")
    p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"a long text")
    p["tokens/text"] = np.array([b"token%d" % i for i in range(T)])
    a = p.create_group("attention/self")
    a["layers"] = np.arange(L); a["n_heads"] = np.full(L, H)
    names = ["entropy", "max", "self", "induction", "sink", "previous"]
    s = a.create_dataset("head_stats", data=rng.random((L, H, len(names)), dtype="f4"))
    s.attrs["names"] = np.array([n.encode() for n in names])
    a.create_dataset("overview", data=rng.integers(0, 255, (L, H, 64, 64), dtype="u1"), chunks=(1, H, 64, 64), compression=1, shuffle=True)
    for layer in range(3):
        m = np.tril(rng.random((H, T, T), dtype="f4")) ** 4
        m /= m.sum(-1, keepdims=True)
        bits = m.view("u4"); bits[:] = (bits + 0x1000) & 0xffffe000
        d = p.create_dataset("cache/blocks.%d.attn.hook_pattern" % layer, data=m, chunks=(1, 256, 256), compression=1, shuffle=True)
        d.attrs["causal"] = 1; d.attrs["map_dtype"] = np.bytes_(b"r10")
`;

/** One head of 32,768 tokens; what is not written of it reads as 0 and takes no room. */
const LONG = `
import h5py, sys, numpy as np
T = 32768
rng = np.random.default_rng(0)
with h5py.File(sys.argv[1], "w", libver=("v110", "v110")) as f:
    f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
    f.attrs["kind"] = np.bytes_(b"capture"); f.attrs["run_id"] = np.bytes_(b"long")
    p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"a very long text")
    p["tokens/text"] = np.array([b"t%d" % i for i in range(T)])
    a = p.create_group("attention/self")
    a["layers"] = np.array([0]); a["n_heads"] = np.array([1])
    s = a.create_dataset("head_stats", data=np.full((1, 1, 1), 0.5, dtype="f4"))
    s.attrs["names"] = np.array([b"entropy"])
    d = p.create_dataset("cache/blocks.0.attn.hook_pattern", (1, T, T), "f4", chunks=(1, 256, 256), compression=1, shuffle=True)
    d.attrs["causal"] = 1; d.attrs["map_dtype"] = np.bytes_(b"r10")
    for row in range(0, 12):
        for column in range(0, row + 1):
            at = (20480 + 256 * row, 20480 + 256 * column)
            d[0, at[0] : at[0] + 256, at[1] : at[1] + 256] = rng.random((256, 256), dtype="f4") ** 8
    for k in (4, 16, 64):
        n = T // k
        q = a.create_dataset("pyramid/0/max_%d" % k, (1, n, n), "f4", chunks=(1, 256, 256), compression=1, shuffle=True)
        if k > 4: q[0] = np.tril(rng.random((n, n), dtype="f4")) ** 8
`;

/** 5 GB of maps: all of them have their place in the file, and those of two layers have values. */
const HUGE = `
import h5py, sys, numpy as np
L, H, T = 40, 32, 1024
rng = np.random.default_rng(0)
with h5py.File(sys.argv[1], "w", libver=("v110", "v110")) as f:
    f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
    f.attrs["kind"] = np.bytes_(b"capture"); f.attrs["run_id"] = np.bytes_(b"huge")
    p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"a long text")
    p["tokens/text"] = np.array([b"token%d" % i for i in range(T)])
    a = p.create_group("attention/self")
    a["layers"] = np.arange(L); a["n_heads"] = np.full(L, H)
    s = a.create_dataset("head_stats", data=rng.random((L, H, 2), dtype="f4"))
    s.attrs["names"] = np.array([b"entropy", b"induction"])
    a.create_dataset("overview", data=rng.integers(0, 255, (L, H, 64, 64), dtype="u1"), chunks=(1, H, 64, 64), compression=1, shuffle=True)
    for layer in range(L):
        space = h5py.h5s.create_simple((H, T, T))
        how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        how.set_chunk((1, 256, 256)); how.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY); how.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        links = h5py.h5p.create(h5py.h5p.LINK_CREATE); links.set_create_intermediate_group(True)
        d = h5py.Dataset(h5py.h5d.create(p.id, b"cache/blocks.%d.attn.hook_pattern" % layer, h5py.h5t.IEEE_F32LE, space, how, links))
        d.attrs["causal"] = 1; d.attrs["map_dtype"] = np.bytes_(b"f32")
        if layer in (0, L - 1): d[:] = np.tril(rng.random((H, T, T), dtype="f4")) ** 4
`;

function made(name, code) {
  const folder = join(root, 'build/fixtures');
  const path = join(folder, name);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  execFileSync(process.env.ATTNSCOPE_PYTHON ?? 'python3', ['-c', code, `${path}.part`]);
  renameSync(`${path}.part`, path);
  return path;
}

export const large = () => made('large.h5', LARGE);
export const long = () => made('long32k.h5', LONG);
export const huge = () => made('huge.h5', HUGE);
