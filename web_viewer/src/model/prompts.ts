/** Many prompts: finding them, putting them in order, and statistics over them. */

export interface PromptRows {
  ids: readonly string[];
  texts: readonly string[];
  columns: Readonly<Record<string, readonly string[]>>;
}

/** What `name:value` asks for, where there is a column of that name: exactly this value of it. */
function askedOf({ columns }: PromptRows, word: string): ((at: number) => boolean) | null {
  const [, asked, value] = /^(.+?):(.+)$/.exec(word) ?? [];
  const name = Object.keys(columns).find((column) => column.toLowerCase() === asked);
  const column = name === undefined ? undefined : columns[name];
  if (!column) return null;
  return (at) => column[at]?.toLowerCase() === value;
}

/** Indices of prompts that contain every word, in their text or in any column; `tokens:18` asks
 *  for a value of one column. */
export function findPrompts(rows: PromptRows, wanted: string): number[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const columns = Object.values(rows.columns);
  const exact = words.map((word) => askedOf(rows, word));
  return rows.ids
    .map((_, at) => at)
    .filter((at) => {
      if (words.length === 0) return true;
      const all = [rows.ids[at], rows.texts[at], ...columns.map((column) => column[at])];
      const haystack = all.join('\n').toLowerCase();
      return words.every((word, i) => exact[i]?.(at) ?? haystack.includes(word));
    });
}

const collator = new Intl.Collator('en', { numeric: true });

/** In order of a column (`text`, `id` or its name); a `-` in front turns it round. */
export function sortPrompts(rows: PromptRows, indices: readonly number[], by: string): number[] {
  const name = by.replace(/^-/, '');
  const values =
    name === 'text' ? rows.texts : name === 'id' || name === '' ? rows.ids : rows.columns[name];
  if (!values) return [...indices];
  const direction = by.startsWith('-') ? -1 : 1;
  return [...indices].sort(
    (a, b) => direction * collator.compare(values[a] ?? '', values[b] ?? '') || a - b,
  );
}

export interface Means {
  means: Float32Array;
  deviations: Float32Array;
  counts: Uint32Array;
}

/**
 * Mean and standard deviation of each entry over some prompts; `values` is [prompt][entry]. A
 * prompt on which an entry is undefined does not count for it.
 */
export function meansOver(values: Float32Array, prompts: number, chosen: readonly number[]): Means {
  const size = prompts === 0 ? 0 : values.length / prompts;
  const means = new Float64Array(size);
  const squares = new Float64Array(size);
  const counts = new Uint32Array(size);
  for (const prompt of chosen) {
    for (let entry = 0; entry < size; ++entry) {
      const value = values[prompt * size + entry]!;
      if (Number.isNaN(value)) continue;
      // Welford's update, which does not subtract large sums.
      const step = value - means[entry]!;
      means[entry]! += step / ++counts[entry]!;
      squares[entry]! += step * (value - means[entry]!);
    }
  }
  const deviations = Float32Array.from(squares, (sum, entry) => {
    const count = counts[entry]!;
    return count > 1 ? Math.sqrt(sum / (count - 1)) : NaN;
  });
  return {
    means: Float32Array.from(means, (mean, entry) => (counts[entry]! > 0 ? mean : NaN)),
    deviations,
    counts,
  };
}

/** Prompts with the largest values of one entry, at most `limit`. */
export function topPrompts(
  values: Float32Array,
  prompts: number,
  entry: number,
  limit: number,
): { prompt: number; value: number }[] {
  const size = prompts === 0 ? 0 : values.length / prompts;
  return Array.from({ length: prompts }, (_, prompt) => ({
    prompt,
    value: values[prompt * size + entry] ?? NaN,
  }))
    .filter(({ value }) => !Number.isNaN(value))
    .sort((a, b) => b.value - a.value || a.prompt - b.prompt)
    .slice(0, limit);
}
