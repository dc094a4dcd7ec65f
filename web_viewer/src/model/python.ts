/** Lines of Python that read statistics of the prompts that are looked at. */

export const quote = (text: string): string => JSON.stringify(text);

export const indented = (lines: readonly string[], by: number): string[] =>
  lines.map((line) => ' '.repeat(by) + line);

/** Indices as NumPy takes them, those next to each other as a range: `np.r_[0:4, 9]`. */
export function indexList(indices: readonly number[]): string {
  if (indices.length === 0) return '[]';
  const parts: string[] = [];
  for (let at = 0; at < indices.length;) {
    let end = at + 1;
    while (end < indices.length && indices[end] === indices[end - 1]! + 1) ++end;
    const [first, last] = [indices[at]!, indices[end - 1]!];
    parts.push(end - at > 1 ? `${first}:${last + 1}` : `${first}`);
    at = end;
  }
  return `np.r_[${parts.join(', ')}]`;
}

/** Some prompts of a file. */
export interface PromptsOfFile {
  file: string;
  /** Their numbers in the arrays of the packed layout, or the names of their groups. */
  prompts: readonly number[] | readonly string[];
  /** Whether these are all prompts of the file. */
  all: boolean;
}

export const namesOf = ({ prompts }: PromptsOfFile): string =>
  `[${prompts.map((id) => quote(String(id))).join(', ')}]`;

/** `path` is that of the statistics: of a packed file, or below a prompt. */
export function pythonOfMeans(
  files: readonly PromptsOfFile[],
  path: string,
  statistic: string,
): string {
  const count = files.reduce((sum, { prompts }) => sum + prompts.length, 0);
  const names = 'names = [name.decode() for name in stats.attrs["names"]]';
  const column = `names.index(${quote(statistic)})`;
  const read = (of: PromptsOfFile): string[] => [
    `with h5py.File(${quote(of.file)}) as f:`,
    ...indented(
      typeof of.prompts[0] === 'string'
        ? [
            `for name in ${of.all ? 'f["prompts"]' : namesOf(of)}:`,
            `    stats = f["prompts"][name][${quote(path)}]  # [layer, head, statistic]`,
            `    ${names}`,
            `    values.append(stats[:, :, ${column}])`,
          ]
        : [
            `stats = f[${quote(path)}]  # [prompt, layer, head, statistic]`,
            names,
            `values.extend(stats[:, :, :, ${column}]${of.all ? '' : `[${indexList(of.prompts as number[])}]`})`,
          ],
      4,
    ),
  ];
  return [
    'import h5py, numpy as np',
    'values = []',
    ...files.flatMap(read),
    `mean = np.nanmean(values, axis=0, dtype="f8")  # [layer, head], over ${count} prompts`,
    'spread = np.nanstd(values, axis=0, ddof=1, dtype="f8")',
  ].join('\n');
}
