/** Python that reads the maps that are on screen, from wherever they are stored. */

import { pathIn } from '../io/read_same_map';
import type { Axis } from '../model/axis';
import type { PromptsOfFile } from '../model/python';
import {
  pythonOfDifference,
  pythonOfMap,
  pythonOfMapMeans,
  type ComparedMap,
  type DrawnMap,
} from '../model/python_maps';
import { isMerged, keyAxis, queryAxis, transform } from './cells';
import { isIdentity, pairing, sideA, sideB, type Side, type SideName } from './compare';
import { blendName, drawnMaps, headMap } from './map';
import { means } from './map_means';
import { canSumRows } from './row_sums';
import { view } from './view';
import { mainRun, stack, type OpenRun } from './workspace';

/** A path below a group of a prompt, and that group. */
function belowPrompt(path: string): { group: string; below: string } {
  const [, prompts, id, ...rest] = path.split('/');
  return { group: `${prompts}/${id}`, below: rest.join('/') };
}

const wordsAlong = ({ begin }: Axis): number[] | null => begin && Array.from(begin.subarray(0, -1));

/** What is drawn of the heads on screen. */
function drawnMap(): DrawnMap | null {
  const at = headMap.value;
  const data = stack.value;
  if (!at || !data) return null;
  const { hideFirst, rowFactor, keyFactor } = transform.value;
  const rescaled = hideFirst || rowFactor !== null;
  return {
    maps: drawnMaps.value.map(({ map, index }) => ({ path: belowPrompt(map.path).below, index })),
    blend: blendName() === 'mean' ? 'mean' : 'largest',
    attention: { path: `attention/${data.stack}`, row: at.row, head: at.head.head },
    queryPositions: at.map.queryPositions,
    keyPositions: at.map.keyPositions,
    hideFirst: rescaled ? (canSumRows.value ? 'row' : 'statistics') : null,
    weighed: keyFactor !== null,
    queryWords: isMerged.value ? wordsAlong(queryAxis.value) : null,
    keyWords: isMerged.value ? wordsAlong(keyAxis.value) : null,
  };
}

/** Prompts of which each has its own group, file by file. */
function groupsOf(run: OpenRun, path: string, ids: readonly string[]): PromptsOfFile[] {
  const files = new Map<string, string[]>();
  for (const id of ids) {
    const own = run.file.origin(pathIn(path, id));
    files.set(own.file, [...(files.get(own.file) ?? []), own.path.split('/')[2] ?? '']);
  }
  return [...files].map(([file, prompts]) => ({ file, prompts, all: false }));
}

/** What is drawn over prompts, or of one. */
export function mapLines(): string | null {
  const of = means.value;
  if (of) {
    const each: DrawnMap = {
      ...drawnMap()!,
      maps: [{ path: belowPrompt(of.at.map.path).below, index: of.at.index }],
      hideFirst: of.hideFirst ? 'row' : null,
      weighed: of.weighed,
      queryWords: null,
      keyWords: null,
    };
    const files = groupsOf(of.run, of.at.map.path, of.ids);
    return pythonOfMapMeans(files, each, view.over.value === 'sd');
  }
  const drawn = drawnMap();
  const at = headMap.value;
  const run = mainRun.value;
  if (!drawn || !at || !run) return null;
  const origin = run.file.origin(at.map.path);
  return pythonOfMap(origin.file, belowPrompt(origin.path).group, drawn);
}

function comparedMap(side: Side, name: SideName): ComparedMap {
  const { run, at } = side;
  const pairs = pairing.value!;
  const both = (axis: 'rows' | 'columns'): number[] => {
    const { a, b } = pairs[axis];
    return Array.from(pairs[axis][name]).filter((_, i) => a[i]! >= 0 && b[i]! >= 0);
  };
  const [rows, columns] = isIdentity.value ? [null, null] : [both('rows'), both('columns')];
  const { file, path } = run.file.origin(at.map.path);
  return { file, path: path.slice(1), index: at.index, rows, columns };
}

/** Both maps, as far as they stand beside each other, and their difference. */
export function differenceLines(): string | null {
  const [a, b] = [sideA.value, sideB.value];
  if (!a || !b || !pairing.value) return null;
  return pythonOfDifference(comparedMap(a, 'a'), comparedMap(b, 'b'));
}
