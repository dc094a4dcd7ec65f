import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cellTextWidth, cellTextWithin } from '../../src/draw/axes';
import { barTicks, placeOn } from '../../src/draw/bars';
import { drawHeadGrid } from '../../src/draw/head_grid';
import { LIGHT_INK } from '../../src/draw/ink';
import { drawMatrices, matrixLayout } from '../../src/draw/matrix';
import { notedPen } from '../support/noted_pen';
import type { ExperimentData } from '../../src/format/types';
import {
  ablateCommand,
  captureCommand,
  needsFolder,
  shellWord,
  verdictCommand,
} from '../../src/model/commands';
import { verdictSentence, verdictWord } from '../../src/model/effects';
import { nameOf } from '../../src/model/heads';
import { inductionRows, namedHeads, sentenceOf } from '../../src/model/named';
import { pairTokens } from '../../src/model/pair_tokens';
import { barScale } from '../../src/model/result_bars';
import { resultGrid } from '../../src/model/result_grid';
import { readingNotes } from '../../src/model/reading_notes';
import { arrayLabel, describeUnit, isSigned, valueWords } from '../../src/model/results';
import { verdictWords } from '../../src/model/verdict_words';
import { experiment, table } from '../support/heads';

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

test('the scale of bars holds effects, both ends of finite intervals, 0 and delta', () => {
  const data = experiment(false);
  const grid = resultGrid(data)!;
  const scale = () => barScale(data, grid, [0, 1, 2, 3], ['ci_low', 'ci_high']);
  // Effects from −2 to 0.3 with intervals from −3 to 0.5; the last unit has none.
  assert.ok(scale().low < -3 && scale().low > -3.3 && scale().high > 0.5 && scale().high < 0.8);
  data.attributes.delta = 4;
  assert.ok(scale().low < -4 && scale().high > 4);
  data.numbers.ci_low!.values[1] = -Infinity;
  assert.ok(Number.isFinite(scale().low));
  data.numbers.ci_high!.values.fill(-1);
  data.attributes.delta = NaN;
  assert.ok(scale().high > 0, '0 is always there');
});

test('each side of 0 on which bars lie has a number above them, and no two numbers touch', () => {
  const scaleFrom = (least: number, most: number) => {
    const room = 0.04 * (most - least);
    return { low: least - room, high: most + room, least, most };
  };
  const labelled = (least: number, most: number) =>
    barTicks(scaleFrom(least, most)).flatMap(({ label }) => label || []);
  assert.deepEqual(labelled(-8.6, 7.85), ['−5', '0', '5']);
  assert.deepEqual(labelled(-7.7, 2.07), ['−5', '0', '2']);
  assert.deepEqual(labelled(-18, 0.04), ['−10', '0'], 'less than a pixel is not seen');
  assert.deepEqual(labelled(-7.7, 0.4), ['−5', '0.2']);
  assert.deepEqual(labelled(0, 6), ['0', '5']);
  for (const most of [1, 2.3, 4.99, 7, 9.5, 30, 1e-6, 4e5]) {
    for (let share = 0; share <= 100; ++share) {
      for (const [from, to] of [
        [(-share * most) / 100, most],
        [-most, (share * most) / 100],
      ]) {
        const scale = scaleFrom(from!, to!);
        const [zero, ticks] = [placeOn(scale, 0), barTicks(scale)];
        const where = `${from} to ${to}: ${ticks.map(({ at, label }) => `${label}@${at}`).join(' ')}`;
        const shown = ticks.filter(({ label }) => label !== '');
        if (zero - placeOn(scale, from!) >= 1)
          assert.ok(
            shown.some(({ at }) => at < zero),
            where,
          );
        if (placeOn(scale, to!) - zero >= 1)
          assert.ok(
            shown.some(({ at }) => at > zero),
            where,
          );
        shown.slice(1).forEach(({ at, label }, i) => {
          const half = (cellTextWidth(label) + cellTextWidth(shown[i]!.label)) / 2;
          assert.ok(at - shown[i]!.at >= half, where);
        });
      }
    }
  }
});

test('no effect is said with its bound, since an interval within it may exclude 0', () => {
  assert.equal(verdictWord('no effect', 0.4008), 'no effect beyond ±0.401');
  assert.equal(verdictWord('no effect'), 'no effect');
  assert.equal(verdictWord('causal', 0.4), 'causal');
  const data = experiment(true);
  data.attributes.delta = 0.4;
  const grid = resultGrid(data)!;
  assert.ok(describeUnit(data, grid, 0).includes('verdict: no effect beyond ±0.4'));
  // 2.0 is backed up.
  assert.match(describeUnit(data, grid, 2).join('; '), /backed up: others stand in for it/);
  assert.match(verdictSentence('backed up', 0.4)!, /^Backed up: .*others stand in/);
});

test('a comparison of captures speaks of differences and values, not of effects and prompts', () => {
  const data: ExperimentData = {
    ...experiment(false),
    name: 'diff',
    attributes: { kind: 'diff', metric: '|b - a|', noise_floor: 0 },
    methods: ['largest', 'mean'],
  };
  assert.equal(isSigned(data, 'effect'), false);
  assert.equal(valueWords(data, 'effect', 0.0374), '0.0374');
  assert.equal(valueWords(experiment(false), 'effect', 0.0374), '+0.0374');
  assert.equal(arrayLabel(data, 'effect'), '|b − a|');
  assert.equal(arrayLabel(data, 'n'), 'values');
  const notes = readingNotes(data).join(' ');
  assert.match(notes, /How much two captures differ.*largest \|b − a\|/);
  assert.doesNotMatch(notes, /effect|prompt/i);
});

test('tokens of the corrupt prompt stand at theirs, however many differ and wherever', () => {
  const clean = 'When| Marco| and| William| went| to| the| garden|,| William| gave| a| book| to';
  const corruptOf = (tokens: string, text: string) =>
    pairTokens(tokens.split('|'), text).map(({ corrupt }) => corrupt);
  const at = (entries: Record<number, string>, length: number) =>
    Array.from({ length }, (_, i) => entries[i] ?? '');
  const text = 'When Roman and Ian went to the garden, Crew gave a book to';
  assert.deepEqual(corruptOf(clean, text), at({ 1: ' Roman', 3: ' Ian', 9: ' Crew' }, 14));
  // A begin token is in no text.
  assert.deepEqual(
    corruptOf(`<s>|${clean}`, text),
    at({ 2: ' Roman', 4: ' Ian', 10: ' Crew' }, 15),
  );
  // The first and the last word; a word that begins like another one.
  assert.deepEqual(corruptOf('Anna| met| Tom', 'Tom met Tommy'), ['Tom', '', ' Tommy']);
  // Where a name is two tokens nothing tells where the other one is parted.
  assert.deepEqual(corruptOf('So| Mar|co| sang', 'So Roman sang'), ['', ' Roman', '…', '']);
  // Parts of a character are not known to differ.
  assert.deepEqual(corruptOf('A|\ufffd|\ufffd| ran', 'A🙂 ran'), ['', '', '', '']);
  assert.deepEqual(corruptOf('A| ran', 'A ran'), ['', '']);
  const long = Array.from({ length: 800 }, (_, i) => ` w${i % 37}`);
  const other = [...long];
  for (const i of [3, 400, 799]) other[i] = ' zebra';
  assert.deepEqual(
    pairTokens(long, other.join('').slice(1)).flatMap(({ corrupt }, i) => (corrupt ? [i] : [])),
    [3, 400, 799],
  );
});

test('a best induction head is named with the rows that it is of', () => {
  // Rows 9 and 13 repeat a token; right after itself a copy has nothing that followed it.
  const words = 'When M and W went to the g , W gave a c to'.split(' ');
  assert.equal(inductionRows(words), 2);
  assert.equal(inductionRows(['a', 'a', 'b']), 0);
  assert.equal(inductionRows([5, 6, 5, 6, 5]), 3);
  const said = (rows?: number) =>
    namedHeads(table(), null, 0, { captures: [], means: 0, ...(rows && { rows }) })[2]!;
  assert.equal(said(2).title, 'Best induction head (2 rows)');
  assert.match(said(2).note, /So few rows tell little\.$/);
  assert.equal(said(1).title, 'Best induction head (1 row)');
  assert.equal(said(12).title, 'Best induction head');
  assert.match(sentenceOf(said(12)), /an earlier copy, on 12 rows\.$/);
  assert.match(sentenceOf(said()), /on rows that have one\.$/);
});

test('a suggested command says what is to be filled in, for files keep no folders', () => {
  for (const command of [
    captureCommand('tiny-english'),
    verdictCommand('tiny-english'),
    ablateCommand('tiny-english', []),
  ]) {
    assert.match(command, / -m FOLDER\/tiny-english /);
    assert.ok(needsFolder(command));
  }
  const hub = captureCommand('HuggingFaceTB/SmolLM2-135M');
  assert.match(hub, / -m HuggingFaceTB\/SmolLM2-135M /);
  assert.ok(!needsFolder(hub));
  assert.match(captureCommand('a b; c'), / -m MODEL /);
  assert.deepEqual(['/data/run.h5', 'a b.h5', "it's.h5", '-x.h5', '$(x).h5'].map(shellWord), [
    '/data/run.h5',
    "'a b.h5'",
    "'it'\\''s.h5'",
    "'-x.h5'",
    "'$(x).h5'",
  ]);
});

test('words of the report are explained where its text has them', () => {
  const data = experiment(true);
  data.attributes.delta = 0.4;
  data.texts.paragraph = [
    '2 of the 10 loudest heads … attention mass … focus 0.3, partial … 19 undetermined (1 of them backed up)',
  ];
  const words = verdictWords(data);
  assert.deepEqual(
    words.map(({ word }) => word),
    ['loudest', 'attention mass', 'focus', 'partial guide', 'undetermined', 'backed up'],
  );
  for (const { sentence } of words) assert.match(sentence, /^\S.{20,}\.$/);
  data.texts.paragraph = [];
  assert.deepEqual(verdictWords(data), []);
});

/** What a matrix of one row a layer draws, in a room of a given size. */
function drawn(rows: number, columns: number, room: { width: number; height: number }) {
  const tokens = Array.from({ length: columns }, (_, i) => ({
    clean: `·token${i}`,
    corrupt: i === 1 ? '·other' : '',
  }));
  const { pen, texts, marks } = notedPen();
  const labels = {
    rows: Array.from({ length: rows }, (_, i) => `L${i}`),
    columns: Array.from({ length: columns }, (_, i) => `${i}`),
    tokens,
  };
  const layout = matrixLayout(1, labels, room);
  const matrix = {
    title: 'zero',
    values: () => -5.054,
    verdicts: () => 'causal' as const,
  };
  const scale = { kind: 'linear' as const, low: -6, high: 6, map: 'blue-orange' as const };
  drawMatrices(pen, LIGHT_INK, layout, [matrix], labels, { ...scale, diverging: true }, null);
  return { layout, texts, marks };
}

test('every verdict has its mark and every column its token above it, however many layers', () => {
  for (const [rows, columns, width, height] of [
    [30, 9, 828, 560],
    [30, 9, 420, 560],
    [30, 14, 828, 560],
    [12, 12, 1200, 900],
    [48, 25, 500, 300],
  ] as const) {
    const { layout, texts, marks } = drawn(rows, columns, { width, height });
    const where = `${rows} × ${columns} in ${width}`;
    assert.equal(marks.length, rows * columns, where);
    const place = layout.places[0]!;
    const { cell } = layout;
    marks.forEach(({ x, y, radius }, at) => {
      const [row, column] = [Math.floor(at / columns), at % columns];
      const [left, top] = [place.x + column * cell.width, place.y + row * cell.height];
      assert.ok(x - radius >= left && x + radius < left + cell.width, where);
      assert.ok(y - radius >= top - 0.5 && y + radius < top + cell.height, where);
    });
    // Numbers and marks do not lie on each other.
    for (const { text, x, y } of texts.filter((one) => /^−5/.test(one.text))) {
      const end = x + cellTextWidth(text) / 2;
      for (const mark of marks) {
        const near = Math.abs(mark.y - y) < 8 && mark.x > x && mark.x < x + cell.width;
        if (near) assert.ok(end <= mark.x - mark.radius + 1, `${where}: ${text}`);
      }
    }
    const upright = texts.filter(({ text }) => text.startsWith('·'));
    assert.equal(upright.length, columns + 1, where);
    for (const { text, y } of upright) {
      assert.ok(y < place.y && y - 6.8 * text.length >= 0, `${where}: ${text} is whole`);
    }
  }
  // A map of 30 layers with its tokens fits into a small window.
  assert.ok(drawn(30, 14, { width: 828, height: 560 }).layout.height <= 560);
});

test('a number in a narrow cell has two digits or none, whatever its sign', () => {
  const rooms = [40, 28, 19.5, 15, 7];
  const within = (value: number) => rooms.map((pixels) => cellTextWithin(value, pixels));
  assert.deepEqual(within(-5.054), ['−5.05', '−5.05', '−5.1', '', '']);
  assert.deepEqual(within(-12.34), ['−12.3', '−12.3', '−12', '', '']);
  assert.deepEqual(within(-0.16), ['−.16', '−.16', '−.16', '', '']);
  assert.deepEqual(within(-0.996), ['−1.00', '−1.00', '−1.0', '', '']);
  assert.equal(cellTextWithin(NaN, 40), '');
  for (const value of [0.001, 0.04, 0.16, 0.996, 1.63, 2.44, 9.96, 12.34, 99.96, 1234]) {
    const sign = value < 0.005 ? '' : '−';
    assert.deepEqual(
      within(-value),
      within(value).map((text) => text && sign + text),
    );
  }
});

test('numbers stay in their cells, and all of a grid are there or none', () => {
  const effects = [-1.63, -2.44, 0.16, -0.16, -3, 0.04];
  for (let width = 20; width <= 60; ++width) {
    for (const verdict of ['undetermined', null] as const) {
      const { pen, texts } = notedPen();
      const columns = effects.map((_, at) => `c${at}`);
      const layout = {
        cell: { width, height: 20 },
        places: [{ x: 40, y: 40 }],
        top: 30,
        height: 99,
      };
      const matrix = {
        title: '',
        values: (_: number, column: number) => effects[column]!,
        verdicts: () => verdict,
      };
      const scale = { kind: 'linear' as const, low: -3, high: 3, map: 'blue-orange' as const };
      const labels = { rows: ['L0'], columns };
      drawMatrices(pen, LIGHT_INK, layout, [matrix], labels, { ...scale, diverging: true }, null);
      const numbers = texts.filter(({ text }) => /^−?\d?\.\d/.test(text));
      const where = `${width} ${verdict}: ${numbers.map(({ text }) => text).join(' ')}`;
      assert.ok([0, effects.length].includes(numbers.length), where);
      if (width >= (verdict ? 38 : 31)) assert.equal(numbers.length, effects.length, where);
      numbers.forEach(({ text, x }, at) => {
        const [from, to] = [x - cellTextWidth(text) / 2, x + cellTextWidth(text) / 2];
        assert.ok(from >= 40 + at * width - 0.5 && to <= 40 + (at + 1) * width, where);
        assert.ok(text.replace(/\D/g, '').length >= 2, where);
      });
    }
  }
});

test('so do those of the overview', () => {
  const model = table();
  const heads = model.heads.length;
  for (const size of [32, 33, 36, 48]) {
    const layout = {
      cells: range(heads).map((head) => ({ head, x: 50 + head * size, y: 30 })),
      ...{ cell: size, caption: 0, labels: [], gaps: [], height: 100 },
    };
    const { pen, texts } = notedPen();
    drawHeadGrid(pen, LIGHT_INK, 100, {
      ...{ layout, scroll: 0, thumbnails: null, pictureOf: () => -1, captions: null },
      values: [-3, -1.63, 0.38],
      scale: { kind: 'linear', low: -3, high: 3, map: 'blue-orange', diverging: true },
      ...{ effects: [], largestEffect: 0, tray: new Set<string>(), selected: -1, hovered: -1 },
      names: model.heads.map(nameOf),
      kept: range(heads).map(() => true),
    });
    assert.equal(texts.length, 3);
    texts.forEach(({ text, x }, at) => {
      const half = cellTextWidth(text) / 2;
      assert.ok(x - half >= 50 + at * size - 0.5, `${size}: ${text}`);
      assert.ok(x + half <= 50 + (at + 1) * size + 0.5, `${size}: ${text}`);
    });
  }
});
