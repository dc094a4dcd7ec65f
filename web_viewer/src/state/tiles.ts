/** Tiles of the maps that are looked at: fetched once, kept within 64 MiB, stale ones never asked for. */

import { signal } from '@preact/signals';
import type { MapInfo } from '../format/types';
import { isStale } from '../io/errors';
import type { RunReader } from '../io/run_file';
import { Lru } from '../draw/lru';
import { TILE } from '../draw/heat_map';
import type { Block, Pool } from '../draw/transform';
import { plural } from '../model/numbers';
import { client, failWith } from './workspace';

const CACHE_BYTES = 64 * 1024 * 1024;
const LANE = 'tiles';

/** Counts arrivals, so that canvases can redraw. */
export const arrivals = signal(0);

const cache = new Lru<Block>(CACHE_BYTES);
const asked = new Map<string, number>();
let generation = 0;

/** How many tiles of each file could not be read. */
const failed = new Map<number, number>();
const failedTiles = (file: RunReader): number => failed.get(file.id) ?? 0;

/** What is said of tiles that are not here: on their way, or not to be had. */
export function waitingWords(
  files: readonly RunReader[],
  { tiles, waiting }: { tiles: number; waiting: number },
): string[] {
  const lost = Math.min(
    waiting,
    files.reduce((sum, file) => sum + failedTiles(file), 0),
  );
  const words: string[] = [];
  if (waiting > lost) words.push(`reading tile ${tiles - waiting} of ${tiles}`);
  if (lost > 0) words.push(`${plural(lost, 'tile')} could not be read`);
  return words;
}

/** From now on only tiles that are asked for again are worth reading. */
export function forgetQueuedTiles(): void {
  ++generation;
  asked.clear();
  failed.clear();
  client.advance(LANE);
}

const levelPath = (map: MapInfo, level: number, pool: Pool): string =>
  level === 1
    ? map.path
    : map.path.replace(
        /\/cache\/.*$/,
        `/attention/${stackOf(map)}/pyramid/${map.layer}/${pool === 'mean' ? 'mean' : 'max'}_${level}`,
      );

function stackOf(map: MapInfo): string {
  const name = map.path.slice(map.path.lastIndexOf('/') + 1);
  if (name.includes('cross_attn')) return 'cross';
  return name.startsWith('encoder') ? 'encoder' : name.startsWith('decoder') ? 'decoder' : 'self';
}

/** Extent of a map at a level. */
const extentAt = (cells: number, level: number): number => Math.ceil(cells / level);

export function tile(
  file: RunReader,
  map: MapInfo,
  head: number,
  level: number,
  row: number,
  column: number,
  pool: Pool = 'max',
  priority = level,
): Block | null {
  const path = levelPath(map, level, pool);
  const key = `${file.id}|${path}|${head}|${row}|${column}`;
  const known = cache.get(key);
  if (known) return known;
  const askedIn = generation;
  if (asked.get(key) === askedIn) return null;
  asked.set(key, askedIn);
  const rows = Math.min(TILE, extentAt(map.shape[1], level) - row * TILE);
  const columns = Math.min(TILE, extentAt(map.shape[2], level) - column * TILE);
  const slab = { start: [head, row * TILE, column * TILE], count: [1, rows, columns] };
  file.numbers(path, slab, { lane: LANE, priority }).then(
    ({ values }) => {
      const floats = values instanceof Float32Array ? values : Float32Array.from(values);
      cache.set(key, { values: floats, rows, columns }, floats.byteLength);
      asked.delete(key);
      ++arrivals.value;
    },
    (error: unknown) => {
      // One that failed stays marked, or every redraw would ask again.
      if (!isStale(error)) {
        failWith(file.name, error);
        if (askedIn !== generation) return;
        failed.set(file.id, failedTiles(file) + 1);
        ++arrivals.value;
        return;
      }
      if (asked.get(key) === askedIn) asked.delete(key);
      // What is still seen of the tiles that were dropped is asked for again.
      ++arrivals.value;
    },
  );
  return null;
}

/** The exact stored value of one cell, if its tile is here. */
export function cellValue(
  file: RunReader,
  map: MapInfo,
  head: number,
  row: number,
  column: number,
): number | null {
  const block = tile(file, map, head, 1, Math.floor(row / TILE), Math.floor(column / TILE));
  return block ? (block.values[(row % TILE) * block.columns + (column % TILE)] ?? null) : null;
}
