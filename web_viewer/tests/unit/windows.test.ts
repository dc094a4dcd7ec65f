import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawFigure, type FigureContent, type FigureLayout } from '../../src/draw/figure';
import type { HeatMapPainter } from '../../src/draw/heat_map';
import { LIGHT_INK } from '../../src/draw/ink';
import type { Pen } from '../../src/draw/pen';
import { RAW } from '../../src/draw/transform';
import { clampView, zoomAt, type Viewport } from '../../src/draw/viewport';
import { plainAxis, shownAt, shownOf, wordAxis } from '../../src/model/axis';
import { parseHash } from '../../src/state/hash';

const SIDE = 300;
const LAYOUT: FigureLayout = {
  map: { x: 100, y: 100, width: SIDE, height: SIDE },
  left: 90,
  right: { x: 410, y: 100, width: 40, height: SIDE },
  bottom: { x: 100, y: 410, width: SIDE, height: 40 },
};

/** Numbers and bars of a map of 8 × 8 cells, seen through a window, in pixels of the page. */
function drawn(view: Viewport) {
  const texts: { text: string; x: number; y: number }[] = [];
  const bars: { x: number; y: number; width: number; height: number }[] = [];
  const moved: [number, number][] = [];
  let [dx, dy] = [0, 0];
  const pen = {
    fillStyle: '',
    textAlign: '',
    save: () => moved.push([dx, dy]),
    restore: () => ([dx, dy] = moved.pop()!),
    translate: (x: number, y: number) => {
      dx += x;
      dy += y;
    },
    rotate: () => {},
    measureText: (text: string) => ({ width: 7 * text.length }),
    fillText: (text: string, x: number, y: number) => {
      if (/^\.\d\d$/.test(text)) texts.push({ text, x: x + dx, y: y + dy });
    },
    fillRect: (x: number, y: number, width: number, height: number) => {
      if (pen.fillStyle === LIGHT_INK.muted) bars.push({ x: x + dx, y: y + dy, width, height });
    },
  };
  const any = new Proxy(pen as Record<string, unknown>, {
    get: (own, name: string) => own[name] ?? (() => undefined),
    set: (own, name: string, value) => Boolean((own[name] = value) ?? true),
  });
  const profile = { values: new Float32Array(8).fill(0.5), least: 0, caption: 'largest' };
  const content: FigureContent = {
    view,
    shape: { rows: 8, columns: 8, levels: [] },
    tiles: () => null,
    preview: null,
    style: {
      data: '',
      colors: '',
      table: new Uint32Array(),
      rule: {
        causal: false,
        window: 0,
        queryPositions: null,
        keyPositions: null,
        hideFirst: false,
      },
      transform: RAW,
      pool: 'max',
    },
    scale: { kind: 'linear', low: 0, high: 1, map: 'cividis' },
    rowLabels: Array<string>(8).fill('q'),
    columnLabels: Array<string>(8).fill('k'),
    rowPositions: null,
    columnPositions: null,
    valueAt: (row, column) => (10 * row + column + 1) / 100,
    cross: null,
    selectedRows: [],
    selectedColumns: [],
    found: { rows: [], columns: [] },
    bar: null,
    rowProfile: profile,
    columnProfile: profile,
  };
  const painter = { draw: () => ({}) } as unknown as HeatMapPainter;
  drawFigure(any as unknown as Pen, LIGHT_INK, LAYOUT, painter, content, 1);
  const isRight = ({ x }: { x: number }) => x >= LAYOUT.right.x;
  return { texts, right: bars.filter(isRight), bottom: bars.filter((bar) => !isRight(bar)) };
}

const WINDOWS: Viewport[] = [
  { x: 2.5, y: 2.5, width: 5.5, height: 5.5 },
  { x: 2, y: 2, width: 3, height: 3 },
  { x: 1.3, y: 0, width: 4.2, height: 4.2 },
  { x: 0, y: 0, width: 8, height: 8 },
  { x: 7, y: 7, width: 1, height: 1 },
];

test('numbers of a window lie in its map as a whole', () => {
  for (const view of WINDOWS) {
    const { texts } = drawn(view);
    assert.ok(texts.length > 0);
    for (const { text, x, y } of texts) {
      const half = 3.5 * text.length;
      assert.ok(x - half >= 100 && x + half <= 100 + SIDE, `${text} at ${x}`);
      assert.ok(y - 5 >= 100 && y + 5 <= 100 + SIDE, `${text} at ${y}`);
    }
  }
  // Of a window of whole cells, no number is missing.
  assert.equal(drawn(WINDOWS[1]!).texts.length, 9);
});

test('every row and column of which something is seen has its bar beside itself', () => {
  for (const view of WINDOWS) {
    const { right, bottom } = drawn(view);
    const check = (begins: number[], sizes: number[], first: number, extent: number) => {
      const cell = SIDE / extent;
      const [from, to] = [Math.floor(first), Math.ceil(first + extent)];
      assert.equal(begins.length, to - from);
      begins.forEach((begin, i) => {
        const top = Math.max(0, (from + i - first) * cell);
        const end = Math.min(SIDE, (from + i + 1 - first) * cell);
        assert.ok(Math.abs(begin - top) < 0.01, `${begin} is not ${top}`);
        assert.ok(sizes[i]! <= end - top && sizes[i]! >= end - top - 1.01, `${sizes[i]}`);
      });
    };
    const ys = right.map(({ y }) => y - 100);
    check(
      ys,
      right.map(({ height }) => height),
      view.y,
      view.height,
    );
    const xs = bottom.map(({ x }) => x - 100);
    check(
      xs,
      bottom.map(({ width }) => width),
      view.x,
      view.width,
    );
  }
});

test('a window of few cells is what is asked for, and one cell is the least', () => {
  const window = { x: 2, y: 2, width: 3, height: 3 };
  assert.deepEqual(clampView(window, 14, 14), window);
  const closest = clampView(zoomAt(window, 100, 0.5, 0.5), 14, 14);
  assert.deepEqual([closest.width, closest.height], [1, 1]);
});

test('positions that an axis does not have are nowhere on it', () => {
  const pieces = plainAxis(6, null);
  const some = plainAxis(3, [2, 5, 7]);
  const words = wordAxis(6, null, [0, 0, 1, 2, 2, 2]);
  assert.deepEqual(
    [5, 6, 40].map((at) => shownAt(pieces, at)),
    [5, -1, -1],
  );
  assert.deepEqual(
    [2, 3, 7].map((at) => shownAt(some, at)),
    [0, -1, 2],
  );
  assert.deepEqual(
    [1, 2, 5, 6].map((at) => shownAt(words, at)),
    [0, 1, 2, -1],
  );
  assert.deepEqual(shownOf(pieces, [4, 5, 6]), [4, 5]);
  assert.deepEqual(shownOf(words, [3, 4, 9]), [2]);
});

test('nonsense of an address is refused by name, whatever field it is in', () => {
  const nonsense = [
    ...['z=1,2,3', 'z=0,0,0,3', 'z=-1,0,3,3', 'z=1,,2,3', 'b=1,2', 'r=0', 'at=3', 'at=-1,2'],
    ...['at=1.5,2', 'al=positions', 'ls=9', 'g=grid', 'q=x', 'm=-1', 'sink=maybe'],
  ];
  for (const part of nonsense) assert.deepEqual(parseHash(`#v=1&${part}`).refused, [part]);
  assert.deepEqual(parseHash('#v=1&tray=9.9,1.1,1.1').state.tray, ['9.9', '1.1']);
});
