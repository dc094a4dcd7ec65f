/** Beside a head's map: where one looks, what is stored there, and what is known of the head. */

import { nameOf, type Column } from '../model/heads';
import { countWords } from '../model/effect_prompts';
import { labelsOf } from '../model/labels';
import { short } from '../model/numbers';
import { findPrompts, topPrompts } from '../model/prompts';
import { withoutRows } from '../model/statistics';
import { safeText } from '../model/tokens';
import { chosenPrompts } from '../state/effect_prompts';
import { crosshair, held, keyTexts, queryAt, queryTexts } from '../state/focus';
import { WHOLE_MAP } from '../state/hash';
import { table } from '../state/heads';
import { isBlend } from '../state/map';
import { means } from '../state/map_means';
import { promptStats, promptTable, showsMeans } from '../state/prompts';
import { mapLines } from '../state/map_lines';
import { currentRows } from '../state/rows';
import { shownHead, statistic, toggleTray } from '../state/selection';
import { choose, view } from '../state/view';
import { prompt } from '../state/workspace';
import { Fold, Snippet } from '../ui/controls';
import { ExportMenu } from './export_menu';
import { headActions } from './head_actions';
import { Minimap } from './head_minimap';
import { FaultLinks, Readout, Sums } from './head_readout';
import { HeadNote } from './notes';

/** Strongest keys of the row under the crosshair. */
function StrongestKeys() {
  const rows = currentRows.value;
  // Of a word the piece that is held, else its first.
  const kept = held.value ? view.cell.value[0] : undefined;
  const pointedAt = crosshair.value ? queryAt(crosshair.value.row) : view.queries.value[0];
  const query = kept ?? pointedAt;
  if (isBlend.value || means.value || !rows?.topIndex || !rows.topValue || query === undefined)
    return null;
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

/** What experiments measured of attention is of their own prompts. */
function measuresOn(): string {
  const prompts = chosenPrompts.value;
  const on = prompts ? countWords(prompts) : 'the prompts of the experiments';
  return `On the answer rows of ${on}`;
}

function Statistics({ index, kind }: { index: number; kind: Column['kind'] }) {
  const columns = [...table.value.columns.values()].filter((column) => column.kind === kind);
  const rows = columns.filter(({ id, values }) => {
    const value = values[index]!;
    return !Number.isNaN(value) && !(id === 'learned_sink' && value === 0);
  });
  if (rows.length === 0) return null;
  const one = means.value ? safeText(prompt.value?.id ?? '', 40) : 'this prompt';
  const here = showsMeans.value ? 'Means over prompts' : `Over all rows of ${one}`;
  const of = isBlend.value ? `Head ${nameOf(shownHead.value!)}: ` : '';
  const title = of + (kind === 'measure' ? measuresOn() : here);
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <table class="bars">
        <tbody>
          {rows.map(({ id, label, values, share, sentence }) => (
            <tr key={id} title={sentence}>
              <td>{withoutRows(label)}</td>
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
  const found = findPrompts(rows, view.promptFilter.value);
  const list = topPrompts(stats.values, stats.prompts, entry, found, TOP_PROMPTS);
  const of = found.length < rows.ids.length ? `, of the ${found.length} found` : '';
  return (
    <Fold title={`Prompts with most ${column.label}${of}`}>
      <table class="bars">
        <tbody>
          {list.map(({ prompt: at, value }) => (
            <tr key={at}>
              <td>
                <button
                  type="button"
                  class="link clip"
                  title={safeText(rows.texts[at] ?? '', 300)}
                  onClick={() => choose({ prompt: rows.ids[at]!, mean: false, ...WHOLE_MAP })}
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

function HeadExports() {
  const actions = headActions();
  return actions && <ExportMenu key={view.view.value} actions={actions} />;
}

export function HeadAside({ index }: { index: number }) {
  const head = shownHead.value!;
  const lines = mapLines();
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
      <FaultLinks />
      <Sums />
      <StrongestKeys />
      <Statistics index={index} kind="statistic" />
      <Statistics index={index} kind="measure" />
      <div class="actions">
        <button type="button" onClick={() => toggleTray(name)}>
          {view.tray.value.includes(name) ? 'Remove from tray' : 'Add to tray'}
        </button>
        <HeadExports />
      </div>
      <TopPrompts />
      <HeadNote key={name} head={name} />
      {lines !== null && (
        <Fold title={means.value ? 'Read these maps with h5py' : 'Read this map with h5py'}>
          <Snippet text={lines} what="Code" />
        </Fold>
      )}
    </aside>
  );
}
