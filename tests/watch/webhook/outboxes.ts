/** Outboxes of webhooks for tests. */
import { assertEquals } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import type { WatchEvent } from "../../../src/store/events/watch_event.ts";
import { EventOutbox, type EventOutboxOptions } from "../../../src/watch/webhook/event_outbox.ts";
import { type OutboxFile, prepareOutbox } from "../../../src/watch/webhook/outbox_file.ts";
import { shared } from "./feed_queues.ts";

/** The file of an outbox, in memory. It stays when the outbox is closed. */
export interface MemoryFile {
  readonly database: Database;
  /** The parameters of all statements. */
  readonly written: unknown[];
  /** Number of transactions. */
  writes: number;
  /** Added to the time of the database, milliseconds. */
  laterMs: number;
  /** While it is set, transactions fail with this message. */
  fault: string | undefined;
  readonly openFile: () => Promise<OutboxFile>;
}

/** Creates a file in memory. */
export async function memoryFile(): Promise<MemoryFile> {
  const database = openSqlite(":memory:");
  await prepareOutbox(database);
  const written: unknown[] = [];
  const file: MemoryFile = {
    database,
    written,
    writes: 0,
    laterMs: 0,
    fault: undefined,
    openFile: () => {
      const recording = new Proxy(shared(database), {
        get(target, name) {
          const value = Reflect.get(target, name);
          if (name === "now") return () => database.now() + file.laterMs;
          if (name !== "run" && name !== "transaction") return value;
          return (first: unknown, parameters: readonly unknown[] = []) => {
            written.push(...parameters);
            if (name === "transaction") file.writes++;
            if (file.fault !== undefined && name === "transaction") {
              return Promise.reject(new Error(file.fault));
            }
            return value(first, parameters);
          };
        },
      });
      return Promise.resolve({ database: recording, remove: () => Promise.resolve() });
    },
  };
  return file;
}

/** Opens an outbox; without a file, in memory only. */
export function outboxIn(
  file?: MemoryFile,
  options: Partial<EventOutboxOptions> = {},
): Promise<EventOutbox> {
  const path = file && "servers.db.webhook";
  return EventOutbox.open({
    ...{ path, onWriteError: unexpected, openFile: file?.openFile },
    ...options,
  });
}

function unexpected(reason: string): never {
  throw new Error(reason);
}

export const eventOf = (number: number, kind: "players" | "opted_out" = "opted_out") => ({
  ...{ id: `w:${number}`, event: kind, at: 1, host: "127.0.0.1", port: 1, requested_as: null },
  ...{ scan_id: "w", name: "§ä".repeat(number % 7) },
  ...(kind === "players" && { players_online: [1, 2] as const }),
} as WatchEvent);

export function add(outbox: EventOutbox, from: number, to: number): number {
  let dropped = 0;
  for (let number = from; number <= to; number++) dropped += outbox.add(eventOf(number));
  return dropped;
}

/** The numbers of the waiting events. */
export function numbers(outbox: EventOutbox): number[] {
  return outbox.oldest(Infinity).map((event) => {
    const number = Number(event.id.slice(2));
    assertEquals(event, eventOf(number, event.event as "players" | "opted_out"));
    return number;
  });
}

export const upTo = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);
