/** What frames every screen: header, tray, status line, help. */

import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { plural } from '../model/numbers';
import { safeText } from '../model/tokens';
import { modelName } from '../model/join';
import { ablateCommand, patchCommand, verdictCommand } from '../model/commands';
import { nameOf } from '../model/heads';
import { SCREENS, type Screen } from '../state/hash';
import { KEYS } from '../state/keys';
import { keepWhatIsShown, linkWords } from '../state/link';
import { promptIds, promptMeans } from '../state/prompts';
import { status } from '../state/status';
import { choose, currentHash, view } from '../state/view';
import {
  awaited,
  failures,
  fileChoice,
  mainRun,
  notice,
  partialOf,
  prompt,
  runIdOf,
  runs,
} from '../state/workspace';
import { toggleTray, trayHeads } from '../state/selection';
import { testedHeads } from '../state/tested';
import { copyText, Pick } from '../ui/controls';
import { dragging, FailureCards, OpenButton } from '../ui/files';
import { TRAY } from './head_words';
import { Overview } from './overview';
import { PromptsDrawer } from './prompts_drawer';
import { Welcome } from './welcome';

export const help = signal(false);

const SCREEN_LABELS: Record<Screen, string> = {
  overview: 'Overview',
  head: 'Head',
  compare: 'Compare',
  causal: 'Causal',
  lens: 'Lens',
  file: 'File',
};

/** The screens that are there; the page does not wait for all of them. */
const screenParts = signal<Partial<Record<Screen, ComponentType>>>({ overview: Overview });

export async function fetchLaterScreens(): Promise<void> {
  const { laterScreens } = await import('./later');
  screenParts.value = { overview: Overview, ...laterScreens };
}

/** What they show is of a prompt, also while statistics are means over several. */
const MAP_SCREENS: readonly Screen[] = ['head', 'compare'];

function PromptLine() {
  const run = mainRun.value;
  const count = run ? promptIds(run).length : 0;
  if (count === 0) return null;
  const means = promptMeans.value;
  return (
    <>
      {count > 1 && (
        <button
          type="button"
          aria-expanded={view.drawer.value}
          title="List, search and choose prompts (p)"
          onClick={() => choose({ drawer: !view.drawer.value })}
        >
          {plural(count, 'prompt')}
        </button>
      )}
      <span class="prompt-text">
        {means && !(prompt.value && MAP_SCREENS.includes(view.screen.value))
          ? `mean over ${plural(means.prompts, 'prompt')}`
          : safeText(prompt.value?.text ?? '', 90)}
      </span>
    </>
  );
}

/** A shared link names the file that it belongs to, for a page opened from disk has no other way. */
export function shareLink(): string {
  const run = mainRun.peek();
  if (run) {
    view.file.value = run.summary.name;
    view.runId.value = runIdOf(run);
  }
  return location.href.replace(/#.*$/, '') + currentHash();
}

function RunName() {
  const run = mainRun.value;
  if (!run) return null;
  const ours = runs.value.filter((one) => !one.foreign);
  if (ours.length > 1) {
    return (
      <Pick
        label="File"
        hideLabel
        title={`${modelName(run.summary)}; the other files add their results if they are of this model`}
        value={run.summary.name}
        options={ours.map(({ summary: { name } }) => ({ value: name, label: safeText(name, 40) }))}
        onPick={(name) => choose(fileChoice(ours.find(({ summary }) => summary.name === name)!))}
      />
    );
  }
  return (
    <span class="run" title={modelName(run.summary)}>
      {safeText(run.summary.name, 40)}
    </span>
  );
}

/** Said at the top too: numbers of some parts are not those of the run. */
function PartialMark() {
  const run = mainRun.value;
  const words = run && partialOf(run);
  if (!words) return null;
  return (
    <span class="partial" title="Parts of a longer run; drop the others to add them">
      {words}
    </span>
  );
}

function Header() {
  return (
    <header class="top">
      <h1 class="brand">
        <a
          href="#"
          onClick={(event) => {
            event.preventDefault();
            choose({ screen: 'overview' });
          }}
        >
          attnscope
        </a>
      </h1>
      <RunName />
      <PartialMark />
      <PromptLine />
      <span class="spring" />
      <OpenButton label="Open" />
      <button
        type="button"
        title="Copy a link to this view (y)"
        onClick={() => copyText(shareLink(), 'Link')}
      >
        Copy link
      </button>
      <button
        type="button"
        title="Light, dark, or as the system"
        aria-label={`Appearance: ${view.theme.value}`}
        onClick={() => {
          const order = ['auto', 'light', 'dark'] as const;
          choose({ theme: order[(order.indexOf(view.theme.value) + 1) % 3]! });
        }}
      >
        ◐
      </button>
      <button
        type="button"
        title="Keyboard (?)"
        aria-label="Help"
        onClick={() => (help.value = true)}
      >
        ?
      </button>
    </header>
  );
}

function Tabs({ current }: { current: Screen }) {
  return (
    <nav class="tabs" aria-label="Screens">
      {SCREENS.map((screen) => (
        <button
          key={screen}
          type="button"
          aria-current={screen === current ? 'page' : undefined}
          title={`${SCREEN_LABELS[screen]} (${SCREENS.indexOf(screen) + 1})`}
          onClick={() => choose({ screen })}
        >
          {SCREEN_LABELS[screen]}
        </button>
      ))}
    </nav>
  );
}

/** Said as long as the address names what is not on screen. */
function LinkWords() {
  const words = linkWords.value;
  if (words.length === 0) return null;
  return (
    <p class="link-words" role="status">
      {safeText(words.join(' '), 600)}{' '}
      <button type="button" class="link" onClick={keepWhatIsShown}>
        Keep what is shown
      </button>
    </p>
  );
}

function Tray() {
  const heads = trayHeads.value;
  if (heads.length === 0) return null;
  return (
    <span class="tray" title={TRAY}>
      Tray
      {heads.map(nameOf).map((item) => (
        <button
          key={item}
          type="button"
          class="chip"
          title="Remove from tray"
          onClick={() => toggleTray(item)}
        >
          {safeText(item, 12)} ×
        </button>
      ))}
    </span>
  );
}

function CopyCommand({ verb, command }: { verb: string; command: string }) {
  return (
    <button type="button" class="link" title={command} onClick={() => copyText(command, 'Command')}>
      Copy {verb} command
    </button>
  );
}

/** What would say whether the heads that are put aside or on screen matter. */
function Tests() {
  const heads = testedHeads.value;
  const run = mainRun.value;
  if (!heads || !run) return null;
  const model = modelName(run.summary);
  if (heads.length === 0) {
    return (
      <span class="tests">
        Test all heads: <CopyCommand verb="verdict" command={verdictCommand(model)} />
      </span>
    );
  }
  return (
    <span class="tests">
      {trayHeads.value.length === 0 && `Test ${heads.map(nameOf).join(' and ')}:`}
      <CopyCommand verb="ablate" command={ablateCommand(model, heads)} />
      <CopyCommand verb="patch" command={patchCommand(model, heads)} />
    </span>
  );
}

function Footer() {
  return (
    <footer class="bottom">
      <Tray />
      <Tests />
      <span class="status" role="status">
        {notice.value || status.value}
      </span>
    </footer>
  );
}

function Help() {
  if (!help.value) return null;
  return (
    <dialog
      class="dialog"
      aria-label="Keyboard"
      ref={(dialog) => {
        if (dialog && !dialog.open) dialog.showModal();
      }}
      onClose={() => (help.value = false)}
    >
      <h2>Keyboard</h2>
      <table>
        <tbody>
          {KEYS.map(({ keys, what }) => (
            <tr key={keys}>
              <th scope="row">
                <kbd>{keys}</kbd>
              </th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <button type="button" onClick={() => (help.value = false)}>
        Close
      </button>
    </dialog>
  );
}

export function App() {
  const run = mainRun.value;
  const anything = runs.value.length > 0;
  const isShown = anything && awaited.value === '';
  // A foreign file has its tree and nothing else.
  const screen: Screen = run ? view.screen.value : 'file';
  const Part = screenParts.value[screen];
  const embedded = view.embed.value;
  return (
    <div class={`page${embedded ? ' embedded' : ''}`}>
      {!embedded && <Header />}
      {run && !embedded && <Tabs current={screen} />}
      <LinkWords />
      <div class="middle">
        {run && view.drawer.value && <PromptsDrawer />}
        <main>{isShown ? Part && <Part /> : <Welcome />}</main>
      </div>
      {failures.value.length > 0 && <FailureCards />}
      {anything && !embedded && <Footer />}
      {dragging.value && <div class="drop-veil">Drop to open</div>}
      <Help />
    </div>
  );
}
