// deno-lint-ignore-file no-console
/**
 * Probes TCP ports with the connections of Deno, inside a network namespace that
 * tests/sockets/dialed_ports_test.ts makes. Prints the outcome as JSON.
 *
 * Arguments: number of targets in 10.16.0.0/12, maximum number of connections that wait, milliseconds that
 * a wave waits; and the local address as a number, if there is one.
 */
import { Endpoints } from "../../src/core/endpoints.ts";
import { systemClock as clock } from "../../src/net/clock.ts";
import { denoDialer } from "../../src/net/deno/tcp_dialer.ts";
import { DialedPorts } from "../../src/net/dialed_ports.ts";
import { SYN_PROBE } from "../../src/protocols/syn_probe.ts";

const [count, atOnce, ms, from] = Deno.args.map(Number);
const socket = new DialedPorts(4, denoDialer(from), { clock, wait: { ms }, atOnce });
const states: Record<string, number> = {};
const listening = socket.listen(({ state, stream }) => {
  states[state] = (states[state] ?? 0) + 1;
  stream?.[Symbol.dispose]();
});
const batch = socket.batch(SYN_PROBE, count);
const targets = new Endpoints(1);
for (let i = 0; i < count; i++) {
  targets.set(0, { address: 0x0a100000 + i, port: 25565 });
  batch.add(targets, 0, i, 0);
}
const begun = await socket.flush(batch);
while (socket.pending > 0) await new Promise((done) => clock.after(50, () => done(undefined)));
await socket[Symbol.asyncDispose]();
await listening;
const { send, waits } = socket.errors;
const errors = { send: Object.fromEntries(send), waits: Object.fromEntries(waits) };
console.log(JSON.stringify({ begun, states, ...errors }));
