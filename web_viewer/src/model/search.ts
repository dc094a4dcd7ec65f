/** Finding tokens. */

/** Positions of tokens that contain a text; case counts only if the text has capitals. */
export function findTokens(labels: readonly string[], wanted: string): number[] {
  if (wanted === '') return [];
  const exactCase = wanted !== wanted.toLowerCase();
  const fold = (text: string) => (exactCase ? text : text.toLowerCase());
  const needle = fold(wanted);
  const found: number[] = [];
  labels.forEach((label, at) => {
    if (fold(label).includes(needle)) found.push(at);
  });
  return found;
}
