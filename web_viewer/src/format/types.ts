/** What is read from a file, as plain data. */

import type { StackName } from './schema';

export type NumberArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array;

export type Dtype =
  | 'f16'
  | 'f32'
  | 'f64'
  | 'i8'
  | 'u8'
  | 'i16'
  | 'u16'
  | 'i32'
  | 'u32'
  | 'i64'
  | 'u64'
  | 'text'
  | 'other';

/** Numbers of a dataset. 16-bit floats come as 32-bit ones, 64-bit integers as doubles. */
export interface NumberData {
  shape: number[];
  dtype: Dtype;
  values: NumberArray;
}

export interface TextData {
  shape: number[];
  texts: string[];
}

export type AttributeValue = string | number | string[] | number[];
export type Attributes = Record<string, AttributeValue>;

export type NodeKind = 'group' | 'dataset' | 'link' | 'other';

/** One line of the tree of a file. */
export interface NodeInfo {
  name: string;
  kind: NodeKind;
  /** Where a link points to; it is shown and not followed. */
  target?: string;
  dataset?: DatasetInfo;
}

/** Members of a group, the first ones of very many. */
export interface NodeList {
  nodes: NodeInfo[];
  /** How many there are. */
  total: number;
}

export interface DatasetInfo {
  dtype: Dtype;
  shape: number[];
  chunks: number[] | null;
  filters: { id: number; name: string }[];
}

/** What is known about a file as soon as it is open. */
export interface RunSummary {
  name: string;
  size: number;
  root: Attributes;
  model: Attributes;
  run: Attributes;
  /** Groups and datasets below the root that this version does not know. */
  unknown: string[];
  promptIds: string[];
  /** Prompts of the packed layout; 0 when there is none. */
  packedPrompts: number;
  experiments: string[];
  packedStacks: StackName[];
  hasDifferences: boolean;
}

export interface Tokens {
  texts: string[];
  ids: NumberArray | null;
  /** 0 for the prompt, then the step of generation. */
  steps: NumberArray | null;
  /** Begin and end of each in the text of the prompt, in code points; −1 where it is of none. */
  offsets: NumberArray | null;
}

/** One stored attention map, of one layer. */
export interface MapInfo {
  path: string;
  layer: number;
  shape: [heads: number, queries: number, keys: number];
  dtype: Dtype;
  /** Which heads lie along the first axis; null when all do. */
  heads: number[] | null;
  queryPositions: number[] | null;
  keyPositions: number[] | null;
  causal: boolean;
  window: number;
  mapDtype: string;
  floor: number;
  rowSum: string;
  /** Factors of the coarser levels that are stored, ascending: 4, 16 … */
  levels: { max: number[]; mean: number[] };
  /** Why it is no map of its prompt; it is then not drawn. */
  fault: string | null;
}

/** The map of one layer of one of several prompts, and the tokens along it. */
export interface PromptMap {
  id: string;
  /** null where the prompt has no map of this layer. */
  map: Pick<MapInfo, 'shape' | 'heads' | 'queryPositions' | 'keyPositions'> | null;
  queries: readonly string[];
  keys: readonly string[];
  /** How many tokens it has, as the list of prompts says it. */
  length: string;
}

/** Statistics of all heads of one stack of one prompt. */
export interface StackData {
  stack: StackName;
  layers: number[];
  headCounts: number[];
  /** Heads of the widest layer. */
  width: number;
  statNames: string[];
  /** [layer][head][statistic], NaN where there is no head. */
  headStats: Float32Array;
  overview: { rows: number; columns: number; values: Uint8Array } | null;
  rowStatNames: string[];
  topCount: number;
  hasKeySum: boolean;
  hasValueNorm: boolean;
  maps: MapInfo[];
  /** What does not fit the prompt, and so is left out. */
  faults: string[];
}

export interface PromptData {
  id: string;
  text: string;
  attributes: Attributes;
  queryTokens: Record<StackName, Tokens | undefined>;
  keyTokens: Record<StackName, Tokens | undefined>;
  stacks: StackData[];
}

/** Effects of one experiment, as its arrays stand in the file. */
export interface ExperimentData {
  name: string;
  attributes: Attributes;
  /** Names of the axes of `effect` after the first, e.g. layer, head. */
  axes: string[];
  methods: string[];
  shape: number[];
  layers: number[];
  heads: number[];
  positions: number[];
  cells: string[];
  numbers: Record<string, NumberData>;
  /** Names of the axes of each array of numbers. */
  dims: Record<string, string[]>;
  texts: Record<string, string[]>;
  /** Groups below it, each about one prompt. */
  records: string[];
}

/** One line of a server's list of files: where it lies, or why it cannot be had. `path` is how the
 *  server itself calls it. */
export type ServedFile = { name: string } & ({ url: string; path?: string } | { error: string });
