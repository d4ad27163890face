/**
 * Watches known servers from a program.
 *
 * @module
 */
import { Interrupted } from "../app/mod.ts";
import { namesFile } from "../app/options/mod.ts";
import { hasFileSuffix } from "../app/targets/mod.ts";
import { prepareWatch, readWatch, runPreparedWatch } from "../app/watch/mod.ts";
import type { WatchEvent } from "../store/events/watch_event.ts";
import { parseDatabaseLocation } from "../store/database_location.ts";
import { callContext, signalOf } from "./common_options.ts";
import { absolutePath, givenOptions, textList } from "./given_options.ts";
import { iterateTask, type Results } from "./iterate_task.ts";
import type { WatchOptions } from "./watch_options.ts";

/**
 * Polls servers at a regular interval, and yields an event for each change: a server goes online or
 * offline, its columns or players change, it was restarted, or it opted out. Events of the watch itself
 * (`watcher_offline`, `watcher_online`) have no host. The watch runs until the
 * loop is left. Its sockets are then closed. While the loop is busy with an event, no further polls
 * start.
 *
 * Databases among the servers are also written to. Needs `--allow-net`, `--allow-env` and
 * `--allow-read` (`--allow-write` to record opt-outs and to write databases), and
 * `"unstable": ["net"]` in deno.json.
 *
 * @param servers Addresses and names, each optionally with a port, in the form of {@linkcode query};
 * files with rows or targets; databases.
 * @throws InputError for a server or an option that cannot be used, and when every server opted out.
 *
 * @example Wait until a server is online
 * ```ts
 * import { watch } from "blocksweep";
 * import { SimulatedNetwork } from "blocksweep/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const network = new SimulatedNetwork();
 * network.addServer({ host: "10.0.0.7", software: "bds", status: { name: "Lobby" } });
 * const waitUntilOnline = async () => {
 *   for await (const event of watch(["10.0.0.7:19132"], { network })) {
 *     if (event.event === "online") return event.server.name;
 *   }
 * };
 * assertEquals(await network.run(waitUntilOnline()), "Lobby");
 * ```
 */
export function watch(
  servers: readonly string[],
  options: WatchOptions = {},
): AsyncGenerator<WatchEvent, void, undefined> {
  return iterateTask((results) => run(servers, options, results));
}

async function run(
  words: readonly string[],
  options: WatchOptions,
  { add, room, left }: Results<WatchEvent>,
): Promise<void> {
  const given = givenOptions("watch", textList("servers", words).map(wordOf), options);
  const signal = AbortSignal.any([signalOf(options), left]);
  const request = await readWatch(given, {
    ...callContext("watch", options),
    listenForInterrupt: () => ({ signal, [Symbol.dispose]: () => {} }),
  });
  try {
    await using watch = await prepareWatch(request);
    const onEvent = (event: WatchEvent) => void add(event);
    await runPreparedWatch(watch, { signal, onEvent, beforePoll: room });
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error; // the signal ended the wait for a database
  }
}

/** A word with an absolute path, if it names a file or a database. */
function wordOf(word: string): string {
  const isDatabase = parseDatabaseLocation(word) !== undefined;
  return isDatabase || hasFileSuffix(word) || namesFile(absolutePath(word))
    ? absolutePath(word)
    : word;
}
