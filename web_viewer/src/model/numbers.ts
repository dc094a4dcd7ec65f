/** Numbers as people read them. */

export { exact } from '../format/exact';

const MINUS = '−';

/** Three significant digits, no exponent in the usual range; `digits` for tighter places. */
export function short(value: number, digits = 3): string {
  if (Number.isNaN(value)) return '–';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : `${MINUS}∞`;
  if (value === 0) return '0';
  const size = Math.abs(value);
  const text =
    size >= 1e6 || size < 1e-4
      ? size.toExponential(Math.max(0, digits - 1))
      : size >= 1000
        ? size.toFixed(0)
        : String(Number(size.toPrecision(digits)));
  return value < 0 ? MINUS + text : text;
}

/** With its sign always there, as changes are written. */
export function signed(value: number, digits = 3): string {
  return value > 0 ? `+${short(value, digits)}` : short(value, digits);
}

export function interval(low: number, high: number): string {
  return Number.isNaN(low) || Number.isNaN(high) ? '' : `[${short(low)}, ${short(high)}]`;
}

export function bytes(size: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let at = 0;
  let left = size;
  while (left >= 1000 && at < units.length - 1) {
    left /= 1000;
    ++at;
  }
  return `${at === 0 ? left : left.toFixed(left < 10 ? 1 : 0)} ${units[at]}`;
}

export const plural = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;

/** As in the columns of a report: three decimals, fewer for large numbers. */
export function tabular(value: number): string {
  if (Number.isNaN(value)) return '–';
  const size = Math.abs(value);
  const digits = size < 9.9995 ? 3 : size < 999.95 ? 1 : 0;
  const usual = size === 0 || (size >= 5e-4 && size < 1e5) || !Number.isFinite(size);
  const text = !Number.isFinite(size) ? '∞' : usual ? size.toFixed(digits) : powers(size);
  return value < 0 ? MINUS + text : text;
}

/** 3.8e−6 */
const powers = (size: number): string => size.toExponential(1).replace('-', MINUS).replace('+', '');

export const tabularSigned = (value: number): string => (value > 0 ? '+' : '') + tabular(value);

/** A p, and ≤ where it is the smallest that so many random draws can give. */
export function pText(p: number, smallest: number): string {
  if (Number.isNaN(p)) return '–';
  const bound = p <= smallest * (1 + 1e-9) ? '≤' : '';
  return bound + (p > 0 && p < 5e-5 ? powers(p) : p.toFixed(4));
}
