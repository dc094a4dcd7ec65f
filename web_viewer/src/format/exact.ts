/** 32-bit floats as text. */

/** Digits after which every 32-bit float reads back as itself. */
const ENOUGH = 9;

/** Every digit that is stored: the shortest text that reads back as the same 32-bit float. */
export function exact(value: number): string {
  const single = Math.fround(value);
  if (!Number.isFinite(single) || single === 0) return String(single);
  let [low, high] = [1, ENOUGH];
  while (low < high) {
    const digits = (low + high) >> 1;
    if (Math.fround(Number(single.toPrecision(digits))) === single) high = digits;
    else low = digits + 1;
  }
  return String(Number(single.toPrecision(low)));
}
