/** How an address names the other side of a comparison: `name:run:prompt:head`. */

export interface VersusLink {
  /** Name of the file and the beginning of its run id; null where an older link gives its place in
   *  the list of files, or nothing. */
  file: { name: string; run: string } | null;
  place: number | null;
  prompt: string;
  head: string;
}

export const formatVersusLink = (name: string, run: string, prompt: string, head: string): string =>
  [name, run, prompt, head].join(':');

/** Names of files may have colons, what follows them may not. */
export function parseVersusLink(text: string): VersusLink {
  const parts = text.split(':');
  if (parts.length > 3) {
    const [run, prompt, head] = parts.slice(-3) as [string, string, string];
    return { file: { name: parts.slice(0, -3).join(':'), run }, place: null, prompt, head };
  }
  const [file = '', prompt = '', head = ''] = parts;
  if (/^\d*$/.test(file)) {
    return { file: null, place: file === '' ? null : Number(file), prompt, head };
  }
  return { file: { name: file, run: '' }, place: null, prompt, head };
}
