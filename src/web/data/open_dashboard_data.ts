/**
 * Opens a database for the dashboard.
 *
 * @module
 */
import type { DatabaseLocation } from "../../store/database_location.ts";
import { type ConnectionEnvironment, readStore } from "../../store/open_store.ts";
import type { DashboardData } from "./dashboard_data.ts";
import { dataOf } from "./database_reader.ts";

/** The data of a database that stays open until it is disposed of. */
export interface OpenDashboardData extends DashboardData, AsyncDisposable {}

/**
 * Opens a database for the dashboard, for reading only.
 *
 * @throws InputError when the database does not exist or cannot be used.
 */
export async function openDashboardData(
  location: DatabaseLocation,
  environment: ConnectionEnvironment,
): Promise<OpenDashboardData> {
  const database = await readStore(location, environment);
  return Object.assign(dataOf(database), {
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  });
}
