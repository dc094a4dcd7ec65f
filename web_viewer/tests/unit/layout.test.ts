import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cellText } from '../../src/draw/axes';
import { figureLayout } from '../../src/draw/figure';
import { headAt, modelLayout, sortedLayout } from '../../src/draw/grid';
import { cellAt, matrixLayout } from '../../src/draw/matrix';
import { dotAt, moveRange, rangeOf, valueAt, zoomRange, type Dot } from '../../src/draw/scatter';
import { buildHeadTable, type HeadTable } from '../../src/model/heads';

function tableOf(
  layers: number[],
  heads: number,
  keyValueHeads = heads,
  layerCount = 0,
): HeadTable {
  return buildHeadTable({
    stack: {
      layers,
      headCounts: layers.map(() => heads),
      width: heads,
      statNames: ['entropy'],
      headStats: new Float32Array(layers.length * heads),
    },
    effects: null,
    method: 0,
    attribution: null,
    layerCount,
    groupSize: heads / keyValueHeads,
  });
}

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

test('every head has a cell of its own inside the grid, and is found under the pointer', () => {
  for (const [layers, heads] of [
    [4, 8],
    [30, 9],
    [32, 32],
    [80, 64],
    [1, 1],
  ] as const) {
    const table = tableOf(range(layers), heads);
    const layout = modelLayout(table, 820, 560);
    assert.equal(layout.cells.length, layers * heads);
    const seen = new Set<string>();
    for (const { head, x, y } of layout.cells) {
      assert.equal(headAt(layout, x + layout.cell / 2, y + layout.cell / 2), head);
      seen.add(`${x},${y}`);
    }
    assert.equal(seen.size, layers * heads, 'no two heads share a place');
    assert.equal(headAt(layout, 1, 1), -1);
  }
});

test('deep and narrow models are folded, so that their cells stay large', () => {
  const folded = modelLayout(tableOf(range(30), 9), 820, 560);
  assert.ok(folded.cell >= 30, `${folded.cell}`);
  assert.equal(folded.labels.filter(({ text }) => text === '0').length, 2, 'two blocks');
  const wide = modelLayout(tableOf(range(4), 8), 820, 560);
  assert.equal(wide.labels.filter(({ text }) => text === '0').length, 1);
});

test('layers that are not in the file are gaps; shared keys stand close', () => {
  const layout = modelLayout(tableOf([0, 3, 4], 4, 2, 7), 600, 500);
  assert.deepEqual(
    layout.gaps.map(({ text }) => text),
    ['layers 1–2: not in this file', 'layers 5–6: not in this file'],
  );
  const [a, b, c] = layout.cells;
  assert.equal(b!.x - a!.x, layout.cell);
  assert.ok(c!.x - b!.x > layout.cell, 'a gap between groups of one key-value head');
});

test('a sorted list goes line by line and is as high as it needs', () => {
  const layout = sortedLayout([5, 2, 7], 160);
  assert.deepEqual(
    layout.cells.map(({ head }) => head),
    [5, 2, 7],
  );
  assert.equal(layout.cells[2]!.x, layout.cells[0]!.x);
  assert.ok(layout.cells[2]!.y > layout.cells[0]!.y);
  assert.ok(layout.height > layout.cells[2]!.y + layout.cell);
});

test('a figure keeps its cells square and inside', () => {
  for (const [width, height, columns, rows] of [
    [900, 600, 10, 10],
    [400, 300, 40, 10],
    [1600, 900, 3, 30],
  ] as const) {
    const { map, right, bottom } = figureLayout({ width, height }, columns, rows);
    assert.ok(right.x + right.width <= width && bottom.y + bottom.height <= height);
    const ratio = map.width / map.height;
    const wanted = Math.min(2.5, Math.max(0.4, columns / rows));
    assert.ok(Math.abs(ratio - wanted) < 0.05, `${ratio}`);
  }
});

test('a figure of a narrow window gives most of its width to the map', () => {
  for (const width of [290, 360, 470]) {
    const { map } = figureLayout({ width, height: 600 }, 12, 12);
    assert.ok(map.width > width / 2, `${map.width} of ${width}`);
  }
});

test('a place in the scatter leads back to its values', () => {
  const dot = (x: number, y: number): Dot => ({
    x,
    y,
    low: y - 1,
    high: y + 1,
    verdict: null,
    dimmed: false,
    name: '',
  });
  const dots = [dot(0.2, -3), dot(0.9, 0.5), dot(NaN, 1)];
  const size = { width: 400, height: 300 };
  const scale = rangeOf(dots);
  assert.ok(scale.y[0] < -4 && scale.y[1] > 1.5 && scale.x[0] < 0 && scale.x[1] > 0.9);
  for (let px = 60; px < 380; px += 7) {
    for (let py = 12; py < 250; py += 11) {
      const at = dotAt(dots, scale, size, px, py);
      if (at < 0) continue;
      const value = valueAt(scale, size, px, py);
      assert.ok(Math.abs(value.x - dots[at]!.x) < 0.05 && Math.abs(value.y - dots[at]!.y) < 0.5);
    }
  }
});

test('tables stand side by side while their cells hold numbers, else below each other', () => {
  const labels = (rows: number, columns: number) => ({
    rows: Array.from({ length: rows }, (_, i) => `L${i}`),
    columns: Array.from({ length: columns }, (_, i) => `${i}`),
  });
  const wide = matrixLayout(3, labels(4, 8), { width: 1600, height: 600 });
  assert.deepEqual(
    wide.places.map(({ y }) => y),
    [wide.places[0]!.y, wide.places[0]!.y, wide.places[0]!.y],
  );
  const narrow = matrixLayout(3, labels(4, 20), { width: 800, height: 900 });
  assert.ok(narrow.places[1]!.y > narrow.places[0]!.y);
  const { x, y } = narrow.places[2]!;
  const { width, height } = narrow.cell;
  assert.deepEqual(cellAt(narrow, 4, 20, x + 5.5 * width, y + 2.5 * height), {
    matrix: 2,
    row: 2,
    column: 5,
  });
  assert.equal(cellAt(narrow, 4, 20, x - 3, y), null);
});

test('numbers in cells are short', () => {
  assert.deepEqual([0.5, -0.25, 1, 5.97, 20.34, -12.3, 134.4, 0.001, NaN].map(cellText), [
    '.50',
    '−.25',
    '1.00',
    '5.97',
    '20.3',
    '−12.3',
    '134',
    '·',
    '',
  ]);
});

test('zooming a scatter keeps what is under the pointer, and ends at the whole', () => {
  const all = { x: [0, 10] as [number, number], y: [-4, 4] as [number, number] };
  const size = { width: 400, height: 300 };
  const closer = zoomRange(all, { x: 2, y: 1 }, 0.5, all);
  assert.deepEqual(closer, { x: [1, 6], y: [-1.5, 2.5] });
  const place = (range: typeof all) => valueAt(range, size, 100, 100);
  const at = place(all);
  const [same, moved] = [place(zoomRange(all, at, 0.25, all)), place(moveRange(all, 1, -2))];
  assert.ok(Math.hypot(same.x - at.x, same.y - at.y) < 1e-12);
  assert.ok(Math.hypot(moved.x - at.x - 1, moved.y - at.y + 2) < 1e-12);
  assert.equal(zoomRange(closer, { x: 2, y: 1 }, 4, all), all);
  const dot = (x: number): Dot => ({
    ...{ x, y: 0, low: NaN, high: NaN, verdict: null, dimmed: false, name: '' },
  });
  const outside = valueAt(closer, size, 60, 100);
  assert.equal(dotAt([dot(outside.x - 1)], closer, size, 60, 100), -1, 'what is not seen');
});
