/** A temporary PgBouncer in transaction mode, in front of a temporary PostgreSQL server. */
import { PASSWORD, type Server } from "./server.ts";
import { freePort } from "../fakes/free_port.ts";

/** A running PgBouncer. */
export interface Pooler extends AsyncDisposable {
  /** The URL `postgres://lists:…@127.0.0.1:PORT/`, to which the name of a database is appended. */
  readonly url: string;
}

/** Whether the program `pgbouncer` is installed (Debian's package `pgbouncer`). */
export async function hasPgBouncer(): Promise<boolean> {
  const { success } = await new Deno.Command("sh", {
    args: ["-c", "PATH=$PATH:/usr/sbin; command -v pgbouncer"],
    stdout: "null",
  }).output();
  return success;
}

/**
 * Starts PgBouncer in transaction mode. Clients log in with the password of the server.
 *
 * @param poolSize Number of connections to the server per database, which all clients share.
 */
export async function startPgBouncer(server: Server, poolSize: number): Promise<Pooler> {
  const folder = await Deno.makeTempDir();
  const port = freePort();
  await Deno.writeTextFile(`${folder}/users`, `"lists" "${PASSWORD}"\n`);
  const settings = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "scram-sha-256",
    auth_file: `${folder}/users`,
    pool_mode: "transaction",
    default_pool_size: poolSize,
    log_connections: 0,
    log_disconnections: 0,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const databases = `[databases]\n* = host=127.0.0.1 port=${server.port}\n`;
  const config = `${folder}/pgbouncer.ini`;
  await Deno.writeTextFile(config, `${databases}[pgbouncer]\n${lines.join("\n")}\n`);
  // PgBouncer refuses to run as root.
  const asRoot = Deno.uid() === 0;
  if (asRoot) await new Deno.Command("chown", { args: ["-R", "postgres", folder] }).output();
  const user = asRoot ? ["-u", "postgres"] : [];
  const child = new Deno.Command("sh", {
    args: ["-c", 'PATH=$PATH:/usr/sbin; exec pgbouncer "$@"', "sh", "-q", ...user, config],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  await listening(port, child);
  return {
    url: server.url.replace(`:${server.port}/`, `:${port}/`),
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Waits until a port accepts connections. */
async function listening(port: number, child: Deno.ChildProcess): Promise<void> {
  let ended = false;
  void child.status.then(() => ended = true);
  while (!ended) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("pgbouncer did not start");
}
