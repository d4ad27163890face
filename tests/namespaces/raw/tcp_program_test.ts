/** Scans over TCP with each engine, as a user runs them. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { finish, type Finished, run, SCAN, start, until } from "../../cli/program.ts";
import { startFarHost } from "./far_host.ts";

const permissions = ["--allow-net", "--allow-ffi", ...SCAN.filter((one) => !one.includes("net"))];
const USUAL = ["--protocol", "slp", "--net-rate", "off", "--host-rate", "off", "--cooldown", "1s"];
const ENGINES = [
  ["portable"],
  ["udp"],
  ["packet"],
  ["packet", "--threads", "1"],
  ["xdp"],
];

const scan = (...args: string[]): Promise<Finished> =>
  run(["scan", ...USUAL, ...args], { permissions });

/** The number after a text in the summary. */
function numberIn(text: string, before: string): number {
  const [, digits] = new RegExp(`${before}([0-9,]+)`).exec(text) ?? [];
  assert(digits !== undefined, text);
  return Number(digits.replaceAll(",", ""));
}

/**
 * Compares the number of frames that have arrived with that of SYN packets that were sent.
 *
 * @param repeats Whether the system repeats some on a busy machine, where connections end too late.
 */
function assertArrived(arrived: number, sent: number, repeats: boolean): void {
  assert(arrived >= sent && arrived < (repeats ? 2 * sent : sent + 1), `${arrived} of ${sent}`);
}

for (const engine of ENGINES) {
  const repeats = engine[0] === "portable" || engine[0] === "udp";
  const name = engine.join(" ");
  const args = ["--rate", "2000", "--engine", ...engine];

  Deno.test(`${name}: each silent target gets one SYN packet in a pass, and open ports are queried`, async () => {
    await using far = await startFarHost(["10.96.0.0/28"]);
    const before = await far.arrived();
    const silent = await scan("10.96.1.0/24", ...args);
    assertEquals(silent.code, 0, silent.stderr);
    assertMatch(silent.stderr, /^TCP: sent 512 probes; replies: 0 open$/m);
    assertArrived(await far.arrived() - before, 512, repeats);
    const live = await scan("10.96.0.0/24", ...args);
    // the host is no Java server: it replies with what it gets
    assertMatch(live.stderr, /; replies: 16 open; open ports: 0 valid, 16 invalid$/m);
    assertEquals(await far.halfOpen(), 0);
  });

  Deno.test(`${name}: after Ctrl-C no SYN packet is sent`, async () => {
    await using far = await startFarHost([]);
    const before = await far.arrived();
    const child = start(["scan", ...USUAL, "10.97.0.0/16", ...args], { permissions });
    await until(child, async () => await far.arrived() > before + 1000);
    child.kill("SIGINT");
    const { code, stderr } = await finish(child);
    assertEquals(code, 130, stderr);
    assertArrived(await far.arrived() - before, numberIn(stderr, "TCP: sent "), repeats);
  });
}
