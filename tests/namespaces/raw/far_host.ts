/** A host behind the gateway, in a network namespace of its own. Its addresses are 10.96.0.0/12. */
import { framesOf, indexOf, ROUTE, system } from "./place.ts";
import type { FrameRoute } from "../../../src/net/linux/batch/frame_batch.ts";

/** The interface of this side, and that of the host. */
export const NEAR = "syn0";
export const FAR = "synfar";
/** The local address, which is that of no other interface. */
export const SOURCE = 0x0a5e0001;
export const PORT = 25565;

/** The far host. */
export interface FarHost extends AsyncDisposable {
  /** The index of the interface to it. */
  readonly index: number;
  /** The route of frames to it. */
  readonly route: FrameRoute;
  /** Runs a command there, and returns its output. */
  run(command: string): Promise<string>;
  /** Number of half-open connections there. */
  halfOpen(): Promise<number>;
  /** Number of frames that have arrived there. */
  arrived(): Promise<number>;
}

/**
 * Starts a host, which accepts connections to a port of its live addresses, and refuses those to other
 * ports. It replies to a request with the address of the peer, a space and the request. Its other
 * addresses drop all packets.
 *
 * @param live Its live addresses, as networks.
 * @param isReachable Whether the system here has a route to it. Without a route, the RSTs of the system do
 * not reach it, as behind a firewall.
 */
export async function startFarHost(
  live: readonly string[],
  isReachable = true,
): Promise<FarHost> {
  const script = `
    const listener = Deno.listen({ hostname: "::", port: ${PORT}, tcpBacklog: 4096 });
    console.log("up");
    const serve = async (connection) => {
      const bytes = new Uint8Array(1024);
      const from = new TextEncoder().encode(connection.remoteAddr.hostname + " ");
      for (let size; (size = await connection.read(bytes).catch(() => null)) !== null;) {
        await connection.write(Uint8Array.of(...from, ...bytes.subarray(0, size))).catch(() => {});
      }
      connection.close();
    };
    for await (const connection of listener) void serve(connection);`;
  const child = new Deno.Command("unshare", {
    args: ["--net", Deno.execPath(), "eval", "--no-config", script],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read(); // it has its namespace, and listens
  const run = (command: string) => system(`nsenter --target ${child.pid} --net ${command}`);
  await system(
    `ip link add ${NEAR} address 02:00:00:00:00:01 numtxqueues 2 numrxqueues 2 type veth ` +
      `peer name ${FAR} address 02:00:00:00:00:fe numtxqueues 2 numrxqueues 2 netns ${child.pid}`,
  );
  await system(`ip address add 10.94.0.1/24 dev ${NEAR}`);
  await system(`ip link set ${NEAR} up`);
  await system(`ip neighbour add 10.94.0.254 lladdr 02:00:00:00:00:fe dev ${NEAR}`);
  if (isReachable) await system(`ip route add 10.96.0.0/12 via 10.94.0.254 dev ${NEAR}`);
  for (
    const command of [
      "sysctl -qw net.ipv6.conf.all.disable_ipv6=1",
      "sysctl -qw net.ipv4.conf.all.rp_filter=0",
      "sysctl -qw net.ipv4.ip_forward=1",
      "sysctl -qw net.ipv4.tcp_max_syn_backlog=65536",
      "sysctl -qw net.core.somaxconn=65536",
      "ip link set lo up",
      `ip address add 10.94.0.254/24 dev ${FAR}`,
      `ip link set ${FAR} up`,
      `ip neighbour add 10.94.0.1 lladdr 02:00:00:00:00:01 dev ${FAR}`,
      "ip route add blackhole 10.96.0.0/12",
      ...live.map((network) => `ip route add local ${network} dev lo`),
    ]
  ) await run(command);
  // Until the system has started its queues, which it does later, an interface drops packets.
  while (!isStarted(await system(`ip link show ${NEAR}`)));
  while (!isStarted(await run(`ip link show ${FAR}`)));
  return {
    index: indexOf(NEAR),
    route: { ...ROUTE, source: SOURCE, ranges: [{ start: 0x0a600000, end: 0x0a700000 }] },
    run,
    halfOpen: async () => (await run("ss -Htn state syn-recv")).split("\n").length - 1,
    arrived: async () => framesOf(await run("cat /proc/net/dev"), FAR, "received"),
    async [Symbol.asyncDispose]() {
      await system(`ip link delete ${NEAR}`);
      child.kill("SIGKILL");
      await reader.cancel();
      await child.status;
    },
  };
}

function isStarted(link: string): boolean {
  return link.includes(" state UP ") && !link.includes(" qdisc noop ");
}
