/** What is compared: heads, prompts, files, and the heads that a diff names. */

import { differencesOf } from '../model/differences';
import { nameOf, parseHead } from '../model/heads';
import { plural, short } from '../model/numbers';
import { safeText } from '../model/tokens';
import { roundingStep } from '../model/warnings';
import { alignedBy, formatVersus, sideA, sideB, versus } from '../state/compare';
import { promptIds } from '../state/prompts';
import { differenceLines } from '../state/map_lines';
import { comparedFiles } from '../state/measured';
import { shownHead } from '../state/selection';
import { choose, view } from '../state/view';
import { table } from '../state/heads';
import { experiments, mainRun, prompt, runs, say, type OpenRun } from '../state/workspace';
import { copyText, Pick } from '../ui/controls';
import { COMPARE_ACTIONS } from './compare_export';
import { ExportMenu } from './export_menu';
import { ColorPicks } from './overview';

const SHOWN_DIFFERENCES = 8;

/** Whether the maps on screen are of one head and prompt of two files. */
function isShown(first: OpenRun | null, second: OpenRun | null): boolean {
  const other = versus.value;
  const main = mainRun.value;
  const head = shownHead.value;
  if (!other || !main || !head || !first || !second) return false;
  const files = new Set([main.id, other.run.id]);
  return (
    files.size === 2 &&
    files.has(first.id) &&
    files.has(second.id) &&
    other.promptId === prompt.value?.id &&
    nameOf(other.head) === nameOf(head)
  );
}

/** The heads that a diff of two files names, each a step to its two maps. */
export function DiffLine() {
  const found = experiments.value
    .map(({ run, data }) => ({ run, differences: differencesOf(data) }))
    .find(({ differences }) => differences !== null);
  if (!found?.differences) return null;
  const { method, metric, heads, equal, undefined: lost } = found.differences;
  const files = comparedFiles(found.differences);
  const [first, second] = [files.a.run, files.b.run];
  const [nameA, nameB] = [files.a.name, files.b.name];
  const shown = isShown(first, second);
  const rounding = shown
    ? roundingStep([sideA.value, sideB.value].map((side) => side?.at.map.mapDtype ?? ''))
    : '';
  const show = (head: string) => {
    choose({
      mainFile: first!.summary.name,
      head,
      versus: formatVersus(second!, prompt.value?.id ?? '', parseHead(head)!),
    });
    if (!shown) say(`A is of ${nameA} now, B of ${nameB}.`);
  };
  // Beside other maps one step to the compared ones is enough.
  const brief = !shown && first !== null && second !== null && heads.length > 0;
  const source = safeText(found.run.summary.name, 40);
  return (
    <p class="diff-line">
      <span class="muted">
        {brief
          ? `${source}: other maps than these, ${nameA} and ${nameB}, differ most in head`
          : `${source}: ${method} ${metric} between ${nameA} (a) and ${nameB} (b)`}
      </span>
      {heads.slice(0, brief ? 1 : SHOWN_DIFFERENCES).map(({ head, value }) => (
        <button
          key={head}
          type="button"
          class="chip"
          title={`Head ${head} of ${nameA} as A, of ${nameB} as B`}
          disabled={!first || !second}
          onClick={() => show(head)}
        >
          {head} {short(value, 2)}
        </button>
      ))}
      {!brief && (
        <span class="muted">
          {heads.length === 0 && lost === 0 && 'no map differs'}
          {lost > 0 && `${plural(lost, 'head')} with cells that are not numbers; `}
          {equal > 0 &&
            heads.length > 0 &&
            `${equal === 1 ? '1 head is' : `${equal} heads are`} equal`}
          {(!first || !second) && '; open both captures beside it to see their maps'}
          {rounding && `. ${rounding}`}
        </span>
      )}
    </p>
  );
}

export function CompareToolbar() {
  const other = versus.value;
  if (!other) return null;
  const here = shownHead.value!;
  const heads = table.value.heads.map((head) => ({ value: nameOf(head), label: nameOf(head) }));
  const ids = promptIds(other.run);
  return (
    <div class="toolbar">
      <Pick
        label="A"
        title="Head of A"
        value={nameOf(here)}
        options={heads}
        onPick={(head) => choose({ head })}
      />
      <Pick
        label="B"
        title="Head of B"
        value={nameOf(other.head)}
        options={heads}
        onPick={(name) =>
          choose({ versus: formatVersus(other.run, other.promptId, parseHead(name)!) })
        }
      />
      {ids.length > 1 && (
        <Pick
          label="prompt"
          value={other.promptId}
          options={ids.map((value) => ({ value, label: value }))}
          onPick={(id) => choose({ versus: formatVersus(other.run, id, other.head) })}
        />
      )}
      {runs.value.length > 1 && (
        <Pick
          label="file"
          value={String(runs.value.indexOf(other.run))}
          options={runs.value.map(({ summary }, at) => ({
            value: String(at),
            label: safeText(summary.name, 30),
          }))}
          onPick={(at) =>
            choose({ versus: formatVersus(runs.value[Number(at)]!, other.promptId, other.head) })
          }
        />
      )}
      <button
        type="button"
        title="Swap A and B (x)"
        disabled={other.run !== mainRun.value}
        onClick={swapSides}
      >
        Swap
      </button>
      <button
        type="button"
        title="Python lines that read both maps"
        disabled={!sideA.value || !sideB.value}
        onClick={copyLines}
      >
        Copy h5py
      </button>
      {sideA.value && sideB.value && <ExportMenu actions={COMPARE_ACTIONS} />}
      <span class="spring" />
      <Pick
        label="Align"
        title="Rows and columns of equal tokens beside each other, or of equal positions, as it begins with maps of one size"
        value={alignedBy.value}
        options={[
          { value: 'tokens', label: 'tokens' },
          { value: 'position', label: 'positions' },
        ]}
        onPick={(align) => choose({ align: align as 'tokens' })}
      />
      <Pick
        label="A − B"
        title="What the strongest colours of A − B stand for"
        value={view.domain.value === 'unit' ? 'unit' : 'head'}
        options={[
          { value: 'unit', label: '±1' },
          { value: 'head', label: '± largest' },
        ]}
        onPick={(domain) => choose({ domain: domain as 'unit' })}
      />
      <ColorPicks />
    </div>
  );
}

function copyLines(): void {
  const lines = differenceLines();
  if (lines !== null) void copyText(lines, 'Code');
}

/** A becomes B. A is always of the first file, so only its own heads and prompts can be swapped. */
export function swapSides(): void {
  const other = versus.peek();
  const here = shownHead.peek();
  const a = sideA.peek();
  if (!other || !here || !a || other.run !== mainRun.peek()) return;
  choose({
    head: nameOf(other.head),
    prompt: other.promptId,
    versus: formatVersus(a.run, a.prompt.id, here),
  });
}
