import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { BytesSource } from '../../src/io/blocks';
import { IoError } from '../../src/io/errors';
import type { Hdf5Reader } from '../../src/io/reader';
import { newReader, opened } from '../support/reader';
import { capture, h5py, half, without, writtenByH5py } from '../support/fixtures';

const LIST = `
def walk(group, path):
    out = []
    for name in sorted(group):
        item = group[name]
        at = path + "/" + name
        if isinstance(item, h5py.Group): out += walk(item, at)
        elif item.dtype.kind in "fiu":
            values = np.asarray(item[()], dtype="f8").ravel()
            out.append([at, list(item.shape), [None if np.isnan(v) else v for v in values.tolist()]])
    return out
with h5py.File(sys.argv[1]) as f: print(json.dumps(walk(f, "")))
`;

for (const [what, make] of [
  ['default', capture],
  ['16-bit', half],
] as const) {
  test(
    `every number of a ${what} capture equals h5py's`,
    { skip: without('command', 'python') },
    async () => {
      const path = make();
      const reader = await opened(path);
      const expected = h5py<[string, number[], (number | null)[]][]>(LIST, path);
      assert.ok(expected.length > 10);
      for (const [at, shape, values] of expected) {
        const data = reader.numbers(1, at);
        assert.deepEqual(data.shape, shape, at);
        const got = Array.from(data.values, (value) => (Number.isNaN(value) ? null : value));
        assert.deepEqual(got, values, at);
      }
    },
  );
}

test('slabs, text with NUL inside, attributes and links', { skip: without('python') }, async () => {
  const path = writtenByH5py(
    'kinds.h5',
    `f["numbers"] = np.arange(60, dtype="f4").reshape(3, 4, 5)
f["half"] = np.array([0, 1, -2.5, 65504, 6e-8, np.inf, np.nan], dtype="f2")
f["texts"] = np.array([b"a", b"\\xc3\\xa9\\xc3\\xa9", b"x\\0y"], dtype="S4")
f["big"] = np.array([2**40, -1], dtype="i8")
f.attrs["names"] = np.array([b"one", b"three"], dtype="S5")
f.attrs["free"] = "any length"
f.attrs["pair"] = [1, 0]
f["soft"] = h5py.SoftLink("/numbers")
f["out"] = h5py.ExternalLink("other.h5", "/x")`,
  );
  const reader = await opened(path);
  const slab = { start: [1, 2, 0], count: [2, 1, 3] };
  assert.deepEqual(
    Array.from(reader.numbers(1, '/numbers', slab).values),
    [30, 31, 32, 50, 51, 52],
  );
  const half = reader.numbers(1, '/half');
  assert.equal(half.dtype, 'f16');
  const expected = [0, 1, -2.5, 65504, Math.fround(2 ** -24), Infinity, NaN];
  assert.deepEqual(Array.from(half.values), expected);
  assert.deepEqual(reader.texts(1, '/texts').texts, ['a', 'éé', 'x\0y']);
  assert.deepEqual(Array.from(reader.numbers(1, '/big').values), [2 ** 40, -1]);
  const root = reader.attributes(1, '/');
  assert.deepEqual(root, { names: ['one', 'three'], free: 'any length', pair: [1, 0] });
  const nodes = new Map(reader.list(1, '/').nodes.map((node) => [node.name, node]));
  assert.equal(nodes.get('soft')?.target, '/numbers');
  assert.equal(nodes.get('out')?.target, 'other.h5:/x');
  assert.throws(() => reader.numbers(1, '/soft'), /links are not followed/);
  assert.throws(() => reader.numbers(1, '/absent'), { code: 'absent' });
});

test('what cannot be read is refused by name', { skip: without('python') }, async () => {
  const path = writtenByH5py(
    'refused.h5',
    `f.create_dataset("huge", (2**40,), "f4")
f.create_dataset("wide", (2**25,), "f4", chunks=(2**25,))
f.create_dataset("lzf", (10,), "f4", chunks=(10,), compression="lzf")
layout = h5py.VirtualLayout((4,), "f4")
layout[:] = h5py.VirtualSource("elsewhere.h5", "x", (4,))
f.create_virtual_dataset("virtual", layout)
f["compound"] = np.zeros(2, dtype=[("a", "f4"), ("b", "i4")])
f["vlen"] = "text of any length"`,
  );
  const reader = await opened(path);
  const codes: [string, string][] = [
    ['/huge', 'too_large'],
    ['/wide', 'too_large'],
    ['/lzf', 'filter'],
    ['/virtual', 'unsupported'],
    ['/compound', 'unsupported'],
  ];
  for (const [at, code] of codes) assert.throws(() => reader.numbers(1, at), { code }, at);
  assert.throws(() => reader.numbers(1, '/lzf'), /32000/);
  assert.throws(() => reader.texts(1, '/vlen'), { code: 'unsupported' });
  // A slab of a huge dataset is fine.
  const slab = { start: [2 ** 39], count: [2] };
  assert.deepEqual(Array.from(reader.numbers(1, '/huge', slab).values), [0, 0]);
  assert.throws(() => reader.numbers(1, '/huge', { start: [2 ** 40], count: [1] }));
});

test('what is not HDF5 is told by its first bytes', async () => {
  const reader = await newReader();
  const open = (text: string) => reader.open(7, new BytesSource(new TextEncoder().encode(text)));
  assert.throws(() => open(''), { code: 'not_hdf5', message: 'the file is empty' });
  assert.throws(() => open('PK\u0003\u0004 zip'), /50 4b 03 04/);
  assert.throws(() => open('x'), IoError);
});

test(
  'a file cut anywhere gives an error or the same numbers, never others',
  {
    skip: without('command'),
  },
  async () => {
    const { readFileSync } = await import('node:fs');
    const whole = readFileSync(capture());
    const path = '/prompts/p000000/attention/self/head_stats';
    const complete = await opened(capture());
    const expected = Array.from(complete.numbers(1, path).values, String);
    let refused = 0;
    const reader = await newReader();
    for (let part = 0; part < 40; ++part) {
      const bytes = whole.subarray(0, Math.floor((whole.length * part) / 40));
      try {
        reader.open(100 + part, new BytesSource(bytes));
        assert.deepEqual(Array.from(reader.numbers(100 + part, path).values, String), expected);
      } catch (error) {
        assert.ok(error instanceof IoError, String(error));
        ++refused;
      }
    }
    assert.ok(refused > 30);
  },
);

test('hostile content is bounded, and refused by name', { skip: without('python') }, async () => {
  const path = writtenByH5py(
    'bounds.h5',
    `import zlib
d = f.create_dataset("bomb", (65536,), "f4", chunks=(65536,), compression=1)
packer = zlib.compressobj(9)
d.id.write_direct_chunk((0,), b"".join(packer.compress(bytes(1 << 24)) for _ in range(64)) + packer.flush())
f.create_dataset("endless", (2**60,), "f4", chunks=(1024,))
f.create_dataset("elsewhere", (16,), "u1", external=[("/etc/passwd", 0, 16)])
g = f
for i in range(2000): g = g.create_group("d")
f["cycle/inner"] = np.arange(3.0)
f["cycle/again"] = f["cycle"]
many = f.create_group("many")
t = many.create_group("t")
for i in range(120000): many.id.links.create_hard(b"%d" % i, t.id, b".")
for i in range(1200): t.attrs["a%d" % i] = i`,
  );
  const reader = await opened(path);
  const refused = (at: string, message: RegExp) =>
    assert.throws(() => reader.numbers(1, at), { name: 'IoError', message }, at);
  refused('/bomb', /damaged/);
  assert.ok(reader.heapBytes <= 320 * 2 ** 20, 'what inflates without end stops at the limit');
  refused('/endless', /64 MiB/);
  assert.deepEqual(
    Array.from(reader.numbers(1, '/endless', { start: [2 ** 59], count: [2] }).values),
    [0, 0],
  );
  refused('/elsewhere', /another file/);
  const down = (levels: number) => `/${new Array(levels).fill('d').join('/')}`;
  assert.equal(reader.list(1, down(60)).total, 1);
  assert.throws(() => reader.list(1, down(70)), /deeper than/);
  assert.deepEqual(Array.from(reader.numbers(1, '/cycle/again/again/inner').values), [0, 1, 2]);
  const { nodes, total } = reader.list(1, '/many');
  assert.deepEqual([nodes.length, total], [10_000, 120_001]);
  assert.throws(() => reader.names(1, '/many'), /120001 members/);
  assert.equal(Object.keys(reader.attributes(1, '/many/t')).length, 1000);
});

/** A source that stops giving bytes after a number of reads. */
class FailingSource extends BytesSource {
  left: number;

  constructor(bytes: Uint8Array, left: number) {
    super(bytes);
    this.left = left;
  }

  override read(offset: number, length: number): Uint8Array {
    if (this.left-- <= 0) throw new IoError('offline', 'the server does not answer');
    return super.read(offset, length);
  }
}

test(
  'bytes that cannot be had are never taken for something absent, and are read once they can',
  { skip: without('python') },
  async () => {
    const path = writtenByH5py(
      'many-blocks.h5',
      `for i in range(8): f["g%d/x" % i] = np.full(200000, i, dtype="f4"); f.flush()`,
    );
    const bytes = readFileSync(path);
    const answers = (reader: Hdf5Reader) =>
      Array.from({ length: 8 }, (_, i) => [
        reader.names(1, `/g${i}`),
        reader.has(1, `/g${i}/x`),
        reader.describe(1, `/g${i}/x`).shape,
        reader.numbers(1, `/g${i}/x`).values.at(-1),
      ]);
    const expected = Array.from({ length: 8 }, (_, i) => [['x'], true, [200000], i]);
    let failures = 0;
    for (let left = 0; ; ++left) {
      const reader = await newReader();
      const source = new FailingSource(bytes, left);
      let open = false;
      const read = () => {
        if (!open) reader.open(1, source);
        open = true;
        return answers(reader);
      };
      try {
        assert.deepEqual(read(), expected);
        break;
      } catch (error) {
        assert.ok(error instanceof IoError && error.code === 'offline', String(error));
        ++failures;
      }
      source.left = Infinity;
      assert.deepEqual(read(), expected, `after ${left} reads`);
    }
    assert.ok(failures > 10, `${failures} places where reading stopped`);
  },
);
