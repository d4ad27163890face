/**
 * The TCP hosts of bench/c/accept.c, which is compiled once and runs at the far end. Addresses
 * without a host are no addresses of the far end, which drops packets to them without a reply.
 */
import { formatAddress, parseAddress } from "../../src/core/address.ts";

/** What hosts do with a connection: see bench/c/accept.c. */
export type Role = "java" | "mute" | "web" | "close";

/** Consecutive addresses with hosts of one kind. */
export interface Hosts {
  readonly role: Role;
  readonly first: string;
  readonly count: number;
}

/** Ports that accept connections. */
export interface Ports {
  /** Default: all addresses of the far end. */
  readonly address?: string;
  readonly first: number;
  readonly last: number;
}

/** Numbers of connections and of statuses, and the most connections that were open at once. */
export interface Accepted extends Readonly<Record<Role, number>> {
  readonly statuses: number;
  /** SYN packets and connections that the system dropped because a queue was full. */
  readonly dropped: number;
  readonly atOnce: number;
}

const QUEUES = ["net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog"];
const LONGEST = 65535;

/** An IPv4 address as a number. */
export function numberOf(address: string): number {
  return Number(parseAddress(address)!);
}

/** An IPv4 address from a number. */
export function addressOf(value: number): string {
  return formatAddress(value);
}

/** Single addresses that are evenly distributed over a range of addresses. */
export function spread(role: Role, first: string, range: number, count: number): Hosts[] {
  const start = numberOf(first);
  return Array.from({ length: count }, (_, i) => ({
    role,
    first: addressOf(start + Math.floor((i + 0.5) * range / count)),
    count: 1,
  }));
}

/** The addresses of hosts of one kind. */
export function addressesOf(all: readonly Hosts[], role: Role): string[] {
  return all.filter((one) => one.role === role).flatMap(({ first, count }) =>
    Array.from({ length: count }, (_, i) => addressOf(numberOf(first) + i))
  );
}

/** Ranges of addresses, as few as possible, that contain these and no others. */
function* prefixesOf({ first, count }: Hosts): Iterable<string> {
  let [start, left] = [numberOf(first), count];
  while (left > 0) {
    const aligned = start === 0 ? 2 ** 31 : start & -start;
    const size = Math.min(aligned >>> 0, 2 ** Math.floor(Math.log2(left)));
    yield `${addressOf(start)}/${32 - Math.log2(size)}`;
    start += size;
    left -= size;
  }
}

async function run(program: string, args: readonly string[], input: string): Promise<void> {
  const child = new Deno.Command(program, {
    args: [...args],
    stdin: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { success, stderr } = await child.output();
  if (!success) throw new Error(`${program}: ${new TextDecoder().decode(stderr)}`);
}

/**
 * Starts hosts, and makes their addresses local.
 *
 * @param program The compiled bench/c/accept.c.
 * @returns A function that ends the hosts, and returns what they counted.
 */
export async function acceptConnections(
  program: string,
  folder: string,
  hosts: readonly Hosts[],
  ports: readonly Ports[],
): Promise<() => Promise<Accepted>> {
  const prefixes = hosts.flatMap((one) => [...prefixesOf(one)]);
  await run(
    "ip",
    ["-batch", "-"],
    prefixes.map((one) => `route add local ${one} dev lo\n`).join(""),
  );
  await run("sysctl", ["-qp", "-"], QUEUES.map((name) => `${name} = ${LONGEST}\n`).join(""));
  const path = `${folder}/hosts`;
  const lines = [
    ...hosts.map(({ role, first, count }) => `${role} ${first} ${count}\n`),
    ...ports.map(({ address = "0.0.0.0", first, last }) => `listen ${address} ${first} ${last}\n`),
  ];
  await Deno.writeTextFile(path, lines.join(""));
  const child = new Deno.Command(program, { args: [path], stdout: "piped" }).spawn();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await output.read();
  if (value !== "ready\n") throw new Error(`The hosts did not start: ${value}`);
  return async () => {
    child.kill("SIGTERM");
    const { value = "" } = await output.read();
    await child.status;
    await run(
      "ip",
      ["-batch", "-"],
      prefixes.map((one) => `route del local ${one} dev lo\n`).join(""),
    );
    const [java, mute, web, close, statuses, dropped, atOnce] = value.match(/\d+/g)!.map(Number);
    return { java, mute, web, close, statuses, dropped, atOnce };
  };
}

/** The values of a row that follow from the address of a Java server of bench/c/accept.c. */
export function statusOf(address: string): { readonly motd: string; readonly players: number } {
  const value = numberOf(address);
  return { motd: `Server ${value.toString(16).padStart(8, "0")}`, players: value % 20 };
}
