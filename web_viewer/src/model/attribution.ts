/** Direct attribution of a lens: what each part of the model adds to the answer's logit. */

import type { ExperimentData } from '../format/types';
import { headName } from './units';

export interface Part {
  name: string;
  /** Name of a head, where it is one. */
  head: string | null;
  value: number;
}

export interface Attribution {
  /** What all parts add up to; NaN where it is not stored. */
  total: number;
  /** Largest first, by size. */
  parts: Part[];
}

/** Rows of an array of heads, MLPs or biases; `read` chooses among the positions that were read. */
function rows(data: ExperimentData, name: string, axes: number, read: number): ArrayLike<number> {
  const array = data.numbers[name];
  if (!array) return [];
  // Means over prompts have no axis of positions.
  const size = array.shape.slice(array.shape.length - axes).reduce((n, extent) => n * extent, 1);
  const begin = array.shape.length > axes ? read * size : 0;
  return array.values.slice(begin, begin + size);
}

/** null where the file has no attribution. */
export function attributionOf(data: ExperimentData, read = 0): Attribution | null {
  const heads = data.numbers.dla_heads;
  if (!heads) return null;
  const width = heads.shape.at(-1) ?? 1;
  const parts: Part[] = [];
  const add = (name: string, value: number, head: string | null = null) => {
    if (!Number.isNaN(value)) parts.push({ name, head, value });
  };
  Array.from(rows(data, 'dla_heads', 2, read)).forEach((value, at) => {
    const name = headName('self', Math.floor(at / width), at % width);
    add(name, value, name);
  });
  Array.from(rows(data, 'dla_mlps', 1, read)).forEach((value, at) => add(`mlp:${at}`, value));
  Array.from(rows(data, 'dla_attention_biases', 1, read)).forEach((value, at) => {
    if (value !== 0) add(`bias of attn:${at}`, value);
  });
  let total = NaN;
  const ends = data.texts.ends ?? [];
  Array.from(rows(data, 'dla_ends', 1, read)).forEach((value, at) => {
    if (ends[at] === 'total') total = value;
    else if (value !== 0) add(ends[at] ?? '', value);
  });
  parts.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  return { total, parts };
}
