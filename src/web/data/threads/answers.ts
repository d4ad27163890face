/**
 * Questions and answers between threads.
 *
 * @module
 */
import { InputError } from "../../../core/errors.ts";
import { CachedServerIndex } from "../../server_index/cached_server_index.ts";
import { type DashboardData, DataError, type DataTrouble } from "../../queries/dashboard_data.ts";
import type { DatabaseAccess, DatabaseConnection } from "../database_access.ts";
import { dashboardDataOf } from "../database_reader.ts";
import type { GeoipLookup } from "../../../app/geoip/mod.ts";
import type { ServerGroups } from "../../../store/mod.ts";
import { type Publication, receivedGroups } from "./publications.ts";
import { ScannedSpace } from "../scanned_space.ts";

/** The names of the questions. */
export const METHODS = [
  "overview",
  "servers",
  "facets",
  "named",
  "server",
  "history",
  "hourlyPlayers",
  "withoutOptedOut",
  "observedSince",
  "icon",
  "status",
  "isOptedOut",
  "map",
  "members",
  "trends",
  "events",
  "scans",
  "runningScans",
  "scan",
  "scanBefore",
  "parts",
  "finds",
] as const satisfies readonly (keyof DashboardData)[];

/** What a thread receives at its start. */
export interface ThreadData {
  readonly connection: DatabaseConnection;
  /** The files of `--geoip`, which all threads share. */
  readonly geoip: readonly SharedArrayBuffer[];
}

/** A question: the call of a method. */
export interface Question {
  readonly id: number;
  readonly method: typeof METHODS[number];
  readonly values: readonly unknown[];
}

/** A message for a thread that answers. */
export type ThreadMessage = { readonly question: Question } | Publication;

/** An error that is sent to another thread. */
export interface SentError {
  readonly name: string;
  readonly message: string;
  readonly trouble?: DataTrouble;
}

/** The first message of a thread that answers: it has loaded its modules. */
export const READY = "ready";

export type ThreadAnswer =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: SentError };

/** The form of an error that can be sent. */
export function sentError(error: unknown): SentError {
  const { name, message } = error as Error;
  return { name, message, ...error instanceof DataError && { trouble: error.trouble } };
}

/** The error that another thread sent. */
export function receivedError({ name, message, trouble }: SentError): Error {
  if (trouble !== undefined) return new DataError(trouble, message);
  if (name === "InputError") return new InputError(message);
  return new Error(message);
}

/** Answers questions, one at a time. */
export class Answerer {
  readonly #space = new ScannedSpace();
  #serverIndex: CachedServerIndex | undefined;
  #groups: { readonly identity: string; readonly groups: ServerGroups } | undefined;

  constructor(private readonly access: DatabaseAccess, private readonly geoipOf: GeoipLookup) {}

  /** Uses a server index or groups from now on. */
  use(publication: Publication): void {
    const { serverIndex: memory, groups } = publication;
    if ("serverIndex" in publication) {
      this.#serverIndex = memory === undefined ? undefined : new CachedServerIndex(memory);
    }
    if (groups !== undefined) {
      this.#groups = { identity: groups.identity, groups: receivedGroups(groups) };
    }
  }

  async answer({ id, method, values }: Question): Promise<ThreadAnswer> {
    try {
      const result = await this.access.read(async (database, identity) => {
        const serverIndex = this.#serverIndex?.identity === identity
          ? this.#serverIndex
          : undefined;
        const groups = this.#groups?.identity === identity ? this.#groups.groups : undefined;
        const state = { serverIndex, space: this.#space, groups };
        const data = dashboardDataOf(database, state, this.geoipOf);
        return await (data[method] as (...values: readonly unknown[]) => Promise<unknown>)(
          ...values,
        );
      });
      return { id, result };
    } catch (error) {
      return { id, error: sentError(error) };
    }
  }
}
