/**
 * Opens a database for the dashboard: threads read it.
 *
 * @module
 */
import type { Worker, WorkerOptions } from "node:worker_threads";
import { nodeThreads } from "../../core/node_modules.ts";
import { systemClock } from "../../net/clock.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";
import { type ConnectionEnvironment, readStore } from "../../store/mod.ts";
import { METHODS, READY, type ThreadAnswer, type ThreadData } from "./threads/answers.ts";
import type { Publication } from "./threads/publications.ts";
import type { DashboardData } from "../queries/dashboard_data.ts";
import type { DatabaseConnection } from "./database_access.ts";
import { type StartThread, ThreadPool } from "./threads/thread_pool.ts";

/** The data of a database that stays open until it is disposed of. */
export interface OpenDashboardData extends DashboardData, AsyncDisposable {}

/** Limits of a thread's memory. A larger space for new objects is not faster here. */
const MEMORY = { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: 256 };
/** Pause before the thread of the server index starts again after an error, milliseconds. */
const RESTART_MS = 10_000;

/**
 * Opens a database for the dashboard, for reading only.
 *
 * @param report Receives a line when the servers cannot be counted.
 * @param geoip The files of `--geoip`.
 * @throws InputError when the database does not exist or cannot be used.
 */
export async function openDashboardData(
  location: DatabaseLocation,
  environment: ConnectionEnvironment,
  report: (line: string) => void,
  geoip: readonly SharedArrayBuffer[] = [],
): Promise<OpenDashboardData> {
  await (await readStore(location, environment))[Symbol.asyncDispose]();
  const threadData = { connection: await connectionOf(location, environment), geoip };
  await using opening = new AsyncDisposableStack();
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  const pool = opening.use(new ThreadPool(queryThreads(threadData, resolve, reject), systemClock));
  opening.defer(keepServerIndexOf(threadData, (publication) => pool.publish(publication), report));
  await ready;
  const threads = opening.move();
  const methods = METHODS.map((name) => [
    name,
    (...values: readonly unknown[]) => pool.ask(name, values),
  ]);
  return {
    ...Object.fromEntries(methods) as DashboardData,
    [Symbol.asyncDispose]: () => threads.disposeAsync(),
  };
}

/** How to connect to a database: its location, and what the environment adds. */
async function connectionOf(
  { path, file, postgres }: DatabaseLocation,
  { resolve, password }: ConnectionEnvironment,
): Promise<DatabaseConnection> {
  if (postgres === undefined) return { name: path, file: resolve(file) };
  const { rootCertificate } = postgres;
  return {
    name: path,
    postgres,
    password: postgres.password ?? await password(postgres),
    ...rootCertificate !== undefined && {
      certificate: await Deno.readTextFile(resolve(rootCertificate)),
    },
  };
}

function optionsOf(workerData: ThreadData): WorkerOptions {
  return { workerData, resourceLimits: MEMORY };
}

/**
 * Starts threads that answer questions.
 *
 * @param onReady Called when a thread has loaded its modules.
 * @param onError Called when a thread has failed, for example because a module is missing.
 */
function queryThreads(
  threadData: ThreadData,
  onReady: () => void,
  onError: (error: Error) => void,
): StartThread {
  return ({ onAnswer, onFailure }) => {
    const { Worker } = nodeThreads();
    const worker = new Worker(
      new URL("./threads/query_thread.ts", import.meta.url),
      optionsOf(threadData),
    );
    worker.on("message", (message: ThreadAnswer | typeof READY) => {
      if (message === READY) onReady();
      else onAnswer(message);
    });
    worker.on("error", (error: Error) => {
      onError(error);
      onFailure(error);
    });
    return {
      post: (message) => worker.postMessage(message),
      end: () => void worker.terminate(),
    };
  };
}

/** Keeps the server index and the groups of a database in a thread. Returns a function that ends the thread. */
function keepServerIndexOf(
  threadData: ThreadData,
  publish: (publication: Publication) => void,
  report: (line: string) => void,
): () => Promise<void> {
  let cancel = () => {};
  let worker: Worker;
  const { Worker } = nodeThreads();
  const start = () => {
    worker = new Worker(
      new URL("./threads/server_index_thread.ts", import.meta.url),
      optionsOf(threadData),
    );
    worker.on("message", publish);
    worker.on("error", (error: Error) => {
      report(`blocksweep: cannot count the servers: ${error.message}; trying again`);
      cancel = systemClock.after(RESTART_MS, start);
    });
  };
  start();
  return async () => {
    cancel();
    await worker.terminate();
  };
}
