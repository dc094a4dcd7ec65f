/** Small controls that every screen uses. */

import type { ComponentChildren } from 'preact';
import { useSignal } from '@preact/signals';
import { FOLDER, needsFolder } from '../model/commands';
import { safeText } from '../model/tokens';
import { readingPrompt, say, unreadPrompt } from '../state/workspace';

interface PickProps {
  label: string;
  value: string;
  options: readonly { value: string; label: string; title?: string }[];
  onPick: (value: string) => void;
  title?: string;
  hideLabel?: boolean;
}

export function Pick({ label, value, options, onPick, title, hideLabel }: PickProps) {
  const chosen = options.find((option) => option.value === value);
  return (
    <label class="pick" title={title}>
      <span class={hideLabel ? 'unseen' : ''}>{label}</span>
      <select
        value={value}
        // There may be no room for all of what is chosen.
        title={[chosen?.label, chosen?.title, title].filter(Boolean).join('\n')}
        onChange={(event) => {
          const picked = event.currentTarget.value;
          // A choice that is not taken up, as in a menu of actions, does not stay.
          event.currentTarget.value = value;
          onPick(picked);
        }}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} title={option.title}>
            {option.label}
          </option>
        ))}
      </select>
    </label>
  );
}

interface SwitchProps {
  label: string;
  value: string;
  options: readonly { value: string; label: string; title?: string; disabled?: boolean }[];
  onPick: (value: string) => void;
}

/** A few choices side by side. */
export function Switch({ label, value, options, onPick }: SwitchProps) {
  return (
    <div class="switch" role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          title={option.title}
          disabled={option.disabled}
          aria-pressed={option.value === value}
          onClick={() => onPick(option.value)}
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}

interface CheckProps {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  title?: string;
  disabled?: boolean;
}

export function Check({ label, checked, onChange, title, disabled }: CheckProps) {
  return (
    <label class="check" title={title}>
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      {label}
    </label>
  );
}

export async function copyText(text: string, what: string): Promise<void> {
  await navigator.clipboard.writeText(text).then(
    () => say(`${what} copied.${needsFolder(text) ? ` ${FOLDER}` : ''}`),
    () => say('The browser did not allow copying.'),
  );
}

/** A command or code to paste elsewhere. */
export function Snippet({ text, what }: { text: string; what: string }) {
  return (
    <>
      <div class="snippet">
        <pre tabIndex={0}>{text}</pre>
        <button type="button" onClick={() => copyText(text, what)}>
          Copy
        </button>
      </div>
      {needsFolder(text) && <p class="small">{FOLDER}</p>}
    </>
  );
}

/** A part of a page that can be folded away. */
export function Fold({ title, children, open = false }: FoldProps) {
  const shown = useSignal(open);
  return (
    <details class="fold" open={shown.value}>
      <summary
        onClick={(event) => {
          event.preventDefault();
          shown.value = !shown.value;
        }}
      >
        {title}
      </summary>
      {shown.value && children}
    </details>
  );
}

interface FoldProps {
  title: string;
  children: ComponentChildren;
  open?: boolean;
}

interface AbsentProps {
  title: string;
  children: ComponentChildren;
  /** Whether it is missing in the prompt, and so unknown as long as that is not read. */
  inPrompt?: boolean;
}

/** What is shown where the file holds nothing for a screen, with the command that makes it. */
export function Absent({ title, children, inPrompt }: AbsentProps) {
  if (readingPrompt.value) return null;
  if (inPrompt && unreadPrompt.value !== null) {
    return (
      <div class="absent">
        <h2>{safeText(unreadPrompt.value, 40)} could not be read</h2>
        <p>What it holds is therefore not known; the card below says what happened.</p>
      </div>
    );
  }
  return (
    <div class="absent">
      <h2>{title}</h2>
      {children}
    </div>
  );
}
