/** The tokens of a pair of prompts, of which files hold those of the clean one and both texts. */

export interface PairToken {
  clean: string;
  /** Where it differs; empty where both prompts are alike. */
  corrupt: string;
}

/** How many tokens must fit again before the texts count as alike. */
const SURE = 2;

/** Tokens of a pair stand one below the other, so only the text of those that differ is not known
 *  as tokens: it stands at the first of them. */
export function pairTokens(clean: readonly string[], corrupt: string | null): PairToken[] {
  const out = clean.map((text): PairToken => ({ clean: text, corrupt: '' }));
  if (corrupt === null) return out;
  // Begin and end tokens are in no text.
  let first = clean.findIndex((text) => text !== '' && corrupt.startsWith(text.trimStart()));
  if (first < 0) first = clean.length;
  let at = 0;
  for (let i = first; i < clean.length && at < corrupt.length;) {
    const text = at === 0 ? clean[i]!.trimStart() : clean[i]!;
    if (corrupt.startsWith(text, at)) {
      at += text.length;
      ++i;
      continue;
    }
    const next = whereAlike(clean, i, corrupt, at);
    out[i]!.corrupt = corrupt.slice(at, next.at);
    at = next.at;
    i = next.token;
  }
  return out;
}

/** The nearest token and place in the text from which on both fit again. */
function whereAlike(clean: readonly string[], from: number, corrupt: string, at: number) {
  for (let token = from + 1; token < clean.length; ++token) {
    const text = clean.slice(token, token + SURE).join('');
    const place = text === '' ? -1 : corrupt.indexOf(text, at + 1);
    if (place >= 0) return { token, at: place };
  }
  return { token: clean.length, at: corrupt.length };
}
