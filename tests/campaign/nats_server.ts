/** Temporary NATS servers with JetStream, on free ports of loopback. */
import { connectBroker } from "../../src/campaign/nats/connection.ts";
import { InputError } from "../../src/core/errors.ts";
import { freePort } from "../fakes/free_port.ts";
import type { Register } from "../long.ts";

/** A running server. */
export interface NatsServer extends AsyncDisposable {
  /** The port of clients. It stays the same after a restart. */
  readonly port: number;
  /** The URL without a user. */
  readonly url: string;
  /** The name of the server in its cluster. */
  readonly name: string;
  /** The log of the server. */
  readonly log: readonly string[];
  /** Ends the server. Default: `SIGTERM`, after which it stores everything. */
  readonly stop: (signal?: Deno.Signal) => Promise<void>;
  /** Starts the server again, with the same port and the same stored messages. */
  readonly start: () => Promise<void>;
}

/** Options of a server. */
export interface NatsServerOptions {
  /** The name of the server. */
  readonly name?: string;
  /** Whether the server has JetStream. Default: true. */
  readonly jetStream?: boolean;
  /** Lines of the configuration, for example users and TLS. */
  readonly config?: string;
}

/** Debian puts the program into a folder that is in the PATH of root only. */
const FIND = 'PATH="$PATH:/usr/sbin:/usr/local/sbin"';

const isInstalled = (await new Deno.Command("sh", {
  args: ["-c", `${FIND}; command -v nats-server`],
  stdout: "null",
}).output()).success;

/** A test that needs `nats-server`. Without it, the test is ignored, and its name gives the reason. */
export function natsTest(
  name: string,
  fn: () => Promise<void>,
  register: Register = Deno.test,
): void {
  if (isInstalled) return register(name, fn);
  Deno.test({ name: `${name} (nats-server is missing)`, ignore: true, fn });
}

/** Starts a server. */
export async function startNats(
  { name = "single", jetStream = true, config = "" }: NatsServerOptions = {},
): Promise<NatsServer> {
  const folder = await Deno.makeTempDir({ prefix: "blocksweep-nats-" });
  const log: string[] = [];
  let port = 0;
  let running: { child: Deno.ChildProcess; logged: Promise<void> } | undefined;

  const start = async () => {
    const lines = [
      `server_name: ${name}`,
      `listen: "127.0.0.1:${port === 0 ? -1 : port}"`,
      ...jetStream ? [`jetstream { store_dir: "${folder}/store" }`] : [],
      config,
    ];
    await Deno.writeTextFile(`${folder}/nats.conf`, `${lines.join("\n")}\n`);
    const child = new Deno.Command("sh", {
      args: ["-c", `${FIND}; exec nats-server -c "$1"`, "sh", `${folder}/nats.conf`],
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const ready = Promise.withResolvers<void>();
    const logged = readLines(child.stderr, (line) => {
      log.push(line);
      const [, listening] = /Listening for client connections on [^ ]*:(\d+)/.exec(line) ?? [];
      if (listening !== undefined) port = Number(listening);
      if (line.includes("Server is ready")) ready.resolve();
    });
    logged.then(() => ready.reject(new Error(`nats-server ended:\n${log.slice(-5).join("\n")}`)));
    running = { child, logged };
    await ready.promise;
  };
  const stop = async (signal: Deno.Signal = "SIGTERM") => {
    if (running === undefined) return;
    running.child.kill(signal);
    await Promise.all([running.child.status, running.logged]);
    running = undefined;
  };

  await start();
  return {
    port,
    url: `nats://127.0.0.1:${port}`,
    name,
    log,
    start,
    stop,
    async [Symbol.asyncDispose]() {
      await stop("SIGKILL");
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Starts a cluster of three servers, and waits until it can store messages on all of them. */
export async function startCluster(): Promise<NatsServer[] & AsyncDisposable> {
  const ports = [1, 2, 3].map(freePort);
  const routes = ports.map((port) => `"nats://127.0.0.1:${port}"`).join(", ");
  const servers = await Promise.all(ports.map((port, i) =>
    startNats({
      name: `n${i + 1}`,
      config: `cluster { name: trio, listen: "127.0.0.1:${port}", routes: [${routes}] }`,
    })
  ));
  const cluster = Object.assign(servers, {
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    },
  });
  // A server that joins late does not log the leader.
  await until(() =>
    servers.some(({ log }) => log.some((line) => line.includes("metadata leader")))
  );
  await until(() => canStoreThrice(servers[0]));
  return cluster;
}

/** Whether a cluster has a leader, and knows three servers. */
async function canStoreThrice({ url }: NatsServer): Promise<boolean> {
  try {
    await using broker = await connectBroker({ nats: url }, "test");
    await broker.jsm.streams.add({ name: "PROBE", subjects: ["probe"], num_replicas: 3 });
    return await broker.jsm.streams.delete("PROBE");
  } catch (error) {
    if (error instanceof InputError || error instanceof Error && "code" in error) return false;
    throw error;
  }
}

/** Waits until a condition is true. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!await condition()) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function readLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  use: (line: string) => void,
) {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    lines.forEach(use);
  }
}
