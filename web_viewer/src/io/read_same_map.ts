/** What has to be known of a map of another prompt before the two are averaged. */

import { parsePatternName } from '../format/schema';
import type { MapInfo, PromptMap } from '../format/types';
import { lengthWords, readMap, readSides } from './read_prompt';
import type { Reading } from './run_file';

/** The same dataset of another prompt. */
export const pathIn = (path: string, prompt: string): string =>
  path.replace(/^\/prompts\/[^/]+\//, `/prompts/${prompt}/`);

export async function readSameMap(file: Reading, map: MapInfo, id: string): Promise<PromptMap> {
  const [found, { queryTokens, keyTokens }] = await Promise.all([
    readMap(file, pathIn(map.path, id), map.layer),
    readSides(file, id),
  ]);
  const stack = parsePatternName(map.path.replace(/^.*\//, ''))?.stack ?? 'self';
  const texts = [queryTokens.self, queryTokens.decoder].filter((tokens) => tokens !== undefined);
  return {
    id,
    map: found,
    queries: queryTokens[stack]?.texts ?? [],
    keys: keyTokens[stack]?.texts ?? [],
    length: lengthWords(texts.map(({ texts: { length } }) => length)),
  };
}
