/** How the address names results: by experiment, and by file where several have one of that name. */

export interface ExperimentPlace {
  name: string;
  file: string;
  /** Number of the file among those that are open, from 1; what older links have. */
  place: number;
}

const inFile = ({ name, file }: ExperimentPlace): string => `${name}@${file}`;

export function experimentIds(all: readonly ExperimentPlace[]): string[] {
  const count = (same: (one: ExperimentPlace) => boolean) => all.filter(same).length;
  return all.map((one) => {
    if (count(({ name }) => name === one.name) === 1) return one.name;
    const id = inFile(one);
    return count((other) => inFile(other) === id) === 1 ? id : `${id}@${one.place}`;
  });
}

/** A link may have been made among other files, and so have more or less than the name needs here.
 *  The first way that finds any holds. */
const ways: readonly ((one: ExperimentPlace, wanted: string) => boolean)[] = [
  (one, wanted) => inFile(one) === wanted,
  (one, wanted) => one.name === wanted,
  (one, wanted) => `${one.name}@${one.place}` === wanted,
];

export function findExperiment<T extends { id: string; place: ExperimentPlace }>(
  all: readonly T[],
  wanted: string,
): T | undefined {
  if (wanted === '') return undefined;
  const exact = all.find(({ id }) => id === wanted);
  if (exact) return exact;
  const way = ways.find((matches) => all.some(({ place }) => matches(place, wanted)));
  return way && all.find(({ place }) => way(place, wanted));
}
