/**
 * Port probes by Deno's connections: on loopback, and in network namespaces in which targets are silent.
 *
 * Covers src/net/dialed_ports.ts and src/net/deno/tcp_dialer.ts.
 */
import { assert, assertEquals } from "@std/assert";
import type { Endpoint } from "../../src/core/address.ts";
import { Endpoints } from "../../src/core/endpoints.ts";
import { systemClock as clock } from "../../src/net/clock.ts";
import { denoDialer } from "../../src/net/deno/tcp_dialer.ts";
import { DialedPorts } from "../../src/net/dialed_ports.ts";
import type { PortReply, PortSocketOptions } from "../../src/net/port_socket.ts";
import type { SendGate } from "../../src/net/send_gate.ts";
import { SYN_PROBE } from "../../src/protocols/syn_probe.ts";

const HOST = 0x7f3a0001;
const OWN = 0x7f3a0002;

interface Given extends Partial<PortSocketOptions> {
  readonly from?: number;
}

/** Passes to a function a socket, and the port on which this machine accepts connections. */
async function withPorts(
  { from, ...given }: Given,
  work: (ports: {
    readonly socket: DialedPorts;
    readonly port: number;
    readonly accepted: readonly string[];
    readonly replies: readonly { readonly state: string; readonly token: number }[];
  }) => Promise<void>,
): Promise<void> {
  const listener = Deno.listen({ hostname: "127.58.0.1", port: 0 });
  const accepted: string[] = [];
  const accepting = (async () => {
    for await (const conn of listener) {
      accepted.push(conn.remoteAddr.hostname);
      conn.close();
    }
  })();
  const options = { clock, wait: { ms: 900 }, atOnce: 64, ...given };
  const socket = new DialedPorts(4, denoDialer(from), options);
  const replies: PortReply[] = [];
  const listening = socket.listen((reply) => {
    replies.push(reply);
    reply.stream?.[Symbol.dispose]();
  });
  await work({ socket, port: listener.addr.port, accepted, replies });
  await socket[Symbol.asyncDispose]();
  await listening;
  listener.close();
  await accepting;
}

function batchOf(socket: DialedPorts, endpoints: readonly Endpoint[]) {
  const batch = socket.batch(SYN_PROBE, endpoints.length);
  const targets = Endpoints.of(...endpoints);
  for (let i = 0; i < endpoints.length; i++) batch.add(targets, i, i, 0);
  return batch;
}

async function ended(socket: DialedPorts): Promise<void> {
  while (socket.pending > 0) await clock.pollSockets();
  await socket.drained();
}

for (const from of [undefined, OWN]) {
  const name = from === undefined ? "" : " from a given local address";
  Deno.test(`DialedPorts finds open and refused ports${name}, more than may wait at once`, async () => {
    await withPorts({ from }, async ({ socket, port, accepted, replies }) => {
      // a port that nothing listens on
      const targets = Array.from({ length: 200 }, (_, i) => ({
        address: HOST,
        port: i % 2 === 0 ? port : 1,
      }));
      assertEquals(await socket.flush(batchOf(socket, targets)), 200);
      await ended(socket);
      while (accepted.length < 100) await clock.pollSockets();
      const ordered = replies.toSorted((a, b) => a.token - b.token);
      assertEquals(
        ordered.map(({ state, token }) => [state, token]),
        targets.map((_, i) => [i % 2 === 0 ? "open" : "refused", i]),
      );
      assertEquals(new Set(accepted), new Set([from === undefined ? "127.0.0.1" : "127.58.0.2"]));
      assertEquals([socket.errors.send.size, socket.errors.waits.size], [0, 0]);
    });
  });

  Deno.test(`DialedPorts begins no connection${name} when the gate is closed`, async () => {
    let passes = 10;
    const gate: SendGate = {
      keptBack: 0,
      isOpen: () => passes-- > 0,
      whenOpen: () => Promise.resolve(true),
    };
    await withPorts({ from, gate }, async ({ socket, port, accepted, replies }) => {
      const targets = Array.from({ length: 40 }, () => ({ address: HOST, port }));
      assertEquals(await socket.flush(batchOf(socket, targets)), 10);
      assertEquals(gate.keptBack, 30);
      await ended(socket);
      while (accepted.length < 10) await clock.pollSockets();
      assertEquals([accepted.length, replies.length], [10, 10]);
    });
  });
}

/**
 * Runs tests/sockets/silent_ports.ts in a network namespace after a shell script. Returns what it prints,
 * and the number of packets that the interface `scanner0` has sent.
 */
async function inNamespace(script: string, ...args: readonly unknown[]) {
  const words = ["-c", 'exec unshare --user --map-root-user --net sh -c "$@"', "sh"];
  const path = new URL("silent_ports.ts", import.meta.url).pathname;
  const run = `${script}
    "$0" run --no-check --allow-net "$@"
    cat /proc/net/dev
    test -z "$router" || kill $router`;
  const { stdout, stderr } = await new Deno.Command("sh", {
    args: [...words, run, Deno.execPath(), path, ...args.map(String)],
  }).output();
  const [outcome, ...devices] = new TextDecoder().decode(stdout).split("\n");
  assert(outcome.startsWith("{"), new TextDecoder().decode(stderr));
  const device = devices.find((one) => one.trimStart().startsWith("scanner0:"));
  return { ...JSON.parse(outcome), sent: Number(device?.trim().split(/\s+/)[10] ?? 0) };
}

/** Makes 10.16.0.0/12 silent: the far end of a link drops every packet. */
const SILENT = `ip link set lo up
  ip link add scanner0 type veth peer name silent0
  ip addr add 10.99.0.1/24 dev scanner0
  ip link set dev scanner0 addrgenmode none up
  ip link set dev silent0 addrgenmode none up
  ip neigh add 10.99.0.2 lladdr 02:00:00:00:00:02 dev scanner0 nud permanent
  ip route add 10.16.0.0/12 via 10.99.0.2 dev scanner0`;

/** Places a router at the far end, which replies with ICMP errors: net unreachable. */
const ROUTER = `${SILENT}
  unshare --net sleep 60 & router=$!
  until test $(readlink /proc/$router/ns/net) != $(readlink /proc/$$/ns/net); do :; done
  ip neigh del 10.99.0.2 dev scanner0
  ip link set silent0 netns $router
  nsenter --target $router --net sh -c '
    ip link set lo up
    ip addr add 10.99.0.2/24 dev silent0
    ip link set dev silent0 up
    echo 1 > /proc/sys/net/ipv4/ip_forward'`;

const canIsolate = Deno.build.os === "linux" &&
  (await new Deno.Command("sh", {
    args: ["-c", `unshare --user --map-root-user --net sh -c "set -e; ${SILENT}"`],
  }).output()).success;
const inLinux = { ignore: !canIsolate };
const needs = "(Linux with network namespaces)";
/** The local addresses to send from. */
const LOCAL = [[], [0x0a630001]];

Deno.test(`a silent target gets one SYN packet of DialedPorts ${needs}`, inLinux, async () => {
  // The system repeats a SYN packet after a second: timers may be half a second late here.
  for (const from of LOCAL) {
    assertEquals(await inNamespace(SILENT, 300, 128, 500, ...from), {
      begun: 300,
      states: {},
      send: {},
      waits: {},
      sent: 300,
    });
  }
});

Deno.test(`DialedPorts probes all targets with few descriptors ${needs}`, inLinux, async () => {
  for (const from of LOCAL) {
    const script = `${SILENT}\nulimit -n 150`;
    const { waits, ...all } = await inNamespace(script, 250, 250, 300, ...from);
    assertEquals(all, { begun: 250, states: {}, send: {}, sent: 250 });
    assertEquals(Object.keys(waits), ["EMFILE"]);
    // the first attempt lacks descriptors for most targets, later ones for hardly any
    assert(waits.EMFILE >= 100 && waits.EMFILE < 250, String(waits.EMFILE));
  }
});

Deno.test(
  `without a route, DialedPorts counts what the system refuses ${needs}`,
  inLinux,
  async () => {
    for (const from of [[], [0x7f000001]]) {
      assertEquals(await inNamespace("ip link set lo up", 70, 32, 900, ...from), {
        begun: 0,
        states: {},
        send: { ENETUNREACH: 70 },
        waits: {},
        sent: 0,
      });
    }
  },
);

Deno.test(`an ICMP error of a router is a reply of DialedPorts ${needs}`, inLinux, async () => {
  for (const from of LOCAL) {
    const { sent: _arp, ...all } = await inNamespace(ROUTER, 1, 32, 900, ...from);
    assertEquals(all, { begun: 1, states: { unreachable: 1 }, send: {}, waits: {} });
  }
});
