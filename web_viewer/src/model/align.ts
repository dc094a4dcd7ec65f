/** Tokens of two texts, one beside the other: a shortest edit script (Myers 1986). */

/** Row by row: index in either list, −1 where the other has a token that this one lacks. */
export interface Alignment {
  a: Int32Array;
  b: Int32Array;
  /** Rows that only one of them has. */
  onlyA: number;
  onlyB: number;
  by: AlignedBy;
}

/** How it came about: of equal texts, by their tokens, by position because that was chosen, because
 *  the script would be longer than is looked for, or because the tokens of one are not known. */
export type AlignedBy = 'equal' | 'script' | 'position' | 'limit' | 'unknown';

const SENTENCES: Record<AlignedBy, string> = {
  equal: '',
  script: 'The texts differ; equal tokens stand beside each other.',
  position: 'The texts differ; equal positions stand beside each other.',
  limit: 'The texts differ too much to pair their tokens; equal positions stand beside each other.',
  unknown: 'The tokens of A or B are not stored; equal positions stand beside each other.',
};

/** How rows and columns came to stand beside each other; empty where the texts are equal. */
export const alignmentSentence = (...axes: readonly Alignment[]): string =>
  [...new Set(axes.map(({ by }) => SENTENCES[by]))].filter(Boolean).join(' ');

/** Whether both stand where they are stored. */
export const isAsStored = ({ by, onlyA, onlyB }: Alignment): boolean =>
  by !== 'script' && onlyA === 0 && onlyB === 0;

/** The frontiers of all steps are kept, whose number grows with its square. */
const MAX_EDITS = 2000;

export function alignByIndex(
  lengthA: number,
  lengthB: number,
  by: Exclude<AlignedBy, 'script'>,
): Alignment {
  const count = Math.max(lengthA, lengthB);
  const side = (length: number) =>
    Int32Array.from({ length: count }, (_, i) => (i < length ? i : -1));
  return {
    a: side(lengthA),
    b: side(lengthB),
    onlyA: Math.max(0, lengthA - lengthB),
    onlyB: Math.max(0, lengthB - lengthA),
    by,
  };
}

const UNREACHED = -1;

/** Where a diagonal (x − y) is entered after one edit more, and whether that took a token of A. */
function enter(
  before: Int32Array,
  edits: number,
  diagonal: number,
  [lengthA, lengthB]: readonly [number, number],
): { x: number; tookA: boolean } | null {
  // Diagonal k of the frontier before lies at k + edits − 1.
  const at = (k: number) => before[k + edits - 1] ?? UNREACHED;
  const [above, left] = [at(diagonal + 1), at(diagonal - 1)];
  const byB = above !== UNREACHED && above - diagonal <= lengthB ? above : UNREACHED;
  const byA = left !== UNREACHED && left < lengthA ? left + 1 : UNREACHED;
  if (byA === UNREACHED && byB === UNREACHED) return null;
  return byA > byB ? { x: byA, tookA: true } : { x: byB, tookA: false };
}

/** How far every diagonal gets with 0, 1, 2 … edits, until one reaches the end of both. */
function frontiers(a: readonly string[], b: readonly string[]): Int32Array[] | null {
  const lengths = [a.length, b.length] as const;
  const found: Int32Array[] = [];
  for (let edits = 0; edits <= Math.min(MAX_EDITS, a.length + b.length); ++edits) {
    const reach = new Int32Array(2 * edits + 1).fill(UNREACHED);
    for (let k = -edits; k <= edits; k += 2) {
      const start = edits === 0 ? { x: 0 } : enter(found[edits - 1]!, edits, k, lengths);
      if (!start) continue;
      let x = start.x;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) ++x;
      reach[k + edits] = x;
      if (x === a.length && x - k === b.length) return [...found, reach];
    }
    found.push(reach);
  }
  return null;
}

/** Pairs of equal tokens along the path that the frontiers lead back on. */
function pairsOf(found: readonly Int32Array[], lengths: readonly [number, number]) {
  const pairs: [number, number][] = [];
  let [x, y] = lengths;
  for (let edits = found.length - 1; edits >= 0; --edits) {
    const step = edits > 0 ? enter(found[edits - 1]!, edits, x - y, lengths)! : null;
    const start = step?.x ?? 0;
    while (x > start) pairs.push([--x, --y]);
    if (step?.tookA) --x;
    else if (step) --y;
  }
  return pairs.reverse();
}

/** Equal lists by index, others by the fewest insertions and deletions. */
export function align(a: readonly string[], b: readonly string[]): Alignment {
  let head = 0;
  const shorter = Math.min(a.length, b.length);
  while (head < shorter && a[head] === b[head]) ++head;
  if (head === a.length && head === b.length) return alignByIndex(head, head, 'equal');
  let tail = 0;
  while (tail < shorter - head && a.at(-1 - tail) === b.at(-1 - tail)) ++tail;
  const middleA = a.slice(head, a.length - tail);
  const middleB = b.slice(head, b.length - tail);
  const found = frontiers(middleA, middleB);
  if (!found) return alignByIndex(a.length, b.length, 'limit');
  const pairs: [number, number][] = [];
  for (let i = 0; i < head; ++i) pairs.push([i, i]);
  for (const [x, y] of pairsOf(found, [middleA.length, middleB.length]))
    pairs.push([head + x, head + y]);
  for (let i = tail; i > 0; --i) pairs.push([a.length - i, b.length - i]);
  return rowsOf(pairs, a.length, b.length);
}

function rowsOf(pairs: readonly [number, number][], lengthA: number, lengthB: number): Alignment {
  const [rowsA, rowsB]: [number[], number[]] = [[], []];
  let [x, y] = [0, 0];
  for (const [pairA, pairB] of [...pairs, [lengthA, lengthB] as const]) {
    for (; x < pairA; ++x) {
      rowsA.push(x);
      rowsB.push(-1);
    }
    for (; y < pairB; ++y) {
      rowsA.push(-1);
      rowsB.push(y);
    }
    if (x < lengthA && y < lengthB) {
      rowsA.push(x++);
      rowsB.push(y++);
    }
  }
  return {
    a: Int32Array.from(rowsA),
    b: Int32Array.from(rowsB),
    onlyA: lengthA - pairs.length,
    onlyB: lengthB - pairs.length,
    by: 'script',
  };
}

/** Rows (columns) of two maps beside each other; a map without its tokens has none to go by. */
export function alignMaps(
  [lengthA, lengthB]: readonly [number, number],
  a: readonly string[],
  b: readonly string[],
  wanted: 'tokens' | 'position',
): Alignment {
  const known = a.length === lengthA && b.length === lengthB;
  if (!known) return alignByIndex(lengthA, lengthB, 'unknown');
  if (wanted === 'tokens') return align(a, b);
  const equal = lengthA === lengthB && a.every((text, at) => text === b[at]);
  return alignByIndex(lengthA, lengthB, equal ? 'equal' : 'position');
}
