import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packedId } from '../../src/format/schema';
import type { PromptData } from '../../src/format/types';
import { IoError } from '../../src/io/errors';
import { JoinedFile, joinedSummary } from '../../src/io/joined_file';
import { shardOf } from '../../src/io/parts';
import { readPrompt } from '../../src/io/read_prompt';
import { readSummary } from '../../src/io/run_file';
import {
  packed,
  packedMaps,
  packedMapsParts,
  several,
  without,
  writtenByH5py,
} from '../support/fixtures';
import { openedRun } from '../support/reader';

/** Columns of the input are attributes of groups, or common arrays that the list of prompts reads. */
const alike = (data: PromptData) => ({ ...data, attributes: null });

test(
  'a prompt of a packed file is what it is in the other layout, maps and tokens',
  { skip: without('command') },
  async () => {
    const [apart, together] = [await openedRun(several()), await openedRun(packedMaps())];
    const { summary } = await readSummary(together);
    assert.equal(summary.packedPrompts, 8);
    for (let index = 0; index < 8; ++index) {
      const id = packedId(index);
      const [wanted, got] = [await readPrompt(apart, id), await readPrompt(together, id)];
      assert.ok(got.queryTokens.self!.texts.length > 0 && got.stacks[0]!.maps.length === 4);
      assert.deepEqual(alike(got), alike(wanted), id);
    }
  },
);

test(
  'and so it is in parts of a packed file that are read as one',
  { skip: without('command') },
  async () => {
    const parts = await Promise.all(
      packedMapsParts().map(async (path) => {
        const file = await openedRun(path);
        const { summary } = await readSummary(file);
        return { file, summary, shard: shardOf(summary)! };
      }),
    );
    const joined = new JoinedFile(parts);
    assert.equal(joinedSummary(joined).packedPrompts, 8);
    const whole = await openedRun(packedMaps());
    for (const id of joined.promptIds) {
      assert.deepEqual(alike(await readPrompt(joined, id)), alike(await readPrompt(whole, id)), id);
    }
  },
);

test(
  'without groups it has statistics, text and tokens',
  { skip: without('command') },
  async () => {
    const file = await openedRun(packed());
    const data = await readPrompt(file, 'p000079');
    const offsets = (await file.numbers('/offsets')).values;
    assert.equal(data.queryTokens.self!.texts.length, offsets[80]! - offsets[79]!);
    assert.equal(data.text, (await file.texts('/prompts/text'))[79]);
    const [stack] = data.stacks;
    assert.deepEqual([stack!.layers, stack!.maps], [[0, 1, 2, 3], []]);
    const size = stack!.headStats.length;
    const all = (await file.numbers('/packed/attention/self/head_stats')).values;
    assert.deepEqual(stack!.headStats, all.slice(79 * size, 80 * size));
  },
);

test(
  'offsets that run backwards are said, and nothing is read',
  { skip: without('python') },
  async () => {
    const path = writtenByH5py(
      'backwards.h5',
      `f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f["prompts/text"] = np.array([b"a b", b"c"])
f["offsets"] = np.array([0, 3, 1])
f["tokens/text"] = np.array([b"a", b"b", b"c"])`,
    );
    await assert.rejects(
      openedRun(path).then((file) => readPrompt(file, 'p000001')),
      (error: unknown) => error instanceof IoError && error.code === 'shape',
    );
  },
);
