/**
 * Reads the servers that a page compares, and chooses periods of histories.
 *
 * @module
 */
import type { ComparePageData } from "../pages/compare_page.tsx";
import { fittingLength, HISTORY_MS, periodOf } from "../queries/common_parameters.ts";
import type { DashboardData } from "../queries/dashboard_data.ts";

/** A period as a URL has it. */
interface Bounds {
  readonly from: number | undefined;
  readonly to: number | undefined;
}

/** The period of a page: without a start or an end in the URL, one that fits the observations. */
export async function pagePeriod(
  data: DashboardData,
  ids: readonly number[],
  { from, to }: Bounds,
  now: number,
): Promise<{ readonly from: number; readonly to: number }> {
  if (from !== undefined || to !== undefined) return periodOf(from, to, now);
  const since = await data.observedSince(ids, now - HISTORY_MS);
  return periodOf(from, to, now, fittingLength(since, now));
}

/** Number of steps of a history that is compared with others. */
const COMPARED_STEPS = 200;

/** The servers with some names, and their histories in a period, in steps. */
export async function comparedServers(
  data: DashboardData,
  names: readonly (number | string)[],
  bounds: Bounds,
  now: number,
): Promise<ComparePageData> {
  const found = await Promise.all(names.map(async (name) => {
    const matching = typeof name === "string" ? await data.named(name) : [];
    const id = typeof name === "number" ? name : matching.length === 1 ? matching[0].id : undefined;
    const details = id === undefined ? undefined : await data.server(id);
    return { name: String(name), matching, details };
  }));
  const servers = new Map(
    found.flatMap(({ details }) => details === undefined ? [] : [[details.server.id, details]]),
  );
  const { from, to } = await pagePeriod(data, [...servers.keys()], bounds, now);
  const step = Math.ceil((to - from) / COMPARED_STEPS);
  return {
    ...{ from, to, ambiguous: found.filter(({ matching }) => matching.length > 1) },
    missing: found.filter(({ matching, details }) => matching.length < 2 && details === undefined)
      .map(({ name }) => name),
    servers: await Promise.all([...servers].map(async ([id, details]) => ({
      details,
      history: await data.history(id, from, to, step),
    }))),
  };
}
