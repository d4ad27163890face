// deno-lint-ignore-file no-console
/**
 * The bare loop with which bench/engines.ts compares the engine `portable` over TCP: it connects to
 * consecutive addresses with `Deno.connect`, and closes each connection. It has no permutation, no
 * rate and no receiver.
 *
 *     deno run --allow-net connect.ts FIRST_ADDRESS COUNT PORT AT_ONCE WAIT_MS
 *
 * 64 connections begin together, and one AbortSignal ends those that are pending after WAIT_MS. At
 * most AT_ONCE connections, a multiple of 64, are pending at the same time. Prints the number of
 * connections that were accepted.
 */
const GROUP = 64;
const [first] = Deno.args;
const [count, port, atOnce, waitMs] = Deno.args.slice(1).map(Number);
const start = first.split(".").reduce((value, part) => value * 256 + Number(part), 0);
let next = 0;
let accepted = 0;

function hostOf(address: number): string {
  return [24, 16, 8, 0].map((bits) => (address >>> bits) & 255).join(".");
}

async function connect(address: number, signal: AbortSignal): Promise<void> {
  try {
    const connection = await Deno.connect({ hostname: hostOf(address), port, signal });
    accepted++;
    connection.close();
  } catch {
    // refused, unreachable or not answered in time: expected of most targets
  }
}

/** Connects to groups of targets, one group after the other. */
async function run(): Promise<void> {
  while (next < count) {
    const from = next;
    next = Math.min(count, from + GROUP);
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), waitMs);
    const addresses = Array.from({ length: next - from }, (_, i) => start + from + i);
    await Promise.all(addresses.map((address) => connect(address, controller.signal)));
    clearTimeout(timer);
  }
}

await Promise.all(Array.from({ length: Math.max(1, Math.floor(atOnce / GROUP)) }, run));
console.log(`${count} connections, ${accepted} accepted`);
