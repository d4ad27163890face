/** A temporary PostgreSQL server in a folder, on a free port of loopback. */
import { freePort } from "../fakes/free_port.ts";

/** A running server. */
export interface Server extends AsyncDisposable {
  readonly port: number;
  /** The URL `postgres://lists:…@127.0.0.1:PORT/`, to which the name of a database is appended. */
  readonly url: string;
  /** The folder of the server's Unix socket. */
  readonly socketFolder: string;
  /** The path of the server's log. */
  readonly log: string;
  /** Stops the server. `immediate`: as if it were killed. Default: `fast`. */
  readonly stop: (mode?: "fast" | "immediate") => Promise<void>;
  /** Starts the server again. */
  readonly start: () => Promise<void>;
  /** Restarts the server with this certificate. Its key is in the `.key` file beside it. */
  readonly encrypt: (certificate: string) => Promise<void>;
}

export const PASSWORD = "s3cret:@/pass";

/**
 * Starts a server that requires passwords.
 *
 * @param fsync Whether the server syncs to the disk: `on` or `off`.
 */
export async function startPostgres(fsync: "on" | "off" = "off"): Promise<Server> {
  const folder = await Deno.makeTempDir();
  const port = freePort();
  const data = `${folder}/data`;
  await Deno.writeTextFile(`${folder}/password`, `${PASSWORD}\n`);
  // PostgreSQL refuses to run as root.
  const asRoot = Deno.uid() === 0;
  if (asRoot) await execute(["chown", "-R", "postgres", folder]);
  const run = async (program: string, ...args: string[]) => {
    const command = [`${await binaries()}${program}`, ...args];
    await execute(asRoot ? ["runuser", "-u", "postgres", "--", ...command] : command);
  };
  await run(
    "initdb",
    "-D",
    data,
    "-U",
    "lists",
    "-A",
    "scram-sha-256",
    "-E",
    "UTF8",
    "--no-sync",
    "--locale=C.UTF-8",
    `--pwfile=${folder}/password`,
  );
  const options = `-h 127.0.0.1 -p ${port} -k ${folder} -c fsync=${fsync} ` +
    "-c max_prepared_transactions=5";
  const start = () =>
    run("pg_ctl", "-D", data, "-s", "-w", "-l", `${folder}/log`, "-o", options, "start");
  const stop = (mode = "fast") => run("pg_ctl", "-D", data, "-s", "-w", "-m", mode, "stop");
  await start();
  let running = true;
  return {
    port,
    socketFolder: folder,
    log: `${folder}/log`,
    url: `postgres://lists:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/`,
    stop: async (mode) => {
      await stop(mode);
      running = false;
    },
    start: async () => {
      await start();
      running = true;
    },
    encrypt: async (certificate) => {
      await stop();
      await Deno.copyFile(certificate, `${data}/server.crt`);
      await Deno.copyFile(certificate.replace(/crt$/, "key"), `${data}/server.key`);
      await Deno.chmod(`${data}/server.key`, 0o600);
      if (asRoot) await execute(["chown", "postgres", `${data}/server.key`, `${data}/server.crt`]);
      await Deno.writeTextFile(`${data}/postgresql.conf`, "ssl = on\n", { append: true });
      await start();
    },
    async [Symbol.asyncDispose]() {
      if (running) await stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** The folder of the programs: in PATH, or that of Debian. */
async function binaries(): Promise<string> {
  const { stdout } = await new Deno.Command("sh", {
    args: [
      "-c",
      "command -v initdb >/dev/null || ls -d /usr/lib/postgresql/*/bin/ | sort -V | tail -n 1",
    ],
  }).output();
  return new TextDecoder().decode(stdout).trim();
}

async function execute([program, ...args]: string[]): Promise<void> {
  // The output goes to a file, because a running server would keep a pipe open.
  const { code } = await new Deno.Command(program, {
    args,
    stdin: "null",
    stdout: "null",
    stderr: "null",
    cwd: "/",
  }).output();
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} failed with ${code}`);
}
