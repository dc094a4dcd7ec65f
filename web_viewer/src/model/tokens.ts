/** Tokens as labels: what cannot be seen is made visible, and nothing can act as markup. */

/** Signs that common fonts have; other invisible characters are written as their number. */
const VISIBLE: Record<string, string> = { ' ': '·', '\n': '⏎', '\t': '⇥' };

/** Direction marks and other invisible characters would reorder the page around them. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u3164\uffa0]/gu;

const hex = (character: string): string =>
  `‹${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}›`;

/** Untrusted text of any length for one line of the page. */
export function safeText(text: string, limit = 200): string {
  // A cut must not leave half of a character.
  const whole = /[\ud800-\udbff]/.test(text[limit - 1] ?? '') ? limit - 1 : limit;
  const cut = text.length > limit ? `${text.slice(0, whole)}…` : text;
  return cut.replace(INVISIBLE, (character) => VISIBLE[character] ?? hex(character));
}

/** As vocabularies write a leading blank, a line break and a tab. */
export const plainToken = (token: string): string =>
  token.replace(/^[Ġ▁]/, ' ').replaceAll('Ċ', '\n').replaceAll('ĉ', '\t');

/** A token: a leading space (also `Ġ` and `▁`) as a middle dot, blanks as symbols. */
export function tokenLabel(token: string, limit = 24): string {
  const text = plainToken(token.slice(0, 2 * limit + 2));
  if (/^\s+$/.test(text))
    return [...text.slice(0, limit)].map((c) => VISIBLE[c] ?? hex(c)).join('');
  const label = safeText(text, limit);
  return label.startsWith(' ') ? `·${label.slice(1)}` : label;
}

/** The pieces of a word as one label. */
export function wordLabel(pieces: readonly string[], limit = 24): string {
  if (pieces.length === 1) return tokenLabel(pieces[0]!, limit);
  return tokenLabel(
    pieces.map((piece, at) => (at > 0 ? piece.replace(/^##/, '') : piece)).join(''),
    limit,
  );
}

/** A token inside running text. */
export const tokenText = (token: string, limit = 400): string =>
  safeText(plainToken(token.slice(0, 2 * limit + 2)), limit);
