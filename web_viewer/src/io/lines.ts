/** Numbers as text, every one with the digits that its 32 bits have. */

import { exact } from '../format/exact';
import type { LinesOfText } from './protocol';

export function linesOfText({ values, columns, heads, separator }: LinesOfText): Uint8Array {
  const lines = heads.map((head, row) => {
    const cells: string[] = [];
    for (let at = row * columns; at < (row + 1) * columns; ++at) cells.push(exact(values[at]!));
    return `${head}${cells.join(separator)}\n`;
  });
  return new TextEncoder().encode(lines.join(''));
}
