/** A NATS server with the configuration of data/campaign/nats.conf. */
import { assert } from "@std/assert";
import { type Broker, connectBroker } from "../../src/campaign/nats/connection.ts";
import { certify } from "./certificates.ts";
import { type NatsServer, startNats } from "./nats_server.ts";

const FILE = new URL("../../data/campaign/nats.conf", import.meta.url);

/** The users of the configuration. */
export const USERS = ["submitter", "worker", "collector", "watcher"] as const;
export type User = typeof USERS[number];

/** A server with the configuration of the file, and what the URLs of its users need. */
export interface Secured extends AsyncDisposable {
  readonly server: NatsServer;
  readonly natsCa: string;
  url(user: User): string;
  connect(user: User): Promise<Broker>;
}

/** Starts a server with TLS and the users, in a folder of its own. */
export async function startSecured(): Promise<Secured> {
  const folder = await Deno.makeTempDir({ prefix: "blocksweep-users-" });
  const { ca: natsCa, certificate, key } = await certify(folder, "nats", "IP:127.0.0.1");
  let config = await Deno.readTextFile(FILE);
  const replace = (pattern: RegExp, text: string) => {
    assert(pattern.test(config), `${pattern}`);
    config = config.replace(pattern, text);
  };
  // The folder, the port and the name are those of the test.
  replace(/^server_name: .*$/m, "");
  replace(/^listen: .*$/m, "");
  replace(/^jetstream \{[^}]*\}$/m, "");
  replace(/"\/etc\/nats\/server.pem"/, `"${certificate}"`);
  replace(/"\/etc\/nats\/server.key"/, `"${key}"`);
  const passwords = USERS.map((user) => `${user.toUpperCase()}_PASSWORD: "of ${user}/"`);
  const server = await startNats({ config: [...passwords, config].join("\n") });
  const url = (user: User) => `tls://${user}:of%20${user}%2F@127.0.0.1:${server.port}`;
  return {
    server,
    natsCa,
    url,
    connect: (user) => connectBroker({ nats: url(user), natsCa }, user),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}
