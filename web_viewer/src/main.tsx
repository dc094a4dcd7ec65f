import { render } from 'preact';
import { App, help, shareLink } from './screens/shell';
import { exposeForTests } from './screens/expose';
import { followCompare } from './state/compare';
import { swapSides } from './screens/compare_tools';
import { followKeys, screenKeys } from './state/keys';
import { followNotes } from './state/notes';
import { followHead } from './state/rows';
import { followTheme } from './state/theme';
import { followAddress } from './state/view';
import { followPrompts } from './state/prompts';
import { client, openSource } from './state/workspace';
import { copyText } from './ui/controls';
import { acceptDrops } from './ui/files';

followTheme();
followAddress();
followPrompts();
followHead();
followCompare();
followNotes();
followKeys();
acceptDrops();
exposeForTests();

screenKeys.set('?', () => (help.value = true));
screenKeys.set('x', () => {
  swapSides();
  return true;
});
screenKeys.set('y', () => {
  void copyText(shareLink(), 'Link');
  return true;
});

/** A served page is told by its address which files to open: ?file=URL, as often as needed. */
for (const url of new URLSearchParams(location.search).getAll('file')) {
  const absolute = new URL(url, location.href);
  if (absolute.origin !== location.origin) continue;
  void openSource(
    { kind: 'url', url: absolute.href },
    decodeURIComponent(absolute.pathname.split('/').pop() ?? url),
  );
}

/** A page that was made with a file inside brings it along. */
for (const element of document.querySelectorAll<HTMLScriptElement>('script[data-file]')) {
  const bytes = Uint8Array.from(atob(element.textContent?.trim() ?? ''), (c) => c.charCodeAt(0));
  void openSource({ kind: 'bytes', bytes }, element.dataset.file ?? 'file.h5');
}

render(<App />, document.getElementById('app')!);

// Once the page is on screen, HDF5 gets ready for the first file.
requestAnimationFrame(() => setTimeout(() => client.warmUp(), 0));
