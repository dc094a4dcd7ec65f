/** Lines of Python that read maps as they are seen: merged, rescaled, over prompts, side by side. */

import { indented, indexList, namesOf, quote, type PromptsOfFile } from './python';

/** How what is left of a row without its first key is found: from the row, or from its statistics. */
export type RestBy = 'row' | 'statistics';

/** What is drawn of the map of a head, or of several as one; paths are those below a prompt. */
export interface DrawnMap {
  maps: readonly { path: string; index: number }[];
  blend: 'mean' | 'largest';
  /** What is kept of the rows and keys of the head: its group, and its place in there. */
  attention: { path: string; row: number; head: number };
  /** Positions of rows and columns; null where all are stored. */
  queryPositions: readonly number[] | null;
  keyPositions: readonly number[] | null;
  hideFirst: RestBy | null;
  weighed: boolean;
  /** First row (column) of each word; null where pieces stand by themselves. */
  queryWords: readonly number[] | null;
  keyWords: readonly number[] | null;
}

const isStored = ({ maps, hideFirst, weighed, queryWords, keyWords }: DrawnMap): boolean =>
  maps.length === 1 && hideFirst === null && !weighed && !queryWords && !keyWords;

function hidden(map: DrawnMap, by: RestBy): string[] {
  const { attention, queryPositions, keyPositions } = map;
  const first = !keyPositions || keyPositions[0] === 0;
  const left =
    by === 'row'
      ? ['rest = pattern.sum(axis=1)']
      : [
          `rows = prompt[${quote(`${attention.path}/row_stats`)}]`,
          'names = [name.decode() for name in rows.attrs["names"]]',
          `rows = rows[${attention.row}, ${attention.head}]${queryPositions ? `[${indexList(queryPositions)}]` : ''}`,
          'gone = [name for name in ("sink", "learned_sink") if name in names]',
          'rest = 1 - sum(rows[:, names.index(name)] for name in gone)',
        ];
  return [
    '# without the first token, each row rescaled by what is left of it',
    ...(first ? ['pattern[:, 0] = 0'] : []),
    ...left,
    'rest = np.where(rest > 1e-6, rest, np.nan)[:, None]',
    'pattern = pattern / rest',
  ];
}

/** Makes `pattern` out of the group `prompt`. */
function patternLines(map: DrawnMap): string[] {
  const { maps, blend, attention, keyPositions, queryWords, keyWords } = map;
  const read = ({ path, index }: { path: string; index: number }) =>
    `prompt[${quote(path)}][${index}].astype("f8")`;
  const lines =
    maps.length === 1
      ? [`pattern = ${read(maps[0]!)}  # [query, key]`]
      : [
          'maps = [',
          ...maps.map((one) => `    ${read(one)},`),
          ']',
          `pattern = np.${blend === 'mean' ? 'mean' : 'max'}(maps, axis=0)  # [query, key]`,
        ];
  if (map.hideFirst) lines.push(...hidden(map, map.hideFirst));
  if (map.weighed) {
    const norms = `prompt[${quote(`${attention.path}/value_norm`)}][${attention.row}, ${attention.head}]`;
    lines.push(
      '# each weight times the length of what its value adds',
      `pattern = pattern * ${norms}${keyPositions ? `[${indexList(keyPositions)}]` : ''}`,
    );
  }
  if (keyWords) {
    lines.push(
      '# words: sums over keys',
      `pattern = np.add.reduceat(pattern, ${indexList(keyWords)}, axis=1)`,
    );
  }
  if (queryWords) {
    // Rows of which nothing is left are no part of a mean.
    const mean = map.hideFirst ? 'np.nanmean' : 'np.mean';
    lines.push(
      '# words: means over queries',
      `words = np.split(pattern, ${indexList(queryWords)}[1:])`,
      `pattern = np.array([${mean}(word, axis=0) for word in words])`,
    );
  }
  return lines;
}

/** The map of one prompt, `path` being its group. */
export function pythonOfMap(file: string, path: string, map: DrawnMap): string {
  if (isStored(map)) {
    const [{ path: own, index }] = map.maps as [DrawnMap['maps'][0]];
    return [
      'import h5py',
      `with h5py.File(${quote(file)}) as f:`,
      `    pattern = f[${quote(`${path}/${own}`)}][${index}]  # [query, key]`,
    ].join('\n');
  }
  return [
    'import h5py, numpy as np',
    `with h5py.File(${quote(file)}) as f:`,
    ...indented([`prompt = f[${quote(path)}]`, ...patternLines(map)], 4),
  ].join('\n');
}

/** The same over prompts: what is drawn of each of them before the mean. */
export function pythonOfMapMeans(
  files: readonly PromptsOfFile[],
  map: DrawnMap,
  spread: boolean,
): string {
  // Rows of which nothing is left in a prompt do not count.
  const over = `np.${map.hideFirst ? 'nan' : ''}${spread ? 'std' : 'mean'}`;
  return [
    'import h5py, numpy as np',
    'maps = []',
    ...files.flatMap((of) => [
      `with h5py.File(${quote(of.file)}) as f:`,
      `    for name in ${namesOf(of)}:`,
      '        prompt = f["prompts"][name]',
      ...indented([...patternLines(map), 'maps.append(pattern)'], 8),
    ]),
    spread
      ? `spread = ${over}(maps, axis=0, ddof=1)  # [query, key]`
      : `mean = ${over}(maps, axis=0)  # [query, key]`,
  ].join('\n');
}

/** One side of a comparison. */
export interface ComparedMap {
  file: string;
  path: string;
  index: number;
  /** Which of its rows and columns have one beside them; null where all do, in their order. */
  rows: readonly number[] | null;
  columns: readonly number[] | null;
}

export function pythonOfDifference(a: ComparedMap, b: ComparedMap): string {
  const chosen = [a, b].some(({ rows, columns }) => rows || columns);
  const read = ({ file, path, index, rows, columns }: ComparedMap, name: string) => [
    `with h5py.File(${quote(file)}) as f:`,
    `    ${name} = f[${quote(path)}][${index}]${rows ? `[${indexList(rows)}]` : ''}${columns ? `[:, ${indexList(columns)}]` : ''}`,
  ];
  return [
    chosen ? 'import h5py, numpy as np' : 'import h5py',
    ...(chosen ? ['# rows and columns that both have'] : []),
    ...read(a, 'a'),
    ...read(b, 'b'),
    'difference = a - b',
  ].join('\n');
}
