/** Tokens as labels: what cannot be seen is made visible, and nothing can act as markup. */

const VISIBLE: Record<string, string> = { ' ': '␠', '\n': '⏎', '\r': '␍', '\t': '⇥', '\0': '␀' };

/** Direction marks and other invisible characters would reorder the page around them. */
const INVISIBLE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

const hex = (character: string): string =>
  `‹${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}›`;

/** Untrusted text of any length for one line of the page. */
export function safeText(text: string, limit = 200): string {
  const cut = text.length > limit ? `${text.slice(0, limit)}…` : text;
  return cut.replace(INVISIBLE, (character) => VISIBLE[character] ?? hex(character));
}

/** A token: a leading space (also `Ġ` and `▁`) as a middle dot, blanks as symbols. */
export function tokenLabel(token: string, limit = 24): string {
  const text = token.replace(/^[Ġ▁]/, ' ').replaceAll('Ċ', '\n');
  if (/^\s+$/.test(text))
    return [...text.slice(0, limit)].map((c) => VISIBLE[c] ?? hex(c)).join('');
  const label = safeText(text, limit);
  return label.startsWith(' ') ? `·${label.slice(1)}` : label;
}

/** A token inside running text. */
export function tokenText(token: string): string {
  return safeText(token.replace(/^[Ġ▁]/, ' ').replaceAll('Ċ', '⏎'), 400);
}
