import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JoinedFile, type Part } from '../../src/io/joined_file';
import { shardOf } from '../../src/io/parts';
import { readExperiment } from '../../src/io/read_experiment';
import { readSummary } from '../../src/io/run_file';
import { joinExperiment } from '../../src/model/joined_experiment';
import {
  h5py,
  packed,
  packedParts,
  sweep,
  sweepParts,
  without,
  type Sweep,
} from '../support/fixtures';
import { openedRun } from '../support/reader';

async function partOf(path: string): Promise<Part> {
  const file = await openedRun(path);
  const { summary } = await readSummary(file);
  return { file, summary, shard: shardOf(summary)! };
}

const READ = `
def plain(values):
    if values.dtype.kind == "S": return [v.decode() for v in values.ravel()]
    return [None if np.isnan(v) else v for v in np.asarray(values, dtype="f8").ravel().tolist()]
with h5py.File(sys.argv[1]) as f:
    print(json.dumps({name: plain(f[name][()]) for name in sys.argv[2:]}))
`;
type Read = Record<string, (number | null)[]>;

const plain = (values: Iterable<number>) =>
  Array.from(values, (value) => (Number.isNaN(value) ? null : value));

/** Equal but for the rounding of 32-bit sums, whose order follows from the size of a batch. */
function assertClose(got: Iterable<number>, wanted: (number | null)[], what: string): void {
  const values = Array.from(got);
  assert.equal(values.length, wanted.length, what);
  values.forEach((value, i) => {
    const other = wanted[i] ?? NaN;
    const same = Number.isNaN(value) ? Number.isNaN(other) : Math.abs(value - other) < 1e-4;
    assert.ok(same, `${what}[${i}]: ${value}, h5py ${other}`);
  });
}

test(
  'packed parts read as the whole run does',
  { skip: without('command', 'python') },
  async () => {
    const parts = await Promise.all(packedParts().map(partOf));
    const file = new JoinedFile([...parts].reverse());
    const stats = '/packed/attention/self/head_stats';
    const names = ['/offsets', '/tokens/ids', '/tokens/char_offsets', stats];
    const whole = h5py<Read>(READ, packed(), ...names, '/prompts/text', '/tokens/text');
    for (const name of names) {
      assert.deepEqual(plain((await file.numbers(name)).values), whole[name], name);
    }
    for (const name of ['/prompts/text', '/tokens/text']) {
      assert.deepEqual(await file.texts(name), whole[name], name);
    }
    // Rows on both sides of the seam between the first and the second part.
    const seam = parts[0]!.summary.packedPrompts - 1;
    const shape = (await file.describe(stats))!.shape;
    assert.equal(shape[0], file.prompts);
    const rows = await file.numbers(stats, {
      start: [seam, 0, 0, 0],
      count: [2, ...shape.slice(1)],
    });
    const size = rows.values.length / 2;
    assert.deepEqual(plain(rows.values), whole[stats]!.slice(seam * size, (seam + 2) * size));
  },
);

/** What each cell says for itself, whichever others are at hand. */
const OWN = ['effect', 'ci_low', 'ci_high', 'p', 'n', 'groups', 'undefined', 'interval_kind'];

for (const [verb, name] of [
  ['ablate', 'ablate'],
  ['patch', 'patch_layer_head'],
  ['patch', 'patch_layer_pos'],
] as [Sweep, string][]) {
  test(
    `parts of a sweep hold the same effects as the whole: ${name}`,
    { skip: without('command', 'python') },
    async () => {
      const at = `/experiments/${name}`;
      const places = ['layers', name === 'patch_layer_pos' ? 'positions' : 'heads'];
      const wanted = [...OWN, ...places, 'cells', 'baseline'].map((array) => `${at}/${array}`);
      const whole = h5py<Read>(READ, sweep(verb), ...wanted);
      const parts = await Promise.all(sweepParts(verb).map(partOf));
      const pieces = await Promise.all(parts.map(({ file }) => readExperiment(file, name)));

      const joined = joinExperiment(pieces);
      assert.equal(joined.axes.length, 2);
      for (const array of [...OWN, 'baseline']) {
        assertClose(joined.numbers[array]!.values, whole[`${at}/${array}`]!, array);
      }
      if (verb === 'ablate') assert.ok(whole[`${at}/ci_low`]!.some((low) => low !== null));
      assert.deepEqual(joined.cells, whole[`${at}/cells`]);
      assert.deepEqual(joined.layers, whole[`${at}/layers`]);
      // Intervals over all cells of a method are not those over the cells of a part.
      for (const array of ['ci_sim_low', 'ci_sim_high', 'p_adjusted']) {
        assert.ok(pieces[0]!.numbers[array], 'the parts have it');
        assert.equal(joined.numbers[array], undefined);
      }

      const some = joinExperiment([pieces[0]!, pieces[2]!]);
      const effects = new Map(
        (whole[`${at}/cells`] as unknown as string[]).map((cell, i) => [cell, i]),
      );
      let measured = 0;
      some.cells.forEach((cell, spot) => {
        const value = some.numbers.effect!.values[spot]!;
        if (cell === '') assert.ok(Number.isNaN(value), 'what is not there is missing');
        else {
          assertClose([value], [whole[`${at}/effect`]![effects.get(cell)!]!], cell);
          ++measured;
        }
      });
      const counts = pieces.map(({ cells }) => cells.length);
      assert.equal(measured, counts[0]! + counts[2]!);
    },
  );
}
