/** Maps may hold some positions only: rows and columns are then not the positions themselves. */

/** Positions along an axis; null where all are stored. */
export type Positions = readonly number[] | null;

export const positionOf = (positions: Positions, index: number): number =>
  positions ? (positions[index] ?? -1) : index;

/** Index of a position along the axis, −1 where it is not stored. */
export const indexOf = (positions: Positions, position: number): number =>
  positions ? positions.indexOf(position) : position;

/** Indices of those positions that are stored. */
export const indicesOf = (positions: Positions, wanted: readonly number[]): readonly number[] =>
  positions ? wanted.map((at) => positions.indexOf(at)).filter((at) => at >= 0) : wanted;

/** Of a value for every position, those of the stored ones. */
export function pick(values: Float32Array, positions: Positions): Float32Array {
  return positions ? Float32Array.from(positions, (at) => values[at] ?? NaN) : values;
}

export function pickTexts(texts: readonly string[], positions: Positions): string[] {
  return positions ? positions.map((at) => texts[at] ?? '') : [...texts];
}
