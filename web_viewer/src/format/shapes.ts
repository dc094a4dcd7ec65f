/** Whether a dataset has the extents that its prompt calls for; what has others is not drawn. */

/** What the rows or columns of a map are. */
export interface AxisFacts {
  stored: number;
  /** Positions that were kept, null for all. */
  positions: readonly number[] | null;
  /** Tokens of the prompt on this side, null where it has none. */
  tokens: number | null;
}

function axisFault(noun: string, { stored, positions, tokens }: AxisFacts): string | null {
  if (positions && stored !== positions.length) {
    return `${stored} ${noun} for ${positions.length} kept positions`;
  }
  if (tokens === null) return null;
  const outside = positions?.find((at) => !Number.isInteger(at) || at < 0 || at >= tokens);
  if (outside !== undefined) return `${noun} of position ${outside}, and ${tokens} tokens`;
  return positions || stored === tokens ? null : `${stored} ${noun} for ${tokens} tokens`;
}

/** `heads` is how many the layer has, or of how many the file says that they are kept. */
export function mapFault(
  heads: { stored: number; expected: number | null },
  rows: AxisFacts,
  columns: AxisFacts,
): string | null {
  if (heads.expected !== null && heads.stored !== heads.expected) {
    return `maps of ${heads.stored} heads for ${heads.expected}`;
  }
  return axisFault('rows', rows) ?? axisFault('columns', columns);
}

/** Of an array over layers and heads; an expected extent of null may be any. */
export function arrayFault(
  shape: readonly number[],
  expected: readonly (number | null)[],
): string | null {
  const fits =
    shape.length === expected.length && expected.every((n, i) => n === null || n === shape[i]);
  const shown = expected.map((n) => n ?? 'any').join(' × ');
  return fits ? null : `${shape.join(' × ')} values in place of ${shown}`;
}
