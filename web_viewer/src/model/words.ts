/** Which pieces form a word: a run of pieces without whitespace between them. */

import type { Tokens } from '../format/types';

const SPECIAL = /^(<\|.*\|>|<\/?[a-z_]+>|\[[A-Z]+\])$/i;
const BYTE = /^<0x[0-9a-f]{2}>$/i;
/** Also what vocabularies write for a blank, a line break and a tab. */
const BLANK = /^[\sĠ▁Ċĉ]/u;
const ENDS_BLANK = /[\sĠ▁Ċĉ]$/u;
const isSpecial = (text: string): boolean => SPECIAL.test(text) && !BYTE.test(text);

/** Marks of a vocabulary tell where words begin. */
function joinedByText(texts: readonly string[]): (at: number) => boolean {
  // Such a vocabulary marks what continues a word instead of what begins one.
  const marksInside = texts.some((text) => text.startsWith('##') && text.length > 2);
  return (at) => {
    const [before, text] = [texts[at - 1]!, texts[at]!];
    if (isSpecial(before) || isSpecial(text) || text === '' || before === '') return false;
    if (marksInside) return text.startsWith('##');
    return !BLANK.test(text) && !ENDS_BLANK.test(before);
  };
}

/** The text between two pieces tells whether there is a blank. Offsets count code points. */
function joinedByOffsets(
  offsets: ArrayLike<number>,
  characters: readonly string[],
): (at: number) => boolean {
  const blank = (at: number) => /\s/u.test(characters[at] ?? ' ');
  /** What a piece covers without blanks at its ends; null where nothing is left. */
  const core = (at: number): [number, number] | null => {
    let [begin, end] = [offsets[2 * at]!, offsets[2 * at + 1]!];
    if (begin < 0) return null;
    while (begin < end && blank(begin)) ++begin;
    while (end > begin && blank(end - 1)) --end;
    return begin < end ? [begin, end] : null;
  };
  return (at) => {
    const [before, here] = [core(at - 1), core(at)];
    if (!before || !here || here[0] < before[0]) return false;
    for (let between = before[1]; between < here[0]; ++between) {
      if (blank(between)) return false;
    }
    // A piece that begins with a blank has it before its core.
    return here[0] <= before[1] || !blank(here[0] - 1);
  };
}

/** Offsets that fit the text; null where there are none, or of another text. */
function knownOffsets({ texts, offsets }: Tokens, length: number): ArrayLike<number> | null {
  if (!offsets || offsets.length !== 2 * texts.length) return null;
  let last = 0;
  for (let i = 1; i < offsets.length; i += 2) last = Math.max(last, offsets[i]!);
  return last > 0 && last <= length ? offsets : null;
}

/** Number of the word of every piece, counted from 0. */
export function wordNumbers(tokens: Tokens, text: string): Int32Array {
  const { texts } = tokens;
  const characters = [...text];
  const offsets = knownOffsets(tokens, characters.length);
  const joined = offsets ? joinedByOffsets(offsets, characters) : joinedByText(texts);
  const words = new Int32Array(texts.length);
  for (let at = 1; at < texts.length; ++at) words[at] = words[at - 1]! + (joined(at) ? 0 : 1);
  return words;
}

/** What stands in place of bytes that are no character by themselves. */
const BROKEN = '\ufffd';

/** Pieces of words as texts; pieces of a character are taken from the text together. */
export function wordTexts(
  tokens: Tokens,
  text: string,
): (positions: readonly number[]) => string[] {
  const characters = [...text];
  const offsets = knownOffsets(tokens, characters.length);
  return (positions) => {
    const pieces = positions.map((at) => tokens.texts[at] ?? '');
    if (!offsets || positions.length < 2 || !pieces.some((piece) => piece.includes(BROKEN))) {
      return pieces;
    }
    const [first, last] = [positions[0]!, positions.at(-1)!];
    return [characters.slice(offsets[2 * first]!, offsets[2 * last + 1]!).join('')];
  };
}
