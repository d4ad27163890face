/** The colours of the map: which values have which of the colours 1 to 5, and how a legend names them. */

/** Values with one colour. */
export interface ColorStep {
  /** The number of the colour: 1 is the weakest, 5 the strongest. */
  readonly color: number;
  /** The least value with this colour. The next step's value is the first one without it. */
  readonly from: number;
  readonly label: string;
  readonly isHatched?: boolean;
}

/** Minutes since the last probe: an hour, a day, a week, 30 days. */
const AGES: readonly ColorStep[] = [
  { color: 5, from: 0, label: "up to 1 hour" },
  { color: 4, from: 61, label: "up to 1 day" },
  { color: 3, from: 1441, label: "up to 7 days" },
  { color: 2, from: 10_081, label: "up to 30 days" },
  { color: 1, from: 43_201, label: "older" },
];
const SPACE: readonly ColorStep[] = [
  { color: 2, from: 1, label: "scanned" },
  { color: 0, from: 2, label: "excluded", isHatched: true },
  { color: 2, from: 3, label: "partly excluded", isHatched: true },
  { color: 1, from: 4, label: "sampled" },
  { color: 1, from: 6, label: "sampled, partly excluded", isHatched: true },
];

/** The steps of a layer, by ascending values. The highest value bounds those of counts. */
export function mapSteps(layer: string, most: number): readonly ColorStep[] {
  if (layer === "age") return AGES;
  if (layer === "scanned") return SPACE;
  return countSteps(most);
}

/** At most five steps from 1 to the highest value, each with the same ratio. */
function countSteps(most: number): ColorStep[] {
  const starts = [0, 1, 2, 3, 4].map((i) => Math.round(Math.max(5, most) ** (i / 5)));
  const unique = [...new Set(starts)].map((from, i) => from > i ? from : i + 1);
  return unique.map((from, i) => {
    const next = unique[i + 1];
    const end = next === undefined ? " and more" : next - 1 > from ? ` to ${next - 1}` : "";
    return { color: i + 6 - unique.length, from, label: `${from}${end}` };
  });
}

/** The step of a value; undefined: the cell is empty. */
export function stepOf(steps: readonly ColorStep[], value: number): ColorStep | undefined {
  return steps.findLast(({ from }) => value >= from);
}
