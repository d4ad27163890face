/**
 * The lan command: servers on the networks that this machine is part of.
 *
 * @module
 */
import { parseIpv4 } from "../address.ts";
import { InputError } from "../errors.ts";
import { systemClock } from "../net/clock.ts";
import { openSocket } from "../net/deno.ts";
import { PROTOCOLS, USUAL_PROTOCOLS } from "../protocols/mod.ts";
import { FIELDS, type ServerRecord } from "../record.ts";
import { uuidv7 } from "../scan/id.ts";
import { discover, type LocalNetwork } from "../scan/lan.ts";
import { ndjsonFormat } from "../sinks/json.ts";
import { tableFormat } from "../sinks/lines.ts";
import { readArgs } from "./args.ts";
import { print, tellLine } from "./console.ts";
import { INTERRUPTED, onInterrupt } from "./interrupt.ts";
import { optOutCheck } from "../targets/lists.ts";
import { count } from "./plan.ts";
import { Settings } from "./values.ts";

/** The port on which Bedrock looks for servers. */
const PORT = 19132;

/** Runs `lan`; returns the exit code. */
export async function runLan(args: readonly string[]): Promise<number> {
  const settings = new Settings(readArgs("lan", args));
  if (settings.values.words.length > 0) {
    throw new InputError(`Cannot use "${settings.values.words[0]}": lan takes no targets`);
  }
  const seconds = settings.whole("once", 1, 3600) ?? 3;
  const networks = localNetworks();
  if (networks.length === 0) {
    throw new InputError("Cannot look around: this machine has no IPv4 network");
  }
  const random = (size: number) =>
    new DataView(crypto.getRandomValues(new Uint8Array(size)).buffer);
  const format = settings.has("json") ? ndjsonFormat(FIELDS) : tableFormat;
  const found: Promise<void>[] = [];
  const onServer = (record: ServerRecord) => {
    const head = found.length === 0 ? format.head : "";
    found.push(print((head + format.row(record, false)).trimEnd()));
  };
  using interrupt = onInterrupt(() => {});
  const { sent, refusals } = await discover({
    networks,
    protocol: PROTOCOLS.find(({ name }) => name === "raknet")!,
    protocols: USUAL_PROTOCOLS,
    port: PORT,
    listenMs: seconds * 1000,
    timeoutMs: 1000,
    retries: 1,
    open: (address) => openSocket({ address, port: 0 }),
    token: random(4).getUint32(0) >>> 1,
    nonce: () => random(8).getBigUint64(0) >> 1n,
    optsOut: optOutCheck(),
    players: !settings.has("no-players"),
    scanId: uuidv7(Date.now(), crypto.getRandomValues(new Uint8Array(10))),
    clock: systemClock,
    signal: interrupt.signal,
    onServer,
  });
  await Promise.all(found);
  if (!settings.has("quiet")) {
    tellLine(`${count(found.length, "server")} on ${count(networks.length, "network")}`);
  }
  if (interrupt.signal.aborted) return INTERRUPTED;
  if (sent > 0) return 0;
  tellLine(`blocksweep: no ping left this machine: ${refusals.join(", ")}`);
  return 1;
}

/** The IPv4 networks of this machine, without loopback. */
function localNetworks(): LocalNetwork[] {
  return Deno.networkInterfaces()
    .filter(({ family, address }) => family === "IPv4" && !address.startsWith("127."))
    .map(({ address, netmask }) => ({ address: parseIpv4(address), netmask: parseIpv4(netmask) }));
}
