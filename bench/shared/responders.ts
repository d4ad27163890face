/** The servers of bench/c/respond.c, which is compiled once and runs at the far end. */
import { system } from "./namespaces.ts";

/** Numbers of the datagrams that the servers received. */
export interface Seen {
  /** Pings with a reply. */
  readonly replied: number;
  /** Pings to addresses without a server. */
  readonly withoutServer: number;
  /** Other datagrams. */
  readonly others: number;
  /** Datagrams that were dropped because the receive buffer was full. */
  readonly dropped: number;
}

/** Compiles a program of bench/c. Returns its path. */
export async function build(name: string, folder: string): Promise<string> {
  const source = new URL(`../c/${name}.c`, import.meta.url).pathname;
  await system(`cc -O2 -o ${folder}/${name} ${source}`);
  return `${folder}/${name}`;
}

/**
 * Starts the servers.
 *
 * @returns A function that ends the servers and returns the numbers of received datagrams.
 */
export async function respond(
  program: string,
  { first, targets, live, port }: { first: string; targets: number; live: number; port: number },
): Promise<() => Promise<Seen>> {
  const child = new Deno.Command(program, {
    args: [first, String(targets), String(live), String(port)],
    stdout: "piped",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await lines.read();
  if (value !== "ready\n") throw new Error(`The servers did not start: ${value}`);
  return async () => {
    child.kill("SIGTERM");
    const { value = "" } = await lines.read();
    await child.status;
    const [replied, withoutServer, others, dropped] = value.match(/\d+/g)!.map(Number);
    return { replied, withoutServer, others, dropped };
  };
}
