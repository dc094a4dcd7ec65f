/** The whole state of the page in its URL. Short keys, versioned; unknown keys are kept. */

export interface Field<T> {
  key: string;
  initial: T;
  read(text: string): T | null;
  write(value: T): string;
}

const text = (key: string, initial = ''): Field<string> => ({
  key,
  initial,
  read: (value) => value,
  write: (value) => value,
});

const choice = <T extends string>(key: string, options: readonly T[]): Field<T> => ({
  key,
  initial: options[0]!,
  read: (value) => options.find((option) => option === value) ?? null,
  write: (value) => value,
});

/** 0 and 1, both of which survive: a missing key means the default, not false. */
const flag = (key: string, initial: boolean): Field<boolean> => ({
  key,
  initial,
  read: (value) => (value === '1' ? true : value === '0' ? false : null),
  write: (value) => (value ? '1' : '0'),
});

const integer = (key: string, initial: number): Field<number> => ({
  key,
  initial,
  read: (value) => (/^\d{1,9}$/.test(value) ? Number(value) : null),
  write: String,
});

/** So many numbers, or none. */
const numbers = (
  key: string,
  count: number,
  fit: (parts: readonly number[]) => boolean = () => true,
): Field<readonly number[]> => ({
  key,
  initial: [],
  read: (value) => {
    if (value === '') return [];
    const texts = value.split(',');
    const parts = texts.map((text) => (text.trim() === '' ? NaN : Number(text)));
    const known = parts.length === count && parts.every(Number.isFinite);
    return known && fit(parts) ? parts : null;
  },
  write: (value) => value.map((part) => String(Number(part.toPrecision(8)))).join(','),
});

const isWindow = ([x = -1, y = -1, width = 0, height = 0]: readonly number[]): boolean =>
  x >= 0 && y >= 0 && width > 0 && height > 0;

const arePositions = (parts: readonly number[]): boolean =>
  parts.every((part) => Number.isInteger(part) && part >= 0);

/** Each once. */
const list = (key: string): Field<readonly string[]> => ({
  key,
  initial: [],
  read: (value) => [...new Set(value.split(',').filter(Boolean))],
  write: (value) => value.join(','),
});

/** Sets of positions, as in 3,5-7. */
const positions = (key: string): Field<readonly number[]> => ({
  key,
  initial: [],
  read: (value) => {
    const out: number[] = [];
    for (const part of value.split(',').filter(Boolean)) {
      const match = /^(\d{1,7})(?:-(\d{1,7}))?$/.exec(part);
      if (!match) return null;
      const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])];
      if (last - first > 100_000) return null;
      for (let at = first; at <= last; ++at) out.push(at);
    }
    return out;
  },
  write: (value) => {
    const parts: string[] = [];
    const sorted = [...new Set(value)].sort((a, b) => a - b);
    for (let i = 0; i < sorted.length;) {
      let end = i;
      while (sorted[end + 1] === sorted[end]! + 1) ++end;
      parts.push(end > i ? `${sorted[i]}-${sorted[end]}` : `${sorted[i]}`);
      i = end + 1;
    }
    return parts.join(',');
  },
});

export const SCREENS = ['overview', 'head', 'compare', 'causal', 'lens', 'file'] as const;
export type Screen = (typeof SCREENS)[number];

export const FIELDS = {
  screen: choice('s', SCREENS),
  mainFile: text('fi'),
  prompt: text('p'),
  mean: flag('mean', false),
  over: choice('pm', ['off', 'mean', 'sd']),
  drawer: flag('pd', false),
  promptFilter: text('pf'),
  promptSort: text('po'),
  stack: choice('a', ['self', 'encoder', 'decoder', 'cross']),
  head: text('h'),
  statistic: text('st'),
  show: choice('g', ['map', 'statistic', 'effect', 'table']),
  sort: text('o'),
  ascending: flag('up', false),
  filter: text('f'),
  brush: numbers('b', 4),
  experiment: text('e'),
  method: integer('m', 0),
  prompts: choice('of', ['measured', 'all']),
  units: choice('u', ['grid', 'list']),
  unitSort: text('uo'),
  view: choice('w', ['map', 'lines', 'text']),
  sink: flag('sink', true),
  valueWeighted: flag('vw', false),
  color: choice('c', ['cividis', 'viridis', 'magma', 'greys']),
  scale: choice('k', ['sqrt', 'linear', 'log', 'rank']),
  domain: choice('d', ['unit', 'head', 'layer', 'all', 'fixed']),
  range: numbers('r', 2),
  pool: choice('lv', ['max', 'mean']),
  words: flag('wd', false),
  zoom: numbers('z', 4, isWindow),
  cell: numbers('at', 2, arePositions),
  queries: positions('q'),
  keys: positions('j'),
  search: text('n'),
  tray: list('tray'),
  trayMode: choice('tm', ['off', 'mean', 'max']),
  versus: text('vs'),
  align: choice('al', ['auto', 'tokens', 'position']),
  array: text('ar'),
  stage: choice('ls', ['prob', 'kl', 'rank']),
  theme: choice('th', ['auto', 'light', 'dark']),
  embed: flag('embed', false),
  file: text('file'),
  runId: text('run'),
} as const;

type ValueOf<F> = F extends Field<infer T> ? T : never;
export type ViewState = { -readonly [K in keyof typeof FIELDS]: ValueOf<(typeof FIELDS)[K]> };
export type FieldName = keyof ViewState;

/** Nothing chosen of a map: other prompts have other tokens at its positions. */
export const WHOLE_MAP = { zoom: [], queries: [], keys: [], cell: [] } as const;

export const HASH_VERSION = '1';

export const FIELD_NAMES = Object.keys(FIELDS) as FieldName[];

export function initialState(): ViewState {
  return Object.fromEntries(FIELD_NAMES.map((name) => [name, FIELDS[name].initial])) as ViewState;
}

export interface ParsedHash {
  state: ViewState;
  /** Keys of other versions, written back as they came. */
  unknown: [string, string][];
  /** Which version wrote it. */
  version: string;
  /** What it says, `c=red`, that this version cannot follow. */
  refused: string[];
}

export function parseHash(hash: string): ParsedHash {
  const state = initialState() as Record<string, unknown>;
  const unknown: [string, string][] = [];
  const refused: string[] = [];
  let version = HASH_VERSION;
  const byKey = new Map(FIELD_NAMES.map((name) => [FIELDS[name].key as string, name]));
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ''))) {
    if (key === 'v') {
      version = value;
      continue;
    }
    const name = byKey.get(key);
    if (name === undefined) {
      unknown.push([key, value]);
      continue;
    }
    const read = (FIELDS[name] as Field<unknown>).read(value);
    if (read !== null) state[name] = read;
    else refused.push(`${key}=${value}`);
  }
  return { state: state as ViewState, unknown, version, refused };
}

export function formatHash(state: ViewState, unknown: readonly [string, string][]): string {
  const parts: [string, string][] = [['v', HASH_VERSION]];
  for (const name of FIELD_NAMES) {
    const field = FIELDS[name] as Field<unknown>;
    const written = field.write(state[name]);
    if (written !== field.write(field.initial)) parts.push([field.key, written]);
  }
  const escape = (value: string) =>
    encodeURIComponent(value).replaceAll('%2C', ',').replaceAll('%20', '+').replaceAll('%3A', ':');
  return `#${[...parts, ...unknown].map(([key, value]) => `${key}=${escape(value)}`).join('&')}`;
}
