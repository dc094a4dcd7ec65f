import { render } from 'preact';
import { App, fetchLaterScreens, help, shareLink } from './screens/shell';
import { followKeys, screenKeys } from './state/keys';
import { followNotes } from './state/notes';
import { followHead } from './state/rows';
import { followTheme } from './state/theme';
import { followAddress } from './state/view';
import { followPrompts } from './state/prompts';
import { openAtStart } from './state/opening';
import { client } from './state/workspace';
import { copyText } from './ui/controls';
import { acceptDrops } from './ui/files';

followTheme();
followAddress();
followPrompts();
followHead();
followNotes();
followKeys();
acceptDrops();

screenKeys.set('?', () => (help.value = true));
screenKeys.set('y', () => {
  void copyText(shareLink(), 'Link');
  return true;
});

void openAtStart();
render(<App />, document.getElementById('app')!);

// Once the page is on screen, HDF5 gets ready for the first file, and the other screens come.
requestAnimationFrame(() =>
  setTimeout(() => {
    client.warmUp();
    void fetchLaterScreens();
  }, 0),
);
