/** The list of prompts: search, order, choose one or the mean of all that are found. */

import { captureCommand } from '../model/commands';
import { modelName } from '../model/join';
import { searchNote } from '../model/prompts';
import { safeText } from '../model/tokens';
import { WHOLE_MAP } from '../state/hash';
import { promptTable, promptStats, shownPrompts, showsMeans } from '../state/prompts';
import { adjust, choose, view } from '../state/view';
import { mainRun, prompt, stack } from '../state/workspace';
import { Check, Pick, Snippet } from '../ui/controls';
import { useVisibleRows } from '../ui/visible_rows';

const ROW = 44;
const SEARCH =
  'Words that a text or a column contains, all of them; "a phrase"; -word for prompts without it; tokens:18 for a value of one column, and of numbers tokens>17, tokens<=18';

export function PromptsDrawer() {
  const shown = shownPrompts.value;
  const { first, last, scroller } = useVisibleRows(shown.length, ROW);
  const rows = promptTable.value;
  if (!rows) return null;
  const columns = Object.keys(rows.columns).filter((name) => rows.columns[name]!.some(Boolean));
  const current = prompt.value?.id;
  const run = mainRun.value!;
  const note = shown.length === 0 ? searchNote(rows, view.promptFilter.value) : '';
  const noMaps = prompt.value && stack.value && stack.value.maps.length === 0;
  const details = (at: number) =>
    columns
      .map((name) => [name, rows.columns[name]![at]])
      .filter(([, value]) => value)
      .map(([name, value]) => (name === 'tokens' ? `${value} tokens` : value))
      .join(' · ');
  const pickRow = (at: number) => choose({ prompt: rows.ids[at]!, mean: false, ...WHOLE_MAP });
  return (
    <div class="drawer" role="complementary" aria-label="Prompts">
      <div class="drawer-head">
        <h2>Prompts</h2>
        <span class="small" role="status">
          {shown.length} of {rows.ids.length}
        </span>
        <span class="spring" />
        <button type="button" onClick={() => choose({ drawer: false })}>
          Close
        </button>
      </div>
      <div class="drawer-tools">
        <input
          type="search"
          placeholder="words in text or columns"
          aria-label="Search prompts"
          title={SEARCH}
          value={view.promptFilter.value}
          onInput={(event) => {
            adjust({ promptFilter: event.currentTarget.value });
            if (scroller.ref.current) scroller.ref.current.scrollTop = 0;
          }}
        />
        <Pick
          label="Order"
          hideLabel
          value={view.promptSort.value}
          options={[
            { value: '', label: 'as in the file' },
            ...['text', ...columns].flatMap((name) => [
              { value: name, label: `${name} ↑` },
              { value: `-${name}`, label: `${name} ↓` },
            ]),
          ]}
          onPick={(promptSort) => choose({ promptSort })}
        />
      </div>
      <p class="small search-note" role="status">
        {safeText(note, 300) || 'also: "a phrase", -without, tokens:18, tokens>17'}
      </p>
      {promptStats.value && (
        <Check
          label="Overview: mean of the prompts found"
          title="Statistics of heads become means over these prompts, with their standard deviation"
          checked={showsMeans.value}
          onChange={(mean) =>
            choose(mean ? { mean, screen: 'overview' } : { mean, prompt: current ?? rows.ids[0]! })
          }
        />
      )}
      <div class="drawer-list" {...scroller} tabIndex={0} role="group" aria-label="Prompts found">
        <div style={{ height: `${shown.length * ROW}px`, position: 'relative' }}>
          {shown.slice(first, last).map((at, i) => (
            <button
              key={at}
              type="button"
              class="drawer-row"
              aria-pressed={!showsMeans.value && rows.ids[at] === current}
              style={{ top: `${(first + i) * ROW}px` }}
              title={safeText(rows.texts[at] ?? '', 600)}
              onClick={() => pickRow(at)}
            >
              <span>{safeText(rows.texts[at] ?? '', 120) || rows.ids[at]}</span>
              <span class="small">
                {rows.ids[at]} {safeText(details(at), 80)}
              </span>
            </button>
          ))}
        </div>
      </div>
      {noMaps && (
        <div class="small">
          No maps of this prompt are stored. This makes them:
          <Snippet
            text={captureCommand(modelName(run.summary), prompt.value!.text)}
            what="Command"
          />
        </div>
      )}
    </div>
  );
}
