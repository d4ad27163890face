/**
 * Generated months: 208 servers on 8 networks are born, die, return, change, move under their names and
 * lie; scans with other targets, ports and protocols end early, are resumed, killed and retried, lose
 * replies and the database, in one program and in parts of a campaign; a watch polls some of the servers
 * and is restarted; rows are imported, servers forgotten and opted out, old rows pruned. The events, the
 * states of servers, what scans saw of them and what differs between scans equal the truth after each day.
 *
 * Covers src/store/writers/ and src/store/scan_differences.ts.
 */
import { assertEquals } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import { inFolder } from "../../app/resume/stopped_programs.ts";
import { longTest } from "../../long.ts";
import { onEngines, onSqlite } from "../databases.ts";
import { Month } from "./month.ts";

const KINDS = ["new", "back", "lost", "online", "offline", "changed", "restarted", "scan_summary"];

const runMonth = (seed: number) => (database: Database) =>
  inFolder(async (folder) => {
    const month = new Month(seed, database, folder);
    await month.run();
    assertEquals(KINDS.filter((kind) => month.truth.counts[kind] === undefined), []);
  });

const title = (seed: number) => `a generated month equals the truth (seed ${seed})`;

for (const seed of [1, 2]) onEngines(title(seed), runMonth(seed));
for (const seed of [3, 4, 5]) onSqlite(title(seed), runMonth(seed));
for (let seed = 6; seed <= 100; seed++) onSqlite(title(seed), runMonth(seed), longTest);
