/** Rows or columns as they are shown: each a stored one, or the run of those that form a word. */

import { indexOf, positionOf, type Positions } from './positions';

export interface Axis {
  /** Rows or columns that are shown. */
  count: number;
  /** First stored one of each, and at the end how many are stored; null where each is one. */
  begin: Int32Array | null;
  /** Position of each stored one; null where they are all. */
  stored: Positions;
}

export const plainAxis = (count: number, stored: Positions): Axis => ({
  count,
  begin: null,
  stored,
});

/** One for each word, as far as its pieces are stored next to each other. */
export function wordAxis(count: number, stored: Positions, words: ArrayLike<number>): Axis {
  const begin: number[] = [];
  for (let at = 0; at < count; ++at) {
    const [before, here] = [positionOf(stored, at - 1), positionOf(stored, at)];
    if (at === 0 || words[before] !== words[here] || words[here] === undefined) begin.push(at);
  }
  return { count: begin.length, begin: Int32Array.from([...begin, count]), stored };
}

/** Stored rows or columns of a shown one. */
export const spanOf = ({ begin }: Axis, at: number): [first: number, end: number] =>
  begin ? [begin[at]!, begin[at + 1]!] : [at, at + 1];

/** Position of its first piece. */
export const firstPosition = (axis: Axis, at: number): number =>
  positionOf(axis.stored, spanOf(axis, at)[0]);

/** Positions of all its pieces. */
export function positionsAt(axis: Axis, at: number): number[] {
  const [first, end] = spanOf(axis, at);
  return Array.from({ length: end - first }, (_, i) => positionOf(axis.stored, first + i));
}

/** The shown one that holds a stored one. */
export function holderOf({ begin, count }: Axis, index: number): number {
  if (!begin) return index;
  let [low, high] = [0, count - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (begin[middle]! <= index) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The shown one of a position, −1 where it is not stored. */
export function shownAt(axis: Axis, position: number): number {
  const index = indexOf(axis.stored, position);
  const count = axis.begin ? axis.begin[axis.count]! : axis.count;
  return index < 0 || index >= count ? -1 : holderOf(axis, index);
}

/** Those that hold any of these positions, each once. */
export const shownOf = (axis: Axis, positions: readonly number[]): readonly number[] => [
  ...new Set(positions.map((at) => shownAt(axis, at)).filter((at) => at >= 0)),
];

/** Positions of the first and last pieces of all, for masks and numbers; null where equal. */
export function endsOf(axis: Axis): { first: Positions; last: Positions } {
  if (!axis.begin) return { first: axis.stored, last: axis.stored };
  const all = Array.from({ length: axis.count }, (_, at) => positionsAt(axis, at));
  return { first: all.map((list) => list[0]!), last: all.map((list) => list.at(-1)!) };
}

/** Sums over the members of each. */
export function sumsOver({ begin, count }: Axis, values: ArrayLike<number>): Float32Array {
  if (!begin) return Float32Array.from(values);
  const out = new Float32Array(count);
  for (let at = 0; at < count; ++at) {
    for (let i = begin[at]!; i < begin[at + 1]!; ++i) out[at]! += values[i]!;
  }
  return out;
}
