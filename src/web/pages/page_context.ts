/**
 * What a page receives besides its data: the request, and facts about this dashboard.
 *
 * @module
 */
import type { DashboardFilters } from "../queries/dashboard_data.ts";

/** How the program was called, for the commands that pages suggest. */
export interface Caller {
  /** The command: `blocksweep` or `deno task`. */
  readonly program: string;
  /** The database as a word of a shell, without a password. */
  readonly location: string;
}

/** A command for the open database, in which `DATABASE` stands for it: `watch DATABASE`. */
export function commandFor({ caller }: Pick<PageContext, "caller">, words: string): string {
  return `${caller.program} ${words.replace("DATABASE", () => caller.location)}`;
}

/** The request of a page, and facts about the dashboard. Pages read no clock and no files. */
export interface PageContext {
  /** The path of the request, such as `/servers`. */
  readonly path: string;
  /** The filters of the request's URL, which links of the page keep. */
  readonly filters: DashboardFilters;
  /** The search of the request's URL, as a user wrote it. */
  readonly search: string;
  /** The time of the request, Unix milliseconds. */
  readonly now: number;
  /** The name of the database for the heading: its file name, or its PostgreSQL database. No password. */
  readonly database: string;
  readonly caller: Caller;
  /** The path of the folder with styles and scripts, with a `/` at its end. It changes when they change. */
  readonly assets: string;
  /** Whether `--geoip` was given: without it pages omit countries and operators. */
  readonly hasGeoip: boolean;
  /** Texts that the files of `--geoip` want to be shown. */
  readonly attributions: readonly string[];
}
