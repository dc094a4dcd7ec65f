/** The page without a file. */

import { view } from '../state/view';
import { busy } from '../state/workspace';
import { Snippet } from '../ui/controls';
import { OpenButton } from '../ui/files';
import { safeText } from '../model/tokens';

export function Welcome() {
  const wanted = view.file.value;
  return (
    <div class="welcome">
      <h2>attnscope</h2>
      <p class="lead">See what every attention head does, next to what it causes.</p>
      <div class="zone">
        {busy.value !== null ? (
          <p>Opening {safeText(busy.value)} …</p>
        ) : (
          <>
            <p>
              {wanted
                ? `This link shows ${safeText(wanted)}. Drop that file here, or pick it.`
                : 'Drop an .h5 file here, or several of the same model.'}
            </p>
            <OpenButton label="Pick files" primary />
          </>
        )}
        <p class="small">Files stay on this computer; nothing is uploaded.</p>
      </div>
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
