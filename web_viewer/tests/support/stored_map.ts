/** Tokens and maps of prompts as they are stored. */

import { h5py } from './fixtures';

export interface Stored {
  tokens: string[];
  map: number[][];
}

/** Tokens and one map of a prompt, as h5py reads them. */
export const storedMap = (path: string, prompt: string, layer: number, head: number): Stored =>
  h5py<Stored>(
    `with h5py.File(sys.argv[1]) as f:
    p = f["prompts"][sys.argv[2]]
    m = p["cache"]["blocks.%s.attn.hook_pattern" % sys.argv[3]][int(sys.argv[4])]
    print(json.dumps({"tokens": [t.decode() for t in p["tokens/text"][:]], "map": m.astype("f8").tolist()}))`,
    path,
    prompt,
    String(layer),
    String(head),
  );

/** What a token is called on the page. */
export const tokenName = (token: string): string => token.replace(/^ /, '·');
