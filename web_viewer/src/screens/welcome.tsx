/** The page without a file. */

import { bytes } from '../model/numbers';
import { safeText } from '../model/tokens';
import { openDemo } from '../state/opening';
import { forgetRecent, recent } from '../state/recent';
import { view } from '../state/view';
import { awaited, busy } from '../state/workspace';
import { Snippet } from '../ui/controls';
import { OpenButton } from '../ui/files';

/** A browser does not let a page open a file again by itself, so the names are a reminder only. */
function RecentNames() {
  if (recent.value.length === 0) return null;
  return (
    <section class="recent" aria-label="Opened before">
      <p>Opened before:</p>
      <ul>
        {recent.value.map(({ name, size }) => (
          <li key={name}>
            {safeText(name, 60)}, {bytes(size)}
          </li>
        ))}
      </ul>
      <button type="button" class="link" onClick={forgetRecent}>
        Forget these names
      </button>
    </section>
  );
}

export function Welcome() {
  const wanted = view.file.value;
  const opening = awaited.value || busy.value;
  return (
    <div class="welcome">
      <h2>attnscope</h2>
      <p class="lead">See what every attention head does, next to what it causes.</p>
      <div class="zone">
        {opening ? (
          <p>Opening {safeText(opening)} …</p>
        ) : (
          <>
            <p>
              {wanted
                ? `This link shows ${safeText(wanted)}. Drop that file here, or pick it.`
                : 'Drop an .h5 file here, or several of the same model.'}
            </p>
            <div class="welcome-buttons">
              <OpenButton label="Pick files" primary />
              <button
                type="button"
                title="A small language model on one sentence, and what its heads cause"
                onClick={() => openDemo()}
              >
                Open the demo
              </button>
            </div>
          </>
        )}
        <p class="small">Your file stays on this computer; nothing is uploaded.</p>
      </div>
      <RecentNames />
      <div class="how">
        <p>No file yet? These make one (see attnscope --help):</p>
        <Snippet text={'attnscope capture -m MODEL --prompt "TEXT" -o run.h5'} what="Command" />
        <Snippet
          text={'attnscope verdict -m MODEL --pairs PAIRS.jsonl -o verdict.h5'}
          what="Command"
        />
      </div>
    </div>
  );
}
