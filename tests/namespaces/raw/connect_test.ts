/**
 * Probes of ports by a ring of connections, to a host in another namespace.
 *
 * Covers src/net/linux/connect/.
 */
import { assert, assertEquals } from "@std/assert";
import type { Address, Endpoint } from "../../../src/core/address.ts";
import { Endpoints } from "../../../src/core/endpoints.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { ConnectSocket } from "../../../src/net/linux/connect/connect_socket.ts";
import type { PortState } from "../../../src/net/port_socket.ts";
import { MAX_IN_BATCH, type Stream } from "../../../src/net/socket.ts";
import { SYN_PROBE } from "../../../src/protocols/syn_probe.ts";
import { FAR, NEAR, PORT, SOURCE, startFarHost } from "./far_host.ts";
import { IcmpErrors } from "./icmp_errors.ts";
import { framesOf, system } from "./place.ts";

/** The first addresses of networks behind the gateway. */
const [A, B, C] = [0x0a600000, 0x0a610000, 0x0a620000];
/** The first address of a network on the link. */
const LINK = 0x0a5c0000;
/** The first of the addresses that the default route of `../engines.sh` leads to. All are silent. */
const ELSEWHERE = 0x0a700000;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A target, and the state that its reply has to show. */
type Target = Endpoint & { readonly state?: PortState };

/** A ring with what it has received. Each open connection exchanges a request and a reply, and closes. */
class Tested implements AsyncDisposable {
  readonly socket: ConnectSocket;
  /** The states by token. */
  states: (PortState | undefined)[] = [];
  /** The replies by token. */
  texts: string[] = [];
  #exchanges: Promise<void>[] = [];
  readonly #listening: Promise<void>;

  constructor({ local = 0, atOnce = 1000 }: { local?: Address; atOnce?: number } = {}) {
    this.socket = new ConnectSocket(local, { clock: systemClock, wait: { ms: 900 }, atOnce });
    this.#listening = this.socket.listen(({ state, token, stream }) => {
      assertEquals(this.states[token], undefined);
      assertEquals(stream !== undefined, state === "open");
      this.states[token] = state;
      const exchange = async () => {
        using connection = stream!;
        assert(await connection.write(encoder.encode(`request ${token}`)));
        const bytes = await connection.read();
        this.texts[token] = typeof bytes === "string" ? bytes : decoder.decode(bytes);
      };
      if (state === "open") this.#exchanges.push(exchange());
    });
  }

  /** Probes targets; the token of each is its index. Returns the number of those that began. */
  async probe(targets: readonly Target[]): Promise<number> {
    const batch = this.socket.batch(SYN_PROBE, MAX_IN_BATCH);
    const target = new Endpoints(1);
    let begun = 0;
    for (let at = 0; at < targets.length; at += MAX_IN_BATCH) {
      for (const [i, endpoint] of targets.slice(at, at + MAX_IN_BATCH).entries()) {
        target.set(0, endpoint);
        batch.add(target, 0, at + i, 0);
      }
      begun += await this.socket.flush(batch);
      batch.clear();
    }
    return begun;
  }

  /**
   * Probes targets, waits until every probe has ended, and compares the states.
   *
   * @param from The address that the host has to see.
   */
  async expect(targets: readonly Target[], from = "::ffff:10.94.0.1"): Promise<void> {
    this.states = [];
    this.texts = [];
    assertEquals(await this.probe(targets), targets.length);
    await this.ended();
    const wrong = targets.flatMap(({ address, state }, i) => {
      const text = state === "open" ? `${from} request ${i}` : undefined;
      const isRight = this.states[i] === state && this.texts[i] === text;
      return isRight ? [] : [`${address} ${state}: ${this.states[i]} ${this.texts[i]}`];
    });
    assertEquals(wrong, []);
  }

  /** Waits until every probe and every exchange has ended. */
  async ended(): Promise<void> {
    while (this.socket.pending > 0) await systemClock.pollSockets();
    await this.socket.drained();
    await Promise.all(this.#exchanges);
    this.#exchanges = [];
    assertEquals([...this.socket.errors.send, ...this.socket.errors.waits], []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.socket[Symbol.asyncDispose]();
    await this.#listening;
  }
}

/** Targets with consecutive addresses. */
function targets(first: Address, count: number, port = PORT, state?: PortState): Target[] {
  const address = (i: number) => typeof first === "bigint" ? first + BigInt(i) : first + i;
  return Array.from({ length: count }, (_, i) => ({ address: address(i), port, state }));
}

/** The same targets, in an order that mixes them. */
function mixed(...groups: readonly Target[][]): Target[] {
  return groups.flatMap((group) =>
    group.map((target, i) => ({ target, at: (i + 0.5) / group.length }))
  )
    .sort((a, b) => a.at - b.at).map(({ target }) => target);
}

Deno.test("connect: each silent address gets one SYN packet", async () => {
  await using host = await startFarHost([]);
  const counts: number[] = [];
  // If the machine stops the process for a time, the system repeats SYN packets.
  while (counts.at(-1) !== 2000 && counts.length < 20) {
    const before = await host.arrived();
    await using tested = new Tested();
    await tested.expect(targets(A, 2000));
    counts.push(await host.arrived() - before);
  }
  assertEquals(counts.at(-1), 2000, `${counts}`);
});

Deno.test("connect: 500 servers among 9,500 other addresses are found, and reply to requests", async () => {
  await using host = await startFarHost(["10.96.0.0/16"]);
  // The host returns ICMP errors for 10.97.0.0/16: packets for it are too old to be forwarded.
  await host.run("sysctl -qw net.ipv4.icmp_ratemask=0");
  await host.run(`ip route add 10.97.0.0/16 via 10.94.0.1 dev ${FAR}`);
  await system(`ip route add 10.97.0.0/16 via 10.94.0.254 dev ${NEAR} hoplimit 1`);
  await using tested = new Tested();
  await tested.expect(mixed(
    targets(A, 500, PORT, "open"),
    targets(A, 2000, 80, "refused"),
    targets(B, 1500, PORT, "unreachable"),
    targets(C, 6000),
  ));
});

Deno.test("connect: sockets whose connections ICMP errors have ended find servers", async () => {
  await using _host = await startFarHost(["10.96.0.0/16"]);
  await using tested = new Tested({ atOnce: 200 });
  using errors = new IcmpErrors("far0");
  for (const [code, state] of [[3, "refused"], [13, "unreachable"], [1, "unreachable"]] as const) {
    tested.states = [];
    await tested.probe(targets(ELSEWHERE, 200));
    for (let left = 200; left > 0; await systemClock.pollSockets()) left -= errors.reply(code);
    await tested.ended();
    assertEquals(tested.states, new Array(200).fill(state));
    await tested.expect([...targets(A, 150, PORT, "open"), ...targets(A, 150, 80, "refused")]);
  }
});

Deno.test("connect: on-link addresses that nobody has disturb no other targets", async () => {
  await using host = await startFarHost(["10.96.0.0/16"]);
  await using tested = new Tested();
  const before = await host.arrived();
  for (let pass = 0; pass < 4; pass++) {
    const nobody = targets(SOURCE + 1, 200);
    const all = mixed(
      nobody,
      nobody,
      targets(A, 500, PORT, "open"),
      targets(A, 500, 80, "refused"),
    );
    tested.states = [];
    assertEquals(await tested.probe(all), all.length);
    await tested.ended();
    for (const [i, { state, address }] of all.entries()) {
      // The system gives up an address after three ARP requests, which take three seconds.
      if (state === undefined && tested.states[i] === "unreachable") continue;
      assertEquals(tested.states[i], state, `${address}`);
    }
  }
  assert(await host.arrived() > before);
});

Deno.test("connect: all servers on a link are found, also if the system cannot resolve all addresses at once", async () => {
  const servers = Array.from({ length: 128 }, (_, i) => `10.92.${i >> 4}.${16 * (i & 15) + 5}/32`);
  await using host = await startFarHost(servers);
  await system(`ip address add 10.92.0.1/21 dev ${NEAR}`);
  await host.run(`ip route add 10.92.0.1/32 dev ${FAR}`);
  await using tested = new Tested();
  // From the first address after that of this machine to the last before that of all.
  const all = targets(LINK + 2, 2045).map((target, i): Target =>
    i % 16 === 3 ? { ...target, state: "open" } : target
  );
  assertEquals(await tested.probe(all), all.length);
  await tested.ended();
  const missed = all.filter(({ state }, i) => state === "open" && tested.states[i] !== state);
  assertEquals(missed, []);
});

Deno.test("connect: a ring that closes with pending connections sends nothing more", async () => {
  await using host = await startFarHost([]);
  const before = await host.arrived();
  const sent = async () => framesOf(await system("cat /proc/net/dev"), "near0", "sent");
  const beforeElsewhere = await sent();
  {
    await using tested = new Tested();
    assertEquals(await tested.probe(targets(A, 1000)), 1000);
    assert(tested.socket.hasPending({ address: A + 999, port: PORT }));
  }
  // Another connection shows when the system would have repeated the SYN packets.
  const witness = new AbortController();
  const connecting = Deno.connect({ hostname: "10.112.0.1", port: PORT, signal: witness.signal });
  while (await sent() < beforeElsewhere + 3) await systemClock.pollSockets();
  witness.abort();
  await connecting.catch(() => {});
  assertEquals(await host.arrived() - before, 1000);
});

Deno.test("connect: a request that nothing acknowledges makes the peer slow, not gone", async () => {
  await using host = await startFarHost(["10.96.0.0/16"]);
  await using socket = new ConnectSocket(0, { clock: systemClock, wait: { ms: 900 }, atOnce: 1 });
  const { promise: opened, resolve } = Promise.withResolvers<Stream | undefined>();
  void socket.listen(({ stream }) => resolve(stream));
  const batch = socket.batch(SYN_PROBE, 1);
  batch.add(Endpoints.of({ address: A, port: PORT }), 0, 0, 0);
  assertEquals(await socket.flush(batch), 1);
  using stream = (await opened)!;
  await host.run("ip route del local 10.96.0.0/16 dev lo"); // a blackhole takes its place
  assert(await stream.write(encoder.encode("request")));
  assertEquals(await stream.read(), "slow");
});

Deno.test("connect: connections leave from a given address", async () => {
  await using _host = await startFarHost(["10.96.0.0/16"]);
  await system(`ip address add 10.94.0.7/24 dev ${NEAR}`);
  await using tested = new Tested({ local: SOURCE + 6, atOnce: 50 });
  await tested.expect(
    mixed(
      targets(A, 300, PORT, "open"),
      targets(A, 300, 80, "refused"),
      targets(C, 100),
    ),
    "::ffff:10.94.0.7",
  );
});

Deno.test("connect: servers are found over IPv6, also from a given address", async () => {
  await using host = await startFarHost([]);
  for (const name of [FAR, "lo"]) await host.run(`sysctl -qw net.ipv6.conf.${name}.disable_ipv6=0`);
  await host.run(`ip address add fd00:94::fe/64 dev ${FAR} nodad`);
  await host.run(`ip neighbour add fd00:94::1 lladdr 02:00:00:00:00:01 dev ${FAR}`);
  await host.run(`ip neighbour add fd00:94::7 lladdr 02:00:00:00:00:01 dev ${FAR}`);
  await host.run("ip route add local fd00:96::/64 dev lo");
  await host.run("ip route add blackhole fd00:97::/64");
  await system(`sysctl -qw net.ipv6.conf.${NEAR}.disable_ipv6=0`);
  await system(`ip address add fd00:94::7/64 dev ${NEAR} nodad preferred_lft 0`);
  await system(`ip address add fd00:94::1/64 dev ${NEAR} nodad`);
  await system(`ip neighbour add fd00:94::fe lladdr 02:00:00:00:00:fe dev ${NEAR}`);
  await system(`ip route add fd00:96::/31 via fd00:94::fe dev ${NEAR}`);
  const network = (second: bigint) => 0xfd00n << 112n | second << 96n;
  for (
    const [local, from] of [[0n, "fd00:94::1"], [network(0x94n) | 7n, "fd00:94::7"]] as const
  ) {
    await using tested = new Tested({ local, atOnce: 50 });
    await tested.expect(
      mixed(
        targets(network(0x96n), 300, PORT, "open"),
        targets(network(0x96n), 300, 80, "refused"),
        targets(network(0x97n), 100),
      ),
      from,
    );
  }
});
