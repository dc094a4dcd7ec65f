/** Every screen but the first, and what only they need: fetched when the page is on screen. */

import { followCompare } from '../state/compare';
import { cancelExport } from '../state/export_map';
import { stops } from '../state/keys';
import { laterChecks } from '../state/link';
import { ofCells } from '../state/link_cells';
import { followMapMeans, stopMeans } from '../state/map_means';
import { CausalScreen } from './causal';
import { CompareScreen } from './compare';
import { exposeForTests } from './expose';
import { FileScreen } from './file';
import { HeadScreen } from './head';
import { LensScreen } from './lens';

export const laterScreens = {
  head: HeadScreen,
  compare: CompareScreen,
  causal: CausalScreen,
  lens: LensScreen,
  file: FileScreen,
};

followCompare();
stops.push(cancelExport, stopMeans);
laterChecks.value = [ofCells];
followMapMeans();
exposeForTests();
