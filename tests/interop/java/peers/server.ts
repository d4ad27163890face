/**
 * Servers of node-minecraft-protocol: `server.ts JSON`, a list of {@linkcode ServerOptions}. Prints
 * `ready` when all servers listen, and `HOST PACKET JSON` for each received packet.
 */
// deno-lint-ignore-file no-console
import process from "node:process";

/** The configuration of a server. */
interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly version: string | false;
  /** Values that are written into the status before it is sent. */
  readonly status?: Record<string, unknown>;
  /** Clients whose connections are closed without a status: none, all, or those with one protocol number. */
  readonly closesOn?: "all" | number;
  /** Other options are those of createServer(). */
  readonly motd?: string;
}

interface Connected {
  readonly protocolVersion: number;
  on(event: string, then: (...values: never[]) => void): void;
}

interface Server {
  on(event: string, then: (client: Connected) => void): void;
}

const name = "minecraft-protocol"; // not a literal, because only the configuration of this folder has this package
const { default: { createServer } } = await import(name);

function start({ status, closesOn, ...options }: ServerOptions): Promise<void> {
  type Reply = (error: null, response: unknown) => void;
  const beforePing = (response: object, { protocolVersion }: Connected, reply: Reply) => {
    const closes = closesOn === "all" || closesOn === protocolVersion;
    reply(null, closes ? false : Object.assign(response, status));
  };
  const server: Server = createServer({ "online-mode": false, beforePing, ...options });
  server.on("connection", (client) => {
    client.on("error", () => {}); // the library reports a closed connection as an error
    client.on("packet", (data: object, meta: { name: string }) => {
      console.log(options.host, meta.name, JSON.stringify(data));
    });
  });
  return new Promise((resolve) => server.on("listening", () => resolve()));
}

await Promise.all((JSON.parse(process.argv[2]) as ServerOptions[]).map(start));
console.log("ready");
