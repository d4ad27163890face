/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The values of a chart as a table: for screen readers, and for browsers without scripts.
 *
 * @module
 */
import { BANDS, type ChartData } from "../browser/chart_data.ts";
import { countText, timeText, UNKNOWN } from "../parts/quantities.ts";

/** Maximum number of rows. */
const MAX_ROWS = 100;

/** A row: a time with its values, or with the state of the server. */
interface Row {
  readonly from: number;
  readonly to: number;
  readonly values: readonly (number | null)[];
  readonly state?: string;
}

/**
 * The folded table. Of many times, it has some at equal distances. Values that a script adds
 * (`isGrowing`) are not in it.
 */
export function ChartTable({ data, isGrowing }: { data: ChartData; isGrowing?: boolean }) {
  const { title, series, areCounts } = data;
  const all = rowsOf(data);
  const every = Math.ceil(all.length / MAX_ROWS);
  const rows = all.filter((_, i) => i % every === 0);
  const isLong = rows.some(({ from, to }) => to > from);
  const text = (value: number | null) =>
    value === null ? UNKNOWN : areCounts ? countText(value) : String(Number(value.toFixed(1)));
  return (
    <details class="chart-table">
      <summary>
        {isGrowing ? "Values until the page was loaded" : "Values"}{" "}
        as a table{every > 1 && `: ${rows.length} of ${countText(all.length)} times`}
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

/** The times of values and of bands in their order. */
function rowsOf({ pieces, bands }: ChartData): Row[] {
  const known = pieces.filter(([, , ...values]) => values.some((value) => value !== null));
  const rows: Row[] = [
    ...known.map(([from, to, ...values]) => ({ from, to, values })),
    ...bands.map(({ from, to, kind }) => ({ from, to, values: [], state: BANDS[kind] })),
  ];
  return rows.sort((a, b) => a.from - b.from);
}
