/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The values of a chart as a table: for screen readers, and for browsers without scripts.
 *
 * @module
 */
import { type Band, bandText, type ChartData } from "../browser/chart_data.ts";
import { countText, timeText, UNKNOWN_TEXT } from "../components/quantities.ts";

/** Maximum number of rows with values. */
const MAX_ROWS = 100;
/** Maximum number of rows with the state of the server. */
const MAX_STATES = 400;

/** A row: a time with its values, or with the state of the server. */
interface Row {
  readonly from: number;
  readonly to: number;
  readonly values: readonly (number | null)[];
  readonly state?: string;
}

/**
 * The folded table. Of many values, it has some at equal distances. It has all times in which the
 * server was offline or not watched, unless there are more than {@linkcode MAX_STATES}. Values that a script adds
 * (`isGrowing`) are not in it.
 */
export function ChartTable({ data, isGrowing }: { data: ChartData; isGrowing?: boolean }) {
  const { title, series, areCounts } = data;
  const [values, states] = [valueRows(data), stateRows(data)];
  const all = values.length + states.length;
  const rows = [...sampled(values, MAX_ROWS), ...sampled(states, MAX_STATES)]
    .sort((a, b) => a.from - b.from);
  const isLong = rows.some(({ from, to }) => to > from);
  const text = (value: number | null) =>
    value === null ? UNKNOWN_TEXT : areCounts ? countText(value) : String(Number(value.toFixed(1)));
  return (
    <details class="chart-table">
      <summary>
        {isGrowing ? "Values until the page was loaded" : "Values"}{" "}
        as a table{rows.length < all && `: ${rows.length} of ${countText(all)} times`}
      </summary>
      <div class="scroll" tabindex={0} role="region" aria-label={`${title}: values`}>
        <table>
          <thead>
            <tr>
              <th scope="col">{isLong ? "From (UTC)" : "Time (UTC)"}</th>
              {isLong && <th scope="col">To</th>}
              {series.map(({ name }) => (
                <th scope="col" class="number">
                  <bdi>{name}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ from, to, values, state }) => (
              <tr>
                <th scope="row">{timeText(from)}</th>
                {isLong && <td>{to > from ? timeText(to) : ""}</td>}
                {state === undefined
                  ? series.map((_, i) => <td class="number">{text(values[i] ?? null)}</td>)
                  : <td colspan={series.length}>{state}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** At most a number of rows, at equal distances. */
function sampled(rows: readonly Row[], most: number): readonly Row[] {
  const every = Math.ceil(rows.length / most);
  return rows.filter((_, i) => i % every === 0);
}

function valueRows({ pieces }: ChartData): Row[] {
  return pieces.filter(([, , ...values]) => values.some((value) => value !== null))
    .map(([from, to, ...values]) => ({ from, to, values }));
}

/** The times of bands. Adjacent ones of a kind are one row. */
function stateRows({ bands }: ChartData): Row[] {
  const joined: Band[] = [];
  for (const band of bands.toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last?.kind !== band.kind || last.to !== band.from) joined.push(band);
    else joined[joined.length - 1] = { ...band, from: last.from, share: meanShare(last, band) };
  }
  return joined.map((band) => ({ ...band, values: [], state: bandText(band) }));
}

function meanShare(a: Band, b: Band): number | undefined {
  if (a.share === undefined || b.share === undefined) return undefined;
  return (a.share * (a.to - a.from) + b.share * (b.to - b.from)) / (b.to - a.from);
}
