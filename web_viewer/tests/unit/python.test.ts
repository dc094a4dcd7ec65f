import assert from 'node:assert/strict';
import { test } from 'node:test';
import { indexList, pythonOfMeans } from '../../src/model/python';
import {
  pythonOfDifference,
  pythonOfMap,
  pythonOfMapMeans,
  type DrawnMap,
} from '../../src/model/python_maps';
import { h5pyResult } from '../../src/model/commands';
import { folder, h5py, sweep, sweepParts, without, writtenByH5py } from '../support/fixtures';

const DRAWN: DrawnMap = {
  maps: [{ path: 'cache/x', index: 3 }],
  blend: 'mean',
  attention: { path: 'attention/self', row: 1, head: 3 },
  queryPositions: null,
  keyPositions: null,
  hideFirst: null,
  weighed: false,
  queryWords: null,
  keyWords: null,
};

test('indices next to each other are a range', { skip: without('python') }, () => {
  for (const indices of [[], [4], [0, 1, 2], [0, 1, 5, 7, 8, 9], [3, 2, 1], [2, 2]]) {
    const code = `print(json.dumps(np.arange(20)[${indexList(indices)}].tolist()))`;
    assert.deepEqual(h5py<number[]>(code), indices, indexList(indices));
  }
  assert.equal(indexList([0, 1, 2, 5]), 'np.r_[0:3, 5]');
});

test('what is stored is read in one line, and the prompts of each part from its file', () => {
  assert.equal(
    pythonOfMap('a.h5', 'prompts/p000000', DRAWN),
    `import h5py
with h5py.File("a.h5") as f:
    pattern = f["prompts/p000000/cache/x"][3]  # [query, key]`,
  );
  assert.equal(
    pythonOfMapMeans(
      [
        { file: 'a.h5', prompts: ['p000000'], all: false },
        { file: 'b.h5', prompts: ['p000000', 'p000001'], all: false },
      ],
      DRAWN,
      false,
    ),
    `import h5py, numpy as np
maps = []
with h5py.File("a.h5") as f:
    for name in ["p000000"]:
        prompt = f["prompts"][name]
        pattern = prompt["cache/x"][3].astype("f8")  # [query, key]
        maps.append(pattern)
with h5py.File("b.h5") as f:
    for name in ["p000000", "p000001"]:
        prompt = f["prompts"][name]
        pattern = prompt["cache/x"][3].astype("f8")  # [query, key]
        maps.append(pattern)
mean = np.mean(maps, axis=0)  # [query, key]`,
  );
  const side = { path: 'prompts/p000000/cache/x', index: 3, rows: null, columns: null };
  assert.doesNotMatch(
    pythonOfDifference({ file: 'a.h5', ...side }, { file: 'b.h5', ...side }),
    /numpy/,
  );
});

/** Kept rows and keys of a layer with a learned sink, of which what is left is only in statistics. */
const kept = (): string =>
  writtenByH5py(
    'kept-rows.h5',
    `p = f.create_group("prompts/p000000")
p["cache/x"] = np.array([[[0.1, 0.2, 0.3], [0.25, 0.5, 0.125]]] * 4, "f4")
s = p.create_dataset("attention/self/row_stats", data=np.zeros((2, 4, 6, 3), "f4"))
s.attrs["names"] = np.array([b"sink", b"entropy", b"learned_sink"])
s[1, 3, :, 0] = [0.9, 0.1, 0.2, 0.25, 0.3, 1.0]
s[1, 3, :, 2] = [0.1, 0.1, 0.1, 0.25, 0.1, 0.0]
p["attention/self/value_norm"] = np.broadcast_to(np.array([1, 2, 4, 8, 16, 32], "f4"), (2, 4, 6))`,
  );

test(
  'rows that are kept in part are rescaled by their statistics',
  { skip: without('python') },
  () => {
    const code = pythonOfMap(kept(), 'prompts/p000000', {
      ...DRAWN,
      queryPositions: [3, 5],
      keyPositions: [0, 2, 5],
      hideFirst: 'statistics',
      weighed: true,
    });
    const read = h5py<(number | null)[][]>(
      `${code}\nprint(json.dumps([[None if np.isnan(x) else x for x in row] for row in pattern.tolist()]))`,
    );
    // ÷ (1 − 0.25 − 0.25), × 4 and 32; nothing is left of the other row.
    const wanted = [0, Math.fround(0.2) * 2 * 4, Math.fround(0.3) * 2 * 32];
    read[0]!.forEach((value, at) => assert.ok(Math.abs(value! - wanted[at]!) < 1e-6, `${value}`));
    assert.deepEqual(read[1], [null, null, null]);
  },
);

test(
  'means of a statistic are over the prompts found in each part',
  { skip: without('python') },
  () => {
    const stats = (name: string, first: number) =>
      writtenByH5py(
        name,
        `s = f.create_dataset("packed/attention/self/head_stats", data=(${first} + np.arange(5.0))[:, None, None, None] * np.array([1.0, 10.0]) * np.ones((5, 2, 3, 2)))
s.attrs["names"] = np.array([b"entropy", b"previous"])`,
      );
    const code = pythonOfMeans(
      [
        { file: stats('stats-a.h5', 0), prompts: [0, 1, 4], all: false },
        { file: stats('stats-b.h5', 100), prompts: [0, 1, 2, 3, 4], all: true },
      ],
      'packed/attention/self/head_stats',
      'previous',
    );
    assert.match(code, /over 8 prompts/);
    const all = [0, 1, 4, 100, 101, 102, 103, 104].map((value) => 10 * value);
    const mean = all.reduce((sum, value) => sum + value, 0) / 8;
    const spread = Math.sqrt(all.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 7);
    const [means, spreads] = h5py<number[][][]>(
      `import os; os.chdir(${JSON.stringify(folder)})\n${code}\nprint(json.dumps([mean.tolist(), spread.tolist()]))`,
    );
    assert.equal(means!.length * means![0]!.length, 6);
    for (const value of means!.flat()) assert.ok(Math.abs(value - mean) < 1e-9);
    for (const value of spreads!.flat()) assert.ok(Math.abs(value - spread) < 1e-9);
  },
);

test(
  'an array of a sweep is read whole or of one method, and of parts by cell',
  { skip: without('command', 'python') },
  () => {
    const whole = sweep('ablate');
    const read = (files: string[], method: number | null, print: string) =>
      h5py<(number | null)[]>(
        `import os; os.chdir(${JSON.stringify(folder)})
${h5pyResult({ files, experiment: 'ablate', arrays: [{ name: 'effect', axes: ['method', 'layer', 'head'] }], method })}
print(json.dumps([None if np.isnan(x) else float(x) for x in np.ravel(${print})]))`,
      );
    const name = (path: string) => path.slice(folder.length + 1);
    const parts = sweepParts('ablate').map(name);
    const cells = h5py<string[]>(
      'with h5py.File(sys.argv[1]) as f: print(json.dumps(f["experiments/ablate/cells"].asstr()[:].ravel().tolist()))',
      whole,
    );
    const inOrder = `[effect[cell] for cell in ${JSON.stringify(cells)}]`;
    const all = read([name(whole)], null, 'effect');
    assert.equal(all.length, 2 * cells.length);
    const close = (got: (number | null)[], wanted: (number | null)[]) => {
      assert.equal(got.length, wanted.length);
      got.forEach((value, at) => assert.ok(Math.abs(value! - wanted[at]!) < 1e-4, `${at}`));
    };
    for (const method of [0, 1]) {
      const wanted = all.slice(method * cells.length, (method + 1) * cells.length);
      assert.deepEqual(read([name(whole)], method, 'effect'), wanted);
      close(read(parts, method, inOrder), wanted);
    }
    close(read(parts, null, `np.transpose(${inOrder})`), all);
  },
);
