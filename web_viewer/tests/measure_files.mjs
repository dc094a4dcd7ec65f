// Files to measure with, made once: by h5py (ATTNSCOPE_PYTHON), and by the library that all of our files
// are written with (ATTNSCOPE_VIEWER_FILES).
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

/** `program` writes to the path that comes after `before` among its arguments. */
function made(name, program, before, after = []) {
  const folder = join(root, 'build/fixtures');
  const path = join(folder, name);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  execFileSync(program, [...before, `${path}.part`, ...after]);
  renameSync(`${path}.part`, path);
  return path;
}

const byH5py = (name, code) => made(name, process.env.ATTNSCOPE_PYTHON ?? 'python3', ['-c', code]);

export const large = () => byH5py('large.h5', LARGE);
export const huge = () => byH5py('huge.h5', HUGE);

/** 32,768 tokens, layers 0 and 5 with the maps of heads 1 and 3 and their pyramids; null without the
 *  program, which takes more than a minute. */
export function long() {
  const program = process.env.ATTNSCOPE_VIEWER_FILES;
  return program ? made('long-32768.h5', program, ['long'], ['32768']) : null;
}
