/**
 * A program that holds the lease of part 1 of the campaign `may`, and prints when its gate changes:
 * deno run -A tests/campaign/lease_holder.ts URL ACK_WAIT_MS
 */
import { Control } from "../../src/campaign/control.ts";
import { Lease } from "../../src/campaign/lease.ts";
import { connectBroker } from "../../src/campaign/nats/connection.ts";
import { systemClock } from "../../src/net/clock.ts";

const [nats, ackWaitMs] = Deno.args;
await using broker = await connectBroker({ nats }, "holder");
await using control = await Control.open(broker, () => {});
const options = { worker: "holder", ackWaitMs: Number(ackWaitMs), clock: systemClock, control };
const taken = await Lease.take(broker, "may", 1, options);
if (!(taken instanceof Lease)) throw new Error(`The lease is ${taken}`);
await using lease = taken;

const print = (line: string) => Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
let last = performance.now();
await lease.gate.whenOpen();
print("holds");
// The first iteration after the process was stopped sees the gate before anything else runs.
while (!lease.lost.aborted) {
  const now = performance.now();
  if (now - last > Number(ackWaitMs) / 8) print(`continues ${lease.gate.isOpen()}`);
  last = now;
  await new Promise((resolve) => setTimeout(resolve, 5));
}
print(`lost ${lease.gate.isOpen()} ${await lease.end("done")}`);
