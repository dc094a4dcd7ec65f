/** Beside a head's map: where one looks, what is stored there, and what is known of the head. */

import type { Ink } from '../draw/ink';
import { isMasked } from '../draw/paint';
import { drawThumbnail } from '../draw/thumbnails';
import { RAW } from '../draw/transform';
import type { Size } from '../draw/viewport';
import { h5pyMap } from '../model/commands';
import { nameOf, type Column } from '../model/heads';
import { labelsOf } from '../model/labels';
import { exact, plural, short } from '../model/numbers';
import { holderOf, spanOf, type Axis } from '../model/axis';
import { positionOf } from '../model/positions';
import { topPrompts } from '../model/prompts';
import { safeText } from '../model/tokens';
import {
  crosshair,
  keyLabels,
  keysAt,
  keyTexts,
  keyWhole,
  moveCrosshair,
  queriesAt,
  queryAt,
  queryLabels,
  queryTexts,
  queryWhole,
  selectedColumns,
  selectedRows,
  setViewport,
  viewport,
} from '../state/focus';
import { table } from '../state/heads';
import { isMerged, keyAxis, maskRule, queryAxis, shownValue, transform } from '../state/cells';
import { scaleWords } from '../state/colors';
import { faultyRows, firstMissing } from '../state/faults';
import { blendName, headMap, isBlend, preview, storedValue } from '../state/map';
import { currentRows } from '../state/rows';
import { promptStats, promptTable, showsMeans } from '../state/prompts';
import { shownHead, statistic, toggleTray } from '../state/selection';
import { arrivals } from '../state/tiles';
import { choose, view } from '../state/view';
import { mainRun } from '../state/workspace';
import { Canvas, offsetOf } from '../ui/canvas';
import { Fold, Snippet } from '../ui/controls';
import { ExportMenu } from './head_export';
import { HeadNote } from './notes';

/** Shares of a map that begin and end at rows (or columns) that are shown; words are not alike. */
function shareAlong(axis: Axis, at: number): number {
  const stored = axis.begin ? (axis.begin.at(-1) ?? 1) : axis.count;
  const whole = Math.min(axis.count - 1, Math.max(0, Math.floor(at)));
  const [first, end] = spanOf(axis, whole);
  return (first + (at - whole) * (end - first)) / stored;
}

/** The row (or column) at a share of a map. */
function shownAtShare(axis: Axis, share: number): number {
  const stored = axis.begin ? (axis.begin.at(-1) ?? 1) : axis.count;
  return holderOf(axis, Math.min(stored - 1, Math.max(0, share * stored)));
}

function Minimap() {
  if (!preview.value || view.zoom.value.length === 0) return null;
  const draw = (context: CanvasRenderingContext2D, size: Size, ink: Ink) => {
    drawThumbnail(context, preview.value!, 0, 0, 0, size.width, size.height);
    const see = viewport.value;
    const [left, right] = [see.x, see.x + see.width].map((at) => shareAlong(keyAxis.value, at));
    const [top, bottom] = [see.y, see.y + see.height].map((at) => shareAlong(queryAxis.value, at));
    context.strokeStyle = ink.accent;
    context.lineWidth = 2;
    context.strokeRect(
      left! * size.width,
      top! * size.height,
      (right! - left!) * size.width,
      (bottom! - top!) * size.height,
    );
  };
  const jump = (event: PointerEvent) => {
    if (event.buttons === 0) return;
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const { x, y } = offsetOf(event);
    const see = viewport.value;
    setViewport({
      ...see,
      x: shownAtShare(keyAxis.value, x / box.width) - see.width / 2,
      y: shownAtShare(queryAxis.value, y / box.height) - see.height / 2,
    });
  };
  return (
    <div class="minimap">
      <Canvas
        draw={draw}
        label="Whole map with the visible part"
        onPointerDown={jump}
        onPointerMove={jump}
      />
      <button type="button" onClick={() => choose({ zoom: [] })} title="Fit (0)">
        Show all
      </button>
    </div>
  );
}

/** What stands under the crosshair, with the number as it is stored. */
function Readout() {
  arrivals.value;
  const cross = crosshair.value;
  if (view.view.value !== 'map') return null;
  if (!cross) return <p class="small">Point at the map, or click to hold the crosshair.</p>;
  const { row, column } = cross;
  const stored = isMerged.value ? null : storedValue(row, column);
  const shown = shownValue(row, column);
  const changed = isMerged.value || transform.value !== RAW;
  const [queries, keys] = [queriesAt(row), keysAt(column)];
  const masked = shown === null && isMasked(maskRule.value, row, column);
  return (
    <table class="readout">
      <tbody>
        <tr title={queryWhole(row)}>
          <th scope="row">query {range(queries)}</th>
          <td>{queryLabels.value[row]}</td>
        </tr>
        <tr title={keyWhole(column)}>
          <th scope="row">key {range(keys)}</th>
          <td>{keyLabels.value[column]}</td>
        </tr>
        {!isMerged.value && (
          <tr>
            <th scope="row">{isBlend.value ? `${blendName()} of stored` : 'stored weight'}</th>
            <td class="value">{stored === null ? '…' : exact(stored)}</td>
          </tr>
        )}
        {masked && (
          <tr>
            <th scope="row" />
            <td>
              {transform.value.hideFirst && keys[0] === 0
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
function FaultLinks() {
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
function Sums() {
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

/** Strongest keys of the row under the crosshair. */
function StrongestKeys() {
  const rows = currentRows.value;
  const query = crosshair.value ? queryAt(crosshair.value.row) : view.queries.value[0];
  if (isBlend.value || !rows?.topIndex || !rows.topValue || query === undefined) return null;
  const list: { key: number; weight: number }[] = [];
  for (let i = 0; i < Math.min(5, rows.topCount); ++i) {
    const key = rows.topIndex[query * rows.topCount + i] ?? -1;
    if (key >= 0) list.push({ key, weight: rows.topValue[query * rows.topCount + i]! });
  }
  return (
    <section aria-label="Strongest keys">
      <h2>
        Query {query} {queryTexts.value[query]} attends most to
      </h2>
      <table class="bars">
        <tbody>
          {list.map(({ key, weight }) => (
            <tr key={key}>
              <td class="muted">{key}</td>
              <td>{keyTexts.value[key]}</td>
              <td class="value">{short(weight)}</td>
              <td class="bar">
                <span style={{ width: `${Math.min(100, 100 * weight)}%` }} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Statistics({ index, kind }: { index: number; kind: Column['kind'] }) {
  const columns = [...table.value.columns.values()].filter((column) => column.kind === kind);
  const rows = columns.filter(({ id, values }) => {
    const value = values[index]!;
    return !Number.isNaN(value) && !(id === 'learned_sink' && value === 0);
  });
  if (rows.length === 0) return null;
  const here = showsMeans.value ? 'Means over prompts' : 'Over all rows of this prompt';
  const of = isBlend.value ? `Head ${nameOf(shownHead.value!)}: ` : '';
  const title = of + (kind === 'measure' ? 'On the prompts of the experiments' : here);
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <table class="bars">
        <tbody>
          {rows.map(({ id, label, values, share, sentence }) => (
            <tr key={id} title={sentence}>
              <td>{label}</td>
              <td class="value">{short(values[index]!)}</td>
              <td class="bar">
                {share && <span style={{ width: `${Math.min(100, 100 * values[index]!)}%` }} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const TOP_PROMPTS = 20;

/** Where this head shows the statistic most. */
function TopPrompts() {
  const stats = promptStats.value;
  const rows = promptTable.value;
  const column = statistic.value;
  const head = shownHead.value;
  if (!stats || !rows || !column || !head) return null;
  const layer = stats.layers.indexOf(head.layer);
  const which = stats.names.indexOf(column.id);
  if (layer < 0 || which < 0) return null;
  const entry = (layer * stats.width + head.head) * stats.names.length + which;
  const list = topPrompts(stats.values, stats.prompts, entry, TOP_PROMPTS);
  return (
    <Fold title={`Prompts with most ${column.label}`}>
      <table class="bars">
        <tbody>
          {list.map(({ prompt: at, value }) => (
            <tr key={at}>
              <td>
                <button
                  type="button"
                  class="link clip"
                  title={safeText(rows.texts[at] ?? '', 300)}
                  onClick={() =>
                    choose({ prompt: rows.ids[at]!, mean: false, zoom: [], queries: [], keys: [] })
                  }
                >
                  {safeText(rows.texts[at] ?? '', 60) || rows.ids[at]}
                </button>
              </td>
              <td class="value">{short(value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Fold>
  );
}

export function HeadAside({ index }: { index: number }) {
  const head = shownHead.value!;
  const run = mainRun.value!;
  const map = headMap.value;
  const name = nameOf(head);
  const readLines = () => {
    const { file, path } = run.file.origin(map!.map.path);
    return h5pyMap(file, path, map!.index);
  };
  return (
    <aside>
      <Minimap />
      <div class="labels">
        {labelsOf(table.value, index).map(({ label, reason }) => (
          <span key={label} class="label" title={reason}>
            {label}
          </span>
        ))}
      </div>
      <Readout />
      <FaultLinks />
      <Sums />
      <StrongestKeys />
      <Statistics index={index} kind="statistic" />
      <Statistics index={index} kind="measure" />
      <div class="actions">
        <button type="button" onClick={() => toggleTray(name)}>
          {view.tray.value.includes(name) ? 'Remove from tray' : 'Add to tray'}
        </button>
        {map && view.view.value === 'map' && <ExportMenu />}
      </div>
      <TopPrompts />
      <HeadNote key={name} head={name} />
      {map && (
        <Fold title="Read this map with h5py">
          <Snippet text={readLines()} what="Code" />
        </Fold>
      )}
    </aside>
  );
}
