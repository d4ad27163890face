/**
 * A process with few descriptors: probes 400 refusing and 100 silent targets by connections, 100 at a
 * time, and prints counts as JSON. With the argument `none`, no descriptor is free until the shortage is reported.
 */
import { Endpoints } from "../../src/core/endpoints.ts";
import { systemClock } from "../../src/net/clock.ts";
import { Shortage } from "../../src/net/file_descriptors.ts";
import { ConnectSocket } from "../../src/net/linux/connect/connect_socket.ts";
import { SYN_PROBE } from "../../src/protocols/syn_probe.ts";

const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
const refusing = listener.addr.port;
listener.close();
const full = Deno.listen({ hostname: "127.0.0.1", port: 0, tcpBacklog: 1 });
const silent = full.addr.port;
const filling = [0, 1].map(() => Deno.connect({ hostname: "127.0.0.1", port: silent }));
await Promise.all(filling);

const reported: unknown[] = [];
const held: Deno.Listener[] = [];
const shortage = new Shortage(systemClock, (code) => {
  reported.push(code);
  held.forEach((one) => one.close());
});
const socket = new ConnectSocket(0, {
  clock: systemClock,
  wait: { ms: 100 },
  atOnce: 100,
  shortage,
});
const { promise, resolve } = Promise.withResolvers<void>();
let replies = 0;
void socket.listen(() => {
  if (++replies === 400) resolve();
});
if (Deno.args[0] === "none") {
  try {
    for (;;) held.push(Deno.listen({ hostname: "127.0.0.1", port: 0 }));
  } catch {
    // No descriptor is left.
  }
}
let sent = 0;
for (let from = 0; from < 500; from += 250) {
  const batch = socket.batch(SYN_PROBE, 250);
  for (let i = 0; i < 250; i++) {
    const port = i % 5 === 0 ? silent : refusing;
    batch.add(Endpoints.of({ address: 0x7f000001, port }), 0, i, 0);
  }
  sent += await socket.flush(batch);
}
await promise;
await socket[Symbol.asyncDispose]();
for (const one of [full, ...await Promise.all(filling)]) one.close();
const waits = Object.fromEntries(socket.errors.waits);
const counts = JSON.stringify({ sent, replies, waits, reported });
await Deno.stdout.write(new TextEncoder().encode(counts));
