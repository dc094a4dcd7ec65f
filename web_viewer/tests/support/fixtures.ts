/** Files made by the command and by h5py, once per machine, in a folder that is not committed. */

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const folder = join(VIEWER_ROOT, 'build/fixtures');
const repository = join(VIEWER_ROOT, '..');
const demo = join(repository, 'probes/demo');

/** The command that writes our files; null skips what needs it. */
export const command = process.env.ATTNSCOPE_BIN ?? null;
/** A Python that has h5py; null skips what needs it. */
export const python = process.env.ATTNSCOPE_PYTHON ?? null;

/** The program that writes, with the library that all commands write with, what none makes yet. */
export const library = process.env.ATTNSCOPE_VIEWER_FILES ?? null;

export const model = join(demo, 'tiny-english');

export function make(name: string, args: string[]): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  if (!existsSync(path)) execFileSync(command!, [...args, '-o', path], { stdio: 'pipe' });
  return path;
}

export const PROMPT = 'Words: river Tom lamp blue river Tom';

export const capture = (): string => make('run.h5', ['capture', '-m', model, '--prompt', PROMPT]);

export const half = (): string =>
  make('half.h5', ['capture', '-m', model, '--prompt', PROMPT, '--map-dtype', 'f16']);

export const pairs = (): string => join(demo, 'pairs/indirect_object.jsonl');

export const verdict = (): string =>
  make('verdict.h5', ['verdict', '-m', model, '--pairs', pairs()]);

export const ablation = (): string =>
  make('ablate.h5', [
    'ablate',
    '-m',
    model,
    '--pairs',
    pairs(),
    '--limit',
    '40',
    '--method',
    'zero,mean',
  ]);

export const patching = (): string =>
  make('patch.h5', [
    ...['patch', '-m', model, '--pairs', pairs(), '--limit', '12'],
    ...['--site', 'resid_pre,attn_out,z'],
  ]);

export const lens = (): string => make('lens.h5', ['lens', '-m', model, '--prompt', PROMPT]);

function prompts(name: string, count: number): string {
  mkdirSync(folder, { recursive: true });
  const rows = readFileSync(pairs(), 'utf8').trim().split('\n').slice(0, count);
  const path = join(folder, name);
  const lines = rows.map((row) => {
    const { clean, group } = JSON.parse(row) as { clean: string; group: string };
    return JSON.stringify({ text: clean, group });
  });
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

export const several = (): string =>
  make('several.h5', ['capture', '-m', model, '--prompts', prompts('several.jsonl', 8)]);

/** Rows of four queries only, of two layers. */
export const positions = (): string =>
  make('positions.h5', [
    ...['capture', '-m', model, '--prompt', PROMPT],
    ...['--layers', '1,3', '--positions', '2,5-7'],
  ]);

/** The parts of a run, as several machines would write them. */
const parts = (name: string, count: number, args: string[]): string[] =>
  Array.from({ length: count }, (_, part) =>
    make(`${name}-${part + 1}.h5`, [...args, '--shard', `${part + 1}/${count}`]),
  );

/** The two halves of `several()`. */
export const halves = (): string[] =>
  parts('half', 2, ['capture', '-m', model, '--prompts', prompts('several.jsonl', 8)]);

const packedRun = (): string[] => [
  ...['capture', '-m', model, '--prompts', prompts('packed.jsonl', 80)],
];

/** The prompts of `several()` and their maps, packed. */
const packedMapsRun = (): string[] => [
  ...['capture', '-m', model, '--prompts', prompts('several.jsonl', 8)],
  ...['--layout', 'packed', '--hooks', 'pattern'],
];
export const packedMaps = (): string => make('packed-maps.h5', packedMapsRun());
export const packedMapsParts = (): string[] => parts('packed-maps', 2, packedMapsRun());

/** The thirds of `packed()`. */
export const packedParts = (): string[] => parts('packed', 3, packedRun());

const SWEEPS = {
  ablate: ['--limit', '60', '--method', 'zero,mean'],
  patch: ['--limit', '30', '--site', 'resid_pre,z'],
};
export type Sweep = keyof typeof SWEEPS;

const sweepRun = (verb: Sweep): string[] => [
  verb,
  '-m',
  model,
  '--pairs',
  pairs(),
  ...SWEEPS[verb],
];

/** A sweep in one go, and in three parts that hold some of its cells each. */
export const sweep = (verb: Sweep): string => make(`sweep-${verb}.h5`, sweepRun(verb));
export const sweepParts = (verb: Sweep): string[] => parts(`sweep-${verb}`, 3, sweepRun(verb));

/** What an interrupted sweep leaves beside its output: the first of its parts. */
export async function measurements(): Promise<string> {
  const out = join(folder, 'interrupted.h5');
  const first = join(`${out}.parts`, 'shard-000000.h5');
  if (existsSync(first)) return first;
  mkdirSync(folder, { recursive: true });
  const args = ['ablate', '-m', model, '--pairs', pairs(), '--method', 'zero,mean,resample'];
  const running = spawn(command!, [...args, '--exact', '--threads', '1', '-o', out], {
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => running.on('exit', resolve));
  while (!existsSync(first) && running.exitCode === null) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  running.kill('SIGINT');
  await ended;
  return first;
}

export const packed = (): string => make('packed.h5', packedRun());

function written(name: string, kind: string, ...more: string[]): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  if (!existsSync(path)) execFileSync(library!, [kind, path, ...more], { stdio: 'pipe' });
  return path;
}

/** Two prompts of an encoder–decoder model: encoder, decoder and rectangular cross maps. */
export const encoderDecoder = (): string => written('encoder_decoder.h5', 'encoder_decoder');

/** Layers 0 and 5 of a long text, maps of heads 1 and 3, with their pyramids. */
export const long = (tokens: number): string =>
  written(`long-${tokens}.h5`, 'long', String(tokens));

/** Runs Python with h5py and returns what it prints as JSON. */
export function h5py<T>(code: string, ...args: string[]): T {
  const text = execFileSync(
    python!,
    ['-c', `import h5py, json, sys, numpy as np\n${code}`, ...args],
    {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    },
  );
  return JSON.parse(text) as T;
}

/** What h5py reads in a cell of a map of self-attention; heads are named as in the page. */
export function storedCell(
  path: string,
  head: string,
  query: number,
  key: number,
  prompt = 'p000000',
): number {
  const [layer, index] = head.split('.');
  return h5py<number>(
    `name, *at = sys.argv[2:]
with h5py.File(sys.argv[1]) as f: print(json.dumps(float(f[name][tuple(map(int, at))])))`,
    path,
    `prompts/${prompt}/cache/blocks.${layer}.attn.hook_pattern`,
    ...[index!, String(query), String(key)],
  );
}

/** Writes maps that fill several blocks, so that not all of them are read at once. */
export function writeMaps(path: string, seed: number): void {
  h5py<null>(
    `rng = np.random.default_rng(int(sys.argv[2]))
with h5py.File(sys.argv[1], "w") as f:
    f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
    f.attrs["kind"] = np.bytes_(b"capture")
    p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"changing")
    p["tokens/text"] = np.array([b"t%d" % i for i in range(512)])
    p.create_dataset("cache/blocks.0.attn.hook_pattern", data=rng.random((4, 512, 512), dtype="f4"), chunks=(1, 256, 256))
print("null")`,
    path,
    String(seed),
  );
}

/** A file that h5py writes: `code` fills the open file `f`. */
export function writtenByH5py(name: string, code: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  if (existsSync(path)) return path;
  const part = `${path}.part`;
  h5py<null>(
    `with h5py.File(sys.argv[1], "w") as f:\n    ${code.replaceAll('\n', '\n    ')}\nprint("null")`,
    part,
  );
  renameSync(part, path);
  return path;
}

/** A file of pieces with offsets, statistics of rows and lengths of values. */
export const pieces = (): string =>
  writtenByH5py(
    'pieces.h5',
    `f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture")
p = f.create_group("prompts/p000000"); p["text"] = np.bytes_("Unglaublich, Ölkännchen sah blau aus".encode())
texts = ["<s>", "Un", "glaub", "lich", ",", " Öl", "känn", "chen", " sah", " bl", "au", " aus"]
p["tokens/text"] = np.array([t.encode() for t in texts])
ends = np.cumsum([len(t) for t in texts[1:]])
p["tokens/char_offsets"] = np.array([[-1, -1]] + [[e - len(t), e] for t, e in zip(texts[1:], ends)], dtype="i4")
T = len(texts)
m = np.tril(np.random.default_rng(5).random((2, T, T))); m[:, 5, 1:] = 0; m /= m.sum(-1, keepdims=True)
m = m.astype("f4")
d = p.create_dataset("cache/blocks.0.attn.hook_pattern", data=m)
d.attrs["causal"] = 1; d.attrs["map_dtype"] = np.bytes_(b"f32"); d.attrs["row_sum"] = np.bytes_(b"one")
a = p.create_group("attention/self")
a["layers"] = np.array([0]); a["n_heads"] = np.array([2])
s = a.create_dataset("head_stats", data=np.full((1, 2, 1), 0.5, dtype="f4")); s.attrs["names"] = np.array([b"entropy"])
r = a.create_dataset("row_stats", data=np.stack([m.max(-1), m[:, :, 0]], -1)[None].astype("f4"))
r.attrs["names"] = np.array([b"max", b"sink"])
a["value_norm"] = np.random.default_rng(6).random((1, 2, T), dtype="f4") * 3
a["key_sum"] = m.sum(1)[None]
order = np.argsort(-m, axis=-1, kind="stable")[:, :, :4]
a["topk_index"] = order[None].astype("i4"); a["topk_value"] = np.take_along_axis(m, order, -1)[None]
a["overview"] = np.round(255 * np.sqrt(m))[None].astype("u1")`,
  );

/** The numbers of a file of NumPy, those that are none as null. */
export const numpy = (path: string): (number | null)[][] =>
  h5py(
    `a = np.load(sys.argv[1]).astype("f8")
print(json.dumps([[None if np.isnan(x) else x for x in row] for row in a.tolist()]))`,
    path,
  );

export const csvOf = (path: string): string[][] =>
  h5py(
    'import csv; print(json.dumps(list(csv.reader(open(sys.argv[1], encoding="utf-8", newline="")))))',
    path,
  );

/** Why a test is skipped, or false when it can run. */
export const without = (...needed: ('command' | 'library' | 'python')[]): string | false => {
  if (needed.includes('command') && !command) return 'ATTNSCOPE_BIN is not set';
  if (needed.includes('library') && !library) return 'ATTNSCOPE_VIEWER_FILES is not set';
  if (needed.includes('python') && !python) return 'ATTNSCOPE_PYTHON is not set';
  return false;
};
