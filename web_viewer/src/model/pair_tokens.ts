/** The tokens of a pair of prompts, of which files hold those of the clean one and both texts. */

export interface PairToken {
  clean: string;
  /** Where it differs; empty where both prompts are alike. */
  corrupt: string;
}

/** A begin or end token, which is in no text. */
const MARKER = /^(<[^<>]*>|\[[A-Z]+\])$/;
/** A part of a character. */
const BROKEN = '\ufffd';
/** A word that stands where a token was; longer ones are not looked for. */
const LONGEST = 32;
/** Ways that are followed at once. */
const WAYS = 64;

/** One way to part a text among the first tokens of the other. */
interface Way {
  /** Where the next token begins. */
  at: number;
  /** Tokens that differ count most, then what makes their borders unlikely. */
  cost: number;
  before: Way | null;
}

const begins = (text: string): boolean => text.startsWith(' ');

/** How unlikely a piece of the text stands in the place of a token that is another one. */
function unlikely(token: string, piece: string): number {
  if (token.includes(BROKEN)) return 0.05 + 0.01 * piece.length;
  const borders = piece.trimStart().split(' ').length - 1;
  return 1 + (begins(token) === begins(piece) ? 0 : 0.2) + 0.2 * borders + 0.001 * piece.length;
}

/** What of the text may stand where a token of the other prompt stands. */
function* nextOf(way: Way, token: string, text: string): Generator<Way> {
  const { at, cost } = way;
  const alike = at === 0 ? token.trimStart() : token;
  if (alike !== '' && text.startsWith(alike, at)) {
    yield { at: at + alike.length, cost, before: way };
  }
  if (token === '' || MARKER.test(token)) yield { at, cost: cost + 0.01, before: way };
  for (let length = 1; length <= LONGEST && at + length <= text.length; ++length) {
    const piece = text.slice(at, at + length);
    yield { at: at + length, cost: cost + unlikely(token, piece), before: way };
  }
}

/** Where each token begins and the last one ends, with the fewest that differ; null where the text
 *  cannot have as many tokens. */
function borders(clean: readonly string[], text: string): number[] | null {
  let ways: Way[] = [{ at: 0, cost: 0, before: null }];
  for (const token of clean) {
    const best = new Map<number, Way>();
    for (const way of ways) {
      for (const next of nextOf(way, token, text)) {
        if (next.cost < (best.get(next.at)?.cost ?? Infinity)) best.set(next.at, next);
      }
    }
    ways = [...best.values()].sort((a, b) => a.cost - b.cost).slice(0, WAYS);
  }
  const out: number[] = [];
  let way = ways.find(({ at }) => at === text.length) ?? null;
  for (; way; way = way.before) out.unshift(way.at);
  return out.length > 0 ? out : null;
}

/** Tokens of a pair stand one below the other. The corrupt ones are not stored: neighbours that
 *  differ are parted at blanks, and where that does not tell which is which, all of their text
 *  stands at the first of them, and the others have “…”. */
export function pairTokens(clean: readonly string[], corrupt: string | null): PairToken[] {
  const out = clean.map((text): PairToken => ({ clean: text, corrupt: '' }));
  const at = corrupt === null ? null : borders(clean, corrupt);
  if (corrupt === null || !at) return out;
  const pieces = clean.map((_, i) => corrupt.slice(at[i]!, at[i + 1]!));
  const differs = (i: number) => {
    const [token, piece] = [clean[i]!, pieces[i]!];
    const same = at[i] === 0 ? piece === token.trimStart() : piece === token;
    return piece !== '' && !same && !token.includes(BROKEN);
  };
  for (let first = 0; first < clean.length; ++first) {
    if (!differs(first)) continue;
    let end = first + 1;
    while (end < clean.length && differs(end)) ++end;
    const run = pieces.slice(first, end);
    const sure = run.slice(1).every(begins) && run.every((piece) => !piece.trim().includes(' '));
    run.forEach((piece, i) => {
      out[first + i]!.corrupt = sure ? piece : i === 0 ? run.join('') : '…';
    });
    first = end - 1;
  }
  return out;
}
