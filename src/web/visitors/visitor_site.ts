/**
 * What all pages of the public list share.
 *
 * @module
 */
import type { DashboardData } from "../queries/dashboard_data.ts";

/** A public list of servers, for visitors. */
export interface VisitorSite {
  /** The address under which visitors see it, without a `/` at its end: `https://servers.example.org`. */
  readonly base: string;
  /** Who runs it: an e-mail address or a URL. */
  readonly contact: string;
  /** Whether the status API is served too, and so banners. */
  readonly hasBanners: boolean;
}

/** What a page for visitors receives besides its data. */
export interface VisitorContext extends VisitorSite {
  readonly data: DashboardData;
  /** The path and the query of the request. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The time of the request, Unix milliseconds. */
  readonly now: number;
  /** The path of the folder with styles and scripts, with a `/` at its end. */
  readonly assets: string;
  readonly hasGeoip: boolean;
  /** Texts that the files of `--geoip` want to be shown. */
  readonly attributions: readonly string[];
}
