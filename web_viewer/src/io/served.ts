/** Which files a server offers: `files.json` beside the page. */

import type { ServedFile } from '../format/types';

/** The files of a listing, as far as it is one; a page may only read from where it came from. */
export function parseListing(listing: unknown, base: string): ServedFile[] {
  const { files } = (listing ?? {}) as { files?: unknown };
  if (!Array.isArray(files)) return [];
  return files.flatMap((entry: unknown): ServedFile[] => {
    const { name, url, error, path } = (entry ?? {}) as Record<string, unknown>;
    if (typeof name !== 'string') return [];
    if (typeof error === 'string') return [{ name, error }];
    if (typeof url !== 'string' || !URL.canParse(url, base)) return [];
    const address = new URL(url, base);
    if (address.origin !== new URL(base).origin) {
      return [{ name, error: 'it lies on another server than the page' }];
    }
    return [{ name, url: address.href, ...(typeof path === 'string' && { path }) }];
  });
}

/** Nothing where the page lies on a server that knows of no files. */
export async function servedFiles(base: string): Promise<ServedFile[]> {
  try {
    const reply = await fetch(new URL('files.json', base), { cache: 'no-store' });
    return reply.ok ? parseListing(await reply.json(), base) : [];
  } catch {
    return [];
  }
}
