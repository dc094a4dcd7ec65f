import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawBipartite, MOVING_EDGES, RESTING_EDGES, SIDE } from '../../src/draw/bipartite';
import { colorTable, inkOn } from '../../src/draw/color';
import { drawColumnLabels, drawRowLabels, labelStep } from '../../src/draw/axes';
import { marginsOf } from '../../src/draw/margins';
import { HeatMapPainter } from '../../src/draw/heat_map';
import { LIGHT_INK } from '../../src/draw/ink';
import { drawMatrices, matrixLayout } from '../../src/draw/matrix';
import { Lru } from '../../src/draw/lru';
import type { Pen } from '../../src/draw/pen';
import { SvgPen } from '../../src/draw/svg';
import { isMasked } from '../../src/draw/paint';
import {
  bucketCentre,
  countBuckets,
  lookupTable,
  placeOf,
  rankFromCounts,
  ticks,
  BUCKETS,
} from '../../src/draw/scale';
import { halve, RAW, sinkFactors, transformBlock } from '../../src/draw/transform';
import { clampView, fitAll, reduction, storedLevel, zoomAt } from '../../src/draw/viewport';
import { notedPen } from '../support/noted_pen';

test('colour maps begin and end as published, and get lighter all the way', () => {
  const ends: [Parameters<typeof colorTable>[0], number[], number[]][] = [
    ['cividis', [0, 34, 78], [254, 232, 56]],
    ['viridis', [68, 1, 84], [253, 231, 37]],
    ['magma', [0, 0, 4], [252, 253, 191]],
  ];
  for (const [name, first, last] of ends) {
    const table = colorTable(name);
    assert.deepEqual(Array.from(table.slice(0, 3)), first);
    assert.deepEqual(Array.from(table.slice(-3)), last);
    const luminance = (i: number) =>
      0.2126 * table[3 * i]! + 0.7152 * table[3 * i + 1]! + 0.0722 * table[3 * i + 2]!;
    for (let i = 8; i < 256; i += 8) assert.ok(luminance(i) > luminance(i - 8), `${name} ${i}`);
  }
  assert.equal(inkOn('cividis', 0), '#fff');
  assert.equal(inkOn('cividis', 1), '#111');
});

test('places on a scale', () => {
  const spec = { low: 0, high: 1, map: 'cividis' as const };
  assert.equal(placeOf({ ...spec, kind: 'linear' }, 0.25), 0.25);
  assert.equal(placeOf({ ...spec, kind: 'sqrt' }, 0.25), 0.5);
  assert.ok(Math.abs(placeOf({ ...spec, kind: 'log' }, 0.01) - 0.5) < 1e-12);
  assert.equal(placeOf({ ...spec, kind: 'linear' }, 7), 1);
  const diverging = {
    kind: 'linear' as const,
    low: -2,
    high: 1,
    map: 'blue-orange' as const,
    diverging: true,
  };
  assert.deepEqual(
    [-2, 0, 1].map((v) => placeOf(diverging, v)),
    [0, 0.5, 0.75],
  );
});

test('the table is off by less than one colour step from the exact place', () => {
  for (const kind of ['sqrt', 'linear', 'log'] as const) {
    const spec = { kind, low: 0, high: 1, map: 'greys' as const };
    const table = lookupTable(spec);
    const greys = colorTable('greys');
    for (let i = 1; i < 2000; ++i) {
      const value = Math.fround(i / 2000);
      const bits = new Uint32Array(new Float32Array([value]).buffer)[0]! >>> 16;
      const wanted = greys[3 * Math.round(255 * placeOf(spec, value))]!;
      assert.ok(Math.abs((table[bits]! & 0xff) - wanted) <= 2, `${kind} ${value}`);
    }
    assert.equal(table[0x7fc0], 0, 'NaN has no colour');
    assert.equal(table[0]! & 0xff, greys[0]);
  }
  assert.equal(bucketCentre(0), 0);
});

test('ranks come from counts of the values', () => {
  const counts = new Uint32Array(BUCKETS);
  countBuckets(Float32Array.from([0, 0, 0.1, 0.2, 0.2, 0.9]), counts);
  const rank = rankFromCounts(counts);
  assert.deepEqual([0, 0.1, 0.2, 0.9].map(rank), [0, 0.25, 0.75, 1]);
});

test('reducing keeps the largest value and every NaN', () => {
  const block = { values: Float32Array.from([1, 2, 9, 4, NaN, 3, 0, 0, 5]), rows: 3, columns: 3 };
  const { values, rows, columns } = halve(block);
  assert.deepEqual([rows, columns], [2, 2]);
  assert.deepEqual(Array.from(values), [NaN, 9, 0, 5]);
});

test('without the first key every row sums to one again', () => {
  const sink = [1, 0.5, 0.2];
  const rows = [
    [1, 0, 0],
    [0.5, 0.5, 0],
    [0.2, 0.3, 0.5],
  ];
  const transform = { hideFirst: true, rowFactor: sinkFactors(sink, null), keyFactor: null };
  const block = { values: Float32Array.from(rows.flat()), rows: 3, columns: 3 };
  const { values } = transformBlock(transform, block, 0, 0, 1);
  const sums = [0, 1, 2].map((r) => values[3 * r]! + values[3 * r + 1]! + values[3 * r + 2]!);
  assert.ok(Number.isNaN(sums[0]), 'nothing is left of a row that sees one key');
  assert.ok(Math.abs(sums[1]! - 1) < 1e-6 && Math.abs(sums[2]! - 1) < 1e-6);
});

test('a coarse level is never below what its cells show', () => {
  const rowFactor = Float32Array.from({ length: 8 }, (_, i) => 1 + i);
  const keyFactor = Float32Array.from({ length: 8 }, (_, i) => 1 + ((i * 3) % 5));
  const transform = { hideFirst: false, rowFactor, keyFactor };
  const values = Float32Array.from({ length: 64 }, (_, i) => ((i * 29) % 31) / 31);
  const full = transformBlock(transform, { values, rows: 8, columns: 8 }, 0, 0, 1);
  const coarse = halve(halve({ values, rows: 8, columns: 8 }));
  const drawn = transformBlock(transform, coarse, 0, 0, 4);
  for (let q = 0; q < 8; ++q) {
    for (let k = 0; k < 8; ++k) {
      const over = drawn.values[Math.floor(q / 4) * 2 + Math.floor(k / 4)]!;
      assert.ok(over >= full.values[8 * q + k]!);
    }
  }
});

test('masks, also of subsets and windows', () => {
  const rule = {
    causal: true,
    window: 3,
    queryPositions: null,
    keyPositions: null,
    hideFirst: false,
  };
  assert.equal(isMasked(rule, 2, 3), true);
  assert.equal(isMasked(rule, 5, 3), false);
  assert.equal(isMasked(rule, 5, 2), true, 'outside of the window');
  const subset = { ...rule, window: 0, queryPositions: [7], keyPositions: [2, 8] };
  assert.equal(isMasked(subset, 0, 0), false);
  assert.equal(isMasked(subset, 0, 1), true);
  const causal = { ...rule, window: 0 };
  const hidden = { ...causal, hideFirst: true };
  assert.deepEqual([isMasked(hidden, 3, 0), isMasked(hidden, 3, 1)], [true, false]);
  assert.equal(isMasked(hidden, 3, 0, 4), false, 'a coarse cell holds other keys too');
  assert.equal(isMasked(causal, 0, 0, 4), false, 'a block on the diagonal is partly visible');
  assert.equal(isMasked(causal, 0, 1, 4), true);
});

test('views', () => {
  const screen = { width: 400, height: 400 };
  const zoomed = zoomAt(fitAll(100, 100), 2, 0.5, 0);
  assert.deepEqual(zoomed, { x: 25, y: 0, width: 50, height: 50 });
  assert.deepEqual(clampView({ x: 90, y: -5, width: 50, height: 500 }, 100, 100), {
    x: 50,
    y: 0,
    width: 50,
    height: 100,
  });
  assert.equal(reduction(fitAll(400, 400), screen, 1), 1);
  assert.equal(reduction(fitAll(1000, 1000), screen, 1), 4);
  assert.equal(reduction(fitAll(1000, 1000), screen, 2), 2);
  assert.equal(storedLevel(8, [4, 16]), 4);
  assert.equal(storedLevel(2, [4, 16]), 1);
});

test('ticks and steps are round numbers', () => {
  assert.deepEqual(ticks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(ticks(-7, 2, 5), [-6, -4, -2, 0, 2]);
  assert.deepEqual([40, 15, 8, 1, 0.1].map(labelStep), [1, 1, 2, 20, 200]);
});

test('what was used last is kept', () => {
  const lru = new Lru<string>(10);
  lru.set('a', 'A', 5);
  lru.set('b', 'B', 5);
  lru.get('a');
  lru.set('c', 'C', 5);
  assert.deepEqual(
    [lru.get('a'), lru.get('b'), lru.get('c'), lru.weight],
    ['A', undefined, 'C', 10],
  );
});

test('a view of more tiles than the cache holds is refused, not read', () => {
  const painter = new HeatMapPainter();
  const pen = { save() {}, restore() {}, beginPath() {}, rect() {}, clip() {} } as unknown as Pen;
  const asked: number[] = [];
  const draw = (levels: number[]) =>
    painter.draw(
      pen,
      { width: 600, height: 600 },
      fitAll(32768, 32768),
      { rows: 32768, columns: 32768, levels },
      (level) => {
        asked.push(level);
        return null;
      },
      {
        data: '',
        colors: '',
        table: new Uint32Array(BUCKETS),
        rule: {
          causal: true,
          window: 0,
          queryPositions: null,
          keyPositions: null,
          hideFirst: false,
        },
        transform: RAW,
        pool: 'max',
        paper: '#fff',
      },
      1,
    );
  assert.equal(draw([]).tooLarge, true);
  assert.deepEqual(asked, []);
  const { tooLarge, level, tiles, waiting } = draw([4, 16, 64]);
  assert.deepEqual([tooLarge, level, tiles, waiting], [false, 64, 4, 4]);
  assert.deepEqual(asked, [64, 64, 64, 64]);
});

test('of many lines the strongest are drawn, and how many are left out is said', () => {
  let curves = 0;
  const pen = new Proxy({} as Record<string, unknown>, {
    get: (own, name) =>
      name === 'measureText'
        ? () => ({ width: 0 })
        : (own[name as string] ?? (() => name === 'bezierCurveTo' && ++curves)),
    set: (own, name, value) => Boolean((own[name as string] = value) ?? true),
  }) as unknown as Pen;
  const edges = Array.from({ length: 3000 }, (_, at) => ({
    query: at % 20,
    key: at % 19,
    weight: 1 - at / 3000,
  }));
  const labels = Array.from({ length: 20 }, (_, at) => `t${at}`);
  const draw = (limit: number) => {
    curves = 0;
    const size = { width: 600, height: 500 };
    const shown = { edges, range: [0, 1] as const, limit };
    const options = { queries: labels, keys: labels, ...shown, query: -1, key: -1 };
    return drawBipartite(pen, LIGHT_INK, size, { top: 0, rowHeight: 18 }, options);
  };
  assert.deepEqual([draw(MOVING_EDGES), curves], [1000, 2000]);
  assert.deepEqual([draw(RESTING_EDGES), curves], [0, 3000]);
});

test('lines are as wide as their share of the range, whatever weights are of', () => {
  const labels = ['a', 'b', 'c'];
  const widths = (weights: number[], range: [number, number]): number[] => {
    const { pen, strokes } = notedPen();
    const edges = weights.map((weight, at) => ({ query: at, key: at, weight }));
    const options = { queries: labels, keys: labels, edges, range, query: -1, key: -1, limit: 9 };
    drawBipartite(pen, LIGHT_INK, { width: 600, height: 90 }, { top: 0, rowHeight: 18 }, options);
    // Weak ones are drawn first.
    return strokes.map(({ width }) => width).reverse();
  };
  assert.deepEqual(widths([1, 0.5, 0], [0, 1]), [3.25, 2, 0.75]);
  assert.deepEqual(widths([7, 3.5, 0], [0, 7]), [3.25, 2, 0.75]);
  assert.deepEqual(widths([9, 3, 1], [2, 4]), [3.25, 2, 0.75]);
});

test('labels beside lines keep their beginning and stay within their side', () => {
  const long = 'Donaudampfschifffahrtsgesellschaft';
  for (const query of [-1, 0]) {
    const { pen, texts } = notedPen();
    const edges = [{ query: 0, key: 0, weight: 0.5 }];
    const sides = { queries: [long], keys: [long], edges, range: [0, 1] as const };
    const options = { ...sides, query, key: -1, limit: 9 };
    drawBipartite(pen, LIGHT_INK, { width: 600, height: 90 }, { top: 0, rowHeight: 18 }, options);
    assert.equal(texts.length, 2);
    for (const { text, width } of texts) {
      assert.match(text, /^Donau.*…/);
      assert.ok(width <= SIDE - 16, `${text}: ${width}`);
    }
    assert.equal(texts[1]!.text.endsWith(' 0.500'), query === 0);
  }
});

test('the SVG pen places what it draws and escapes what it writes', () => {
  const measure = { font: '', measureText: (text: string) => ({ width: 10 * text.length }) };
  const pen = new SvgPen(200, 100, measure as unknown as CanvasRenderingContext2D);
  pen.save();
  pen.translate(10, 20);
  pen.rotate(Math.PI / 2);
  pen.fillStyle = '#123456';
  pen.font = '12px "A<b" & c';
  pen.fillText('<script>&"', 5, 0, 20);
  pen.restore();
  pen.globalAlpha = 0.5;
  pen.strokeRect(1, 2, 3, 4);
  const svg = pen.toString();
  assert.match(svg, /matrix\(0 1 -1 0 10 20\)/);
  assert.match(svg, /&lt;script>&amp;&quot;<\/text>/);
  assert.match(svg, /textLength="20"/);
  assert.match(svg, /opacity="0.5"><path d="M1 2h3v4h-3z" fill="none" stroke="#000"/);
  assert.ok(!svg.includes('<script'));
});

/** Contrast of two colours as WCAG 2 counts it. */
function contrast(a: string, b: string): number {
  const luminance = (color: string) => {
    const hex = /^#(..?)(..?)(..?)$/.exec(color);
    const bytes = hex
      ? hex.slice(1).map((digits) => parseInt(digits.repeat(3 - digits.length), 16))
      : color.match(/\d+/g)!.map(Number);
    const [r, g, b] = bytes.map((byte) => {
      const part = byte / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  };
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high! + 0.05) / (low! + 0.05);
}

test('the mark of a verdict is seen on a cell of any colour', () => {
  const count = 41;
  const labels = { rows: ['L0'], columns: Array<string>(count).fill('') };
  const layout = matrixLayout(1, labels, { width: 64 * count + 100, height: 200 });
  for (const map of ['blue-orange', 'blue-orange-dark', 'cividis'] as const) {
    const diverging = map !== 'cividis';
    const scale = { kind: 'linear' as const, low: diverging ? -1 : 0, high: 1, map, diverging };
    for (const verdict of ['causal', 'undetermined', 'no effect'] as const) {
      // The last cell has no number.
      const value = (at: number) =>
        at === count - 1 ? NaN : scale.low + ((1 - scale.low) * at) / (count - 2);
      const pairs: [string, string][] = [];
      let cell = '';
      const pen = new Proxy({} as Record<string, unknown>, {
        get: (state, name: string) => {
          if (name === 'fillRect') return () => (cell = String(state.fillStyle));
          if (name === 'stroke') return () => pairs.push([cell, String(state.strokeStyle)]);
          return state[name] ?? (() => undefined);
        },
      }) as unknown as Pen;
      const tables = [
        { title: '', values: (_: number, at: number) => value(at), verdicts: () => verdict },
      ];
      drawMatrices(pen, LIGHT_INK, layout, tables, labels, scale, null);
      assert.equal(pairs.length, count);
      for (const [under, mark] of pairs) {
        assert.ok(contrast(under, mark) >= 3, `${mark} on ${under} of ${map}`);
      }
    }
  }
});

/** Notes where labels and ticks are put, along one axis. */
function notedLabels(rows: boolean, count: number, pixels: number, marked: number[]) {
  const texts: { at: number; text: string; style: string }[] = [];
  const ticks: number[] = [];
  let moved = 0;
  const pen = {
    fillStyle: '',
    save: () => {},
    restore: () => {},
    rotate: () => {},
    translate: (x: number) => (moved = x),
    measureText: (text: string) => ({ width: 6 * text.length }),
    fillText: (text: string, _x: number, y: number) =>
      texts.push({ at: rows ? y : moved, text, style: pen.fillStyle }),
    fillRect: (x: number, y: number) => ticks.push((rows ? y : x) + 1),
  };
  const draw = rows ? drawRowLabels : drawColumnLabels;
  const labels = Array.from({ length: count }, (_, i) => `t${i}`);
  draw(
    pen as unknown as Pen,
    LIGHT_INK,
    { x: 0, y: 0, width: count, height: count },
    { width: pixels, height: pixels },
    { labels, positions: null, marked: new Set(marked), room: 90 },
  );
  return { texts, ticks };
}

test('labels never overlap, and of marked ones that crowd the first are written and all ticked', () => {
  for (const rows of [true, false]) {
    for (const count of [5, 40, 700]) {
      for (const marked of [[], [3], [465, 469, 629, 639, 2], [4, 3, 2, 1, 0], [39, 38, 20]]) {
        const { texts, ticks } = notedLabels(rows, count, 420, marked);
        const places = texts.map(({ at }) => at).sort((a, b) => a - b);
        places.forEach((at, i) => assert.ok(i === 0 || at - places[i - 1]! >= 10, `${at}`));
        const inside = marked.filter((i) => i < count);
        const strong = texts.filter(({ style }) => style === LIGHT_INK.accent);
        // The first of the marked ones, where one looks, always has its label.
        if (inside.length > 0) assert.ok(strong.some(({ text }) => text.endsWith(`t${inside[0]}`)));
        if (strong.length < inside.length) {
          assert.deepEqual(
            ticks.map(Math.round),
            inside.map((i) => Math.round(((i + 0.5) * 420) / count)),
          );
        }
      }
    }
  }
});

test('margins are the largest of every row and the sum of every column, across tiles', () => {
  const [rows, columns] = [300, 520];
  const value = (q: number, k: number) =>
    q === 7 && k === 9 ? NaN : ((q * 31 + k * 17) % 101) / 8;
  const margins = marginsOf(rows, columns, (row, column) => {
    const size = [Math.min(256, rows - 256 * row), Math.min(256, columns - 256 * column)] as const;
    const values = Float32Array.from({ length: size[0] * size[1] }, (_, at) =>
      value(256 * row + Math.floor(at / size[1]), 256 * column + (at % size[1])),
    );
    return { values, rows: size[0], columns: size[1] };
  })!;
  for (const q of [0, 7, 255, 256, 299]) {
    const all = Array.from({ length: columns }, (_, k) => value(q, k) || 0);
    assert.equal(margins.largest[q], Math.max(...all));
  }
  for (const k of [0, 9, 255, 256, 519]) {
    let sum = 0;
    for (let q = 0; q < rows; ++q) sum += value(q, k) || 0;
    assert.equal(margins.sums[k], sum);
  }
  assert.equal(
    marginsOf(rows, columns, () => null),
    null,
  );
});
