/** Many prompts: finding them, putting them in order, and statistics over them. */

export interface PromptRows {
  ids: readonly string[];
  texts: readonly string[];
  columns: Readonly<Record<string, readonly string[]>>;
}

type Test = (at: number) => boolean;

const COMPARISONS: Record<string, (a: number, b: number) => boolean> = {
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b,
};

/** `name:value`, `name>number` and the like; null for any other word. */
function conditionOf(word: string): { name: string; sign: string; value: string } | null {
  const [, name, sign, value] = /^([^:<>=!]+)(:|<=|>=|!=|<|>|=)(.+)$/.exec(word) ?? [];
  return name === undefined ? null : { name, sign: sign!, value: value! };
}

/** The column of a name, in whatever case. */
const columnOf = ({ columns }: PromptRows, wanted: string): readonly string[] | undefined =>
  columns[Object.keys(columns).find((name) => name.toLowerCase() === wanted) ?? ''];

const numberOf = (text: string | undefined): number =>
  text?.trim() ? Number(text.replace('−', '-')) : NaN;

/** What a condition asks for, where there is a column of that name. */
function askedOf(rows: PromptRows, word: string): Test | null {
  const asked = conditionOf(word);
  const column = asked && columnOf(rows, asked.name);
  if (!asked || !column) return null;
  const { sign, value } = asked;
  const compare = COMPARISONS[sign];
  if (compare) return (at) => compare(numberOf(column[at]), numberOf(value));
  return (at) => (column[at]?.toLowerCase() === value) !== (sign === '!=');
}

/** A part of a search, and whether prompts that have it are left out. */
interface Part {
  text: string;
  isQuoted: boolean;
  isNot: boolean;
}

/** Words, with quotes around what belongs together and a `-` before what must not be there. */
const partsOf = (wanted: string): Part[] =>
  (wanted.toLowerCase().match(/(?:"[^"]*(?:"|$)|[^\s"])+/g) ?? [])
    .map((word) => {
      const isNot = word.length > 1 && word.startsWith('-');
      const rest = isNot ? word.slice(1) : word;
      return { text: rest.replaceAll('"', ''), isQuoted: rest.startsWith('"'), isNot };
    })
    .filter(({ text }) => text !== '');

/** Indices of prompts that have every part of a search: words in their text or in any column,
 *  `"several words"`, `-without`, and of one column `tokens:18` or `tokens>17`. */
export function findPrompts(rows: PromptRows, wanted: string): number[] {
  const columns = Object.values(rows.columns);
  const parts = partsOf(wanted).map(({ text, isQuoted, isNot }) => {
    const asked = isQuoted ? null : askedOf(rows, text);
    return { text, asked, isNot };
  });
  return rows.ids
    .map((_, at) => at)
    .filter((at) => {
      if (parts.length === 0) return true;
      const all = [rows.ids[at], rows.texts[at], ...columns.map((column) => column[at])];
      const haystack = all.join('\n').toLowerCase();
      const has = ({ text, asked }: { text: string; asked: Test | null }) =>
        asked?.(at) ?? haystack.includes(text);
      return parts.every((part) => has(part) !== part.isNot);
    });
}

/** Why a search cannot find what it seems to ask for; empty where nothing is wrong. */
export function searchNote(rows: PromptRows, wanted: string): string {
  for (const { text, isQuoted } of partsOf(wanted)) {
    const asked = isQuoted ? null : conditionOf(text);
    if (!asked) continue;
    const column = columnOf(rows, asked.name);
    if (!column) {
      const known = Object.keys(rows.columns).join(', ');
      return `No column is called “${asked.name}”${known && `; there are ${known}`}.`;
    }
    if (!COMPARISONS[asked.sign]) continue;
    if (Number.isNaN(numberOf(asked.value))) {
      return `After ${asked.name}${asked.sign} a number is expected.`;
    }
    if (column.every((value) => Number.isNaN(numberOf(value)))) {
      return `The column ${asked.name} has no numbers to compare.`;
    }
  }
  return '';
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

/** Those of some prompts that have the largest values of one entry, at most `limit`. */
export function topPrompts(
  values: Float32Array,
  prompts: number,
  entry: number,
  chosen: readonly number[],
  limit: number,
): { prompt: number; value: number }[] {
  const size = prompts === 0 ? 0 : values.length / prompts;
  return chosen
    .map((prompt) => ({ prompt, value: values[prompt * size + entry] ?? NaN }))
    .filter(({ value }) => !Number.isNaN(value))
    .sort((a, b) => b.value - a.value || a.prompt - b.prompt)
    .slice(0, limit);
}
