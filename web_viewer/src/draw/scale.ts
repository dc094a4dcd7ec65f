/** From values to places on a colour map, and from those to a table over the bits of a float. */

import { colorTable, type ColorMapName } from './color';

export type ScaleKind = 'sqrt' | 'linear' | 'log' | 'rank';
export const SCALES: readonly ScaleKind[] = ['sqrt', 'linear', 'log', 'rank'];

export interface ScaleSpec {
  kind: ScaleKind;
  low: number;
  high: number;
  map: ColorMapName;
  /** Symmetric about 0, for differences and effects. */
  diverging?: boolean;
}

/** The log scale begins this far below its top. */
const LOG_DECADES = 4;

export const logFloor = ({ low, high }: ScaleSpec): number =>
  Math.max(low, high * 10 ** -LOG_DECADES);

/** Place of a value between 0 and 1. `rankOf` is what the rank scale knows of all values. */
export function placeOf(
  spec: ScaleSpec,
  value: number,
  rankOf?: (value: number) => number,
): number {
  if (spec.diverging) {
    const top = Math.max(Math.abs(spec.low), Math.abs(spec.high));
    const half = placeOf({ ...spec, diverging: false, low: 0, high: top }, Math.abs(value));
    return value < 0 ? 0.5 - half / 2 : 0.5 + half / 2;
  }
  if (spec.kind === 'rank' && rankOf) return rankOf(value);
  const { low, high } = spec;
  if (!(high > low)) return value >= high ? 1 : 0;
  if (spec.kind === 'log') {
    const floor = logFloor(spec);
    if (value <= floor) return 0;
    return Math.min(1, Math.log(value / floor) / Math.log(high / floor));
  }
  const share = Math.min(1, Math.max(0, (value - low) / (high - low)));
  return spec.kind === 'sqrt' || spec.kind === 'rank' ? Math.sqrt(share) : share;
}

/** The float whose upper 16 bits these are, in the middle of those that share them. */
const bits = new Uint32Array(1);
const float = new Float32Array(bits.buffer);
export function bucketCentre(bucket: number): number {
  bits[0] = (bucket << 16) | (bucket === 0 || bucket === 0x8000 ? 0 : 0x8000);
  return float[0]!;
}

/** Upper halves of 32-bit floats: the index into a table, without arithmetic. */
export function bucketsOf(values: Float32Array): Uint16Array {
  return new Uint16Array(values.buffer, values.byteOffset, values.length * 2);
}

export const BUCKETS = 65536;

/** How many values fall in each bucket, added to `counts`. */
export function countBuckets(values: Float32Array, counts: Uint32Array): void {
  const halves = bucketsOf(values);
  for (let i = 1; i < halves.length; i += 2) counts[halves[i]!]!++;
}

/** Share of positive values that are at most this large, for non-negative data. */
export function rankFromCounts(counts: Uint32Array): (value: number) => number {
  const cumulative = new Float64Array(0x8000);
  let sum = 0;
  for (let bucket = 1; bucket < 0x7f81; ++bucket) {
    sum += counts[bucket]!;
    cumulative[bucket] = sum;
  }
  return (value) => {
    if (!(value > 0) || sum === 0) return 0;
    float[0] = value;
    return cumulative[Math.min(bits[0]! >>> 16, 0x7f80)]! / sum;
  };
}

/** A colour, as canvas pixels want it, for every upper half of a float. 0 where it is NaN. */
export function lookupTable(spec: ScaleSpec, rankOf?: (value: number) => number): Uint32Array {
  const colors = colorTable(spec.map);
  const packed = new Uint32Array(256);
  for (let i = 0; i < 256; ++i) {
    packed[i] =
      (0xff000000 | (colors[3 * i + 2]! << 16) | (colors[3 * i + 1]! << 8) | colors[3 * i]!) >>> 0;
  }
  const table = new Uint32Array(BUCKETS);
  for (let bucket = 0; bucket < BUCKETS; ++bucket) {
    const value = bucketCentre(bucket);
    if (Number.isNaN(value)) continue;
    table[bucket] = packed[Math.round(255 * placeOf(spec, value, rankOf))]!;
  }
  return table;
}

/** The largest round number that is not above a size. */
export function roundBelow(size: number): number {
  const power = 10 ** Math.floor(Math.log10(size));
  const step = [5, 2, 1].find((m) => m * power <= size * (1 + 1e-9)) ?? 1;
  return Number((step * power).toPrecision(12));
}

/** Round numbers between two ends, for axes and colour bars. */
export function ticks(low: number, high: number, about: number): number[] {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const raw = span / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999) ?? raw;
  const out: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
    out.push(Number((i * step).toPrecision(12)));
  }
  return out;
}
