/** The servers of bench/c/respond.c: built once, and run at the far end. */
import { system } from "./namespaces.ts";

/** What servers saw. */
export interface Seen {
  /** Pings that they answered. */
  readonly answered: number;
  /** Pings to addresses where no server is. */
  readonly toNobody: number;
  /** Other datagrams. */
  readonly others: number;
  /** Datagrams that found no room. */
  readonly noRoom: number;
}

/** Builds a program of this folder: its path. */
export async function build(name: string, folder: string): Promise<string> {
  const source = new URL(`../c/${name}.c`, import.meta.url).pathname;
  await system(`cc -O2 -o ${folder}/${name} ${source}`);
  return `${folder}/${name}`;
}

/**
 * Starts the servers.
 *
 * @returns A function that ends them and returns what they received.
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
    const [answered, toNobody, others, noRoom] = value.match(/\d+/g)!.map(Number);
    return { answered, toNobody, others, noRoom };
  };
}
