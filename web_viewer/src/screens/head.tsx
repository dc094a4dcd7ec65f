/** One head: what it attends to here, and what is known of what it causes. */

import { useEffect } from 'preact/hooks';
import { h5pyMap, captureCommand, verdictCommand } from '../model/commands';
import { labelsOf } from '../model/labels';
import { nameOf, type Column } from '../model/heads';
import { modelName } from '../model/join';
import { exact, short } from '../model/numbers';
import { drawThumbnail } from '../draw/thumbnails';
import type { Ink } from '../draw/ink';
import type { Size } from '../draw/viewport';
import {
  crosshair,
  extent,
  found,
  keyLabels,
  queryLabels,
  setViewport,
  stepFound,
  viewport,
} from '../state/focus';
import { screenKeys } from '../state/keys';
import { currentRows, headMap, preview, storedValue, transform } from '../state/map';
import { topPrompts } from '../model/prompts';
import { safeText } from '../model/tokens';
import { promptStats, promptTable, showsMeans } from '../state/prompts';
import { shownHead, statistic, stepHead, toggleTray } from '../state/selection';
import { arrivals } from '../state/tiles';
import { adjust, choose, view } from '../state/view';
import { table } from '../state/heads';
import { allEffects, mainRun, prompt, stack } from '../state/workspace';
import { Canvas, offsetOf } from '../ui/canvas';
import { Absent, Check, copyText, Fold, Pick, Snippet, Switch } from '../ui/controls';
import { ExportMenu, exportPng } from './head_export';
import { HeadNote } from './notes';
import { HeadLines } from './head_lines';
import { HeadMap, shownValue } from './head_map';
import { HeadText } from './head_text';
import { effectSentence, verdictWords } from './head_words';
import { ColorPicks } from './overview';

function Banner({ index }: { index: number }) {
  const effect = table.value.effects[index];
  const run = mainRun.value!;
  return (
    <p class="banner">
      <strong>Attention is not effect.</strong>{' '}
      {effect ? (
        <>
          For this head, {effectSentence(index)}
          {effect.verdict && (
            <>
              ; verdict: <b>{verdictWords(effect)}</b>
            </>
          )}
          .
        </>
      ) : allEffects.value.length > 0 ? (
        'The open files hold no causal result of this head.'
      ) : (
        <>
          No causal result is stored.{' '}
          <button
            type="button"
            class="link"
            onClick={() => copyText(verdictCommand(modelName(run.summary)), 'Command')}
          >
            Copy the command that makes one
          </button>
        </>
      )}
    </p>
  );
}

function Toolbar() {
  const head = shownHead.value!;
  const stacks = prompt.value?.stacks ?? [];
  const rows = currentRows.value;
  const name = nameOf(head);
  return (
    <div class="toolbar">
      <span class="stepper">
        <button
          type="button"
          aria-label="Previous head"
          title="Previous head (←)"
          onClick={() => stepHead(0, -1)}
        >
          ‹
        </button>
        <h2>Head {name}</h2>
        <button
          type="button"
          aria-label="Next head"
          title="Next head (→)"
          onClick={() => stepHead(0, 1)}
        >
          ›
        </button>
      </span>
      {stacks.length > 1 && (
        <Pick
          label="Attention"
          value={stack.value?.stack ?? ''}
          options={stacks.map(({ stack: value }) => ({ value, label: value }))}
          onPick={(value) => choose({ stack: value as 'self', zoom: [], queries: [], keys: [] })}
        />
      )}
      <Switch
        label="View"
        value={view.view.value}
        options={[
          { value: 'map', label: 'Map', title: 'Heat map (m)' },
          { value: 'lines', label: 'Lines', title: 'Strongest keys of each query (b)' },
          { value: 'text', label: 'Text', title: 'Tokens in reading order (v)' },
        ]}
        onPick={(value) => choose({ view: value as 'map' })}
      />
      <Check
        label="hide first token"
        title="Leave out what goes to the first token and rescale the rest of each row to sum to one (k)"
        checked={!view.sink.value}
        disabled={rows !== null && !rows.columns.has('sink')}
        onChange={(hide) => choose({ sink: !hide })}
      />
      <Check
        label="weigh by value"
        title="Each weight times the length of what its key’s value adds to the residual stream"
        checked={view.valueWeighted.value}
        disabled={rows !== null && !rows.valueNorm}
        onChange={(valueWeighted) => choose({ valueWeighted })}
      />
      <label class="filter">
        <span>Find</span>
        <input
          type="search"
          class="find"
          placeholder="token"
          value={view.search.value}
          onInput={(event) => adjust({ search: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key === 'Enter') stepFound(event.shiftKey ? -1 : 1);
          }}
        />
      </label>
      {view.search.value && <span class="small">{found.value.columns.length} found</span>}
      <span class="spring" />
      <Pick
        label="Range"
        hideLabel
        title="What the strongest colour stands for"
        value={view.domain.value}
        options={[
          { value: 'unit', label: '0 to 1' },
          { value: 'head', label: '0 to largest' },
        ]}
        onPick={(domain) => choose({ domain: domain as 'unit' })}
      />
      <ColorPicks />
    </div>
  );
}

function Minimap() {
  if (!preview.value || view.zoom.value.length === 0) return null;
  const { rows, columns } = extent.value;
  const draw = (context: CanvasRenderingContext2D, size: Size, ink: Ink) => {
    drawThumbnail(context, preview.value!, 0, 0, 0, size.width, size.height);
    const see = viewport.value;
    context.strokeStyle = ink.accent;
    context.lineWidth = 2;
    context.strokeRect(
      (see.x / columns) * size.width,
      (see.y / rows) * size.height,
      (see.width / columns) * size.width,
      (see.height / rows) * size.height,
    );
  };
  const jump = (event: PointerEvent) => {
    if (event.buttons === 0) return;
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const { x, y } = offsetOf(event);
    const see = viewport.value;
    setViewport({
      ...see,
      x: (x / box.width) * columns - see.width / 2,
      y: (y / box.height) * rows - see.height / 2,
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
  const stored = storedValue(cross.row, cross.column);
  const shown = shownValue(cross.row, cross.column);
  const changed = transform.value.rowFactor !== null || transform.value.keyFactor !== null;
  return (
    <table class="readout">
      <tbody>
        <tr>
          <th scope="row">query {cross.row}</th>
          <td>{queryLabels.value[cross.row]}</td>
        </tr>
        <tr>
          <th scope="row">key {cross.column}</th>
          <td>{keyLabels.value[cross.column]}</td>
        </tr>
        <tr>
          <th scope="row">stored weight</th>
          <td class="value">{stored === null ? '…' : exact(stored)}</td>
        </tr>
        {shown === null && stored !== null && (
          <tr>
            <th scope="row" />
            <td>
              {transform.value.hideFirst && cross.column === 0
                ? 'left out, as asked'
                : 'masked: the query cannot see this key'}
            </td>
          </tr>
        )}
        {changed && shown !== null && (
          <tr>
            <th scope="row">as drawn</th>
            <td class="value">{short(shown, 4)}</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

const MAX_SUM_CELLS = 4096;

/** What the selected queries give to the selected keys. */
function Sums() {
  arrivals.value;
  const queries = view.queries.value;
  const keys = view.keys.value;
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
  const query = crosshair.value?.row ?? view.queries.value[0];
  if (!rows?.topIndex || !rows.topValue || query === undefined) return null;
  const list: { key: number; weight: number }[] = [];
  for (let i = 0; i < Math.min(5, rows.topCount); ++i) {
    const key = rows.topIndex[query * rows.topCount + i] ?? -1;
    if (key >= 0) list.push({ key, weight: rows.topValue[query * rows.topCount + i]! });
  }
  return (
    <section aria-label="Strongest keys">
      <h2>
        Query {query} {queryLabels.value[query]} attends most to
      </h2>
      <table class="bars">
        <tbody>
          {list.map(({ key, weight }) => (
            <tr key={key}>
              <td class="muted">{key}</td>
              <td>{keyLabels.value[key]}</td>
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
  const title = kind === 'measure' ? 'On the prompts of the verdict' : here;
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

function Aside({ index }: { index: number }) {
  const head = shownHead.value!;
  const run = mainRun.value!;
  const map = headMap.value;
  const name = nameOf(head);
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
          <Snippet text={h5pyMap(run.summary.name, map.map.path, map.index)} what="Code" />
        </Fold>
      )}
    </aside>
  );
}

function NoMap() {
  const run = mainRun.value!;
  const text = prompt.value?.text;
  const kept = stack.value && stack.value.maps.length > 0;
  return (
    <Absent
      title={kept ? 'The map of this head is not in the file' : 'No attention map is stored here'}
    >
      <p>Statistics are exact without it. This makes a file with the maps of all heads:</p>
      <Snippet text={captureCommand(modelName(run.summary), text || 'TEXT')} what="Command" />
    </Absent>
  );
}

export function HeadScreen() {
  useEffect(() => {
    screenKeys.set('e', () => {
      if (headMap.peek()) exportPng(2);
      return true;
    });
    screenKeys.set('/', () => {
      document.querySelector<HTMLInputElement>('.find')?.focus();
      return true;
    });
    return () => {
      screenKeys.delete('e');
      screenKeys.delete('/');
    };
  }, []);
  const head = shownHead.value;
  if (!head) return <NoMap />;
  const index = table.value.index.get(nameOf(head)) ?? -1;
  const views = { map: HeadMap, lines: HeadLines, text: HeadText };
  const View = views[view.view.value];
  const needsMap = view.view.value !== 'lines';
  return (
    <div class="head-screen">
      <Toolbar />
      <Banner index={index} />
      <div class="columns head-columns">
        <div class="stage">{needsMap && !headMap.value ? <NoMap /> : <View />}</div>
        <Aside index={index} />
      </div>
    </div>
  );
}
