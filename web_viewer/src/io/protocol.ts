/** Messages between the page and the worker. */

import type { Attributes, DatasetInfo, NodeList, NumberData, TextData } from '../format/types';
import type { IoErrorCode } from './errors';
import type { Slab } from './reader';

export type Source =
  | { kind: 'file'; file: File }
  /** `version` is the tag that the server gave; another one tells that the file changed. */
  | { kind: 'url'; url: string; size: number; version: string | null }
  | { kind: 'bytes'; bytes: Uint8Array };

export interface LinesOfText {
  values: Float32Array;
  columns: number;
  /** What each line begins with, its last separator included. */
  heads: string[];
  separator: string;
}

/** Where the map of a head of one prompt lies, and what becomes of its weights. */
export interface MapOfPrompt {
  /** Number of the file at the worker. */
  file: number;
  path: string;
  index: number;
  /** Sums of all of its rows without their first key, where that is left out; else null. */
  rests: Float64Array | null;
  /** A factor for each of its keys, or null. */
  keyFactor: Float32Array | null;
}

/** Sums over the prompts so far: how many each row has, and means and squares of every cell. */
export interface Moments {
  counts: Uint32Array;
  means: Float64Array;
  squares: Float64Array;
}

export interface MomentsArguments {
  maps: MapOfPrompt[];
  region: { row: number; rows: number; column: number; columns: number };
  before: Moments | null;
}

export interface RestSums {
  path: string;
  index: number;
  rows: number;
  columns: number;
}

/** What can be asked, and what comes back. */
export interface Operations {
  open: { args: { source: Source }; result: { size: number } };
  close: { args: object; result: null };
  /** Bytes that the library and the cache hold. */
  memory: { args: object; result: { heap: number; blocks: number } };
  list: { args: { path: string }; result: NodeList };
  names: { args: { path: string }; result: string[] };
  describe: { args: { path: string }; result: DatasetInfo | null };
  attributes: { args: { path: string }; result: Attributes };
  numbers: { args: { path: string; slab?: Slab }; result: NumberData };
  texts: { args: { path: string; slab?: Slab }; result: TextData };
  /** Rows of numbers as lines of text: of no file, but too slow for the page. */
  lines: { args: LinesOfText; result: { values: Uint8Array } };
  rests: { args: RestSums; result: { values: Float64Array } };
  /** Cells of some maps, which may be of several files, added to what was summed before. */
  moments: { args: MomentsArguments; result: Moments };
}

export type OperationName = keyof Operations;

export interface Request<Name extends OperationName = OperationName> {
  type: 'request';
  id: number;
  file: number;
  name: Name;
  args: Operations[Name]['args'];
  /** Larger ones first. */
  priority: number;
  /** Requests of a lane are dropped once its generation has moved on. */
  lane: string;
  generation: number;
}

export type ToWorker =
  | { type: 'start'; wasm: WebAssembly.Module }
  | { type: 'generation'; lane: string; generation: number }
  | Request;

export type FromWorker =
  | { type: 'ready' }
  /** Bytes still come in, however slowly. */
  | { type: 'alive' }
  | { type: 'result'; id: number; value: unknown }
  | { type: 'error'; id: number; code: IoErrorCode; message: string };
