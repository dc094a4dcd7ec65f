/** Numbers of the cells that are pointed at or selected, and faults of the map. */

import { isMasked } from '../draw/paint';
import { RAW } from '../draw/transform';
import { holderOf } from '../model/axis';
import { exact, plural, short } from '../model/numbers';
import { positionOf } from '../model/positions';
import {
  changes,
  isMerged,
  maskRule,
  momentsAt,
  plainValue,
  queryAxis,
  shownValue,
  transform,
  type CellMoments,
} from '../state/cells';
import { scaleWords } from '../state/colors';
import { faultyRows, firstMissing } from '../state/faults';
import {
  crosshair,
  keyLabels,
  keysAt,
  keyWhole,
  moveCrosshair,
  queriesAt,
  queryLabels,
  queryWhole,
  selectedColumns,
  selectedRows,
  setViewport,
  viewport,
} from '../state/focus';
import { blendName, isBlend } from '../state/map';
import { means, meansName } from '../state/map_means';
import { arrivals } from '../state/tiles';
import { choose, view } from '../state/view';

function storedName(): string {
  if (means.value) return meansName();
  return isBlend.value ? `${blendName()} of stored` : 'stored weight';
}

/** The other number of a cell over prompts, and of how many it is where some have nothing left. */
function Moments({ mean, deviation, count }: CellMoments) {
  const spread = view.over.value === 'sd';
  return (
    <>
      <tr>
        <th scope="row">{spread ? 'mean' : 'sd'}</th>
        <td class="value">{short(spread ? mean : deviation, 4)}</td>
      </tr>
      {count < (means.value?.ids.length ?? 0) && (
        <tr>
          <th scope="row">rows left</th>
          <td>of {plural(count, 'prompt')}; in the others all is on the first token</td>
        </tr>
      )}
    </>
  );
}

/** What stands under the crosshair, with the number as it is stored. */
export function Readout() {
  arrivals.value;
  const cross = crosshair.value;
  if (view.view.value !== 'map') return null;
  if (!cross) return <p class="small">Point at the map, or click to hold the crosshair.</p>;
  const { row, column } = cross;
  const stored = isMerged.value ? null : plainValue(row, column);
  const both = momentsAt(row, column);
  const shown = shownValue(row, column);
  const changed = isMerged.value || transform.value !== RAW;
  const [queries, keys] = [queriesAt(row), keysAt(column)];
  const masked = shown === null && isMasked(maskRule.value, row, column);
  return (
    <table class="readout">
      <tbody>
        <tr title={queryWhole(row)}>
          <th scope="row">query {range(queries)}</th>
          <td>{means.value ? queryWhole(row) : queryLabels.value[row]}</td>
        </tr>
        <tr title={keyWhole(column)}>
          <th scope="row">key {range(keys)}</th>
          <td>{means.value ? keyWhole(column) : keyLabels.value[column]}</td>
        </tr>
        {!isMerged.value && (
          <tr>
            <th scope="row">{storedName()}</th>
            <td class="value">{stored === null ? '…' : exact(stored)}</td>
          </tr>
        )}
        {both && <Moments {...both} />}
        {masked && (
          <tr>
            <th scope="row" />
            <td>
              {changes.value.hideFirst && keys[0] === 0
                ? 'left out, as asked'
                : 'masked: the query cannot see this key'}
            </td>
          </tr>
        )}
        {changed && shown !== null && (
          <tr title={scaleWords.value}>
            <th scope="row">as drawn</th>
            <td class="value">{Number.isNaN(shown) ? 'nothing left' : short(shown, 4)}</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

/** Positions of the pieces of a word, or the one of a token. */
const range = (positions: readonly number[]): string =>
  positions.length > 1 ? `${positions[0]}–${positions.at(-1)}` : `${positions[0] ?? ''}`;

/** Cells and rows that are not as they should be, each with a way to the first of them. */
export function FaultLinks() {
  if (view.view.value !== 'map') return null;
  const missing = firstMissing.value;
  const { count, first } = faultyRows.value;
  const show = (row: number, column: number) => {
    const { width, height } = viewport.peek();
    const cells = Math.min(48, width, height);
    setViewport({ x: column - cells / 2, y: row - cells / 2, width: cells, height: cells }, true);
    moveCrosshair({ row, column });
  };
  if (!missing && count === 0) return null;
  return (
    <section class="faults" aria-label="Faults of this map">
      {missing && (
        <p>
          Some cells are not numbers.{' '}
          <button type="button" class="link" onClick={() => show(missing.row, missing.column)}>
            Show the first
          </button>
        </p>
      )}
      {count > 0 && (
        <p>
          {plural(count, 'row')} {count === 1 ? 'does' : 'do'} not sum to 1.{' '}
          <button
            type="button"
            class="link"
            onClick={() => show(holderOf(queryAxis.peek(), first), 0)}
          >
            Show query {positionOf(queryAxis.value.stored, first)}
          </button>
        </p>
      )}
    </section>
  );
}

const MAX_SUM_CELLS = 4096;

/** What the selected queries give to the selected keys. */
export function Sums() {
  arrivals.value;
  const queries = selectedRows.value;
  const keys = selectedColumns.value;
  if (view.view.value !== 'map' || queries.length === 0 || keys.length === 0) return null;
  if (queries.length * keys.length > MAX_SUM_CELLS) {
    return <p class="small">The selection has too many cells to be summed here.</p>;
  }
  let total = 0;
  for (const query of queries) {
    for (const key of keys) {
      const value = shownValue(query, key);
      total += value ?? 0;
    }
  }
  return (
    <p>
      {queries.length === 1
        ? 'The selected query gives'
        : `The ${queries.length} selected queries give, on average,`}{' '}
      <strong>{short(total / queries.length, 4)}</strong> of{' '}
      {queries.length === 1 ? 'its' : 'their'} attention to{' '}
      {keys.length === 1 ? 'the selected key' : `the ${keys.length} selected keys`}.{' '}
      <button type="button" class="link" onClick={() => choose({ queries: [], keys: [] })}>
        Clear
      </button>
    </p>
  );
}
