/** Getting files: the button, dropping anywhere, and what is said when one cannot be opened. */

import { signal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { shellWord } from '../model/commands';
import { causeOf, isOfServer } from '../model/failures';
import { plural } from '../model/numbers';
import { isServed, openFiles, reload, reloadServed, serveAgain } from '../state/opening';
import { choose } from '../state/view';
import { dismiss, dismissAll, failures, type Failure } from '../state/workspace';
import { safeText } from '../model/tokens';
import { Snippet } from './controls';

interface OpenButtonProps {
  label: string;
  primary?: boolean;
  title?: string;
}

export function OpenButton({ label, primary, title }: OpenButtonProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        type="button"
        class={primary ? 'primary' : ''}
        title={title}
        onClick={() => input.current?.click()}
      >
        {label}
      </button>
      <input
        ref={input}
        class="unseen"
        type="file"
        multiple
        tabIndex={-1}
        aria-label="HDF5 files"
        onChange={(event) => {
          const files = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = '';
          void openFiles(files);
        }}
      />
    </>
  );
}

export const dragging = signal(false);

/** A file may be dropped anywhere on the page. */
export function acceptDrops(): void {
  const carriesFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
  window.addEventListener('dragover', (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    dragging.value = true;
  });
  window.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) dragging.value = false;
  });
  window.addEventListener('drop', (event) => {
    dragging.value = false;
    if (!carriesFiles(event)) return;
    event.preventDefault();
    void openFiles([...(event.dataTransfer?.files ?? [])]);
  });
}

interface Explanation {
  title: string;
  advice: string;
  command?: string;
}

function explain({ code, messages: [message = ''], name }: Failure): Explanation {
  switch (code) {
    case 'not_hdf5':
      return {
        title: 'This is not an HDF5 file',
        advice: `${message}. An HDF5 file begins with 89 48 44 46. Is it the .h5 that attnscope wrote?`,
      };
    case 'newer':
      return {
        title: 'This file was written by a newer version',
        advice: `It has schema version ${message}; this page reads version 1. Open it with the viewer that came with that version.`,
      };
    case 'foreign':
      return {
        title: 'This is no file of attnscope',
        advice: `${message}. The File screen shows its tree; heads and effects are of the others.`,
      };
    case 'filter':
      return {
        title: 'A dataset is compressed in a way this page cannot read',
        advice: `${message}. Built in are deflate, shuffle, szip and scale-offset. Rewrite the file:`,
        command: `h5repack -f SHUF -f GZIP=1 ${JSON.stringify(name)} readable.h5`,
      };
    case 'shape':
      return {
        title: 'A dataset has another shape than its prompt calls for',
        advice: `${message}. It is left out, for nothing says what its values are of.`,
        command: `attnscope verify ${shellWord(name)}`,
      };
    case 'too_large':
      return { title: 'That would not fit', advice: `${message}.` };
    case 'changed':
      return {
        title: 'The file is no longer what was opened',
        advice: `${message}. What is on screen is of the old one.`,
      };
    case 'gone':
      return {
        title: `${name} is ${isServed(name) ? 'gone' : 'not there'}`,
        advice: `${message}. What is on screen of it was read before.`,
      };
    case 'offline':
      return {
        title: 'The server was stopped, or cannot be reached',
        advice:
          `${message}. What is on screen was read before. ` +
          'Start it again, and open the address that it prints:',
        command: serveAgain(),
      };
    case 'locked':
      return {
        title: 'The server was started anew',
        advice:
          `${message}: the one that this page is from was stopped. ` +
          'Open the address that the new one prints; then this page can go on too.',
      };
    case 'no_range':
      return {
        title: 'This server cannot send parts of a file',
        advice: `${message}. Serve it with the command below, or save the file and drop it here.`,
        command: `attnscope view ${shellWord(name)}`,
      };
    case 'timeout':
      return { title: 'Reading took too long', advice: `${message}. The file may be damaged.` };
    case 'crashed':
      return {
        title: 'Reading this file made the HDF5 library stop',
        advice: `${message}. The reader was started again; other files stay open.`,
      };
    default:
      return {
        title: 'This file cannot be read in full',
        advice: `${message}.`,
        command: `attnscope verify ${shellWord(name)}`,
      };
  }
}

/** A server has the new content at the same address; a file on disk has to be picked again. */
function Again({ name }: { name: string }) {
  if (!isServed(name)) return <OpenButton label="Pick it again" />;
  return (
    <button type="button" onClick={() => reload(name)}>
      Reload
    </button>
  );
}

function FailureButtons({ failure }: { failure: Failure }) {
  const { id, name, code } = failure;
  return (
    <div class="failure-buttons">
      {causeOf(code) === 'changed' && <Again name={name} />}
      {code === 'foreign' && (
        <button type="button" onClick={() => choose({ screen: 'file' })}>
          Show its tree
        </button>
      )}
      {isOfServer(code) && (
        <button type="button" onClick={() => reloadServed(id)}>
          Try again
        </button>
      )}
      <button type="button" onClick={() => dismiss(id)}>
        Close
      </button>
    </div>
  );
}

function Card({ failure }: { failure: Failure }) {
  const { title, advice, command } = explain(failure);
  const more = failure.messages.length - 1;
  return (
    <div class="failure" data-code={failure.code}>
      <strong>{safeText(title, 120)}</strong>
      {!isOfServer(failure.code) && <div class="name">{safeText(failure.name)}</div>}
      <p>
        {safeText(advice, 600)}
        {more > 0 && ` And ${more} more of this kind.`}
      </p>
      {command && <Snippet text={safeText(command, 300)} what="Command" />}
      <FailureButtons failure={failure} />
    </div>
  );
}

const folded = signal(false);

/** What could not be read, below the screen and never over it. */
export function FailureCards() {
  const all = failures.value;
  if (all.length === 0) return null;
  return (
    <section class="failures" role="alert" aria-label="What could not be read">
      <div class="failures-bar">
        <button
          type="button"
          class="link"
          aria-expanded={!folded.value}
          onClick={() => (folded.value = !folded.value)}
        >
          {folded.value ? '▸' : '▾'} {plural(all.length, 'problem')}
        </button>
        <span class="spring" />
        <button type="button" class="link" onClick={dismissAll}>
          Close all
        </button>
      </div>
      {!folded.value && (
        <div class="failure-list">
          {all.map((failure) => (
            <Card key={failure.id} failure={failure} />
          ))}
        </div>
      )}
    </section>
  );
}
