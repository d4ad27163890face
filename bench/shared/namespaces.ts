/**
 * Two network namespaces joined by a veth pair, for benchmarks that need a remote host. No route
 * leads out of them. The benchmark itself runs at the far end, scanners at the near end.
 */

/** The near end: its interface, its address, and its gateway, which is the far end. */
export const NEAR = { interface: "near0", address: "192.168.79.1", gateway: "192.168.79.2" };

/** The name of the near end's namespace. */
const NAMESPACE = `blocksweep-${Deno.pid}`;
const MARK = "BLOCKSWEEP_BENCH";
/** Two queues: each of two threads can send by its own queue. */
const QUEUES = "numtxqueues 2 numrxqueues 2";

/** Runs a command to its end, and returns what it prints. */
export async function system(command: string): Promise<string> {
  const [program, ...args] = command.split(" ");
  const { code, stdout, stderr } = await new Deno.Command(program, { args }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (code !== 0) throw new Error(`${command}: ${decode(stderr)}`);
  return decode(stdout);
}

/** The command line that runs a command at the near end. */
export function near(command: readonly string[]): string[] {
  return ["ip", "netns", "exec", NAMESPACE, ...command];
}

/**
 * Restarts a script in a network namespace of its own, the far end, unless it already runs there.
 *
 * @param script Its `import.meta.url`.
 */
export async function beFarEnd(script: string): Promise<void> {
  if (Deno.env.get(MARK) !== undefined) return;
  const { code } = await new Deno.Command("unshare", {
    args: ["--net", "deno", "run", "-A", new URL(script).pathname, ...Deno.args],
    env: { [MARK]: "far end", DENO_NO_UPDATE_CHECK: "1" },
  }).spawn().status;
  Deno.exit(code);
}

/**
 * Creates a near end, and joins it to the far end, in which this process runs. Disposing of the
 * result removes the near end.
 *
 * @param targets The range behind the far end.
 * @param isLocal Whether the addresses of the range are local addresses of the far end.
 */
export async function joinNear(targets: string, isLocal: boolean): Promise<AsyncDisposable> {
  await system(`ip netns add ${NAMESPACE}`);
  const inside = `ip -n ${NAMESPACE}`;
  const quiet = "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1";
  for (
    const command of [
      quiet, // off, because IPv6 sends datagrams of its own
      `ip netns exec ${NAMESPACE} ${quiet}`,
      `ip link add far0 ${QUEUES} type veth peer name ${NEAR.interface} ${QUEUES} ` +
      `netns ${NAMESPACE}`,
      "ip link set lo up",
      `ip address add ${NEAR.gateway}/24 dev far0`,
      "ip link set far0 up",
      `${inside} address add ${NEAR.address}/24 dev ${NEAR.interface}`,
      `${inside} link set lo up`,
      `${inside} link set ${NEAR.interface} up`,
      `${inside} route add ${targets} via ${NEAR.gateway}`,
      ...(isLocal ? [`ip route add local ${targets} dev lo`] : []),
    ]
  ) await system(command);
  return {
    async [Symbol.asyncDispose]() {
      await system(`ip netns delete ${NAMESPACE}`);
    },
  };
}

/**
 * Sends ten datagrams per second to the near end, because masscan ends only when a datagram
 * arrives.
 */
export function murmur(): Disposable {
  const socket = Deno.listenDatagram({ transport: "udp", hostname: NEAR.gateway, port: 0 });
  const hostname = NEAR.gateway.replace(/\d+$/, "255");
  const everybody: Deno.NetAddr = { transport: "udp", hostname, port: 9 };
  const timer = setInterval(() => void socket.send(new Uint8Array(1), everybody), 100);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      socket.close();
    },
  };
}
